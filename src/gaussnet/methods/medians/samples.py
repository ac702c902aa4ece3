"""Rows of values of different lengths, and samples of them.

A sample is a few of many values, drawn evenly along the stream, to guess by; never to answer by.
Each run of `stride` successive values gives one, at a position that a fixed table of scrambled
integers decides: no random numbers, and no pattern in the rows that returns every so often is seen
at one of its phases only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.types import FloatArray, IntArray

MOST_PARTS = 64
"""Parts that rows may grow to before they are joined."""

FIRST_STRIDE = 64
"""Values of a run that give one to a fresh sample."""


class Ragged(NamedTuple):
    """Row r is ``values[starts[r]:starts[r + 1]]``.

    Examples
    --------
    >>> rows = Ragged.of_blocks([np.ones((1, 2, 3)), np.zeros((1, 1, 2))])
    >>> rows.lengths.tolist(), rows.only(np.array([2])).values.tolist()
    ([3, 3, 2], [0.0, 0.0])
    """

    values: FloatArray
    starts: IntArray

    @classmethod
    def of(cls, rows: "FloatArray | Ragged") -> "Ragged":
        """The rows of a block (rows, count), or themselves."""
        return rows if isinstance(rows, Ragged) else cls.of_blocks([rows])

    @classmethod
    def of_blocks(cls, blocks: Sequence[FloatArray]) -> "Ragged":
        """All rows of blocks (..., count), each of its own count."""
        flat = [np.ascontiguousarray(block, dtype=np.float64).reshape(-1) for block in blocks]
        counts = np.array([block.shape[-1] for block in blocks], dtype=np.int64)
        rows = [math.prod(block.shape[:-1]) for block in blocks]
        values = flat[0] if len(flat) == 1 else np.concatenate([np.zeros(0), *flat])
        return cls(values, starts_of(np.repeat(counts, rows)))

    @property
    def lengths(self) -> IntArray:
        """How many values each row has."""
        return np.asarray(self.starts[1:] - self.starts[:-1])

    def row(self, row: int) -> FloatArray:
        """The values of one row."""
        return self.values[self.starts[row] : self.starts[row + 1]]

    def only(self, chosen: IntArray) -> "Ragged":
        """The chosen rows, in their order."""
        begins, ends = self.starts[chosen].tolist(), self.starts[chosen + 1].tolist()
        pieces = [self.values[begin:end] for begin, end in zip(begins, ends, strict=True)]
        return Ragged(np.concatenate([np.zeros(0), *pieces]), starts_of(self.lengths[chosen]))

    @classmethod
    def joined(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """Row r of each part, one after the other, as row r."""
        if len(parts) == 1:
            return parts[0]
        pieces = [np.zeros(0)]
        for ends in zip(*(pairwise(part.starts.tolist()) for part in parts), strict=True):
            pieces += [part.values[slice(*own)] for part, own in zip(parts, ends, strict=True)]
        return cls(np.concatenate(pieces), np.add.reduce([part.starts for part in parts]))


@dataclass(frozen=True)
class Growing:
    """Ragged rows that grow part by part, and are joined when somebody looks at them.

    Examples
    --------
    >>> few = Growing((Ragged.of(np.array([[1.0], [2.0]])),))
    >>> few.merge(few).whole.values.tolist(), few.merge(few).lengths.tolist()
    ([1.0, 1.0, 2.0, 2.0], [2, 2])
    """

    parts: tuple[Ragged, ...]

    def merge(self, other: "Growing") -> "Growing":
        """The rows of the other after these; many parts become one."""
        both = Growing(self.parts + other.parts)
        return both if len(both.parts) <= MOST_PARTS else Growing((both.whole,))

    @cached_property
    def lengths(self) -> IntArray:
        """How many values each row has."""
        return np.asarray(np.add.reduce([part.lengths for part in self.parts]))

    @cached_property
    def whole(self) -> Ragged:
        """The rows in one piece."""
        return Ragged.joined(self.parts)


def starts_of(lengths: IntArray) -> IntArray:
    """Where rows of these lengths start if one follows the other, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


