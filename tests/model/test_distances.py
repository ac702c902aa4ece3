"""KL, Bhattacharyya and Hellinger: against the textbook, exact fractions, and by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.model.exact import (
    EPS,
    exact_bhattacharyya,
    exact_kl,
    exact_sum,
    logarithm,
    random_dag,
    random_network,
    textbook_kl,
)

import gaussnet as gn
from gaussnet.errors import NetworkError
from gaussnet.graph import Dag
from gaussnet.model import Gaussian, GaussianNetwork
from gaussnet.model.contrast import compare, excess
from gaussnet.model.distances import bhattacharyya, hellinger, kl_by_node, kl_divergence

CHAIN = Dag.parse("[a][b|a][c|a:b]")


def pair(slope=2.0, variances=(1.0, 0.5), intercepts=None, model="[a][b|a]"):
    return GaussianNetwork.from_arrays(Dag.parse(model), [slope], variances, intercepts)


def line(scale=1.0, mean=0.0):
    return Gaussian(["x"], [mean], [[scale]])


def rounding_of_equal(gaussian, condition=None):
    """What KL may be between equal Gaussians: the square of the error of whitened factors."""
    count = len(gaussian.names)
    growth = np.linalg.cond(gaussian.factor) if condition is None else condition
    return count * (10 * count * growth * EPS) ** 2


def networks(seed, nodes, kind):
    """Two networks over the same names: one graph, one graph in another order, two graphs."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, nodes)
    names = rng.permutation(dag.nodes).tolist()
    other = {
        "same graph": lambda: dag,
        "shuffled": lambda: Dag.from_edges(dag.edges, nodes=names),
        "fewer edges": lambda: Dag.from_edges(dag.edges[::2], nodes=names),
        "other graph": lambda: random_dag(rng, nodes, names=names),
    }[kind]()
    return random_network(rng, dag), random_network(rng, other)


KINDS = ["same graph", "shuffled", "fewer edges", "other graph"]


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_kl_equals_the_textbook_form(kind, seed, nodes):
    p, q = networks(seed, nodes, kind)
    names = p.dag.nodes
    expected = textbook_kl(p, q, names)
    for left in (p, p.to_gaussian()):
        for right in (q, q.to_gaussian()):
            assert kl_divergence(left, right) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_kl_and_bhattacharyya_of_networks_are_exact_to_rounding(kind, seed):
    p, q = networks(seed, 5, kind)
    assert kl_divergence(p, q) == pytest.approx(exact_kl(p, q), rel=1e-12)
    assert bhattacharyya(p, q) == pytest.approx(exact_bhattacharyya(p, q), rel=1e-12)


@pytest.mark.parametrize("kind", ["same graph", "shuffled"])
@pytest.mark.parametrize("seed", range(5))
def test_terms_by_node_sum_to_the_kl_divergence_in_the_order_of_p(kind, seed):
    p, q = networks(seed, 9, kind)
    terms = kl_by_node(p, q)
    assert list(terms) == list(p.dag.nodes)
    assert all(term > 0.0 for term in terms.values())
    assert sum(terms.values()) == pytest.approx(kl_divergence(p, q), rel=1e-13)


def test_terms_by_node_by_hand():
    p = pair(1.0, (4.0, 1.0), [1.0, 0.0])
    q = pair(1.5, (4.0, 2.0), [1.0, 0.25])
    # D'MD = 0.25 * 4, e = 0.25 + 0.5 * 1.
    expected = 0.5 * (math.log(2.0) + 0.5 - 1.0 + (1.0 + 0.75**2) / 2.0)
    terms = kl_by_node(p, q)
    assert terms["a"] == 0.0
    assert terms["b"] == pytest.approx(expected, rel=1e-14)


def test_terms_by_node_cannot_be_changed():
    terms = kl_by_node(pair(), pair())
    with pytest.raises(TypeError):
        terms["a"] = 1.0


def test_kl_agrees_with_monte_carlo():
    p, q = networks(4, 6, "other graph")
    data = p.sample(40_000, seed=0)
    order = [p.dag.position(name) for name in q.dag.nodes]
    gains = p.log_density(data) - q.log_density(data[:, order])
    error = gains.std() / math.sqrt(len(gains))
    assert abs(gains.mean() - kl_divergence(p, q)) < 5.0 * error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [1e-10, 1e-20, 1e-100])
