r"""What the repetitions of a bootstrap say: standard errors, intervals and p-values.

An interval ends at the quantiles :math:`\Phi(b \pm z)` of the repetitions, with b twice the normal
quantile of the share below the estimate. The p-value is that of the z for which one end is 0, so
that it is below 1 - level if and only if the interval excludes 0.
"""

import math
from typing import NamedTuple

import numpy as np

from gaussnet.methods.standard_errors.order_statistics import order_statistic
from gaussnet.tails import LeastPValue
from gaussnet.types import FloatArray, IntArray

WORDS = "p-values: two-sided shares of the repetitions beyond 0"
"""Where p-values come from, beside errors of the bootstrap."""
RUINED = 2.0
"""The standard deviation of the repetitions is not used if it exceeds that of their middle so."""
MIDDLE = 0.8413447460685429
"""The share of a normal law below one standard deviation above its mean."""
FEWEST = 20
"""Repetitions below which standard errors mean nothing."""
FAR = 5.0
"""Repetitions farther from the median than so many standard errors lie far from the others."""


class BootstrapErrors(NamedTuple):
    """What the repetitions say of each parameter, (values,) each."""

    errors: FloatArray
    low: FloatArray
    high: FloatArray
    p_values: FloatArray
    """Two-sided; at least 2 / (repetitions + 1). NaN where all repetitions are 0."""
    far: IntArray
    """Repetitions far from the others where the error is from quantiles of them; else 0."""
    repetitions: int

    @property
    def table(self) -> FloatArray:
        """Standard error, low and high, (3, values)."""
        return np.stack((self.errors, self.low, self.high))

    @property
    def note(self) -> str | None:
        """That some repetitions lie far from the others, if that changed standard errors."""
        return far_words(int(self.far.max(initial=0)), self.repetitions)


def far_words(far: int, repetitions: int) -> str | None:
    """The sentence on so many repetitions that lie far from the others; None for none.

    Examples
    --------
    >>> far_words(3, 200)
    '3 of 200 repetitions lie far from the others: standard errors are from their quantiles'
    """
    if not far:
        return None
    lie = "lies" if far == 1 else "lie"
    return (
        f"{far} of {repetitions} repetitions {lie} far from the others: standard errors are from "
        "their quantiles"
    )


def percentiles(
    found: FloatArray, estimates: FloatArray, level: float, by_order: bool
) -> BootstrapErrors:
    """Standard errors, percentiles and p-values from (repetitions, values).

    Examples
    --------
    >>> drawn = np.append(np.linspace(0.9, 1.1, 99), 40.0)[:, None]
    >>> one = percentiles(drawn, np.array([1.0]), 0.95, False)
    >>> one.errors.round(2).tolist(), one.p_values.round(3).tolist(), one.far.tolist()
    ([0.07], [0.02], [1])
    """
    from scipy.special import ndtr, ndtri  # slow to import

    point = float(ndtri(0.5 + 0.5 * level))
    ordered = np.sort(found, axis=0).T
    shift, move = np.zeros(len(estimates)), np.zeros(len(estimates))
    if by_order:
        move = estimates - np.median(found, axis=0)
    else:
        below = (found < estimates).mean(axis=0) + 0.5 * (found == estimates).mean(axis=0)
        shift = 2.0 * ndtri(np.clip(below, 0.5 / len(found), 1.0 - 0.5 / len(found)))
    low, high = (
        order_statistic(ordered, ndtr(shift + side * point)) + move for side in (-1.0, 1.0)
    )
    errors, far = _errors(found, ordered)
    return BootstrapErrors(
        errors, low, high, _p_values(ordered + move[:, None], shift), far, len(found)
    )


