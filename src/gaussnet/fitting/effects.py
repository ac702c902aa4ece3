"""Effects of a fit with their standard errors, by the delta method."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.fitting.repetitions import percentiles, shown_p_values
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.uncertainty import (
    PURPOSE,
    ErrorChoice,
    bootstrap_networks,
    checked_kind,
    find_covariances,
)
from gaussnet.model.checks import check_level
from gaussnet.model.inference.effects import gradient, has_path, stations
from gaussnet.tails import PValue, student_tail
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


@dataclass(frozen=True, slots=True)
class Effect(Tabular):
    """What one unit more of a node, set from outside, adds to another, and how sure that is."""

    cause: str
    target: str
    value: float
    standard_error: float
    level: float
    low: float
    high: float
    via: tuple[str, ...] = ()
    """Nodes that the paths pass through; none for the total effect."""
    has_path: bool = True
    """Whether a directed path of the graph leads from the cause to the target."""
    p_value: float = math.nan
    """Two-sided, that the effect is 0; NaN without a path or a standard error."""
    note: str | None = None
    """What is worth knowing of the standard error; None for nothing."""

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval (low, high)."""
        return self.low, self.high

    @property
    def path(self) -> str:
        """The cause, the target and the nodes that are passed through, as they are printed."""
        return effect_words(self.cause, self.target, self.via)

    def table(self) -> ResultTable:
        """The effect as a table of one row."""
        level = f"{100 * self.level:.4g}%"
        columns = (
            Column("effect", "effect", [self.path], "text"),
            Column("estimate", "estimate", [self.value]),
            Column("std_error", "std. error", [self.standard_error]),
            Column("p_value", "p-value", [self.p_value], "p-value"),
            Column("low", f"{level} low", [self.low]),
            Column("high", f"{level} high", [self.high]),
        )
        absent = None if self.has_path else no_path(self.cause, self.target, self.via)
        notes = tuple(text for text in (absent, self.note) if text is not None)
        return ResultTable("Effect through nodes" if self.via else "Total effect", columns, notes)

    def __str__(self) -> str:
        if not self.has_path:
            return f"{self.path}: 0, for {no_path(self.cause, self.target, self.via)}"
        return (
            f"{self.path}: {self.value:.4g} "
            f"({100 * self.level:.4g}% interval {self.low:.4g} to {self.high:.4g}, "
            f"p-value {PValue(self.p_value)!s})" + (f"; {self.note}" if self.note else "")
        )


def effect_words(cause: str, target: str, via: Iterable[str] = ()) -> str:
    """What an effect is of: all paths from one node to another that lead through these nodes.

    Examples
    --------
    >>> effect_words("season", "slip"), effect_words("season", "slip", ["rain", "wet"])
    ('season -> slip', 'season -> slip through rain and wet')
    """
    through = " and ".join(via)
    return f"{cause} -> {target}" + (f" through {through}" if through else "")


def no_path(cause: str, target: str, via: Iterable[str] = ()) -> str:
    """Why an effect is 0 where no path leads from one node to the other.

    Examples
    --------
    >>> no_path("wet", "rain")
    'no directed path leads from wet to rain in the graph'
    """
    through = "".join(f" through {node}" for node in via)
    return f"no directed path leads from {cause}{through} to {target} in the graph"


def find_effect(
    fit: "Fit",
    ends: tuple[str, str],
    via: str | Iterable[str] | None,
    choice: ErrorChoice,
) -> Effect:
    r"""The effect, its error and interval.

    .. math:: se^2 = \sum_i g_i' C_i g_i

    g are the derivatives by the coefficients of each family, C the families' covariances;
    estimates of different families are uncorrelated, but for ``missing="likelihood"``, where C
    is that of all coefficients together. With least squares the interval is
    Student's t with Satterthwaite's freedom, exact for a single edge. The bootstrap finds the
    effect anew in each repetition; its interval is of percentiles, corrected for bias.
    """
    check_level(choice.level)
    cause, target = ends
    stops = stations(fit.dag, cause, target, via)
    through = tuple(fit.dag.nodes[stop] for stop in stops[1:-1])
    there = has_path(fit.dag, stops)
    value, level = fit.network.effect(cause, target, via=through or None), float(choice.level)
    if choice.kind == "bootstrap":
        found = _bootstrap_error(fit, (cause, target, through), value, choice)
    else:
        found = effect_error(fit, value, gradient(fit.network, stops), level, choice.kind)
    values = (value, found.error, level, found.low, found.high)
    return Effect(cause, target, *values, through, there, found.p_value(value), found.note)


