"""Comma- and tab-separated files as sources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from gaussnet.stream.csv_files import (
    Table,
    arrow_chunks,
    careful_chunks,
    find_places,
    read_header,
)
from gaussnet.stream.loaded import other_columns
from gaussnet.stream.source import Chunk, Stamp, cut


@dataclass(frozen=True)
class CsvSource:
    """Some columns of a file whose first line names them."""

    stamp: Stamp
    delimiter: str
    names: tuple[str, ...]
    ignored: tuple[str, ...]

    @classmethod
    def open(cls, file: str, names: Sequence[str], delimiter: str) -> "CsvSource":
        """Look at the first line of the file."""
        stamp = Stamp.of(file)
        table = _table(file, delimiter)
        ignored = other_columns(table.columns, find_places(table, names))
        return cls(stamp, delimiter, tuple(names), ignored)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def count(self) -> None:
        """Not known before it is read."""

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Some megabytes of text at a time."""
        yield from cut(self._chunks(), first, last)

    def _chunks(self) -> Iterator[Chunk]:
        """What pyarrow reads; from where it refuses to go on, the careful reader's chunks."""
        self.stamp.check()
        table = _table(self.stamp.file, self.delimiter)
        places = find_places(table, self.names)
        done = 0
        if places and find_spec("pyarrow") is not None:
            try:
                for chunk in arrow_chunks(table, places):
                    done += len(chunk[0])
                    yield chunk
            except OSError:
                pass
            else:
                return
        yield from cut(iter(careful_chunks(table, places)), done, None)


def _table(file: str, delimiter: str) -> Table:
    return read_header(lambda: open(file, "rb"), file, delimiter)
