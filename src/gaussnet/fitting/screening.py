r"""Screening of all pairs of a large graph: single precision proves of most that they cannot pass.

Tests that list only the smallest p-values ask of each pair whether its partial correlation is
beyond a limit. Products in single precision, with a bound of their rounding, rule out nearly all
pairs; the others are found in double precision, so that no answer depends on the screening.

Products of unit columns over chunks of m rows, c of which are added up, are off by at most

.. math:: \epsilon = (1 + u)^2 (1 + \gamma_m) (1 + \gamma_c) - 1, \quad
          \gamma_k = \frac{k u}{1 - k u}, \quad u = 2^{-24}

in any order of summation, because the sum of :math:`|x_i x_j|` is at most 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.data.table import Table
from gaussnet.fitting.partial_correlations import (
    EXACT,
    LITTLE,
    NONE,
    NOTHING,
    Asked,
    Correlated,
    Doubt,
    Points,
    by_projection,
    inverted_factors,
    nothing,
    orthonormal_basis,
    without,
)
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import packed_indices
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

Single = NDArray[np.float32]

UNIT = 2.0**-24
"""Unit roundoff of single precision."""
CHUNK_ROWS = 128
"""Rows that are multiplied in single precision at a time: with more, products are faster and less
exact, so that more pairs are found again."""
BLOCK = 256
"""Columns that are multiplied with all earlier ones while their sums are in the cache."""
SLACK = 1.0 - 1e-5
"""For the rounding of a comparison, a few units in single precision."""
NOWHERE = np.empty(0)
GATHERED = 256
"""Columns that are put in order at a time."""


@dataclass(frozen=True, slots=True)
class Factored:
    """What the rows say of families, which are sorted by size."""

    families: Families
    inverses: FloatArray
    """Of the Cholesky factors of the parents' products, one after the other, flat."""
    loads: FloatArray
    """Of the nodes on the orthonormal bases of their parents, (edges,)."""
    lengths: FloatArray
    """The shares of the nodes' sums of squares that the parents leave, (families,)."""
    sure: BoolArray
    """Whether neither parents nor lengths lose digits, (families,)."""

    @classmethod
    def of(cls, columns: FloatArray, families: Families) -> Self:
        """From unit columns, (rows, columns)."""
        _, products = kernels.family_moments(columns, families, False)
        inverses = np.empty(int(families.sizes @ families.sizes))
        loads, lengths = np.empty(len(families.parents)), np.empty(len(families))
        sure, start = np.empty(len(families), dtype=np.bool_), 0
        for block in families.blocks:
            first, last = families.product_offsets[[block.families.start, block.families.stop]]
            packed = products[first:last].reshape(block.count, -1)
            side = block.size + 1
            tables = packed[:, packed_indices(side)].reshape(-1, side, side)
            factors, exact = inverted_factors(tables[:, :-1, :-1])
            own = np.einsum("kij,kj->ki", factors, tables[:, :-1, -1])
            left = tables[:, -1, -1] - np.einsum("ki,ki->k", own, own)
            stop = start + factors.size
            inverses[start:stop], start = factors.ravel(), stop
            loads[block.edges], lengths[block.families] = own.ravel(), left
            sure[block.families] = exact & (left >= LITTLE)
        return cls(families, inverses, loads, lengths, sure)

    def margins(self, error: float) -> tuple[FloatArray, FloatArray]:
        """How far products of residuals, and shares left, may be off in single precision.

        Products of columns are off by at most `error`.
        """
        families, counts = self.families, self.families.sizes
        rows = np.repeat(counts, counts)
        starts = np.concatenate(([0], np.cumsum(rows)))[:-1]
        spread = np.add.reduceat(np.abs(self.inverses), starts) if len(rows) else NOWHERE
        spread = spread * (error + 2.0 * (rows + 2) * UNIT)
        squares, products = (
            np.bincount(families.family_of_edge, terms, len(families))
            for terms in (spread * spread, np.abs(self.loads) * spread)
        )
        left = 2.0 * np.sqrt(squares) + squares + 4.0 * (counts + 2) * UNIT
        return error + products + 4.0 * (counts + 3) * UNIT, left