@pytest.mark.parametrize("seed", range(4))
def test_kl_keeps_its_digits_beside_tiny_noise(kind, small, seed):
    rng = np.random.default_rng(seed)
    p, q = networks(seed, 5, kind)
    chosen = rng.choice(p.dag.nodes, 2, replace=False)

    def sharpened(net):
        squares = {n: v * (small**2 if n in chosen else 1.0) for n, v in net.variances.items()}
        return GaussianNetwork(net.dag, net.coefficients, squares, net.intercepts)

    p, q = sharpened(p), sharpened(q)
    assert kl_divergence(p, q) == pytest.approx(exact_kl(p, q), rel=1e-10)


def test_kl_of_nearly_equal_coefficients_of_nearly_equal_parents():
    # a and b differ by 1e-10, the errors of their coefficients cancel: D' M D is about 1e-26,
    # and any covariance in floats would drown it in 1e-16 * 1e-6.
    p = GaussianNetwork.from_arrays(CHAIN, [1.0, 1.0, -1.0], [1.0, 1e-20, 1.0])
    q = GaussianNetwork.from_arrays(CHAIN, [1.0, 1.001, -1.001], [1.0, 1e-20, 1.0])
    error = (1.001 - 1.0) ** 2 * 1e-20
    assert kl_divergence(p, q) == pytest.approx(error / 2.0, rel=1e-12, abs=0.0)
    assert kl_divergence(p, q) == pytest.approx(exact_kl(p, q), rel=1e-12, abs=0.0)
    assert bhattacharyya(p, q) == pytest.approx(exact_bhattacharyya(p, q), rel=1e-3)


@pytest.mark.parametrize("change", [1e-15, 1e-12, 1e-8, 1e-3, 1.0, 1e3, 1e12, 1e100])
def test_kl_of_two_variances_is_exact_from_tiny_to_huge_changes(change):
    p = pair()
    for factor in (1.0 + change, 1.0 / (1.0 + change)):
        q = pair(variances=(factor, 0.5))
        assert kl_divergence(p, q) == pytest.approx(exact_kl(p, q), rel=1e-13, abs=0.0)
        assert bhattacharyya(p, q) == pytest.approx(exact_bhattacharyya(p, q), rel=1e-7)


@given(st.floats(-1.0, 1e300, exclude_min=True))
def test_excess_is_never_negative(value):
    assert excess(np.array([value]))[0] >= 0.0


@pytest.mark.parametrize("value", [1e-20, 1e-9, 0.01, 0.0999, 0.1, 0.1001, 3.0])
def test_excess_equals_its_value_to_80_digits(value):
    for t in (value, -value / 4.0):
        expected = exact_sum(Fraction(t), logarithm(1 / (1 + Fraction(t))))
        # The series takes a dozen roundings; beyond it a logarithm, which vectorized loops give to
        # 4 units in the last place, is subtracted.
        rounding = 20 * EPS * expected if abs(t) < 0.1 else 8 * EPS * abs(math.log1p(t))
        assert excess(np.array([t]))[0] == pytest.approx(expected, rel=0.0, abs=rounding)


@pytest.mark.parametrize("kind", KINDS)
def test_every_distance_of_a_network_to_itself_is_zero(kind):
    p, _ = networks(0, 7, kind)
    again = GaussianNetwork(
        Dag.from_edges(p.dag.edges, nodes=p.dag.nodes[::-1]),
        p.coefficients,
        p.variances,
        p.intercepts,
    )
    for q in (p, again):
        assert kl_divergence(p, q) == 0.0
        assert set(kl_by_node(p, q).values()) == {0.0}
        assert bhattacharyya(p, q) == 0.0
        assert hellinger(p, q) == 0.0


def test_networks_that_mean_the_same_with_reversed_arrows_have_distance_zero():
    p = pair(1.0, (1.0, 1.0))
    q = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [2.0, 0.5])
    # All numbers are exact in binary; both singular values are right to a few roundings of the
    # larger, which is 1, and the distances square the errors.
    assert 0.0 <= kl_divergence(p, q) < 2 * (10 * EPS) ** 2
    assert 0.0 <= bhattacharyya(p, q) < 2 * (10 * EPS) ** 2


