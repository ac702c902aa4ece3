"""Conditioning against exact fractions, dense algebra and Monte Carlo."""

import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from tests.model.exact import EPS, random_dag, random_network, without_cancellation
from tests.reference.conditioning import Impossible, conditioned

import gaussnet as gn
from gaussnet.model.inference import queries
from gaussnet.model.inference.solvers import DenseSolver, LoopySolver, choose_solver

SOLVERS = {
    "dense": DenseSolver.of,
    "sparse": partial(choose_solver, dense_equations=0, few_loops=1e9),
    "loopy": LoopySolver.of,
}
"""One of the three solvers for every part, whatever its size; sparse needs noise everywhere."""


@pytest.fixture(params=SOLVERS)
def condition(request):
    """What `network.condition(evidence, targets=...)` asks, by one of the solvers."""

    def ask(network, evidence, targets=None):
        return queries.condition(network, evidence, targets, SOLVERS[request.param])

    return ask


def quarters(rng, dag, noiseless):
    """A network whose numbers are exact quarters, some nodes without noise."""
    return gn.GaussianNetwork.from_arrays(
        dag,
        rng.integers(-6, 7, len(dag.edges)) / 4.0,
        rng.integers(1, 9, len(dag)) / 4.0 * (rng.random(len(dag)) >= noiseless),
        rng.integers(-8, 9, len(dag)) / 4.0,
    )


def assert_agrees(condition, network, evidence):
    """The answer has the digits of exact fractions, up to rounding of the largest variance."""
    mean, covariance = (np.array(part) for part in conditioned(network, evidence))
    found = condition(network, evidence)
    own = [network.dag.position(name) for name in found.names]
    assert set(found.names) == set(network.dag.nodes) - set(evidence)
    # 1e-10 is 5e5 roundings: well above the few hundred operations, below any real mistake.
    size = 1.0 + np.abs(network.covariance()).max() + np.abs(network.mean()).max()
    np.testing.assert_allclose(found.mean, mean[own], rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(
        found.covariance, covariance[np.ix_(own, own)], rtol=0, atol=1e-10 * size
    )
    np.testing.assert_allclose(found.variances, np.diag(covariance)[own], rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("seed", range(30))
def test_condition_agrees_with_exact_fractions(condition, seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(1, 10)))
    network = quarters(rng, dag, noiseless=0.0)
    observed = rng.permutation(len(dag))[: rng.integers(0, len(dag) + 1)]
    assert_agrees(condition, network, {dag.nodes[i]: float(rng.integers(-9, 9)) for i in observed})


@pytest.mark.parametrize("seed", range(60))
def test_nodes_without_noise_agree_with_exact_fractions_or_the_evidence_is_refused(condition, seed):
    rng = np.random.default_rng(100 + seed)
    dag = random_dag(rng, int(rng.integers(2, 10)))
    network = quarters(rng, dag, noiseless=0.6)
    row = dict(zip(dag.nodes, network.sample(1, seed=seed)[0].tolist(), strict=True))
    chosen = [dag.nodes[i] for i in rng.permutation(len(dag))[: rng.integers(1, len(dag) + 1)]]
    evidence = {name: round(4.0 * row[name]) / 4.0 for name in chosen}
    try:
        conditioned(network, evidence)
    except Impossible:
        with pytest.raises(gn.DataError, match="the evidence is impossible"):
            condition(network, evidence)
    else:
        assert_agrees(condition, network, evidence)


def test_redundant_evidence_changes_nothing(condition):
    dag = gn.Dag.parse("[a][b|a][c|a]", nodes="abc")
    network = gn.GaussianNetwork.from_arrays(dag, [2.0, 3.0], [1.0, 0.0, 1.0])
    once, twice = condition(network, {"b": 4.0}), condition(network, {"b": 4.0, "a": 2.0})
    assert twice.names == ("c",)
    np.testing.assert_allclose(twice.mean, once.mean[1], atol=1e-12)
    np.testing.assert_allclose(twice.covariance, [[1.0]], atol=1e-12)
    with pytest.raises(gn.DataError, match=r"impossible: '[ab]' cannot be"):
        condition(network, {"b": 4.0, "a": 2.1})


def test_decimal_rounding_of_exact_evidence_is_not_a_contradiction(condition):
    dag = gn.Dag.parse("[a][b][sum|a:b]", nodes=["a", "b", "sum"])
    network = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0], [1.0, 1.0, 0.0])
    assert condition(network, {"a": 0.1, "sum": 0.3}).mean[0] == pytest.approx(0.2)
    condition(network, {"a": 0.1, "b": 0.2, "sum": 0.3})  # 0.1 + 0.2 is not 0.3 in binary


