"""Counterfactuals of a fit hold the errors of what was learnt."""

import pickle

import numpy as np
import pytest
from scipy import stats

import gaussnet as gn

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c]", nodes=list("abcd"))
TRUTH = gn.GaussianNetwork.from_arrays(DAG, [0.8, 0.5, -0.6, 1.2], [1.0, 0.5, 0.7, 0.3])


def test_the_interval_of_one_edge_is_the_textbook_one():
    """A complete row leaves nothing open: the error is that of the slope, times the step."""
    rows = np.array(TRUTH.sample(12, seed=1))
    case = gn.fit(rows, DAG).counterfactual({**dict.fromkeys("abcd", 1.0), "a": 3.0}, do={"a": 0.5})
    line = stats.linregress(rows[:, 0], rows[:, 1])
    reach = stats.t.ppf(0.95, 10) * line.stderr * 2.5
    low, high = case.intervals(0.9)[1]
    np.testing.assert_allclose((low, high), 1.0 - 2.5 * line.slope + reach * np.array([-1, 1]))
    assert case.after.variances[1] == 0.0


@pytest.mark.parametrize("of", ["after", "change"])
@pytest.mark.parametrize("seen", ["abcd", "ad", "bd", ""], ids=["all", "ad", "bd", "none"])
@pytest.mark.parametrize("model", [DAG, "a ~~ b; c ~ a + b; d ~ c"], ids=["edges", "covariance"])
def test_variances_are_those_of_the_delta_method(of, seen, model):
    """Move every parameter a little and add up: an error of 1e-5 in steps of 1e-5, squared."""
    rows = TRUTH.sample(60, seed=3)
    fit = gn.fit(rows, model)
    learnt, row = fit.learnt_errors, dict(zip("abcd", [1.0, -0.5, 2.0, 0.3], strict=True))
    evidence = {name: row[name] for name in seen}
    do = {"b": 1.5}
    case = fit.counterfactual(evidence, do=do)
    own = learnt.network
    arrays = (own.coefficient_array, own.variance_array, own.intercept_array)

    def mean(parts):
        moved = gn.GaussianNetwork.from_arrays(fit.dag, *parts)
        return getattr(moved.counterfactual(evidence, do=do), of).mean

    gradients = []
    for which, array in enumerate(arrays):
        for index in range(len(array)):
            sides = []
            for sign in (1.0, -1.0):
                moved = [one.copy() for one in arrays]
                moved[which][index] += sign * 1e-5
                sides.append(mean(moved))
            gradients.append((sides[0] - sides[1]) / 2e-5)
    slopes, noise, constants = np.split(np.array(gradients), [len(fit.dag.edges), -4])
    left = getattr(own.counterfactual(evidence, do=do), of).variances
    expected = left + (noise.T**2 * learnt.covariance.noise).sum(axis=1)
    array = np.array(rows)[:, [list("abcd").index(name) for name in fit.dag.nodes]]
    families = fit.dag.families
    for node in range(4):
        edges = families.edges_of(np.array([node]))
        design = np.column_stack([np.ones(60), array[:, families.parents[edges]]])
        gradient = np.vstack([constants[node], slopes[edges]])
        covariance = own.variance_array[node] * np.linalg.inv(design.T @ design)
        expected += np.einsum("ir,ij,jr->r", gradient, covariance, gradient)
    found = case.learnt(case, of == "change").scales ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("seen", ["abcd", "ad"], ids=["complete", "with gaps"])
def test_intervals_hold_what_the_case_would_have_been_even_with_20_rows(seen):
    inside, fits = np.zeros(4), 300
    for seed in range(fits):
        fit = gn.fit(TRUTH.sample(20, seed=seed), DAG)
        row = dict(zip("abcd", np.array(TRUTH.sample(1, seed=10_000 + seed))[0], strict=True))
        true = TRUTH.counterfactual(row, do={"b": 1.0}).after.mean
        case = fit.counterfactual({name: row[name] for name in seen}, do={"b": 1.0})
        low, high = case.intervals().T
        inside += (low <= true) & (true <= high)
    # Three standard errors of the count, and two per cent for the delta method.
    slack = 3.0 * np.sqrt(0.95 * 0.05 / fits) + 0.02
    assert (np.abs(inside[2:] / fits - 0.95) < slack).all()
    assert (inside[:2] == fits).all()  # a does not descend from b, and b is set


