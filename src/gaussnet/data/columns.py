"""Data as an array of rows: arrays by position, frames and files by column name."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np

from gaussnet.errors import DataError
from gaussnet.graph.dag import counted, shorten
from gaussnet.named_rows import did_you_mean, names_of
from gaussnet.types import Rows

DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}")
"""How the text of a date begins, which is no level of a category."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Rows in the order of the names asked for, and the columns that nobody asked for."""

    rows: Rows
    """(rows, names), float64 or float32."""
    ignored: tuple[str, ...] = ()


def column_indices(
    columns: Sequence[str], names: Sequence[str], who_has: str = "the data have"
) -> list[int]:
    """The index of each name among the columns.

    A name without a column of just this name takes one that differs by blanks at its ends.
    `who_has` begins the message.

    Examples
    --------
    >>> column_indices(["time", "wet", " rain"], ["rain", "wet"])
    [2, 1]
    """
    exact, bare = Counter(columns), Counter(column.strip() for column in columns)
    missing = [name for name in names if not exact[name] and not bare[name]]
    if missing:
        asked = set(names)
        given = [one for one in columns if one not in asked or not _is_made(one, columns)]
        others = sorted(given, key=asked.__contains__)  # those that no node calls come first
        free = [column for column in columns if column not in asked]
        if len(names) == 1:  # of labels, keys, weights, or the only node
            raise DataError(
                f"{who_has} no column {missing[0]!r}, only {shorten(others)}: name one of these, "
                f"or rename a column{_hint(columns, missing) or did_you_mean(missing[0], free)}"
            )
        raise DataError(
            f"{who_has} no column for {counted(len(missing), 'node')} "
            f"({', '.join(map(repr, missing[:6]))}), only {shorten(others)}: "
            f"rename the columns or leave these nodes out of the graph"
            f"{_hint(columns, missing) or _meant(missing[0], free)}"
        )
    for name in names:
        if (exact[name] or bare[name]) > 1:
            blanks = "" if exact[name] else " with blanks around it"
            raise DataError(
                f"{who_has} {exact[name] or bare[name]} columns {name!r}{blanks}: "
                "rename or drop them"
            )
    index_of = {column.strip(): index for index, column in enumerate(columns)}
    index_of |= {column: index for index, column in enumerate(columns)}
    return [index_of[name] for name in names]


def _meant(name: str, columns: Sequence[str]) -> str:
    """Which column may be meant by a node, or by the category of an indicator."""
    return did_you_mean(name, columns) or did_you_mean(name.partition("[")[0], columns)


def _is_made(column: str, columns: Sequence[str]) -> bool:
    """Whether this is an indicator as "fuel[Gas]" beside its category, which the user has not."""
    category, bracket, _ = column.partition("[")
    return bool(bracket) and column.endswith("]") and category in columns


def _hint(columns: Sequence[str], missing: Sequence[str]) -> str:
    """What to add if some names look the same as those of columns and are not."""
    composed = {normalize("NFC", column) for column in columns}
    if composed.isdisjoint(normalize("NFC", name) for name in missing):
        return ""
    return " (some only look the same: an accent may be part of its letter or follow it)"


def other_columns(columns: Sequence[str], indices: Sequence[int]) -> tuple[str, ...]:
    """The names of the columns whose index is not among the given ones."""
    used = set(indices)
    return tuple(column for index, column in enumerate(columns) if index not in used)


