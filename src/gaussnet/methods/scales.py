"""Variances as mean squared residuals, and multiples of these."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.methods.base import EquationGroup, Equations, Scale, Spread
from gaussnet.methods.moments import Weighing, divisor, weighing_of
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Spreads


@dataclass(frozen=True, slots=True)
class MeanSquare(Scale):
    """Mean square of the residuals, about their mean if there is an intercept, else about 0."""

    name = "mean-square"
    source = "from mean squared residuals"
    uses_mean_squares = True
    uses_weights: ClassVar[bool] = True

    def first(self, equations: Equations, coefficients: FloatArray) -> Pass:
        """Moments of the residuals."""
        return ResidualMomentsPass(equations, coefficients)

    def enter_errors(
        self,
        spreads: "Spreads",
        group: EquationGroup,
        coefficients: FloatArray,
        kind: str,
        level: float,
    ) -> None:
        """Student's t and chi-square, or HC3 and the fourth moment."""
        from gaussnet.methods.standard_errors import enter_heteroscedastic, enter_mean_squares
        from gaussnet.methods.standard_errors.regressions import (
            SANDWICHES,
            heteroscedastic,
            regress,
        )

        found = regress(group)
        enter_mean_squares(spreads, group.nodes, found, level)
        if kind in SANDWICHES:
            parts = heteroscedastic(group, found, level, kind)
            enter_heteroscedastic(spreads, group.nodes, found, parts)