def test_kl_of_reversed_arrows_keeps_its_digits_beside_tiny_noise():
    p = pair(1.0, (1.0, 1e-20))
    q = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [1.0], [1.0, 2e-20])
    # Twice the noise of the equation: (1/2 - 1 + log 2) / 2, up to 1e-20.
    assert kl_divergence(p, q) == pytest.approx(0.5 * (math.log(2.0) - 0.5), rel=1e-13)


@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from(KINDS), st.floats(-17.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_no_distance_is_negative_and_kl_bounds_bhattacharyya(seed, nodes, kind, power):
    p, other = networks(seed, nodes, kind)
    step = 10.0**power
    near = GaussianNetwork.from_arrays(
        p.dag,
        p.coefficient_array + step,
        p.variance_array * (1.0 + step),
        p.intercept_array - step,
    )
    for q in (near, other):
        divergence, distance = kl_divergence(p, q), bhattacharyya(p, q)
        assert distance >= 0.0
        # Jensen: -log E_P sqrt(q/p) <= KL / 2; the slack is rounding.
        assert divergence >= 2.0 * distance * (1.0 - 1e-9) - 1e-28
        assert 0.0 <= hellinger(p, q) <= 1.0


def test_bhattacharyya_is_symmetric():
    p, q = networks(3, 6, "other graph")
    assert bhattacharyya(p, q) == pytest.approx(bhattacharyya(q, p), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_bhattacharyya_keeps_its_digits_beside_tiny_noise(kind, seed):
    p, q = networks(seed, 5, kind)
    squares = np.where(np.arange(5) % 2, 1e-20, 1.0)
    p = GaussianNetwork.from_arrays(p.dag, p.coefficient_array, squares, p.intercept_array)
    q = GaussianNetwork.from_arrays(q.dag, q.coefficient_array, squares, q.intercept_array)
    assert bhattacharyya(p, q) == pytest.approx(exact_bhattacharyya(p, q), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-140, 1e-10, 1e10, 1e140])
def test_distances_do_not_depend_on_the_unit(unit):
    p, q = networks(5, 6, "other graph")

    def measured(net):
        return GaussianNetwork.from_arrays(
            net.dag, net.coefficient_array, net.variance_array * unit**2, net.intercept_array * unit
        )

    for distance in (kl_divergence, bhattacharyya, hellinger):
        assert distance(measured(p), measured(q)) == pytest.approx(distance(p, q), rel=1e-12)


@pytest.mark.parametrize("gap", [1e-12, 1e-3, 1.0, 50.0])
def test_gaussians_of_equal_scale_by_hand(gap):
    p, q = line(), line(mean=gap)
    exactly = {"rel": 1e-14, "abs": 0.0}  # 45 roundings for a handful of operations
    assert kl_divergence(p, q) == pytest.approx(gap**2 / 2.0, **exactly)
    assert bhattacharyya(p, q) == pytest.approx(gap**2 / 8.0, **exactly)
    assert hellinger(p, q) == pytest.approx(math.sqrt(-math.expm1(-(gap**2) / 8.0)), **exactly)


def test_far_gaussians_stay_finite_in_kl_and_reach_one_in_hellinger():
    p, q = line(), line(1e-150)
    assert kl_divergence(q, p) == pytest.approx(150.0 * math.log(10.0) - 0.5, rel=1e-14)
    assert hellinger(p, q) == 1.0
    expected = 0.5 * (150.0 * math.log(10.0) - math.log(2.0))
    assert bhattacharyya(p, q) == pytest.approx(expected, rel=1e-13)


def test_gaussian_names_are_matched_in_any_order():
    p, _ = networks(0, 5, "same graph")
    gaussian = p.to_gaussian()
    backwards = gaussian.marginal(gaussian.names[::-1])
    assert kl_divergence(gaussian, backwards) <= rounding_of_equal(gaussian)
    assert kl_divergence(p, backwards) <= rounding_of_equal(gaussian)


def test_a_wide_factor_is_as_good_as_a_square_one():
    rng = np.random.default_rng(0)
    wide = Gaussian(["a", "b"], [0.0, 1.0], rng.normal(size=(2, 9)))
    square = Gaussian.from_covariance(["a", "b"], [0.0, 1.0], wide.covariance)
    # The covariance squares the condition of the factor.
    assert kl_divergence(wide, square) <= rounding_of_equal(wide, np.linalg.cond(wide.covariance))


def exact_nodes(ours, theirs, slope=1.0, shift=0.0):
    """Networks a -> b, c alone; b with these variances in p and q."""
    dag = Dag.parse("[a][b|a][c]")
    p = GaussianNetwork.from_arrays(dag, [1.0], [1.0, ours, 1.0])
    q = GaussianNetwork.from_arrays(dag, [slope], [1.0, theirs, 2.0], [0.0, shift, 0.0])
    return p, q


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0.0, 0.0), 0.0),
        ((1.0, 0.0), math.inf),
        ((0.0, 1.0), math.inf),
        ((0.0, 0.0, 1.5), math.inf),
        ((0.0, 0.0, 1.0, 1e-300), math.inf),
        ((0.0, 0.0, 1.0 + 1e-15), math.inf),
    ],
)
def test_an_exact_node_is_infinitely_far_unless_equal_and_leaves_the_others_finite(
    arguments, expected
):
    p, q = exact_nodes(*arguments)
    terms = kl_by_node(p, q)
    assert terms["a"] == 0.0
    assert terms["b"] == expected
    assert terms["c"] == pytest.approx(0.5 * (math.log(2.0) - 0.5), rel=1e-14)
    assert math.isinf(kl_divergence(p, q)) == math.isinf(expected)
    assert hellinger(p, q) == (1.0 if expected else pytest.approx(math.sqrt(1 - (8 / 9) ** 0.25)))


