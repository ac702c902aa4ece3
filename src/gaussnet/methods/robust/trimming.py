"""Trimmed least squares of one node, in three stages.

1. `robust_start`: least squares without gross errors, then concentration steps (least squares over
   the half of the rows with the smallest residuals), and a scale from the core of the residuals.
2. Loose rounds, if the start was hard to find: reject beyond a generous cutoff and refit, until the
   rows no longer change.
3. Final rounds, with the cutoff of the settings; see `cutoffs`.

Nothing is trimmed where least squares over all rows looks clean; see `screening`. The kernel
`learn_nodes` does the same in C."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaussnet.methods.robust.cutoffs import Tail, chi_square_quantile, truncated_variance
from gaussnet.methods.robust.regression import Factor, Regression, Trial, median
from gaussnet.methods.robust.screening import (
    CORE,
    SPARE_ROWS,
    half_step,
    largest_spread,
    looks_clean,
)
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.types import BoolArray, FloatArray

EXTREME = 1e8
"""A value of so many median absolute values would drown the digits of the others."""

GROSS = 5.0
"""Beyond so many scales a residual is left out of the next trial."""

GROSS_ROUNDS = 3
GROSS_GAIN = 0.7
"""Gross trimming goes on while it brings the scale below this share."""

MOST_CONCENTRATIONS = 40
SETTLED = 0.1
"""Concentration ends when the statistic falls below this times the number of coefficients."""

FEWEST_IN_CORE = 5
"""With fewer values a core has no scale of its own."""

INNER_CORE = 1.75
SHRINKING_ROUNDS = 8
SHRINKING_GAIN = 0.99
"""The scale of the inner core is taken again while it falls below this share."""

LOOSE_ROUNDS = 8
FINAL_ROUNDS = 3

CutoffRule = Callable[[Tail], float]


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


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where trimming starts, and how sure that is."""

    trial: Trial
    scale: float
    concentrated: bool
    """Whether concentration steps were needed."""
    spread: bool
    """Whether the core holds more than a clean core would."""


def trim(regression: Regression, settings: SequentialTrim, suspected: bool) -> Trimmed:
    """Least squares where the rows look clean, or over the rows that trimming leaves.

    `suspected` says that the rows are known to fail the checks.
    """
    whole = untrimmed(regression)
    few = regression.rows < regression.parameters + SPARE_ROWS
    if few or not whole.trial.median > regression.smallest_scale:
        return whole
    if not suspected and looks_clean(regression, whole.trial, settings):
        return whole
    return _reject(regression, whole, settings)


def untrimmed(regression: Regression) -> Trimmed:
    """Least squares over all rows; extreme values of the child are left out of the coefficients."""
    factor, sizes = regression.factor(), np.abs(regression.child)
    limit = EXTREME * median(sizes)
    if not sizes.max(initial=0.0) > limit > 0.0:
        trial = regression.least_squares(factor)
    else:
        kept = sizes <= limit
        trial = regression.least_squares(regression.factor(kept), kept)
    return Trimmed(trial, factor, regression.least_squares_scale(trial))


def robust_start(regression: Regression, first: Trial, settings: SequentialTrim) -> Start:
    """Gross trimming of least squares over all rows, concentration, and a scale of the core."""
    trial, concentrated = first, False
    if regression.parameters:
        trial = _without_gross(regression, first)
        trial, concentrated = _concentrate(regression, trial, settings.half_level)
    scale = regression.median_scale(trial)
    squares, count = _core_squares(trial.magnitudes, GROSS * scale)
    widest = scale * largest_spread(regression.rows, settings)
    spread = squares > count * widest * widest
    if spread:
        scale = _shrink(trial, scale)
    for _ in range(2):
        scale = max(core_scale(trial.magnitudes, scale, CORE), regression.smallest_scale)
    return Start(trial, scale, concentrated, spread)


def core_scale(magnitudes: FloatArray, scale: float, limit: float) -> float:
    r"""Scale from the values within `limit` scales, corrected for the truncation.

    .. math:: \hat s^2 = \frac{1}{\kappa(c)\, |C|} \sum_{k \in C} r_k^2, \quad
              C = \{k : |r_k| \le c s\}

    Examples
    --------
    >>> round(core_scale(np.array([0.5, 1.0, 0.1, 1.2, 0.7, 99.0]), 1.0, 2.5), 3)
    0.837
    """
    squares, count = _core_squares(magnitudes, limit * scale)
    if count < FEWEST_IN_CORE:
        return scale
    return math.sqrt(squares / count / truncated_variance(limit))


