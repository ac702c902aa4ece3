"""The three checks for all families at once: on clean data, all that robustness costs.

The data are read twice more. First residuals give, family by family, their median and whether
the gate stays shut; then, tile of rows by tile, the moments of the half with the smallest
residuals. Nothing here loops over families.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.estimate.equations import Equations, Stripe, cut_stripes
from gaussnet.estimate.robust.checks import Limits, gate_is_shut
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Solution
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import thread_map

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
