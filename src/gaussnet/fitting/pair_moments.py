"""Moments of pairs of nodes and the parents of one of them, over the rows that have them all.

Every pair has rows of its own where cells are missing. All pairs of a node share its family, so
that sums over their rows are products of two matrices: the products of the family's columns, and
which cells of the earlier nodes are there.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.types import BoolArray, FloatArray, IntArray

BLOCK_ROWS = 2_048
"""Rows whose products are added up at once: few enough for the cache, enough for BLAS."""


def triangle_length(size: int) -> int:
    """Numbers in a lower triangle."""
    return size * (size + 1) // 2


def pair_values(parents: int) -> int:
    """Numbers that are kept of a pair."""
    return triangle_length(parents + 3)


class Pairs(NamedTuple):
    """Lower triangles of a node's pairs, (numbers, earlier nodes), row after row.

    Columns are 1, the parents, the node and the earlier node: first the number of rows, then in
    each row of the triangle the mean of a column and its products about the means.
    """

    triangles: FloatArray

    @property
    def counts(self) -> FloatArray:
        """Rows of each pair, (earlier,)."""
        return np.asarray(self.triangles[0])

    def mean(self, column: int) -> FloatArray:
        """Means of a column, the parents counted from 0, over the rows of each pair."""
        return np.asarray(self.triangles[triangle_length(column + 1)])

    def product(self, one: int, other: int) -> FloatArray:
        """Sums of products of two columns over the rows of each pair."""
        first, last = min(one, other), max(one, other)
        return np.asarray(self.triangles[triangle_length(last + 1) + first + 1])

    @classmethod
    def of_sums(cls, sums: FloatArray, centres: list[FloatArray], intercept: bool) -> "Pairs":
        """From raw sums of products of the columns less their centres."""
        found = cls(sums)
        safe = np.maximum(sums[0], 1.0)
        if not intercept:
            for column in range(len(centres)):
                found.mean(column)[:] = 0.0
            return found
        for column in range(len(centres)):
            for other in range(column + 1):
                found.product(column, other)[:] -= found.mean(column) * found.mean(other) / safe
        for column, centre in enumerate(centres):
            found.mean(column)[:] = found.mean(column) / safe + centre
        return found

    def merge(self, right: "Pairs", columns: int) -> "Pairs":
        """The moments over the rows of both."""
        counts = self.counts + right.counts
        safe = np.maximum(counts, 1.0)
        weight = self.counts * right.counts / safe
        found = Pairs(self.triangles + right.triangles)
        shifts = [right.mean(column) - self.mean(column) for column in range(columns)]
        for column in range(columns):
            share = right.counts / safe
            found.mean(column)[:] = self.mean(column) + shifts[column] * share
            for other in range(column + 1):
                found.product(column, other)[:] += weight * shifts[column] * shifts[other]
        return found


class ColumnMoments(NamedTuple):
    """Each column over the rows that have it, (nodes,) each."""

    counts: FloatArray
    means: FloatArray
    squares: FloatArray
    """Sums of squares about the means, or about 0 without an intercept."""

    def merge(self, right: "ColumnMoments") -> "ColumnMoments":
        """The moments over the rows of both."""
        counts = self.counts + right.counts
        share = right.counts / np.maximum(counts, 1.0)
        shift = right.means - self.means
        squares = self.squares + right.squares + self.counts * share * shift**2
        return ColumnMoments(counts, self.means + shift * share, squares)


class PairMoments(NamedTuple):
    """All columns, and the pairs of the nodes that were asked for."""

    columns: ColumnMoments
    pairs: tuple[Pairs, ...]


@dataclass(frozen=True, eq=False)
class PairsPass(Pass):
    """Asks for the moments of some nodes with each earlier node.

    Nodes are numbered in an order in which parents come first.
    """

    purpose = "tests of the graph"

    order: IntArray
    """The columns of the table in that order."""
    asked: tuple[tuple[int, IntArray], ...]
    """Nodes and their parents."""
    intercept: bool

    @np.errstate(over="ignore", invalid="ignore")
    def summarize(self, stripe: Stripe) -> PairMoments:
        """Sums over the stripe about its own means."""
        known, values, columns = self._columns(stripe)
        was_set = stripe.set_cells
        unset = None if was_set is None else ~was_set.T[self.order]
        sums = [np.zeros((pair_values(len(parents)), node)) for node, parents in self.asked]
        for first in range(0, values.shape[1], BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            there, own = known[:, rows], values[:, rows]
            block = (there.astype(np.float64), own, own * own)
            for total, (node, parents) in zip(sums, self.asked, strict=True):
                family = np.append(parents, node)
                used = there[family].all(axis=0)
                if unset is not None:
                    used &= unset[node, rows]
                add_products(total, block, family, used)
        pairs = [self._about_means(*one, columns) for one in zip(self.asked, sums, strict=True)]
        return PairMoments(columns, tuple(pairs))

    def _about_means(
        self, asked: tuple[int, IntArray], sums: FloatArray, columns: ColumnMoments
    ) -> Pairs:
        node, parents = asked
        means = columns.means
        centres = [*(means[[column]] for column in (*parents.tolist(), node)), means[:node]]
        return Pairs.of_sums(sums, centres, self.intercept)

    def _columns(self, stripe: Stripe) -> tuple[BoolArray, FloatArray, ColumnMoments]:
        """Which cells are there, the values less their means or 0, (nodes, rows), and the means.

        The first value goes first, so that a constant column becomes exactly zero.
        """
        values = np.array(stripe.rows.T[self.order], dtype=np.float64, order="C")
        known = ~np.isnan(values)
        counts, means = known.sum(axis=1).astype(np.float64), np.zeros(len(values))
        if self.intercept and values.shape[1]:
            first = values[np.arange(len(values)), known.argmax(axis=1)]
            means += np.where(counts > 0.0, first, 0.0)
            values -= means[:, None]
        values[~known] = 0.0
        if self.intercept:
            rest = values.sum(axis=1) / np.maximum(counts, 1.0)
            values -= rest[:, None]
            values[~known] = 0.0
            means += rest
        squares = np.einsum("ij,ij->i", values, values)
        return known, values, ColumnMoments(counts, means, squares)

    def merge(self, left: PairMoments, right: PairMoments) -> PairMoments:
        """The moments over the rows of both."""
        triples = zip(self.asked, left.pairs, right.pairs, strict=True)
        pairs = tuple(one.merge(other, len(own[1]) + 2) for own, one, other in triples)
        return PairMoments(left.columns.merge(right.columns), pairs)


def add_products(
    total: FloatArray,
    block: tuple[FloatArray, FloatArray, FloatArray],
    family: IntArray,
    used: BoolArray,
) -> None:
    """Add the products of (1, family, earlier node) over the used rows that have the last.

    The block is which cells are there, their values and the squares of these, (nodes, rows).
    """
    there, values, squares = block
    node, size = int(family[-1]), len(family) + 1
    design = np.empty((size, len(used)))
    design[0] = used
    np.multiply(values[family], design[0], out=design[1:])
    products = np.empty((triangle_length(size), len(used)))
    for row in range(size):
        start = triangle_length(row)
        np.multiply(design[row], design[: row + 1], out=products[start : start + row + 1])
    total[: len(products)] += products @ there[:node].T
    total[len(products) : -1] += design @ values[:node].T
    total[-1] += design[0] @ squares[:node].T
