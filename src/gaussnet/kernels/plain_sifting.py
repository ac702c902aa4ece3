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
    return _sift(rows, sieve)


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
