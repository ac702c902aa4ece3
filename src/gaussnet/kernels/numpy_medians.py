"""Medians in NumPy: the definition of the compiled kernels."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import quiet, residuals, square_solutions
from gaussnet.kernels.threads import Reserve
from gaussnet.types import FloatArray, IntArray, Rows


@quiet
def row_medians(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Median of each row of (rows, count) without its NaN, and how many values it is of.

    An even number of values gives the mean of the middle two, none gives NaN. May reorder
    `values` within its rows.
    """
    used = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    medians = np.full(len(values), np.nan)
    for count in np.unique(used[used > 0]).tolist():
        chosen = used == count
        middle = count // 2
        # np.partition puts NaN last, and is fastest when asked for a single position.
        sorted_part = np.partition(values[chosen], middle, axis=1)
        upper = sorted_part[:, middle]
        if count % 2 == 0:
            upper = 0.5 * sorted_part[:, :middle].max(axis=1) + 0.5 * upper
        medians[chosen] = upper + 0.0  # -0.0 becomes 0.0: no order of equal zeros can show
    return medians, used


@quiet
def joined_medians(
    parts: list[FloatArray], turns: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    """Coordinate-wise medians of solutions that come in parts (families, p, count).

    With `turns`, upper triangles (families, p, p), the medians are of the solutions multiplied
    by them. Gives medians (families, p) and how many values those of a family are of.
    """
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
    values = values if turns is None else turned(turns, values)
    families, size, count = values.shape
    medians, used = row_medians(values.reshape(families * size, count))
    return medians.reshape(families, size), used[::size]


def turned(upper: FloatArray, solutions: FloatArray) -> FloatArray:
    """``upper @ solutions`` for each family, (families, p, p) and (families, p, count).

    Term by term, so that a value's bits do not depend on how many stand beside it.
    """
    out = upper[:, :, :1] * solutions[:, :1]
    for place in range(1, upper.shape[1]):
        rows = slice(0, place + 1)
        out[:, rows] += upper[:, rows, place, None] * solutions[:, None, place]
    return out


@quiet
def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts (rows, count), and the median distance
    of the values from it."""
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    medians, _ = row_medians(values)
    distances = values - medians[:, None]
    return medians, row_medians(np.abs(distances, out=distances))[0]


def split_rows(
    values: FloatArray, starts: IntArray, lows: FloatArray, highs: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Count where the values of each row lie, and keep those strictly inside its bracket.

    Row r is ``values[starts[r]:starts[r + 1]]`` and its bracket goes from lows[r] to highs[r].
    Gives counts (rows, 4) of the values below, at the low end, at the high end and above; the
    largest value below, -inf if there is none, (rows,); the kept values, row after row, in
    order; and where each row of these starts, (rows + 1,). If both ends are one value, those
    equal to it count as at the low end. NaN is nowhere; a bracket of NaN holds nothing.
    """
    rows = len(lows)
    counts = np.zeros((rows, 4), dtype=np.int64)
    largest = np.full(rows, -np.inf)
    kept = []
    for row in range(rows):
        own, low, high = values[starts[row] : starts[row + 1]], lows[row], highs[row]
        is_below = own < low
        kept.append(own[(own > low) & (own < high)])
        counts[row] = [
            np.count_nonzero(is_below),
            np.count_nonzero(own == low),
            np.count_nonzero(own == high) if low != high else 0,
            np.count_nonzero(own > high),
        ]
        largest[row] = own.max(initial=-np.inf, where=is_below)
    kept_starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    return counts, largest, np.concatenate([np.zeros(0), *kept]), kept_starts


# Sifting in NumPy: of rows of values, those inside a bracket, and how many lie on either side.
#
# Solutions and residuals are sifted as they are found. So a median whose region is known needs
# little memory, and the counts prove it.


@dataclass(frozen=True, slots=True)
class Sieve:
    """A bracket for each row of values, both ends of which belong to it."""

    lows: FloatArray
    highs: FloatArray
    shares: FloatArray
    """Of all values of a row, how many are thought to lie inside: tells how much to reserve."""
    reserve: Reserve | None = None
    """Where compiled kernels put them."""

    @classmethod
    def open(cls, rows: int) -> "Sieve":
        """Brackets that hold everything but NaN."""
        return cls(np.full(rows, -np.inf), np.full(rows, np.inf), np.ones(rows))

    @property
    def is_bounded(self) -> bool:
        """Whether all ends are finite."""
        return bool(np.isfinite(self.lows).all() and np.isfinite(self.highs).all())

    def reserving(self, values: float | FloatArray) -> "Sieve":
        """The same with memory for what is kept of rows of so many values."""
        expected = float((self.shares * values).sum())
        return replace(self, reserve=Reserve(int(1.1 * expected) + len(self.lows)))


class Sifted(NamedTuple):
    """How many values of each row lie below and above its bracket, and those inside.

    These come in runs, row after row, tile of rows after tile: run ``t * rows + r`` of the kept
    values is of row r, and goes from ``starts`` of that number to ``starts`` of the next.
    """

    below: IntArray
    above: IntArray
    kept: FloatArray
    starts: IntArray


class SplitSolutions(NamedTuple):
    """Solutions as `split_rows` gives them, one row for each edge, and a few drawn of each row."""

    counts: IntArray
    kept: FloatArray
    starts: IntArray
    drawn: FloatArray
    """(edges, places); NaN at places beyond the end of a row."""


def sift_solutions(
    stripe: tuple[Rows, int, int],
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
    sieve: Sieve,
) -> Sifted:
    """The solutions of `square_solutions`, sifted: one row of values for each edge.

    A stripe is a page and the rows start..stop of it, `windows` says whether they are sliding
    and centred. With `turns`, upper triangles (p, p) one family after the other, solutions are
    multiplied by them first. Families are sorted by size.
    """
    return _sift(_solutions(stripe, families, windows, turns), sieve)


def split_solutions(
    page: Rows,
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
    sieve: Sieve,
    draw: tuple[IntArray, int],
) -> SplitSolutions:
    """The same solutions of a whole page, split at the ends of brackets and sampled.

    `draw` says the places in a row that are drawn, one in each run of successive values, and
    how long these runs are.
    """
    rows = _solutions((page, 0, len(page)), families, windows, turns)
    places, _ = draw
    drawn = np.full((len(rows), len(places)), np.nan)
    for row, values in enumerate(rows):
        own = places[places < len(values)]
        drawn[row, : len(own)] = values[own]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.concatenate([np.zeros(0), *rows])
    counts, _, kept, kept_starts = split_rows(flat, starts, sieve.lows, sieve.highs)
    return SplitSolutions(counts, kept, kept_starts, drawn)


def sift_residuals(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    centres: FloatArray | None,
    sieve: Sieve,
) -> Sifted:
    """The residuals of each family, or their distances from its centre, sifted."""
    values = residuals(x, families, coefficients)
    if centres is not None:
        values = np.abs(values - centres[:, None])
    return _sift(list(values), sieve)


def sifted_ranks(
    parts: list[Sifted], low_ranks: IntArray, high_ranks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The values of two ranks, from 0, among those kept of each row; NaN for one not there."""
    rows = len(low_ranks)
    found = np.full((2, rows), np.nan)
    for row in range(rows):
        runs = []
        for part in parts:
            for run in range(row, len(part.starts) - 1, rows):
                runs.append(part.kept[part.starts[run] : part.starts[run + 1]])
        values = np.sort(np.concatenate(runs))
        for place, rank in enumerate((low_ranks[row], high_ranks[row])):
            if 0 <= rank < len(values):
                found[place, row] = values[rank]
    return found[0], found[1]


def _solutions(
    stripe: tuple[Rows, int, int],
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
) -> list[FloatArray]:
    """The solutions of windows, turned if there is something to turn by: one row for each edge."""
    rows: list[FloatArray] = []
    used = 0
    for found in square_solutions(*stripe, families, *windows):
        count, size, each = found.shape
        values = found
        if turns is not None:
            own = turns[used : used + count * size * size].reshape(count, size, size)
            used += own.size
            values = turned(own, found)
        rows += list(values.reshape(count * size, each))
    return rows


def _sift(rows: list[FloatArray], sieve: Sieve) -> Sifted:
    below, above = np.zeros((2, len(rows)), dtype=np.int64)
    kept = [np.zeros(0)]
    for row, values in enumerate(rows):
        low, high = sieve.lows[row], sieve.highs[row]
        below[row] = np.count_nonzero(values < low)
        above[row] = np.count_nonzero(values > high)
        kept.append(values[(values >= low) & (values <= high)])
    starts = np.cumsum([len(run) for run in kept], dtype=np.int64)
    return Sifted(below, above, np.concatenate(kept), starts)
