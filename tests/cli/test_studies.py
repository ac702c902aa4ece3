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
        (("--interventions", "absent"), "no column for"),
        (("--clusters", "site", "--method", "cauchy"), "cannot use them"),
        (("--groups", "site", "--out", "model.json"), "a file holds one network"),
    ],
)
def test_bad_input_is_one_sentence(call, options, sentence):
    code, out, err = call(*options)
    assert code == 1
    assert out == ""
    assert sentence in err
    assert "Traceback" not in err
