"""Three cheap checks that least squares over all rows needs no trimming.

Clean residuals pass if (1) their mean square is not larger than their median says, (2) the half
of the rows with the smallest residuals asks for no other coefficients, and (3) the gate finds no
residual too large for its place in the sample.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.estimate.robust.normal import (
    chi_square_points,
    tail_chance,
    truncated_variance,
    two_sided_point,
    two_sided_points,
)
from gaussnet.estimate.robust.regression import Regression, Trial
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.scales import NORMAL_MAD

CORE = 2.5
"""The core of a sample lies within so many scales; it is nearly all of a clean one."""

SPARE_ROWS = 3
"""With fewer rows than this above the coefficients there is nothing to judge."""

HALF_VARIANCE = truncated_variance(1.0 / NORMAL_MAD)
"""Variance of the half of a standard normal sample that lies nearest to 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The limits of the checks for regressions over k rows, (regressions,) each."""

    rows: int
    left: FloatArray
    """Rows less coefficients, at least 1."""
    spread: float
    """Largest ratio of the least-squares scale to the median scale."""
    half: FloatArray
    """Largest half-sample statistic."""

    @classmethod
    def each(cls, rows: int, parameters: IntArray, settings: SequentialTrim) -> "Limits":
        """The limits that the settings lay down for these numbers of coefficients."""
        half = chi_square_points(settings.half_level, parameters)
        left = np.maximum(rows - parameters, 1.0)
        return cls(rows, left, largest_spread(rows, settings), half)

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of a studentised residual."""
        return np.maximum(self.left - 1.0, 2.0)

    def only(self, part: slice) -> "Limits":
        """The limits of a part of the regressions."""
        return replace(self, left=self.left[part], half=self.half[part])

    def median_scales(self, medians: FloatArray) -> FloatArray:
        """Scales of the noise by the medians of the absolute residuals."""
        return np.asarray(NORMAL_MAD * medians * np.sqrt(self.rows / self.left))

    def is_narrow(self, squares: FloatArray, scales: FloatArray) -> BoolArray:
        """Whether sums of squares are not larger than median scales say."""
        return np.asarray(squares <= self.left * (scales * self.spread) ** 2)

    def half_statistic(self, lengths: FloatArray, medians: FloatArray) -> FloatArray:
        r"""The half-sample statistic, about chi-square with p degrees of freedom if clean.

        `lengths` are :math:`d' Z_T Z_T' d`, where T is the half of the rows with the smallest
        absolute residuals and d the step that least squares over T asks for.
        """
        variances = HALF_VARIANCE * (NORMAL_MAD * medians) ** 2
        return np.asarray(lengths * (self.left / self.rows) / variances)


def trim_limits(
    rows: int, parameters: int, settings: SequentialTrim, suspected: bool
) -> tuple[float, ...]:
    """What the compiled kernel wants to know to trim a regression."""
    levels = (settings.gate_level, settings.extent_level, settings.wide_level)
    spread = largest_spread(rows, settings)
    return (*levels, spread, _largest_half(settings.half_level, parameters), float(suspected))


def largest_spread(rows: int, settings: SequentialTrim) -> float:
    """Largest ratio of the least-squares scale to the median scale."""
    return 1.0 + settings.spread_limit / math.sqrt(rows)


@lru_cache
def _largest_half(level: float, parameters: int) -> float:
    """Largest half-sample statistic of a regression with so many coefficients."""
    return float(chi_square_points(level, np.array([parameters]))[0])


def gate_is_shut(
    magnitudes: FloatArray, squares: FloatArray, medians: FloatArray, limits: Limits, level: float
) -> BoolArray:
    """Whether the rule of Benjamini and Hochberg rejects no residual of each regression.

    Absolute residuals are (regressions, rows), in any order; their sums of squares and medians
    (regressions,). They are measured by the scale of their core. Only those that could be
    rejected, given how many lie beyond the first point of the rule, are ranked.
    """
    count, rows = magnitudes.shape
    found = np.flatnonzero(magnitudes > (CORE * limits.median_scales(medians))[:, None])
    owners, values = found // rows, magnitudes.ravel()[found]
    inside = rows - np.bincount(owners, minlength=count)
    core = squares - np.bincount(owners, weights=values**2, minlength=count)
    core = np.sqrt(np.maximum(core, 0.0) / inside / truncated_variance(CORE))
    deviations = values / core[owners]
    tails = np.bincount(owners[deviations > two_sided_point(level)], minlength=count)
    far = deviations > two_sided_points(level * tails / rows)[owners]
    owners, deviations = owners[far], deviations[far]
    order = np.lexsort((-deviations, owners))
    owners, deviations = owners[order], deviations[order]
    ranks = np.arange(1, len(owners) + 1) - np.searchsorted(owners, owners)
    rejected = tail_chance(deviations, limits.freedom[owners]) * rows <= level * ranks
    return np.asarray(np.bincount(owners[rejected], minlength=count) == 0)


def looks_clean(regression: Regression, trial: Trial, settings: SequentialTrim) -> bool:
    """Whether the least-squares residuals of one regression pass the three checks."""
    limits = Limits.each(regression.rows, np.array([regression.parameters]), settings)
    medians, squares = np.array([trial.median]), np.array([trial.squares])
    if not limits.is_narrow(squares, limits.median_scales(medians))[0]:
        return False
    if not half_agrees(regression, trial, limits):
        return False
    magnitudes = trial.magnitudes[None]
    return bool(gate_is_shut(magnitudes, squares, medians, limits, settings.gate_level)[0])


def half_agrees(regression: Regression, trial: Trial, limits: Limits) -> bool:
    """Whether the half of the rows with the smallest residuals asks for no other coefficients."""
    if regression.parameters == 0:
        return True
    kept = trial.magnitudes <= trial.median
    return bool(half_step(regression, trial, kept, limits)[1] <= limits.half[0])


def half_step(
    regression: Regression, trial: Trial, kept: BoolArray, limits: Limits
) -> tuple[Trial, float]:
    """Least squares over the kept half of the rows, and the half-sample statistic."""
    nearer = regression.refit(trial, regression.factor(kept), kept)
    change = (trial.residuals - nearer.residuals) * kept
    length, middle = np.array([change @ change]), np.array([trial.median])
    return nearer, float(limits.half_statistic(length, middle)[0])
