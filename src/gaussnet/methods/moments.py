"""Moments: sums from which least squares follows, and triangular factors where these lack digits.

`Moments` are means and cross-products of each family's columns. `Factors` never square a condition
number: the columns [parents, child] of a family are factored as Q R, and only R is kept. Factors
of two runs of rows merge by factoring them stacked (tall-skinny QR). R holds all of least squares:
``R = [[T, t], [0, r]]`` gives the coefficients ``T^-1 t`` and the residual sum of squares r^2, and
T' is a Cholesky factor of the parents' cross-products.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np

from gaussnet import kernels
from gaussnet.data.design import WeightKind
from gaussnet.data.passes import Pass, Stripe
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import WELL_CONDITIONED, centred, packed_indices
from gaussnet.methods.base import Equations, Solution, SummaryPass
from gaussnet.types import FloatArray, IntArray

WEIGHT_KINDS: tuple[WeightKind, ...] = get_args(WeightKind)


class Weighing(NamedTuple):
    """The sum of the weights of some rows, and what they mean."""

    kind: WeightKind
    total: float

    def merge(self, other: "Weighing | None") -> "Weighing":
        """The sum of both."""
        assert other is not None
        return Weighing(self.kind, self.total + other.total)


@dataclass(frozen=True)
class Moments:
    """Row count, column means and packed cross-products about them (about 0 if not centred).

    With weights the means and products are weighted, and rows of weight 0 do not count.
    """

    families: Families
    rows: int
    means: FloatArray
    products: FloatArray
    weighing: Weighing | None = None

    @classmethod
    def of(cls, stripe: Stripe, equations: Equations) -> "Moments":
        """The moments of a stripe's rows, about the mean if there is an intercept."""
        families, weights = equations.families, stripe.weights
        if weights is None:
            means, products = kernels.family_moments(stripe.rows, families, equations.intercept)
            return cls(families, stripe.stop - stripe.start, means, products)
        scaled, centres = weighted_rows(stripe, weights, equations.intercept)
        _, products = kernels.family_moments(scaled, families, False)
        own = centres[families.columns]
        return cls(families, _counted(weights), own, products, weighing_of(stripe, weights))

    @property
    def is_finite(self) -> bool:
        """Whether no product overflows, and so no value of the rows is NaN or infinite."""
        return bool(np.isfinite(self.products).all())

    @property
    def total(self) -> float:
        """Sum of the weights: the number of rows if there are none."""
        return self.rows if self.weighing is None else self.weighing.total

    @property
    def divisor(self) -> float:
        """What a sum of squared residuals is divided by for a variance."""
        return divisor(self.rows, self.weighing)

    @property
    def effective_rows(self) -> float:
        """Number of rows that degrees of freedom are counted from."""
        frequent = self.weighing is not None and self.weighing.kind == "frequency"
        return self.total if frequent else self.rows

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, other: "Moments") -> "Moments":
        r"""The moments of the rows of both.

        .. math:: S = S_1 + S_2 + \frac{m_1 m_2}{m_1 + m_2} (\mu_2 - \mu_1)(\mu_2 - \mu_1)'

        With weights, m are their sums.
        """
        if self.weighing is not None and 0.0 in (self.total, other.total):
            return other if self.total == 0.0 else self
        size = self.total + other.total
        products = self.products + other.products
        shift = other.means - self.means
        if shift.any():
            row, column = self.families.product_columns
            products += (self.total * other.total / size) * shift[row] * shift[column]
        means = self.means + shift * (other.total / size)
        weighing = None if self.weighing is None else self.weighing.merge(other.weighing)
        return Moments(self.families, self.rows + other.rows, means, products, weighing)

    def to_arrays(self) -> dict[str, Any]:
        """Row count, means and products as plain arrays."""
        rows = np.array([self.rows], dtype=np.int64)
        arrays = {"rows": rows, "means": self.means, "products": self.products}
        if self.weighing is not None:
            kind = WEIGHT_KINDS.index(self.weighing.kind)
            arrays["weight"] = np.array([self.weighing.total, kind], dtype=np.float64)
        return arrays

    @classmethod
    def from_arrays(cls, families: Families, arrays: dict[str, Any]) -> "Moments":
        """The moments that `to_arrays` gave; ValueError if they are not of these families."""
        means, products = arrays["means"], arrays["products"]
        (rows,) = arrays["rows"].tolist()
        shapes = (
            means.shape == (len(families.columns),),
            products.shape == (families.product_offsets[-1],),
        )
        fewest = 0 if "weight" in arrays else 1  # all rows of a page may have the weight 0
        right = all(shapes) and {means.dtype, products.dtype} == {np.dtype(np.float64)}
        if not right or rows < fewest:
            raise ValueError
        weighing = None
        if "weight" in arrays:
            total, kind = arrays["weight"].tolist()
            weighing = Weighing(WEIGHT_KINDS[int(kind)], float(total))
        return cls(families, rows, means, products, weighing)

    def parent_products(self, size: int, chosen: slice) -> FloatArray:
        """Cross-products among the parents of families of one size: (families, p, p)."""
        start, stop = self.families.product_offsets[[chosen.start, chosen.stop]].tolist()
        packed = self.products[start:stop].reshape(chosen.stop - chosen.start, -1)
        return packed[:, packed_indices(size)].reshape(len(packed), size, size)


