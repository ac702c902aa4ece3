"""`gaussnet fit`, `sample`, `compare` and `simulate`."""

import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.in_process import run

import gaussnet as gn
from gaussnet.cli import app as commands, main
from gaussnet.cli.samples import sample_pages
from gaussnet.data.sources import read_rows
from gaussnet.data.table import default_page_rows
from gaussnet.data.write import write_rows
from gaussnet.methods.names import METHODS, SCALES
from gaussnet.tails import PValue

DAG = gn.Dag.parse("season; rain ~ season; wet ~ rain + season", nodes=["season", "rain", "wet"])
TRUTH = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))
ROWS = TRUTH.sample(300, seed=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows, their graph, the truth and a network learnt from them."""
    monkeypatch.chdir(tmp_path)
    write_rows("rows.csv", DAG.nodes, [ROWS])
    gn.write_dag(DAG, "graph.txt")
    TRUTH.save("truth.json")
    gn.fit(ROWS, DAG).network.save("model.json")
    return tmp_path


@pytest.fixture
def gaussnet(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["gaussnet", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        assert stopped.value.code == 0, output.err
        return output.out

    return call


COMMANDS = (
    commands.fit,
    commands.report,
    commands.sample,
    commands.compare,
    commands.simulate,
)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_the_example_of_the_help_runs(gaussnet, command):
    example = re.search(r"Example: gaussnet (.*)", command.__doc__).group(1)
    gaussnet(*shlex.split(example))
    words = " ".join(gaussnet(command.__name__, "--help").split())
    assert f"Example: gaussnet {example}" in words


def test_the_help_names_every_method_and_scale(gaussnet):
    words = gaussnet("fit", "--help")
    for name in (*METHODS, *SCALES):
        assert name in words


def test_robust_fit_prints_and_tells_what_it_flagged(folder, gaussnet):
    rows = ROWS.copy()
    rows[:30, 1] = 1000.0
    write_rows("spoilt.csv", DAG.nodes, [rows])
    arguments = ("fit", "spoilt.csv", "--dag", "graph.txt", "--method", "robust")
    told = json.loads(gaussnet(*arguments, "--json"))
    found = gn.fit(folder / "spoilt.csv", DAG, "robust").outliers()
    assert told["scale"] == "core"
    assert told["outliers"] == found.to_dicts()
    assert told["flagged_shares"] == dict(found.shares)
    printed = gaussnet(*arguments)
    assert "30 flagged values (--outliers PATH lists them)" in printed
    said = "rain: 30 of its values flagged; the other values of these rows are used"
    assert f"note: {said}" in printed


def test_fit_gives_the_numbers_of_the_library(folder, gaussnet):
    arguments = ["--method", "cauchy", "--scale", "mad", "--no-intercept", "--out", "net.json"]
    told = json.loads(gaussnet("fit", "rows.csv", "--dag", "graph.txt", *arguments, "--json"))
    fit = gn.fit(ROWS, DAG, "cauchy", scale="mad", intercept=False)
    assert gn.read_network(folder / "net.json") == fit.network
    assert (told["rows"], told["method"], told["scale"]) == (300, "cauchy", "mad")
    known = {(one["parent"], one["child"]): one["p_value"] for one in fit.table()}
    for node in told["nodes"]:
        name = node["name"]
        assert node["variance"] == fit.network.variances[name]
        for parent, numbers in node["parents"].items():
            assert numbers["coefficient"] == fit.network.coefficients[parent, name]
            assert numbers["error"] == fit.standard_errors.coefficients[parent, name]
            assert numbers["p_value"] == known[parent, name]
            interval = fit.uncertainty().confidence_intervals.coefficients[parent, name]
            assert tuple(numbers["interval"]) == interval


@pytest.mark.usefixtures("folder")
def test_fit_prints_coefficients_with_errors_scales_and_notes(gaussnet):
    write_rows("more.csv", [*DAG.nodes, "[red]time"], [np.column_stack((ROWS, ROWS[:, 0]))])
    words = gaussnet("fit", "more.csv", "--dag", "graph.txt")
    fit = gn.fit(ROWS, DAG)
    assert "3 nodes, 3 edges, 300 rows; fitted by least-squares, noise variances from" in words
    for edge, value in fit.network.coefficients.items():
        assert f"{value:.4g}" in words
        assert f"{fit.standard_errors.coefficients[edge]:.4g}" in words
    for scale in fit.network.scales:
        assert f"{scale:.4g}" in words
    assert "Coefficients (p-values: two-sided t tests)" in words
    for p_value in fit.table()["p_value"]:
        assert str(PValue(p_value)) in words
    assert "note: 1 column is not in the graph and ignored: '[red]time'" in words


@pytest.mark.usefixtures("folder")
def test_several_files_patterns_and_signs_are_one_table(gaussnet):
    for name, part in (("day-1.csv", ROWS[:100]), ("day-2.csv", ROWS[100:250])):
        text = "season;rain;wet\n" + "\n".join(";".join(map(repr, row)) for row in part.tolist())
        Path(name).write_text(text.replace(".", ","))
    packed = "season;rain;wet\n" + "\n".join(";".join(map(repr, r)) for r in ROWS[250:].tolist())
    Path("rest.csv.gz").write_bytes(gzip.compress(packed.replace(".", ",").encode()))
    signs = ("--sep", ";", "--decimal", ",", "--dag", "graph.txt")
    gaussnet("fit", "day-*.csv", "rest.csv.gz", *signs, "--out", "all.json")
    assert gn.read_network("all.json") == gn.fit(ROWS, DAG).network
    gaussnet("report", "day-*.csv", "rest.csv.gz", *signs, "--out", "all.html")
    assert "learnt from 2 files" in Path("all.html").read_text()
    model = ("--model", "all.json", "--sep", ";", "--decimal", ",", "--out", "new.html")
    gaussnet("report", "day-1.csv", "day-2.csv", *model)


@pytest.mark.usefixtures("folder")
def test_the_report_of_a_saved_network_compares_it_with_the_rows(gaussnet):
    gaussnet("fit", "rows.csv", "--dag", "graph.txt", "--out", "model.json")
    rows = np.array(ROWS)
    rows[:3, 1] = -999.0
    write_rows("coded.csv", DAG.nodes, [rows])
    arguments = ("report", "coded.csv", "--model", "model.json", "--out", "page.html")
    gaussnet(*arguments, "--missing-values", "-999")
    page = Path("page.html").read_text()
    assert "Nothing drifted at level 0.01" in page
    assert "is taken as certain" not in page  # the file says from how many rows it was learnt
    assert "3 of 300 rows have missing" in page
    gaussnet(*arguments)
    assert "3 values do not fit and were flagged" in Path("page.html").read_text()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ending", ["tsv", "parquet", "arrow", "feather", "npy"])
def test_fit_reads_every_format(gaussnet, ending):
    write_rows(f"rows.{ending}", DAG.nodes, [ROWS])
    names = ["--columns", ",".join(DAG.nodes)] if ending == "npy" else []
    told = [
        json.loads(gaussnet("fit", *given, "--dag", "graph.txt", "--json"))
        for given in (["rows.csv"], [f"rows.{ending}", *names])
    ]
    assert told[0] == told[1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ending", ["dot", "gml", "graphml", "json", "csv", "txt"])
def test_fit_reads_graphs_of_every_format(gaussnet, ending):
    gn.write_dag(DAG, f"again.{ending}")
    assert gaussnet("fit", "rows.csv", "--dag", f"again.{ending}", "--json") == gaussnet(
        "fit", "rows.csv", "--dag", "graph.txt", "--json"
    )


def test_fit_reads_standard_input(folder, gaussnet, monkeypatch):
    raw = (folder / "rows.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    told = json.loads(gaussnet("fit", "-", "--dag", "graph.txt", "--json"))
    assert told["rows"] == 300


def test_collinear_parents_are_accepted_when_asked_for(folder, gaussnet):
    (folder / "line.csv").write_text("x,y\n5,1\n5,2\n5,4\n")
    (folder / "line.txt").write_text("y ~ x")
    words = gaussnet("fit", "line.csv", "--dag", "line.txt", "--allow-singular")
    assert "the parent has rank 0" in words


def test_names_that_could_fool_a_terminal_are_printed_with_escapes(folder, gaussnet):
    names = ["\x1b[2Jx", "[bold]y"]
    write_rows("odd.csv", names, [ROWS[:, :2]])
    gn.write_dag(gn.Dag.from_edges([names]), "odd.json")
    words = gaussnet("fit", "odd.csv", "--dag", "odd.json")
    assert "\x1b" not in words
    assert r"\x1b[2Jx" in words
    assert "[bold]y" in words


def test_a_long_table_is_cut_and_says_so(folder, gaussnet):
    dag = gn.simulate.random_tree(80, seed=0)
    write_rows("long.csv", dag.nodes, [gn.simulate.random_network(dag, seed=0).sample(99, seed=0)])
    gn.write_dag(dag, "long.dot")
    assert "... and 19 more rows; --json prints all" in gaussnet(
        "fit", "long.csv", "--dag", "long.dot"
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "npy"])
def test_sample_writes_the_rows_of_the_library(folder, gaussnet, ending):
    gaussnet("sample", "truth.json", "--rows", "50", "--seed", "7", "--out", f"drawn.{ending}")
    drawn = read_rows(folder / f"drawn.{ending}", DAG.nodes).rows
    np.testing.assert_array_equal(drawn, TRUTH.sample(50, seed=7))


@pytest.mark.usefixtures("folder")
def test_sample_tells_what_it_wrote(gaussnet):
    told = json.loads(gaussnet("sample", "truth.json", "--rows", "9", "--out", "r.csv", "--json"))
    assert told == {"nodes": 3, "rows": 9, "seed": 0, "out": "r.csv"}


def test_pages_of_a_sample_are_the_sample():
    rows = default_page_rows(len(DAG)) + 10
    pages = list(sample_pages(TRUTH, rows, seed=3))
    assert len(pages) == 2
    np.testing.assert_array_equal(np.concatenate(pages), TRUTH.sample(rows, seed=3))


@pytest.mark.usefixtures("folder")
def test_sample_prints_csv_and_stops_with_its_reader():
    done = run("sample", "truth.json", "--rows", "2")
    assert done.stdout.splitlines()[0] == "season,rain,wet"
    assert len(done.stdout.splitlines()) == 3
    code = "from gaussnet.cli import main; main()"
    arguments = [sys.executable, "-c", code, "sample", "truth.json", "--rows", "200000"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.usefixtures("folder")
def test_compare_gives_the_distances_of_the_library(gaussnet):
    told = json.loads(
        gaussnet("compare", "truth.json", "model.json", "--json", "--samples", "1000")
    )
    model = gn.read_network("model.json")
    assert told["kl"] == gn.kl_divergence(TRUTH, model)
    assert told["reverse_kl"] == gn.kl_divergence(model, TRUTH)
    assert told["hellinger"] == gn.hellinger(TRUTH, model)
    variation = gn.total_variation(TRUTH, model, samples=1000, seed=0)
    assert told["total_variation"]["interval"] == list(variation.interval)
    parts = list(told["kl_by_node"].values())
    assert parts == sorted(parts, reverse=True)
    assert told["kl_by_node"] == dict(gn.kl_by_node(TRUTH, model))


@pytest.mark.usefixtures("folder")
def test_compare_of_different_graphs_has_no_parts_by_node(gaussnet):
    other = gn.simulate.random_network(gn.Dag.from_edges([], nodes=DAG.nodes), seed=0)
    other.save("other.json")
    assert "no sum over nodes" in gaussnet("compare", "truth.json", "other.json")
    assert (
        json.loads(gaussnet("compare", "truth.json", "other.json", "--json"))["kl_by_node"] is None
    )


def test_infinite_distances_are_null_in_json(folder, gaussnet):
    still = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a]"), [], [0.0])
    still.save("still.json")
    gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a]"), [], [1.0]).save("free.json")
    assert json.loads(gaussnet("compare", "free.json", "still.json", "--json"))["kl"] is None


@pytest.mark.parametrize("kind", ["erdos-renyi", "scale-free", "tree", "polytree", "chain"])
def test_simulate_writes_graph_network_and_rows_that_belong_together(folder, gaussnet, kind):
    files = ["--graph", "g.dot", "--network", "n.json", "--out", "r.csv"]
    told = json.loads(gaussnet("simulate", kind, "--nodes", "7", "--rows", "40", *files, "--json"))
    network = gn.read_network(folder / "n.json")
    assert gn.read_dag(folder / "g.dot") == network.dag
    assert read_rows(folder / "r.csv", network.dag.nodes).rows.shape == (40, 7)
    assert told == {"nodes": 7, "edges": len(network.dag.edges), "rows": 40, "spoilt_rows": 0}


def test_simulate_spoils_the_share_it_is_told_and_only_that(folder, gaussnet):
    common = ["simulate", "tree", "--nodes", "5", "--rows", "100", "--seed", "3"]
    gaussnet(*common, "--out", "clean.csv")
    gaussnet(*common, "--share", "0.2", "--spoilt-nodes", "2", "--out", "spoilt.csv")
    names = [f"X{place}" for place in range(1, 6)]
    clean, spoilt = (read_rows(folder / f"{name}.csv", names).rows for name in ("clean", "spoilt"))
    assert (clean != spoilt).sum() == 40
    assert (clean != spoilt).any(axis=1).sum() == 20


@pytest.mark.usefixtures("folder")
def test_the_same_seed_writes_the_same_bytes(folder, gaussnet):
    for name in ("one", "two"):
        gaussnet("simulate", "erdos-renyi", "--seed", "5", "--share", "0.1", "--out", f"{name}.csv")
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


@pytest.mark.parametrize(
    "arguments", [["fit"], ["fit", "rows.csv"], ["sample", "x"], ["compare", "x"]]
)
def test_wrong_usage_is_exit_two(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gaussnet", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_fit_takes_codes_of_missing_values_and_maximises_the_likelihood(gaussnet):
    coded = np.where(np.random.default_rng(0).random(ROWS.shape) < 0.1, -999.0, ROWS)
    coded[0, 0] = -99.0
    write_rows("coded.csv", DAG.nodes, [coded])
    how = ("--missing", "likelihood", "--missing-values", "-999,-99")
    gaussnet("fit", "coded.csv", "--dag", "graph.txt", *how, "--out", "out.json")
    holed = np.where(np.isin(coded, (-999.0, -99.0)), np.nan, coded)
    expected = gn.fit(holed, DAG, missing="likelihood").network
    assert gn.read_network("out.json") == expected
    assert "missing at random" in gaussnet("fit", "coded.csv", "--dag", "graph.txt", *how)


def test_a_suspected_code_is_told_in_the_words_of_the_shell(folder, gaussnet):
    rows = np.array(ROWS)
    rows[:12, 1] = -999.0
    write_rows("coded.csv", DAG.nodes, [rows])
    said = " ".join(gaussnet("fit", "coded.csv", "--dag", "graph.txt").split())
    advice = "give --missing-values -999 and --missing 'likelihood'"
    assert (
        f"-999 appears 12 times in rain, far from the other values: if it means missing, {advice}"
        in said
    )
    more = ("--missing-values", "-999", "--missing", "likelihood")
    assert "appears" not in gaussnet("fit", "coded.csv", "--dag", "graph.txt", *more)


def test_formulas_stand_in_the_place_of_a_graph_file(folder, gaussnet):
    text = "season; rain ~ season; wet ~ rain + season"
    from_text, from_file = (
        gaussnet("fit", "rows.csv", "--dag", graph, "--json") for graph in (text, "graph.txt")
    )
    assert from_text == from_file
    assert gaussnet("plan", text, "--tv", "0.1") == gaussnet("plan", "graph.txt", "--tv", "0.1")
    gaussnet("update", "all.npz", "rows.csv", "--dag", text)
    assert gn.load_summary(folder / "all.npz").rows == len(ROWS)
