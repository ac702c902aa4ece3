"""Files of rows in: the format goes by the ending of the file's name."""

import io
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO

import numpy as np

from gaussnet.disk.reading import Path, file_name, reason, suffix
from gaussnet.errors import DataError, FileError
from gaussnet.stream.loaded import Loaded, column_places, other_columns
from gaussnet.stream.rows import open_rows

STANDARD_INPUT = "-"


def read_rows(path: Path, names: Sequence[str]) -> Loaded:
    """The columns of a file that these names call, in their order.

    ``.csv`` and ``.tsv`` with a first line that names the columns; ``.parquet``, ``.arrow``,
    ``.feather`` (these need pyarrow); ``.npy`` with one column a name, in their order, or with
    named fields; ``-`` is CSV from the standard input.
    """
    file = file_name(path)
    if file == STANDARD_INPUT:
        raw = sys.stdin.buffer.read()
        return _read_text(lambda: io.BytesIO(raw), names, "standard input", ",")
    ending = suffix(file)
    if ending not in READERS:
        raise FileError(
            f"cannot tell the format of {file!r}: expected a name that ends in "
            f"{', '.join(READERS)}, or '-' for CSV from the standard input"
        )
    _check_readable(file)
    return READERS[ending](file, names)


def _read_text(
    opened: Callable[[], BinaryIO], names: Sequence[str], what: str, separator: str
) -> Loaded:
    from gaussnet.stream.csv_files import read_csv

    return read_csv(opened, names, what, separator)


def _read_csv(file: str, names: Sequence[str]) -> Loaded:
    return _read_text(lambda: open(file, "rb"), names, file, ",")


def _read_tsv(file: str, names: Sequence[str]) -> Loaded:
    return _read_text(lambda: open(file, "rb"), names, file, "\t")


def _read_parquet(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.stream.tables import read_parquet

    return read_parquet(file, names)


def _read_arrow(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.stream.tables import read_arrow

    return read_arrow(file, names)


def _read_npy(file: str, names: Sequence[str]) -> Loaded:
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception as problem:  # numpy fails in several ways on a broken file
        raise FileError(
            f"{file!r} is not a whole .npy file of numbers: write it again with numpy.save"
        ) from problem
    if not isinstance(array, np.ndarray):  # an archive of several arrays
        array.close()
        raise FileError(f"{file!r} holds several arrays, expected one: write it with numpy.save")
    fields = array.dtype.names
    if fields is None:
        return open_rows(array, names)
    places = column_places(fields, names, f"{file!r} has")
    try:
        columns = np.array([array[fields[place]].ravel() for place in places], dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{file!r} has fields that are not numbers: convert them first") from None
    return Loaded(columns.reshape(len(places), -1).T, other_columns(fields, places))


def _check_readable(file: str) -> None:
    try:
        with open(file, "rb"):
            pass
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {file!r}: {reason(problem)}") from None


READERS: dict[str, Callable[[str, Sequence[str]], Loaded]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".npy": _read_npy,
}
