"""Least squares of one child on its parents, over changing sets of rows.

Trimming asks for least squares over many sets of rows of the same regression. Each is found in a
step from the trial before: the residuals of the trial are regressed on the columns, and the step is
added. A step from cross-products with few digits to spare is mended by the next."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussnet.kernels.numpy_medians import row_medians
from gaussnet.methods.mad import NORMAL_MAD
from gaussnet.methods.moments import ROUNDING
from gaussnet.types import BoolArray, FloatArray

REFINABLE = 1e-10
"""Smallest pivot of scaled cross-products from which repeated steps still converge."""

PRECISE = 1e-4
"""With pivots and residuals above this share of their columns, one step has all digits."""

CANCELLED = 1e-4
"""Cross-products that shrink below this share when rows are taken out are summed afresh."""


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """What the parents and the child are centred at; without an intercept, nothing."""

    centres: FloatArray
    reference: float
    """Of the child."""
    intercept: bool

    def columns(self, parents: FloatArray) -> FloatArray:
        """The columns of the regression, a constant first if wanted, from (parents, rows)."""
        if not self.intercept:
            return parents
        out = np.empty((len(parents) + 1, parents.shape[1]))
        out[0] = 1.0
        np.subtract(parents, self.centres[:, None], out=out[1:])
        return out

    def equation(self, fitted: FloatArray) -> tuple[FloatArray, float]:
        """Coefficients of the parents and intercept, from those of the columns."""
        if not self.intercept:
            return fitted, 0.0
        return fitted[1:], float(self.reference + fitted[0] - fitted[1:] @ self.centres)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    r"""The cross-products of some rows, factored: with columns Z, ``(Z Z')^-1 = W' W``."""

    whitener: FloatArray
    """W, (rank, columns); the rank is the number of columns that add something to the others."""
    basis: FloatArray | None = None
    """``W Z``, (rank, kept rows), where cross-products do not have the digits to do without."""
    pivot: float = 1.0
    """Smallest pivot of the cross-products scaled to unit diagonal."""

    def leverages(self, columns: FloatArray) -> FloatArray:
        """``x' (Z Z')^-1 x`` of each column x of (columns, rows)."""
        white = self.whitener @ columns
        return np.asarray(np.einsum("ij,ij->j", white, white))

    def step(
        self, columns: FloatArray, residuals: FloatArray, kept: BoolArray | None
    ) -> FloatArray:
        """Least squares of the kept residuals on the columns: (p, rows), (rows,) -> (p,)."""
        if self.basis is None:
            own = residuals if kept is None else residuals * kept
            return np.asarray(self.whitener.T @ (self.whitener @ (columns @ own)))
        own = residuals if kept is None else residuals[kept]
        return np.asarray(self.whitener.T @ (self.basis @ own))


@dataclass(frozen=True, eq=False)
class Trial:
    """Coefficients and the residuals that they leave."""

    coefficients: FloatArray
    residuals: FloatArray

    @cached_property
    def magnitudes(self) -> FloatArray:
        """Absolute residuals."""
        return np.abs(self.residuals)

    @cached_property
    def median(self) -> float:
        """Median of the absolute residuals."""
        return median(self.magnitudes)

    @cached_property
    def squares(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


@dataclass(frozen=True, eq=False)
class Regression:
    """A child and its columns, parents and perhaps a constant, over k rows."""

    columns: FloatArray
    """(p, rows)"""
    child: FloatArray
    """(rows,)"""
    smallest_scale: float = 0.0
    """Below this a residual scale is rounding error."""

    @property
    def rows(self) -> int:
        """Number of rows, k."""
        return len(self.child)

    @property
    def parameters(self) -> int:
        """Number of coefficients, the constant among them, p."""
        return len(self.columns)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals, k - p, at least 1."""
        return max(self.rows - self.parameters, 1)

    @property
    def studentised_freedom(self) -> int:
        """Degrees of freedom of one residual over the scale of the others, at least 2."""
        return max(self.freedom - 1, 2)

    @cached_property
    def products(self) -> FloatArray:
        """Cross-products of the columns over all rows, (p, p)."""
        return np.asarray(self.columns @ self.columns.T)

    def trial(self, coefficients: FloatArray) -> Trial:
        """The residuals that these coefficients leave."""
        if self.parameters == 0:
            return Trial(coefficients, self.child)
        return Trial(coefficients, self.child - coefficients @ self.columns)

    def factor(self, kept: BoolArray | None = None) -> Factor:
        """The factor of the kept rows."""
        if self.parameters == 0:
            return Factor(np.zeros((0, 0)))
        products = self.products if kept is None else self._products_of(kept)
        found = factor_products(products)
        return factor_columns(self.columns, kept) if found is None else found

    def refit(self, trial: Trial, factor: Factor, kept: BoolArray | None = None) -> Trial:
        """Least squares over the kept rows, in one step from a trial."""
        if self.parameters == 0:
            return trial
        step = factor.step(self.columns, trial.residuals, kept)
        return self.trial(trial.coefficients + step)

    def least_squares(self, factor: Factor, kept: BoolArray | None = None) -> Trial:
        """Least squares over the kept rows, to all digits."""
        start = Trial(np.zeros(self.parameters), self.child)
        trial = self.refit(start, factor, kept)
        precise = factor.pivot > PRECISE and trial.squares > PRECISE * start.squares
        return trial if precise else self.refit(trial, factor, kept)

    def median_scale(self, trial: Trial) -> float:
        """Scale of the noise by the median of the absolute residuals."""
        found = NORMAL_MAD * trial.median * math.sqrt(self.rows / self.freedom)
        return max(found, self.smallest_scale)

    def least_squares_scale(self, trial: Trial) -> float:
        """Scale of the noise by the squares of all residuals."""
        return max(math.sqrt(trial.squares / self.freedom), self.smallest_scale)

    def _products_of(self, kept: BoolArray) -> FloatArray:
        """Cross-products of the kept rows: those of all rows less those of the others."""
        others = np.flatnonzero(~kept)
        if 2 * len(others) <= self.rows:
            out = self.columns.take(others, axis=1)
            products = self.products - out @ out.T
            if np.all(products.diagonal() > CANCELLED * self.products.diagonal()):
                return np.asarray(products)
        own = self.columns[:, kept]
        return np.asarray(own @ own.T)


