"""Rows of different lengths, one after the other in one array."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gaussnet._types import FloatArray, IntArray

MOST_PARTS = 64
"""Parts that rows may grow to before they are joined."""


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