@dataclass(frozen=True, slots=True)
class Sample:
    """Every row's value at the same positions, (rows, drawn), one in `stride`; NaN is drawn too."""

    parts: tuple[FloatArray, ...]
    """What was drawn of successive runs of the stream, side by side."""
    stride: int

    @property
    def values(self) -> FloatArray:
        """All that was drawn, (rows, drawn)."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts, axis=1)

    def merge(self, other: "Sample", limit: int) -> "Sample":
        """The sample of both streams, of at most `limit` values a row."""
        stride = max(self.stride, other.stride)
        parts = self.thinned(stride).parts + other.thinned(stride).parts
        both = Sample(parts, stride)
        return both.within(limit)

    def thinned(self, stride: int) -> "Sample":
        """One in `stride`, a multiple of the present stride by a power of two."""
        sample = self
        while sample.stride < stride:
            sample = sample._halved()
        return sample

    def within(self, limit: int) -> "Sample":
        """At most `limit` values a row."""
        sample = self
        while sum(part.shape[1] for part in sample.parts) > limit:
            sample = sample._halved()
        if len(sample.parts) > MOST_PARTS:
            sample = Sample((sample.values,), sample.stride)
        return sample

    def _halved(self) -> "Sample":
        """One of each two neighbours."""
        widths = np.array([part.shape[1] for part in self.parts])
        ends = np.cumsum(widths)
        pairs = (int(ends[-1]) + 1) // 2
        positions = 2 * np.arange(pairs) + _scrambled(pairs, self.stride) % 2
        *within, _ = np.split(positions, np.searchsorted(positions, ends))
        begins = ends - widths
        thinned = (
            part.take(own - begin, axis=1)
            for part, own, begin in zip(self.parts, within, begins, strict=True)
        )
        return Sample(tuple(thinned), 2 * self.stride)


def draw(rows: Ragged, length: int, limit: int) -> Sample:
    """A sample of rows, the longest of which had `length` values before NaN was left out.

    Positions beyond the end of a row draw NaN. So one value in `stride` is drawn from every row.
    """
    values, starts = rows
    positions, stride = drawn_indices(length, limit)
    wanted = starts[:-1, None] + positions
    drawn = values[np.minimum(wanted, max(len(values) - 1, 0))] if len(values) else wanted * np.nan
    return Sample((np.where(wanted < starts[1:, None], drawn, np.nan),), stride)


@lru_cache(maxsize=64)
def drawn_indices(length: int, limit: int) -> tuple[IntArray, int]:
    """Positions of at most `limit` of so many values, and the stride: one in each run of it."""
    stride = FIRST_STRIDE
    while length > limit * stride:
        stride *= 2
    runs = -(-length // stride)
    positions = stride * np.arange(runs) + _scrambled(runs, 0) % stride
    return positions[positions < length], stride


def sorted_spread(rows: Ragged, chosen: IntArray, size: int) -> FloatArray:
    """`size` values of each chosen row, evenly spread over it, sorted: (chosen, size).

    No chosen row is empty.
    """
    begins, lengths = rows.starts[chosen, None], rows.lengths[chosen, None]
    drawn = rows.values[begins + (_spread_steps(size) * lengths).astype(np.int64)]
    drawn.sort(axis=1)
    return drawn


def middle_part(ordered: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the middle part of sorted rows, `share` of their length; NaN, last, set aside."""
    found = np.count_nonzero(~np.isnan(ordered), axis=1) / ordered.shape[1]
    unbounded = np.full(len(ordered), np.inf)
    lows = quantiles(ordered, 0.5 * (found - share), -unbounded)
    highs = quantiles(ordered, 0.5 * (found + share), unbounded)
    return np.where(np.isnan(lows), -np.inf, lows), np.where(np.isnan(highs), np.inf, highs)


def quantiles(ordered: FloatArray, shares: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Values at these shares of sorted rows; `otherwise` for shares of 0 or less, 1 or more."""
    size = ordered.shape[1]
    positions = np.minimum(np.maximum((shares * size).astype(np.int64), 0), size - 1)
    values = ordered[np.arange(len(ordered)), positions]
    return np.where((shares > 0.0) & (shares < 1.0), values, otherwise)


@lru_cache(maxsize=8)
def _spread_steps(size: int) -> FloatArray:
    """One position in each of `size` equal parts of 0..1."""
    return np.asarray((np.arange(size) + _scrambled(size, 1) % 1024 / 1024.0) / size)


@lru_cache(maxsize=64)
def _scrambled(count: int, key: int) -> IntArray:
    """Non-negative integers without pattern, the same for the same key (splitmix64)."""
    mixed: NDArray[np.uint64] = np.arange(1, count + 1, dtype=np.uint64)
    mixed = (mixed + np.uint64(key << 32)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(33)).astype(np.int64)
