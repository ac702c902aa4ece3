"""Targets: the rows that the paper asks for, and total variation from KL divergence and back."""

from dataclasses import dataclass
from math import ceil, expm1, inf, log, log1p, sqrt

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.laws import Degrees, MethodLaw

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


def paper_sizes(law: MethodLaw, degrees: Degrees, kl: float, delta: float) -> PaperSizes:
    """The paper's rows for a KL divergence.

    Examples
    --------
    >>> from gaussnet.planning.least_squares import LeastSquaresLaw
    >>> paper_sizes(LeastSquaresLaw(), Degrees(((0, 50), (5, 50))), kl=0.02, delta=0.05).rows
    20392278
    """
    epsilon = min(kl / 3, LARGEST_EPSILON)
    printed, corrected = _factors(law, degrees, delta)
    m1, m2 = (ceil(factor / epsilon) for factor in printed)
    m1_corrected, m2_corrected = (ceil(factor / epsilon) for factor in corrected)
    m2_printed = ceil(32 * degrees.edges / epsilon * log(2 / delta))
    return PaperSizes(epsilon, m1, m2, m2_printed, m1_corrected, m2_corrected)


def paper_kl(law: MethodLaw, degrees: Degrees, rows: int, delta: float) -> float:
    """The KL divergence that the paper's constants promise for so many rows in all.

    Infinite where epsilon would be larger than its proof allows.
    """
    epsilon = sum(_factors(law, degrees, delta)[0]) / rows
    return 3 * epsilon if epsilon <= LARGEST_EPSILON else inf


def _factors(
    law: MethodLaw, degrees: Degrees, delta: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What m1 and m2 are over 1 / epsilon: printed, corrected."""
    first, first_corrected = law.paper_factors(degrees, delta)
    second = 32 * degrees.edges * log(2 * degrees.nodes / delta)
    second_corrected = 32 * degrees.allowances * log(2 * degrees.nodes / (delta / 2))
    return (first, second), (first_corrected, second_corrected)


def information_limit(dag: Dag, rows: float, *, intercept: bool) -> float:
    """Expected KL divergence of the best estimator as rows grow: parameters / (2 rows).

    There are a coefficient for each edge and a variance, perhaps an intercept, for each node.

    Examples
    --------
    >>> information_limit(Dag.parse("wet ~ rain"), 100, intercept=True)
    0.025
    """
    return (len(dag.edges) + len(dag) * (1 + intercept)) / (2 * rows)


def tv_bound(kl: float) -> float:
    r"""The largest total variation that a KL divergence allows, by the better of two bounds.

    .. math:: TV \le \min\{\sqrt{KL/2},\ \sqrt{1 - e^{-KL}}\}

    The first is Pinsker's, the second Bretagnolle and Huber's, better above KL = 1.59.

    Examples
    --------
    >>> tv_bound(0.02), round(tv_bound(3.0), 3)
    (0.1, 0.975)
    """
    if kl == inf:
        return 1.0
    return min(sqrt(kl / 2), sqrt(-expm1(-kl)))


def kl_for_tv(tv: float) -> float:
    """The largest KL divergence that guarantees a total variation.

    Examples
    --------
    >>> round(kl_for_tv(0.1), 12), round(kl_for_tv(0.99), 3)
    (0.02, 3.917)
    """
    return max(2 * tv * tv, -log1p(-tv * tv))


def target_kl(tv: float | None, kl: float | None) -> float:
    """The KL divergence asked for, by exactly one of `tv` and `kl`."""
    if (tv is None) == (kl is None):
        raise SettingError(
            f"got tv={tv!r} and kl={kl!r}, expected exactly one of them: "
            "give tv=0.1 or kl=0.02, for example"
        )
    if tv is not None:
        if not 0.0 < tv < 1.0:
            raise SettingError(
                f"got tv={tv!r}, expected a number between 0 and 1: a total variation of 1 or "
                "more asks for nothing"
            )
        return kl_for_tv(tv)
    if kl is None or not 0.0 < kl < inf:
        raise SettingError(f"got kl={kl!r}, expected a positive finite number")
    return kl
