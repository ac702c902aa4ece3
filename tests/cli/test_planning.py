"""`gaussnet plan` and `gaussnet certify`."""

import json

import pytest
from tests.cli.in_process import run

import gaussnet as gn

GRAPH = "season\nrain ~ season\nsprinkler ~ season\nwet ~ rain + sprinkler\n"


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text(GRAPH)
    return str(path)


def test_plan_shows_methods_and_laws_side_by_side(graph):
    done = run("plan", graph, "--tv", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    dag = gn.Dag.parse(GRAPH)
    for law in ("expected", "exact", "union", "paper"):
        assert rows["least-squares"][law] == gn.plan(dag, tv=0.1, law=law).rows
    assert rows["least-squares"]["expected"] < rows["least-squares"]["exact"]
    assert "batch-median" in json.loads(done.stdout)["no law"]


def test_plan_prints_a_table_and_which_methods_are_not_in_it(graph):
    done = run("plan", graph, "--kl", "0.02")
    assert "Rows needed for KL <= 0.02" in done.stdout
    assert "No law on this graph (--json says why): batch-median, cauchy" in done.stdout
    assert len(done.stdout.splitlines()) < 12
    assert "every node is a number with Gaussian noise, and none is a category" in " ".join(
        done.stdout.split()
    )
    reasons = json.loads(run("plan", graph, "--kl", "0.02", "--json").stdout)["no law"]
    assert reasons["cauchy"].startswith("there is no law for --method 'cauchy'")


def test_certify_says_what_it_rests_on(graph):
    done = run("certify", graph, "--rows", "2000")
    assert done.returncode == 0, done.stderr
    assert "least-squ" in done.stdout
    assert "the truth is a Gaussian network over exactly this graph" in done.stdout


def test_certify_gives_the_figures_of_the_library(graph):
    done = run("certify", graph, "--rows", "2000", "--no-intercept", "--json")
    figures = json.loads(done.stdout)["certificates"]["least-squares"]
    promise = gn.certify(gn.Dag.parse(GRAPH), rows=2_000, intercept=False)
    # another process: sums over arrays at other addresses may differ in the last digits
    assert figures["KL"] == pytest.approx(promise.kl, rel=1e-12)
    assert figures["expected KL"] == pytest.approx(promise.expected_kl, rel=1e-12)


def test_too_few_rows_for_a_promise_are_null_in_json(graph):
    done = run("certify", graph, "--rows", "2", "--json")
    assert json.loads(done.stdout)["certificates"]["least-squares"]["KL"] is None


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_is_written(graph, tmp_path, ending):
    plot = tmp_path / f"guarantee.{ending}"
    done = run("plan", graph, "--tv", "0.1", "--plot", str(plot))
    assert done.returncode == 0, done.stderr
    head = plot.read_bytes()[:200]
    assert b"PNG" in head or b"svg" in head


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "{graph}"],
        ["plan", "{graph}", "--tv", "0.1", "--kl", "0.1"],
        ["plan", "{graph}", "--tv", "2"],
        ["plan", "{graph}", "--tv", "0.1", "--delta", "0"],
        ["plan", "{graph}", "--tv", "0.1", "--plot", "{folder}/plot.pdf"],
        ["plan", "{graph}", "--tv", "0.1", "--plot", "{folder}/no/plot.png"],
        ["plan", "{folder}/absent.txt", "--tv", "0.1"],
        ["certify", "{graph}", "--rows", "0"],
        ["certify", "{graph}", "--rows", "100", "--delta", "2"],
    ],
)
def test_bad_input_is_one_sentence_and_exit_one(arguments, graph, tmp_path):
    done = run(*(text.format(graph=graph, folder=tmp_path) for text in arguments))
    assert done.returncode == 1
    assert done.stderr.startswith("gaussnet: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
