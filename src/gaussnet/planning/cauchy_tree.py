r"""The law of the Cauchy tree: medians of Cauchy variables, on polytrees.

With disjoint windows each whitened slope error of a node is the median t of k standard Cauchy
variables, and :math:`1/2 + \arctan(t)/\pi` has a Beta distribution. The divergence of a node is
at most a node's part, which phase 2 causes, plus :math:`\ln(1 + t^2)/2` for each slope. These
parts depend on each other, so their sum is bounded by quantiles or by shortfalls, which need no
independence. docs/theory.md has the proofs.
"""

from math import inf, log, sqrt
from typing import Self

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.distributions import (
    Distribution,
    Rule,
    beta_rule,
    chi_square,
    gauss_chi_square,
)
from gaussnet.planning.laws import (
    Degrees,
    MethodLaw,
    Phases,
    divergences,
    expected_phase_two,
    location_error,
    phase_two_part,
)
from gaussnet.types import FloatArray

EVENT_SHARE = 0.1
"""The part of delta spent on the event that no singular value is unusually small."""


class CauchyTreeLaw(MethodLaw):
    """Medians of the solutions of disjoint square systems, and the mean square."""

    method = "cauchy-tree"

    @classmethod
    def of(cls, method: object, dag: Dag) -> Self:
        """Disjoint windows on a polytree have a law."""
        windows = getattr(method, "windows", "disjoint")
        if windows != "disjoint":
            raise SettingError(
                f"there is no law for 'cauchy-tree' with windows={windows!r}: they share rows and "
                "so depend on each other; use disjoint windows"
            )
        if not dag.is_polytree:
            raise SettingError(
                "there is no law for 'cauchy-tree' on a graph that is not a polytree: its medians "
                "depend on how the parents are correlated; use 'least-squares'"
            )
        return cls()

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1: one window."""
        return max(parents, 1) + intercept

    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node.

        With split phases exact for one parent, an upper bound for more. With shared phases
        the rows of phase 2 are taken as fresh, which is right to the order 1/m.
        """
        phase_two = expected_phase_two(phases)
        if parents == 0 or phase_two == inf:
            return phase_two
        return phase_two + parents * _slope_part(parents, phases).mean

    def sum_of_quantiles(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """Every node and every slope within its own quantile."""
        left, event = _shares(degrees, phases, delta)
        total = 0.0
        for parents, count in degrees:
            each = _node_part(parents, phases, event).exceeded_with(left / (2 * degrees.nodes))
            if parents:
                slope = _slope_part(parents, phases)
                each += parents * slope.exceeded_with(left / (2 * degrees.edges))
            total += count * each
        return total

    def sum_of_shortfalls(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The sum of the shortfalls of all nodes and slopes."""
        left, event = _shares(degrees, phases, delta)
        total = 0.0
        for parents, count in degrees:
            each = _node_part(parents, phases, event).shortfall(left)
            if parents:
                each += parents * _slope_part(parents, phases).shortfall(left)
            total += count * each
        return total

    def paper_factors(self, degrees: Degrees, delta: float) -> tuple[float, float]:
        """8 E d ln(2n/delta); corrected, the union over the edges and delta halved."""
        degrees.require_edges()
        printed = 8 * degrees.edges * degrees.largest * log(2 * degrees.nodes / delta)
        corrected = 8 * degrees.allowances * degrees.largest
        return printed, corrected * log(2 * degrees.edges / (delta / 2))


def median_rule(windows: int) -> Rule:
    """The rule of |t|, t the median of so many standard Cauchy variables.

    An odd number has one middle variable, whose CDF value is Beta((k+1)/2, (k+1)/2). An even
    one has two: the lower is Beta(k/2, k/2 + 1), and what lies above the upper is the share
    V^(2/k) of what lies above the lower, V uniform; the median is their mean.

    Examples
    --------
    >>> points, masses = median_rule(101)
    >>> round(float(points**2 @ masses) * 101 / (np.pi**2 / 4), 2)  # tends to 1
    1.03
    """
    half = windows // 2
    if windows % 2:
        above, masses = beta_rule(half + 1, half + 1, panels=256)
        upper_half = above < 0.5
        return Rule(_cotangent(above[upper_half]), 2 * masses[upper_half])
    above, masses = beta_rule(half + 1, half, panels=128)
    gaps, shares = gauss_chi_square(2, 16)
    upper = above[:, None] * np.exp(-gaps / windows)
    medians = (_cotangent(above)[:, None] + _cotangent(upper)) / 2
    return Rule(np.abs(medians.ravel()), np.outer(masses, shares).ravel())


def _cotangent(above: FloatArray) -> FloatArray:
    """The Cauchy variable above which this much probability lies."""
    return np.asarray(1 / np.tan(np.pi * above))


def _shares(degrees: Degrees, phases: Phases, delta: float) -> tuple[float, float]:
    """What of delta is left for quantiles, and what a node with parents spends on its event."""
    with_parents = degrees.with_parents
    if phases.split or not with_parents:
        return delta, 0.0
    return delta * (1 - EVENT_SHARE), delta * EVENT_SHARE / with_parents


def _slope_part(parents: int, phases: Phases) -> Distribution:
    sizes, masses = median_rule(phases.first // (parents + phases.intercept))
    return Distribution(0.5 * np.log1p(sizes**2), masses)


def _node_part(parents: int, phases: Phases, event: float) -> Distribution:
    r"""The distribution of :math:`((1+E)/x - 1 + \ln x)/2`, x the mean square over s^2 (1+q)."""
    if phases.split or parents == 0:
        return phase_two_part(phases)
    most = _largest_precision(parents, phases, event)
    return divergences(most, location_error(phases, panels=12), heavy=phases.residual_rows <= 2)


def _largest_precision(parents: int, phases: Phases, event: float) -> Rule:
    """A rule for 1/x when phase 2 sees the rows of phase 1 again.

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
