"""`gaussnet query` and `gaussnet explore`."""

import contextlib
import json
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.cli import main
from gaussnet.cli.app import query
from gaussnet.cli.saved_networks import parse_values
from gaussnet.errors import SettingError

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
NETWORK = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))


@pytest.fixture
def gaussnet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    NETWORK.save("model.json")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["gaussnet", "query", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        return stopped.value.code, output.out, output.err

    return call


def test_json_holds_the_conditional_law(gaussnet):
    options = ["--given", "wet=2", "--do", "season=-0.5", "--level", "0.9", "--json"]
    code, out, _ = gaussnet("model.json", *options)
    assert code == 0
    answer = json.loads(out)
    law = NETWORK.do({"season": -0.5}).condition({"wet": 2.0})
    assert list(answer["nodes"]) == list(law.names) == ["season", "rain"]
    rain = answer["nodes"]["rain"]
    assert rain["mean"] == pytest.approx(law.mean[1])
    assert rain["scale"] == pytest.approx(law.variances[1] ** 0.5)
    assert rain["high"] == pytest.approx(rain["mean"] + 1.6448536 * rain["scale"])
    assert answer["given"] == {"wet": 2.0}
    assert answer["do"] == {"season": -0.5}
    assert answer["nodes"]["season"] == {"mean": -0.5, "scale": 0.0, "low": -0.5, "high": -0.5}


def test_a_table_names_the_evidence_and_the_targets(gaussnet):
    code, out, _ = gaussnet("model.json", "--given", "wet=2", "--target", "rain")
    assert code == 0
    assert out.startswith("Given wet = 2\n")
    assert "rain" in out
    assert "season" not in out


def test_without_evidence_it_shows_the_joint_law(gaussnet):
    code, out, _ = gaussnet("model.json")
    assert code == 0
    assert out.startswith("Without evidence\n")
    assert all(node in out for node in DAG.nodes)


def test_the_example_of_the_help_runs(gaussnet):
    example = re.search(r"Example: gaussnet query (.*)", query.__doc__).group(1)
    assert gaussnet(*shlex.split(example))[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--given", "wet"], "got --given 'wet', expected a node and a number as in wet=2"),
        (["--given", "wet=much"], "got --given 'wet=much', expected a node and a number"),
        (
            ["--given", "wett=much"],
            "got --given 'wett=much', but there is no node 'wett', did you mean 'wet'? Give a node "
            "and a number as in wet=2",
        ),
        (["--given", "=2"], "got --given '=2', expected a node and a number"),
        (["--given", "wet=1", "--given", "wet=2"], "got --given twice for the node 'wet'"),
        (["--given", "wet=nan"], "the evidence of 'wet' is nan"),
        (["--do", "snow=1"], "there is no node 'snow'"),
        (["--target", "snow"], "there is no node 'snow'"),
        (["--given", "wet=1", "--target", "wet"], "'wet' has a given value"),
        (["--do", "wet=1", "--given", "wet=2"], "the evidence is impossible"),
        (["--level", "2"], "got --level 2.0"),
    ],
)
def test_bad_options_give_one_sentence(gaussnet, options, message):
    code, out, error = gaussnet("model.json", *options)
    assert code == 1
    assert out == ""
    assert error.startswith("gaussnet: ")
    assert message in error
    assert error.count("\n") == 1


def test_explore_writes_a_page_that_names_the_model(gaussnet, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gaussnet", "explore", "model.json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    assert capsys.readouterr().out == "what-if page of 3 nodes written to what-if.html\n"
    page = (tmp_path / "what-if.html").read_text(encoding="utf-8")
    gn.write_explorer(NETWORK, tmp_path / "same.html", source="model.json")
    assert page == (tmp_path / "same.html").read_text(encoding="utf-8")


def test_explore_tells_json_and_takes_its_options(gaussnet, tmp_path, monkeypatch, capsys):
    options = ["--out", "w.html", "--around", "wet", "--level", "0.8", "--title", "Wet?", "--json"]
    monkeypatch.setattr(sys, "argv", ["gaussnet", "explore", "model.json", *options])
    with pytest.raises(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    size = (tmp_path / "w.html").stat().st_size
    assert told == {"page": "w.html", "bytes": size, "nodes": 3, "shown": 3}
    page = (tmp_path / "w.html").read_text(encoding="utf-8")
    assert "<title>Wet?</title>" in page
    assert '"level":0.8' in page


def test_a_category_that_is_mistyped_is_asked_about():
    levels = {"school": ("private", "public")}
    with pytest.raises(SettingError) as told:
        parse_values(["schol=public"], "--given", levels, ["school[public]", "score"])
    assert str(told.value) == (
        "got --given 'schol=public', but there is no node or category 'schol', did you mean "
        "'school'? Give a node and a number as in wet=2, or a category and one of its levels as in "
        "school=public"
    )


def test_levels_have_no_interval_and_shapes_are_told(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    school = rng.choice(["North", "South"], 400)
    score = 2.0 * (school == "South") + rng.exponential(3.0, 400)
    path = tmp_path / "model.json"
    frame = pd.DataFrame({"school": school, "score": score})
    gn.fit(frame, "score ~ school").save_network(path)

    def asked(*options):
        monkeypatch.setattr(sys, "argv", ["gaussnet", "query", str(path), *options])
        with contextlib.suppress(SystemExit):
            main()
        return capsys.readouterr().out

    out = asked()
    (line,) = (one for one in out.splitlines() if "school[South]" in one)
    assert line.replace("│", " ").split()[-2:] == ["-", "-"]
    assert "did not look like in score (" in " ".join(out.split())
    found = json.loads(asked("--json"))
    assert found["nodes"]["school[South]"]["low"] is None
    assert found["nodes"]["score"]["low"] is not None
    assert "score" in found["notes"][0]
