"""Partial correlations of each node with the earlier ones, given its parents, and their t.

Nodes are numbered in topological order here, so that the earlier nodes of t are 0..t-1. All pairs
of a node share the factor of its parents, and products of columns are found once for all nodes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from gaussnet.data.passes import Pass
from gaussnet.data.table import Table, ask
from gaussnet.fitting.pair_moments import (
    ColumnMoments,
    PairMoments,
    Pairs,
    PairsPass,
    pair_values,
)
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations
from gaussnet.methods.moments import CrossMoments, Factors, FactorsPass
from gaussnet.tails import student_quantile
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.robust.judge import Believing

LITTLE = 1e-6
"""A sum of squares of which less than this share is left is found again from the residuals."""
NOTHING = 1e-10
"""Residuals below this share of the values are rounding: nothing is left to correlate."""
TINY = 1e-300
EXACT = 1e-280
"""Smaller sums of squares have lost digits near the least numbers that there are."""
NONE = np.empty(0, dtype=np.int64)
FACTORED = 32
"""Columns beside the parents that are factored together."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """One node with all earlier nodes, or with some, (earlier,) each or a number for all."""

    products: FloatArray
    squares: FloatArray
    """A correlation is a product by the root of its square."""
    freedom: FloatArray | float
    """Rows less parents, less 2, or less 1 without an intercept."""
    untested: IntArray
    """The earlier nodes with which there is nothing to correlate, or with too few rows."""
    statistics: FloatArray | None = None
    """What Student's t is compared with; None for noise of one variance."""
    places: IntArray | None = None
    """The earlier nodes that these are, if the others cannot pass; none of them is a parent."""
    tested: int = 0
    """With `places`: missing edges that were tested, those that cannot pass with them."""

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
            found = float(student_quantile(np.fmax(freedom, 1.0), 1.0 - 0.5 * self.p_value))
            self.known[freedom] = found * (1.0 - 1e-9)
        return self.known[freedom]


Asked = Sequence[tuple[int, IntArray]]
"""Nodes, and the parents of each."""


class Correlating(Protocol):
    """Rows that give the partial correlations of nodes with all earlier ones."""

    def correlations(self, asked: Asked) -> Iterator[tuple[int | IntArray, Correlated]]:
        """Each node asked for with its correlations given its parents, in any order.

        Those of the parents do not count. Where correlations have `places`, there may be a node for
        each.
        """
        ...


