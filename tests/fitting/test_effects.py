"""Effects of a fit: standard errors by the delta method."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.tails import PValue

CHAIN = gn.Dag.parse("a ~ 1; b ~ first*a; c ~ b").reordered("abc")


def chain_fit(rows, seed, weights=(0.8, -1.2), method="least-squares"):
    truth = gn.GaussianNetwork.from_arrays(CHAIN, weights, [1.0, 1.0, 1.0])
    return gn.fit(truth.sample(rows, seed=seed), CHAIN, method)


def test_a_chain_has_the_closed_form_of_a_product():
    """Sobel's formula: se(xy)^2 = x^2 se(y)^2 + y^2 se(x)^2."""
    fit = chain_fit(400, seed=0)
    x, y = fit.network.coefficient_array
    errors = fit.standard_errors.coefficients
    found = fit.effect("a", "c")
    expected = np.hypot(y * errors["a", "b"], x * errors["b", "c"])
    assert found.value == pytest.approx(x * y)
    assert found.standard_error == pytest.approx(expected, rel=1e-10)
    assert found.interval == (found.low, found.high)


@pytest.mark.parametrize("kind", ["classical", "heteroscedastic", "expected"])
def test_a_single_edge_has_the_interval_of_its_coefficient(kind):
    same_as_coefficient(chain_fit(12, seed=1), kind)


@pytest.mark.parametrize("method", ["robust", "sequential-trim", gn.BatchAverage(4)])
def test_a_single_edge_has_that_interval_with_every_method(method):
    same_as_coefficient(chain_fit(60, seed=1, method=method), None)


def test_a_single_edge_has_that_interval_if_values_are_missing():
    dag = gn.Dag.parse("a ~ 1; b ~ first*a").reordered("ab")
    truth = gn.GaussianNetwork.from_arrays(dag, [0.6], [1.0, 1.0])
    rows = truth.sample(8, seed=3)
    rows[2, 0] = np.nan
    same_as_coefficient(gn.fit(rows, dag, missing="likelihood"), None)


def same_as_coefficient(fit, kind):
    """Student's t with the same degrees of freedom: interval and p-value, in effects and tables."""
    sure = fit.uncertainty(kind, level=0.9)
    (edge,) = fit.table(kind=kind, level=0.9).to_dicts()[:1]
    for found in (fit.effect("a", "b", level=0.9, kind=kind), defined(fit, kind)):
        interval = (found.low, found.high)
        assert interval == pytest.approx(sure.confidence_intervals.coefficients["a", "b"], rel=1e-9)
        assert found.p_value == pytest.approx(edge["p_value"], rel=1e-9)


def defined(fit, kind):
    """The coefficient of the first edge as a quantity that the model text defines."""
    (found,) = fit.defined("itself := first", kind=kind, level=0.9).to_dicts()
    return SimpleNamespace(**found)


def test_undetermined_coefficients_leave_effects_without_errors():
    rows = gn.simulate.random_network(CHAIN, seed=0).sample(20, seed=1)
    for column in (0, 1):
        still = rows.copy()
        still[:, column] = 2.0
        found = gn.fit(still, CHAIN).effect("a", "c")
        assert np.isnan([found.standard_error, found.low, found.high, found.p_value]).all()
        assert "rank 0" in found.note
        assert "nan" not in str(found)


def test_an_exact_coefficient_is_certain_in_effects_and_tables():
    rows = gn.simulate.random_network(CHAIN, seed=0).sample(20, seed=1)
    rows[:, 2] = 2.0 * rows[:, 1]
    fit = gn.fit(rows, CHAIN)
    found, listed = fit.effect("b", "c"), fit.table().to_dicts()[1]
    assert found.p_value == listed["p_value"] < 1e-12


