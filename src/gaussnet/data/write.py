"""Files of rows and tables out, page by page: the format goes by the ending of the file's name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Protocol, cast

import numpy as np

from gaussnet.data.paths import TEXT_ENDINGS, delimiter
from gaussnet.errors import DataError, FileError
from gaussnet.files import Path, check_folder, file_name, join_line, suffix, whole_file
from gaussnet.types import FloatArray

Pages = Iterable[FloatArray]
Cell = str | int | float | None
Heads = Mapping[str, type]
"""Names of the columns of a table, and what stands in them: `str`, `int` or `float`."""
TABLE_ENDINGS = (*TEXT_ENDINGS, ".parquet")


def write_rows(path: Path, names: Sequence[str], pages: Pages) -> None:
    """Write pages of rows, (rows, names) each, as one file, whole or not at all.

    The endings are ``.csv``, ``.tsv``, both also with ``.gz``, ``.parquet``, ``.arrow``,
    ``.feather`` and ``.npy``, which keeps no names. Every number keeps all digits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> write_rows(path, ["rain", "wet"], [np.array([[0.1, 2.0]])])
    >>> print(path.read_text(), end="")
    rain,wet
    0.1,2.0
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _WRITERS:
        raise FileError(
            f"cannot write rows as {file!r}: expected a name that ends in {', '.join(_WRITERS)}"
        )
    with whole_file(file) as stream:
        _WRITERS[ending](stream, names, pages, file)


def write_csv(stream: BinaryIO, names: Sequence[str], pages: Pages, delimiter: str = ",") -> None:
    """Write pages of rows as CSV to an open stream.

    Names that a spreadsheet would take for a formula are refused: such a file is opened by others.
    """
    formula = next((name for name in names if name.lstrip()[:1] in ("=", "@", "+")), None)
    if formula is not None:
        raise DataError(
            f"the column {formula!r:.60} begins with {formula.lstrip()[0]!r}, which spreadsheets "
            "take for a formula: rename it, or write Parquet"
        )
    stream.write(join_line(names, delimiter).encode("utf-8"))
    for page in pages:
        lines = (delimiter.join(map(repr, row)) for row in page.tolist())
        stream.write(("\n".join(lines) + "\n" * bool(len(page))).encode("ascii"))


def _write_csv(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    write_csv(stream, names, pages)


def _write_tsv(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    write_csv(stream, names, pages, "\t")


def _write_packed(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    """Text, compressed; the same rows give the same bytes."""
    import gzip

    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        write_csv(cast(BinaryIO, packed), names, pages, delimiter(file))


def _write_parquet(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    from gaussnet.data.arrow import write_parquet

    write_parquet(stream, names, pages, file)


def _write_arrow(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    from gaussnet.data.arrow import write_arrow

    write_arrow(stream, names, pages, file)


def _write_npy(stream: BinaryIO, names: Sequence[str], pages: Pages, file: str) -> None:
    np.save(stream, np.concatenate([np.empty((0, len(names))), *pages]), allow_pickle=False)


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[str], Pages, str], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".csv.gz": _write_packed,
    ".tsv.gz": _write_packed,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".npy": _write_npy,
}


class TableWriter(Protocol):
    """Lines of cells, on their way to a file."""

    def write(self, lines: Iterable[Sequence[Cell]]) -> None:
        """Add lines; what is None or not a number is empty."""


def check_table_file(path: Path | None) -> None:
    """Refuse early a table that cannot be written."""
    if path is None:
        return
    file = file_name(path)
    if suffix(file) not in TABLE_ENDINGS:
        raise FileError(
            f"cannot write a table as {file!r}: expected a name that ends in "
            f"{', '.join(TABLE_ENDINGS)}"
        )
    check_folder(file)
    if suffix(file) not in TEXT_ENDINGS:
        from gaussnet.data.arrow import pyarrow

        pyarrow(file)  # says that it is needed


@contextmanager
def table_file(path: Path | None, heads: Heads) -> Iterator[TableWriter]:
    """A table to write some lines at a time, whole or not at all; None writes nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cells.csv")
    >>> with table_file(path, {"row": int, "node": str, "z": float}) as table:
    ...     table.write([(3, "wet", 7.5), (9, "rain", None)])
    >>> print(path.read_text(), end="")
    row,node,z
    3,wet,7.5
    9,rain,
    """
    if path is None:
        yield _Nowhere()
        return
    file = file_name(path)
    writer = _text_lines if suffix(file) in TEXT_ENDINGS else _parquet_lines
    with whole_file(file) as stream, writer(stream, heads, file) as table:
        yield table


class _Nowhere:
    """Lines that nobody asked for."""

    def write(self, lines: Iterable[Sequence[Cell]]) -> None:
        """Nothing."""


class _TextLines:
    """Lines as text."""

    def __init__(self, stream: BinaryIO, sign: str) -> None:
        self._stream, self._sign = stream, sign

    def write(self, lines: Iterable[Sequence[Cell]]) -> None:
        text = (join_line(map(_cell, line), self._sign) for line in lines)
        self._stream.write("".join(text).encode("utf-8", "backslashreplace"))


@contextmanager
def _text_lines(stream: BinaryIO, heads: Heads, file: str) -> Iterator[_TextLines]:
    import gzip

    packed = suffix(file).endswith(".gz")
    out = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=stream, mtime=0)) if packed else stream
    table = _TextLines(out, delimiter(file))
    table.write([tuple(heads)])
    yield table
    if packed:
        out.close()


@contextmanager
def _parquet_lines(stream: BinaryIO, heads: Heads, file: str) -> Iterator[TableWriter]:
    from gaussnet.data.arrow import parquet_lines

    with parquet_lines(stream, heads, file) as table:
        yield table


def check_texts(values: Iterable[Cell]) -> None:
    """Refuse texts that cannot be written into a table of text.

    Examples
    --------
    >>> check_texts(["row 1", "-7.5", None])
    """
    for value in values:
        if isinstance(value, str):
            _cell(value)


def _cell(value: Cell) -> str:
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if not isinstance(value, str):
        return repr(value)
    if value.lstrip()[:1] in ("=", "@", "+") or (value[:1] == "-" and not _is_number(value)):
        raise DataError(
            f"the text {value!r:.60} begins with {value.lstrip()[:1]!r}, which spreadsheets take "
            "for a formula: rename it, give another column as key, or write Parquet"
        )
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
