"""The three checks, for many families at once or for one.

A screen makes a few passes over residuals (families, rows) and does not loop over families: on
clean data this is all that the robust method adds to least squares.
"""

from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, Rows
from gaussnet.estimate.equations import Equations
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.robust.checks import CORE, Limits
from gaussnet.estimate.robust.normal import (
    tail_chance,
    truncated_variance,
    two_sided_point,
    two_sided_points,
)
from gaussnet.estimate.robust.regression import Factor, Regression, Trial
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Solution
from gaussnet.kernels.families import Families

TILE_VALUES = 1 << 17
"""Values of the data that are turned to columns at a time."""


class Screen(NamedTuple):
    """Some families, sorted by size, and their least squares over all rows."""

    families: Families
    intercept: bool
    coefficients: FloatArray
    intercepts: FloatArray
    squares: FloatArray
    """Residual sums of squares, (families,)."""
    means: FloatArray
    """Means of the families' columns, 0 without an intercept."""
    products: FloatArray
    """Packed cross-products about the means."""

    @classmethod
    def of(
        cls, equations: Equations, moments: Moments, solution: Solution, part: slice
    ) -> "Screen":
        """The families of a part of the equations."""
        whole = equations.families
        columns = slice(*whole.column_offsets[[part.start, part.stop]].tolist())
        products = slice(*whole.product_offsets[[part.start, part.stop]].tolist())
        edges = slice(*whole.offsets[[part.start, part.stop]].tolist())
        assert solution.intercepts is not None
        assert solution.mean_squares is not None
        return cls(
            whole.subset(np.arange(part.start, part.stop)),
            equations.intercept,
            solution.coefficients[edges],
            solution.intercepts[part],
            solution.mean_squares[part] * moments.rows,
            moments.means[columns],
            moments.products[products],
        )

    def passed(self, x: Rows, level: float, limits: Limits) -> BoolArray:
        """Whether the residuals of each family pass the three checks, (families,)."""
        residuals = kernels.residuals(x, self.families, self.coefficients)
        if self.intercept:
            residuals -= self.intercepts[:, None]
        magnitudes = np.abs(residuals)
        medians, _ = kernels.row_medians(magnitudes)
        scales = limits.median_scales(medians)
        narrow = limits.is_narrow(self.squares, scales)
        quiet = gate_is_shut(magnitudes, self.squares, scales, limits.freedom, level)
        np.abs(residuals, out=magnitudes)
        residuals *= magnitudes <= medians[:, None]
        lengths = self._half_lengths(x, residuals)
        even = limits.half_statistic(lengths, medians) <= limits.half
        return np.asarray(narrow & quiet & even & (medians > 0.0))

    def _half_lengths(self, x: Rows, half: FloatArray) -> FloatArray:
        """``g' (Z_T Z_T')^-1 g`` with ``g = Z r_T`` and ``Z_T Z_T'`` put as ``Z Z' / 2``.

        `half` holds the residuals of the half with the smallest ones, and 0 elsewhere.
        """
        families = self.families
        gradients = half_gradients(x, families, self.means, half)
        products = 0.5 * self.products
        ends = families.product_offsets[1:]
        slots = np.arange(len(families.parents)) - families.offsets[families.family_of_edge]
        last_row = (ends - families.sizes - 1)[families.family_of_edge] + slots
        products[last_row] = gradients
        products[ends - 1] = np.einsum("fk,fk->f", half, half)
        steps, _, _ = kernels.solve_moments(families, products)
        lengths = np.zeros(len(families))
        np.add.at(lengths, families.family_of_edge, steps * gradients)
        if self.intercept:
            lengths += half.sum(axis=1) ** 2 / (0.5 * half.shape[1])
        return lengths


def half_gradients(x: Rows, families: Families, means: FloatArray, half: FloatArray) -> FloatArray:
    """Products of each parent, less its mean, with the child's values in `half`: (edges,).

    `means` are those of the families' columns, `half` is (families, rows).
    """
    used, places = np.unique(families.columns, return_inverse=True)
    centres = np.zeros(len(used))
    centres[places] = means
    narrow = x if len(used) == x.shape[1] else x[:, used]
    local = Families(
        places[families.column_offsets[1:] - 1],
        families.offsets,
        np.delete(places, families.column_offsets[1:] - 1),
    )
    blocks = [block for block in local.by_size if block[0]]
    gradients = np.zeros(len(families.parents))
    height = max(1, TILE_VALUES // max(len(used), 1))
    for first in range(0, len(x), height):
        tile = narrow[first : first + height].T - centres[:, None]
        for size, chosen, columns in blocks:
            start, stop = int(chosen[0]), int(chosen[-1]) + 1
            edges = slice(*families.offsets[[start, stop]].tolist())
            own = half[start:stop, first : first + height, None]
            gradients[edges] += (tile[columns[:, :size]] @ own).ravel()
    return gradients


def gate_is_shut(
    magnitudes: FloatArray,
    squares: FloatArray,
    scales: FloatArray,
    freedom: FloatArray,
    level: float,
) -> BoolArray:
    """Whether the rule of Benjamini and Hochberg rejects no residual of each family.

    Absolute residuals are (families, rows) in any order; sums of squares, median scales and
    degrees of freedom (families,). Only residuals that could be rejected, given how many lie
    beyond the first point of the rule, are ranked.
    """
    families, rows = magnitudes.shape
    found = np.flatnonzero(magnitudes > (CORE * scales)[:, None])
    owners, values = found // rows, magnitudes.ravel()[found]
    inside = rows - np.bincount(owners, minlength=families)
    core = squares - np.bincount(owners, weights=values**2, minlength=families)
    core = np.sqrt(np.maximum(core, 0.0) / inside / truncated_variance(CORE))
    deviations = values / core[owners]
    tails = np.bincount(owners[deviations > two_sided_point(level)], minlength=families)
    far = deviations > two_sided_points(level * tails / rows)[owners]
    owners, deviations = owners[far], deviations[far]
    order = np.lexsort((-deviations, owners))
    owners, deviations = owners[order], deviations[order]
    ranks = np.arange(1, len(owners) + 1) - np.searchsorted(owners, owners)
    rejected = tail_chance(deviations, freedom[owners]) * rows <= level * ranks
    return np.asarray(np.bincount(owners[rejected], minlength=families) == 0)


def looks_clean(
    regression: Regression, trial: Trial, factor: Factor, settings: SequentialTrim
) -> bool:
    """Whether the least-squares residuals of one regression pass the three checks."""
    limits = Limits.each(regression.rows, np.array([regression.parameters]), settings)
    scales = limits.median_scales(np.array([trial.median]))
    squares = np.array([trial.squares])
    if not limits.is_narrow(squares, scales)[0]:
        return False
    if not half_agrees(regression, trial, factor, limits):
        return False
    magnitudes = trial.magnitudes[None]
    shut = gate_is_shut(magnitudes, squares, scales, limits.freedom, settings.gate_level)
    return bool(shut[0])


def half_agrees(regression: Regression, trial: Trial, factor: Factor, limits: Limits) -> bool:
    """Whether the half of the rows with the smallest residuals asks for no other coefficients.

    `factor` is that of a set of rows at least as large; half of it stands for the half's own.
    """
    if regression.parameters == 0:
        return True
    half = trial.residuals * (trial.magnitudes <= trial.median)
    white = factor.whitener @ (regression.columns @ half)
    length = np.array([2.0 * white @ white])
    return bool(limits.half_statistic(length, np.array([trial.median]))[0] <= limits.half[0])
