"""All nodes of a network, in topological order: the robust method from the first step to the last.

`SequentialFit.learn` is the method: screening, trimming of the nodes that fail it, confirmation of
flagged cells by the children, attribution. Kernels learn most nodes; a node that a kernel leaves,
because digits are lacking or its column is discrete, is learnt by `learn_node`."""

from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import NotFinite
from gaussnet.kernels import CellTable, LearningTask, Learnt
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CONFIRMED, FLAGGED
from gaussnet.kernels.threads import thread_map
from gaussnet.methods.base import Equations
from gaussnet.methods.robust.attribution import Model, attribute
from gaussnet.methods.robust.cells import (
    NO_ROWS,
    DiscreteColumn,
    SuspiciousCells,
    all_cells,
    all_left_out,
    discrete_columns,
    is_continuous,
)
from gaussnet.methods.robust.cutoffs import bonferroni_cutoff, chi_square_quantiles
from gaussnet.methods.robust.node import READMISSION_LEVEL, Node, NodeAnswer, learn_node
from gaussnet.methods.robust.screening import screen
from gaussnet.methods.robust.sequential_trim import (
    NOTHING_SET,
    RobustScale,
    RobustSolution,
    SequentialTrim,
    SetRows,
)
from gaussnet.methods.scales import KlOptimal
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

FEWEST_ROWS_FOR_THREADS = 20_000
"""With fewer rows a node is learnt sooner than a thread can be woken."""

SMALLEST_CAPACITY, CELLS_EXPECTED = 1 << 19, 8
"""The table of suspicious cells holds so many, or one in so many, before it grows."""


@dataclass(frozen=True, slots=True)
class Execution:
    """How the work is done, which changes no answer; tests force a path with it."""

    capacity: int | None = None
    """Cells that the table of suspicious cells holds at first; None chooses by the data."""
    fewest_rows: int = FEWEST_ROWS_FOR_THREADS
    """Threads are used from so many rows on."""
    backend: ModuleType = kernels
    """Where the kernel `learn_nodes` is."""


DEFAULT_EXECUTION = Execution()


