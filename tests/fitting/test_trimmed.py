"""`fit` by the robust method: the answer, its settings, and what must not change it."""

import pickle

import numpy as np
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("[a][b][c|a:b][d|c][e|c:d]", nodes="abcde")
TRUTH = gn.simulate.random_network(DAG, seed=1)
CLEAN = TRUTH.sample(400, seed=5)
SPOILT = TRUTH.sample(600, seed=3)
SPOILT[:90, 2] = 500.0
SPOILT[[100, 200, 300], 0] = -80.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", ["core", "kl-optimal", "mean-square"])
def test_fit_gives_the_answer_of_the_walk(scale, intercept):
    fit = gn.fit(SPOILT, DAG, "sequential-trim", scale=scale, intercept=intercept)
    walk = gn.SequentialTrim().learn(SPOILT, DAG.families, intercept=intercept, scale=scale)
    np.testing.assert_array_equal(fit.network.coefficient_array, walk.coefficients)
    np.testing.assert_array_equal(fit.network.variance_array, walk.variances)
    np.testing.assert_array_equal(fit.network.intercept_array, walk.intercepts)
    assert [fit.node(name).rows for name in DAG.nodes] == walk.rows.tolist()
    assert fit.node("c").flagged == 90


def test_clean_rows_give_least_squares():
    robust, plain = gn.fit(CLEAN, DAG, "robust"), gn.fit(CLEAN, DAG)
    assert robust.trimming.left_out == {}
    assert robust.notes == ()
    # The same sums in the same order but for pages: equal to rounding.
    np.testing.assert_allclose(
        robust.network.coefficient_array, plain.network.coefficient_array, rtol=1e-12
    )
    np.testing.assert_allclose(
        robust.network.variance_array, plain.network.variance_array, rtol=1e-12
    )


RIGHT = np.where(np.abs(SPOILT) > 70.0, np.nan, SPOILT)


@pytest.mark.parametrize("scale", ["core", "kl-optimal", "mean-square"])
@pytest.mark.parametrize("missing", ["likelihood", "drop-by-node"])
def test_wrong_cells_count_as_missing_ones(missing, scale):
    fit = gn.fit(SPOILT, DAG, "robust", scale=scale)
    holed = gn.fit(RIGHT, DAG, "robust", missing=missing, scale=scale)
    oracle = gn.fit(RIGHT, DAG, missing="likelihood")
    errors = oracle.standard_errors.coefficient_array
    # Rounds end when no parameter moves by more than 0.03 standard errors.
    for one in (fit, holed):
        moved = np.abs(one.network.coefficient_array - oracle.network.coefficient_array)
        assert (moved < 0.1 * errors).all()
    assert len(holed.outliers()) == 0


def test_trimmed_rows_do_not_move_the_answer_from_that_of_the_right_ones():
    fit = gn.fit(SPOILT, DAG, "sequential-trim")
    oracle = gn.fit(RIGHT, DAG, missing="drop-by-node")
    for node in "abcde":
        assert fit.node(node).rows == oracle.node(node).rows
    np.testing.assert_allclose(
        fit.network.coefficient_array, oracle.network.coefficient_array, rtol=1e-9
    )


def test_settings_pass_through():
    strict = gn.SequentialTrim(gate_level=1e-6)
    fit = gn.fit(SPOILT, DAG, strict)
    assert fit.method is strict
    assert repr(fit) == (
        f"Fit(5 nodes, 600 rows, method='sequential-trim', scale='core', {len(fit.notes)} notes)"
    )
    default = gn.fit(CLEAN, DAG)
    assert default.scale.name == "mean-square"


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("robust", {"scale": "mad"}, "expected 'core', 'kl-optimal' or 'mean-square'"),
        ("robust", {"split": (100, 100)}, "leave split out"),
        ("least-squares", {"scale": "core"}, "expected 'robust'"),
        ("batch-median", {"scale": "kl-optimal"}, "expected 'least-squares' or 'robust'"),
        (gn.SequentialTrim, {}, "got method=<class"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(method, settings, words):
    with pytest.raises(gn.SettingError, match=words):
        gn.fit(CLEAN, DAG, method, **settings)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_order_of_the_rows_does_not_matter(intercept):
    order = np.random.default_rng(0).permutation(len(SPOILT))
    first = gn.fit(SPOILT, DAG, "robust", intercept=intercept)
    second = gn.fit(SPOILT[order], DAG, "robust", intercept=intercept)
    assert_same_network(second.network, first.network, np.ones(len(DAG)))
    before = {(cell.row, cell.node) for cell in first.outliers()}
    after = {(int(order[cell.row]), cell.node) for cell in second.outliers()}
    assert before == after


@pytest.mark.parametrize("rows", [CLEAN, SPOILT], ids=["clean", "spoilt"])
def test_the_units_of_the_columns_do_not_matter(rows):
    units = np.array([3.0, 1e-7, 0.3, 1e6, 77.0])
    first, second = gn.fit(rows, DAG, "robust"), gn.fit(rows * units, DAG, "robust")
    assert_same_network(second.network, first.network, units)
    np.testing.assert_array_equal(first.outliers().rows, second.outliers().rows)
    np.testing.assert_allclose(first.outliers().z, second.outliers().z, rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-200, 1e-160])