def test_an_error_in_a_coefficient_of_exact_zero_parents_does_not_count():
    dag = Dag.parse("[a][b|a]")
    p = GaussianNetwork.from_arrays(dag, [1.0], [0.0, 0.0])
    q = GaussianNetwork.from_arrays(dag, [7.0], [0.0, 0.0])
    assert kl_divergence(p, q) == 0.0


def test_exact_nodes_may_trade_places_between_graphs():
    p = pair(2.0, (1.0, 0.0))
    q = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [4.0, 0.0])
    wider = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.5], [8.0, 0.0])
    assert kl_divergence(p, q) == 0.0
    assert hellinger(p, q) == 0.0
    assert kl_divergence(p, wider) == pytest.approx(0.5 * (math.log(2.0) - 0.5), rel=1e-14)
    tilted = GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [0.25], [4.0, 0.0])
    assert kl_divergence(p, tilted) == math.inf
    assert bhattacharyya(p, tilted) == math.inf


def test_a_network_with_an_exact_node_is_infinitely_far_from_a_gaussian_with_density():
    p = pair(variances=(1.0, 0.0))
    gaussian = pair().to_gaussian()
    assert kl_divergence(p, gaussian) == math.inf
    assert kl_divergence(gaussian, p) == math.inf
    assert hellinger(p, gaussian) == 1.0


def test_a_singular_gaussian_is_refused():
    flat = Gaussian(["a", "b"], [0.0, 0.0], [[1.0], [1.0]])
    for other in (flat, pair(), pair(variances=(1.0, 0.0))):
        for p, q in ((flat, other), (other, flat)):
            with pytest.raises(NetworkError, match="covariance is singular"):
                kl_divergence(p, q)


@pytest.mark.parametrize("distance", [kl_divergence, bhattacharyya, hellinger])
@pytest.mark.parametrize(
    ("q", "message"),
    [
        (pair(model="[a][z|a]"), "only one of the two distributions has 'b', 'z'"),
        (line(), "only one of the two distributions has 'a', 'b', 'x'"),
        ("q", "got str, expected a GaussianNetwork or a Gaussian"),
    ],
)
def test_distributions_over_other_names_are_refused(distance, q, message):
    with pytest.raises(NetworkError, match=message):
        distance(pair(), q)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (GaussianNetwork.from_arrays(Dag.parse("[a][b]"), [], [1.0, 1.0]), "the same edges"),
        (GaussianNetwork.from_arrays(Dag.parse("[b][a|b]"), [1.0], [1.0, 1.0]), "the same edges"),
        (pair(model="[a][z|a]"), "only one of the two"),
        (pair().to_gaussian(), "got Gaussian, expected two GaussianNetworks"),
    ],
)
def test_terms_by_node_need_the_same_edges(q, message):
    with pytest.raises(NetworkError, match=message):
        kl_by_node(pair(), q)


