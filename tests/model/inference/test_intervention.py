"""Interventions: cut equations, against the definition and Monte Carlo."""

import numpy as np
import pytest
from tests.model.exact import random_dag, random_network

import gaussnet as gn


def walked(network, noise, values):
    """One row by the definition: each node from its equation, unless it is set."""
    row = {}
    for place in network.dag.order.tolist():
        name = network.dag.nodes[place]
        row[name] = network.intercepts[name] + network.scales[place] * noise[place]
        for parent in network.dag.parents(name):
            row[name] += network.coefficients[parent, name] * row[parent]
        row[name] = values.get(name, row[name])
    return [row[name] for name in network.dag.nodes]


def test_intervened_network_follows_the_equations_with_nodes_set():
    rng = np.random.default_rng(0)
    network = random_network(rng, random_dag(rng, 8))
    values = {"v2": 1.5, "v6": -3.0}
    set_network = network.do(values)
    noise = rng.normal(size=8)
    drawn = set_network.intercept_array + set_network.scales * noise
    rows = drawn[None, :].copy()
    for node in set_network.dag.order.tolist():
        name = set_network.dag.nodes[node]
        for parent in set_network.dag.parents(name):
            at = set_network.dag.position(parent)
            rows[0, node] += set_network.coefficients[parent, name] * rows[0, at]
    # Terms of any sign are added along paths of at most 8 nodes with at most 7 parents.
    size = 2 * 8 * 8 * np.finfo(np.float64).eps * np.abs(rows).max()
    np.testing.assert_allclose(rows[0], walked(network, noise, values), rtol=0, atol=size)
    assert set_network.dag.nodes == network.dag.nodes
    assert set_network.dag.parents("v2") == ()


def test_mean_under_an_intervention_moves_by_the_total_effect():
    rng = np.random.default_rng(1)
    network = random_network(rng, random_dag(rng, 8, degree=4))
    for cause in network.dag.nodes:
        gap = network.do({cause: 1.0}).mean() - network.do({cause: 0.0}).mean()
        effects = [network.effect(cause, node) for node in network.dag.nodes]
        np.testing.assert_allclose(gap, effects, rtol=1e-9, atol=1e-9)


def test_intervening_is_not_conditioning():
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"]), [1.0], [1.0, 1.0]
    )
    assert network.do({"wet": 2.0}).condition({}).mean.tolist() == [0.0, 2.0]
    assert network.condition({"wet": 2.0}).mean[0] == pytest.approx(1.0)


def test_samples_under_do_and_given_have_the_law_of_both():
    """Means of 40,000 draws within 5 standard errors."""
    rng = np.random.default_rng(2)
    network = random_network(rng, random_dag(rng, 7, degree=4))
    rows = network.sample(40_000, seed=0, do={"v3": 2.0}, given={"v5": 1.0})
    assert (rows[:, 3] == 2.0).all()
    assert (rows[:, 5] == 1.0).all()
    law = network.do({"v3": 2.0}).condition({"v5": 1.0})
    own = rows[:, [network.dag.position(name) for name in law.names]]
    error = np.sqrt(law.variances / len(rows))
    assert (np.abs(own.mean(axis=0) - law.mean) <= 5.0 * error + 1e-12).all()


def test_an_intervened_node_works_everywhere_or_says_why_not():
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[rain][wet|rain][slip|wet]", nodes=["rain", "wet", "slip"]),
        [1.0, 2.0],
        [1.0, 1.0, 1.0],
    ).do({"wet": 3.0})
    assert network.mean().tolist() == [0.0, 3.0, 6.0]
    assert np.diag(network.covariance()).tolist() == [1.0, 0.0, 1.0]
    assert (network.sample(5, seed=0)[:, 1] == 3.0).all()
    assert network.condition({"slip": 7.0}).mean == pytest.approx([0.0, 3.0], abs=1e-12)
    assert network.condition({"wet": 3.0}).mean == pytest.approx([0.0, 6.0], abs=1e-12)
    with pytest.raises(gn.DataError, match=r"impossible: 'wet' cannot be 4\.0"):
        network.condition({"wet": 4.0})
    with pytest.raises(gn.NetworkError, match="'wet' has variance 0, so the network has no dens"):
        network.log_density([[0.0, 3.0, 6.0]])
    others = network.to_gaussian().marginal(["rain", "slip"])
    assert others.log_density([[0.0, 6.0]])[0] == pytest.approx(-np.log(2.0 * np.pi))


def test_intervening_on_nothing_gives_the_same_network():
    rng = np.random.default_rng(3)
    network = random_network(rng, random_dag(rng, 5))
    assert network.do({}) == network


def test_a_later_intervention_replaces_an_earlier_one():
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"]), [1.0], [1.0, 1.0]
    )
    assert network.do({"wet": 1.0}).do({"wet": 2.0}) == network.do({"wet": 2.0})


@pytest.mark.parametrize("value", [float("inf"), "high", None])
def test_a_value_that_is_no_number_is_refused(value):
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"]), [1.0], [1.0, 1.0]
    )
    with pytest.raises(gn.NetworkError, match="the intervention of 'wet' is"):
        network.do({"wet": value})
