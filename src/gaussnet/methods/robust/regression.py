"""Least squares over the rows that are kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from gaussnet import kernels
from gaussnet.errors import EstimationError
from gaussnet.kernels.numpy_robust import MISSING
from gaussnet.methods.least_squares import ROUNDING
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.scales import NORMAL_MAD
from gaussnet.types import BoolArray, FloatArray, IntArray

ROUNDING_LEVEL = 4 * np.finfo(np.float64).eps
"""What is smaller than this, beside the child's values, is rounding error."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where the columns of a regression are centred; a constant comes first if wanted."""

    centres: FloatArray
    reference: float
    intercept: bool

    def columns(self, parents: FloatArray) -> FloatArray:
        """The columns of the regression from those of the parents, (p, rows)."""
        if not self.intercept:
            return parents
        out = np.empty((len(parents) + 1, parents.shape[1]))
        out[0] = 1.0
        np.subtract(parents, self.centres[:, None], out=out[1:])
        return out

    def equation(self, found: FloatArray) -> tuple[FloatArray, float]:
        """Coefficients and intercept of the node."""
        if not self.intercept:
            return found, 0.0
        return found[1:], float(self.reference + found[0] - found[1:] @ self.centres)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node, its parents, and what is known of their cells."""

    columns: FloatArray
    """All data, (rows, nodes), each column without gaps."""
    number: int
    parents: IntArray
    above: Sequence[SuspiciousCells | None]
    """Suspicious cells of each parent."""
    missing: IntArray
    """Rows in which the node's own cell is missing, or cannot belong to its column."""
    intercept: bool
    discrete: bool = False
    """Whether its column has few values, so that residuals do not tell what is wrong."""

    def sound_rows(self) -> BoolArray:
        """The rows to learn from: those without a suspicious parent, if these are enough."""
        sound = np.ones(len(self.columns), dtype=bool)
        sound[self.missing] = False
        for cells in self.above:
            if cells is not None:
                sound[cells.rows] = False
        size = len(self.parents) + self.intercept
        if np.count_nonzero(sound) >= max(3 * size, size + 10):
            return sound
        sound[:] = True
        sound[self.missing] = False
        for cells in self.above:
            if cells is not None:
                sound[cells.rows[cells.statuses == MISSING]] = False
        if not sound.any():
            raise EstimationError(
                f"column {self.number} has no row in which neither it nor a parent is missing: "
                "leave the node out of the graph or give more rows"
            )
        return sound

    def recorded(self, rows: IntArray) -> FloatArray:
        """The parents as recorded in some rows, (parents, rows)."""
        found = np.empty((len(self.parents), len(rows)))
        for place, parent in enumerate(self.parents.tolist()):
            np.take(self.columns[:, parent], rows, out=found[place])
        return found

    def frame(self, rows: IntArray) -> Frame:
        """Parents centred at their means over some rows, the child at its median."""
        if not self.intercept:
            return Frame(np.zeros(len(self.parents)), 0.0, False)
        reference = median(self.columns[rows, self.number])
        return Frame(self.recorded(rows).mean(axis=1), reference, True)

    def regression(self, rows: IntArray, frame: Frame) -> "Regression":
        """The regression over some rows."""
        child = self.columns[rows, self.number] - frame.reference
        typical = median(np.abs(child))
        rounding = float(ROUNDING_LEVEL * (typical + abs(frame.reference)))
        smallest = max(rounding, float(np.finfo(np.float64).tiny))
        return Regression(frame.columns(self.recorded(rows)), child, typical, smallest)


def missing_rows(columns: FloatArray) -> dict[int, IntArray]:
    """The rows of the missing cells, for the columns that have any."""
    if kernels.all_finite(columns):
        return {}
    holed = np.flatnonzero(np.isnan(columns).any(axis=0))
    return {column: np.flatnonzero(np.isnan(columns[:, column])) for column in holed.tolist()}


# Least squares of one child on its parents, over changing sets of rows.
#
# Coefficients are found in steps: the residuals of a trial are regressed on the columns, and the
# step is added. A step found from cross-products with few digits to spare is mended by the next.

REFINABLE = 1e-10
"""Smallest pivot of scaled cross-products from which repeated steps still converge."""

PRECISE = 1e-4
"""With pivots and residuals above this share of their columns, one step has all digits."""

CANCELLED = 1e-4
"""Cross-products that shrink below this share when rows are taken out are summed afresh."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    r"""The cross-products of some rows, factored: with columns Z, ``(Z Z')^-1 = W' W``."""

    whitener: FloatArray
    """W, (rank, columns)."""
    basis: FloatArray | None = None
    """``W Z``, (rank, kept rows), where cross-products do not have the digits to do without."""
    pivot: float = 1.0
    """Smallest pivot of the cross-products scaled to unit diagonal."""

    @property
    def rank(self) -> int:
        """Number of columns that add something to the others."""
        return len(self.whitener)

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
    """Coefficients and what they leave of the child."""

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
    """A child and its columns, parents and perhaps a constant, over the rows to be judged."""

    columns: FloatArray
    """(p, rows)"""
    child: FloatArray
    """(rows,)"""
    typical: float
    """Median absolute value of the child."""
    smallest_scale: float
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
        """k - p, at least 1."""
        return max(self.rows - self.parameters, 1)

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
        """Least squares over the kept rows, from a trial that is on its way there."""
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
    return float(kernels.row_medians(values.copy()[None])[0][0])