def test_evidence_on_every_node_leaves_an_empty_gaussian():
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[a][b|a]", nodes="ab"), [1.0], [1.0, 1.0]
    )
    empty = network.condition({"a": 1.0, "b": 5.0})
    assert empty.names == ()
    assert empty.covariance.shape == (0, 0)


def test_no_evidence_gives_the_joint_law(condition):
    rng = np.random.default_rng(0)
    network = random_network(rng, random_dag(rng, 9))
    found = condition(network, {})
    # 9 nodes, each a sum over at most 8 parents, and a sum of 9 products.
    largest = without_cancellation(network)
    roundings = 4 * 9 * 9 * EPS
    assert (np.abs(found.mean - network.mean()) <= roundings * largest.mean()).all()
    gap = found.covariance - network.covariance()
    assert (np.abs(gap) <= roundings * largest.covariance()).all()


def test_an_empty_graph_has_an_empty_law():
    network = gn.GaussianNetwork.from_arrays(gn.Dag.from_edges([]), [], [])
    assert network.condition({}).names == ()


@pytest.mark.parametrize("units", [(1e-150, 1e150, 1e-100, 1e120), (1e140,) * 4, (1e-140,) * 4])
def test_units_of_any_size_change_the_units_of_the_answer_alone(condition, units):
    dag = gn.Dag.parse("[a][b|a][c|a:b][d|c]", nodes="abcd")
    scales, edges = np.array([1.0, 1.5, 0.5, 0.0]), np.array([1.5, 1.2, -0.7, 1.1])
    base = gn.GaussianNetwork.from_arrays(dag, edges, scales**2, [1.0, 2.0, 3.0, 4.0])
    unit, families = np.array(units), dag.families
    rescaled = edges * (unit[families.family_of_edge] / unit[families.parents])
    scaled = gn.GaussianNetwork.from_arrays(
        dag, rescaled, (scales * unit) ** 2, base.intercept_array * unit
    )
    for evidence in ({"d": 2.0}, {"b": 1.0, "d": 0.5}, {"a": 1.0, "b": 0.0}):
        one = condition(base, evidence)
        other = condition(scaled, {k: v * unit[dag.position(k)] for k, v in evidence.items()})
        own = unit[[dag.position(name) for name in one.names]]
        # Some 100 operations on numbers of the size of the means and variances, at most.
        rounding = 200 * EPS * (np.abs(base.mean()).max() + base.covariance().max())
        np.testing.assert_allclose(other.mean / own, one.mean, rtol=0, atol=rounding)
        ratio = other.factor / own[:, None]
        np.testing.assert_allclose(ratio @ ratio.T, one.covariance, rtol=0, atol=rounding)


def test_targets_get_the_law_that_they_have_among_all(condition):
    rng = np.random.default_rng(3)
    network = random_network(rng, random_dag(rng, 30))
    evidence = {"v3": 1.0, "v9": -2.0, "v17": 0.5, "v22": 0.0}
    whole = condition(network, evidence)
    for targets in (["v5"], ["v28", "v1", "v12"]):
        found, part = condition(network, evidence, targets=targets), whole.marginal(targets)
        assert found.names == part.names == tuple(targets)
        np.testing.assert_allclose(found.mean, part.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.covariance, part.covariance, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.variances, np.diag(part.covariance), rtol=1e-9)


def smoothed_chain(weight, nodes, end):
    """Exact means and variances of a chain with noise variance 1, given its last node."""
    variances = [Fraction(1)]
    for _ in range(nodes - 1):
        variances.append(1 + weight**2 * variances[-1])
    mean, variance = [Fraction(end)], [Fraction(0)]
    for before, after in zip(variances[-2::-1], variances[:0:-1], strict=True):
        gain = weight * before / after
        mean.append(gain * mean[-1])
        variance.append(before + gain**2 * (variance[-1] - after))
    return [float(x) for x in mean[::-1]], [float(x) for x in variance[::-1]]


