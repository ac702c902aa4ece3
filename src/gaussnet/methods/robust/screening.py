"""Three cheap checks that least squares over all rows needs no trimming.

Clean residuals pass if (1) their mean square is not larger than their median says, (2) the half
of the rows with the smallest residuals asks for no other coefficients, and (3) the gate finds no
residual too large for its place in the sample."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import merge_in_order, thread_map
from gaussnet.methods.base import Equations, Estimator, Solution, Stripe, cut_stripes
from gaussnet.methods.least_squares import LeastSquares, Moments
from gaussnet.methods.robust.normal import (
    chi_square_points,
    tail_chance,
    truncated_variance,
    two_sided_point,
    two_sided_points,
)
from gaussnet.methods.robust.regression import Regression, Trial
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import NORMAL_MAD
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

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


class AllRows(NamedTuple):
    """Least squares over all rows, and which families look clean, (families,)."""

    solution: Solution
    clean: BoolArray


def learn_all_rows(
    x: Rows,
    equations: Equations,
    settings: SequentialTrim,
    threads: int,
) -> AllRows:
    """Least squares of every family over all rows, and whether it passes the checks."""
    columns: FloatArray = kernels.whole_columns(x)
    moments, solution = _least_squares(columns, equations, threads)
    few = len(x) < equations.families.sizes + equations.intercept + SPARE_ROWS
    if few.all():
        return AllRows(solution, few)
    verdicts = _verdicts(columns, equations, (moments, solution), settings, threads)
    unknown = np.flatnonzero(np.isnan(verdicts))
    if len(unknown):
        screen = Screen(columns, equations, moments.means, solution).only(unknown)
        verdicts[unknown] = screen.passed(settings, threads)
    return AllRows(solution, few | (verdicts == 1.0))


def _verdicts(
    columns: FloatArray,
    equations: Equations,
    learnt: tuple[Moments, Solution],
    settings: SequentialTrim,
    threads: int,
) -> FloatArray:
    """1 for families that pass the checks, 0 for those that fail, NaN for want of digits."""
    families, (moments, solution) = equations.families, learnt
    limits = Limits.each(len(columns), families.sizes + equations.intercept, settings)
    assert solution.mean_squares is not None
    assert solution.intercepts is not None
    fitted = (solution.coefficients, solution.intercepts, solution.mean_squares * len(columns))

    def look(part: tuple[int, int]) -> FloatArray:
        own = (part, equations.intercept, limits.spread, settings.gate_level)
        screen = kernels.Screen(*own, *fitted, limits.half, moments.means)
        return np.asarray(kernels.screen_families(columns, families, screen))

    edges = [len(families) * worker // threads for worker in range(threads + 1)]
    return np.concatenate(list(thread_map(look, list(pairwise(edges)), threads)))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _least_squares(x: Rows, equations: Equations, threads: int) -> tuple[Moments, Solution]:
    """Moments and least squares; families that lost digits are learnt again with care."""

    def summary(estimator: Estimator, equations: Equations) -> Any:
        summarize = partial(estimator.summarize, equations=equations)
        return merge_in_order(thread_map(summarize, cut_stripes(x), threads), estimator.merge)

    estimator = LeastSquares()
    moments = summary(estimator, equations)
    solution = estimator.solve(moments, equations)
    doubtful = _finite(equations.families, moments, solution)
    if len(doubtful) == 0:
        return moments, solution
    careful = estimator.careful()
    part = Equations(equations.families.subset(doubtful), equations.intercept)
    again = careful.solve(summary(careful, part), part)
    return moments, solution.patched(equations.families, doubtful, again)


def _finite(families: Families, moments: Moments, solution: Solution) -> IntArray:
    """The doubtful families whose cross-products did not overflow: the others fail the checks."""
    if solution.doubtful is None:
        return np.empty(0, dtype=np.int64)
    largest = np.maximum.reduceat(np.abs(moments.products), families.product_offsets[:-1])
    return np.asarray(solution.doubtful[np.isfinite(largest[solution.doubtful])])


# The three checks for all families at once: on clean data, all that robustness costs.
#
# The data are read twice more. First residuals give, family by family, their median and whether
# the gate stays shut; then, tile of rows by tile, the moments of the half with the smallest
# residuals. Nothing here loops over families.

PART_VALUES = 1 << 16
"""Values of a tile, and residuals that are looked at together at least."""

PARTS = 4
"""Families are looked at in so many parts, or fewer: each reads all the data."""

SMALLEST_TILE = 256
"""Rows of a tile, at least."""

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""Values that overflow only make a check fail."""


class HalfMoments(NamedTuple):
    """Counts (families,), sums (columns,) and packed cross-products (products,) over half rows."""

    counts: IntArray
    sums: FloatArray
    products: FloatArray


