"""Prediction and imputation row by row."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.model.exact import random_dag, random_network

import gaussnet as gn
from gaussnet.model.inference.queries import patterns


def holed(network, rows, seed, share=0.3):
    """Rows of the network with a share of the values missing."""
    values = network.sample(rows, seed=seed)
    values[np.random.default_rng(seed).random(values.shape) < share] = np.nan
    return values


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    return random_network(rng, random_dag(rng, 6, degree=4))


def test_prediction_is_the_conditional_law_row_by_row(network):
    data = holed(network, 40, seed=1)
    found = network.predict(data, "v2", level=0.9)
    for row, values in enumerate(data):
        known = {
            name: value
            for name, value in zip(network.dag.nodes, values.tolist(), strict=True)
            if name != "v2" and not np.isnan(value)
        }
        law = network.condition(known, targets=["v2"])
        assert found.mean[row] == pytest.approx(law.mean[0], rel=1e-9, abs=1e-9)
        assert found.scale[row] == pytest.approx(np.sqrt(law.variances[0]), rel=1e-9)
        # 1.6448536 is the point that a standard normal stays below with chance 0.95.
        assert found.high[row] - found.mean[row] == pytest.approx(1.6448536 * found.scale[row])
        assert found.mean[row] - found.low[row] == pytest.approx(1.6448536 * found.scale[row])


def test_prediction_from_parents_alone_is_the_equation_of_the_node(network):
    data = network.sample(20, seed=3)
    node = max(network.dag.nodes, key=lambda name: len(network.dag.parents(name)))
    parents = network.dag.parents(node)
    found = network.predict(data, node, given=parents)
    expected = network.intercepts[node] + sum(
        network.coefficients[parent, node] * data[:, network.dag.position(parent)]
        for parent in parents
    )
    np.testing.assert_allclose(found.mean, expected, rtol=1e-10)
    np.testing.assert_allclose(found.scale, np.sqrt(network.variances[node]), rtol=1e-10)


def test_intervals_hold_the_truth_as_often_as_they_say(network):
    """20,000 rows at level 0.8: 4 binomial standard errors are 0.0113."""
    data = network.sample(20_000, seed=4)
    found = network.predict(data, "v3", level=0.8)
    held = (found.low <= data[:, 3]) & (data[:, 3] <= found.high)
    assert abs(held.mean() - 0.8) < 4.0 * np.sqrt(0.8 * 0.2 / 20_000)


def test_the_column_of_the_target_is_not_looked_at(network):
    data = network.sample(5, seed=4)
    unknown = data.copy()
    unknown[:, 3] = np.nan
    assert (network.predict(data, "v3").mean == network.predict(unknown, "v3").mean).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_matched_by_name_and_absent_columns_are_not_observed(network, frame):
    data = network.sample(9, seed=5)
    some = {"extra": np.zeros(9), "v4": data[:, 4], "v1": data[:, 1]}
    found = network.predict(frame(some), "v0")
    expected = network.predict(data, "v0", given=["v1", "v4"])
    # The part of all nodes has 6 equations; 1e-12 is 4,500 roundings of its largest value.
    size = 1e-12 * np.abs(data).max()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=size)
    np.testing.assert_allclose(
        np.asarray(network.impute(frame(some)))[:, 0], expected.mean, rtol=0, atol=size
    )


def test_imputation_fills_with_conditional_means_and_keeps_what_is_there(network):
    data = holed(network, 30, seed=6)
    filled = network.impute(data)
    known = ~np.isnan(data)
    assert (filled[known] == data[known]).all()
    for column, name in enumerate(network.dag.nodes):
        lacking = ~known[:, column]
        means = network.predict(data, name).mean
        np.testing.assert_allclose(filled[lacking, column], means[lacking], rtol=1e-9, atol=1e-9)


def test_imputed_draws_have_the_law_of_the_network(network):
    """Covariance of 50,000 rows, 30 % of values drawn again: within 5 standard errors."""
    data = holed(network, 50_000, seed=7)
    filled = network.impute(data, seed=1)
    covariance = network.covariance()
    error = np.sqrt((np.outer(*[np.diag(covariance)] * 2) + covariance**2) / len(data))
    assert (np.abs(np.cov(filled.T) - covariance) < 5.0 * error).all()
    assert (network.impute(data, seed=1) == filled).all()


def test_rows_without_any_value_get_the_mean(network):
    empty = np.full((2, 6), np.nan)
    means = network.mean()
    size = 1e-12 * np.abs(means).max()
    np.testing.assert_allclose(network.impute(empty), [means] * 2, rtol=0, atol=size)
    assert network.predict(empty, "v1").mean[0] == pytest.approx(network.mean()[1])


def test_no_rows_give_no_rows(network):
    assert network.impute(np.empty((0, 6))).shape == (0, 6)
    assert len(network.predict(np.empty((0, 6)), "v1")) == 0


def test_the_given_data_stay_as_they_are(network):
    data = holed(network, 5, seed=8)
    before = data.copy()
    network.impute(data, seed=0)
    network.predict(data, "v1")
    np.testing.assert_array_equal(data, before)


def test_patterns_cover_every_row_once():
    known = np.random.default_rng(0).random((50, 9)) < 0.5
    seen = np.concatenate([rows for _, rows in patterns(known)])
    assert sorted(seen.tolist()) == list(range(50))
    for mask, rows in patterns(known):
        assert (known[rows] == mask).all()


def test_a_deterministic_node_is_predicted_without_error_and_contradictions_are_refused():
    dag = gn.Dag.parse("[a][b][sum|a:b]", nodes=["a", "b", "sum"])
    network = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0], [1.0, 1.0, 0.0])
    found = network.predict([[1.0, np.nan, 3.0]], "b")
    assert found.mean[0] == pytest.approx(2.0)
    assert found.scale[0] == pytest.approx(0.0, abs=1e-12)
    chain = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b|a][c|b]", nodes="abc"), [1.0, 1.0], [1.0, 0.0, 1.0]
    )
    with pytest.raises(gn.DataError, match=r"among rows 1 to 1 the evidence is impossible: 'b'"):
        chain.impute([[1.0, np.nan, 0.0], [1.0, 2.0, np.nan]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(node="snow"), "there is no node 'snow'"),
        (dict(node="v1", level=1.0), "got level=1.0"),
        (dict(node="v1", level=float("nan")), "got level=nan"),
        (dict(node="v1", given=["v1"]), "'v1' is the target"),
        (dict(node="v1", given="v2"), "got the string 'v2'"),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_a_sentence(network, arguments, message):
    with pytest.raises(gn.GaussnetError, match=message):
        network.predict(np.zeros((1, 6)), **arguments)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((2, 5)), r"got data of shape \(2, 5\)"),
        ([[np.inf] * 6], "the data have inf at row 0, column 'v0'"),
        ([["a"] * 6], "not a table of numbers"),
        (pd.DataFrame({"snow": [1.0]}), "no column for any node"),
    ],
)
def test_data_that_do_not_fit_are_refused_with_a_sentence(network, data, message):
    with pytest.raises(gn.DataError, match=message):
        network.impute(data)


def by_schur(network, row, known):
    """Means and variances of the unknown nodes, by blocks of the covariance."""
    mean, cov = np.asarray(network.mean()), np.asarray(network.covariance())
    unknown = ~known
    gain = np.linalg.solve(cov[np.ix_(known, known)], cov[np.ix_(known, unknown)]).T
    means = mean[unknown] + gain @ (row[known] - mean[known])
    left = cov[np.ix_(unknown, unknown)] - gain @ cov[np.ix_(known, unknown)]
    return means, left.diagonal()


@pytest.mark.parametrize("seed", range(5))
def test_missing_cells_and_several_targets_are_those_of_the_covariance(seed):
    dag = gn.simulate.erdos_renyi(25, 3.0, seed=seed)
    network = gn.simulate.random_network(dag, seed=seed, intercepts=(-50.0, 50.0))
    rng = np.random.default_rng(seed)
    rows = np.array(network.sample(30, seed=seed))
    holes = rng.random(rows.shape) < 0.15
    rows[holes] = np.nan
    filled = np.asarray(network.impute(rows, columns=dag.nodes))
    assert np.array_equal(filled[~holes], rows[~holes])
    # Products of 25 numbers of up to 1e3 standard deviations, through a solve of condition 1e4.
    for row, full in zip(rows, filled, strict=True):
        known = ~np.isnan(row)
        if not known.all():
            means, _ = by_schur(network, row, known)
            assert full[~known] == pytest.approx(means, rel=1e-8, abs=1e-7)
    targets = [dag.nodes[3], dag.nodes[17]]
    found = network.predict(rows, targets, columns=dag.nodes)
    assert list(found) == targets
    for k, row in enumerate(rows):
        known = ~np.isnan(row)
        known[[3, 17]] = False
        means, variances = by_schur(network, row, known)
        places = np.flatnonzero(~known).tolist()
        for node, target in ((3, targets[0]), (17, targets[1])):
            own = places.index(node)
            assert found[target].mean[k] == pytest.approx(means[own], rel=1e-8, abs=1e-7)
            assert found[target].scale[k] == pytest.approx(variances[own] ** 0.5, rel=1e-6)


def test_several_targets_are_not_looked_at():
    dag = gn.Dag.parse("[a][b|a][c|b]", nodes="abc")
    network = gn.GaussianNetwork.from_arrays(dag, [2.0, 3.0], [1.0, 1.0, 1.0])
    both = network.predict([[1.0, 100.0, -100.0]], ["b", "c"])
    assert both["b"].mean.tolist() == pytest.approx([2.0])
    assert both["c"].mean.tolist() == pytest.approx([6.0])
    assert both["c"].scale.tolist() == pytest.approx([10.0**0.5])
    with pytest.raises(gn.GaussnetError, match="leave it out"):
        network.predict([[1.0, 1.0, 1.0]], ["b", "c"], given=["a", "c"])


def test_nearly_deterministic_nodes_keep_their_digits():
    """Where the precision matrix would lose digits the equations are solved."""
    dag = gn.Dag.parse("[a][b|a][c|b][d|c]", nodes="abcd")
    network = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0, 1.0], [1.0, 1e-16, 1e-16, 1e-16])
    row = np.array([[np.nan, np.nan, np.nan, 0.75]])
    assert np.asarray(network.impute(row))[0].tolist() == pytest.approx([0.75] * 4, rel=1e-12)


@pytest.mark.parametrize("given", ["v3", "v3 v90", "v1 v7 v250"], ids=str)
def test_rows_of_large_networks_are_predicted_as_conditions_answer(given):
    text = "\n".join(f"v{k} ~ v{k - 1}" for k in range(1, 500))
    network = gn.simulate.random_network(gn.Dag.parse(text), seed=0)
    values = {name: [1.0, -2.0, 3.0] for name in given.split()} | {"v3": [0.5, np.nan, 4.0]}
    found = network.predict(values, ["v8", "v2"])
    for row in range(3):
        seen = {name: own[row] for name, own in values.items() if not np.isnan(own[row])}
        law = network.condition(seen, targets=["v8", "v2"])
        for place, name in enumerate(("v8", "v2")):
            assert found[name].mean[row] == pytest.approx(law.mean[place], rel=1e-9)
            assert found[name].scale[row] == pytest.approx(law.variances[place] ** 0.5, rel=1e-9)


def test_rows_with_a_node_without_noise_among_the_known_are_predicted():
    dag = gn.Dag.parse("t ~ x; y ~ t", nodes=["x", "t", "y"])
    network = gn.GaussianNetwork.from_arrays(dag, [2.0, 3.0], [1.0, 0.0, 1.0])
    x = np.array([1.0, 2.0, 5.0, np.nan])
    found = network.predict({"x": x, "t": [2.0, 4.0, 10.0, 6.0]}, "y")
    assert found.mean.tolist() == pytest.approx([6.0, 12.0, 30.0, 18.0], rel=1e-12)
    assert found.scale.tolist() == pytest.approx([1.0] * 4, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_few_known_nodes_answer_by_covariances_as_by_the_precision(seed):
    rng = np.random.default_rng(seed)
    network = gn.simulate.random_network(gn.simulate.erdos_renyi(30, 4, seed=seed), seed=seed)
    covariance, mean = np.asarray(network.covariance()), np.asarray(network.mean())
    for count in (0, 1, 6, 15):
        order = rng.permutation(30)
        known, targets = np.sort(order[:count]), order[count : count + 3]
        mask = np.isin(np.arange(30), known)
        found, other = network.precision._by_covariances(known, targets), None
        if found is not None:
            other = network.precision.response(mask).only(targets)
            values = rng.normal(size=(5, 30))
            np.testing.assert_allclose(
                network.precision.means_of(found, values[:, found.known]),
                network.precision.means_of(other, values[:, other.known]),
                rtol=1e-8,
                atol=1e-8,
            )
            np.testing.assert_allclose(found.variances, other.variances, rtol=1e-8)
    # and the textbook formula
    known, targets = np.array([2, 11, 20]), np.array([5, 9])
    gain = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, targets)])
    rows = np.full((2, 30), np.nan)
    rows[:, known] = rng.normal(size=(2, 3))
    names = [network.dag.nodes[k] for k in targets]
    predicted = network.predict(rows, names, columns=network.dag.nodes)
    expected = mean[targets] + (rows[:, known] - mean[known]) @ gain
    for k, name in enumerate(names):
        np.testing.assert_allclose(predicted[name].mean, expected[:, k], rtol=1e-9, atol=1e-9)


def test_evidence_that_is_nearly_collinear_keeps_its_digits():
    """A copy with noise of 1e-7 gives no digits by covariances; the answer is that of the noise."""
    dag = gn.Dag.parse("[a][b|a][c|a:b][d][e][f]", nodes="abcdef")
    network = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0, 1.0], [1.0, 1e-14, 1.0, 1.0, 1.0, 1.0])
    known, targets = np.array([0, 1]), np.array([2])
    assert network.precision._by_covariances(known, targets) is None
    found = network.predict({"a": 2.0, "b": 2.0}, "c")
    assert found.mean.tolist() == pytest.approx([4.0], rel=1e-9)
    assert found.scale.tolist() == pytest.approx([1.0], rel=1e-9)
    # what is left of b given a is a part in 1e14 of its variance
    assert network.predict({"a": 2.0}, "b").scale.tolist() == pytest.approx([1e-7], rel=1e-6)