def test_networks_without_nodes_are_equal():
    empty = GaussianNetwork(Dag.from_edges([]), {}, {})
    assert kl_divergence(empty, empty) == 0.0
    assert bhattacharyya(empty, empty) == 0.0
    assert dict(kl_by_node(empty, empty)) == {}
    assert kl_divergence(empty, empty.to_gaussian()) == 0.0
    assert bhattacharyya(empty, empty.to_gaussian()) == 0.0


def test_a_kl_beyond_floating_point_is_infinite_or_refused_without_a_warning():
    assert kl_divergence(pair(), pair(slope=1e200)) == math.inf
    assert kl_divergence(pair(), pair(variances=(5e-324, 0.5))) == math.inf
    assert kl_divergence(pair(), pair(intercepts=[1e300, 0.0])) == math.inf
    deep = GaussianNetwork.from_arrays(CHAIN, [1e200, 1e200, 1e200], [1.0, 1.0, 1.0])
    other = GaussianNetwork.from_arrays(CHAIN, [1e200, -1e200, 1e100], [1.0, 1.0, 1.0], [1.0] * 3)
    for distance in (kl_divergence, bhattacharyya):
        with pytest.raises(NetworkError, match="too far apart"):
            distance(deep, other)


def test_gaussians_beyond_floating_point_are_infinitely_far_or_refused_without_a_warning():
    assert kl_divergence(line(1e200), line(1e-200)) == math.inf
    wide = Gaussian(["a", "b"], [-1e308, 0.0], [[1.0, 0.0], [1e10, 1.0]])
    other = Gaussian(["a", "b"], [1e308, 0.0], [[1.0, 0.0], [1e10, 1.0]])
    assert kl_divergence(wide, other) == math.inf
    with pytest.raises(NetworkError, match="too far apart"):
        bhattacharyya(wide, other)


def test_an_edge_of_zero_is_an_edge_that_changes_no_distance():
    with_edge = pair(0.0, (1.0, 1.0))
    without = GaussianNetwork.from_arrays(Dag.parse("[a][b]"), [], [1.0, 1.0])
    assert kl_divergence(with_edge, without) == 0.0
    with pytest.raises(NetworkError, match="the same edges"):
        kl_by_node(with_edge, without)


@pytest.mark.parametrize("seed", range(5))
def test_the_factor_gives_the_distance_of_the_singular_values(seed):
    """The difference of logs is right to some 1e-16 for each of 40 nodes."""
    dag = gn.simulate.erdos_renyi(40, 3, seed=seed)
    p, q = (gn.simulate.random_network(dag, seed=10 * seed + k) for k in range(2))
    near = gn.fit(p.sample(300, seed=seed), dag).network
    for other in (q, near):
        contrast = compare(p, other).whitened()
        found = contrast._by_factor()
        values = np.linalg.svd(contrast.matrix, compute_uv=False)
        shape = 0.5 * np.log1p((1.0 - values) ** 2 / (2.0 * values)).sum()
        middle = np.eye(40) + contrast.matrix @ contrast.matrix.T
        shift = 0.25 * contrast.shift @ np.linalg.solve(middle, contrast.shift)
        if found is None:  # some singular value is too large
            assert values.max() ** 2 > 1e5
        else:
            assert found == pytest.approx(shape + shift, rel=1e-9)


def test_networks_that_hardly_differ_keep_their_digits():
    dag = gn.Dag.parse("[a][b|a]")
    p = gn.GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0])
    q = gn.GaussianNetwork.from_arrays(dag, [1.0 + 1e-9], [1.0, 1.0])
    assert compare(p, q).whitened()._by_factor() is None
    # KL is 1e-18 / 2, and the distance a quarter of it to first order
    assert bhattacharyya(p, q) == pytest.approx(1e-18 / 8, rel=1e-6)
