"""Phase 2: location and variance of the residuals."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray, Rows

NORMAL_MAD = 1.482602218505602
"""1 / Phi^-1(3/4): turns a median absolute deviation into a standard deviation."""


class Spread(NamedTuple):
    """Location and variance of each family's residuals, (families,) each."""

    locations: FloatArray
    variances: FloatArray


class Scale(Protocol):
    """Finds location and variance of the residuals by summarize, merge, solve."""

    @property
    def name(self) -> str:
        """The name that `fit` knows the scale by."""
        ...

    @property
    def kept_values(self) -> float:
        """Values that a summary keeps per row and family."""
        ...

    def summarize(self, rows: Rows, families: Families, coefficients: FloatArray) -> Any:
        """All that the residuals of these rows say of the spread."""
        ...

    def merge(self, left: Any, right: Any) -> Any:
        """The summary of both, `left` before `right`."""
        ...

    def solve(self, summary: Any, intercept: bool) -> Spread:
        """Location and variance; without an intercept the location is 0."""
        ...


class ResidualMoments(NamedTuple):
    """Number of rows, and mean and squared deviations of each family's residuals."""

    rows: int
    means: FloatArray
    squares: FloatArray


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """Mean square of the residuals, about their mean if there is an intercept, else about 0."""

    name = "mean-square"
    kept_values = 0.0

    def summarize(
        self, rows: Rows, families: Families, coefficients: FloatArray
    ) -> ResidualMoments:
        """Moments of the residuals."""
        return ResidualMoments(len(rows), *kernels.residual_moments(rows, families, coefficients))

    def merge(self, left: ResidualMoments, right: ResidualMoments) -> ResidualMoments:
        """Moments of both."""
        rows = left.rows + right.rows
        shift = right.means - left.means
        squares = left.squares + right.squares + shift**2 * (left.rows * right.rows / rows)
        return ResidualMoments(rows, left.means + shift * (right.rows / rows), squares)

    @np.errstate(over="ignore", invalid="ignore")
    def solve(self, summary: ResidualMoments, intercept: bool) -> Spread:
        """Means (0 without an intercept) and mean squares about them."""
        variances = summary.squares / summary.rows
        if intercept:
            return Spread(summary.means, variances)
        return Spread(np.zeros_like(summary.means), variances + summary.means**2)


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


@dataclass(frozen=True, slots=True)
class Mad:
    r"""Median absolute deviation of the residuals from their median.

    .. math:: \hat s = 1.4826 \cdot \mathrm{median}_k |r_k - \mathrm{median}\, r|

    With an intercept, the median is the location; without, the location is 0 and the scale is
    still taken about the median, as in the paper.
    """

    name = "mad"
    kept_values = 1.0

    def summarize(
        self, rows: Rows, families: Families, coefficients: FloatArray
    ) -> tuple[FloatArray, ...]:
        """The residuals themselves, (families, rows)."""
        return (kernels.residuals(rows, families, coefficients),)

    def merge(
        self, left: tuple[FloatArray, ...], right: tuple[FloatArray, ...]
    ) -> tuple[FloatArray, ...]:
        """Residuals of both."""
        return left + right

    def solve(self, summary: tuple[FloatArray, ...], intercept: bool) -> Spread:
        """Medians (0 without an intercept) and squared scales."""
        medians, deviations = kernels.joined_spreads(list(summary))
        return mad_spread(medians, deviations, intercept)


def mad_spread(medians: FloatArray, deviations: FloatArray, intercept: bool) -> Spread:
    """Location (0 without an intercept) and variance from medians and median deviations."""
    locations = medians if intercept else np.zeros_like(medians)
    return Spread(locations, (NORMAL_MAD * deviations) ** 2)
