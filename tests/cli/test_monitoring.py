"""The commands of a nightly job: update, check, outliers, score, effect."""

import csv
import gzip
import json
import re
import shlex
import sys

import numpy as np
import pytest
from scipy import stats

import gaussnet as gn
from gaussnet.cli import main, nightly
from gaussnet.cli.reading_plans import ReadingPlan
from gaussnet.data.write import write_rows
from gaussnet.fitting.summaries import PageSummary

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
    assert "residuals: They look Gaussian without the flagged values." in told.out


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
def test_residuals_of_few_rows_are_not_called_gaussian(gaussnet):
    told = gaussnet("check", "today.csv", "--model", "model.json")
    assert "residuals: They look Gaussian." in told
    write_rows("few.csv", DAG.nodes, [day(3, rows=29)])
    told = gaussnet("check", "few.csv", "--model", "model.json")
    assert "residuals: The rows are too few to judge them." in told


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
        (("--level", "2"), "got level=2.0, expected"),
        (("--model=none.json",), "cannot read 'none.json': no such file"),
        (("--missing", "raise", "--missing-values", "x"), "got --missing-values 'x', expected"),
    ],
)
def test_bad_input_is_one_sentence(gaussnet, arguments, sentence):
    model = () if "--model=none.json" in arguments else ("--model", "model.json")
    told = gaussnet("check", "today.csv", *model, *arguments, code=1)
    assert told.err.startswith(f"gaussnet: {sentence}")
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("word", "hint"), [("drfit", ", did you mean 'drift'?"), ("rain", "")])
def test_a_condition_that_there_is_not_is_wrong_usage(gaussnet, word, hint):
    arguments = ("check", "today.csv", "--model", "model.json", "--fail-if", word)
    told = gaussnet(*arguments, code=2)
    said = f"got --fail-if {word!r}, expected contaminated, drift or contradicted{hint}"
    assert told.err == f"gaussnet: {said}\n"
    assert told.out == ""


@pytest.mark.usefixtures("folder")
def test_rows_in_a_model_file_that_are_no_counts_are_refused(gaussnet):
    with open("model.json") as file:
        text = file.read().replace('"rows": 2000', '"rows": -1', 1)
    with open("odd.json", "w") as file:
        file.write(text)
    told = gaussnet("check", "today.csv", "--model", "odd.json", code=1)
    assert "node 'season' of 'odd.json' has the rows -1, expected a whole number" in told.err


def days(count, rows=70):
    for number in range(count):
        write_rows(f"day-{number:02}.csv", DAG.nodes, [day(1_000 + number, rows)])
    return [f"day-{number:02}.csv" for number in range(count)]


@pytest.mark.usefixtures("folder")
def test_updates_day_by_day_give_the_network_of_all_days_to_the_last_bit(gaussnet):
    files = days(30)
    for file in files:
        gaussnet("update", "month.npz", file, "--dag", "graph.txt", "--out", "daily.json")
    assert gn.read_network("daily.json") == gn.fit(files, DAG).network
    gaussnet("update", "once.npz", "day-*.csv", "--dag", "graph.txt", "--out", "once.json")
    assert gn.read_network("once.json") == gn.read_network("daily.json")
    assert gn.load_summary("month.npz").rows == 30 * 70


@pytest.mark.usefixtures("folder")
def test_robust_updates_give_the_robust_network_of_all_days(gaussnet):
    files = days(30)
    for number, file in enumerate(files):
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
        rows[number % 7, number % 4] = 500.0
        np.savetxt(file, rows, "%.17g", ",", header=",".join(DAG.nodes), comments="")
        settings = ("--method", "robust", "--dag", "graph.txt", "--out", "daily.json")
        told = gaussnet("update", "month.npz", file, *settings)
    assert "30 of 8400 values (0.36%) do not fit" in told
    assert gn.read_network("daily.json") == gn.fit(files, DAG, "robust").network


