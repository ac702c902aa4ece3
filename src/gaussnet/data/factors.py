"""Categories: columns of text become one column of 0 and 1 for each level but the reference.

A graph knows its factors by name and levels (`Dag.factors`); the first level is the reference, and
``fuel[Petrol]`` is 1 where the fuel is Petrol. New frames with the same columns of text are
turned into such columns wherever they are asked about.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from gaussnet.data.columns import is_frame
from gaussnet.data.frames import holds_numbers
from gaussnet.errors import DataError, GraphError
from gaussnet.graph.dag import Dag, indicator, shorten

MOST_LEVELS = 30
"""A column of more different texts is rather a name than a category."""

Levels = Mapping[str, tuple[str, ...]]


def with_factors(data: Any, dag: Dag) -> tuple[Any, Dag]:
    """The data and the graph with indicators in place of nodes whose columns hold categories.

    Examples
    --------
    >>> import pandas as pd
    >>> cars = pd.DataFrame({"fuel": ["Petrol", "Diesel", "Petrol"], "mpg": [40.0, 60.0, 45.0]})
    >>> frame, dag = with_factors(cars, Dag.parse("mpg ~ fuel"))
    >>> dag.edges, frame["fuel[Petrol]"].tolist()
    ((('fuel[Petrol]', 'mpg'),), [1.0, 0.0, 1.0])
    """
    if holds_numbers(data):
        return data, dag
    table = _eager(data)
    if table is None:
        return data, dag
    labels = {str(column): column for column in table.columns}
    found = {
        node: _levels(table[labels[node]], node)
        for node in dag.nodes
        if node in labels and _is_category(table[labels[node]])
    }
    if not found:
        return data, dag
    for node in found:
        if dag.parents(node):
            raise GraphError(
                f"the node {node!r} holds categories and has the parents "
                f"{shorten(dag.parents(node))}, but a linear equation cannot give a category: turn "
                "these edges round, leave them out, or give the node as numbers"
            )
    return with_indicators(data, found), dag.with_factors(found)


def with_indicators(data: Any, factors: Levels) -> Any:
    """The frame with columns of 0 and 1 for the levels of these factors, where it has them."""
    table = _eager(data) if factors else None
    if table is None:
        return data
    labels = {str(column): column for column in table.columns}
    made, gone = [], []
    for name, levels in factors.items():
        if name not in labels or any(indicator(name, level) in labels for level in levels):
            continue
        values = [None if _is_null(one) else str(one) for one in table[labels[name]].to_list()]
        _check_known(values, name, levels)
        gone.append(labels[name])
        for level in levels[1:]:
            column = np.array([np.nan if v is None else float(v == level) for v in values])
            kind = table.implementation
            made.append(nw.new_series(indicator(name, level), column, nw.Float64, backend=kind))
    return table.drop(gone).with_columns(*made).to_native() if gone else data


def _check_known(values: Sequence[str | None], name: str, levels: tuple[str, ...]) -> None:
    unknown = sorted({value for value in values if value is not None} - set(levels))
    if unknown:
        raise DataError(
            f"the column {name!r} holds {shorten(unknown)}, which the network does not know: its "
            f"levels are {shorten(levels)}"
        )


def _eager(data: Any) -> "nw.DataFrame[Any] | None":
    """A frame in memory; None for anything else."""
    if not is_frame(data):
        return None
    try:
        table: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except Exception:  # what cannot be read is refused where it is read
        return None
    return table


def _is_category(column: "nw.Series[Any]") -> bool:
    """Whether a column holds categories or text that is no number."""
    if column.dtype in (nw.Categorical, nw.Enum):
        return True
    if column.dtype not in (nw.String, nw.Object):
        return False
    values = [value for value in column.to_list() if not _is_null(value)]
    return all(isinstance(value, str) for value in values) and not _are_numbers(values)


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether all of these are numbers, with a point or a comma, or most of them are."""
    numbers = sum(_is_number(value) for value in values)
    return 2 * numbers > len(values) or not values


def _is_number(value: Any) -> bool:
    try:
        float(str(value).replace(",", "."))
    except ValueError:
        return False
    return True


def _levels(column: "nw.Series[Any]", name: str) -> tuple[str, ...]:
    """The levels, the reference first: in the order that the column states, or of letters."""
    values = [str(value) for value in column.to_list() if not _is_null(value)]
    used = set(values)
    ordered = sorted(used)
    own = _stated_order(column)
    if used <= set(own):
        ordered = [level for level in own if level in used]
    if len(ordered) < 2:
        held = "no value" if not ordered else f"{ordered[0]!r} in every row"
        raise DataError(f"the column {name!r} holds {held}: leave the node out of the graph")
    if len(ordered) > MOST_LEVELS:
        raise DataError(
            f"the column {name!r} holds {len(ordered)} different texts, more than {MOST_LEVELS}: "
            "leave it out if it is a name, merge rare levels if it is a category, or convert it "
            "to numbers"
        )
    return tuple(ordered)


def _stated_order(column: "nw.Series[Any]") -> list[str]:
    """The order of a pandas Categorical or a polars Enum; of other columns nobody stated one."""
    stated: Any = column.dtype.categories if isinstance(column.dtype, nw.Enum) else None
    if stated is None and column.dtype == nw.Categorical and column.implementation.is_pandas():
        stated = column.to_native().cat.categories
    return [] if stated is None else [str(level) for level in stated]


def _is_null(value: Any) -> bool:
    """Whether a value is None, NaN, which is not itself, or pandas' NA, which cannot tell."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True