class ScreenedRows:
    """Complete rows in memory, of which only p-values up to a limit are wanted."""

    def __init__(self, units: FloatArray, intercept: bool, points: Points) -> None:
        """With unit columns, (nodes, rows) in topological order."""
        self.rows, self.intercept = units.shape[1], intercept
        self.units, self.points = units, points
        self.screen, self.error = single_products(units)

    @classmethod
    def of(cls, table: Table, order: IntArray, intercept: bool, points: Points) -> Self | None:
        """None where a column is constant, or its squares lack digits."""
        units = unit_columns(table.in_memory("this").array, order, intercept)
        return None if units is None else cls(units, intercept, points)

    def correlations(self, asked: Asked) -> Iterator[tuple[int | IntArray, Correlated]]:
        """As those of complete rows, of most nodes together and without what cannot pass."""
        asked = sorted(asked, key=lambda one: len(one[1]))
        if not asked:
            return
        factored = Factored.of(self.units.T, _as_families(asked))
        freedom = self.rows - factored.families.sizes - 1.0 - self.intercept
        able = freedom >= 1.0
        for place in np.flatnonzero(~able).tolist():
            yield asked[place][0], nothing(asked[place][0], float(freedom[place]))
        for place in np.flatnonzero(able & ~factored.sure).tolist():
            node, parents = asked[place]
            start = nothing(node, float(freedom[place]))
            yield node, self._mended(Doubt(node, parents, np.arange(node), start))
        yield from self._screened(asked, factored, able & factored.sure, freedom)

    def _screened(
        self, asked: Asked, factored: Factored, chosen: BoolArray, freedom: FloatArray
    ) -> Iterator[tuple[int | IntArray, Correlated]]:
        """The pairs of the chosen families that may pass."""
        families, t = factored.families, self.points.of(np.maximum(freedom, 1.0))
        limits = t * t / (freedom + t * t) * factored.lengths * SLACK
        bounds = np.stack((np.where(chosen, limits, np.nan), *factored.margins(self.error)))
        given = families, factored.inverses, factored.loads
        owners, others = kernels.candidate_pairs(self.screen, *given, bounds, 2.0 * LITTLE)
        products, left = kernels.pair_residuals(self.units.T, *given, owners, others)
        squares = factored.lengths[owners] * left
        lost = left < LITTLE
        for place in np.unique(owners[lost]).tolist():
            own, (node, parents) = owners == place, asked[place]
            every = np.zeros(node), np.full(node, factored.lengths[place])
            every[0][others[own]], every[1][others[own]] = products[own], squares[own]
            found = Correlated(*every, float(freedom[place]), NONE)
            yield node, self._mended(Doubt(node, parents, others[own & lost], found))
            chosen[place] = False
        kept = chosen[owners]
        owners, others = owners[kept], others[kept]
        yield (
            families.children[owners],
            Correlated(
                products[kept],
                squares[kept],
                freedom[owners],
                NONE,
                places=others,
                tested=int((families.children - families.sizes)[chosen].sum()),
            ),
        )

    def _mended(self, doubt: Doubt) -> Correlated:
        """With those found again, from the columns themselves, that lack digits."""
        found = [(others, self._again(doubt, others)) for _, others in doubt.parts(GATHERED)]
        return doubt.mended(found) if found else doubt.untested()

    def _again(self, doubt: Doubt, others: IntArray) -> Correlated:
        """A node with some earlier ones, by the part of its column that its parents leave.

        What the parents leave of the others is found from loads, or column by column if it is
        little.
        """
        basis = orthonormal_basis(self.units[doubt.parents].T)
        rest = without(self.units[[doubt.node]].T, basis)
        length, rows = float(np.linalg.norm(rest)), self.rows - self.intercept
        products = self.units[others] @ np.hstack((basis, rest / max(length, NOTHING)))
        left = 1.0 - np.einsum("ij,ij->i", products[:, :-1], products[:, :-1])
        if length > NOTHING and left.min() >= LITTLE:
            return Correlated(products[:, -1], left, rows - basis.shape[1] - 1.0, NONE)
        columns = np.concatenate((doubt.parents, others, (doubt.node,)))
        return by_projection(self.units[columns].T, len(doubt.parents), rows)


def _as_families(asked: Asked) -> Families:
    """The nodes asked for and their parents as flat arrays."""
    offsets = np.cumsum([0, *(len(parents) for _, parents in asked)])
    children = np.array([node for node, _ in asked], dtype=np.int64)
    return Families(children, offsets, np.concatenate([parents for _, parents in asked]))


def unit_columns(rows: Rows, order: IntArray, intercept: bool) -> FloatArray | None:
    """Columns in this order about their mean, or about 0, of length 1: (columns, rows).

    None where a column is constant, or its squares are too small or large for their digits.
    """
    units = np.empty((len(order), len(rows)))
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(order), GATHERED):
            part = units[first : first + GATHERED]
            part[:] = rows[:, order[first : first + GATHERED]].T
            means = part.mean(axis=1) if intercept else np.zeros(len(part))
            if intercept:
                part -= means[:, None]
                part -= part.mean(axis=1, keepdims=True)
            squares = np.einsum("ij,ij->i", part, part)
            sizes = np.sqrt(squares)
            sound = (squares >= EXACT) & (sizes > NOTHING * (np.abs(means) + sizes))
            if not (sound & np.isfinite(squares)).all():
                return None
            part /= sizes[:, None]
    return units


def single_products(units: FloatArray) -> tuple[Single, float]:
    """Products of unit columns (columns, rows) in single precision, and a bound of their errors.

    Examples
    --------
    >>> products, error = single_products(np.array([[0.6, 0.8], [1.0, 0.0]]))
    >>> products.round(6).tolist(), bool(error < 1e-6)
    ([[1.0, 0.6000000238418579], [0.6000000238418579, 1.0]], True)
    """
    count, rows = units.shape
    chunks = [
        units[:, first : first + CHUNK_ROWS].astype(np.float32)
        for first in range(0, rows, CHUNK_ROWS)
    ]
    products = np.empty((count, count), dtype=np.float32)
    sums, more = np.empty((2, min(BLOCK, count) * count), dtype=np.float32)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        own, part = (each[: (last - first) * last].reshape(-1, last) for each in (sums, more))
        np.matmul(chunks[0][first:last], chunks[0][:last].T, out=own)
        for chunk in chunks[1:]:
            own += np.matmul(chunk[first:last], chunk[:last].T, out=part)
        products[first:last, :last] = own
        products[:first, first:last] = own[:, :first].T
    longest = min(CHUNK_ROWS, rows)
    error = (1.0 + UNIT) ** 2 * (1.0 + _gamma(longest)) * (1.0 + _gamma(len(chunks))) - 1.0
    return products, 1.001 * error


def _gamma(terms: int) -> float:
    """The largest share of the sum of absolute values that a sum of so many terms is off by."""
    return terms * UNIT / (1.0 - terms * UNIT)
