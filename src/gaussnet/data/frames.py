"""Frames: the named columns of a pandas, polars or pyarrow table as one array."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import narwhals as nw
import numpy as np

from gaussnet.data.columns import (
    DATE,
    Loaded,
    arrow_numbers,
    check_is_table,
    column_indices,
    other_columns,
    plain_label,
)
from gaussnet.errors import DataError, SettingError
from gaussnet.named_rows import row_labels
from gaussnet.types import FloatArray

FrameKind = Literal["pandas", "polars"]
PANDAS, POLARS, ARROW = ("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")
DECIMAL_COMMA = re.compile(r"[-+]?\d+(\.\d{3})*,\d+")
"""A number as 314,2 or 1.314,25."""
PLAIN = {PANDAS: "float64", POLARS: "Float64", ARROW: "double"}
"""Frames in memory whose columns are taken by their own means, by module and class, and what they
call columns of float64."""


def new_frame(columns: Mapping[str, Sequence[Any]], kind: FrameKind) -> Any:
    """A data frame of these columns.

    Examples
    --------
    >>> new_frame({"node": ["a", "b"], "mean": [1.0, None]}, "pandas")["mean"].isna().tolist()
    [False, True]
    """
    if kind not in get_args(FrameKind):
        raise SettingError(f"got {kind!r} as the kind of frame, expected 'pandas' or 'polars'")
    try:
        return nw.from_dict(dict(columns), backend=kind).to_native()
    except ModuleNotFoundError:
        raise SettingError(
            f"a {kind} frame needs the package {kind}, which is not installed: install it, or use "
            "to_dicts()"
        ) from None


def frame_rows(frame: Any, names: Sequence[str], *, is_whole: bool = False) -> Loaded:
    """The named columns as (rows, names) float64 in column order; nulls become NaN.

    With `is_whole` these are all rows, so that a message can number them.
    """
    plain = _plain_rows(frame, names)
    if plain is not None:
        return plain
    table = _as_narwhals(frame)
    present = table.collect_schema().names()
    labels = [str(column) for column in present]  # pandas may call a column 7
    indices = column_indices(labels, names)
    chosen = table.select([nw.col(present[index]) for index in indices])
    taken = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    columns = np.empty((len(names), len(taken)))
    for position, column in enumerate(taken.iter_columns()):
        _write_numbers(_as_numbers(column, names[position], is_whole), columns[position])
    return Loaded(columns.T, other_columns(labels, indices))


def _plain_rows(frame: Any, names: Sequence[str]) -> Loaded | None:
    """The rows of a frame in memory whose chosen columns are all float64, else None.

    Taken by the frame's own means: a walk from column to column costs more than a small fit. A
    pandas frame with one block of memory is not copied.
    """
    kind = type(frame).__module__.partition(".")[0], type(frame).__name__
    if kind not in PLAIN:
        return None
    labels = [str(column) for column in (frame.column_names if kind == ARROW else frame.columns)]
    if len(set(labels)) < len(labels):
        return None
    indices = column_indices(labels, names)
    every = indices == list(range(len(labels)))
    chosen = frame if every else _chosen(frame, indices, kind)
    types = chosen.schema.types if kind == ARROW else chosen.dtypes
    if {str(dtype) for dtype in set(types)} - {PLAIN[kind]}:
        return None
    if kind == ARROW:
        rows = _arrow_rows(chosen)
    else:
        rows = chosen.to_numpy() if kind == PANDAS else chosen.to_numpy(order="fortran")
    return Loaded(rows, other_columns(labels, indices))


def _chosen(frame: Any, indices: list[int], kind: tuple[str, str]) -> Any:
    """The frame with these columns alone."""
    if kind == PANDAS:
        return frame.iloc[:, indices]
    return frame[:, indices] if kind == POLARS else frame.select(indices)


def _arrow_rows(table: Any) -> FloatArray:
    """The columns of an Arrow table of float64 as (rows, columns), one after the other."""
    columns = np.empty((table.num_columns, table.num_rows))
    first = 0
    for batch in table.to_batches():
        last = first + batch.num_rows
        for position, column in enumerate(batch.columns):
            columns[position, first:last] = arrow_numbers(column)
        first = last
    return columns.T


def holds_numbers(frame: Any) -> bool:
    """Whether a pandas, polars or pyarrow table is seen at once to have columns of numbers alone.

    Examples
    --------
    >>> import pandas as pd
    >>> holds_numbers(pd.DataFrame({"a": [1.5]})), holds_numbers(pd.DataFrame({"a": ["x"]}))
    (True, False)
    """
    kind = type(frame).__module__.partition(".")[0], type(frame).__name__
    if kind == PANDAS:
        return all(getattr(dtype, "kind", "O") in "fiu" for dtype in set(frame.dtypes.tolist()))
    if kind == POLARS:
        return all(dtype.is_numeric() for dtype in set(frame.dtypes))
    if kind == ARROW:
        types = {str(one) for one in set(frame.schema.types)}
        return types <= {"double", "float", "int64", "int32"}
    return False


class Category(NamedTuple):
    """A column whose values may be levels: how many rows have each, and their stated order."""

    counts: Counter[Any]
    """Rows by label; those of None have none."""
    stated: tuple[str, ...] = ()
    is_stated: bool = False
    """Whether the type of the column says that its values are levels."""


def frame_categories(frame: Any, names: Sequence[str]) -> dict[str, Category]:
    """The columns of these names that hold text, categories, or True and False.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"fuel": ["Gas", "Gas", None], "mpg": [1.0, 2.0, 3.0]})
    >>> frame_categories(frame, ["mpg", "fuel"])
    {'fuel': Category(counts=Counter({'Gas': 2, None: 1}), stated=(), is_stated=False)}
    """
    if holds_numbers(frame):
        return {}
    try:
        table: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except Exception:  # what cannot be read is refused where it is read
        return {}
    labels = {str(column): column for column in table.columns}
    return {
        name: found
        for name in names
        if name in labels and (found := _category(table[labels[name]])) is not None
    }


def _category(column: "nw.Series[Any]") -> Category | None:
    is_stated = column.dtype in (nw.Categorical, nw.Enum, nw.Boolean)
    if not is_stated and column.dtype not in (nw.String, nw.Object):
        return None
    counts = Counter(map(plain_label, column.to_list()))
    if column.dtype == nw.Object and not all(isinstance(one, str | None) for one in column):
        return None
    stated: Any = column.dtype.categories if isinstance(column.dtype, nw.Enum) else None
    if stated is None and column.dtype == nw.Categorical and column.implementation.is_pandas():
        stated = column.to_native().cat.categories
    order = () if stated is None else tuple(plain_label(level) for level in stated)
    return Category(counts, order, is_stated)


def has_column(frame: Any, name: str) -> bool:
    """Whether a frame has a column of this name."""
    return name in {str(column) for column in _as_narwhals(frame).collect_schema().names()}


def with_more_columns(frame: Any, columns: Mapping[str, FloatArray]) -> Any:
    """The frame with these columns after the others.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"fuel": ["Gas"], "mpg": [40.0]})
    >>> with_more_columns(frame, {"fuel[Gas]": np.ones(1)}).columns.tolist()
    ['fuel', 'mpg', 'fuel[Gas]']
    """
    table = _as_narwhals(frame)
    whole = table.collect() if isinstance(table, nw.LazyFrame) else table
    made = [
        nw.new_series(label, column, nw.Float64, backend=whole.implementation)
        for label, column in columns.items()
    ]
    return whole.with_columns(*made).to_native()


def frame_names(frame: Any) -> list[str]:
    """The names of the columns."""
    return [str(column) for column in _as_narwhals(frame).collect_schema().names()]


def frame_labels(frame: Any, name: str) -> list[Any]:
    """The values of one column, of whatever type.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_labels(pd.DataFrame({"site": ["Graz", "Ulm"]}), "site")
    ['Graz', 'Ulm']
    """
    table = _as_narwhals(frame)
    present = table.collect_schema().names()
    (index,) = column_indices([str(column) for column in present], [name])
    chosen = table.select(nw.col(present[index]))
    taken = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    values: list[Any] = next(taken.iter_columns()).to_list()
    return values


def with_columns(
    frame: Any, names: Sequence[str], values: FloatArray, without: Sequence[str] = ()
) -> Any:
    """A copy of a frame with the named columns replaced by those of `values`, (rows, names).

    Columns of `without` are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"time": [7, 8], "wet": [1.5, 900.0]}, index=["a", "b"])
    >>> with_columns(frame, ["wet"], np.array([[1.5], [2.5]])).loc["b"].tolist()
    [8.0, 2.5]
    """
    table = _as_narwhals(frame)
    whole = table.collect() if isinstance(table, nw.LazyFrame) else table
    labels = {str(column): column for column in whole.columns}
    made = [
        nw.new_series(labels[name], column, nw.Float64, backend=whole.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    return whole.with_columns(*made).drop([labels[name] for name in without]).to_native()


def with_filled(frame: Any, name: str, values: Sequence[str]) -> Any:
    """The frame with the missing cells of a column of levels filled from `values`, (rows,).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"fuel": ["Gas", None, "Oil"]})
    >>> with_filled(frame, "fuel", ["Gas", "Oil", "Oil"])["fuel"].tolist()
    ['Gas', 'Oil', 'Oil']
    """
    table = _as_narwhals(frame)
    whole = table.collect() if isinstance(table, nw.LazyFrame) else table
    label = next(column for column in whole.columns if str(column) == name)
    labels = [plain_label(one) for one in frame_labels(frame, name)]
    holes = [row for row, one in enumerate(labels) if one is None]
    if not holes:
        return frame
    known = {one: row for row, one in enumerate(labels) if one is not None}
    column = whole[label]
    taken = np.arange(len(labels))
    taken[holes] = [known[values[row]] for row in holes]  # cells that hold these levels
    return whole.with_columns(column[taken.tolist()]).to_native()


def frame_like(
    frame: Any, names: Sequence[str], values: FloatArray, texts: Mapping[str, Sequence[str]] = {}
) -> Any:
    """A frame of the same kind and index as another, with these columns alone, (rows, names).

    `texts` are columns of text after them, by name.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"time": [7, 8], "wet": [1.5, 900.0]}, index=["a", "b"])
    >>> frame_like(frame, ["wet"], np.array([[0.5], [1.5]])).to_dict()
    {'wet': {'a': 0.5, 'b': 1.5}}
    """
    table = _as_narwhals(frame)
    whole = table.collect() if isinstance(table, nw.LazyFrame) else table
    made = [
        nw.new_series(name, column, nw.Float64, backend=whole.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    made += [
        nw.new_series(name, column, nw.String, backend=whole.implementation)
        for name, column in texts.items()
    ]
    return whole.with_columns(*made).select([*names, *texts]).to_native()


def named_frame(values: FloatArray, names: Sequence[str], kind: FrameKind, by_node: bool) -> Any:
    """A frame of the columns of (rows, names); with `by_node` rows are named too.

    pandas has these names as the index, polars as a column "node".

    Examples
    --------
    >>> named_frame(np.eye(2), ["a", "b"], "pandas", True).loc["b", "a"]
    np.float64(0.0)
    >>> named_frame(np.eye(2), ["a", "b"], "polars", True).columns
    ['node', 'a', 'b']
    """
    columns = {name: column.tolist() for name, column in zip(names, values.T, strict=True)}
    if not by_node:
        return new_frame(columns, kind)
    if kind != "pandas":
        return new_frame({"node": list(names), **columns}, kind)
    made = new_frame(columns, kind)
    made.index = list(names)
    return made


def _as_narwhals(frame: Any) -> "nw.DataFrame[Any] | nw.LazyFrame[Any]":
    arrow: Any = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(frame, arrow.RecordBatch):
        return _from_stream(frame)  # of these narwhals 1.36 sees names and types alone
    try:
        table: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError:
        table = _from_stream(frame)
    except Exception as problem:
        if "unique" in str(problem).lower() or "duplicate" in str(problem).lower():
            raise DataError(
                f"the data have several columns of the same name{_twice(frame)}: rename or drop "
                "them"
            ) from None
        raise
    return table


def _twice(frame: Any) -> str:
    """The names that several columns of a frame share, to end a clause."""
    columns = Counter(map(str, getattr(frame, "columns", ())))
    found = [repr(name) for name, count in columns.items() if count > 1]
    return f", {', '.join(found[:6])}" if found else ""


def _from_stream(frame: Any) -> "nw.DataFrame[Any]":
    check_is_table(frame)
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow

        with suppress(pyarrow.ArrowInvalid, TypeError):  # a single column, say
            return nw.from_native(pyarrow.table(frame), eager_only=True)
    raise DataError(
        f"got data of type {type(frame).__name__}, expected an array, the path of a file or a "
        "pandas, polars or pyarrow frame"
    )


def _as_numbers(column: "nw.Series[Any]", name: str, is_whole: bool) -> "nw.Series[Any]":
    """The column, which is refused if it holds something else than numbers."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column
    numbers = _numbers_of(column)
    if numbers is not None:
        return nw.new_series(name, numbers, nw.Float64, backend=column.implementation)
    if is_whole and not len(column):
        raise DataError("the data have no rows: give at least one")
    found = _first_text(column)
    where = "" if found is None or not is_whole else f", first {_place(column, found)}"
    advice = _advice(column, name, None if found is None else column[found])
    raise DataError(
        f"the column {name!r} holds {_kind(column, found)}{where}, expected numbers: {advice}"
    )