@dataclass(frozen=True)
class RangePass(Pass):
    """Asks for the least and the greatest value of some columns, (2, columns); NaN is left out."""

    purpose = "the range of the values"

    columns: IntArray
    sample_rows: int | None = None
    """So many rows are enough; None asks all."""

    def summarize(self, stripe: Stripe) -> FloatArray:
        """The ends of a stripe."""
        rows = stripe.rows[:, self.columns].astype(np.float64)
        return np.array(
            [np.fmin.reduce(rows, initial=np.inf), np.fmax.reduce(rows, initial=-np.inf)]
        )

    def merge(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The ends of both."""
        return np.array([np.fmin(left[0], right[0]), np.fmax(left[1], right[1])])


LEFT_OVER = 2 * np.finfo(np.float64).eps
"""What is left of a difference of values that are equal but for rounding, beside their size."""


class ResidualMoments(NamedTuple):
    """Number of rows, mean and squared deviations of each family's residuals, and the largest size
    of each column."""

    rows: int
    means: FloatArray
    squares: FloatArray
    weighing: Weighing | None = None
    sizes: FloatArray | float = 0.0


@dataclass(frozen=True)
class ResidualMomentsPass(Pass):
    """Asks for mean and mean square of the residuals."""

    purpose = "residuals"

    equations: Equations
    coefficients: FloatArray
    sample_rows: int | None = None
    """So many rows are enough; None asks all."""

    def summarize(self, stripe: Stripe) -> ResidualMoments:
        """Moments of the residuals of a stripe."""
        sizes = np.abs(stripe.rows).max(axis=0, initial=0.0).astype(np.float64)
        return self._moments(stripe)._replace(sizes=sizes)

    def _moments(self, stripe: Stripe) -> ResidualMoments:
        families, weights = self.equations.families, stripe.weights
        if weights is None:
            own = kernels.residual_moments(stripe.rows, families, self.coefficients)
            return ResidualMoments(stripe.stop - stripe.start, *own)
        residuals = kernels.residuals(stripe.rows, families, self.coefficients)
        return _weighted_moments(stripe, residuals, weights)

    def merge(self, left: ResidualMoments, right: ResidualMoments) -> ResidualMoments:
        """Moments of both."""
        first, second = (_total(one) for one in (left, right))
        if left.weighing is not None and 0.0 in (first, second):
            return right if first == 0.0 else left
        size = first + second
        shift = right.means - left.means
        squares = left.squares + right.squares + shift**2 * (first * second / size)
        weighing = None if left.weighing is None else left.weighing.merge(right.weighing)
        means = left.means + shift * (second / size)
        sizes = np.maximum(left.sizes, right.sizes)
        return ResidualMoments(left.rows + right.rows, means, squares, weighing, sizes)

    @np.errstate(over="ignore", invalid="ignore")
    def then(self, summary: ResidualMoments) -> Spread:
        """Means (0 without an intercept) and mean squares about them; 0 where these are no more
        than the rounding of the values that residuals are differences of."""
        size = divisor(summary.rows, summary.weighing)
        variances, means = summary.squares / size, summary.means
        if not self.equations.intercept:
            variances = variances + means**2 * (_total(summary) / size)
            means = np.zeros_like(means)
        rounded = np.sqrt(variances) <= LEFT_OVER * self._sizes(np.asarray(summary.sizes))
        return Spread(means, np.where(rounded, 0.0, variances))

    def _sizes(self, sizes: FloatArray) -> FloatArray:
        """The size of what each family's residuals are differences of."""
        families = self.equations.families
        parts = np.abs(self.coefficients) * sizes[families.parents]
        sums = np.bincount(families.family_of_edge, parts, minlength=len(families))
        return np.asarray(sizes[families.children] + sums)


def _total(moments: ResidualMoments) -> float:
    """Sum of the weights: the number of rows if there are none."""
    return moments.rows if moments.weighing is None else moments.weighing.total


def _weighted_moments(
    stripe: Stripe, residuals: FloatArray, weights: FloatArray
) -> ResidualMoments:
    """Weighted mean and squared deviations of residuals, (families, rows)."""
    total = max(float(weights.sum()), np.finfo(np.float64).tiny)
    means = residuals[:, :1] + ((residuals - residuals[:, :1]) @ weights / total)[:, None]
    squares = (residuals - means) ** 2 @ weights
    count = int(np.count_nonzero(weights))
    return ResidualMoments(count, means[:, 0], squares, weighing_of(stripe, weights))


@dataclass(frozen=True, slots=True)
class KlOptimal(MeanSquare):
    r"""The multiple of the residual sum of squares whose expected KL divergence is least.

    With p parents, m rows and least squares,

    .. math:: \hat s^2 = RSS \frac{m-1}{(m-p-1)(m-p-2)}

    and with an intercept

    .. math:: \hat s^2 = RSS \frac{(m-2)(m+1)}{m (m-p-2)(m-p-3)}.

    For least squares only: elsewhere the law of the coefficients is another.
    """

    name = "kl-optimal"
    counts_flagged = False
    source = "from the multiple of the mean square with the least expected error"
    has_factors = True
    uses_weights = False

    def factors(self, rows: int | IntArray, parents: IntArray, intercept: bool) -> FloatArray:
        r"""What mean squares are to be multiplied by, (families,).

        With W = RSS / s^2, and Q the error of the conditional mean over s^2, the divergence of
        a node is ln(cW) / 2 + (1 + Q) / (2 c W) - 1/2; so c = (1 + E Q) E(1 / W), with
        W a chi-square variable independent of Q. NaN where rows are too few for E(1 / W).
        Rows that the coefficients do not come from count as those of a node without parents.

        Examples
        --------
        >>> KlOptimal().factors(100, np.array([0, 5]), False).round(4).tolist()
        [1.0204, 1.1325]
        """
        left = (rows - parents - intercept).astype(np.float64)
        inverse = 1.0 / np.where(left > 2.0, left - 2.0, np.nan)
        error = parents / np.where(left > 2.0, left - 1.0, np.nan)
        return np.asarray(rows * (1.0 + error) * (1.0 + intercept / rows) * inverse)


@dataclass(frozen=True, slots=True)
class GaussianCore(MeanSquare):
    r"""Variance of the Gaussian core of the residuals, for the robust method only.

    The mean square of the residuals that trimming keeps, over what it is for a normal law cut
    at the same number t of standard deviations,

    .. math:: \hat s^2 = \frac{1}{\kappa(t)\, |F|} \sum_{k \in F} r_k^2, \qquad
              \kappa(t) = 1 - \frac{2 t \varphi(t)}{2 \Phi(t) - 1};

    the mean square where nothing is trimmed.
    """

    name = "core"
    counts_flagged = False
    source = "from the values kept"
