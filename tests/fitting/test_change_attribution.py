"""Attributions of change against all orders of exchange."""

import pickle

import numpy as np
import pandas as pd
import pytest
from tests.model.exact import random_dag, random_network
from tests.reference.counterfactuals import shapley

import gaussnet as gn


def scales(found, before, after):
    """Sizes of what contributions of mean and variance are sums of."""
    spread = max(np.abs(net.covariance()).max() for net in (before, after))
    return 1.0 + np.abs([found.mean_before, found.mean_after]).max() + spread


@pytest.mark.parametrize("seed", range(25))
def test_contributions_are_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 6, degree=3.5)
    before, after = random_network(rng, dag), random_network(rng, dag)
    target = dag.nodes[dag.order[-1]]
    found = gn.attribute_change(before, after, target)
    expected = shapley(before, after, target)
    # Exchanges mix the largest coefficients of both: products along paths of up to 5 edges.
    small = 1e-11 * scales(found, before, after) * 10
    for node, (mean, variance) in expected.items():
        assert found.mean.get(node, 0.0) == pytest.approx(mean, abs=small)
        assert found.variance.get(node, 0.0) == pytest.approx(variance, abs=small)


@pytest.mark.parametrize("seed", range(5))
def test_graphs_may_differ(seed):
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e"]
    drawn = []
    for order in (names, names[::-1]):
        edges = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if rng.random() < 0.6]
        drawn.append(random_network(rng, gn.Dag.from_edges(edges, nodes=order)))
    found = gn.attribute_change(*drawn, "e")
    expected = shapley(*drawn, "e")
    small = 1e-10 * scales(found, *drawn)
    for node, (mean, variance) in expected.items():
        assert found.mean.get(node, 0.0) == pytest.approx(mean, abs=small)
        assert found.variance.get(node, 0.0) == pytest.approx(variance, abs=small)


@pytest.mark.parametrize("name", ["ecoli70", "arth150"])
def test_contributions_add_up_in_published_networks(name):
    before = gn.networks.load(name)
    rng = np.random.default_rng(1)
    after = gn.GaussianNetwork.from_arrays(
        before.dag,
        before.coefficient_array * rng.uniform(0.5, 1.5, len(before.coefficient_array)),
        before.variance_array * rng.uniform(0.5, 2.0, len(before.dag)),
        before.intercept_array + rng.normal(size=len(before.dag)),
    )
    deepest = before.dag.nodes[before.dag.order[-1]]
    for target in (deepest, before.dag.nodes[0]):
        found = gn.attribute_change(before, after, target)
        place = before.dag.position(target)
        assert found.mean_before == pytest.approx(before.mean()[place], rel=1e-12)
        assert found.variance_after == pytest.approx(after.covariance()[place, place], rel=1e-12)
        sizes = 1e-12 * scales(found, before, after)
        whole = found.mean_after - found.mean_before
        assert sum(found.mean.values()) == pytest.approx(whole, abs=sizes)
        whole = found.variance_after - found.variance_before
        assert sum(found.variance.values()) == pytest.approx(whole, abs=sizes)


