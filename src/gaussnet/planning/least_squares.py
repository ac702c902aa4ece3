"""How weak a random design can be: the law of W, where :math:`q = |z|^2 / W`.

Without an intercept W ~ chi2(m - p + 1). With one, and p >= 1 parents, let u = (u_0, v) be
uniform on the sphere, g the mean of m standard normal rows and V ~ chi2(m - p); then

.. math:: 1/W = u_0^2/m + |v - u_0 g|^2 / V

Given u and g this is a chi-square law; :math:`u_0^2` ~ Beta(1/2, p/2) and
:math:`|v - u_0 g|^2` are integrated by Gauss's rules (10 x 8 x 2 points), which is made for the
lower tail of W: probabilities up to 0.1 are good to 0.1 % of themselves."""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, log1p, sqrt

import numpy as np

from gaussnet.planning.rules import (
    Rule,
    beta_odds,
    chi_square,
    gauss_beta,
    gauss_chi_square,
    gauss_normal,
)
from gaussnet.planning.split_phases import Degrees, Phases, split_bound_law
from gaussnet.planning.sums import Law, Parts, sum_exceeded_with
from gaussnet.types import FloatArray


@dataclass(frozen=True)
class Weights:
    """The law of W: 1/W = constants + lengths / V with the given masses, V ~ chi2(freedom)."""

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
            return float("inf")
        limits, room = self._limits(weight), 1 / weight - self.constants
        inverse = gammainc(self.freedom / 2 - 1, limits / 2) / (self.freedom - 2)
        inside = gammainc(self.freedom / 2, limits / 2)
        return float(self.masses @ np.maximum(self.lengths * inverse - room * inside, 0.0))

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
        """W <= weight where V is at most this; surely where 1/weight leaves no room."""
        room = 1 / weight - self.constants
        with np.errstate(divide="ignore"):
            return np.where(room > 0.0, self.lengths / room, np.inf)


@lru_cache(maxsize=1024)
def slope_weights(parents: int, phases: Phases) -> Weights:
    """W of the slopes alone: with an intercept the rows are centred, which costs one.

    Examples
    --------
    >>> round(slope_weights(5, Phases.shared(1000, intercept=False)).quantile(0.05), 1)
    923.7
    """
    freedom = phases.first - phases.intercept - parents + 1
    return Weights(np.zeros(1), np.ones(1), np.ones(1), freedom)


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


# Exact laws of least squares: the KL divergence of one node, whatever the parameters.
#
# With p parents, :math:`q = D'MD/s^2` the error of the slopes, :math:`\gamma = s^2/\hat s^2` and
# E the squared error of the location over :math:`s^2 (1+q)` (0 without an intercept),
#
# .. math:: 2 KL = \gamma (1 + q)(1 + E) - 1 - \ln \gamma
#
# The laws of q, gamma and E are free of all parameters; docs/theory.md has the proofs.