class CompleteRows:
    """Rows without missing values: all from the products of their columns.

    Where products lose digits, triangular factors of the columns are asked of the table. A summary
    has no table; then these are left untested.
    """

    def __init__(
        self,
        moments: CrossMoments,
        order: IntArray,
        intercept: bool,
        table: Table | None,
        *,
        is_ordered: bool = False,
    ) -> None:
        """With `is_ordered` the moments are in topological order, and their products may go."""
        self.rows, self.order, self.intercept, self.table = moments.rows, order, intercept, table
        if not is_ordered:
            products = moments.products[np.ix_(order, order)]
            moments = CrossMoments(moments.rows, moments.means[order], products)
        self.exact = moments.products.diagonal() >= EXACT
        self.products, self.alive = _unit_products(moments)
        self.is_sound = bool(self.exact.all() and self.alive.all())

    def correlations(self, asked: Asked) -> Iterator[tuple[int, Correlated]]:
        r"""Correlations of residuals on the parents.

        .. math:: r_j = \frac{e' x_j}{|e| |x_j - Q Q' x_j|}, \quad e = x_i - Q Q' x_i

        Q is an orthonormal basis of the parents. With L the Cholesky factor of the products of
        the parents, :math:`Q' x_j` is :math:`L^{-1}` times products that are there already.
        """
        own = list(asked)
        if not self.is_sound:
            own = [(node, parents[self.alive[parents]]) for node, parents in asked]
        factors, doubtful = inverse_factors(own, self._tables), []
        for node, parents in own:
            found, lost = self._from_products(node, parents, factors)
            if len(lost):
                doubtful.append(Doubt(node, parents, lost, found))
            else:
                yield node, found
        yield from self._mended(doubtful)

    def _tables(self, nodes: IntArray, parents: IntArray) -> FloatArray:
        """Products of the parents (nodes, parents) of each of some nodes."""
        return self.products[parents[:, :, None], parents[:, None, :]]

    def _from_products(
        self, node: int, parents: IntArray, factors: dict[int, FloatArray]
    ) -> tuple[Correlated, IntArray]:
        """The correlations of a node, and the earlier nodes for which they lack digits."""
        alive, freedom = self.alive[:node], self.rows - len(parents) - 1.0 - self.intercept
        if not self.alive[node] or freedom < 1.0:
            return nothing(node, freedom), NONE
        products, left = self.products[node, : node + 1], alive.astype(np.float64)
        if not self.is_sound:
            left[~self.exact[:node]] = 0.0
            if not self.exact[np.append(parents, node)].all():
                return nothing(node, freedom), np.flatnonzero(alive)
        if len(parents):
            if node not in factors:
                return nothing(node, freedom), np.flatnonzero(alive)
            loads = factors[node] @ self.products[parents, : node + 1]
            products = products - loads[:, node] @ loads
            left -= np.einsum("ij,ij->j", loads[:, :node], loads[:, :node])
            left[parents] = 1.0
        length, products = float(products[node]), products[:node]
        if length < LITTLE:
            return nothing(node, freedom), np.flatnonzero(alive)
        found = Correlated(
            products, length * left, freedom, NONE if self.is_sound else np.flatnonzero(~alive)
        )
        if self.is_sound and left.min(initial=1.0) >= LITTLE:
            return found, NONE
        return found, np.flatnonzero(alive & (left < LITTLE))

    def _mended(self, doubtful: "list[Doubt]") -> Iterator[tuple[int, Correlated]]:
        """With those found again, from the factors, that lack digits."""
        parts = [part for doubt in doubtful for part in doubt.parts()]
        if self.table is None or not parts:
            for doubt in doubtful:
                yield doubt.node, doubt.untested()
            return
        factors = self._factors(parts)
        again: dict[int, list[tuple[IntArray, Correlated]]] = {}
        for (doubt, others), factor in zip(parts, factors, strict=True):
            found = by_projection(factor, len(doubt.parents), self.rows - self.intercept)
            again.setdefault(doubt.node, []).append((others, found))
        for doubt in doubtful:
            yield doubt.node, doubt.mended(again[doubt.node])

    def _factors(self, parts: "list[tuple[Doubt, IntArray]]") -> tuple[FloatArray, ...]:
        """Triangular factors of (parents, earlier nodes, node), in one pass."""
        assert self.table is not None
        regressors = [np.concatenate((doubt.parents, others)) for doubt, others in parts]
        offsets = np.cumsum([0, *map(len, regressors)])
        children = self.order[[doubt.node for doubt, _ in parts]]
        families = Families(children, offsets, self.order[np.concatenate(regressors)])
        question = FactorsPass(Equations(families, self.intercept, self.table.limits), _as_found)
        found: Factors = ask(self.table, question)
        return found.factors


def by_projection(factor: FloatArray, parents: int, rows: float) -> Correlated:
    """Of the last column with those after the parents, of so many rows, less 1 for an intercept.

    The columns may be those of a triangular factor, few and short, which have the products of those
    that were factored.
    """
    columns = factor / np.maximum(np.abs(factor).max(axis=0), TINY)
    columns /= np.maximum(np.linalg.norm(columns, axis=0), TINY)
    basis = orthonormal_basis(columns[:, :parents])
    moved = without(columns[:, parents:], basis)
    lengths = np.linalg.norm(moved, axis=0)
    something = lengths > NOTHING
    safe = np.where(something, lengths, 1.0)
    cosines = (moved[:, -1] @ moved[:, :-1]) / (safe[-1] * safe[:-1])
    freedom = rows - basis.shape[1] - 1.0
    untested = ~(something[:-1] & something[-1]) | (freedom < 1.0)
    return Correlated(cosines, np.ones(len(cosines)), freedom, np.flatnonzero(untested))