def test_amplifying_chain_keeps_all_digits():
    """Standard deviations grow to 1e17 along the chain; conditional ones stay near 1/2."""
    nodes, weight = 100, Fraction(3, 2)
    dag = gn.simulate.chain(nodes)
    network = gn.GaussianNetwork.from_arrays(dag, [1.5] * (nodes - 1), [1.0] * nodes)
    found = network.condition({dag.nodes[-1]: 1000.0})
    mean, variances = smoothed_chain(weight, nodes, 1000)
    np.testing.assert_allclose(found.variances, variances[:-1], rtol=1e-12)
    # Means are right to the rounding of the evidence, 1000.
    np.testing.assert_allclose(found.mean, mean[:-1], rtol=0, atol=1e-11)


def test_variances_that_are_small_differences_keep_their_digits(condition):
    """Prior variances reach 1e10 where conditional ones are near 1/2, in every solver.

    The noise-space solver works with standard deviations of 1e5, so it keeps 1e-16 of these.
    """
    nodes = 30
    dag = gn.simulate.chain(nodes)
    network = gn.GaussianNetwork.from_arrays(dag, [1.5] * (nodes - 1), [1.0] * nodes)
    found = condition(network, {dag.nodes[-1]: 10.0})
    _, variances = smoothed_chain(Fraction(3, 2), nodes, 10)
    np.testing.assert_allclose(found.variances, variances[:-1], rtol=1e-8)


def test_draws_given_evidence_have_the_conditional_law(condition):
    """Means and covariances of 40,000 draws lie within 5 standard errors."""
    rng = np.random.default_rng(8)
    network = random_network(rng, random_dag(rng, 6))
    evidence, rows = {"v1": 1.0, "v4": -1.0}, 40_000
    law = condition(network, evidence)
    own = law.sample(rows, seed=1)
    error = np.sqrt(law.variances / rows)
    assert (np.abs(own.mean(axis=0) - law.mean) < 5.0 * error).all()
    spread = np.sqrt(np.outer(law.variances, law.variances) + law.covariance**2) / np.sqrt(rows)
    assert (np.abs(np.cov(own.T) - law.covariance) < 5.0 * spread).all()
    drawn = network.sample(7, seed=1, given=evidence)
    assert (drawn[:, 1] == 1.0).all()
    assert (drawn[:, 4] == -1.0).all()
    drawn = drawn[:, [network.dag.position(name) for name in law.names]]
    np.testing.assert_allclose(drawn, own[:7], rtol=1e-12, atol=1e-12)


def test_first_draws_do_not_depend_on_how_many_follow():
    rng = np.random.default_rng(8)
    network = random_network(rng, random_dag(rng, 6))
    many = network.sample(300, seed=1, given={"v1": 1.0})
    assert (network.sample(3, seed=1, given={"v1": 1.0}) == many[:3]).all()


def test_conditioning_agrees_with_rows_that_happen_to_fall_near_the_evidence():
    """Monte Carlo by rejection: 5 standard errors, and the width of the window beside them."""
    rng = np.random.default_rng(5)
    network = random_network(rng, random_dag(rng, 5, degree=4))
    rows = network.sample(400_000, seed=2)
    place, value = 3, float(network.mean()[3]) + 0.5
    near = rows[np.abs(rows[:, place] - value) < 0.02]
    law = network.condition({"v3": value})
    own = near[:, [network.dag.position(name) for name in law.names]]
    assert len(own) > 1_000
    slack = 5.0 * np.sqrt(law.variances / len(own)) + 0.02
    assert (np.abs(own.mean(axis=0) - law.mean) < slack).all()
    relative = own.var(axis=0) / law.variances - 1.0
    assert (np.abs(relative) < 5.0 * np.sqrt(2.0 / len(own)) + 0.01).all()


