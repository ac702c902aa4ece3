"""Ctrl-C: a real SIGINT ends what would take minutes at once, in Python and in the shell.

Each piece of work below takes a compiled call far longer than the test waits for its end.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SOON = 20.0
"""Seconds for a process to end on the busiest machine; the work itself takes minutes."""

STAR = """
import sys
import numpy as np
import gaussnet as gn
names = [f"x{k}" for k in range(PARENTS)] + ["y"]
rows = np.random.default_rng(0).normal(size=(ROWS, PARENTS + 1))
dag = gn.Dag.from_edges([(name, "y") for name in names[:-1]], nodes=names)
print("ready", flush=True)
try:
    WORK
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
print("done")
"""

WORK = {
    "batches in two threads": (1_200, 40_000, "gn.fit(rows, dag, 'batch-median', threads=2)"),
    "batches in one thread": (1_200, 40_000, "gn.fit(rows, dag, 'batch-median', threads=1)"),
    "windows": (1_200, 20_000, "gn.fit(rows, dag, 'cauchy-tree', threads=2)"),
    "moments": (5_000, 6_000, "gn.fit(rows, dag, threads=2)"),
}


def interrupted(command: list[str], folder: str = ".") -> tuple[int, str, str]:
    """What a process says and how it ends when it is interrupted a second after it began."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    if "-c" in command:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    time.sleep(1.0 if "-c" in command else 4.0)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=SOON)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("Ctrl-C was not heard")
    return process.returncode, out, err


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_long_work_at_once(name: str) -> None:
    parents, rows, work = WORK[name]
    code = STAR.replace("PARENTS", str(parents)).replace("ROWS", str(rows)).replace("WORK", work)
    status, out, err = interrupted([sys.executable, "-c", code])
    assert out == "interrupted\n"
    assert status == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_in_the_shell_leaves_no_file_and_no_traceback(tmp_path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{k}" for k in range(1_200)] + ["y"]
    values = np.random.default_rng(0).normal(size=(len(names), 16_000)).astype(np.float32)
    parquet.write_table(pa.table(list(values), names=names), tmp_path / "rows.parquet")
    (tmp_path / "graph.txt").write_text(f"y ~ {' + '.join(names[:-1])}\n")
    command = [sys.executable, "-m", "gaussnet", "fit", "rows.parquet", "--dag", "graph.txt"]
    options = ["--method", "batch-median", "--out", "net.json"]
    status, out, err = interrupted([*command, *options], str(tmp_path))
    assert (status, out) == (130, "")
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["graph.txt", "rows.parquet"]
