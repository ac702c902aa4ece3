"""The Bhattacharyya distance of large networks by sparse factors."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.model import sparse_distance
from gaussnet.model.contrast import NetworkContrast
from gaussnet.model.sparse_distance import DIGITS, FEWEST_NODES

NODES = FEWEST_NODES


def banded(seed, nodes=NODES):
    """Every node has two of the five before it as parents."""
    rng, names = np.random.default_rng(seed), [f"X{k}" for k in range(nodes)]
    edges = [
        (names[parent], names[child])
        for child in range(2, nodes)
        for parent in rng.choice(np.arange(max(child - 5, 0), child), 2, replace=False)
    ]
    return gn.Dag.from_edges(edges, nodes=names)


def network(dag, seed):
    return gn.simulate.random_network(
        dag, seed=seed, variances=(0.5, 2.0), weights=(0.1, 0.5), intercepts=(-1.0, 1.0)
    )


def tree(seed):
    return gn.simulate.random_tree(NODES, seed=seed)


def both_ways(p, q):
    """The distance by sparse factors, which may be None, and by dense ones."""
    contrast = NetworkContrast.between(p, q)
    found = sparse_distance.sparse_bhattacharyya(*contrast._equations)
    return found, contrast.whitened().bhattacharyya()


@pytest.mark.parametrize("make", [banded, tree], ids=["banded", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_sparse_and_dense_factors_agree(make, seed):
    found, dense = both_ways(network(make(seed), seed), network(make(seed), seed + 10))
    assert found == pytest.approx(dense, rel=2 * DIGITS)  # each is right to DIGITS


def test_graphs_may_differ_and_nodes_stand_in_another_order():
    p, other = network(banded(1), 1), network(banded(2), 2)
    order = list(reversed(other.dag.nodes))
    edges = [(parent, node) for node in order for parent in other.dag.parents(node)]
    q = gn.GaussianNetwork(
        gn.Dag.from_edges(edges, nodes=order),
        other.coefficients,
        other.variances,
        other.intercepts,
    )
    found, dense = both_ways(p, q)
    assert found == pytest.approx(dense, rel=2 * DIGITS)
    assert gn.bhattacharyya(p, q) == found
    assert gn.bhattacharyya(q, p) == pytest.approx(found, rel=2 * DIGITS)


def test_random_graphs_are_left_to_dense_factors():
    dag = gn.simulate.erdos_renyi(NODES, 5, seed=1)
    p, q = network(dag, 1), network(dag, 2)
    found, dense = both_ways(p, q)
    assert found is None
    assert gn.bhattacharyya(p, q) == dense


def test_networks_too_near_for_sparse_factors_are_left_to_dense_ones():
    p = network(banded(1), 1)
    q = gn.GaussianNetwork.from_arrays(
        p.dag, p.coefficient_array * (1.0 + 1e-9), p.variance_array, p.intercept_array
    )
    found, dense = both_ways(p, q)
    assert found is None
    assert 0.0 < dense < 1e-12


def test_small_networks_and_nodes_without_noise_are_left_to_dense_factors():
    small = banded(1, nodes=NODES - 1)
    assert both_ways(network(small, 1), network(small, 2))[0] is None
    p = network(banded(1), 1)
    variances = p.variance_array.copy()
    variances[7] = 0.0
    q = gn.GaussianNetwork.from_arrays(p.dag, p.coefficient_array, variances, p.intercept_array)
    assert gn.bhattacharyya(p, q) == np.inf
    assert gn.bhattacharyya(q, q) == 0.0