def intercepts(families: Families, means: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Child's mean minus the parents' means times their coefficients, (families,)."""
    if not means.any():
        return np.zeros(len(families))
    last = families.column_offsets[1:] - 1
    edge_means = np.delete(means, last)
    terms = np.bincount(
        families.family_of_edge, weights=coefficients * edge_means, minlength=len(families)
    )
    return np.asarray(means[last] - terms)


def weighted_rows(
    stripe: Stripe, weights: FloatArray, intercept: bool
) -> tuple[FloatArray, FloatArray]:
    r"""Rows times the roots of their weights, about the weighted means if there is an intercept.

    .. math:: \sqrt{w_k} (x_k - \bar x), \qquad \bar x = \sum_k w_k x_k / \sum_k w_k

    Then sums of products are weighted sums. Also the means, (columns,); 0 without intercept.
    """
    rows = stripe.rows.astype(np.float64, order="C")  # sums must not depend on the layout
    means, total = np.zeros(rows.shape[1]), weights.sum()
    if intercept and total > 0.0:
        means = rows[0] + weights @ (rows - rows[0]) / total
        means += weights @ (rows - means) / total  # once more, for the rounding of the first
        rows -= means
    return rows * np.sqrt(weights)[:, None], means


def _counted(weights: FloatArray) -> int:
    return int(np.count_nonzero(weights))


def weighing_of(stripe: Stripe, weights: FloatArray) -> Weighing:
    """The sum of a stripe's weights, and what they mean."""
    assert stripe.design is not None
    assert stripe.design.weights is not None
    return Weighing(stripe.design.weights, float(weights.sum()))


def divisor(rows: int, weighing: Weighing | None) -> float:
    """What a sum of squared residuals is divided by for a variance.

    Precision weights say how the variance of a row's noise differs from that of a row of weight
    1, so that the number of rows stays; others say how many rows a row stands for.
    """
    return rows if weighing is None or weighing.kind == "precision" else weighing.total


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
    weighing: Weighing | None = None

    @classmethod
    def of(cls, stripe: Stripe, equations: Equations) -> "Factors":
        """The factors of a stripe's rows, centred if there is an intercept."""
        families, weights = equations.families, stripe.weights
        if weights is not None:
            return cls._weighted(stripe, equations, weights)
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

    @classmethod
    def _weighted(cls, stripe: Stripe, equations: Equations, weights: FloatArray) -> "Factors":
        families = equations.families
        scaled, centres = weighted_rows(stripe, weights, equations.intercept)
        largest = np.abs(stripe.rows).max(axis=0, initial=0.0).astype(np.float64)
        spans = [slice(*families.column_offsets[f : f + 2].tolist()) for f in range(len(families))]
        factors = tuple(triangle(scaled[:, families.columns[span]]) for span in spans)
        roundings = np.finfo(stripe.page.dtype).eps * largest[families.columns]
        own = (centres[families.columns], roundings, factors)
        return cls(families, _counted(weights), *own, weighing_of(stripe, weights))

    @property
    def total(self) -> float:
        """Sum of the weights: the number of rows if there are none."""
        return self.rows if self.weighing is None else self.weighing.total

    @property
    def divisor(self) -> float:
        """What a sum of squared residuals is divided by for a variance."""
        return divisor(self.rows, self.weighing)

    def merge(self, other: "Factors") -> "Factors":
        """The factors of the rows of both; the shift of the means is one more row."""
        if self.weighing is not None and 0.0 in (self.total, other.total):
            return other if self.total == 0.0 else self
        rows = self.total + other.total
        shift = other.means - self.means
        weight = np.sqrt(self.total * (other.total / rows))
        factors = []
        for family, (left, right) in enumerate(zip(self.factors, other.factors, strict=True)):
            span = slice(*self.families.column_offsets[family : family + 2].tolist())
            stacked = np.vstack((left, right, weight * shift[span]))
            factors.append(triangle(stacked))
        means = self.means + shift * (other.total / rows)
        roundings = np.maximum(self.roundings, other.roundings)
        weighing = None if self.weighing is None else self.weighing.merge(other.weighing)
        count = self.rows + other.rows
        return Factors(self.families, count, means, roundings, tuple(factors), weighing)

    def subset(self, chosen: IntArray) -> "Factors":
        """Only those of the chosen families, in the order given."""
        starts = self.families.column_offsets
        columns = np.concatenate([np.arange(starts[f], starts[f + 1]) for f in chosen.tolist()])
        return replace(
            self,
            families=self.families.subset(chosen),
            means=self.means[columns],
            roundings=self.roundings[columns],
            factors=tuple(self.factors[family] for family in chosen.tolist()),
        )

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
        roundings = np.sqrt(self.total) * self.roundings[start : start + size + 1]
        parents, child = factor[:size, :size], factor[:size, size]
        coefficients, rank = least_norm(parents, child, lengths[:size], roundings[:size])
        rest = factor[:, size] - factor[:, :size] @ coefficients
        residual = float(np.linalg.norm(rest))
        if residual <= roundings[size] + np.abs(coefficients) @ roundings[:size]:
            residual = 0.0
        return coefficients, residual**2, rank

    def parent_factor(self, family: int) -> FloatArray:
        """Upper triangular T with T'T the parents' cross-products, (p, p); 0 beyond the rows."""
        factor = self.factors[family]
        size = factor.shape[1] - 1
        found = np.zeros((size, size))
        found[: len(factor)] = factor[:size, :size]
        return found


@dataclass(frozen=True)
class MomentsPass(Pass):
    """Asks for the moments of all rows."""

    purpose = "moments"

    equations: Equations
    shows_finite = True

    def summarize(self, stripe: Stripe) -> Moments:
        """Means and cross-products of the stripe."""
        return Moments.of(stripe, self.equations)

    def merge(self, left: Moments, right: Moments) -> Moments:
        """Moments of both."""
        return left.merge(right)

    def is_finite(self, summary: Moments) -> bool:
        """Whether finite sums prove all values finite."""
        return summary.is_finite


WIDEST_TILED = 128
"""Columns up to which the kernel of families is faster than the product of matrices."""


class CrossMoments(NamedTuple):
    """Rows, means and sums of products of all pairs of columns, about the means or about 0."""

    rows: int
    means: FloatArray
    """0 where products are about 0, (columns,)."""
    products: FloatArray
    """(columns, columns)."""

    @property
    def covariance(self) -> FloatArray:
        """Divided by the rows."""
        return self.products / self.rows

    def merge(self, other: "CrossMoments", out: FloatArray | None = None) -> "CrossMoments":
        """The moments of the rows of both; `out` holds their products, if its own may go."""
        rows = self.rows + other.rows
        shift = other.means - self.means
        products = np.add(self.products, other.products, out=out)
        weighted = shift * (self.rows * other.rows / rows)
        for row in np.flatnonzero(shift).tolist():  # the whole outer product may be large
            products[row] += weighted[row] * shift
        return CrossMoments(rows, self.means + shift * (other.rows / rows), products)


@dataclass(frozen=True)
class CrossMomentsPass(Pass):
    """Asks for means and products of all pairs of columns; about 0 without an intercept."""

    purpose = "moments"

    intercept: bool
    order: IntArray | None = None
    """Of the columns; None for that of the rows."""
    shows_finite = True

    @np.errstate(over="ignore", invalid="ignore")
    def summarize(self, stripe: Stripe) -> CrossMoments:
        """Those of a stripe, whose layout changes no bit."""
        rows, columns = stripe.rows, stripe.rows.shape[1]
        if self.order is not None:
            rows = np.take(rows, self.order, axis=1).astype(np.float64, copy=False)
        if 0 < columns <= WIDEST_TILED:
            family = Families(
                np.array([columns - 1]), np.array([0, columns - 1]), np.arange(columns - 1)
            )
            means, products = kernels.family_moments(rows, family, self.intercept)
            return CrossMoments(len(rows), means, unpacked(products))
        values, means = np.ascontiguousarray(rows, dtype=np.float64), np.zeros(columns)
        if self.intercept:
            values, means = centred(values)
        return CrossMoments(len(rows), means, values.T @ values)

    def merge(self, left: CrossMoments, right: CrossMoments) -> CrossMoments:
        """Those of both, in the place of the first: nobody keeps it."""
        return left.merge(right, out=left.products)

    def is_finite(self, summary: CrossMoments) -> bool:
        """Whether finite sums prove all values finite."""
        return bool(np.isfinite(summary.products.diagonal()).all())


class Crossed(NamedTuple):
    """The summary of a question, and moments of all pairs of columns beside it."""

    own: Any
    cross: CrossMoments


@dataclass(frozen=True)
class WithCrossMoments(SummaryPass):
    """A question with the moments of all pairs of columns beside it, for tests of the graph."""

    question: SummaryPass
    intercept: bool
    columns: int

    @property
    def beside(self) -> CrossMomentsPass:
        """The question beside."""
        return CrossMomentsPass(self.intercept)

    def summarize(self, stripe: Stripe) -> Crossed:
        """Both of a stripe."""
        return Crossed(self.question.summarize(stripe), self.beside.summarize(stripe))

    def merge(self, left: Crossed, right: Crossed) -> Crossed:
        """Each with its own."""
        return Crossed(self.question.merge(left.own, right.own), left.cross.merge(right.cross))

    def rows(self, summary: Crossed) -> int:
        """Rows of the summary."""
        return self.question.rows(summary.own)

    def solve(self, summary: Crossed) -> Solution:
        """The solution of the question."""
        return self.question.solve(summary.own)

    def notes(self, summary: Crossed) -> tuple[str, ...]:
        """What is worth knowing of that solution."""
        return self.question.notes(summary.own)

    def to_arrays(self, summary: Crossed) -> dict[str, Any]:
        """Both as plain arrays."""
        own = {f"own.{key}": value for key, value in self.question.to_arrays(summary.own).items()}
        lower = np.tril_indices(len(summary.cross.means))
        cross = {"means": summary.cross.means, "products": summary.cross.products[lower]}
        return own | cross

    def from_arrays(self, arrays: dict[str, Any]) -> Crossed:
        """What `to_arrays` gave; ValueError if it cannot be of this question."""
        start = "own."
        parts = {
            key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)
        }
        own = self.question.from_arrays(parts)
        means, products = arrays["means"], arrays["products"]
        length = self.columns * (self.columns + 1) // 2
        right = means.shape == (self.columns,) and products.shape == (length,)
        if not right or {means.dtype, products.dtype} != {np.dtype(np.float64)}:
            raise ValueError
        return Crossed(own, CrossMoments(self.question.rows(own), means, unpacked(products)))


