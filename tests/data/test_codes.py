"""Numbers that stand for a missing value: in arrays, frames, files, streams and on the shell."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.forced import STREAMED

import gaussnet as gn
from gaussnet.data.codes import recoded_rows
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, SettingError
from gaussnet.fitting.learn import fit_with
from gaussnet.fitting.suspected_codes import far_repeats
from gaussnet.methods.groups import ReadOptions
from gaussnet.methods.names import method_named, scale_named

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
ROWS = gn.simulate.random_network(DAG, seed=1).sample(300, seed=2)
HOLES = np.random.default_rng(3).random(ROWS.shape) < 0.1
NAN = np.where(HOLES, np.nan, ROWS)
CODED = np.where(HOLES, np.where(ROWS > 0.0, -999.0, 1e6), ROWS)
CODES = (-999, 1e6)


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node", "likelihood"])
@pytest.mark.parametrize(
    "data",
    [
        CODED,
        np.asfortranarray(CODED),
        CODED.tolist(),
        pd.DataFrame(CODED, columns=DAG.nodes),
        pl.DataFrame(CODED, schema=list(DAG.nodes)),
    ],
    ids=["array", "Fortran order", "list", "pandas", "polars"],
)
def test_codes_are_missing_values(data, missing):
    fit = gn.fit(data, DAG, missing=missing, missing_values=CODES)
    assert fit.network == gn.fit(NAN, DAG, missing=missing).network
    np.testing.assert_array_equal(
        fit.standard_errors.coefficient_array,
        gn.fit(NAN, DAG, missing=missing).standard_errors.coefficient_array,
    )


@pytest.mark.parametrize("method", ["robust", "cauchy-tree", "batch-average"])
def test_codes_are_missing_values_for_every_method(method):
    fit = gn.fit(CODED, DAG, method, missing="drop-by-node", missing_values=CODES)
    assert fit.network == gn.fit(NAN, DAG, method, missing="drop-by-node").network


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node", "likelihood"])
def test_codes_in_files_and_streams(tmp_path, ending, missing):
    path = tmp_path / f"rows{ending}"
    write_rows(path, DAG.nodes, [CODED])
    whole = gn.fit(NAN, DAG, missing=missing, page_rows=64).network
    method = method_named("least-squares")
    options = ReadOptions(DAG, True, None, missing, 64, missing_values=CODES)
    for run in (Run(), Run(**STREAMED)):
        fit = fit_with(run, str(path), options, (method, scale_named(None, method)))
        assert fit.network == whole
        assert fit.uncertainty().notes == ()


def test_rows_given_are_not_changed_and_not_copied_without_need():
    kept = CODED.copy()
    gn.fit(CODED, DAG, missing="drop-rows", missing_values=CODES)
    assert np.array_equal(CODED, kept)
    assert recoded_rows(ROWS, (-999.0,)) is ROWS


def test_codes_in_single_precision_and_whole_numbers():
    single = recoded_rows(np.array([[0.1, 2.0]], dtype=np.float32), (0.1,))
    assert np.isnan(single).tolist() == [[True, False]]
    whole = np.array([[1, 5], [2, -9], [3, 4], [4, 6], [5, 7]])
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    fit = gn.fit(whole, dag, missing="drop-rows", missing_values=[-9])
    assert fit.rows == 4


def test_an_infinite_code_is_missing_and_not_refused():
    rows = np.where(HOLES, np.inf, ROWS)
    fit = gn.fit(rows, DAG, missing="drop-by-node", missing_values=[np.inf])
    assert fit.network == gn.fit(NAN, DAG, missing="drop-by-node").network


def test_codes_say_what_is_missing_and_not_what_to_do_about_it():
    with pytest.raises(DataError, match="values are missing"):
        gn.fit(CODED, DAG, missing_values=CODES)


@pytest.mark.parametrize("codes", ["-999", ["NA"], [None], object()])
def test_codes_that_are_no_numbers_are_refused(codes):
    with pytest.raises(SettingError, match="expected numbers that stand for a missing value"):
        gn.fit(CODED, DAG, missing="drop-rows", missing_values=codes)


def test_rows_that_are_added_later_have_the_same_codes():
    for missing in ("drop-rows", "likelihood"):
        fit = gn.fit(CODED[:200], DAG, missing=missing, missing_values=CODES)
        assert fit.update(CODED[200:]).network == gn.fit(NAN, DAG, missing=missing).network


def gauges(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    season = rng.normal(10.0, 1.0, rows)
    rain = 20.0 + 5.0 * season + rng.normal(0.0, 8.0, rows)
    return pd.DataFrame({"season": season, "rain": rain})


@pytest.mark.parametrize(
    ("method", "missing"),
    [("least-squares", "drop-rows"), ("least-squares", "likelihood"), ("robust", "drop-rows")],
)
def test_a_value_that_recurs_far_from_the_others_is_called_a_code(method, missing):
    frame = gauges()
    frame.loc[:11, "rain"] = -999.0
    fit = gn.fit(frame, "rain ~ season", method, missing=missing)
    said = "-999 appears 12 times in rain, far from the other values: if it means missing, give "
    assert f"{said}missing_values=[-999]" in fit.notes
    assert "-999 appears 12 times in rain and may mean missing" in fit.summary().data
    assert fit.summary().warns
    cured = gn.fit(frame, "rain ~ season", method, missing=missing, missing_values=[-999])
    assert not cured.suspected_codes


def test_one_code_in_two_columns_is_one_note_and_says_how_to_go_on():
    frame = gauges()
    frame.loc[:11, "rain"], frame.loc[20:22, "season"] = 9999.0, 9999.0
    (note,) = [note for note in gn.fit(frame, "rain ~ season").notes if "appears" in note]
    assert note == (
        "9999 appears 12 times in rain and 3 times in season, far from the other values: if it "
        "means missing, give missing_values=[9999] and missing='likelihood'"
    )


def test_a_code_that_is_usual_elsewhere_is_no_code_for_all_columns():
    frame = gauges()
    frame["rain"] += 900.0
    frame.loc[:11, "rain"], frame.loc[::9, "season"] = 10.0, 10.0
    (note,) = [note for note in gn.fit(frame, "rain ~ season").notes if "appears" in note]
    assert note == (
        "10 appears 12 times in rain, far from the other values: if it means missing, set these "
        "cells to NaN. It also appears 45 times in season, within the other values: look at it, "
        "and if it means missing there too, give missing_values=[10] and missing='likelihood'"
    )


@pytest.mark.parametrize(("code", "side"), [(-999, "below"), (99_999, "above")])
def test_a_code_that_no_other_value_reaches_is_not_said_to_lie_within(code, side):
    frame = gauges()
    rng = np.random.default_rng(0)
    frame["income"] = rng.uniform(10_000.0, 90_000.0, len(frame))
    frame.loc[:11, ["rain", "income"]] = float(code)
    (note,) = [note for note in gn.fit(frame, "income ~ rain").notes if "appears" in note]
    assert note == (
        f"{code} appears 12 times in rain, far from the other values: if it means missing, set "
        f"these cells to NaN. It also appears 12 times in income, {side} all other values: look "
        f"at it, and if it means missing there too, give missing_values=[{code}] and "
        "missing='likelihood'"
    )


def test_values_set_from_outside_are_no_codes():
    frame = gauges()
    frame["set"] = ""
    frame.loc[:11, ["rain", "set"]] = 1e4, "rain"
    assert not gn.fit(frame, "rain ~ season", interventions="set").suspected_codes
    assert gn.fit(frame, "rain ~ season").suspected_codes


RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    "values",
    [
        np.round(np.exp(RNG.normal(0.0, 1.5, 2_000))),
        np.round(RNG.standard_cauchy(2_000)),
        RNG.poisson(0.3, 2_000),
        np.minimum(RNG.zipf(1.8, 2_000), 10**6),
        np.round(np.exp(RNG.normal(10.0, 1.0, 2_000)), -3),
        np.minimum(np.exp(RNG.normal(0.0, 1.0, 2_000)), 5.0),
        RNG.random(2_000) < 0.02,
        np.where(RNG.random(2_000) < 0.6, 0.0, np.exp(RNG.normal(1.0, 1.0, 2_000))),
        np.append(RNG.normal(size=2_000), [1e3, 1e3]),
        np.append(np.full(500, 5.0), [99.0] * 5),
        np.full(7, np.nan),
        np.zeros(0),
    ],
    ids=["lognormal", "Cauchy", "Poisson", "Zipf", "incomes", "capped", "0 and 1", "zeros",
         "two alike", "constant", "empty", "no rows"],
)  # fmt: skip
def test_rounded_skewed_and_discrete_columns_have_no_codes(values):
    assert far_repeats(np.asarray(values, dtype=float)) == []


@pytest.mark.parametrize("share", [0.005, 0.05, 0.3, 0.6])
@pytest.mark.parametrize("code", [-999.0, -99.0, 9999.0])
def test_codes_are_found_whatever_their_share(code, share):
    values = np.random.default_rng(1).normal(20.0, 8.0, 1_000)
    values[: int(1_000 * share)] = code
    assert far_repeats(values) == [code]


def test_two_codes_and_wrong_cells_are_told_apart():
    values = np.random.default_rng(2).normal(20.0, 8.0, 1_000)
    values[:20], values[20:35] = -999.0, -99.0
    values[40:50] = np.linspace(200.0, 900.0, 10)
    assert far_repeats(values) == [-999.0, -99.0]


def test_rows_that_were_changed_have_no_suspected_codes_and_copies_keep_theirs():
    rows = np.array(ROWS)
    rows[:12, 1] = -999.0
    fit, copied = gn.fit(rows, DAG), pickle.loads(pickle.dumps(gn.fit(rows, DAG)))
    rows[20:40, 2] = 9999.0
    assert fit.suspected_codes == ()
    assert [code.value for code in copied.suspected_codes] == [-999.0]
