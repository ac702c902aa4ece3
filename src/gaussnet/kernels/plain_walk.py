"""The walk of the robust estimator over its nodes: what the kernel takes and gives.

Without compiled kernels nodes are learnt where that is defined, in
`gaussnet.estimate.robust.node`.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain_robust import CONFIRMED, FLAGGED

CLEAN, FAILED, HOLED, DISCRETE = 1, 2, 4, 8
"""Least squares over all rows looks clean; it fails the checks; a cell of the node is missing; its
column has few values, so that it is left to the caller."""


class WalkTask(NamedTuple):
    """Nodes, and what is known of them before the walk; family i is that of node i, column i."""

    families: Families
    intercept: bool
    mean_square: bool
    """Whether variances are those of all rows with sound parents."""
    limits: FloatArray
    """Gate, extent and wide level, spread limit, largest cutoff, largest deviation from cleaned
    parents, largest vagueness, cap, and evidence, (9,)."""
    half: FloatArray
    """Largest half-sample statistics, (nodes,)."""
    farthest: FloatArray
    """How far rows taken back may move coefficients, in squared standard errors, (nodes,)."""
    verdicts: NDArray[np.uint8]
    """Sums of CLEAN, FAILED, HOLED and DISCRETE, (nodes,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What is learnt of the nodes, written node by node."""

    coefficients: FloatArray
    """(edges,)"""
    numbers: FloatArray
    """Intercepts, variances, variances of the noise as trimming has it, cutoffs, (4, nodes)."""
    counts: IntArray
    """Rows that the coefficients rest on, ranks of the parents over them, and how many of the rows
    have suspicious parents but were taken back, (3, nodes)."""

    @classmethod
    def blank(cls, families: Families, rows: int) -> "Learnt":
        """Nothing learnt yet from so many rows."""
        numbers = np.zeros((4, len(families)))
        numbers[3] = np.inf
        counts = np.zeros((3, len(families)), dtype=np.int64)
        counts[0], counts[1] = rows, families.sizes
        return cls(np.zeros(len(families.parents)), numbers, counts)

    @property
    def intercepts(self) -> FloatArray:
        """(nodes,)"""
        return np.asarray(self.numbers[0])

    @property
    def variances(self) -> FloatArray:
        """(nodes,)"""
        return np.asarray(self.numbers[1])

    @property
    def noise(self) -> FloatArray:
        """Variances of the noise as trimming has it, whatever variance was asked for."""
        return np.asarray(self.numbers[2])

    @property
    def cutoffs(self) -> FloatArray:
        """(nodes,); infinite where nothing was rejected."""
        return np.asarray(self.numbers[3])

    @property
    def rows(self) -> IntArray:
        """Rows that the coefficients rest on, (nodes,)."""
        return np.asarray(self.counts[0])

    @property
    def ranks(self) -> IntArray:
        """(nodes,)"""
        return np.asarray(self.counts[1])

    @property
    def returned(self) -> IntArray:
        """Rows that were taken back, (nodes,)."""
        return np.asarray(self.counts[2])


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """Suspicious cells and rows left out of all nodes, in the order in which nodes were learnt."""

    bounds: IntArray
    """First and last + 1 of each node's cells, and of its rows left out, (4, nodes)."""
    rows: IntArray
    """Of cells, and left out, (2, room)."""
    statuses: NDArray[np.uint8]
    """(room,)"""
    values: FloatArray
    """Expected values, their variances, deviations, (3, room)."""
    testimony: FloatArray
    """What the children say, (room,)."""
    progress: IntArray
    """Cells and rows left out in the table, nodes done by the last walk, and whether it wanted
    room, (4,)."""

    @classmethod
    def empty(cls, nodes: int, room: int) -> "CellTable":
        """Room for so many cells, in one piece of memory that can serve the next fit."""
        memory = np.empty(49 * room, dtype=np.uint8)
        words = memory[: 48 * room].view(np.int64).reshape(6, room)
        values = words[2:].view(np.float64)
        return cls(
            np.zeros((4, nodes), dtype=np.int64),
            words[:2],
            memory[48 * room :],
            values[:3],
            values[3],
            np.zeros(4, dtype=np.int64),
        )

    def doubled(self, more: int) -> "CellTable":
        """The same with twice the room and more."""
        found = CellTable.empty(self.bounds.shape[1], 2 * len(self.statuses) + more)
        used = max(self.progress[:2].tolist())
        for name in ("rows", "statuses", "values", "testimony"):
            getattr(found, name)[..., :used] = getattr(self, name)[..., :used]
        return replace(found, bounds=self.bounds, progress=self.progress)

    def unheard(self) -> "CellTable":
        """The same cells without any testimony."""
        return replace(self, testimony=np.zeros(len(self.testimony)))

    def span(self, node: int) -> slice:
        """Where the cells of a node stand."""
        return slice(*self.bounds[:2, node].tolist())

    def left_out(self, node: int) -> IntArray:
        """The rows that a node left out."""
        return np.asarray(self.rows[1, slice(*self.bounds[2:, node].tolist())])

    def add(
        self, node: int, rows: IntArray, statuses: NDArray[np.uint8], values: tuple[FloatArray, ...]
    ) -> None:
        """Enter the cells of a node; there is room."""
        first = int(self.progress[0])
        last = first + len(rows)
        self.rows[0, first:last], self.statuses[first:last] = rows, statuses
        self.values[:, first:last] = values
        self.testimony[first:last] = 0.0
        self.bounds[:2, node] = first, last
        self.progress[0] = last

    def add_left_out(self, node: int, rows: IntArray) -> None:
        """Enter the rows that a node left out; there is room."""
        first = int(self.progress[1])
        last = first + len(rows)
        self.rows[1, first:last] = rows
        self.bounds[2:, node] = first, last
        self.progress[1] = last


def learn_nodes(
    columns: FloatArray,
    task: WalkTask,
    nodes: IntArray,
    learnt: Learnt,
    tables: tuple[CellTable, CellTable],
) -> tuple[int, bool]:
    """Learn nodes, parents first, from the known cells of the first table into the second.

    Gives how many were done, those among them for which least squares stands, and whether the
    walk stopped for want of room; if not, the next node is left to the caller.
    """
    return 0, False


def list_parents(table: CellTable, families: Families, reach: FloatArray, rows: int) -> IntArray:
    """The cells that no one suspects in rows in which a child is called wrong or rare.

    Only cells of the child that deviate by no more than `reach`, (nodes,), count. Gives
    node * rows + row, ascending.
    """
    marks, known = np.zeros((2, len(families), rows), dtype=bool)
    for node, parents in enumerate(np.split(families.parents, families.offsets[1:-1])):
        span = table.span(node)
        known[node, table.rows[0, span]] = True
        near = np.abs(table.values[2, span]) <= reach[node]
        accused = np.isin(table.statuses[span], (FLAGGED, CONFIRMED)) & near
        marks[parents[:, None], table.rows[0, span][accused]] = True
    return np.flatnonzero(marks & ~known)


def find_cells(table: CellTable, nodes: IntArray, rows: IntArray) -> IntArray:
    """Where these cells stand in the table, -1 for those that do not, (cells,)."""
    places = np.full(len(nodes), -1)
    for node in np.unique(nodes).tolist():
        span, wanted = table.span(node), nodes == node
        own, some = table.rows[0, span], rows[wanted]
        at = np.searchsorted(own, some)
        there = at < len(own)
        there[there] = own[at[there]] == some[there]
        places[wanted] = np.where(there, span.start + at, -1)
    return places
