"""Rows from files: columns go by name, numbers are exact, and what is odd is named."""

import io
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st

import gaussnet as gn
from gaussnet import kernels
from gaussnet.data import csv as csv_files
from gaussnet.data.arrow import ParquetSource
from gaussnet.data.columns import as_rows, open_rows
from gaussnet.data.sources import read_rows
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, FileError, GaussnetError

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".arrow", ".feather", ".npy")
NAMED = ENDINGS[:-1]
NAMES = ["a b", "265768", "ü", 'quo"te', "com,ma", "tab\there", "line\nend", " blank ", "a.b", "a"]
VALUES = np.random.default_rng(0).standard_cauchy((50, len(NAMES)))


@pytest.fixture(params=["pyarrow", "careful"])
def csv_reader(request, monkeypatch):
    """Both ways to read CSV: with pyarrow and without its reader."""
    if request.param == "careful":
        monkeypatch.delattr(pa, "csv", raising=False)
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)  # importing it now fails
    return request.param


@pytest.fixture
def put(tmp_path):
    def write(content, name="rows.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_come_back_to_the_last_bit(tmp_path, csv_reader, ending):
    write_rows(tmp_path / f"rows{ending}", NAMES, [VALUES[:20], VALUES[20:20], VALUES[20:]])
    again = read_rows(str(tmp_path / f"rows{ending}"), NAMES)
    np.testing.assert_array_equal(again.rows, VALUES)
    assert again.ignored == ()


@pytest.mark.parametrize("ending", NAMED)
def test_columns_go_by_name_and_others_are_told(tmp_path, csv_reader, ending):
    write_rows(tmp_path / f"rows{ending}", NAMES, [VALUES])
    loaded = open_rows(tmp_path / f"rows{ending}", ["a", "ü", "a b"])
    np.testing.assert_array_equal(loaded.rows, VALUES[:, [9, 2, 0]])
    assert loaded.ignored == tuple(name for name in NAMES if name not in ("a", "ü", "a b"))


@pytest.mark.parametrize("ending", NAMED)
def test_a_missing_column_is_named(tmp_path, ending):
    write_rows(tmp_path / f"rows{ending}", NAMES, [VALUES])
    with pytest.raises(DataError, match=r"rows[.\w]+' has no column for 1 node \('z'\)"):
        read_rows(tmp_path / f"rows{ending}", ["a", "z"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_without_rows_has_none(tmp_path, csv_reader, ending):
    write_rows(tmp_path / f"rows{ending}", ["a", "b"], [])
    assert read_rows(tmp_path / f"rows{ending}", ["a", "b"]).rows.shape == (0, 2)


@pytest.mark.parametrize("ending", ENDINGS)
def test_fit_reads_a_path(tmp_path, ending):
    dag = gn.Dag.parse("y ~ x; z ~ y", nodes="yxz")
    rows = gn.simulate.random_network(dag, seed=0).sample(60, seed=1)
    write_rows(tmp_path / f"rows{ending}", dag.nodes, [rows])
    assert gn.fit(tmp_path / f"rows{ending}", dag).network == gn.fit(rows, dag).network


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", [[1, 2]]),
        ("a,b\r\n1,2\r\n", [[1, 2]]),
        ("a,b\r1,2\r3,4", [[1, 2], [3, 4]]),
        ("\ufeffa,b\n1,2", [[1, 2]]),
        ("\n\na,b\n\n1,2\n\n", [[1, 2]]),
        ('"a","b"\n"1","2.5"\n', [[1, 2.5]]),
        ("b,time,a\n2,noon,1\n", [[1, 2]]),
        ('b,x,a\n2,"two\nlines, ""quoted""",1\n', [[1, 2]]),
        ("a, b\n1, 2\n", [[1, 2]]),
        ("a,b\n1e-3,+2\n.5,-1.\n", [[1e-3, 2], [0.5, -1]]),
        ("a,b\n,NA\nNaN,null\nNone,nan\nN/A,NULL\n", [[np.nan] * 2] * 4),
        ("a,b\n NA , 1 \n", [[np.nan, 1]]),
        ("a,b\ninf,-Infinity\n-INF,1\n", [[np.inf, -np.inf], [-np.inf, 1]]),
        ("a,b,b2,b2\n1,2,x,y\n", [[1, 2]]),
        ("a,b\n", np.empty((0, 2))),
        ("a,b", np.empty((0, 2))),
        ("a,b,\n1,2,\n", [[1, 2]]),
        ("a,b\n1" + "0" * 400 + ",2\n", [[np.inf, 2]]),
        ("a,b\n0.1,123456789012345678901234567890\n", [[0.1, 1.2345678901234568e29]]),
    ],
)
def test_tables_of_others_are_read(put, csv_reader, text, expected):
    np.testing.assert_array_equal(read_rows(put(text), ["a", "b"]).rows, expected)


def test_a_column_that_nobody_reads_may_hold_anything(put, csv_reader):
    path = put(b"a,note,b\n1,caf\xe9,2\n")
    assert read_rows(path, ["a", "b"]).rows.tolist() == [[1.0, 2.0]]


CELLS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        [*csv_files.MISSING, "inf", "-inf", "+1", " 2 ", "1_000", "x", "0x1p3", "1e", "٣"]
    ),
    st.text(st.characters(exclude_characters='\r\n",', exclude_categories=["Cs"]), max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(cells=st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_pyarrow_and_careful_reading_agree(cells):
    text = "a,b\n" + "".join(f"{one},{two}\n" for one, two in cells)
    table = csv_files.read_header(
        lambda: io.BytesIO(text.encode()), "rows.csv", csv_files.Dialect()
    )
    fast = csv_files.arrow_columns(table, [0, 1])
    if fast is not None:
        np.testing.assert_array_equal(fast, csv_files.careful_columns(table, [0, 1]))


@settings(max_examples=150, deadline=None)
@given(
    cells=st.lists(st.tuples(CELLS, CELLS), max_size=5),
    ends=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_plain_and_careful_reading_agree(cells, ends):
    text = "a,b\n" + "".join(f"{one},{two}{ends}" for one, two in cells)
    table = csv_files.read_header(
        lambda: io.BytesIO(text.encode()), "rows.csv", csv_files.Dialect()
    )
    plain = csv_files.plain_columns(table, [1, 0])
    if plain is not None:
        np.testing.assert_array_equal(plain, csv_files.careful_columns(table, [1, 0]))


@pytest.mark.parametrize(
    ("body", "is_plain"),
    [
        ("1,-2.5e-3\n+.5,4.\n", True),
        ("1,2\r\n3,4", True),
        ("1,2\n3,\n", False),
        ("1,2\n3\n", False),
        ("1,2\n3,4,5\n", False),
        ("1,2\n3,1-2\n", False),
        ("1,2\n3,NA\n", False),
        ("1, 2\n", False),
        ("", False),
    ],
)
def test_small_files_of_numbers_are_plain(body, is_plain):
    text = f"a,b\n{body}".encode()
    table = csv_files.read_header(lambda: io.BytesIO(text), "rows.csv", csv_files.Dialect())
    assert (csv_files.plain_columns(table, [0, 1]) is not None) is is_plain


def test_large_files_are_not_plain(monkeypatch):
    monkeypatch.setattr(csv_files, "PLAIN_BYTES", 7)
    for text, is_plain in ((b"a,b\n1,2\n3,4", True), (b"a,b\n1,2\n3,4\n", False)):
        table = csv_files.read_header(
            lambda text=text: io.BytesIO(text), "rows.csv", csv_files.Dialect()
        )
        assert (csv_files.plain_columns(table, [0, 1]) is not None) is is_plain


def test_a_fit_of_a_small_file_from_the_shell_imports_neither_scipy_nor_pyarrow(tmp_path):
    rows = np.random.default_rng(1).standard_normal((60, 3))
    write_rows(tmp_path / "rows.csv", ["a", "b", "c"], [rows])
    asked = "import sys; sys.argv = ['gaussnet', 'fit', 'rows.csv', '--dag', 'c ~ a + b']\n"
    asked += "from gaussnet.cli.app import main\ntry: main()\nexcept SystemExit: pass\n"
    asked += "print(sorted({'scipy', 'pyarrow', 'pandas'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout[-500:]


def test_long_files_are_the_same_in_both_ways(tmp_path):
    rows = np.random.default_rng(1).standard_normal((3 * csv_files.CHUNK_ROWS, 3))
    path = tmp_path / "rows.csv"
    write_rows(path, ["a", "b", "c"], [rows])
    table = csv_files.read_header(lambda: path.open("rb"), "rows.csv", csv_files.Dialect())
    np.testing.assert_array_equal(csv_files.careful_columns(table, [2, 0]), rows[:, [2, 0]].T)
    np.testing.assert_array_equal(csv_files.arrow_columns(table, [2, 0]), rows[:, [2, 0]].T)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'rows.csv' is empty: expected a first line that names the columns"),
        ("\n \n", "'rows.csv' is empty: expected a first line that names the columns"),
        (
            "a,c\n1,2\n",
            "'rows.csv' has no column for 1 node ('b'), only 'c', 'a': rename the columns or "
            "leave these nodes out of the graph",
        ),
        ("a,b,a\n1,2,3\n", "'rows.csv' has 2 columns 'a': rename or drop them"),
        (
            "a,b\n1,2\n3,four\n5,6\n",
            "the column 'b' has 'four' in line 3 of 'rows.csv', expected a number: mend it, or "
            "leave it empty if it is missing",
        ),
        (
            'x,a,b\n"two\nlines",1,2\n\ny,1_000,oops\n',
            "the column 'a' has '1_000' in line 5 of 'rows.csv', expected a number: mend it, or "
            "leave it empty if it is missing",
        ),
        (
            "a,b\n1,٣\n",
            "the column 'b' has '٣' in line 2 of 'rows.csv', expected a number: mend it, or "
            "leave it empty if it is missing",
        ),
        ("a,b\n1\n", "line 2 of 'rows.csv' has 1 cells, expected 2 as in the first line"),
        ("a,b\n1,2\n1,2,3\n", "line 3 of 'rows.csv' has 3 cells, expected 2 as in the first line"),
        (
            'a,b\n1,"2\n',
            "line 2 of 'rows.csv' has a quote that is not closed, or a cell that is too long: "
            "mend the line",
        ),
        (
            '"a,b\n1,2\n',
            "the first line of 'rows.csv' has a quote that is not closed: mend the names of the "
            "columns",
        ),
        (
            "1.5,2.5\n3,4\n",
            "the first line of 'rows.csv' holds numbers, expected the names of the columns",
        ),
        (
            "a;b\n1;2\n",
            "the first line of 'rows.csv' has one column 'a;b': separate the columns by ',', not "
            "by ';', or give gn.CsvPath(path, sep=';')",
        ),
        (
            b"a,b\xe9\n1,2\n",
            "'rows.csv' is not UTF-8 text (byte 0xe9 at offset 3): save it as UTF-8",
        ),
        (
            "a,b\n1,2\n".encode("utf-16"),
            "'rows.csv' is not UTF-8 text but UTF-16: save it as UTF-8",
        ),
    ],
)
def test_a_broken_table_is_one_sentence(put, csv_reader, monkeypatch, text, sentence):
    monkeypatch.chdir(put(text).parent)
    with pytest.raises(GaussnetError) as caught:
        read_rows("rows.csv", ["a", "b"])
    assert str(caught.value) == sentence


def test_standard_input_is_csv(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"b,a\n1,2\n")))
    assert as_rows("-", ["a", "b"]).tolist() == [[2.0, 1.0]]