class EffectError(NamedTuple):
    """Standard error and interval of a function of the coefficients."""

    error: float
    low: float
    high: float
    freedom: float
    """Of Student's t; infinite for the normal law."""
    tested: float | None = None
    """The p-value that the quantity is 0, where the error comes with one."""
    note: str | None = None
    """What is worth knowing of the error."""

    def p_value(self, value: float) -> float:
        """Two-sided, that a quantity of this value is 0; NaN where it has no error."""
        if self.tested is not None:
            return self.tested
        if not self.error > 0.0:
            return math.nan
        t = np.array([abs(value) / self.error])
        return 2.0 * float(student_tail(np.array([self.freedom]), t)[0])


def _bootstrap_error(
    fit: "Fit", asked: tuple[str, str, tuple[str, ...]], value: float, choice: ErrorChoice
) -> EffectError:
    """The error of an effect that is found anew in each repetition."""
    cause, target, through = asked
    checked_kind(fit, choice.kind, choice.level)
    rows = fit.required_data(PURPOSE)
    drawn = [
        [network.effect(cause, target, via=through or None)]
        for network in bootstrap_networks(fit, rows, choice.repetitions, choice.seed)
    ]
    by_order = fit.method.uses_row_order
    found = percentiles(np.array(drawn), np.array([value]), choice.level, by_order)
    error, low, high = found.table[:, 0].tolist()
    (tested,) = shown_p_values(found.p_values, found.repetitions)
    return EffectError(error, low, high, np.inf, tested, found.note)


def effect_error(
    fit: "Fit", value: float, slopes: FloatArray, level: float, kind: str | None
) -> EffectError:
    """The error of a function of the coefficients with this gradient (edges,)."""
    from scipy.special import ndtri, stdtrit  # slow to import

    variances, chosen = _variances(fit, slopes, level, kind)
    exact = chosen in STUDENT
    error = float(np.sqrt(variances.sum()))
    freedom = _satterthwaite_freedom(fit, variances, chosen) if exact and error > 0.0 else np.inf
    point = float(stdtrit(freedom, 0.5 + 0.5 * level))
    if not exact:
        point = float(ndtri(0.5 + 0.5 * level))
    return EffectError(error, value - point * error, value + point * error, freedom)


STUDENT = ("classical", "heteroscedastic", "sampling", "clustered")
"""Kinds of errors whose law is Student's t."""


def _satterthwaite_freedom(fit: "Fit", variances: FloatArray, kind: str) -> float:
    """Degrees of freedom of a sum of variances that the families contribute, (nodes,)."""
    from gaussnet.fitting.coefficient_tables import degrees_of_freedom

    left = degrees_of_freedom(fit, kind)
    share = variances / float(variances.sum())
    counted = share > 0.0
    return 1.0 / float((share[counted] ** 2 / left[counted]).sum())


@np.errstate(over="ignore", invalid="ignore")
def _variances(
    fit: "Fit", slopes: FloatArray, level: float, kind: str | None
) -> tuple[FloatArray, str]:
    """What each family adds to the variance, (nodes,), and the kind of errors.

    Where families are correlated there is one sum for all of them, (1,).
    """
    families = fit.dag.families
    variances = np.zeros(len(families))
    chosen, found = find_covariances(fit, kind, level)
    if found.joint is not None:
        used = np.flatnonzero(slopes)
        square = slopes[used] @ found.joint[np.ix_(used, used)] @ slopes[used]
        return np.array([max(square, 0.0)]), "joint"
    for nodes, covariances in found.covariances:
        own = slopes[families.edges_of(nodes)].reshape(covariances.shape[:2])
        # A coefficient without a part in the effect must not spread its NaN.
        weights = own[:, :, None] * own[:, None, :]
        terms = np.where(weights == 0.0, 0.0, weights * covariances)
        variances[nodes] = terms.sum(axis=(1, 2))
    return variances, chosen
