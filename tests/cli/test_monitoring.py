"""The commands of a nightly job: check."""

import json
import re
import shlex
import sys

import numpy as np
import pytest
from scipy import stats

import gaussnet as gn
from gaussnet.cli import main, nightly
from gaussnet.data.write import write_rows

DAG = gn.Dag.parse(
    "season; rain ~ season; wet ~ rain + season; slip ~ wet",
    nodes=["season", "rain", "wet", "slip"],
)
TRUTH = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))
ROWS = np.array(TRUTH.sample(2_000, seed=2))
ALL = ("--fail-if", "drift", "--fail-if", "contaminated,contradicted")


def day(seed, rows=500):
    return np.array(TRUTH.sample(rows, seed=seed))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a graph, a model that knows its rows, and a normal day."""
    monkeypatch.chdir(tmp_path)
    gn.write_dag(DAG, "graph.txt")
    write_rows("rows.csv", DAG.nodes, [ROWS])
    write_rows("today.csv", DAG.nodes, [day(3)])
    fit = gn.fit(ROWS, DAG)
    gn.write_network(fit.network, "model.json", rows=dict.fromkeys(DAG.nodes, 2_000))
    gn.summarize(ROWS, DAG).save("summary.npz")
    return tmp_path


@pytest.fixture
def gaussnet(monkeypatch, capsys):
    def call(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["gaussnet", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        assert stopped.value.code == code, output.err
        return output if code else output.out

    return call


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", nightly.COMMANDS, ids=lambda command: command.__name__)
def test_the_example_of_the_help_runs(gaussnet, command):
    example = re.search(r"Example: gaussnet (.*)", command.__doc__).group(1)
    gaussnet(*shlex.split(example))
    words = " ".join(gaussnet(command.__name__, "--help").split())
    assert f"Example: gaussnet {example}" in words


@pytest.mark.usefixtures("folder")
def test_a_column_in_other_units_exits_3_and_is_named(gaussnet):
    rows = day(4)
    rows[:, 1] *= 1_000.0
    write_rows("units.csv", DAG.nodes, [rows])
    told = gaussnet("check", "units.csv", "--model", "model.json", *ALL, code=3)
    assert told.err == (
        "gaussnet: drift in 'rain': The units of rain may have changed: its values are 1000 times "
        "what the model expects.\n"
    )
    silent = gaussnet("check", "units.csv", "--model", "model.json", "--fail-if", "contradicted")
    assert "The units of rain may have changed" in silent


@pytest.mark.usefixtures("folder")
def test_normal_days_exit_0_in_99_of_100(gaussnet, monkeypatch, capsys):
    codes = []
    for number in range(100):
        write_rows("day.csv", DAG.nodes, [day(100 + number, 200)])
        arguments = ["gaussnet", "check", "day.csv", "--model", "model.json", "--fail-if", "drift"]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as stopped:
            main()
        codes.append(stopped.value.code)
    capsys.readouterr()
    assert set(codes) <= {0, 3}
    assert codes.count(3) <= stats.binom.ppf(1.0 - 1e-4, 100, 0.01)


@pytest.mark.usefixtures("folder")
def test_wrong_cells_are_contamination_and_no_drift(gaussnet):
    rows = day(5)
    rows[:10, 2] = 99.0
    write_rows("wrong.csv", DAG.nodes, [rows])
    told = gaussnet("check", "wrong.csv", "--model", "model.json", *ALL, code=3)
    assert told.err.startswith("gaussnet: contaminated in 'wet': The data look contaminated in 1")
    assert told.err.count("\n") == 1
    assert "drift: Nothing drifted" in told.out


@pytest.mark.usefixtures("folder")
def test_a_missing_edge_that_rows_contradict_exits_3(gaussnet):
    rows = day(6)
    rows[:, 3] += 2.0 * (rows[:, 0] - rows[:, 0].mean())
    write_rows("edge.csv", DAG.nodes, [rows])
    failing = ("--fail-if", "contradicted")
    told = gaussnet("check", "edge.csv", "--model", "model.json", *failing, code=3)
    assert told.err.startswith("gaussnet: contradicted in 'slip': The data contradict")


@pytest.mark.usefixtures("folder")
def test_json_has_all_numbers_in_fields(gaussnet):
    told = json.loads(gaussnet("check", "today.csv", "--model", "model.json", "--json", *ALL))
    drift = gn.check_drift(
        gn.read_network("model.json"), "today.csv", rows=dict.fromkeys(DAG.nodes, 2_000)
    )
    assert told["drift"] == drift.to_dict()
    assert (told["rows"], told["level"], told["failed"], told["alarms"]) == (500, 0.01, [], [])
    assert told["graph"]["contradicted"] is False
    assert told["contamination"]["contaminated"] is False
    assert [one["shape"] for one in told["residuals"]] == ["Gaussian"] * 4


@pytest.mark.usefixtures("folder")
def test_a_summary_serves_as_model(gaussnet):
    told = json.loads(gaussnet("check", "today.csv", "--model", "summary.npz", "--json"))
    assert told["drift"]["notes"] == []
    assert told["drift"]["drifted"] is False


@pytest.mark.usefixtures("folder")
def test_a_model_that_does_not_know_its_rows_is_said_to_be_certain(gaussnet):
    gn.read_network("model.json").save("plain.json")
    assert "is taken as certain" in gaussnet("check", "today.csv", "--model", "plain.json")


@pytest.mark.usefixtures("folder")
def test_a_model_that_fit_wrote_knows_its_rows(gaussnet):
    gaussnet("fit", "rows.csv", "--dag", "graph.txt", "--out", "fitted.json")
    with open("fitted.json") as file:
        assert [node["rows"] for node in json.load(file)["nodes"]] == [2_000] * 4
    assert gn.read_network("fitted.json") == gn.fit(ROWS, DAG).network


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--fail-if", "rain"), "got --fail-if 'rain', expected contaminated, drift or"),
        (("--level", "2"), "got level=2.0, expected"),
        (("--model", "none.json"), "cannot read 'none.json': no such file"),
        (("--missing", "raise", "--missing-values", "x"), "got --missing-values 'x', expected"),
    ],
)
def test_bad_input_is_one_sentence(gaussnet, arguments, sentence):
    told = gaussnet("check", "today.csv", "--model", "model.json", *arguments, code=1)
    assert told.err.startswith(f"gaussnet: {sentence}")
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.usefixtures("folder")
def test_rows_in_a_model_file_that_are_no_counts_are_refused(gaussnet):
    with open("model.json") as file:
        text = file.read().replace('"rows": 2000', '"rows": -1', 1)
    with open("odd.json", "w") as file:
        file.write(text)
    told = gaussnet("check", "today.csv", "--model", "odd.json", code=1)
    assert "node 'season' of 'odd.json' has the rows -1, expected a whole number" in told.err
