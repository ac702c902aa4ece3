"""Intervals of nodes that were set in some rows hold the truth as often as they say."""

import numpy as np
from tests.fitting.test_interventions import DAG, TRUTH

import gaussnet as gn

ROWS, REPETITIONS = 600, 200
TARGETS = [(), (0,), (5,), (5, 9), (12,), (17, 3, 8)]
MASK = np.zeros((ROWS, len(DAG)), dtype=bool)
for number, targets in enumerate(TARGETS):
    MASK[100 * number : 100 * (number + 1), list(targets)] = True


def draw(rng):
    """Rows of the network in which some nodes are set to values about 4."""
    values = np.empty(MASK.shape)
    noise = rng.normal(size=MASK.shape) * np.sqrt(TRUTH.variance_array)
    for node in DAG.order.tolist():
        edges = DAG.families.edges_of(np.array([node]))
        parents = values[:, DAG.families.parents[edges]]
        values[:, node] = parents @ TRUTH.coefficient_array[edges] + TRUTH.intercept_array[node]
        values[:, node] += noise[:, node]
        values[MASK[:, node], node] = rng.normal(4.0, 0.3, np.count_nonzero(MASK[:, node]))
    return values


def held(rows, interventions):
    """Which intervals hold the truth, (edges,)."""
    fit = gn.fit(rows, DAG, interventions=interventions, threads=1)
    low, high = fit.confidence_intervals().coefficient_array.T
    truth = TRUTH.coefficient_array
    return (low <= truth) & (truth <= high)


def test_intervals_with_the_mask_hold_and_those_without_do_not():
    """24 edges, 200 times: the share of 95 % has a standard error of 0.33 %, so 2 % are 6."""
    rng = np.random.default_rng(2026)
    masked, pooled = [], []
    for _ in range(REPETITIONS):
        rows = draw(rng)
        masked.append(held(rows, MASK))
        pooled.append(held(rows, None))
    set_nodes = np.isin(DAG.families.family_of_edge, np.flatnonzero(MASK.any(axis=0)))
    assert 0.93 < np.mean(masked) < 0.97
    # 5 edges lead to nodes that were set: 1,000 intervals, a standard error of 0.7 %.
    assert 0.92 < np.mean(np.array(masked)[:, set_nodes]) < 0.98
    assert np.mean(np.array(pooled)[:, set_nodes]) < 0.3