def _p_values(ordered: FloatArray, shift: FloatArray) -> FloatArray:
    """Two-sided p-values that parameters are 0, of sorted repetitions (values, repetitions)."""
    from scipy.special import ndtr, ndtri  # slow to import

    count = ordered.shape[1]
    shares = np.arange(1.0, count + 1.0) / (count + 1.0)
    at_zero = np.array([np.interp(0.0, own, shares) for own in ordered])
    found = 2.0 * ndtr(-np.abs(ndtri(at_zero) - shift))
    beyond = (ordered[:, 0] > 0.0) | (ordered[:, -1] < 0.0)
    least = least_p_value(count)
    found = np.where(beyond, least, np.clip(found, least, 1.0))
    is_zero = (ordered[:, 0] == 0.0) & (ordered[:, -1] == 0.0)
    return np.where(is_zero | np.isnan(ordered).any(axis=1), np.nan, found)


def least_p_value(repetitions: int) -> float:
    """The least p-value that so many repetitions can tell of: none of them lies beyond 0.

    Examples
    --------
    >>> round(least_p_value(199), 6)
    0.01
    """
    return 2.0 / (repetitions + 1.0)


def fewest_repetitions(level: float) -> int:
    r"""Repetitions that an interval of this level needs: its ends lie among them.

    .. math:: \frac{1 - level}{2} (B + 1) \ge 1

    Examples
    --------
    >>> fewest_repetitions(0.95), fewest_repetitions(0.5)
    (39, 20)
    """
    needed = 2.0 / (1.0 - level) - 1.0
    return max(FEWEST, math.ceil(needed * (1.0 - 1e-9)))  # 2 / (1 - 0.95) is 40 but for rounding


def shown_p_values(p_values: FloatArray, repetitions: int | None) -> list[float]:
    """P-values for a table; of those of repetitions the least are written as below it."""
    least = -1.0 if repetitions is None else least_p_value(repetitions)
    return [LeastPValue(value) if value <= least else value for value in p_values.tolist()]


def _errors(found: FloatArray, ordered: FloatArray) -> tuple[FloatArray, IntArray]:
    """Standard errors, and how many repetitions lie far from the others where these matter.

    The standard deviation, unless it exceeds half the width of the middle 68 % twice or more: then
    a few repetitions make it, and the half width stands in its place.
    """
    deviations = _deviations(found)
    ends = [order_statistic(ordered, np.full(len(ordered), p)) for p in (1.0 - MIDDLE, MIDDLE)]
    middle = 0.5 * (ends[1] - ends[0])
    is_ruined = (middle > 0.0) & (deviations > RUINED * middle)
    distances = np.abs(ordered - np.median(ordered, axis=1, keepdims=True))
    far = np.count_nonzero(distances > FAR * middle[:, None], axis=1)
    return np.where(is_ruined, middle, deviations), np.where(is_ruined, far, 0)


def variance_ends(
    found: FloatArray, estimates: FloatArray, level: float, by_order: bool
) -> FloatArray:
    r"""Ends of intervals of variances from repetitions (repetitions, values), (2, values).

    .. math:: \hat s^2 \cdot c / q_{1 - \alpha/2} \quad \text{to} \quad
              \hat s^2 \cdot c / q_{\alpha/2}

    with q the quantiles of the repetitions and c the estimate or, `by_order`, the repetitions'
    median: the ratio of a repetition to c is taken as that of the estimate to the truth. A scale
    moves by factors, so the logarithm is where an interval may be reflected; an end is never
    negative, and the estimate's own bias cancels. Where the lower quantile is 0 the ends are the
    quantiles themselves.
    """
    tail = 0.5 - 0.5 * level
    ordered = np.sort(found, axis=0).T
    low, high = (order_statistic(ordered, np.full(len(ordered), p)) for p in (tail, 1.0 - tail))
    centres = np.median(found, axis=0) if by_order else estimates
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack((estimates * (centres / high), estimates * (centres / low)))
    return np.where(low > 0.0, ends, np.stack((low, high)))


def _deviations(found: FloatArray) -> FloatArray:
    """Standard deviations of the columns, in units in which their squares are numbers too."""
    units = np.frexp(np.abs(found).max(axis=0))[1]
    return np.asarray(np.ldexp(np.ldexp(found, -units).std(axis=0, ddof=1), units))