@pytest.mark.parametrize("method", ["robust", "sequential-trim", "least-squares"])
def test_numbers_whose_squares_vanish_are_refused(method, unit):
    with pytest.raises(gn.EstimationError, match="all below 1e-154"):
        gn.fit(CLEAN * unit, DAG, method)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_tiny_and_huge_numbers_give_the_same_coefficients(unit):
    first, second = gn.fit(SPOILT, DAG, "robust"), gn.fit(SPOILT * unit, DAG, "robust")
    np.testing.assert_allclose(
        second.network.coefficient_array, first.network.coefficient_array, rtol=1e-10
    )
    np.testing.assert_allclose(
        second.network.intercept_array, first.network.intercept_array * unit, rtol=1e-9
    )
    cleaned = second.cleaned() / unit
    np.testing.assert_allclose(cleaned, first.cleaned(), rtol=1e-9)
    assert len(first.outliers()) == len(second.outliers())


def test_threads_pages_layout_and_width_of_numbers_do_not_matter():
    first = gn.fit(SPOILT, DAG, "robust", threads=1).network.coefficient_array
    for rows in (SPOILT, np.asfortranarray(SPOILT)):
        other = gn.fit(rows, DAG, "robust", threads=2, page_rows=50)
        np.testing.assert_array_equal(other.network.coefficient_array, first)
    single = SPOILT.astype(np.float32)
    narrow, wide = gn.fit(single, DAG, "robust"), gn.fit(single.astype(float), DAG, "robust")
    np.testing.assert_array_equal(narrow.network.coefficient_array, wide.network.coefficient_array)


def test_notes_say_what_was_trimmed_and_by_how_much():
    notes = [str(note) for note in gn.fit(SPOILT, DAG, "robust").notes]
    assert notes[0] == (
        "93 of 3000 values (3.10%) do not fit and were flagged, in 2 of 5 nodes: see fit.outliers()"
    )
    assert "a: 3 of its values flagged; the other values of these rows are used" in notes
    assert "c: 90 of its values flagged; the other values of these rows are used" in notes
    trimmed = gn.fit(SPOILT, DAG, "sequential-trim").notes
    assert "a: 3 of 600 rows (0.5%) left out, 3 of its values flagged" in trimmed
    assert "c: 93 of 600 rows (15.5%) left out, 90 of its values flagged" in trimmed
    assert "d: 90 of 600 rows (15.0%) left out" in trimmed


def test_missing_cells_are_dropped_by_node_and_predicted():
    holed = CLEAN.copy()
    holed[:20, 2] = np.nan
    with pytest.raises(gn.DataError, match="'drop-by-node' or 'drop-rows', or fill them"):
        gn.fit(holed, DAG, "robust")
    by_node = gn.fit(holed, DAG, "sequential-trim", missing="drop-by-node")
    plain = gn.fit(holed, DAG, missing="drop-by-node")
    np.testing.assert_allclose(
        by_node.network.coefficient_array, plain.network.coefficient_array, rtol=1e-10
    )
    assert by_node.node("d").dropped == 20
    assert by_node.node("d").trimmed == 0
    by_row = gn.fit(holed, DAG, "robust", missing="drop-rows")
    assert by_row.rows == 380
    assert by_row.trimming.left_out == {}


def test_a_node_without_a_complete_row_is_named():
    holed = CLEAN.copy()
    holed[::2, 0] = np.nan
    holed[1::2, 2] = np.nan
    with pytest.raises(gn.EstimationError, match="the node 'c' has no row in which neither"):
        gn.fit(holed, DAG, "robust", missing="drop-by-node")


def test_infinite_values_are_refused():
    rows = CLEAN.copy()
    rows[3, 1] = np.inf
    with pytest.raises(gn.DataError, match="infinite, the first in row 3 of column 'b'"):
        gn.fit(rows, DAG, "robust", missing="drop-by-node")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_few_rows_give_least_squares(count):
    robust, plain = gn.fit(CLEAN[:count], DAG, "robust"), gn.fit(CLEAN[:count], DAG)
    np.testing.assert_allclose(
        robust.network.coefficient_array, plain.network.coefficient_array, atol=1e-9
    )
    assert len(robust.outliers()) == 0


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_node_that_its_parents_determine_has_variance_zero(spoilt):
    rows = SPOILT.copy()
    rows[:, 3] = 3.0 * TRUTH.sample(600, seed=3)[:, 2] + 1.0
    if spoilt:
        rows[300:320, 3] = 5.0
    fit = gn.fit(rows, DAG, "robust")
    assert fit.network.variances["d"] == 0.0
    assert fit.network.coefficients["c", "d"] == pytest.approx(3.0, rel=1e-12)
    flagged = {cell.row for cell in fit.outliers() if cell.node == "d"}
    # Rows with a wrong parent are judged at 3 standard deviations, where chance flags some.
    assert flagged - set(range(90)) == (set(range(300, 320)) if spoilt else set())