def test_an_equation_that_is_the_same_has_no_part_and_strangers_are_not_listed():
    dag = gn.Dag.parse("[a][b|a][c|b][d]")
    before = gn.GaussianNetwork.from_arrays(dag, [1.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    after = gn.GaussianNetwork.from_arrays(dag, [1.5, 2.0], [2.0, 1.0, 1.0, 9.0], [1.0, 0, 0, 5])
    found = gn.attribute_change(before, after, "c")
    assert list(found.mean) == list(found.variance) == ["a", "b", "c"]
    assert found.mean["c"] == found.variance["c"] == 0.0
    assert found.mean["a"] == pytest.approx(2.5)
    assert found.mean["b"] == pytest.approx(0.5)
    same = gn.attribute_change(before, before, "c")
    assert set(same.mean.values()) == set(same.variance.values()) == {0.0}


def test_a_chain_of_forty_changed_equations_is_exact_and_quick():
    # One factor of two in each of 40 coefficients: 2^40 sets, and each has the same part.
    dag = gn.Dag.from_edges([(f"x{i}", f"x{i + 1}") for i in range(40)])
    zeros = np.zeros(40)
    before = gn.GaussianNetwork.from_arrays(dag, np.ones(40), [1.0, *zeros], [1.0, *zeros])
    after = gn.GaussianNetwork.from_arrays(dag, np.full(40, 1.1), [1.0, *zeros], [1.0, *zeros])
    found = gn.attribute_change(before, after, "x40")
    parts = [found.mean[f"x{i}"] for i in range(1, 41)]
    np.testing.assert_allclose(parts, (1.1**40 - 1.0) / 40, rtol=1e-12)
    parts = [found.variance[f"x{i}"] for i in range(1, 41)]
    np.testing.assert_allclose(parts, (1.1**80 - 1.0) / 40, rtol=1e-12)
    assert found.mean["x0"] == 0.0


def test_fits_are_taken_as_their_networks():
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    fits = [gn.fit(gn.simulate.random_network(dag, seed=s).sample(50, seed=s), dag) for s in (1, 2)]
    found = gn.attribute_change(*fits, "b")
    assert found.mean == gn.attribute_change(fits[0].network, fits[1].network, "b").mean
    assert repr(found) == "ChangeAttribution('b', 2 equations)"


def of_categories(seed):
    """Two networks over a category of three levels, roots that covary, and their children."""
    dag = gn.Dag.parse("y ~ fuel + age + rain; z ~ y + rain; age ~~ rain")
    dag = dag.with_factors({"fuel": ("Diesel", "Gas", "Petrol")})
    rng = np.random.default_rng(seed)
    return random_network(rng, dag), random_network(rng, dag)


@pytest.mark.parametrize("seed", range(5))
def test_nodes_that_covary_are_exchanged_as_one(seed):
    before, after = of_categories(seed)
    found = gn.attribute_change(before, after, "z")
    fuel = tuple(before.dag.indicators)
    assert len(fuel) == 2
    units = {"fuel": fuel, "age ~~ rain": ("age", "rain"), "y": ("y",), "z": ("z",)}
    # The arcs that stand for covariances are exchanged together, so they may be taken for edges.
    plain = [
        gn.GaussianNetwork.from_arrays(
            gn.Dag.from_edges(net.dag.edges, nodes=net.dag.nodes),
            net.coefficient_array,
            net.variance_array,
            net.intercept_array,
        )
        for net in (before, after)
    ]
    expected = shapley(*plain, "z", units)
    small = 1e-11 * scales(found, before, after)
    assert set(found.mean) == set(units)
    for unit, (mean, variance) in expected.items():
        assert found.mean[unit] == pytest.approx(mean, abs=small)
        assert found.variance[unit] == pytest.approx(variance, abs=small)


def test_an_indicator_can_be_the_target():
    before, after = of_categories(1)
    node = next(iter(before.dag.indicators))
    found = gn.attribute_change(before, after, node)
    assert list(found.mean) == ["fuel"]
    place = before.dag.position(node)
    change = after.mean()[place] - before.mean()[place]
    assert found.mean["fuel"] == pytest.approx(change, rel=1e-12)
    with pytest.raises(gn.GraphError, match="'fuel' is a category: name one of"):
        gn.attribute_change(before, after, "fuel")


def test_contributions_are_a_table():
    before, after = of_categories(2)
    found = gn.attribute_change(before, after, "z")
    frame = found.to_frame()
    assert frame["mean"].sum() == pytest.approx(found.mean_after - found.mean_before)
    assert abs(frame["mean"]).is_monotonic_decreasing
    assert r"age \textasciitilde{}\textasciitilde{} rain & " in found.to_latex()
    assert found.to_markdown().startswith("| equation | mean | variance |")


def test_bad_pairs_are_refused():
    one = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [1.0], [1.0, 1.0])
    turned = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[b][a|b]"), [1.0], [1.0, 1.0])
    other = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][c|a]"), [1.0], [1.0, 1.0])
    with pytest.raises(gn.GraphError, match="together have the cycle"):
        gn.attribute_change(one, turned, "a")
    with pytest.raises(gn.NetworkError, match="'b', 'c' is in one of them only"):
        gn.attribute_change(one, other, "a")
    with pytest.raises(gn.GraphError, match="there is no node 'z'"):
        gn.attribute_change(one, one, "z")
    with pytest.raises(gn.NetworkError, match="got str, expected a gaussnet"):
        gn.attribute_change(one, "two", "a")


CHAIN = gn.Dag.parse("[a][b|a][c|a:b][d|c:a]", nodes="abcd")
EARLIER = gn.simulate.random_network(CHAIN, seed=0, intercepts=(-1.0, 1.0))
LATER = gn.GaussianNetwork(
    CHAIN,
    {**EARLIER.coefficients, ("a", "b"): EARLIER.coefficients["a", "b"] + 0.5},
    {**EARLIER.variances, "c": 1.5 * EARLIER.variances["c"]},
    {**EARLIER.intercepts, "a": EARLIER.intercepts["a"] + 0.7},
)


