"""The three checks for all families at once: on clean data, all that robustness costs.

The data are read twice more. First residuals give, family by family, their median and whether
the gate stays shut; then, tile of rows by tile, the gradients of the half with the smallest
residuals. Nothing here loops over families.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, Rows
from gaussnet.estimate.equations import Equations, Stripe, cut_stripes
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.robust.checks import Limits, gate_is_shut
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Solution
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import thread_map

PART_VALUES = 1 << 16
"""Residuals that are looked at together, unless one family has more."""

SMALLEST_TILE = 256
"""Rows of a tile, at least."""

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""Values that overflow only make a check fail."""


class HalfProducts(NamedTuple):
    """Sums over the half of the rows with the smallest residuals."""

    gradients: FloatArray
    sums: FloatArray
    squares: FloatArray


class Screen(NamedTuple):
    """Families sorted by size, with their least squares over all rows."""

    x: Rows
    equations: Equations
    moments: Moments
    solution: Solution

    @quiet
    def passed(self, settings: SequentialTrim, threads: int) -> BoolArray:
        """Whether the residuals of each family pass the three checks, (families,)."""
        families = self.equations.families
        parameters = families.sizes + self.equations.intercept
        limits = Limits.each(len(self.x), parameters, settings)
        step = max(1, PART_VALUES // len(self.x))
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
        """``g' (Z_T Z_T')^-1 g`` with ``g = Z r_T`` and ``Z_T Z_T'`` put as ``Z Z' / 2``.

        T are the rows with the smallest residuals, half of all.
        """
        families = self.equations.families
        found = thread_map(partial(self._half_products, medians), cut_stripes(self.x), threads)
        gradients, sums, squares = (sum(part) for part in zip(*found, strict=True))
        products = 0.5 * self.moments.products
        ends = families.product_offsets[1:]
        slots = np.arange(len(families.parents)) - families.offsets[families.family_of_edge]
        products[(ends - families.sizes - 1)[families.family_of_edge] + slots] = gradients
        products[ends - 1] = squares
        steps, _, _ = kernels.solve_moments(families, products)
        lengths = np.zeros(len(families))
        np.add.at(lengths, families.family_of_edge, steps * gradients)
        if self.equations.intercept:
            lengths += sums**2 / (0.5 * len(self.x))
        return lengths

    def _half_products(self, medians: FloatArray, stripe: Stripe) -> HalfProducts:
        families = self.equations.families
        means = np.zeros(self.x.shape[1])
        means[families.columns] = self.moments.means
        constants = np.zeros(len(families))
        if self.equations.intercept and self.solution.intercepts is not None:
            constants = self.solution.intercepts
        fitted = (self.solution.coefficients, constants, means)
        return half_products(stripe.rows, families, fitted, medians)


@quiet
def half_products(
    x: Rows,
    families: Families,
    fitted: tuple[FloatArray, FloatArray, FloatArray],
    medians: FloatArray,
) -> HalfProducts:
    """Products of small residuals with the parents, less their means, and with themselves.

    `fitted` are coefficients (edges,), intercepts (families,) and means (columns,); residuals
    beyond `medians` (families,) count as 0. Gives the products with each parent (edges,), and
    sums and sums of squares of the residuals (families,).
    """
    coefficients, intercepts, means = fitted
    gradients = np.zeros(len(families.parents))
    sums, squares = np.zeros(len(families)), np.zeros(len(families))
    height = min(max(SMALLEST_TILE, PART_VALUES // max(x.shape[1], 1)), len(x))
    space = np.empty((x.shape[1], height))
    for first in range(0, len(x), height):
        tile = x[first : first + height]
        half = kernels.residuals(tile, families, coefficients)
        half -= intercepts[:, None]
        half *= np.abs(half) <= medians[:, None]
        columns = np.subtract(tile.T, means[:, None], out=space[:, : len(tile)])
        gradients += parent_products(columns, families, half)
        sums += half.sum(axis=1)
        squares += np.einsum("fk,fk->f", half, half)
    return HalfProducts(gradients, sums, squares)


def parent_products(columns: FloatArray, families: Families, values: FloatArray) -> FloatArray:
    """Products of each parent's column with values of the child: (edges,).

    `columns` are (columns, rows), `values` (families, rows).
    """
    products = np.empty(len(families.parents))
    for size, chosen, members in families.by_size:
        if size:
            own = slice(int(chosen[0]), int(chosen[-1]) + 1)
            edges = slice(*families.offsets[[own.start, own.stop]].tolist())
            products[edges] = (columns[members[:, :size]] @ values[own, :, None]).ravel()
    return products
