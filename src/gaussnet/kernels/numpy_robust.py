"""The kernels of the robust method in NumPy: what they take and give."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels.families import Families
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

FINE, UNVERIFIED, FLAGGED, MISSING = range(4)
"""Status of a cell; every one but the first is suspicious."""

CONFIRMED = 4
"""Status of a flagged cell that the children of the node confirm."""

REACH = 1.0
"""Up to this leverage an equation tells sharply what the child of recorded parents should be."""

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN in, NaN out: a kernel does not warn of it."""


class Screen(NamedTuple):
    """Least squares of all families over all rows, and the limits of its checks."""

    part: tuple[int, int]
    """First and last + 1 of the families to look at."""
    intercept: bool
    spread: float
    """Largest ratio of the least-squares scale to the median scale."""
    gate_level: float
    coefficients: FloatArray
    """(edges,)"""
    intercepts: FloatArray
    """(families,)"""
    squares: FloatArray
    """Residual sums of squares, (families,)."""
    half: FloatArray
    """Largest half-sample statistics, (families,)."""
    means: FloatArray
    """Of parents and child, family after family, (edges + families,); 0 without an intercept."""


class TrimAnswer(NamedTuple):
    """Least squares over the kept rows."""

    scale: float
    """Standard deviation of the noise, corrected for freedom and truncation."""
    cutoff: float
    """Infinite if all rows are kept."""
    reference: float
    """What the child was centred at."""
    smallest_scale: float
    """Below this a scale is rounding error."""
    squares: float
    """Sum of squared residuals of the rows kept."""
    used: int
    """How many these are."""
    coefficients: FloatArray
    """Of the constant, if there is an intercept, and of the parents, (p,)."""
    centres: FloatArray
    """What the parents were centred at."""
    whitener: FloatArray
    """W with ``(Z Z')^-1 = W' W`` for the columns Z of the kept rows, (rank, p)."""
    residuals: FloatArray
    """Of the rows rejected."""
    rejected: IntArray
    """The numbers of these, ascending."""


class Cells(NamedTuple):
    """The suspicious cells of some columns: offsets[s] .. offsets[s + 1] are those of column s."""

    offsets: IntArray
    """(columns + 1,)"""
    rows: IntArray
    """Ascending within a column, (cells,)."""
    expected: FloatArray
    variances: FloatArray


class JudgeTask(NamedTuple):
    """A column whose equation was learnt from sound rows, and what it is judged by."""

    child: int
    parents: IntArray
    sound: BoolArray
    """Which rows the equation was learnt from, or rejected in learning, (rows,)."""
    trimmed: TrimAnswer
    above: Cells
    """Suspicious cells of the parents."""
    limits: tuple[float, float, float, float]
    """Cutoff of the node, largest deviation from cleaned parents, largest vagueness, and cap."""


class Judged(NamedTuple):
    """The suspicious cells of the column by row, (cells,) each, and what all rows say."""

    rows: IntArray
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """The child by the cleaned parents."""
    variances: FloatArray
    """Variance of the child about it."""
    deviations: FloatArray
    """Recorded minus expected value in standard deviations."""
    left_out: IntArray
    """Rows rejected and rows with suspicious parents, ascending."""
    events: IntArray
    """Those of the latter that agree with the parents as recorded."""
    evidence: float
    """Twice the log likelihood ratio of wrong records to real events, with squares capped, over
    the rows with suspicious parents."""
    log_ratios: FloatArray
    """What the rows say of each suspicious cell of the parents, (their cells,)."""


def whole_columns(x: Rows) -> FloatArray:
    """The values (rows, columns) as float64, each column without gaps."""
    return np.asfortranarray(x, dtype=np.float64)


def screen_families(columns: FloatArray, families: Families, screen: Screen) -> FloatArray:
    """Whether least squares needs no trimming, family by family: NaN, it is left to the caller."""
    return np.full(screen.part[1] - screen.part[0], np.nan)


