"""The range of the values that a fit was learnt from, and values of new rows beyond it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import GaussnetError
from gaussnet.fitting.residuals import doubted_cells
from gaussnet.graph.dag import Dag
from gaussnet.model.inference.predicted_rows import OutsideValue
from gaussnet.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.robust.judge import Judge

FAR = 0.25
"""A value is told of if it lies farther beyond the range than this share of its width."""
WRONG = 1.0
"""A value of a column that a robust fit does not judge is wrong if it lies farther beyond."""


@dataclass(frozen=True, eq=False)
class SeenRange:
    """The least and the largest value of each node, (nodes,) each; NaN where there is none.

    Examples
    --------
    >>> seen = SeenRange(np.array([0.0]), np.array([10.0]))
    >>> seen.beyond(np.array([[12.0], [13.0], [-3.0], [np.nan]]), FAR).ravel().tolist()
    [False, True, True, False]
    """

    low: FloatArray
    high: FloatArray

    def reach(self, share: float) -> tuple[FloatArray, FloatArray]:
        """The range with so much of its width added at both ends; all values if it has none."""
        width = self.high - self.low
        more = np.where(width > 0.0, share * width, np.inf)
        return self.low - more, self.high + more

    def beyond(self, rows: FloatArray, share: float) -> BoolArray:
        """Which values of rows (rows, nodes) lie farther beyond the range than this."""
        low, high = self.reach(share)
        with np.errstate(invalid="ignore"):
            return np.asarray((rows < low) | (rows > high))

    def outside(self, dag: Dag, rows: FloatArray) -> Iterator[OutsideValue]:
        """The values of rows that lie far beyond the range, row by row."""
        for row, node in np.argwhere(self.beyond(rows, FAR)).tolist():
            ends = (float(self.low[node]), float(self.high[node]))
            yield OutsideValue(dag.nodes[node], float(rows[row, node]), *ends, row)

    def limiting(self, judge: "Judge") -> "Judge":
        """A judge to whom values far beyond are wrong in columns that the judge does not judge."""
        low, high = self.reach(WRONG)
        judged = judge.mixture.judged
        return replace(
            judge,
            low=np.where(judged, judge.low, np.fmax(judge.low, low)),
            high=np.where(judged, judge.high, np.fmin(judge.high, high)),
        )


def find_seen_range(fit: "Fit") -> SeenRange | None:
    """The range of the values that are believed, if the rows are in memory, unchanged."""
    try:
        if fit.data is None or not fit.data.table().is_in_memory:
            return None
        rows = fit.data.table().in_memory("the range of the values").array
    except GaussnetError:  # they were changed since
        return None
    doubted, ends = doubted_cells(fit), np.full((2, len(fit.dag)), np.nan)
    for node in range(len(fit.dag) if len(rows) else 0):
        column = np.array(rows[:, node], dtype=np.float64)
        column[doubted.get(node, [])] = np.nan
        ends[:, node] = np.fmin.reduce(column), np.fmax.reduce(column)
    return SeenRange(*ends)
