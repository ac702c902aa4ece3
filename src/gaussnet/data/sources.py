"""Sources: rows that may not fit into memory, read a chunk at a time and as often as needed.

A chunk is a run of successive rows as it lies in the source: one array for each column asked
for. How long chunks are shows nowhere in an answer, because pages are cut by the number of the
row. `open_data` decides what is a source and what is read whole; the format of a file goes by the
ending of its name.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.data.columns import Loaded, open_rows
from gaussnet.data.paths import (
    STANDARD_INPUT,
    TEXT_ENDINGS,
    bytes_of,
    files_of,
    is_path,
    open_text,
)
from gaussnet.errors import DataError, EstimationError, FileError
from gaussnet.files import Path, check_not_pipe, file_name, reason, suffix
from gaussnet.types import FloatArray, Rows

Chunk: TypeAlias = list[NDArray[Any]]
"""One array (rows,) for each column. Whoever is done with a chunk may empty the list, so that
its memory is free before the next is read."""


class Source(Protocol):
    """Rows that can be read again from the start."""

    @property
    def width(self) -> int:
        """Number of columns."""
        ...

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        ...

    def count(self) -> int | None:
        """Number of rows, or None if only reading them tells."""
        ...

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The rows first .. last (all from `first` on if None), chunk by chunk."""
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows in memory, as a source."""

    rows: Rows
    ignored: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """All rows as one chunk."""
        part = self.rows[first:last]
        if len(part):
            yield list(part.T)


@dataclass(frozen=True, eq=False)
class Chain:
    """The rows of several sources, one after the other."""

    sources: tuple[Source, ...]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.sources[0].width

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for, in the order of their first source."""
        return tuple(dict.fromkeys(name for source in self.sources for name in source.ignored))

    def count(self) -> int | None:
        """Number of rows, if every source knows it."""
        counts = [source.count() for source in self.sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of one source after the other; those without wanted rows are not opened."""
        start = 0
        for position, source in enumerate(self.sources):
            count = source.count()
            if count is None:  # only reading tells where the next source begins
                rest = (one.chunks() for one in self.sources[position:])
                stop = None if last is None else last - start
                yield from cut(_joined(rest), max(first - start, 0), stop)
                return
            begin = max(first - start, 0)
            end = count if last is None else min(last - start, count)
            if begin < end:
                yield from source.chunks(begin, end)
            start += count


@dataclass(frozen=True, eq=False)
class Derived:
    """A source made of another one, row for row: `chunks` is all that differs."""

    source: Source

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.source.width

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        return self.source.ignored

    def count(self) -> int | None:
        """Number of rows, if it is known."""
        return self.source.count()


@dataclass(frozen=True, eq=False)
class Watched(Derived):
    """A source whose rows are those of the first reading whenever they are read; else refused."""

    found: dict[tuple[int, int | None], tuple[int, int]] = field(default_factory=dict)
    """Rows and checksum of what was read to its end, by the rows asked for."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source; what they add up to is compared when all are read."""
        rows = total = 0
        last = self.source.count() if last is None else last
        for chunk in self.source.chunks(first, last):
            for column, values in enumerate(chunk):
                total += kernels.checksum(_floats(values)[:, None], rows, column)
            rows += len(chunk[0]) if chunk else 0
            yield chunk
        if self.found.setdefault((first, last), (rows, total)) != (rows, total):
            raise EstimationError(CHANGED)


CHANGED = "the data have changed since the network was learnt from them: fit again"


def watched(source: Source) -> Source:
    """The source, or the sources that it chains, with an eye on changes.

    Examples
    --------
    >>> rows = np.ones((3, 1))
    >>> source = watched(ArraySource(rows))
    >>> sum(len(chunk[0]) for chunk in source.chunks())
    3
    >>> rows[1] = 2.0
    >>> try:
    ...     sum(len(chunk[0]) for chunk in source.chunks())
    ... except EstimationError as problem:
    ...     print(problem)
    the data have changed since the network was learnt from them: fit again
    """
    if isinstance(source, Chain):
        return Chain(tuple(map(watched, source.sources)))
    return source if isinstance(source, Watched) else Watched(source)


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float64, np.float32) else values.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Complete:
    """The rows of a source that lack no value."""

    source: Source
    rows: int | None = None
    """Number of rows, if it is known."""

    @classmethod
    def counted(cls, source: Source) -> "Complete":
        """With the number of rows that are left, found by reading them."""
        return cls(source, sum(len(chunk[0]) for chunk in _complete(source)))

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.source.width

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        return self.source.ignored

    def count(self) -> int | None:
        """Number of rows, if it is known."""
        return self.rows

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source without rows that lack a value."""
        yield from cut(_complete(self.source), first, last)


def lies_in_memory(source: Source) -> bool:
    """Whether no file is opened when the rows are read.

    Examples
    --------
    >>> source = ArraySource(np.ones((3, 1)))
    >>> lies_in_memory(Chain((source, watched(source))))
    True
    """
    if isinstance(source, Chain):
        return all(map(lies_in_memory, source.sources))
    if isinstance(source, Watched | Complete):
        return lies_in_memory(source.source)
    return isinstance(source, ArraySource)


def _complete(source: Source) -> Iterator[Chunk]:
    for chunk in source.chunks():
        whole = ~np.logical_or.reduce([np.isnan(column) for column in chunk])
        yield [column[whole] for column in chunk]


def _joined(runs: Iterator[Iterator[Chunk]]) -> Iterator[Chunk]:
    for run in runs:
        yield from run


def cut(chunks: Iterator[Chunk], first: int, last: int | None) -> Iterator[Chunk]:
    """Only the rows first .. last of these chunks; reading ends where they do.

    Examples
    --------
    >>> runs = iter([[np.arange(4)], [np.arange(4, 8)]])
    >>> [chunk[0].tolist() for chunk in cut(runs, 2, 6)]
    [[2, 3], [4, 5]]
    """
    start = 0
    for chunk in chunks:
        if last is not None and start >= last:
            return
        rows = len(chunk[0])
        begin = max(first - start, 0)
        end = rows if last is None else min(last - start, rows)
        start += rows
        if begin < end:
            whole = begin == 0 and end == rows
            yield chunk if whole else [column[begin:end] for column in chunk]


def read_whole(source: Source, purpose: str, most: int) -> FloatArray:
    """All rows of a source as one array (rows, columns), if that has at most `most` values.

    `purpose` says in the message what needs them. Files that tell their number of rows are refused
    before they are read.
    """
    held: list[list[NDArray[Any]]] = []
    values = (source.count() or 0) * source.width
    if values > most:
        raise _too_many(purpose, most)
    values = 0
    for chunk in source.chunks():
        values += len(chunk) * len(chunk[0])
        if values > most:
            raise _too_many(purpose, most)
        held.append([np.array(column, dtype=np.float64) for column in chunk])
    if not held:
        return np.empty((0, source.width))
    columns = [np.concatenate(parts) for parts in zip(*held, strict=True)]
    return np.array(columns).T


def _too_many(purpose: str, most: int) -> DataError:
    return DataError(
        f"{purpose} needs all rows in memory, and these are more than {most * 8 >> 20} MiB: give "
        "an array, fewer rows, or another method"
    )


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and time of a file when it was opened: a file that changed is not read on."""

    file: str
    size: int
    changed: int

    @classmethod
    def of(cls, file: str) -> "Stamp":
        """The stamp of a file that can be read."""
        check_not_pipe(file)
        try:
            with open(file, "rb") as stream:
                state = os.fstat(stream.fileno())
        except (OSError, ValueError) as problem:
            raise FileError(f"cannot read {file!r}: {reason(problem)}") from None
        return cls(file, state.st_size, state.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is gone or is not what it was."""
        if Stamp.of(self.file) != self:
            raise FileError(
                f"{self.file!r} has changed since it was first read: fit again, and keep the file "
                "as it is while the fit is in use"
            )


def check_files(source: Source) -> bool:
    """Whether all rows come from files, which are refused if they changed since the first reading.

    Examples
    --------
    >>> check_files(ArraySource(np.ones((3, 1))))
    False
    """
    if isinstance(source, Chain):
        return all([check_files(one) for one in source.sources])
    if isinstance(source, Derived | Complete):
        return check_files(source.source)
    stamp = getattr(source, "stamp", None)
    if isinstance(stamp, Stamp):
        stamp.check()
    return stamp is not None


def read_rows(path: Path, names: Sequence[str]) -> Loaded:
    """The columns of a file that these names call, in their order.

    ``.csv`` and ``.tsv`` with a first line that names the columns, ``.gz`` after it if it is
    compressed, and cells as a `CsvPath` says; ``.parquet``, ``.arrow``,
    ``.feather`` (these need pyarrow); ``.npy`` with one column a name, in their order, or with
    named fields; ``-`` is CSV from the standard input.
    """
    file = file_name(path)
    if file == STANDARD_INPUT:
        from gaussnet.data.csv import STANDARD_INPUT_NAME, Dialect, read_csv

        raw = sys.stdin.buffer.read()
        dialect = Dialect.of(file)
        return read_csv(lambda: io.BytesIO(raw), names, STANDARD_INPUT_NAME, dialect)
    ending = suffix(file)
    if ending not in READERS:
        raise FileError(
            f"cannot tell the format of {file!r}: expected a name that ends in "
            f"{', '.join(READERS)}, or '-' for CSV from the standard input"
        )
    Stamp.of(file)  # refuses what cannot be read
    return READERS[ending](file, names)


def _read_csv(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.data.csv import Dialect, read_csv

    return read_csv(lambda: open_text(file), names, file, Dialect.of(file))


def _read_parquet(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.data.arrow import read_parquet

    return read_parquet(file, names)


def _read_arrow(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.data.arrow import read_arrow

    return read_arrow(file, names)


def _read_npy(file: str, names: Sequence[str]) -> Loaded:
    from gaussnet.data.npy import read_npy

    return read_npy(file, names)


READERS: dict[str, Callable[[str, Sequence[str]], Loaded]] = {
    **dict.fromkeys(TEXT_ENDINGS, _read_csv),
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".npy": _read_npy,
}


def open_data(
    data: Any,
    names: Sequence[str],
    largest_whole: int = 64 << 20,
    factors: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Loaded | Source:
    """Rows in memory for arrays, frames and small files; else a source.

    Files of more than `largest_whole` bytes, in all, are sources: they are read page by page, and
    again whenever another pass is needed. `factors` are categories by name, whose columns of text
    become the indicators among `names`.

    Examples
    --------
    >>> open_data([[1.0, 2.0]], ["a", "b"]).rows
    array([[1., 2.]])
    """
    if isinstance(data, Loaded) or is_source(data):
        return data  # type: ignore[no-any-return]
    if not is_path(data):
        return open_rows(data, names)
    if factors:
        from gaussnet.data.factors import open_factors

        return open_factors(data, names, factors, largest_whole)
    files = files_of(data)
    if len(files) == 1 and (files[0] == STANDARD_INPUT or suffix(files[0]) not in _OPENERS):
        return read_rows(files[0], names)
    return _open_files(files, names, largest_whole)


def is_source(data: Any) -> bool:
    """Whether the data can be read in chunks as they are."""
    return all(hasattr(data, name) for name in ("chunks", "count", "width", "ignored"))


def open_source(file: str, names: Sequence[str]) -> Source:
    """One file as a source; only the columns asked for are read where the format allows it."""
    if suffix(file) not in _OPENERS:
        loaded = read_rows(file, names)  # the sentence that refuses the ending
        return ArraySource(loaded.rows, loaded.ignored)
    return _OPENERS[suffix(file)](file, names)


def _open_files(files: Sequence[str], names: Sequence[str], largest_whole: int) -> Loaded | Source:
    if bytes_of(files) <= largest_whole:
        return _whole([read_rows(file, names) for file in files])
    sources = tuple(open_source(file, names) for file in files)
    return sources[0] if len(sources) == 1 else Chain(sources)


def _whole(parts: Sequence[Loaded]) -> Loaded:
    if len(parts) == 1:
        return parts[0]
    ignored = tuple(dict.fromkeys(name for part in parts for name in part.ignored))
    return Loaded(np.concatenate([part.rows for part in parts]), ignored)


def _open_csv(file: str, names: Sequence[str]) -> Source:
    from gaussnet.data.csv import CsvSource

    return CsvSource.open(file, names)


def _open_parquet(file: str, names: Sequence[str]) -> Source:
    from gaussnet.data.arrow import ParquetSource

    return ParquetSource.open(file, names)


def _open_arrow(file: str, names: Sequence[str]) -> Source:
    from gaussnet.data.arrow import ArrowSource

    return ArrowSource.open(file, names)


def _open_npy(file: str, names: Sequence[str]) -> Source:
    from gaussnet.data.npy import NpySource

    return NpySource.open(file, names)


_OPENERS: dict[str, Callable[[str, Sequence[str]], Source]] = {
    **dict.fromkeys(TEXT_ENDINGS, _open_csv),
    ".parquet": _open_parquet,
    ".arrow": _open_arrow,
    ".feather": _open_arrow,
    ".npy": _open_npy,
}