def test_two_parents_bring_their_covariance():
    """effect(a, c) = direct + through b; the witness is the full sandwich over all edges."""
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
    truth = gn.GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
    rows = truth.sample(300, seed=0)
    fit = gn.fit(rows, dag)
    (ab, ac, bc) = fit.network.coefficient_array
    centred = rows - rows.mean(axis=0)
    design, child = centred[:, [0, 1]], centred[:, 2]
    rest = child - design @ [ac, bc]
    covariance = rest @ rest / (300 - 3) * np.linalg.inv(design.T @ design)
    slope = np.array([1.0, ab])
    error = fit.standard_errors.coefficients["a", "b"]
    expected = np.sqrt(slope @ covariance @ slope + (bc * error) ** 2)
    assert fit.effect("a", "c").standard_error == pytest.approx(expected, rel=1e-9)
    # Through b alone the direct edge has no part.
    through = fit.effect("a", "c", via="b")
    assert through.value == pytest.approx(ab * bc)
    expected = np.hypot(bc * error, ab * fit.standard_errors.coefficients["b", "c"])
    assert through.standard_error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "scale"),
    [("least-squares", "mean-square"), ("batch-average", "mean-square"), ("robust", None)],
)
def test_intervals_hold_the_true_effect_as_often_as_they_say(method, scale):
    """200 repetitions at 0.9: 3.5 binomial standard errors are 0.074."""
    dag = gn.Dag.parse("[a][b|a][c|a:b][d|b:c]", nodes="abcd")
    truth = gn.GaussianNetwork.from_arrays(dag, [0.7, -0.5, 1.1, 0.4, 0.9], [1.0] * 4)
    value, held, repetitions = truth.effect("a", "d"), 0, 200
    settings = {} if scale is None else {"scale": scale}
    for seed in range(repetitions):
        fit = gn.fit(truth.sample(300, seed=seed), dag, method, threads=1, **settings)
        found = fit.effect("a", "d", level=0.9)
        held += found.low <= value <= found.high
    assert abs(held / repetitions - 0.9) < 3.5 * np.sqrt(0.9 * 0.1 / repetitions)


def test_no_path_means_no_effect_and_no_error():
    fit = chain_fit(50, seed=2)
    found = fit.effect("c", "a")
    assert (found.value, found.standard_error, found.interval) == (0.0, 0.0, (0.0, 0.0))
    assert fit.effect("a", "a").interval == (1.0, 1.0)


def test_collinear_parents_spoil_only_the_effects_that_they_share():
    rng = np.random.default_rng(0)
    first = rng.normal(size=60)
    rows = np.column_stack((first, first, first + rng.normal(size=60)))
    rows = np.column_stack((rows, rows[:, 2] + rng.normal(size=60)))
    dag = gn.Dag.parse("[a][b][c|a:b][d|c]", nodes="abcd")
    fit = gn.fit(rows, dag)
    assert np.isnan(fit.effect("a", "d").standard_error)
    assert np.isfinite(fit.effect("c", "d").standard_error)


def test_what_cannot_be_asked_is_refused():
    fit = chain_fit(50, seed=2)
    with pytest.raises(gn.GraphError, match="there is no node 'x'"):
        fit.effect("x", "a")
    with pytest.raises(gn.SettingError, match="got level=2"):
        fit.effect("a", "b", level=2)
    with pytest.raises(gn.SettingError, match="got level='high'"):
        fit.effect("a", "b", level="high")
    with pytest.raises(gn.SettingError, match="got repetitions=3"):
        fit.effect("a", "b", kind="bootstrap", repetitions=3)


def test_the_bootstrap_of_an_effect_is_that_of_the_product_of_its_path():
    dag = gn.Dag.parse("b ~ first*a; c ~ second*b; total := first*second")
    rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
    fit = gn.fit(rows, dag)
    drawn = {"kind": "bootstrap", "repetitions": 50, "seed": 3}
    effect, product = fit.effect("a", "c", **drawn), fit.defined(**drawn).to_dicts()[0]
    found = (effect.value, effect.standard_error, effect.low, effect.high)
    # one multiplies along the path, the other the two coefficients: a few roundings
    expected = [product[name] for name in ("estimate", "std_error", "low", "high")]
    assert found == pytest.approx(expected, rel=1e-12)
    assert effect.low < effect.value < effect.high


def test_an_effect_reads_as_a_sentence():
    found = chain_fit(400, seed=0).effect("a", "c")
    assert str(found).startswith("a -> c: -")
    assert "95% interval" in str(found)


