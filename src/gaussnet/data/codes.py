"""Codes that stand for a missing value, such as -999, and rows in which they are NaN."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.columns import Loaded
from gaussnet.data.sources import Chunk, Derived, Source
from gaussnet.errors import SettingError
from gaussnet.types import Rows

Codes = tuple[float, ...]


def checked_codes(values: Iterable[float] | float | None) -> Codes:
    """Numbers that stand for a missing value.

    Examples
    --------
    >>> checked_codes([-999, -99]), checked_codes(-999), checked_codes(None)
    ((-999.0, -99.0), (-999.0,), ())
    """
    if values is None:
        return ()
    given = [values] if isinstance(values, int | float) else values
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        return tuple(float(value) for value in given)
    except (TypeError, ValueError):
        raise SettingError(
            f"got missing_values={values!r}, expected numbers that stand for a missing value, "
            "such as [-999]"
        ) from None


def coded(values: NDArray[Any], codes: Codes) -> Any:
    """Where values are one of the codes, in the precision of the values themselves."""
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    return np.isin(values, np.array(codes).astype(kind))


def recoded_rows(rows: Rows, codes: Codes) -> Rows:
    """The rows with NaN for the codes; a copy only if there is one among them.

    Examples
    --------
    >>> recoded_rows(np.array([[1.0, -999.0]]), (-999.0,)).tolist()
    [[1.0, nan]]
    """
    found = coded(rows, codes) if codes else np.zeros(0, dtype=bool)
    if not found.any():
        return rows
    mended = rows.copy()
    mended[found] = np.nan
    return mended


@dataclass(frozen=True, eq=False)
class Recoded(Derived):
    """A source whose codes for missing values are NaN."""

    codes: Codes

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """The chunks of the source, recoded."""
        for chunk in self.source.chunks(first, last):
            yield [_recoded_column(column, self.codes) for column in chunk]


def recoded(opened: Loaded | Source, codes: Codes) -> Loaded | Source:
    """Opened data with NaN for the codes."""
    if not codes:
        return opened
    if isinstance(opened, Loaded):
        return replace(opened, rows=recoded_rows(opened.rows, codes))
    return Recoded(opened, codes)


def _recoded_column(column: NDArray[Any], codes: Codes) -> NDArray[Any]:
    found = coded(column, codes)
    if not found.any():
        return column
    mended = column.astype(np.result_type(column.dtype, np.float32), copy=True)
    mended[found] = np.nan
    return mended
