"""Reject and refit: least squares over the rows that the cutoff leaves, until they are stable."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaussnet._types import BoolArray, FloatArray
from gaussnet.estimate.robust.checks import SPARE_ROWS, looks_clean
from gaussnet.estimate.robust.cutoffs import Tail
from gaussnet.estimate.robust.normal import truncated_variance
from gaussnet.estimate.robust.regression import Factor, Regression, Trial
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.robust.start import first_trial, robust_start

LOOSE_ROUNDS = 8
FINAL_ROUNDS = 3

Cut = Callable[[Tail], float]


@dataclass(frozen=True, slots=True, eq=False)
class Trimmed:
    """Least squares over the kept rows."""

    trial: Trial
    factor: Factor
    scale: float
    """Standard deviation of the noise, corrected for freedom and truncation."""
    cutoff: float = math.inf
    kept: BoolArray | None = None
    """(rows,); None if all are kept."""


def trim(regression: Regression, settings: SequentialTrim, suspected: bool) -> Trimmed:
    """Least squares where the rows look clean, or over the rows that trimming leaves.

    `suspected` says that the rows are known to fail the checks.
    """
    whole = untrimmed(regression)
    first = whole.trial
    few = regression.rows < regression.parameters + SPARE_ROWS
    if few or not first.median > regression.smallest_scale:
        return whole
    if not suspected and looks_clean(regression, first, settings):
        return whole
    return _trimmed(regression, whole, settings)


def untrimmed(regression: Regression) -> Trimmed:
    """Least squares over all rows but garbage."""
    factor = regression.factor()
    first = first_trial(regression, factor)
    return Trimmed(first, factor, regression.least_squares_scale(first))


def _trimmed(regression: Regression, whole: Trimmed, settings: SequentialTrim) -> Trimmed:
    """Loose rounds until the scale settles, then final ones until the rows do."""
    start = robust_start(regression, whole.trial, settings)
    state = Trimmed(start.trial, whole.factor, start.scale)
    freedom = max(regression.freedom - 1, 2)
    if start.moved or start.spread:
        level = settings.wide_level if start.spread else settings.extent_level

        def loose(tail: Tail) -> float:
            return tail.cutoff(level, level, freedom)

        state = _rounds(regression, whole, state, loose, LOOSE_ROUNDS)

    def final(tail: Tail) -> float:
        limit = tail.cutoff(settings.gate_level, settings.extent_level, freedom)
        return tail.with_band(limit)

    return _rounds(regression, whole, state, final, FINAL_ROUNDS)


def _rounds(regression: Regression, whole: Trimmed, state: Trimmed, cut: Cut, most: int) -> Trimmed:
    """Rounds until the rows no longer change."""
    for _ in range(most):
        before, state = state, _round(regression, whole, state, cut)
        if state.kept is before.kept:
            break
    return state


def _round(regression: Regression, whole: Trimmed, state: Trimmed, cut: Cut) -> Trimmed:
    """Least squares over the rows within the cutoff of this state."""
    deviations = _deviations(regression, state)
    limit = cut(Tail.of(deviations))
    kept = deviations <= limit
    count = int(np.count_nonzero(kept))
    if count == regression.rows or count < regression.parameters + 2:
        return whole
    trial, factor = state.trial, state.factor
    if state.kept is not None and np.array_equal(kept, state.kept):
        kept = state.kept
    else:
        factor = regression.factor(kept)
        trial = regression.refit(trial, factor, kept)
    own = trial.residuals * kept
    variance = own @ own / max(count - regression.parameters, 1) / truncated_variance(limit)
    scale = max(math.sqrt(variance), regression.smallest_scale)
    return Trimmed(trial, factor, scale, limit, kept)


def _deviations(regression: Regression, state: Trimmed) -> FloatArray:
    """Absolute residuals in scales; those of rows left out, with the error of prediction."""
    deviations = state.trial.magnitudes / state.scale
    if state.kept is not None and regression.parameters:
        others = np.flatnonzero(~state.kept)
        leverages = state.factor.leverages(regression.columns.take(others, axis=1))
        deviations[others] /= np.sqrt(1.0 + leverages)
    return deviations
