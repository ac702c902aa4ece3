"""A start for trimming that garbage in the child cannot spoil."""

import math
from dataclasses import dataclass

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.estimate.robust.checks import CORE, Limits, half_step
from gaussnet.estimate.robust.normal import truncated_variance
from gaussnet.estimate.robust.regression import Factor, Regression, Trial
from gaussnet.estimate.robust.sequential_trim import SequentialTrim

GARBAGE = 1e8
"""So many median deviations from the median, a value would drown the digits of the others."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A trial, its scale, and how sure both are."""

    trial: Trial
    scale: float
    moved: bool
    """Whether concentration steps were needed."""
    spread: bool
    """Whether the core holds more than a clean core would."""


def first_trial(regression: Regression, factor: Factor) -> Trial:
    """Least squares over all rows; `factor` is theirs. Garbage is left out."""
    sizes = np.abs(regression.child)
    limit = GARBAGE * regression.typical
    if not sizes.max(initial=0.0) > limit > 0.0:
        return regression.least_squares(factor)
    kept = sizes <= limit
    return regression.least_squares(regression.factor(kept), kept)


def robust_start(regression: Regression, first: Trial, settings: SequentialTrim) -> Start:
    """Gross trimming of least squares over all rows, concentration, and a scale of the core."""
    limits = Limits.each(regression.rows, np.array([regression.parameters]), settings)
    trial, moved = first, False
    if regression.parameters:
        trial, moved = _concentrated(regression, _without_gross(regression, first), limits)
    scale = regression.median_scale(trial)
    squares, count = _core(trial.magnitudes, GROSS * scale)
    spread = squares > count * (scale * limits.spread) ** 2
    if spread:
        scale = _shrunk(trial, scale)
    for _ in range(2):
        scale = max(core_scale(trial.magnitudes, scale, CORE), regression.smallest_scale)
    return Start(trial, scale, moved, spread)


def core_scale(magnitudes: FloatArray, scale: float, limit: float) -> float:
    r"""Scale from the values within `limit` scales, corrected for the truncation.

    .. math:: \hat s^2 = \frac{1}{\kappa(c)\, |C|} \sum_{k \in C} r_k^2, \quad
              C = \{k : |r_k| \le c s\}

    Examples
    --------
    >>> round(core_scale(np.array([0.5, 1.0, 0.1, 1.2, 0.7, 99.0]), 1.0, 2.5), 3)
    0.837
    """
    squares, count = _core(magnitudes, limit * scale)
    if count < FEWEST_IN_CORE:
        return scale
    return math.sqrt(squares / count / truncated_variance(limit))


def _core(magnitudes: FloatArray, limit: float) -> tuple[float, int]:
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


def _concentrated(regression: Regression, trial: Trial, limits: Limits) -> tuple[Trial, bool]:
    """Least squares over the half with the smallest residuals, until that half is stable.

    Nothing is done if the first half asks for no other coefficients than those it has.
    """
    for round_number in range(MOST_CONCENTRATIONS):
        if not trial.median > regression.smallest_scale:
            return trial, round_number > 0
        kept = trial.magnitudes <= trial.median
        nearer, statistic = half_step(regression, trial, kept, limits)
        if round_number == 0 and statistic <= limits.half[0]:
            return trial, False
        trial = nearer
        if round_number >= 2 and statistic <= SETTLED * regression.parameters:
            break
    return trial, True


def _shrunk(trial: Trial, scale: float) -> float:
    """The scale of the inner core, again while it drops."""
    for _ in range(SHRINKING_ROUNDS):
        smaller = core_scale(trial.magnitudes, scale, INNER_CORE)
        if not smaller < SHRINKING_GAIN * scale:
            break
        scale = smaller
    return scale