def _numbers_of(column: "nw.Series[Any]") -> FloatArray | None:
    """The numbers in a column of another type, if it holds nothing else; missing is NaN.

    A column without rows goes by its type.
    """
    if column.dtype == nw.Object and len(column):
        values = column.to_list()
        if all(isinstance(one, Real | Decimal) or _is_missing(one) for one in values):
            with suppress(OverflowError, ValueError):  # as of 10**400
                return np.array([np.nan if _is_missing(one) else float(one) for one in values])
    elif column.dtype == nw.Unknown and _own_type(column).startswith("Sparse"):
        dense = np.asarray(column.to_native())
        return dense.astype(np.float64) if dense.dtype.kind in "biuf" else None
    elif column.dtype in (nw.String, nw.Unknown) and column.null_count() == len(column) > 0:
        return np.full(len(column), np.nan)
    return None


def _is_missing(value: Any) -> bool:
    """Whether this stands for a missing value and is not a number."""
    return not isinstance(value, Real | Decimal | str) and plain_label(value) is None


def _kind(column: "nw.Series[Any]", found: int | None) -> str:
    """What a column holds, in a word; the first that is no number is in row `found`."""
    value = None if found is None else column[found]
    if isinstance(value, Real | Decimal):
        return "values that float64 cannot hold"
    if column.dtype == nw.Object and not isinstance(value, str | None):
        return f"values of type {type(value).__name__}"
    if column.dtype in (nw.String, nw.Object):
        return "text"
    kind = _own_type(column) if column.dtype == nw.Unknown else str(column.dtype)
    return f"complex numbers ({kind})" if kind.startswith("complex") else kind


