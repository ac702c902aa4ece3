"""Every snippet and link of the README and the documents is true."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


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