@pytest.mark.usefixtures("folder")
def test_an_update_tells_rows_and_network_in_fields(gaussnet):
    first, second = days(2)
    told = json.loads(gaussnet("update", "w.npz", first, "--dag", "graph.txt", "--json"))
    assert (told["added"], told["rows"], told["new"]) == (70, 70, True)
    told = json.loads(gaussnet("update", "w.npz", second, "--json"))
    assert (told["added"], told["rows"], told["new"]) == (70, 140, False)
    fit = gn.fit([first, second], DAG)
    for node in told["nodes"]:
        assert node["variance"] == fit.network.variances[node["name"]]


@pytest.mark.usefixtures("folder")
def test_a_file_counts_once_under_any_name(gaussnet, tmp_path):
    (first,) = days(1)
    gaussnet("update", "w.npz", first, "--dag", "graph.txt")
    before = (tmp_path / "w.npz").read_bytes()
    (tmp_path / "copy.csv").write_bytes((tmp_path / first).read_bytes())
    told = gaussnet("update", "w.npz", "copy.csv", code=1)
    assert told.err == (
        "gaussnet: the rows of 'copy.csv' are in the summary already: give --again to add them "
        "once more\n"
    )
    assert (tmp_path / "w.npz").read_bytes() == before
    assert "140 rows in all" in gaussnet("update", "w.npz", "copy.csv", "--again")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("new.npz", "day-00.csv"), "there is no summary 'new.npz' yet: give --dag"),
        (("w.txt", "day-00.csv"), "cannot keep a summary as 'w.txt'"),
        (("w.npz", "day-01.csv", "--dag", "other.txt"), "got another --dag than the summary"),
        (("w.npz", "day-01.csv", "--method", "cauchy-tree"), "got --method cauchy-tree, other"),
        (("w.npz", "none.csv"), "cannot read 'none.csv': no such file"),
        (("w.npz", "bad.csv"), "the column 'rain' has 'x' in line 2"),
        (("broken.npz", "day-01.csv"), "'broken.npz' is not a whole summary"),
    ],
)
def test_a_refused_update_leaves_the_summary_as_it_was(gaussnet, tmp_path, arguments, sentence):
    first, _ = days(2)
    gaussnet("update", "w.npz", first, "--dag", "graph.txt")
    (tmp_path / "other.txt").write_text("season; rain; wet; slip ~ wet")
    (tmp_path / "bad.csv").write_text("season,rain,wet,slip\n1,x,3,4\n")
    (tmp_path / "broken.npz").write_bytes(b"PK no")
    before = (tmp_path / "w.npz").read_bytes()
    told = gaussnet("update", *arguments, code=1)
    assert told.err.startswith(f"gaussnet: {sentence}")
    assert told.err.count("\n") == 1
    assert (tmp_path / "w.npz").read_bytes() == before
    assert not (tmp_path / "new.npz").exists()


@pytest.mark.usefixtures("folder")
def test_two_updates_at_a_time_lose_no_rows(gaussnet, monkeypatch):
    first, second = days(2)
    gaussnet("update", "w.npz", "today.csv", "--dag", "graph.txt")
    add = PageSummary.add

    def interrupted(summary, data, **settings):
        other = add(summary, first)
        other.save("w.npz")  # another job is faster
        return add(summary, data, **settings)

    monkeypatch.setattr(PageSummary, "add", interrupted)
    told = gaussnet("update", "w.npz", second, code=1)
    assert "'w.npz' has changed while rows were added to it" in told.err
    assert gn.load_summary("w.npz").rows == 570