@pytest.mark.parametrize("settings", [{"method": "robust"}, {"missing": "likelihood"}], ids=str)
def test_fits_with_joint_errors_have_intervals_too(settings):
    """With 20,000 rows, of which 3 are spoilt or have a hole, they are those of least squares."""
    rows = np.array(TRUTH.sample(20_000, seed=2))
    plain = gn.fit(rows.copy(), DAG).counterfactual(dict.fromkeys("abd", 1.0), do={"a": 0.0})
    rows[:3, 1] = np.nan if "missing" in settings else 900.0
    found = gn.fit(rows, DAG, **settings).counterfactual(dict.fromkeys("abd", 1.0), do={"a": 0.0})
    widths = [np.diff(case.intervals()).ravel() for case in (plain, found)]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.02)


def test_the_print_shows_the_interval_or_says_why_there_is_none():
    rows = TRUTH.sample(30, seed=0)
    row = dict.fromkeys("abcd", 1.0)
    told = str(gn.fit(rows, DAG).counterfactual(row, do={"a": 0.0})).splitlines()
    assert told[0].split() == ["node", "was", "would", "be", "sd", "95%", "low", "95%", "high"]
    case = gn.fit(rows, DAG, clusters=np.arange(30) // 3).counterfactual(row, do={"a": 0.0})
    told = str(case).splitlines()
    assert told[0].startswith("warning: sd takes the network as known: the rows have weights or")
    assert told[1].split() == ["node", "was", "would", "be", "sd"]
    with pytest.raises(gn.EstimationError, match="the rows have weights or clusters"):
        case.intervals()


def test_intervals_of_a_network_hold_what_the_row_leaves_open():
    case = TRUTH.counterfactual({"a": 1.0, "d": 1.0}, do={"a": 0.0})
    for of, law in (("after", case.after), ("change", case.change)):
        reach = stats.norm.ppf(0.95) * np.sqrt(law.variances)
        expected = np.column_stack((law.mean - reach, law.mean + reach))
        np.testing.assert_allclose(case.intervals(0.9, of), expected, atol=1e-12)
    with pytest.raises(gn.SettingError, match="got of='before'"):
        case.intervals(of="before")
    with pytest.raises(gn.SettingError, match="got level=95"):
        case.intervals(95)


def test_a_case_can_be_copied():
    case = gn.fit(TRUTH.sample(30, seed=0), DAG).counterfactual({"a": 1.0}, do={"a": 0.0})
    expected = case.intervals()
    np.testing.assert_allclose(pickle.loads(pickle.dumps(case)).intervals(), expected)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_case_is_a_frame_of_what_it_prints(kind):
    fit = gn.fit(TRUTH.sample(60, seed=3), DAG)
    case = fit.counterfactual({"a": 1.0, "c": 2.0}, do={"b": 1.5})
    frame = case.to_frame(kind, level=0.9)
    assert list(frame.columns) == [
        *("node", "observed", "was", "would_be", "change", "sd", "low", "high")
    ]
    assert list(frame["node"]) == list("abcd")
    assert list(frame["observed"]) == [True, False, True, False]
    np.testing.assert_array_equal(frame["would_be"], case.after.mean)
    np.testing.assert_allclose(frame["would_be"] - frame["was"], frame["change"], atol=1e-12)
    np.testing.assert_array_equal(
        np.column_stack((frame["low"], frame["high"])), case.intervals(0.9)
    )
    assert frame["sd"][3] > np.sqrt(case.after.variances[3])  # the errors of the parameters too
    plain = fit.network.counterfactual({"a": 1.0}, do={"b": 1.5}).to_frame(kind)
    assert len(plain) == 4


def test_a_case_in_a_frame_shows_that_a_doubtful_value_does_not_count():
    fit = gn.fit(TRUTH.sample(500, seed=3), DAG, "robust")
    case = fit.counterfactual({"a": 1.0, "c": 900.0}, do={"b": 1.5})
    assert case.to_frame()["observed"].tolist() == [True, False, False, False]


def test_a_doubtful_value_is_marked_as_not_counted():
    fit = gn.fit(TRUTH.sample(300, seed=0), DAG, "robust")
    case = fit.counterfactual({"a": 1.0, "b": 500.0, "c": 1.0, "d": 1.0}, do={"c": 0.0})
    assert str(case).splitlines()[-1].startswith("note: 'b' was not observed or does not count:")


def test_a_label_in_place_of_a_row_is_refused_with_what_to_give():
    fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"])
    with pytest.raises(gn.DataError, match=r"give frame\.loc\['ann'\]"):
        fit.counterfactual("ann", do={"x": 1.0})
