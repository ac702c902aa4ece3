"""Counterfactuals against the joint law of both worlds."""

from html import escape as html_escape

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.model.exact import random_dag, random_network
from tests.reference.counterfactuals import twin

import gaussnet as gn

CHAIN = gn.GaussianNetwork.from_arrays(
    gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"),
    [2.0, 1.0, 3.0],
    [1.0, 0.5, 0.25],
    [1.0, -1.0, 0.5],
)


@pytest.mark.parametrize("seed", range(40))
def test_partly_observed_rows_agree_with_the_twin_network(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    network = random_network(rng, random_dag(rng, count, degree=4))
    row = network.sample(1, seed=seed)[0]
    seen = rng.random(count) < rng.choice([0.0, 0.4, 0.7, 1.0])
    nodes = network.dag.nodes
    evidence = {nodes[i]: row[i] for i in np.flatnonzero(seen)}
    chosen = rng.choice(count, int(rng.integers(1, min(count, 3) + 1)), replace=False)
    do = {nodes[i]: float(rng.normal()) for i in chosen}
    found = network.counterfactual(evidence, do=do)
    mean, covariance = twin(network, evidence, do)
    whole = np.abs(network.covariance()).max() + np.abs(network.do(do).covariance()).max()
    # Inverses and a pseudo-inverse of at most 8 equations: 1e5 roundings of the largest number.
    small = 2e-11 * (1.0 + whole + np.abs(mean).max() + np.abs(row).max())
    own = [slice(k * count, (k + 1) * count) for k in range(3)]
    change = (
        covariance[own[1], own[1]]
        - covariance[own[1], own[0]]
        - covariance[own[0], own[1]]
        + covariance[own[0], own[0]]
    )
    for law, expected, spread in (
        (found.before, mean[0], covariance[own[0], own[0]]),
        (found.after, mean[1], covariance[own[1], own[1]]),
        (found.noise, mean[2], covariance[own[2], own[2]]),
        (found.change, mean[1] - mean[0], change),
    ):
        assert law.names == nodes
        np.testing.assert_allclose(law.mean, expected, rtol=0, atol=small)
        np.testing.assert_allclose(law.covariance, spread, rtol=0, atol=small)


def test_a_complete_row_leaves_nothing_open_and_shows_its_noise():
    found = CHAIN.counterfactual({"a": 1.0, "b": 3.0, "c": 9.0}, do={"a": 0.0})
    # b = -1 + 2 a + 2 and c = 0.5 + a + 3 b - 1.5, with the noises 2 and -1.5 that the row shows.
    assert found.noise.mean.tolist() == [0.0, 2.0, -1.5]
    assert found.after.mean.tolist() == [0.0, 1.0, 2.0]
    assert found.change.mean.tolist() == [-1.0, -2.0, -7.0]
    for law in (found.before, found.after, found.noise, found.change):
        assert not law.variances.any()


def test_nodes_that_do_not_descend_from_the_set_ones_stay_to_the_last_bit():
    found = CHAIN.counterfactual({"a": 0.1, "b": 0.7, "c": 9.3}, do={"b": -4.0})
    assert found.after.mean[0] == 0.1
    assert found.after.mean[1] == -4.0


def test_without_evidence_it_is_the_intervention():
    found = CHAIN.counterfactual({}, do={"b": 2.0})
    np.testing.assert_allclose(found.after.mean, CHAIN.do({"b": 2.0}).mean(), rtol=1e-14)
    expected = CHAIN.do({"b": 2.0}).covariance()
    np.testing.assert_allclose(found.after.covariance, expected, atol=1e-13)


def test_setting_an_observed_node_to_what_it_was_changes_nothing():
    found = CHAIN.counterfactual({"b": 3.0}, do={"b": 3.0})
    assert not found.change.mean.any()
    assert not found.change.variances.any()
    np.testing.assert_allclose(found.after.mean, CHAIN.counterfactual({"b": 3.0}, do={}).after.mean)


@pytest.mark.parametrize(
    "row",
    [
        {"a": 1.0, "c": 9.0},
        {"a": 1, "b": None, "c": np.float32(9.0)},
        {"a": 1.0, "b": float("nan"), "c": 9.0},
        [1.0, np.nan, 9.0],
        np.array([[1.0, np.nan, 9.0]]),
        pd.DataFrame({"c": [9], "id": ["x"], "a": [1.0]})[["c", "a"]],
        pd.DataFrame({"c": [9.0, 1.0], "id": ["x", "y"], "a": [1.0, 2.0]}).iloc[0],
        pd.DataFrame({"c": [9.0], "b": [None], "a": [1.0]}, dtype="Float64").iloc[0],
        pl.DataFrame({"c": [9.0], "a": [1.0]}),
        pl.DataFrame({"c": [9.0], "a": [1.0], "b": [None]}).row(0, named=True),
    ],
    ids=range(10),
)
def test_a_row_may_come_in_any_shape(row):
    expected = CHAIN.counterfactual({"a": 1.0, "c": 9.0}, do={"b": 0.0})
    found = CHAIN.counterfactual(row, do={"b": 0.0})
    assert found.evidence == {"a": 1.0, "c": 9.0}
    assert found.after == expected.after


def test_printing_shows_both_worlds():
    found = CHAIN.counterfactual({"a": 1.0, "b": 3.0, "c": 9.0}, do={"a": 0.0})
    assert str(found).splitlines() == [
        "node         was    would be        sd",
        "a              1           0         0",
        "b              3           1         0",
        "c              9           2         0",
    ]
    assert repr(found) == "Counterfactual(3 nodes observed, do={'a': 0.0})"


def test_what_was_not_observed_is_marked_in_print_and_in_notebooks():
    found = CHAIN.counterfactual({"a": 1.0}, do={"a": 0.0})
    note = "'b', 'c' were not observed: 'was' is what is expected of them given the rest"
    assert str(found).splitlines()[-1] == f"note: {note}"
    assert found.notes == (note,)
    html = found._repr_html_()
    assert "<table" in html
    assert html_escape(note) in html
    whole = CHAIN.counterfactual({"a": 1.0, "b": 3.0, "c": 9.0}, do={"a": 0.0})
    assert whole.notes == ()


def test_bad_rows_are_refused():
    with pytest.raises(gn.GraphError, match="there is no node 'z'"):
        CHAIN.counterfactual({"z": 1.0}, do={"a": 0.0})
    with pytest.raises(gn.GraphError, match="there is no node 'z'"):
        CHAIN.counterfactual({"a": 1.0}, do={"z": 0.0})
    with pytest.raises(gn.NetworkError, match="expected a finite number"):
        CHAIN.counterfactual({"a": np.inf}, do={"a": 0.0})
    with pytest.raises(gn.NetworkError, match="expected a finite number"):
        CHAIN.counterfactual({"a": 1.0}, do={"a": np.nan})
    with pytest.raises(gn.DataError, match="got 2 rows"):
        CHAIN.counterfactual(np.zeros((2, 3)), do={"a": 0.0})
    with pytest.raises(gn.DataError, match="expected \\(rows, 3\\)"):
        CHAIN.counterfactual([1.0, 2.0], do={"a": 0.0})
    with pytest.raises(gn.NetworkError, match="give an array of floats"):
        CHAIN.counterfactual("rain", do={"a": 0.0})
    still = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]", nodes="ab"), [2.0], [1.0, 0.0])
    with pytest.raises(gn.DataError, match="the evidence is impossible"):
        still.counterfactual({"a": 1.0, "b": 3.0}, do={"a": 0.0})


