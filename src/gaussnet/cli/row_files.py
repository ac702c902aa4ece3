"""Rows file by file, with where each stands and what it is called; tables of text out."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

import gaussnet as gn
from gaussnet.cli.fit import missing_codes, split_columns
from gaussnet.cli.printing import Steps
from gaussnet.data.codes import checked_codes, recoded
from gaussnet.data.column_order import in_column_order
from gaussnet.data.columns import Loaded
from gaussnet.data.labels import Beside, open_labels
from gaussnet.data.paths import TEXT_ENDINGS, delimiter, files_of
from gaussnet.data.sources import ArraySource, open_data
from gaussnet.errors import DataError, FileError, SettingError
from gaussnet.files import check_folder, join_line, suffix, whole_file
from gaussnet.types import FloatArray

Cell = str | int | float | None


class FilePage(NamedTuple):
    """Successive rows of one file."""

    file: str
    first: int
    """Number of the first row in the file, from 0."""
    rows: FloatArray
    """(rows, nodes)."""
    keys: list[Any] | None
    """What each row is called, if a column says so."""


@dataclass(frozen=True, slots=True)
class RowFiles:
    """Files of rows by the nodes of a network."""

    data: str | list[str]
    missing_values: str | None = None
    columns: str | None = None
    key: str | None = None

    def opened(self, dag: gn.Dag) -> Any:
        """All rows as they can be read more than once, in the order of the nodes."""
        return self._opened(self.data, dag)

    def pages(self, dag: gn.Dag, tell: Steps) -> Iterator[FilePage]:
        """Some rows at a time, file by file."""
        for file in files_of(self.data):
            source = recoded(self._opened(file, dag), self._codes)
            if isinstance(source, Loaded):
                source = ArraySource(source.rows, source.ignored)
            total = source.count()
            if self.key is not None:
                source = Beside((source, open_labels(file, self.key, "--key")))
            first = 0
            for chunk in source.chunks():
                numbers = [np.asarray(column, dtype=np.float64) for column in chunk[: len(dag)]]
                keys = None if self.key is None else list(chunk[len(dag)])
                rows = np.column_stack(numbers)
                yield FilePage(file, first, rows, keys)
                first += len(rows)
                tell.rows(first, total)

    @property
    def _codes(self) -> tuple[float, ...]:
        return checked_codes(missing_codes(self.missing_values))

    def _opened(self, data: str | list[str], dag: gn.Dag) -> Any:
        given, ordered = in_column_order(data, dag, split_columns(self.columns))
        if ordered.nodes != dag.nodes:
            raise SettingError(
                "the columns without names are in another order than the nodes of the model: "
                "give a file with named columns"
            )
        return open_data(given, dag.nodes, factors=dag.factors)


def check_table(path: Path | None) -> None:
    """Refuse early a table that cannot be written."""
    if path is None:
        return
    if suffix(path) not in TEXT_ENDINGS:
        raise FileError(
            f"cannot write a table as {str(path)!r}: expected a name that ends in "
            f"{', '.join(TEXT_ENDINGS)}"
        )
    check_folder(path)


@contextmanager
def text_table(path: Path | None, heads: Sequence[str]) -> Iterator["TextTable"]:
    """A table to write line by line, whole or not at all; None writes nothing."""
    if path is None:
        yield TextTable(None, ",")
        return
    sign = delimiter(str(path))
    with whole_file(path) as stream:
        packed = suffix(path).endswith(".gz")
        out = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=stream, mtime=0)) if packed else stream
        table = TextTable(out, sign)
        table.write([heads])
        yield table
        if packed:
            out.close()


@dataclass(frozen=True, slots=True)
class TextTable:
    """Lines of cells, on their way to a file."""

    stream: BinaryIO | None
    delimiter: str

    def write(self, lines: Iterable[Sequence[Cell]]) -> None:
        """Add lines; what is None or not a number is empty."""
        if self.stream is None:
            return
        text = (join_line(map(_cell, line), self.delimiter) for line in lines)
        self.stream.write("".join(text).encode("utf-8", "backslashreplace"))


def _cell(value: Cell) -> str:
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if not isinstance(value, str):
        return repr(value)
    if value.lstrip()[:1] in ("=", "@", "+") or (value[:1] == "-" and not _is_number(value)):
        raise DataError(
            f"the text {value!r:.60} begins with {value.lstrip()[:1]!r}, which spreadsheets take "
            "for a formula: rename it, or give another column for --key"
        )
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
