"""Drift: exact levels where nothing changed, what changed where something did, units first."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gaussnet as gn
from gaussnet.data.factors import with_indicators
from gaussnet.errors import SettingError
from gaussnet.fitting import equation_changes
from gaussnet.fitting.equation_changes import Side, _share_test, _tails, rows_behind

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c][e]", nodes="abcde")
TRUTH = gn.simulate.random_network(DAG, seed=0, intercepts=(-1.0, 1.0))
FIT = gn.fit(TRUTH.sample(2_000, seed=1), DAG)


def today(seed=2, rows=500):
    return np.array(TRUTH.sample(rows, seed=seed))


def p_value(check, node, quantity, parent=None):
    (found,) = [t for t in check if (t.node, t.quantity, t.parent) == (node, quantity, parent)]
    return found.p_value


def chow(old, new):
    """The p-values of the coefficients of c: one regression of all rows with a group in it."""
    both, late = np.concatenate((old, new)), np.repeat([0.0, 1.0], [len(old), len(new)])
    plain = np.column_stack((np.ones(len(both)), both[:, :2]))
    design = np.column_stack((plain, plain * late[:, None]))
    estimate, (rss,), *_ = np.linalg.lstsq(design, both[:, 2], rcond=None)
    freedom = len(both) - 6
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rss / freedom)
    return 2.0 * stats.t.sf(np.abs(estimate / errors)[4:], freedom)


def test_coefficients_are_compared_by_the_test_of_chow():
    old, new = TRUTH.sample(40, seed=3), today(rows=25)
    check = gn.check_drift(gn.fit(old, DAG), gn.fit(new, DAG))
    found = [p_value(check, "c", "coefficient", parent) for parent in "ab"]
    np.testing.assert_allclose(found, chow(np.array(old), new), rtol=1e-9)


def test_means_and_spreads_of_a_node_without_parents_are_compared_by_t_and_f():
    old, new = TRUTH.sample(40, seed=3), today(rows=25)
    check = gn.check_drift(gn.fit(old, DAG), gn.fit(new, DAG))
    first, second = np.array(old)[:, 0], new[:, 0]
    expected = stats.ttest_ind(first, second).pvalue
    assert p_value(check, "a", "mean of residuals") == pytest.approx(expected, rel=1e-9)
    excess = max(stats.kurtosis(second), 0.0)
    freedoms = np.array([24, 39]) / (1.0 + excess / 2.0)
    ratio = np.var(second, ddof=1) / np.var(first, ddof=1)
    expected = 2.0 * min(stats.f.cdf(ratio, *freedoms), stats.f.sf(ratio, *freedoms))
    assert p_value(check, "a", "noise sd") == pytest.approx(expected, rel=1e-6)


def test_a_network_that_is_certain_is_compared_by_normal_tests():
    new = today(rows=50)
    check = gn.check_drift(TRUTH, gn.fit(new, DAG))
    position = DAG.position("e")
    mean, sd = TRUTH.mean()[position], TRUTH.noise_scales[position]
    z = (new[:, position].mean() - mean) / (sd / np.sqrt(50))
    assert p_value(check, "e", "mean of residuals") == pytest.approx(2.0 * stats.norm.sf(abs(z)))
    assert "taken as certain" in check.notes[0]


@pytest.mark.parametrize(("learnt", "known"), [(2_000, "fit"), (30, "fit"), (30, "rows")])
def test_normal_days_raise_an_alarm_once_in_a_hundred(learnt, known):
    days, level = 300, 0.01
    alarms = 0
    for day in range(days):
        fit = gn.fit(TRUTH.sample(learnt, seed=day), DAG)
        new = gn.fit(TRUTH.sample(200, seed=10_000 + day), DAG)
        if known == "fit":
            alarms += gn.check_drift(fit, new, level=level).drifted
        else:
            alarms += gn.check_drift(fit.network, new, rows=learnt, level=level).drifted
    assert alarms <= stats.binom.ppf(1.0 - 1e-4, days, level)


def test_a_model_learnt_from_few_rows_and_taken_as_certain_would_raise_many_alarms():
    """So that the test above can fail."""
    drifted = 0
    for day in range(40):
        fit = gn.fit(TRUTH.sample(30, seed=day), DAG)
        new = gn.fit(TRUTH.sample(200, seed=10_000 + day), DAG)
        drifted += gn.check_drift(fit.network, new).drifted
    assert drifted > 20


def test_wrong_cells_of_a_normal_day_are_no_drift():
    alarms, days = 0, 40
    for day in range(days):
        rows = today(100 + day, 1_000)
        rng = np.random.default_rng(day)
        hit = rng.random(rows.shape) < 0.02
        shift = np.where(rng.random(rows.shape) < 0.5, 5.0, 1_000.0) * TRUTH.noise_scales
        alarms += gn.check_drift(FIT, np.where(hit, rows + shift, rows)).drifted
    assert alarms <= stats.binom.ppf(1.0 - 1e-4, days, 0.01)


@pytest.mark.parametrize(("factor", "shift"), [(1_000.0, 0.0), (0.001, 0.0), (1.8, 32.0),
                                               (-1.0, 0.0), (1.0, 273.15), (3.7, 0.0)])  # fmt: skip
@pytest.mark.parametrize("column", "abcd")
def test_a_column_in_other_units_is_named_first_with_factor_and_shift(column, factor, shift):
    rows, place = today(), DAG.position(column)
    rows[:, place] = factor * rows[:, place] + shift
    check = gn.check_drift(FIT, rows)
    assert check.columns == (column,)
    if column == "d" and factor == 1.0:  # no child says that it is not another intercept
        assert check.units == ()
        return
    (found,) = check.units
    assert found.factor == pytest.approx(factor, rel=0.2)
    near = 5.0 * abs(factor) * np.sqrt(TRUTH.covariance()[place, place] / 100)
    assert found.shift == pytest.approx(shift, abs=near)
    assert f"The units of {column} may have changed" in check.verdict
    assert ("about" in check.verdict) == (factor in {1.8, 3.7})


def test_other_units_in_two_columns_are_both_named():
    rows = today()
    rows[:, 1] *= 100.0
    rows[:, 3] *= 60.0
    check = gn.check_drift(FIT, rows)
    assert {(one.column, one.factor) for one in check.units} == {("b", 100.0), ("d", 60.0)}


def test_a_column_that_nothing_depends_on_is_named_without_a_word_on_units():
    rows = today()
    rows[:, 4] *= 1_000.0
    check = gn.check_drift(FIT, rows)
    assert (check.units, check.columns) == ((), ("e",))


@pytest.mark.parametrize("change", ["intercept", "coefficient", "noise"])
def test_a_change_of_one_equation_is_told_at_its_node(change):
    coefficients, variances = dict(TRUTH.coefficients), dict(TRUTH.variances)
    intercepts = dict(TRUTH.intercepts)
    if change == "intercept":
        intercepts["b"] += 1.0
    elif change == "coefficient":
        coefficients["a", "c"] += 1.0
    else:
        variances["d"] *= 4.0
    other = gn.GaussianNetwork(DAG, coefficients, variances, intercepts)
    check = gn.check_drift(FIT, other.sample(500, seed=7))
    node = {"intercept": "b", "coefficient": "c", "noise": "d"}[change]
    quantity = {"intercept": "mean of residuals", "coefficient": "coefficient", "noise": "noise sd"}
    assert check.columns == (node,)
    assert check.units == ()
    assert check.tests[0].quantity == quantity[change]


def test_a_stuck_column_is_drift():
    rows = today()
    rows[:, 3] = 2.5
    assert gn.check_drift(FIT, rows).columns == ("d",)
    rows[:] = 0.0
    assert set(gn.check_drift(FIT, rows).columns) == set("abcde")


def test_coefficients_that_a_constant_parent_leaves_open_are_not_tested():
    sampled = TRUTH.do({"a": 3.0}).sample(500, seed=2)
    check = gn.check_drift(FIT, sampled)
    assert (check.columns, check.units) == (("a",), ())
    assert check.notes == (
        "the rows do not determine all coefficients of 'b', 'c': constant or collinear parents",
    )


@pytest.mark.parametrize("known", [{}, {"rows": 400}])
def test_rounding_of_a_node_without_noise_is_no_drift_and_another_sum_is(known):
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")

    def day(seed, weight=1.0):
        rng = np.random.default_rng(seed)
        first = rng.normal(5.0, 1.0, 400)
        second = 2.0 * first + rng.normal(size=400)
        return np.column_stack((first, second, first + weight * second))

    model = gn.fit(day(0), dag).network
    for seed in range(1, 6):
        check = gn.check_drift(model, day(seed), **known)
        assert "c" not in check.columns  # a and b may be: 400 rows are taken as certain
        assert check.notes[-1] == "too few rows, or no noise, to test 'c'"
    assert "c" in gn.check_drift(model, day(6, 1.001), **known).columns


def test_heavy_tails_are_no_drift():
    """Variances of heavy-tailed noise vary more than those of Gaussian noise do."""
    dag, alarms, days = gn.Dag.parse("[x]", nodes="x"), 0, 200
    for day in range(days):
        rng = np.random.default_rng(day)
        old, new = rng.laplace(size=(1_000, 1)), rng.laplace(size=(1_000, 1))
        alarms += gn.check_drift(gn.fit(old, dag), gn.fit(new, dag), level=0.05).drifted
    assert alarms <= stats.binom.ppf(1.0 - 1e-4, days, 0.05)


def test_days_with_holes_are_compared_by_what_they_have():
    rows = today()
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    assert not gn.check_drift(FIT, rows).drifted
    rows[:, 2] *= 1_000.0
    assert gn.check_drift(FIT, rows).columns == ("c",)


def test_too_few_rows_are_told():
    check = gn.check_drift(FIT, today(rows=2))
    assert check.notes == ("too few rows, or no noise, to test 'b', 'c', 'd'",)
    assert not check.drifted


def test_summaries_and_networks_with_rows_serve_as_models():
    rows = TRUTH.sample(2_000, seed=1)
    new = gn.fit(today(), DAG)
    by_fit = gn.check_drift(FIT, new)
    kept = gn.check_drift(gn.solve(gn.summarize(rows, DAG)), new)
    saved = gn.check_drift(FIT.network, new, rows=rows_behind(FIT))
    for other in (kept, saved):
        found = {test[:3]: test.p_value for test in other}
        for test in by_fit:
            assert found[test[:3]] == pytest.approx(test.p_value, rel=0.1, abs=0.02)


def test_rows_behind_other_methods_are_fewer():
    rows = TRUTH.sample(3_000, seed=1)
    assert set(rows_behind(gn.fit(rows, DAG)).values()) == {3_000}
    for node, count in rows_behind(gn.fit(rows, DAG, "cauchy-tree")).items():
        assert count < 3_000 or node in "ae"


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(SettingError, match="got a list, expected a gaussnet"):
        gn.check_drift([1.0], today())
    with pytest.raises(SettingError, match="have other graphs"):
        gn.check_drift(FIT, gn.fit(today(), gn.Dag.parse("[a][b|a][c|b][d|c][e]", nodes="abcde")))
    with pytest.raises(SettingError, match="leave rows out"):
        gn.check_drift(FIT, today(), rows=7)
    with pytest.raises(SettingError, match="of 1 or more for every node"):
        gn.check_drift(FIT.network, today(), rows={"a": 1})
    with pytest.raises(SettingError, match="expected the number of rows"):
        gn.check_drift(TRUTH, today(), rows="many")
    with pytest.raises(SettingError, match="with a fit to new rows"):
        gn.check_drift(TRUTH, FIT, missing_values=-999)


def test_sides_undo_units_exactly():
    rows = today()
    other = rows.copy()
    other[:, 1] = 4.0 * rows[:, 1] + 16.0
    undone = Side.of_fit(gn.fit(other, DAG)).rescaled(1, 4.0, 16.0)
    plain = Side.of_fit(gn.fit(rows, DAG))
    for name in ("means", "slopes", "variances"):
        np.testing.assert_allclose(getattr(undone, name), getattr(plain, name), rtol=1e-9)
    for one, two in zip(undone.spreads, plain.spreads, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_the_result_prints_and_is_plain():
    check = gn.check_drift(FIT, today())
    assert str(check).startswith("Nothing drifted at level 0.01 (Holm, 14 tests).")
    told = check.to_dict()
    assert (told["drifted"], told["columns"], len(told["tests"])) == (False, [], 14)
    assert len(check.table().to_frame()) == len(check) == 14
    assert repr(check) == "DriftCheck(14 tests, 0 nodes drifted)"


def cars(rows, seed, shares=(0.70, 0.27, 0.03)):
    """A day of cars, of which few drive on gas."""
    rng = np.random.default_rng(seed)
    fuel = np.array(["Petrol", "Diesel", "Gas"])[rng.choice(3, size=rows, p=shares)]
    weight = rng.normal(size=rows)
    mpg = 1.0 * (fuel == "Diesel") - 0.5 * (fuel == "Gas") - weight + rng.normal(size=rows)
    return pd.DataFrame({"fuel": fuel, "weight": weight, "mpg": mpg})


CARS = gn.fit(cars(2_000, 0), "mpg ~ fuel + weight")


@pytest.mark.parametrize(("rows", "known"), [(5, "fit"), (20, "fit"), (20, "network")])
def test_days_without_a_rare_level_raise_an_alarm_once_in_a_hundred(rows, known):
    days, level, alarms = 300, 0.01, 0
    for day in range(days):
        new = gn.fit(indicated(cars(rows, 100 + day)), CARS.dag)
        model, learnt = (CARS, None) if known == "fit" else (CARS.network, 2_000)
        alarms += gn.check_drift(model, new, rows=learnt, level=level).drifted
    assert alarms <= stats.binom.ppf(1.0 - 1e-4, days, level)


def indicated(frame):
    """The frame with columns for the levels of the model, also of those that are absent."""
    return with_indicators(frame, CARS.dag.factors)


def test_an_absent_level_is_drift_where_its_absence_is_unlikely():
    assert gn.check_drift(CARS, cars(500, 1, (0.70, 0.30, 0.0))).columns == ("fuel[Gas]",)
    check = gn.check_drift(CARS, cars(30, 1, (0.0, 0.97, 0.03)))
    assert check.columns[0] == "fuel[Petrol]"
    assert "look first at the share of the rows with fuel[Petrol] = 1, 0.6" in check.verdict


def test_columns_of_0_and_1_are_tested_by_their_shares():
    dag = gn.Dag.parse("[switch][y|switch]", nodes=["switch", "y"])
    rng = np.random.default_rng(3)
    old, new = np.zeros((200, 2)), np.zeros((15, 2))
    old[:7, 0] = 1.0
    old[:, 1], new[:, 1] = rng.normal(size=200), rng.normal(size=15)
    check = gn.check_drift(gn.fit(old, dag), gn.fit(new, dag))
    assert not check.drifted
    table = [[0, 15], [7, 193]]
    less = stats.fisher_exact(table, alternative="less").pvalue
    assert p_value(check, "switch", "share of rows") == pytest.approx(min(1.0, 2.0 * less))


@pytest.mark.parametrize(("hits", "rows"), [(0, 15), (9, 15), (15, 15), (3, 40)])
def test_shares_have_exact_p_values(hits, rows):
    for before in (37, 1):
        known = _share_test((before / 200, hits / rows), (200.0, float(rows)))
        table = [[hits, rows - hits], [before, 200 - before]]
        sides = (stats.fisher_exact(table, alternative=one).pvalue for one in ("less", "greater"))
        assert known == pytest.approx(min(1.0, 2.0 * min(sides)))
    certain = _share_test((0.2, hits / rows), (np.inf, float(rows)))
    sides = (stats.binomtest(hits, rows, 0.2, one).pvalue for one in ("less", "greater"))
    assert certain == pytest.approx(min(1.0, 2.0 * min(sides)))


def test_shares_of_very_many_rows_are_tested_by_the_normal_law(monkeypatch):
    """Both laws of the same counts: skewness moves the tails by less than 1 / sd of the counts."""
    exact = _tails(30_150.0, 100_000.0, 90_000.0, 300_000.0)
    monkeypatch.setattr(equation_changes, "MOST_COUNTS", 10)
    normal = _tails(30_150.0, 100_000.0, 90_000.0, 300_000.0)
    np.testing.assert_allclose(normal, exact, rtol=1.0 / 118.0)


@pytest.mark.parametrize("is_constant_first", [True, False])
def test_a_mean_that_moved_is_found_though_a_parent_is_constant_on_one_side(is_constant_first):
    rng = np.random.default_rng(2)
    still = pd.DataFrame({"y": rng.normal(size=300), "dose": 0.0})
    varies = pd.DataFrame({"y": rng.normal(10.0, size=300), "dose": rng.normal(size=300)})
    old, new = (still, varies) if is_constant_first else (varies, still)
    check = gn.check_drift(gn.fit(old, "y ~ dose"), gn.fit(new, "y ~ dose"))
    assert check.columns[0] == "y"
    found = next(
        test for test in check if test.quantity == "mean of residuals" and test.node == "y"
    )
    assert abs(found.after) == pytest.approx(10.0, abs=0.5)


def test_means_at_parents_constant_at_two_values_are_told_as_not_tested():
    rng = np.random.default_rng(2)
    days = [pd.DataFrame({"y": rng.normal(size=300), "dose": dose}) for dose in (0.0, 5.0)]
    check = gn.check_drift(*(gn.fit(day, "y ~ dose") for day in days))
    assert "mean of the residuals of 'y' could not be tested" in check.notes[0]
    assert ("y", "mean of residuals") not in {test[:2] for test in check}
