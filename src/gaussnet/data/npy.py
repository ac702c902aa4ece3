"""Files of one NumPy array (.npy), read by plain reading: a memory map of a file that somebody
shortens would end the process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from mmap import ALLOCATIONGRANULARITY
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.columns import Loaded, column_indices, open_rows, other_columns
from gaussnet.data.sources import Chunk, Stamp
from gaussnet.errors import DataError, FileError

CHUNK_BYTES = 1 << 22


@dataclass(frozen=True, eq=False)
class NpySource:
    """The columns of a 2-dimensional array in a file, or some named fields of its records."""

    stamp: Stamp
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_column: bool
    """Whether the values of a column follow each other in the file."""
    offset: int
    """Bytes before the first value."""
    fields: tuple[str, ...]
    ignored: tuple[str, ...]

    @classmethod
    def open(cls, file: str, names: Sequence[str]) -> "NpySource":
        """Read the header of the file: type and shape of the array, and the names of its fields."""
        stamp = Stamp.of(file)
        array = _opened(file)
        head = (array.dtype, array.shape, not array.flags.c_contiguous, int(array.offset))
        fields = array.dtype.names
        if fields is None:
            _check_rows(array, names)
            return cls(stamp, *head, (), ())
        indices = column_indices(fields, names, f"{file!r} has")
        chosen = tuple(fields[index] for index in indices)
        if any(array.dtype[field].kind not in "biuf" for field in chosen):
            raise DataError(f"{file!r} has fields that are not numbers: convert them first")
        return cls(stamp, *head, chosen, other_columns(fields, indices))

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.fields) or self.shape[1]

    def count(self) -> int:
        """Number of rows."""
        return prod(self.shape) if self.fields else self.shape[0]

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """Some megabytes at a time."""
        self.stamp.check()
        stop = self.count() if last is None else min(last, self.count())
        bytes_a_row = self.dtype.itemsize * (1 if self.fields else max(self.shape[1], 1))
        step = max(CHUNK_BYTES // bytes_a_row, 1)
        with open(self.stamp.file, "rb") as stream:
            for start in range(first, stop, step):
                yield [
                    _numbers(part) for part in self._read(stream, start, min(step, stop - start))
                ]

    def _read(self, stream: BinaryIO, start: int, rows: int) -> list[NDArray[Any]]:
        """The columns of some rows, as they are in the file."""
        if self.fields:
            records = self._values(stream, start, rows)
            return [records[field] for field in self.fields]
        width = self.shape[1]
        if self.by_column:
            starts = (start + column * self.shape[0] for column in range(width))
            return [self._values(stream, one, rows) for one in starts]
        return list(self._values(stream, start * width, rows * width).reshape(rows, width).T)

    def _values(self, stream: BinaryIO, start: int, count: int) -> NDArray[Any]:
        stream.seek(self.offset + start * self.dtype.itemsize)
        found = np.fromfile(stream, self.dtype, count)
        if len(found) < count:
            raise FileError(
                f"{self.stamp.file!r} has become shorter while it was read: write it again, and "
                "keep it as it is until the fit is done"
            )
        return found


def read_npy(file: str, names: Sequence[str]) -> Loaded:
    """The array of a file in memory of its own, or the named fields of its records."""
    source = NpySource.open(file, names)
    if source.fields:
        columns = list(zip(*source.chunks(), strict=True))
        rows = np.array([np.concatenate(parts) for parts in columns], dtype=np.float64)
        return Loaded(rows.reshape(source.width, -1).T, source.ignored)
    with open(file, "rb") as stream:
        values = source._values(stream, 0, prod(source.shape))
    return open_rows(values.reshape(source.shape, order="F" if source.by_column else "C"), names)


def check_mapped(array: Any) -> None:
    """Refuse a memory map of a file that has become shorter: to look at it would end the process.

    Examples
    --------
    >>> check_mapped(np.zeros((2, 2)))
    """
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    held = getattr(array, "_mmap", None)
    if array is None or held is None:
        return
    start = array.offset - array.offset % ALLOCATIONGRANULARITY
    if held.size() < start + len(held):
        raise DataError(
            f"the file behind the memory map, {str(array.filename)!r}, is no longer as long as it "
            "was: open it again"
        )


def _opened(file: str) -> Any:
    """The array as a map of the file, of which nothing but the header is ever read."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception as problem:  # numpy fails in several ways on a broken file
        raise FileError(
            f"{file!r} is not a whole .npy file of numbers: write it again with numpy.save"
        ) from problem
    if not isinstance(array, np.memmap):  # an archive of several arrays
        array.close()
        raise FileError(f"{file!r} holds several arrays, expected one: write it with numpy.save")
    return array


def _check_rows(array: Any, names: Sequence[str]) -> None:
    """Refuse what is not one column of numbers a name, without a look at any value."""
    # Of the right shape, no row is needed to ask for the type; a wrong one is told as it is.
    shape = (0, len(names)) if array.shape[1:] == (len(names),) else array.shape
    open_rows(np.broadcast_to(np.zeros((), array.dtype), shape), names)


def _numbers(values: NDArray[Any]) -> NDArray[Any]:
    """As float32 or float64 of this machine."""
    if values.dtype.kind == "f" and values.dtype.itemsize in (4, 8):
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    return values.astype(np.float64)
