"""What a run leaves behind: complete, self-contained, and the same whenever it is written."""

import csv
import re
from html.parser import HTMLParser

import pytest

from gaussnet.reproduce.outputs import write_reproduction
from gaussnet.reproduce.run import Run, Store

RUN = Run.of(["er5", "agnostic-tree", "runtime"], repetitions=2, nodes=20, rows=[100, 200])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    store = Store.open(folder, RUN)
    for task in (*RUN.tasks(), *RUN.tasks(timed=True)):
        store.keep(task, task.run())
    write_reproduction(RUN, store)
    return folder


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def table(folder, name):
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_is_there(folder):
    names = set(contents(folder))
    pictures = {
        f"figures/{settings}-{name}.{kind}"
        for settings in RUN.settings
        for name in ("er5", "agnostic-tree")
        for kind in ("png", "svg")
    }
    tables = {"results.csv", "results.parquet", "summary.csv", "claims.csv", "deviations.csv"}
    timed = {"runtime/results.csv", "runtime/summary.csv", "runtime/claims.csv"}
    assert pictures | tables | timed | {"index.html", "runtime/plotted.png"} <= names


def test_writing_again_gives_the_same_bytes(folder):
    before = contents(folder)
    write_reproduction(RUN, Store.open(folder, RUN))
    assert contents(folder) == before


def test_results_hold_every_number_in_order(folder):
    rows = table(folder, "results.csv")
    keys = [(row["settings"], row["experiment"], row["repetition"]) for row in rows]
    assert list(dict.fromkeys(keys)) == [
        (task.settings, task.experiment, str(task.repetition)) for task in RUN.tasks()
    ]
    # 5 methods at 2 sizes; agnostic: twice, and the projection
    assert len(rows) == 2 * 2 * (10 + 22)


def test_times_stay_out_of_what_can_be_had_again(folder):
    assert {row["measure"] for row in table(folder, "results.csv")} == {"kl", "excess"}
    assert {row["measure"] for row in table(folder, "runtime/results.csv")} == {"seconds"}
    assert "8" not in {row["number"] for row in table(folder, "claims.csv")}
    assert {row["number"] for row in table(folder, "runtime/claims.csv")} == {"8"}


def test_other_networks_than_the_paper_s_are_not_compared_with_its_figures(folder):
    assert table(folder, "deviations.csv") == []


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.sources, self.unbalanced = [], [], False

    def handle_starttag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in {"src", "href"}]
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.unbalanced |= not self.open or self.open.pop() != tag


def test_the_page_needs_no_other_file(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert not links.unbalanced
    assert links.open == []
    assert len(links.sources) == 6
    assert all(source.startswith("data:image/svg+xml;base64,") for source in links.sources)
    assert not re.search(r"<script|@import|url\(", page)


def test_the_page_shows_claims_figures_and_numbers(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    for text in ("does not hold", "not tested", "information limit", "CauchyEstTree", "excess"):
        assert text in page
    assert "prefers-color-scheme: dark" in page
    assert 'id="agnostic-tree"' in page
