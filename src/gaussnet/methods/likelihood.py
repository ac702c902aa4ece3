"""Missing cells by maximum likelihood: expectation and maximisation, one pass a round.

Given the parameters, a row's missing cells are Gaussian given those that are there. A round of EM
asks every row with a hole for its expected values and cross-products (`Parameters.expect`, the E
step) and solves least squares from these as from any moments (the M step). Rows without a hole say
the same in every round, so their moments are taken once. Rounds are accelerated by Anderson's
method, and a step after which the likelihood would be lower is not taken (Henderson and Varadhan,
2019).

The likelihood of what is there is that of the data if cells are missing at random: whether one is
missing may depend on the cells of its row that are there, but not on missing ones (Rubin, 1976).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.errors import SettingError
from gaussnet.kernels import Expected
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import (
    SCRATCH_VALUES,
    WELL_CONDITIONED,
    centred,
    packed_indices,
)
from gaussnet.methods.base import Equations, Scale, Solution
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.moments import Moments, intercepts, least_norm
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.methods.base import Method
    from gaussnet.methods.groups import Fitted
    from gaussnet.methods.standard_errors import Assembly
    from gaussnet.methods.standard_errors.observed_information import ParameterLaw

CONVERGED = 1e-6
"""EM has converged when a round moves no equation by more than this many standard errors."""

MOST_ROUNDS = 2_000
START_ROWS = 1_024
"""Of so many rows with holes of a stripe, or twice as many, the start is found."""

REMEMBERED = 8
"""Earlier rounds that a step is combined from."""

NO_NOISE = 1e-10
"""Noise below this share of a column's variance counts as none: the precision must stay finite."""

COLLAPSED = 100.0
"""Noise that ends within so many times of what counts as none, and began as many times above that,
was explained away."""

COLLINEAR = 1e-5
"""Parents are collinear if a direction has less than this part of their length: moments lose twice
as many digits as the values themselves."""


@dataclass(frozen=True)
class Parameters:
    """A network as the E step sees it: one family for each column, in any order.

    Examples
    --------
    >>> families = Families(np.arange(2), np.array([0, 0, 1]), np.array([0]))
    >>> model = Parameters(families, np.array([2.0]), np.zeros(2), np.ones(2))
    >>> model.expect(np.array([[1.0, np.nan], [np.nan, 5.0]])).rows.tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """

    families: Families
    coefficients: FloatArray
    """(edges,), as the families have them."""
    means: FloatArray
    """Of the columns, (columns,)."""
    variances: FloatArray
    """Of the families' noise, all positive, (families,)."""

    @classmethod
    def of(cls, network: GaussianNetwork) -> "Parameters":
        """The parameters of a network; noise that is too small for a precision is raised."""
        marginal = _marginal_variances(network)
        floors = NO_NOISE * np.where(marginal > 0.0, marginal, 1.0)
        variances = np.maximum(network.variance_array, floors)
        families, slopes = network.dag.families, network.coefficient_array
        return cls(families, slopes, network.mean(), variances)

    def expect(self, rows: Rows, missing: BoolArray | None = None) -> Expected:
        """The E step: what the network expects of rows, given the cells that are there.

        Parameters
        ----------
        rows
            (rows, columns); NaN marks a missing cell.
        missing
            Further cells that are not to be believed, (rows, columns).

        Returns
        -------
        ``rows`` with conditional means at the missing cells; ``log_likelihoods`` of the cells
        that are there, (rows,); and ``products``: the covariances of missing cells, added up
        over all rows, for each family's columns as packed lower triangles (as those of
        `kernels.family_moments`).
        """
        if missing is not None:
            rows = np.where(missing, np.nan, rows)
        return kernels.expected_rows(
            rows, self.families, self.coefficients, self.means, self.variances
        )

    def precisions(self) -> FloatArray:
        """Of a cell given all others of its row: the diagonal of A' diag(1 / s) A, (columns,)."""
        families, own = self.families, 1.0 / self.variances
        carried = self.coefficients**2 * own[families.family_of_edge]
        found = np.bincount(families.children, own, len(self.means))
        return np.asarray(found + np.bincount(families.parents, carried, len(self.means)))

    @property
    def intercepts(self) -> FloatArray:
        """Constants of the equations, (families,)."""
        return intercepts(self.families, self.means[self.families.columns], self.coefficients)


