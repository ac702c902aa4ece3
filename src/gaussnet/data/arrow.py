"""Parquet, Arrow and Feather files; pyarrow reads and writes them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.columns import Loaded, arrow_numbers, column_indices, other_columns
from gaussnet.data.frames import frame_rows
from gaussnet.data.sources import Chunk, Stamp, cut
from gaussnet.errors import DataError, FileError, GaussnetError
from gaussnet.files import suffix
from gaussnet.types import FloatArray

ARROW_MAGIC = b"ARROW1"
GROUP_LINES = 1 << 16
"""Lines of a table that are written together."""


def read_parquet(file: str, names: Sequence[str]) -> Loaded:
    """The named columns of a Parquet file; others are not read."""
    pyarrow(file)
    from pyarrow import parquet

    with _named(file, "Parquet"), parquet.ParquetFile(file) as source:
        columns = source.schema_arrow.names
        indices = column_indices(columns, names, f"{file!r} has")
        table = source.read(columns=[columns[index] for index in indices])
        return _loaded(table, columns, indices, names)


def read_arrow(file: str, names: Sequence[str]) -> Loaded:
    """The named columns of an Arrow IPC file or stream (Feather version 2)."""
    pyarrow(file)
    with _named(file, "Arrow"), _ipc_reader(file, None) as reader:
        columns = reader.schema.names
        indices = column_indices(columns, names, f"{file!r} has")
        return _loaded(reader.read_all(), columns, indices, names)


def write_parquet(
    stream: BinaryIO, names: Sequence[str], pages: Iterable[FloatArray], file: str
) -> None:
    """Write pages of rows as one Parquet file, a row group each."""
    arrow = pyarrow(file)
    from pyarrow import parquet

    schema = arrow.schema([(name, arrow.float64()) for name in names])
    with parquet.ParquetWriter(stream, schema) as writer:
        for page in pages:
            writer.write_table(arrow.table(list(page.T), schema=schema))


@contextmanager
def parquet_lines(
    stream: BinaryIO, heads: Mapping[str, type], file: str
) -> Iterator["ParquetLines"]:
    """A table with these columns, of `str`, `int` or `float`, to be written line by line."""
    arrow = pyarrow(file)
    from pyarrow import parquet

    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in heads.items()])
    with parquet.ParquetWriter(stream, schema) as writer:
        table = ParquetLines(writer, schema, [])
        yield table
        table.flush()


@dataclass(frozen=True, eq=False)
class ParquetLines:
    """Lines of a table on their way to a Parquet file, in groups."""

    writer: Any
    schema: Any
    held: list[Sequence[Any]]
    """Lines that wait for others."""

    def write(self, lines: Iterable[Sequence[Any]]) -> None:
        """Add lines; None and NaN are null."""
        self.held.extend(lines)
        if len(self.held) >= GROUP_LINES:
            self.flush()

    def flush(self) -> None:
        """Write the lines that wait."""
        import pyarrow

        columns = list(zip(*self.held, strict=True)) or [()] * len(self.schema)
        arrays = [
            pyarrow.array(column, field.type, from_pandas=True)
            for column, field in zip(columns, self.schema, strict=True)
        ]
        self.writer.write_table(pyarrow.table(arrays, schema=self.schema))
        self.held.clear()


def write_arrow(
    stream: BinaryIO, names: Sequence[str], pages: Iterable[FloatArray], file: str
) -> None:
    """Write pages of rows as one Arrow IPC file, a record batch each."""
    arrow = pyarrow(file)
    schema = arrow.schema([(name, arrow.float64()) for name in names])
    with arrow.ipc.new_file(stream, schema) as writer:
        for page in pages:
            writer.write_table(arrow.table(list(page.T), schema=schema))


def pyarrow(file: str) -> Any:
    """The package, or one sentence that it is needed for this file."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise FileError(
            f"{file!r} needs the package pyarrow: install it, for instance with "
            "'pip install gaussnet[files]', or use CSV"
        ) from None
    return pyarrow


def _loaded(
    table: Any, columns: Sequence[str], indices: Sequence[int], names: Sequence[str]
) -> Loaded:
    chosen = table.select([columns[index] for index in indices]).rename_columns(list(names))
    return Loaded(frame_rows(chosen, names).rows, other_columns(columns, indices))


LARGEST_CHUNK_BYTES = 192 * 1024 * 1024
"""Row groups of Parquet up to this size are decoded whole, which is fastest."""

RUN_BYTES = 1 << 24
"""Columns of a row group are decoded in runs of this size, each into the memory that the same
columns of the group before let go: memory that lies idle goes back to the system, and to have it
again costs more than to decode into it."""

