"""Least squares of every family with all that its errors need, and errors by HC3."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import ask
from gaussnet.kernels.families import Block
from gaussnet.kernels.numpy_core import SCRATCH_VALUES
from gaussnet.methods.base import EquationGroup, Equations, Solution
from gaussnet.methods.least_squares import LeastSquaresPass
from gaussnet.methods.moments import Moments
from gaussnet.methods.standard_errors import Slopes, correlations, student
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

NO_PART = 1e-6
"""A parent with a smaller part in what is collinear has its own coefficient determined."""


@dataclass(frozen=True)
class Regressions:
    """Least squares of the families with p parents."""

    block: Block
    rows: int
    coefficients: FloatArray
    """(families, p)."""
    means: FloatArray
    """Means of the parents and the child, 0 without an intercept, (families, p + 1)."""
    upper: FloatArray
    """Upper triangular T with T'T the parents' cross-products, (families, p, p)."""
    squares: FloatArray
    """Residual sums of squares, (families,)."""
    ranks: IntArray
    freedom: FloatArray
    """Rows minus rank, minus 1 with an intercept, (families,); NaN if none is left."""

    @cached_property
    def whitening(self) -> FloatArray:
        """Inverse of T, (families, p, p), by which the parents become orthonormal columns.

        Of collinear parents as many columns as their rank, and then zeros.
        """
        deficient = self.ranks < self.block.size
        regular = np.where(deficient[:, None, None], np.eye(self.block.size), self.upper)
        found = np.linalg.inv(regular)
        for index in np.flatnonzero(deficient).tolist():
            found[index] = self._basis(index)[0]
        return found

    @cached_property
    def transform(self) -> FloatArray:
        """The whitening, with NaN for coefficients that the rows do not determine.

        Beside a constant parent, or two that are copies of each other, the others are determined:
        they have no part in a combination of parents that is constant.
        """
        found = self.whitening.copy()
        for index in np.flatnonzero(self.ranks < self.block.size).tolist():
            found[index, self._basis(index)[1]] = np.nan
        return found

    def _basis(self, index: int) -> tuple[FloatArray, BoolArray]:
        """The whitening of a family with collinear parents, and which of them are collinear."""
        upper, rank = self.upper[index], int(self.ranks[index])
        lengths = np.linalg.norm(upper, axis=0)
        scale = np.where(lengths > 0.0, lengths, 1.0)
        _, values, right = np.linalg.svd(upper / scale)
        found = np.zeros_like(upper)
        found[:, :rank] = (right[:rank] / values[:rank, None]).T / scale[:, None]
        return found, np.asarray(np.abs(right[rank:]).max(axis=0, initial=0.0) > NO_PART)

    @property
    def noise(self) -> FloatArray:
        """Unbiased estimate of the noise variance, (families,)."""
        return self.squares / self.freedom


def regress(group: EquationGroup) -> list[Regressions]:
    """Least squares of all families of a group, size by size, roots first.

    Works as `LeastSquares` does: from cross-products, and from QR factors where these lose
    digits.
    """
    equations = group.equations
    found: list[Regressions] = ask(
        group.table, LeastSquaresPass(equations, partial(_regressions, equations))
    )
    return found


def _regressions(
    equations: Equations, moments: Moments, solution: Solution, uppers: dict[int, FloatArray]
) -> list[Regressions]:
    return [
        _block_regressions(block, moments, solution, uppers, equations.intercept)
        for block in equations.blocks(with_roots=True)
    ]


def _block_regressions(
    block: Block,
    moments: Moments,
    solution: Solution,
    careful: dict[int, FloatArray],
    intercept: bool,
) -> Regressions:
    chosen = block.families
    offsets = moments.families.column_offsets
    columns = slice(int(offsets[chosen.start]), int(offsets[chosen.stop]))
    ranks = solution.ranks[chosen]
    left = (moments.rows - ranks - intercept).astype(np.float64)
    assert solution.mean_squares is not None
    return Regressions(
        block,
        moments.rows,
        solution.coefficients[block.edges].reshape(block.count, block.size),
        moments.means[columns].reshape(block.count, block.size + 1),
        _upper(block, moments, ranks, careful),
        solution.mean_squares[chosen] * moments.rows,
        ranks,
        np.where(left > 0, left, np.nan),
    )


def _upper(
    block: Block, moments: Moments, ranks: IntArray, careful: dict[int, FloatArray]
) -> FloatArray:
    """Cholesky factors of the cross-products at unit diagonal; careful ones where these lost
    digits."""
    products = moments.parent_products(block.size, block.families)
    members = range(block.families.start, block.families.stop)
    special = np.array([family in careful for family in members], dtype=bool)
    products[special | (ranks < block.size)] = np.eye(block.size)
    lengths = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    unit = products / lengths[:, :, None] / lengths[:, None, :]
    upper = np.linalg.cholesky(unit).transpose(0, 2, 1) * lengths[:, None, :]
    for index in np.flatnonzero(special).tolist():
        upper[index] = careful[members[index]]
    return np.asarray(upper, dtype=np.float64)


class Sandwich(NamedTuple):
    """What rows say of the errors of the families of one size."""

    products: FloatArray
    """Sums of squared adjusted residuals times the products of (1, whitened parents),
    (families, p + 1, p + 1)."""
    fourths: FloatArray
    """Sums of fourth powers of the residuals over their scale, (families,)."""

    def merge(self, other: "Sandwich") -> "Sandwich":
        """Sums of both."""
        return Sandwich(self.products + other.products, self.fourths + other.fourths)


@dataclass(frozen=True)
class Heteroscedastic:
    """Errors of least squares by HC3: of the slopes, the mean residual and the variance."""

    slopes: Slopes
    location_error: FloatArray
    """Of the mean residual, (families,)."""
    location_distance: FloatArray
    """Half the width of its interval, (families,)."""
    location_correlation: FloatArray
    """Of the mean residual with the slopes' coordinates, (families, p)."""
    variance_error: FloatArray
    """Of the noise variance relative to itself, from the fourth moment, (families,)."""
    variance_distance: FloatArray
    """Half the width of the interval of its logarithm, (families,)."""