@pytest.mark.usefixtures("folder")
def test_rows_that_determine_no_network_yet_are_kept(gaussnet):
    write_rows("one.csv", DAG.nodes, [day(1, 1)])
    write_rows("more.csv", DAG.nodes, [day(2, 50)])
    told = gaussnet("update", "w.npz", "one.csv", "--dag", "graph.txt", "--out", "m.json", code=1)
    assert "but there is no network to write yet" in told.err
    assert "no network yet" in gaussnet("update", "v.npz", "one.csv", "--dag", "graph.txt")
    assert "51 rows in all" in gaussnet("update", "w.npz", "more.csv", "--out", "m.json")


def table(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)  # noqa: SIM115
    with opened as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("out", ["scores.csv", "scores.csv.gz"])
def test_scores_say_where_each_row_stands_and_which_cell_is_worst(gaussnet, out):
    rows = day(8, 40)
    rows[7, 2] += 50.0
    rows[9, 3] = np.nan
    for name, part in (("first.csv", rows[:5]), ("second.csv", rows[5:])):
        lines = [f"t{index},{','.join(map(repr, row))}" for index, row in enumerate(part.tolist())]
        with open(name, "w") as file:
            file.write("\n".join(["time,season,rain,wet,slip", *lines]))
    arguments = ("first.csv", "second.csv", "--model", "model.json", "--key", "time", "--out", out)
    told = json.loads(gaussnet("score", *arguments, "--json"))
    found = table(out)
    assert len(found) == told["rows"] == 40
    network = gn.read_network("model.json")
    worst = found[7]
    assert (worst["file"], worst["row"], worst["time"]) == ("second.csv", "2", "t2")
    assert worst["column"] == "wet"
    assert float(worst["value"]) == rows[7, 2]
    whole = np.delete(np.arange(40), 9)
    densities = np.array([float(one["log_density"]) for one in found])
    np.testing.assert_allclose(densities[whole], network.log_density(rows[whole]), rtol=1e-9)
    assert told["least_likely"][0] == {
        "file": "second.csv", "row": 2, "key": "t2", "column": "wet",
        **{name: float(worst[name]) for name in ("log_density", "value", "expected", "z")},
    }  # fmt: skip
    assert told["log_density"] == pytest.approx(densities.sum(), rel=1e-12)
    assert told["mean_log_density"] == pytest.approx(densities.mean(), rel=1e-12)
    assert "t2" in gaussnet("score", *arguments)


@pytest.mark.usefixtures("folder")
def test_names_that_spreadsheets_take_for_formulas_are_refused(gaussnet, tmp_path):
    with open("odd.csv", "w") as file:
        file.write("time,season,rain,wet,slip\n=cmd(),1,2,3,4\n")
    arguments = ("odd.csv", "--model", "model.json", "--key", "time", "--out", "scores.csv")
    told = gaussnet("score", *arguments, code=1)
    assert "which spreadsheets take for a formula" in told.err
    assert not (tmp_path / "scores.csv").exists()


@pytest.mark.usefixtures("folder")
def test_effects_are_those_of_the_library(gaussnet):
    network = gn.read_network("model.json")
    told = json.loads(gaussnet("effect", "model.json", "season", "slip", "--json"))
    assert told["effect"] == network.effect("season", "slip")
    assert sum(path["effect"] for path in told["paths"]) == pytest.approx(told["effect"])
    through = ("season", "slip", "--via", "rain")
    told = json.loads(gaussnet("effect", "summary.npz", *through, "--json"))
    assert told["effect"] == pytest.approx(network.effect("season", "slip", via="rain"))
    assert [path["nodes"] for path in told["paths"]] == [["season", "rain", "wet", "slip"]]
    out = gaussnet("effect", "model.json", *through)
    assert out.startswith("season -> slip through rain: ")
    error = gaussnet("effect", "model.json", "season", "snow", code=1).err
    assert "snow" in error