READ_BYTES = 1 << 20
"""Compressed columns are read in pieces of this size, so that no row group lies in memory twice."""


@dataclass(frozen=True)
class ParquetSource:
    """Some columns of a Parquet file."""

    stamp: Stamp
    columns: tuple[str, ...]
    ignored: tuple[str, ...]
    group_rows: tuple[int, ...]
    """Rows of each row group."""
    chunk_bytes: int = LARGEST_CHUNK_BYTES
    run_bytes: int = RUN_BYTES

    @classmethod
    def open(cls, file: str, names: Sequence[str]) -> "ParquetSource":
        """Read the header of the file: names of columns, and their types."""
        pyarrow(file)
        from pyarrow import parquet

        stamp = Stamp.of(file)
        with _named(file, "Parquet"), parquet.ParquetFile(file) as source:
            columns, ignored = _chosen(source.schema_arrow, names, file)
            groups = range(source.metadata.num_row_groups)
            rows = tuple(source.metadata.row_group(group).num_rows for group in groups)
        return cls(stamp, columns, ignored, rows)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def count(self) -> int:
        """Number of rows."""
        return sum(self.group_rows)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Row group after row group; large ones in parts."""
        from pyarrow import parquet

        self.stamp.check()
        file = self.stamp.file
        last = self.count() if last is None else last
        start, held = 0, _Held([])
        reading = {"pre_buffer": False, "buffer_size": READ_BYTES}
        with _named(file, "Parquet"), parquet.ParquetFile(file, **reading) as source:
            for group, rows in enumerate(self.group_rows):
                if start < last and start + rows > first:
                    group_chunks = self._group(source, group, held, min(last - start, rows))
                    yield from cut(group_chunks, max(first - start, 0), last - start)
                start += rows

    def _group(self, source: Any, group: int, held: "_Held", stop: int) -> Iterator[Chunk]:
        """The rows of a group up to `stop`, or some more; all at once unless few are wanted."""
        columns, rows = list(self.columns), self.group_rows[group]
        row_bytes = 8 * max(self.width, 1)
        if rows * row_bytes <= self.chunk_bytes and 2 * stop > rows:
            step = max(self.run_bytes // (8 * max(rows, 1)), 1)
            for first in range(0, self.width, step):
                run = slice(first, first + step)
                held.let_go(run)
                table = source.read_row_group(group, columns[run], use_threads=False)
                held.columns[run] = _columns(table)
            yield list(held.columns)
            return
        held.columns.clear()
        height = min(max(self.chunk_bytes // row_bytes // 4, 1_024), max(stop, 1))
        done = 0
        for batch in source.iter_batches(height, [group], columns, use_threads=False):
            yield _columns(batch)
            done += len(batch)
            if done >= stop:
                return


@dataclass(frozen=True)
class _Held:
    """The columns of the row group read last, let go a run at a time as the next is read."""

    columns: Chunk

    def let_go(self, run: slice) -> None:
        """Forget these columns; the others keep their positions."""
        self.columns[run] = [np.empty(0) for _ in self.columns[run]]


@dataclass(frozen=True)
class ArrowSource:
    """Some columns of an Arrow IPC file or stream (Feather version 2)."""

    stamp: Stamp
    columns: tuple[str, ...]
    ignored: tuple[str, ...]

    @classmethod
    def open(cls, file: str, names: Sequence[str]) -> "ArrowSource":
        """Read the header of the file: names of columns, and their types."""
        pyarrow(file)
        stamp = Stamp.of(file)
        with _named(file, "Arrow"), _ipc_reader(file, None) as reader:
            columns, ignored = _chosen(reader.schema, names, file)
        return cls(stamp, columns, ignored)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def count(self) -> None:
        """None: not known before the file is read."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Record batch after record batch."""
        yield from cut(self._batches(), first, last)

    def _batches(self) -> Iterator[Chunk]:
        self.stamp.check()
        with _named(self.stamp.file, "Arrow"), _ipc_reader(self.stamp.file, self.columns) as reader:
            for batch in _batches(reader):
                yield _columns(batch.select(list(self.columns)))


