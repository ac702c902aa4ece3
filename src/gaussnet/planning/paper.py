"""The sample sizes of the paper, as printed and with its constants put right."""

from dataclasses import dataclass
from math import ceil, log, sqrt

from gaussnet.errors import SettingError
from gaussnet.planning.phases import Degrees

LARGEST_EPSILON = 3 - 2 * sqrt(2)
"""The paper's variance lemma needs epsilon at most this."""


@dataclass(frozen=True, slots=True)
class PaperSizes:
    r"""Rows of the two phases for KL <= 3 epsilon with probability 1 - delta.

    `m1` and `m2` are the paper's, with E edges and n nodes: for least squares
    :math:`m_1 = 32 (E/\epsilon) \ln(3n/\delta)`, for the Cauchy medians of a polytree
    :math:`m_1 = 8 (E d/\epsilon) \ln(2n/\delta)`, and
    :math:`m_2 = 32 (E/\epsilon) \ln(2n/\delta)`. Where its corollary prints
    :math:`\ln(2/\delta)` for the last, `m2_printed` keeps that.

    The corrected sizes follow the paper's own proofs to the letter: 128 for 32 in least
    squares, the union over the coordinates of a node, delta shared by the two phases, and an
    allowance for the variances of nodes without parents, to which the paper gives none. See
    docs/theory.md.
    """

    epsilon: float
    m1: int
    m2: int
    m2_printed: int
    m1_corrected: int
    m2_corrected: int

    @property
    def rows(self) -> int:
        """m1 + m2."""
        return self.m1 + self.m2

    @property
    def rows_corrected(self) -> int:
        """m1 + m2 with the constants put right."""
        return self.m1_corrected + self.m2_corrected


def paper_sizes(degrees: Degrees, kl: float, delta: float, *, cauchy: bool = False) -> PaperSizes:
    """The paper's rows for a KL divergence.

    Examples
    --------
    >>> paper_sizes(((0, 50), (5, 50)), kl=0.02, delta=0.05).rows
    20392278
    """
    epsilon = min(kl / 3, LARGEST_EPSILON)
    printed, corrected = _factors(degrees, delta, cauchy)
    m1, m2 = (ceil(factor / epsilon) for factor in printed)
    m1_corrected, m2_corrected = (ceil(factor / epsilon) for factor in corrected)
    edges = sum(parents * count for parents, count in degrees)
    m2_printed = ceil(32 * edges / epsilon * log(2 / delta))
    return PaperSizes(epsilon, m1, m2, m2_printed, m1_corrected, m2_corrected)


def paper_kl(degrees: Degrees, rows: int, delta: float, *, cauchy: bool = False) -> float:
    """The KL divergence that the paper's constants promise for so many rows in all.

    Infinite where epsilon would be larger than its proof allows.
    """
    epsilon = sum(_factors(degrees, delta, cauchy)[0]) / rows
    return 3 * epsilon if epsilon <= LARGEST_EPSILON else float("inf")


def _factors(
    degrees: Degrees, delta: float, cauchy: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What m1 and m2 are over 1 / epsilon: printed, corrected."""
    nodes = sum(count for _, count in degrees)
    edges = sum(parents * count for parents, count in degrees)
    if edges == 0:
        raise SettingError(
            "got a graph without edges, for which the paper's sample size is 0 rows: "
            "its variance condition leaves nodes without parents out, so use law='exact'"
        )
    largest = max(parents for parents, _ in degrees)
    shares = sum(max(parents, 1) * count for parents, count in degrees)
    half = delta / 2
    if cauchy:
        first = 8 * edges * largest * log(2 * nodes / delta)
        first_corrected = 8 * shares * largest * log(2 * edges / half)
    else:
        first = 32 * edges * log(3 * nodes / delta)
        first_corrected = 128 * shares * log(3 * nodes * largest / half)
    second = 32 * edges * log(2 * nodes / delta)
    return (first, second), (first_corrected, 32 * shares * log(2 * nodes / half))
