"""How strong an unmeasured common cause must be to explain an effect away."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.errors import EstimationError, GraphError
from gaussnet.fitting.effects import Effect, find_effect
from gaussnet.fitting.graph_tests import APPROXIMATE, set_cells, tested_rows
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import shown
from gaussnet.fitting.uncertainty import ErrorChoice
from gaussnet.graph.adjustment import optimal_adjustment_set
from gaussnet.graph.dag import Dag, shorten
from gaussnet.model.checks import as_names, check_level, real_number
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

SINGULAR = 1e-10
"""Columns are collinear if their smallest singular value is below this share of the largest."""

ROBUSTNESS = (
    "RV, the robustness value: an unmeasured common cause that explains this share of what is left "
    "of both would bring the effect to 0, or 0 into the interval."
)


class Benchmark(NamedTuple):
    """An unmeasured cause exactly as strong as this measured one, for comparison."""

    node: str
    """A node, or a category as a whole."""
    cause_r2: float
    """The most that such a cause explains of the variance of the cause."""
    target_r2: float
    """The most that it explains of the variance of the target."""
    adjusted: float
    """What would be left of the effect."""


@dataclass(frozen=True, slots=True)
class Sensitivity(Tabular):
    r"""How far an effect withstands a common cause that was not measured; printing it tells.

    The effect is the coefficient of `cause` in the regression of `target` on it and on `given`.
    Let an unmeasured common cause explain the share :math:`R_x^2` of the variance of `cause` that
    `given` leaves, and :math:`R_y^2` of what is left of `target`. Then the coefficient is off by

    .. math:: |b| = se \sqrt{df} \, \sqrt{R_y^2 R_x^2 / (1 - R_x^2)}

    The robustness value is the strength :math:`R_x^2 = R_y^2` at which nothing is left (Cinelli
    and Hazlett, Making sense of sensitivity, J. R. Statist. Soc. B 82, 2020, sections 3 and 4).
    """

    cause: str
    target: str
    given: tuple[str, ...]
    """The adjustment set."""
    estimate: float
    standard_error: float
    degrees_of_freedom: int
    level: float
    partial_r2: float
    """Share of the target that the cause explains beyond `given`. A common cause that explains all
    that is left of the target must explain at least this share of the cause."""
    robustness_value: float
    """Share of both that a common cause must explain to bring the effect to 0."""
    robustness_value_interval: float
    """The same, to bring 0 into the confidence interval; 0 if it is there already."""
    benchmarks: tuple[Benchmark, ...]
    """Unmeasured causes as strong as each member of `given`."""
    notes: tuple[str, ...] = ()
    effect: Effect | None = None
    """The same effect by all coefficients of the network, as `Fit.effect` finds it; None where it
    has no error."""

    def adjusted(self, cause_r2: float, target_r2: float) -> float:
        """The effect nearer to 0, or beyond, if a common cause explains these shares."""
        share = real_number("cause_r2", cause_r2, 0.0, 1.0)
        other = real_number("target_r2", target_r2, 0.0, 1.0)
        return self.estimate - math.copysign(self._bias(share, other), self.estimate)

    def table(self) -> ResultTable:
        """The effect and its robustness as a table of one row; notes compare with measured causes.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("wet ~ rain + season; rain ~ season")
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(100, seed=1)
        >>> gn.fit(rows, dag).sensitivity("rain", "wet").table().names[4:]
        ('df', 'partial_r2', 'robustness_value', 'robustness_value_interval')
        """
        columns = (
            Column("effect", "effect", [f"{self.cause} -> {self.target}"], "text"),
            Column("given", "given", [", ".join(self.given)], "text"),
            Column("estimate", "estimate", [self.estimate]),
            Column("std_error", "std. error", [self.standard_error]),
            Column("df", "df", [self.degrees_of_freedom], "count"),
            Column("partial_r2", "partial R2", [self.partial_r2]),
            Column("robustness_value", "RV", [self.robustness_value]),
            Column(
                "robustness_value_interval",
                f"RV, {100 * self.level:.4g}% interval",
                [self.robustness_value_interval],
            ),
        )
        notes = (ROBUSTNESS, *self._comparisons, *self._beside, *self.notes)
        return ResultTable("Sensitivity to an unmeasured common cause", columns, notes)

    def __str__(self) -> str:
        cause, target = shown(self.cause), shown(self.target)
        given = f" given {', '.join(map(shown, self.given))}" if self.given else ""
        lines = [
            f"{cause} -> {target}{given}: {self.estimate:.4g} (standard error "
            f"{self.standard_error:.3g}, {self.degrees_of_freedom} degrees of freedom)",
            f"An unmeasured common cause that explains {self.robustness_value:.1%} of what is left "
            f"of both {cause} and {target} would explain the effect away;",
            f"{self.robustness_value_interval:.1%} would bring 0 into the {self.level:.0%} "
            "interval.",
        ]
        return "\n".join((*lines, *self._comparisons, *self._beside, *self.notes))

    @property
    def _beside(self) -> list[str]:
        """The number that `Fit.effect` gives, and why it may be another."""
        if self.effect is None:
            return []
        return [
            "By all coefficients of the network instead of one regression (fit.effect): "
            f"{self.effect}"
        ]

    @property
    def _comparisons(self) -> list[str]:
        """What unmeasured causes as strong as measured ones would leave."""
        return [
            f"One as strong as {shown(one.node)} (at most {one.cause_r2:.1%} and "
            f"{one.target_r2:.1%}) would leave {one.adjusted:.4g}."
            for one in self.benchmarks
        ]

    def _bias(self, cause_r2: float, target_r2: float) -> float:
        if cause_r2 == 1.0:
            return math.inf if target_r2 > 0.0 else 0.0
        size = self.standard_error * math.sqrt(self.degrees_of_freedom)
        return size * math.sqrt(target_r2 * cause_r2 / (1.0 - cause_r2))


def _beside(fit: "Fit", ends: tuple[str, str], level: float) -> Effect | None:
    """The effect by the coefficients of the network, if it has an error."""
    try:
        found = find_effect(fit, ends, None, ErrorChoice(None, level, None, 0))
    except EstimationError:
        return None
    return found if math.isfinite(found.standard_error) else None


def find_sensitivity(
    fit: "Fit", ends: tuple[str, str], given: Iterable[str] | None, level: float
) -> Sensitivity:
    """The sensitivity of the effect of one node on another, on the rows of a fit."""
    check_level(level)
    dag = fit.dag
    chosen = _adjustment_set(dag, *ends, given)
    columns = [dag.position(name) for name in (ends[1], ends[0], *chosen)]
    rows, notes = tested_rows(fit, "ask where the data are, or fit again")
    notes = [note.removesuffix(APPROXIMATE) for note in notes]
    rows = rows[:, columns]
    was_set = set_cells(fit)
    if was_set is not None:
        rows = rows[~was_set.any(axis=1)]
        notes.append(f"rows used: the {len(rows)} in which no node was set from outside")
    complete = ~np.isnan(rows).any(axis=1)
    if not complete.all():
        notes.append(f"rows used: {int(complete.sum())} of {len(rows)}, those without a gap")
    outcome = _regress(rows[complete], fit.intercept, ends[1])
    own = float(outcome.partial_r2[0])
    found = Sensitivity(
        *ends,
        chosen,
        float(outcome.estimates[0]),
        float(outcome.errors[0]),
        outcome.freedom,
        float(level),
        own,
        robustness_value(own),
        interval_robustness_value(own, outcome.freedom, level),
        (),
        tuple(notes),
        _beside(fit, ends, level),
    )
    benchmarked = _benchmarked(dag, ends[0], chosen)
    for name, members in benchmarked.items():
        group = [chosen.index(node) for node in members]
        shares = (
            _group_share(rows[complete][:, 1:], [1 + place for place in group], fit.intercept),
            _group_share(rows[complete], [2 + place for place in group], fit.intercept),
        )
        found = _with_benchmark(found, name, *shares)
    return found


def _benchmarked(dag: Dag, cause: str, chosen: tuple[str, ...]) -> dict[str, list[str]]:
    """The measured causes to compare with, and their nodes: a category is one cause.

    The other levels of the category that the cause is a level of are no common causes of it.
    """
    own = dag.indicators[cause][0] if cause in dag.indicators else None
    found: dict[str, list[str]] = {}
    for node in chosen:
        name = dag.indicators[node][0] if node in dag.indicators else node
        if name != own or node not in dag.indicators:
            found.setdefault(name, []).append(node)
    return found


def _group_share(rows: FloatArray, group: Sequence[int], intercept: bool) -> float:
    """Share of what the other columns leave of the first that a group of columns explains."""
    left = [_residual_squares(one, intercept) for one in (np.delete(rows, group, axis=1), rows)]
    return max(1.0 - left[1] / left[0], 0.0) if left[0] > 0.0 else 0.0


def _residual_squares(rows: FloatArray, intercept: bool) -> float:
    """Residual sum of squares of the first column on the others, in units of its own."""
    values = rows - rows.mean(axis=0) if intercept else rows
    values = values / _peaks(values)
    if values.shape[1] == 1:
        return float(values[:, 0] @ values[:, 0])
    orthonormal = np.linalg.qr(values[:, 1:])[0]
    rest = values[:, 0] - orthonormal @ (orthonormal.T @ values[:, 0])
    return float(rest @ rest)


def robustness_value(partial_r2: float) -> float:
    r"""The strength of a common cause that brings an effect to 0.

    .. math:: \tfrac{1}{2} (\sqrt{f^4 + 4 f^2} - f^2), \quad f^2 = R^2 / (1 - R^2)

    Examples
    --------
    >>> round(robustness_value(0.0218), 3), robustness_value(0.0), robustness_value(1.0)
    (0.139, 0.0, 1.0)
    """
    if partial_r2 <= 0.0:
        return 0.0
    return 2.0 / (math.sqrt(1.0 + 4.0 * (1.0 - partial_r2) / partial_r2) + 1.0)


def interval_robustness_value(partial_r2: float, freedom: int, level: float) -> float:
    """The strength of a common cause that brings 0 into the confidence interval.

    Student's critical value, with the one degree of freedom that the common cause takes, is
    first taken off; where the outcome can be explained whole, the bound is another one.

    Examples
    --------
    >>> round(interval_robustness_value(0.0218, 783, 0.95), 3)
    0.076
    """
    from scipy.special import stdtrit  # slow to import

    if freedom < 2:
        return 0.0
    critical = float(stdtrit(freedom - 1, 0.5 + 0.5 * level)) / math.sqrt(freedom - 1)
    if partial_r2 >= 1.0:
        return 1.0
    f = math.sqrt(partial_r2 / (1.0 - partial_r2))
    left = f - critical
    if left <= 0.0:
        return 0.0
    if f > 1.0 / critical:
        return (f * f - critical * critical) / (1.0 + f * f)
    return robustness_value(left * left / (1.0 + left * left))


class _Regression(NamedTuple):
    estimates: FloatArray
    """Of the regressors, without the constant."""
    errors: FloatArray
    partial_r2: FloatArray
    freedom: int


def _regress(rows: FloatArray, intercept: bool, name: str) -> _Regression:
    """Least squares of the first column on the others."""
    freedom = len(rows) - (rows.shape[1] - 1) - int(intercept)
    if freedom < 1:
        raise EstimationError(
            f"{len(rows)} complete rows leave no degree of freedom for a regression of {name!r} on "
            f"{rows.shape[1] - 1} nodes: give more rows, or a smaller set in given"
        )
    values = rows - rows.mean(axis=0) if intercept else rows.copy()
    sizes = np.linalg.norm(values / (peak := _peaks(values)), axis=0) * peak
    values /= np.where(sizes > 0.0, sizes, 1.0)
    left, singular, right = np.linalg.svd(values[:, 1:], full_matrices=False)
    if not (sizes[1:] > 0.0).all() or singular[-1] <= SINGULAR * singular[0]:
        raise EstimationError(
            f"the regressors of {name!r} are constant or collinear: leave one out with given"
        )
    slopes = right.T @ ((left.T @ values[:, 0]) / singular)
    rest = values[:, 0] - values[:, 1:] @ slopes
    variance = float(rest @ rest) / freedom
    spread = np.einsum("ki,k->i", right**2, singular**-2.0)
    squares = slopes**2 / spread
    with np.errstate(invalid="ignore"):
        partial = np.where(squares > 0.0, squares / (squares + variance * freedom), 0.0)
    units = sizes[0] / sizes[1:]
    return _Regression(slopes * units, np.sqrt(variance * spread) * units, partial, freedom)


def _peaks(values: FloatArray) -> FloatArray:
    """The largest size in each column, 1 where all are 0."""
    peaks = np.abs(values).max(axis=0, initial=0.0)
    return np.asarray(np.where(peaks > 0.0, peaks, 1.0))


def _with_benchmark(
    found: Sensitivity, node: str, cause_share: float, target_share: float
) -> Sensitivity:
    """The same with bounds for a common cause as strong as a measured one, or why there are none.

    Section 4.4 of Cinelli and Hazlett, with k = 1.
    """
    if cause_share >= 0.5 or target_share >= 1.0:
        most = f"it explains {cause_share:.1%} of {shown(found.cause)}"
        note = f"no unmeasured cause can be as strong as {shown(node)}: {most} by itself"
        return replace(found, notes=(*found.notes, note))
    own = cause_share / (1.0 - cause_share)
    other = (1.0 + own) / (1.0 - own) * target_share / (1.0 - target_share)
    other = min(1.0, other)
    bound = Benchmark(node, own, other, found.adjusted(own, other))
    return replace(found, benchmarks=(*found.benchmarks, bound))


def _adjustment_set(
    dag: Dag, cause: str, target: str, given: Iterable[str] | None
) -> tuple[str, ...]:
    """The set to adjust for, checked against the back-door criterion."""
    first, last = dag.position(cause), dag.position(target)
    if target not in dag.descendants(cause):
        raise GraphError(
            f"the graph has no directed path from {cause!r} to {target!r}, so that there is no "
            "effect to explain away: name a cause and one of its descendants"
        )
    if given is None:
        best = optimal_adjustment_set(dag.causal_families, first, last)
        return tuple(dag.nodes[node] for node in sorted(best))
    chosen = as_names(given)
    if not dag.is_adjustment_set(cause, target, chosen):
        sets = dag.adjustment_sets(cause, target)
        raise GraphError(
            f"given={shorten(chosen)} does not remove confounding of {cause!r} and {target!r} by "
            f"the graph: give {shorten(sets[0]) if sets[0] else 'an empty list'}, or leave it out"
        )
    return chosen