class Screen(NamedTuple):
    """Families sorted by size, with their least squares over all rows."""

    x: Rows
    equations: Equations
    means: FloatArray
    """Of the columns of each family, (columns,)."""
    solution: Solution

    def only(self, chosen: IntArray) -> "Screen":
        """The chosen families."""
        families = self.equations.families
        part = families.subset(chosen)
        slots = np.repeat(
            families.column_offsets[chosen] - part.column_offsets[:-1], part.sizes + 1
        )
        assert self.solution.mean_squares is not None
        assert self.solution.intercepts is not None
        solution = replace(
            self.solution,
            coefficients=self.solution.coefficients[families.edges_of(chosen)],
            intercepts=self.solution.intercepts[chosen],
            mean_squares=self.solution.mean_squares[chosen],
        )
        means = self.means[slots]
        return Screen(self.x, Equations(part, self.equations.intercept), means, solution)

    @quiet
    def passed(self, settings: SequentialTrim, threads: int) -> BoolArray:
        """Whether the residuals of each family pass the three checks, (families,)."""
        families = self.equations.families
        parameters = families.sizes + self.equations.intercept
        limits = Limits.each(len(self.x), parameters, settings)
        most = max(PART_VALUES, self.x.size // PARTS)
        step = max(1, most // len(self.x))
        parts = [slice(at, min(at + step, len(families))) for at in range(0, len(families), step)]
        workers = min(threads, len(parts))
        look = partial(self._look, limits, settings.gate_level)
        looks = thread_map(look, [parts[worker::workers] for worker in range(workers)], threads)
        medians, passed = np.zeros(len(families)), np.ones(len(families), dtype=bool)
        for found in looks:
            for part, own_medians, own_passed in found:
                medians[part], passed[part] = own_medians, own_passed
        half = limits.half_statistic(self._half_lengths(medians, threads), medians)
        return np.asarray(passed & (half <= limits.half) & (medians > 0.0))

    @quiet
    def _look(
        self, limits: Limits, level: float, parts: list[slice]
    ) -> list[tuple[slice, FloatArray, BoolArray]]:
        """Medians of absolute residuals, and whether the first and last check are passed."""
        assert self.solution.mean_squares is not None
        found = []
        space = np.empty(max(part.stop - part.start for part in parts) * len(self.x))
        for part in parts:
            size = (part.stop - part.start, len(self.x))
            magnitudes = space[: size[0] * size[1]].reshape(size)
            self._fill(magnitudes, part)
            medians, _ = kernels.row_medians(magnitudes)
            own = limits.only(part)
            squares = self.solution.mean_squares[part] * len(self.x)
            passed = own.is_narrow(squares, own.median_scales(medians))
            passed &= gate_is_shut(magnitudes, squares, medians, own, level)
            found.append((part, medians, passed))
        return found

    def _fill(self, magnitudes: FloatArray, part: slice) -> None:
        """Write the absolute residuals of some families."""
        whole = self.equations.families
        numbers = np.arange(part.start, part.stop)
        families = whole.subset(numbers)
        coefficients = self.solution.coefficients[whole.edges_of(numbers)]
        height = max(SMALLEST_TILE, PART_VALUES // len(families))
        for first in range(0, len(self.x), height):
            rows = slice(first, first + height)
            residuals = kernels.residuals(self.x[rows], families, coefficients)
            if self.equations.intercept and self.solution.intercepts is not None:
                residuals -= self.solution.intercepts[part][:, None]
            np.abs(residuals, out=magnitudes[:, rows])

    def _half_lengths(self, medians: FloatArray, threads: int) -> FloatArray:
        """What least squares over the half with the smallest residuals explains of these."""
        families = self.equations.families
        moments = partial(self._half_moments, medians)
        found = thread_map(moments, cut_stripes(self.x), threads)
        counts, sums, products = (sum(part) for part in zip(*found, strict=True))
        squares = products[families.product_offsets[1:] - 1]
        if self.equations.intercept:
            row, column = families.product_columns
            products = products - sums[row] * sums[column] / counts[families.family_of_product]
        _, rest, _ = kernels.solve_moments(families, products)
        return np.asarray(squares - rest)

    def _half_moments(self, medians: FloatArray, stripe: Stripe) -> HalfMoments:
        families = self.equations.families
        means = np.zeros(self.x.shape[1])
        means[families.columns] = self.means
        constants = np.zeros(len(families))
        if self.equations.intercept and self.solution.intercepts is not None:
            constants = self.solution.intercepts
        fitted = (self.solution.coefficients, constants, means)
        return half_moments(stripe.rows, families, fitted, medians)


@quiet
def half_moments(
    x: Rows,
    families: Families,
    fitted: tuple[FloatArray, FloatArray, FloatArray],
    medians: FloatArray,
) -> HalfMoments:
    """Moments of parents and residual of each family over the rows with small residuals.

    `fitted` are coefficients (edges,), intercepts (families,) and means (columns,), which the
    parents are taken about; small are residuals up to `medians` (families,).
    """
    coefficients, intercepts, means = fitted
    counts = np.zeros(len(families), dtype=np.int64)
    sums = np.zeros(len(families.columns))
    products = np.zeros(int(families.product_offsets[-1]))
    height = min(max(SMALLEST_TILE, PART_VALUES // max(x.shape[1], 1)), len(x))
    space = np.empty((x.shape[1], height))
    for first in range(0, len(x), height):
        tile = x[first : first + height]
        residuals = kernels.residuals(tile, families, coefficients)
        residuals -= intercepts[:, None]
        small = np.abs(residuals) <= medians[:, None]
        counts += np.count_nonzero(small, axis=1)
        columns = np.subtract(tile.T, means[:, None], out=space[:, : len(tile)])
        _add_moments(families, columns, residuals, small, (sums, products))
    return HalfMoments(counts, sums, products)


def _add_moments(
    families: Families,
    columns: FloatArray,
    residuals: FloatArray,
    small: BoolArray,
    totals: tuple[FloatArray, FloatArray],
) -> None:
    """Add the moments of a tile, size by size, to sums (columns,) and products (products,)."""
    sums, products = totals
    for size, chosen, members in families.by_size:
        first, last = int(chosen[0]), int(chosen[-1]) + 1
        own = np.empty((last - first, size + 1, columns.shape[1]))
        own[:, :size] = columns[members[:, :size]]
        own[:, size] = residuals[first:last]
        own *= small[first:last, None]
        lower = np.tril_indices(size + 1)
        span = slice(*families.column_offsets[[first, last]].tolist())
        sums[span] += own.sum(axis=2).ravel()
        span = slice(*families.product_offsets[[first, last]].tolist())
        products[span] += (own @ own.transpose(0, 2, 1))[:, lower[0], lower[1]].ravel()