class SequentialFit:
    """Least squares for the nodes that look clean, and trimming of the others, parents first."""

    def __init__(  # noqa: PLR0913, PLR0917 (rows, equations, how, what is known of the rows)
        self,
        rows: Rows,
        families: Families,
        intercept: bool,
        settings: SequentialTrim,
        complete: bool | None = False,
        execution: Execution = DEFAULT_EXECUTION,
        set_rows: SetRows = NOTHING_SET,
    ) -> None:
        self.families, self.intercept, self.settings = families, intercept, settings
        self.columns: FloatArray = kernels.whole_columns(rows)
        self.parents = families.parent_lists
        self.missing = _missing_rows(self.columns) if complete is False else {}
        self.unproven = complete is None
        self.set_rows = set_rows
        self.execution, self.backend = execution, execution.backend
        self.discrete: dict[int, DiscreteColumn] = {}
        self.tied: dict[int, DiscreteColumn] = {}
        self.clean = np.zeros(len(families), dtype=bool)
        self.failed = np.zeros(len(families), dtype=bool)
        self.learnt = Learnt.blank(families, len(rows))
        self.table = CellTable.empty(len(families), 0)

    def learn(self, scale: RobustScale, threads: int) -> RobustSolution:
        """Learn all nodes, those of one level of the graph side by side."""
        while self._walk(scale, threads):
            self.learnt = Learnt.blank(self.families, len(self.columns))
        own = self._unset_columns()
        tied = tuple(n for n, one in self.discrete.items() if one.is_tied(own[:, n]))
        if not self.clean.all():
            self._confirm(scale)
            self._confirm_readmitted()
        learnt, cells = self.learnt, self._attributed_cells()
        return RobustSolution(
            learnt.coefficients,
            learnt.intercepts,
            self._kl_optimal_variances() if scale == "kl-optimal" else learnt.variances,
            learnt.cutoffs,
            learnt.rows,
            learnt.ranks,
            cells,
            all_left_out(self.table),
            {node: self.columns[:, node].take(found.rows) for node, found in cells.items()},
            tuple(self.discrete),
            tied=tied,
        )

    def _walk(self, scale: RobustScale, threads: int) -> bool:
        """Learn all nodes once; whether more columns are tied, so that all must be learnt anew."""
        self._screen(threads)
        if self.clean.all():
            return False
        self._find_discrete()
        self.table = CellTable.empty(len(self.families), self._capacity())
        self._learn_others(self._task(scale), threads)
        found = self._find_tied()
        self.tied |= found
        return bool(found)

    # Screening.

    def _screen(self, threads: int) -> None:
        """Least squares for the families without a missing cell, and which of them look clean."""
        families, learnt = self.families, self.learnt
        whole, chosen = families.sorted_by_size
        if self.missing or self.set_rows:
            missing = self._has_missing()
            np.logical_or.at(missing, families.family_of_edge, missing[families.parents])
            missing[list(self.set_rows)] = True
            whole = whole[~missing[whole]]
            chosen = families.subset(whole)
        equations = Equations(chosen, self.intercept)
        solution, clean = screen(self.columns, equations, self.settings, threads)
        learnt.coefficients[families.edges_of(whole)] = solution.coefficients
        if self.intercept and solution.intercepts is not None:
            learnt.intercepts[whole] = solution.intercepts
        if solution.mean_squares is not None:
            learnt.variances[whole] = learnt.noise[whole] = solution.mean_squares
        if self.unproven and not (
            np.isfinite(learnt.variances[whole]).all() and self._set_columns_are_finite()
        ):
            raise NotFinite
        learnt.ranks[whole] = solution.ranks
        self.clean[whole], self.failed[whole] = clean, ~clean

    def _find_discrete(self) -> None:
        """Look for columns of few values; least squares over all rows does for these."""
        self.discrete = discrete_columns(self._unset_columns()) | self.tied
        for node, discrete in self.discrete.items():
            if len(discrete.outside) == 0 and node not in (*self.missing, *self.set_rows):
                self.clean[node] |= self.failed[node]
                self.failed[node] = False

    def _find_tied(self) -> dict[int, DiscreteColumn]:
        """Nodes of which trimming kept a single value, near others."""
        columns = self._unset_columns()
        return {
            node: DiscreteColumn.tied(columns[:, node])
            for node in np.flatnonzero(self.learnt.cutoffs < np.inf).tolist()
            if node not in self.discrete and self._kept_one_value(columns[:, node], node)
        }

    def _kept_one_value(self, column: FloatArray, node: int) -> bool:
        """Whether the rows kept hold one value of a column in which it is near others."""
        kept = np.delete(column, self.table.left_out(node))
        kept, recorded = kept[~np.isnan(kept)], column[~np.isnan(column)]
        return len(kept) > 0 and np.ptp(kept) == 0.0 and not is_continuous(recorded)

    def _unset_columns(self) -> FloatArray:
        """All rows, with NaN for cells that were set from outside."""
        if not self.set_rows:
            return self.columns
        found = self.columns.copy(order="F")
        for node, rows in self.set_rows.items():
            found[rows, node] = np.nan
        return found

    def _set_columns_are_finite(self) -> bool:
        """Whether the columns that screening leaves out have no missing cell."""
        return all(np.isfinite(self.columns[:, node]).all() for node in self.set_rows)

    def _has_missing(self) -> BoolArray:
        """Which nodes have missing cells, (nodes,)."""
        missing = np.zeros(len(self.families), dtype=bool)
        missing[list(self.missing)] = True
        return missing

    def _capacity(self) -> int:
        """How many cells the table should hold at first; what is not used costs nothing."""
        if self.execution.capacity is not None:
            return self.execution.capacity
        rows, nodes = len(self.columns), len(self.families)
        return min(rows * nodes, max(SMALLEST_CAPACITY, rows * (nodes // CELLS_EXPECTED + 1)))

    # The nodes for which least squares over all rows does not stand.

    def _learn_others(self, task: LearningTask, threads: int) -> None:
        """Learn them in topological order, or level by level on several threads."""
        levels = self.families.levels
        if threads == 1 or len(self.columns) < self.execution.fewest_rows:
            self._learn_in_order(task, np.array([node for level in levels for node in level]))
            return
        for level in levels:
            work = [node for node in level if not self._stands(node)]
            answers = thread_map(partial(self._learn_separately, task), work, threads)
            for node, answer in zip(work, list(answers), strict=True):
                self._enter(node, answer)

    def _task(self, scale: RobustScale) -> LearningTask:
        """Settings and verdicts as the kernel takes them."""
        settings, sizes = self.settings, self.families.sizes + self.intercept
        limits = (
            settings.gate_level,
            settings.extent_level,
            settings.wide_level,
            settings.spread_limit,
            bonferroni_cutoff(len(self.columns)),
            settings.cleaned_cutoff,
            settings.largest_vagueness,
            settings.cap,
            settings.evidence,
        )
        discrete = np.zeros(len(self.families), dtype=bool)
        discrete[list(self.discrete)] = True
        verdicts = (self.clean, self.failed, self._has_missing(), discrete)
        return LearningTask(
            self.families,
            self.intercept,
            scale == "mean-square",
            np.array(limits, dtype=np.float64),
            chi_square_quantiles(settings.half_level, sizes),
            chi_square_quantiles(READMISSION_LEVEL, sizes),
            np.packbits(np.stack(verdicts), axis=0, bitorder="little")[0],
        )

    def _learn_in_order(self, task: LearningTask, nodes: IntArray) -> None:
        """Nodes in this order; those that the kernel leaves are learnt between its calls."""
        apart = np.isin(nodes, list(self.set_rows))
        done = 0
        while done < len(nodes):
            tables = self.table, self.table
            ahead = np.flatnonzero(apart[done:])
            stop = done + int(ahead[0]) if len(ahead) else len(nodes)
            more, full = (0, False)
            if stop > done:
                more, full = self.backend.learn_nodes(
                    self.columns, task, nodes[done:stop], self.learnt, tables
                )
            done += more
            if full:
                self.table = self.table.doubled(len(self.columns))
            elif done < len(nodes):
                node = int(nodes[done])
                if not self._stands(node):
                    self._enter(node, self._learn_by_definition(task, node))
                done += 1

    def _learn_separately(self, task: LearningTask, node: int) -> NodeAnswer:
        """One node, with its cells in a table of their own."""
        known, own = (
            self.table.without_ratios(),
            CellTable.empty(len(self.families), len(self.columns)),
        )
        learnt, nodes = self.learnt, np.array([node])
        if node in self.set_rows:
            return self._learn_by_definition(task, node)
        done, _ = self.backend.learn_nodes(self.columns, task, nodes, learnt, (known, own))
        if not done:
            return self._learn_by_definition(task, node)
        intercept, variance, noise, cutoff = learnt.numbers[:, node].tolist()
        return NodeAnswer(
            learnt.coefficients[self._edges(node)],
            intercept,
            variance,
            noise,
            cutoff,
            int(learnt.ranks[node]),
            int(learnt.readmitted[node]),
            own.left_out(node),
            SuspiciousCells.of_node(own, node),
            {
                parent: known.log_ratios[self.table.span(parent)]
                for parent in self.parents[node]
                if self._has_cells(parent)
            },
        )

    def _learn_by_definition(self, task: LearningTask, number: int) -> NodeAnswer:
        """One node, as `learn_node` learns it."""
        excluded, discrete = self.missing.get(number, NO_ROWS), self.discrete.get(number)
        if discrete is not None:
            excluded = np.union1d(excluded, discrete.outside)
        parents = self.families.parents[self._edges(number)]
        cells = [SuspiciousCells.of_node(self.table, parent) for parent in self.parents[number]]
        node = Node(
            self.columns, number, parents, cells, excluded, self.intercept, discrete is not None
        )
        if number in self.set_rows:
            node = self._unset(node)
        failed = bool(self.failed[number])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            answer = learn_node(node, self.settings, task.mean_square, failed)
        return answer if number not in self.set_rows else self._of_all_rows(number, answer)

    def _unset(self, node: Node) -> Node:
        """A node whose cells that were set from outside are missing, over its family alone."""
        rows, size = self.set_rows[node.number], len(node.parents)
        columns = np.asfortranarray(self.columns[:, [*node.parents.tolist(), node.number]])
        columns[rows, size] = np.nan
        missing = np.union1d(node.missing, rows)
        return replace(node, columns=columns, number=size, parents=np.arange(size), missing=missing)

    def _of_all_rows(self, number: int, answer: NodeAnswer) -> NodeAnswer:
        """The answer for such a node; its children believe the cells that were set."""
        cells, parents = answer.cells, self.parents[number]
        if cells is not None:
            cells = cells.only(~np.isin(cells.rows, self.set_rows[number]))
            cells = cells if len(cells.rows) else None
        ratios = {parents[place]: own for place, own in answer.parent_ratios.items()}
        return answer._replace(cells=cells, parent_ratios=ratios)

    def _stands(self, node: int) -> bool:
        """Whether least squares over all rows is the answer: clean, and so are the parents."""
        return bool(self.clean[node]) and not any(map(self._has_cells, self.parents[node]))

    def _has_cells(self, node: int) -> bool:
        first, last = self.table.bounds[:2, node].tolist()
        return bool(first < last)

    def _edges(self, node: int) -> slice:
        return slice(*self.families.offsets[node : node + 2].tolist())

    def _enter(self, node: int, answer: NodeAnswer) -> None:
        """Enter what was learnt of a node, and what it says of its parents' cells."""
        self._enter_equation(node, answer)
        if answer.cells is not None:
            cells = answer.cells
            values = (cells.expected, cells.variances, cells.deviations)
            self.table.add(node, cells.rows, cells.statuses, values)
        for parent, ratios in answer.parent_ratios.items():
            self.table.log_ratios[self.table.span(parent)] += ratios

    def _enter_equation(self, node: int, answer: NodeAnswer) -> None:
        self.learnt.coefficients[self._edges(node)] = answer.coefficients
        numbers = (answer.intercept, answer.variance, answer.noise, answer.cutoff)
        self.learnt.numbers[:, node] = numbers
        used = len(self.columns) - len(answer.left_out)
        self.learnt.counts[:, node] = used, answer.rank, answer.readmitted
        if max(self.table.progress[:2].tolist()) + len(self.columns) > len(self.table.statuses):
            self.table = self.table.doubled(len(self.columns))
        self.table.add_left_out(node, answer.left_out)

    # What the children, and the equations as learnt, say of flagged cells.

    def _confirm(self, scale: RobustScale) -> None:
        """Confirm flagged cells that the children agree with, by their likelihood ratios."""
        used = slice(int(self.table.progress[0]))
        statuses, ratios = self.table.statuses[used], self.table.log_ratios[used]
        statuses[(statuses == FLAGGED) & (ratios < -self.settings.evidence)] = CONFIRMED
        for node in [node for node, column in self.discrete.items() if len(column.outside)]:
            self._confirm_values(node, scale)

    def _confirm_values(self, node: int, scale: RobustScale) -> None:
        """Confirm values outside a discrete column that the children agree with, value by value."""
        span = self.table.span(node)
        rows, statuses = self.table.rows[0, span], self.table.statuses[span]
        rejected = np.flatnonzero((statuses == FLAGGED) | (statuses == CONFIRMED))
        column, limit = self.columns[:, node], self.settings.evidence
        values, owners = np.unique(column[rows[rejected]], return_inverse=True)
        ratios = np.bincount(owners, self.table.log_ratios[span][rejected])
        real, wrong = values[ratios < -limit], values[ratios > limit]
        self.discrete[node] = self.discrete[node].with_values(real, wrong, column)
        belong = ~np.isin(rows[rejected], self.discrete[node].outside)
        statuses[rejected] = np.where(belong, CONFIRMED, FLAGGED)
        if belong.any():
            self._enter_equation(node, self._learn_by_definition(self._task(scale), node))

    def _confirm_readmitted(self) -> None:
        """Confirm flagged cells of readmitted rows: they agree with the parents as recorded."""
        for node in np.flatnonzero(self.learnt.readmitted).tolist():
            span = self.table.span(node)
            statuses, used = self.table.statuses[span], np.ones(len(self.columns), dtype=bool)
            used[self.table.left_out(node)] = False
            statuses[used[self.table.rows[0, span]] & (statuses == FLAGGED)] = CONFIRMED

    def _attributed_cells(self) -> dict[int, SuspiciousCells]:
        """The suspicious cells, after each flagged one was compared with its parents."""
        learnt, cells = self.learnt, all_cells(self.table)
        equations = (learnt.coefficients, learnt.intercepts, learnt.noise)
        discrete, set_rows = list(self.discrete), self.set_rows
        model = Model(self.columns, self.families, *equations, self.table, discrete, set_rows)
        cells.update(attribute(model, self.settings))
        return {node: cells[node] for node in cells if len(cells[node].rows)}

    def _kl_optimal_variances(self) -> FloatArray:
        """Variances with the least expected KL divergence; as they are where rows are too few."""
        learnt, sizes = self.learnt, self.families.sizes
        factors = KlOptimal().factors(learnt.rows, sizes, self.intercept)
        return learnt.variances * np.where(np.isnan(factors), 1.0, factors)


def _missing_rows(columns: FloatArray) -> dict[int, IntArray]:
    """The rows of the missing cells, for the columns that have any."""
    if kernels.all_finite(columns):
        return {}
    with_missing = np.flatnonzero(np.isnan(columns).any(axis=0)).tolist()
    return {column: np.flatnonzero(np.isnan(columns[:, column])) for column in with_missing}
