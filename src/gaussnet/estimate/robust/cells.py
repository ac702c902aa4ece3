"""The suspicious cells of a column: what was recorded there, and what was expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.kernels import Cells, CellTable
from gaussnet.kernels.plain_robust import CONFIRMED, FINE, FLAGGED, MISSING, UNVERIFIED

__all__ = [
    "CONFIRMED",
    "FINE",
    "FLAGGED",
    "MISSING",
    "NO_CELLS",
    "UNVERIFIED",
    "SuspiciousCells",
    "all_cells",
    "all_left_out",
    "cells_above",
    "cells_of",
    "enter_cells",
]


@dataclass(frozen=True, slots=True, eq=False)
class SuspiciousCells:
    """The cells of one node that no child should trust, (cells,) each, by row.

    A cell is *flagged* if it is too far from what its equation expects, *unverified* if the
    expectation is too vague to tell, because parents are suspicious themselves, and
    *missing* if nothing was recorded. A flagged cell becomes *confirmed* if the children of
    the node agree with what was recorded: the event was rare but real.
    """

    rows: IntArray
    """Row numbers, ascending."""
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """Prediction from the parents, which are replaced by their own prediction if suspicious."""
    variances: FloatArray
    """Variance of the true value about the prediction."""
    deviations: FloatArray
    """Recorded minus expected value in standard deviations, z; NaN where missing."""

    def joined(self, other: "SuspiciousCells") -> "SuspiciousCells":
        """The cells of both, by row."""
        order = np.argsort(np.concatenate((self.rows, other.rows)))
        pairs = zip(self._columns, other._columns, strict=True)
        return SuspiciousCells(*(np.concatenate(pair)[order] for pair in pairs))

    def only(self, chosen: BoolArray) -> "SuspiciousCells":
        """The chosen cells."""
        places = np.flatnonzero(chosen)
        return SuspiciousCells(*(column.take(places) for column in self._columns))

    @property
    def _columns(self) -> tuple[Any, ...]:
        return (self.rows, self.statuses, self.expected, self.variances, self.deviations)

    @property
    def flagged(self) -> int:
        """Number of flagged cells."""
        return int(np.count_nonzero(self.statuses == FLAGGED))


def cells_of(table: CellTable, node: int) -> SuspiciousCells:
    """The cells of a node in a table."""
    span = table.span(node)
    return SuspiciousCells(table.rows[0, span], table.statuses[span], *table.values[:, span])


def all_cells(table: CellTable) -> dict[int, SuspiciousCells]:
    """The cells of the nodes that have any."""
    rows, statuses, found = table.rows[0], table.statuses, {}
    expected, variances, deviations = table.values
    for node, (first, last) in enumerate(table.bounds[:2].T.tolist()):
        if first < last:
            span = slice(first, last)
            values = (expected[span], variances[span], deviations[span])
            found[node] = SuspiciousCells(rows[span], statuses[span], *values)
    return found


def all_left_out(table: CellTable) -> dict[int, IntArray]:
    """The rows left out, for the nodes that leave out any."""
    rows, bounds = table.rows[1], enumerate(table.bounds[2:].T.tolist())
    return {node: rows[first:last] for node, (first, last) in bounds if first < last}


def enter_cells(table: CellTable, node: int, cells: SuspiciousCells) -> None:
    """Write the cells of a node to a table that has room for them."""
    values = (cells.expected, cells.variances, cells.deviations)
    table.add(node, cells.rows, cells.statuses, values)


def cells_above(columns: Sequence[SuspiciousCells | None]) -> Cells:
    """The suspicious cells of some columns in one table."""
    found = [NO_CELLS if cells is None else cells for cells in columns]
    offsets = np.array([0, *accumulate(len(cells.rows) for cells in found)])
    if not found:
        return Cells(offsets, NO_CELLS.rows, NO_CELLS.expected, NO_CELLS.variances)
    return Cells(
        offsets,
        np.concatenate([cells.rows for cells in found]),
        np.concatenate([cells.expected for cells in found]),
        np.concatenate([cells.variances for cells in found]),
    )


NO_CELLS = SuspiciousCells(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8), np.empty(0), np.empty(0), np.empty(0)
)
