r"""What the law of a method is: how the error of a learnt network is distributed.

`MethodLaw` is what `plan` and `certify` ask; each method with a known law has one subclass. Below
it stand the exact results for one node that several laws share. With p parents,
:math:`q = D'MD/s^2` the error of the slopes, :math:`\gamma = s^2/\hat s^2` and E the squared
error of the location over :math:`s^2 (1+q)` (0 without an intercept),

.. math:: 2 KL = \gamma (1 + q)(1 + E) - 1 - \ln \gamma

The distributions of q, gamma and E are free of all parameters; docs/theory.md has the proofs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, log1p
from typing import ClassVar, Self

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.distributions import Crossed, Distribution, Rule, beta_odds, chi_square

BY_SUM = "quantile of a sum of independent variables, and Markov's inequality for weak designs"
BY_SHORTFALL = "sum of the nodes' expected shortfalls, which holds for any dependence between nodes"
BY_UNION = "every node within its own exact quantile (union bound)"


@dataclass(frozen=True, slots=True)
class Phases:
    """Rows of the two phases, and whether the equations have a constant.

    Phase 1 finds coefficients from `first` rows, phase 2 variances from `second` rows; they
    are the same rows unless `split`. Where some of these rows say nothing of the law of the
    parents, because an ancestor was set from outside, `first` are the others.
    """

    first: int
    second: int
    split: bool
    intercept: bool

    @classmethod
    def shared(cls, rows: int, *, intercept: bool) -> "Phases":
        """Both phases on all rows."""
        return cls(rows, rows, False, intercept)

    @property
    def residual_rows(self) -> int:
        """Degrees of freedom of phase 2 before coefficients are paid for."""
        return self.second - self.intercept


@dataclass(frozen=True, slots=True)
class Degrees:
    """The in-degrees of a graph and how many nodes have each, ascending.

    Examples
    --------
    >>> list(Degrees.of(Dag.parse("[a][b][c|a:b]")))
    [(0, 2), (2, 1)]
    """

    counts: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, dag: Dag) -> Self:
        """The in-degrees of this graph."""
        parents, counts = np.unique(dag.in_degrees, return_counts=True)
        return cls(tuple(zip(parents.tolist(), counts.tolist(), strict=True)))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.counts)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(count for _, count in self.counts)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return sum(parents * count for parents, count in self.counts)

    @property
    def with_parents(self) -> int:
        """How many nodes have parents."""
        return sum(count for parents, count in self.counts if parents)

    @property
    def allowances(self) -> int:
        """How many coefficients there are, a node without parents counted as one."""
        return sum(max(parents, 1) * count for parents, count in self.counts)

    @property
    def largest(self) -> int:
        """The largest in-degree; 0 without nodes."""
        return max((parents for parents, _ in self.counts), default=0)

    def require_edges(self) -> None:
        """Refuse a graph without edges, of which the paper's constants say nothing."""
        if not self.edges:
            raise SettingError(
                "got a graph without edges, for which the paper's sample size is 0 rows: "
                "its variance condition leaves nodes without parents out, so use law='exact'"
            )


@dataclass(frozen=True, slots=True)
class Bound:
    """A value of KL exceeded with probability delta at most, and how it was reached."""

    kl: float
    argument: str