@dataclass(frozen=True)
class FactorsPass(Pass):
    """Asks for the triangular factors of equations that lack digits otherwise."""

    purpose = "triangular factors"

    equations: Equations
    finish: Callable[[Factors], Any]
    """From the factors to what to ask next, or to the answer."""

    def summarize(self, stripe: Stripe) -> Factors:
        """Triangular factors of the stripe."""
        return Factors.of(stripe, self.equations)

    def merge(self, left: Factors, right: Factors) -> Factors:
        """Factors of both."""
        return left.merge(right)

    def then(self, summary: Factors) -> Any:
        """What `finish` says."""
        return self.finish(summary)


def unpacked(products: FloatArray) -> FloatArray:
    """The symmetric matrix of a family's products, which are kept as a lower triangle.

    Examples
    --------
    >>> unpacked(np.array([1.0, 2.0, 5.0])).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    size = int(np.sqrt(2.0 * len(products)))
    square = np.empty((size, size))
    lower = np.tril_indices(size)
    square[lower] = square.T[lower] = products
    return square


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
    tolerance = max(ROUNDING * size, 4.0 * float((roundings / scale).max(initial=0.0)))
    left, values, right = np.linalg.svd(parents / scale, full_matrices=True)
    rank = int(np.count_nonzero(values > tolerance * values[:1].sum()))
    projected = (left.T @ child)[:rank] / values[:rank]
    coefficients = right[:rank].T @ projected / scale
    if rank < size:
        free = right[rank:].T / scale[:, None]
        coefficients -= free @ np.linalg.lstsq(free, coefficients, rcond=None)[0]
    return coefficients, rank


def with_mean_squares(solution: Solution, moments: Moments) -> Solution:
    r"""The solution with intercepts and mean squares; NaN where moments lose the digits.

    With S the cross-products of a family's columns and :math:`c = (-a, 1)`,

    .. math:: \sum_k r_k^2 = c' S c.

    Where that sum is a millionth or less of the sum of its terms' sizes, digits are lost: the
    mean square is NaN, and is to be found from the residuals themselves.
    """
    families = moments.families
    signed = np.ones(len(families.columns))
    is_parent = np.ones(len(families.columns), dtype=bool)
    is_parent[families.column_offsets[1:] - 1] = False
    signed[is_parent] = -solution.coefficients
    squares = _quadratic(families, moments.products, signed) / moments.divisor
    constants = intercepts(families, moments.means, solution.coefficients)
    return replace(solution, intercepts=constants, mean_squares=squares)


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
