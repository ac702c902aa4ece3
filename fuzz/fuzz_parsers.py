"""Feed the parsers with noise: they may raise `GaussnetError` and nothing else.

Needs atheris: ``pip install atheris``, then ``python fuzz/fuzz_parsers.py -max_total_time=60``.
The first byte of an input chooses the parser; ``fuzz/corpus`` collects inputs if it is given as
an argument.
"""

import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gaussnet"]):
    from gaussnet.errors import GaussnetError
    from gaussnet.graph import Dag, read_dag
    from gaussnet.graph.dot import parse_dot
    from gaussnet.graph.edge_lists import parse_edge_list
    from gaussnet.graph.json_graphs import parse_json
    from gaussnet.model.formats.tables import from_csv
    from gaussnet.model.interchange import read_network
    from gaussnet.stream import csv_files
    from gaussnet.stream.sources import read_rows

NAMES = ["a", "b"]
FOLDER = Path(tempfile.mkdtemp())


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _through_file(ending: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    path = FOLDER / f"input{ending}"

    def parse(raw: bytes) -> object:
        path.write_bytes(raw)
        return read(path)

    return parse


def _csv_rows(raw: bytes) -> object:
    """Both readers of CSV; where pyarrow finds numbers, they are those of the careful one."""
    table = csv_files.read_header(lambda: io.BytesIO(raw), "noise.csv", ",")
    places = list(range(min(2, len(table.columns))))
    fast = csv_files.arrow_columns(table, places)
    careful = csv_files.careful_columns(table, places)
    if fast is not None and fast.tobytes() != careful.tobytes():
        raise AssertionError("pyarrow and the careful reader differ")
    return csv_files.read_csv(lambda: io.BytesIO(raw), NAMES, "noise.csv", ",")


PARSERS: tuple[Callable[[bytes], object], ...] = (
    lambda raw: Dag.parse(_text(raw)),
    lambda raw: Dag.parse("[" + _text(raw)),
    lambda raw: parse_dot("digraph {" + _text(raw)),
    lambda raw: parse_edge_list(_text(raw), "noise.csv"),
    parse_json,
    lambda raw: from_csv("node,quantity,parent,value\n" + _text(raw), "noise.csv"),
    _csv_rows,
    lambda raw: _csv_rows(b"a,b\n" + raw),
    *(_through_file(ending, read_dag) for ending in (".gml", ".graphml", ".rds", ".dot", ".txt")),
    *(_through_file(ending, read_network) for ending in (".json", ".rds")),
    *(
        _through_file(ending, lambda path: read_rows(path, NAMES))
        for ending in (".tsv", ".npy", ".parquet", ".arrow")
    ),
)


def one_input(raw: bytes) -> None:
    """Try one input on the parser that its first byte chooses."""
    if raw:
        with suppress(GaussnetError):
            PARSERS[raw[0] % len(PARSERS)](raw[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