@quiet
def judge_rows(columns: FloatArray, task: JudgeTask) -> Judged:
    """The suspicious cells of a column: rejected ones, and those with suspicious parents."""
    trimmed, doubted = task.trimmed, np.flatnonzero(~task.sound)
    child = columns[:, task.child]
    found = _opinions(columns, task, doubted)
    own = np.flatnonzero(found.statuses)
    rows = np.concatenate((trimmed.rejected, doubted[own]))
    order = np.argsort(rows)
    flagged = np.full(len(trimmed.rejected), FLAGGED, dtype=np.uint8)
    statuses = np.concatenate((flagged, found.statuses[own]))[order]
    rejected = child[trimmed.rejected] - trimmed.residuals
    expected = np.concatenate((rejected, found.expected[own] + trimmed.reference))[order]
    known = np.full(len(flagged), trimmed.scale**2)
    variances = np.concatenate((known, found.variances[own]))[order]
    rest = np.concatenate((trimmed.residuals, found.rest[own]))[order]
    left_out = np.sort(np.concatenate((trimmed.rejected, doubted)))
    events = doubted[found.recorded <= task.limits[0] ** 2]
    cells = (rows[order], statuses, expected, variances, rest / np.sqrt(variances))
    return Judged(*cells, left_out, events, float(found.evidence.sum()), found.log_ratios)


class _Opinions(NamedTuple):
    """What the equation says of rows with suspicious parents, (rows,) each."""

    expected: FloatArray
    """Child by the cleaned parents, about its reference."""
    rest: FloatArray
    """Child as recorded less that."""
    variances: FloatArray
    evidence: FloatArray
    """Twice the log likelihood ratio of a wrong record to a real event, with squares capped;
    none for an event that the record does not fit either, 0 where a value is missing."""
    recorded: FloatArray
    """Squared deviation from the parents as recorded."""
    statuses: NDArray[np.uint8]
    log_ratios: FloatArray


def _opinions(columns: FloatArray, task: JudgeTask, rows: IntArray) -> _Opinions:
    r"""Compare rows with the parents as recorded and with the cleaned parents.

    If the event at a parent was real, its deviation went on into the child, which then agrees
    with the parents as recorded; if only the record is wrong, with the cleaned ones. The
    evidence of a row is, with capped squares,

    .. math:: L = z_{rec}^2 + \log(1 + h) - z_{cl}^2 - \log(1 + v / s^2)

    A cell far from what the cleaned parents lead to expect is flagged, unless it agrees with
    the recorded ones better and these lie within reach of the rows learnt from. If several
    parents are suspicious in a row, its evidence counts as log_ratios only if it speaks for a
    real event: what fits the record confirms all of it, what does not may be the fault of any.
    """
    limit, cleaned_cutoff, largest_vagueness, cap = task.limits
    trimmed, scale = task.trimmed, task.trimmed.scale
    coefficients, centres = trimmed.coefficients, trimmed.centres
    constant = np.ones((len(coefficients) - len(task.parents), len(rows)))
    recorded_parents = columns[np.ix_(rows, task.parents)].T - centres[:, None]
    cleaned_parents, variances = recorded_parents.copy(), np.zeros_like(recorded_parents)
    owners = np.repeat(np.arange(len(task.parents)), np.diff(task.above.offsets))
    positions = np.searchsorted(rows, task.above.rows)
    inside = ~task.sound[task.above.rows]
    at = (owners[inside], positions[inside])
    cleaned_parents[at] = task.above.expected[inside] - centres[owners[inside]]
    variances[at] = task.above.variances[inside]
    child = columns[rows, task.child] - trimmed.reference
    leverages = _squared_lengths(trimmed.whitener @ np.vstack((constant, recorded_parents)))
    recorded = (child - coefficients @ np.vstack((constant, recorded_parents))) / scale
    recorded = recorded**2 / (1.0 + leverages)
    expected = coefficients @ np.vstack((constant, cleaned_parents))
    vagueness = (coefficients[len(constant) :] / scale) ** 2 @ variances
    cleaned = ((child - expected) / scale) ** 2 / (1.0 + vagueness)
    evidence = np.minimum(recorded, cap) + np.log1p(leverages)
    evidence -= np.minimum(cleaned, cap) + np.log1p(vagueness)
    evidence = np.where(recorded < cap, evidence, np.fmax(evidence, 0.0))
    statuses = np.where(vagueness > largest_vagueness, UNVERIFIED, FINE)
    statuses[cleaned > min(limit, cleaned_cutoff) ** 2] = FLAGGED
    within = (recorded <= cleaned_cutoff**2) & (leverages <= REACH)
    statuses[within & (evidence < 0.0)] = FINE
    statuses[np.isnan(child)] = MISSING
    counted = (variances > 0.0) & ((np.sum(variances > 0.0, axis=0) == 1) | (evidence < 0.0))
    log_ratios = np.zeros(len(owners))
    log_ratios[inside] = np.where(counted[at], evidence[at[1]], 0.0)
    spread = scale**2 * (1.0 + vagueness)
    said = (evidence, recorded, statuses.astype(np.uint8), log_ratios)
    return _Opinions(expected, child - expected, spread, *said)