SHARES = (0.03, 0.1, 0.2, 0.35, 0.5)
"""Parts of delta that may be spent on weak designs."""
LIMITS_SHARE = 0.05
"""The part of delta spent on the limits of split phases."""
FEW = 30
"""Below so many nodes a sum is not yet smooth, and its laws get more points."""


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Ordinary least squares and the mean square of its residuals."""

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows of phase 1 with a law: one more than the columns of the design."""
        return parents + intercept + 1

    def expected(self, parents: int, phases: Phases) -> float:
        """The expected KL divergence of one node, exactly."""
        if phases.split:
            return expected_apart(phases) + expected_log_error(parents, phases) / 2
        return expected_together(parents, phases)

    def law(self, parents: int, phases: Phases) -> Law:
        """The law of the KL divergence of one node."""
        error = slope_error(parents, phases, panels=48)
        if phases.split:
            return apart_law(phases, error)
        freedom = phases.residual_rows - parents
        inflation = _inflation(error, location_error(phases, panels=48))
        fine = 512 if len(inflation.points) == 1 else 64
        precision = _precision(freedom, phases.first, fine)
        values = _divergences(precision.points[:, None], inflation.points)
        masses = np.outer(precision.masses, inflation.masses)
        return Law(values.ravel(), masses.ravel(), heavy=freedom <= 2)

    def sum_bound(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The KL divergence of all nodes is larger with probability at most delta.

        A quantile of a sum of independent variables, in which W is replaced by a constant,
        plus a bound for what designs weaker than this constant add. How delta is shared by
        the two is chosen by the first two moments of the sum.
        """
        if expected_kl_is_infinite(degrees, phases):
            return inf
        attempts = (Attempt.of(degrees, phases, delta, share) for share in SHARES)
        best = min(attempts, key=lambda attempt: attempt.estimate)
        return sum_exceeded_with(best.parts, best.left) + best.excess


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to share delta between a sum of independent variables and weak designs."""

    parts: Parts
    left: float
    """Probability with which the sum may be exceeded."""
    excess: float
    """What weak designs add, but for the rest of delta."""

    @classmethod
    def of(cls, degrees: Degrees, phases: Phases, delta: float, share: float) -> "Attempt":
        """Spend this share of delta on weak designs."""
        nodes = sum(count for _, count in degrees)
        with_parents = sum(count for parents, count in degrees if parents)
        if not with_parents:
            share = 0.0
        limits = LIMITS_SHARE * delta if phases.split and with_parents else 0.0
        parts, excess = [], 0.0
        for parents, count in degrees:
            weight = float(phases.first)
            if parents:
                weights = (slope_weights if phases.split else design_weights)(parents, phases)
                # Any weight gives a bound, and this one the least: it need not be exact.
                weight = weights.quantile(min(share * delta, 0.1), tolerance=0.01)
                mean = _mean_square(parents, phases) * weights.excess(weight)
                excess += count * mean / (2 * share * delta)
            law = _bound_law(parents, phases, weight, limits / max(with_parents, 1), nodes < FEW)
            parts.append((law, count))
        return cls(parts, delta * (1 - share) - limits, excess)

    @property
    def estimate(self) -> float:
        """Roughly the bound: the sum as if it were normal."""
        from scipy.special import ndtri

        mean = sum(count * float(law.values @ law.masses) for law, count in self.parts)
        square = sum(
            count * float((law.values - law.values @ law.masses) ** 2 @ law.masses)
            for law, count in self.parts
        )
        return mean - float(ndtri(self.left)) * sqrt(square) + self.excess


def expected_kl_is_infinite(degrees: Degrees, phases: Phases) -> bool:
    """Whether some node has too few rows for a finite expectation."""
    return any(LeastSquares().expected(parents, phases) == inf for parents, _ in degrees)


def _mean_square(parents: int, phases: Phases) -> float:
    """E g |z|^2, where g = 1 for split phases."""
    if phases.split:
        return float(parents)
    columns = parents + phases.intercept
    return columns * phases.first / (phases.first - columns - 2)


def expected_together(parents: int, phases: Phases) -> float:
    """E KL of a node whose two phases share their rows."""
    columns = parents + phases.intercept
    freedom = phases.first - columns
    if freedom <= 2:
        return inf
    location = 1 / phases.first if phases.intercept else 0.0
    error = parents / (freedom - 1) * (1 + location) + location
    return _expected_entropy(phases.first, columns) + error * phases.first / (2 * (freedom - 2))


def expected_apart(phases: Phases) -> float:
    """E of the part of KL that phase 2 causes, on rows of its own."""
    if phases.residual_rows <= 2:
        return inf
    location = 0.5 / (phases.residual_rows - 2) if phases.intercept else 0.0
    return _expected_entropy(phases.second, int(phases.intercept)) + location


def _expected_entropy(rows: int, columns: int) -> float:
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


def expected_log_error(parents: int, phases: Phases) -> float:
    """E ln(1 + q) of the slopes of phase 1, where 1 / (1 + q) has a Beta law."""
    freedom = _error_freedom(parents, phases)
    if freedom <= 0:
        return inf
    gap = _log_gap((freedom + parents) / 2) - _log_gap(freedom / 2)
    return gap + log1p(parents / freedom)


def slope_error(parents: int, phases: Phases, panels: int) -> Rule:
    """The law of q: chi2(p) / chi2(m - p + 1), with one row less if there is an intercept."""
    return beta_odds(parents, _error_freedom(parents, phases), panels)


def location_error(phases: Phases, panels: int) -> Rule:
    """The law of E: chi2(1) / m2 with an intercept, else 0."""
    rule = chi_square(int(phases.intercept), panels)
    return Rule(rule.points / phases.second, rule.masses)


def apart_law(phases: Phases, error: Rule) -> Law:
    r"""The law of KL with split phases: phase 2 alone, plus :math:`\ln(1+q)/2`."""
    alone = phase_two_part(phases)
    if len(error.points) > 1:
        alone = alone.condensed(256)
    values = alone.points[:, None] + 0.5 * np.log1p(error.points)
    masses = np.outer(alone.masses, error.masses)
    return Law(values.ravel(), masses.ravel(), heavy=phases.residual_rows <= 2)


def phase_two_part(phases: Phases) -> Rule:
    r"""The law of :math:`(g (1 + E) - 1 - \ln g)/2`, phase 2 having rows of its own."""
    precision = _precision(phases.residual_rows, phases.second, 128 if phases.intercept else 512)
    location = location_error(phases, panels=48)
    values = _divergences(precision.points[:, None], location.points)
    return Rule(values.ravel(), np.outer(precision.masses, location.masses).ravel())


def _error_freedom(parents: int, phases: Phases) -> int:
    return phases.first - phases.intercept - parents + 1


def _inflation(error: Rule, location: Rule) -> Rule:
    """The law of (1 + q)(1 + E) - 1."""
    values = error.points[:, None] * (1 + location.points) + location.points
    masses = np.outer(error.masses, location.masses)
    return Rule(values.ravel(), masses.ravel()).condensed(256)


def _precision(freedom: int, rows: int, panels: int) -> Rule:
    rule = chi_square(freedom, panels, inverse=True)
    return Rule(rows / rule.points, rule.masses)


def _divergences(precision: FloatArray, inflation: FloatArray) -> FloatArray:
    """(g (1 + inflation) - 1 - ln g) / 2, without loss of digits near g = 1."""
    excess = precision - 1
    return np.asarray(0.5 * ((excess - np.log1p(excess)) + precision * inflation))


def _bound_law(parents: int, phases: Phases, weight: float, limits: float, few: bool) -> Law:
    """The law of (g - 1 - ln g)/2 + g |z|^2 / (2 w), or its kin for split phases."""
    if phases.split:
        if parents:
            return split_bound_law(parents, phases, weight, limits)
        return apart_law(phases, slope_error(0, phases, panels=1))
    columns = parents + phases.intercept
    fine = 256 if few and not columns else 64
    precision = _precision(phases.first - columns, phases.first, fine if few else 24)
    squares = chi_square(columns, 64 if few else 12)
    values = _divergences(precision.points[:, None], squares.points / weight)
    return Law(values.ravel(), np.outer(precision.masses, squares.masses).ravel())
