"""Sifting in NumPy: of rows of values, those inside a bracket, and how many lie on either side.

Solutions and residuals are sifted as they are found. So a median whose region is known needs
little memory, and the counts prove it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain import residuals, square_solutions
from gaussnet.kernels.plain_brackets import split_rows
from gaussnet.kernels.plain_medians import turned
from gaussnet.kernels.reserve import Reserve


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
