"""Every awkward input has a decided answer or one clear sentence."""

import numpy as np
import pandas as pd
import pytest
from tests.fitting.test_against_reference import random_problem
from tests.forced import fit_with_run

import gaussnet as gn
from gaussnet.data.passes import Run

METHODS = ["least-squares", "batch-average", "batch-median", "cauchy-tree", "cauchy"]
PAIR = gn.Dag.parse("[x][y|x]", nodes="xy")


def noisy_line(rows, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    return np.column_stack((x, 2.0 * x + rng.normal(size=rows)))


@pytest.mark.parametrize("method", METHODS)
def test_graph_without_edges_gives_means_and_variances(method):
    data = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
    fit = gn.fit(data, gn.Dag.from_edges([], nodes="abc"), method)
    np.testing.assert_allclose(list(fit.network.intercepts.values()), data.mean(axis=0))
    np.testing.assert_allclose(list(fit.network.variances.values()), data.var(axis=0))


@pytest.mark.parametrize("method", METHODS)
def test_graph_without_nodes_gives_a_network_without_nodes(method):
    fit = gn.fit(np.zeros((5, 0)), gn.Dag.from_edges([]), method)
    assert len(fit.network.variances) == 0
    assert fit.rows == 5


@pytest.mark.parametrize("method", METHODS)
def test_isolated_nodes_do_not_disturb_the_others(method):
    data = noisy_line(200)
    alone = np.random.default_rng(1).normal(size=200)
    wide = gn.Dag.from_edges([("x", "y")], nodes=["x", "alone", "y"])
    fit = gn.fit(np.column_stack((data[:, 0], alone, data[:, 1])), wide, method)
    assert fit.network.coefficients["x", "y"] == pytest.approx(
        gn.fit(data, PAIR, method).network.coefficients["x", "y"], rel=1e-12
    )


def test_no_rows_is_an_error():
    with pytest.raises(gn.DataError, match="the data have no rows: give at least one"):
        gn.fit(np.zeros((0, 2)), PAIR)


def test_one_row_gives_least_norm_and_zero_variance():
    fit = gn.fit([[1.0, 3.0]], PAIR)
    assert fit.network.coefficients["x", "y"] == 0.0
    assert fit.network.intercepts == {"x": 1.0, "y": 3.0}
    assert fit.network.variances == {"x": 0.0, "y": 0.0}
    assert {note.node for note in fit.notes} == {"x", "y"}


@pytest.mark.parametrize(
    ("method", "needed"),
    [("batch-average", 22), ("batch-median", 22), ("cauchy-tree", 2), ("cauchy", 2)],
)
def test_too_few_rows_for_one_batch_names_the_node(method, needed):
    data = noisy_line(needed - 1)
    expected = (
        f"the node 'y' has 1 parents and {needed - 1} rows, but '{method}' needs {needed}: "
        "give more rows or another method"
    )
    with pytest.raises(gn.EstimationError) as caught:
        gn.fit(data, PAIR, method)
    assert str(caught.value) == expected
    gn.fit(noisy_line(needed), PAIR, method)


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("factor", [1.0, 3.0, 0.1])
def test_collinear_parents_leave_no_batch_and_name_the_node(method, factor):
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    data = np.column_stack((a, factor * a, rng.normal(size=300)))
    with pytest.raises(gn.EstimationError, match=r"the node 'c' has no answer, all \d+ batches"):
        gn.fit(data, gn.Dag.parse("[a][b][c|a:b]", nodes="abc"), method)


@pytest.mark.parametrize("method", METHODS[1:])
def test_constant_parent_leaves_no_batch_and_names_the_node(method):
    data = noisy_line(100)
    data[:, 0] = 0.1
    with pytest.raises(gn.EstimationError, match="the node 'y' has no answer"):
        gn.fit(data, PAIR, method)


@pytest.mark.parametrize("method", ["cauchy-tree", "cauchy"])
def test_singular_windows_are_set_aside_and_counted(method):
    data = noisy_line(101)
    data[10:20] = 0.0
    data[51] = 0.0
    fit = gn.fit(data, PAIR, method, intercept=False)
    kept = np.delete(np.arange(101), [*range(10, 20), 51])
    slopes = data[kept, 1] / data[kept, 0]
    assert fit.network.coefficients["x", "y"] == pytest.approx(np.median(slopes), rel=1e-12)
    assert (fit.node("y").batches, fit.node("y").singular) == (90, 11)
    assert str(fit.notes[0]) == "y: 11 of 101 batches are singular and were set aside"


@pytest.mark.parametrize("method", ["batch-average", "batch-median"])
def test_singular_batches_are_set_aside_and_counted(method):
    data = noisy_line(21 * 8)
    data[21:42, 0] = 5.0
    fit = gn.fit(data, PAIR, method, intercept=False)
    assert fit.node("y").singular == 0  # a constant is a regressor when there is no intercept
    data[21:42, 0] = 0.0
    fit = gn.fit(data, PAIR, method, intercept=False)
    assert (fit.node("y").batches, fit.node("y").singular) == (7, 1)


def test_even_number_of_batches_gives_the_mean_of_the_middle_two():
    data = np.array([[1.0, 4.0], [1.0, 1.0], [1.0, 3.0], [1.0, 100.0]])
    fit = gn.fit(data, PAIR, "cauchy-tree", intercept=False)
    assert fit.network.coefficients["x", "y"] == 3.5


def test_last_full_batch_belongs_to_the_estimate():
    data = noisy_line(42)
    fit = gn.fit(data, PAIR, gn.BatchAverage(20), intercept=False)
    assert fit.node("y").batches == 2


@pytest.mark.parametrize("method", METHODS)
def test_coefficient_of_exactly_zero_is_still_an_edge(method):
    data = noisy_line(100)
    data[:, 1] = 0.0
    fit = gn.fit(data, PAIR, method)
    assert fit.network.coefficients == {("x", "y"): 0.0}
    assert fit.network.variances["y"] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_raise_by_default_and_name_the_first(method):
    data = noisy_line(50)
    data[7, 1] = np.nan
    data[9, 0] = np.nan
    with pytest.raises(gn.DataError) as caught:
        gn.fit(data, PAIR, method)
    assert str(caught.value) == (
        "2 values are missing, the first in row 7 of column 'y', counted from 0: give "
        "missing='likelihood' (from every cell that is there), 'drop-by-node' or "
        "'drop-rows', or fill them"
    )


@pytest.mark.parametrize("method", METHODS)
def test_drop_rows_learns_from_the_complete_rows(method):
    dag, data = random_problem(4, 5, 400)
    holed = data.copy()
    holed[::7, 2] = np.nan
    kept = np.isfinite(holed).all(axis=1)
    fit = gn.fit(holed, dag, method, missing="drop-rows")
    assert fit.network == gn.fit(data[kept], dag, method).network
    assert str(fit.notes[0]) == "58 of 400 rows have missing values and were dropped"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
def test_drop_by_node_learns_each_node_from_its_own_complete_rows(method, scale):
    dag, data = random_problem(6, 5, 400)
    holed = data.copy()
    holed[::7, 2] = np.nan
    holed[3::11, 4] = np.nan
    fit = gn.fit(holed, dag, method, scale=scale, missing="drop-by-node")
    for node in dag.nodes:
        family = [dag.position(name) for name in (*dag.parents(node), node)]
        kept = np.isfinite(holed[:, family]).all(axis=1)
        alone = gn.fit(data[kept], dag, method, scale=scale)
        for parent in dag.parents(node):
            assert fit.network.coefficients[parent, node] == pytest.approx(
                alone.network.coefficients[parent, node], rel=1e-10
            )
        assert fit.network.variances[node] == pytest.approx(alone.network.variances[node])
        assert fit.node(node).rows == kept.sum()
        assert fit.node(node).dropped == 400 - kept.sum()


def test_column_without_a_value_is_named():
    data = noisy_line(20)
    data[:, 0] = np.nan
    for missing in ("raise", "drop-rows", "drop-by-node"):
        with pytest.raises(gn.DataError, match="the column 'x' has no value at all"):
            gn.fit(data, PAIR, missing=missing)


def test_rows_that_are_never_complete_are_an_error():
    data = noisy_line(20)
    data[::2, 0] = np.nan
    data[1::2, 1] = np.nan
    with pytest.raises(gn.DataError, match="each of the 20 rows has a missing value"):
        gn.fit(data, PAIR, missing="drop-rows")
    with pytest.raises(gn.EstimationError, match="the node 'y' has 1 parents and 0 rows"):
        gn.fit(data, PAIR, missing="drop-by-node")


@pytest.mark.parametrize("missing", ["raise", "drop-rows", "drop-by-node"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(missing, value):
    data = noisy_line(20)
    data[4, 1] = value
    with pytest.raises(gn.DataError, match="1 value is infinite, the first in row 4 of column 'y'"):
        gn.fit(data, PAIR, missing=missing)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [5, 3_000])
def test_a_value_of_an_isolated_node_that_is_not_finite_is_found(rows, value, intercept):
    dag = gn.Dag.from_edges([("a", "b")], nodes=["a", "b", "alone"])
    data = np.random.default_rng(0).normal(size=(rows, 3))
    data[rows // 2, 2] = value
    with pytest.raises(gn.DataError, match=f"1 value is .* row {rows // 2} of column 'alone'"):
        gn.fit(data, dag, intercept=intercept)


def test_huge_finite_values_are_not_taken_for_infinite():
    data = noisy_line(30)
    data[:, 1] *= 1e153
    assert np.isfinite(gn.fit(data, PAIR).network.variances["y"])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("method", [*METHODS, "robust", "auto"])
@pytest.mark.parametrize("sizes", [(1e200, 1e200), (1e-200, 1e150), (1e150, 1e200)])
def test_values_whose_parameters_overflow_are_refused_with_one_sentence(method, intercept, sizes):
    data = noisy_line(100) * sizes
    with pytest.raises(gn.GaussnetError, match=r"rescale columns|are singular"):
        gn.fit(data, PAIR, method, intercept=intercept)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "ols"}, "got method='ols', expected 'least-squares', 'batch-average'"),
        ({"method": "robst"}, r"gn.BatchMedian\(20\), did you mean 'robust'\?"),
        ({"scale": "mean_square"}, "did you mean 'mean-square'"),
        ({"missing": "droprows"}, "did you mean 'drop-rows'"),
        ({"method": gn.Mad()}, r"got method=Mad\(\), expected"),
        ({"scale": "sd"}, "got scale='sd', expected 'mean-square', 'mad'"),
        ({"scale": gn.LeastSquares()}, r"got scale=LeastSquares\(\)"),
        ({"missing": "ignore"}, "got missing='ignore', expected 'raise'"),
        ({"threads": 0}, "got threads=0, expected at least 1"),
        ({"page_rows": 0}, "a page holds at least 1 row, got page_rows=0"),
        ({"split": (15, 10)}, r"got split=\(15, 10\), expected two positive counts"),
        ({"split": (0, 10)}, r"got split=\(0, 10\), expected two positive counts"),
        ({"split": 3}, r"got split=3, expected a pair \(m1, m2\)"),
        ({"split": (10.5, 5)}, r"got split=\(10.5, 5\), expected a pair \(m1, m2\)"),
        ({"threads": 1.5}, "got threads=1.5, expected at least 1"),
        ({"page_rows": "9"}, "a page holds at least 1 row, got page_rows='9'"),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(settings, message):
    with pytest.raises(gn.SettingError, match=message):
        gn.fit(noisy_line(20), PAIR, **settings)


def test_bad_estimator_settings_are_refused():
    with pytest.raises(
        gn.SettingError, match="got extra_rows=0, expected an integer of at least 1"
    ):
        gn.BatchMedian(0)
    with pytest.raises(
        gn.SettingError, match="got windows='all', expected 'disjoint' or 'sliding'"
    ):
        gn.Cauchy("all")


def test_graph_of_another_kind_is_refused():
    with pytest.raises(gn.SettingError, match="got dag of type ndarray, expected a gaussnet"):
        gn.fit(noisy_line(20), np.array([[0, 1], [0, 0]]))
    with pytest.raises(gn.DataError, match="only the order in which the graph happens to name"):
        gn.fit(noisy_line(20), [("x", "y")])


def test_page_lower_than_a_batch_is_an_error():
    with pytest.raises(gn.EstimationError, match="no batch of rows fits into a page"):
        gn.fit(noisy_line(50), PAIR, "batch-median", page_rows=10)


def test_memory_parts_leave_the_answer_alone():
    dag, data = random_problem(8, 10, 500)
    whole = gn.fit(data, dag, "cauchy", scale="mad")
    small = fit_with_run(Run(budget=1), data, dag, "cauchy", scale="mad")
    assert small.network == whole.network


def test_hostile_names_are_only_names():
    names = ["a b", "<script>", "ключ"]
    dag = gn.Dag.from_edges([("a b", "<script>"), ("ключ", "<script>")], nodes=names)
    data = np.random.default_rng(0).normal(size=(60, 3))
    fit = gn.fit(data, dag, "cauchy")
    assert set(fit.network.coefficients) == {("a b", "<script>"), ("ключ", "<script>")}


def temperatures(rows=300):
    rng = np.random.default_rng(0)
    return np.round(rng.normal(15.0, 8.0, rows), 2), rng.normal(size=rows)


@pytest.mark.parametrize(
    "other",
    [
        lambda celsius: celsius + 273.15,
        lambda celsius: 1.8 * celsius + 32.0,
        lambda celsius: (celsius + 1e9) / 86_400.0,
        lambda celsius: np.float32(1.8) * celsius.astype(np.float32),
    ],
    ids=["kelvin", "fahrenheit", "large offset", "single precision"],
)
def test_parents_that_differ_by_units_are_collinear(other):
    celsius, noise = temperatures()
    if other(celsius).dtype == np.float32:
        celsius = celsius.astype(np.float32)
    child = celsius + noise
    data = np.column_stack((celsius, other(celsius), child)).astype(celsius.dtype)
    dag = gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
    fit = gn.fit(data, dag)
    assert fit.node("c").rank == 1
    assert max(map(abs, fit.network.coefficients.values())) < 1e5
    if celsius.dtype == np.float64:
        for method in METHODS[1:]:
            with pytest.raises(gn.EstimationError, match="the node 'c' has no answer, all"):
                gn.fit(data, dag, method)


@pytest.mark.parametrize("scale", ["mean-square", "mad"])
def test_split_that_leaves_a_node_no_row_for_its_variance_is_an_error(scale):
    data = noisy_line(100)
    data[50:, 1] = np.nan
    with pytest.raises(gn.EstimationError, match="the node 'y' has no complete row for its"):
        gn.fit(data, PAIR, scale=scale, split=(50, 50), missing="drop-by-node")


def test_rows_dropped_in_phase_two_are_noted():
    data = noisy_line(100)
    data[70:, 1] = np.nan
    fit = gn.fit(data, PAIR, split=(50, 50), missing="drop-by-node")
    assert (fit.node("y").rows, fit.node("y").dropped) == (70, 30)
    assert str(fit.notes[0]) == "y: 30 rows with missing values left out of 100"


def test_class_instead_of_an_estimator_is_refused():
    with pytest.raises(gn.SettingError, match="got method=<class"):
        gn.fit(noisy_line(20), PAIR, gn.Cauchy)
    with pytest.raises(gn.SettingError, match="got scale=<class"):
        gn.fit(noisy_line(20), PAIR, scale=gn.Mad)


def test_fits_are_compared_by_identity():
    data = noisy_line(20)
    one, other = gn.fit(data, PAIR), gn.fit(data, PAIR)
    assert one != other
    assert one.network == other.network
    assert len({one, other, one}) == 2


def test_constant_root_is_not_said_to_have_parents():
    fit = gn.fit([[1.0], [1.0]], gn.Dag.from_edges([], nodes=["a"]))
    assert str(fit.notes[0]) == "a: the variance is zero: all values are the same"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"method": "OLS"}, "'OLS' is 'least-squares' here"),
        ({"method": "lm"}, "'lm' is 'least-squares' here"),
        ({"missing": "fiml"}, "'fiml' is 'likelihood' here"),
        ({"missing": "listwise"}, "'listwise' is 'drop-rows' here"),
    ],
)
def test_names_from_other_packages_are_translated(setting, words):
    with pytest.raises(gn.SettingError, match=words):
        gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"], **setting)


