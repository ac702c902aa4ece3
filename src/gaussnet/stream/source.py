"""Sources: rows that may not fit into memory, read a chunk at a time and as often as needed.

A chunk is a run of successive rows as it lies in the source: one array for each column asked
for. How long chunks are shows nowhere in an answer, because pages are cut by the number of the
row.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, Rows
from gaussnet.disk.reading import reason
from gaussnet.errors import DataError, FileError

Chunk: TypeAlias = list[NDArray[Any]]
"""One array (rows,) for each column. Whoever is done with a chunk may empty the list, so that
its memory is free before the next is read."""

LARGEST_IN_MEMORY = 1 << 27
"""Values, 1 GiB, that are read whole where a method needs all rows at once."""


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
        """All rows at once."""
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
class Complete:
    """The rows of a source that lack no value."""

    source: Source
    rows: int

    @classmethod
    def of(cls, source: Source) -> "Complete":
        """Counts the rows that are left, by reading them."""
        return cls(source, sum(len(chunk[0]) for chunk in _complete(source)))

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.source.width

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        return self.source.ignored

    def count(self) -> int:
        """Number of rows."""
        return self.rows

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source without rows that lack a value."""
        yield from cut(_complete(self.source), first, last)


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


def read_whole(source: Source, purpose: str) -> FloatArray:
    """All rows of a source as one array (rows, columns), if they are not too many.

    `purpose` says in the message what needs them.
    """
    held: list[list[NDArray[Any]]] = []
    values = 0
    for chunk in source.chunks():
        values += len(chunk) * len(chunk[0])
        if values > LARGEST_IN_MEMORY:
            raise DataError(
                f"{purpose} needs all rows in memory, and these are more than "
                f"{LARGEST_IN_MEMORY * 8 >> 20} MiB: give an array, fewer rows, or another method"
            )
        held.append([np.array(column, dtype=np.float64) for column in chunk])
    if not held:
        return np.empty((0, source.width))
    columns = [np.concatenate(parts) for parts in zip(*held, strict=True)]
    return np.array(columns).T


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and time of a file when it was opened: a file that changed is not read on."""

    file: str
    size: int
    changed: int

    @classmethod
    def of(cls, file: str) -> "Stamp":
        """The stamp of a file that can be read."""
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
                f"{self.file!r} changed while it was being read: keep it as it is until the fit "
                "is done, and start again"
            )
