"""Values near the end of floating point, and nodes that copy another: a sentence or the truth."""

import numpy as np
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes=["a", "b", "c"])
TRUTH = gn.simulate.random_network(DAG, seed=0)
METHODS = (
    "least-squares",
    "batch-average",
    "batch-median",
    "cauchy-tree",
    "cauchy",
    "robust",
    "auto",
)


@pytest.mark.parametrize("size", [1.7e308, 1e308, 1e200, 1e154])
@pytest.mark.parametrize("method", METHODS)
def test_ten_huge_values_are_refused_or_flagged(method, size):
    rows = TRUTH.sample(200, seed=1)
    rows[:10, 1] = size
    if method not in ("robust", "auto"):
        # The intercept or variance is no number, or no window has an answer.
        with pytest.raises(gn.GaussnetError, match=r"finite|beyond 1e154|has no answer"):
            gn.fit(rows, DAG, method)
        return
    if method == "auto" and size > 1e200:
        with pytest.raises(gn.GaussnetError, match="beyond 1e154"):
            gn.fit(rows, DAG, method)
        return
    fit = gn.fit(rows, DAG, method)
    flagged = {(cell.row, cell.node) for cell in fit.outliers()}
    assert {(row, "b") for row in range(10)} <= flagged
    assert np.isfinite(fit.network.coefficient_array).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("method", METHODS[:5])
def test_a_copy_has_variance_zero_and_a_note(method, offset):
    for seed in range(8):
        rows = gn.simulate.random_network(DAG, seed=seed).sample(200, seed=seed) + offset
        rows[:, 2] = rows[:, 0]
        for scale in ("mean-square", "mad"):
            fit = gn.fit(rows, DAG, method, scale=scale)
            assert fit.network.variances["c"] == 0.0
            assert any("residual variance is zero" in note.text for note in fit.notes)


def is_refused(rows, method, scale) -> bool:
    """Whether a fit is refused, with a sentence that says why."""
    try:
        gn.fit(rows, DAG, method, scale=scale)
    except gn.EstimationError as problem:
        return "rescale columns" in str(problem) or "are singular" in str(problem)
    return False


@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS[:5])
@pytest.mark.parametrize("size", [1e-150, 1e-155, 1e-160, 1e-300, 1e150])
def test_columns_of_any_unit_have_an_answer_or_a_sentence(method, scale, size):
    rows = TRUTH.sample(200, seed=1)
    if is_refused(rows * size, method, scale):
        assert size < 1e-150
        return
    assert size >= 1e-150
    found = gn.fit(rows * size, DAG, method, scale=scale).network.coefficient_array
    expected = gn.fit(rows, DAG, method, scale=scale).network.coefficient_array
    # Whole powers of two apart the values differ by their last bit.
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1e-155, 1e-163, 1e-200])
@pytest.mark.parametrize("method", METHODS)
def test_columns_whose_squares_underflow_are_refused(method, size):
    with pytest.raises(gn.EstimationError, match="all below 1e-154"):
        gn.fit(TRUTH.sample(200, seed=1) * size, DAG, method)


@pytest.mark.parametrize("method", ["least-squares", "robust"])
@pytest.mark.parametrize("column", range(3))
def test_summaries_of_a_column_whose_squares_lose_digits_are_refused(column, method):
    rows = TRUTH.sample(200, seed=1)
    rows[:, column] *= 1e-155
    summary = gn.summarize(rows, DAG, method)
    with pytest.raises(gn.EstimationError, match=f"{DAG.nodes[column]!r} has no finite answer"):
        gn.solve(summary)


@pytest.mark.parametrize("column", range(3))
def test_one_column_whose_squares_underflow_is_refused_by_name(column):
    rows = TRUTH.sample(200, seed=1)
    rows[:, column] *= 1e-200
    with pytest.raises(gn.EstimationError, match=f"{DAG.nodes[column]!r} has no finite answer"):
        gn.fit(rows, DAG)


def test_a_column_that_seldom_varies_is_not_taken_for_tiny():
    rows = TRUTH.sample(2_000, seed=1)
    rows[:, 0] = np.arange(2_000) == 1_000  # the median deviation is 0
    assert gn.fit(rows, DAG, scale="mad").network.variances["a"] == 0.0
    rows[:, 0] = 1e-300  # all values are the same
    assert gn.fit(rows, DAG).network.variances["a"] == 0.0


def test_small_noise_is_not_taken_for_rounding():
    # A thousand times the rounding of the values: 1e-13 beside 1.
    rows = TRUTH.sample(500, seed=1)
    rows[:, 2] = rows[:, 0] + 1e-13 * np.random.default_rng(2).normal(size=500)
    for method in METHODS[:5]:
        sd = np.sqrt(gn.fit(rows, DAG, method).network.variances["c"])
        assert 0.5e-13 < sd < 2e-13, method
