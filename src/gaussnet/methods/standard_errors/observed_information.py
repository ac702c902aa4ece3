"""Errors where cells are missing: the observed information, by Louis' identity.

The information of what was observed is that of complete rows, as expected given the cells that are
there, less the covariance of their scores given these cells (Louis, 1982). Its inverse is the
covariance of all parameters; equations that share missing cells are correlated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import Table, ask
from gaussnet.errors import EstimationError
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations
from gaussnet.methods.groups import Fitted
from gaussnet.methods.likelihood import (
    Maximum,
    Parameters,
    expected_moments,
    holed_rows,
    merged,
    whole_rows,
)
from gaussnet.methods.moments import Moments, intercepts
from gaussnet.methods.standard_errors import Assembly, Spreads, student
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray, IntArray

MOST_PARAMETERS = 6_000
"""A matrix of so many rows and columns takes 288 MB."""

UNDETERMINED = 1e-9
"""A direction that keeps less than this share of its information is not determined."""


class Scores(NamedTuple):
    """Where the scores of each family stand among all of them, family after family."""

    slopes: IntArray
    """(edges,)."""
    constants: IntArray
    """(families,)."""
    variances: IntArray
    """(families,)."""

    @classmethod
    def of(cls, families: Families) -> "Scores":
        """Coefficients, constant and variance of each family, in this order."""
        own = np.arange(len(families))
        edges = np.arange(len(families.parents)) + 2 * families.family_of_edge
        constants = families.offsets[1:] + 2 * own
        return cls(edges, constants, constants + 1)


@dataclass(frozen=True)
class InformationPass(Pass):
    """Asks for the expected moments of all rows, and the information that missing cells take."""

    purpose = "standard errors"

    equations: Equations
    parameters: Parameters

    def summarize(self, stripe: Stripe) -> tuple[Moments, FloatArray]:
        """Both, of a stripe."""
        model, equations = self.parameters, self.equations
        whole, rows = whole_rows(stripe.rows), holed_rows(stripe.rows)
        moments, _ = expected_moments(model, rows, equations)
        settings = (model.families, model.coefficients, model.means, model.variances)
        lost = kernels.missing_information(rows, *settings)
        return merged(Moments.of(Stripe(whole, 0, len(whole)), equations), moments), lost

    def merge(
        self, left: tuple[Moments, FloatArray], right: tuple[Moments, FloatArray]
    ) -> tuple[Moments, FloatArray]:
        """Both of both."""
        return merged(left[0], right[0]), left[1] + right[1]


def observed_errors(fitted: Fitted, level: float, law: "ParameterLaw | None" = None) -> Assembly:
    """Standard errors, intervals and the joint covariance of the coefficients.

    Errors are those of maximum likelihood. Intervals allow for the freedom that the equation's
    own parameters take, as those of complete rows do: with no hole they would be the same.
    `law` is what the rows say of the parameters if they are not just those of the fit.
    """
    law = parameter_law(fitted) if law is None else law
    exact = fitted.network.variance_array[law.nodes] == 0.0
    intercept = fitted.data.options.intercept
    found = _Errors(law.model, law.rows, law.covariance, level, intercept, exact)
    return found.assembly(fitted, law.nodes, law.edges)


def parameter_law(
    fitted: Fitted,
    table: Table | None = None,
    also_lost: Callable[[Parameters], FloatArray] | None = None,
    asked: Callable[[Pass], Pass] = lambda question: question,
) -> "ParameterLaw":
    """What the rows say of all parameters together, in one more pass.

    `table` holds the rows if they are not those of the fit; `also_lost` is the information that is
    lost beside what the holes take; `asked` says how the question is put to the rows.
    """
    network, options = fitted.network, fitted.data.options
    nodes, families = network.dag.families.sorted_by_size
    count = len(families.parents) + 2 * len(families)
    if count > MOST_PARAMETERS:
        raise EstimationError(
            f"the {count} parameters of this network are too many for the matrix of their "
            f"information, at most {MOST_PARAMETERS}: give kind='bootstrap'"
        )
    edges = network.dag.families.edges_of(nodes)
    given = Parameters.of(network)
    model = Parameters(families, given.coefficients[edges], given.means, given.variances[nodes])
    equations = Equations(families, options.intercept)
    rows, factor = fitted.data.informing_rows() if table is None else (table, 1.0)
    moments, lost = ask(rows, asked(InformationPass(equations, model)))
    if factor != 1.0:
        moments, lost = _repeated(moments, factor), factor * lost
    lost = lost if also_lost is None else lost + also_lost(model)
    again = Maximum.of(moments, np.zeros(len(families)))
    known = (network.variance_array[nodes] == 0.0) | (again.ranks < families.sizes)
    covariance = _covariance(model, moments, lost, known, options.intercept)
    return ParameterLaw(network, nodes, edges, model, moments.rows, covariance)


def _repeated(moments: Moments, factor: float) -> Moments:
    """The moments of rows each of which stands for so many."""
    return replace(moments, rows=round(factor * moments.rows), products=factor * moments.products)


@dataclass(frozen=True)
class ParameterLaw:
    """The normal law of the parameters about their maximum, families sorted by size."""

    network: GaussianNetwork
    nodes: IntArray
    """Where each family's child stands in the graph."""
    edges: IntArray
    """Where each coefficient stands in the graph."""
    model: Parameters
    rows: int
    covariance: FloatArray
    """Of coefficients, constant at the means and variance, family after family; NaN where the
    rows do not determine them."""

    def draw(self, rng: "np.random.Generator") -> GaussianNetwork:
        """A network of this law; variances are drawn as logarithms, and what is not determined
        stays as it is."""
        families, model = self.model.families, self.model
        scores = Scores.of(families)
        units = np.ones(len(self.covariance))
        units[scores.variances] = model.variances
        chosen = np.flatnonzero(~np.isnan(np.diag(self.covariance)))
        covariance = self.covariance[np.ix_(chosen, chosen)] / units[chosen]
        root = _root(covariance / units[chosen, None])
        moves = np.zeros(len(self.covariance))
        moves[chosen] = root @ rng.standard_normal(len(chosen))
        slopes = model.coefficients + moves[scores.slopes]
        means = model.means[families.columns]
        constants = intercepts(families, means, slopes) + moves[scores.constants]
        variances = self.network.variance_array[self.nodes] * np.exp(moves[scores.variances])
        dag = self.network.dag
        coefficients, noise, shifts = np.empty(len(slopes)), np.empty(len(dag)), np.empty(len(dag))
        coefficients[self.edges], noise[self.nodes] = slopes, variances
        shifts[self.nodes] = constants
        return GaussianNetwork.from_arrays(dag, coefficients, noise, shifts)


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix F with F F' the covariance."""
    sizes = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / sizes / sizes[:, None])
    return np.asarray(sizes[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _covariance(
    model: Parameters, moments: Moments, lost: FloatArray, known: BoolArray, intercept: bool
) -> FloatArray:
    """Covariance of all parameters, NaN where the rows do not determine them."""
    families, scores = model.families, Scores.of(model.families)
    scales = np.empty(len(lost))
    scales[scores.slopes] = 1.0 / model.variances[families.family_of_edge]
    scales[scores.constants] = 1.0 / model.variances
    scales[scores.variances] = 1.0 / model.variances**2
    information = _complete_information(model, moments) - scales[:, None] * lost * scales
    if not np.isfinite(information).all():
        raise EstimationError(
            "the values of some columns are too large or too small for the products that standard "
            "errors with missing cells need: give these columns in other units"
        )
    kept = np.ones(len(lost), dtype=bool)
    kept[scores.slopes] = ~known[families.family_of_edge]
    kept[scores.constants] = ~known & intercept
    kept[scores.variances] = ~known
    found = np.full(lost.shape, np.nan)
    chosen = np.flatnonzero(kept)
    found[np.ix_(chosen, chosen)] = inverted(information[np.ix_(chosen, chosen)])
    return found


def _complete_information(model: Parameters, moments: Moments) -> FloatArray:
    r"""Expected information of complete rows: X'X / s, m / s and m / (2 s^2), family by family."""
    families, rows = model.families, moments.rows
    scores = Scores.of(families)
    count = len(families.parents) + 2 * len(families)
    found = np.zeros((count, count))
    row, column = families.product_columns
    shift = moments.means - model.means[families.columns]
    sums = moments.products + rows * shift[row] * shift[column]
    last = families.column_offsets[1:] - 1
    is_slope = ~np.isin(row, last) & ~np.isin(column, last)
    own_family = np.repeat(np.arange(len(families)), families.sizes + 1)
    place = np.arange(len(families.columns)) + own_family
    at = (place[row[is_slope]], place[column[is_slope]])
    own = sums[is_slope] / model.variances[families.family_of_product[is_slope]]
    found[at] = found[at[::-1]] = own
    is_parent = ~np.isin(np.arange(len(families.columns)), last)
    cross = rows * shift[is_parent] / model.variances[families.family_of_edge]
    constants = scores.constants[families.family_of_edge]
    found[scores.slopes, constants] = found[constants, scores.slopes] = cross
    found[scores.constants, scores.constants] = rows / model.variances
    found[scores.variances, scores.variances] = 0.5 * rows / model.variances**2
    return found


def inverted(information: FloatArray) -> FloatArray:
    """The inverse of an information matrix; NaN for parameters that it does not determine.

    It is brought to unit diagonal first. What is not determined has a part in a direction
    without information, or with less than none, as away from the maximum.

    >>> inverted(np.diag([4.0, -1.0])).round(2)
    array([[0.25,  nan],
           [ nan,  nan]])
    """
    sizes = np.sqrt(np.abs(np.diag(information)))
    sizes[sizes == 0.0] = 1.0
    unit = information / sizes / sizes[:, None]
    try:
        lower = np.linalg.cholesky(unit)
    except np.linalg.LinAlgError:
        lower = np.zeros_like(unit)
    if (np.diag(lower) ** 2 > UNDETERMINED).all():
        root = np.linalg.inv(lower)
        inverse = root.T @ root
    else:
        values, vectors = np.linalg.eigh(unit)
        poor = values <= UNDETERMINED * max(float(values.max(initial=1.0)), 1.0)
        inverse = vectors[:, ~poor] / values[~poor] @ vectors[:, ~poor].T
        lost = (vectors[:, poor] ** 2).sum(axis=1) > UNDETERMINED
        inverse[lost] = inverse[:, lost] = np.nan
    return np.asarray(inverse / sizes / sizes[:, None])


@dataclass(frozen=True)
class _Errors:
    """What the covariance of all parameters says of each, families sorted by size."""

    model: Parameters
    rows: int
    covariance: FloatArray
    level: float
    intercept: bool
    exact: BoolArray
    """Families without noise, whose parameters have no error."""

    @property
    def _scores(self) -> Scores:
        return Scores.of(self.model.families)

    @property
    def _left(self) -> FloatArray:
        """The share of the rows that the equation's own parameters leave, (families,)."""
        left = (self.rows - self.model.families.sizes - self.intercept) / self.rows
        return np.where(left > 0.0, left, np.nan)

    @property
    def _freedom(self) -> FloatArray:
        """Rows without a hole that would tell as much of the variance, (families,)."""
        errors = np.diag(self.covariance)[self._scores.variances]
        return np.asarray(2.0 * self.model.variances**2 / errors)

    def _reach(self) -> FloatArray:
        """Half the width of an interval in standard errors, (families,)."""
        return student(self.level, self._freedom * self._left) / np.sqrt(self._left)

    def slopes(self) -> FloatArray:
        """Standard error, low and high of the coefficients, (3, edges)."""
        families = self.model.families
        errors = np.sqrt(np.diag(self.covariance)[self._scores.slopes])
        reach = errors * self._reach()[families.family_of_edge]
        return self._ends(self.model.coefficients, errors, reach, families.family_of_edge)

    def constants(self) -> FloatArray:
        """Standard error, low and high of the intercepts, (3, families)."""
        families, means = self.model.families, self.model.means
        estimates = self.model.intercepts
        if not self.intercept:
            return np.zeros((3, len(families)))
        errors = np.empty(len(families))
        for family in range(len(families)):
            edges = slice(*families.offsets[family : family + 2].tolist())
            at = np.append(self._scores.slopes[edges], self._scores.constants[family])
            weights = np.append(-means[families.parents[edges]], 1.0)
            square = weights @ self.covariance[np.ix_(at, at)] @ weights
            errors[family] = np.sqrt(np.maximum(square, 0.0))
        own = np.arange(len(families))
        return self._ends(estimates, errors, errors * self._reach(), own)

    def variances(self) -> FloatArray:
        """Standard error, low and high of the variances, (3, families)."""
        from scipy.special import chdtri  # slow to import

        estimates, tail = self.model.variances, 0.5 - 0.5 * self.level
        errors = np.sqrt(np.diag(self.covariance)[self._scores.variances])
        squares, freedom = estimates * self._freedom, self._freedom * self._left
        low, high = squares / chdtri(freedom, tail), squares / chdtri(freedom, 1.0 - tail)
        found = np.stack((errors, low, high))
        found[:, self.exact] = 0.0
        return found

    def _ends(
        self, estimates: FloatArray, errors: FloatArray, reach: FloatArray, family: IntArray
    ) -> FloatArray:
        found = np.stack((errors, estimates - reach, estimates + reach))
        exact = self.exact[family]
        found[0, exact] = 0.0
        found[1:, exact] = estimates[exact]
        return found

    def assembly(self, fitted: Fitted, nodes: IntArray, edges: IntArray) -> Assembly:
        """The errors in the order of the graph."""
        families = fitted.network.dag.families
        found = Assembly(fitted.network, Spreads(families, True), self.level)
        found.coefficients[:, edges] = self.slopes()
        found.intercepts[:, nodes] = self.constants()
        found.variances[:, nodes] = self.variances()
        self._enter_locations(found, nodes, edges)
        at = self._scores.slopes
        joint = np.empty((len(edges), len(edges)))
        joint[np.ix_(edges, edges)] = self.covariance[np.ix_(at, at)]
        exact = self.exact[np.argsort(nodes)][families.family_of_edge]
        joint[exact] = joint[:, exact] = 0.0
        found.joint = joint
        found.freedom = np.empty(len(nodes))
        found.freedom[nodes] = self._freedom * self._left
        return found

    def _enter_locations(self, found: Assembly, nodes: IntArray, edges: IntArray) -> None:
        """The constants at the means of the parents, and their covariances with the slopes."""
        families, scores = self.model.families, self._scores
        found.spreads.centres[edges] = self.model.means[families.parents]
        errors = np.sqrt(np.diag(self.covariance)[scores.constants])
        found.spreads.location_error[nodes] = np.where(self.exact, 0.0, errors)
        own = self.covariance[scores.slopes, scores.constants[families.family_of_edge]]
        found.location_slopes[edges] = np.where(self.exact[families.family_of_edge], 0.0, own)