def test_nodes_without_noise_are_allowed():
    still = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]", nodes="ab"), [2.0], [1.0, 0.0])
    found = still.counterfactual({"b": 3.0}, do={"a": 0.0}).after
    np.testing.assert_allclose(found.mean, 0.0, atol=1e-14)  # 3 - 2 * 1.5, a few roundings of 3


def test_a_category_that_was_not_observed_is_warned_of():
    dag = gn.Dag.parse("score ~ hours + school").with_factors({"school": ("private", "public")})
    network = gn.simulate.random_network(dag, seed=0)
    row = {"hours": 1.0, "score": 9.0}
    for do in ({"hours": 2.0}, {"school": "public"}):
        (warning,) = network.counterfactual(row, do=do).warnings
        assert warning.startswith("warning: the level of school was not observed: ")
        assert warning.endswith("give the level in the row, as 'school': 'public'")
        assert str(network.counterfactual(row, do=do)).startswith(warning)
    for level in ("private", "public"):
        known = network.counterfactual({**row, "school": level}, do={"hours": 2.0})
        assert known.warnings == ()


def test_a_row_of_a_frame_may_have_other_columns_in_whatever_form_it_comes():
    frame = pd.DataFrame({"id": ["k", "l"], "a": [1.0, 2.0], "b": [3.0, 1.0], "c": [9.0, 4.0]})
    forms = (frame.iloc[1].to_dict(), frame.iloc[1], frame.iloc[[1]])
    found = [str(CHAIN.counterfactual(row, do={"a": 0.0})) for row in forms]
    assert len(set(found)) == 1
    with pytest.raises(gn.GraphError, match="there is no node 'id'"):  # not a row of this frame
        CHAIN.counterfactual({"id": 1.0, "a": 2.0}, do={"a": 0.0})


def test_names_like_that_of_a_missing_node_are_refused():
    network = gn.simulate.random_network(gn.Dag.parse("wet ~ rain; slip ~ wet"), seed=0)
    row = {"wett": 1.0, "rain": 0.0, "slip": 1.0}
    for form in (row, pd.Series(row)):
        with pytest.raises(gn.GraphError, match="did you mean 'wet'"):
            network.counterfactual(form, do={"rain": 1.0})
    complete = row | {"wet": 2.0}
    for form in (complete, pd.Series(complete)):
        assert network.counterfactual(form, do={"rain": 1.0}).evidence["wet"] == 2.0


def test_a_category_stands_for_the_nodes_of_its_levels():
    rng = np.random.default_rng(0)
    site = rng.choice(["Basel", "Lyon", "Oslo"], 200)
    frame = pd.DataFrame({"id": range(200), "site": site, "x": rng.normal(size=200)})
    frame["y"] = frame["x"] + (site == "Oslo") + rng.normal(size=200)
    fit = gn.fit(frame, "y ~ x + site")
    cases = [
        fit.counterfactual(row, do={"x": 0.0})
        for row in (frame.iloc[5].to_dict(), frame.iloc[5], frame.iloc[[5]])
    ]
    assert len({str(case) for case in cases}) == 1
