"""Least squares of every family with all that its errors need, and sandwich errors."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import ask
from gaussnet.errors import EstimationError
from gaussnet.kernels.families import Block
from gaussnet.kernels.numpy_core import SCRATCH_VALUES
from gaussnet.methods.base import EquationGroup, Equations, Solution
from gaussnet.methods.least_squares import LeastSquaresPass
from gaussnet.methods.moments import Moments
from gaussnet.methods.standard_errors import Slopes, correlations, student
from gaussnet.types import BoolArray, FloatArray, IntArray

NO_PART = 1e-6
"""A parent with a smaller part in what is collinear has its own coefficient determined."""


@dataclass(frozen=True)
class Regressions:
    """Least squares of the families with p parents."""

    block: Block
    rows: float
    """Number of rows, or the sum of their weights."""
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
    count: float
    """Number of rows that degrees of freedom are counted from."""
    is_centred: bool
    """Whether there is an intercept."""

    @cached_property
    def whitening(self) -> FloatArray:
        """Inverse of T, (families, p, p), by which the parents become orthonormal columns.

        Of collinear parents as many columns as their rank, and then zeros.
        """
        deficient = self.ranks < self.block.size
        if not deficient.any():
            return np.asarray(np.linalg.inv(self.upper))
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
        deficient = self.ranks < self.block.size
        if not deficient.any():
            return self.whitening
        found = self.whitening.copy()
        for index in np.flatnonzero(deficient).tolist():
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
    if "regressions" not in group.known:
        question = LeastSquaresPass(equations, partial(_regressions, equations))
        group.known["regressions"] = ask(group.table, question)
    found: list[Regressions] = group.known["regressions"]
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
    left = (moments.effective_rows - ranks - intercept).astype(np.float64)
    assert solution.mean_squares is not None
    return Regressions(
        block,
        moments.total,
        solution.coefficients[block.edges].reshape(block.count, block.size),
        moments.means[columns].reshape(block.count, block.size + 1),
        _upper(block, moments, ranks, careful),
        solution.mean_squares[chosen] * moments.divisor,
        ranks,
        np.where(left > 0, left, np.nan),
        moments.effective_rows,
        intercept,
    )


def _upper(
    block: Block, moments: Moments, ranks: IntArray, careful: dict[int, FloatArray]
) -> FloatArray:
    """Cholesky factors of the cross-products at unit diagonal; careful ones where these lost
    digits."""
    products = moments.parent_products(block.size, block.families)
    first, last = block.families.start, block.families.stop
    special = [family - first for family in careful if first <= family < last]
    unclear = ranks < block.size
    unclear[special] = True
    if unclear.any():
        products[unclear] = np.eye(block.size)
    lengths = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    unit = products / lengths[:, :, None] / lengths[:, None, :]
    upper = np.linalg.cholesky(unit).transpose(0, 2, 1) * lengths[:, None, :]
    for index in special:
        upper[index] = careful[first + index]
    return np.asarray(upper, dtype=np.float64)


SANDWICHES = ("heteroscedastic", "sampling", "clustered")
"""Kinds of errors from sums of squared scores."""


class Sandwich(NamedTuple):
    """What rows say of the errors of the families of one size.

    The score of a row is its weighted residual times (1, whitened parents), and last what it
    says of the noise, w (e^2 / s^2 - 1).
    """

    products: FloatArray
    """Sums of products of scores, (families, p + 2, p + 2)."""
    scores: FloatArray
    """Sums of the scores of each cluster of rows, (clusters, families, p + 2); (0, ...) if rows
    are independent."""

    def merge(self, other: "Sandwich") -> "Sandwich":
        """Sums of both."""
        return Sandwich(self.products + other.products, self.scores + other.scores)

    @property
    def of_clusters(self) -> FloatArray:
        """Sums over clusters of products of their scores."""
        return np.asarray(np.einsum("cfi,cfj->fij", self.scores, self.scores))


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
    group: EquationGroup, found: list[Regressions], level: float, kind: str = "heteroscedastic"
) -> list[Heteroscedastic]:
    r"""Sandwich errors, size by size.

    .. math:: B \left(\sum_c u_c u_c'\right) B, \qquad u_c = \sum_{k \in c} w_k e_k z_k

    z is the row of the design, w its weight, e its residual, B the inverse of the design's
    cross-products. "heteroscedastic" is HC3: every row by itself, its residual over 1 - h with h
    its leverage; NaN where that is 1, since the row alone decides a coefficient. "sampling" is
    every row by itself times n / (n - 1), as in surveys. "clustered" takes c as clusters of rows,
    times :math:`\frac{C}{C - 1} \frac{n - 1}{n - p}`, or with sampling weights
    :math:`\frac{C}{C - 1}`.
    """
    design = group.table.design
    clusters = 0 if design is None or design.clusters is None else design.clusters
    if kind == "clustered" and clusters < 2:
        raise EstimationError(
            "there is one cluster only, which says nothing of errors: give more clusters"
        )
    question = SandwichPass(group.equations, found, kind, clusters if kind == "clustered" else 0)
    sums: list[Sandwich] = ask(group.table, question)
    survey = design is not None and design.weights == "sampling"
    return [
        _errors(own, part, level, _correction(own, part, kind, survey))
        for own, part in zip(found, sums, strict=True)
    ]


class Correction(NamedTuple):
    """What sums of squared scores are multiplied by, and the freedom of the errors."""

    factor: FloatArray
    """(families,)."""
    freedom: FloatArray
    """(families,)."""


def _correction(own: Regressions, sums: Sandwich, kind: str, survey: bool) -> Correction:
    ones = np.ones(own.block.count)
    if kind == "heteroscedastic":
        return Correction(ones, own.freedom)
    rows = float(own.count)
    if kind == "sampling":
        return Correction(ones * rows / (rows - 1.0), own.freedom)
    clusters = float(np.count_nonzero(sums.scores.any(axis=(1, 2))))
    factor = ones * clusters / (clusters - 1.0) if clusters > 1.0 else ones * np.nan
    if not survey:
        factor = factor * (rows - 1.0) / (rows - own.ranks - own.is_centred)
    return Correction(factor, ones * (clusters - 1.0 if clusters > 1.0 else np.nan))


@dataclass(frozen=True)
class SandwichPass(Pass):
    """Asks for the sums that sandwich errors need, of regressions that are known."""

    purpose = "standard errors"

    equations: Equations
    found: list[Regressions]
    kind: str
    clusters: int

    def summarize(self, stripe: Stripe) -> list[Sandwich]:
        """Sums over a stripe, size by size."""
        return [
            self._sums(stripe, own, columns)
            for own, (_, _, columns) in zip(
                self.found, self.equations.families.by_size, strict=True
            )
        ]

    def merge(self, left: list[Sandwich], right: list[Sandwich]) -> list[Sandwich]:
        """Sums over both."""
        return [one.merge(other) for one, other in zip(left, right, strict=True)]

    def _sums(self, stripe: Stripe, own: Regressions, columns: IntArray) -> Sandwich:
        """Sums over a stripe for the families of one size, some at a time."""
        step = max(1, SCRATCH_VALUES // max(len(stripe.rows) * (own.block.size + 2), 1))
        whitening, parts = own.whitening, []
        for first in range(0, len(columns), step):
            chosen = slice(first, first + step)
            scores = _scores(stripe, own, whitening, columns, chosen, self.kind)
            parts.append(Sandwich(*self._products(stripe, scores)))
        return Sandwich(
            np.concatenate([part.products for part in parts]),
            np.concatenate([part.scores for part in parts], axis=1),
        )

    def _products(self, stripe: Stripe, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of products, and sums by cluster, of scores (families, rows, p + 2)."""
        families, _, size = scores.shape
        sums = np.zeros((self.clusters, families, size))
        codes = stripe.column("cluster")
        if not self.clusters or codes is None:
            return scores.transpose(0, 2, 1) @ scores, sums
        np.add.at(sums, codes.astype(np.int64), scores.transpose(1, 0, 2))
        return np.zeros((families, size, size)), sums


def _errors(
    found: Regressions, sums: Sandwich, level: float, correction: Correction
) -> Heteroscedastic:
    products = sums.of_clusters if len(sums.scores) else sums.products
    covariance = products[:, :-1, :-1] * correction.factor[:, None, None]
    covariance[:, 0, :] /= found.rows
    covariance[:, :, 0] /= found.rows
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    together = correlations(covariance)
    point = student(level, correction.freedom)
    distance = errors * point[:, None]
    slopes = Slopes(
        found.block,
        found.coefficients,
        found.transform,
        errors[:, 1:],
        distance[:, 1:],
        distance[:, 1:],
        together[:, 1:, 1:],
        found.whitening,
    )
    relative = np.sqrt(np.maximum(products[:, -1, -1], 0.0) * correction.factor) / found.rows
    if not len(sums.scores):
        relative *= np.sqrt(found.count / found.freedom)
    relative[found.squares == 0.0] = 0.0
    return Heteroscedastic(
        slopes, errors[:, 0], distance[:, 0], together[:, 0, 1:], relative, relative * point
    )


def _scores(
    stripe: Stripe,
    own: Regressions,
    whitening: FloatArray,
    columns: IntArray,
    chosen: slice,
    kind: str,
) -> FloatArray:
    """The scores of the rows of a stripe, (families, rows, p + 2)."""
    rows, size = stripe.rows, own.block.size
    taken = np.ascontiguousarray(rows[:, columns[chosen].ravel()], dtype=np.float64)
    picked = taken.reshape(len(rows), -1, size + 1)
    values = picked.transpose(1, 0, 2) - own.means[chosen, None, :]
    residuals = values[:, :, size] - np.einsum(
        "fkp,fp->fk", values[:, :, :size], own.coefficients[chosen]
    )
    scores = np.ones((*residuals.shape, size + 2))
    scores[:, :, 1:-1] = values[:, :, :size] @ whitening[chosen]
    counts, leverage_weights, noise = _row_weights(stripe, kind)
    scales = np.sqrt(own.squares[chosen] / (own.count if noise is not None else own.rows))
    unit = residuals / np.where(scales > 0.0, scales, 1.0)[:, None]
    adjusted_residuals = residuals
    if kind == "heteroscedastic":
        leverages = np.einsum("fkp,fkp->fk", scores[:, :, 1:-1], scores[:, :, 1:-1])
        left = 1.0 - leverage_weights * (leverages + own.is_centred / own.rows)
        left[left < 1e-10] = np.nan
        adjusted_residuals = residuals / left
    scores[:, :, :-1] *= (counts * adjusted_residuals)[:, :, None]
    if noise is not None:
        scores[:, :, -1] = (noise * unit**2 - 1.0) * (own.rows / own.count)
    else:
        scores[:, :, -1] = counts * (unit**2 - 1.0)
    return scores


def _row_weights(stripe: Stripe, kind: str) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """What scores and leverages of rows are multiplied by, and precisions of their noise.

    A row that stands for w equal ones has w scores, whose squares add up to w times its own.
    """
    weights = stripe.weights
    ones = np.ones(stripe.stop - stripe.start)
    if weights is None or stripe.design is None:
        return ones, ones, None
    if stripe.design.weights == "precision":
        return weights, weights, weights
    if stripe.design.weights == "frequency" and kind == "heteroscedastic":
        return np.sqrt(weights), ones, None
    return weights, weights, None