@pytest.mark.parametrize(
    ("given", "words"),
    [("mising", "did you mean 'missing'"), ("n_jobs", "'n_jobs' is 'threads' here"), ("zz", "are")],
)
def test_unknown_settings_are_refused_with_those_that_are_known(given, words):
    with pytest.raises(TypeError, match=rf"has no setting {given}=.*{words}"):
        gn.fit([[1.0, 0.0], [3.0, 1.0]], "y ~ x", columns=["y", "x"], **{given: 1})


def test_attributes_that_people_try_are_pointed_to_others():
    fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"])
    with pytest.raises(AttributeError, match=r"no attribute 'save': use fit\.save_network"):
        _ = fit.save
    with pytest.raises(AttributeError, match=r"no attribute 'load': gn\.read_network"):
        _ = gn.load
    with pytest.raises(AttributeError, match=r"no attribute 'other'$"):
        _ = fit.other
    assert not hasattr(fit, "params")
    assert not hasattr(gn, "save")


@pytest.mark.parametrize("write", [gn.write_network, gn.write_report, gn.write_explorer])
def test_a_path_before_the_result_is_refused_in_one_sentence(write):
    fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"])
    with pytest.raises(gn.FileError, match=r"got a Fit .* the path comes second"):
        write("page.html", fit)