def test_csv_needs_no_pyarrow_and_parquet_says_that_it_does(tmp_path, monkeypatch):
    write_rows(tmp_path / "rows.csv", ["a"], [np.ones((2, 1))])
    write_rows(tmp_path / "rows.parquet", ["a"], [np.ones((2, 1))])
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # importing it now fails
    assert read_rows(tmp_path / "rows.csv", ["a"]).rows.tolist() == [[1.0], [1.0]]
    with pytest.raises(FileError, match=r"needs the package pyarrow.*pip install"):
        read_rows(tmp_path / "rows.parquet", ["a"])


def test_arrow_streams_are_read_like_arrow_files(tmp_path):
    table = pa.table({"a": [1.0, None], "b": [3, 4]})
    with pa.ipc.new_stream(tmp_path / "rows.arrow", table.schema) as writer:
        writer.write_table(table)
    np.testing.assert_array_equal(
        read_rows(tmp_path / "rows.arrow", ["b", "a"]).rows, [[3, 1], [4, np.nan]]
    )


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_feather_is_read_whatever_its_compression(tmp_path, compression):
    pyarrow.feather.write_feather(pa.table({"a": [1, 2]}), tmp_path / "r.feather", compression)
    assert read_rows(tmp_path / "r.feather", ["a"]).rows.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_text_and_twice_named_columns_of_tables_are_refused(tmp_path, ending):
    path = tmp_path / f"rows{ending}"

    def save(table):
        if ending == ".parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)

    save(pa.table({"a": ["x"], "b": [1.0]}))
    assert read_rows(path, ["b"]).rows.tolist() == [[1.0]]
    with pytest.raises(DataError, match="the column 'a' holds text, expected numbers"):
        read_rows(path, ["a"])
    save(pa.table([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["a", "b", "a"]))
    with pytest.raises(DataError, match="has 2 columns 'a': rename or drop them"):
        read_rows(path, ["a"])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".npy"])
