"""From a fit to its uncertainty: one more fold over the rows that it learnt from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.checks import check_level
from gaussnet.fitting.phases import Work
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.uncertainty.assembly import Assembly
from gaussnet.fitting.uncertainty.bootstrap import bootstrap
from gaussnet.fitting.uncertainty.fitted_rows import fitted_rows
from gaussnet.fitting.uncertainty.heteroscedastic import heteroscedastic
from gaussnet.fitting.uncertainty.methods import find_slopes, kept_values, own_kind
from gaussnet.fitting.uncertainty.notes import find_notes
from gaussnet.fitting.uncertainty.regressions import regress
from gaussnet.fitting.uncertainty.robust_spread import enter_medians
from gaussnet.fitting.uncertainty.spread import Spreads, enter_heteroscedastic, enter_mean_squares
from gaussnet.fitting.uncertainty.values import ConfidenceIntervals, StandardErrors, Uncertainty
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import Mad, MeanSquare
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.evidence import Evidence
    from gaussnet.fitting.result import Fit

MOST_PASSES = 16
"""Passes over a file that errors of medians may take."""

Table = tuple[FloatArray, FloatArray, FloatArray]
"""Standard error, low and high of coefficients, of intercepts and of variances."""


def find_uncertainty(
    fit: "Fit", kind: str | None, level: float, repetitions: int, seed: int
) -> Uncertainty:
    """Standard errors and confidence intervals of a fit."""
    chosen, evidence = _checked(fit, kind, level)
    if chosen == "bootstrap":
        table: Table = bootstrap(fit, evidence, level, repetitions, seed)
    else:
        table = _assembled(fit, evidence, chosen, level).table
    first, second, third = table
    errors = StandardErrors(fit.dag, first[0], second[0], third[0])
    ends = (np.ascontiguousarray(part[1:].T) for part in table)
    intervals = ConfidenceIntervals(fit.dag, level, *ends)
    return Uncertainty(chosen, errors, intervals, find_notes(fit, table, level))


def find_covariances(
    fit: "Fit", kind: str | None, level: float
) -> tuple[str, list[tuple[IntArray, FloatArray]]]:
    """The kind of errors, and the covariances of the coefficients, family by family.

    Each entry holds nodes of as many parents p and their covariances, (nodes, p, p).
    """
    chosen, evidence = _checked(fit, kind, level)
    if chosen == "bootstrap":
        raise SettingError("got kind='bootstrap', which gives no covariances: leave kind out")
    return chosen, _assembled(fit, evidence, chosen, level).covariances


def _checked(fit: "Fit", kind: str | None, level: float) -> tuple[str, "Evidence"]:
    check_level(level)
    chosen = _checked_kind(fit, kind)
    if fit._evidence is None:
        raise EstimationError(
            "this fit no longer has the rows that it was learnt from, because it was copied or "
            "loaded: ask for errors where the data are, or fit again"
        )
    return chosen, fit._evidence


def _assembled(fit: "Fit", evidence: "Evidence", kind: str, level: float) -> Assembly:
    if isinstance(fit.method, SequentialTrim):
        return fitted_rows(fit, evidence, level)
    return _found(fit, evidence, kind, level)


def _checked_kind(fit: "Fit", kind: str | None) -> str:
    if kind == "bootstrap":
        return kind
    if kind is None:
        return own_kind(fit.method)
    if kind not in ("classical", "heteroscedastic"):
        raise SettingError(
            f"got kind={kind!r}, expected 'classical', 'heteroscedastic', 'bootstrap' or None"
        )
    if not isinstance(fit.method, LeastSquares):
        raise SettingError(
            f"got kind={kind!r}, which is for 'least-squares', but the network was learnt by "
            f"{fit.method.name!r}: leave kind out or give kind='bootstrap'"
        )
    return kind


def _found(fit: "Fit", evidence: "Evidence", kind: str, level: float) -> Assembly:
    method = fit.method
    assert not isinstance(method, SequentialTrim)
    first, last = evidence.portions()
    work = evidence.work
    spreads = _find_spreads(fit, last, work, kind, level)
    assembly = Assembly(fit.network, spreads, level)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for portion in first:
            for part in _parts(portion, kept_values(method, portion), work):
                for slopes in find_slopes(method, part, work, level, kind):
                    nodes = part.nodes[slopes.block.families]
                    assembly.enter(nodes, slopes, fit.intercept)
    return assembly


def _parts(portion: Portion, kept: FloatArray, work: Work) -> Iterator[Portion]:
    """Parts that keep within the budget, unless the rows of a stream are too many for that."""
    needed = kept * portion.rows
    passes = needed.sum() / work.budget
    if not isinstance(portion.pages, list) and passes > MOST_PASSES:
        raise EstimationError(
            f"standard errors of medians sort all solutions, and those of {portion.rows} rows "
            f"would take {int(passes)} passes over the file: ask for them in a fit to some of "
            "the rows, and divide them by the square root of the ratio"
        )
    return portion.parts(kept, work.budget)


def _find_spreads(
    fit: "Fit", portions: list[Portion], work: Work, kind: str, level: float
) -> Spreads:
    robust = isinstance(fit.scale, Mad)
    if not robust and not isinstance(fit.scale, MeanSquare):
        raise SettingError(
            f"the scale {fit.scale.name!r} has no standard errors of its own: give kind='bootstrap'"
        )
    families = fit.dag.families
    spreads = Spreads(families, fit.split is None)
    with np.errstate(divide="ignore", invalid="ignore"):
        for portion in portions:
            if robust:
                kept = np.full(len(portion.nodes), 3.0)
                for part in _parts(portion, kept, work):
                    own = fit.network.coefficient_array[families.edges_of(part.nodes)]
                    enter_medians(spreads, part, own, work, level)
                continue
            found = regress(portion, work)
            enter_mean_squares(spreads, portion.nodes, found, level)
            if kind == "heteroscedastic":
                parts = heteroscedastic(portion, found, work, level)
                enter_heteroscedastic(spreads, portion.nodes, found, parts)
    return spreads
