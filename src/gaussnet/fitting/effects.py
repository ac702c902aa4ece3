"""Effects of a fit with their standard errors, by the delta method."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.fitting.repetitions import percentiles, shown_p_values
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import shown
from gaussnet.fitting.uncertainty import (
    PURPOSE,
    ErrorChoice,
    Errors,
    bootstrap_networks,
    check_repetitions,
    checked_kind,
    find_covariances,
    find_notes,
)
from gaussnet.graph.dag import indicator, shorten
from gaussnet.kernels.families import Families
from gaussnet.model.checks import check_level
from gaussnet.model.inference.effects import gradient, has_path, path_edges, stations
from gaussnet.model.network import GaussianNetwork
from gaussnet.named_rows import did_you_mean
from gaussnet.tails import PValue
from gaussnet.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


CONTRADICTED = "the data contradict the graph: see fit.summary()"
"""What is told beside effects, which hold only if the graph is right."""

ARE_SEVERAL = "are", "their", "they cause"


def doubt_of(fit: "Fit", causes: Iterable[str] = ()) -> str | None:
    """What speaks against the graph, and so against effects of these; None for nothing."""
    verdict = fit._verdict
    if verdict.doubts_equations:
        return CONTRADICTED
    found = [shown(cause) for cause in causes if cause in verdict.correlated_roots]
    if not found:
        return None
    are, whose, cause = ("is", "its", "it causes") if len(found) == 1 else ARE_SEVERAL
    return (
        f"{listed(found)} {are} correlated with other nodes without parents: {whose} effects are "
        f"right only if {cause} none of them"
    )


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
    doubt: str | None = field(default=None, compare=False)
    """What speaks against the graph, on which all effects rest; None for nothing."""

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
        notes = tuple(text for text in (absent, self.note, self.doubt) if text is not None)
        return ResultTable("Effect through nodes" if self.via else "Total effect", columns, notes)

    def __str__(self) -> str:
        return f"{self._words}\n{self.doubt}" if self.doubt else self._words

    @property
    def _words(self) -> str:
        """The effect in one line."""
        if not self.has_path:
            return f"{self.path}: 0, for {no_path(self.cause, self.target, self.via)}"
        if math.isnan(self.standard_error):
            return f"{self.path}: {self.value:.4g} (no standard error: {self.note})"
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


def find_level_effects(
    fit: "Fit", ends: tuple[str, str], reference: str | None, choice: ErrorChoice
) -> ResultTable:
    """The effect of each level of a category on a node, compared with one level, a row per level.

    The indicators of the other levels are 0 while that of a level is 1, so that the effect of a
    level against another is the difference of their effects; the reference has none.
    """
    check_level(choice.level)
    category, target = ends
    levels = _levels_of(fit, category)
    chosen = levels[0] if reference is None else str(reference)
    if chosen not in levels:
        raise SettingError(
            f"got reference={reference!r}, expected a level of {category!r}: {shorten(levels, 20)}"
            f"{did_you_mean(chosen, levels)}"
        )
    fit.dag.position(target)
    others = [one for one in levels if one != chosen]
    found = [_level_effect(fit, (category, target), (one, chosen), choice) for one in others]
    level = f"{100 * float(choice.level):.4g}%"
    errors = [error for _, error in found]
    columns = (
        Column("level", category, others, "text"),
        Column("estimate", "estimate", [value for value, _ in found]),
        Column("std_error", "std. error", [error.error for error in errors]),
        Column("p_value", "p-value", [error.p_value for _, error in found], "p-value"),
        Column("low", f"{level} low", [error.low for error in errors]),
        Column("high", f"{level} high", [error.high for error in errors]),
    )
    notes = [f"each level is compared with {chosen!r}"]
    if not any(
        has_path(fit.dag, stations(fit.dag, indicator(category, one), target, None))
        for one in levels[1:]
    ):
        notes.append(no_path(category, target))
    notes += dict.fromkeys(error.note for error in errors if error.note)
    notes += filter(None, [doubt_of(fit, (indicator(category, one) for one in levels[1:]))])
    return ResultTable(f"Total effect of {category} on {target}", columns, tuple(notes))


def _levels_of(fit: "Fit", category: str) -> tuple[str, ...]:
    """The levels of a category, the reference first."""
    if category not in fit.dag.factors:
        known = tuple(fit.dag.factors)
        said = (
            f"the categories are {shorten(known, 20)}" if known else "the graph has no categories"
        )
        raise SettingError(
            f"{category!r} is no category, {said}{did_you_mean(str(category), known)}: ask "
            "fit.effect for the effect of a number"
        )
    return fit.dag.factors[category]


def _level_effect(
    fit: "Fit", ends: tuple[str, str], pair: tuple[str, str], choice: ErrorChoice
) -> tuple[float, "EffectError"]:
    """The effect of the first level against the second, and its error."""
    category, target = ends
    reference = fit.dag.factors[category][0]
    signs = {
        indicator(category, one): sign
        for one, sign in zip(pair, (1.0, -1.0), strict=True)
        if one != reference
    }

    def difference(network: GaussianNetwork) -> float:
        return sum(sign * network.effect(node, target) for node, sign in signs.items())

    value = difference(fit.network)
    if choice.kind == "bootstrap":
        return value, _bootstrap_error(fit, difference, value, choice)
    slopes = np.zeros(len(fit.dag.edges))
    ways = [stations(fit.dag, node, target, None) for node in signs]
    for way, sign in zip(ways, signs.values(), strict=True):
        slopes += sign * gradient(fit.network, way)
    return value, effect_error(fit, value, slopes, float(choice.level), choice.kind, ways)


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
        asked = partial(_effect_in, cause, target, through)
        found = _bootstrap_error(fit, asked, value, choice)
    else:
        slopes = gradient(fit.network, stops)
        found = effect_error(fit, value, slopes, level, choice.kind, [stops])
    values = (value, found.error, level, found.low, found.high)
    return Effect(
        cause, target, *values, through, there, found.p_value, found.note, doubt_of(fit, [cause])
    )


class EffectError(NamedTuple):
    """Standard error, interval and test of a function of the coefficients."""

    error: float
    low: float
    high: float
    p_value: float
    """Two-sided, that the quantity is 0; NaN where it has no error."""
    freedom: float
    """Of Student's t; infinite for the normal law."""
    note: str | None = None
    """What is worth knowing of the error."""


