"""Quadrature rules have the moments of their distributions."""

import numpy as np
import pytest
from scipy import special, stats

from gaussnet.planning.distributions import (
    Crossed,
    Distribution,
    Rule,
    beta_odds,
    beta_rule,
    chi_square,
    gauss_beta,
    gauss_chi_square,
    gauss_normal,
)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 1_000, 1_000_000])
def test_chi_square_rule_has_the_moments_of_chi_square(freedom):
    points, masses = chi_square(freedom, panels=40, inverse=True)
    assert points @ masses == pytest.approx(freedom, rel=1e-9)
    assert (points - freedom) ** 2 @ masses == pytest.approx(2 * freedom, rel=1e-8)
    expected = special.digamma(freedom / 2) + np.log(2)
    assert np.log(points) @ masses == pytest.approx(expected, rel=1e-6)
    if freedom > 2:
        assert 1 / points @ masses == pytest.approx(1 / (freedom - 2), rel=1e-6)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (3, 10), (5, 10_000), (50, 60)])
def test_odds_rule_has_the_moments_of_a_ratio_of_chi_squares(numerator, denominator):
    points, masses = beta_odds(numerator, denominator, panels=40)
    assert points @ masses == pytest.approx(numerator / (denominator - 2), rel=1e-6)
    logs = special.digamma((numerator + denominator) / 2) - special.digamma(denominator / 2)
    assert np.log1p(points) @ masses == pytest.approx(logs, rel=1e-8)


@pytest.mark.parametrize("rule", [chi_square(0, 5), beta_odds(0, 5, 5), gauss_chi_square(0, 5)])
def test_no_degrees_of_freedom_is_the_point_zero(rule):
    assert rule.points.tolist() == [0.0]
    assert rule.masses.tolist() == [1.0]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 1), (5, 5), (51, 50), (5_000, 5_000)])
def test_beta_rule_has_the_moments_of_beta(first, second):
    points, masses = beta_rule(first, second, panels=64)
    truth = stats.beta(first, second)
    assert points @ masses == pytest.approx(truth.mean(), rel=1e-9)
    assert (points - truth.mean()) ** 2 @ masses == pytest.approx(truth.var(), rel=1e-8)


@pytest.mark.parametrize("power", range(10))
def test_gauss_rules_are_exact_for_polynomials(power):
    points, masses = gauss_normal(6)
    assert points**power @ masses == pytest.approx(stats.norm.moment(power) if power else 1.0)
    points, masses = gauss_chi_square(3, 6)
    assert points**power @ masses == pytest.approx(2**power * special.poch(1.5, power))
    for first, second in [(0.5, 0.5), (0.5, 3.5)]:
        points, masses = gauss_beta(first, second, 6)
        expected = special.poch(first, power) / special.poch(first + second, power)
        assert points**power @ masses == pytest.approx(expected)


@pytest.mark.parametrize("freedom", [3, 40, 5_000])
@pytest.mark.parametrize("probability", [0.5, 0.05, 1e-4, 1e-8])
def test_crossed_points_have_the_quantiles_and_shortfalls_of_all_their_points(freedom, probability):
    gamma, squares = chi_square(freedom, 48, inverse=True), chi_square(2, 48)
    starts = 0.5 * (gamma.points / freedom - 1.0) ** 2
    slopes = gamma.points / freedom**2
    law = Crossed(starts, slopes, gamma.masses, squares, heavy=False)
    plain = Distribution(law.values, law.masses)
    assert law.moments == pytest.approx(plain.moments, rel=1e-11)
    assert law.exceeded_with(probability) == pytest.approx(
        plain.exceeded_with(probability), rel=1e-9
    )
    assert law.shortfall(probability) == pytest.approx(plain.shortfall(probability), rel=1e-9)


def test_crossed_points_that_are_few_or_equal_have_quantiles():
    one = Rule(np.array([2.0]), np.ones(1))
    law = Crossed(np.zeros(2), np.array([1.0, 3.0]), np.array([0.5, 0.5]), one, heavy=True)
    plain = Distribution(law.values, law.masses)
    for probability in (0.9, 0.5, 0.1):
        assert law.exceeded_with(probability) == plain.exceeded_with(probability)
    assert law.shortfall(0.1) == law.mean == np.inf
