"""Trimmed least squares of one node."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaussnet.methods.robust.normal import Tail, truncated_variance
from gaussnet.methods.robust.regression import Factor, Regression, Trial
from gaussnet.methods.robust.screening import CORE, SPARE_ROWS, Limits, half_step, looks_clean
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import KlOptimal
from gaussnet.types import BoolArray, FloatArray, IntArray

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


def kl_optimal_ratios(rows: int | IntArray, parents: IntArray, intercept: bool) -> FloatArray:
    """What mean squares of so many rows are to be multiplied by for the least expected KL.

    1 where rows are too few for an expectation.

    Examples
    --------
    >>> kl_optimal_ratios(100, np.array([5, 99]), False).round(4).tolist()
    [1.1325, 1.0]
    """
    found = KlOptimal().factors(rows, parents, intercept)
    return np.where(np.isnan(found), 1.0, found)
