"""The normal law, cut at a number of standard deviations, and the cutoffs of residuals."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtr, ndtri

from gaussnet.types import FloatArray, IntArray

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


SMALLEST_CUTOFF = 2.0

FAMILY_LEVEL = 0.05
"""Chance that a clean sample has a value beyond the Bonferroni point."""

BAND_SLACK = (2.0, 4.0)
"""So many standard deviations more than expected, and a band of the tail is contaminated: if some
of what is wrong lies not far beyond the band, and if all of it does."""

NOT_FAR = 2.0
"""Up to so many times the Bonferroni point."""

FEW = 0.1
"""Share of the wrong values that may lie not far beyond the band by chance."""


@lru_cache
def bonferroni_point(count: int) -> float:
    """The deviation that any of `count` clean values exceeds with chance 0.05.

    Examples
    --------
    >>> round(bonferroni_point(1000), 2)
    4.06
    """
    return two_sided_point(FAMILY_LEVEL / count)


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The large ones among absolute deviations from an equation, in standard deviations."""

    count: int
    """How many deviations there are, large and small."""
    values: FloatArray
    """Those beyond the smallest cutoff, largest first."""
    body: float
    """Sum of the squares of the others."""

    @classmethod
    def of(cls, deviations: FloatArray) -> "Tail":
        """The tail of these deviations."""
        beyond = deviations > SMALLEST_CUTOFF
        body = deviations * ~beyond
        values = np.sort(deviations[np.flatnonzero(beyond)])[::-1]
        return cls(len(deviations), values, float(body @ body))

    def cutoff(self, gate_level: float, level: float, freedom: float) -> float:
        """Reject deviations beyond this; infinite if the gate rejects nothing.

        Behind the gate the rule of Benjamini and Hochberg at `level` says how many to reject.
        The cutoff lies between the last that is rejected and the first that is not.

        Examples
        --------
        >>> Tail.of(np.array([0.5, 1.0, 2.5])).cutoff(0.01, 0.05, 1e6)
        inf
        >>> round(Tail.of(np.array([0.5, 1.0, 9.0])).cutoff(0.01, 0.05, 1e6), 2)
        2.39
        """
        values = self.values
        expected = tail_chance(values, freedom) * self.count
        places = np.arange(1, len(values) + 1)
        if not np.any(expected <= gate_level * places):
            return math.inf
        rejected = int(np.flatnonzero(expected <= level * places)[-1]) + 1
        first_kept = float(values[rejected]) if rejected < len(values) else SMALLEST_CUTOFF
        limit = max(two_sided_point(level * rejected / self.count), first_kept)
        return min(limit, math.nextafter(float(values[rejected - 1]), 0.0))

    def with_band(self, limit: float) -> float:
        """The Bonferroni point instead of the cutoff, if nothing speaks against the band between.

        That is, if all that lies up to that point looks like a clean sample: measured by the
        scale of its own, it has no more values in the band than such a sample has. Then only
        what lies beyond is wrong.
        """
        far = bonferroni_point(self.count)
        if not limit < far or not self.values[0] > far:
            return limit
        near = self.values[self.values <= far]
        clean = self.count - len(self.values) + len(near)
        variance = (self.body + near @ near) / clean / truncated_variance(far)
        usual = clean * (farther_than(limit) - farther_than(far))
        between = np.count_nonzero(near > limit * math.sqrt(variance))
        beyond = len(self.values) - len(near)
        close = np.count_nonzero(self.values <= NOT_FAR * far) - len(near)
        slack = BAND_SLACK[int(close <= FEW * beyond)]
        return far if between <= usual + slack * math.sqrt(usual) else limit
