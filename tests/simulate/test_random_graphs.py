"""Random graphs have the law they promise, and the edge cases are graphs too."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gaussnet import simulate
from gaussnet.errors import SettingError
from gaussnet.simulate import graphs

RANDOM = {
    "erdos_renyi": lambda nodes, seed: simulate.erdos_renyi(
        nodes, min(3, max(nodes - 1, 0)), seed=seed
    ),
    "random_tree": lambda nodes, seed: simulate.random_tree(nodes, seed=seed),
    "random_polytree": lambda nodes, seed: simulate.random_polytree(nodes, seed=seed),
    "scale_free": lambda nodes, seed: simulate.scale_free(
        nodes, min(3, max(nodes - 1, 0)), seed=seed
    ),
}


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_the_same_seed_gives_the_same_graph_and_another_seed_another(make):
    assert make(60, 7) == make(60, 7)
    assert make(60, 7) != make(60, 8)


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
@pytest.mark.parametrize("nodes", [0, 1, 2, 3])
def test_small_graphs_have_all_their_nodes_in_order(make, nodes):
    assert make(nodes, 0).nodes == tuple(f"X{k}" for k in range(1, nodes + 1))


@pytest.mark.parametrize(("rule", "divisor"), [("d/(n-1)", 399), ("d/n", 400)])
def test_the_number_of_edges_has_the_binomial_mean(rule, divisor):
    pairs, repeats = math.comb(400, 2), 60
    counts = [
        len(simulate.erdos_renyi(400, 30, seed=seed, edge_probability=rule).edges)
        for seed in range(repeats)
    ]
    probability = 30 / divisor
    error = math.sqrt(pairs * probability * (1 - probability) / repeats)
    assert abs(np.mean(counts) - pairs * probability) < 4 * error


def test_every_pair_is_joined_equally_often():
    repeats = 4000
    counts = np.zeros((6, 6))
    for seed in range(repeats):
        families = simulate.erdos_renyi(6, 2, seed=seed).families
        counts[families.parents, families.family_of_edge] += 1
    above = np.triu_indices(6, 1)
    assert counts.sum() == counts[above].sum()
    # 15 shares of 0.4, each within 4 standard errors
    assert np.abs(counts[above] / repeats - 0.4).max() < 4 * math.sqrt(0.4 * 0.6 / repeats)


@given(st.integers(0, 2**53 // 8))
def test_ranks_of_pairs_are_undone_exactly(rank):
    earlier, later = (int(end[0]) for end in graphs._pairs(np.array([rank])))
    assert 0 <= earlier < later
    assert later * (later - 1) // 2 + earlier == rank


def test_extreme_degrees_give_no_edge_or_all():
    assert simulate.erdos_renyi(30, 0, seed=0).edges == ()
    assert len(simulate.erdos_renyi(30, 29, seed=0).edges) == math.comb(30, 2)
    assert simulate.erdos_renyi(30, 1e-300, seed=0).edges == ()


def test_a_large_sparse_graph_needs_no_square_of_memory():
    import tracemalloc

    tracemalloc.start()
    dag = simulate.erdos_renyi(10_000, 5, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # edges are binomial with mean 25,000 and standard deviation 158
    assert abs(len(dag.edges) - 25_000) < 4 * 158
    assert peak < 10_000 * 10_000 / 2


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_a_random_tree_is_a_tree_rooted_at_the_first_node(nodes, seed):
    dag = simulate.random_tree(nodes, seed=seed)
    assert dag.is_polytree
    assert dag.in_degrees.tolist() == [0] + [1] * (nodes - 1)


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_a_random_polytree_is_one_connected_polytree_in_node_order(nodes, seed):
    dag = simulate.random_polytree(nodes, seed=seed)
    assert dag.is_polytree
    assert len(dag.families.parents) == nodes - 1
    assert (dag.families.parents < dag.families.family_of_edge).all()


def test_all_labelled_trees_on_four_nodes_are_equally_likely():
    repeats = 8000
    seen: dict[frozenset[frozenset[str]], int] = {}
    for seed in range(repeats):
        dag = simulate.random_polytree(4, seed=seed)
        key = frozenset(frozenset(edge) for edge in dag.edges)
        seen[key] = seen.get(key, 0) + 1
    # Cayley: 4^2 trees; each count is binomial, 16 of them within 4 standard deviations
    assert len(seen) == 16
    spread = math.sqrt(repeats / 16 * (15 / 16))
    assert max(abs(count - repeats / 16) for count in seen.values()) < 4 * spread


def test_a_fractional_degree_is_met_on_average_in_a_scale_free_graph():
    dag = simulate.scale_free(4000, 3, seed=0)
    assert set(dag.in_degrees.tolist()) == {0, 1, 2}
    # 1 or 2 parents by a fair coin; the first two nodes lack at most 3 parents
    assert abs(len(dag.edges) - 6000) < 4 * math.sqrt(4000 / 4) + 3


def test_a_scale_free_graph_has_larger_hubs_than_chance_gives():
    sizes = {}
    for name, dag in {
        "scale-free": simulate.scale_free(2000, 4, seed=1),
        "chance": simulate.erdos_renyi(2000, 4, seed=1),
    }.items():
        sizes[name] = np.bincount(dag.families.parents).max()
    assert sizes["scale-free"] > 3 * sizes["chance"]


def test_a_dense_scale_free_graph_takes_all_earlier_nodes_while_it_must():
    degrees = simulate.scale_free(20, 19, seed=3).in_degrees
    assert degrees[:10].tolist() == list(range(10))
    assert set(degrees[10:].tolist()) <= {9, 10}


def test_chains_and_bipartite_graphs_have_their_edges():
    assert [len(simulate.chain(nodes).edges) for nodes in range(4)] == [0, 0, 1, 2]
    assert simulate.chain(3).edges == (("X1", "X2"), ("X2", "X3"))
    expected = set(product(("X1", "X2"), ("X3", "X4", "X5")))
    assert set(simulate.bipartite(2, 3).edges) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate.erdos_renyi(-1, 0, seed=0),
        lambda: simulate.erdos_renyi(2.5, 1, seed=0),
        lambda: simulate.erdos_renyi(True, 0, seed=0),
        lambda: simulate.erdos_renyi(5, 5, seed=0),
        lambda: simulate.erdos_renyi(5, -0.1, seed=0),
        lambda: simulate.erdos_renyi(5, math.nan, seed=0),
        lambda: simulate.erdos_renyi(5, "2", seed=0),
        lambda: simulate.erdos_renyi(5, 2, seed=0, edge_probability="d"),
        lambda: simulate.erdos_renyi(5, 2, seed=-1),
        lambda: simulate.random_tree("5", seed=0),
        lambda: simulate.random_polytree(None, seed=0),
        lambda: simulate.scale_free(5, 10, seed=0),
        lambda: simulate.chain(-3),
        lambda: simulate.bipartite(1, -1),
    ],
)
def test_bad_settings_are_refused(call):
    with pytest.raises(SettingError, match="expected"):
        call()
