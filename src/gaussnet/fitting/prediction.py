"""Predictions of a fit: the noise of a node, and what the data leave open about the network.

`GaussianNetwork.predict` takes the numbers of a network as known. Those of a fit are learnt, and a
prediction is off by their error too. With x the row as expected, V the covariance of its unknown
cells, t the target and r the residuals, the conditional mean m of the target moves with the
parameters of family j by

    dm / dw_p = (cov(t, r_j) (x_p - centre) + V_tp r_j) / s_j      of a coefficient,
    dm / da   = cov(t, r_j) / s_j                                  of the constant at the centres,
    dm / ds   = -cov(t, r_j) r_j / s_j^2                           of the variance,

and the delta method carries their covariance on to m. Given its parents alone a node has
cov(t, r) = s, and this is the textbook interval of a regression, which is exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from gaussnet import kernels
from gaussnet.data.codes import Codes, recoded_rows
from gaussnet.errors import EstimationError
from gaussnet.fitting.seen_ranges import limiting
from gaussnet.graph.dag import Dag
from gaussnet.methods.groups import Fitted
from gaussnet.methods.likelihood import Parameters
from gaussnet.methods.standard_errors import Assembly, student
from gaussnet.methods.standard_errors.observed_information import ParameterLaw, Scores
from gaussnet.model import checks
from gaussnet.model.inference.predicted_rows import DoubtfulValue, OutsideValue, Prediction
from gaussnet.model.inference.queries import (
    known_rows,
    open_rows,
    patterns,
    predict_several,
)
from gaussnet.model.network import GaussianNetwork
from gaussnet.named_rows import named
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

PURPOSE = "predict where the data are, or use network.predict, which takes the network as known"


class Derivatives(NamedTuple):
    """How a prediction moves with the parameters of one family."""

    family: int
    slopes: FloatArray
    """(rows, p)."""
    constant: float | FloatArray
    """A number, or (rows,)."""
    noise: FloatArray
    """(rows,)."""


class Covariance(Protocol):
    """What is known of the errors of all parameters."""

    def parts(
        self, derivatives: Iterable[Derivatives], rows: int
    ) -> Iterator[tuple[int | None, FloatArray]]:
        """Variances (rows,) of a prediction that moves with the parameters so, to be added up.

        Each comes with the number of its family; None is a part of all of them together.
        """
        ...

    def with_noisier_variances(self, factors: FloatArray) -> Self:
        """The same, with the errors of the families' variances so many times as large."""
        ...


@dataclass(frozen=True)
class ByFamily:
    """Families whose estimates are uncorrelated."""

    slopes: dict[int, FloatArray]
    """(p, p) for each family."""
    constants: FloatArray
    """Variances of the constants, (families,)."""
    noise: FloatArray
    """Variances of the variances, (families,)."""

    def parts(
        self, derivatives: Iterable[Derivatives], rows: int
    ) -> Iterator[tuple[int | None, FloatArray]]:
        """One for each family."""
        for own in derivatives:
            total = np.zeros(rows)
            covariance = self.slopes[own.family]
            total += np.einsum("rp,pq,rq->r", own.slopes, covariance, own.slopes)
            total += own.constant**2 * self.constants[own.family]
            total += own.noise**2 * self.noise[own.family]
            yield own.family, total

    def with_noisier_variances(self, factors: FloatArray) -> Self:
        """Standard errors (families,) times these factors."""
        return replace(self, noise=self.noise * factors**2)