def test_a_fit_is_not_written_as_a_network(tmp_path):
    fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"])
    with pytest.raises(gn.NetworkError, match=r"call fit\.save_network\(path\)"):
        gn.write_network(fit, tmp_path / "fit.json")


def test_maximum_likelihood_over_holes_notes_wild_values_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    y[0], x[1] = 80.0, np.nan
    fit = gn.fit(np.c_[y, x], "y ~ x", columns=["y", "x"], missing="likelihood")
    assert any("residuals of y are far from Gaussian" in note for note in fit.notes)


def wide():
    names = [f"x{i}" for i in range(12)]
    frame = pd.DataFrame(np.random.default_rng(5).normal(size=(10, 13)), columns=[*names, "y"])
    return frame, f"y ~ {' + '.join(names)}"


@pytest.mark.parametrize("method", ["least-squares", "robust"])
def test_more_parents_than_rows_leave_coefficients_without_errors(method):
    fit = gn.fit(*wide(), method)
    assert np.isnan(list(fit.standard_errors.coefficients.values())).all()
    assert "-" in str(fit.table())
    assert "12 parents have rank 9" in str(fit.effect("x0", "y"))
    assert "do not determine" in fit.summary()


def test_parents_that_three_rows_make_collinear_are_no_error():
    frame = pd.DataFrame(
        {
            "exercise": [3.32, 4.14, 3.81],
            "bmi": [29.9, 26.8, 27.4],
            "lc": [-0.05, 1.71, 1.01],
            "sbp": [119.0, 120.0, 123.0],
            "qol": [69.9, 68.7, 73.9],
        }
    )
    text = "bmi ~ exercise; lc ~ bmi; sbp ~ bmi; qol ~ exercise + lc + sbp"
    assert "parents of qol are constant or collinear" in gn.fit(frame, text).summary()
