"""Saved networks know the codes for missing values, and commands that read rows beside them too."""

import json

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.cli import main
from gaussnet.cli.saved_networks import no_errors
from gaussnet.errors import FileError, GaussnetError
from gaussnet.methods.names import METHODS
from gaussnet.model.files import LearntHow, learnt_how

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes=["a", "b", "c"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_text("a; b ~ a; c ~ a + b")
    rows = np.array(NETWORK.sample(300, seed=0))
    rows[::30, 1] = -999.0
    lines = "\n".join(",".join(map(repr, own)) for own in rows.tolist())
    (tmp_path / "rows.csv").write_text(f"a,b,c\n{lines}\n")
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["gaussnet", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code, capsys.readouterr().err
    return capsys.readouterr().out


LEARN = ["rows.csv", "--dag", "graph.txt", "--missing", "drop-rows", "--missing-values", "-999"]
MODELS = {
    "fit": (["fit", *LEARN, "--out", "model.json"], "model.json"),
    "update": (["update", "summary.npz", *LEARN, "--out", "model.json"], "model.json"),
    "summary": (["update", "summary.npz", *LEARN], "summary.npz"),
}


@pytest.mark.parametrize(("learn", "model"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("command", ["check", "score", "outliers"])
def test_commands_take_the_codes_of_the_model(command, learn, model, folder, monkeypatch, capsys):
    run(monkeypatch, capsys, *learn)
    asked = [command, "rows.csv", "--model", model, "--json"]
    found = json.loads(run(monkeypatch, capsys, *asked))
    told = json.loads(run(monkeypatch, capsys, *asked, "--missing-values", "-999"))
    said = "as the model says, -999 stands for a missing value"
    assert said in found["notes"]
    assert found | {"notes": []} == told | {"notes": []}
    assert said in run(monkeypatch, capsys, *asked[:-1])


def test_a_report_takes_the_codes_of_the_model(folder, monkeypatch, capsys):
    run(monkeypatch, capsys, *MODELS["fit"][0])
    pages = []
    for more in ([], ["--missing-values", "-999"]):
        asked = ["report", "rows.csv", "--model", "model.json", "--out", "page.html", *more]
        run(monkeypatch, capsys, *asked)
        pages.append((folder / "page.html").read_text(encoding="utf-8"))
    first, second = (page.split("<h2>")[1] for page in pages)
    assert first == second


def test_files_say_how_they_were_learnt_and_old_ones_go_on_working(folder, monkeypatch, capsys):
    run(monkeypatch, capsys, *MODELS["fit"][0])
    assert learnt_how("model.json") == LearntHow("least-squares", (-999.0,))
    NETWORK.save("plain.json")
    assert learnt_how("plain.json") == LearntHow()
    assert "method" not in (folder / "plain.json").read_text(encoding="utf-8")
    gn.write_network(NETWORK, "plain.csv", method="robust", missing_values=[-9])
    assert learnt_how("plain.csv") == LearntHow()


ODD = [{"method": 3}, {"missing_values": -999}, {"missing_values": [True]}]


@pytest.mark.parametrize("field", ODD, ids=repr)
def test_odd_fields_are_refused_in_one_sentence(field, folder):
    NETWORK.save("model.json")
    content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    (folder / "model.json").write_text(json.dumps(content | field), encoding="utf-8")
    with pytest.raises(FileError, match="save the network again"):
        learnt_how("model.json")


def test_a_network_learnt_with_an_infinite_code_can_be_read_back(tmp_path):
    path = tmp_path / "model.json"
    gn.write_network(NETWORK, path, method="robust", missing_values=[np.inf, -9.0])
    assert gn.read_network(path) == NETWORK
    assert learnt_how(path) == LearntHow("robust", (-9.0,))


def test_the_hint_of_an_effect_learns_as_the_model_was_learnt(folder, monkeypatch, capsys):
    how = ["--method", "robust", "--missing", "likelihood", "--missing-values=-999"]
    learn = ["rows.csv", "--dag", "graph.txt", *how]
    run(monkeypatch, capsys, "fit", *learn, "--out", "model.json")
    told = json.loads(run(monkeypatch, capsys, "effect", "model.json", "a", "c", "--json"))
    hint = told["note"].partition("made by gaussnet ")[2].split()
    assert hint == ["update", "all.npz", *learn]
    run(monkeypatch, capsys, *hint)
    again = json.loads(run(monkeypatch, capsys, "effect", "all.npz", "a", "c", "--json"))
    assert again["effect"] == pytest.approx(told["effect"], rel=1e-9)
    assert again["low"] < again["effect"] < again["high"]


@pytest.mark.parametrize(
    ("how", "end"),
    [
        (LearntHow(), "rows.csv --dag graph.txt"),
        (LearntHow("least-squares"), "rows.csv --dag graph.txt"),
        (LearntHow("likelihood"), "ask fit.effect in Python, or learn by --method robust"),
        (LearntHow("batch-median"), "graph.txt --method batch-median"),
        (LearntHow(None, (-9.0, 99.5)), "graph.txt --missing drop-rows --missing-values=-9,99.5"),
        (LearntHow("auto"), "graph.txt --method robust --missing likelihood"),
        (LearntHow("cauchy"), "ask fit.effect in Python, or learn by --method robust"),
        (LearntHow("sequential-trim"), "ask fit.effect in Python, or learn by --method robust"),
    ],
)
def test_hints_of_effects_name_what_the_file_says_and_summaries_know(how, end):
    assert no_errors(how).endswith(end)


def test_hints_of_effects_know_which_methods_have_no_summaries():
    rows = np.array(NETWORK.sample(100, seed=0))
    for method in METHODS:
        if "gaussnet update" in no_errors(LearntHow(method)):
            assert gn.summarize(rows, DAG, "robust" if method == "auto" else method).rows == 100
        else:
            with pytest.raises(GaussnetError, match="needs all rows more than once"):
                gn.summarize(rows, DAG, method)