def factor_products(products: FloatArray) -> Factor | None:
    """The factor of cross-products by Cholesky; None if they do not have the digits for it."""
    from scipy.linalg.lapack import dpotrf, dtrtri  # slow to import

    scales = np.sqrt(products.diagonal())
    if not scales.min() > 0.0 or not scales.max() < np.inf:
        return None
    lower, failed = dpotrf(products / scales / scales[:, None], lower=1, clean=1)
    if failed or not lower.diagonal().min() ** 2 > REFINABLE:
        return None
    inverse, _ = dtrtri(lower, lower=1)
    return Factor(np.asarray(inverse / scales), pivot=float(lower.diagonal().min() ** 2))


def factor_columns(columns: FloatArray, kept: BoolArray | None) -> Factor:
    """The factor by an orthonormal basis; columns that add nothing to the others are dropped."""
    own = columns if kept is None else columns[:, kept]
    lengths = np.linalg.norm(own, axis=1)
    scales = np.where(lengths > 0.0, lengths, 1.0)
    basis, upper = np.linalg.qr((own / scales[:, None]).T)
    left, values, right = np.linalg.svd(upper)
    rank = int(np.count_nonzero(values > ROUNDING * len(columns) * values[:1].sum()))
    whitener = right[:rank] / values[:rank, None] / scales
    return Factor(whitener, (basis @ left[:, :rank]).T, pivot=0.0)


def median(values: FloatArray) -> float:
    """The median of (count,)."""
    return float(row_medians(values[None])[0][0])
