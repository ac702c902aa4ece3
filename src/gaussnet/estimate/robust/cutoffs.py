"""How far from its equation a cell may lie: false discovery rates turned into cutoffs."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.estimate.robust.normal import (
    farther_than,
    tail_chance,
    truncated_variance,
    two_sided_point,
)

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
