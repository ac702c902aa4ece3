"""Which cells of a robust fit count: all but flagged and missing ones, in every question.

Witnesses are sums and least squares by NumPy over the cells that the fit says it believes.
"""

import numpy as np
import pytest

import gaussnet as gn

GRAPH = "y ~ x; z ~ y"


def skewed_root(seed=1, count=1_000):
    """A skewed root whose tail its child carries on, and ten wrong values of a leaf."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(0.0, 1.0, count))
    y = x + 2.0 * rng.normal(size=count)
    z = y + rng.normal(size=count)
    z[:10] = 900.0
    return pd.DataFrame({"x": x, "y": y, "z": z})


def moderate_errors():
    """Errors of a few standard deviations, so that some cells stay in doubt."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    x = rng.normal(size=800)
    y = x + rng.normal(size=800)
    z = y + rng.normal(size=800)
    y[:60] += rng.normal(0.0, 6.0, 60)
    return pd.DataFrame({"x": x, "y": y, "z": z})


def believed(fit, frame):
    """The frame with NaN in the cells that are flagged."""
    found = frame.copy()
    for cell in fit.outliers("flagged"):
        found.loc[cell.row, cell.node] = np.nan
    return found


def regression(frame, target, *causes):
    """Coefficients (constant first) and R2 of least squares over rows without a gap."""
    rows = frame[[target, *causes]].dropna().to_numpy()
    design = np.column_stack([np.ones(len(rows)), rows[:, 1:]])
    found, *_ = np.linalg.lstsq(design, rows[:, 0], rcond=None)
    left = rows[:, 0] - design @ found
    return found, 1.0 - left @ left / ((rows[:, 0] - rows[:, 0].mean()) ** 2).sum()


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_r2_counts_cells_that_are_confirmed(method):
    """Least squares has the largest R2, and its gradient is 0 there: 1e-6 is far from 0.14."""
    frame = skewed_root()
    fit = gn.fit(frame, GRAPH, method)
    assert len(fit.outliers("confirmed")) > 20
    table = fit.node_table().to_frame().set_index("node")
    assert table.loc["y", "rows"] == 1_000
    assert table.loc["y", "r2"] == pytest.approx(regression(frame, "y", "x")[1], abs=1e-6)
    sound = frame.iloc[10:]
    assert table.loc["z", "r2"] == pytest.approx(regression(sound, "z", "y")[1], abs=1e-6)


def test_r2_and_shapes_count_cells_in_doubt():
    """The mean square of residuals over believed values, by NumPy."""
    frame = moderate_errors()
    fit = gn.fit(frame, GRAPH, "robust")
    assert len(fit.outliers("unverified")) > 3
    sound = believed(fit, frame)
    slope, constant = fit.network.coefficients["x", "y"], fit.network.intercepts["y"]
    rows = sound[["x", "y"]].dropna()
    left = rows.y - constant - slope * rows.x
    r2 = 1.0 - (left**2).sum() / ((rows.y - rows.y.mean()) ** 2).sum()
    table = fit.node_table().to_frame().set_index("node")
    assert table.loc["y", "r2"] == pytest.approx(r2, rel=1e-12)
    shapes, place = fit.residual_shapes, fit.dag.position("y")
    assert shapes.counts[place] == len(rows)
    worst = left.abs().max() / np.sqrt(fit.network.variances["y"])
    assert abs(shapes.worst[place]) == pytest.approx(worst, rel=1e-12)


def test_sensitivity_counts_cells_that_are_confirmed():
    """Nothing is flagged in x and y, so that it is least squares over all rows."""
    frame = skewed_root()
    found = gn.fit(frame, GRAPH, "robust").sensitivity("x", "y")
    assert found.estimate == pytest.approx(regression(frame, "y", "x")[0][1], rel=1e-12)
    assert found.degrees_of_freedom == 998


def test_a_check_of_the_graph_counts_cells_that_are_confirmed():
    """The partial correlation is that of the residuals of two regressions."""
    frame = skewed_root()
    check = gn.fit(frame, GRAPH, "robust").check_graph()
    sound = frame.iloc[10:]
    left = []
    for name in ("z", "x"):
        (constant, slope), _ = regression(sound, name, "y")
        left.append(sound[name] - constant - slope * sound.y)
    expected = np.corrcoef(left)[0, 1]
    (edge,) = check.to_dicts()
    assert edge["correlation"] == pytest.approx(expected, abs=1e-9)
    assert check.notes == ("flagged cells count as missing, so that p-values are approximate",)


def test_standard_errors_count_the_same_cells():
    """Errors of y on x are those of least squares over all rows: no cell of these is flagged."""
    frame = skewed_root()
    fit = gn.fit(frame, GRAPH, "robust")
    plain = gn.fit(frame[["x", "y"]], "y ~ x")
    own = fit.uncertainty().standard_errors.coefficients["x", "y"]
    usual = plain.uncertainty().standard_errors.coefficients["x", "y"]
    # Of 1,000 rows, by the Gaussian law instead of Student's, or by n instead of n - 2: 1 in 500.
    assert own == pytest.approx(usual, rel=2e-3)