def _squared_lengths(columns: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


# Learning by the robust estimator over its nodes: what the kernel takes and gives.
#
# Without compiled kernels nodes are learnt where that is defined, in
# `gaussnet.methods.robust.node`.

CLEAN, FAILED, HOLED, DISCRETE = 1, 2, 4, 8
"""Least squares over all rows looks clean; it fails the checks; a cell of the node is missing; its
column has few values, so that it is left to the caller."""


class LearningTask(NamedTuple):
    """Nodes, and what is known of them before; family i is that of node i, column i."""

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
    def readmitted(self) -> IntArray:
        """Rows that were taken back, (nodes,)."""
        return np.asarray(self.counts[2])


class CellTable(NamedTuple):
    """Suspicious cells and rows left out of all nodes, in the order in which nodes were learnt."""

    bounds: IntArray
    """First and last + 1 of each node's cells, and of its rows left out, (4, nodes)."""
    rows: IntArray
    """Of cells, and left out, (2, capacity)."""
    statuses: NDArray[np.uint8]
    """(capacity,)"""
    values: FloatArray
    """Expected values, their variances, deviations, (3, capacity)."""
    log_ratios: FloatArray
    """What the children say, (capacity,)."""
    progress: IntArray
    """Cells and rows left out in the table, nodes done by the last call, and whether it wanted
    space, (4,)."""

    @classmethod
    def empty(cls, nodes: int, capacity: int) -> "CellTable":
        """Space for so many cells, in one piece of memory that can serve the next fit."""
        memory = np.empty(49 * capacity, dtype=np.uint8)
        words = memory[: 48 * capacity].view(np.int64).reshape(6, capacity)
        values = words[2:].view(np.float64)
        return cls(
            np.zeros((4, nodes), dtype=np.int64),
            words[:2],
            memory[48 * capacity :],
            values[:3],
            values[3],
            np.zeros(4, dtype=np.int64),
        )

    def doubled(self, more: int) -> "CellTable":
        """A copy with twice the capacity and more."""
        found = CellTable.empty(self.bounds.shape[1], 2 * len(self.statuses) + more)
        used = max(self.progress[:2].tolist())
        for name in ("rows", "statuses", "values", "log_ratios"):
            getattr(found, name)[..., :used] = getattr(self, name)[..., :used]
        return found._replace(bounds=self.bounds, progress=self.progress)

    def without_ratios(self) -> "CellTable":
        """These cells without any log_ratios."""
        return self._replace(log_ratios=np.zeros(len(self.log_ratios)))

    def span(self, node: int) -> slice:
        """Which cells are those of a node."""
        return slice(*self.bounds[:2, node].tolist())

    def left_out(self, node: int) -> IntArray:
        """The rows that a node left out."""
        return np.asarray(self.rows[1, slice(*self.bounds[2:, node].tolist())])

    def add(
        self, node: int, rows: IntArray, statuses: NDArray[np.uint8], values: tuple[FloatArray, ...]
    ) -> None:
        """Enter the cells of a node; there is space."""
        first = int(self.progress[0])
        last = first + len(rows)
        self.rows[0, first:last], self.statuses[first:last] = rows, statuses
        self.values[:, first:last] = values
        self.log_ratios[first:last] = 0.0
        self.bounds[:2, node] = first, last
        self.progress[0] = last

    def add_left_out(self, node: int, rows: IntArray) -> None:
        """Enter the rows that a node left out; there is space."""
        first = int(self.progress[1])
        last = first + len(rows)
        self.rows[1, first:last] = rows
        self.bounds[2:, node] = first, last
        self.progress[1] = last


def learn_nodes(
    columns: FloatArray,
    task: LearningTask,
    nodes: IntArray,
    learnt: Learnt,
    tables: tuple[CellTable, CellTable],
) -> tuple[int, bool]:
    """Learn nodes, parents first, from the known cells of the first table into the second.

    Gives how many were done, those among them for which least squares stands, and whether the
    kernel stopped for want of space; if not, the next node is left to the caller.
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
    """Indices of these cells in the table, -1 for those that are not there, (cells,)."""
    indices = np.full(len(nodes), -1)
    for node in np.unique(nodes).tolist():
        span, wanted = table.span(node), nodes == node
        own, some = table.rows[0, span], rows[wanted]
        at = np.searchsorted(own, some)
        there = at < len(own)
        there[there] = own[at[there]] == some[there]
        indices[wanted] = np.where(there, span.start + at, -1)
    return indices
