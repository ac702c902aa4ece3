"""Noise that is not the network's own, and where it goes."""

import math

import numpy as np
import pytest

from gaussnet import simulate
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork


@pytest.fixture(scope="module")
def network():
    """The nodes are not listed in topological order."""
    dag = Dag.from_edges([("a", "b"), ("b", "c"), ("a", "c")], nodes=["c", "b", "a", "alone"])
    weights = {("b", "c"): 2.0, ("a", "c"): -1.0, ("a", "b"): 3.0}
    variances = {"a": 1.0, "b": 4.0, "c": 0.25, "alone": 9.0}
    intercepts = {"a": 1.0, "b": 0.0, "c": -2.0, "alone": 5.0}
    return GaussianNetwork(dag, weights, variances, intercepts)


def own_noise(network, data):
    """The noise that each value leaves when its equation is taken off."""
    noise = data - network.intercept_array
    for weight, (parent, child) in zip(network.coefficient_array, network.dag.edges, strict=True):
        positions = network.dag.positions
        noise[:, positions[child]] -= weight * data[:, positions[parent]]
    return noise


def test_wrong_noise_spreads_to_descendants_alone(network):
    wrong = simulate.sample_contaminated(network, 200, seed=0, share=0.2, nodes=1, size=1e6)
    b, a = network.dag.position("b"), network.dag.position("a")
    hit = wrong.cells[:, b]
    assert hit.any()
    assert (wrong.data[hit, network.dag.position("c")] > 1e6).all()
    assert (np.abs(wrong.data[hit, a]) < 100).all()


def test_the_mask_marks_where_wrong_noise_entered(network):
    wrong = simulate.sample_contaminated(network, 300, seed=1, share=0.1, nodes=2)
    noise = own_noise(network, wrong.data)
    assert wrong.cells.sum() == 60
    # true noise stays below 8 standard deviations of at most 3, wrong noise is near 1000
    assert ((noise > 500) == wrong.cells).all()


def test_without_contamination_the_noise_is_the_networks_own(network):
    wrong = simulate.sample_contaminated(network, 40_000, seed=2, share=0.0, nodes=1)
    variances = own_noise(network, wrong.data).var(axis=0)
    assert not wrong.cells.any()
    assert np.abs(variances / network.variance_array - 1).max() < 4 * math.sqrt(2 / 40_000)


def test_a_shift_of_the_noise_is_in_its_own_standard_deviations(network):
    clean = simulate.sample_contaminated(
        network, 50, seed=3, pattern="rows", share=1.0, value="shift", size=0.0
    )
    moved = simulate.sample_contaminated(
        network, 50, seed=3, pattern="rows", share=1.0, value="shift", size=7.0
    )
    shift = own_noise(network, moved.data) - own_noise(network, clean.data)
    # A value is a sum of at most 4 terms, none beyond 3 times the largest, and taken apart again.
    rounding = 2 * 4 * np.finfo(np.float64).eps * 3.0 * np.abs(moved.data).max()
    assert np.allclose(shift, 7.0 * np.sqrt(network.variance_array), rtol=0, atol=rounding)


@pytest.mark.parametrize(
    ("settings", "fourth_moment"),
    [({"noise": "laplace"}, 6.0), ({"noise": "student-t", "degrees": 10}, 4.0)],
)
def test_heavy_tailed_noise_keeps_the_variances_of_the_network(network, settings, fourth_moment):
    rows = 60_000
    noise = own_noise(network, simulate.sample_heavy_tailed(network, rows, seed=4, **settings))
    standard = noise / np.sqrt(network.variance_array)
    # a mean square has variance (fourth moment - 1) / rows
    error = math.sqrt((fourth_moment - 1) / rows)
    assert np.abs((standard**2).mean(axis=0) - 1).max() < 4 * error
    assert (standard**4).mean() > 3.4


def test_three_degrees_of_freedom_give_the_t_distribution_scaled_to_unit_variance(network):
    rows = 60_000
    noise = own_noise(network, simulate.sample_heavy_tailed(network, rows, seed=5))
    standard = noise / np.sqrt(network.variance_array)
    # the upper quartile of t(3) is 0.764892; the variance of t(3) is 3
    inside = (np.abs(standard) < 0.764892 / math.sqrt(3)).mean(axis=0)
    assert np.abs(inside - 0.5).max() < 4 * math.sqrt(0.25 / rows)


def test_samples_are_reproducible(network):
    for sample in (
        simulate.sample_heavy_tailed,
        lambda *a, **k: simulate.sample_contaminated(*a, nodes=2, **k).data,
    ):
        assert (sample(network, 30, seed=6) == sample(network, 30, seed=6)).all()
        assert (sample(network, 30, seed=6) != sample(network, 30, seed=7)).any()


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_and_small_networks_are_sampled(rows):
    for nodes in range(3):
        small = simulate.random_network(simulate.chain(nodes), seed=0)
        assert simulate.sample_heavy_tailed(small, rows, seed=0).shape == (rows, nodes)
        assert simulate.sample_contaminated(small, rows, seed=0, nodes=0).data.shape == (
            rows,
            nodes,
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda net: simulate.sample_heavy_tailed(net, 5, seed=0, noise="cauchy"),
        lambda net: simulate.sample_heavy_tailed(net, 5, seed=0, degrees=2),
        lambda net: simulate.sample_heavy_tailed(net, -5, seed=0),
        lambda net: simulate.sample_contaminated(net, 5.0, seed=0),
        lambda net: simulate.sample_contaminated(net, 5, seed=0, nodes=5),
        lambda net: simulate.sample_contaminated(net, 5, seed=0, share=2),
    ],
)
def test_bad_sampling_settings_are_refused(network, call):
    with pytest.raises(SettingError, match="expected"):
        call(network)