@pytest.mark.parametrize("kind", ["erdos_renyi", "scale_free", "random_tree", "chain"])
def test_large_networks_agree_with_dense_algebra(kind):
    nodes, rng = 900, np.random.default_rng(4)
    makers = {
        "erdos_renyi": lambda: gn.simulate.erdos_renyi(nodes, 5, seed=1),
        "scale_free": lambda: gn.simulate.scale_free(nodes, 3, seed=1),
        "random_tree": lambda: gn.simulate.random_tree(nodes, seed=1),
        "chain": lambda: gn.simulate.chain(nodes),
    }
    dag = makers[kind]()
    # Coefficients below 1 in size keep the dense covariance, the witness, well conditioned.
    network = gn.GaussianNetwork.from_arrays(
        dag, rng.uniform(-0.9, 0.9, len(dag.edges)), rng.uniform(0.5, 2.0, nodes)
    )
    places = rng.permutation(nodes)[:60]
    values = rng.normal(size=60)
    found = network.condition({dag.nodes[i]: v for i, v in zip(places, values, strict=True)})
    covariance = network.covariance()
    rest = np.setdiff1d(np.arange(nodes), places)
    gain = np.linalg.solve(covariance[np.ix_(places, places)], covariance[np.ix_(places, rest)]).T
    np.testing.assert_allclose(found.mean, gain @ values, atol=1e-9)
    expected = covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(places, rest)]
    np.testing.assert_allclose(found.variances, np.diag(expected), rtol=1e-8)
    some = found.marginal(found.names[:7])
    np.testing.assert_allclose(some.covariance, expected[:7, :7], rtol=1e-8, atol=1e-9)


def test_large_parts_without_noise_somewhere_are_solved_too():
    """A loopy part of over 400 equations, a third of them without noise."""
    nodes, rng = 900, np.random.default_rng(7)
    dag = gn.simulate.erdos_renyi(nodes, 5, seed=2)
    variances = rng.uniform(0.5, 2.0, nodes) * (rng.random(nodes) > 0.3)
    network = gn.GaussianNetwork.from_arrays(dag, rng.uniform(-0.9, 0.9, len(dag.edges)), variances)
    row = network.sample(1, seed=3)[0]
    places = rng.permutation(nodes)[:80]
    found = network.condition({dag.nodes[i]: float(row[i]) for i in places})
    covariance = network.covariance()
    rest = np.setdiff1d(np.arange(nodes), places)
    inverse = np.linalg.pinv(covariance[np.ix_(places, places)], rcond=1e-11, hermitian=True)
    gain = covariance[np.ix_(rest, places)] @ inverse
    np.testing.assert_allclose(found.mean, gain @ row[places], atol=1e-6)
    expected = covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(places, rest)]
    np.testing.assert_allclose(found.variances, np.diag(expected), atol=1e-6)


def test_conditional_survives_pickling_as_a_plain_gaussian():
    rng = np.random.default_rng(3)
    network = random_network(rng, random_dag(rng, 5))
    law = network.condition({"v0": 1.0})
    again = pickle.loads(pickle.dumps(law))
    assert type(again) is gn.Gaussian
    assert again == law
    assert law.log_density([law.mean]) == again.log_density([law.mean])


@pytest.mark.parametrize(
    ("evidence", "targets", "message"),
    [
        ({"snow": 1.0}, None, "there is no node 'snow'"),
        ({"wet": float("nan")}, None, "the evidence of 'wet' is nan"),
        ({"wet": "much"}, None, "the evidence of 'wet' is 'much'"),
        ({"wet": True}, None, "the evidence of 'wet' is True"),
        ([("wet", 1.0)], None, "got list for the evidence"),
        ({"wet": 1.0}, ["wet"], "'wet' has a given value"),
        ({"wet": 1.0}, ["snow"], "there is no node 'snow'"),
        ({"wet": 1.0}, "rain", "got the string 'rain'"),
        ({"wet": 1.0}, ["rain", "rain"], "listed twice"),
        ({"wet": 1.0}, 5, "got 5 for names"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(evidence, targets, message):
    network = gn.GaussianNetwork.from_arrays(
        gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"]), [1.0], [1.0, 1.0]
    )
    with pytest.raises(gn.GaussnetError, match=message):
        network.condition(evidence, targets=targets)