def both_parts(found):
    return np.array([*found.mean.values(), *found.variance.values()])


def test_errors_of_contributions_are_those_of_repeated_samples():
    """The spread of 80 answers is known to 1 / sqrt(160) of itself; four of these are allowed."""
    repeats, rows = 80, 300
    answers, errors, truth = [], [], both_parts(gn.attribute_change(EARLIER, LATER, "d"))
    for seed in range(repeats):
        fits = (gn.fit(one.sample(rows, seed=2 * seed + n), CHAIN)
                for n, one in enumerate((EARLIER, LATER)))  # fmt: skip
        found = gn.attribute_change(*fits, "d")
        answers.append(both_parts(found))
        errors.append([*found.errors.mean.values(), *found.errors.variance.values()])
    typical = np.sqrt(np.mean(np.square(errors), axis=0))
    ratio = np.std(answers, axis=0, ddof=1) / typical
    assert np.abs(np.log(ratio)).max() < 4.0 / np.sqrt(2.0 * repeats)
    held = np.mean(np.abs(np.array(answers) - truth) < 1.96 * np.array(errors))
    # Eight parts of 80 samples; parts of one sample are not independent.
    assert abs(held - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / repeats)


@pytest.mark.parametrize("settings", [{}, {"method": "robust"}, {"missing": "likelihood"}])
def test_two_fits_have_intervals_in_print_and_in_frames(settings):
    rows = [np.array(one.sample(200, seed=n)) for n, one in enumerate((EARLIER, LATER))]
    if settings:
        rows[0][3, 1] = np.nan if "missing" in settings else 900.0
    fits = [gn.fit(own, CHAIN, **settings) for own in rows]
    found = gn.attribute_change(*fits, "d", level=0.9)
    assert "std. error  90% low  90% high" in str(found).replace("   ", "  ")
    frame = found.to_frame()
    assert (frame["mean_low"] < frame["mean"]).all()
    assert (frame["variance_high"] > frame["variance"]).all()
    width = (frame["mean_high"] - frame["mean_low"]) / frame["mean_error"]
    np.testing.assert_allclose(width, 2.0 * 1.6448536, rtol=1e-6)


def test_the_error_of_a_root_is_that_of_its_mean():
    """For a node alone: variances of the two means, and of the two variances, added up."""
    dag = gn.Dag.parse("[x]", nodes="x")
    rng = np.random.default_rng(5)
    old, new = rng.normal(size=(40, 1)), rng.normal(2.0, 3.0, size=(70, 1))
    found = gn.attribute_change(gn.fit(old, dag), gn.fit(new, dag), "x").errors
    mean = old.var(ddof=1) / 40 + new.var(ddof=1) / 70
    assert found.mean["x"] == pytest.approx(np.sqrt(mean), rel=1e-9)
    variance = 2.0 * old.var() ** 2 / 39 + 2.0 * new.var() ** 2 / 69
    assert found.variance["x"] == pytest.approx(np.sqrt(variance), rel=0.05)


def test_networks_have_no_errors_and_fits_without_rows_say_why():
    assert gn.attribute_change(EARLIER, LATER, "d").errors is None
    fit = gn.fit(EARLIER.sample(50, seed=0), CHAIN)
    robust = pickle.loads(pickle.dumps(gn.fit(LATER.sample(50, seed=1), CHAIN, "robust")))
    found = gn.attribute_change(fit, robust, "d")
    assert found.errors is None
    assert "note: no standard errors: this fit no longer has the rows" in str(found)


def test_errors_with_categories():
    rng = np.random.default_rng(0)

    def cars(shares):
        fuel = np.array(["Diesel", "Gas", "Petrol"])[rng.choice(3, size=300, p=shares)]
        return pd.DataFrame({"fuel": fuel, "mpg": rng.normal(size=300) + 5.0 * (fuel == "Gas")})

    fits = [gn.fit(cars(shares), "mpg ~ fuel") for shares in ((0.3, 0.3, 0.4), (0.2, 0.5, 0.3))]
    found = gn.attribute_change(*fits, "mpg")
    assert list(found.errors.mean) == list(found.mean)
    # The mean moves with the share of gas: 5 times the error of a difference of shares.
    assert found.errors.mean["fuel"] == pytest.approx(5.0 * np.sqrt(0.46 / 300), rel=0.15)


