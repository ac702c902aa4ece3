"""Medians as passes over a stream give them, and where a median must be that a pass missed."""

from typing import NamedTuple, TypeAlias

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Low and high ends of brackets, (coefficients,) each."""

UNLIKELY = 1e-9
"""Probability that a stated rank error is exceeded."""


class Medians(NamedTuple):
    """Medians of each coefficient, (coefficients,) each; used counts values that are not NaN.

    Where `proven` holds the median is exact and its rank error 0. Elsewhere it is a guess, and
    the share of values below it is off by less than `rank_errors` / `used`: for any one stream,
    but for a probability of 1e-9 over the places that the sample is drawn at.
    """

    values: FloatArray
    used: IntArray
    proven: BoolArray
    rank_errors: IntArray


class Regions(NamedTuple):
    """For each missed coefficient: ends that its middle value lies between, both included.

    Its rank, from 0, is among the `counts` values there; `guides` are some of them, sorted.
    """

    chosen: IntArray
    lows: FloatArray
    highs: FloatArray
    counts: IntArray
    ranks: IntArray
    guides: list[FloatArray]

    def guess(self, place: int) -> tuple[float, int]:
        """A value near the middle of a missed coefficient, and a bound on its rank error."""
        guides, count = self.guides[place], int(self.counts[place])
        if not len(guides):
            ends = np.array([self.lows[place], self.highs[place]])
            finite = ends[np.isfinite(ends)]
            return (float(finite[0]) if len(finite) else np.nan), count
        share = (int(self.ranks[place]) + 0.5) / count
        error = np.sqrt(np.log(2.0 / UNLIKELY) / (2.0 * len(guides))) + 1.0 / len(guides)
        value = guides[min(int(share * len(guides)), len(guides) - 1)]
        return float(value), min(int(np.ceil(error * count)), count)


def middle_ranks(used: IntArray) -> tuple[IntArray, IntArray]:
    """Ranks, from 0, of the two values whose mean is the median; one and the same if odd."""
    return np.maximum(used - 1, 0) // 2, used // 2


def mean_of_middle(lower: float, upper: float, used: int) -> float:
    """The median from its two middle values; `upper` alone if the number of values is odd.

    Examples
    --------
    >>> mean_of_middle(1.0, 2.0, 4), mean_of_middle(1.0, 1.0, 3)
    (1.5, 1.0)
    """
    # A sum with 0.0 makes -0.0 positive, so that no order of equal zeros can show.
    return (upper if used % 2 else 0.5 * lower + 0.5 * upper) + 0.0
