r"""The law of least squares: exact for each node, and a sharp bound for their sum.

The sum bound replaces the strength W of a random design, where :math:`q = |z|^2 / W`, by a
constant that W seldom falls below, and adds what weaker designs cost. Without an intercept
W ~ chi2(m - p + 1). With one, and p >= 1 parents, let u = (u_0, v) be uniform on the sphere, g the
mean of m standard normal rows and V ~ chi2(m - p); then

.. math:: 1/W = u_0^2/m + |v - u_0 g|^2 / V

Given u and g this is a chi-square distribution; :math:`u_0^2` ~ Beta(1/2, p/2) and
:math:`|v - u_0 g|^2` are integrated by Gauss's rules (10 x 8 x 2 points), which is made for the
lower tail of W: probabilities up to 0.1 are good to 0.1 % of themselves.

Where phases have rows of their own, let x be the mean square of phase 2 over :math:`s^2 (1+q)`,
and e the error of the location over s:

.. math:: 2 KL = \ln(1+q) + \frac{1 + e^2/(1+q)}{x} - 1 + \ln x

The x of different nodes depend on each other, but only through the lengths of their fitted
errors :math:`X_i D_i`, which are within narrow limits for all nodes at once; the worst value
within these limits is a function of variables that are independent. docs/theory.md, "Split
phases", has the proof.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, sqrt
from typing import Self

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.planning.distributions import (
    Distribution,
    Parts,
    Rule,
    chi_square,
    gauss_beta,
    gauss_chi_square,
    gauss_normal,
    sum_exceeded_with,
)
from gaussnet.planning.laws import (
    BY_SHORTFALL,
    BY_SUM,
    BY_UNION,
    Bound,
    Classes,
    Degrees,
    NodeLaw,
    Phases,
    divergences,
    expected_log_error,
    expected_phase_two,
    expected_with_shared_phases,
    inflated,
    location_error,
    precision,
    slope_error,
    slope_freedom,
    split_distribution,
)
from gaussnet.types import FloatArray

SHARES = (0.03, 0.1, 0.2, 0.35, 0.5)
"""Parts of delta that may be spent on weak designs."""
LIMITS_SHARE = 0.05
"""The part of delta spent on the limits of split phases."""
FEW = 30
"""Below so many nodes a sum is not yet smooth, and its distributions get more points."""


class LeastSquaresLaw(NodeLaw):
    """Ordinary least squares and the mean square of its residuals."""

    method = "least-squares"

    @classmethod
    def of(cls, method: object, dag: Dag) -> Self:
        """Every graph has a law."""
        return cls()

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1 with a law: one more than the columns of the design."""
        return parents + intercept + 1

    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node, exactly."""
        if phases.split:
            return expected_phase_two(phases) + expected_log_error(parents, phases) / 2
        return expected_with_shared_phases(parents, phases)

    def distribution(self, parents: int, phases: Phases) -> Distribution:
        """The distribution of the KL divergence of one node."""
        error = slope_error(parents, phases, panels=48)
        if phases.split:
            return split_distribution(phases, error)
        freedom = phases.residual_rows - parents
        shared = Phases.shared(phases.first, intercept=phases.intercept)
        inflation = inflated(error, location_error(shared, panels=48))
        fine = 512 if len(inflation.points) == 1 else 64
        gamma = precision(freedom, phases.second, fine)
        return divergences(gamma, inflation, heavy=freedom <= 2)

    def paper_factors(self, degrees: Degrees, delta: float) -> tuple[float, float]:
        """32 E ln(3n/delta); corrected 128, and delta halved for the union over coordinates."""
        degrees.require_edges()
        printed = 32 * degrees.edges * log(3 * degrees.nodes / delta)
        coordinates = 3 * degrees.nodes * degrees.largest
        return printed, 128 * degrees.allowances * log(coordinates / (delta / 2))

    def bounds(self, degrees: Degrees, phases: Phases, delta: float) -> Iterator[Bound]:
        """The bound by the sum; the others too where they may be less."""
        yield Bound(self.sum_bound(degrees, phases, delta), BY_SUM)
        many_rows = min(phases.first, phases.second) >= 20 * (degrees.largest + 1)
        if degrees.nodes < FEW or not many_rows:
            yield from super().bounds(degrees, phases, delta)

    def sum_bound(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The KL divergence of all nodes is larger with probability at most delta.

        A quantile of a sum of independent variables, in which W is replaced by a constant,
        plus a bound for what designs weaker than this constant add. How delta is shared by
        the two is chosen by the first two moments of the sum.
        """
        return self._sum_bound([(parents, phases, count) for parents, count in degrees], delta)

    def _sum_bound(self, classes: Classes, delta: float) -> float:
        if any(self.expected(parents, phases) == inf for parents, phases, _ in classes):
            return inf
        best = _best_attempt(classes, delta)
        return sum_exceeded_with(best.parts, best.left) + best.excess

    def by_node(self, classes: Classes, delta: float) -> tuple[float, Bound]:
        """The same bounds, for the noise of a node is independent of whatever came before."""
        for parents, phases, _ in classes:
            if not self.is_learnable(Degrees(((parents, 1),)), phases):
                return inf, Bound(inf, BY_UNION)
        expected = sum(count * self.expected(parents, phases) for parents, phases, count in classes)
        bounds = [Bound(self._sum_bound(classes, delta), BY_SUM)]
        nodes = sum(count for _, _, count in classes)
        if nodes < FEW or any(p.first < 20 * (parents + 1) for parents, p, _ in classes):
            laws = [(self.distribution(size, phases), count) for size, phases, count in classes]
            union = sum(count * law.exceeded_with(delta / nodes) for law, count in laws)
            shortfall = sum(count * law.shortfall(delta) for law, count in laws)
            bounds += [Bound(union, BY_UNION), Bound(shortfall, BY_SHORTFALL)]
        return expected, min(bounds, key=lambda bound: bound.kl)


