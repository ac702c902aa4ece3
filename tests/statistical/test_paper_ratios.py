"""On clean rows each estimator loses what the paper's figures show, in units of the limit.

ER graphs of 100 nodes and degree 5, weights +-[0.5, 2), unit noise, no intercepts, 1,000 rows,
20 repetitions; the limit is (edges + nodes) / (2 rows).
"""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.seeds import children

NODES, ROWS, REPETITIONS = 100, 1_000, 20

EXPECTED = {
    "least-squares": (gn.LeastSquares(), 1.0, 0.10),
    "robust": (gn.SequentialTrim(), 1.0, 0.10),
    "batch-average": (gn.BatchAverage(20), 1.2, 0.10),
    "batch-median": (gn.BatchMedian(20), 2.1, 0.10),
    "cauchy-tree sliding": (gn.CauchyTree("sliding"), 4.2, 0.10),
    "cauchy sliding": (gn.Cauchy("sliding"), 3.5, 0.10),
    "cauchy-tree disjoint": (gn.CauchyTree("disjoint"), 10.7, 0.15),
    "cauchy disjoint": (gn.Cauchy("disjoint"), 7.9, 0.15),
}


def problems(ill_conditioned=0):
    """The truth and its rows, repetition by repetition."""
    for repetition in children(2024, REPETITIONS):
        graph, weights, sample = children(repetition, 3)
        dag = gn.simulate.erdos_renyi(NODES, 5, seed=graph)
        truth = gn.simulate.random_network(
            dag, seed=weights, weights=(0.5, 2.0), ill_conditioned=ill_conditioned
        )
        yield truth, truth.sample(ROWS, seed=sample)


def kl_over_limit(truth, data, estimator):
    fit = gn.fit(data, truth.dag, estimator, intercept=False)
    limit = (len(truth.dag.edges) + NODES) / (2 * ROWS)
    return gn.kl_divergence(truth, fit.network) / limit


@pytest.mark.parametrize("case", EXPECTED)
def test_loss_beside_the_information_limit(case):
    estimator, expected, tolerance = EXPECTED[case]
    ratios = [kl_over_limit(truth, data, estimator) for truth, data in problems()]
    assert np.mean(ratios) == pytest.approx(expected, rel=tolerance)


def test_ill_conditioned_nodes_leave_least_squares_at_the_limit():
    ratios = [
        kl_over_limit(truth, data, gn.LeastSquares()) for truth, data in problems(ill_conditioned=3)
    ]
    assert np.mean(ratios) == pytest.approx(1.0, rel=0.10)
    assert min(ratios) > 0.0


@pytest.mark.parametrize("case", EXPECTED)
def test_kl_is_never_negative_even_when_nodes_are_ill_conditioned(case):
    estimator = EXPECTED[case][0]
    for truth, data in problems(ill_conditioned=3):
        fit = gn.fit(data, truth.dag, estimator, intercept=False)
        assert min(gn.kl_by_node(truth, fit.network).values()) >= 0.0
