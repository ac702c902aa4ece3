"""Flagged cells, and the data without them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaussnet as gn

DAG = gn.Dag.parse("[rain][wet|rain][slippery|wet]", nodes=["rain", "wet", "slippery"])
TRUTH = gn.simulate.random_network(DAG, seed=1)
CLEAN = TRUTH.sample(1_000, seed=2)
SPOILT = CLEAN.copy()
SPOILT[:250, 1] = 1000.0 + np.arange(250.0)
SPOILT[400, 0] = -300.0
RAIN, WET, SLIPPERY = range(3)


@pytest.fixture(scope="module")
def fit():
    return gn.fit(SPOILT, DAG, "robust")


def test_wrong_cells_are_listed_with_what_was_recorded(fit):
    found = fit.outliers()
    assert len(found) == 251
    assert {(cell.row, cell.node) for cell in found} == {
        *((row, "wet") for row in range(250)),
        (400, "rain"),
    }
    for cell in found:
        assert cell.recorded == SPOILT[cell.row, DAG.position(cell.node)]


def test_the_worst_come_first_with_the_sign_of_their_deviation(fit):
    found = fit.outliers()
    assert (np.diff(np.abs(found.z)) <= 0.0).all()
    np.testing.assert_array_equal(np.sign(found.z), np.sign(found.recorded - found.expected))
    assert next(cell for cell in found if cell.node == "rain").z < -200.0


def test_expected_values_are_predictions_from_the_believed_cells_of_the_row(fit):
    network = fit.network
    blank = SPOILT.copy()
    for cell in fit.outliers():
        blank[cell.row, DAG.position(cell.node)] = np.nan
    filled = network.impute(blank, columns=DAG.nodes)
    precision = np.linalg.inv(network.covariance())
    for cell in fit.outliers():
        column = DAG.position(cell.node)
        assert cell.expected == pytest.approx(filled[cell.row, column], abs=1e-6)
        error = cell.recorded - cell.expected
        assert cell.z == pytest.approx(error * np.sqrt(precision[column, column]), rel=1e-9)


def test_expected_values_of_trimming_are_predictions_from_the_parents():
    fit = gn.fit(SPOILT, DAG, "sequential-trim")
    network = fit.network
    for cell in fit.outliers():
        expected = network.intercepts[cell.node]
        if cell.node == "wet":
            expected += network.coefficients["rain", "wet"] * SPOILT[cell.row, RAIN]
        assert cell.expected == pytest.approx(expected, abs=1e-9)
        # The variance has the divisor |F|, the scale of z the freedom |F| - p.
        rows = fit.node(cell.node).rows
        scale = np.sqrt(network.variances[cell.node] * rows / (rows - (1 + (cell.node == "wet"))))
        assert cell.z == pytest.approx((cell.recorded - cell.expected) / scale, rel=1e-9)


def test_shares_are_of_all_nodes(fit):
    assert dict(fit.outliers().shares) == {"rain": 0.001, "wet": 0.25, "slippery": 0.0}


def test_plain_values_go_into_frames_and_json(fit):
    dicts = fit.outliers().to_dicts()
    assert json.loads(json.dumps(dicts)) == dicts
    frame = pd.DataFrame(dicts)
    assert list(frame.columns) == ["row", "node", "recorded", "expected", "z", "probability"]
    assert frame.groupby("node").size().to_dict() == {"rain": 1, "wet": 250}
    assert frame["probability"].between(0.5, 1.0).all()
    assert frame.equals(fit.outliers().to_frame())
    assert fit.outliers().to_frame("polars").to_dicts() == dicts


def test_the_printed_table_is_short(fit):
    lines = str(fit.outliers()).splitlines()
    assert lines[0] == "Outliers(251 flagged cells in 2 of 3 nodes)"
    assert lines[1].split() == ["row", "node", "recorded", "expected", "z", "probability"]
    assert lines[2].split()[:3] == ["249", "wet", "1249"]
    assert len(lines) == 23
    assert lines[-1] == "... and 231 more"


def test_huge_deviations_are_printed_in_few_signs():
    rows = CLEAN[:300].copy()
    rows[7, 0] = 1e150
    found = gn.fit(rows, DAG, "robust").outliers()
    lines = str(found).splitlines()
    assert max(map(len, lines)) < 70
    place = lines[1].split().index("z")
    assert float(lines[2].split()[place]) == pytest.approx(found.z[0], rel=1e-3)


def test_nothing_found_is_an_empty_list():
    found = gn.fit(CLEAN[:300], DAG, "robust").outliers()
    assert len(found) == 0
    assert list(found) == found.to_dicts() == []
    assert found.to_frame().shape == (0, 6)
    assert str(found) == "Outliers(0 flagged cells in 0 of 3 nodes)"
    assert set(found.shares.values()) == {0.0}


def test_a_method_without_probabilities_says_none():
    rows = CLEAN[:300].copy()
    rows[7, 0] = 900.0
    found = gn.fit(rows, DAG, "sequential-trim").outliers()
    assert [cell["probability"] for cell in found.to_dicts()] == [None]
    assert str(found).splitlines()[1].split()[-1] == "z"
    assert found.to_frame()["probability"].isna().all()


def test_other_methods_say_which_one_flags():
    plain = gn.fit(CLEAN, DAG)
    for ask in (plain.outliers, plain.cleaned):
        with pytest.raises(gn.SettingError, match="'least-squares' does not look for outliers"):
            ask()


def test_unknown_statuses_are_refused(fit):
    with pytest.raises(gn.SettingError, match="expected 'flagged', 'confirmed', 'unverified'"):
        fit.outliers("bad")
    with pytest.raises(gn.SettingError, match=r"got status=\['flagged'\]"):
        fit.outliers(["flagged"])


def test_events_that_went_on_into_the_children_are_confirmed():
    rows = CLEAN.copy()
    noise = CLEAN[:, WET] - TRUTH.coefficients["rain", "wet"] * CLEAN[:, RAIN]
    rest = CLEAN[:, SLIPPERY] - TRUTH.coefficients["wet", "slippery"] * CLEAN[:, WET]
    rows[:30, RAIN] = 200.0
    rows[:, WET] = TRUTH.coefficients["rain", "wet"] * rows[:, RAIN] + noise
    rows[:, SLIPPERY] = TRUTH.coefficients["wet", "slippery"] * rows[:, WET] + rest
    fit = gn.fit(rows, DAG, "robust")
    confirmed = fit.outliers("confirmed")
    for node in DAG.nodes:
        assert sorted(c.row for c in confirmed if c.node == node) == list(range(30))
    assert len(fit.outliers()) == 0
    assert any(
        "30 far from expected but kept: unusual rather than wrong" in str(note)
        for note in fit.notes
    )
    np.testing.assert_array_equal(fit.cleaned(), rows)


def test_missing_cells_are_listed_apart():
    rows = SPOILT.copy()
    rows[500:510, SLIPPERY] = np.nan
    fit = gn.fit(rows, DAG, "robust", missing="drop-by-node")
    missing = fit.outliers("missing")
    assert sorted(missing.rows.tolist()) == list(range(500, 510))
    assert np.isnan(missing.recorded).all()
    assert np.isnan(missing.z).all()
    assert missing.shares["slippery"] == 0.01
    assert len(fit.outliers()) == 251


def test_row_numbers_are_those_of_the_data_when_rows_are_dropped():
    rows = np.vstack((np.full((7, 3), np.nan), SPOILT))
    fit = gn.fit(rows, DAG, "robust", missing="drop-rows")
    assert {cell.row for cell in fit.outliers() if cell.node == "wet"} == set(range(7, 257))
    cleaned = fit.cleaned()
    assert np.isnan(cleaned[:7]).all()
    assert np.abs(cleaned[7:]).max() < 60.0


def test_cleaned_data_differ_in_the_flagged_cells_alone(fit):
    cleaned = fit.cleaned()
    flagged = np.zeros(SPOILT.shape, dtype=bool)
    for cell in fit.outliers():
        flagged[cell.row, DAG.position(cell.node)] = True
        assert cleaned[cell.row, DAG.position(cell.node)] == cell.expected
    np.testing.assert_array_equal(cleaned[~flagged], SPOILT[~flagged])
    assert SPOILT[0, WET] == 1000.0


def test_expected_values_of_missing_children_come_from_cleaned_parents():
    rows = SPOILT.copy()
    rows[0, SLIPPERY] = np.nan
    fit = gn.fit(rows, DAG, "robust", missing="drop-by-node")
    cleaned = fit.cleaned()
    slope = fit.network.coefficients["wet", "slippery"]
    expected = fit.network.intercepts["slippery"] + slope * cleaned[0, WET]
    assert abs(cleaned[0, WET]) < 60.0
    assert cleaned[0, SLIPPERY] == pytest.approx(expected, abs=1e-9)


def test_a_frame_is_cleaned_into_a_frame_with_its_index_and_all_its_columns():
    frame = pd.DataFrame(SPOILT.astype(np.float32), columns=list(DAG.nodes))
    frame.index = [f"patient {row}" for row in range(len(frame))]
    shuffled = frame[["slippery", "wet", "rain"]].assign(name="x")
    cleaned = gn.fit(shuffled, DAG, "robust").cleaned()
    assert list(cleaned.columns) == ["slippery", "wet", "rain", "name"]
    pd.testing.assert_index_equal(cleaned.index, frame.index)
    whole = gn.fit(SPOILT.astype(np.float32), DAG, "robust").cleaned()
    np.testing.assert_array_equal(cleaned[list(DAG.nodes)].to_numpy(), whole)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "batch"])
def test_other_frames_are_cleaned_into_their_kind(kind):
    columns = dict(zip(DAG.nodes, SPOILT.T, strict=True))
    make = {"polars": pl.DataFrame, "pyarrow": pa.table, "batch": pa.RecordBatch.from_pydict}[kind]
    cleaned = gn.fit(make(columns), DAG, "robust").cleaned()
    assert isinstance(cleaned, pl.DataFrame if kind == "polars" else pa.Table)
    whole = gn.fit(SPOILT, DAG, "robust").cleaned()
    np.testing.assert_array_equal(np.column_stack([cleaned[name] for name in DAG.nodes]), whole)


def test_lists_of_files_are_cleaned_and_have_errors(tmp_path):
    files = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for file, part in zip(files, (SPOILT[:500], SPOILT[500:]), strict=True):
        pd.DataFrame(part, columns=list(DAG.nodes)).to_csv(file, index=False)
    fit, whole = gn.fit(files, DAG, "robust"), gn.fit(SPOILT, DAG, "robust")
    assert fit.outliers().to_dicts() == whole.outliers().to_dicts()
    np.testing.assert_array_equal(fit.cleaned(), whole.cleaned())
    assert fit.standard_errors.coefficients == whole.standard_errors.coefficients


def test_a_cell_found_wrong_through_its_children_is_flagged_not_confirmed():
    dag = gn.Dag.parse("[a][b|a][c|a][d|a]", nodes="abcd")
    rng = np.random.default_rng(11)
    a = rng.normal(size=(1_000, 1))
    rows = np.hstack((a, 5.0 * a + rng.normal(size=(1_000, 3))))
    rows[:20, 0] += 2.9
    fit = gn.fit(rows, dag, "robust")
    found = fit.outliers()
    hits = [row for row, node in zip(found.rows.tolist(), found.nodes, strict=True) if node == "a"]
    assert sum(row < 20 for row in hits) >= 15
    confirmed = fit.outliers("confirmed")
    cells = zip(confirmed.rows.tolist(), confirmed.nodes, strict=True)
    assert not any(row < 20 and node == "a" for row, node in cells)


def test_a_category_counts_as_one_node():
    rng = np.random.default_rng(0)
    fuel = np.array(["Diesel", "Gas", "Petrol", "Water"])[rng.integers(4, size=200)]
    cars = pd.DataFrame({"fuel": fuel, "weight": rng.normal(size=200)})
    cars["mpg"] = rng.normal(size=200) - cars["weight"]
    cars.loc[7, "mpg"] = 500.0
    found = gn.fit(cars, gn.Dag.parse("mpg ~ fuel + weight"), "robust").outliers()
    assert repr(found) == "Outliers(1 flagged cell in 1 of 3 nodes)"


def test_cells_are_named_by_the_index_of_the_frame():
    frame = pd.DataFrame(
        CLEAN.copy(), columns=list(DAG.nodes), index=[f"p{i}" for i in range(1_000)]
    )
    frame.iloc[7, WET] = 900.0
    frame.iloc[3, RAIN] = np.nan
    fit = gn.fit(frame, DAG, "robust", missing="drop-rows")
    found = fit.outliers()
    worst = next(iter(found))
    assert (worst.row, worst.label) == (7, "p7")
    assert str(found).splitlines()[1].split()[:3] == ["row", "label", "node"]
    assert str(found).splitlines()[2].split()[:3] == ["7", "p7", "wet"]
    assert found.to_frame().loc[0, "label"] == "p7"
    assert json.loads(json.dumps(found.to_dicts()))[0]["label"] == "p7"
    assert "| 7 | p7 | wet |" in found.to_markdown()
    assert "p7" in found._repr_html_()


def test_labels_of_any_kind_are_written_and_numbers_from_0_are_not_repeated():
    frame = pd.DataFrame(CLEAN.copy(), columns=list(DAG.nodes))
    frame.iloc[7, WET] = 900.0
    assert gn.fit(frame, DAG, "robust").outliers().labels is None
    assert "label" not in gn.fit(frame, DAG, "robust").outliers().to_frame().columns
    frame.index = pd.date_range("2020-01-01", periods=1_000)
    found = gn.fit(frame, DAG, "robust").outliers()
    assert "2020-01-08" in str(found)
    assert json.loads(json.dumps(found.to_dicts()))[0]["label"].startswith("2020-01-08")
    frame.index = pd.array([None, *range(1, 1_000)], dtype="Int64")
    assert "900" in str(gn.fit(frame, DAG, "robust").outliers())
