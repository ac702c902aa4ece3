"""Cutoffs: how many standard deviations from its equation a value may lie before it is rejected.

`Tail.cutoff` is the cutoff of the robust method: the rule of Benjamini and Hochberg, behind a gate
that a clean sample seldom opens. `Tail.widened` replaces it by the Bonferroni cutoff where only
gross errors are wrong. `trimming` applies both to the residuals of a node, again and again until
the rejected rows no longer change. The compiled kernels hold the same rules in C.

The first half of the module is what both are made of: tail probabilities and quantiles of the
normal, Student t and chi-square distributions."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gaussnet.types import FloatArray, IntArray

UNTRUNCATED = 8.0
"""To truncate a normal distribution beyond so many standard deviations changes no float64."""

SMALLEST_CUTOFF = 2.0

FAMILY_LEVEL = 0.05
"""Probability that a clean sample has a value beyond the Bonferroni cutoff."""

BAND_SLACK = (2.0, 4.0)
"""The band between two cutoffs is contaminated if it has so many standard deviations more values
than expected: if some of what is wrong lies close beyond the band, and if all of it lies far."""

CLOSE = 2.0
"""Close are values up to so many times the Bonferroni cutoff."""

CLOSE_BY_CHANCE = 0.1
"""Share of the values beyond the band that may be close by chance."""


def truncated_variance(limit: float) -> float:
    r"""Variance of a standard normal value given that it lies within +-limit.

    .. math:: \kappa(t) = 1 - \frac{2 t \varphi(t)}{2 \Phi(t) - 1}

    Examples
    --------
    >>> round(truncated_variance(2.0), 4), truncated_variance(math.inf)
    (0.7737, 1.0)
    """
    from scipy.special import ndtr  # slow to import

    if limit > UNTRUNCATED:
        return 1.0
    density = math.exp(-0.5 * limit * limit) / math.sqrt(2.0 * math.pi)
    return 1.0 - 2.0 * limit * density / (2.0 * float(ndtr(limit)) - 1.0)


def student_tail(deviations: FloatArray, freedom: float) -> FloatArray:
    r"""Probability that a Student t value is farther from 0, by Wallace's formula.

    .. math:: 2 \Phi\left(-\frac{8\nu + 1}{8\nu + 3}
              \sqrt{\nu \log(1 + z^2 / \nu)}\right)

    Examples
    --------
    >>> student_tail(np.array([1.96, 5.0]), 1e6).round(6).tolist()
    [0.049996, 1e-06]
    """
    from scipy.special import ndtr  # slow to import

    root = np.sqrt(freedom * np.log1p(deviations * deviations / freedom))
    tail: FloatArray = 2.0 * ndtr(-root * ((8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)))
    return tail


def normal_tail(limit: float) -> float:
    """Probability that a standard normal value lies beyond +-limit.

    Examples
    --------
    >>> round(normal_tail(3.0), 5)
    0.0027
    """
    from scipy.special import ndtr  # slow to import

    return 2.0 * float(ndtr(-limit))


def normal_quantile(level: float) -> float:
    """The limit that a standard normal value exceeds, on either side, with this probability.

    Examples
    --------
    >>> round(normal_quantile(0.05), 3)
    1.96
    """
    from scipy.special import ndtri  # slow to import

    return -float(ndtri(0.5 * level))


@lru_cache
def bonferroni_cutoff(count: int) -> float:
    """The limit that any of `count` clean values exceeds with probability 0.05.

    Examples
    --------
    >>> round(bonferroni_cutoff(1000), 2)
    4.06
    """
    return normal_quantile(FAMILY_LEVEL / count)


@lru_cache
def chi_square_quantile(level: float, freedom: int) -> float:
    """The value that a chi-square variable exceeds with this probability; infinite for 0 degrees.

    Examples
    --------
    >>> round(chi_square_quantile(0.01, 1), 3), chi_square_quantile(0.01, 0)
    (6.635, inf)
    """
    from scipy.special import chdtri  # slow to import

    return float(chdtri(freedom, level)) if freedom else math.inf


def chi_square_quantiles(level: float, freedom: IntArray) -> FloatArray:
    """The quantiles for several degrees of freedom, (count,) -> (count,)."""
    most = int(freedom.max(initial=0))
    return np.array([chi_square_quantile(level, each) for each in range(most + 1)]).take(freedom)


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The large ones among absolute deviations from an equation, in standard deviations."""

    count: int
    """How many deviations there are, large and small."""
    values: FloatArray
    """The large ones, largest first."""
    inner_squares: float
    """Sum of the squares of the others."""

    @classmethod
    def of(cls, deviations: FloatArray, limit: float = SMALLEST_CUTOFF) -> "Tail":
        """The tail of these deviations beyond a limit."""
        beyond = deviations > limit
        inner = deviations * ~beyond
        values = np.sort(deviations[np.flatnonzero(beyond)])[::-1]
        return cls(len(deviations), values, float(inner @ inner))

    def cutoff(self, gate_level: float, level: float, freedom: float) -> float:
        """Reject deviations beyond this; infinite if the gate rejects nothing.

        The gate is the rule of Benjamini and Hochberg at `gate_level`. Once it rejects anything,
        the rule at `level` says how many to reject. The cutoff lies between the last that is
        rejected and the first that is not.

        Examples
        --------
        >>> Tail.of(np.array([0.5, 1.0, 2.5])).cutoff(0.01, 0.05, 1e6)
        inf
        >>> round(Tail.of(np.array([0.5, 1.0, 9.0])).cutoff(0.01, 0.05, 1e6), 2)
        2.39
        """
        values = self.values
        expected = student_tail(values, freedom) * self.count
        ranks = np.arange(1, len(values) + 1)
        if not np.any(expected <= gate_level * ranks):
            return math.inf
        rejected = int(np.flatnonzero(expected <= level * ranks)[-1]) + 1
        first_kept = float(values[rejected]) if rejected < len(values) else SMALLEST_CUTOFF
        limit = max(normal_quantile(level * rejected / self.count), first_kept)
        return min(limit, math.nextafter(float(values[rejected - 1]), 0.0))

    def widened(self, limit: float) -> float:
        """The Bonferroni cutoff instead of this one, if the band between looks clean.

        That is, if all that lies up to the Bonferroni cutoff looks like a clean sample: by its
        own scale it has no more values in the band than such a sample has. Then only what lies
        beyond is wrong.
        """
        far = bonferroni_cutoff(self.count)
        if not limit < far or not self.values[0] > far:
            return limit
        near = self.values[self.values <= far]
        beyond = len(self.values) - len(near)
        clean = self.count - beyond
        variance = (self.inner_squares + near @ near) / clean / truncated_variance(far)
        usual = clean * (normal_tail(limit) - normal_tail(far))
        between = np.count_nonzero(near > limit * math.sqrt(variance))
        close = np.count_nonzero(self.values <= CLOSE * far) - len(near)
        slack = BAND_SLACK[int(close <= CLOSE_BY_CHANCE * beyond)]
        return far if between <= usual + slack * math.sqrt(usual) else limit