@pytest.mark.usefixtures("folder")
def test_effects_say_why_they_are_0_or_have_no_interval(gaussnet):
    out = " ".join(gaussnet("effect", "model.json", "season", "slip").split())
    assert "note: no interval: a network file holds no standard errors. Ask a summary" in out
    out = gaussnet("effect", "summary.npz", "season", "slip")
    assert "note" not in out
    assert "95 % interval" in out
    assert "(network fitted by least-squares)" in out
    for model in ("model.json", "summary.npz"):
        out = gaussnet("effect", model, "slip", "season")
        assert out.splitlines() == [
            "slip -> season: 0",
            "note: no directed path leads from slip to season in the graph",
        ]
        told = json.loads(gaussnet("effect", model, "slip", "season", "--json"))
        assert (told["effect"], told["paths"]) == (0.0, [])
        assert told["note"].startswith("no directed path leads")


@pytest.mark.usefixtures("folder")
def test_update_knows_codes_of_missing_values_from_the_first_day_on(gaussnet):
    one, other = day(5), day(6)
    holes = [np.random.default_rng(seed).random(one.shape) < 0.05 for seed in (0, 1)]
    for name, rows, lacks in zip(("one", "other"), (one, other), holes, strict=True):
        write_rows(f"{name}.csv", DAG.nodes, [np.where(lacks, -999.0, rows)])
    how = ("--missing", "drop-rows", "--missing-values", "-999")
    whole = [int((~lacks.any(axis=1)).sum()) for lacks in holes]
    told = gaussnet("update", "coded.npz", "one.csv", "--dag", "graph.txt", *how)
    assert f"begun with 500 rows; {whole[0]} of 500 rows in all are complete and count" in told
    told = gaussnet("update", "coded.npz", "other.csv", "--out", "out.json")
    assert f"with 500 more rows; {sum(whole)} of 1,000 rows in all are complete" in told
    both = np.concatenate([np.where(holes[0], np.nan, one), np.where(holes[1], np.nan, other)])
    expected = gn.fit(both, DAG, missing="drop-rows").network
    assert gn.read_network("out.json") == expected
    again = ("update", "coded.npz", "today.csv", "--missing-values")
    told = gaussnet(*again, "-99", code=1)
    assert "other than the summary was begun with (-999)" in told.err
    told = gaussnet("update", "summary.npz", "today.csv", "--missing-values", "-999", code=1)
    assert "begun with (none)" in told.err
    assert "with 500 more rows" in gaussnet(*again, "-999")


@pytest.mark.usefixtures("folder")
def test_update_says_that_a_file_holds_no_rows_and_takes_it_again(gaussnet):
    with open("quiet.csv", "w", encoding="utf-8") as file:
        file.write(",".join(DAG.nodes) + "\n")
    for _ in range(2):
        out = gaussnet("update", "summary.npz", "quiet.csv")
        assert "with 0 more rows; 2,000 rows in all" in out
        assert "note: the data hold no rows, so that nothing was added" in out


@pytest.mark.usefixtures("folder")
def test_check_names_every_column_of_a_condition(gaussnet):
    rows = day(7)
    for node in (1, 2, 3):
        rows[40 * node : 40 * node + 25, node] += 500.0
    write_rows("bad.csv", DAG.nodes, [rows])
    arguments = ("check", "bad.csv", "--model", "model.json", "--fail-if", "contaminated")
    told = gaussnet(*arguments, code=3)
    line = next(one for one in told.err.splitlines() if one.startswith("gaussnet: contaminated"))
    named = line.removeprefix("gaussnet: contaminated in ").partition(":")[0]
    assert sorted(named.split(", ")) == ["'rain'", "'slip'", "'wet'"]
    (alarm,) = json.loads(gaussnet(*arguments, "--json", code=3).out)["alarms"]
    assert sorted(alarm["columns"]) == ["rain", "slip", "wet"]
    assert alarm["column"] == alarm["columns"][0]


