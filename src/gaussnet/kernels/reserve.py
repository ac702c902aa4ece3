"""Memory that several calls share: one large piece is had from the system faster than many."""

from threading import Lock

import numpy as np

from gaussnet._types import FloatArray


class Reserve:
    """Room for so many values, of which threads take pieces; beyond it they get fresh memory.

    Examples
    --------
    >>> reserve = Reserve(10)
    >>> first = reserve.take(8)
    >>> reserve.keep(first, 3)
    >>> first.base is reserve.take(7).base, first.base is reserve.take(7).base
    (True, False)
    """

    def __init__(self, values: int) -> None:
        self._values = np.empty(values)
        self._used = 0
        self._last: FloatArray | None = None
        self._lock = Lock()

    def take(self, values: int) -> FloatArray:
        """A piece of so many values."""
        with self._lock:
            if self._used + values > len(self._values):
                return np.empty(values)
            self._last = self._values[self._used : self._used + values]
            self._used += values
            return self._last

    def keep(self, piece: FloatArray, values: int) -> None:
        """Say that only the first values of a piece are needed; the rest of the last is free."""
        with self._lock:
            if piece is self._last:
                self._used -= len(piece) - values
                self._last = None
