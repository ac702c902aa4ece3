"""Files and graphs as they are named on the command line."""

import numpy as np
import pytest
from tests.cli.in_process import run

from gaussnet.cli.options import read_graph
from gaussnet.data.write import write_rows
from gaussnet.errors import FileError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file of 50 rows with two codes for missing values, and one with a column of text."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).standard_normal((50, 2))
    rows[3, 0], rows[7, 1] = -999.0, 9999.0
    write_rows("rows.csv", ["rain", "wet"], [rows])
    with open("sites.csv", "w") as file:
        file.write("rain,wet,site\n1,2,Graz\n2,3,Ulm\n3,5,Graz\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_codes_apart_are_told_from_files():
    words = [
        "sites.csv",
        "--dag",
        "wet~rain",
        "--missing",
        "likelihood",
        "--missing-values",
        "-999",
        "9999",
    ]
    ended = run("fit", *words)
    assert ended.returncode == 1
    assert "cannot read '9999': no such file" in ended.stderr
    assert "give --missing-values=-999,9999" in ended.stderr


@pytest.mark.usefixtures("folder")
def test_negative_codes_apart_are_told_from_files():
    ended = run("fit", *["rows.csv", "--dag", "wet~rain", "--missing-values", "9999", "-999"])
    assert ended.returncode == 1
    assert "give --missing-values=9999,-999" in ended.stderr


@pytest.mark.usefixtures("folder")
def test_codes_given_one_by_one_all_count():
    words = ["fit", "rows.csv", "--dag", "wet~rain", "--missing", "likelihood", "--json"]
    apart = run(*words, "--missing-values", "-999", "--missing-values", "9999")
    joined = run(*words, "--missing-values=-999,9999")
    assert apart.returncode == 0
    assert apart.stdout == joined.stdout


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_told_before_others_are_read():
    ended = run("fit", "sites.csv", "nosuch.csv", "--dag", "wet ~ rain + site")
    assert ended.returncode == 1
    assert "cannot read 'nosuch.csv': no such file" in ended.stderr


def test_a_formula_keeps_its_slashes_and_the_endings_of_its_columns():
    assert read_graph('y ~ "a//b"').edges == (("a//b", "y"),)
    assert read_graph("y ~ x.csv").edges == (("x.csv", "y"),)


@pytest.mark.usefixtures("folder")
def test_a_file_that_exists_is_no_formula():
    with open("a ~ b.txt", "w") as file:
        file.write("wet ~ rain")
    assert read_graph("a ~ b.txt").edges == (("rain", "wet"),)
    open("graph.txt~", "w").close()
    with pytest.raises(FileError, match=r"cannot tell the format of 'graph\.txt~'"):
        read_graph("graph.txt~")


def test_a_name_like_that_of_a_graph_file_is_no_formula():
    with pytest.raises(FileError, match=r"cannot read 'old~/graph.txt': no such file"):
        read_graph("old~/graph.txt")