def test_an_effect_without_a_path_says_so():
    fit = chain_fit(100, seed=3)
    found = fit.effect("c", "a")
    assert (found.value, found.interval, found.has_path) == (0.0, (0.0, 0.0), False)
    assert str(found) == "c -> a: 0, for no directed path leads from c to a in the graph"
    assert found.table().notes == ("no directed path leads from c to a in the graph",)
    assert fit.effect("a", "c").has_path
    assert fit.effect("a", "c", via="b").has_path
    assert not fit.effect("b", "c", via="a").has_path
    drawn = fit.effect("c", "a", kind="bootstrap", repetitions=50)
    assert str(drawn) == str(found)


def test_an_effect_through_a_node_does_not_pass_for_one_path():
    """Two paths lead through b, and the effect is their sum."""
    dag = gn.Dag.parse("[a][b|a][c|b][d|b:c]", nodes="abcd")
    truth = gn.GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0, 0.5], [1.0] * 4)
    fit = gn.fit(truth.sample(100, seed=0), dag)
    found = fit.effect("a", "d", via="b")
    assert found.value == pytest.approx(sum(one.effect for one in fit.network.paths("a", "d")))
    assert found.path == "a -> d through b"
    assert fit.effect("a", "d", via=["c", "b"]).path == "a -> d through b and c"
    assert fit.effect("a", "d").path == "a -> d"


@pytest.mark.parametrize("kind", ["classical", "heteroscedastic", "expected"])
def test_p_values_of_a_single_edge_are_those_of_its_coefficient(kind):
    fit = chain_fit(30, seed=1, weights=(0.3, -1.2))
    found = fit.effect("a", "b", kind=kind)
    (row,) = [row for row in fit.table(kind=kind).to_dicts() if row["child"] == "b"]
    assert found.p_value == pytest.approx(row["p_value"], rel=1e-9)
    assert f"p-value {PValue(found.p_value)!s})" in str(found)
    assert found.table().to_dicts()[0]["p_value"] == found.p_value


def test_an_interval_ends_at_0_where_the_p_value_is_one_minus_its_level():
    fit = chain_fit(40, seed=3)
    p_value = fit.effect("a", "c").p_value
    found = fit.effect("a", "c", level=1.0 - p_value)
    assert min(abs(found.low), abs(found.high)) == pytest.approx(0.0, abs=1e-6)
    assert np.isnan(fit.effect("c", "a").p_value)


