"""Every snippet and link of the README and the documents is true."""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.in_process import run

import gaussnet as gn

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


SMALL = ["--repetitions", "1", "--nodes", "20", "--rows", "200"]
"""An experiment of the paper that takes a second."""


def run_gaussnet(command):
    """Run a command of a page, ``gaussnet ...``, in this folder; it must succeed."""
    done = run(*command[1:])
    assert done.returncode == 0, (command, done.stderr)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_snippets_print_what_the_document_says(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(document), module_relative=False, encoding="utf-8")
    assert results.failed == 0
    written = document.read_text(encoding="utf-8").count(">>> ")
    assert results.attempted == written


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_are_of_a_kind_that_is_run(document):
    kinds = set(re.findall(r"^```(\w+)", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert kinds <= {"pycon"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_commands_of_the_readme_are_targets_of_the_makefile():
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    commands = re.findall(r"^make (\w+)", block, re.MULTILINE)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


def test_shell_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From the shell")[1]
    section = section.split("\n## ")[0]
    graph = re.findall(r"^    (.+ ~ .+)$", section, re.MULTILINE)
    assert len(graph) == 3
    (tmp_path / "graph.txt").write_text("\n".join(graph))
    truth = gn.simulate.random_network(gn.read_dag(tmp_path / "graph.txt"), seed=0)
    truth.save(tmp_path / "other.json")
    rows = truth.sample(500, seed=1)
    header = ",".join(truth.dag.nodes)
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header=header, comments="")
    lines = [line for block in section.split("```")[1::2] for line in block.splitlines()]
    commands = [command for line in lines if (command := shlex.split(line, comments=True))]
    assert len(commands) == 15
    for command in commands:
        run_gaussnet([*command[:3], *SMALL] if command[1] == "reproduce" else command)
    assert 10_000 < (tmp_path / "report.html").stat().st_size < 2_000_000


def test_shell_commands_of_the_page_on_studies_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    commands = [
        shlex.split(line) for line in re.findall(r"^    (gaussnet .+)$", page, re.MULTILINE)
    ]
    assert len(commands) == 4
    rng = np.random.default_rng(0)
    rows = [
        f"{fuel},{weight:.1f},{weight / 50 + rng.normal():.2f}"
        for fuel, weight in zip(
            rng.choice(["Petrol", "Diesel", "Hybrid"], 60), rng.normal(1_500, 300, 60), strict=True
        )
    ]
    for name, own in (("cars.csv", rows), ("new.csv", rows[:20])):
        (tmp_path / name).write_text("\n".join(["fuel,weight,mpg", *own]))
    (tmp_path / "graph.txt").write_text("weight ~ fuel; mpg ~ fuel + weight")
    for command in commands:
        run_gaussnet(command)