@dataclass(frozen=True)
class Jointly:
    """Families that are correlated, as with missing cells."""

    scores: Scores
    offsets: IntArray
    covariance: FloatArray

    def parts(
        self, derivatives: Iterable[Derivatives], rows: int
    ) -> Iterator[tuple[int | None, FloatArray]]:
        """One form of all derivatives."""
        gradient = np.zeros((rows, len(self.covariance)))
        for own in derivatives:
            edges = slice(*self.offsets[own.family : own.family + 2].tolist())
            gradient[:, self.scores.slopes[edges]] = own.slopes
            gradient[:, self.scores.constants[own.family]] = own.constant
            gradient[:, self.scores.variances[own.family]] = own.noise
        used = np.flatnonzero(gradient.any(axis=0))
        chosen = gradient[:, used]
        inner = self.covariance[np.ix_(used, used)]
        yield None, np.einsum("rp,pq,rq->r", chosen, inner, chosen)

    def with_noisier_variances(self, factors: FloatArray) -> Self:
        """Standard errors (families,) times these factors; correlations stay."""
        units = np.ones(len(self.covariance))
        units[self.scores.variances] = factors
        return replace(self, covariance=self.covariance * np.outer(units, units))


@dataclass(frozen=True)
class LearntErrors:
    """A network with unbiased variances, and how sure its numbers are; families in one order."""

    network: GaussianNetwork
    model: Parameters
    freedom: FloatArray
    """Degrees of freedom of each family's variance, (families,)."""
    centres: FloatArray
    """Values of the parents at which the constant is known best, (edges,)."""
    covariance: Covariance

    def spread(self, rows: FloatArray, target: int) -> tuple[FloatArray, FloatArray]:
        """Variance of each prediction by the errors of the parameters, and its freedom, (rows,)."""
        squares, freedom = np.zeros(len(rows)), np.full(len(rows), np.inf)
        for observed, chosen in patterns(~np.isnan(rows)):
            gone = np.flatnonzero(~observed)
            matrix = self.equation_columns(gone, rows.shape[1])
            precision = matrix.T @ (matrix / self.model.variances[:, None])
            own = np.linalg.solve(precision, (gone == target).astype(np.float64))
            column = np.zeros(rows.shape[1])
            column[gone] = own
            joint = matrix @ own
            found = self._derivatives(rows[chosen], column, joint)
            for _, part in self.covariance.parts(found, len(chosen)):
                squares[chosen] += part
            parts = joint**4 / (self.model.variances**2 * self.freedom)
            freedom[chosen] = column[target] ** 2 / parts.sum()
        return squares, freedom

    def equation_columns(self, nodes: IntArray, width: int) -> FloatArray:
        """Columns of the equations: 1 at a child, minus the coefficient at a parent.

        (families, nodes)
        """
        families, places = self.model.families, np.full(width, -1)
        places[nodes] = np.arange(len(nodes))
        found = np.zeros((len(families), len(nodes)))
        edge_places, child_places = places[families.parents], places[families.children]
        edges, children = np.flatnonzero(edge_places >= 0), np.flatnonzero(child_places >= 0)
        coefficients = self.model.coefficients[edges]
        found[families.family_of_edge[edges], edge_places[edges]] = -coefficients
        found[children, child_places[children]] = 1.0
        return found

    def _derivatives(
        self, rows: FloatArray, column: FloatArray, joint: FloatArray
    ) -> Iterator[Derivatives]:
        """The derivatives by the parameters of each family that matters.

        `column` are the covariances of the target with all cells, `joint` with all residuals.
        """
        model = self.model
        families = model.families
        filled = model.expect(rows).rows
        used = np.flatnonzero(joint)
        coefficients = model.coefficients[families.edges_of(used)]
        residuals = kernels.residuals(filled - model.means, families.subset(used), coefficients)
        for family, rest in zip(used.tolist(), residuals, strict=True):
            edges = slice(*families.offsets[family : family + 2].tolist())
            parents, variance = families.parents[edges], model.variances[family]
            moved = joint[family] * (filled[:, parents] - self.centres[edges])
            slopes = (moved + column[parents] * rest[:, None]) / variance
            noise = -joint[family] * rest / variance**2
            yield Derivatives(family, slopes, joint[family] / variance, noise)


