"""Arrays go by position, frames by name."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaussnet as gn
from gaussnet.data.columns import as_rows, open_rows

NAMES = ["a", "b c", "ü"]
VALUES = np.arange(12.0).reshape(4, 3)


def frames(values=VALUES, names=NAMES):
    columns = {name: values[:, i] for i, name in enumerate(names)}
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "polars lazy": pl.LazyFrame(columns),
        "pyarrow": pa.table(columns),
    }


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float_arrays_are_not_copied(order, dtype):
    data = np.array(VALUES, dtype=dtype, order=order)
    assert np.shares_memory(as_rows(data, NAMES), data)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, bool, object, ">f8", ">f4"])
def test_other_numbers_become_native_floats(dtype):
    rows = as_rows(VALUES.astype(dtype), NAMES)
    assert rows.dtype.isnative
    assert rows.dtype.kind == "f"
    np.testing.assert_array_equal(rows, VALUES.astype(dtype).astype(float))


def test_masked_cells_become_nan():
    data = np.ma.masked_greater(VALUES, 10.5)
    assert np.isnan(as_rows(data, NAMES)[3, 2])


@pytest.mark.parametrize("kind", frames())
def test_frame_columns_are_matched_by_name(kind):
    shuffled = frames(VALUES[:, [2, 0, 1]], ["ü", "a", "b c"])[kind]
    np.testing.assert_array_equal(as_rows(shuffled, NAMES), VALUES)


@pytest.mark.parametrize("kind", frames())
def test_columns_that_the_graph_does_not_name_are_ignored(kind):
    np.testing.assert_array_equal(as_rows(frames()[kind], ["ü", "a"]), VALUES[:, [2, 0]])


@pytest.mark.parametrize("kind", frames())
def test_missing_columns_are_named(kind):
    with pytest.raises(gn.DataError, match=r"no column for 1 node \('z'\)"):
        as_rows(frames()[kind], ["a", "z"])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2, None]}),
        pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64")}),
        pl.DataFrame({"a": [1, 2, None]}),
        pa.table({"a": [1, 2, None]}),
    ],
)
def test_nulls_become_nan(frame):
    np.testing.assert_array_equal(as_rows(frame, ["a"]), [[1.0], [2.0], [np.nan]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_columns_are_refused_by_name(frame):
    words = "the column 'a' holds text, first 'x' in row 1, counted from 0, expected numbers"
    with pytest.raises(gn.DataError, match=words):
        as_rows(frame({"a": ["1", "x"]}), ["a"])
    with pytest.raises(gn.DataError, match="holds text, expected numbers"):
        as_rows(frame({"a": ["1", "2.5"]}), ["a"])


def test_text_among_numbers_is_refused_by_its_cell():
    with pytest.raises(gn.DataError, match="holds text, first 'n/a' in row 2, counted from 0"):
        as_rows(pd.DataFrame({"a": [1.0, None, "n/a"]}, dtype=object), ["a"])


def test_numbers_in_columns_of_any_object_are_read_as_numbers():
    frame = pd.DataFrame(VALUES, columns=NAMES)
    np.testing.assert_array_equal(as_rows(frame.astype(object), NAMES), VALUES)
    for missing in (None, pd.NA, np.nan, pd.NaT):
        holed = pd.DataFrame({"a": [1, missing, Decimal("2.5"), True]}, dtype=object)
        np.testing.assert_array_equal(as_rows(holed, ["a"]), [[1.0], [np.nan], [2.5], [1.0]])
        empty = pd.DataFrame({"a": [missing, missing]}, dtype=object)
        assert np.isnan(as_rows(empty, ["a"])).all()


RECORDS = np.array(
    [(1.0, "p", 2), (2.0, "q", 5), (4.0, "p", 7)], dtype=[("a", "f4"), ("site", "U1"), ("b", "i8")]
)


@pytest.mark.parametrize("records", [RECORDS, RECORDS.view(np.recarray), RECORDS[["b", "a"]]])
def test_fields_of_numbers_are_read_by_their_names(records):
    expected = gn.fit(pd.DataFrame(RECORDS), "b ~ a").network
    assert gn.fit(records, "b ~ a").network == expected
    assert gn.summarize(records, "b ~ a").solve().network == expected


@pytest.mark.parametrize(
    ("records", "settings", "sentence"),
    [
        (RECORDS, {"dag": "b ~ a + site"}, "'site' of the record array has the type <U1, .*frame"),
        (RECORDS, {"dag": "b ~ a", "groups": "site"}, "columns are taken as numbers: .* a frame"),
        (RECORDS[["site"]], {"dag": "b ~ a"}, r"no column for 2 nodes \('b', 'a'\)"),
        (RECORDS[["a"]].reshape(1, 3), {"dag": "b ~ a"}, "have no names"),
    ],
)
def test_fields_that_cannot_be_read_are_refused_in_a_sentence(records, settings, sentence):
    with pytest.raises(gn.GaussnetError, match=sentence):
        gn.fit(records, **settings)


def test_predictions_from_records_are_refused_with_the_way_out():
    fit = gn.fit(RECORDS, "b ~ a")
    with pytest.raises(gn.DataError, match=r"got a record array, .*pandas.DataFrame\(records\)"):
        fit.predict(RECORDS, "b")


def test_sparse_columns_are_read_as_numbers():
    frame = pd.DataFrame(VALUES, columns=NAMES).astype(pd.SparseDtype("float", 0.0))
    np.testing.assert_array_equal(as_rows(frame, NAMES), VALUES)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1.0, "2.5"], r"holds text, .*written as text, .* as pandas.to_numeric\(frame\['a'\]\)"),
        ([1.0, "n/a"], r"mend what is no number, .* as pandas.to_numeric\(frame\['a'\]\)"),
        ([1.0, [2.0]], r"holds values of type list, first '\[2.0\]' in row 1"),
        (np.array([1j, 2.0]), r"holds complex numbers \(complex128\), .*frame\['a'\].abs\(\)"),
        (np.array([1, 10**400]), r"holds values that float64 cannot hold, .*a power of ten"),
        ([Decimal(1), Decimal("sNaN")], r"holds values that float64 cannot hold, first 'sNaN'"),
        (pd.period_range("2020", periods=2, freq="D"), r"holds period\[D\]"),
    ],
)
def test_columns_of_other_values_are_refused_by_what_they_hold(values, sentence):
    with pytest.raises(gn.DataError, match=f"the column 'a' .*{sentence}"):
        as_rows(pd.DataFrame({"a": values}), ["a"])


def test_text_in_columns_of_any_object_stays_a_category():
    frame = pd.DataFrame({"fuel": ["Gas", "Oil", None] * 9, "mpg": np.arange(27.0)}, dtype=object)
    assert gn.fit(frame, "mpg ~ fuel", missing="drop-rows").dag.factors == {"fuel": ("Gas", "Oil")}


def test_duplicate_columns_are_refused():
    frame = pd.DataFrame(VALUES, columns=["a", "a", "b"])
    with pytest.raises(gn.DataError, match="several columns of the same name, 'a'"):
        as_rows(frame, ["a", "b"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros(3), r"got data of shape \(3,\), expected \(rows, 3\)"),
        (np.zeros((2, 4)), r"got data of shape \(2, 4\), expected \(rows, 3\)"),
        ([[1.0], [1.0, 2.0]], "the rows have different lengths"),
        (np.zeros((2, 3), dtype=complex), "got data of type complex128, expected real numbers"),
        (np.array([["1", "2", "3"]]), "got data of type <U1, expected real numbers"),
        (np.array([[1, 2, "x"]], dtype=object), "hold something that is not a number"),
        (b"rows.csv", "got data of type bytes, expected an array, a frame or the path"),
        (None, "got data of type NoneType, expected an array"),
        ({"a": [1.0]}, r"got data of type dict, expected a table: give pandas.DataFrame\(data\)"),
        (iter([[1.0, 2.0, 3.0]]), "got data of type list_iterator, expected an array"),
        (pd.Series([1.0]), "got a Series of length 1, expected a table"),
        (pl.Series([1.0]), "got a Series of length 1, expected a table"),
    ],
)
def test_other_data_are_refused_with_one_sentence(data, message):
    with pytest.raises(gn.DataError, match=message):
        as_rows(data, NAMES)


@pytest.mark.parametrize("kind", frames())
def test_fit_gives_the_same_from_frames_and_arrays(kind):
    values = np.random.default_rng(0).normal(size=(80, 3))
    dag = gn.Dag.from_edges([("a", "ü"), ("b c", "ü")], nodes=NAMES)
    from_array = gn.fit(values, dag, "batch-median").network
    assert gn.fit(frames(values)[kind], dag, "batch-median").network == from_array


def test_columns_that_a_fit_ignores_are_noted():
    frame = frames(np.random.default_rng(0).normal(size=(80, 3)))["pandas"]
    fit = gn.fit(frame, gn.Dag.from_edges([("a", "ü")]))
    assert str(fit.notes[0]) == "1 column is not in the graph and ignored: 'b c'"


def test_errors_of_a_fit_from_a_file_do_not_need_the_file_again(tmp_path):
    path = tmp_path / "rows.csv"
    frame = frames(np.random.default_rng(0).normal(size=(80, 3)))["pandas"]
    frame.to_csv(path, index=False)
    fit = gn.fit(path, gn.Dag.from_edges([("a", "ü")]))
    path.unlink()
    assert fit.standard_errors.coefficients["a", "ü"] > 0.0


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"], ["b"]])
@pytest.mark.parametrize("extra", [False, True])
def test_frames_of_plain_columns_give_what_the_walk_over_columns_gives(kind, order, extra):
    library = {"pandas": pd, "polars": pl}[kind]
    columns = {"a": [1.0, 2.0, 3.5], "b": [0.5, float("nan"), -1.0]}
    if extra:
        columns["time"] = ["x", "y", "z"]
    plain = library.DataFrame(columns)
    mixed = library.DataFrame({**columns, "a": np.array([1, 2, 3.5], dtype=np.float32)})
    expected = np.array([columns[name] for name in order]).T
    for frame in (plain, mixed):
        found = open_rows(frame, order)
        np.testing.assert_array_equal(found.rows, expected)
        assert found.rows.dtype == np.float64
        left = [name for name in columns if name not in order]
        assert list(found.ignored) == left


def test_a_pandas_frame_of_one_block_is_not_copied():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    assert np.shares_memory(open_rows(frame, ["a", "b"]).rows, frame.to_numpy())


def test_reading_a_csv_imports_no_pandas(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    script = (
        "import sys, scipy.special; needed = set(sys.modules); "  # SciPy's own: linalg from 1.18 on
        "import gaussnet as gn; gn.fit('rows.csv', 'b ~ a').standard_errors; "
        "slow = ('pandas', 'narwhals', 'scipy.optimize', 'scipy.linalg', 'scipy.stats'); "
        "print([name for name in slow if name in sys.modules and name not in needed])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_arrow_columns_in_pieces_with_nulls_are_read_as_they_are():
    values = np.arange(20.0).reshape(10, 2)
    whole = pa.table({"a": values[:, 0], "b": values[:, 1]})
    nulls = pa.table({"a": pa.array([None, 1.5]), "b": pa.array([2.5, None], pa.float64())})
    pieces = pa.concat_tables([whole.slice(3, 4), nulls, whole.slice(0, 0), whole.slice(8)])
    expected = np.vstack((values[3:7], [[np.nan, 2.5], [1.5, np.nan]], values[8:]))
    np.testing.assert_array_equal(open_rows(pieces, ["a", "b"]).rows, expected)
    np.testing.assert_array_equal(open_rows(pieces, ["b"]).rows, expected[:, 1:])
    empty = open_rows(whole.slice(0, 0), ["b", "a"])
    assert empty.rows.shape == (0, 2)


def test_nullable_columns_of_pandas_are_numbers():
    frame = pd.DataFrame({"a": pd.array([1.0, None], dtype="Float64"), "b": [1.0, 2.0]})
    found = open_rows(frame, ["a", "b"]).rows
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[1.0, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_series_is_refused_in_one_sentence(kind):
    series = pytest.importorskip(kind).Series([1.0, 2.0, 3.0])
    with pytest.raises(gn.DataError, match=r"got a Series of length 3, expected a table"):
        gn.fit(series, "y ~ x")


def test_decimal_commas_are_told_with_the_label_of_their_row():
    frame = pd.DataFrame({"y": ["314,2", "1,5"], "x": [1.0, 2.0]}, index=["ann", "bob"])
    words = r"first '314,2' in row 0 \('ann'\).* decimal comma, so read the file with decimal=','"
    with pytest.raises(gn.DataError, match=words):
        as_rows(frame, ["y", "x"])


def test_a_dict_of_columns_is_refused_with_the_frame_to_give():
    columns = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.5, 2.0]}
    for ask in (gn.fit, gn.summarize):
        with pytest.raises(gn.DataError, match=r"type dict, .* give pandas\.DataFrame\(data\)"):
            ask(columns, "y ~ x")
