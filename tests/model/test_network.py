"""The Gaussian network: what it keeps, refuses, draws and scores."""

import contextlib
import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2, multivariate_normal
from tests.model.exact import (
    EPS,
    exact_moments,
    log_density_rounding,
    random_dag,
    random_network,
    without_cancellation,
)

from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.graph import Dag
from gaussnet.model import Gaussian, GaussianNetwork, checks
from gaussnet.model.equations import BLOCK_VALUES

WET = Dag.from_edges([("rain", "wet"), ("sprinkler", "wet")])
EDGES = {("rain", "wet"): 1.5, ("sprinkler", "wet"): 0.0}
VARIANCES = {"rain": 1.0, "wet": 0.25, "sprinkler": 4.0}
EMPTY = GaussianNetwork(Dag.from_edges([]), {}, {})


def wet(**changes):
    given_values = {"coefficients": EDGES, "variances": VARIANCES} | changes
    return GaussianNetwork(WET, **given_values)


def pair(slope=2.0, variances=(1.0, 0.5), intercepts=None):
    return GaussianNetwork.from_arrays(
        Dag.parse("[a][b|a]", nodes="ab"), [slope], variances, intercepts
    )


def test_mappings_give_back_what_was_given():
    intercepts = {"sprinkler": -1.0, "wet": 2.0, "rain": 0.5}
    net = wet(intercepts=intercepts)
    assert dict(net.coefficients) == EDGES
    assert dict(net.variances) == VARIANCES
    assert dict(net.intercepts) == intercepts


def test_without_intercepts_they_are_zero():
    assert dict(wet().intercepts) == {"rain": 0.0, "wet": 0.0, "sprinkler": 0.0}


def test_matrix_has_the_parent_in_the_row_and_keeps_node_order():
    expected = np.zeros((3, 3))
    expected[0, 1] = 1.5
    np.testing.assert_array_equal(wet().to_matrix(), expected)
    assert WET.edges == (("rain", "wet"), ("sprinkler", "wet"))


def test_from_arrays_equals_the_network_from_mappings():
    rng = np.random.default_rng(0)
    net = random_network(rng, random_dag(rng, 12))
    again = GaussianNetwork(net.dag, net.coefficients, net.variances, net.intercepts)
    assert again == net
    assert hash(again) == hash(net)


@pytest.mark.parametrize(
    "other",
    [
        pair(slope=np.nextafter(2.0, 3.0)),
        pair(variances=(1.0, 0.25)),
        pair(intercepts=[0.0, 1e-300]),
        GaussianNetwork.from_arrays(Dag.parse("[a][c|a]", nodes="ac"), [2.0], [1.0, 0.5]),
        "no network",
    ],
)
def test_any_difference_makes_networks_unequal(other):
    assert pair() != other
    assert not pair().equals(other)


def test_minus_zero_equals_zero_and_hashes_alike():
    assert pair(slope=-0.0) == pair(slope=0.0)
    assert hash(pair(slope=-0.0)) == hash(pair(slope=0.0))


def test_nothing_in_a_network_can_be_written():
    net = pair()
    with pytest.raises(AttributeError):
        net.dag = WET
    with pytest.raises(TypeError):
        net.coefficients["a", "b"] = 1.0
    for array in (net.coefficient_array, net.variance_array, net.intercept_array, net.scales):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_changing_the_source_arrays_does_not_change_the_network():
    slopes, squares = np.array([2.0]), np.array([1.0, 0.5])
    net = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]", nodes="ab"), slopes, squares)
    slopes[0] = squares[0] = 9.0
    assert net == pair()


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
@pytest.mark.parametrize("net", [pair(), EMPTY], ids=["pair", "empty"])
def test_copies_and_pickles_are_equal_and_still_read_only(clone, net):
    _ = net.coefficients, net.scales
    again = clone(net)
    assert again == net
    assert not again.variance_array.flags.writeable


