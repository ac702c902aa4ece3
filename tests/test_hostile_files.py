"""Files as weapons: short files that ask for much time or memory are refused soon, in a sentence.

Each runs in a process of its own that may take 2 seconds of CPU beyond the import and 500 MB of
memory, as docs/trust.md says.
"""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.data.write import write_rows
from gaussnet.graph.formats.dot import parse_dot

DAG = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])

ASK = """
import time
import gaussnet as gn
import gaussnet.graph.formats.files, gaussnet.model.files, gaussnet.fitting.summary_files
start = time.process_time()
try:
    {call}
    answer = "read"
except gn.GaussnetError as problem:
    answer = f"{{type(problem).__name__}}: {{problem}}"
used = time.process_time() - start
with open("/proc/self/status") as status:  # of this program alone, not of what started it
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(used, peak, answer, sep="|")
"""


def zipped(path, values=80_000_000):
    """A .npz of zeros that unpacks to 640 MB, written in pieces."""
    head = (
        b"\x93NUMPY\x01\x00v\x00"
        + (
            f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({values},), }}".ljust(117) + "\n"
        ).encode()
    )
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("header.npy", "w", force_zip64=True) as entry,
    ):
        entry.write(head)
        for _ in range(values // 8_000_000):
            entry.write(bytes(64_000_000))


def packed(pack, count=40):
    """Many times 10 MiB of zeros after the head of an .rds file, compressed."""
    return pack(b"X\n\x00\x00\x00\x03" + bytes(count * (10 << 20)))


def many(letter):
    return " ".join(f"{letter}{i}" for i in range(3_000))


def repeated():
    return "{" + ",".join(f'"k{i}": 1' for i in range(50_000)) + ', "k49999": 1}'


TEXTS = {
    "graph.dot: 120 KB of '/* '": ("/* " * 40_000, "is not closed"),
    "graph.dot: 120 KB of quotes": ("digraph {" + '"' + '\\"' * 60_000, "is not closed"),
    "graph.dot: {3000} -> {3000}": (
        f"digraph {{ {{{many('a')}}} -> {{{many('b')}}} }}",
        "more than 2000000 edges",
    ),
    "model.json: repeated keys": (repeated(), "the key 'k49999' stands twice"),
    "model.json: 100,000 brackets": ("[" * 100_000, "not whole JSON"),
}
PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda raw: lzma.compress(raw, preset=0),
}


def write(name, path):
    """Write a hostile file, and give the words that its refusal must have."""
    kind = name.partition(": ")[2]
    if name in TEXTS:
        path.write_text(TEXTS[name][0])
        return TEXTS[name][1]
    if kind in PACKERS:
        path.write_bytes(packed(PACKERS[kind]))
        return "unpacks to more"
    if kind == "UTF-16":
        path.write_bytes("{}".encode("utf-16"))
        return "is not UTF-8 text but UTF-16"
    if kind == "a named pipe":
        os.mkfifo(path)
        return "is a named pipe"
    zipped(path)
    return "unpacks to more"


HOSTILE = (
    *TEXTS,
    *(f"model.rds: {kind}" for kind in PACKERS),
    "model.json: UTF-16",
    "summary.npz: zeros",
    "model.json: a named pipe",
    "rows.csv: a named pipe",
)
CALLS = {
    ".dot": "gn.read_dag({path!r})",
    ".json": "gn.read_network({path!r})",
    ".rds": "gn.read_network({path!r})",
    ".npz": "gn.load_summary({path!r})",
    ".csv": "gn.fit({path!r}, gn.Dag.parse('b ~ a'))",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc")
def test_a_hostile_file_is_refused_in_little_time_and_memory(name, tmp_path):
    path = tmp_path / name.partition(":")[0]
    words = write(name, path)
    call = CALLS[path.suffix].format(path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(call=call)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    seconds, kilobytes, answer = done.stdout.strip().split("|", 2)
    assert words in answer
    assert "Error: " in answer
    assert "\n" not in answer
    assert float(seconds) < 2.0
    assert int(kilobytes) < 500_000
    if "GAUSSNET_TELL" in os.environ:  # the table of docs/trust.md
        cells = (f"{name} ({path.stat().st_size / 1e6:.2g} MB)", f"{float(seconds):.2f} s")
        sentence = answer.split(str(tmp_path))[-1]
        with Path(os.environ["GAUSSNET_TELL"]).open("a") as table:
            table.write(f"| {' | '.join(cells)} | {int(kilobytes) // 1000} MB | {sentence} |\n")


def test_comments_and_quotes_that_end_with_the_text_are_read():
    assert parse_dot("digraph { a -> b } /* end */")[0] == ("a", "b")
    assert parse_dot("digraph { a /* x */ -> b } // end")[0] == ("a", "b")
    assert parse_dot('digraph { "a\\"" -> b }')[0] == ('a"', "b")
    for text in ("digraph { a } /*", "digraph { a } /*/", 'digraph { "a', 'digraph { "a\\"', '"\\'):
        with pytest.raises(gn.GraphError, match="is not closed"):
            parse_dot(text)


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", " =1"])
def test_names_that_spreadsheets_run_are_not_written_to_csv(name, tmp_path):
    with pytest.raises(gn.DataError, match="take for a formula"):
        write_rows(tmp_path / "rows.csv", ["a", name], [np.zeros((1, 2))])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("page_rows", 0), ("page_rows", -1), ("page_rows", 1e300), ("page_rows", True),
        ("closed", 10**12), ("closed", -1), ("sizes", [10**9] * 3), ("sizes", "x"),
        ("dropped", -5), ("dropped", 0.5), ("missing", "drop-by-node"), ("missing", None),
        ("intercept", 2), ("nodes", []), ("nodes", ["a", "a"]), ("edges", [["a", "a"]]),
        ("method", {"name": "batch-median", "settings": {"batches": 10**18}}),
    ],
)  # fmt: skip
def test_tampered_headers_of_summaries_are_refused(key, value, tmp_path):
    path = tmp_path / "summary.npz"
    gn.summarize(np.random.default_rng(0).normal(size=(50, 2)), DAG).save(path)
    with np.load(path) as found:
        arrays = dict(found)
    header = json.loads(arrays["header"].tobytes()) | {key: value}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(gn.FileError, match="is not a whole summary"):
        gn.load_summary(path)


WRITE_SLOWLY = """
import sys, time
from gaussnet.files import whole_file
with whole_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_a_killed_writer_left_is_swept_by_the_next_write(tmp_path):
    def start(name):
        command = [sys.executable, "-c", WRITE_SLOWLY, str(tmp_path / name)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline() == "ready\n"
        return writer

    killed, alive = start("one.txt"), start("two.txt")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    for left in tmp_path.glob(".gaussnet-*.tmp"):
        os.utime(left, (time.time() - 10.0,) * 2)
    assert len(list(tmp_path.glob(".gaussnet-*.tmp"))) == 2
    try:
        gn.write_dag(DAG, tmp_path / "graph.csv")
        assert len(list(tmp_path.glob(".gaussnet-*.tmp"))) == 1  # the one that is being written
        assert (tmp_path / "graph.csv").exists()
    finally:
        alive.kill()
        alive.wait()
        alive.stdout.close()
        killed.stdout.close()
