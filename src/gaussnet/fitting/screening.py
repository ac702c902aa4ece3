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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.table import Table
from gaussnet.fitting.partial_correlations import (
    EXACT,
    LITTLE,
    NONE,
    NOTHING,
    Asked,
    CompleteRows,
    Correlated,
    Doubt,
    Points,
    inverse_factors,
    nothing,
)
from gaussnet.types import FloatArray, IntArray, Rows

Single = NDArray[np.float32]

UNIT = 2.0**-24
"""Unit roundoff of single precision."""
CHUNK_ROWS = 256
"""Rows that are multiplied in single precision at a time: more are faster, and less exact."""
BLOCK = 512
"""Columns that are multiplied with all earlier ones while their sums are in the cache."""
SLACK = 1.0 - 1e-5
"""For the rounding of a comparison, a few units in single precision."""
NO_PARENTS, NOWHERE = np.empty((0, 0)), np.empty(0)
GATHERED = 256
"""Columns that are put in order at a time."""


class Family(NamedTuple):
    """What the rows say of a node and its parents."""

    inverse: FloatArray
    """Of the Cholesky factor of the parents' products, (parents, parents)."""
    loads: FloatArray
    """Of the node on the orthonormal basis of its parents, (parents,)."""
    length: float
    """The share of the node's sum of squares that the parents leave."""


class ScreenedRows(CompleteRows):
    """Complete rows in memory, of which only p-values up to a limit are wanted."""

    def __init__(
        self, units: FloatArray, order: IntArray, intercept: bool, table: Table, points: Points
    ) -> None:
        """With unit columns, (nodes, rows) in topological order."""
        self.rows, self.order, self.intercept, self.table = units.shape[1], order, intercept, table
        self.alive, self.is_sound = np.ones(len(units), dtype=np.bool_), True
        self.units, self.points = units, points
        self.screen, self.error = single_products(units)

    @classmethod
    def of(
        cls, table: Table, order: IntArray, intercept: bool, points: Points
    ) -> "ScreenedRows | None":
        """None where a column is constant, or its squares lack digits."""
        units = unit_columns(table.in_memory("this").array, order, intercept)
        return None if units is None else cls(units, order, intercept, table, points)

    def correlations(self, asked: Asked) -> Iterator[tuple[int, Correlated]]:
        """As those of complete rows, with correlation 0 for all that cannot pass."""
        families, doubtful = self._families(asked), []
        for node, parents in asked:
            freedom = self.rows - len(parents) - 1.0 - self.intercept
            if freedom < 1.0:
                yield node, nothing(node, freedom)
            elif node not in families or families[node].length < LITTLE:
                every = np.arange(node)
                doubtful.append(Doubt(node, parents, every, nothing(node, freedom)))
            else:
                found, lost = self._screened(node, parents, families[node], freedom)
                if len(lost):
                    doubtful.append(Doubt(node, parents, lost, found))
                else:
                    yield node, found
        yield from self._mended(doubtful)

    def _families(self, asked: Asked) -> dict[int, Family]:
        """The families whose parents lose no digits."""
        tables: dict[int, FloatArray] = {}
        for node, parents in asked:
            own = self.units[np.append(parents, node)]
            tables[node] = own @ own.T

        def tables_of(nodes: IntArray, parents: IntArray) -> FloatArray:
            return np.stack([tables[node][:-1, :-1] for node in nodes.tolist()])

        found, inverses = {}, inverse_factors(asked, tables_of)
        for node, parents in asked:
            if node in inverses or not len(parents):
                inverse = inverses.get(node, NO_PARENTS)
                loads = inverse @ tables[node][:-1, -1]
                found[node] = Family(inverse, loads, float(tables[node][-1, -1] - loads @ loads))
        return found

    def _screened(
        self, node: int, parents: IntArray, family: Family, freedom: float
    ) -> tuple[Correlated, IntArray]:
        """The correlations of a node, 0 where they cannot pass, and those that lack digits."""
        t = self.points.of(freedom)
        limit = float(t * t / (freedom + t * t)) * family.length
        chosen = self._candidates(node, parents, family, limit)
        if not len(chosen):
            return Correlated(NOWHERE, NOWHERE, freedom, NONE, places=NONE), NONE
        columns = self.units[np.concatenate((parents, (node,), chosen))]
        own = columns[: len(parents) + 1] @ columns[len(parents) + 1 :].T
        loads = family.inverse @ own[:-1]
        left = 1.0 - np.einsum("ij,ij->j", loads, loads)
        products, squares = own[-1] - family.loads @ loads, family.length * left
        lost = chosen[left < LITTLE]
        if not len(lost):
            return Correlated(products, squares, freedom, NONE, places=chosen), NONE
        every = np.zeros(node), np.full(node, family.length)
        every[0][chosen], every[1][chosen] = products, squares
        return Correlated(*every, freedom, NONE), lost

    def _candidates(self, node: int, parents: IntArray, family: Family, limit: float) -> IntArray:
        r"""The earlier nodes whose :math:`N^2 / L` may be at least the limit, or L too small.

        N is the product of the residuals and L the square of the earlier node's, both within
        bounds of their errors.
        """
        products = self.screen[node, :node]
        error, count = self.error, len(parents)
        if not count:
            return np.flatnonzero(np.abs(products) >= np.sqrt(limit * SLACK) - error)
        loads = family.inverse.astype(np.float32) @ self.screen[parents, :node]
        products = np.abs(products - family.loads.astype(np.float32) @ loads)
        left = 1.0 - np.einsum("ij,ij->j", loads, loads)
        spread = np.abs(family.inverse).sum(axis=1) * (error + 2.0 * (count + 2) * UNIT)
        size = float(np.sqrt(spread @ spread))
        products += np.float32(error + np.abs(family.loads) @ spread + 4 * (count + 3) * UNIT)
        left -= np.float32(2.0 * size + size * size + 4 * (count + 2) * UNIT)
        products[parents], left[parents] = 0.0, 1.0
        passes = products * products >= left * np.float32(limit * SLACK)
        if left.min(initial=1.0) < 2.0 * LITTLE:
            passes |= left < 2.0 * LITTLE
        return np.flatnonzero(passes)


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
