"""The graphical lasso meets its optimality conditions and agrees with another solver."""

import numpy as np
import pytest

from gaussnet import baselines, simulate
from gaussnet.errors import EstimationError
from gaussnet.reproduce.baselines import FACTORS, lasso_solution, sparse_precision


def sample(nodes, rows, *, weights=(0.3, 0.9), seed=0):
    dag = simulate.erdos_renyi(nodes, min(4, nodes - 1), seed=seed)
    return simulate.random_network(dag, seed=seed, weights=weights).sample(rows, seed=seed)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_solution_meets_the_optimality_conditions(alpha, unit):
    data = sample(12, 150)
    covariance = data.T @ data / 150
    precision = sparse_precision(unit * covariance, unit * alpha) * unit
    slack = np.linalg.inv(precision) - covariance
    off = ~np.eye(12, dtype=bool)
    chosen = (precision != 0) & off
    # the solver stops at 1e-8, times the condition of the inverse
    assert np.abs(np.diag(slack)).max() < 1e-5
    assert np.abs(slack[off]).max() < alpha + 1e-5
    assert np.allclose(slack[chosen], alpha * np.sign(precision[chosen]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.4])
def test_scikit_learn_finds_the_same_matrix_where_it_converges(alpha):
    covariance_module = pytest.importorskip("sklearn.covariance")
    data = sample(10, 200)
    covariance = data.T @ data / 200
    theirs = covariance_module.graphical_lasso(
        covariance, alpha, tol=1e-9, enet_tol=1e-9, max_iter=500
    )[1]
    assert np.allclose(sparse_precision(covariance, alpha), theirs, rtol=0, atol=1e-5)


def test_a_large_penalty_leaves_the_variances_alone():
    data = sample(6, 100)
    found = baselines.graphical_lasso(data, alpha=1e4)
    # rounding of the unit conversion
    assert np.allclose(found.covariance, np.diag(np.mean(data**2, axis=0)), rtol=1e-6)


def test_no_penalty_gives_the_empirical_covariance():
    data = sample(6, 100)
    found = baselines.graphical_lasso(data, alpha=0.0)
    assert np.allclose(found.covariance, baselines.empirical(data).covariance, rtol=1e-5)


def test_fewer_rows_than_columns_are_enough():
    data = sample(12, 8)
    assert np.linalg.eigvalsh(baselines.graphical_lasso(data).covariance).min() > 0


def test_the_default_penalty_is_the_rule():
    data = sample(12, 150)
    by_rule = baselines.graphical_lasso(data, alpha=np.sqrt(np.log(12) / 150))
    assert np.allclose(baselines.graphical_lasso(data).covariance, by_rule.covariance, rtol=1e-12)


def test_ill_conditioned_data_are_solved():
    data = sample(40, 200, weights=(1.0, 2.0))
    covariance = data.T @ data / 200
    assert np.linalg.cond(covariance) > 1e4
    precision = sparse_precision(covariance, 0.05)
    penalised = 0.05 * (np.abs(precision).sum() - np.trace(precision))
    # the duality gap, zero at the solution, against the 40 nodes it is summed over
    assert abs(np.sum(covariance * precision) - 40 + penalised) < 1e-3


def test_cross_validation_picks_one_of_the_multiples_and_serves_new_rows_better():
    data = sample(15, 90, weights=(1.0, 2.0))
    fresh = simulate.random_network(
        simulate.erdos_renyi(15, 4, seed=0), seed=0, weights=(1.0, 2.0)
    ).sample(5000, seed=9)
    chosen = baselines.graphical_lasso(data, alpha="cross-validated")
    rule = np.sqrt(np.log(15) / 90)
    among = [baselines.graphical_lasso(data, alpha=rule * factor) for factor in FACTORS]
    scores = [one.log_density(fresh).mean() for one in among]
    gaps = [np.abs(one.covariance - chosen.covariance).max() for one in among]
    assert min(gaps) < 1e-9
    assert scores[int(np.argmin(gaps))] > min(scores)


def test_cross_validation_asks_for_enough_rows():
    with pytest.raises(EstimationError, match="at least 6 rows"):
        baselines.graphical_lasso(sample(3, 5), alpha="cross-validated")


def test_a_singular_covariance_without_penalty_is_refused():
    with pytest.raises(EstimationError, match="at least 12 rows"):
        baselines.graphical_lasso(sample(12, 8), alpha=0.0)


def test_a_solver_that_does_not_settle_says_so():
    covariance = np.cov(sample(12, 80), rowvar=False)
    with pytest.raises(EstimationError, match="did not settle within 3 rounds: raise alpha"):
        lasso_solution(covariance, 0.1, rounds=3)


def test_uncorrelated_columns_stay_uncorrelated():
    data = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) * [1.0, 7.0]
    found = baselines.graphical_lasso(data)
    assert np.allclose(found.covariance, [[1.0, 0.0], [0.0, 49.0]], rtol=1e-7, atol=1e-9)
