"""Which files are meant, compressed files, and text with other signs."""

import gzip
import os
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gaussnet as gn
from gaussnet.data.paths import files_of
from gaussnet.data.sources import open_data, read_rows, read_whole
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, FileError, SettingError

NAMES = ["rain", "wet"]
DAG = gn.Dag.parse("wet ~ rain", nodes=NAMES)
ROWS = np.random.default_rng(0).standard_normal((60, 2))


@pytest.fixture(params=["pyarrow", "careful"])
def csv_reader(request, monkeypatch):
    """Both ways to read CSV: with pyarrow and without its reader."""
    if request.param == "careful":
        monkeypatch.delattr(pa, "csv", raising=False)
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
        monkeypatch.setattr("gaussnet.data.csv.find_spec", lambda name: None)
    return request.param


@pytest.fixture
def days(tmp_path, monkeypatch):
    """Three files of 20 rows."""
    monkeypatch.chdir(tmp_path)
    for day in range(3):
        write_rows(f"day-{day}.csv", NAMES, [ROWS[20 * day : 20 * day + 20]])
    return tmp_path


@pytest.mark.usefixtures("days")
def test_patterns_folders_and_lists_mean_their_files_in_order():
    os.makedirs("more/deep")
    write_rows("more/deep/a.csv", NAMES, [ROWS[:1]])
    whole = ["day-0.csv", "day-1.csv", "day-2.csv"]
    assert files_of("day-*.csv") == whole
    assert files_of(["day-2.csv", "day-[01].csv"]) == ["day-2.csv", "day-0.csv", "day-1.csv"]
    assert files_of("more") == files_of("**/a.csv") == ["more/deep/a.csv"]
    assert files_of(["more", "day-0.csv"]) == ["more/deep/a.csv", "day-0.csv"]


@pytest.mark.usefixtures("days")
def test_a_file_whose_name_looks_like_a_pattern_is_that_file():
    write_rows("day-[0].csv", NAMES, [ROWS[:3]])
    assert files_of("day-[0].csv") == ["day-[0].csv"]


@pytest.mark.usefixtures("days")
@pytest.mark.parametrize("largest", [0, 1 << 20], ids=["page by page", "whole"])
def test_a_pattern_is_read_as_its_files_joined(largest):
    opened = open_data("day-?.csv", NAMES, largest)
    rows = opened.rows if largest else np.concatenate([np.stack(c, 1) for c in opened.chunks()])
    np.testing.assert_array_equal(rows, ROWS)
    assert gn.fit("day-*.csv", DAG).network == gn.fit(ROWS, DAG).network


@pytest.mark.usefixtures("days")
def test_what_no_file_matches_or_is_meant_twice_is_refused():
    with pytest.raises(FileError, match=r"no file matches 'night-\*\.csv'"):
        gn.fit("night-*.csv", DAG)
    with pytest.raises(FileError, match=r"'\./day-1\.csv' is given twice"):
        gn.fit(["day-*.csv", "./day-1.csv"], DAG)


@pytest.mark.usefixtures("csv_reader")
@pytest.mark.parametrize("largest", [0, 1 << 20], ids=["page by page", "whole"])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_compressed_text_is_read_to_the_last_bit(tmp_path, ending, largest):
    write_rows(tmp_path / f"rows{ending}", NAMES, [ROWS])
    packed = tmp_path / f"rows{ending}.GZ"
    packed.write_bytes(gzip.compress((tmp_path / f"rows{ending}").read_bytes()))
    opened = open_data(packed, NAMES, largest)
    rows = opened.rows if largest else np.concatenate([np.stack(c, 1) for c in opened.chunks()])
    np.testing.assert_array_equal(rows, ROWS)


