"""Rows of different lengths, one after the other in one array."""

from itertools import pairwise

import numpy as np

from gaussnet._types import FloatArray, IntArray


def joined_rows(
    left: FloatArray, left_starts: IntArray, right: FloatArray, right_starts: IntArray
) -> tuple[FloatArray, IntArray]:
    """Rows that go on with those of the right: row r of left, then row r of right."""
    pieces = [np.zeros(0)]
    left_ends, right_ends = left_starts.tolist(), right_starts.tolist()
    for ends, other_ends in zip(pairwise(left_ends), pairwise(right_ends), strict=True):
        pieces += left[slice(*ends)], right[slice(*other_ends)]
    return np.concatenate(pieces), left_starts + right_starts


def row_lengths(starts: IntArray) -> IntArray:
    """How many values each row has."""
    return np.asarray(starts[1:] - starts[:-1])
