"""`gaussnet reproduce` and `gaussnet networks`, run as a user runs them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.in_process import run

COMMAND = [sys.executable, "-c", "from gaussnet.cli import main; main()"]
SMALL = ["--nodes", "20", "--rows", "100", "--rows", "200"]


def contents(folder):
    """What can be had again: all but the page and the tasks' own files, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "index.html"
    }


def wait_for(question, seconds=300.0):
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "gave up waiting"
        time.sleep(0.01)


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


WANTED = ["reproduce", "tree", "ecoli70-noisy", "--settings", "written", *SMALL]
WANTED += ["--repetitions", "40"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done = run(*WANTED, "--workers", 1, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_stopped_run_goes_on_and_ends_with_the_same_bytes(tmp_path, whole, how):
    for attempt in range(5):  # on a busy machine a run may end before it is stopped
        folder = tmp_path / f"broken{attempt}"
        tasks = folder / "tasks"
        arguments = [*COMMAND, *WANTED, "--workers", "2", "--out", str(folder)]
        broken = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: tasks.is_dir() and len(list(tasks.glob("*.json"))) >= 3)  # noqa: B023
        workers = Path(f"/proc/{broken.pid}/task/{broken.pid}/children").read_text().split()
        os.kill(broken.pid, how)
        message = broken.communicate()[1]
        if broken.returncode != 0:
            break
    if how == signal.SIGINT:
        assert broken.returncode == 130
        assert message.strip() == "gaussnet: stopped; run the same command again to go on"
    done = len(list(tasks.glob("*.json")))
    assert 3 <= done < 80
    assert len(workers) >= 2
    wait_for(lambda: not any(is_running(worker) for worker in workers))
    assert not (folder / "results.csv").exists()
    stamps = {path: path.stat().st_mtime_ns for path in tasks.glob("*.json")}
    again = run(*WANTED, "--workers", 2, "--out", folder)
    assert again.returncode == 0, again.stderr
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    assert contents(folder) == contents(whole)


def test_json_tells_claims_and_points(tmp_path):
    done = run("reproduce", "er5", "--settings", "plotted", "--repetitions", 2, "--json",
               *SMALL, "--out", tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert [claim["number"] for claim in found["claims"]] == list(range(1, 9))
    assert len(found["points"]) == 10
    assert Path(found["page"]).is_file()
    repeated = run("reproduce", "er5", "--repetitions", 3, *SMALL, "--out", tmp_path)
    assert repeated.returncode == 1
    assert "holds a run with settings = plotted" in repeated.stderr


def test_tables_are_printed(tmp_path):
    done = run("reproduce", "ecoli70", "--settings", "plotted", "--repetitions", 2,
               "--rows", 1000, "--out", tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "CauchyEstTree" in done.stdout
    assert "of 5 points are as near as allowed" in done.stdout
    assert "not tested" in done.stdout
    assert "index.html" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "there is no experiment 'nothing'"),
        (["--settings", "drawn"], "expected 'written' or 'plotted'"),
        (["--repetitions", "0"], "got repetitions=0"),
        (["--workers", "0"], "got workers=0"),
        (["--nodes", "3"], "got nodes=3"),
        (["--seed", "-1"], "got seed=-1"),
        (["er5", "--out", "/proc/nowhere"], "cannot use the folder"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_one(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("reproduce", *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("gaussnet: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_experiments_are_listed():
    done = run("reproduce", "--list")
    assert done.returncode == 0
    for name in ("er5-all", "arth150-noisy", "batch-med-d5", "runtime"):
        assert name in done.stdout


def test_networks_are_listed():
    done = run("networks", "--json")
    assert done.returncode == 0
    sizes = {entry["name"]: (entry["nodes"], entry["edges"]) for entry in json.loads(done.stdout)}
    assert sizes == {
        "arth150": (107, 150),
        "ecoli70": (46, 70),
        "magic-irri": (64, 102),
        "magic-niab": (44, 66),
    }
    assert "magic-niab" in run("networks").stdout


def test_a_file_that_is_no_network_is_one_sentence(tmp_path):
    (tmp_path / "some.rds").write_bytes(b"not R")
    done = run("networks", "import", tmp_path / "some.rds", "--out", tmp_path / "model.json")
    assert done.returncode == 1
    assert done.stderr.startswith("gaussnet: ")
    assert not (tmp_path / "model.json").exists()
