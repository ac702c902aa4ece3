"""What is known of rows beside their values: cells set from outside, groups, clusters, weights.

A `Design` says what the last columns of a table's pages hold: one column for each thing that is
known, after those of the nodes. A row's *regime* is the number of its set of targets, so that
however many nodes were set, one column tells. `Selection` picks the columns of some equations and
the rows that serve them.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

Part = Literal["regime", "group", "cluster", "weight"]
PARTS: tuple[Part, ...] = ("regime", "group", "cluster", "weight")
"""In the order of their columns."""

WeightKind = Literal["precision", "frequency", "sampling"]


@dataclass(frozen=True, eq=False)
class Design:
    """What the last columns of a table's pages hold.

    Examples
    --------
    >>> design = Design(targets=np.array([[False, False], [False, True]]))
    >>> design.parts, design.set_cells(np.array([[1.0], [0.0]])).tolist()
    (('regime',), [[False, True], [False, False]])
    """

    targets: BoolArray | None = None
    """Which nodes each regime sets from outside, (regimes, nodes); None if no cell was set."""
    counts: IntArray | None = None
    """Rows of each regime, of all rows that were given, (regimes,)."""
    groups: tuple[str, ...] | None = None
    """Names of the groups, whose numbers the rows hold; None if there are none."""
    shifted: BoolArray | None = None
    """Which nodes each group of rows shifts, (groups, nodes), where groups are conditions."""
    clusters: int | None = None
    """Number of clusters of rows that are not independent; None if all rows are."""
    weights: WeightKind | None = None
    """What the weights of rows mean; None if there are none."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is known, in the order of the columns."""
        said = (self.targets, self.groups, self.clusters, self.weights)
        return tuple(part for part, one in zip(PARTS, said, strict=True) if one is not None)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.parts)

    def column(self, known: FloatArray, part: Part) -> FloatArray:
        """One column of (rows, width)."""
        return np.ascontiguousarray(known[:, self.parts.index(part)])

    def has(self, part: Part) -> bool:
        """Whether this is known."""
        return part in self.parts

    def regimes(self, known: FloatArray) -> IntArray:
        """The regime of each row, (rows,)."""
        return self.column(known, "regime").astype(np.int64)

    def set_cells(self, known: FloatArray) -> BoolArray | None:
        """Whether each cell was set from outside, (rows, nodes); None if none was."""
        return None if self.targets is None else self.targets[self.regimes(known)]

    def of_columns(self, columns: IntArray) -> "Design":
        """The design of a table of these columns alone."""
        if self.targets is None:
            return self
        return replace(self, targets=self.targets[:, columns], counts=None)

    def merged(self, other: "Design") -> tuple["Design", IntArray]:
        """One design for the rows of both, and the new number of each of the other's regimes."""
        if self.parts != other.parts:
            raise SettingError(
                "some of the rows say which cells were set or how much a row weighs and others "
                "do not: give the same for all rows"
            )
        if self.targets is None or other.targets is None:
            return self, np.empty(0, dtype=np.int64)
        keys = [row.tobytes() for row in self.targets]
        index = {key: number for number, key in enumerate(keys)}
        numbers = [index.setdefault(row.tobytes(), len(index)) for row in other.targets]
        new = other.targets[[number >= len(keys) for number in numbers]]
        return replace(self, targets=np.vstack((self.targets, new)), counts=None), np.array(numbers)


def uncounted(design: Design | None) -> Design | None:
    """The design of some of the rows: nobody has counted those of each regime."""
    return None if design is None else replace(design, counts=None)


def split_page(page: Rows, design: Design | None) -> tuple[Rows, FloatArray | None]:
    """The values of a page, and what is known of its rows."""
    if design is None or not design.width:
        return page, None
    return page[:, : -design.width], np.asarray(page[:, -design.width :], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns of some equations, and the rows that serve them.

    Rows that lack one of the columns, or are of another regime, are left out, page by page, so
    that pages begin where those of all rows do.
    """

    columns: IntArray
    regimes: BoolArray | None = None
    """Whether rows of each regime serve, (regimes,); None if all do."""

    def rows_of(self, page: Rows, design: Design | None) -> Rows:
        """What is selected of a page."""
        width = 0 if design is None else design.width
        first = page.shape[1] - width
        chosen = page[:, np.append(self.columns, np.arange(first, page.shape[1]))]
        kept = ~np.isnan(chosen).any(axis=1)
        if self.regimes is not None and design is not None:
            kept &= self.regimes[design.regimes(np.asarray(page[:, first:], dtype=np.float64))]
        return chosen[kept]
