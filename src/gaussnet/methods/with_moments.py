"""A method together with the moments of its rows: mean squared residuals without another pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import WELL_CONDITIONED
from gaussnet.methods.base import Equations, Estimator, Solution, Stripe
from gaussnet.methods.cauchy import Cauchy
from gaussnet.methods.least_squares import Moments, intercepts
from gaussnet.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class WithMoments:
    r"""Finds coefficients by another method, and the mean squares of their residuals as well.

    With S the cross-products of a family's columns and :math:`c = (-a, 1)`,

    .. math:: \sum_k r_k^2 = c' S c.

    Where that sum is a millionth or less of the sum of its terms' sizes, digits are lost: the
    mean square is NaN, and is to be found from the residuals themselves.
    """

    inner: Estimator

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.inner.name

    def summarize(self, stripe: Stripe, equations: Equations) -> tuple[Any, Moments]:
        """The method's summary and the moments."""
        own = self.inner.summarize(stripe, equations)
        if isinstance(self.inner, Cauchy):  # its summary begins with them
            return own[1], own[0]
        return own, Moments.of(stripe, equations)

    def merge(self, left: tuple[Any, Moments], right: tuple[Any, Moments]) -> tuple[Any, Moments]:
        """Both of both."""
        moments = left[1].merge(right[1])
        if isinstance(self.inner, Cauchy):
            return left[0].merge(right[0]), moments
        return self.inner.merge(left[0], right[0]), moments

    def solve(self, summary: tuple[Any, Moments], equations: Equations) -> Solution:
        """The method's solution, with intercepts and mean squares."""
        own, moments = summary
        found = (moments, own) if isinstance(self.inner, Cauchy) else own
        return with_mean_squares(self.inner.solve(found, equations), moments)

    def careful(self) -> "WithMoments":
        """The same with the careful twin of the method."""
        return WithMoments(self.inner.careful())

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """As the method needs."""
        return self.inner.rows_needed(parents, intercept)

    def kept_values(self, parents: IntArray) -> FloatArray:
        """As the method keeps."""
        return self.inner.kept_values(parents)


def with_mean_squares(solution: Solution, moments: Moments) -> Solution:
    """The solution with intercepts and mean squares; NaN where moments lose the digits."""
    families = moments.families
    signed = np.ones(len(families.columns))
    is_parent = np.ones(len(families.columns), dtype=bool)
    is_parent[families.column_offsets[1:] - 1] = False
    signed[is_parent] = -solution.coefficients
    squares = _quadratic(families, moments.products, signed) / moments.rows
    constants = intercepts(families, moments.means, solution.coefficients)
    return solution.with_spread(constants, squares)


def _quadratic(families: Families, products: FloatArray, signed: FloatArray) -> FloatArray:
    """The forms c' S c, (families,); NaN where they are small beside their terms."""
    row, column = families.product_columns
    with np.errstate(over="ignore", invalid="ignore"):
        terms = products * signed[row] * signed[column] * np.where(row == column, 1.0, 2.0)
        sums, sizes = (
            np.bincount(families.family_of_product, values, minlength=len(families))
            for values in (terms, np.abs(terms))
        )
        return np.where(sums >= WELL_CONDITIONED * sizes, sums, np.nan)
