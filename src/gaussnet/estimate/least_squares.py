"""Ordinary least squares on all rows."""

from dataclasses import dataclass

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.equations import Equations, Stripe
from gaussnet.estimate.factors import Factors
from gaussnet.estimate.moments import Moments, intercepts
from gaussnet.estimate.solution import Solution, no_batches
from gaussnet.kernels.plain import WELL_CONDITIONED


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Ordinary least squares of each node on its parents.

    Works from cross-products of each family, scaled to unit diagonal; a family whose parents
    are nearly collinear, or whose residual is tiny beside the child, is learnt again from a QR
    factor, which keeps all digits. Parents that are exactly collinear get the solution of
    least norm.
    """

    name = "least-squares"

    def summarize(self, stripe: Stripe, equations: Equations) -> Moments:
        """Means and cross-products of the stripe."""
        return Moments.of(stripe, equations)

    def merge(self, left: Moments, right: Moments) -> Moments:
        """Moments of both."""
        return left.merge(right)

    def solve(self, summary: Moments, equations: Equations) -> Solution:
        """Coefficients, intercepts and mean squared residuals; marks doubtful families."""
        families = equations.families
        coefficients, squares, pivots = kernels.solve_moments(families, summary.products)
        doubtful = (families.sizes > 0) & ~(pivots >= WELL_CONDITIONED)
        return Solution(
            coefficients,
            ranks=families.sizes,
            batches=no_batches(equations),
            singular=no_batches(equations),
            intercepts=intercepts(families, summary.means, coefficients),
            mean_squares=squares / summary.rows,
            doubtful=np.flatnonzero(doubtful),
        )

    def careful(self) -> "CarefulLeastSquares":
        """Least squares by QR."""
        return CarefulLeastSquares()

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """One row is enough: what is not determined gets the solution of least norm."""
        return 1

    def kept_values(self, parents: IntArray) -> FloatArray:
        """None: the summary does not grow with the rows."""
        return np.zeros(len(parents))


@dataclass(frozen=True, slots=True)
class CarefulLeastSquares:
    """Least squares from QR factors: for nearly or exactly collinear parents."""

    name = "least-squares"

    def summarize(self, stripe: Stripe, equations: Equations) -> Factors:
        """Triangular factors of the stripe."""
        return Factors.of(stripe, equations)

    def merge(self, left: Factors, right: Factors) -> Factors:
        """Factors of both."""
        return left.merge(right)

    def solve(self, summary: Factors, equations: Equations) -> Solution:
        """Coefficients, intercepts, mean squared residuals and ranks."""
        families = equations.families
        coefficients = np.empty(len(families.parents))
        squares = np.empty(len(families))
        ranks = np.empty(len(families), dtype=np.int64)
        for family in range(len(families)):
            edges = slice(*families.offsets[family : family + 2].tolist())
            coefficients[edges], squares[family], ranks[family] = summary.regress(family)
        return Solution(
            coefficients,
            ranks=ranks,
            batches=no_batches(equations),
            singular=no_batches(equations),
            intercepts=intercepts(families, summary.means, coefficients),
            mean_squares=squares / summary.rows,
        )

    def careful(self) -> "CarefulLeastSquares":
        """Itself."""
        return self

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """One row is enough."""
        return 1

    def kept_values(self, parents: IntArray) -> FloatArray:
        """None: the summary does not grow with the rows."""
        return np.zeros(len(parents))
