"""Laws of batch averages and of Cauchy medians, against plain simulation."""

import numpy as np
import pytest
from scipy import stats
from tests.planning.witness import batch_average, cauchy_tree, cumulative, node_divergences

from gaussnet.planning import batch_average as batch_average_module
from gaussnet.planning.batch_average import BatchAverageLaw
from gaussnet.planning.cauchy_tree import CauchyTreeLaw, median_rule
from gaussnet.planning.distributions import Distribution
from gaussnet.planning.laws import Degrees, Phases, expected_phase_two
from gaussnet.planning.least_squares import LeastSquaresLaw

SMALLEST_P_VALUE = 1e-3
DESIGNS = [
    Phases.shared(130, intercept=False),
    Phases.shared(130, intercept=True),
    Phases(90, 60, True, False),
    Phases(90, 60, True, True),
]


@pytest.mark.parametrize("parents", [1, 3])
@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_batch_averages_follow_the_simulated_law(parents, phases):
    found = node_divergences(batch_average, parents=parents, phases=phases, fits=4_000, seed=5)
    law = BatchAverageLaw()
    assert (
        stats.kstest(found, cumulative(law.distribution(parents, phases))).pvalue > SMALLEST_P_VALUE
    )
    standard_error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - law.expected(parents, phases)) <= 4 * standard_error


@pytest.mark.parametrize(
    ("parents", "batches", "extra_rows"), [(1, 8, 20), (2, 8, 16), (5, 16, 20), (10, 12, 20)]
)
@pytest.mark.parametrize("intercept", [False, True])
def test_many_batches_have_a_law_without_simulation(parents, batches, extra_rows, intercept):
    """The draws' means and tails are off by 4 of their standard errors at most.

    The quadrature is right to the order of 1 / batches, for which there are 3 parts in 1,000.
    """
    rows = batches * (parents + extra_rows + intercept) + 7
    phases, law = Phases.shared(rows, intercept=intercept), BatchAverageLaw(extra_rows)
    draws = batch_average_module._draw(parents, extra_rows, phases).divergences
    error = draws.std() / np.sqrt(len(draws))
    expected = law.expected(parents, phases)
    assert abs(draws.mean() - expected) <= 4 * error + 0.003 * expected
    found = law.distribution(parents, phases)
    assert found.resolution == 0.0
    # the mean by another way: points of the rule instead of expectations in closed form
    assert found.mean == pytest.approx(expected, rel=1e-3)
    for probability in (0.5, 0.05, 0.005):
        beyond = float((draws > found.exceeded_with(probability)).mean())
        noise = np.sqrt(probability / len(draws))
        assert abs(beyond - probability) <= 4 * noise + 0.02 * probability


def test_one_batch_of_all_rows_is_least_squares():
    phases = Phases.shared(25, intercept=False)
    law = BatchAverageLaw(extra_rows=22).distribution(3, phases)
    least = BatchAverageLaw(extra_rows=22).expected(3, phases)
    assert least == pytest.approx(LeastSquaresLaw().expected(3, phases), rel=1e-9)
    assert law.mean == pytest.approx(least, rel=0.02)


def test_batch_averages_lose_what_their_batches_cost():
    # Slope part over that of least squares: (p + x) / (x - 1), here 23 / 19, as rows grow.
    rows = 50_600
    phases = Phases.shared(rows, intercept=False)
    slopes = BatchAverageLaw().expected(3, phases) - BatchAverageLaw().expected(0, phases)
    assert slopes * 2 * rows / 3 == pytest.approx(23 / 19, rel=0.01)


def test_a_batch_average_gives_the_same_answer_twice():
    phases = Phases.shared(1_000, intercept=True)
    first = BatchAverageLaw().distribution(2, phases).shortfall(0.05)
    batch_average_module._draw.cache_clear()
    batch_average_module._pool.cache_clear()
    batch_average_module._pool_sums.cache_clear()
    assert BatchAverageLaw().distribution(2, phases).shortfall(0.05) == first


def test_a_quantile_does_not_depend_on_what_was_asked_before():
    rng = np.random.default_rng(3)
    points, masses = rng.standard_exponential(50_000), rng.random(50_000)
    law = Distribution(points, masses / masses.sum())
    first = law.exceeded_with(0.05)
    assert len(law._tail[0]) == len(points)  # sorted now
    assert law.exceeded_with(0.05) == first


@pytest.mark.parametrize("windows", [1, 2, 3, 4, 8, 21, 100])
def test_median_of_cauchy_variables_follows_the_beta_law(windows):
    draws = np.random.default_rng(windows).standard_cauchy((10_000, windows))
    sizes = np.abs(np.median(draws, axis=1))
    law = Distribution(*median_rule(windows))
    assert stats.kstest(sizes, cumulative(law)).pvalue > SMALLEST_P_VALUE


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("parents", [1, 3])
def test_each_slope_error_of_the_cauchy_tree_follows_the_beta_law(parents, intercept):
    rng = np.random.default_rng([6, parents, intercept])
    design = rng.standard_normal((4_000, 63, parents))
    slopes = cauchy_tree(design, rng.standard_normal((4_000, 63)), intercept)
    law = Distribution(*median_rule(63 // (parents + intercept)))
    for slope in slopes.T:
        assert stats.kstest(np.abs(slope), cumulative(law)).pvalue > SMALLEST_P_VALUE


@pytest.mark.parametrize("intercept", [False, True])
def test_cauchy_tree_with_one_parent_and_split_phases_has_the_exact_expectation(intercept):
    phases = Phases(90, 60, True, intercept)
    found = node_divergences(cauchy_tree, parents=1, phases=phases, fits=8_000, seed=7)
    standard_error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - CauchyTreeLaw().expected(1, phases)) <= 4 * standard_error


@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_cauchy_tree_expectation_is_close_with_more_parents_or_shared_phases(phases):
    # An upper bound with split phases, right to the order 1/m with shared ones.
    found = node_divergences(cauchy_tree, parents=2, phases=phases, fits=4_000, seed=8)
    assert found.mean() == pytest.approx(CauchyTreeLaw().expected(2, phases), rel=0.15)


@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_cauchy_tree_bounds_hold_for_a_single_node(phases):
    delta, fits = 0.1, 4_000
    found = node_divergences(cauchy_tree, parents=2, phases=phases, fits=fits, seed=9)
    for bound in (CauchyTreeLaw().sum_of_shortfalls, CauchyTreeLaw().sum_of_quantiles):
        exceeded = np.count_nonzero(found > bound(Degrees(((2, 1),)), phases, delta))
        assert exceeded <= delta * fits


def test_a_cauchy_node_without_parents_is_a_mean_square():
    phases = Phases.shared(50, intercept=True)
    assert CauchyTreeLaw().expected(0, phases) == expected_phase_two(phases)
