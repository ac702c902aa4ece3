"""The examples run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_an_example_runs_and_says_something(example, tmp_path):
    run = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) > 5
    for page in tmp_path.glob("*.html"):
        assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
