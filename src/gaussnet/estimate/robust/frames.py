"""A node and its regression: which rows, and where the columns are centred."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.errors import EstimationError
from gaussnet.estimate.robust.cells import MISSING, SuspiciousCells
from gaussnet.estimate.robust.regression import Regression, median

ROUNDING_LEVEL = 4 * np.finfo(np.float64).eps
"""What is smaller than this, beside the child's values, is rounding error."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where the columns of a regression are centred; a constant comes first if wanted."""

    centres: FloatArray
    reference: float
    intercept: bool

    def columns(self, parents: FloatArray) -> FloatArray:
        """The columns of the regression from those of the parents, (p, rows)."""
        if not self.intercept:
            return parents
        out = np.empty((len(parents) + 1, parents.shape[1]))
        out[0] = 1.0
        np.subtract(parents, self.centres[:, None], out=out[1:])
        return out

    def equation(self, found: FloatArray) -> tuple[FloatArray, float]:
        """Coefficients and intercept of the node."""
        if not self.intercept:
            return found, 0.0
        return found[1:], float(self.reference + found[0] - found[1:] @ self.centres)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node, its parents, and what is known of their cells."""

    columns: FloatArray
    """All data, (rows, nodes), each column without gaps."""
    number: int
    parents: IntArray
    above: Sequence[SuspiciousCells | None]
    """Suspicious cells of each parent."""
    missing: IntArray
    """Rows in which the node's own cell is missing, or cannot belong to its column."""
    intercept: bool
    discrete: bool = False
    """Whether its column has few values, so that residuals do not tell what is wrong."""

    def sound_rows(self) -> BoolArray:
        """The rows to learn from: those without a suspicious parent, if these are enough."""
        sound = np.ones(len(self.columns), dtype=bool)
        sound[self.missing] = False
        for cells in self.above:
            if cells is not None:
                sound[cells.rows] = False
        size = len(self.parents) + self.intercept
        if np.count_nonzero(sound) >= max(3 * size, size + 10):
            return sound
        sound[:] = True
        sound[self.missing] = False
        for cells in self.above:
            if cells is not None:
                sound[cells.rows[cells.statuses == MISSING]] = False
        if not sound.any():
            raise EstimationError(
                f"column {self.number} has no row in which neither it nor a parent is missing: "
                "leave the node out of the graph or give more rows"
            )
        return sound

    def recorded(self, rows: IntArray) -> FloatArray:
        """The parents as recorded in some rows, (parents, rows)."""
        found = np.empty((len(self.parents), len(rows)))
        for place, parent in enumerate(self.parents.tolist()):
            np.take(self.columns[:, parent], rows, out=found[place])
        return found

    def frame(self, rows: IntArray) -> Frame:
        """Parents centred at their means over some rows, the child at its median."""
        if not self.intercept:
            return Frame(np.zeros(len(self.parents)), 0.0, False)
        reference = median(self.columns[rows, self.number])
        return Frame(self.recorded(rows).mean(axis=1), reference, True)

    def regression(self, rows: IntArray, frame: Frame) -> Regression:
        """The regression over some rows."""
        child = self.columns[rows, self.number] - frame.reference
        typical = median(np.abs(child))
        rounding = float(ROUNDING_LEVEL * (typical + abs(frame.reference)))
        smallest = max(rounding, float(np.finfo(np.float64).tiny))
        return Regression(frame.columns(self.recorded(rows)), child, typical, smallest)


def missing_rows(columns: FloatArray) -> dict[int, IntArray]:
    """The rows of the missing cells, for the columns that have any."""
    if kernels.all_finite(columns):
        return {}
    holed = np.flatnonzero(np.isnan(columns).any(axis=0))
    return {column: np.flatnonzero(np.isnan(columns[:, column])) for column in holed.tolist()}