@pytest.mark.usefixtures("folder")
def test_check_tells_of_suspected_codes(gaussnet):
    rows = day(9)
    rows[:12, 1] = -999.0
    write_rows("coded.csv", DAG.nodes, [rows])
    arguments = ("check", "coded.csv", "--model", "model.json")
    out = " ".join(gaussnet(*arguments).split())
    said = "-999 appears 12 times in rain, far from the other values: if it means missing, give"
    assert f"note: {said} --missing-values -999" in out
    assert json.loads(gaussnet(*arguments, "--json"))["notes"][0].startswith(said)
    assert "appears" not in gaussnet(*arguments, "--missing-values", "-999")


@pytest.mark.usefixtures("folder")
def test_check_of_one_row_says_that_it_is_too_few(gaussnet):
    write_rows("one.csv", DAG.nodes, [day(8, rows=1)])
    out = gaussnet("check", "one.csv", "--model", "model.json")
    assert "drift: The rows are too few" in out
    assert "contamination: The rows are too few" in out
    assert "graph: No missing edge could be tested: rows are too few, or columns collinear." in out


JSON_COMMANDS = (
    "fit rows.csv --dag graph.txt --json",
    "fit wrong.csv --dag graph.txt --method auto --json",
    "fit holes.csv --dag graph.txt --missing drop-by-node --json",
    "report rows.csv --dag graph.txt --out r.html --json",
    "check wrong.csv --model model.json --json",
    "check holes.csv --model plain.json --json",
    "update w.npz rows.csv --dag graph.txt --json",
    "update one.npz one.csv --dag graph.txt --json",
    "score holes.csv --model model.json --json",
    "outliers holes.csv --model model.json --json",
    "effect summary.npz season slip --json",
    "query model.json --given wet=1 --json",
    "compare model.json plain.json --samples 1000 --json",
    "plan graph.txt --tv 0.1 --json",
    "certify graph.txt --rows 1000 --json",
    "sample model.json --rows 3 --out drawn.csv --json",
    "explore model.json --json",
    "simulate tree --nodes 3 --graph g.txt --json",
    "networks --json",
)
PYTHON = re.compile(r"\b(None|True|False|nan|numpy|gn\.\w+)\b|\bfit\.\w|\w\(\)|\w=['\[{]|<class")


def texts(value):
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *texts(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return [value] if isinstance(value, str) else []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", JSON_COMMANDS)
def test_json_holds_no_words_of_python(gaussnet, command):
    rows = day(5)
    rows[:10, 2] = 99.0
    write_rows("wrong.csv", DAG.nodes, [rows])
    rows[20:30, 1] = np.nan
    write_rows("holes.csv", DAG.nodes, [rows])
    write_rows("one.csv", DAG.nodes, [rows[:1]])
    gn.read_network("model.json").save("plain.json")
    told = json.loads(gaussnet(*shlex.split(command)))
    assert [text for text in texts(told) if PYTHON.search(text)] == []


@pytest.mark.usefixtures("folder")
def test_what_a_fit_says_in_sentences_stands_in_fields(gaussnet):
    rows = day(5)
    rows[:10, 2] = 99.0
    rows[20:30, 1] = np.nan
    write_rows("odd.csv", DAG.nodes, [rows])
    how = ("--dag", "graph.txt", "--method", "auto", "--missing", "likelihood", "--json")
    told = json.loads(gaussnet("fit", "odd.csv", *how))
    by_name = {node["name"]: node for node in told["nodes"]}
    assert by_name["wet"]["flagged"] == 10
    assert by_name["rain"]["missing"] == 10
    assert told["graph"]["tests"] == 2
    assert told["contamination"]["columns"] == ["wet"]
    assert {one["node"] for one in told["residuals"]} == set(DAG.nodes)


@pytest.mark.usefixtures("folder")
def test_a_plan_tells_sizes_before_rows_are_read(gaussnet, capsys):
    write_rows("rows.parquet", DAG.nodes, [ROWS])
    gaussnet("fit", "rows.parquet", "--dag", "graph.txt", "--verbose")
    plan = ReadingPlan.of("rows.parquet", DAG, gn.LeastSquares.passes)
    assert (plan.files, plan.rows, plan.columns, plan.is_whole) == (1, 2_000, 4, True)
    assert plan.memory == 2_000 * 4 * 8
    assert "2,000 rows of 4 nodes: read once, into memory, about 62.5 KiB for rows" in plan.sentence
    assert ReadingPlan.of("rows.csv", DAG, "").rows is None


@pytest.mark.usefixtures("folder")
def test_the_plan_goes_to_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gaussnet", "score", "rows.csv", "--model", "model.json",
                                      "--verbose", "--json"])  # fmt: skip
    with pytest.raises(SystemExit):
        main()
    output = capsys.readouterr()
    json.loads(output.out)
    assert output.err.startswith("plan: 1 file, ")


