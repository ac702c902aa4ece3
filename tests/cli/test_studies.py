"""`gaussnet fit` with columns that say something of the rows beside their values."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.cli import main

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
ROWS = gn.simulate.random_network(DAG, seed=1).sample(300, seed=2)
NAMES = np.where(np.arange(300) < 60, "rain", np.where(np.arange(300) < 90, "rain, wet", ""))
MASK = np.column_stack([[node in name for name in NAMES] for node in DAG.nodes])
SITES = np.array(["Graz", "Ulm"])[np.arange(300) % 2]
WEIGHTS = np.random.default_rng(0).gamma(2.0, size=300)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(ROWS, columns=DAG.nodes)
    frame.assign(target=NAMES, site=SITES, w=WEIGHTS).to_csv("rows.csv", index=False)
    gn.write_dag(DAG, "graph.txt")

    def run(*arguments):
        shell = ["gaussnet", "fit", "rows.csv", "--dag", "graph.txt", *arguments]
        monkeypatch.setattr(sys, "argv", shell)
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        return stopped.value.code, output.out, output.err

    return run


def coefficient(text):
    nodes = {node["name"]: node for node in json.loads(text)["nodes"]}
    return nodes["rain"]["parents"]["season"]


def test_a_column_names_what_was_set(call):
    code, out, _ = call("--interventions", "target", "--json")
    fit = gn.fit(ROWS, DAG, interventions=MASK)
    assert code == 0
    assert coefficient(out)["coefficient"] == fit.network.coefficients["season", "rain"]
    notes = json.loads(out)["notes"]
    assert "rain: 90 rows in which it was set from outside left out of its equation" in notes


def test_weights_and_clusters(call):
    options = ("--weights", "w", "--weights-kind", "sampling", "--clusters", "site")
    code, out, _ = call(*options, "--json")
    fit = gn.fit(ROWS, DAG, weights=gn.Weights(WEIGHTS, "sampling"), clusters=SITES)
    assert code == 0
    found = coefficient(out)
    assert found["coefficient"] == fit.network.coefficients["season", "rain"]
    assert found["error"] == fit.standard_errors.coefficients["season", "rain"]


def test_groups_are_compared(call):
    code, out, _ = call("--groups", "site", "--json")
    found = json.loads(out)
    expected = gn.fit(ROWS, DAG, groups=SITES)
    assert code == 0
    assert found["verdict"] == expected.test_equal().verdict
    assert found["coefficients"][0]["estimate"] == expected.table()["estimate"][0]
    code, out, _ = call("--groups", "site")
    assert code == 0
    assert "Graz" in out
    assert "Ulm" in out
    assert "Do the groups differ?" in out
    code, out, _ = call("--groups", "site", "--report", "sites.html")
    assert code == 0
    assert "report written to sites.html" in out
    assert "<h2>Groups</h2>" in Path("sites.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--weights", "w"), "--weights-kind"),
        (("--weights", "w", "--weights-kind", "odd"), "expected 'precision'"),
        (("--interventions", "site"), "is no node of the graph"),
        (("--interventions", "absent"), "no column 'absent'"),
        (("--clusters", "site", "--method", "cauchy"), "cannot use them"),
        (("--groups", "site", "--out", "model.json"), "a file holds one network"),
        (("--groups", "site", "--cluster", "tcp://here:1"), "got --groups with --cluster"),
        (("--shifts", "target", "--cluster", "tcp://here:1"), "got --shifts with --cluster"),
    ],
)
def test_bad_input_is_one_sentence(call, options, sentence):
    code, out, err = call(*options)
    assert code == 1
    assert out == ""
    assert sentence in err
    assert "Traceback" not in err


# Categories.


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """Any command, beside a file of cars whose fuel is text."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    fuel = rng.choice(["Petrol", "Diesel", "Gas"], 200)
    mpg = 40.0 + 5.0 * (fuel == "Gas") + rng.normal(size=200)
    pd.DataFrame({"fuel": fuel, "mpg": mpg}).to_csv("cars.csv", index=False)
    Path("graph.txt").write_text("mpg ~ fuel\n")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gaussnet", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        return stopped.value.code, output.out, output.err

    return run


def test_a_model_file_remembers_levels_from_command_to_command(shell):
    cars = pd.read_csv("cars.csv")
    means = cars.groupby("fuel")["mpg"].mean()
    code, out, _ = shell("fit", "cars.csv", "--dag", "graph.txt", "--out", "model.json")
    assert code == 0
    assert "compared with 'Diesel'" in out
    for option in ("--do", "--given"):
        _, out, _ = shell("query", "model.json", option, "fuel=Gas", "--target", "mpg", "--json")
        assert json.loads(out)["nodes"]["mpg"]["mean"] == pytest.approx(means["Gas"], rel=1e-12)
    assert shell("report", "cars.csv", "--model", "model.json", "--out", "new.html")[0] == 0
    assert shell("explore", "model.json", "--out", "what-if.html")[0] == 0
    assert (
        shell("sample", "model.json", "--rows", "5", "--do", "fuel=Gas", "--out", "d.csv")[0] == 0
    )
    assert set(pd.read_csv("d.csv")["fuel[Gas]"]) == {1.0}
    code, _, err = shell("report", "d.csv", "--model", "model.json", "--out", "drawn.html")
    assert (code, err) == (0, "")  # columns of levels are taken at their word


def test_levels_that_are_given_state_the_reference(shell):
    options = ("--levels", "fuel=Petrol,Diesel,Gas")
    code, out, _ = shell("fit", "cars.csv", "--dag", "graph.txt", *options, "--json")
    assert code == 0
    (own,) = (node for node in json.loads(out)["nodes"] if node["name"] == "mpg")
    assert set(own["parents"]) == {"fuel[Diesel]", "fuel[Gas]"}
    assert shell("report", "cars.csv", "--dag", "graph.txt", *options, "--out", "r.html")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fit cars.csv --dag graph.txt --levels fuel=Gas,Diesel", "'Petrol', which the network"),
        ("fit cars.csv --dag graph.txt --levels fuel", "expected a category and its levels"),
        ("fit cars.csv --dag graph.txt --levels oil=a,b", "there is no node 'oil'"),
        ("fit cars.csv --dag graph.txt --out model.csv", "no place for the levels of 'fuel'"),
        ("query model.json --do fuel=Coal", "expected one of 'Diesel', 'Gas', 'Petrol'"),
        ("query model.json --do mpg=much", "expected a node and a number"),
        ("sample model.json --rows 2", "fix the level, as --do 'fuel=Gas'"),
        ("report other.csv --model model.json --out r.html", "'Coal', which the network"),
    ],
)
def test_what_cannot_be_done_with_a_category_is_one_sentence(shell, arguments, said):
    shell("fit", "cars.csv", "--dag", "graph.txt", "--out", "model.json")
    Path("other.csv").write_text("fuel,mpg\nCoal,1\nGas,2\n")
    code, out, err = shell(*arguments.split())
    assert code == 1
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert not Path("r.html").exists()
    assert not Path("model.csv").exists()


def test_text_from_the_standard_input_says_what_to_do(shell, monkeypatch):
    class Input:
        buffer = open("cars.csv", "rb")  # noqa: SIM115 (closed below)

    monkeypatch.setattr(sys, "stdin", Input)
    code, _, err = shell("fit", "-", "--dag", "graph.txt")
    Input.buffer.close()
    assert code == 1
    assert "or give a file, where text may be a category" in err
