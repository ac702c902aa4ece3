"""Labels: one column of texts or numbers that says something of each row, wherever rows lie."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.columns import is_frame, plain_label
from gaussnet.data.paths import STANDARD_INPUT, TEXT_ENDINGS, files_of, is_path
from gaussnet.data.sources import (
    Chain,
    Chunk,
    Derived,
    Source,
    Stamp,
    cut,
    is_source,
)
from gaussnet.errors import DataError, SettingError
from gaussnet.files import suffix
from gaussnet.named_rows import names_of
from gaussnet.types import IntArray

BATCH_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class LabelList:
    """Labels in memory, as a source of one column."""

    labels: NDArray[Any]
    """(rows,), objects."""
    width = 1
    ignored = ()

    @classmethod
    def of(cls, values: Iterable[Any]) -> "LabelList":
        """Labels as plain values; None where there is none."""
        plain = [plain_label(value) for value in values]
        labels = np.empty(len(plain), dtype=object)
        labels[:] = plain
        return cls(labels)

    def count(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """All labels as one chunk."""
        part = self.labels[first:last]
        if len(part):
            yield [part]


@dataclass(frozen=True)
class LabelFile:
    """One column of labels of a file, as a source."""

    stamp: Stamp
    column: str
    is_category: bool = False
    """Whether words such as NA say that the label is not known."""
    width = 1
    ignored = ()

    def count(self) -> None:
        """None: not known before the file is read."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Some thousand labels at a time."""
        self.stamp.check()
        read = (_LEVEL_READERS if self.is_category else _READERS)[suffix(self.stamp.file)]
        found = ([LabelList.of(values).labels] for values in read(self.stamp.file, self.column))
        yield from cut(found, first, last)


@dataclass(frozen=True, eq=False)
class Coded:
    """Labels as numbers."""

    source: Source
    codes: Mapping[Any, float]
    width = 1
    ignored = ()

    def count(self) -> int | None:
        """Number of rows, if it is known."""
        return self.source.count()

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The number of each label."""
        for (labels,) in self.source.chunks(first, last):
            yield [np.array([self.codes[label] for label in labels], dtype=np.float64)]


def open_labels(data: Any, column: str, purpose: str, *, is_category: bool = False) -> Source:
    """The column of this name as a source of labels; `purpose` says what it is wanted for."""
    if is_frame(data):
        from gaussnet.data.frames import frame_labels

        return LabelList.of(frame_labels(data, column))
    if is_source(data) or not is_path(data):
        hold = "have no names" if names_of(data) is None else "are taken as numbers"
        raise SettingError(
            f"got {purpose}={column!r} with data whose columns {hold}: give one value for each row "
            "instead of the name of a column, or a frame"
        )
    files = files_of(data)
    for file in files:
        if file == STANDARD_INPUT or suffix(file) not in _READERS:
            raise SettingError(
                f"got {purpose}={column!r} with {file!r}, whose columns cannot be read by name "
                "more than once: give a .csv, .tsv, .parquet, .arrow or .feather file"
            )
    sources = tuple(LabelFile(Stamp.of(file), column, is_category) for file in files)
    return sources[0] if len(sources) == 1 else Chain(sources)


def label_counts(source: Source) -> Counter[Any]:
    """How many rows have each label, in the order in which labels come first."""
    counts: Counter[Any] = Counter()
    for (labels,) in source.chunks():
        counts.update(labels.tolist())
    return counts


def _csv_labels(file: str, column: str) -> Iterator[Sequence[Any]]:
    from gaussnet.data.csv import find_columns, open_csv, text_chunks

    opened = open_csv(file)
    (index,) = find_columns(opened, [column])
    yield from text_chunks(opened, index)


def _csv_levels(file: str, column: str) -> Iterator[Sequence[Any]]:
    from gaussnet.data.csv import find_columns, label_chunks, open_csv

    opened = open_csv(file)
    (index,) = find_columns(opened, [column])
    yield from label_chunks(opened, index)


def _parquet_labels(file: str, column: str) -> Iterator[Sequence[Any]]:
    from gaussnet.data.arrow import parquet_labels

    yield from parquet_labels(file, column, BATCH_ROWS)


def _arrow_labels(file: str, column: str) -> Iterator[Sequence[Any]]:
    from gaussnet.data.arrow import arrow_labels

    yield from arrow_labels(file, column)


_READERS: dict[str, Callable[[str, str], Iterator[Sequence[Any]]]] = {
    **dict.fromkeys(TEXT_ENDINGS, _csv_labels),
    ".parquet": _parquet_labels,
    ".arrow": _arrow_labels,
    ".feather": _arrow_labels,
}
_LEVEL_READERS = _READERS | dict.fromkeys(TEXT_ENDINGS, _csv_levels)


@dataclass(frozen=True, eq=False)
class Beside:
    """The columns of several sources of the same rows, side by side."""

    sources: tuple[Source, ...]
    used: tuple[str, ...] = ()
    """Columns of the first that the others are made of."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(source.width for source in self.sources)

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        return tuple(name for name in self.sources[0].ignored if name not in self.used)

    def count(self) -> int | None:
        """Number of rows, if one of the sources knows it."""
        return next((rows for one in self.sources if (rows := one.count()) is not None), None)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """As many rows at a time as all sources have ready."""
        streams = [source.chunks(first, last) for source in self.sources]
        held: list[Chunk | None] = [None] * len(streams)
        while True:
            held = [next(s, None) if h is None else h for s, h in zip(streams, held, strict=True)]
            ready = [chunk for chunk in held if chunk is not None]
            if not ready:
                return
            if len(ready) < len(held):
                raise DataError(
                    "there are more rows than values that say something of them, or fewer: give "
                    "one value for each row"
                )
            rows = min(len(chunk[0]) for chunk in ready)
            yield [column[:rows] for chunk in ready for column in chunk]
            held = [
                [column[rows:] for column in chunk] if len(chunk[0]) > rows else None
                for chunk in ready
            ]


@dataclass(frozen=True, eq=False)
class OneGroup:
    """The rows of a source whose group has this number."""

    source: Source
    column: int
    """Where the numbers of the groups are."""
    number: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.source.width

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that nobody asked for."""
        return self.source.ignored

    def count(self) -> None:
        """None: not known before the rows are read."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source without rows of other groups."""
        yield from cut(self._chunks(), first, last)

    def _chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            own = chunk[self.column] == self.number
            if own.any():
                yield [column[own] for column in chunk]


@dataclass(frozen=True, eq=False)
class Renumbered(Derived):
    """A source with other numbers in one column."""

    column: int
    numbers: IntArray
    """The new number for each old one."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source with the new numbers."""
        for chunk in self.source.chunks(first, last):
            new = list(chunk)
            new[self.column] = self.numbers[chunk[self.column].astype(np.int64)].astype(np.float64)
            yield new
