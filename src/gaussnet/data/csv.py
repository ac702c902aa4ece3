"""Comma- and tab-separated files as rows of numbers.

pyarrow reads them where it can, but for small files of nothing but numbers; a reader in Python,
cell by cell, takes what pyarrow refuses and says in which line something is wrong.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np

from gaussnet.data.columns import Loaded, arrow_numbers, column_indices, other_columns
from gaussnet.data.paths import decimal_sign, delimiter, open_text
from gaussnet.data.sources import Chunk, Stamp, cut
from gaussnet.errors import DataError, FileError
from gaussnet.files import decode
from gaussnet.types import FloatArray

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "none")
MISSING_LABELS = frozenset(MISSING) - {"none"}
"""Texts that say of a category that it is not known; "none" may be the name of a treatment."""
STANDARD_INPUT_NAME = "standard input"
CHUNK_ROWS = 8_192
HEAD_BYTES = 1 << 16
"""So much of a file tells which of its columns hold text."""
BLOCK_BYTES = 1 << 22
PLAIN_BYTES = 1 << 21
"""Up to so many bytes Python reads plain numbers sooner than it imports pyarrow."""
PLAIN = b"0123456789+-.eE"
"""What plain numbers are written with."""

Opener = Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the cells of a text file are separated and written."""

    delimiter: str = ","
    decimal: str = "."

    @classmethod
    def of(cls, file: str) -> "Dialect":
        """As the path says, or the ending of its name."""
        return cls(delimiter(file), decimal_sign(file))

    def number(self, cell: str) -> float | None:
        """The number in a cell, NaN for missing, None for anything else.

        Examples
        --------
        >>> Dialect().number(" 0.5"), Dialect(";", ",").number("0,5"), Dialect().number("0,5")
        (0.5, 0.5, None)
        """
        word = cell.strip()
        if word in MISSING:
            return np.nan
        if not word.isascii() or "_" in word:
            return None
        if self.decimal != ".":
            if "." in word:  # 1.234 may be a thousand and more
                return None
            word = word.replace(self.decimal, ".")
        try:
            return float(word)
        except ValueError:
            return None

    def numbers(self, cells: list[str]) -> list[float] | int:
        """The numbers of all cells, or the index of the first cell that is none."""
        whole = "".join(cells)
        if self.decimal == "." and whole.isascii() and "_" not in whole:
            try:
                return [float(cell) for cell in cells]
            except ValueError:
                pass
        numbers = []
        for index, cell in enumerate(cells):
            number = self.number(cell)
            if number is None:
                return index
            numbers.append(number)
        return numbers


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file, its header, and where its rows begin."""

    open: Opener
    name: str
    """For messages."""
    dialect: Dialect
    header: bytes
    columns: tuple[str, ...]

    @property
    def header_lines(self) -> int:
        """Lines up to the end of the header."""
        return self.header.count(b"\n")

    @property
    def is_named(self) -> bool:
        """Whether it can be opened by its name, and so as often as needed."""
        return self.name != STANDARD_INPUT_NAME

    def body(self) -> BinaryIO:
        """The file after its header."""
        stream = self.open()
        stream.read(len(self.header))
        return stream


def read_csv(open_file: Opener, names: Sequence[str], file: str, dialect: Dialect) -> Loaded:
    """The named columns of a file that can be opened more than once; `file` is for messages.

    Examples
    --------
    >>> text = b"time,wet,rain\\n1,0.5,2\\n2,NA,3\\n"
    >>> read_csv(lambda: io.BytesIO(text), ["rain", "wet"], "rows.csv", Dialect()).rows
    array([[2. , 0.5],
           [3. , nan]])
    """
    opened = read_header(open_file, file, dialect)
    indices = find_columns(opened, names)
    columns = plain_columns(opened, indices)
    if columns is None:
        columns = arrow_columns(opened, indices)
    if columns is None:
        columns = careful_columns(opened, indices)
    return Loaded(columns.T, other_columns(opened.columns, indices))


def read_header(open_file: Opener, file: str, dialect: Dialect) -> CsvFile:
    """The first line that is not blank, cut into the names of the columns."""
    with open_file() as stream:
        header = _header_bytes(stream)
    if _has_bare_returns(header):  # lines that end as on old Macs
        with open_file() as stream:
            raw = stream.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return read_header(lambda: io.BytesIO(raw), file, dialect)
    text = decode(header, file)
    if not text.strip():
        raise FileError(f"{file!r} is empty: expected a first line that names the columns")
    try:
        (cells,) = csv.reader([text.strip("\r\n")], delimiter=dialect.delimiter, strict=True)
    except (csv.Error, ValueError):
        raise FileError(
            f"the first line of {file!r} has a quote that is not closed: mend the names of the "
            "columns"
        ) from None
    return CsvFile(open_file, file, dialect, header, tuple(cells))


def careful_columns(file: CsvFile, indices: Sequence[int]) -> FloatArray:
    """The columns at these indices, (indices, rows), read cell by cell."""
    parts = [_chunk_numbers(chunk, file, indices) for chunk in _chunks(file)]
    return np.concatenate(parts, axis=1) if parts else np.empty((len(indices), 0))


def plain_columns(file: CsvFile, indices: Sequence[int]) -> FloatArray | None:
    """The columns that `careful_columns` gives, of a small file in which all cells are numbers.

    None for other files.
    """
    with file.body() as stream:
        body = stream.read(PLAIN_BYTES + 1)
    cells = None if len(body) > PLAIN_BYTES else _plain_cells(file, body)
    return None if cells is None else np.ascontiguousarray(cells[:, indices].T)


def _plain_cells(file: CsvFile, body: bytes) -> FloatArray | None:
    """The cells of whole lines in which all are numbers, (lines, columns); None for others."""
    sign, width = file.dialect.delimiter.encode(), len(file.columns)
    if file.dialect.decimal != "." or len(sign) != 1 or sign in PLAIN:
        return None
    body = body.replace(b"\r\n", b"\n")
    if body.translate(None, PLAIN + sign + b"\n"):
        return None
    lines = [line for line in body.split(b"\n") if line]
    if not lines or any(line.count(sign) != width - 1 for line in lines):
        return None
    try:
        return np.array([*map(float, sign.join(lines).split(sign))]).reshape(-1, width)
    except ValueError:  # a cell without a number
        return None


def arrow_columns(file: CsvFile, indices: Sequence[int]) -> FloatArray | None:
    """The columns that `careful_columns` gives, by pyarrow; None if it is absent or refuses."""
    try:
        from pyarrow import ArrowException, csv as arrow_csv
    except ImportError:
        return None
    if not indices or _has_no_rows(file):
        return None
    try:
        with file.body() as stream:
            found = arrow_csv.read_csv(stream, *_arrow_options(file, indices))
    except (ArrowException, OSError):
        return None
    columns = np.empty((len(indices), found.num_rows))
    for index, column in enumerate(found.columns):
        _write_chunks(column, columns[index])
    return columns


def _has_no_rows(file: CsvFile) -> bool:
    """Whether nothing stands below the heading: a reader of pyarrow that refuses it may leave a
    thread behind, which ends the process with a signal."""
    with file.body() as stream:
        return not stream.read(1 << 16).strip()


def _write_chunks(column: Any, out: FloatArray) -> None:
    """Copy an Arrow column chunk by chunk: as a whole it would import pandas where that is."""
    first = 0
    for chunk in column.chunks:
        out[first : first + len(chunk)] = arrow_numbers(chunk)
        first += len(chunk)


def arrow_chunks(file: CsvFile, indices: Sequence[int]) -> Iterator[list[FloatArray]]:
    """Chunks of `arrow_columns`, one array a column; what pyarrow refuses ends it with OSError."""
    from pyarrow import ArrowException, csv as arrow_csv

    if _has_no_rows(file):
        return
    try:
        with (
            file.body() as stream,
            arrow_csv.open_csv(stream, *_arrow_options(file, indices)) as reader,
        ):
            for batch in reader:
                yield [arrow_numbers(column) for column in batch.columns]
    except ArrowException as problem:
        raise OSError(str(problem)) from problem


def careful_chunks(file: CsvFile, indices: Sequence[int]) -> Iterator[list[FloatArray]]:
    """Chunks of `careful_columns`, one array a column."""
    for chunk in _chunks(file):
        yield list(_chunk_numbers(chunk, file, indices))


def text_chunks(file: CsvFile, index: int) -> Iterator[list[str | None]]:
    """The cells of one column as text, some thousand at a time."""
    for chunk in _chunks(file):
        yield [cells[index] for _, cells in chunk]


def label_chunks(file: CsvFile, index: int) -> Iterator[list[str | None]]:
    """The cells of a column of categories, some thousand at a time; None for missing ones."""
    for cells in text_chunks(file, index):
        if not "".join(cell or "" for cell in cells).isprintable():
            _require_utf8(cells, file, index)
        yield [None if cell is None or cell.strip() in MISSING_LABELS else cell for cell in cells]


def _require_utf8(cells: Sequence[str | None], file: CsvFile, index: int) -> None:
    """Refuse bytes that are no text, which would be odd names of levels."""
    for cell in cells:
        try:
            (cell or "").encode()
        except UnicodeEncodeError:
            raise DataError(
                f"the column {file.columns[index]!r} of {file.name!r} holds text that is not "
                "UTF-8: save the file as UTF-8"
            ) from None


def columns_of_text(file: CsvFile) -> list[str]:
    """The columns that hold something else than numbers among the first rows, or nothing there.

    Examples
    --------
    >>> text = b"fuel,mpg\\nGas,1\\nDiesel,2.5\\n"
    >>> columns_of_text(read_header(lambda: io.BytesIO(text), "cars.csv", Dialect()))
    ['fuel']
    """
    with file.body() as stream:
        head = stream.read(HEAD_BYTES)
    whole = head[: head.rfind(b"\n") + 1] if len(head) == HEAD_BYTES else head
    if _plain_cells(file, whole) is not None:
        return []
    lines = head.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    if len(head) == HEAD_BYTES:
        lines = lines[:-1]  # cut short
    numbers = [0] * len(file.columns)
    has_text = [False] * len(file.columns)
    with suppress(csv.Error):  # told where the file is read
        for cells in csv.reader(lines, delimiter=file.dialect.delimiter):
            for index, cell in enumerate(cells[: len(numbers)]):
                number = file.dialect.number(cell)
                has_text[index] |= number is None or cell.strip() == "none"
                numbers[index] += number is not None and number == number  # noqa: PLR0124
    return [
        name.strip()
        for name, text, count in zip(file.columns, has_text, numbers, strict=True)
        if text or not count
    ]


def open_csv(file: str) -> CsvFile:
    """A file whose path says how its columns are separated."""
    return read_header(lambda: open_text(file), file, Dialect.of(file))


def _arrow_options(file: CsvFile, indices: Sequence[int]) -> tuple[Any, Any, Any]:
    from pyarrow import csv as arrow_csv, float64

    labels = [str(index) for index in range(len(file.columns))]
    wanted = [labels[index] for index in indices]
    return (
        arrow_csv.ReadOptions(
            column_names=labels, block_size=max(BLOCK_BYTES, 8 * len(file.header))
        ),
        arrow_csv.ParseOptions(delimiter=file.dialect.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, float64()),
            include_columns=wanted,
            null_values=MISSING,
            decimal_point=file.dialect.decimal,
        ),
    )


def find_columns(file: CsvFile, names: Sequence[str]) -> list[int]:
    """The index of each name among the columns of a file."""
    try:
        return column_indices(file.columns, names, f"{file.name!r} has")
    except DataError:
        cells = file.columns
        if all(file.dialect.number(cell) is not None for cell in cells):
            raise DataError(
                f"the first line of {file.name!r} holds numbers, expected the names of the columns"
            ) from None
        other = next((sign for sign in ";\t,|" if len(cells) == 1 and sign in cells[0]), None)
        if other is None:
            raise
        raise DataError(
            f"the first line of {file.name!r} has one column {cells[0]!r:.60}: separate the "
            f"columns by {file.dialect.delimiter!r}, not by {other!r}, or give "
            f"gn.CsvPath(path, sep={other!r})"
        ) from None


def _header_bytes(stream: BinaryIO) -> bytes:
    """Bytes up to the end of the first line that is not blank; quotes may hold line ends."""
    header = stream.readline()
    while not header.strip(b"\xef\xbb\xbf \t\r\n") or header.count(b'"') % 2:
        line = stream.readline()
        if not line:
            break
        header += line
    return header


def _has_bare_returns(header: bytes) -> bool:
    return b"\r" in re.sub(rb'"[^"]*"', b"", header).replace(b"\r\n", b"")


def _decimal_advice(cell: str, dialect: Dialect) -> str:
    """What to do about a number with the other sign before its decimals."""
    other = "," if dialect.decimal == "." else "."
    if other == dialect.delimiter or Dialect(dialect.delimiter, other).number(cell) is None:
        return ""
    return f", or give gn.CsvPath(path, decimal={other!r}) if all numbers are written so"


TextRows = list[tuple[int, list[str]]]
"""Some rows, each with the number of its last line."""


def _chunks(file: CsvFile) -> Iterator[TextRows]:
    with file.body() as stream:
        # Bytes that are no UTF-8 do no harm in columns that nobody reads.
        text = io.TextIOWrapper(stream, "utf-8", "surrogateescape", newline="")
        reader = csv.reader(text, delimiter=file.dialect.delimiter, strict=True)
        chunk: TextRows = []
        for line, cells in _rows(reader, file):
            if len(cells) != len(file.columns):
                raise DataError(
                    f"line {line} of {file.name!r} has {len(cells)} cells, expected "
                    f"{len(file.columns)} as in the first line"
                )
            chunk.append((line, cells))
            if len(chunk) == CHUNK_ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def _rows(reader: Any, file: CsvFile) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank and their line numbers."""
    try:
        for cells in reader:
            if cells:
                yield file.header_lines + reader.line_num, cells
    except csv.Error:
        raise DataError(
            f"line {file.header_lines + reader.line_num} of {file.name!r} has a quote that is "
            "not closed, or a cell that is too long: mend the line"
        ) from None


