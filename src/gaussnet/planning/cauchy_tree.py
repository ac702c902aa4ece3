r"""Laws of the medians of Cauchy variables, on polytrees.

With disjoint windows each whitened slope error of a node is the median t of k standard Cauchy
variables, and :math:`1/2 + \arctan(t)/\pi` has a Beta law. The divergence of a node is at most
a node's part, which phase 2 causes, plus :math:`\ln(1 + t^2)/2` for each slope. These parts
depend on each other, so their sum is bounded by quantiles or by shortfalls, which need no
independence. docs/theory.md has the proofs.
"""

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from gaussnet.planning.least_squares import expected_apart, location_error, phase_two_part
from gaussnet.planning.rules import Rule, beta_law, chi_square, gauss_chi_square
from gaussnet.planning.split_phases import Degrees, Phases
from gaussnet.planning.sums import Law
from gaussnet.types import FloatArray

EVENT_SHARE = 0.1
"""The part of delta spent on the event that no singular value is unusually small."""


def median_law(windows: int) -> Rule:
    """The law of |t|, t the median of so many standard Cauchy variables.

    An odd number has one middle variable, whose CDF value is Beta((k+1)/2, (k+1)/2). An even
    one has two: the lower is Beta(k/2, k/2 + 1), and what lies above the upper is the share
    V^(2/k) of what lies above the lower, V uniform; the median is their mean.

    Examples
    --------
    >>> points, masses = median_law(101)
    >>> round(float(points**2 @ masses) * 101 / (np.pi**2 / 4), 2)  # tends to 1
    1.03
    """
    half = windows // 2
    if windows % 2:
        above, masses = beta_law(half + 1, half + 1, panels=256)
        upper_half = above < 0.5
        return Rule(_cotangent(above[upper_half]), 2 * masses[upper_half])
    above, masses = beta_law(half + 1, half, panels=128)
    gaps, shares = gauss_chi_square(2, 16)
    upper = above[:, None] * np.exp(-gaps / windows)
    medians = (_cotangent(above)[:, None] + _cotangent(upper)) / 2
    return Rule(np.abs(medians.ravel()), np.outer(masses, shares).ravel())


@dataclass(frozen=True, slots=True)
class CauchyTree:
    """Medians of the solutions of disjoint square systems, and the mean square."""

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1: one window."""
        return max(parents, 1) + intercept

    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node.

        With split phases exact for one parent, an upper bound for more. With shared phases
        the rows of phase 2 are taken as fresh, which is right to the order 1/m.
        """
        apart = expected_apart(phases)
        if parents == 0 or apart == inf:
            return apart
        return apart + parents * _slope_part(parents, phases).mean

    def union_bound(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """Every node and every slope within its own quantile."""
        nodes = sum(count for _, count in degrees)
        edges = sum(parents * count for parents, count in degrees)
        left, event = _shares(degrees, phases, delta)
        total = 0.0
        for parents, count in degrees:
            each = _node_part(parents, phases, event).exceeded_with(left / (2 * nodes))
            if parents:
                slope = _slope_part(parents, phases)
                each += parents * slope.exceeded_with(left / (2 * edges))
            total += count * each
        return total

    def shortfall_bound(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The sum of the shortfalls of all nodes and slopes."""
        left, event = _shares(degrees, phases, delta)
        total = 0.0
        for parents, count in degrees:
            each = _node_part(parents, phases, event).shortfall(left)
            if parents:
                each += parents * _slope_part(parents, phases).shortfall(left)
            total += count * each
        return total


def _cotangent(above: FloatArray) -> FloatArray:
    """The Cauchy variable above which this much probability lies."""
    return np.asarray(1 / np.tan(np.pi * above))


def _shares(degrees: Degrees, phases: Phases, delta: float) -> tuple[float, float]:
    """What of delta is left for quantiles, and what a node with parents spends on its event."""
    with_parents = sum(count for parents, count in degrees if parents)
    if phases.split or not with_parents:
        return delta, 0.0
    return delta * (1 - EVENT_SHARE), delta * EVENT_SHARE / with_parents


def _slope_part(parents: int, phases: Phases) -> Law:
    sizes, masses = median_law(phases.first // (parents + phases.intercept))
    return Law(0.5 * np.log1p(sizes**2), masses)


def _node_part(parents: int, phases: Phases, event: float) -> Law:
    r"""The law of :math:`((1+E)/x - 1 + \ln x)/2` with x the mean square over s^2 (1+q)."""
    heavy = phases.residual_rows <= 2
    if phases.split or parents == 0:
        alone = phase_two_part(phases)
        return Law(alone.points, alone.masses, heavy)
    precision, masses = _largest_precision(parents, phases, event)
    location = location_error(phases, panels=12)
    values = precision[:, None] * (1 + location.points) - 1 - np.log(precision)[:, None]
    return Law(0.5 * values.ravel(), np.outer(masses, location.masses).ravel(), heavy)


def _largest_precision(parents: int, phases: Phases, event: float) -> Rule:
    """A law for 1/x when phase 2 sees the rows of phase 1 again.

    Whatever the slopes, x lies between the squared singular values of a normal matrix with
    p + 1 columns over m, and these leave ``sqrt(m) +- (sqrt(p + 1) + s)`` with probability at
    most 2 exp(-s^2/2). The lower end is the worse one. Larger s than the event allows are
    cut off; where s reaches the end of the scale, 1/x has no bound but 1e300.
    """
    largest = sqrt(2 * log(2 / event))
    excess, masses = chi_square(2, panels=32)
    sizes = np.minimum(np.sqrt(2 * log(2) + excess), largest)
    roots = (sqrt(phases.residual_rows) - sqrt(parents + 1) - sizes) / sqrt(phases.second)
    return Rule(np.maximum(roots, 1e-150) ** -2.0, masses)
