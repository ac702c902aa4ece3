"""`gaussnet fit --report` and `gaussnet report`."""

import hashlib
import json
import sys

import pytest
from tests.cli.test_commands import DAG, ROWS, folder, gaussnet

import gaussnet as gn
from gaussnet.cli import main
from gaussnet.report.findings import findings_of_network

__all__ = ["folder", "gaussnet"]


def page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_fit_writes_model_and_report(folder, gaussnet):
    command = ["fit", "rows.csv", "--dag", "graph.txt", "--method", "cauchy", "--scale", "mad"]
    words = gaussnet(*command, "--out", "net.json", "--report", "report.html")
    assert "network written to net.json" in words
    assert "report written to report.html" in words
    assert gn.read_network(folder / "net.json").dag == DAG
    source = page(folder)
    assert hashlib.sha256((folder / "rows.csv").read_bytes()).hexdigest() in source
    assert f"gaussnet {' '.join(command)} --out net.json --report report.html" in source
    assert "Fitted by cauchy; noise variances from median absolute deviations" in source
    told = json.loads(gaussnet(*command, "--report", "report.html", "--json"))
    assert told["report"] == "report.html"


def test_report_of_rows_and_graph_is_that_of_fit(folder, gaussnet):
    gaussnet("report", "rows.csv", "--dag", "graph.txt", "--out", "report.html")
    gn.write_report(
        gn.fit("rows.csv", DAG),
        folder / "again.html",
        source="rows.csv",
        command="gaussnet report rows.csv --dag graph.txt --out report.html",
    )
    assert (folder / "again.html").read_text(encoding="utf-8") == page(folder)


def test_report_of_rows_and_model_shows_the_model(folder, gaussnet):
    told = json.loads(
        gaussnet("report", "rows.csv", "--model", "truth.json", "--out", "report.html", "--json")
    )
    assert told == {
        "report": "report.html",
        "bytes": (folder / "report.html").stat().st_size,
        "nodes": 3,
        "edges": 3,
    }
    assert "A network from a file" in page(folder)
    assert "No standard errors" in page(folder)


def test_title_date_and_level_stand_in_the_report(folder, gaussnet):
    options = ["--title", "Garden <1>", "--date", "2026-05-01", "--level", "0.9"]
    gaussnet("report", "rows.csv", "--dag", "graph.txt", "--out", "report.html", *options)
    source = page(folder)
    assert "<h1>Garden &lt;1&gt;</h1>" in source
    assert "2026-05-01" in source
    assert "90 % from" in source


@pytest.mark.usefixtures("folder")
def test_rows_of_the_standard_input_have_a_report_too(folder, gaussnet, monkeypatch):
    import io
    import sys

    raw = (folder / "rows.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    gaussnet("report", "-", "--dag", "graph.txt", "--out", "report.html")
    assert "SHA-256 of the rows" in page(folder)
    assert "SHA-256 of the data" not in page(folder)
    assert f"{len(ROWS)}</dd><dt>rows" in page(folder)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--weights", "w", "--missing", "likelihood"], "--missing, --weights"),
        (["--method", "robust"], "--method"),
        (["--no-intercept"], "--no-intercept"),
        (["--levels", "fuel=Gas,Diesel"], "--levels"),
    ],
)
def test_options_of_learning_are_refused_with_a_saved_network(
    folder, monkeypatch, capsys, given, named
):
    model = ["--model", "truth.json", "--out", "report.html"]
    monkeypatch.setattr(sys, "argv", ["gaussnet", "report", "rows.csv", *model, *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    told = " ".join(capsys.readouterr().err.split())
    assert f"got {named} with --model, which learns nothing" in told
    assert not (folder / "report.html").exists()


def test_codes_of_missing_values_are_missing_in_the_report_of_a_saved_network(folder, gaussnet):
    def report(rows, *options):
        text = "\n".join(",".join(str(cell) for cell in row) for row in rows)
        (folder / "rows.csv").write_text(f"{','.join(DAG.nodes)}\n{text}\n")
        model = ("--model", "truth.json", "--out", "report.html", "--json")
        gaussnet("report", "rows.csv", *model, *options)
        return page(folder).split("gaussnet report rows.csv")[0]

    cells = ROWS.tolist()
    cells[3][1] = ""
    empty = report(cells)
    cells[3][1] = -999
    assert report(cells, "--missing-values", "-999") == empty
    assert report(cells) != empty


def test_the_report_of_a_saved_network_leaves_out_and_lists_flagged_cells(folder, gaussnet):
    rows = gn.read_network("truth.json").sample(500, seed=3)
    rows[::50, 1] = 1e4
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    (folder / "dirty.csv").write_text(f"{','.join(DAG.nodes)}\n{text}\n")
    gaussnet("fit", "dirty.csv", "--dag", "graph.txt", "--method", "robust", "--out", "net.json")
    gaussnet("report", "dirty.csv", "--model", "net.json", "--out", "report.html")
    found = findings_of_network(gn.read_network("net.json"), "dirty.csv")
    assert len(found.outliers) >= 10
    assert not found.shapes.wild.any()
    assert not (found.r2 < 0.0).any()
    source = page(folder)
    assert "Flagged cells" in source
    assert "wild values" not in source
    assert "without 10 flagged values" in source


def test_defined_quantities_are_printed_and_stand_in_the_report(folder, gaussnet):
    first, second = next(iter(DAG.edges))
    (folder / "labels.txt").write_text(f"{second} ~ a*{first}\ntwice := 2*a\n")
    command = ("fit", "rows.csv", "--dag", "labels.txt")
    words = gaussnet(*command, "--report", "report.html")
    assert "Defined quantities (standard errors: delta method" in words
    assert "twice" in words
    (told,) = json.loads(gaussnet(*command, "--json"))["defined"]
    expected = gn.fit("rows.csv", "labels.txt").defined().to_dicts()[0]
    assert told == pytest.approx(expected)
    assert "<h2>Defined quantities</h2>" in page(folder)
