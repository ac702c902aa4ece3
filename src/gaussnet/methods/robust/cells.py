"""Suspicious cells, and columns of few recurring values."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels import Cells, CellTable
from gaussnet.kernels.numpy_robust import FLAGGED
from gaussnet.types import BoolArray, FloatArray, IntArray


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


# Columns of few values: groups, genotypes, scores, counts.
#
# A continuous law never gives a value twice, and neither does most garbage. A column whose values
# recur is no sum of parents and Gaussian noise, so that deviations from its equation say nothing of
# what is wrong: half of a group would look wrong to the other half. Such a column is not trimmed;
# only what lies outside its values, farther off than they reach, is set aside. If that was right
# after all, as the largest of some doses may be, the children confirm it.

MOST_VALUES = 10
SMALLEST_SHARE = 0.005
"""A value is common if it comes more than once, in at least this share of the rows."""
SMALLEST_COVER = 0.5
"""The common values cover at least this share of the rows."""
SAMPLE = 64


class FewValues(NamedTuple):
    """The values that belong to a column, and the rows that hold something else, outside."""

    values: FloatArray
    """Ascending."""
    strange: IntArray
    """Rows, ascending; none if only one value belongs, which leaves no measure of far."""

    def with_values(self, more: FloatArray, refuted: FloatArray, column: FloatArray) -> "FewValues":
        """The same after more values of the column turned out to belong.

        So do those between, unless they are refuted.
        """
        values = np.union1d(self.values, more)
        own = column[self.strange]
        strange = (own < values[0]) | (own > values[-1]) | np.isin(own, refuted)
        return FewValues(values, self.strange[strange])


def discrete_columns(columns: FloatArray) -> dict[int, FewValues]:
    """The columns of few values; the others are told by some of their rows.

    Of 64 rows of such a column about half or more hold one of 10 values, so that two are alike.
    """
    places = np.linspace(0, len(columns) - 1, min(len(columns), SAMPLE)).astype(np.int64)
    sample = np.sort(columns[places], axis=0)
    alike = np.flatnonzero((sample[1:] == sample[:-1]).any(axis=0)).tolist()
    found = {column: few_values(columns[:, column]) for column in alike}
    return {column: few for column, few in found.items() if few is not None}


def few_values(column: FloatArray) -> FewValues | None:
    """The common values of a column, if they are few and cover at least half of it; else None.

    What lies farther from the others than these lie from each other does not belong, such as
    the code -9 for what is not known. Missing cells do not count.

    Examples
    --------
    >>> few_values(np.array([0.0, 1.0, 1.0, 0.0, 1.0, -9.0, 1.0, -9.0, 1000.3]))
    FewValues(values=array([0., 1.]), strange=array([5, 7, 8]))
    >>> few_values(np.array([0.1, 0.2, 0.3, 0.4])) is None
    True
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    rows = counts.sum()
    common = counts >= max(2, SMALLEST_SHARE * rows)
    values, counts = values[common], counts[common]
    if not 0 < len(values) <= MOST_VALUES or counts.sum() < SMALLEST_COVER * rows:
        return None
    body = _body(values, counts)
    reach = body[-1] - body[0]
    outside = np.maximum(body[0] - column, column - body[-1])
    strange = np.flatnonzero(outside > reach) if reach > 0.0 else np.empty(0, dtype=np.int64)
    return FewValues(body, strange)


def _body(values: FloatArray, counts: IntArray) -> FloatArray:
    """The values without groups that lie apart from the others, which hold more rows."""
    while len(values) > 2:
        gaps = np.diff(values)
        cut = int(np.argmax(gaps)) + 1
        lower = counts[:cut].sum() >= counts[cut:].sum()
        side = slice(None, cut) if lower else slice(cut, None)
        if not 0.0 < np.ptp(values[side]) < gaps[cut - 1]:
            break
        values, counts = values[side], counts[side]
    return values