@pytest.mark.parametrize(("x", "y"), [(1e20, 1.0), (1.0, 1e-20), (1e60, 1e60)])
def test_errors_of_contributions_do_not_depend_on_units(x, y):
    dag = gn.Dag.parse("y ~ x", nodes=["x", "y"])
    truth = gn.GaussianNetwork(dag, {("x", "y"): 0.7}, {"x": 1.0, "y": 0.5})
    pairs = []
    for units in (np.ones(2), np.array([x, y])):
        fits = [gn.fit(np.array(truth.sample(300, seed=seed)) * units, dag) for seed in (1, 2)]
        found = gn.attribute_change(*fits, "y")
        pairs.append([found.errors.variance[node] / units[1] ** 2 for node in ("x", "y")])
    np.testing.assert_allclose(pairs[1], pairs[0], rtol=1e-6)


def test_intervals_of_variances_hold_under_heavy_tails_which_a_note_names():
    """Student's t with 5 degrees of freedom has an excess kurtosis of 6.

    200 repetitions of 500 rows: three standard errors of their count are 0.046, and the sample
    kurtosis of such rows, too small in most of them, costs three per cent.
    """
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    truth = [gn.GaussianNetwork.from_arrays(dag, [slope], [1.0, 1.0]) for slope in (0.5, 1.0)]
    expected, inside = gn.attribute_change(*truth, "b").variance, np.zeros(2)
    for seed in range(200):
        noise = np.random.default_rng(seed).standard_t(5.0, (2, 500, 2)) / np.sqrt(5.0 / 3.0)
        fits = []
        for (first, second), slope in zip(noise.transpose(0, 2, 1), (0.5, 1.0), strict=True):
            rows = np.column_stack((first, slope * first + second))
            fits.append(gn.fit(rows, dag, columns=["a", "b"]))
        found = gn.attribute_change(*fits, "b")
        for place, name in enumerate("ab"):
            low, high = found.errors.interval("variance", name, found.variance[name])
            inside[place] += low <= expected[name] <= high
    assert (inside / 200 > 0.95 - 0.046 - 0.03).all()  # 0.7 with the errors of Gaussian noise
    assert found.notes[0].startswith("heavy tails in ")
    assert "note: heavy tails in " in str(found)


def test_fits_without_rows_say_that_tails_were_not_looked_at():
    truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a]"), seed=1)
    samples = [truth.sample(200, seed=seed) for seed in (1, 2)]
    sums = [gn.solve(gn.summarize(rows, truth.dag)) for rows in samples]
    found = gn.attribute_change(*sums, "b")
    assert found.errors is not None
    assert "take the noise as Gaussian" in found.notes[0]
    fits = [gn.fit(rows, truth.dag) for rows in samples]
    assert gn.attribute_change(*fits, "b").notes == ()
    copies = [pickle.loads(pickle.dumps(fit)) for fit in fits]
    assert gn.attribute_change(*copies, "b").notes == ()


def test_what_is_only_round_off_is_shown_as_0():
    """A shift of a column changes intercepts and no variance; its slopes differ by round-off."""
    dag = gn.Dag.parse("[a][b|a][c|a:b][d|c:b]", nodes="abcd")
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(500, seed=1))
    shifted = rows + np.array([1_000.0, 0.0, 0.0, 0.0])
    fits = [gn.fit(own, dag, columns=list("abcd")) for own in (rows, shifted)]
    found = gn.attribute_change(*fits, "d")
    assert set(found.variance.values()) == {0.0}
    assert min(abs(found.mean[node]) for node in "abc") > 1_000.0
    assert "e-1" not in str(found)


def test_a_small_contribution_that_is_no_round_off_is_shown():
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    before = gn.GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0], [1.0, 0.0])
    after = gn.GaussianNetwork.from_arrays(dag, [1.0], [1.0 + 1e-12, 1.0], [1.0, 1e-13])
    found = gn.attribute_change(before, after, "b")
    assert found.variance["a"] == pytest.approx(1e-12, rel=1e-3)
    assert found.mean["b"] == pytest.approx(1e-13, rel=1e-2)
    assert found.mean["a"] == 0.0


def test_a_small_shift_of_a_large_mean_is_no_round_off():
    """Seconds since 1970 that are shifted by 0.05, eleven standard errors."""
    rng, dag = np.random.default_rng(0), gn.Dag.parse("[a][b|a]", nodes="ab")
    first = 1.7e9 + rng.normal(size=200_000)
    rows = np.column_stack((first, first + rng.normal(size=200_000)))
    found = gn.attribute_change(gn.fit(rows, dag), gn.fit(rows + 0.05, dag), "b")
    # Values of 1.7e9 are whole multiples of 2.4e-7, and their mean loses some more.
    assert found.mean["a"] == pytest.approx(0.05, abs=1e-3)
    assert found.errors.mean["a"] == pytest.approx(np.sqrt(2.0 / 200_000), rel=0.1)
