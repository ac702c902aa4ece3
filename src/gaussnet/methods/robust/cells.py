"""Cells that may be wrong: the suspicious cells of a node, and the values of discrete columns.

While nodes are learnt, suspicious cells are kept in a `CellTable` that the kernels write too;
`SuspiciousCells` are those of one node.

Groups, genotypes, scores and counts need a rule of their own. A continuous distribution never gives
a value twice, and neither do most errors. A column whose values recur is no sum of parents and
Gaussian noise, so that deviations from its equation say nothing of what is wrong: half of a group
would look wrong to the other half. Such a column is not trimmed; only what lies outside its values,
farther off than they reach, is set aside. If that was right after all, as the largest of some doses
may be, the children confirm it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels import Cells, CellTable
from gaussnet.kernels.numpy_robust import FLAGGED
from gaussnet.types import BoolArray, FloatArray, IntArray

MOST_VALUES = 10
"""A discrete column has at most so many common values."""

SMALLEST_SHARE = 0.005
"""A value is common if it comes more than once, in at least this share of the rows."""

SMALLEST_COVER = 0.5
"""The common values cover at least this share of the rows."""

MAJORITY = 0.5
"""A value in a larger share of the rows is the only one that belongs, if the others are many."""

JOINING_SHARE = 0.1
"""Rare values join the common ones if at least this share of them lies as near as these lie to each
other."""

LARGEST_MODE = 0.1
"""A column in which one value is more frequent is not continuous and is not judged."""

FEWEST_OTHERS = 20
"""Values beside the most frequent one that tell how far the right ones reach."""

UPPER_QUARTILE = 0.6745
"""Of the Gaussian distribution, in standard deviations."""

FAR_ENOUGH, LARGE_GAP = 3.0, 1.5
"""The right ones reach at least so many standard deviations, and the gap so many times farther."""

SAMPLE = 64

NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SuspiciousCells:
    """The cells of one node that no child should trust, (cells,) each, by row.

    A cell is *flagged* if it is too far from what its equation expects, *unverified* if the
    expectation is too uncertain to tell, because parents are suspicious themselves, and
    *missing* if nothing was recorded. A flagged cell becomes *confirmed* if the children of
    the node agree with what was recorded: the event was rare but real.
    """

    rows: IntArray
    """Row numbers, ascending."""
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """Prediction from the parents, which are replaced by their own prediction if suspicious."""
    variances: FloatArray
    """Variance of the true value about the prediction; of the mixture NaN where missing."""
    deviations: FloatArray
    """Recorded minus expected value in standard deviations, z; NaN where missing."""
    chances: FloatArray = field(default_factory=partial(np.empty, 0))
    """That the value is wrong, where the mixture says so; else empty."""

    @classmethod
    def of_node(cls, table: CellTable, node: int) -> "SuspiciousCells":
        """The cells of a node in a table."""
        span = table.span(node)
        return cls(table.rows[0, span], table.statuses[span], *table.values[:, span])

    def joined(self, other: "SuspiciousCells") -> "SuspiciousCells":
        """The cells of both, by row."""
        order = np.argsort(np.concatenate((self.rows, other.rows)))
        pairs = zip(self._columns, other._columns, strict=True)
        return SuspiciousCells(*(np.concatenate(pair)[order] for pair in pairs))

    def only(self, chosen: BoolArray) -> "SuspiciousCells":
        """The chosen cells."""
        indices = np.flatnonzero(chosen)
        return SuspiciousCells(*(column.take(indices) for column in self._columns))

    @property
    def _columns(self) -> tuple[Any, ...]:
        return (self.rows, self.statuses, self.expected, self.variances, self.deviations)

    @property
    def flagged(self) -> int:
        """Number of flagged cells."""
        return int(np.count_nonzero(self.statuses == FLAGGED))


def all_cells(table: CellTable) -> dict[int, SuspiciousCells]:
    """The cells of the nodes that have any."""
    columns: tuple[Any, ...] = (table.rows[0], table.statuses, *table.values)
    return {
        node: SuspiciousCells(*[column[first:last] for column in columns])
        for node, (first, last) in enumerate(table.bounds[:2].T.tolist())
        if first < last
    }


def all_left_out(table: CellTable) -> dict[int, IntArray]:
    """The rows left out, for the nodes that leave out any."""
    rows, bounds = table.rows[1], enumerate(table.bounds[2:].T.tolist())
    return {node: rows[first:last] for node, (first, last) in bounds if first < last}


def concatenated(parts: Sequence[SuspiciousCells]) -> Cells:
    """The suspicious cells of some columns, one column after the other, for a kernel."""
    offsets = np.array([0, *accumulate(len(cells.rows) for cells in parts)])
    return Cells(
        offsets,
        np.concatenate([NO_ROWS, *(cells.rows for cells in parts)]),
        np.concatenate([np.empty(0), *(cells.expected for cells in parts)]),
        np.concatenate([np.empty(0), *(cells.variances for cells in parts)]),
    )


class DiscreteColumn(NamedTuple):
    """The values that belong to a column of few values, and the rows that hold something else."""

    values: FloatArray
    """Ascending."""
    outside: IntArray
    """Rows of values that lie far outside, ascending."""

    @classmethod
    def of(cls, column: FloatArray) -> "DiscreteColumn | None":
        """The common values of a column, if they are few and cover at least half of it; else None.

        What lies farther from the others than these lie from each other does not belong, such as
        the code -9 for what is not known. Missing cells do not count.

        Examples
        --------
        >>> DiscreteColumn.of(np.array([0.0, 1.0, 1.0, 0.0, 1.0, -9.0, 1.0, -9.0, 1000.3]))
        DiscreteColumn(values=array([0., 1.]), outside=array([5, 7, 8]))
        >>> DiscreteColumn.of(np.array([0.1, 0.2, 0.3, 0.4])) is None
        True
        """
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        rows = counts.sum()
        common = counts >= max(2, SMALLEST_SHARE * rows)
        if counts.max(initial=0) > max(1, MAJORITY * rows) and (
            common.sum() > MOST_VALUES or _are_scattered(values, counts, common)
        ):
            return cls.tied(column)
        values, counts = values[common], counts[common]
        if not 0 < len(values) <= MOST_VALUES or counts.sum() < SMALLEST_COVER * rows:
            return None
        values = _main_group(values, counts)
        width = values[-1] - values[0]
        if width == 0.0:
            return cls.tied(column)
        distances = np.maximum(values[0] - column, column - values[-1])
        return cls(values, np.flatnonzero(distances > width))

    @classmethod
    def tied(cls, column: FloatArray) -> "DiscreteColumn":
        """A column of one frequent value; of the others only the far beyond all do not belong."""
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        mode = values[counts.argmax()]
        return cls(np.array([mode]), _far_from(mode, column))

    def is_tied(self, column: FloatArray) -> bool:
        """Whether only one value belongs and others are many, so that wrong ones cannot be told."""
        return len(self.values) == 1 and len(np.unique(column[~np.isnan(column)])) > 2

    def with_values(
        self, more: FloatArray, refuted: FloatArray, column: FloatArray
    ) -> "DiscreteColumn":
        """The column after more of its values turned out to belong.

        So do those between, unless they are refuted.
        """
        values = np.union1d(self.values, more)
        own = column[self.outside]
        outside = (own < values[0]) | (own > values[-1]) | np.isin(own, refuted)
        return DiscreteColumn(values, self.outside[outside])


def discrete_columns(columns: FloatArray) -> dict[int, DiscreteColumn]:
    """The columns of few values; a sample of the rows rules out most others.

    Of 64 rows of such a column about half or more hold one of 10 values, so that two are equal.
    """
    rows = np.linspace(0, len(columns) - 1, min(len(columns), SAMPLE)).astype(np.int64)
    sample = np.sort(columns[rows], axis=0)
    recurring = np.flatnonzero((sample[1:] == sample[:-1]).any(axis=0)).tolist()
    found = {column: DiscreteColumn.of(columns[:, column]) for column in recurring}
    return {column: discrete for column, discrete in found.items() if discrete is not None}


def is_continuous(column: FloatArray) -> bool:
    """Whether no value of a column is frequent, unless it lies far from all others, as codes do.

    A value that most rows hold is no code.
    """
    ordered = np.sort(column)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(starts, len(ordered)))
    if not len(counts) or counts.max() <= LARGEST_MODE * len(ordered):
        return True
    if counts.max() > MAJORITY * len(ordered):
        return False
    mode = ordered[starts[counts.argmax()]]
    others = ordered[ordered != mode]
    low, high = np.quantile(others, (0.25, 0.75))
    nearest = np.abs(others - mode).min()
    return bool(nearest > 3.0 * (high - low) > 0.0)


def _far_from(mode: float, column: FloatArray) -> IntArray:
    """Rows of values that lie far beyond all others, as seen from the most frequent one.

    Right values may be skewed, such as costs beside many zeros, so that logarithms of distances are
    compared: in units of the upper half of theirs, far values lie beyond the first large gap.
    """
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(np.abs(column - mode))
    others = np.sort(logs[np.isfinite(logs)])
    middle, upper = np.quantile(others, (0.5, 0.75)) if len(others) else (0.0, 0.0)
    if len(others) < FEWEST_OTHERS or upper == middle:
        return NO_ROWS
    sizes = UPPER_QUARTILE * (others - middle) / (upper - middle)
    near = np.maximum(sizes[:-1], FAR_ENOUGH)
    gaps = np.flatnonzero(sizes[1:] > LARGE_GAP * near)
    return np.flatnonzero(logs > others[gaps[0]]) if len(gaps) else NO_ROWS


def _are_scattered(values: FloatArray, counts: IntArray, common: BoolArray) -> bool:
    """Whether most rows without the most frequent value have rare ones that join the common ones.

    Rare values that all lie far off, as wrong ones among 0 and 1 do, do not join them.
    """
    rare, frequent = counts[~common].sum(), counts[common].sum() - counts.max()
    if frequent >= SMALLEST_COVER * (rare + frequent):
        return False
    first, last = values[common][[0, -1]]
    width = last - first
    joins = ~common & (values >= first - width) & (values <= last + width)
    return bool(counts[joins].sum() >= JOINING_SHARE * rare)


def _main_group(values: FloatArray, counts: IntArray) -> FloatArray:
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