def _chunk_numbers(chunk: TextRows, file: CsvFile, indices: Sequence[int]) -> FloatArray:
    columns = np.empty((len(indices), len(chunk)))
    odd: list[tuple[int, int, str]] = []
    for row, index in enumerate(indices):
        cells = [cells[index] for _, cells in chunk]
        numbers = file.dialect.numbers(cells)
        if isinstance(numbers, int):
            odd.append((chunk[numbers][0], index, cells[numbers]))
        else:
            columns[row] = numbers
    if odd:
        line, index, cell = min(odd)
        raise DataError(
            f"the column {file.columns[index]!r} has {cell!r:.60} in line {line} of "
            f"{file.name!r}, expected a number: mend it, or leave it empty if it is missing"
            f"{_decimal_advice(cell, file.dialect)}"
            f"{'' if file.is_named else ', or give a file, where text may be a category'}"
        )
    return columns


@dataclass(frozen=True)
class CsvSource:
    """Some columns of a file whose first line names them."""

    stamp: Stamp
    names: tuple[str, ...]
    ignored: tuple[str, ...]

    @classmethod
    def open(cls, file: str, names: Sequence[str]) -> "CsvSource":
        """Look at the first line of the file."""
        stamp = Stamp.of(file)
        opened = open_csv(file)
        ignored = other_columns(opened.columns, find_columns(opened, names))
        return cls(stamp, tuple(names), ignored)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def count(self) -> None:
        """None: not known before the file is read."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Some megabytes of text at a time."""
        yield from cut(self._chunks(), first, last)

    def _chunks(self) -> Iterator[Chunk]:
        """What pyarrow reads; from where it refuses to go on, the careful reader's chunks."""
        self.stamp.check()
        opened = open_csv(self.stamp.file)
        indices = find_columns(opened, self.names)
        done = 0
        if indices and find_spec("pyarrow") is not None:
            try:
                for chunk in arrow_chunks(opened, indices):
                    done += len(chunk[0])
                    yield chunk
            except OSError:
                pass
            else:
                return
        yield from cut(iter(careful_chunks(opened, indices)), done, None)
