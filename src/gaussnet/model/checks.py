"""What the model layer checks at its doors: numbers by name, names, rows of data."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.graph.dag import Dag, shorten
from gaussnet.types import FloatArray, Rows

Name = TypeVar("Name", bound=Hashable)

BLOCK_VALUES = 1 << 21
"""Float64 values held at a time while many rows are worked through."""


def blocks(count: int, width: int) -> Iterator[slice]:
    """Consecutive slices of `count` rows, each of about `BLOCK_VALUES` values.

    Examples
    --------
    >>> list(blocks(3, BLOCK_VALUES // 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    height = max(1, BLOCK_VALUES // max(width, 1))
    return (slice(start, min(start + height, count)) for start in range(0, count, height))


def values_by_name(given: Mapping[Name, float], expected: Sequence[Name], what: str) -> FloatArray:
    """The numbers of a mapping in the order expected; every name present, and no other."""
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"got {type(given).__name__} for the {what}s, expected a mapping by name: "
            "give a dict, or arrays through GaussianNetwork.from_arrays"
        )
    missing = [name for name in expected if name not in given]
    if missing:
        raise NetworkError(f"there is no {what} for {_shown(missing)}: give one for each")
    if len(given) > len(expected):
        known = set(expected)
        unknown = [name for name in given if name not in known]
        raise NetworkError(
            f"there is a {what} for {_shown(unknown)}, which the graph does not have: drop it"
        )
    return np.array([finite_number(given[name], name, what) for name in expected], dtype=np.float64)


def frozen_array(values: ArrayLike, names: Sequence[object], what: str) -> FloatArray:
    """A read-only copy (names,) of finite numbers; `names` says whose each number is."""
    array = as_numbers(values, what)
    if array.shape != (len(names),):
        raise NetworkError(
            f"got {what}s of shape {array.shape}, expected ({len(names)},): give one for each"
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise NetworkError(
            f"the {what} of {_shown([names[bad[0]]])} is {array[bad[0]]}, expected a finite number"
        )
    return read_only(array)


def as_numbers(values: ArrayLike, what: str) -> FloatArray:
    """A fresh float64 array of any shape, or one sentence why not."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise NetworkError(f"the {what}s are not all numbers: give an array of floats") from None


def read_only(array: FloatArray) -> FloatArray:
    """The same array, closed to writing."""
    array.setflags(write=False)
    return array


def lengths(rows: FloatArray) -> FloatArray:
    """The Euclidean length of each row, also where squares leave the range of floating point.

    Examples
    --------
    >>> lengths(np.array([[3e-200, 4e-200]])).tolist()
    [5e-200]
    """
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    return np.asarray(sizes * np.sqrt(np.einsum("ij,ij->i", unit, unit)))


def check_dag(dag: object) -> None:
    """Refuse what is not a graph."""
    if not isinstance(dag, Dag):
        raise NetworkError(
            f"got {type(dag).__name__} for the graph, expected a Dag: make one with Dag.from_edges"
        )


def check_overflow(values: FloatArray) -> None:
    """Refuse results that ran out of the range of floating point."""
    if not np.isfinite(values).all():
        raise NetworkError(
            "the values of the network overflow: its coefficients or variances are too large"
        )


def check_not_negative(variances: FloatArray, names: Sequence[str]) -> None:
    """Refuse variances below 0."""
    if (variances < 0.0).any():
        worst = int(np.argmin(variances))
        raise NetworkError(
            f"the variance of {names[worst]!r} is {variances[worst]}, expected 0 or more"
        )


def check_has_density(variances: FloatArray, names: Sequence[str]) -> None:
    """Refuse a network with a node that has no noise."""
    exact = np.flatnonzero(variances == 0.0)
    if len(exact):
        raise NetworkError(
            f"the node {names[exact[0]]!r} has variance 0, so the network has no density: give "
            "the node a positive variance, or leave it out with to_gaussian().marginal(...)"
        )


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of variables: non-empty strings, each once."""
    if isinstance(names, str):
        raise NetworkError(f"got the string {names!r} for names, expected several: give a list")
    if not isinstance(names, Iterable):
        raise NetworkError(f"got {names!r} for names, expected several: give a list of strings")
    kept = tuple(names)
    for name in kept:
        if not isinstance(name, str) or not name:
            raise NetworkError(f"got the name {name!r}, expected a non-empty string")
    if len(set(kept)) < len(kept):
        twice = next(name for index, name in enumerate(kept) if name in kept[:index])
        raise NetworkError(f"the name {twice!r} is listed twice: give each variable its own name")
    return kept


def row_count(rows: int) -> int:
    """A number of rows: a whole number, 0 or more."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
        raise SettingError(f"got rows={rows!r}, expected a whole number of 0 or more")
    return int(rows)


def as_rows(data: object, names: Sequence[str]) -> Rows:
    """Data as an array (rows, names), not copied if it can be helped.

    An array has its columns in the order of `names`; a data frame is matched by the names of
    its columns.
    """
    columns = _column_order(data, names)
    try:
        rows = np.asarray(data)
        if np.ma.is_masked(data) or rows.dtype.kind not in "biufO":
            raise TypeError
        rows = rows if columns is None else rows[:, columns]
        kept: Rows = rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)
    except (IndexError, TypeError, ValueError):
        raise DataError(
            "the data are not a table of numbers: give a float array (rows, columns)"
        ) from None
    if kept.ndim != 2 or kept.shape[1] != len(names):
        raise DataError(
            f"got data of shape {kept.shape}, expected (rows, {len(names)}): give one column "
            "for each node, in the order of the nodes"
        )
    return kept


def check_finite(rows: Rows, names: Sequence[str], first_row: int = 0) -> None:
    """Refuse rows with a missing or infinite value; `first_row` is the number of rows before."""
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise DataError(
            f"the data have {rows[row, column]} at row {first_row + row}, column "
            f"{names[column]!r}: drop or mend the rows with missing or infinite values"
        )


def check_densities(densities: FloatArray) -> None:
    """Refuse rows whose residuals ran out of the range of floating point."""
    if np.isnan(densities).any():
        row = int(np.isnan(densities).argmax())
        raise DataError(f"row {row} is too large: its residuals overflow, so rescale the data")


def column_labels(data: object) -> list[str] | None:
    """The names of a data frame's columns; None for an array."""
    columns = getattr(data, "column_names", None)
    columns = getattr(data, "columns", None) if columns is None else columns
    if columns is None or callable(columns):
        return None
    return [str(column) for column in columns]


def _column_order(data: object, names: Sequence[str]) -> list[int] | None:
    """Where each name stands among the columns of a data frame; None for an array."""
    labels = column_labels(data)
    if labels is None:
        return None
    counts = Counter(labels)
    missing = [name for name in names if not counts[name]]
    if missing:
        raise DataError(
            f"the data have no column {shorten(missing)}: name the columns by the nodes"
        )
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise DataError(f"the data have several columns {shorten(repeated)}: keep one of each")
    place = {label: index for index, label in enumerate(labels)}
    return [place[name] for name in names]


def finite_number(value: object, name: Hashable, what: str) -> float:
    """A finite real number, not a bool; `name` says whose it is."""
    try:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError
        number = float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NetworkError(f"the {what} of {_shown([name])} is {value!r}, expected a finite number")
    return number


def _shown(names: Sequence[object], limit: int = 6) -> str:
    """The first few nodes or edges, for a message."""
    shown = ", ".join(_label(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _label(name: object) -> str:
    if isinstance(name, tuple) and len(name) == 2:
        return f"{name[0]!r} -> {name[1]!r}"
    return repr(name)