def _place(column: "nw.Series[Any]", row: int) -> str:
    """A value and where it stands: its row, and the label of the row if it has one."""
    labels = row_labels(column.to_native())
    label = "" if labels is None else f" ({str(labels[row])[:40]!r})"
    return f"{str(column[row])[:40]!r} in row {row}{label}, counted from 0"


def _advice(column: "nw.Series[Any]", name: str, first: Any) -> str:
    """How to make numbers of a column that holds something else; `first` is the first of these."""
    if isinstance(first, Real | Decimal):
        return "divide the column by a power of ten, or mark these values as missing"
    if column.dtype in (nw.String, nw.Object) and isinstance(first, str | None):
        return _advice_on_text(column, name, first)
    if column.dtype in (nw.Datetime, nw.Date):
        return (
            "convert it first, say to days since a start, as (column - column.min()).dt.days in "
            "pandas or .dt.total_days() in polars"
        )
    if column.dtype == nw.Duration:
        return "convert it first, as column.dt.total_seconds()"
    if _own_type(column).startswith("complex"):
        return f"give the real part or the size, as frame[{name!r}].abs()"
    return _CATEGORY if column.dtype in (nw.Categorical, nw.Enum) else "convert it first"


_CATEGORY = (
    "as the cause of others text stands for a category of a few levels, else convert it first"
)


