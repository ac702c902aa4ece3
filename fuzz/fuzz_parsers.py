"""Feed the parsers with noise: they may raise `GaussnetError` and nothing else.

``make fuzz`` installs atheris and runs this for a minute; ``make fuzz FUZZ_SECONDS=600`` for ten.
The first byte of an input chooses the parser. Inputs start from whole files of every format; a
folder given as an argument keeps those that found something new.
"""

import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["gaussnet"]):
    from gaussnet.data import csv as csv_files
    from gaussnet.data.sources import read_rows
    from gaussnet.data.write import write_rows
    from gaussnet.errors import GaussnetError
    from gaussnet.graph import Dag
    from gaussnet.graph.formats.dot import parse_dot
    from gaussnet.graph.formats.edge_lists import parse_edge_list, parse_json
    from gaussnet.graph.formats.files import read_dag, write_dag
    from gaussnet.model.files import read_network
    from gaussnet.model.formats.text import from_csv, to_csv
    from gaussnet.model.network import GaussianNetwork

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
    table = csv_files.read_header(lambda: io.BytesIO(raw), "noise.csv", csv_files.Dialect())
    places = list(range(min(2, len(table.columns))))
    fast = csv_files.arrow_columns(table, places)
    careful = csv_files.careful_columns(table, places)
    if fast is not None and not np.array_equal(fast, careful, equal_nan=True):
        raise AssertionError("pyarrow and the careful reader differ")
    return csv_files.read_csv(lambda: io.BytesIO(raw), NAMES, "noise.csv", csv_files.Dialect())


PARSERS: tuple[Callable[[bytes], object], ...] = (
    lambda raw: Dag.parse(_text(raw)),
    lambda raw: parse_dot(_text(raw)),
    lambda raw: parse_edge_list(_text(raw), "noise.csv"),
    parse_json,
    lambda raw: from_csv(_text(raw), "noise.csv"),
    _csv_rows,
    *(_through_file(ending, read_dag) for ending in (".gml", ".graphml", ".rds")),
    *(_through_file(ending, read_network) for ending in (".json", ".rds")),
    *(
        _through_file(ending, lambda path: read_rows(path, NAMES))
        for ending in (".tsv", ".npy", ".parquet", ".arrow")
    ),
)
"""What is fuzzed; the parser of an input is its first byte modulo their number."""


def whole_files() -> list[bytes]:
    """Files that the parsers read, one or more of each format that we write."""
    dag = Dag.parse('b ~ a + "c ""d"; e')
    network = GaussianNetwork.from_arrays(dag, [0.5, -1e300], [1.0, 2.0, 0.0, 3.0])
    files = [dag.to_formulas().encode(), b"[a][b|a]", to_csv(network).encode()]
    files += [b"digraph g { subgraph s { a -> {b c} [dir=forward] } # x\n <x<y>> -- z }"]
    files += [b'from,to\na,"b ""c"""\nd,\n', b"a,b,x\r\n1,NA,t\r\n-inf,1e-3,\r\n"]
    for ending in (".dot", ".gml", ".graphml", ".json"):
        write_dag(dag, FOLDER / f"seed{ending}")
        files.append((FOLDER / f"seed{ending}").read_bytes())
    network.save(FOLDER / "seed.json")
    files.append((FOLDER / "seed.json").read_bytes())
    for ending in (".csv", ".tsv", ".npy", ".parquet", ".arrow"):
        write_rows(FOLDER / f"seed{ending}", NAMES, [np.array([[1.5, np.nan], [-2.0, 3e9]])])
        files.append((FOLDER / f"seed{ending}").read_bytes())
    return files


def write_corpus() -> Path:
    """A folder of first inputs: every whole file for every parser."""
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, raw in enumerate(whole_files()):
        for parser in range(len(PARSERS)):
            (corpus / f"{parser}-{number}").write_bytes(bytes([parser]) + raw)
    return corpus


def one_input(raw: bytes) -> None:
    """Try one input on the parser that its first byte chooses."""
    if raw:
        with suppress(GaussnetError):
            PARSERS[raw[0] % len(PARSERS)](raw[1:])


if __name__ == "__main__":
    atheris.Setup([*sys.argv, str(write_corpus())], one_input)
    atheris.Fuzz()
