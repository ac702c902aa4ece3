"""From what a user gives as data to rows in memory, or to a source that is read in pages."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gaussnet.disk.reading import Path, file_name, suffix
from gaussnet.errors import DataError, FileError
from gaussnet.stream.loaded import Loaded
from gaussnet.stream.rows import open_rows
from gaussnet.stream.source import ArraySource, Chain, Source
from gaussnet.stream.sources import READERS, STANDARD_INPUT, read_rows

LARGEST_WHOLE_BYTES = 64 * 1024 * 1024
"""Files up to this size are read whole: the answer is the same, and they need not stay there."""


def open_data(data: Any, names: Sequence[str]) -> Loaded | Source:
    """Rows in memory for arrays, frames and small files; else a source.

    Large files, folders and lists of files are sources: they are read page by page, and again
    whenever another pass is needed.

    Examples
    --------
    >>> open_data([[1.0, 2.0]], ["a", "b"]).rows
    array([[1., 2.]])
    """
    if isinstance(data, Loaded) or is_source(data):
        return data  # type: ignore[no-any-return]
    if not is_paths(data) and not isinstance(data, str | os.PathLike):
        return open_rows(data, names)
    files = files_of(data)
    if len(files) == 1 and (files[0] == STANDARD_INPUT or suffix(files[0]) not in _OPENERS):
        return read_rows(files[0], names)
    return _open_files(files, names)


def files_of(data: Any) -> list[str]:
    """The files that a path, a folder or a list of paths means."""
    if is_paths(data):
        return [file_name(path) for path in data]
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            f"got data of type {type(data).__name__}, expected a Dask DataFrame or array, the path "
            "of a file or folder, or a list of paths"
        )
    file = file_name(data)
    return files_in(file) if file != STANDARD_INPUT and os.path.isdir(file) else [file]


def is_source(data: Any) -> bool:
    """Whether the data can be read in chunks as they are."""
    return all(hasattr(data, name) for name in ("chunks", "count", "width", "ignored"))


def is_paths(data: Any) -> bool:
    """Whether the data are a list of files."""
    return (
        isinstance(data, list | tuple)
        and len(data) > 0
        and all(isinstance(one, str | os.PathLike) for one in data)
    )


def files_in(folder: Path) -> list[str]:
    """The files of rows in a folder and the folders in it, in the order of their names.

    Names that begin with a dot or an underscore are passed over.
    """
    found = []
    for place, folders, files in os.walk(file_name(folder)):
        folders[:] = sorted(one for one in folders if one[0] not in "._")
        found += [
            os.path.join(place, one)
            for one in sorted(files)
            if one[0] not in "._" and suffix(one) in READERS
        ]
    if not found:
        raise FileError(
            f"the folder {file_name(folder)!r} has no file of rows: expected names that end in "
            f"{', '.join(READERS)}"
        )
    return found


def open_source(file: str, names: Sequence[str]) -> Source:
    """One file as a source.

    ``.npy`` is a memory map; of the others only the columns asked for are read.
    """
    if suffix(file) not in _OPENERS:
        loaded = read_rows(file, names)  # .npy, or the sentence that refuses the ending
        return ArraySource(loaded.rows, loaded.ignored)
    return _OPENERS[suffix(file)](file, names)


def _open_files(files: Sequence[str], names: Sequence[str]) -> Loaded | Source:
    if sum(os.path.getsize(file) for file in files if os.path.isfile(file)) <= LARGEST_WHOLE_BYTES:
        return _whole([read_rows(file, names) for file in files])
    sources = tuple(open_source(file, names) for file in files)
    return sources[0] if len(sources) == 1 else Chain(sources)


def _whole(parts: Sequence[Loaded]) -> Loaded:
    if len(parts) == 1:
        return parts[0]
    ignored = tuple(dict.fromkeys(name for part in parts for name in part.ignored))
    return Loaded(np.concatenate([part.rows for part in parts]), ignored)


def _open_csv(file: str, names: Sequence[str]) -> Source:
    from gaussnet.stream.csv_sources import CsvSource

    return CsvSource.open(file, names, "\t" if suffix(file) == ".tsv" else ",")


def _open_parquet(file: str, names: Sequence[str]) -> Source:
    from gaussnet.stream.arrow_sources import ParquetSource

    return ParquetSource.open(file, names)


def _open_arrow(file: str, names: Sequence[str]) -> Source:
    from gaussnet.stream.arrow_sources import ArrowSource

    return ArrowSource.open(file, names)


_OPENERS: dict[str, Callable[[str, Sequence[str]], Source]] = {
    ".csv": _open_csv,
    ".tsv": _open_csv,
    ".parquet": _open_parquet,
    ".arrow": _open_arrow,
    ".feather": _open_arrow,
}
