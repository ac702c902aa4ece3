"""Three cheap checks that least squares over all rows needs no trimming.

Clean residuals pass if (1) their mean square is not larger than their median says, (2) the half
of the rows with the smallest residuals asks for no other coefficients, and (3) the gate finds no
residual too large for its place in the sample.
"""

from dataclasses import dataclass

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.estimate.robust.normal import chi_square_points, truncated_variance
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
        spread = 1.0 + settings.spread_limit / np.sqrt(rows)
        return cls(rows, np.maximum(rows - parameters, 1.0), float(spread), half)

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of a studentised residual."""
        return np.maximum(self.left - 1.0, 2.0)

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
