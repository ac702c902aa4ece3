"""Least squares whose noise may have another variance in every row: HC3."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from gaussnet.fitting.phases import Work, fold
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.uncertainty.regressions import Regressions
from gaussnet.fitting.uncertainty.slopes import Slopes, correlations, student
from gaussnet.kernels.numpy_core import SCRATCH_VALUES
from gaussnet.methods.base import Equations, Stripe
from gaussnet.types import FloatArray, IntArray, Rows


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
    portion: Portion, found: list[Regressions], work: Work, level: float
) -> list[Heteroscedastic]:
    r"""HC3: :math:`B \left(\sum_k \frac{e_k^2}{(1 - h_k)^2} z_k z_k'\right) B`, size by size.

    z is the row of the design, h its leverage, e its residual, B the inverse of the design's
    cross-products. NaN where a leverage is 1: that row alone decides a coefficient.
    """
    summarize = partial(_summarize, equations=portion.equations, found=found)
    sums: list[Sandwich] = fold(portion.pages, summarize, _merge, work.threads)
    return [_settle(own, part, level) for own, part in zip(found, sums, strict=True)]


def _settle(found: Regressions, sums: Sandwich, level: float) -> Heteroscedastic:
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
        found.whitening,
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


def _summarize(stripe: Stripe, equations: Equations, found: list[Regressions]) -> list[Sandwich]:
    sums = []
    for own, (size, _, columns) in zip(found, equations.families.by_size, strict=True):
        step = max(1, SCRATCH_VALUES // max(len(stripe.rows) * (size + 1), 1))
        whitening = own.whitening
        parts = [
            _products(stripe.rows, own, whitening, columns, slice(first, first + step))
            for first in range(0, len(columns), step)
        ]
        sums.append(Sandwich(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))))
    return sums


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


def _merge(left: list[Sandwich], right: list[Sandwich]) -> list[Sandwich]:
    return [one.merge(other) for one, other in zip(left, right, strict=True)]
