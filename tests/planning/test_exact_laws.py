"""The law of one node's KL divergence is the one that theory gives, whatever the design."""

import numpy as np
import pytest
from scipy import stats
from tests.planning.witness import cumulative, least_squares, node_divergences

from gaussnet.planning.laws import Phases
from gaussnet.planning.least_squares import LeastSquaresLaw, design_weights

FITS = 8_000
SMALLEST_P_VALUE = 1e-3
"""Sixteen designs with fixed seeds: one false alarm in sixty."""

DESIGNS = [
    Phases.shared(40, intercept=False),
    Phases.shared(40, intercept=True),
    Phases(30, 20, True, False),
    Phases(30, 20, True, True),
]


@pytest.fixture(scope="module")
def simulated():
    found = {}

    def divergences(parents, phases):
        key = parents, phases
        if key not in found:
            seed = [1, parents, DESIGNS.index(phases)]
            found[key] = node_divergences(
                least_squares, parents=parents, phases=phases, fits=FITS, seed=seed
            )
        return found[key]

    return divergences


@pytest.mark.parametrize("parents", [0, 1, 3, 8])
@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_simulated_divergences_follow_the_law(simulated, parents, phases):
    law = LeastSquaresLaw().distribution(parents, phases)
    test = stats.kstest(simulated(parents, phases), cumulative(law))
    assert test.pvalue > SMALLEST_P_VALUE


@pytest.mark.parametrize("parents", [0, 1, 3, 8])
@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_mean_divergence_is_the_exact_expectation(simulated, parents, phases):
    values = simulated(parents, phases)
    standard_error = values.std(ddof=1) / np.sqrt(FITS)
    assert abs(values.mean() - LeastSquaresLaw().expected(parents, phases)) <= 4 * standard_error


@pytest.mark.parametrize("parents", [0, 1, 3, 8])
@pytest.mark.parametrize("phases", DESIGNS, ids=str)
def test_closed_expectation_is_the_mean_of_the_law(parents, phases):
    law = LeastSquaresLaw().distribution(parents, phases)
    assert law.mean == pytest.approx(LeastSquaresLaw().expected(parents, phases), rel=1e-6)


def weights(parents, rows, intercept, draws, seed):
    """W = 1 / (u' (X'X)^-1 u) for u uniform on the sphere."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((draws, rows, parents))
    if intercept:
        design = np.concatenate((np.ones((draws, rows, 1)), design), axis=2)
    direction = rng.standard_normal((draws, parents + intercept))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    moments = np.einsum("dri,drj->dij", design, design)
    solved = np.linalg.solve(moments, direction[..., None])[..., 0]
    return 1 / np.einsum("di,di->d", direction, solved)


@pytest.mark.parametrize(("parents", "rows"), [(1, 5), (1, 30), (3, 20), (8, 40)])
def test_weight_of_a_design_with_a_constant_follows_its_law_in_the_lower_tail(parents, rows):
    draws = 20_000
    found = weights(parents, rows, True, draws, seed=[2, parents, rows])
    for probability in [0.1, 0.03, 0.01, 0.003]:
        weight = design_weights(parents, Phases.shared(rows, intercept=True)).quantile(probability)
        below = np.count_nonzero(found <= weight)
        standard_error = np.sqrt(draws * probability * (1 - probability))
        assert abs(below - draws * probability) <= 4 * standard_error


@pytest.mark.parametrize(("parents", "rows"), [(1, 5), (3, 20), (8, 40)])
def test_weight_of_a_design_without_a_constant_is_chi_square(parents, rows):
    found = weights(parents, rows, False, 6_000, seed=[3, parents, rows])
    assert stats.kstest(found, stats.chi2(rows - parents + 1).cdf).pvalue > SMALLEST_P_VALUE


@pytest.mark.parametrize("probability", [0.1, 1e-2, 1e-6])
@pytest.mark.parametrize("intercept", [False, True])
def test_quantile_of_the_weight_has_its_probability(intercept, probability):
    law = design_weights(4, Phases.shared(50, intercept=intercept))
    assert law.below(law.quantile(probability)) == pytest.approx(probability, rel=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_weak_designs_add_the_excess_of_their_law(intercept):
    draws = 40_000
    found = weights(2, 15, intercept, draws, seed=4)
    law = design_weights(2, Phases.shared(15, intercept=intercept))
    weight = law.quantile(0.1)
    excess = np.maximum(1 / found - 1 / weight, 0.0)
    standard_error = excess.std(ddof=1) / np.sqrt(draws)
    assert abs(excess.mean() - law.excess(weight)) <= 4 * standard_error


def test_a_design_without_three_degrees_of_freedom_has_infinite_excess():
    assert design_weights(3, Phases.shared(4, intercept=False)).excess(1.0) == np.inf


@pytest.mark.parametrize("intercept", [False, True])
def test_expectation_is_infinite_without_three_rows_to_spare(intercept):
    for parents in [0, 2]:
        first_finite = parents + intercept + 3
        finite = LeastSquaresLaw().expected(
            parents, Phases.shared(first_finite, intercept=intercept)
        )
        infinite = LeastSquaresLaw().expected(
            parents, Phases.shared(first_finite - 1, intercept=intercept)
        )
        assert np.isfinite(finite)
        assert infinite == np.inf
