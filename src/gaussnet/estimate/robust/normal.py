"""The few facts about the normal law that trimming rests on."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtr, ndtri

from gaussnet._types import FloatArray, IntArray

BEYOND_DOUBT = 8.0
"""Past so many standard deviations the normal law leaves nothing that a float64 can see."""


def truncated_variance(limit: float) -> float:
    r"""Variance of a standard normal value given that it lies within +-limit.

    .. math:: \kappa(t) = 1 - \frac{2 t \varphi(t)}{2 \Phi(t) - 1}

    Examples
    --------
    >>> round(truncated_variance(2.0), 4), truncated_variance(math.inf)
    (0.7737, 1.0)
    """
    if limit > BEYOND_DOUBT:
        return 1.0
    density = math.exp(-0.5 * limit * limit) / math.sqrt(2.0 * math.pi)
    return 1.0 - 2.0 * limit * density / (2.0 * float(ndtr(limit)) - 1.0)


def tail_chance(deviations: FloatArray, freedom: float) -> FloatArray:
    r"""Chance that a Student t value of this freedom is farther from 0, by Wallace's formula.

    .. math:: 2 \Phi\left(-\frac{8\nu + 1}{8\nu + 3}
              \sqrt{\nu \log(1 + z^2 / \nu)}\right)

    Examples
    --------
    >>> tail_chance(np.array([1.96, 5.0]), 1e6).round(6).tolist()
    [0.049996, 1e-06]
    """
    root = np.sqrt(freedom * np.log1p(deviations * deviations / freedom))
    chance: FloatArray = 2.0 * ndtr(-root * ((8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)))
    return chance


def two_sided_points(levels: FloatArray) -> FloatArray:
    """The deviations that a standard normal value exceeds, on either side, with these chances.

    Examples
    --------
    >>> two_sided_points(np.array([0.05, 0.01])).round(3).tolist()
    [1.96, 2.576]
    """
    return np.asarray(-ndtri(0.5 * levels))


def two_sided_point(level: float) -> float:
    """The deviation that a standard normal value exceeds, on either side, with this chance."""
    return -float(ndtri(0.5 * level))


def farther_than(limit: float) -> float:
    """Chance that a standard normal value lies beyond +-limit.

    Examples
    --------
    >>> round(farther_than(3.0), 5)
    0.0027
    """
    return 2.0 * float(ndtr(-limit))


def chi_square_points(level: float, freedom: IntArray) -> FloatArray:
    """The values that chi-square variables exceed with this chance; infinite without freedom.

    Examples
    --------
    >>> chi_square_points(0.01, np.array([0, 1])).round(3).tolist()
    [inf, 6.635]
    """
    return _chi_square_table(level, int(freedom.max(initial=0))).take(freedom)


@lru_cache
def _chi_square_table(level: float, most: int) -> FloatArray:
    """The points for 0 to `most` degrees of freedom."""
    return np.append(np.inf, chdtri(np.arange(1, most + 1), level))