def _as_found(factors: Factors) -> Factors:
    return factors


def nothing(node: int, freedom: float) -> Correlated:
    """No earlier node is tested."""
    return Correlated(np.zeros(node), np.ones(node), freedom, np.arange(node))


class Doubt(NamedTuple):
    """A node whose correlations with some earlier ones lack digits."""

    node: int
    parents: IntArray
    lost: IntArray
    found: Correlated

    def parts(self, most: int = FACTORED) -> "list[tuple[Doubt, IntArray]]":
        """The lost ones, some at a time: factors cost the square of their number."""
        wanted = np.setdiff1d(self.lost, self.parents)
        count = -(-len(wanted) // most)
        return [(self, some) for some in np.array_split(wanted, count)] if count else []

    def untested(self) -> Correlated:
        """With the lost ones not tested."""
        found = self.found
        return replace(found, untested=np.union1d(found.untested, self.lost))

    def mended(self, again: list[tuple[IntArray, Correlated]]) -> Correlated:
        """With what was found again."""
        products, squares = self.found.products.copy(), self.found.squares.copy()
        untested = np.setdiff1d(self.found.untested, self.lost)
        freedom = self.found.freedom
        for others, found in again:
            products[others], squares[others] = found.products, found.squares
            untested = np.union1d(untested, others[found.untested])
            freedom = found.freedom
        return Correlated(products, squares, freedom, untested)


def _unit_products(moments: CrossMoments) -> tuple[FloatArray, BoolArray]:
    """Products of unit columns, (nodes, nodes), in place, and which columns are not constant.

    A column whose deviations are rounding beside its values is constant: its products are 0.
    """
    products = moments.products
    sizes = np.sqrt(products.diagonal())
    alive = sizes > NOTHING * (np.abs(moments.means) + sizes)
    scales = np.where(alive, 1.0 / np.where(alive, sizes, 1.0), 0.0)
    products *= scales[:, None]
    products *= scales
    return products, alive


def inverse_factors(
    asked: Asked, tables_of: Callable[[IntArray, IntArray], FloatArray]
) -> dict[int, FloatArray]:
    """Inverse Cholesky factors of the products of each node's parents, unless they lose digits.

    `tables_of` gives these products of nodes that have as many parents each.
    """
    found: dict[int, FloatArray] = {}
    all_nodes = np.array([node for node, _ in asked], dtype=np.int64)
    sizes = np.array([len(own) for _, own in asked], dtype=np.int64)
    for size in sorted(set(sizes[sizes > 0].tolist())):
        places = np.flatnonzero(sizes == size)
        nodes, own = all_nodes[places], np.stack([asked[place][1] for place in places.tolist()])
        inverses, sure = inverted_factors(tables_of(nodes, own))
        found.update(zip(nodes[sure].tolist(), inverses[sure], strict=True))
    return found


def inverted_factors(tables: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Inverse Cholesky factors of products, (count, size, size), and which lose no digits.

    Those that lose digits are the identity.
    """
    count, size = tables.shape[:2]
    if not size:
        return np.empty((count, 0, 0)), np.ones(count, dtype=np.bool_)
    # The small ridge lets collinear parents through, whose pivots then tell of them.
    sure = _has_digits(_lower_factors(tables + NOTHING * np.eye(size)))
    factors = _lower_factors(np.where(sure[:, None, None], tables, np.eye(size)))
    sure &= _has_digits(factors)  # a pivot after a small one holds the ridge many times over
    factors = np.where(sure[:, None, None], factors, np.eye(size))
    return np.asarray(np.linalg.inv(factors), dtype=np.float64), sure


def _has_digits(factors: FloatArray) -> BoolArray:
    """Whether all pivots of Cholesky factors (count, size, size) are well above rounding."""
    pivots = factors.diagonal(axis1=1, axis2=2)
    return np.asarray(pivots.min(axis=1) ** 2 >= LITTLE)


def _lower_factors(tables: FloatArray) -> FloatArray:
    """Cholesky factors of tables (count, size, size); NaN of those that have none."""
    try:
        return np.asarray(np.linalg.cholesky(tables), dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(tables) == 1:
            return np.full_like(tables, np.nan)
        return np.concatenate([_lower_factors(one[None]) for one in tables])


def _believed(question: PairsPass, judge: "Believing") -> Pass:
    """The question, of the cells that a robust fit believes."""
    from gaussnet.methods.robust.judge import BelievedPass  # much to import

    return BelievedPass(question, judge)


class IncompleteRows:
    """Rows of which cells are missing (NaN) or were set from outside.

    A pair uses the rows that have it and the parents, and in which the node was not set. Cells that
    a judge flags count as missing.
    """

    def __init__(
        self, table: Table, order: IntArray, intercept: bool, judge: "Believing | None" = None
    ) -> None:
        self.table, self.order, self.intercept, self.judge = table, order, intercept, judge

    def correlations(self, asked: Asked) -> Iterator[tuple[int, Correlated]]:
        """As many nodes in a pass as the table's budget allows sums for."""
        for some in self._within_budget(asked):
            question = PairsPass(self.order, tuple(some), self.intercept)
            asked_of = question if self.judge is None else _believed(question, self.judge)
            found: PairMoments = ask(self.table, asked_of)
            for (node, parents), pairs in zip(some, found.pairs, strict=True):
                yield node, self._correlated(np.append(parents, node), pairs, found.columns)

    def _within_budget(self, asked: Asked) -> Iterator[Asked]:
        """Consecutive nodes whose sums are within the budget."""
        values = np.array([node * pair_values(len(parents)) for node, parents in asked])
        numbers = np.cumsum(values) // max(self.table.budget, 1)
        for number in np.unique(numbers).tolist():
            yield [asked[place] for place in np.flatnonzero(numbers == number).tolist()]

    def _correlated(self, family: IntArray, pairs: Pairs, columns: ColumnMoments) -> Correlated:
        """Correlations from the products of (1, parents, node, earlier node)."""
        node = int(family[-1])
        own = [np.full(node, column) for column in family.tolist()] + [np.arange(node)]
        sizes = np.sqrt(columns.squares)
        alive = sizes > np.maximum(NOTHING * (np.abs(columns.means) + sizes), np.sqrt(EXACT))
        units = np.where(alive, 1.0 / np.where(alive, sizes, 1.0), 0.0)
        scales = [units[column] for column in own]
        shifts = [(pairs.mean(a) - columns.means[own[a]]) * scales[a] for a in range(len(own))]
        counts = pairs.counts
        table = [
            [
                pairs.product(a, b) * scales[a] * scales[b] + counts * shifts[a] * shifts[b]
                for b in range(len(own))
            ]
            for a in range(len(own))
        ]
        if self.intercept:
            sums = [counts * shift for shift in shifts]
            table = [[counts, *sums], *([one, *row] for one, row in zip(sums, table, strict=True))]
        found, left, ranks = _partial(table)
        freedom = counts - ranks - 1.0
        untested = np.flatnonzero(np.isnan(left) | (freedom < 1.0))
        return Correlated(found, left, freedom, untested)


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

    def correlations(self, asked: Asked) -> Iterator[tuple[int, Correlated]]:
        """Correlations as usual, and t by HC3."""
        return ((node, self._correlated(node, parents)) for node, parents in asked)

    def _correlated(self, node: int, parents: IntArray) -> Correlated:
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