def test_repr_is_short_whatever_the_size():
    big = GaussianNetwork.from_arrays(Dag.from_edges([], nodes=range(500)), [], np.ones(500))
    assert repr(pair()) == "GaussianNetwork(2 nodes, 1 edge: 'a', 'b')"
    assert len(repr(big)) < 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficients": {("rain", "wet"): 1.0}}, "no coefficient for 'sprinkler' -> 'wet'"),
        ({"coefficients": EDGES | {("wet", "rain"): 1.0}}, "'wet' -> 'rain', which the graph"),
        ({"coefficients": EDGES | {("rain", "wet"): math.nan}}, "'rain' -> 'wet' is nan"),
        ({"coefficients": EDGES | {("rain", "wet"): "1.5"}}, "'rain' -> 'wet' is '1.5'"),
        ({"coefficients": EDGES | {("rain", "wet"): True}}, "is True, expected a finite number"),
        ({"coefficients": EDGES | {("rain", "wet"): 10**400}}, "expected a finite number"),
        ({"coefficients": [1.0, 2.0]}, "from_arrays"),
        ({"variances": {"rain": 1.0, "wet": 1.0}}, "no variance for 'sprinkler'"),
        ({"variances": VARIANCES | {"snow": 1.0}}, "'snow', which the graph does not have"),
        ({"variances": VARIANCES | {"wet": -1e-300}}, "variance of 'wet' is -1e-300"),
        ({"variances": VARIANCES | {"wet": math.inf}}, "variance of 'wet' is inf"),
        ({"intercepts": {"rain": 1.0}}, "no intercept for 'wet', 'sprinkler'"),
    ],
)
def test_numbers_that_do_not_fit_the_graph_are_refused_by_name(changes, message):
    with pytest.raises(NetworkError, match=message):
        wet(**changes)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([1.0, 2.0], [1.0, 1.0], None), r"coefficients of shape \(2,\), expected \(1,\)"),
        (([[1.0]], [1.0, 1.0], None), r"shape \(1, 1\)"),
        (([1.0], [1.0], None), r"variances of shape \(1,\), expected \(2,\)"),
        (([math.inf], [1.0, 1.0], None), "coefficient of 'a' -> 'b' is inf"),
        (([1.0], [1.0, -1.0], None), "variance of 'b' is -1.0"),
        (([1.0], [1.0, 1.0], [0.0, math.nan]), "intercept of 'b' is nan"),
        ((["x"], [1.0, 1.0], None), "not all numbers"),
        (([1j], [1.0, 1.0], None), "not all numbers"),
    ],
)
def test_arrays_that_do_not_fit_the_graph_are_refused(arrays, message):
    with pytest.raises(NetworkError, match=message):
        GaussianNetwork.from_arrays(Dag.parse("[a][b|a]", nodes="ab"), *arrays)


def test_something_else_than_a_dag_is_refused():
    with pytest.raises(NetworkError, match="expected a Dag"):
        GaussianNetwork({"a": []}, {}, {})
    with pytest.raises(NetworkError, match="expected a Dag"):
        GaussianNetwork.from_arrays([("a", "b")], [], [])


@given(st.integers(0, 2**32), st.integers(0, 7))
@settings(max_examples=40, deadline=None)
def test_mean_and_covariance_equal_the_exact_recursion(seed, nodes):
    rng = np.random.default_rng(seed)
    net = random_network(rng, random_dag(rng, nodes))
    mean, covariance = exact_moments(net, net.dag.nodes)
    # Paths can cancel, so rounding is measured against the sums of their sizes: at most 7 nodes on
    # a path, at most 6 parents of each, a product and a sum for each.
    largest = without_cancellation(net)
    roundings = 2 * 7 * 7 * EPS
    mean_gap = net.mean() - np.array(mean, float)
    assert (np.abs(mean_gap) <= roundings * largest.mean()).all()
    gap = net.covariance() - np.array(covariance, float).reshape(nodes, nodes)
    assert (np.abs(gap) <= 2 * roundings * largest.covariance()).all()


def test_covariance_keeps_small_noise_beside_large():
    net = GaussianNetwork.from_arrays(
        Dag.parse("[a][b|a][c|a:b]", nodes="abc"), [1.0, 1.0, -1.0], [1.0, 1e-20, 1e-24]
    )
    assert net.covariance()[2, 2] == pytest.approx(1e-20 + 1e-24, rel=1e-14)