def write_with_times(name, rows):
    lines = [f"{name}-{index},{','.join(map(repr, row))}" for index, row in enumerate(rows)]
    with open(name, "w") as file:
        file.write("\n".join(["ts,season,rain,wet,slip", *lines]).replace("nan", ""))


@pytest.mark.usefixtures("folder")
def test_bad_cells_are_listed_with_file_row_key_value_and_expected_value(gaussnet):
    rows = day(5, 60)
    rows[17, 2], rows[40, 0], rows[41, 1] = 99.0, -40.0, np.nan
    write_with_times("a.csv", rows[:30].tolist())
    write_with_times("b.csv", rows[30:].tolist())
    arguments = ("a.csv", "b.csv", "--model", "model.json", "--out", "bad.csv", "--key", "ts")
    told = json.loads(gaussnet("outliers", *arguments, "--json"))
    cells = {(cell["file"], cell["row"], cell["column"]): cell for cell in told["cells"]}
    found = {(cell["file"], int(cell["row"]), cell["column"]): cell for cell in table("bad.csv")}
    assert set(found) == set(cells)
    assert {("a.csv", 17, "wet"), ("b.csv", 10, "season")} <= set(found)
    assert told["flagged"] == told["listed"] == len(found)
    first = found["a.csv", 17, "wet"]
    assert (first["ts"], float(first["value"])) == ("a.csv-17", 99.0)
    network = gn.read_network("model.json")
    given = {node: rows[17, place] for place, node in enumerate(DAG.nodes) if node != "wet"}
    assert float(first["expected"]) == pytest.approx(network.condition(given).mean[0], rel=1e-9)
    assert float(first["probability"]) > 0.999
    by_node = {one["node"]: one for one in told["nodes"]}
    assert by_node["rain"]["values"] == 59
    assert by_node["wet"]["share"] == by_node["wet"]["flagged"] / 60
    printed = gaussnet("outliers", *arguments)
    assert "(rows are counted from 0)" in printed
    assert "a.csv-17" in printed


@pytest.mark.usefixtures("folder")
def test_a_day_without_bad_cells_gives_an_empty_table(gaussnet):
    write_rows("few.csv", DAG.nodes, [TRUTH.mean()[None]])
    gaussnet("outliers", "few.csv", "--model", "model.json", "--out", "bad.csv")
    assert table("bad.csv") == []
    with open("bad.csv") as file:
        assert file.read() == "file,row,column,value,expected,z,probability\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--out", "bad.xlsx"), "cannot write a table as 'bad.xlsx'"),
        (("--out", "none/bad.csv"), "cannot write 'none/bad.csv': no such file"),
        (("--key", "time"), "'today.csv' has no column"),
        (("--share", "0"), "got share=0.0, expected"),
    ],
)
def test_what_outliers_cannot_do_is_one_sentence(gaussnet, tmp_path, arguments, sentence):
    before = sorted(tmp_path.iterdir())
    told = gaussnet("outliers", "today.csv", "--model", "model.json", *arguments, code=1)
    assert told.err.startswith(f"gaussnet: {sentence}")
    assert told.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
