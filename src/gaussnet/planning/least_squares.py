r"""Exact laws of least squares: the KL divergence of one node, whatever the parameters.

With p parents, :math:`q = D'MD/s^2` the error of the slopes, :math:`\gamma = s^2/\hat s^2` and
E the squared error of the location over :math:`s^2 (1+q)` (0 without an intercept),

.. math:: 2 KL = \gamma (1 + q)(1 + E) - 1 - \ln \gamma

The laws of q, gamma and E are free of all parameters; docs/theory.md has the proofs.
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.planning.phases import Degrees, Phases
from gaussnet.planning.rules import Rule, beta_odds, chi_square, gauss_chi_square
from gaussnet.planning.sums import Law, Parts, sum_exceeded_with
from gaussnet.planning.wishart import smallest_weight

EVENT_SHARE = 0.1
"""The part of delta spent on the event that no design is unusually weak."""
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
        spent = 0 if phases.split else parents
        precision = _precision(phases.residual_rows - spent, phases.second, panels=32)
        error = slope_error(parents, phases, panels=16)
        location = location_error(phases)
        heavy = phases.residual_rows - spent <= 2
        if phases.split:
            return apart_law(precision, location, error, heavy)
        values = _together(
            precision.points[:, None, None],
            (1 + error.points[:, None]) * (1 + location.points),
        )
        return Law(values.ravel(), joint_masses(precision, error, location), heavy)

    def sum_bound(self, degrees: Degrees, phases: Phases, delta: float) -> float:
        """The KL divergence of all nodes is larger with probability at most delta.

        For shared phases: a sum of independent variables, given that every design is strong
        enough.
        """
        with_parents = sum(count for parents, count in degrees if parents)
        event = EVENT_SHARE * delta if with_parents else 0.0
        few = sum(count for _, count in degrees) < FEW
        parts: Parts = [
            (_bound_law(parents, phases, event / max(with_parents, 1), few), count)
            for parents, count in degrees
        ]
        return sum_exceeded_with(parts, delta - event)


def expected_together(parents: int, phases: Phases) -> float:
    """E KL of a node whose two phases share their rows."""
    from scipy.special import digamma

    rows = phases.first
    freedom = rows - parents - phases.intercept
    if freedom <= 2:
        return inf
    precision = rows / (freedom - 2)
    error = parents / (freedom - 1)
    location = 1 / rows if phases.intercept else 0.0
    entropy = precision - 1 - log(rows / 2) + float(digamma(freedom / 2))
    return 0.5 * entropy + 0.5 * precision * ((1 + error) * (1 + location) - 1)


def expected_apart(phases: Phases) -> float:
    """E of the part of KL that phase 2 causes, on rows of its own."""
    from scipy.special import digamma

    rows, freedom = phases.second, phases.residual_rows
    if freedom <= 2:
        return inf
    location = 1 / rows if phases.intercept else 0.0
    precision = (1 + location) * rows / (freedom - 2)
    return 0.5 * (precision - 1 - log(rows / 2) + float(digamma(freedom / 2)))


def expected_log_error(parents: int, phases: Phases) -> float:
    """E ln(1 + q) of the slopes of phase 1, where 1 / (1 + q) has a Beta law."""
    from scipy.special import digamma

    freedom = _error_freedom(parents, phases)
    if freedom <= 0:
        return inf
    return float(digamma((freedom + parents) / 2) - digamma(freedom / 2))


def slope_error(parents: int, phases: Phases, panels: int) -> Rule:
    """The law of q: chi2(p) / chi2(m - p + 1), with one row less if there is an intercept."""
    return beta_odds(parents, _error_freedom(parents, phases), panels)


def location_error(phases: Phases) -> Rule:
    """The law of E: chi2(1) / m2 with an intercept, else 0."""
    rule = gauss_chi_square(int(phases.intercept), 8)
    return Rule(rule.points / phases.second, rule.masses)


def apart_law(precision: Rule, location: Rule, error: Rule, heavy: bool) -> Law:
    r"""The law of KL with split phases: phase 2 alone, plus :math:`\ln(1+q)/2`."""
    values = (
        _together(precision.points[:, None, None], 1 + location.points)
        + 0.5 * np.log1p(error.points)[:, None]
    )
    return Law(values.ravel(), joint_masses(precision, error, location), heavy)


def joint_masses(first: Rule, second: Rule, third: Rule) -> FloatArray:
    """Masses of all triples of points."""
    pairs = np.outer(second.masses, third.masses)
    return np.multiply.outer(first.masses, pairs).ravel()


def phase_two_precision(phases: Phases, panels: int) -> Rule:
    r"""The law of :math:`s^2 (1+q) / \hat s^2` when phase 2 has rows of its own."""
    return _precision(phases.residual_rows, phases.second, panels)


def _error_freedom(parents: int, phases: Phases) -> int:
    return phases.first - phases.intercept - parents + 1


def _precision(freedom: int, rows: int, panels: int) -> Rule:
    rule = chi_square(freedom, panels)
    return Rule(rows / rule.points, rule.masses)


def _together(precision: FloatArray, inflation: FloatArray) -> FloatArray:
    """(gamma * inflation - 1 - ln gamma) / 2, without loss of digits near gamma = 1."""
    excess = precision - 1
    return np.asarray(0.5 * ((excess - np.log1p(excess)) + precision * (inflation - 1)))


def _bound_law(parents: int, phases: Phases, event: float, few: bool) -> Law:
    """The law of (gamma - 1 - ln gamma)/2 + gamma |z|^2 / (2 w)."""
    columns = parents + phases.intercept
    freedom = phases.first - columns
    fine = 256 if few and not columns else 64
    precision = _precision(freedom, phases.first, fine if few else 24)
    squares = chi_square(columns, 64 if few else 12)
    weight = smallest_weight(parents, phases, event)
    values = _together(precision.points[:, None], 1 + squares.points / weight)
    masses = np.outer(precision.masses, squares.masses)
    return Law(values.ravel(), masses.ravel(), heavy=freedom <= 2)