def test_a_confirmed_cell_has_the_deviation_for_which_it_was_suspected():
    """The root is suspected by mean and spread of the rows that sequential trimming keeps."""
    frame = skewed_root()
    cells = gn.fit(frame, GRAPH, "robust").outliers("confirmed")
    first = gn.fit(frame, GRAPH, "sequential-trim").network
    mean, spread = first.intercepts["x"], np.sqrt(first.variances["x"])
    own = [cell for cell in cells if cell.node == "x"]
    assert len(own) > 100
    for cell in own:
        assert cell.expected == pytest.approx(mean, rel=1e-9)
        assert cell.z == pytest.approx((cell.recorded - mean) / spread, rel=0.02)
    assert list(np.abs(cells.z)) == sorted(np.abs(cells.z), reverse=True)


def rounded(sizes):
    """A column so coarsely rounded that the mixture does not judge it, with these errors."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    y = np.round((x + rng.normal(size=800)) / 0.45) * 0.45
    z = 0.3 * y + rng.normal(size=800)
    y[: len(sizes)] += sizes
    return pd.DataFrame({"x": x, "y": y, "z": z})


def test_values_apart_are_flagged_in_a_column_that_is_not_judged():
    """Else they would be believed, and their relatives flagged: the slope would be 2 and more."""
    frame = rounded([57.0, -30.0, -30.0, 30.0, 25.0, -24.0])
    fit = gn.fit(frame, GRAPH, "robust")
    assert not fit.trimming.is_judged(fit.dag.position("y"))
    assert {(cell.row, cell.node) for cell in fit.outliers()} == {(row, "y") for row in range(6)}
    for cause, target in (("x", "y"), ("y", "z")):
        (_, slope), r2 = regression(frame.iloc[6:], target, cause)
        # The other cells of the six rows count too, each with an influence of about 1 / 800.
        assert fit.network.coefficients[cause, target] == pytest.approx(slope, abs=0.01)
        own = fit.node_table().to_frame().set_index("node").loc[target, "r2"]
        assert own == pytest.approx(r2, abs=0.01)


def test_an_r2_clearly_below_0_is_told_first():
    """Errors without a gap are believed in a column that is not judged: the summary says so."""
    frame = rounded(np.array([6.0, -10.0, 16.0, -26.0, 46.0, -84.0, 144.0, 240.0]))
    fit = gn.fit(frame, GRAPH, "robust")
    sound = believed(fit, frame)[["x", "y"]].dropna()
    slope, constant = fit.network.coefficients["x", "y"], fit.network.intercepts["y"]
    left = sound.y - constant - slope * sound.x
    r2 = 1.0 - (left**2).sum() / ((sound.y - sound.y.mean()) ** 2).sum()
    assert r2 < -0.1
    summary = fit.summary()
    assert summary.trust.startswith("Do not trust the numbers of y and of its children: its R2 is")
    assert f"is {r2:.2g}," in summary.trust
    assert len(summary.trust) < 200
    assert summary.warns


def test_the_worst_residual_is_told_in_standard_deviations_of_the_noise():
    frame = skewed_root()
    fit = gn.fit(frame, GRAPH, "robust")
    worst = (frame.x - fit.network.intercepts["x"]).abs().max() / np.sqrt(
        fit.network.variances["x"]
    )
    summary = fit.summary()
    assert f"the values of x are not Gaussian (worst {worst:.3g} sd of the noise)" in summary.fits
    assert f"values up to {worst:.0f} standard deviations of the noise off" in summary.trust


def test_heavy_tails_are_told_although_some_of_them_are_flagged():
    """Values in doubt count, and those left out may be the tails."""
    from gaussnet.fitting.residuals import shape_words

    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    x = rng.normal(size=800)
    y = x + rng.standard_t(3, 800)
    z = y + rng.normal(size=800)
    y[:8] *= 40.0
    frame = pd.DataFrame({"x": x, "y": y, "z": z})
    fit = gn.fit(frame, GRAPH, "robust")
    place = fit.dag.position("y")
    words = shape_words(fit, fit.residual_shapes, place)
    assert words.startswith("heavier tails than the Gaussian")
    assert "in doubt" not in words
    count = fit.node("y").flagged
    assert words.endswith(f"(without {count} flagged values, which may be its tails)")


def test_the_test_for_contamination_rests_on_the_same_cells():
    """F of the ten flagged values over the 990 rows that the equation rests on, by NumPy."""
    frame = skewed_root()
    fit = gn.fit(frame, GRAPH, "auto")
    assert any(cell.node == "y" for cell in fit.outliers("confirmed"))  # the parent of z
    squares = []
    for rows in (frame, frame.iloc[10:]):
        (constant, slope), _ = regression(rows, "z", "y")
        squares.append(((rows.z - constant - slope * rows.y) ** 2).sum())
    expected = (squares[0] - squares[1]) / 10 / (squares[1] / 988)
    found = fit.contamination.statistics[fit.dag.position("z")]
    assert found == pytest.approx(expected, rel=1e-9)
