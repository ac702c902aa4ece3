"""Medians in NumPy: the definition of the compiled kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import quiet, residuals, square_solutions
from gaussnet.types import FloatArray, IntArray, Rows


@quiet
def row_medians(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Median of each row of (rows, count) without its NaN, and how many values it is of.

    An even number of values gives the mean of the middle two, none gives NaN.
    """
    medians = np.full(len(values), np.nan)
    used = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    for row in np.flatnonzero(used).tolist():
        own = np.sort(values[row])[: used[row]]  # NaN come last
        lower, upper = own[(used[row] - 1) // 2], own[used[row] // 2]
        middle = upper if used[row] % 2 else 0.5 * lower + 0.5 * upper
        medians[row] = middle + 0.0  # -0.0 becomes 0.0: no order of equal zeros can show
    return medians, used


@quiet
def joined_medians(
    parts: list[FloatArray], transforms: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    """Coordinate-wise medians of solutions that come in parts (families, p, count).

    With `transforms`, upper triangles (families, p, p), the medians are of the solutions
    multiplied by them. Gives medians (families, p) and how many values those of a family are of.
    """
    values = np.concatenate(parts, axis=2)
    values = values if transforms is None else transformed(transforms, values)
    families, size, count = values.shape
    medians, used = row_medians(values.reshape(families * size, count))
    return medians.reshape(families, size), used[::size]


@quiet
def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts (rows, count), and the median distance
    of the values from it."""
    values = np.concatenate(parts, axis=1)
    medians, _ = row_medians(values)
    return medians, row_medians(np.abs(values - medians[:, None]))[0]


def transformed(upper: FloatArray, solutions: FloatArray) -> FloatArray:
    """``upper @ solutions`` for each family, (families, p, p) and (families, p, count).

    Term by term, so that a value's bits do not depend on how many stand beside it.
    """
    out = upper[:, :, :1] * solutions[:, :1]
    for column in range(1, upper.shape[1]):
        rows = slice(0, column + 1)
        out[:, rows] += upper[:, rows, column, None] * solutions[:, None, column]
    return out


class Ends(NamedTuple):
    """The ends of a bracket for each row of values, (rows,) each."""

    lows: FloatArray
    highs: FloatArray
    shares: FloatArray
    """Of all values of a row, how many are thought to lie inside: tells how much to reserve."""

    @classmethod
    def open(cls, rows: int) -> "Ends":
        """Brackets that hold every number that is finite."""
        return cls(np.full(rows, -np.inf), np.full(rows, np.inf), np.ones(rows))


Draw = tuple[IntArray, int]
"""The indices in a row of the values to be drawn, ascending, one in each run of successive values
of a row, and the length of these runs."""


class Split(NamedTuple):
    """Rows of values split at the ends of their brackets."""

    counts: IntArray
    """How many lie below, at the low end, at the high end and above, (rows, 4)."""
    kept: FloatArray
    """The values strictly inside, row after row, in their order."""
    starts: IntArray
    """Where each row of these starts, (rows + 1,)."""
    drawn: FloatArray | None
    """(rows, indices) if values were drawn; NaN at indices beyond the end of a row."""


def split_rows(values: FloatArray, starts: IntArray, lows: FloatArray, highs: FloatArray) -> Split:
    """Count where the values of each row lie, and keep those strictly inside its bracket.

    Row r is ``values[starts[r]:starts[r + 1]]`` and its bracket goes from lows[r] to highs[r].
    If both ends are one value, those equal to it count as at the low end. NaN is nowhere; a
    bracket of NaN holds nothing.
    """
    counts = np.zeros((len(lows), 4), dtype=np.int64)
    kept = []
    for row, (low, high) in enumerate(zip(lows, highs, strict=True)):
        own = values[starts[row] : starts[row + 1]]
        kept.append(own[(own > low) & (own < high)])
        at_high = own == high if low != high else ()
        where = (own < low, own == low, at_high, own > high)
        counts[row] = [np.count_nonzero(there) for there in where]
    kept_starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    return Split(counts, np.concatenate([np.zeros(0), *kept]), kept_starts, None)


def split_solutions(
    page: Rows,
    start: int,
    stop: int,
    families: Families,
    sliding: bool,
    centre: bool,
    transforms: FloatArray | None,
    brackets: Ends,
    draw: Draw | None,
) -> Split:
    """Solutions of the windows of `square_solutions`, split: one row of values for each edge.

    With `transforms`, upper triangles (p, p) one family after the other, solutions are
    multiplied by them first. Families are sorted by size.
    """
    rows = _solutions(page, start, stop, families, (sliding, centre), transforms)
    return _split(rows, brackets, draw)


def split_residuals(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    centres: FloatArray | None,
    brackets: Ends,
    draw: Draw | None,
) -> Split:
    """Residuals of each family, or with `centres` their distances from its centre, split."""
    values = residuals(x, families, coefficients)
    if centres is not None:
        values = np.abs(values - centres[:, None])
    return _split(list(values), brackets, draw)


def kept_ranks(
    parts: Sequence[tuple[FloatArray, IntArray]], low_ranks: IntArray, high_ranks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The values of two ranks, counted from 0, among the values of each row, (rows,) each.

    The values come in parts (kept, starts): row r of a part is
    ``kept[starts[r]:starts[r + 1]]``. NaN where the rank is not there.
    """
    rows = len(low_ranks)
    found = np.full((2, rows), np.nan)
    for row in range(rows):
        own = [kept[starts[row] : starts[row + 1]] for kept, starts in parts]
        values = np.sort(np.concatenate([np.zeros(0), *own]))
        for k, rank in enumerate((low_ranks[row], high_ranks[row])):
            if 0 <= rank < len(values):
                found[k, row] = values[rank]
    return found[0], found[1]


def _split(rows: list[FloatArray], brackets: Ends, draw: Draw | None) -> Split:
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.concatenate([np.zeros(0), *rows])
    split = split_rows(flat, starts, brackets.lows, brackets.highs)
    return split if draw is None else split._replace(drawn=_drawn(rows, draw))


def _drawn(rows: list[FloatArray], draw: Draw) -> FloatArray:
    indices, _ = draw
    drawn = np.full((len(rows), len(indices)), np.nan)
    for row, values in enumerate(rows):
        own = indices[indices < len(values)]
        drawn[row, : len(own)] = values[own]
    return drawn


def _solutions(
    page: Rows,
    start: int,
    stop: int,
    families: Families,
    windows: tuple[bool, bool],
    transforms: FloatArray | None,
) -> list[FloatArray]:
    """The solutions of windows, multiplied by triangles if there are any: one row for each edge."""
    rows: list[FloatArray] = []
    used = 0
    for found in square_solutions(page, start, stop, families, *windows):
        count, size, each = found.shape
        values = found
        if transforms is not None:
            own = transforms[used : used + count * size * size].reshape(count, size, size)
            used += own.size
            values = transformed(own, found)
        rows += list(values.reshape(count * size, each))
    return rows