def _effect_in(cause: str, target: str, via: tuple[str, ...], network: GaussianNetwork) -> float:
    return network.effect(cause, target, via=via or None)


def _bootstrap_error(
    fit: "Fit", asked: Callable[[GaussianNetwork], float], value: float, choice: ErrorChoice
) -> EffectError:
    """The error of a quantity that is found anew in each repetition."""
    checked_kind(fit, choice.kind, choice.level)
    check_repetitions(fit, choice.repetitions, choice.level)
    rows = fit.required_data(PURPOSE)
    networks = bootstrap_networks(fit, rows, choice.repetitions, choice.seed)
    drawn = [[asked(network)] for network in networks]
    by_order = fit.method.uses_row_order
    found = percentiles(np.array(drawn), np.array([value]), choice.level, by_order)
    error, low, high = found.table[:, 0].tolist()
    (tested,) = shown_p_values(found.p_values, found.repetitions)
    return EffectError(error, low, high, tested, math.inf, found.note)


def effect_error(
    fit: "Fit",
    value: float,
    slopes: FloatArray,
    level: float,
    kind: str | None,
    ways: Iterable[list[int]] = (),
) -> EffectError:
    """The error of a function of the coefficients with this gradient (edges,).

    There is none if the rows do not determine a coefficient on the paths along one of these `ways`,
    even if its gradient is 0 because another coefficient is.
    """
    from gaussnet.fitting.coefficient_tables import degrees_of_freedom, interval_stretch, p_values

    chosen, errors = find_covariances(fit, kind, level)
    lacking = np.isnan(errors.table[0][0])
    if lacking.any():
        lacking &= np.any([slopes != 0.0, *(path_edges(fit.dag, way) for way in ways)], axis=0)
    if lacking.any():
        reason = _why_lacking(fit, lacking, errors, level)
        return EffectError(math.nan, math.nan, math.nan, math.nan, math.inf, reason)
    freedom = degrees_of_freedom(fit, chosen) if errors.freedom is None else errors.freedom
    error = math.sqrt(_variances(fit.dag.families, errors, slopes)[0])
    stretch = interval_stretch(fit, errors.freedom, errors.table[0], level)
    square, parts = _variances(fit.dag.families, errors, slopes * stretch)
    own = _satterthwaite_freedom(parts, freedom)
    spread = np.array([math.sqrt(square)])
    distance = float(spread[0] * _student_point(own, level)) if square > 0.0 else error
    (p_value,) = p_values(np.array([value]), spread, own).tolist()
    return EffectError(error, value - distance, value + distance, p_value, own)


def _why_lacking(fit: "Fit", lacking: BoolArray, errors: Errors, level: float) -> str:
    """Why these coefficients (edges,) have no standard errors."""
    from gaussnet.fitting.coefficient_tables import reasons

    children = {fit.dag.edges[edge][1] for edge in np.flatnonzero(lacking).tolist()}
    found = reasons(find_notes(fit, errors.table, level), children)
    return "; ".join(found) or "the rows do not determine it"


def _student_point(freedom: float, level: float) -> float:
    """What Student's t stays below in absolute value with this chance; infinite: the normal law."""
    from scipy.special import ndtri, stdtrit  # slow to import

    share = 0.5 + 0.5 * level
    return float(ndtri(share) if math.isinf(freedom) else stdtrit(freedom, share))


def _satterthwaite_freedom(variances: FloatArray, freedom: FloatArray) -> float:
    """Degrees of freedom of a sum of variances that the families contribute, (nodes,) each."""
    counted = variances > 0.0
    share = variances[counted] / float(variances.sum())
    inverse = float((share**2 / freedom[counted]).sum())
    return math.inf if inverse == 0.0 else 1.0 / inverse


@np.errstate(over="ignore", invalid="ignore")
def _variances(families: Families, errors: Errors, slopes: FloatArray) -> tuple[float, FloatArray]:
    """The variance of a function with this gradient, and what families add by themselves, (nodes,).

    The second adds up to the first unless families are correlated.
    """
    own = np.zeros(len(families))
    if errors.joint is not None:
        used = np.flatnonzero(slopes)
        terms = slopes[used, None] * errors.joint[np.ix_(used, used)] * slopes[used]
        family = families.family_of_edge[used]
        np.add.at(own, family, (terms * (family[:, None] == family)).sum(axis=1))
        return max(float(terms.sum()), 0.0), own
    for nodes, covariances in errors.covariances:
        gradients = slopes[families.edges_of(nodes)].reshape(covariances.shape[:2])
        # A coefficient without a part in the effect must not spread its NaN.
        weights = gradients[:, :, None] * gradients[:, None, :]
        terms = np.where(weights == 0.0, 0.0, weights * covariances)
        own[nodes] = terms.sum(axis=(1, 2))
    return float(own.sum()), own