def test_gaussian_of_a_network_has_its_mean_and_covariance():
    rng = np.random.default_rng(3)
    net = random_network(rng, random_dag(rng, 8))
    gaussian = net.to_gaussian()
    assert isinstance(gaussian, Gaussian)
    assert gaussian.names == net.dag.nodes
    np.testing.assert_array_equal(gaussian.mean, net.mean())
    # Sums of 8 products of the same factors in another order.
    scales = np.sqrt(np.diag(net.covariance()))
    gap = gaussian.covariance - net.covariance()
    assert (np.abs(gap) <= 2 * 8 * EPS * np.outer(scales, scales)).all()


def test_sample_has_the_mean_and_covariance_of_the_network():
    rng = np.random.default_rng(1)
    net = random_network(rng, random_dag(rng, 6))
    rows = 40_000
    data = net.sample(rows, seed=5)
    mean, covariance = net.mean(), net.covariance()
    # rows * gap' C^-1 gap is chi-square with 6 degrees of freedom.
    gap = data.mean(axis=0) - mean
    assert rows * gap @ np.linalg.solve(covariance, gap) < chi2.ppf(1 - 1e-6, 6)
    # The variance of an entry of the sample covariance is (C_ij^2 + C_ii C_jj) / rows.
    errors = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / rows)
    assert (np.abs(np.cov(data.T) - covariance) < 5.0 * errors).all()


@pytest.mark.parametrize("rows", [0, 1, 7, 3000])
def test_first_rows_do_not_depend_on_how_many_are_asked_for(rows):
    rng = np.random.default_rng(2)
    net = random_network(rng, random_dag(rng, 1000, degree=2.0))
    np.testing.assert_array_equal(net.sample(3000, seed=9)[:rows], net.sample(rows, seed=9))


def test_a_generator_as_seed_goes_on_from_its_state():
    stream = np.random.default_rng(4)
    parts = [pair().sample(3, seed=stream) for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(parts), pair().sample(6, seed=4))


def test_a_node_without_noise_follows_its_parents_exactly():
    data = pair(variances=(1.0, 0.0), intercepts=[0.0, 3.0]).sample(50, seed=0)
    np.testing.assert_array_equal(data[:, 1], 3.0 + 2.0 * data[:, 0])


@pytest.mark.parametrize("rows", [-1, 2.5, True, "3", None])
def test_a_wrong_number_of_rows_is_refused(rows):
    with pytest.raises(SettingError, match="whole number of 0 or more"):
        pair().sample(rows, seed=0)


def test_a_wrong_seed_is_refused():
    with pytest.raises(SettingError, match="seed"):
        pair().sample(3, seed=-1)


@pytest.mark.parametrize("seed", range(5))
def test_log_density_equals_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng, random_dag(rng, 7))
    data = net.sample(100, seed=seed)
    expected = multivariate_normal(net.mean(), net.covariance()).logpdf(data)
    np.testing.assert_allclose(net.log_density(data), expected, rtol=1e-9, atol=1e-9)
    assert net.score(data) == pytest.approx(expected.mean(), rel=1e-9)


def test_log_density_does_not_depend_on_layout():
    rng = np.random.default_rng(8)
    net = random_network(rng, random_dag(rng, 9))
    data = net.sample(101, seed=0)
    expected = net.log_density(data)
    rounding = log_density_rounding(net, data)
    for layout in (np.asfortranarray(data), np.repeat(data, 2, axis=0)[::2]):
        assert (np.abs(net.log_density(layout) - expected) <= rounding).all()
    np.testing.assert_allclose(net.log_density(data.astype(np.float32)), expected, rtol=1e-5)


