"""Random parameters lie where they were asked to lie."""

import math

import numpy as np
import pytest

from gaussnet import simulate
from gaussnet.errors import SettingError


@pytest.fixture(scope="module")
def dag():
    return simulate.erdos_renyi(800, 5, seed=0)


def test_weights_are_uniform_on_both_sides_of_the_gap(dag):
    weights = simulate.random_network(dag, seed=1, weights=(0.5, 2.0)).coefficient_array
    size = np.abs(weights)
    count = len(weights)
    assert size.min() >= 0.5
    assert size.max() < 2.0
    # uniform on [0.5, 2): mean 1.25, variance 1.5^2 / 12; signs are fair coins
    assert abs(size.mean() - 1.25) < 4 * math.sqrt(1.5**2 / 12 / count)
    assert abs((weights > 0).mean() - 0.5) < 4 * math.sqrt(0.25 / count)


def test_default_networks_have_unit_noise_and_no_intercepts(dag):
    network = simulate.random_network(dag, seed=1)
    assert (network.variance_array == 1.0).all()
    assert (network.intercept_array == 0.0).all()
    assert np.abs(network.coefficient_array).min() >= 1.0


def test_ranges_of_variances_and_intercepts_are_filled(dag):
    network = simulate.random_network(dag, seed=1, variances=(0.5, 3.0), intercepts=(-2.0, 4.0))
    for values, low, high in (
        (network.variance_array, 0.5, 3.0),
        (network.intercept_array, -2.0, 4.0),
    ):
        assert low <= values.min() < values.max() < high
        error = (high - low) / math.sqrt(12 * len(values))
        assert abs(values.mean() - (low + high) / 2) < 4 * error


def test_ill_conditioned_nodes_are_as_many_as_asked_for(dag):
    network = simulate.random_network(dag, seed=1, ill_conditioned=3)
    assert sorted(network.variance_array.tolist())[:4] == [1e-10**2] * 3 + [1.0]
    other = simulate.random_network(dag, seed=2, ill_conditioned=3)
    assert (network.variance_array != other.variance_array).any()


def test_coefficients_depend_on_the_seed_alone(dag):
    plain = simulate.random_network(dag, seed=5)
    rich = simulate.random_network(
        dag, seed=5, variances=(1, 2), intercepts=(0, 1), ill_conditioned=9
    )
    assert plain.coefficient_array.tolist() == rich.coefficient_array.tolist()
    assert plain == simulate.random_network(dag, seed=5)
    assert plain != simulate.random_network(dag, seed=6)


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_small_graphs_become_networks(nodes):
    network = simulate.random_network(simulate.chain(nodes), seed=0, ill_conditioned=nodes)
    assert len(network.variance_array) == nodes
    assert len(network.coefficient_array) == max(nodes - 1, 0)


def test_a_weight_range_of_one_point_gives_that_magnitude():
    network = simulate.random_network(simulate.chain(50), seed=0, weights=(1.5, 1.5))
    assert set(network.coefficient_array.tolist()) == {-1.5, 1.5}


def test_a_hard_instance_is_bipartite_with_two_kinds_of_coefficients():
    network = simulate.hard_instance(30, 10, 0.25, seed=0)
    assert network.dag.in_degrees.tolist() == [0] * 10 + [10] * 20
    assert (network.variance_array == 1.0).all()
    low, high = 1 / math.sqrt(200), 1.25 / math.sqrt(200)
    heavy = np.isclose(network.coefficient_array, high, rtol=1e-14)
    assert (heavy | np.isclose(network.coefficient_array, low, rtol=1e-14)).all()
    # 200 fair bits
    assert abs(heavy.sum() - 100) < 4 * math.sqrt(50)


def test_hard_instances_are_at_the_distance_that_their_bits_say():
    one, other = (simulate.hard_instance(12, 4, 0.5, seed=seed) for seed in (0, 1))
    bits = np.sum(one.coefficient_array != other.coefficient_array)
    p, q = one.covariance(), other.covariance()
    kl = 0.5 * (np.trace(np.linalg.solve(q, p)) - 12)
    assert bits > 0
    assert kl == pytest.approx(bits * 0.5**2 / (2 * 4 * 8), rel=1e-10)


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": (2.0, 1.0)},
        {"weights": (-1.0, 1.0)},
        {"weights": (1.0, 2.0, 3.0)},
        {"weights": (1.0, math.inf)},
        {"variances": 0.0},
        {"variances": (0.0, 1.0)},
        {"variances": -1.0},
        {"variances": "1"},
        {"intercepts": (1.0, 0.0)},
        {"intercepts": math.nan},
        {"ill_conditioned": 4},
        {"ill_conditioned": -1},
        {"ill_conditioned": 0.5},
    ],
)
def test_bad_parameters_are_refused(settings):
    with pytest.raises(SettingError, match="expected"):
        simulate.random_network(simulate.chain(3), seed=0, **settings)


@pytest.mark.parametrize(
    ("nodes", "degree", "eps"),
    [(0, 1, 0.5), (1, 1, 0.5), (10, 0, 0.5), (10, 6, 0.5), (10, 2, 0.0), (10, 2, 1.5), (10, 2, -1)],
)
def test_hard_instances_outside_the_bound_are_refused(nodes, degree, eps):
    with pytest.raises(SettingError, match="expected"):
        simulate.hard_instance(nodes, degree, eps, seed=0)