def sites(rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": rng.choice(["east", "north", "south"], rows)})
    frame["x"] = rng.normal(size=rows)
    shift = frame["site"].map({"east": 2.0, "north": 0.0, "south": 1.0})
    frame["m"] = shift + 0.5 * frame["x"] + rng.normal(size=rows)
    frame["y"] = 0.7 * frame["m"] + rng.normal(size=rows)
    return frame


@pytest.mark.parametrize("reference", ["east", "north", "south"])
@pytest.mark.parametrize("kind", [None, "bootstrap"])
def test_levels_have_the_effects_of_a_fit_with_that_reference(reference, kind):
    """The witness makes the indicators by hand, of all levels but the reference."""
    frame, levels = sites(), ["east", "north", "south"]
    found = gn.fit(frame, "m ~ site + x; y ~ m").level_effects(
        "site", "y", reference=reference, kind=kind, repetitions=50
    )
    others = [one for one in levels if one != reference]
    for one in others:
        frame[one] = (frame["site"] == one).astype(float)
    plain = gn.fit(frame, f"m ~ {' + '.join(others)} + x; y ~ m; {others[0]} ~~ {others[1]}")
    assert found["level"] == others
    for row in found:
        expected = plain.effect(row["level"], "y", kind=kind, repetitions=50)
        assert row["estimate"] == pytest.approx(expected.value, rel=1e-9)
        assert row["std_error"] == pytest.approx(expected.standard_error, rel=1e-6)
        assert (row["low"], row["high"]) == pytest.approx(expected.interval, rel=1e-6)
    assert found.notes[0] == f"each level is compared with {reference!r}"


def test_the_default_reference_gives_the_effects_of_the_indicators():
    fit = gn.fit(sites(), "m ~ site + x; y ~ m")
    table = fit.level_effects("site", "y")
    expected = [fit.effect(f"site[{one}]", "y").value for one in ("north", "south")]
    assert table["estimate"] == pytest.approx(expected)
    assert table["p_value"] == [fit.effect(f"site[{one}]", "y").p_value for one in table["level"]]


def test_the_effect_of_a_category_names_the_table_of_its_levels():
    fit = gn.fit(sites(), "m ~ site + x; y ~ m")
    with pytest.raises(gn.GaussnetError, match=r"fit.level_effects\('site', 'y'\)"):
        fit.effect("site", "y")
    with pytest.raises(gn.GaussnetError, match="expected a level of 'site'"):
        fit.level_effects("site", "y", reference="west")
    with pytest.raises(gn.GaussnetError, match="'x' is no category"):
        fit.level_effects("x", "y")
    assert "no directed path" in str(fit.level_effects("site", "x"))


def test_an_effect_says_that_the_graph_is_contradicted():
    truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"), seed=0)
    rows = truth.sample(500, seed=1)
    wrong = gn.fit(rows, gn.Dag.parse("a ~ 1; b ~ first*a; c ~ b").reordered("abc"))
    said = "the data contradict the graph: see fit.summary()"
    told = wrong.effect("a", "c")
    assert str(told).splitlines()[1:] == [said]
    assert told.table().notes[-1] == said
    assert said in str(wrong.effect("c", "a"))
    assert wrong.defined("twice := 2*first").notes[-1] == said
    assert pickle.loads(pickle.dumps(wrong)).effect("a", "c").doubt == said
    wrong.check_graph(level=1e-300)
    assert wrong.effect("a", "c").doubt == said
    right = gn.fit(rows, truth.dag)
    right.check_graph(level=0.999)
    assert right.effect("a", "c").doubt is None


def correlated_roots(rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["x", "z", "w"])
    frame["z"] += frame["x"]
    frame["y"] = frame["x"] + frame["z"] + rng.normal(size=rows)
    return frame


def test_correlated_roots_are_a_doubt_of_their_own_effects_alone():
    frame = correlated_roots()
    fit = gn.fit(frame, "y ~ x + z + w")
    assert "contradict the graph" in fit.summary().fits
    assert "equations hold as in regression" in fit.summary().trust
    assert "roots='correlated' for variances, predictions and" in fit.summary().trust
    doubt = fit.effect("x", "y").doubt
    assert doubt.startswith("x is correlated with other nodes")
    assert doubt.endswith("its effects are right only if it causes none of them")
    assert fit.effect("w", "y").doubt is None
    assert not gn.fit(frame, "y ~ x + z + w", roots="correlated").summary().warns


@pytest.mark.parametrize(
    ("shifts", "words"),
    [({"b": 2.0, "c": 0.0}, r"s\[b\] is"), ({"b": 2.0, "c": -2.0}, r"s\[b\] and s\[c\] are")],
)
def test_levels_that_are_correlated_with_other_roots_are_named_alone(shifts, words):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"s": rng.choice(list("abc"), 600)})
    frame["x"] = frame["s"].map({"a": 0.0, **shifts}) + rng.normal(size=600)
    frame["y"] = frame["x"] + (frame["s"] == "b") + rng.normal(size=600)
    notes = gn.fit(frame, "y ~ x + s").level_effects("s", "y").notes
    (doubt,) = [note for note in notes if "correlated with other nodes" in note]
    assert re.match(words, doubt)


def test_correlated_roots_hide_no_other_warning():
    frame = correlated_roots()
    few = gn.fit(frame[:12], "y ~ x + z + w").summary()
    assert "rows are few" in few.trust
    frame["sum"] = frame["x"] + frame["z"]
    collinear = gn.fit(frame, "y ~ x + z + sum").summary()
    assert "collinear parents" in collinear.trust
    frame["is_high"] = (frame["y"] > 0.0).astype(float)
    binary = gn.fit(frame, "is_high ~ x + z").summary()
    assert "equations hold as in regression" in binary.trust
    assert "intervals need the bootstrap" in binary.trust
