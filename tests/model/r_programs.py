"""Run R where it is installed."""

import shutil
import subprocess
from functools import cache

import pytest


@cache
def _has(package: str) -> bool:
    program = shutil.which("Rscript")
    if program is None:
        return False
    asked = f"cat(requireNamespace('{package}', quietly = TRUE))"
    done = subprocess.run([program, "-e", asked], capture_output=True, text=True, check=False)
    return done.stdout.strip() == "TRUE"


def run_r(script: str, folder, *packages: str) -> str:
    """What the script prints, with `folder` as its working directory; skips without R."""
    for package in packages or ("base",):
        if not _has(package):
            pytest.skip(f"R or its package {package} is not installed")
    (folder / "script.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "--encoding=UTF-8", "script.R"],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
