"""What a source gave, and how its columns find their nodes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

from gaussnet._types import Rows
from gaussnet.errors import DataError
from gaussnet.graph.dag import shorten


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
    exact, bare = Counter(columns), Counter(column.strip() for column in columns)
    missing = [name for name in names if not exact[name] and not bare[name]]
    if missing:
        asked = set(names)
        others = sorted(columns, key=asked.__contains__)  # those that no node calls come first
        raise DataError(
            f"{who_has} no column for {len(missing)} of {len(names)} nodes "
            f"({', '.join(map(repr, missing[:6]))}), only {shorten(others)}: "
            f"rename the columns or leave these nodes out of the graph{_hint(columns, missing)}"
        )
    for name in names:
        if (exact[name] or bare[name]) > 1:
            blanks = "" if exact[name] else " with blanks around it"
            raise DataError(
                f"{who_has} {exact[name] or bare[name]} columns {name!r}{blanks}: "
                "rename or drop them"
            )
    place = {column.strip(): index for index, column in enumerate(columns)}
    place |= {column: index for index, column in enumerate(columns)}
    return [place[name] for name in names]


def _hint(columns: Sequence[str], missing: Sequence[str]) -> str:
    """What to add if some names look the same as those of columns and are not."""
    composed = {normalize("NFC", column) for column in columns}
    if composed.isdisjoint(normalize("NFC", name) for name in missing):
        return ""
    return " (some only look the same: an accent may be part of its letter or follow it)"


def other_columns(columns: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """The columns at no place that is used."""
    used = set(places)
    return tuple(column for index, column in enumerate(columns) if index not in used)
