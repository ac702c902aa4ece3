"""Parquet, Arrow and Feather files; pyarrow reads and writes them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

from gaussnet._types import FloatArray
from gaussnet.errors import FileError, GaussnetError
from gaussnet.stream.frames import frame_rows
from gaussnet.stream.loaded import Loaded, column_places, other_columns

ARROW_MAGIC = b"ARROW1"


def read_parquet(file: str, names: Sequence[str]) -> Loaded:
    """The named columns of a Parquet file; others are not read."""
    pyarrow(file)
    from pyarrow import parquet

    def read() -> Loaded:
        with parquet.ParquetFile(file) as source:
            columns = source.schema_arrow.names
            places = column_places(columns, names, f"{file!r} has")
            table = source.read(columns=[columns[place] for place in places])
            return _loaded(table, columns, places, names)

    return _attempt(read, file, "Parquet")


def read_arrow(file: str, names: Sequence[str]) -> Loaded:
    """The named columns of an Arrow IPC file or stream (Feather version 2)."""
    arrow = pyarrow(file)

    def read() -> Loaded:
        with arrow.memory_map(file) as source:
            is_file = source.read(len(ARROW_MAGIC)) == ARROW_MAGIC
            source.seek(0)
            reader = arrow.ipc.open_file(source) if is_file else arrow.ipc.open_stream(source)
            columns = reader.schema.names
            places = column_places(columns, names, f"{file!r} has")
            return _loaded(reader.read_all(), columns, places, names)

    return _attempt(read, file, "Arrow")


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
    table: Any, columns: Sequence[str], places: Sequence[int], names: Sequence[str]
) -> Loaded:
    chosen = table.select([columns[place] for place in places]).rename_columns(list(names))
    return Loaded(frame_rows(chosen, names).rows, other_columns(columns, places))


def _attempt(read: Callable[[], Loaded], file: str, kind: str) -> Loaded:
    try:
        return read()
    except GaussnetError:
        raise
    except Exception as problem:  # a foreign parser fails in any way on a broken file
        raise FileError(f"{file!r} is not a whole {kind} file: write it again") from problem
