"""The mean KL divergence of least squares is the one that theory gives, exactly."""

import numpy as np
import pytest
from scipy.special import digamma

import gaussnet as gn


def expected_kl(rows, parents):
    """Exact expectation for one node, no intercept, all rows in both phases."""
    m, p = rows, parents
    variance_part = m / (m - p - 2) - 1 - np.log(m) + digamma((m - p) / 2) + np.log(2)
    return variance_part / 2 + m / (m - p - 2) * p / (2 * (m - p - 1))


def expected_kl_with_intercept(rows, parents):
    """The same with an intercept: q ~ chi2(p)/chi2(m-p), plus (1 + q) chi2(1)/m for the mean."""
    m, p = rows, parents
    dof = m - p - 1
    gamma = m / (dof - 2)
    log_gamma = np.log(m) - digamma(dof / 2) - np.log(2)
    q = p / (m - p - 2)
    return (gamma - 1 - log_gamma) / 2 + gamma * (q + (1 + q) / m) / 2


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [20, 200])
@pytest.mark.parametrize("parents", [0, 1, 5])
def test_mean_kl_of_least_squares_is_the_exact_expectation(parents, rows, intercept):
    # Many independent copies of the node stand in one graph, so one fit is many repetitions.
    copies, fits = 400, 15
    names = [f"p{i}" for i in range(parents)]
    dag = gn.Dag.from_edges(
        [(f"{name} {copy}", f"y {copy}") for copy in range(copies) for name in names],
        nodes=[f"{name} {copy}" for copy in range(copies) for name in [*names, "y"]],
    )
    truth = gn.GaussianNetwork.from_arrays(
        dag,
        np.tile(np.linspace(-2.0, 2.0, parents), copies),
        np.tile(np.linspace(0.5, 3.0, parents + 1), copies),
        np.full(copies * (parents + 1), 1.5) if intercept else None,
    )
    found = []
    for seed in range(fits):
        learnt = gn.fit(truth.sample(rows, seed=seed), dag, intercept=intercept).network
        divergences = gn.kl_by_node(truth, learnt)
        found += [divergences[f"y {copy}"] for copy in range(copies)]
    expected = (expected_kl_with_intercept if intercept else expected_kl)(rows, parents)
    standard_error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - expected) <= 3 * standard_error
