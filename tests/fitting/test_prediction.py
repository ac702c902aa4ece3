"""Predictions of a fit allow for the errors of what was learnt."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tests.forced import many_rows

import gaussnet as gn
from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.prediction import find_learnt_errors
from gaussnet.kernels.numpy_likelihood import equation_matrix

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c]", nodes="abcd")
TRUTH = gn.GaussianNetwork.from_arrays(
    DAG, [0.8, 0.5, -0.7, 1.0], [1.0, 0.5, 1.0, 2.0], [1.0, 0.0, -1.0, 2.0]
)


@pytest.mark.parametrize("intercept", [True, False])
def test_given_the_parents_it_is_the_prediction_interval_of_a_regression(intercept):
    rows = TRUTH.sample(15, seed=1)
    fit = gn.fit(rows, DAG, intercept=intercept)
    new = TRUTH.sample(7, seed=2)
    found = fit.predict(new, "c", given=["a", "b"], level=0.9)
    ones = [np.ones((15, 1))] * intercept
    design = np.hstack([*ones, rows[:, :2]])
    slopes, (squares,), _, _ = np.linalg.lstsq(design, rows[:, 2], rcond=None)
    freedom = 15 - design.shape[1]
    asked = np.hstack([*(one[:7] for one in ones), new[:, :2]])
    inverse = np.linalg.inv(design.T @ design)
    scale = np.sqrt(squares / freedom * (1 + np.einsum("ri,ij,rj->r", asked, inverse, asked)))
    np.testing.assert_allclose(found.mean, asked @ slopes, rtol=1e-9)
    np.testing.assert_allclose(found.scale, scale, rtol=1e-9)
    point = stats.t.ppf(0.95, freedom)
    np.testing.assert_allclose(found.high - found.mean, point * scale, rtol=1e-9)


def test_derivatives_are_those_of_the_conditional_mean():
    """Move every parameter a little: the variance is that of the delta method, numerically."""
    rows = TRUTH.sample(40, seed=3)
    fit = gn.fit(rows, DAG)
    new = TRUTH.sample(3, seed=4)
    new[1, 3] = np.nan
    new[2, [0, 3]] = np.nan
    learnt = fit.learnt_errors
    unbiased = learnt.network
    errors = fit.uncertainty().standard_errors
    expected = np.zeros(3)
    arrays = (unbiased.coefficient_array, unbiased.variance_array, unbiased.intercept_array)

    def mean(slopes, variances, intercepts):
        moved = gn.GaussianNetwork.from_arrays(DAG, slopes, variances, intercepts)
        return moved.predict(new, "b").mean

    gradients = []
    for which, array in enumerate(arrays):
        for index in range(len(array)):
            sides = []
            for sign in (1.0, -1.0):
                moved = [one.copy() for one in arrays]
                moved[which][index] += sign * 1e-5
                sides.append(mean(*moved))
            gradients.append((sides[0] - sides[1]) / 2e-5)
    slopes, noise, constants = np.split(np.array(gradients), [4, 8])
    expected += (noise.T**2 * errors.variance_array**2).sum(axis=1)
    for node in range(4):
        parents = [DAG.position(name) for name in DAG.parents(DAG.nodes[node])]
        design = np.column_stack([np.ones(40), rows[:, parents]])
        own = DAG.families.edges_of(np.array([node]))
        gradient = np.vstack([constants[node], slopes[own]])
        squares = unbiased.variance_array[node]
        covariance = squares * np.linalg.inv(design.T @ design)
        expected += np.einsum("ir,ij,jr->r", gradient, covariance, gradient)
    found, _ = learnt.spread(np.where(np.arange(4) == 1, np.nan, new), 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def covered(rows, given, fits=150, missing=None):
    """The share of new values inside 95 % intervals."""
    inside = []
    for seed in range(fits):
        drawn = TRUTH.sample(rows, seed=seed)
        if missing:
            drawn[np.random.default_rng(seed).random(drawn.shape) < missing] = np.nan
        fit = gn.fit(drawn, DAG, missing="likelihood" if missing else "raise")
        new = TRUTH.sample(20, seed=10_000 + seed)
        found = fit.predict(new, "c", given=given)
        inside.append(np.mean((found.low <= new[:, 2]) & (new[:, 2] <= found.high)))
    return np.mean(inside), np.std(inside) / np.sqrt(fits)


@pytest.mark.parametrize("given", [["a", "b"], None, ["d"]], ids=["parents", "all", "a child"])
def test_intervals_hold_new_values_even_with_15_rows(given):
    share, error = covered(15, given)
    # Exact given the parents; else the delta method, which may be off by two per cent here.
    slack = 0.0 if given == ["a", "b"] else 0.02
    assert abs(share - 0.95) < 3.0 * error + slack


def test_intervals_hold_new_values_with_missing_cells():
    share, error = covered(40, None, missing=0.15)
    assert abs(share - 0.95) < 3.0 * error + 0.01


def test_the_network_alone_promises_too_much_with_few_rows():
    fit = gn.fit(TRUTH.sample(15, seed=0), DAG)
    new = TRUTH.sample(50, seed=1)
    known, learnt = fit.network.predict(new, "c"), fit.predict(new, "c")
    assert (learnt.high - learnt.low > known.high - known.low).all()
    assert np.array_equal(known.mean, learnt.mean)


def test_many_rows_leave_nothing_to_add():
    fit = gn.fit(TRUTH.sample(200_000, seed=0), DAG)
    new = TRUTH.sample(50, seed=1)
    known, learnt = fit.network.predict(new, "c"), fit.predict(new, "c")
    np.testing.assert_allclose(learnt.high, known.high, rtol=1e-3, atol=1e-3)


def test_several_nodes_at_once_are_each_alone_without_the_others():
    fit = gn.fit(TRUTH.sample(100, seed=1), DAG)
    new = TRUTH.sample(20, seed=2)
    new[:5, 0] = np.nan
    both = fit.predict(new, ["c", "d"])
    assert list(both) == ["c", "d"]
    assert list(fit.predict(new, ("c",))) == ["c"]
    for node, found in both.items():
        alone = fit.predict(new, node, given=["a", "b"])
        for part in ("mean", "scale", "low", "high"):
            np.testing.assert_allclose(getattr(found, part), getattr(alone, part), rtol=1e-12)


def test_values_by_node_are_a_row():
    fit = gn.fit(TRUTH.sample(100, seed=1), DAG)
    frame = pd.DataFrame({"b": [1.0, 3.0], "a": [2.0, np.nan]})
    expected = fit.predict(frame, "d")
    found = fit.predict({"b": [1.0, 3.0], "a": [2.0, np.nan]}, "d")
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.high, expected.high)
    assert fit.predict({"b": 1.0, "a": 2.0}, "d").mean.tolist() == expected.mean[:1].tolist()
    with pytest.raises(gn.DataError, match="values by node that are not numbers"):
        fit.predict({"b": [1.0, 2.0], "a": [1.0, 2.0, 3.0]}, "d")
    with pytest.raises(gn.DataError, match="no column for any node"):
        fit.predict({"x": 1.0}, "d")


def test_robust_fits_predict_too():
    rows = TRUTH.sample(300, seed=0)
    rows[:5, 1] = 900.0
    found = gn.fit(rows, DAG, "robust").predict(TRUTH.sample(20, seed=1), "c")
    assert (found.scale > 0.5).all()


def test_what_cannot_be_predicted_is_refused():
    with pytest.raises(EstimationError, match="leave nothing over"):
        gn.fit(TRUTH.sample(3, seed=0), DAG).predict(TRUTH.sample(2, seed=1), "c")
    rows = TRUTH.sample(30, seed=0)
    with pytest.raises(EstimationError, match="the rows have weights or clusters"):
        gn.fit(rows, DAG, clusters=np.arange(30) // 3).predict(rows, "c")
    fit = gn.fit(rows, DAG)
    with pytest.raises(SettingError, match="got level=2"):
        fit.predict(TRUTH.sample(2, seed=1), "c", level=2)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_codes_of_the_fit_are_missing_in_new_rows_too(kind):
    """A code must give what NaN gives, in every form of the rows; -99.9 has no exact float32."""
    rows = TRUTH.sample(200, seed=7)
    rows[3, 1] = -99.9
    fit = gn.fit(rows, DAG, missing="likelihood", missing_values=[-999, -99.9])
    new = np.array(TRUTH.sample(4, seed=8), dtype=kind)
    holed = new.copy()
    new[0, 0], new[1, 1], new[2, 3] = -999, -99.9, -999
    holed[0, 0] = holed[1, 1] = holed[2, 3] = np.nan
    frame = pd.DataFrame(new, columns=list("abcd"), index=list("wxyz"))
    expected = fit.predict(holed, "c")
    turned = {"data": new[:, ::-1], "columns": list("dcba")}
    by_name = {"data": dict(zip("abcd", new.T, strict=True))}
    for given in ({"data": new}, {"data": frame}, by_name, turned):
        found = fit.predict(**given, node="c")
        for name in ("mean", "scale", "low", "high"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    assert fit.predict(frame, ["c"])["c"].to_frame().index.tolist() == list("wxyz")
    assert new[0, 0] == -999


def coded_fits():
    """Fits that were told of a code: to rows, from a summary, from a file of one, a copy."""
    rows = np.array(TRUTH.sample(200, seed=7))
    rows[3, 1] = -999.0
    summary = gn.summarize(rows, DAG, missing="drop-rows", missing_values=-999)
    fit = gn.fit(rows, DAG, missing="drop-rows", missing_values=-999)
    return [fit, gn.solve(summary), pickle.loads(pickle.dumps(fit))]


@pytest.mark.parametrize("fit", coded_fits(), ids=["rows", "summary", "copy"])
def test_codes_are_known_wherever_a_fit_comes_from(fit):
    new = np.array(TRUTH.sample(2, seed=8))
    holed = new.copy()
    new[0, 0], holed[0, 0] = -999.0, np.nan
    assert fit.missing_values == (-999.0,)
    assert fit.predict(new, "c").mean.tolist() == fit.predict(holed, "c").mean.tolist()
    case, same = (fit.counterfactual(row, do={"b": 1.0}) for row in (new[0], holed[0]))
    assert case.after.mean.tolist() == same.after.mean.tolist()
    assert "a" not in case.evidence


def test_counterfactuals_of_a_fit_are_those_of_its_network():
    dag = gn.Dag.parse("mpg ~ fuel + weight")
    rng = np.random.default_rng(1)
    fuel = np.array(["Gas", "Diesel", "Petrol"])[rng.integers(3, size=90)]
    cars = pd.DataFrame({"fuel": fuel, "weight": rng.normal(size=90)})
    cars["mpg"] = rng.normal(size=90) - cars["weight"]
    fit = gn.fit(cars, dag)
    case = fit.counterfactual(cars.loc[7], do={"fuel": "Gas"})
    same = fit.network.counterfactual(cars.loc[7], do={"fuel": "Gas"})
    assert case.after.mean.tolist() == same.after.mean.tolist()


def test_what_is_no_code_of_the_fit_is_a_value():
    fit = gn.fit(TRUTH.sample(200, seed=7), DAG)
    new = np.array(TRUTH.sample(1, seed=8))
    new[0, 0] = -999.0
    assert abs(fit.predict(new, "b").mean[0]) > 500.0


WRONG = [(5, 0), (90, 1), (200, 2)]


def robust_fit(method="robust"):
    """A fit to rows of which three have one wrong value each, and these rows."""
    rows = np.array(TRUTH.sample(400, seed=9))
    for row, node in WRONG:
        rows[row, node] += 60.0
    return gn.fit(rows, DAG, method), rows


@pytest.mark.parametrize("method", ["robust", "auto", "sequential-trim"])
def test_a_wrong_value_of_a_case_does_not_count_and_is_named(method):
    fit, rows = robust_fit(method)
    for row, node in WRONG:
        case = fit.counterfactual(rows[row], do={"a": 0.0})
        name = DAG.nodes[node]
        assert [value.node for value in case.doubtful] == [name]
        assert case.doubtful[0].z > 5.0
        assert name not in case.evidence
        holed = rows[row].copy()
        holed[node] = np.nan
        without = fit.network.counterfactual(holed, do={"a": 0.0})
        assert case.after.mean.tolist() == without.after.mean.tolist()
        assert str(case).startswith(f"warning: {name} = {rows[row, node]:.4g} looks wrong")


def test_a_case_is_judged_as_the_rows_of_the_fit_were():
    fit, rows = robust_fit()
    cells = {(cell.row, cell.node): cell for cell in fit.outliers()}
    for number in range(len(rows)):
        case = fit.counterfactual(rows[number], do={"a": 0.0})
        told = {(number, value.node): value for value in case.doubtful}
        assert told.keys() == {key for key in cells if key[0] == number}
        for key, value in told.items():
            np.testing.assert_allclose(value.z, cells[key].z, rtol=1e-6)


@pytest.mark.parametrize("method", ["robust", "auto", "sequential-trim"])
def test_a_wrong_value_that_is_predicted_from_does_not_count_and_is_named(method):
    fit, rows = robust_fit(method)
    holed = rows.copy()
    for row, node in WRONG:
        holed[row, node] = np.nan
    for target in "abcd":
        found, without = fit.predict(rows, target), fit.predict(holed, target)
        told = {(value.row, value.node) for value in found.doubtful}
        wrong = {(row, DAG.nodes[node]) for row, node in WRONG if DAG.nodes[node] != target}
        assert wrong <= told
        own = [row for row, _ in WRONG]
        assert found.mean[own].tolist() == without.mean[own].tolist()
        assert found.high[own].tolist() == without.high[own].tolist()


def test_a_wild_parent_alone_says_nothing_of_its_child_unless_it_is_believed():
    fit, _ = robust_fit()
    plain = fit.network.predict({"a": 480.0}, "b")
    judged, believed = (fit.predict({"a": 480.0}, "b", believe=own) for own in (False, True))
    assert judged.mean == pytest.approx(fit.network.mean()[1])
    assert believed.mean.tolist() == plain.mean.tolist()
    for found, end in (
        (judged, "does not count; believe=True takes it as given"),
        (believed, "counts as given"),
    ):
        first = str(found).splitlines()[0]
        assert first.startswith("warning: row 0: a = 480 looks wrong")
        assert first.endswith(end)
        assert "a = 480 looks wrong" in found._repr_html_()


def test_warnings_of_predictions_name_rows_by_the_index_and_count_what_they_leave_out():
    fit, rows = robust_fit()
    frame = pd.DataFrame(rows[10:18], columns=list("abcd"), index=list("stuvwxyz"))
    frame["b"] = 1e4 + np.arange(8.0)
    lines = fit.predict(frame, "c").warnings
    assert len(lines) == 6
    assert lines[0].startswith("warning: row z: b = ")
    assert lines[-1] == "warning: 3 more values like these; see doubtful"
    assert gn.fit(rows, DAG).predict(frame, "c").doubtful == ()


def test_a_doubtful_value_counts_where_the_user_believes_it_and_the_warning_stays():
    fit, rows = robust_fit()
    case = fit.counterfactual(rows[90], do={"a": 0.0}, believe=True)
    plain = fit.network.counterfactual(rows[90], do={"a": 0.0})
    assert case.after.mean.tolist() == plain.after.mean.tolist()
    assert "it counts as given" in str(case)


def test_values_that_look_right_and_other_methods_give_no_warning():
    fit, rows = robust_fit()
    case = fit.counterfactual(rows[1], do={"a": 0.0})
    assert case.doubtful == ()
    assert case.warnings == ()
    assert gn.fit(rows, DAG).counterfactual(rows[90], do={"a": 0.0}).doubtful == ()


def test_a_copy_of_a_robust_fit_judges_too():
    fit, rows = robust_fit()
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.counterfactual(rows[90], do={"a": 0.0}).doubtful


def test_columns_of_the_equations_are_those_of_the_whole_matrix():
    dag = gn.simulate.erdos_renyi(30, 4, seed=1)
    rows = gn.simulate.random_network(dag, seed=1).sample(200, seed=2)
    errors = find_learnt_errors(gn.fit(rows, dag))
    whole = equation_matrix(errors.model.families, errors.model.coefficients)
    for nodes in (np.array([7]), np.array([0, 12, 29]), np.arange(30), np.empty(0, dtype=int)):
        np.testing.assert_array_equal(errors.equation_columns(nodes, 30), whole[:, nodes])


def test_predictions_print_the_first_rows_with_their_intervals():
    fit = gn.fit(TRUTH.sample(50, seed=1), DAG)
    frame = pd.DataFrame(TRUTH.sample(12, seed=2), columns=list("abcd"), index=list("klmnopqrstuv"))
    one = fit.predict(frame[:1], "c")
    lines = str(one).splitlines()
    assert lines[0] == "Prediction of c in 1 row"
    cells = [one.mean[0], one.scale[0], one.low[0], one.high[0]]
    assert lines[2].split()[0] == "k"
    np.testing.assert_allclose([float(cell) for cell in lines[2].split()[1:]], cells, rtol=1e-3)
    assert repr(one) == "Prediction('c', 1 row, level=0.95)"
    lines = str(fit.predict(frame, "c")).splitlines()
    assert len(lines) == 2 + 10 + 1
    assert lines[-1] == "note: 2 more rows are in to_frame()"


def skewed_fit(method="robust"):
    """A fit to a skewed cause, which a robust fit believes, and its range."""
    rng = np.random.default_rng(1)
    income = np.exp(rng.normal(10.2, 0.6, 1_000))
    activity = 300.0 + 0.002 * income + 60.0 * rng.normal(size=1_000)
    steps = activity + 30.0 * rng.normal(size=1_000)
    frame = pd.DataFrame({"income": income, "activity": activity, "steps": steps})
    return gn.fit(frame, "activity ~ income; steps ~ activity", method), income


@pytest.mark.parametrize("income", [3e6, -3e6, 1e9])
def test_a_value_far_outside_a_skewed_column_is_doubted_before_its_neighbours(income):
    fit, seen = skewed_fit()
    assert fit.dag.nodes.index("income") in fit.trimming.shaped
    found = fit.predict({"income": income, "steps": 350.0}, "activity")
    assert [value.node for value in found.doubtful] == ["income"]
    assert found.mean.tolist() == fit.predict({"steps": 350.0}, "activity").mean.tolist()
    ends = f"({float(f'{seen.min():.4g}'):,g} to {float(f'{seen.max():.4g}'):,.10g})"
    assert f"lies far outside what the fit has seen {ends} and looks wrong" in str(found)
    for one in (fit, pickle.loads(pickle.dumps(fit))):
        case = one.counterfactual({"income": income, "steps": 350.0}, do={"activity": 500.0})
        assert case.evidence == {"steps": 350.0}
        assert "looks wrong: it does not count" in str(case)
    believed = fit.predict({"income": income}, "activity", believe=True)
    assert believed.mean == fit.network.predict({"income": income}, "activity").mean


@pytest.mark.parametrize("method", ["robust", "least-squares"])
def test_values_far_outside_what_was_seen_extrapolate_by_any_method(method):
    fit, seen = skewed_fit(method)
    low, high = seen.min(), seen.max()
    far = high + 0.3 * (high - low)
    found = fit.predict({"income": [far, high + 0.2 * (high - low), low]}, "activity")
    assert [(value.node, value.row) for value in found.outside] == [("income", 0)]
    assert found.warnings[0].startswith("warning: row 0: income = ")
    assert found.warnings[0].endswith("): the prediction extrapolates")
    assert found.mean[0] == fit.network.predict({"income": far}, "activity").mean[0]
    case = fit.counterfactual({"income": low, "steps": 350.0}, do={"income": far})
    assert [value.recorded for value in case.outside] == [far]
    assert "extrapolates" in str(case)


def test_rows_learnt_from_and_fits_that_saw_no_rows_give_no_warning():
    rows = TRUTH.sample(100, seed=1)
    assert gn.fit(rows, DAG).predict(rows, "c").warnings == ()
    kept = gn.solve(gn.summarize(rows, DAG))
    assert kept.seen_range is None
    assert kept.predict({"a": 480.0}, "b").warnings == ()


@pytest.mark.parametrize("kind", ["frame", "array", "polars"])
def test_a_frame_of_predictions_marks_rows_with_values_that_do_not_count(kind):
    fit, rows = robust_fit()
    new = pd.DataFrame(rows[[5, 6, 90]], columns=list("abcd"), index=list("xyz"))
    if kind == "polars":
        new = pytest.importorskip("polars").from_pandas(new)
    found = fit.predict(np.array(rows[[5, 6, 90]]) if kind == "array" else new, "c")
    frame = found.to_frame()
    assert list(frame["doubtful"]) == ["a", "", "b"]
    assert list(frame.columns) == ["mean", "scale", "low", "high", "doubtful"]
    for same in (fit.predict(new[1:2], "c"), fit.predict(new, "c", believe=True)):
        assert "doubtful" not in same.to_frame().columns


def test_a_range_is_not_taken_from_rows_that_were_changed_since():
    rows = np.array(TRUTH.sample(100, seed=1))
    fit, same = gn.fit(rows, DAG), gn.fit(rows.copy(), DAG)
    rows[:, 0] += 500.0
    assert fit.seen_range is None
    assert same.seen_range.high[0] == pytest.approx(rows[:, 0].max() - 500.0)
    with pytest.raises(EstimationError, match="change"):
        fit.predict({"a": 480.0}, "b")


@many_rows
def test_rows_that_lack_most_values_are_not_judged():
    # A pattern of wrong and missing cells holds 96 of them, and fewer values are known here.
    nodes = [f"x{number}" for number in range(110)]
    dag = gn.Dag.parse("; ".join(f"x{k + 1} ~ x{k}" for k in range(109)), nodes=nodes)
    network = gn.GaussianNetwork.from_arrays(dag, np.full(109, 0.5), np.ones(110))
    rows = np.array(network.sample(400, seed=1))
    rows[:40] = np.random.default_rng(2).normal(6.0, 0.5, (40, 110))
    fit = gn.fit(rows, dag, "robust")
    given = {f"x{k}": float(value) for k, value in enumerate(rows[100, :10])}
    found = fit.predict(given, "x10")
    assert not found.doubtful
    assert found.mean[0] == pytest.approx(fit.predict(given, "x10", believe=True).mean[0])


def test_predictions_are_in_the_kind_of_frame_that_is_asked_for():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    fit = gn.fit(frame, "y ~ x")
    for given, own in ((frame, pd.DataFrame), (pl.from_pandas(frame), pl.DataFrame)):
        found = fit.predict(given, "y")
        assert isinstance(found.to_frame(), own)
        assert isinstance(found.to_frame("pandas"), pd.DataFrame)
        assert isinstance(found.to_frame("polars"), pl.DataFrame)
        assert found.to_frame("polars")["mean"].to_list() == found.mean.tolist()
        with pytest.raises(SettingError, match="'polrs' as the kind of frame, expected 'pandas'"):
            found.to_frame("polrs")
