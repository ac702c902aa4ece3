"""Confidence intervals of medians from order statistics."""

import math
from typing import NamedTuple

import numpy as np

from gaussnet.types import FloatArray

USUAL = 0.95
"""The level whose interval a median's standard error is read from."""


class MedianLaw(NamedTuple):
    """Medians of rows of values and how sure they are, (rows,) each."""

    medians: FloatArray
    errors: FloatArray
    low: FloatArray
    """Distance from the median down to the lower end of the interval."""
    high: FloatArray
    """Distance up to the upper end."""


def median_law(values: FloatArray, level: float, effective: FloatArray | None = None) -> MedianLaw:
    """Medians of sorted rows (rows, count), their standard errors and intervals.

    `effective` says how many independent values each row is worth, by default all. The
    standard error is that of a normal variable whose 95 % interval has the same width.
    """
    from scipy.special import ndtri  # slow to import

    count, usual_width = values.shape[1], 2.0 * float(ndtri(0.5 + 0.5 * USUAL))
    worth = np.full(len(values), float(count)) if effective is None else effective
    medians = order_statistic(values, np.full(len(values), 0.5))
    low, high = (order_statistic(values, share) for share in median_shares(worth, level))
    usual = [order_statistic(values, share) for share in median_shares(worth, USUAL)]
    return MedianLaw(medians, (usual[1] - usual[0]) / usual_width, medians - low, high - medians)


def median_shares(count: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    r"""Shares of the sample between whose order statistics the median lies, at this level.

    The median lies above the r-th of k order statistics with the chance that a
    Beta(r, k + 1 - r) variable is below 1/2. Between the ranks r and r + 1 that enclose the
    level, the interpolation of Hettmansperger and Sheather is used, which is almost free of
    the values' law. NaN where even the extremes do not reach the level.

    Examples
    --------
    >>> low, _ = median_shares(np.array([5.0, 100.0]), 0.95)
    >>> (low * 101).round(1).tolist()
    [nan, 40.8]
    """
    target = 0.5 + 0.5 * level
    rank = _lower_rank(count, target)
    certain, unsure = _chance(rank, count), _chance(rank + 1.0, count)
    part = (certain - target) / (certain - unsure)
    part = (count - rank) * part / (rank + (count - 2.0 * rank) * part)
    share = np.where(certain >= target, (rank + part) / (count + 1.0), np.nan)
    return share, 1.0 - share


def _chance(rank: FloatArray, count: FloatArray) -> FloatArray:
    """Chance that the median lies above the order statistic of this rank."""
    from scipy.special import betainc  # slow to import

    return np.asarray(betainc(rank, np.maximum(count + 1.0 - rank, 0.5), 0.5))


def _lower_rank(count: FloatArray, target: float) -> FloatArray:
    """The largest whole rank that the median lies above with this chance, at least 1."""
    least, most = np.ones_like(count), np.maximum(np.floor(0.5 * (count + 1.0)), 1.0)
    for _ in range(64):
        middle = np.floor(0.5 * (least + most + 1.0))
        above = _chance(middle, count) >= target
        least, most = np.where(above, middle, least), np.where(above, most, middle - 1.0)
        if (most <= least).all():
            break
    return least


def order_statistic(values: FloatArray, share: FloatArray) -> FloatArray:
    """The order statistic number share * (count + 1) of each sorted row, interpolated.

    Examples
    --------
    >>> order_statistic(np.array([[1.0, 2.0, 4.0]]), np.array([0.5])).tolist()
    [2.0]
    """
    count = values.shape[1]
    known = ~np.isnan(share)
    position = np.clip(np.where(known, share, 0.5) * (count + 1.0) - 1.0, 0.0, count - 1.0)
    lower = np.minimum(np.floor(position).astype(np.int64), max(count - 2, 0))
    upper = np.minimum(lower + 1, count - 1)
    each = np.arange(len(values))
    part = position - lower
    found = (1.0 - part) * values[each, lower] + part * values[each, upper]
    return np.where(known, found, np.nan)


def fewest_values(level: float) -> int:
    """The fewest values whose extremes hold the median with this chance, and with 95 %.

    Examples
    --------
    >>> fewest_values(0.95), fewest_values(0.99)
    (6, 8)
    """
    return math.ceil(math.log2(2.0 / (1.0 - max(level, USUAL))))