def _advice_on_text(column: "nw.Series[Any]", name: str, first: str | None) -> str:
    """The same for a column of text, or of text and numbers; None if it can all be read."""
    in_pandas = f"pandas.to_numeric(frame[{name!r}])"
    if first is None:
        convert = in_pandas if column.implementation.is_pandas() else "column.cast(polars.Float64)"
        return f"they are numbers written as text, so convert it first, as {convert}"
    if DECIMAL_COMMA.fullmatch(first.strip()):
        return (
            "this looks like a decimal comma, so read the file with decimal=',', or write points "
            "for commas"
        )
    if DATE.match(first.strip()):
        dates = f"pandas.to_datetime(frame[{name!r}])"
        days = f"({dates} - {dates}.min()).dt.days"
        if not column.implementation.is_pandas():
            days = f"polars.col({name!r}).str.to_date().dt.epoch('d')"
        return f"this looks like a date, so convert it first, say to days since a start, as {days}"
    if column.dtype == nw.String:
        return _CATEGORY
    return f"mend what is no number, then convert it, as {in_pandas}"


def _own_type(column: "nw.Series[Any]") -> str:
    """What the frame itself calls the type of a column."""
    native = column.to_native()
    return str(getattr(native, "dtype", getattr(native, "type", "")))


def _first_text(column: "nw.Series[Any]") -> int | None:
    """The row of the first value that is no number, in a column of text or of mixed values."""
    values = column.to_list() if column.dtype in (nw.String, nw.Object) else []
    for row, value in enumerate(values):
        try:
            float("nan" if plain_label(value) is None else value)
        except (OverflowError, TypeError, ValueError):
            return row
    return None


def _write_numbers(column: "nw.Series[Any]", out: FloatArray) -> None:
    numbers = column if column.dtype == nw.Float64 else column.cast(nw.Float64)
    chunks = getattr(numbers.to_native(), "chunks", None)
    if chunks is None:
        out[:] = numbers.to_numpy()
        return
    first = 0
    for chunk in chunks:  # an Arrow column; each chunk is copied once, straight into the array
        out[first : first + len(chunk)] = arrow_numbers(chunk)
        first += len(chunk)
