"""The precision of a network, entry by entry: nodes that share a family, and nothing else.

With A the matrix of the equations and s the noise variances the precision is

.. math:: \\Omega = A' \\operatorname{diag}(1/s) A,

which has an entry for two nodes only if one family holds both. Expected cross-products are kept in
the same places, for the families need no others.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import WELL_CONDITIONED
from gaussnet.types import BoolArray, FloatArray, IntArray

LARGEST_BLOCK = 1 << 20
"""Entries of the matrices that are inverted at once."""


@dataclass(frozen=True, eq=False)
class SparsePrecision:
    """Where the precision of a network over some families has entries.

    Examples
    --------
    >>> families = Families(np.arange(3), np.array([0, 0, 0, 2]), np.array([0, 1]))
    >>> layout = SparsePrecision(families)
    >>> layout.neighbours.tolist(), layout.starts.tolist()
    ([0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 3, 6, 9])
    >>> layout.values(np.array([2.0, 1.0]), np.ones(3)).reshape(3, 3)
    array([[ 5.,  2., -2.],
           [ 2.,  2., -1.],
           [-2., -1.,  1.]])
    """

    families: Families
    """Family i is that of node i."""

    @cached_property
    def by_size(self) -> tuple[IntArray, Families]:
        """The families in order of their number of parents, and that order."""
        return self.families.sorted_by_size

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The two nodes of each packed product of the sorted families."""
        families = self.by_size[1]
        row, column = families.product_columns
        return families.columns[row], families.columns[column]

    @cached_property
    def _keys(self) -> IntArray:
        """Row times the number of nodes plus column, for each entry, ascending."""
        one, other = self.pairs
        width = len(self.families)
        return np.unique(np.concatenate((one * width + other, other * width + one)))

    @cached_property
    def neighbours(self) -> IntArray:
        """The columns of the entries, row after row, (entries,)."""
        return self._keys % len(self.families)

    @cached_property
    def starts(self) -> IntArray:
        """Where the entries of each row start, (nodes + 1,)."""
        width = len(self.families)
        return np.searchsorted(self._keys, np.arange(width + 1) * width)

    @cached_property
    def diagonal(self) -> IntArray:
        """Where the entries of the diagonal are, (nodes,)."""
        nodes = np.arange(len(self.families))
        return np.searchsorted(self._keys, nodes * (len(self.families) + 1))

    @cached_property
    def of_product(self) -> tuple[IntArray, IntArray]:
        """The entry of each packed product below the diagonal, and the one above, (products,)."""
        one, other = self.pairs
        width = len(self.families)
        low, high = np.minimum(one, other), np.maximum(one, other)
        return np.searchsorted(self._keys, high * width + low), np.searchsorted(
            self._keys, low * width + high
        )

    def values(self, coefficients: FloatArray, variances: FloatArray) -> FloatArray:
        """The entries, (entries,), from coefficients (edges,) and variances (nodes,) by node."""
        order, families = self.by_size
        factors = np.ones(len(families.columns))
        factors[np.arange(len(families.parents)) + families.family_of_edge] = -coefficients[
            self.families.edges_of(order)
        ]
        row, column = families.product_columns
        parts = factors[row] * factors[column] / variances[order][families.family_of_product]
        below, above = self.of_product
        sums = np.bincount(below, parts, minlength=len(self._keys))
        entries = np.asarray(sums, dtype=np.float64)
        entries[above] = entries[below]
        return entries

    def have_neighbours(self, left_out: BoolArray, rows: IntArray, nodes: IntArray) -> BoolArray:
        """Which cells share a family with one of their row that is left out, (cells,).

        Examples
        --------
        >>> layout = SparsePrecision(Families(np.arange(3), np.array([0, 0, 1, 1]), np.array([0])))
        >>> left_out = np.array([[True, True, False], [True, False, True]])
        >>> rows, nodes = np.nonzero(left_out)
        >>> layout.have_neighbours(left_out, rows, nodes).tolist()
        [True, True, False, False]
        """
        counts, found = np.diff(self.starts), np.zeros(len(nodes), dtype=bool)
        at_once = max(LARGEST_BLOCK // int(counts.max(initial=1)), 1)
        for first in range(0, len(nodes), at_once):
            node, row = (cells[first : first + at_once] for cells in (nodes, rows))
            own = counts[node]
            cell = np.repeat(np.arange(len(own)), own)
            shift = self.starts[node] - (np.cumsum(own) - own)
            other = self.neighbours[np.arange(len(cell)) + shift[cell]]
            is_beside = left_out[row[cell], other] & (other != node[cell])
            found[first + cell[is_beside]] = True
        return found

    def given_others(self, entries: FloatArray, left_out: BoolArray, nodes: IntArray) -> FloatArray:
        r"""Precision of one cell of each row given the cells that are not left out, (rows,).

        With B the cells left out (rows, nodes), the cell c of the row among them,

        .. math:: 1 / (\Omega_{BB}^{-1})_{cc}.

        Examples
        --------
        >>> layout = SparsePrecision(Families(np.arange(2), np.array([0, 0, 1]), np.array([0])))
        >>> entries = layout.values(np.array([2.0]), np.ones(2))
        >>> layout.given_others(entries, np.array([[False, True], [True, True]]), np.ones(2, int))
        array([1. , 0.2])
        """
        found = entries[self.diagonal[nodes]]
        several = np.flatnonzero(left_out.sum(axis=1) > 1)
        packed = np.packbits(left_out[several], axis=1)
        _, firsts, numbers = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        patterns = left_out[several[firsts]]
        ratios = self._spread_ratios(entries, patterns)[numbers.reshape(-1), nodes[several]]
        found[several] /= ratios
        return found

    def _spread_ratios(self, entries: FloatArray, patterns: BoolArray) -> FloatArray:
        """What it adds to the variance of each cell that the others of its pattern are left out.

        Factors, (patterns, nodes); NaN for cells of no pattern. Patterns of one size are inverted
        together, with a diagonal of 1, so that units do not matter.
        """
        ratios = np.full(patterns.shape, np.nan)
        sizes = patterns.sum(axis=1)
        scales = np.sqrt(entries[self.diagonal])
        for size in np.unique(sizes).tolist():
            at_once = max(LARGEST_BLOCK // size**2, 1)
            rows = np.flatnonzero(sizes == size)
            for chosen in (rows[k : k + at_once] for k in range(0, len(rows), at_once)):
                cells = np.nonzero(patterns[chosen])[1].reshape(-1, size)
                one, other = cells[:, :, None], cells[:, None, :]
                blocks = self._entries_at(entries, one, other) / (scales[one] * scales[other])
                inverse = np.linalg.inv(blocks)
                ratios[chosen[:, None], cells] = inverse.diagonal(axis1=1, axis2=2)
        return ratios

    def _entries_at(self, entries: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
        """The precision of pairs of nodes; 0 where no family holds both."""
        keys = one * len(self.families) + other
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, entries[places], 0.0)

    def solve(
        self, products: FloatArray, shifts: FloatArray, weight: float
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Least squares from cross-products (entries,) about points that lie `shifts` off the mean.

        Gives coefficients (edges,), mean squares (nodes,), and whether they have their digits.
        """
        order, families = self.by_size
        one, other = self.pairs
        packed = products[self.of_product[0]] - weight * shifts[one] * shifts[other]
        solved, squares, pivots = kernels.solve_moments(families, packed)
        coefficients, variances = np.empty(len(solved)), np.empty(len(order))
        coefficients[self.families.edges_of(order)] = solved
        variances[order] = squares / weight
        sound = np.empty(len(order), dtype=bool)
        sound[order] = pivots > WELL_CONDITIONED
        return coefficients, variances, sound