class MethodLaw(ABC):
    """What is known of the KL divergence of networks that one method learns from clean rows.

    A new law is one subclass, listed in `gaussnet.planning.settings.LAWS`.
    """

    method: ClassVar[str]
    """The name of the method."""
    resolution: ClassVar[float] = 0.0
    """Smaller probabilities are not known; above 0 for laws that are simulated."""

    @classmethod
    @abstractmethod
    def of(cls, method: object, dag: Dag) -> Self:
        """The law for a method, given by name or as an estimator; refuses what has none."""

    @abstractmethod
    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1 for which there is a law."""

    @abstractmethod
    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node."""

    @abstractmethod
    def sum_of_quantiles(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """A bound on the KL divergence in which every node is within its own quantile."""

    @abstractmethod
    def sum_of_shortfalls(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """A bound on the KL divergence by the expected shortfalls of the nodes."""

    def paper_factors(self, degrees: Degrees, delta: float) -> tuple[float, float]:
        """What the paper's m1 is over 1 / epsilon: printed, corrected."""
        raise SettingError(
            f"the paper gives no constant for method={self.method!r}: use law='exact'"
        )

    def bounds(self, degrees: Degrees, phases: Phases, delta: float) -> Iterator[Bound]:
        """The bounds that are proven for rows enough."""
        yield Bound(self.sum_of_quantiles(degrees, phases, delta), BY_UNION)
        yield Bound(self.sum_of_shortfalls(degrees, phases, delta), BY_SHORTFALL)

    def is_learnable(self, degrees: Degrees, phases: Phases) -> bool:
        """Whether every node has rows enough for an answer with a positive variance."""
        for parents, _ in degrees:
            spent = 0 if phases.split else parents
            if phases.first < self.rows_needed(parents, phases.intercept):
                return False
            if phases.residual_rows - spent < 1:
                return False
        return True

    def expected_kl(self, degrees: Degrees, phases: Phases) -> float:
        """The expected KL divergence of the network; inf where the rows are too few."""
        if not self.is_learnable(degrees, phases):
            return inf
        return sum(count * self.expected(parents, phases) for parents, count in degrees)

    def union_bound(self, degrees: Degrees, phases: Phases, delta: float) -> Bound:
        """All nodes within their own quantiles; inf where the rows are too few."""
        if not self.is_learnable(degrees, phases):
            return Bound(inf, BY_UNION)
        return Bound(self.sum_of_quantiles(degrees, phases, delta), BY_UNION)

    def best_bound(self, degrees: Degrees, phases: Phases, delta: float) -> Bound:
        """The least of the bounds; inf where the rows are too few."""
        if not self.is_learnable(degrees, phases):
            return Bound(inf, BY_UNION)
        return min(self.bounds(degrees, phases, delta), key=lambda bound: bound.kl)

    def by_node(self, classes: "Classes", delta: float) -> tuple[float, Bound]:
        """Expected KL and the least bound where nodes have rows of their own."""
        raise SettingError(
            "some nodes were learnt from fewer rows than others, where a law is known for "
            f"'least-squares' alone, not for {self.method!r}: see fit.uncertainty(), or fit with "
            "missing='drop-rows' for a certificate"
        )


Classes = Sequence[tuple[int, Phases, int]]
"""Nodes that have so many parents and these rows, and how many such nodes there are."""


class NodeLaw(MethodLaw):
    """A law that knows how the KL divergence of each node is distributed."""

    @abstractmethod
    def distribution(self, parents: int, phases: Phases) -> Distribution:
        """The distribution of the KL divergence of one node."""

    def sum_of_quantiles(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The sum of the (1 - delta/n)-quantiles of the n nodes."""
        each = delta / max(degrees.nodes, 1)
        return sum(
            count * self.distribution(parents, phases).exceeded_with(each)
            for parents, count in degrees
        )

    def sum_of_shortfalls(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The sum of the shortfalls of all nodes."""
        return sum(
            count * self.distribution(parents, phases).shortfall(delta)
            for parents, count in degrees
        )


def expected_with_shared_phases(parents: int, phases: Phases, excess: float = 0.0) -> float:
    """E KL of a node, both phases on all rows, by least squares.

    Of another method if q is (1 + excess) times as large and the residuals have p excess degrees
    of freedom more.
    """
    columns, rows = parents + phases.intercept - parents * excess, phases.second
    freedom, left = rows - columns, phases.first - parents - phases.intercept - 1
    if freedom <= 2 or (parents and left <= 0):
        return inf
    location = 1 / phases.first if phases.intercept else 0.0
    slopes = parents * (1 + excess) / left if parents else 0.0
    error = slopes * (1 + location) + location
    return _expected_entropy(rows, columns) + error * rows / (2 * (freedom - 2))


def expected_phase_two(phases: Phases) -> float:
    """E of the part of KL that phase 2 causes, on rows of its own."""
    if phases.residual_rows <= 2:
        return inf
    location = 0.5 / (phases.residual_rows - 2) if phases.intercept else 0.0
    return _expected_entropy(phases.second, int(phases.intercept)) + location


def expected_log_error(parents: int, phases: Phases) -> float:
    """E ln(1 + q) of the slopes of phase 1, where 1 / (1 + q) has a Beta distribution."""
    freedom = slope_freedom(parents, phases)
    if freedom <= 0:
        return inf
    gap = _log_gap((freedom + parents) / 2) - _log_gap(freedom / 2)
    return gap + log1p(parents / freedom)


def slope_freedom(parents: int, phases: Phases) -> int:
    """Degrees of freedom below the fraction of which q is made."""
    return phases.first - phases.intercept - parents + 1


def slope_error(parents: int, phases: Phases, panels: int) -> Rule:
    """The rule of q: chi2(p) / chi2(m - p + 1), with one row less if there is an intercept."""
    return beta_odds(parents, slope_freedom(parents, phases), panels)


def location_error(phases: Phases, panels: int) -> Rule:
    """The rule of E: chi2(1) / m2 with an intercept, else 0."""
    rule = chi_square(int(phases.intercept), panels)
    return Rule(rule.points / phases.second, rule.masses)


def inflated(error: Rule, location: Rule) -> Rule:
    """The rule of (1 + q)(1 + E) - 1."""
    values = error.points[:, None] * (1 + location.points) + location.points
    masses = np.outer(error.masses, location.masses)
    return Rule(values.ravel(), masses.ravel()).condensed(256)


@lru_cache(maxsize=64)
def precision(freedom: float, rows: int, panels: int) -> Rule:
    """The rule of gamma: m / chi2(freedom)."""
    rule = chi_square(freedom, panels, inverse=True)
    return Rule(rows / rule.points, rule.masses)


def divergences(gamma: Rule, inflation: Rule, *, heavy: bool = False) -> Crossed:
    """(gamma (1 + inflation) - 1 - ln gamma) / 2, without loss of digits near gamma = 1."""
    excess = gamma.points - 1
    starts = 0.5 * (excess - np.log1p(excess))
    return Crossed(starts, 0.5 * gamma.points, gamma.masses, inflation, heavy)


@lru_cache(maxsize=16)
def phase_two_part(phases: Phases) -> Crossed:
    r"""The law of :math:`(\gamma (1 + E) - 1 - \ln \gamma)/2`, phase 2 having its own rows."""
    gamma = precision(phases.residual_rows, phases.second, 128 if phases.intercept else 512)
    location = location_error(phases, panels=48)
    return divergences(gamma, location, heavy=phases.residual_rows <= 2)


def split_distribution(phases: Phases, error: Rule) -> Distribution:
    r"""The distribution of KL with split phases: phase 2 alone, plus :math:`\ln(1+q)/2`."""
    alone = phase_two_part(phases)
    if not error.points.any():
        return alone
    parts = Rule(alone.values, alone.masses).condensed(256)
    values = parts.points[:, None] + 0.5 * np.log1p(error.points)
    masses = np.outer(parts.masses, error.masses)
    return Distribution(values.ravel(), masses.ravel(), heavy=alone.heavy)


def _expected_entropy(rows: int, columns: float) -> float:
    """E (g - 1 - ln g) / 2 for g = m / chi2(m - columns), without loss of digits."""
    freedom = rows - columns
    excess = (columns + 2) / (freedom - 2)
    return 0.5 * (excess + log1p(-columns / rows) + _log_gap(freedom / 2))


def _log_gap(x: float) -> float:
    """digamma(x) - ln x, by its series where the difference would lose digits."""
    from scipy.special import digamma

    if x > 1e3:
        return -1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)
    return float(digamma(x)) - log(x)
