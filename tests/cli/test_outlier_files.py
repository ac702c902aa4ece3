"""`gaussnet fit --outliers`: all flagged cells, where they stand and what their rows are called."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.forced import fit_with_run

import gaussnet as gn
from gaussnet.cli import main
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.passes import Run
from gaussnet.fitting.outlier_files import OutlierFile

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes=["a", "b", "c"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))
WRONG = {("one.csv", 3, "b"): 900.0, ("two.csv", 7, "c"): -700.0, ("two.csv", 299, "a"): 500.0}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_text("a; b ~ a; c ~ a + b")
    for number, name in enumerate(("one.csv", "two.csv")):
        rows = np.array(NETWORK.sample(300, seed=number))
        for (file, row, node), value in WRONG.items():
            if file == name:
                rows[row, DAG.position(node)] = value
        lines = [
            f"day {number}-{row}," + ",".join(map(repr, own))
            for row, own in enumerate(rows.tolist())
        ]
        (tmp_path / name).write_text("time,a,b,c\n" + "\n".join(lines) + "\n")
    return ["one.csv", "two.csv"]


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["gaussnet", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0, capsys.readouterr()


def told_cells(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_flagged_cells_are_written_with_file_row_and_key(files, monkeypatch, capsys):
    settings = ("--dag", "graph.txt", "--method", "robust")
    code, told = run(
        monkeypatch, capsys, "fit", *files, *settings, "--outliers", "bad.csv", "--key", "time"
    )
    assert code == 0
    assert "3 flagged values written to bad.csv" in told.out
    cells = told_cells("bad.csv")
    assert {
        (one["file"], int(one["row"]), one["column"]): float(one["value"]) for one in cells
    } == WRONG
    assert {one["time"] for one in cells} == {"day 0-3", "day 1-7", "day 1-299"}
    whole = {cell.recorded: cell for cell in gn.fit(files, DAG, "robust").outliers()}
    for one in cells:
        cell = whole[float(one["value"])]
        assert (float(one["expected"]), float(one["z"])) == (cell.expected, cell.z)
        assert float(one["probability"]) == cell.probability


def test_cells_of_pages_are_judged_again(files, tmp_path):
    run_by_pages = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=400)
    fit = fit_with_run(run_by_pages, files, DAG, "robust")
    assert fit.trimming.counts is not None
    assert OutlierFile(LabelledRows(files), tmp_path / "bad.tsv").write(fit) == 3
    with open(tmp_path / "bad.tsv", encoding="utf-8", newline="") as stream:
        cells = list(csv.DictReader(stream, delimiter="\t"))
    found = {(one["file"], int(one["row"]), one["column"]): float(one["value"]) for one in cells}
    assert found == WRONG
    assert "time" not in cells[0]


def test_json_names_the_file(files, monkeypatch, capsys):
    settings = ("--dag", "graph.txt", "--method", "robust", "--json")
    _, told = run(monkeypatch, capsys, "fit", *files, *settings, "--outliers", "bad.csv.gz")
    assert json.loads(told.out)["outliers_file"] == "bad.csv.gz"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--outliers", "bad.csv"), "flags no cell: give --method 'robust'"),
        (("--method", "robust", "--key", "time"), "got --key 'time' without --outliers"),
        (("--method", "robust", "--outliers", "bad.xlsx"), "cannot write a table as 'bad.xlsx'"),
        (("--method", "robust", "--outliers", "no/bad.csv"), "no such file or directory"),
        (("--method", "robust", "--outliers", "b.csv", "--groups", "time"), "leave one out"),
        (("--method", "robust", "--outliers", "b.csv", "--key", "day"), "'day'"),
    ],
)
def test_what_cannot_be_written_is_refused(
    files, monkeypatch, capsys, tmp_path, arguments, sentence
):
    code, told = run(monkeypatch, capsys, "fit", *files, "--dag", "graph.txt", *arguments)
    assert code == 1
    assert sentence in told.err
    assert told.err.count("\n") == 1
    assert not list(tmp_path.glob("b*.csv*"))


@pytest.mark.parametrize("command", ["score", "outliers"])
@pytest.mark.parametrize("out", ["one.csv", "./one.csv"])
def test_rows_are_not_written_over(command, out, files, monkeypatch, capsys):
    NETWORK.save("model.json")
    before = Path(files[0]).read_text(encoding="utf-8")
    said = run(monkeypatch, capsys, command, *files, "--model", "model.json", "--out", out)
    assert said[0] == 1
    assert "which is one of the files that the rows are read from" in said[1].err
    assert Path(files[0]).read_text(encoding="utf-8") == before


COMMANDS = {
    "score": ["score", "one.csv", "--model", "model.json", "--out", "out.csv"],
    "outliers": ["outliers", "one.csv", "--model", "model.json", "--out", "out.csv"],
    "fit": ["fit", "one.csv", "--dag", "graph.txt", "--method", "robust", "--outliers", "out.csv"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_keys_that_cannot_be_written_are_refused_before_the_work(
    command, files, monkeypatch, capsys
):
    NETWORK.save("model.json")
    text = Path("one.csv").read_text(encoding="utf-8")
    Path("one.csv").write_text(text.replace("day 0-299,", "+49 299,"), encoding="utf-8")
    for module in ("gaussnet.data.labelled_rows.LabelledRows.pages", "gaussnet.cli.fit.gn.fit"):
        monkeypatch.setattr(module, lambda *_, **__: pytest.fail("the work began"))
    code, said = run(monkeypatch, capsys, *command, "--key", "time")
    assert code == 1
    assert "the text '+49 299' begins with '+', which spreadsheets take for a formula" in said.err


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_missing_key_is_called_a_column(command, files, monkeypatch, capsys):
    NETWORK.save("model.json")
    code, said = run(monkeypatch, capsys, *command, "--key", "tiem")
    assert code == 1
    assert "'one.csv' has no column 'tiem', only 'time', 'a', 'b', 'c'" in said.err
    assert "did you mean 'time'?" in said.err
    assert "node" not in said.err