def find_learnt_errors(fit: "Fit") -> LearntErrors:
    """What the data leave open about the network of a fit."""
    from gaussnet.fitting.uncertainty import checked_kind

    kind, data = checked_kind(fit, None, 0.95), fit.data_or_sums(PURPOSE)
    if fit.has_dependent_rows:
        raise EstimationError(
            "the rows have weights or clusters, for which the error of a prediction is not known: "
            "ask fit.network, which takes the network as known"
        )
    fitted = Fitted(fit.network, fit.scale, data, fit.trimming)
    left: FloatArray = (fit.details.rows - fit.details.ranks - fit.intercept).astype(np.float64)
    if (left <= 0.0).any():
        node = fit.dag.nodes[int(np.argmin(left))]
        raise EstimationError(
            f"the rows of {node!r} leave nothing over to judge its errors by: give more rows, or "
            "ask fit.network, which takes the network as known"
        )
    if fit.method.fills_holes:
        return _joint_errors(fit, fit.method.parameter_law(fitted), left)
    assembly = fit.method.find_errors(fitted, kind, 0.95)
    if assembly.joint is not None:
        return _joint_errors(fit, fit.method.prediction_law(fitted), left)
    return _family_errors(fit, assembly, left)


def _unbiased(fit: "Fit", left: FloatArray) -> GaussianNetwork:
    """The network with mean squares over the freedom that is left."""
    factors = 1.0 if fit.scale.has_factors else fit.details.rows / left
    parts = (fit.network.coefficient_array, fit.network.variance_array * factors)
    return GaussianNetwork.from_arrays(fit.dag, *parts, fit.network.intercept_array)


def _family_errors(fit: "Fit", assembly: Assembly, left: FloatArray) -> LearntErrors:
    network, spreads = _unbiased(fit, left), assembly.spreads
    slopes = {
        int(node): np.nan_to_num(covariance)
        for nodes, covariances in assembly.covariances
        for node, covariance in zip(nodes, covariances, strict=True)
    }
    constants = np.nan_to_num(spreads.location_error) ** 2 * fit.intercept
    noise = np.nan_to_num(assembly.variances[0]) ** 2
    covariance = ByFamily(slopes, constants, noise)
    return LearntErrors(network, Parameters.of(network), left, spreads.centres, covariance)


def _joint_errors(fit: "Fit", law: ParameterLaw, left: FloatArray) -> LearntErrors:
    network, given = _unbiased(fit, left), law.model
    factors = (network.variance_array / np.maximum(fit.network.variance_array, 1e-300))[law.nodes]
    model = replace(given, variances=given.variances * np.maximum(factors, 1.0))
    families, scores = given.families, Scores.of(given.families)
    errors = np.diag(law.covariance)[scores.variances]
    worth = 2.0 * given.variances**2 / np.where(np.isnan(errors), np.inf, errors)
    freedom = np.maximum(worth * left[law.nodes] / fit.rows, 1.0)
    covariance = Jointly(scores, families.offsets, np.nan_to_num(law.covariance))
    return LearntErrors(network, model, freedom, given.means[families.parents], covariance)


