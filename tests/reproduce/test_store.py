"""The folder of a run: goes on, refuses others, survives damage."""

import json

import pytest

from gaussnet.errors import FileError, SettingError
from gaussnet.reproduce.run import Run, Store
from gaussnet.reproduce.tasks import Record

RUN = Run.of(["er5"], ["plotted"], repetitions=2)
RECORDS = (Record("plotted", "er5", "cauchy", "kl", 1000, 0, 0.1 + 0.2, 1 / 3),)


def test_what_is_kept_is_read_again_to_the_last_bit(tmp_path):
    store, task = Store.open(tmp_path / "new" / "folder", RUN), RUN.tasks()[0]
    assert store.read(task) is None
    store.keep(task, RECORDS)
    assert Store.open(tmp_path / "new" / "folder", RUN).read(task) == RECORDS


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (Run.of(["tree"], ["plotted"], repetitions=2), "experiments"),
        (Run.of(["er5"], ["written"], repetitions=2), "settings"),
        (Run.of(["er5"], ["plotted"], repetitions=3), "repetitions"),
        (Run.of(["er5"], ["plotted"], repetitions=2, seed=1), "seed"),
        (Run.of(["er5"], ["plotted"], repetitions=2, nodes=50), "nodes"),
        (Run.of(["er5"], ["plotted"], repetitions=2, rows=[100]), "rows"),
    ],
)
def test_the_folder_of_another_run_is_refused(tmp_path, other, word):
    Store.open(tmp_path, RUN)
    with pytest.raises(FileError, match=f"holds a run with {word} = .* another --out"):
        Store.open(tmp_path, other)


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"gaussnet": 1}'])
def test_a_run_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(FileError, match="is not that of a run"):
        Store.open(tmp_path, RUN)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot use the folder"):
        Store.open(tmp_path / "file", RUN)


@pytest.mark.parametrize("damage", ["", "[[1, 2", "[[1, 2]]", "7"])
def test_a_damaged_task_counts_as_not_done(tmp_path, damage):
    store, task = Store.open(tmp_path, RUN), RUN.tasks()[1]
    store.keep(task, RECORDS)
    (tmp_path / "tasks" / f"{task.name}.json").write_text(damage)
    assert store.read(task) is None


def test_leftovers_of_a_killed_run_are_removed(tmp_path):
    store = Store.open(tmp_path, RUN)
    (tmp_path / "tasks" / ".plotted.er5.0000.json.abc").write_text("half")
    store.tidy()
    assert list((tmp_path / "tasks").iterdir()) == []
    assert json.loads((tmp_path / "run.json").read_text())["repetitions"] == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"repetitions": 0},
        {"seed": -1},
        {"nodes": 5},
        {"rows": [10]},
        {"experiments": ["nothing"]},
        {"settings": ["drawn"]},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(SettingError):
        Run.of(**settings)
