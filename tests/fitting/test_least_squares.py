"""Least squares against NumPy and statsmodels, and where digits are at stake."""

import numpy as np
import pytest
import statsmodels.api as sm
from tests.fitting.test_against_reference import random_problem

import gaussnet as gn


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_equal_those_of_statsmodels(seed):
    dag, data = random_problem(seed, 8, 300)
    fit = gn.fit(data, dag)
    for node in dag.nodes:
        x = data[:, [dag.position(parent) for parent in dag.parents(node)]]
        model = sm.OLS(data[:, dag.position(node)], np.column_stack((np.ones(len(x)), x))).fit()
        learnt = [fit.network.coefficients[parent, node] for parent in dag.parents(node)]
        np.testing.assert_allclose(learnt, model.params[1:], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(fit.network.intercepts[node], model.params[0], atol=1e-10)
        np.testing.assert_allclose(fit.network.variances[node], model.ssr / len(x), rtol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_coefficients_equal_lstsq_node_by_node(seed):
    dag, data = random_problem(100 + seed, 15, 500)
    fit = gn.fit(data, dag, intercept=False)
    for node in dag.nodes:
        x = data[:, [dag.position(parent) for parent in dag.parents(node)]]
        expected = np.linalg.lstsq(x, data[:, dag.position(node)], rcond=None)[0]
        learnt = [fit.network.coefficients[parent, node] for parent in dag.parents(node)]
        np.testing.assert_allclose(learnt, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("noise", [1e-6, 1e-8, 1e-10, 1e-12])
def test_nearly_collinear_parents_cost_no_accuracy(noise):
    # b = a + noise, c = a - b + 1: the coefficients have statistical error 1 / (noise sqrt m).
    rng = np.random.default_rng(0)
    rows = 1_000
    a = rng.normal(size=rows)
    b = a + noise * rng.normal(size=rows)
    c = a - b + rng.normal(size=rows)
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
    fit = gn.fit(np.column_stack((a, b, c)), dag, intercept=False, page_rows=300)
    q, r = np.linalg.qr(np.column_stack((a, b)))
    expected = np.linalg.solve(r, q.T @ c)
    learnt = [fit.network.coefficients["a", "c"], fit.network.coefficients["b", "c"]]
    standard_error = 1.0 / (noise * np.sqrt(rows))
    # QR with condition number 1 / noise errs by about eps / noise^2 at worst, when residuals are 1.
    allowed = 100 * np.finfo(float).eps / noise * standard_error
    assert np.abs(learnt - expected).max() <= allowed
    np.testing.assert_allclose(fit.network.variances["b"], noise**2, rtol=0.3)


def test_large_means_cost_no_accuracy():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = 2.0 * x + rng.normal(size=500)
    dag = gn.Dag.parse("y ~ x", nodes="yx")
    near = gn.fit(np.column_stack((y, x)), dag)
    far = gn.fit(np.column_stack((y - 3e8, x + 1e8)), dag)
    # Adding 1e8 rounds the data themselves to 1e-8.
    np.testing.assert_allclose(
        far.network.coefficients["x", "y"], near.network.coefficients["x", "y"], rtol=1e-8
    )
    np.testing.assert_allclose(far.network.variances["y"], near.network.variances["y"], rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
def test_units_of_a_column_only_rescale_its_coefficients(scale):
    dag, data = random_problem(2, 6, 200)
    plain = gn.fit(data, dag)
    units = np.where(np.arange(6) % 2, scale, 1.0)
    scaled = gn.fit(data * units, dag)
    for (parent, child), value in plain.network.coefficients.items():
        factor = units[dag.position(child)] / units[dag.position(parent)]
        np.testing.assert_allclose(
            scaled.network.coefficients[parent, child], value * factor, rtol=1e-9, atol=0
        )


def test_collinear_parents_get_the_solution_of_least_norm_and_a_note():
    rng = np.random.default_rng(2)
    a = rng.normal(size=50)
    c = 3.0 * a + rng.normal(size=50)
    dag = gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
    data = np.column_stack((a, 2.0 * a, c))
    fit = gn.fit(data, dag, intercept=False)
    expected = np.linalg.lstsq(data[:, :2], c, rcond=None)[0]
    learnt = [fit.network.coefficients["a", "c"], fit.network.coefficients["b", "c"]]
    np.testing.assert_allclose(learnt, expected, rtol=1e-10)
    assert fit.node("c").rank == 1
    assert "rank 1" in str(fit.notes[0])


def test_fewer_rows_than_parents_give_the_solution_of_least_norm():
    rng = np.random.default_rng(3)
    data = rng.normal(size=(3, 6))
    dag = gn.Dag.from_edges(
        [(f"p{i}", "y") for i in range(5)], nodes=[f"p{i}" for i in range(5)] + ["y"]
    )
    fit = gn.fit(data, dag, intercept=False)
    expected = np.linalg.lstsq(data[:, :5], data[:, 5], rcond=None)[0]
    np.testing.assert_allclose(fit.network.coefficient_array, expected, rtol=1e-9)
    assert fit.network.variances["y"] == 0.0
    assert fit.node("y").rank == 3


def test_constant_parent_and_constant_child_are_learnt():
    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    data = np.column_stack((np.full(40, 0.1), x, x + rng.normal(size=40)))
    dag = gn.Dag.parse("[k][x][y|k:x]", nodes="kxy")
    fit = gn.fit(data, dag)
    assert fit.network.variances["k"] == 0.0
    assert fit.network.coefficients["k", "y"] == pytest.approx(0.0, abs=1e-6)
    expected = np.polyfit(x, data[:, 2], 1)[0]
    np.testing.assert_allclose(fit.network.coefficients["x", "y"], expected, rtol=1e-10)
    assert any("variance is zero" in note.text for note in fit.notes if note.node == "k")


def test_a_node_that_its_parents_determine_has_variance_zero():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2))
    data = np.column_stack((x, 2.0 * x[:, 0] - x[:, 1] / 3.0))
    fit = gn.fit(data, gn.Dag.parse("[a][b][c|a:b]", nodes="abc"))
    assert fit.network.variances["c"] == 0.0
    np.testing.assert_allclose(fit.network.coefficient_array, [2.0, -1.0 / 3.0], rtol=1e-12)