def _best_attempt(classes: Classes, delta: float) -> "Attempt":
    """The best way to share delta; any way is valid, so that rough classes may choose it."""
    rough, by_parents = [], sorted({parents for parents, _, _ in classes})
    for parents in by_parents:
        own = [(phases, count) for size, phases, count in classes if size == parents]
        phases, _ = min(own, key=lambda one: one[0].first)
        rough.append((parents, phases, sum(count for _, count in own)))
    known: dict[int, Attempt] = {}

    def estimate(index: int) -> float:
        if index not in known:
            known[index] = Attempt.of(rough, delta, SHARES[index])
        return known[index].estimate

    best = len(SHARES) // 2  # the estimates fall to their least and rise again
    for step in (-1, 1):
        while 0 <= best + step < len(SHARES) and estimate(best + step) < estimate(best):
            best += step
    if len(rough) == len(classes):
        return known[best]
    return Attempt.of(classes, delta, SHARES[best])


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to share delta between a sum of independent variables and weak designs."""

    parts: Parts
    left: float
    """Probability with which the sum may be exceeded."""
    excess: float
    """What weak designs add, but for the rest of delta."""

    @classmethod
    def of(cls, classes: Classes, delta: float, share: float) -> "Attempt":
        """Spend this share of delta on weak designs."""
        with_parents = sum(count for parents, _, count in classes if parents)
        if not with_parents:
            share = 0.0
        is_split = any(phases.split for _, phases, _ in classes)
        limits = LIMITS_SHARE * delta if is_split and with_parents else 0.0
        few = sum(count for _, _, count in classes) < FEW
        parts, excess = [], 0.0
        for parents, phases, count in classes:
            weight = float(phases.first)
            if parents:
                weights = (slope_weights if phases.split else design_weights)(parents, phases)
                # Any weight gives a bound, and this one the least: it need not be exact.
                weight = weights.quantile(min(share * delta, 0.1), tolerance=0.01)
                mean = _mean_square(parents, phases) * weights.excess(weight)
                excess += count * mean / (2 * share * delta)
            each = limits / max(with_parents, 1)
            parts.append((_bounding(parents, phases, weight, each, few), count))
        return cls(parts, delta * (1 - share) - limits, excess)

    @property
    def estimate(self) -> float:
        """Roughly the bound: the sum as if it were normal."""
        from scipy.special import ndtri

        mean = sum(count * one.moments[0] for one, count in self.parts)
        square = sum(count * one.moments[1] for one, count in self.parts)
        return mean - float(ndtri(self.left)) * sqrt(square) + self.excess


@dataclass(frozen=True)
class Weights:
    """The distribution of W: 1/W = constants + lengths / V by masses, V ~ chi2(freedom)."""

    constants: FloatArray
    lengths: FloatArray
    masses: FloatArray
    freedom: int

    def below(self, weight: float) -> float:
        """P(W <= weight)."""
        from scipy.special import gammainc

        return float(self.masses @ gammainc(self.freedom / 2, self._limits(weight) / 2))

    def excess(self, weight: float) -> float:
        """E max(1/W - 1/weight, 0), by E[1/V; V < v] = P(chi2(k - 2) < v) / (k - 2)."""
        from scipy.special import gammainc

        if self.freedom <= 2:
            return inf
        limits, remaining = self._limits(weight), 1 / weight - self.constants
        inverse = gammainc(self.freedom / 2 - 1, limits / 2) / (self.freedom - 2)
        inside = gammainc(self.freedom / 2, limits / 2)
        return float(self.masses @ np.maximum(self.lengths * inverse - remaining * inside, 0.0))

    def quantile(self, probability: float, tolerance: float = 1e-5) -> float:
        """The weight that W falls below with this probability, by secants in ln w.

        Good to `tolerance` in the normal score of the probability.
        """
        from scipy.special import gammaincinv, ndtri

        start = 2.0 * float(gammaincinv(self.freedom / 2, probability))
        if len(self.masses) == 1:
            return start
        goal = float(ndtri(probability))

        def miss(weight: float) -> float:
            return float(ndtri(max(self.below(weight), 1e-300))) - goal

        left, right = start, start * (1 + 0.1 / sqrt(self.freedom))
        miss_left, miss_right = miss(left), miss(right)
        for _ in range(50):
            if abs(miss_right) < tolerance or miss_right == miss_left:
                break
            ratio = np.log(right / left) * miss_right / (miss_right - miss_left)
            left, miss_left = right, miss_right
            right = right * float(np.exp(np.clip(-ratio, -1.0, 1.0)))
            miss_right = miss(right)
        return right

    def _limits(self, weight: float) -> FloatArray:
        """W <= weight where V is at most this; surely where the constant alone is 1/weight."""
        remaining = 1 / weight - self.constants
        with np.errstate(divide="ignore"):
            return np.where(remaining > 0.0, self.lengths / remaining, np.inf)


@lru_cache(maxsize=1024)
def slope_weights(parents: int, phases: Phases) -> Weights:
    """W of the slopes alone: with an intercept the rows are centred, which costs one.

    Examples
    --------
    >>> round(slope_weights(5, Phases.shared(1000, intercept=False)).quantile(0.05), 1)
    923.7
    """
    return Weights(np.zeros(1), np.ones(1), np.ones(1), slope_freedom(parents, phases))


@lru_cache(maxsize=1024)
def design_weights(parents: int, phases: Phases) -> Weights:
    """W of the whole design of a node with parents, the constant included if there is one."""
    if not phases.intercept:
        return slope_weights(parents, phases)
    rows = phases.first
    squares, first = gauss_beta(0.5, parents / 2, 10)
    normals, second = gauss_normal(8)
    others, third = gauss_chi_square(parents - 1, 2)
    squares, normals = squares[:, None, None], normals[:, None]
    along = np.sqrt(1 - squares) - np.sqrt(squares / rows) * normals
    lengths = along**2 + squares * others / rows
    masses = first[:, None, None] * second[:, None] * third
    constants = np.broadcast_to(squares / rows, lengths.shape)
    return Weights(constants.ravel(), lengths.ravel(), masses.ravel(), rows - parents)


def _mean_square(parents: int, phases: Phases) -> float:
    """E g |z|^2, where g = 1 for split phases."""
    if phases.split:
        return float(parents)
    columns = parents + phases.intercept
    return columns * phases.second / (phases.second - columns - 2)


def _bounding(
    parents: int, phases: Phases, weight: float, limits: float, few: bool
) -> Distribution:
    """The distribution of (g - 1 - ln g)/2 + g |z|^2 / (2 w), or that for split phases."""
    if phases.split:
        if parents:
            return _split_bounding(parents, phases, weight, limits)
        return split_distribution(phases, slope_error(0, phases, panels=1))
    columns = parents + phases.intercept
    fine = 256 if few and not columns else 64
    gamma = precision(phases.second - columns, phases.second, fine if few else 24)
    squares = chi_square(columns, 64 if few else 12)
    return divergences(gamma, Rule(squares.points / weight, squares.masses))


def _split_bounding(parents: int, phases: Phases, weight: float, event: float) -> Distribution:
    """The distribution of a bound for a node with parents.

    Its limits fail with probability `event`. In ln(1+q) alone, q is taken as :math:`|z|^2` over
    `weight`.
    """
    limits = _Limits.of(parents, phases, event)
    rest = chi_square(phases.residual_rows - 1, panels=24, inverse=True)
    along = gauss_normal(12)
    squares = chi_square(parents, panels=5, reach=5.0)
    location = chi_square(int(phases.intercept), panels=2, reach=5.0)
    smallest, largest = limits.ratios(
        rest.points[:, None, None], along.points[:, None], squares.points
    )
    worst = np.maximum(_mismatch(smallest), _mismatch(largest))
    most = squares.points / limits.weight[0]
    shift = (np.sqrt(location.points)[:, None] + limits.mean * np.sqrt(most)) ** 2 / phases.second
    if not phases.intercept:
        shift = np.zeros_like(shift)
    values = (
        worst[..., None, :] + shift / smallest[..., None, :] + np.log1p(squares.points / weight)
    )
    masses = np.multiply.outer(rest.masses, np.outer(along.masses, location.masses))
    masses = np.multiply.outer(masses.reshape(len(rest.points), -1), squares.masses)
    return Distribution(0.5 * values.ravel(), masses.ravel(), heavy=phases.residual_rows <= 3)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What holds for a node but for a small probability."""

    weight: tuple[float, float]
    """W = |z|^2 / q lies between these."""
    length: tuple[float, float]
    """|X D| / (s sqrt(q)), in phase 2, lies between these."""
    mean: float
    """The mean of X D in phase 2 is at most this times s sqrt(q / m2)."""
    rows: int

    @classmethod
    def of(cls, parents: int, phases: Phases, event: float) -> "_Limits":
        """Five limits, each broken with probability event / 5 at most."""
        from scipy.special import gammainccinv, gammaincinv, ndtri

        each = event / 5
        freedom = slope_freedom(parents, phases)
        own = phases.residual_rows
        return cls(
            weight=(
                2 * float(gammaincinv(freedom / 2, each)),
                2 * float(gammainccinv(freedom / 2, each)),
            ),
            length=(
                sqrt(2 * float(gammaincinv(own / 2, each))),
                sqrt(2 * float(gammainccinv(own / 2, each))),
            ),
            mean=-float(ndtri(each / 2)),
            rows=phases.second,
        )

    def ratios(
        self, rest: FloatArray, along: FloatArray, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the largest x = (rest + (along - t)^2) / (m2 (1 + q)) within the limits."""
        least, most = squares / self.weight[1], squares / self.weight[0]
        near, far = np.sqrt(least) * self.length[0], np.sqrt(most) * self.length[1]
        closest = np.clip(along, near, far)
        farthest = np.maximum(np.abs(along - near), np.abs(along - far))
        smallest = (rest + (along - closest) ** 2) / (self.rows * (1 + most))
        largest = (rest + farthest**2) / (self.rows * (1 + least))
        return np.maximum(smallest, 1e-150), np.maximum(largest, 1e-150)


def _mismatch(ratio: FloatArray) -> FloatArray:
    """1/x - 1 + ln x, least at x = 1."""
    return np.asarray((1 - ratio) / ratio + np.log(ratio))