def test_rows_of_several_blocks_are_what_they_are_alone():
    rng = np.random.default_rng(8)
    net = random_network(rng, random_dag(rng, 9))
    rows = 2 * BLOCK_VALUES // 9 + 100
    data = net.sample(rows, seed=0)
    np.testing.assert_array_equal(data[:101], net.sample(101, seed=0))
    densities = net.log_density(data)
    for alone in (slice(0, 50), slice(rows // 2, rows // 2 + 50), slice(rows - 50, rows)):
        gap = densities[alone] - net.log_density(data[alone])
        assert (np.abs(gap) <= log_density_rounding(net, data[alone])).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_matched_by_column_name(frame):
    data = pair().sample(20, seed=0)
    shuffled = frame({"b": data[:, 1], "more": data[:, 0] * 0.0, "a": data[:, 0]})
    gap = pair().log_density(shuffled) - pair().log_density(data)
    assert (np.abs(gap) <= log_density_rounding(pair(), data)).all()
    with pytest.raises(DataError, match="no column 'b'"):
        pair().log_density(frame({"a": data[:, 0]}))


def test_a_frame_with_a_column_twice_is_refused():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"])
    with pytest.raises(DataError, match="several columns 'a'"):
        pair().log_density(frame)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((3, 3)), r"shape \(3, 3\), expected \(rows, 2\)"),
        (np.zeros(2), r"shape \(2,\)"),
        (5.0, r"shape \(\)"),
        ([["a", "b"]], "not a table of numbers"),
        ([[1.0, 2.0], [3.0]], r"shape \(\)"),
        ([[1.0, None]], "nan at row 0, column 'b'"),
        ([[0.0, 0.0], [math.nan, 0.0]], "nan at row 1, column 'a'"),
        ([[0.0, math.inf]], "inf at row 0, column 'b'"),
        (np.array([[1j, 0.0]]), "not a table of numbers"),
        (np.ma.masked_equal([[1.0, 2.0]], 2.0), "not a table of numbers"),
    ],
)
def test_data_that_are_no_rows_of_the_network_are_refused(data, message):
    with pytest.raises(DataError, match=message):
        pair().log_density(data)


def test_integers_count_as_numbers():
    np.testing.assert_array_equal(pair().log_density([[1, 2]]), pair().log_density([[1.0, 2.0]]))


def test_no_rows_have_no_densities_and_no_score():
    assert pair().log_density(np.empty((0, 2))).shape == (0,)
    with pytest.raises(DataError, match="0 rows"):
        pair().score(np.empty((0, 2)))


def test_a_network_with_an_exact_node_has_no_density():
    with pytest.raises(NetworkError, match="node 'b' has variance 0"):
        pair(variances=(1.0, 0.0)).log_density([[0.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e10, 1e150])
def test_log_density_moves_by_the_log_of_the_unit(scale):
    small = pair(variances=(scale**2, 0.5 * scale**2), intercepts=[scale, -scale])
    unit = pair(intercepts=[1.0, -1.0])
    data = unit.sample(10, seed=0)
    # The logs are of size 2 * 345 at most, so rounding is within 1e-12.
    np.testing.assert_allclose(
        small.log_density(data * scale), unit.log_density(data) - 2.0 * math.log(scale), atol=1e-11
    )


def test_values_beyond_floating_point_are_refused_not_warned_about():
    chain = GaussianNetwork.from_arrays(
        Dag.parse("[a][b|a][c|a:b]", nodes="abc"), [1e200, 1e200, -1e200], [1.0, 1.0, 1.0]
    )
    with pytest.raises(NetworkError, match="overflow"):
        chain.covariance()
    with pytest.raises(NetworkError, match="overflow"):
        chain.sample(5, seed=0)
    assert chain.log_density([[1.0, 0.0, 1.0]])[0] == -math.inf
    # Fused arithmetic still finds an infinite residual here; any other has infinity minus infinity.
    with contextlib.suppress(DataError):
        assert chain.log_density([[1e200, 1e200, 0.0]])[0] == -math.inf
    with pytest.raises(DataError, match="row 1 is too large"):
        checks.check_densities(np.array([-1.0, math.nan]))


def test_a_network_without_nodes_works():
    assert EMPTY.sample(3, seed=0).shape == (3, 0)
    assert EMPTY.mean().shape == (0,)
    assert EMPTY.covariance().shape == (0, 0)
    assert EMPTY.log_density(np.empty((2, 0))).tolist() == [0.0, 0.0]
    assert EMPTY.to_gaussian().names == ()
