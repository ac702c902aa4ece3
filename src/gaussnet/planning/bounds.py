"""From laws of single nodes to promises for a whole network."""

from dataclasses import dataclass
from math import inf
from typing import Protocol

from gaussnet.planning.batch_average import BatchAverage
from gaussnet.planning.cauchy_tree import CauchyTree
from gaussnet.planning.least_squares import FEW, LeastSquares
from gaussnet.planning.phases import Degrees, Phases
from gaussnet.planning.sums import Law

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