def test_cut_files_are_refused_with_one_sentence(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    write_rows(path, ["a", "b"], [VALUES[:, :2]])
    whole = path.read_bytes()
    for length in [0, 4, 10, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"is not a whole \.?\w+ file"):
            read_rows(path, ["a", "b"])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_raise_nothing_but_our_own_errors(tmp_path_factory, ending, data):
    path = tmp_path_factory.getbasetemp() / f"damaged{ending}"
    write_rows(path, ["a", "b"], [VALUES[:2, :2]])
    raw = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[place] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    with suppress(GaussnetError):
        read_rows(path, ["a", "b"])


def test_named_fields_of_npy_are_matched_by_name(tmp_path):
    fields = np.array([(1, 2.5, "x"), (3, 4.5, "y")], dtype=[("b", "i4"), ("a", "f8"), ("t", "U1")])
    np.save(tmp_path / "rows.npy", fields)
    loaded = read_rows(tmp_path / "rows.npy", ["a", "b"])
    assert loaded.rows.tolist() == [[2.5, 1.0], [4.5, 3.0]]
    assert loaded.ignored == ("t",)
    with pytest.raises(DataError, match="has fields that are not numbers"):
        read_rows(tmp_path / "rows.npy", ["t"])


def test_pickled_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[print]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"is not a whole .npy file of numbers"):
        read_rows(tmp_path / "rows.npy", ["a"])


