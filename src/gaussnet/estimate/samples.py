"""A few of many values, drawn evenly along the stream, to guess by; never to answer by.

Each run of `stride` successive values gives one, at a place that a fixed table of scrambled
integers decides: no random numbers, and no pattern in the rows that returns every so often is
seen at one of its phases only.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray

FIRST_STRIDE = 64
"""Values of a run that give one to a fresh sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Every row's value at the same places, (rows, drawn), one in `stride`; NaN is drawn too."""

    values: FloatArray
    stride: int

    def merge(self, other: "Sample", limit: int) -> "Sample":
        """The sample of both streams, of at most `limit` values a row."""
        stride = max(self.stride, other.stride)
        left, right = self.thinned(stride), other.thinned(stride)
        both = Sample(np.concatenate((left.values, right.values), axis=1), stride)
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
        while sample.values.shape[1] > limit:
            sample = sample._halved()
        return sample

    def _halved(self) -> "Sample":
        """One of each two neighbours."""
        drawn = self.values.shape[1]
        places = 2 * np.arange((drawn + 1) // 2) + _scrambled((drawn + 1) // 2, self.stride) % 2
        return Sample(self.values[:, places[places < drawn]], 2 * self.stride)


def draw(values: FloatArray, starts: IntArray, length: int, limit: int) -> Sample:
    """A sample of rows ``values[starts[r]:starts[r + 1]]`` of `length` values, NaN left out.

    A row shorter than `length` lacks its NaN: places beyond its end draw NaN. So one value in
    `stride` is drawn from every row.
    """
    places, stride = _drawn_places(length, limit)
    ends = starts[1:, None]
    wanted = starts[:-1, None] + places
    drawn = values[np.minimum(wanted, max(len(values) - 1, 0))] if len(values) else wanted * np.nan
    return Sample(np.where(wanted < ends, drawn, np.nan), stride)


def draw_block(block: FloatArray, limit: int) -> Sample:
    """The sample of a block (rows, length), in which NaN is drawn as it stands."""
    places, stride = _drawn_places(block.shape[1], limit)
    return Sample(np.take(block, places, axis=1), stride)


@lru_cache(maxsize=64)
def _drawn_places(length: int, limit: int) -> tuple[IntArray, int]:
    """Places of at most `limit` of so many values, and the stride: one in each run of it."""
    stride = FIRST_STRIDE
    while length > limit * stride:
        stride *= 2
    runs = -(-length // stride)
    places = stride * np.arange(runs) + _scrambled(runs, 0) % stride
    return places[places < length], stride


def sorted_spread(values: FloatArray, begins: IntArray, lengths: IntArray, size: int) -> FloatArray:
    """`size` values of each row, evenly spread over it, sorted: (rows, size).

    Row r is the ``lengths[r]`` >= 1 values from ``begins[r]`` on.
    """
    places = begins[:, None] + (_spread_steps(size) * lengths[:, None]).astype(np.int64)
    drawn = values[places]
    drawn.sort(axis=1)
    return drawn


def middle_part(ordered: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the middle part of sorted rows, `share` of their places; NaN, last, set aside."""
    found = np.count_nonzero(~np.isnan(ordered), axis=1) / ordered.shape[1]
    unbounded = np.full(len(ordered), np.inf)
    lows = quantiles(ordered, 0.5 * (found - share), -unbounded)
    highs = quantiles(ordered, 0.5 * (found + share), unbounded)
    return np.where(np.isnan(lows), -np.inf, lows), np.where(np.isnan(highs), np.inf, highs)


def quantiles(ordered: FloatArray, shares: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Values at these shares of sorted rows; `otherwise` for shares of 0 or less, 1 or more."""
    size = ordered.shape[1]
    places = np.minimum(np.maximum((shares * size).astype(np.int64), 0), size - 1)
    values = ordered[np.arange(len(ordered)), places]
    return np.where((shares > 0.0) & (shares < 1.0), values, otherwise)


@lru_cache(maxsize=8)
def _spread_steps(size: int) -> FloatArray:
    """One place in each of `size` equal parts of 0..1."""
    return np.asarray((np.arange(size) + _scrambled(size, 1) % 1024 / 1024.0) / size)


@lru_cache(maxsize=64)
def _scrambled(count: int, key: int) -> IntArray:
    """Non-negative integers without pattern, the same for the same key (splitmix64)."""
    mixed: NDArray[np.uint64] = np.arange(1, count + 1, dtype=np.uint64)
    mixed = (mixed + np.uint64(key << 32)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(33)).astype(np.int64)
