"""The C sources compile without a warning, by GCC and Clang."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "src/gaussnet/kernels/c"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wno-psabi", "-Werror"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("source", ["module.c", "baseline.c", "avx2.c"])
def test_sources_compile_without_a_warning(compiler: str, source: str) -> None:
    if not shutil.which(compiler) or not (FOLDER / source).exists():
        pytest.skip(f"no {compiler}, or no sources here")
    include = [f"-I{FOLDER}", f"-I{sysconfig.get_path('include')}"]
    command = [compiler, "-std=gnu11", "-fsyntax-only", *WARNINGS, *include, str(FOLDER / source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
