"""Numbers that stand for a missing value: in arrays, frames, files, streams and on the shell."""

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
