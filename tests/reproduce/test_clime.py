"""CLIME is the real thing: feasible, optimal by duality, symmetric and positive definite."""

import numpy as np
import pytest
from scipy.optimize import linprog

from gaussnet import baselines, simulate
from gaussnet.errors import EstimationError
from gaussnet.reproduce.baselines import clime_columns, symmetrised


def sample(nodes, rows, *, weights=(0.3, 0.9), seed=0):
    dag = simulate.erdos_renyi(nodes, min(4, nodes - 1), seed=seed)
    return simulate.random_network(dag, seed=seed, weights=weights).sample(rows, seed=seed)


def dual_value(covariance, column, penalty):
    """The best y[column] - penalty |y|_1 with max |S y| <= 1: a lower bound for every solution."""
    size = len(covariance)
    target = np.eye(size)[column]
    signed = np.hstack((covariance, -covariance))
    result = linprog(
        np.concatenate((penalty - target, penalty + target)),
        A_ub=np.vstack((signed, -signed)),
        b_ub=np.ones(2 * size),
        method="highs-ipm",
    )
    return -result.fun


@pytest.mark.parametrize("penalty", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("weights", [(0.3, 0.9), (1.0, 2.0)])
def test_columns_are_feasible_and_optimal(penalty, weights):
    data = sample(15, 100, weights=weights)
    covariance = data.T @ data / 100
    columns = clime_columns(covariance, penalty)
    assert np.abs(covariance @ columns - np.eye(15)).max() <= penalty + 1e-6
    for column in range(15):
        norm = np.abs(columns[:, column]).sum()
        assert norm == pytest.approx(dual_value(covariance, column, penalty), rel=1e-6)


def test_columns_of_an_ill_conditioned_covariance_are_feasible():
    data = sample(100, 500, weights=(0.5, 2.0))[:, ::4]
    covariance = data.T @ data / 500
    assert np.linalg.cond(covariance) > 1e3
    columns = clime_columns(covariance, 0.05)
    assert np.abs(covariance @ columns - np.eye(25)).max() <= 0.05 + 1e-6


def test_the_smaller_magnitude_is_kept():
    matrix = np.array([[1.0, -0.5, 3.0], [0.2, 2.0, 0.0], [-1.0, 7.0, 4.0]])
    expected = [[1.0, 0.2, -1.0], [0.2, 2.0, 0.0], [-1.0, 0.0, 4.0]]
    assert symmetrised(matrix).tolist() == expected


def test_no_penalty_gives_the_empirical_covariance():
    data = sample(8, 100)
    found = baselines.clime(data, penalty=0.0)
    assert np.allclose(found.covariance, baselines.empirical(data).covariance, rtol=1e-7)


def test_the_result_is_not_the_sample_covariance():
    data = sample(8, 100)
    gap = baselines.clime(data).covariance - baselines.empirical(data).covariance
    assert np.abs(gap).max() > 0.05


def test_the_precision_of_the_answer_is_the_symmetric_matrix():
    data = sample(10, 200)
    omega = symmetrised(clime_columns(data.T @ data / 200, np.sqrt(np.log(10) / 200)))
    found = np.linalg.inv(baselines.clime(data).covariance)
    assert np.allclose(found, omega, rtol=0, atol=1e-8 * np.abs(omega).max())


def test_an_indefinite_matrix_is_mended_and_reported():
    data = sample(30, 60, weights=(1.0, 2.0), seed=1)
    covariance = data.T @ data / 60
    values = np.linalg.eigvalsh(symmetrised(clime_columns(covariance, 0.01)))
    assert values[0] < 0
    with pytest.warns(baselines.BaselineWarning, match="eigenvalues were raised"):
        found = baselines.clime(data, penalty=0.01)
    floor = 1 / np.linalg.eigvalsh(covariance)[-1]
    mended = np.linalg.eigvalsh(np.linalg.inv(found.covariance))
    # the inverse of an inverse: rounding times the condition number
    assert np.allclose(mended, np.maximum(values, floor), rtol=1e-6)


def test_a_penalty_that_cannot_be_met_is_refused():
    with pytest.raises(EstimationError, match="raise the penalty"):
        baselines.clime(sample(12, 5), penalty=0.01)


@pytest.mark.filterwarnings("ignore::gaussnet.reproduce.baselines.BaselineWarning")
def test_a_penalty_of_one_leaves_nothing_and_is_mended():
    data = sample(6, 50)
    found = baselines.clime(data, penalty=1.0)
    largest = np.linalg.eigvalsh(data.T @ data / 50)[-1]
    assert np.allclose(found.covariance, largest * np.eye(6), rtol=1e-9)