def test_collinear_parents_and_constant_columns_are_noted():
    rows = SPOILT.copy()
    rows[:, 1] = 2.0 * rows[:, 0]
    fit = gn.fit(rows, DAG, "robust")
    assert fit.node("c").rank == 1
    rows[:, 1] = 4.0
    constant = gn.fit(rows, DAG, "robust")
    assert constant.network.variances["b"] == 0.0
    assert constant.network.coefficients["b", "c"] == 0.0


def test_graphs_without_edges_or_nodes_are_learnt():
    alone = gn.Dag.from_edges([], nodes=["x y", "<script>", "é"])
    rows = np.random.default_rng(0).normal(size=(100, 3))
    rows[4, 1] = 60.0
    assert [cell[:2] for cell in gn.fit(rows, alone, "robust").outliers()] == [(4, "<script>")]
    nothing = gn.fit(np.empty((5, 0)), gn.Dag.from_edges([], nodes=[]), "robust")
    assert len(nothing.outliers()) == 0


def test_untrimmed_fits_have_the_certificate_of_least_squares():
    expected = gn.certify(DAG, rows=400, delta=0.1)
    assert gn.fit(CLEAN, DAG, "robust").certificate(0.1) == expected
    assert gn.fit(CLEAN, DAG, "robust", scale="mean-square").certificate(0.1) == expected
    with pytest.raises(gn.SettingError, match="there is no law for scale='kl-optimal'"):
        gn.fit(CLEAN, DAG, "robust", scale="kl-optimal").certificate()


def test_trimmed_fits_have_no_certificate():
    holed = SPOILT.copy()
    holed[0, 0] = np.nan
    for fit in (
        gn.fit(SPOILT, DAG, "robust"),
        gn.fit(holed, DAG, "robust", missing="drop-by-node"),
    ):
        with pytest.raises(gn.SettingError, match="leave out rows that do not fit"):
            fit.certificate()


def test_rows_with_missing_values_are_told_apart_from_trimmed_ones():
    holed = SPOILT.copy()
    holed[0, 0] = np.nan
    robust = gn.fit(holed, DAG, "robust", missing="drop-by-node")
    own = [note.text for note in robust.notes if note.node == "a"]
    assert own == ["3 of its values flagged and 1 missing; the other values of these rows are used"]
    fit = gn.fit(holed, DAG, "sequential-trim", missing="drop-by-node")
    dropped, trimmed = (note.text for note in fit.notes if note.node == "a")
    assert dropped == "1 row with missing values left out of 600"
    assert trimmed.startswith("3 of 599 rows ")


def test_a_pickled_fit_keeps_its_flags_and_loses_its_data():
    fit = gn.fit(SPOILT, DAG, "robust")
    again = pickle.loads(pickle.dumps(fit))
    assert list(again.outliers()) == list(fit.outliers())
    assert again.notes == fit.notes
    with pytest.raises(gn.EstimationError, match="no longer has the rows"):
        again.cleaned()


def assert_same_network(found, expected, units):
    """Equal to 1e-10 of their size, in other units of the columns."""
    families = expected.dag.families
    child = units[families.family_of_edge]
    scaled = expected.coefficient_array * child / units[families.parents]
    np.testing.assert_allclose(found.coefficient_array, scaled, rtol=1e-10)
    np.testing.assert_allclose(found.variance_array, expected.variance_array * units**2, rtol=1e-10)
    sizes = np.sqrt(expected.variance_array) * units
    gap = found.intercept_array - expected.intercept_array * units
    np.testing.assert_allclose(gap / sizes, 0.0, atol=1e-10)


def test_mean_squares_of_flagged_values_are_named_where_they_leave_no_errors():
    rng = np.random.default_rng(0)
    a, noise = rng.normal(0.0, 30.0, 400), rng.normal(0.0, 30.0, (2, 400))
    b = 2.0 * a + noise[0]
    rows = np.column_stack((a, b, a + b + noise[1]))
    rows[:10, 1], rows[20:25, 2], rows[50:55, 0] = 20_000.0, -9_999.0, 9_999.0
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
    fit = gn.fit(rows, dag, "robust", scale="mean-square")
    assert np.isnan(fit.standard_errors.coefficient_array).any()
    notes = fit.uncertainty().notes
    assert notes
    assert all("scale='mean-square' counts the flagged values" in str(note) for note in notes)
    assert gn.fit(rows, dag, "robust").uncertainty().notes == ()
