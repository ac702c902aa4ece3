"""What the robust method found wrong with the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.graph.dag import counted
from gaussnet.kernels.numpy_robust import CONFIRMED, FLAGGED, MISSING, UNVERIFIED
from gaussnet.methods.robust.cells import NO_ROWS, SuspiciousCells
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.robust.contamination import ContaminationTest
    from gaussnet.methods.robust.judge import Judge, Lenient

STATUSES = {
    "flagged": FLAGGED,
    "confirmed": CONFIRMED,
    "unverified": UNVERIFIED,
    "missing": MISSING,
}
"""What a suspicious cell can be."""

MANY_ROWS = 0.25
"""A node that leaves out a larger share of the rows, or of its values, is told of first."""


FEWEST_SKEWED, SKEWED_FROM = 6, 4.0
"""So many flagged values of a node on one side, the nearest within so many standard deviations,
look like a skewed column."""
JOINING = 3
"""So many of the nearest must be that near, so that no single row decides."""
MANY_FOREIGN = 0.1
"""If a larger share of the rows fits in no value, relations along curves are as likely a reason."""
MANY_VALUES = 5
"""In rows of fewer values the tail of one may make all of them unusual."""
MENDED_BY = {
    1: "try its logarithm",
    -1: "try its square, or the logarithm of an upper limit minus its values",
}
"""What makes a column with a long upper (1) or lower (-1) tail less skewed."""
TAIL_ENDS = 6.0
"""Half of the flagged values of a node or more are nearer if they are the tails of its noise."""
SIDED = 0.9
"""Values are on one side if those there are so much more than the others, as a share of all."""


@dataclass(frozen=True, eq=False)
class Trimming:
    """Suspicious cells and rows left out; nodes go by their positions in the graph."""

    rows: int
    """Rows learnt from."""
    cutoffs: FloatArray
    """Residuals beyond so many standard deviations were rejected, (nodes,); infinite where
    nothing was."""
    cells: Mapping[int, SuspiciousCells]
    """For the nodes that have any."""
    recorded: Mapping[int, FloatArray]
    """The values that were recorded in those cells."""
    left_out: Mapping[int, IntArray]
    """Rows that a node's coefficients do not rest on, ascending, for the nodes that leave out
    any."""
    row_numbers: IntArray | None = None
    """Where the rows learnt from stand in the data, if not all of these were."""
    discrete: tuple[int, ...] = ()
    """Nodes of few recurring values: only what lies apart from these is flagged."""
    shaped: tuple[int, ...] = ()
    """Nodes that are believed although they do not look Gaussian."""
    tied: tuple[int, ...] = ()
    """Discrete nodes so many values of which are equal that wrong ones cannot be told."""
    bridged: bool = False
    """Whether the other cells of a row count where one is wrong or missing; else a node leaves out
    the whole row."""
    set_rows: Mapping[int, IntArray] = field(default_factory=dict)
    """Rows in which a node was set from outside, ascending, for the nodes that were; they are
    among those that it leaves out."""
    lost: FloatArray | None = None
    """Information that doubts about cells take from each family, one square matrix after the other:
    the covariance of its scores, coefficients, constant and variance, times the variance of the
    noise or its square."""
    judge: "Judge | None" = None
    """Who judges cells of further rows, where the mixture was learnt."""
    judged_by: "Judge | None" = None
    """Who flagged the cells of rows that were read page by page: the judge of the last pass."""
    counts: IntArray | None = None
    """Cells of each status, (statuses, nodes), where not all of them are listed."""
    usual: IntArray | None = None
    """Flagged cells of each node whose values are usual for their column, (nodes,), where not all
    are listed."""
    contamination: "ContaminationTest | None" = None
    """Whether the data look contaminated, where that was asked for."""

    @property
    def trimmed(self) -> bool:
        """Whether rows were left out for another reason than that a cell is missing."""
        if self.counts is not None:
            return bool(self.counts[FLAGGED].any())
        statuses = [cells.statuses for cells in self.cells.values()]
        found = np.concatenate([np.empty(0, dtype=np.uint8), *statuses])
        lost = any(len(rows) > len(self.set_rows.get(n, ())) for n, rows in self.left_out.items())
        return lost and bool(len(found) == 0 or (found != MISSING).any())

    def notes(self, columns: Sequence[int]) -> tuple[str, ...]:
        """What is worth knowing of the data as a whole; these nodes stand for columns of them."""
        said = (*self._doubts(), *self._shapes())
        said += () if self.contamination is None else (self.contamination.sentence,)
        flagged = [self.count(node, "flagged") for node in columns]
        if not any(flagged):
            return said
        values, listed = self.rows * len(columns), self._listed(sum(flagged))
        touched = sum(count > 0 for count in flagged)
        return (
            *said,
            f"{sum(flagged)} of {values} values ({sum(flagged) / values:.2%}) do not fit and were "
            f"flagged, in {touched} of {len(columns)} nodes: see fit.outliers(){listed}",
            *self._foreign(),
        )

    @property
    def skewed(self) -> dict[int, int]:
        """Nodes whose flagged values lie on one side and begin where right ones end; the side."""
        nodes, far = self._flagged_deviations()
        count, side = np.bincount(nodes), np.bincount(nodes, np.sign(far))
        is_one_sided = (count >= FEWEST_SKEWED) & (np.abs(side) >= SIDED * count)
        found = np.flatnonzero(is_one_sided & _joins(nodes, far))
        return {node: 1 if side[node] > 0.0 else -1 for node in found.tolist()}

    @property
    def heavy_tailed(self) -> tuple[int, ...]:
        """Nodes whose flagged values begin where right ones end, most of them not far off."""
        nodes, far = self._flagged_deviations()
        count, near = np.bincount(nodes), np.bincount(nodes, np.abs(far) < TAIL_ENDS)
        is_near = near >= np.maximum(FEWEST_SKEWED, 0.5 * count)
        found, skewed = np.flatnonzero(is_near & _joins(nodes, far)), self.skewed
        return tuple(node for node in found.tolist() if node not in skewed)

    def _flagged_deviations(self) -> tuple[IntArray, FloatArray]:
        """The nodes of flagged cells, and how far these are off, (cells,) each.

        Cells of rows from elsewhere do not count.
        """
        nodes = np.array(sorted(self.cells), dtype=np.int64)
        cells = [self.cells[node] for node in nodes.tolist()]
        lengths = [len(own.rows) for own in cells]
        rows = np.concatenate([np.empty(0, np.int64), *(own.rows for own in cells)])
        statuses = np.concatenate([np.empty(0, np.uint8), *(own.statuses for own in cells)])
        deviations = np.concatenate([np.empty(0), *(own.deviations for own in cells)])
        is_flagged = (statuses == FLAGGED) & ~np.isin(rows, self._from_elsewhere)
        return np.repeat(nodes, lengths)[is_flagged], deviations[is_flagged]

    def _listed(self, flagged: int) -> str:
        """How many flagged cells are listed, if not all are."""
        listed = sum(len(cells.rows) for cells in self.cells.values())
        return (
            f", which lists the worst {listed:,}"
            if self.counts is not None and listed < flagged
            else ""
        )

    @cached_property
    def foreign_rows(self) -> IntArray:
        """Rows of two values or more all of which are flagged; none where not all are listed."""
        found = np.zeros((2, self.rows), dtype=np.int64)  # flagged, and flagged or missing
        for node, cells in self.cells.items() if self.counts is None else ():
            found[0, cells.rows[self.indices(node, "flagged")]] += 1
            found[1, cells.rows[self.indices(node, "flagged", "missing")]] += 1
        flagged, absent = found
        return np.flatnonzero((flagged > 1) & (absent == len(self.cutoffs)))

    @property
    def _from_elsewhere(self) -> IntArray:
        """Rows that fit in no value and say nothing of how columns are distributed.

        None where such rows are many, for columns may then follow each other along curves, or where
        a row has few values, for the tail of one may then reach them all.
        """
        is_few = len(self.foreign_rows) < self.many_foreign
        return self.foreign_rows if is_few and len(self.cutoffs) >= MANY_VALUES else NO_ROWS

    @property
    def many_foreign(self) -> float:
        """So many rows that fit in no value are no longer few."""
        return MANY_FOREIGN * self.rows

    def _foreign(self) -> tuple[str, ...]:
        """How many rows fit in none of their values."""
        whole = len(self.foreign_rows)
        if not whole:
            return ()
        if whole == 1:
            return ("1 row fits in no value and counts for nothing: is it from elsewhere?",)
        return (f"{whole} rows fit in no value and count for nothing: are they from elsewhere?",)

    def _shapes(self) -> Iterator[str]:
        """That values were perhaps flagged because a column is skewed or noise has heavy tails."""
        sides = list(self.skewed.values())
        for side in (side for side in MENDED_BY if side in sides):
            yield (
                f"the flagged values of {counted(sides.count(side), 'node')} lie "
                f"{'above' if side > 0 else 'below'} the others and join them without a gap: they "
                f"may be right and the column skewed, so {MENDED_BY[side]}"
            )
        if heavy_tailed := self.heavy_tailed:
            yield (
                f"most flagged values of {counted(len(heavy_tailed), 'node')} join the others "
                "without a gap: if they are right and the noise has heavy tails, intervals are too "
                "short, so compare kind='bootstrap'"
            )

    def _doubts(self) -> tuple[str, ...]:
        """Whether nodes lose so many rows that their equations are in doubt."""
        advice = "doubt the equation, or the columns in it, before you believe the coefficients"
        if self.bridged:
            losing = len(self.largely_flagged)
            words = f"in {counted(losing, 'node')} more than a quarter of the values were flagged"
        else:
            counts = (
                (len(rows) - own, self.rows - own)
                for rows, own in (
                    (rows, len(self.set_rows.get(node, ()))) for node, rows in self.left_out.items()
                )
            )
            losing = sum(lost > MANY_ROWS * rows for lost, rows in counts)
            which = "1 node leaves" if losing == 1 else f"{losing} nodes leave"
            words = f"{which} out more than a quarter of the rows"
        return (f"{words}: {advice}",) if losing else ()

    @property
    def largely_flagged(self) -> tuple[int, ...]:
        """Nodes of which more than a quarter of the recorded values are flagged."""
        return tuple(
            node
            for node in range(len(self.cutoffs))
            if self.count(node, "flagged") > MANY_ROWS * self.recorded_rows(node)
        )

    @property
    def lenient(self) -> "Lenient | None":
        """Who believes usual values of nodes of which more than a quarter are flagged.

        None if there is no such node, or if those of its flagged values that are usual for their
        column are fewer.
        """
        if self.judge is None or not self.largely_flagged:
            return None
        from gaussnet.methods.robust.judge import Lenient  # imports this module's users

        kept = [
            node
            for node in self.largely_flagged
            if self._usual_flagged(node) > MANY_ROWS * self.recorded_rows(node)
        ]
        return Lenient.at(self.judge, kept) if kept else None

    def _usual_flagged(self, node: int) -> int:
        """How many flagged values of a node are usual for its column."""
        if self.usual is not None:
            return int(self.usual[node])
        assert self.judge is not None
        low, high = (ends[node] for ends in self.judge.usual_range)
        values = self.recorded[node][self.indices(node, "flagged")]
        return int(np.count_nonzero((values >= low) & (values <= high)))

    def numbered(self, rows: IntArray) -> IntArray:
        """Numbers in the data of these rows."""
        return rows if self.row_numbers is None else self.row_numbers[rows]

    @property
    def is_untouched(self) -> bool:
        """Whether no cell is flagged or missing, so that every equation rests on all rows."""
        return not self.left_out and not self.trimmed and not self._lacks()

    def _lacks(self) -> bool:
        return self.counts is not None and bool(self.counts[MISSING].any())

    @property
    def disbelieved(self) -> tuple[str, ...]:
        """The statuses of recorded values that the fit leaves out; all others count.

        A cell in doubt ("unverified") counts in the likelihood; an equation that leaves out whole
        rows leaves it out, because it cannot be judged.
        """
        return ("flagged",) if self.bridged else ("flagged", "unverified")

    @property
    def disbelieved_cells(self) -> dict[int, IntArray]:
        """The rows of each node that has any whose recorded values the fit leaves out, ascending.

        What a fit believes is asked here alone: these cells count as missing, all others count.
        """
        found = self.found(*self.disbelieved)
        return {node: self.cells[node].rows[indices] for node, indices in found}

    def distrusted(self, node: int) -> IntArray:
        """Which of a node's suspicious cells its children do not rest on.

        Rows with any of them are left out where whole rows are, unless they are readmitted.
        """
        return self.indices(node, *((*self.disbelieved, "missing") if self.bridged else STATUSES))

    def is_judged(self, node: int) -> bool:
        """Whether the mixture judged the cells of a node; else all but those apart are believed."""
        return self.judge is None or bool(self.judge.mixture.judged[node])

    def indices(self, node: int, *statuses: str) -> IntArray:
        """Which of a node's suspicious cells have one of these statuses."""
        if node not in self.cells:
            return np.empty(0, dtype=np.int64)
        wanted = np.zeros(1 + max(STATUSES.values()), dtype=bool)
        wanted[[STATUSES[status] for status in statuses]] = True
        return np.flatnonzero(wanted[self.cells[node].statuses])

    def count(self, node: int, status: str) -> int:
        """How many of a node's cells have this status."""
        if self.counts is not None:
            known = STATUSES[status]
            return int(self.counts[known, node]) if known < len(self.counts) else 0
        if node not in self.cells:
            return 0
        return int(np.count_nonzero(self.cells[node].statuses == STATUSES[status]))

    def recorded_rows(self, node: int) -> int:
        """Rows in which the node has a value."""
        return self.rows - self.count(node, "missing")

    def found(self, *statuses: str) -> Iterator[tuple[int, IntArray]]:
        """The nodes that have cells with one of these statuses, and which, node after node."""
        for node in sorted(self.cells):
            indices = self.indices(node, *statuses)
            if len(indices):
                yield node, indices


def _joins(nodes: IntArray, far: FloatArray) -> BoolArray:
    """Whether the nearest deviations of each node begin where those of right values end."""
    return np.asarray(np.bincount(nodes, np.abs(far) < SKEWED_FROM) >= JOINING)