def _core_squares(magnitudes: FloatArray, limit: float) -> tuple[float, int]:
    """Sum of squares and number of the values within a limit."""
    inside = magnitudes <= limit
    core = magnitudes * inside
    return float(core @ core), int(np.count_nonzero(inside))


def _without_gross(regression: Regression, trial: Trial) -> Trial:
    """Least squares without gross residuals, again while the scale drops."""
    scale = regression.median_scale(trial)
    fewest = max(regression.rows // 2, regression.parameters + 2)
    for _ in range(GROSS_ROUNDS):
        kept = trial.magnitudes <= GROSS * scale
        if not fewest <= np.count_nonzero(kept) < regression.rows:
            break
        trial = regression.refit(trial, regression.factor(kept), kept)
        before, scale = scale, regression.median_scale(trial)
        if scale > GROSS_GAIN * before:
            break
    return trial


def _concentrate(regression: Regression, trial: Trial, level: float) -> tuple[Trial, bool]:
    """Least squares over the half with the smallest residuals, until that half is stable.

    Nothing is done if the first half asks for no other coefficients than those it has.
    """
    limit = chi_square_quantile(level, regression.parameters)
    for round_number in range(MOST_CONCENTRATIONS):
        if not trial.median > regression.smallest_scale:
            return trial, round_number > 0
        nearer, statistic = half_step(regression, trial, trial.magnitudes <= trial.median)
        if round_number == 0 and statistic <= limit:
            return trial, False
        trial = nearer
        if round_number >= 2 and statistic <= SETTLED * regression.parameters:
            break
    return trial, True


def _shrink(trial: Trial, scale: float) -> float:
    """The scale of the inner core, again while it drops."""
    for _ in range(SHRINKING_ROUNDS):
        smaller = core_scale(trial.magnitudes, scale, INNER_CORE)
        if not smaller < SHRINKING_GAIN * scale:
            break
        scale = smaller
    return scale


def _reject(regression: Regression, whole: Trimmed, settings: SequentialTrim) -> Trimmed:
    """Loose rounds if the start was hard to find, then final ones."""
    start = robust_start(regression, whole.trial, settings)
    current = Trimmed(start.trial, whole.factor, start.scale)
    freedom = regression.studentised_freedom
    if start.concentrated or start.spread:
        level = settings.wide_level if start.spread else settings.extent_level

        def loose(tail: Tail) -> float:
            return tail.cutoff(level, level, freedom)

        current = _repeat(regression, whole, current, loose, LOOSE_ROUNDS)

    def final(tail: Tail) -> float:
        return tail.widened(tail.cutoff(settings.gate_level, settings.extent_level, freedom))

    return _repeat(regression, whole, current, final, FINAL_ROUNDS)


def _repeat(
    regression: Regression, whole: Trimmed, current: Trimmed, rule: CutoffRule, most: int
) -> Trimmed:
    """Rounds until the rows no longer change."""
    for _ in range(most):
        before, current = current, _round(regression, whole, current, rule)
        if current.kept is before.kept:
            break
    return current


def _round(regression: Regression, whole: Trimmed, current: Trimmed, rule: CutoffRule) -> Trimmed:
    """Least squares over the rows within the cutoff of the current equation."""
    deviations = _deviations(regression, current)
    limit = rule(Tail.of(deviations))
    kept = deviations <= limit
    count = int(np.count_nonzero(kept))
    if count == regression.rows or count < regression.parameters + 2:
        return whole
    trial, factor = current.trial, current.factor
    if current.kept is not None and np.array_equal(kept, current.kept):
        kept = current.kept
    else:
        factor = regression.factor(kept)
        trial = regression.refit(trial, factor, kept)
    own = trial.residuals * kept
    variance = own @ own / max(count - regression.parameters, 1) / truncated_variance(limit)
    scale = max(math.sqrt(variance), regression.smallest_scale)
    return Trimmed(trial, factor, scale, limit, kept)


def _deviations(regression: Regression, current: Trimmed) -> FloatArray:
    """Absolute residuals in scales; those of rows left out, with the error of prediction."""
    deviations = current.trial.magnitudes / current.scale
    if current.kept is not None and regression.parameters:
        others = np.flatnonzero(~current.kept)
        leverages = current.factor.leverages(regression.columns.take(others, axis=1))
        deviations[others] /= np.sqrt(1.0 + leverages)
    return deviations
