"""Total and path effects."""

import numpy as np
import pytest
from tests.model.exact import random_dag, random_network

import gaussnet as gn
from gaussnet.model.inference.effects import gradient, stations


@pytest.mark.parametrize("seed", range(5))
def test_effects_are_the_inverse_of_the_equations(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, random_dag(rng, 9, degree=4))
    inverse = np.linalg.inv(np.eye(9) - network.to_matrix())
    found = [[network.effect(a, b) for b in network.dag.nodes] for a in network.dag.nodes]
    np.testing.assert_allclose(found, inverse, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_paths_sum_to_the_effect_also_through_a_node(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, random_dag(rng, 8, degree=5))
    order = [network.dag.nodes[place] for place in network.dag.order.tolist()]
    for cause, target in ((order[0], order[-1]), (order[1], order[-2]), (order[-1], order[0])):
        paths = network.paths(cause, target)
        assert sum(path.effect for path in paths) == pytest.approx(network.effect(cause, target))
        assert len({path.nodes for path in paths}) == len(paths)
        for middle in order[3:5]:
            through = sum(path.effect for path in paths if middle in path.nodes)
            assert network.effect(cause, target, via=middle) == pytest.approx(through, abs=1e-12)
        both = sum(path.effect for path in paths if {order[3], order[4]} <= set(path.nodes))
        given = network.effect(cause, target, via=[order[4], order[3]])
        assert given == pytest.approx(both, abs=1e-12)


def test_gradient_is_the_derivative_by_central_differences():
    rng = np.random.default_rng(3)
    network = random_network(rng, random_dag(rng, 7, degree=5))
    dag, step = network.dag, 1e-6
    order = [dag.nodes[place] for place in dag.order.tolist()]
    for via in (None, [order[3]], [order[2], order[4]]):
        found = gradient(network, stations(dag, order[0], order[-1], via))
        for edge in range(len(dag.edges)):
            ends = []
            for sign in (1.0, -1.0):
                moved = network.coefficient_array.copy()
                moved[edge] += sign * step
                near = gn.GaussianNetwork.from_arrays(dag, moved, network.variance_array)
                ends.append(near.effect(order[0], order[-1], via=via))
            # The effect is a polynomial of degree one in each coefficient: differences are exact.
            assert found[edge] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), abs=1e-6)


def test_a_node_has_the_effect_one_on_itself_and_no_path_back():
    network = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    assert network.effect("a", "a") == 1.0
    assert network.effect("b", "a") == 0.0
    assert network.paths("b", "a") == ()
    assert [path.nodes for path in network.paths("a", "a")] == [("a",)]


def test_more_paths_than_the_limit_are_counted_and_refused():
    """A ladder of 60 diamonds has 2 to the 60 paths."""
    edges = [
        edge
        for i in range(60)
        for edge in ((f"s{i}", f"u{i}"), (f"s{i}", f"d{i}"), (f"u{i}", f"s{i + 1}"))
    ]
    edges += [(f"d{i}", f"s{i + 1}") for i in range(60)]
    dag = gn.Dag.from_edges(edges)
    network = gn.GaussianNetwork.from_arrays(dag, [0.5] * len(edges), [1.0] * len(dag))
    with pytest.raises(gn.SettingError, match=f"there are {2**60} paths from 's0' to 's60'"):
        network.paths("s0", "s60")
    assert network.effect("s0", "s60") == pytest.approx(0.5**60)


@pytest.mark.parametrize("via", ["a", ["b", "c"], "snow"])
def test_stations_must_lie_between_the_ends(via):
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b|a][c|b]"), [2.0, 1.0], [1.0, 1.0, 1.0]
    )
    with pytest.raises(gn.GraphError, match=r"leave out the ends|there is no node"):
        network.effect("a", "c", via=via)


def test_a_limit_is_a_positive_number():
    network = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    for limit in (0, "many"):
        with pytest.raises(gn.SettingError, match="got limit="):
            network.paths("a", "b", limit=limit)