def heteroscedastic(
    group: EquationGroup, found: list[Regressions], level: float
) -> list[Heteroscedastic]:
    r"""HC3: :math:`B \left(\sum_k \frac{e_k^2}{(1 - h_k)^2} z_k z_k'\right) B`, size by size.

    z is the row of the design, h its leverage, e its residual, B the inverse of the design's
    cross-products. NaN where a leverage is 1: that row alone decides a coefficient.
    """
    sums: list[Sandwich] = ask(group.table, SandwichPass(group.equations, found))
    return [_hc3(own, part, level) for own, part in zip(found, sums, strict=True)]


@dataclass(frozen=True)
class SandwichPass(Pass):
    """Asks for the sums that HC3 needs, of regressions that are known."""

    equations: Equations
    found: list[Regressions]

    def summarize(self, stripe: Stripe) -> list[Sandwich]:
        """Sums over a stripe, size by size."""
        sums = []
        for own, (size, _, columns) in zip(
            self.found, self.equations.families.by_size, strict=True
        ):
            step = max(1, SCRATCH_VALUES // max(len(stripe.rows) * (size + 1), 1))
            whitening = own.whitening
            parts = [
                _products(stripe.rows, own, whitening, columns, slice(first, first + step))
                for first in range(0, len(columns), step)
            ]
            sums.append(Sandwich(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))))
        return sums

    def merge(self, left: list[Sandwich], right: list[Sandwich]) -> list[Sandwich]:
        """Sums over both."""
        return [one.merge(other) for one, other in zip(left, right, strict=True)]


def _hc3(found: Regressions, sums: Sandwich, level: float) -> Heteroscedastic:
    covariance = sums.products.copy()
    covariance[:, 0, :] /= found.rows
    covariance[:, :, 0] /= found.rows
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    together = correlations(covariance)
    point = student(level, found.freedom)
    distance = errors * point[:, None]
    slopes = Slopes(
        found.block,
        found.coefficients,
        found.transform,
        errors[:, 1:],
        distance[:, 1:],
        distance[:, 1:],
        together[:, 1:, 1:],
    )
    relative = np.sqrt(np.maximum(sums.fourths / found.rows - 1.0, 0.0) / found.freedom)
    relative[found.squares == 0.0] = 0.0
    return Heteroscedastic(
        slopes, errors[:, 0], distance[:, 0], together[:, 0, 1:], relative, relative * point
    )


def _products(
    rows: Rows, own: Regressions, whitening: FloatArray, columns: IntArray, chosen: slice
) -> Sandwich:
    size = own.block.size
    picked = rows[:, columns[chosen].ravel()].reshape(len(rows), -1, size + 1)
    values = picked.transpose(1, 0, 2) - own.means[chosen, None, :]
    residuals = values[:, :, size] - np.einsum(
        "fkp,fp->fk", values[:, :, :size], own.coefficients[chosen]
    )
    design = np.ones_like(values)
    design[:, :, 1:] = values[:, :, :size] @ whitening[chosen]
    centred = own.rows - own.ranks[chosen] - own.freedom[chosen]
    leverages = np.einsum("fkp,fkp->fk", design[:, :, 1:], design[:, :, 1:])
    left = 1.0 - leverages - (centred / own.rows)[:, None]
    left[left < 1e-10] = np.nan
    weighted = design * (residuals / left)[:, :, None]
    scales = np.sqrt(own.squares[chosen] / own.rows)
    unit = residuals / np.where(scales > 0.0, scales, 1.0)[:, None]
    return Sandwich(weighted.transpose(0, 2, 1) @ weighted, (unit**4).sum(axis=1))