def _marginal_variances(network: GaussianNetwork) -> FloatArray:
    """The variance of each node, (nodes,)."""
    responses = network._responses()
    return np.asarray(np.einsum("ij,ij->j", responses, responses))


def holed_rows(rows: Rows) -> FloatArray:
    """The rows that lack a value, those with the same holes together, (rows, columns).

    Examples
    --------
    >>> holed_rows(np.array([[np.nan, 1.0], [2.0, np.nan], [3.0, 4.0], [np.nan, 5.0]])).tolist()
    [[2.0, nan], [nan, 1.0], [nan, 5.0]]
    """
    missing = np.isnan(rows)
    holed = np.flatnonzero(missing.any(axis=1))
    packed = np.zeros((len(holed), -(-missing.shape[1] // 64) * 8), dtype=np.uint8)
    packed[:, : -(-missing.shape[1] // 8)] = np.packbits(missing[holed], axis=1)
    words = packed.view(">u8").astype(np.uint64)  # numbers are sorted faster than bytes
    chosen = holed[np.lexsort(words.T[::-1])]
    return np.asarray(rows[chosen], dtype=np.float64)


def whole_rows(rows: Rows) -> Rows:
    """The rows that lack no value."""
    found: Rows = rows[~np.isnan(rows).any(axis=1)]
    return found


@dataclass(frozen=True)
class Available:
    """What the rows that each family has say of it, and what each column says by itself."""

    families: Families
    rows: FloatArray
    """Rows without a hole in the family, (families,)."""
    means: FloatArray
    """(family columns,)."""
    products: FloatArray
    """Packed cross-products about the means, (products,)."""
    columns: FloatArray
    """Count, mean and squared deviations of each column's values, (3, columns)."""

    @classmethod
    def of(cls, rows: FloatArray, equations: Equations) -> "Available":
        """What some rows with holes say; of many, some are enough to start from."""
        families = equations.families
        known = ~np.isnan(rows)
        columns = _column_moments(rows, known, equations.intercept)
        step = max(1, len(rows) // START_ROWS)
        rows, known = rows[::step], known[::step]
        counts, means = np.zeros(len(families)), np.zeros(len(families.columns))
        products = [np.zeros(0)]
        by_column, known_by_column = (np.ascontiguousarray(array.T) for array in (rows, known))
        for family in range(len(families)):
            span = slice(*families.column_offsets[family : family + 2].tolist())
            chosen = families.columns[span]
            own = by_column[chosen][:, known_by_column[chosen].all(axis=0)].T
            counts[family] = len(own)
            if equations.intercept:
                own, means[span] = centred(own)
            products.append((own.T @ own)[np.tril_indices(len(chosen))])
        return cls(families, counts, means, np.concatenate(products), columns)

    def merge(self, other: "Available") -> "Available":
        """What both say."""
        families = self.families
        rows, share = _added(self.rows, other.rows)
        shift = other.means - self.means
        row, column = families.product_columns
        weights = (self.rows * share)[families.family_of_product]
        products = self.products + other.products + weights * shift[row] * shift[column]
        of_column = np.repeat(share, families.sizes + 1)
        columns = self.columns.copy()
        columns[0], part = _added(self.columns[0], other.columns[0])
        step = other.columns[1] - self.columns[1]
        columns[1] += part * step
        columns[2] += other.columns[2] + self.columns[0] * part * step**2
        return Available(families, rows, self.means + of_column * shift, products, columns)

    def parameters(self) -> Parameters:
        """Least squares of each family on the rows that it has.

        A family with too few of them starts without its parents' help.
        """
        families = self.families
        counts, centres, squares = self.columns
        column_variances = squares / np.maximum(counts, 1.0)
        coefficients, left, _ = solve_products(families, self.products)
        enough = self.rows > families.sizes + 2
        coefficients = np.where(enough[families.family_of_edge], coefficients, 0.0)
        alone = column_variances[families.children]
        variances = np.where(enough, left / np.maximum(self.rows, 1.0), alone)
        constants = intercepts(families, self.means, coefficients)
        constants = np.where(enough, constants, centres[families.children])
        means = _network_means(families, coefficients, constants)
        return Parameters(families, coefficients, means, variances)

    @property
    def floors(self) -> FloatArray:
        """The smallest variance that noise may have, (families,)."""
        counts, _, squares = self.columns
        spread = squares / np.maximum(counts, 1.0)
        return NO_NOISE * np.where(spread > 0.0, spread, 1.0)[self.families.children]


def _added(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sum of two counts, and the share of the second in it."""
    total = left + right
    return total, right / np.maximum(total, 1.0)


def _column_moments(rows: FloatArray, known: BoolArray, intercept: bool) -> FloatArray:
    """Count, mean and squared deviations of the known values of each column, (3, columns)."""
    counts = known.sum(axis=0).astype(np.float64)
    means = np.zeros(rows.shape[1])
    if intercept:
        # Twice, for the rounding of a mean that is large beside the spread.
        for _ in range(2):
            rest = np.where(known, rows - means, 0.0)
            means = means + rest.sum(axis=0) / np.maximum(counts, 1.0)
    rest = np.where(known, rows - means, 0.0)
    return np.stack((counts, means, np.einsum("ij,ij->j", rest, rest)))


def _network_means(
    families: Families, coefficients: FloatArray, constants: FloatArray
) -> FloatArray:
    """Means of the columns from the constants of the equations, (columns,)."""
    by_node = families.by_node
    order = np.argsort(families.children)
    row = constants[order][None, :].copy()
    topological = np.concatenate([np.array(level) for level in by_node.levels])
    kernels.propagate(row, topological, by_node, coefficients[families.edges_of(order)])
    return np.asarray(row[0])


@dataclass(frozen=True)
class Likelihood(LeastSquares):
    """Maximum likelihood over the cells that are there; least squares where none is missing."""

    name = "likelihood"
    fills_holes = True
    error_kinds = ("observed-information",)

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """What the rows of each family say, to start from; then rounds of EM."""
        return StartPass(equations)

    def find_errors(self, fitted: "Fitted", kind: str, level: float) -> "Assembly":
        """From the observed information of all parameters together."""
        from gaussnet.methods.standard_errors.observed_information import observed_errors

        return observed_errors(fitted, level)

    def parameter_law(self, fitted: "Fitted") -> "ParameterLaw":
        """Normal about the maximum, with the inverse of the observed information."""
        from gaussnet.methods.standard_errors.observed_information import parameter_law

        return parameter_law(fitted)

    def likelihood_pass(self, network: GaussianNetwork) -> Pass:
        """Asks for the log-likelihood of the cells that are there."""
        return ObservedLikelihoodPass(Parameters.of(network))

    def certified_as(self, scale: Scale, findings: Any) -> "tuple[Method, Scale]":
        """Refused: no law is known."""
        raise SettingError(
            "some cells are missing, and no exact law is known of estimates from the others: fit "
            "with missing='drop-rows' for a certificate, if the cells are missing completely at "
            "random"
        )


@dataclass(frozen=True)
class ObservedLikelihoodPass(Pass):
    """Asks for the log-likelihood of the cells that are there, and the number of rows."""

    purpose = "log-likelihood"

    parameters: Parameters

    def summarize(self, stripe: Stripe) -> tuple[FloatArray, IntArray]:
        """Log-likelihood, (1,), and rows, (nodes,), of a stripe."""
        found = self.parameters.expect(stripe.rows).log_likelihoods.sum(keepdims=True)
        return found, np.full(stripe.rows.shape[1], len(stripe.rows))

    def merge(
        self, left: tuple[FloatArray, IntArray], right: tuple[FloatArray, IntArray]
    ) -> tuple[FloatArray, IntArray]:
        """Sums of both."""
        return left[0] + right[0], left[1] + right[1]


@dataclass(frozen=True)
class StartPass(Pass):
    """Asks for moments of the rows without a hole, and what each family has of the others."""

    purpose = "moments of complete rows"

    equations: Equations

    def summarize(self, stripe: Stripe) -> tuple[Moments, Available]:
        """Both, of a stripe."""
        whole = whole_rows(stripe.rows)
        moments = Moments.of(Stripe(whole, 0, len(whole)), self.equations)
        return moments, Available.of(holed_rows(stripe.rows), self.equations)

    def merge(
        self, left: tuple[Moments, Available], right: tuple[Moments, Available]
    ) -> tuple[Moments, Available]:
        """Both of both."""
        return merged(left[0], right[0]), left[1].merge(right[1])

    def then(self, summary: tuple[Moments, Available]) -> "EmPass":
        """The first round of EM."""
        whole, available = summary
        both = available.merge(_as_available(whole)) if whole.rows else available
        start, floors = both.parameters(), both.floors
        start = replace(start, variances=np.maximum(start.variances, floors))
        return EmPass(self.equations, whole, floors, start, start.variances)


def merged(left: Moments, right: Moments) -> Moments:
    """Moments of both, either of which may have no row."""
    if not left.rows or not right.rows:
        return left if left.rows else right
    return left.merge(right)


def _as_available(moments: Moments) -> Available:
    """Moments of rows without a hole, as those that each family has."""
    families, count = moments.families, float(moments.rows)
    last = families.column_offsets[1:] - 1
    columns = np.zeros((3, len(families)))
    columns[0] = count
    columns[1, families.children] = moments.means[last]
    columns[2, families.children] = moments.products[families.product_offsets[1:] - 1]
    rows = np.full(len(families), count)
    return Available(families, rows, moments.means, moments.products, columns)


@dataclass(frozen=True)
class Ascent:
    """The way of EM so far: the last points, and the steps that EM would take from them."""

    log_likelihood: float
    """At the last point."""
    points: tuple[FloatArray, ...]
    steps: tuple[FloatArray, ...]
    best: "Maximum"
    """Where EM goes from the last point: the likelihood is never lower there."""
    rounds: int = 0

    def proposal(self) -> FloatArray:
        r"""The next point by Anderson's method.

        .. math:: \theta + f - (\Delta\Theta + \Delta F) \gamma, \quad
                  \gamma = \arg\min |f - \Delta F \gamma|

        with f the step from the last point, and differences of successive points and steps.
        """
        point, step = self.points[-1], self.steps[-1]
        if len(self.points) < 2:
            return point + step
        moves = np.diff(np.stack(self.points), axis=0).T
        changes = np.diff(np.stack(self.steps), axis=0).T
        weights = np.linalg.lstsq(changes, step, rcond=1e-8)[0]
        return np.asarray(point + step - (moves + changes) @ weights)


@dataclass(frozen=True)
class Maximum:
    """The M step: the parameters that expected moments ask for."""

    parameters: Parameters
    ranks: IntArray

    @classmethod
    def of(cls, moments: Moments, floors: FloatArray) -> "Maximum":
        """Least squares from moments; collinear parents get the solution of least norm."""
        families = moments.families
        coefficients, squares, ranks = solve_products(families, moments.products)
        variances = np.maximum(squares / moments.rows, floors)
        means = np.zeros(len(families))
        means[families.columns] = moments.means
        return cls(Parameters(families, coefficients, means, variances), ranks)


def solve_products(
    families: Families, products: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Coefficients (edges,), residual sums of squares and ranks (families,) from cross-products.

    Collinear parents get the solution of least norm.
    """
    coefficients, squares, pivots = kernels.solve_moments(families, products)
    ranks = families.sizes.copy()
    doubtful = (families.sizes > 0) & ~(pivots >= WELL_CONDITIONED)
    for family in np.flatnonzero(doubtful).tolist():
        edges = slice(*families.offsets[family : family + 2].tolist())
        found = _solve_carefully(families, products, family)
        coefficients[edges], squares[family], ranks[family] = found
    return coefficients, squares, ranks


def _solve_carefully(
    families: Families, products: FloatArray, family: int
) -> tuple[FloatArray, float, int]:
    """Coefficients, residual sum of squares and rank of a family with nearly collinear parents."""
    size = int(families.sizes[family])
    start = int(families.product_offsets[family])
    gram = products[start:][packed_indices(size + 1)].reshape(size + 1, size + 1)
    lengths = np.sqrt(np.diag(gram))
    unit = lengths + (lengths == 0.0)
    values, vectors = np.linalg.eigh(gram[:size, :size] / unit[:size] / unit[:size, None])
    kept = values > COLLINEAR**2 * max(float(values[-1]), COLLINEAR**2)
    roots = np.sqrt(np.where(kept, values, 0.0))
    parents = roots[:, None] * vectors.T * unit[:size]
    child = vectors.T @ (gram[:size, size] / unit[:size]) / np.where(kept, roots, 1.0)
    child = np.where(kept, child, 0.0)
    margin = 0.25 * COLLINEAR * lengths[:size]
    coefficients, rank = least_norm(parents, child, lengths[:size], margin)
    signed = np.append(-coefficients, 1.0)
    return coefficients, max(float(signed @ gram @ signed), 0.0), rank


@dataclass(frozen=True)
class EmPass(Pass):
    """One round of EM: expected moments and the likelihood at some parameters."""

    purpose = "expected moments of missing cells"

    equations: Equations
    whole: Moments
    """Of the rows without a hole."""
    floors: FloatArray
    parameters: Parameters
    started: FloatArray
    """The variances that the rounds started from, (families,)."""
    ascent: Ascent | None = None
    is_safe: bool = True
    """Whether the point comes from an EM step, so that the likelihood cannot be lower there."""

    def summarize(self, stripe: Stripe) -> tuple[Moments, float]:
        """Expected moments of the rows with a hole, and their log-likelihood."""
        return expected_moments(self.parameters, holed_rows(stripe.rows), self.equations)

    def merge(
        self, left: tuple[Moments, float], right: tuple[Moments, float]
    ) -> tuple[Moments, float]:
        """Both of both."""
        return merged(left[0], right[0]), left[1] + right[1]

    def then(self, summary: tuple[Moments, float]) -> "EmPass | Solution":
        """The next round, or the solution."""
        expected, log_likelihood = summary
        moments = merged(self.whole, expected)
        log_likelihood += moments_likelihood(self.parameters, self.whole)
        best = Maximum.of(moments, self.floors)
        if self.ascent is not None and not self._rises(log_likelihood, self.ascent):
            return self._back(self.ascent)
        moved = self._moved(best.parameters, moments)
        ascent = self._ascended(log_likelihood, best)
        if moved <= CONVERGED or ascent.rounds >= MOST_ROUNDS:
            return self._solution(best, moved)
        proposal = self._parameters(ascent.proposal())
        safe = len(ascent.points) < 2
        return replace(self, parameters=proposal, ascent=ascent, is_safe=safe)

    def _rises(self, log_likelihood: float, ascent: Ascent) -> bool:
        """Whether the likelihood is no lower than at the last point, but for rounding."""
        slack = 64.0 * np.finfo(np.float64).eps * abs(ascent.log_likelihood)
        return bool(log_likelihood >= ascent.log_likelihood - slack)

    def _back(self, ascent: Ascent) -> "EmPass | Solution":
        """From a point that is worse than the last: take the step of EM from there instead.

        If this was it, only rounding is left: noise so small that a precision has no digits.
        """
        if self.is_safe:
            return self._solution(ascent.best, 0.0)
        again = replace(ascent, points=(), steps=(), rounds=ascent.rounds + 1)
        return replace(self, parameters=ascent.best.parameters, ascent=again, is_safe=True)

    def _ascended(self, log_likelihood: float, best: "Maximum") -> Ascent:
        """The way with one point more."""
        point = self._point(self.parameters)
        before = self.ascent
        points = () if before is None else before.points[-REMEMBERED:]
        steps = () if before is None else before.steps[-REMEMBERED:]
        rounds = 1 if before is None else before.rounds + 1
        step = self._point(best.parameters) - point
        return Ascent(log_likelihood, (*points, point), (*steps, step), best, rounds)

    @cached_property
    def _units(self) -> tuple[FloatArray, FloatArray]:
        """Sizes of the columns, (columns,), and of coefficients that count the same, (edges,)."""
        families = self.equations.families
        sizes = np.empty(len(families))
        sizes[families.children] = np.sqrt(self.floors / NO_NOISE)
        own = sizes[families.children][families.family_of_edge]
        return sizes, own / sizes[families.parents]

    def _point(self, parameters: Parameters) -> FloatArray:
        """The parameters as one vector, without units, variances as logarithms."""
        sizes, slopes = self._units
        parts = (parameters.coefficients / slopes, parameters.means / sizes)
        return np.concatenate((*parts, np.log(parameters.variances / self.floors)))

    def _parameters(self, point: FloatArray) -> Parameters:
        """The parameters of a vector."""
        sizes, slopes = self._units
        first, second, third = np.split(point, np.cumsum((len(slopes), len(sizes))))
        # Far from the maximum a step may leave the range of numbers; the likelihood then falls.
        variances = self.floors * np.exp(np.clip(third, 0.0, 300.0))
        families = self.equations.families
        return Parameters(families, first * slopes, second * sizes, variances)

    def _moved(self, best: Parameters, moments: Moments) -> float:
        r"""The largest change of an equation in standard errors of complete rows.

        .. math:: \max_f \sqrt{(\Delta w' S \Delta w + m \Delta c^2) / s + m (\Delta \log s)^2 / 2}

        with S the cross-products of the parents and c the constant at their means.
        """
        families, rows = self.equations.families, moments.rows
        change = best.coefficients - self.parameters.coefficients
        means = (best.means - self.parameters.means)[families.columns]
        constants = intercepts(families, means, best.coefficients)
        squares = family_forms(families, moments.products, change, 0.0) + rows * constants**2
        logs = np.log(best.variances / self.parameters.variances)
        total = squares / best.variances + 0.5 * rows * logs**2
        return float(np.sqrt(total.max(initial=0.0)))

    def _solution(self, best: Maximum, moved: float) -> Solution:
        found = best.parameters
        # What is raised to the floor has no noise to speak of: its parents determine it, and did so
        # from the start, or they are missing so often that they can be made to.
        exact = found.variances <= self.floors
        variances = np.where(exact, 0.0, found.variances)
        nearly = found.variances <= COLLAPSED * self.floors
        unbounded = nearly & (self.started > COLLAPSED**2 * self.floors)
        notes: tuple[str, ...] = ()
        if moved > CONVERGED:
            notes = (
                f"EM was stopped after {MOST_ROUNDS} rounds while the last one still moved the "
                f"estimates by {moved:.1g} standard errors: too much is missing to be sure of them",
            )
        return Solution.of(
            self.equations,
            found.coefficients,
            ranks=best.ranks,
            intercepts=found.intercepts,
            mean_squares=variances,
            unbounded=unbounded,
            notes=notes,
        )


def expected_moments(
    parameters: Parameters, rows: FloatArray, equations: Equations
) -> tuple[Moments, float]:
    """Expected moments of some rows, and the log-likelihood of the cells that are there.

    The rows are taken a few at a time, so that what is filled in stays in the cache.
    """
    height = max(64, SCRATCH_VALUES // max(rows.shape[1], 1))
    total, log_likelihood = Moments.of(Stripe(rows[:0], 0, 0), equations), 0.0
    for first in range(0, len(rows), height):
        part = rows[first : first + height]
        found = parameters.expect(part)
        own = Moments.of(Stripe(found.rows, 0, len(part)), equations)
        total = merged(total, replace(own, products=own.products + found.products))
        log_likelihood += float(found.log_likelihoods.sum())
    return total, log_likelihood


def family_forms(
    families: Families, products: FloatArray, slopes: FloatArray, child: float
) -> FloatArray:
    """The forms c' S c of each family's cross-products S with c = (slopes, child), (families,)."""
    signed = _by_column(families, slopes, child)
    row, column = families.product_columns
    terms = products * signed[row] * signed[column] * np.where(row == column, 1.0, 2.0)
    return np.maximum(np.bincount(families.family_of_product, terms, minlength=len(families)), 0.0)


def _by_column(families: Families, slopes: FloatArray, child: float) -> FloatArray:
    """The slopes at the parents and a number at the child, (family columns,)."""
    signed = np.full(len(families.columns), child)
    is_parent = np.ones(len(families.columns), dtype=bool)
    is_parent[families.column_offsets[1:] - 1] = False
    signed[is_parent] = slopes
    return signed


def moments_likelihood(parameters: Parameters, moments: Moments) -> float:
    r"""Log-likelihood of rows without a hole, from their moments.

    .. math:: -\tfrac12 \sum_f \left( m \log 2 \pi s_f + (c' S c + m \bar r_f^2) / s_f \right)

    with S a family's cross-products, c = (-w, 1), and the mean of its residuals.
    """
    families, rows = moments.families, moments.rows
    squares = family_forms(families, moments.products, -parameters.coefficients, 1.0)
    signed = _by_column(families, -parameters.coefficients, 1.0)
    shift = moments.means - parameters.means[families.columns]
    rest = np.add.reduceat(shift * signed, families.column_offsets[:-1])
    total = (squares + rows * rest**2) / parameters.variances
    constants = rows * np.log(2.0 * np.pi * parameters.variances)
    return -0.5 * float((constants + total).sum())


def check_likelihood(method: "Method", scale: Scale, split: Any) -> None:
    """Refuse settings that missing cells leave no answer for."""
    if method.over_holes().needs_all_rows:  # the robust method has its own scales, with or without
        return
    if scale.has_factors or not scale.uses_mean_squares:
        raise SettingError(
            f"got scale={scale.name!r} with missing='likelihood', expected 'mean-square': the "
            "likelihood finds coefficients and variances together, and other scales rest on "
            "residuals, or on their law, which missing cells do not have"
        )
    if split is not None:
        raise SettingError(
            f"got split={split!r} with missing='likelihood', which finds coefficients and "
            "variances together: leave split out"
        )
