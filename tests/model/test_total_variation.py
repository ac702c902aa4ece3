"""Total variation: the interval holds the truth as often as it says, the bounds always."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, multivariate_normal, norm
from tests.model.exact import random_dag, random_network

from gaussnet.errors import NetworkError, SettingError
from gaussnet.graph import Dag
from gaussnet.model import Gaussian, GaussianNetwork
from gaussnet.model.contrast import compare
from gaussnet.model.distances import (
    TotalVariation,
    bhattacharyya,
    kl_divergence,
    overlap_sums,
    total_variation,
)

PAIR = Dag.parse("[a][b|a]")


def line(scale=1.0, mean=0.0):
    return Gaussian(["x"], [mean], [[scale]])


def truth_on_the_line(p, q):
    """Half the integral of |p - q|, split where the densities cross."""
    one = norm(p.mean[0], p.factor[0, 0])
    other = norm(q.mean[0], q.factor[0, 0])
    # log p - log q is a parabola; its roots are where the sign changes.
    gap = np.poly1d([0.0])
    for law, sign in ((one, 1.0), (other, -1.0)):
        mean, scale = law.mean(), law.std()
        gap += sign * np.poly1d([-0.5 / scale**2, mean / scale**2, -0.5 * mean**2 / scale**2])
        gap -= sign * math.log(scale)
    cuts = [-np.inf, *sorted(gap.roots.real.tolist()), np.inf]
    masses = [law.cdf(cuts[1:]) - law.cdf(cuts[:-1]) for law in (one, other)]
    return 0.5 * float(np.abs(masses[0] - masses[1]).sum())


LINES = {
    "shifted": (line(), line(mean=1.0)),
    "a little shifted": (line(), line(mean=0.01)),
    "wider": (line(), line(3.0)),
    "narrow": (line(), line(1e-3, mean=0.5)),
    "far": (line(), line(mean=9.0)),
}


def test_the_truth_on_the_line_agrees_with_quadrature():
    p, q = line(), line(2.0, mean=0.7)

    def gap(x):
        return 0.5 * abs(norm.pdf(x) - norm.pdf(x, 0.7, 2.0))

    assert truth_on_the_line(p, q) == pytest.approx(quad(gap, -30, 30, limit=500)[0], abs=1e-6)


@pytest.mark.parametrize("name", LINES)
def test_interval_holds_the_truth_at_its_level_in_one_dimension(name):
    p, q = LINES[name]
    truth = truth_on_the_line(p, q)
    runs = 300
    found = [total_variation(p, q, samples=400, seed=seed, level=0.9) for seed in range(runs)]
    misses = sum(not one.interval[0] <= truth <= one.interval[1] for one in found)
    # At the level promised, more misses than this come once in 10,000.
    assert misses <= binom.ppf(1 - 1e-4, runs, 0.1)
    assert all(one.lower <= truth <= one.upper for one in found)


@pytest.mark.parametrize("name", ["shifted", "a little shifted", "wider", "narrow"])
def test_estimate_is_unbiased(name):
    p, q = LINES[name]
    estimates = np.array([total_variation(p, q, samples=400, seed=s).estimate for s in range(200)])
    error = estimates.std() / math.sqrt(len(estimates))
    assert abs(estimates.mean() - truth_on_the_line(p, q)) < 4.5 * error


def test_interval_holds_where_one_from_the_normal_law_would_be_a_point():
    p, q = line(), line(1e-3)
    truth = truth_on_the_line(p, q)
    found = [total_variation(p, q, samples=100, seed=seed) for seed in range(100)]
    points = [one for one in found if one.estimate == 1.0]
    assert truth < 1.0 - 1e-3
    assert len(points) > 30  # no draw hit the narrow peak
    assert all(one.interval[0] < truth < one.interval[1] for one in points)


@pytest.mark.parametrize(
    "q",
    [
        GaussianNetwork.from_arrays(PAIR, [1.2], [1.0, 0.7], [0.0, 0.3]),
        GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [2.5, 0.8], [0.1, 0.0]),
        Gaussian(["b", "a"], [0.0, 0.2], [[1.0, 0.4], [0.0, 0.9]]),
    ],
    ids=["same graph", "turned graph", "gaussian"],
)
def test_interval_holds_the_truth_on_a_grid_in_two_dimensions(q):
    p = GaussianNetwork.from_arrays(PAIR, [0.8], [1.0, 1.0])
    gaussian = q if isinstance(q, Gaussian) else q.to_gaussian()
    gaussian = gaussian.marginal(["a", "b"])
    step = 0.02
    axis = np.arange(-9.0, 9.0, step)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    densities = [
        multivariate_normal(mean, covariance).pdf(grid)
        for mean, covariance in (
            (p.mean(), p.covariance()),
            (gaussian.mean, gaussian.covariance),
        )
    ]
    truth = 0.5 * np.abs(densities[0] - densities[1]).sum() * step**2
    found = total_variation(p, q, samples=50_000, seed=1, level=0.999)
    # The grid is right to about step^2 / 10 near the kinks, well inside 1e-4.
    assert found.interval[0] - 1e-4 < truth < found.interval[1] + 1e-4
    assert found.interval[1] - found.interval[0] < 0.02
    assert found.lower < truth < found.upper


@pytest.mark.parametrize("seed", range(3))
def test_interval_holds_the_closed_form_of_equal_covariances(seed):
    rng = np.random.default_rng(seed)
    p = random_network(rng, random_dag(rng, 30))
    q = GaussianNetwork.from_arrays(
        p.dag, p.coefficient_array, p.variance_array, p.intercept_array + 0.1
    )
    gap = p.mean() - q.mean()
    distance = math.sqrt(gap @ np.linalg.solve(p.covariance(), gap))
    truth = 2.0 * norm.cdf(distance / 2.0) - 1.0
    found = total_variation(p, q, samples=20_000, seed=seed, level=0.9999)
    assert found.interval[0] < truth < found.interval[1]
    assert found.lower < truth < found.upper


def test_bounds_are_the_best_of_pinsker_bretagnolle_huber_and_bhattacharyya():
    rng = np.random.default_rng(2)
    dag = random_dag(rng, 5)
    p, q = random_network(rng, dag), random_network(rng, dag)
    found = total_variation(p, q, samples=10)
    divergences = [kl_divergence(p, q), kl_divergence(q, p)]
    affinity = math.exp(-bhattacharyya(p, q))
    uppers = [math.sqrt(value / 2.0) for value in divergences]
    uppers += [math.sqrt(1.0 - math.exp(-value)) for value in divergences]
    uppers += [math.sqrt(1.0 - affinity**2)]
    assert found.upper == pytest.approx(min(uppers), rel=1e-12)
    assert found.lower == pytest.approx(1.0 - affinity, rel=1e-12)


def test_tiny_distances_keep_their_digits():
    p = GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, 1e-20])
    q = GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, 1e-20], [0.0, 1e-16])
    truth = 2.0 * norm.cdf(0.5e-6) - 1.0  # the shift is 1e-6 noise scales
    found = total_variation(p, q, samples=100_000, seed=0)
    # |z| has standard deviation 0.6 against its mean 0.8, so 100,000 draws give 1 percent.
    assert found.estimate == pytest.approx(truth, rel=0.02)
    assert found.upper < 2.0 * truth


def test_tiny_changes_of_variance_keep_their_digits():
    p, q = (GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, v]) for v in (1.0, 1.0 + 2e-9))
    # To first order TV = 1e-9 E|z^2 - 1| / 2, and E|z^2 - 1| = 4 phi(1).
    truth = 1e-9 * 2.0 * norm.pdf(1.0)
    assert total_variation(p, q).estimate == pytest.approx(truth, rel=0.02)


def test_equal_distributions_are_known_to_be_equal():
    rng = np.random.default_rng(0)
    p = random_network(rng, random_dag(rng, 60))
    assert total_variation(p, p, samples=100) == TotalVariation(0.0, (0.0, 0.0), 0.0, 0.0, 100)


def test_turned_arrows_that_mean_the_same_are_known_to_be_equal():
    p = GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, 1.0])
    q = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [2.0, 0.5])
    found = total_variation(p, q, samples=1000)
    assert found.upper < 1e-15
    assert found.estimate < 1e-14  # rounding of the log densities


def test_distributions_on_different_hyperplanes_are_at_distance_one():
    p = GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, 0.0])
    q = GaussianNetwork.from_arrays(PAIR, [1.0], [1.0, 1.0])
    assert total_variation(p, q, samples=10) == TotalVariation(1.0, (1.0, 1.0), 1.0, 1.0)
    assert total_variation(q, p, samples=10).estimate == 1.0
    assert total_variation(p, q.to_gaussian(), samples=10).estimate == 1.0


def test_equal_exact_nodes_take_no_part():
    dag = Dag.parse("[a][b|a]")
    p = GaussianNetwork.from_arrays(dag, [2.0], [1.0, 0.0])
    q = GaussianNetwork.from_arrays(dag, [2.0], [4.0, 0.0])
    turned = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [16.0, 0.0])
    truth = truth_on_the_line(line(), line(2.0))
    for other in (q, turned):
        found = total_variation(p, other, samples=20_000, level=0.9999)
        assert found.interval[0] < truth < found.interval[1]


def test_estimate_does_not_depend_on_the_size_of_blocks():
    rng = np.random.default_rng(1)
    dag = random_dag(rng, 8)
    contrast = compare(random_network(rng, dag), random_network(rng, dag))
    whole = overlap_sums(contrast, 999, np.random.default_rng(3))
    blocks = overlap_sums(contrast, 999, np.random.default_rng(3), block_values=40)
    # Sums of 999 values in [0, 1]; the variance is a difference of two such sums.
    rounding = 999 * np.finfo(float).eps
    assert blocks.mean == pytest.approx(whole.mean, rel=0, abs=2 * rounding)
    assert blocks.variance == pytest.approx(whole.variance, rel=0, abs=2 * rounding)


@pytest.mark.parametrize("name", ["shifted", "wider"])
def test_draws_stop_at_the_accuracy_asked_for(name):
    p, q = LINES[name]
    truth = truth_on_the_line(p, q)
    found = total_variation(p, q, samples=400_000, accuracy=0.05, level=0.9999)
    assert found.samples < 400_000
    assert found.interval[0] < truth < found.interval[1]
    radius = 0.5 * (found.interval[1] - found.interval[0])
    assert radius <= 0.05 * found.estimate
    most = total_variation(p, q, samples=5_000, accuracy=1e-6)
    assert most.samples == 5_000
    with pytest.raises(SettingError, match="got accuracy=2"):
        total_variation(p, q, accuracy=2)


def test_an_accuracy_keeps_the_level():
    """Of 400 intervals of level 0.9 at most 40 miss the truth, but for 4 standard deviations."""
    p, q = LINES["shifted"]
    truth = truth_on_the_line(p, q)
    missed = 0
    for seed in range(400):
        low, high = total_variation(
            p, q, samples=20_000, accuracy=0.1, level=0.9, seed=seed
        ).interval
        missed += not low <= truth <= high
    assert missed <= 40 + 4 * math.sqrt(400 * 0.1 * 0.9)


def test_same_seed_same_answer_and_another_seed_another():
    p, q = LINES["shifted"]
    first, again, other = (total_variation(p, q, samples=500, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first.estimate != other.estimate


def test_wider_levels_give_wider_intervals():
    p, q = LINES["shifted"]
    narrow, wide = (total_variation(p, q, samples=5000, level=level) for level in (0.5, 0.99))
    assert wide.interval[0] < narrow.interval[0] < narrow.interval[1] < wide.interval[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 1}, "samples=1"),
        ({"samples": 10.0}, r"samples=10\.0"),
        ({"samples": True}, "samples=True"),
        ({"level": 0.0}, r"level=0\.0"),
        ({"level": 1.0}, r"level=1\.0"),
        ({"level": "high"}, "level='high'"),
        ({"seed": -3}, "seed=-3"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        total_variation(*LINES["shifted"], **settings)


def test_other_names_are_refused():
    with pytest.raises(NetworkError, match="only one of the two distributions has 'x', 'y'"):
        total_variation(line(), Gaussian(["y"], [0.0], [[1.0]]))


def test_networks_without_nodes_are_at_distance_zero():
    empty = GaussianNetwork(Dag.from_edges([]), {}, {})
    assert total_variation(empty, empty, samples=5).estimate == 0.0
