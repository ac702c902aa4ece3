"""Columns of the rows, side by side in memory, fetched when they are first asked for."""

from threading import Lock

import numpy as np

from gaussnet._types import FloatArray, IntArray, Rows

CACHE_LINE = 64


class Columns:
    """The columns of (rows, columns) in any layout, each contiguous float64.

    Columns that share a cache line are fetched together, since one cannot be read without
    the others.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._width = max(1, CACHE_LINE // rows.itemsize)
        self._blocks: dict[int, FloatArray] = {}
        self._lock = Lock()
        self._ready = rows.dtype == np.float64 and rows.strides[0] == rows.itemsize

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def column(self, index: int) -> FloatArray:
        """One column, (rows,); not to be written to."""
        if self._ready:
            return np.asarray(self._rows[:, index])
        number, place = divmod(index, self._width)
        with self._lock:
            if number not in self._blocks:
                span = slice(number * self._width, (number + 1) * self._width)
                self._blocks[number] = np.ascontiguousarray(self._rows[:, span].T, np.float64)
            return np.asarray(self._blocks[number][place])

    def select(self, indices: IntArray, rows: IntArray | None) -> FloatArray:
        """Some columns at some rows (all if None), a new array (indices, rows)."""
        height = self.height if rows is None else len(rows)
        out = np.empty((len(indices), height))
        for place, index in enumerate(indices.tolist()):
            if rows is None:
                out[place] = self.column(index)
            else:
                np.take(self.column(index), rows, out=out[place])
        return out
