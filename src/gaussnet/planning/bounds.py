"""Bounds: those of the paper, and what each method is known to reach."""

from dataclasses import dataclass
from math import ceil, expm1, inf, log, log1p, sqrt
from typing import Protocol

from gaussnet.errors import SettingError
from gaussnet.planning.batch_average import BatchAverage
from gaussnet.planning.cauchy_tree import CauchyTree
from gaussnet.planning.least_squares import FEW, LeastSquares
from gaussnet.planning.split_phases import Degrees, Phases
from gaussnet.planning.sums import Law

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


Learner = LeastSquares | BatchAverage | CauchyTree

BY_SUM = "quantile of a sum of independent variables, and Markov's inequality for weak designs"
BY_SHORTFALL = "sum of the nodes' expected shortfalls, which holds for any dependence between nodes"
BY_UNION = "every node within its own exact quantile (union bound)"


@dataclass(frozen=True, slots=True)
class Bound:
    """A value of KL exceeded with probability delta at most, and how it was reached."""

    kl: float
    argument: str


class NodeLaw(Protocol):
    """A learner that knows the law of the KL divergence of one node."""

    def law(self, parents: int, phases: Phases) -> Law:
        """The law of the KL divergence of a node with so many parents."""
        ...


def is_learnable(learner: Learner, degrees: Degrees, phases: Phases) -> bool:
    """Whether every node has rows enough for an answer with a positive variance."""
    for parents, _ in degrees:
        spent = 0 if phases.split else parents
        if phases.first < learner.rows_needed(parents, phases.intercept):
            return False
        if phases.residual_rows - spent < 1:
            return False
    return True


def expected_kl(learner: Learner, degrees: Degrees, phases: Phases) -> float:
    """The expected KL divergence of the network; inf where the rows are too few."""
    if not is_learnable(learner, degrees, phases):
        return inf
    return sum(count * learner.expected(parents, phases) for parents, count in degrees)


def union_bound(learner: Learner, degrees: Degrees, phases: Phases, delta: float) -> Bound:
    """All nodes within their own (1 - delta/n)-quantiles."""
    if not is_learnable(learner, degrees, phases):
        return Bound(inf, BY_UNION)
    if isinstance(learner, CauchyTree):
        return Bound(learner.union_bound(degrees, phases, delta), BY_UNION)
    each = delta / max(sum(count for _, count in degrees), 1)
    quantiles = (
        count * learner.law(parents, phases).exceeded_with(each) for parents, count in degrees
    )
    return Bound(sum(quantiles), BY_UNION)


def best_bound(learner: Learner, degrees: Degrees, phases: Phases, delta: float) -> Bound:
    """The least of the bounds that are proven for the learner."""
    if not is_learnable(learner, degrees, phases):
        return Bound(inf, BY_UNION)
    bounds = []
    if isinstance(learner, LeastSquares):
        bounds.append(Bound(learner.sum_bound(degrees, phases, delta), BY_SUM))
        if _sum_is_best(degrees, phases):
            return bounds[0]
    bounds.append(union_bound(learner, degrees, phases, delta))
    if isinstance(learner, CauchyTree):
        bounds.append(Bound(learner.shortfall_bound(degrees, phases, delta), BY_SHORTFALL))
    else:
        bounds.append(Bound(_shortfalls(learner, degrees, phases, delta), BY_SHORTFALL))
    return min(bounds, key=lambda bound: bound.kl)


def _sum_is_best(degrees: Degrees, phases: Phases) -> bool:
    """Whether there are nodes and rows enough to spare the other bounds, which are larger then."""
    nodes = sum(count for _, count in degrees)
    columns = max((parents for parents, _ in degrees), default=0) + 1
    return nodes >= FEW and min(phases.first, phases.second) >= 20 * columns


def _shortfalls(learner: NodeLaw, degrees: Degrees, phases: Phases, delta: float) -> float:
    return sum(count * learner.law(parents, phases).shortfall(delta) for parents, count in degrees)


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