@pytest.mark.usefixtures("csv_reader")
@pytest.mark.parametrize("damage", ["cut", "changed", "no gzip", "empty"])
def test_a_broken_gzip_file_is_told_in_one_sentence(tmp_path, damage):
    text = "rain,wet\n" + "1.5,2.5\n" * 20_000
    packed = bytearray(gzip.compress(text.encode()))
    packed[-20] ^= damage == "changed" and 0xFF
    content = {"cut": packed[:-40], "no gzip": b"rain,wet\n1,2\n", "empty": b"\0"}
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(content.get(damage, packed))
    for largest in (0, 1 << 30):
        with pytest.raises(FileError, match="is not a whole gzip file"):
            list(getattr(open_data(path, NAMES, largest), "chunks", list)())


def test_a_compressed_file_counts_as_what_it_unpacks_to(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"rain,wet\n" + b"1,2\n" * 100_000))
    assert path.stat().st_size < 10_000
    assert hasattr(open_data(path, NAMES, 100_000), "chunks")


@pytest.mark.usefixtures("csv_reader")
@pytest.mark.parametrize("sep", [";", "|", "\t", " "])
@pytest.mark.parametrize("decimal", [".", ","])
def test_text_with_other_signs_gives_the_numbers_that_pandas_gives(tmp_path, sep, decimal):
    path = tmp_path / "rows.csv"
    pd.DataFrame(ROWS, columns=NAMES).to_csv(path, sep=sep, decimal=decimal, index=False)
    found = read_rows(gn.CsvPath(path, sep=sep, decimal=decimal), NAMES)
    np.testing.assert_array_equal(found.rows, ROWS)


@pytest.mark.usefixtures("days", "csv_reader")
def test_a_path_says_the_signs_of_all_its_files_and_of_labels_in_them():
    frame = pd.DataFrame(ROWS, columns=NAMES).assign(site=["a", "b"] * 30)
    for day in range(2):
        part = frame[30 * day : 30 * day + 30]
        part.to_csv(f"other-{day}.csv", sep=";", decimal=",", index=False)
    path = gn.CsvPath("other-*.csv", sep=";", decimal=",")
    by_site = gn.fit(path, DAG, groups="site").fits
    for name, fit in gn.fit(frame, DAG, groups="site").fits.items():
        assert by_site[name].network == fit.network


def test_a_path_with_signs_passes_to_other_processes():
    path = pickle.loads(pickle.dumps(gn.CsvPath("a.csv", sep=";", decimal=",")))
    assert (path, path.sep, path.decimal) == ("a.csv", ";", ",")


@pytest.mark.usefixtures("csv_reader")
def test_numbers_with_the_other_sign_are_refused_with_advice(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("rain;wet\n0,5;1\n1;2\n")
    with pytest.raises(DataError, match=r"or give gn.CsvPath\(path, sep=';'\)$"):
        read_rows(path, NAMES)
    with pytest.raises(
        DataError, match=r"'0,5' in line 2 .* or give gn.CsvPath\(path, decimal=','"
    ):
        read_rows(gn.CsvPath(path, sep=";"), NAMES)
    path.write_text("rain;wet\n1.234;1\n")
    with pytest.raises(
        DataError, match=r"'1.234' in line 2 .* or give gn.CsvPath\(path, decimal='.'"
    ):
        read_rows(gn.CsvPath(path, sep=";", decimal=","), NAMES)


@pytest.mark.parametrize("sep", ["", ";;", '"', "\n", "a", "7", "é"])
def test_a_separator_that_cannot_be_one_is_refused(sep):
    with pytest.raises(SettingError, match="expected one sign such as ';'"):
        gn.CsvPath("a.csv", sep=sep)


def test_signs_that_cannot_be_told_apart_are_refused():
    with pytest.raises(SettingError, match=r"expected '\.' or ','"):
        gn.CsvPath("a.csv", sep=";", decimal=";")
    with pytest.raises(SettingError, match="give sep=';'"):
        gn.CsvPath("a.csv", decimal=",")


def test_rows_that_cannot_fit_into_memory_are_refused_before_they_are_read():
    class Counted:
        width, ignored = 2, ()

        def count(self):
            return 1_000

        def chunks(self, first=0, last=None):
            raise AssertionError

    with pytest.raises(DataError, match="this needs all rows in memory, and these are more than"):
        read_whole(Counted(), "this", 1_999)
