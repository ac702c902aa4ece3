"""Screening: least squares over all rows for every family, and whether it needs no trimming.

Least-squares residuals look clean if they pass three checks: (1) their mean square is not larger
than their median says, (2) the half of the rows with the smallest residuals asks for no other
coefficients, and (3) the rule of Benjamini and Hochberg, the gate, rejects none of them. On clean
data nearly all families pass, and least squares is their answer: this is all that robustness costs.

`looks_clean` checks one regression; it is the definition of what the kernel `screen_families`
checks of all families at once."""

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.data.table import page_summary
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import thread_map
from gaussnet.methods.base import Equations, Solution
from gaussnet.methods.least_squares import solve_factors, solve_moments
from gaussnet.methods.mad import NORMAL_MAD
from gaussnet.methods.moments import FactorsPass, Moments, MomentsPass
from gaussnet.methods.robust.cutoffs import (
    Tail,
    chi_square_quantile,
    chi_square_quantiles,
    truncated_variance,
)
from gaussnet.methods.robust.regression import Centring, Regression, Trial
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

CORE = 2.5
"""The core of a sample lies within so many scales; it is nearly all of a clean one."""

SPARE_ROWS = 3
"""With fewer rows than this above the coefficients there is nothing to judge."""

HALF_VARIANCE = truncated_variance(1.0 / NORMAL_MAD)
"""Variance of the half of a standard normal sample that lies nearest to 0."""


def largest_spread(rows: int, settings: SequentialTrim) -> float:
    """Largest ratio of the least-squares scale to the median scale that looks clean."""
    return 1.0 + settings.spread_limit / math.sqrt(rows)


def looks_clean(regression: Regression, trial: Trial, settings: SequentialTrim) -> bool:
    """Whether the least-squares residuals of one regression pass the three checks."""
    scale = regression.median_scale(trial)
    widest = scale * largest_spread(regression.rows, settings)
    if not trial.squares <= regression.freedom * widest * widest < math.inf:
        return False
    if not _half_agrees(regression, trial, settings):
        return False
    return _gate_is_shut(regression, trial, scale, settings.gate_level)


def half_step(regression: Regression, trial: Trial, kept: BoolArray) -> tuple[Trial, float]:
    r"""Least squares over the half of the rows with the smallest residuals, and its statistic.

    With d the step that least squares over the half T asks for, the half-sample statistic is

    .. math:: \frac{d' Z_T Z_T' d}{\kappa(0.6745)\, s^2} \frac{k - p}{k},

    where s is the median scale: about chi-square with p degrees of freedom on clean data.
    """
    nearer = regression.refit(trial, regression.factor(kept), kept)
    change = (trial.residuals - nearer.residuals) * kept
    scale = NORMAL_MAD * trial.median
    share = regression.freedom / regression.rows
    return nearer, float(change @ change * share / (HALF_VARIANCE * scale * scale))


def _half_agrees(regression: Regression, trial: Trial, settings: SequentialTrim) -> bool:
    """Whether the half of the rows with the smallest residuals asks for no other coefficients."""
    if regression.parameters == 0:
        return True
    _, statistic = half_step(regression, trial, trial.magnitudes <= trial.median)
    return statistic <= chi_square_quantile(settings.half_level, regression.parameters)


def _gate_is_shut(regression: Regression, trial: Trial, scale: float, level: float) -> bool:
    """Whether the rule of Benjamini and Hochberg rejects no residual, by the scale of the core."""
    tail = Tail.of(trial.magnitudes, CORE * scale)
    inside = tail.count - len(tail.values)
    core_scale = np.sqrt(tail.inner_squares / inside / truncated_variance(CORE))
    tail = replace(tail, values=tail.values / core_scale)
    return tail.cutoff(level, level, regression.studentised_freedom) == math.inf


class Screened(NamedTuple):
    """Least squares over all rows, and which families look clean, (families,)."""

    solution: Solution
    clean: BoolArray


def screen(x: Rows, equations: Equations, settings: SequentialTrim, threads: int) -> Screened:
    """Least squares of every family over all rows, and whether it passes the checks."""
    columns: FloatArray = kernels.whole_columns(x)
    moments, solution = _least_squares(columns, equations, threads)
    few = len(x) < equations.families.sizes + equations.intercept + SPARE_ROWS
    if few.all():
        return Screened(solution, few)
    verdicts = _verdicts(columns, equations, moments, solution, settings, threads)
    unknown = np.flatnonzero(np.isnan(verdicts))
    check = partial(_family_looks_clean, columns, equations, solution, settings)
    verdicts[unknown] = list(thread_map(check, unknown.tolist(), threads))
    return Screened(solution, few | (verdicts == 1.0))


def _verdicts(
    columns: FloatArray,
    equations: Equations,
    moments: Moments,
    solution: Solution,
    settings: SequentialTrim,
    threads: int,
) -> FloatArray:
    """1 for families that pass the checks, 0 for those that fail, NaN if the kernel cannot tell."""
    families, rows = equations.families, len(columns)
    assert solution.mean_squares is not None
    assert solution.intercepts is not None
    spread = largest_spread(rows, settings)
    half = chi_square_quantiles(settings.half_level, families.sizes + equations.intercept)
    fitted = (solution.coefficients, solution.intercepts, solution.mean_squares * rows)

    def check(part: tuple[int, int]) -> FloatArray:
        limits = (part, equations.intercept, spread, settings.gate_level)
        task = kernels.Screen(*limits, *fitted, half, moments.means)
        return np.asarray(kernels.screen_families(columns, families, task))

    edges = [len(families) * worker // threads for worker in range(threads + 1)]
    return np.concatenate(list(thread_map(check, list(pairwise(edges)), threads)))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _family_looks_clean(
    columns: FloatArray,
    equations: Equations,
    solution: Solution,
    settings: SequentialTrim,
    family: int,
) -> bool:
    """Whether the least squares of one family pass the checks."""
    families = equations.families
    edges = slice(*families.offsets[family : family + 2].tolist())
    parents = columns[:, families.parents[edges]].T
    centring = Centring(parents.mean(axis=1), 0.0, equations.intercept)
    regression = Regression(centring.columns(parents), columns[:, families.children[family]])
    fitted = solution.coefficients[edges]
    if equations.intercept:
        assert solution.intercepts is not None
        fitted = np.append(solution.intercepts[family] + fitted @ centring.centres, fitted)
    trial = regression.trial(fitted)
    return trial.median > 0.0 and looks_clean(regression, trial, settings)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _least_squares(x: Rows, equations: Equations, threads: int) -> tuple[Moments, Solution]:
    """Moments and least squares; families that lost digits are learnt again with care."""
    moments: Moments = page_summary(MomentsPass(equations), x, threads)
    solution, lost = solve_moments(moments, equations)
    doubtful = _finite(equations.families, moments, lost)
    if len(doubtful) == 0:
        return moments, solution
    part = equations.only(doubtful)
    again = page_summary(FactorsPass(part, lambda factors: factors), x, threads)
    return moments, solution.patched(equations.families, doubtful, solve_factors(again, part))


def _finite(families: Families, moments: Moments, doubtful: IntArray) -> IntArray:
    """The doubtful families whose cross-products did not overflow: the others fail the checks."""
    largest = np.maximum.reduceat(np.abs(moments.products), families.product_offsets[:-1])
    return np.asarray(doubtful[np.isfinite(largest[doubtful])])