def predict_with_errors(  # noqa: PLR0913, PLR0917 (as Fit.predict)
    fit: "Fit",
    data: object,
    nodes: Sequence[str],
    level: float,
    given: Iterable[str] | None,
    columns: Iterable[object] | None = None,
    believe: bool = False,
) -> dict[str, Prediction]:
    """The prediction of each of these nodes in each row; see `Fit.predict`."""
    names = None if given is None else list(given)
    labels = None if columns is None else list(columns)
    frame = data if checks.is_frame(data) else None
    if fit.missing_values:
        rows = open_rows(data, fit.dag, labels)
        data, labels = named(recoded_rows(rows, known_codes(fit)), fit.dag.nodes), None
    rows = named(known_rows(fit.dag, data, nodes, names, labels), fit.dag.nodes)
    doubtful = doubtful_values(fit, rows)
    outside = outside_values(fit, rows, doubtful)
    if doubtful and not believe:
        for value in doubtful:
            rows[value.row, same_column(fit.dag, value.node)] = np.nan
        data, labels = rows, None
    plain = predict_several(fit.network, data, nodes, level, names, labels)
    learnt, likely = fit.learnt_errors, _at_likely_levels(fit.network, rows)
    noise = predict_several(learnt.network, rows, nodes, level, None)
    found = {}
    for node in nodes:
        squares, freedom = learnt.spread(likely, fit.dag.position(node))
        scale = np.sqrt(noise[node].scale ** 2 + squares)
        reach, known = student(level, freedom), plain[node]
        values = (node, known.level, known.mean, scale, reach)
        found[node] = Prediction(*values, frame, doubtful, believe, outside)
    return found


def _at_likely_levels(network: GaussianNetwork, rows: FloatArray) -> FloatArray:
    """The rows with the likeliest of the levels that are open and that their numbers tell of."""
    levels = network.given_levels
    if levels is None:
        return rows
    found = rows.copy()
    for known, chosen in patterns(~np.isnan(rows)):
        for block in levels.blocks(known, len(chosen)):
            found[chosen[block]] = levels.likeliest(rows[chosen[block]])
    return found


def known_codes(fit: "Fit") -> Codes:
    """The codes of a fit as rows of float64 and of float32 have them."""
    codes = fit.missing_values
    return (*codes, *np.array(codes).astype(np.float32).astype(np.float64).tolist())


def doubtful_values(fit: "Fit", rows: FloatArray) -> tuple[DoubtfulValue, ...]:
    """The values of rows (rows, nodes) that a robust fit would flag; of other fits none.

    Rows that lack more values than the robust method can bridge are not judged.
    """
    if fit.trimming is None:
        return ()
    from gaussnet.methods.robust.cellwise import MOST_MISSING
    from gaussnet.methods.robust.judge import Judge, listed_cells

    judge = fit.trimming.judge
    if judge is None:
        if not (fit.network.variance_array > 0.0).all():
            return ()
        judge = Judge.of_network(fit.network)
    far: dict[tuple[int, str], OutsideValue] = {}
    if fit.seen_range is not None:
        seen = np.where(judge.mixture.judged, np.nan, rows)
        far = {(one.row, one.node): one for one in fit.seen_range.outside(fit.dag, seen)}
        judge = limiting(fit.seen_range, judge)
    known = np.flatnonzero(np.isnan(rows).sum(axis=1) <= MOST_MISSING)
    own = rows[known]
    found = listed_cells(judge, own, judge.judged(own)).flagged
    numbers = known[found.rows]
    values = (found.recorded, found.expected, found.deviations, found.chances, numbers)
    names = [fit.dag.nodes[node] for node in found.nodes.tolist()]
    beyond = [far.get(cell) for cell in zip(numbers.tolist(), names, strict=True)]
    return tuple(map(DoubtfulValue, names, *(array.tolist() for array in values), beyond))


def outside_values(
    fit: "Fit", rows: FloatArray, doubtful: Iterable[DoubtfulValue] = ()
) -> tuple[OutsideValue, ...]:
    """The values of rows (rows, nodes) far outside what the fit has seen, but doubtful ones."""
    if fit.seen_range is None:
        return ()
    told = {(value.row, value.node) for value in doubtful}
    found = fit.seen_range.outside(fit.dag, rows)
    return tuple(value for value in found if (value.row, value.node) not in told)


def same_column(dag: Dag, node: str) -> list[int]:
    """Positions of the nodes that stand for the column of a node: of a category all indicators."""
    column, _ = dag.indicators.get(node, (node, ""))
    own = [name for name, (other, _) in dag.indicators.items() if other == column]
    return [dag.position(name) for name in own or [node]]
