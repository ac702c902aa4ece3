"""Networks whose nodes without parents covary: their law, and what an action changes.

The witness writes the equations of the other nodes by hand over a Gaussian of the roots.
"""

import json

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.errors import GaussnetError, GraphError, NetworkError

ROOTS = ["a", "b", "c"]
MEANS = np.array([1.0, -2.0, 3.0])
COVARIANCE = np.array([[1.0, 1.2, 0.5], [1.2, 4.0, -0.8], [0.5, -0.8, 2.0]])
SLOPES = {("a", "m"): 0.9, ("b", "m"): -0.4, ("m", "y"): 0.7, ("c", "y"): 0.3}
NODES = [*ROOTS, "m", "y"]


def network(order=NODES, pairs=(("a", "b"), ("a", "c"), ("b", "c"))):
    dag = gn.Dag.from_edges(SLOPES, nodes=order).with_covariances(pairs)
    place = {name: index for index, name in enumerate(ROOTS)}
    return gn.GaussianNetwork(
        dag,
        SLOPES,
        {"a": 1.0, "b": 4.0, "c": 2.0, "m": 1.2, "y": 0.6},
        {"a": 1.0, "b": -2.0, "c": 3.0, "m": 0.5, "y": 2.0},
        {(p, q): COVARIANCE[place[p], place[q]] for p, q in dag.covariances},
    )


def by_hand(means, covariance, do=()):
    """Mean and covariance in the order of NODES, from those of the roots."""
    total = np.zeros((5, 5))
    total[:3, :3] = np.eye(3)
    total[3, :3] = [0.9, -0.4, 0.0]
    total[4, :3] = [0.7 * 0.9, -0.7 * 0.4, 0.3]
    noise = np.zeros((5, 5))
    noise[:3, :3] = covariance
    load = np.array([0.0, 0.0, 0.0, 1.0, 0.7])
    wide = total @ noise @ total.T + 1.2 * np.outer(load, load)
    wide[4, 4] += 0.6
    mean = total @ np.concatenate((means, np.zeros(2)))
    mean[3] += 0.5
    mean[4] += 2.0 + 0.7 * 0.5
    return mean, wide


@pytest.mark.parametrize("order", [NODES, ["y", "c", "m", "b", "a"]])
def test_law_is_that_of_the_roots_and_the_equations(order):
    net = network(order)
    mean, covariance = by_hand(MEANS, COVARIANCE)
    places = [net.dag.position(node) for node in NODES]
    assert net.mean()[places] == pytest.approx(mean, abs=1e-13)
    assert net.covariance()[np.ix_(places, places)] == pytest.approx(covariance, abs=1e-13)
    assert net.variances["b"] == pytest.approx(4.0)
    assert net.intercepts["b"] == pytest.approx(-2.0)
    assert set(net.coefficients) == set(SLOPES)


@pytest.mark.parametrize("order", [NODES, ["y", "c", "m", "b", "a"], ["c", "b", "a", "y", "m"]])
@pytest.mark.parametrize("root", ROOTS)
def test_setting_a_root_leaves_the_others_as_they_were(order, root):
    net = network(order)
    means, covariance = MEANS.copy(), COVARIANCE.copy()
    place = ROOTS.index(root)
    means[place], covariance[place], covariance[:, place] = 7.0, 0.0, 0.0
    mean, wide = by_hand(means, covariance)
    after = net.do({root: 7.0})
    places = [after.dag.position(node) for node in NODES]
    assert after.mean()[places] == pytest.approx(mean, abs=1e-12)
    assert after.covariance()[np.ix_(places, places)] == pytest.approx(wide, abs=1e-12)
    assert len(after.dag.covariances) == 1
    drawn = net.sample(5, seed=1, do={root: 7.0})
    assert np.allclose(drawn, after.sample(5, seed=1))


@pytest.mark.parametrize("order", [NODES, ["y", "c", "m", "b", "a"]])
def test_effects_follow_arrows_alone(order):
    net = network(order)
    assert net.effect("a", "y") == pytest.approx(0.63)
    assert net.effect("a", "b") == net.effect("b", "a") == 0.0
    assert [path.nodes for path in net.paths("a", "y")] == [("a", "m", "y")]
    assert net.paths("a", "b") == ()
    step = net.do({"a": 1.0}).mean() - net.do({"a": 0.0}).mean()
    assert step[net.dag.position("y")] == pytest.approx(net.effect("a", "y"))


