"""`method="auto"`: the robust answer, and whether the data look contaminated."""

import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from benchmarks.false_alarms import repeat
from scipy.stats import beta

import gaussnet as gn
from gaussnet.methods.robust.contamination import log_beta_chance, log_choices
from gaussnet.seeds import children

DAG = gn.Dag.parse("[a][b][c|a:b][d|c][e|c:d]", nodes="abcde")
TRUTH = gn.simulate.random_network(DAG, seed=1)
CLEAN = TRUTH.sample(300, seed=5)
SPOILT = TRUTH.sample(600, seed=3)
SPOILT[:90, 2] = 500.0
SPOILT[100:120, 0] = -80.0


def test_the_network_is_that_of_the_robust_method():
    robust, auto = gn.fit(SPOILT, DAG, "robust"), gn.fit(SPOILT, DAG, "auto")
    assert auto.network == robust.network
    assert list(auto.outliers()) == list(robust.outliers())
    assert auto.method.name == "auto"
    assert auto.standard_errors.coefficients == robust.standard_errors.coefficients


def test_the_contaminated_nodes_are_named_with_their_shares():
    fit = gn.fit(SPOILT, DAG, "auto")
    found = fit.contamination
    assert found.contaminated == ("c", "a")
    assert str(found) == (
        "the data look contaminated in 2 of 5 nodes (adjusted p-values below 0.05): "
        "c (15.0%), a (3.3%)"
    )
    assert found.sentence in [str(note) for note in fit.notes]
    assert (found.adjusted[[0, 2]] < 1e-10).all()
    assert (found.adjusted[[1, 3, 4]] == 1.0).all()
    # Least squares is far off wherever a family holds a wrong column.
    assert (found.shifts[[0, 2, 3, 4]] > 5.0).all()
    assert found.shifts[1] == 0.0


def test_clean_data_show_nothing():
    fit = gn.fit(CLEAN, DAG, gn.Auto())
    assert fit.trimming.left_out == {}
    assert fit.contamination.contaminated == ()
    assert (fit.contamination.p_values == 1.0).all()
    assert [str(note) for note in fit.notes] == [
        "the data show no sign of contamination (smallest adjusted p-value 1.000)"
    ]


def test_the_statistic_is_that_of_dummies_for_the_rejected_rows():
    rows = CLEAN.copy()
    rows[[10, 20, 30], 2] += [9.0, -8.0, 10.0]
    fit = gn.fit(rows, DAG, "auto")
    left_out = fit.trimming.left_out[2]
    assert left_out.tolist() == [10, 20, 30]
    dummies = np.zeros((300, 3))
    dummies[left_out, range(3)] = 1.0
    design = sm.add_constant(np.column_stack((rows[:, :2], dummies)))
    expected = sm.OLS(rows[:, 2], design).fit().f_test(np.eye(6)[3:])
    assert fit.contamination.statistics[2] == pytest.approx(float(expected.fvalue), rel=1e-8)
    price = np.exp(log_choices(300, 3))
    assert price == pytest.approx(300 * 299 * 298 / 6 * 12, rel=1e-9)
    assert fit.contamination.p_values[2] == pytest.approx(float(expected.pvalue) * price, rel=1e-6)


def test_one_rejected_value_has_twice_the_chance_of_the_largest_studentized_residual():
    rows = CLEAN.copy()
    rows[10, 2] += 6.5
    fit = gn.fit(rows, DAG, "auto")
    least = sm.OLS(rows[:, 2], sm.add_constant(rows[:, :2])).fit()
    outlier = least.outlier_test(method="bonf")[10]
    assert fit.trimming.left_out[2].tolist() == [10]
    assert fit.contamination.p_values[2] == pytest.approx(2.0 * outlier[2], rel=1e-6)


def test_chances_too_small_for_a_number_keep_their_logarithm():
    values = [(0.3, 4.0, 2.5), (0.9, 200.0, 1.5), (0.02, 10.0, 30.0)]
    for value, first, second in values:
        assert log_beta_chance(value, first, second) == pytest.approx(
            beta.logcdf(value, first, second), rel=1e-10
        )
    # The chance of Beta(a, 1) is value^a.
    assert log_beta_chance(1e-5, 400.0, 1.0) == pytest.approx(400.0 * np.log(1e-5), rel=1e-12)
    # And that of Beta(a, 2) is value^a (a + 1 - a value).
    expected = 500.0 * np.log(0.2) + np.log(501.0 - 500.0 * 0.2)
    assert log_beta_chance(0.2, 500.0, 2.0) == pytest.approx(expected, rel=1e-12)
    assert log_beta_chance(0.0, 2.0, 1.0) == -np.inf


@pytest.mark.parametrize("graph", ["er5", "tree"])
def test_clean_data_are_called_contaminated_no_more_often_than_the_level(graph):
    results = [repeat(graph, 12, 100, None, seed) for seed in children(11, 150)]
    alarms = np.sum(results, axis=0)[0]
    # 3 standard errors of a share of 5 % in 150.
    assert alarms / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_values_flagged_beside_wrong_parents_count():
    rows = TRUTH.sample(600, seed=4)
    rows[:60, 2] = 500.0
    rows[:60, 3] = -900.0
    found = gn.fit(rows, DAG, "auto").contamination
    assert set(found.contaminated) == {"c", "d"}


def test_a_stricter_level_names_fewer_nodes():
    rows = CLEAN.copy()
    rows[10, 2] += 6.5
    lenient, strict = (gn.fit(rows, DAG, gn.Auto(level=level)) for level in (0.05, 1e-12))
    assert lenient.contamination.contaminated == ("c",)
    assert strict.contamination.contaminated == ()
    with pytest.raises(gn.SettingError, match=r"got level=1\.0, expected 0 < level < 1"):
        gn.Auto(level=1.0)
    with pytest.raises(gn.SettingError, match="got level='low', expected a number"):
        gn.Auto(level="low")
    with pytest.raises(gn.SettingError, match="got gate_level=None, expected a number"):
        gn.SequentialTrim(gate_level=None)


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(len(SPOILT))
    first, second = (gn.fit(rows, DAG, "auto").contamination for rows in (SPOILT, SPOILT[order]))
    np.testing.assert_allclose(second.statistics, first.statistics, rtol=1e-9)
    np.testing.assert_allclose(second.shifts, first.shifts, rtol=1e-9)
    assert str(second) == str(first)


def test_missing_cells_and_determined_nodes_are_no_contamination():
    holed = CLEAN.copy()
    holed[:30, 0] = np.nan
    found = gn.fit(holed, DAG, "auto", missing="drop-by-node").contamination
    assert found.contaminated == ()
    rows = CLEAN.copy()
    rows[:, 3] = 2.0 * rows[:, 2]
    rows[:9, 3] = 40.0
    assert gn.fit(rows, DAG, "auto").contamination.contaminated == ("d",)


@pytest.mark.parametrize("method", ["robust", "least-squares"])
def test_other_methods_say_which_one_tests(method):
    fit = gn.fit(CLEAN, DAG, method)
    with pytest.raises(gn.SettingError, match="does not test for contamination: fit with"):
        _ = fit.contamination


def test_a_pickled_fit_keeps_its_test():
    again = pickle.loads(pickle.dumps(gn.fit(SPOILT, DAG, "auto")))
    assert again.contamination.contaminated == ("c", "a")
    assert repr(again.contamination) == "ContaminationTest(2 of 5 nodes)"


def test_graphs_without_nodes_are_not_contaminated():
    fit = gn.fit(np.empty((5, 0)), gn.Dag.from_edges([], nodes=[]), "auto")
    assert fit.contamination.contaminated == ()