def as_rows(data: Any, names: Sequence[str]) -> Rows:
    """The data as (rows, len(names)) float64 or float32, one column per name in that order.

    An array keeps its own memory and layout; its columns stand in the order of `names`. Of a
    pandas, polars or pyarrow frame, or a file, the named columns are taken, others are ignored.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]], ["a", "b"]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return open_rows(data, names).rows


def open_rows(data: Any, names: Sequence[str]) -> Loaded:
    """The rows that `as_rows` gives, with the names of the columns that were ignored.

    Examples
    --------
    >>> import pandas as pd
    >>> open_rows(pd.DataFrame({"time": [0], "wet": [1.5]}), ["wet"]).ignored
    ('time',)
    """
    if isinstance(data, str | os.PathLike):
        from gaussnet.data.sources import read_rows

        return read_rows(data, names)
    if is_frame(data):
        from gaussnet.data.frames import frame_rows

        return frame_rows(data, names, is_whole=True)
    if isinstance(data, np.ndarray) and data.base is not None:
        from gaussnet.data.npy import check_mapped

        check_mapped(data)
    own = names_of(data)
    if own is None:
        return Loaded(_array_rows(data, names))
    indices = column_indices(own, names)
    rows = np.asarray(data) if own == tuple(names) else np.asarray(data)[:, indices]
    return Loaded(_array_rows(rows, names), other_columns(own, indices))


def plain_label(value: Any) -> Any:
    """A label as text, so that files and frames agree; None for what is missing.

    Examples
    --------
    >>> [plain_label(value) for value in (" PKA ", 3, 3.0, float("nan"), "", ["a", "b"])]
    ['PKA', '3', '3', None, None, ('a', 'b')]
    """
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return tuple(plain_label(one) for one in value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else f"{value:.17g}"
    return str(value)


def arrow_numbers(chunk: Any) -> np.ndarray[Any, Any]:
    """An Arrow array of float64 or float32, nulls as NaN; without a copy where there are none.

    Taken from its memory: `to_numpy` imports pandas wherever that is installed.
    """
    whole = chunk.fill_null(float("nan")) if chunk.null_count else chunk
    kind = np.dtype(np.float64 if whole.type.bit_width == 64 else np.float32)
    if not len(whole):
        return np.empty(0, kind)
    start = whole.offset * kind.itemsize
    return np.frombuffer(whole.buffers()[1], kind, len(whole), start)


def is_frame(data: Any) -> bool:
    """Whether the data are a frame of named columns, not an array."""
    if isinstance(data, np.ndarray | list | tuple):
        return False
    # Asked of the type: a lazy frame would have to resolve its schema.
    return hasattr(type(data), "columns") or hasattr(type(data), "__arrow_c_stream__")


def check_is_table(data: Any) -> None:
    """Refuse one column of a frame, and a dict of columns, where a table is expected."""
    if isinstance(data, Mapping):
        raise DataError(
            f"got data of type {type(data).__name__}, expected a table: give "
            "pandas.DataFrame(data), if each of its items is a column with its name"
        )
    if type(data).__name__ == "Series":
        raise DataError(
            f"got a Series of length {len(data)}, expected a table: give frame[['a', 'b']] with "
            "the names of its columns in two pairs of brackets"
        )


def _array_rows(data: Any, names: Sequence[str]) -> Rows:
    check_is_table(data)
    if data is None or isinstance(data, bytes | Iterator):
        raise DataError(
            f"got data of type {type(data).__name__}, expected an array, a frame or the path of "
            "a file"
        )
    if "numpy.ma" in sys.modules and isinstance(data, np.ma.MaskedArray):  # slow to import
        data = np.ma.filled(data.astype(np.float64), np.nan)
    try:
        rows = np.asarray(data)
    except ValueError:
        raise DataError(
            f"the rows have different lengths, expected {len(names)} numbers in each: "
            "give one column per node, in the order of dag.nodes"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise DataError(
            f"got data of shape {rows.shape}, expected (rows, {len(names)}): "
            "give one column per node, in the order of dag.nodes"
        )
    return _as_float(rows)


def _as_float(rows: np.ndarray[Any, Any]) -> Rows:
    if rows.dtype in (np.float64, np.float32):
        return rows.astype(rows.dtype.newbyteorder("="), copy=False)
    if rows.dtype.kind not in "biufO":
        raise DataError(f"got data of type {rows.dtype}, expected real numbers")
    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError(f"the data hold something that is not a number: {problem}") from None
