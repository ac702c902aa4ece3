"""Errors with missing cells: the curvature of the likelihood, and what is asked of it."""

import numpy as np
import pytest
from tests.reference.em import observed_log_likelihood

import gaussnet as gn
from gaussnet.errors import EstimationError, SettingError
from gaussnet.methods.standard_errors.observed_information import inverted

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|b]", nodes="abcd")
TRUTH = gn.GaussianNetwork.from_arrays(DAG, [0.7, -0.5, 1.1, 0.4], [1.0, 0.5, 2.0, 1.0])


def holed(rows=200, share=0.25, seed=0):
    x = TRUTH.sample(rows, seed=seed) + np.array([1.0, -2.0, 0.5, 3.0])
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    return x


def unpacked(point, intercept):
    slopes, variances = point[:4], point[4:8]
    return gn.GaussianNetwork.from_arrays(DAG, slopes, variances, point[8:] if intercept else None)


def numerical_covariance(network, rows, intercept):
    """Inverse of minus the second derivatives, by central differences of a dense likelihood."""
    parts = [network.coefficient_array, network.variance_array]
    point = np.concatenate(parts + [network.intercept_array] * intercept)
    steps = 1e-3 * np.maximum(np.abs(point), 0.1)

    def value(first, second, signs):
        moved = point.copy()
        moved[first] += signs[0] * steps[first]
        moved[second] += signs[1] * steps[second]
        return observed_log_likelihood(unpacked(moved, intercept), rows)

    count = len(point)
    hessian = np.empty((count, count))
    for i in range(count):
        for j in range(i + 1):
            corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            found = [value(i, j, signs) * signs[0] * signs[1] for signs in corners]
            hessian[i, j] = hessian[j, i] = sum(found) / (4 * steps[i] * steps[j])
    return np.linalg.inv(-hessian)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_the_curvature_of_the_likelihood(intercept):
    rows = holed(60) - (0.0 if intercept else np.array([1.0, -2.0, 0.5, 3.0]))
    fit = gn.fit(rows, DAG, missing="likelihood", intercept=intercept)
    covariance = numerical_covariance(fit.network, rows, intercept)
    expected = np.sqrt(np.diag(covariance))
    errors = fit.standard_errors
    # Steps of a thousandth leave a millionth; the maximum is found to 1e-6 standard errors.
    np.testing.assert_allclose(errors.coefficient_array, expected[:4], rtol=2e-4)
    np.testing.assert_allclose(errors.variance_array, expected[4:8], rtol=2e-4)
    if intercept:
        np.testing.assert_allclose(errors.intercept_array, expected[8:], rtol=2e-4)
    else:
        assert (errors.intercept_array == 0.0).all()
    slopes = fit.network.coefficients
    gradient = np.array([slopes["b", "d"], 0.0, 0.0, slopes["a", "b"]])
    effect = fit.effect("a", "d")
    expected_error = np.sqrt(gradient @ covariance[:4, :4] @ gradient)
    assert effect.standard_error == pytest.approx(expected_error, rel=2e-4)


def test_a_single_hole_changes_errors_and_intervals_little():
    rows = holed(40, share=0.0)
    whole = gn.fit(rows, DAG).confidence_intervals()
    rows[3, 2] = np.nan
    lacking = gn.fit(rows, DAG, missing="likelihood").confidence_intervals()
    for name in ("coefficient_array", "intercept_array", "variance_array"):
        left, right = getattr(whole, name), getattr(lacking, name)
        widths = np.diff(left, axis=1)
        # One of 40 cells: widths move by 1 / 80, ends by a quarter of a width at most.
        assert np.abs(np.diff(right, axis=1) / widths - 1.0).max() < 0.15
        assert (np.abs(left - right) < 0.25 * widths).all()


def test_streams_give_the_same_errors(tmp_path):
    from tests.forced import fit_streamed

    rows = holed()
    np.save(tmp_path / "rows.npy", rows)
    text = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in rows]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([",".join(DAG.nodes), *text]) + "\n")
    streamed = fit_streamed(path, DAG, missing="likelihood", page_rows=32)
    whole = gn.fit(rows, DAG, missing="likelihood", page_rows=32)
    assert streamed.data.table().is_stream
    for name in ("coefficient_array", "intercept_array", "variance_array"):
        left = getattr(streamed.standard_errors, name)
        assert np.array_equal(left, getattr(whole.standard_errors, name))


def test_nodes_without_noise_have_no_errors_and_collinear_ones_unknown_ones():
    rng = np.random.default_rng(0)
    dag = gn.Dag.parse("[a][b][c|a:b][d|a:b:c]", nodes="abcd")
    rows = rng.normal(size=(200, 4))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = gn.fit(rows, dag, missing="likelihood").uncertainty()
    assert found.standard_errors.coefficients["a", "c"] == 0.0
    assert np.isnan(found.standard_errors.coefficients["a", "d"])
    assert found.standard_errors.variances["a"] > 0.0
    assert {note.node for note in found.notes} == {"d"}


def test_what_no_row_tells_has_no_error():
    """a and c are never in one row, and c depends on a given b: nothing tells how."""
    rng = np.random.default_rng(0)
    dag = gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
    rows = rng.normal(size=(300, 3))
    rows[::2, 0] = np.nan
    rows[1::2, 2] = np.nan
    errors = gn.fit(rows, dag, missing="likelihood").standard_errors
    assert not errors.coefficients["a", "c"] < 10.0  # unknown, or beyond all use
    assert errors.variances["b"] > 0.0


def test_data_that_changed_are_noticed():
    rows = holed()
    fit = gn.fit(rows, DAG, missing="likelihood")
    rows[:50] *= 3.0
    with pytest.raises(EstimationError, match="have changed"):
        fit.uncertainty()


def test_other_kinds():
    fit = gn.fit(holed(80), DAG, missing="likelihood")
    assert fit.uncertainty().kind == "observed-information"
    with pytest.raises(SettingError, match="which is for 'least-squares'"):
        fit.uncertainty("heteroscedastic")
    boot = fit.uncertainty("bootstrap", repetitions=60).standard_errors.coefficient_array
    own = fit.standard_errors.coefficient_array
    # 60 repetitions: an error is known to 1 / sqrt(120), 9 %; the model's errors hold here.
    assert (np.abs(np.log(boot / own)) < 0.6).all()


def test_an_information_matrix_says_which_parameters_it_determines():
    information = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 4.0]])
    found = inverted(information)
    assert np.isnan(found[0, 0])
    assert np.isnan(found[1, 1])
    assert found[2, 2] == pytest.approx(0.25)


def test_information_below_zero_leaves_its_parameters_without_errors():
    """Few rows, holes and two nodes without noise: the fit is not at a maximum."""
    rng = np.random.default_rng(98)
    rows = rng.normal(size=(rng.integers(6, 12), 1))
    rows = np.hstack([rows, 2.0 * rows, 3.0 * rows + rng.normal(size=rows.shape)])
    rows = np.hstack([rows, rows[:, 2:]])
    rows[rng.random(rows.shape) < 0.15] = np.nan
    dag = gn.Dag.parse("[a][b|a][c|a][d|c]", nodes="abcd")
    fit = gn.fit(rows, dag, "robust", missing="likelihood")
    found, coefficients = fit.effect("a", "d"), fit.network.coefficients
    assert found.value == pytest.approx(coefficients["a", "c"] * coefficients["c", "d"])
    assert not found.standard_error <= 0.0  # NaN, or above 0
