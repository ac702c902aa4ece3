"""Least squares of every family with all that its errors need."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from gaussnet.fitting.phases import Work, fold
from gaussnet.fitting.portions import Portion
from gaussnet.kernels.families import Block
from gaussnet.methods.base import Solution
from gaussnet.methods.least_squares import CarefulLeastSquares, Factors, LeastSquares, Moments
from gaussnet.types import FloatArray, IntArray


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

    @property
    def deficient(self) -> FloatArray:
        """NaN for families whose parents are collinear, else 1, (families,)."""
        return np.where(self.ranks < self.block.size, np.nan, 1.0)

    @property
    def whitening(self) -> FloatArray:
        """Inverse of T, (families, p, p): turns the parents into orthonormal columns."""
        return np.linalg.inv(self.upper) * self.deficient[:, None, None]

    @property
    def noise(self) -> FloatArray:
        """Unbiased estimate of the noise variance, (families,)."""
        return self.squares / self.freedom


def regress(portion: Portion, work: Work) -> list[Regressions]:
    """Least squares of all families of a portion, size by size, roots first.

    Works as `LeastSquares` does: from cross-products, and from QR factors where these lose
    digits.
    """
    equations = portion.equations
    moments: Moments = fold(
        portion.pages, partial(Moments.of, equations=equations), Moments.merge, work.threads
    )
    solution = LeastSquares().solve(moments, equations)
    doubtful = solution.doubtful if solution.doubtful is not None else np.empty(0, dtype=np.int64)
    careful: dict[int, FloatArray] = {}
    if len(doubtful):
        again = portion.only(doubtful).equations
        factors: Factors = fold(
            portion.pages, partial(Factors.of, equations=again), Factors.merge, work.threads
        )
        part = CarefulLeastSquares().solve(factors, again)
        solution = solution.patched(equations.families, doubtful, part)
        careful = {int(f): factors.parent_factor(i) for i, f in enumerate(doubtful)}
    return [
        _of_block(block, moments, solution, careful, equations.intercept)
        for block in equations.blocks(with_roots=True)
    ]


def _of_block(
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
    """Cholesky factors of the cross-products at unit diagonal; the identity if collinear."""
    products = moments.parent_products(block.size, block.families)
    members = range(block.families.start, block.families.stop)
    special = np.array([family in careful for family in members], dtype=bool)
    products[special | (ranks < block.size)] = np.eye(block.size)
    lengths = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    unit = products / lengths[:, :, None] / lengths[:, None, :]
    upper = np.linalg.cholesky(unit).transpose(0, 2, 1) * lengths[:, None, :]
    for place in np.flatnonzero(special & (ranks == block.size)).tolist():
        upper[place] = careful[members[place]]
    return np.asarray(upper, dtype=np.float64)