def test_missing_files_folders_and_unknown_endings_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read '.*absent\.csv': no such file"):
        read_rows(tmp_path / "absent.csv", ["a"])
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match=r"cannot read .*: is a directory"):
        read_rows(tmp_path / "folder.csv", ["a"])
    with pytest.raises(FileError, match=r"cannot tell the format of 'rows.xlsx'"):
        read_rows("rows.xlsx", ["a"])
    with pytest.raises(FileError, match=r"cannot write rows as 'rows.xlsx'"):
        write_rows("rows.xlsx", ["a"], [])


def test_a_failure_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.csv"
    write_rows(path, ["a"], [np.ones((1, 1))])

    def pages():
        yield np.zeros((1, 1))
        raise DataError("the second page is broken")

    with pytest.raises(DataError, match="the second page is broken"):
        write_rows(path, ["a"], pages())
    assert path.read_text() == "a\n1.0\n"
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


class Capsule:
    """Anything that speaks the Arrow C stream, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "reader", "capsule"])
def test_frames_tell_what_was_ignored(kind):
    table = pa.table({"time": [0, 1], "a": [1.0, None], "b": [3, 4]})
    frame = {
        "pandas": table.to_pandas,
        "polars": lambda: pl.DataFrame(table.to_pydict()),
        "lazy": lambda: pl.LazyFrame(table.to_pydict()),
        "pyarrow": lambda: table,
        "reader": table.to_reader,
        "capsule": lambda: Capsule(table),
    }[kind]()
    loaded = open_rows(frame, ["b", "a"])
    np.testing.assert_array_equal(loaded.rows, [[3, 1], [4, np.nan]])
    assert loaded.ignored == ("time",)


def test_results_of_duckdb_are_matched_by_name():
    with duckdb.connect() as base:
        query = "select 1.5 as a, 'noon' as time, 2 as b union all select null, 'late', 4"
        relation = base.sql(f"select * from ({query}) order by b")
        np.testing.assert_array_equal(as_rows(relation, ["b", "a"]), [[2, 1.5], [4, np.nan]])
        with pytest.raises(DataError, match="the column 'time' holds text"):
            as_rows(relation, ["time"])


def test_pandas_frames_with_a_column_twice_are_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(DataError, match=r"several columns of the same name|2 columns 'a'"):
        as_rows(frame, ["a"])


def test_pandas_columns_called_by_integers_match_names_of_digits():
    frame = pd.DataFrame([[1.0, 2.0]], columns=[7, 265768])
    assert as_rows(frame, ["265768", "7"]).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize("run_bytes", [1, 64, 1 << 24])
def test_row_groups_read_in_runs_of_columns_are_whole_and_stay_so(tmp_path, run_bytes):
    rows = np.arange(50.0).reshape(10, 5)
    table = pa.table(list(rows.T.copy()), names=["a", "a.b", "c", "d", "e"])
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=4)
    source = ParquetSource.open(str(path), ["e", "a", "d"])
    source = replace(source, run_bytes=run_bytes)  # of 1, of 2, of all columns
    chunks = list(source.chunks(1, 9))
    assert [len(chunk[0]) for chunk in chunks] == [3, 4, 1]
    found = np.concatenate([np.array(chunk).T for chunk in chunks])
    assert found.tolist() == rows[1:9, [4, 0, 3]].tolist()


def test_few_rows_of_a_large_row_group_come_alone(tmp_path):
    rows = np.arange(20_000.0).reshape(10_000, 2)
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table(list(rows.T.copy()), names=["a", "b"]), path)
    source = ParquetSource.open(str(path), ["a", "b"])
    for first, last in ((0, 7), (3, 2_000)):
        (chunk,) = source.chunks(first, last)
        np.testing.assert_array_equal(np.array(chunk).T, rows[first:last])


def test_values_at_odd_addresses_are_copied_and_looked_at():
    odd = np.zeros(8 * 5 + 1, dtype=np.uint8)[1:].view(np.float64)
    assert not odd.flags.aligned
    odd[:] = [1.0, -2.0, 3.0, 4.0, 5.0]
    out = np.empty(5)
    assert kernels.copy_finite(odd, out)
    assert out.tolist() == [1.0, -2.0, 3.0, 4.0, 5.0]
    odd[2] = np.inf
    assert not kernels.copy_finite(odd, out)


@pytest.mark.parametrize("body", ["", "\n", "\n\n"])
def test_a_heading_alone_is_refused_by_every_reader_and_ends_no_process(tmp_path, body):
    # A reader of pyarrow that refused the file left a thread behind, which aborted the process.
    path = tmp_path / "empty.csv"
    path.write_text("a,b\n" + body)
    program = (
        "import gaussnet as gn, sys\n"
        "try:\n    gn.fit(sys.argv[1], 'b ~ a')\n"
        "except gn.GaussnetError as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "no rows" in done.stdout
