"""Frames: the named columns of a pandas, polars or pyarrow table as one array."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from gaussnet._types import FloatArray
from gaussnet.errors import DataError


def frame_rows(frame: Any, names: Sequence[str]) -> FloatArray:
    """The named columns as (rows, names) float64 in column order; nulls become NaN."""
    table = _as_table(frame)
    present = list(table.columns)
    missing = [name for name in names if name not in present]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:6])
        raise DataError(
            f"the data have no column for {len(missing)} of {len(names)} nodes ({shown}): "
            "rename the columns or leave these nodes out of the graph"
        )
    columns = np.empty((len(names), len(table)))
    for position, name in enumerate(names):
        columns[position] = _numbers(table[name], name)
    return columns.T


def _as_table(frame: Any) -> "nw.DataFrame[Any]":
    try:
        table = nw.from_native(frame)
        return table.collect() if isinstance(table, nw.LazyFrame) else table
    except TypeError:
        pass
    except Exception as problem:
        if "unique" in str(problem).lower() or "duplicate" in str(problem).lower():
            raise DataError(
                "the data have several columns of the same name: rename or drop them"
            ) from None
        raise
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow

        return nw.from_native(pyarrow.table(frame), eager_only=True)
    raise DataError(
        f"got data of type {type(frame).__name__}, expected an array or a pandas, polars or "
        "pyarrow frame"
    )


def _numbers(column: "nw.Series[Any]", name: str) -> FloatArray:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise DataError(
            f"the column {name!r} holds {column.dtype}, expected numbers: convert it first"
        )
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