def columns_of_text(file: str) -> dict[str, bool]:
    """The columns of a Parquet or Arrow file that hold text, categories, or True and False.

    Says of each whether its type states levels, as that of text does not.
    """
    arrow = pyarrow(file)
    from pyarrow import parquet

    if suffix(file) == ".parquet":
        with _named(file, "Parquet"):
            schema = parquet.read_schema(file)
    else:
        with _named(file, "Arrow"), _ipc_reader(file, None) as reader:
            schema = reader.schema
    kinds = arrow.types
    text, stated = (
        {one.name.strip() for one in schema if any(is_kind(one.type) for is_kind in asked)}
        for asked in (
            (kinds.is_string, kinds.is_large_string),
            (kinds.is_dictionary, kinds.is_boolean),
        )
    )
    return {
        one.name.strip(): one.name.strip() in stated
        for one in schema
        if one.name.strip() in text | stated
    }


def stated_levels(file: str, column: str) -> list[Any]:
    """The levels of a column in the order that its type states; none for True and False."""
    pyarrow(file)
    from pyarrow import parquet

    if suffix(file) == ".parquet":
        with _named(file, "Parquet"), parquet.ParquetFile(file) as source:
            names = source.schema_arrow.names
            chosen = names[column_indices(names, [column], f"{file!r} has")[0]]
            first = next(source.iter_batches(1, columns=[chosen]), None)
    else:
        with _named(file, "Arrow"), _ipc_reader(file, None) as reader:
            names = reader.schema.names
            chosen = names[column_indices(names, [column], f"{file!r} has")[0]]
        with _named(file, "Arrow"), _ipc_reader(file, [chosen]) as reader:
            first = next(iter(_batches(reader)), None)
    values: Any = None if first is None else first.column(0)
    return list(values.dictionary.to_pylist()) if hasattr(values, "dictionary") else []


def parquet_labels(file: str, column: str, rows: int) -> Iterator[list[Any]]:
    """The values of one column of a Parquet file, so many at a time."""
    pyarrow(file)
    from pyarrow import parquet

    with _named(file, "Parquet"), parquet.ParquetFile(file) as source:
        names = source.schema_arrow.names
        chosen = names[column_indices(names, [column], f"{file!r} has")[0]]
        for batch in source.iter_batches(rows, columns=[chosen]):
            yield batch.column(0).to_pylist()


def arrow_labels(file: str, column: str) -> Iterator[list[Any]]:
    """The values of one column of an Arrow IPC file or stream, a record batch at a time."""
    with _named(file, "Arrow"), _ipc_reader(file, None) as reader:
        names = reader.schema.names
        chosen = names[column_indices(names, [column], f"{file!r} has")[0]]
    with _named(file, "Arrow"), _ipc_reader(file, [chosen]) as reader:
        for batch in _batches(reader):
            yield batch.column(chosen).to_pylist()


@contextmanager
def _ipc_reader(file: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """A reader of an IPC file or stream, of the named columns only if some are named."""
    arrow = pyarrow(file)
    with arrow.OSFile(file) as mapped:
        is_file = mapped.read(len(ARROW_MAGIC)) == ARROW_MAGIC
        open_reader = arrow.ipc.open_file if is_file else arrow.ipc.open_stream
        mapped.seek(0)
        reader = open_reader(mapped)
        if columns is not None:
            fields = sorted(reader.schema.names.index(column) for column in columns)
            mapped.seek(0)
            reader = open_reader(mapped, options=arrow.ipc.IpcReadOptions(included_fields=fields))
        yield reader


@contextmanager
def _named(file: str, kind: str) -> Iterator[None]:
    """Raises one sentence that names the file where pyarrow fails, in whatever way."""
    try:
        yield
    except GaussnetError:
        raise
    except Exception as problem:
        raise FileError(f"{file!r} is not a whole {kind} file: write it again") from problem


def _batches(reader: Any) -> Any:
    """The record batches of a file or stream."""
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return reader


def _chosen(
    schema: Any, names: Sequence[str], file: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a file that the names call, and the others."""
    columns = schema.names
    indices = column_indices(columns, names, f"{file!r} has")
    chosen = tuple(columns[index] for index in indices)
    empty = schema.empty_table().select(list(chosen)).rename_columns(list(names))
    try:
        frame_rows(empty, names)
    except DataError as problem:  # not numbers
        raise DataError(f"in {file!r} {problem}") from None
    return chosen, other_columns(columns, indices)


def _columns(table: Any) -> Chunk:
    """The columns of a table or record batch as arrays of numbers; nulls become NaN."""
    columns = []
    for column in table.columns:
        pieces = [_numbers(piece) for piece in getattr(column, "chunks", [column])]
        columns.append(pieces[0] if len(pieces) == 1 else np.concatenate(pieces or [np.empty(0)]))
    return columns


def _numbers(column: Any) -> NDArray[Any]:
    from pyarrow import float32, float64

    exact = column if column.type in (float64(), float32()) else column.cast(float64())
    return arrow_numbers(exact)
