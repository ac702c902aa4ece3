"""Least squares over changing rows against numpy's least squares."""

import numpy as np
import pytest

from gaussnet.methods.robust.regression import Regression, factor_columns, factor_products


def problem(rows=200, size=4, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((size, rows)) * np.logspace(-3, 3, size)[:, None]
    child = rng.standard_normal(rows) + columns.sum(axis=0)
    return Regression(columns, child), rng


@pytest.mark.parametrize("share", [0.0, 0.1, 0.7])
def test_refit_over_kept_rows_is_least_squares_of_them(share):
    regression, rng = problem()
    kept = rng.random(regression.rows) >= share
    trial = regression.least_squares(regression.factor(kept), kept)
    expected = np.linalg.lstsq(regression.columns[:, kept].T, regression.child[kept], rcond=None)[0]
    assert trial.coefficients == pytest.approx(expected, rel=1e-10)
    assert trial.residuals == pytest.approx(regression.child - expected @ regression.columns)


def test_leverages_are_those_of_the_kept_rows():
    regression, rng = problem()
    kept = rng.random(regression.rows) >= 0.3
    own = regression.columns[:, kept]
    expected = np.einsum("ik,ij,jk->k", own, np.linalg.inv(own @ own.T), own)
    assert regression.factor(kept).leverages(own) == pytest.approx(expected)
    assert expected.sum() == pytest.approx(4.0)


def test_both_factors_agree_where_columns_are_well_conditioned():
    regression, _ = problem()
    quick = factor_products(regression.products)
    careful = factor_columns(regression.columns, None)
    assert quick is not None
    assert quick.leverages(regression.columns) == pytest.approx(
        careful.leverages(regression.columns)
    )


def test_nearly_collinear_columns_keep_their_digits():
    rng = np.random.default_rng(1)
    first = rng.standard_normal(500)
    columns = np.vstack((first, first + 1e-9 * rng.standard_normal(500)))
    child = np.array([2.0, -1.0]) @ columns
    regression = Regression(columns, child)
    assert factor_products(regression.products) is None
    found = regression.least_squares(regression.factor()).coefficients
    # Data are rounded to 1e-16, which the collinearity of 1e-9 turns into 1e-7.
    assert found == pytest.approx([2.0, -1.0], abs=1e-6)


def test_tiny_residuals_are_found_by_refinement():
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((3, 400))
    noise = 1e-12 * rng.standard_normal(400)
    regression = Regression(columns, np.ones(3) @ columns + noise)
    residuals = regression.least_squares(regression.factor()).residuals
    assert np.std(residuals) == pytest.approx(1e-12, rel=0.1)


def test_collinear_columns_have_the_rank_of_their_span():
    rng = np.random.default_rng(3)
    one, two = rng.standard_normal((2, 100))
    regression = Regression(np.vstack((one, two, one + two)), one - two)
    factor = regression.factor()
    assert len(factor.whitener) == 2
    residuals = regression.least_squares(factor).residuals
    assert residuals == pytest.approx(np.zeros(100), abs=1e-12)


def test_rows_with_huge_columns_leave_no_trace_when_taken_out():
    regression, rng = problem(rows=300, size=3)
    columns = regression.columns.copy()
    columns[:, :20] = 1e12 * rng.standard_normal((3, 20))
    kept = np.arange(300) >= 20
    contaminated = Regression(columns, regression.child)
    found = contaminated.least_squares(contaminated.factor(kept), kept).coefficients
    expected = np.linalg.lstsq(columns[:, kept].T, regression.child[kept], rcond=None)[0]
    assert found == pytest.approx(expected, rel=1e-9)
