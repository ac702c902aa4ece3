"""Triangular factors of every family: the careful summary, which never squares a condition number.

The columns [parents, child] of a family are factored as Q R; only R is kept. Factors of two
runs of rows merge by factoring them stacked (tall-skinny QR). R holds all of least squares:
``R = [[T, t], [0, r]]`` gives the coefficients ``T^-1 t`` and the residual sum of squares r^2,
and T' is a Cholesky factor of the parents' cross-products.
"""

from dataclasses import dataclass

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.estimate.equations import Equations, Stripe
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain import centred

ROUNDING = 16 * np.finfo(np.float64).eps
"""What is smaller than this, beside the column it is left over from, is rounding error."""


@dataclass(frozen=True)
class Factors:
    """Row count, column means (0 if not centred) and the factor R of each family."""

    families: Families
    rows: int
    means: FloatArray
    roundings: FloatArray
    """How far the values of each column may be off by having been rounded, (columns,)."""
    factors: tuple[FloatArray, ...]

    @classmethod
    def of(cls, stripe: Stripe, equations: Equations) -> "Factors":
        """The factors of a stripe's rows, centred if there is an intercept."""
        families = equations.families
        means = np.zeros(len(families.columns))
        roundings = np.zeros(len(families.columns))
        eps = np.finfo(stripe.page.dtype).eps
        factors = []
        for family in range(len(families)):
            span = slice(*families.column_offsets[family : family + 2].tolist())
            columns = stripe.rows[:, families.columns[span]].astype(np.float64, copy=False)
            roundings[span] = eps * np.abs(columns).max(axis=0)
            if equations.intercept:
                columns, means[span] = centred(columns)
            factors.append(triangle(columns))
        return cls(families, stripe.stop - stripe.start, means, roundings, tuple(factors))

    def merge(self, other: "Factors") -> "Factors":
        """The factors of the rows of both; the shift of the means is one more row."""
        rows = self.rows + other.rows
        shift = other.means - self.means
        weight = np.sqrt(self.rows * (other.rows / rows))
        factors = []
        for family, (left, right) in enumerate(zip(self.factors, other.factors, strict=True)):
            span = slice(*self.families.column_offsets[family : family + 2].tolist())
            stacked = np.vstack((left, right, weight * shift[span]))
            factors.append(triangle(stacked))
        means = self.means + shift * (other.rows / rows)
        roundings = np.maximum(self.roundings, other.roundings)
        return Factors(self.families, rows, means, roundings, tuple(factors))

    @np.errstate(over="ignore", invalid="ignore")
    def regress(self, family: int) -> tuple[FloatArray, float, int]:
        """Coefficients, residual sum of squares and rank of one family.

        The rank is judged with every column at unit length. Parents of lower rank get the
        solution of least norm. A residual that rounding of the values explains is zero.
        """
        factor = self.factors[family]
        size = factor.shape[1] - 1
        lengths = np.linalg.norm(factor, axis=0)
        start = self.families.column_offsets[family]
        roundings = np.sqrt(self.rows) * self.roundings[start : start + size + 1]
        parents, child = factor[:size, :size], factor[:size, size]
        coefficients, rank = least_norm(parents, child, lengths[:size], roundings[:size])
        rest = factor[:, size] - factor[:, :size] @ coefficients
        residual = float(np.linalg.norm(rest))
        if residual <= roundings[size] + np.abs(coefficients) @ roundings[:size]:
            residual = 0.0
        return coefficients, residual**2, rank

    def parent_factor(self, family: int) -> FloatArray:
        """Upper triangular T with T'T the parents' cross-products, (p, p)."""
        factor = self.factors[family]
        size = factor.shape[1] - 1
        return np.asarray(factor[:size, :size])


def triangle(columns: FloatArray) -> FloatArray:
    """The factor R of the QR factorisation of (..., rows, columns)."""
    return np.asarray(np.linalg.qr(columns, mode="r"))


def least_norm(
    parents: FloatArray, child: FloatArray, lengths: FloatArray, roundings: FloatArray
) -> tuple[FloatArray, int]:
    """Least squares of (r,) on (r, p) by singular values, and the rank.

    The rank is that of the columns at unit length, beyond what rounding of their values
    explains: `roundings` are the lengths of that. If it is below p, of all solutions the one
    of least norm (in the columns' own units) is given.
    """
    size = parents.shape[1]
    scale = np.where(lengths > 0.0, lengths, 1.0)
    blur = max(ROUNDING * size, 4.0 * float((roundings / scale).max(initial=0.0)))
    left, values, right = np.linalg.svd(parents / scale, full_matrices=True)
    rank = int(np.count_nonzero(values > blur * values[:1].sum()))
    shares = (left.T @ child)[:rank] / values[:rank]
    coefficients = right[:rank].T @ shares / scale
    if rank < size:
        free = right[rank:].T / scale[:, None]
        coefficients -= free @ np.linalg.lstsq(free, coefficients, rcond=None)[0]
    return coefficients, rank
