"""What a source gave, and how its columns find their nodes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gaussnet._types import Rows
from gaussnet.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Rows in the order of the names asked for, and the columns that nobody asked for."""

    rows: Rows
    """(rows, names), float64 or float32."""
    ignored: tuple[str, ...] = ()


def column_places(
    columns: Sequence[str], names: Sequence[str], who_has: str = "the data have"
) -> list[int]:
    """Where each name stands among the columns.

    A name without a column of just this name takes one that differs by blanks at its ends.
    `who_has` begins the message.

    Examples
    --------
    >>> column_places(["time", "wet", " rain"], ["rain", "wet"])
    [2, 1]
    """
    place = {column.strip(): index for index, column in reversed(list(enumerate(columns)))}
    place |= {column: index for index, column in reversed(list(enumerate(columns)))}
    missing = [name for name in names if name not in place]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:6])
        raise DataError(
            f"{who_has} no column for {len(missing)} of {len(names)} nodes ({shown}): "
            "rename the columns or leave these nodes out of the graph"
        )
    counts = Counter(columns)
    for name in names:
        if counts[name] > 1:
            raise DataError(f"{who_has} {counts[name]} columns {name!r}: rename or drop them")
    return [place[name] for name in names]


def other_columns(columns: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """The columns at no place that is used."""
    used = set(places)
    return tuple(column for index, column in enumerate(columns) if index not in used)
