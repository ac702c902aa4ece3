"""Quantiles of sums of independent variables, against closed forms and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from gaussnet.planning.distributions import CELLS, Distribution, chi_square, sum_exceeded_with

TAILS = [0.5, 0.1, 0.05, 1e-3, 1e-6]


def chi_square_law(freedom, scale=1.0, panels=60):
    points, masses = chi_square(freedom, panels)
    return Distribution(scale * points, masses)


@pytest.mark.parametrize("probability", TAILS)
@pytest.mark.parametrize(
    ("count", "freedom", "tolerance"),
    [(1, 1, 5e-3), (1, 2, 5e-3), (3, 1, 1e-4), (10, 3, 1e-5), (100, 1, 1e-5), (1_000, 5, 2e-4)],
)
def test_sum_of_chi_squares_is_chi_square(count, freedom, tolerance, probability):
    law = chi_square_law(freedom, panels=400 if count < 10 else 60)
    found = sum_exceeded_with([(law, count)], probability)
    assert found == pytest.approx(stats.chi2.isf(probability, count * freedom), rel=tolerance)


@pytest.mark.parametrize("probability", TAILS)
def test_ten_thousand_variables_err_on_the_safe_side(probability):
    found = sum_exceeded_with([(chi_square_law(3), 10_000)], probability)
    ratio = found / stats.chi2.isf(probability, 30_000)
    assert 1 - 1e-5 <= ratio <= 1.002


@pytest.mark.parametrize("probability", TAILS)
def test_laws_of_different_scales_add_up(probability):
    # Two degrees of freedom and scales 1, 2, 3, ...: a hypoexponential law in closed form.
    rates = 0.5 / np.arange(1, 6)
    weights = np.array([np.prod([o / (o - r) for o in rates if o != r]) for r in rates])
    found = sum_exceeded_with([(chi_square_law(2, k), 1) for k in range(1, 6)], probability)
    assert weights @ np.exp(-rates * found) == pytest.approx(probability, rel=1e-3)


def test_a_heavy_tail_agrees_with_a_large_simulation():
    # 1 / chi2(2): infinite mean. 400,000 sums; the count above has a standard error of 137.
    points, masses = chi_square(2, 200)
    found = sum_exceeded_with([(Distribution(1 / points, masses), 5)], 0.05)
    sums = (1 / np.random.default_rng(3).chisquare(2, (400_000, 5))).sum(axis=1)
    above = np.count_nonzero(sums > found)
    assert abs(above - 20_000) <= 4 * 137


def test_nothing_to_add_is_zero():
    assert sum_exceeded_with([], 0.1) == 0.0
    assert sum_exceeded_with([(Distribution(np.zeros(1), np.ones(1)), 7)], 0.1) == 0.0


@settings(max_examples=25, deadline=None)
@given(
    scale=st.floats(1e-12, 1e12),
    count=st.integers(1, 60),
    probability=st.floats(1e-5, 0.9),
)
def test_a_change_of_units_changes_the_answer_alike(scale, count, probability):
    one = sum_exceeded_with([(chi_square_law(2), count)], probability)
    other = sum_exceeded_with([(chi_square_law(2, scale), count)], probability)
    # Rounding may choose a grid of another length; on each a quantile is good to 3 / CELLS.
    assert other == pytest.approx(scale * one, rel=2 * 3 / CELLS)


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.01])
def test_quantile_and_shortfall_of_an_exponential_law(probability):
    law = chi_square_law(2, 0.5, panels=400)
    assert law.exceeded_with(probability) == pytest.approx(-np.log(probability), rel=2e-3)
    assert law.shortfall(probability) == pytest.approx(1 - np.log(probability), rel=1e-4)


def test_shortfall_of_a_heavy_law_is_infinite():
    law = Distribution(np.array([1.0, 2.0]), np.array([0.5, 0.5]), heavy=True)
    assert law.shortfall(0.1) == np.inf
    assert law.mean == np.inf
    assert law.exceeded_with(0.01) <= 2.0
