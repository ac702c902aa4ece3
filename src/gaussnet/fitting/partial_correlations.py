"""Partial correlations of each node with the earlier ones, given its parents, and their t.

Nodes are numbered in topological order here, so that the earlier nodes of t are 0..t-1. All pairs
of a node share the factor of its parents, and products of columns are found once for all nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from gaussnet.types import BoolArray, FloatArray, IntArray

LITTLE = 1e-6
"""A sum of squares of which less than this share is left is found again from the residuals."""
NOTHING = 1e-10
"""Residuals below this share of the values are rounding: nothing is left to correlate."""
TINY = 1e-300
BLOCK_VALUES = 1 << 18
FEWEST_BLOCK_ROWS = 4_096
"""Rows whose products are added up at once: few enough for the cache, enough for BLAS."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """One node with all earlier nodes, (earlier,) each, or a number that holds for all."""

    products: FloatArray
    squares: FloatArray
    """A correlation is a product by the root of its square."""
    freedom: FloatArray | float
    """Rows less parents, less 2, or less 1 without an intercept."""
    untested: IntArray
    """The earlier nodes with which there is nothing to correlate, or with too few rows."""
    statistics: FloatArray | None = None
    """What Student's t is compared with; None for noise of one variance."""

    def passes(self, points: "Points") -> BoolArray:
        """Whether p-values are at most that of the points."""
        t = points.of(self.freedom)
        if self.statistics is not None:
            return np.asarray(np.abs(self.statistics) >= t)
        share = t * t / (self.freedom + t * t)
        limits = np.multiply(share, self.squares)
        return np.asarray(np.square(self.products) >= limits)

    def listed(self, chosen: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Correlations, freedom and t of the chosen ones."""
        own = self.freedom[chosen] if isinstance(self.freedom, np.ndarray) else self.freedom
        freedom = np.full(len(chosen), own)
        r = self.products[chosen] / np.sqrt(self.squares[chosen])
        if self.statistics is not None:
            return r, freedom, self.statistics[chosen]
        t = r * np.sqrt(freedom / np.maximum((1.0 - r) * (1.0 + r), TINY))
        return r, freedom, t


class Points:
    """Student's quantile of a p-value, with some room for rounding, found once for a freedom."""

    def __init__(self, p_value: float) -> None:
        self.p_value = p_value
        self.known: dict[float, float] = {}

    def of(self, freedom: FloatArray | float) -> FloatArray | float:
        """The quantiles."""
        if not isinstance(freedom, np.ndarray):
            return self._point(freedom)
        values, places = np.unique(freedom, return_inverse=True)
        return np.array([self._point(value) for value in values.tolist()])[places]

    def _point(self, freedom: float) -> float:
        if freedom not in self.known:
            found = float(stdtrit(np.fmax(freedom, 1.0), 1.0 - 0.5 * self.p_value))
            self.known[freedom] = found * (1.0 - 1e-9)
        return self.known[freedom]


class Correlating(Protocol):
    """Rows that give the partial correlations of a node with all earlier ones."""

    def correlate(self, node: int, parents: IntArray) -> Correlated:
        """The correlations of one node, given its parents; those of the parents do not count."""
        ...


class CompleteRows:
    """Rows without missing values, (rows, nodes): all from the products of their columns."""

    def __init__(
        self, rows: FloatArray, order: IntArray, parents: Sequence[IntArray], intercept: bool
    ) -> None:
        self.rows, self.order, self.intercept = rows, order, intercept
        self.peaks, self.means = _peaks_and_means(rows, intercept)
        self.products, self.sizes = self._unit_products()
        self.factors = _inverse_factors(self.products, parents)

    def correlate(self, node: int, parents: IntArray) -> Correlated:
        r"""Correlations of residuals on the parents.

        .. math:: r_j = \frac{e' x_j}{|e| |x_j - Q Q' x_j|}, \quad e = x_i - Q Q' x_i

        Q is an orthonormal basis of the parents. With L the Cholesky factor of the products of
        the parents, :math:`Q' x_j` is :math:`L^{-1}` times products that are there already.
        """
        products, left = self.products[node, : node + 1], self.sizes[:node]
        if len(parents):
            if node not in self.factors:
                return self._by_projection(node, parents, np.arange(node))
            loads = self.factors[node] @ self.products[parents, : node + 1]
            products = products - loads[:, node] @ loads
            left = left - np.einsum("ij,ij->j", loads[:, :node], loads[:, :node])
            left[parents] = 1.0
        length, products = float(products[node]), products[:node]
        if length < LITTLE:
            return self._by_projection(node, parents, np.arange(node))
        freedom = len(self.rows) - len(parents) - 1.0 - self.intercept
        found = Correlated(
            products, length * left, freedom, np.arange(0 if freedom >= 1.0 else node)
        )
        return self._mended(found, node, parents, left) if left.min() < LITTLE else found

    def _mended(
        self, found: Correlated, node: int, parents: IntArray, left: FloatArray
    ) -> Correlated:
        """With those found again of which little is left."""
        lost = np.flatnonzero(left < LITTLE)
        again = self._by_projection(node, parents, lost)
        products = found.products.copy()
        products[lost], found.squares[lost] = again.products, again.squares
        untested = np.union1d(found.untested, lost[again.untested])
        return Correlated(products, found.squares, found.freedom, untested)

    def _by_projection(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        """The same from the residuals themselves, where products would lose digits."""
        basis = orthonormal_basis(self._columns(parents))
        rest = without(self._columns(np.array([node])), basis)
        length = float(np.linalg.norm(rest))
        found, nothing = np.zeros(len(others)), np.ones(len(others), dtype=np.bool_)
        step = max(1, BLOCK_VALUES // max(len(self.rows), 1))
        for first in range(0, len(others) if length > NOTHING else 0, step):
            moved = without(self._columns(others[first : first + step]), basis)
            sizes = np.linalg.norm(moved, axis=0)
            something = sizes > NOTHING
            cosines = (rest.T @ moved)[0] / np.where(something, length * sizes, 1.0)
            found[first : first + step] = cosines
            nothing[first : first + step] = ~something
        freedom = len(self.rows) - basis.shape[1] - 1.0 - self.intercept
        untested = np.flatnonzero(nothing | (freedom < 1.0))
        return Correlated(found, np.ones(len(others)), freedom, untested)

    def _columns(self, nodes: IntArray) -> FloatArray:
        """Columns at mean 0 and size 1; 0 where a column is constant."""
        places = self.order[nodes]
        values = self.rows[:, places] / self.peaks[places]
        if self.intercept:
            values -= self.means[places]
            values -= values.mean(axis=0)
        sizes = np.linalg.norm(values, axis=0)
        return np.asarray(values / np.where(sizes > NOTHING, sizes, np.inf))

    def _unit_products(self) -> tuple[FloatArray, FloatArray]:
        """Products of unit columns, (nodes, nodes), and their squares: 1, or 0 if constant."""
        count, nodes = self.rows.shape
        peaks, means = self.peaks[self.order], self.means[self.order]
        products, sums, scales = np.empty((nodes, nodes)), np.zeros(nodes), np.empty(0)
        blocks = list(_blocks(self.rows))
        for index, block in enumerate(blocks):
            values = block.take(self.order, axis=1)
            values /= peaks
            if self.intercept:
                values -= means
                sums += values.sum(axis=0)
            if len(blocks) == 1:
                values -= sums / max(count, 1)
                scales = _scales(np.einsum("ij,ij->j", values, values))
                values *= scales
            if index:
                products += values.T @ values
            else:
                np.matmul(values.T, values, out=products)
        if len(blocks) > 1:
            products -= np.outer(sums, sums / max(count, 1))
            scales = _scales(products.diagonal())
            products *= scales * scales[:, None]
        return products, (scales > 0.0).astype(np.float64)


def _scales(squares: FloatArray) -> FloatArray:
    """What brings columns with these sums of squares to size 1; 0 for constant ones."""
    alive = squares > NOTHING**2
    return np.where(alive, 1.0 / np.sqrt(np.where(alive, squares, 1.0)), 0.0)


def _inverse_factors(products: FloatArray, parents: Sequence[IntArray]) -> dict[int, FloatArray]:
    """Inverse Cholesky factors of the products of each node's parents, unless they lose digits."""
    found: dict[int, FloatArray] = {}
    sizes = np.array([len(own) for own in parents], dtype=np.int64)
    for size in np.unique(sizes[sizes > 0]).tolist():
        nodes = np.flatnonzero(sizes == size)
        own = np.stack([parents[node] for node in nodes.tolist()])
        tables = products[own[:, :, None], own[:, None, :]]
        # The small ridge lets collinear parents through, whose pivots then tell of them.
        pivots = np.linalg.cholesky(tables + NOTHING * np.eye(size)).diagonal(axis1=1, axis2=2)
        sure = pivots.min(axis=1) ** 2 >= LITTLE
        inverses = np.linalg.inv(np.linalg.cholesky(tables[sure]))
        found.update(zip(nodes[sure].tolist(), inverses, strict=True))
    return found


def _peaks_and_means(rows: FloatArray, intercept: bool) -> tuple[FloatArray, FloatArray]:
    """The largest size in each column, at least the least number, and the means in these units."""
    count, nodes = rows.shape
    peaks, means = np.full(nodes, np.finfo(float).tiny), np.zeros(nodes)
    for block in _blocks(rows):
        np.maximum(peaks, np.maximum(block.max(axis=0), -block.min(axis=0)), out=peaks)
    if intercept:
        for block in _blocks(rows):
            means += (block / peaks).sum(axis=0)
    return peaks, means / max(count, 1)


def _blocks(rows: FloatArray) -> Iterator[FloatArray]:
    """Consecutive rows, a few at a time."""
    step = max(FEWEST_BLOCK_ROWS, BLOCK_VALUES // max(rows.shape[1], 1))
    return (rows[first : first + step] for first in range(0, len(rows), step))


class IncompleteRows:
    """Rows of which cells are missing (NaN) or were set from outside.

    A pair uses the rows that have it and the parents, and in which the node was not set. Sums
    over these rows are those over all rows less the few that are left out.
    """

    def __init__(self, rows: FloatArray, intercept: bool, was_set: BoolArray | None) -> None:
        self.known: BoolArray = ~np.isnan(rows)
        self.values = np.where(self.known, standardised(rows, intercept), 0.0)
        self.products = self.values.T @ self.values
        self.sums = self.values.sum(axis=0)
        self.intercept, self.was_set = intercept, was_set
        self.hole_columns, self.hole_rows = np.nonzero(~self.known.T)
        self.first_holes = np.searchsorted(self.hole_columns, np.arange(rows.shape[1] + 1))

    def correlate(self, node: int, parents: IntArray) -> Correlated:
        """Correlations from the products of (1, parents, node, earlier node)."""
        family = np.append(parents, node)
        used: BoolArray = np.asarray(self.known[:, family].all(axis=1))
        if self.was_set is not None:
            used &= ~self.was_set[:, node]
        unused = np.flatnonzero(~used)
        values = self.values[unused]
        design = self._with_constant(values[:, family])
        count = len(self.values) - len(unused)
        base = self._base(family, len(self.values)) - design.T @ design
        cross = np.concatenate((self.sums[None, :node], self.products[family, :node]))
        cross = cross[not self.intercept :] - design.T @ values[:, :node]
        squares = self.products.diagonal()[:node] - np.einsum(
            "ij,ij->j", values[:, :node], values[:, :node]
        )
        lacking, lost = self._lost_products(family, used, node)
        table = [[base[a, b] - lacking[a, b] for b in range(len(base))] for a in range(len(base))]
        for a, row in enumerate(table):
            row.append(cross[a])
        found, left, ranks = _partial([*table, [*cross, squares]])
        freedom = count - lost - ranks - 1.0
        untested = np.flatnonzero(np.isnan(left) | (freedom < 1.0))
        return Correlated(found, left, freedom, untested)

    def _with_constant(self, values: FloatArray) -> FloatArray:
        if not self.intercept:
            return values
        return np.column_stack((np.ones(len(values)), values))

    def _base(self, family: IntArray, count: int) -> FloatArray:
        """Products of (1, family) over all rows."""
        size = len(family) + self.intercept
        found = np.empty((size, size))
        found[-len(family) :, -len(family) :] = self.products[np.ix_(family, family)]
        if self.intercept:
            found[0, 0] = count
            found[0, 1:] = found[1:, 0] = self.sums[family]
        return found

    def _lost_products(
        self, family: IntArray, used: BoolArray, node: int
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of products of the family over the used rows that lack an earlier node.

        (size, size, earlier), and the number of those rows, (earlier,).
        """
        size = len(family) + self.intercept
        found, counts = np.zeros((size, size, node)), np.zeros(node)
        stop = self.first_holes[node]
        if not stop:
            return found, counts
        rows, columns = self.hole_rows[:stop], self.hole_columns[:stop]
        weights = used[rows].astype(np.float64)
        design = self._with_constant(self.values[rows[:, None], family]) * weights[:, None]
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        places = columns[starts]
        counts[places] = np.add.reduceat(weights, starts)
        for a in range(size):
            for b in range(a, size):
                sums = np.add.reduceat(design[:, a] * design[:, b], starts)
                found[a, b, places] = found[b, a, places] = sums
        return found, counts


def _partial(table: list[list[FloatArray]]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Products and squares of the last two given the rest, and ranks of the rest.

    `table` holds products, an array over all candidates in each place; elimination by columns
    leaves the products of what the earlier ones do not explain.
    """
    size = len(table)
    lengths = [np.sqrt(np.maximum(table[k][k], 0.0)) for k in range(size)]
    scales = [
        np.where(length > 0.0, 1.0 / np.where(length > 0.0, length, 1.0), 0.0) for length in lengths
    ]
    left = [[table[a][b] * scales[a] * scales[b] for b in range(size)] for a in range(size)]
    ranks = np.zeros(np.shape(left[-1][-1]))
    for a in range(size - 2):
        there = left[a][a] > LITTLE**2 * (size - 2)
        inverse = np.where(there, 1.0 / np.where(there, left[a][a], 1.0), 0.0)
        ranks = ranks + there
        for b in range(a + 1, size):
            factor = left[a][b] * inverse
            for c in range(b, size):
                left[b][c] = left[b][c] - factor * left[a][c]
    first, last = left[-2][-2], left[-1][-1]
    nothing = (first <= LITTLE**2) | (last <= LITTLE**2)
    return left[-2][-1], np.where(nothing, np.nan, first * last), ranks


class HeteroscedasticRows:
    """Rows, NaN where missing, for tests that allow each row a variance of its own.

    Each candidate is tested on the rows that have it, the node and the parents.
    """

    def __init__(self, rows: FloatArray, intercept: bool, was_set: BoolArray | None) -> None:
        self.known: BoolArray = ~np.isnan(rows)
        self.rows, self.intercept, self.was_set = rows, intercept, was_set

    def correlate(self, node: int, parents: IntArray) -> Correlated:
        """Correlations as usual, and t by HC3."""
        others = np.setdiff1d(np.arange(node), parents)
        family = self.known[:, np.append(parents, node)].all(axis=1)
        if self.was_set is not None:
            family &= ~self.was_set[:, node]
        alike = self.known[np.ix_(family, others)].all(axis=0)
        found = np.full((3, node), np.nan)
        runs = [np.flatnonzero(alike), *(np.array([k]) for k in np.flatnonzero(~alike).tolist())]
        for chosen in runs:
            if len(chosen):
                there = self.known[:, others[chosen]].all(axis=1)
                own: BoolArray = np.asarray(np.logical_and(family, there))
                found[:, others[chosen]] = self._tested(own, node, parents, others[chosen])
        correlations, freedom, statistics = found
        untested = np.flatnonzero(np.isnan(correlations) | (freedom < 1.0))
        return Correlated(correlations, np.ones(node), freedom, untested, statistics)

    def _tested(
        self, chosen: BoolArray, node: int, parents: IntArray, others: IntArray
    ) -> FloatArray:
        r"""Correlation, freedom and t of each candidate, (3, candidates), by HC3.

        .. math:: t = \frac{\tilde x' e}{\sqrt{\sum_k \tilde x_k^2 u_k^2 / (1 - h_k)^2}}

        with e and :math:`\tilde x` the residuals of the node and the candidate on the parents, u
        those of the node on both, and h the leverages of these.
        """
        columns = np.concatenate((parents, [node], others))
        values = standardised(self.rows[np.ix_(chosen, columns)], self.intercept)
        size = len(parents)
        basis = orthonormal_basis(values[:, :size])
        rest, moved = without(values[:, [size]], basis), without(values[:, size + 1 :], basis)
        products, squares = moved.T @ rest[:, 0], np.einsum("ij,ij->j", moved, moved)
        length = float(np.linalg.norm(rest))
        nothing = (squares <= NOTHING**2) | (length <= NOTHING)
        safe = np.where(nothing, 1.0, squares)
        own = rest - moved * (products / safe)
        base = np.einsum("ij,ij->i", basis, basis) + self.intercept / max(len(values), 1)
        left = 1.0 - base[:, None] - moved**2 / safe
        terms = moved * own / np.where(left > NOTHING, left, np.nan)
        errors = np.sqrt(np.einsum("ij,ij->j", terms, terms))
        freedom = len(values) - basis.shape[1] - 1.0 - self.intercept
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = products / errors
        correlations = products / (np.sqrt(safe) * (length if length > 0.0 else 1.0))
        found = np.stack((correlations, np.full(len(others), freedom), statistics))
        found[:, nothing | np.isnan(statistics)] = np.nan
        return found


def standardised(rows: FloatArray, intercept: bool) -> FloatArray:
    """Columns at size 1, and with an intercept at mean 0; NaN stays."""
    known = ~np.isnan(rows)
    values = rows / np.maximum(np.nanmax(np.abs(rows), axis=0, initial=0.0), np.finfo(float).tiny)
    if intercept:
        counts = np.maximum(known.sum(axis=0), 1)
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
        # Once more, for the rounding of a mean that is large beside the spread.
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
    sizes = np.sqrt(np.where(known, values**2, 0.0).sum(axis=0))
    return np.asarray(values / np.where(sizes > NOTHING, sizes, np.inf))


def orthonormal_basis(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns, as many as their rank."""
    if not columns.shape[1]:
        return columns
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > NOTHING * max(float(values[0]), NOTHING)])


def without(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """The columns less their part in the basis, twice for rounding."""
    once = columns - basis @ (basis.T @ columns)
    return np.asarray(once - basis @ (basis.T @ once))