@pytest.mark.parametrize("order", [NODES, ["y", "c", "m", "b", "a"]])
def test_a_counterfactual_keeps_what_was_seen_of_the_other_roots(order):
    net = network(order)
    row = {"a": 2.0, "b": 1.0, "c": 0.5, "m": 3.0, "y": 4.0}
    after = net.counterfactual(row, do={"a": 0.0}).after
    told = dict(zip(after.names, after.mean.tolist(), strict=True))
    assert told == pytest.approx(row | {"a": 0.0, "m": 3.0 - 1.8, "y": 4.0 - 1.26}, abs=1e-12)
    partly = net.counterfactual({"b": 1.0}, do={"a": 0.0})
    before = dict(zip(partly.before.names, partly.before.mean.tolist(), strict=True))
    told = dict(zip(partly.after.names, partly.after.mean.tolist(), strict=True))
    assert told["c"] == pytest.approx(before["c"])
    assert told["b"] == 1.0
    noise = net.counterfactual(row, do={"a": 0.0}).noise
    own = dict(zip(noise.names, noise.mean.tolist(), strict=True))
    assert own["b"] == pytest.approx(3.0)
    assert own["c"] == pytest.approx(-2.5)


def test_conditioning_uses_the_covariances():
    net = network()
    found = net.condition({"a": 2.0}, targets=["b"])
    assert found.mean[0] == pytest.approx(-2.0 + 1.2 * (2.0 - 1.0))
    assert found.covariance[0, 0] == pytest.approx(4.0 - 1.44)


def test_json_keeps_every_digit_and_csv_the_numbers(tmp_path):
    for net in (network(), network(["y", "b", "a", "m", "c"]), network().do({"a": 1.0})):
        gn.write_network(net, tmp_path / "net.json")
        assert gn.read_network(tmp_path / "net.json") == net
        gn.write_network(net, tmp_path / "net.csv")
        back = gn.read_network(tmp_path / "net.csv")
        assert back.dag.arrows == net.dag.arrows
        assert back.covariance() == pytest.approx(net.covariance(), abs=1e-12)
    assert json.loads((tmp_path / "net.json").read_text())["version"] == 2
    with pytest.raises(GaussnetError, match="read_network"):
        gn.read_dag(tmp_path / "net.json")


def test_a_file_whose_covariances_are_no_edges_is_refused(tmp_path):
    path = tmp_path / "net.json"
    network().save(path)
    for wrong in ([["a", "y"]], [["a", "m"]], [["a", "b"], ["a", "nobody"]], 7):
        text = path.read_text()
        content = json.loads(text)
        content["covariances"] = wrong
        path.write_text(json.dumps(content))
        with pytest.raises(GaussnetError):
            gn.read_network(path)
        path.write_text(text)


def test_lavaan_text_and_dot_have_them_and_other_programs_refuse(tmp_path):
    net = network()
    assert "a ~~ 1.2*b\n" in net.to_lavaan("fixed")
    gn.write_network(net, tmp_path / "net.dot")
    assert 'covariance="1.2"' in (tmp_path / "net.dot").read_text()
    with pytest.raises(GraphError, match="networkx has no covariances"):
        net.to_networkx()
    with pytest.raises(GaussnetError, match="bnlearn has no covariances"):
        gn.write_network(net, tmp_path / "net.R")


def test_covariances_of_no_distribution_are_refused():
    dag = gn.Dag.parse("y ~ a + b; a ~~ b")
    slopes = {("a", "y"): 1.0, ("b", "y"): 1.0}
    with pytest.raises(NetworkError, match="too large"):
        gn.GaussianNetwork(dag, slopes, {"a": 1.0, "b": 1.0, "y": 1.0}, None, {("a", "b"): 1.5})
    with pytest.raises(
        NetworkError, match="no covariance for 'a' ~~ 'b': give one for each, in covariances="
    ):
        gn.GaussianNetwork(dag, slopes, {"a": 1.0, "b": 1.0, "y": 1.0})
    with pytest.raises(NetworkError, match="which the graph does not have"):
        gn.GaussianNetwork(
            dag.without_covariances(),
            slopes,
            {"a": 1.0, "b": 1.0, "y": 1.0},
            None,
            {("a", "b"): 0.5},
        )


def test_roots_that_are_functions_of_others_keep_their_law():
    dag = gn.Dag.parse("y ~ a + b; a ~~ b", nodes=["a", "b", "y"])
    slopes, variances = {("a", "y"): 1.0, ("b", "y"): 1.0}, {"a": 1.0, "b": 4.0, "y": 1.0}
    net = gn.GaussianNetwork(dag, slopes, variances, None, {("a", "b"): 2.0})
    assert net.covariance()[:2, :2] == pytest.approx(np.array([[1.0, 2.0], [2.0, 4.0]]), abs=1e-12)
    constant = gn.GaussianNetwork(dag, slopes, variances | {"a": 0.0}, None, {("a", "b"): 0.0})
    assert constant.covariance()[1, 1] == 4.0
