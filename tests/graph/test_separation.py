"""d-separation and the Markov basis against networkx and the law of a network."""

import networkx as nx
import numpy as np
import pytest

import gaussnet as gn


@pytest.mark.parametrize("seed", range(60))
def test_separation_agrees_with_networkx(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 10))
    dag = gn.simulate.erdos_renyi(count, min(3.0, count - 1.0), seed=seed)
    graph = dag.to_networkx()
    for _ in range(5):
        labels = rng.integers(0, 4, count)
        first, second, given = (
            {node for node, label in zip(dag.nodes, labels, strict=True) if label == own}
            for own in (0, 1, 2)
        )
        if first and second:
            expected = nx.is_d_separator(graph, first, second, given)
            assert dag.d_separated(first, second, given) == expected
            assert dag.d_separated(second, first, given) == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_basis_has_one_true_claim_for_each_pair_without_an_edge(seed):
    dag = gn.simulate.erdos_renyi(9, 3, seed=seed)
    basis = dag.markov_basis()
    pairs = {frozenset((implied.node, implied.other)) for implied in basis}
    edges = {frozenset(edge) for edge in dag.edges}
    assert len(pairs) == len(basis) == 36 - len(edges)
    assert not pairs & edges
    for implied in basis:
        assert implied.given == dag.parents(implied.node)
        assert dag.d_separated(implied.node, implied.other, implied.given)


def test_separated_nodes_have_no_partial_covariance():
    dag = gn.Dag.parse("[a][b|a][c|b][d|a:c]")
    network = gn.simulate.random_network(dag, seed=1)
    for implied in dag.markov_basis():
        law = network.condition(dict.fromkeys(implied.given, 0.0))
        pair = law.marginal([implied.node, implied.other]).covariance
        # 4,500 roundings of the largest variance for a few dozen operations.
        assert abs(pair[0, 1]) <= 1e-12 * network.covariance().diagonal().max()
    law = network.condition({"d": 0.0}).marginal(["a", "c"])
    assert not dag.d_separated("a", "c", ["d"])
    assert abs(law.covariance[0, 1]) > 1e-3


def test_a_collider_opens_by_a_descendant():
    dag = gn.Dag.parse("[a][b][c|a:b][d|c]")
    assert dag.d_separated("a", "b")
    assert not dag.d_separated("a", "b", ["d"])


def test_isolated_nodes_are_separated_from_all():
    dag = gn.Dag.from_edges([("a", "b")], nodes=["a", "b", "alone"])
    assert dag.d_separated("alone", ["a", "b"])
    assert str(dag.markov_basis()[0]) == "alone _||_ a"


def test_a_long_chain_needs_no_recursion():
    dag = gn.simulate.chain(20_000)
    assert not dag.d_separated(dag.nodes[0], dag.nodes[-1])
    assert dag.d_separated(dag.nodes[0], dag.nodes[-1], [dag.nodes[10_000]])


@pytest.mark.parametrize(
    ("first", "second", "given", "message"),
    [
        ("a", "a", [], "'a' stands in two"),
        ("a", "b", ["b"], "'b' stands in two"),
        ("a", "x", [], "there is no node 'x'"),
    ],
)
def test_sets_that_meet_are_refused(first, second, given, message):
    dag = gn.Dag.parse("[a][b|a]")
    with pytest.raises(gn.GraphError, match=message):
        dag.d_separated(first, second, given)
