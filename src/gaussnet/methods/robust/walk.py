"""The walk over the nodes, parents first."""

from functools import partial

import numpy as np

from gaussnet import kernels
from gaussnet.kernels import CellTable, Learnt, WalkTask
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import CONFIRMED, FLAGGED
from gaussnet.kernels.threads import thread_map
from gaussnet.methods.base import Equations
from gaussnet.methods.robust.attribution import Model, attribute
from gaussnet.methods.robust.cells import (
    FewValues,
    SuspiciousCells,
    all_cells,
    all_left_out,
    cells_of,
    discrete_columns,
    enter_cells,
)
from gaussnet.methods.robust.node import READMISSION_LEVEL, NodeAnswer, learn_node
from gaussnet.methods.robust.normal import bonferroni_point, chi_square_points
from gaussnet.methods.robust.regression import Node, missing_rows
from gaussnet.methods.robust.screening import learn_all_rows
from gaussnet.methods.robust.sequential_trim import (
    RobustScale,
    RobustSolution,
    SequentialTrim,
    Unproven,
)
from gaussnet.methods.robust.trimming import kl_optimal_ratios
from gaussnet.types import BoolArray, IntArray, Rows

FEWEST_ROWS_FOR_THREADS = 20_000
"""With fewer rows a node is learnt sooner than a thread can be woken."""

FREE_ROOM, CELLS_EXPECTED = 1 << 19, 8
"""The table of suspicious cells has room for so many, or for one in so many, before it grows."""


class Walk:
    """Least squares for the nodes that look clean, and the trimming of the others in turn."""

    def __init__(
        self,
        rows: Rows,
        families: Families,
        intercept: bool,
        settings: SequentialTrim,
        complete: bool | None = False,
    ) -> None:
        self.families, self.intercept, self.settings = families, intercept, settings
        self.columns = kernels.whole_columns(rows)
        self.parents = families.parent_lists
        self.missing = missing_rows(self.columns) if complete is False else {}
        self.unproven = complete is None
        self.discrete: dict[int, FewValues] = {}
        self.clean = np.zeros(len(families), dtype=bool)
        self.failed = np.zeros(len(families), dtype=bool)
        self.learnt = Learnt.blank(families, len(rows))
        self.table = CellTable.empty(len(families), 0)

    def learn(self, scale: RobustScale, threads: int) -> RobustSolution:
        """All nodes, those of one level of the graph side by side."""
        self._learn_all_rows(threads)
        if not self.clean.all():
            self._find_discrete()
            self.table = CellTable.empty(len(self.families), self._room())
            self._learn_others(scale, threads)
            self._confirm(scale)
        learnt, sizes = self.learnt, self.families.sizes
        variances = learnt.variances
        if scale == "kl-optimal":
            variances = variances * kl_optimal_ratios(learnt.rows, sizes, self.intercept)
        cells = self._final_cells()
        return RobustSolution(
            learnt.coefficients,
            learnt.intercepts,
            variances,
            learnt.cutoffs,
            learnt.rows,
            learnt.ranks,
            cells,
            all_left_out(self.table),
            {node: self.columns[:, node].take(own.rows) for node, own in cells.items()},
            tuple(self.discrete),
        )

    def _final_cells(self) -> dict[int, SuspiciousCells]:
        """The suspicious cells, after each flagged one was weighed against its parents."""
        self._trust_returned()
        learnt, cells = self.learnt, all_cells(self.table)
        equations = (learnt.coefficients, learnt.intercepts, learnt.noise)
        model = Model(self.columns, self.families, *equations, self.table, list(self.discrete))
        changed = attribute(model, self.settings)
        cells.update(changed)
        return {node: cells[node] for node in cells if len(cells[node].rows)}

    def _trust_returned(self) -> None:
        """Confirm flagged cells of rows that their node took back: it agrees with its parents."""
        for node in np.flatnonzero(self.learnt.returned).tolist():
            span = self.table.span(node)
            statuses, back = self.table.statuses[span], np.ones(len(self.columns), dtype=bool)
            back[self.table.left_out(node)] = False
            statuses[back[self.table.rows[0, span]] & (statuses == FLAGGED)] = CONFIRMED

    def _room(self) -> int:
        """How many cells the table should hold at first; what is not used costs nothing."""
        rows, nodes = len(self.columns), len(self.families)
        return min(rows * nodes, max(FREE_ROOM, rows * (nodes // CELLS_EXPECTED + 1)))

    def _learn_all_rows(self, threads: int) -> None:
        """Least squares for the families without a missing cell."""
        families, learnt = self.families, self.learnt
        whole, chosen = families.sorted_by_size
        if self.missing:
            whole = whole[~self._families_with_holes()[whole]]
            chosen = families.subset(whole)
        equations = Equations(chosen, self.intercept)
        solution, clean = learn_all_rows(self.columns, equations, self.settings, threads)
        learnt.coefficients[families.edges_of(whole)] = solution.coefficients
        if self.intercept and solution.intercepts is not None:
            learnt.intercepts[whole] = solution.intercepts
        if solution.mean_squares is not None:
            learnt.variances[whole] = learnt.noise[whole] = solution.mean_squares
        if self.unproven and not np.isfinite(learnt.variances).all():
            raise Unproven
        learnt.ranks[whole] = solution.ranks
        self.clean[whole], self.failed[whole] = clean, ~clean

    def _find_discrete(self) -> None:
        """Look for columns of few values; least squares over all rows does for these."""
        self.discrete = discrete_columns(self.columns)
        for node, few in self.discrete.items():
            if len(few.strange) == 0 and node not in self.missing:
                self.clean[node] |= self.failed[node]
                self.failed[node] = False

    def _families_with_holes(self) -> BoolArray:
        found = self._holed()
        np.logical_or.at(found, self.families.family_of_edge, found[self.families.parents])
        return found

    def _holed(self) -> BoolArray:
        holed = np.zeros(len(self.families), dtype=bool)
        holed[list(self.missing)] = True
        return holed

    def _learn_others(self, scale: RobustScale, threads: int) -> None:
        """The nodes for which least squares over all rows does not stand."""
        task, levels = self._task(scale), self.families.levels
        if threads == 1 or len(self.columns) < FEWEST_ROWS_FOR_THREADS:
            self._learn_in_turn(task, np.array([node for level in levels for node in level]))
            return
        for level in levels:
            work = [node for node in level if not self._stands(node)]
            answers = thread_map(partial(self._learn_apart, task), work, threads)
            for node, answer in zip(work, list(answers), strict=True):
                self._enter(node, answer)

    def _task(self, scale: RobustScale) -> WalkTask:
        """What the kernel wants to know."""
        settings, sizes = self.settings, self.families.sizes + self.intercept
        levels = (settings.gate_level, settings.extent_level, settings.wide_level)
        limits = (
            settings.spread_limit,
            bonferroni_point(len(self.columns)),
            settings.cleaned_cutoff,
        )
        rest = (settings.largest_vagueness, settings.cap, settings.evidence)
        discrete = np.zeros(len(self.families), dtype=bool)
        discrete[list(self.discrete)] = True
        marks = (self.clean, self.failed, self._holed(), discrete)
        verdicts = np.packbits(np.stack(marks), axis=0, bitorder="little")[0]
        return WalkTask(
            self.families,
            self.intercept,
            scale == "mean-square",
            np.array((*levels, *limits, *rest), dtype=np.float64),
            chi_square_points(settings.half_level, sizes),
            chi_square_points(READMISSION_LEVEL, sizes),
            verdicts,
        )

    def _learn_in_turn(self, task: WalkTask, nodes: IntArray) -> None:
        """Nodes in this order; what the kernel leaves to NumPy is learnt between its walks."""
        done = 0
        while done < len(nodes):
            tables = self.table, self.table
            more, full = kernels.learn_nodes(self.columns, task, nodes[done:], self.learnt, tables)
            done += more
            if full:
                self.table = self.table.doubled(len(self.columns))
            elif done < len(nodes):
                node = int(nodes[done])
                if not self._stands(node):
                    self._enter(node, self._by_definition(task, node))
                done += 1

    def _learn_apart(self, task: WalkTask, node: int) -> NodeAnswer:
        """One node, with its cells in a table of their own."""
        known, own = self.table.unheard(), CellTable.empty(len(self.families), len(self.columns))
        learnt, work = self.learnt, np.array([node])
        done, _ = kernels.learn_nodes(self.columns, task, work, learnt, (known, own))
        if not done:
            return self._by_definition(task, node)
        edges = slice(*self.families.offsets[node : node + 2].tolist())
        intercept, variance, noise, cutoff = learnt.numbers[:, node].tolist()
        return NodeAnswer(
            learnt.coefficients[edges],
            intercept,
            variance,
            noise,
            cutoff,
            int(learnt.ranks[node]),
            int(learnt.returned[node]),
            own.left_out(node),
            cells_of(own, node),
            {
                parent: known.testimony[self.table.span(parent)]
                for parent in self.parents[node]
                if self._has_cells(parent)
            },
        )

    def _by_definition(self, task: WalkTask, number: int) -> NodeAnswer:
        """One node, as NumPy learns it."""
        start, stop = self.families.offsets[number : number + 2].tolist()
        above = [cells_of(self.table, parent) for parent in self.parents[number]]
        missing = self.missing.get(number, np.empty(0, dtype=np.int64))
        columns, parents = self.columns, self.families.parents[start:stop]
        discrete = self.discrete.get(number)
        if discrete is not None:
            missing = np.union1d(missing, discrete.strange)
        known = (above, missing, self.intercept, discrete is not None)
        node = Node(columns, number, parents, *known)
        failed = bool(self.failed[number])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return learn_node(node, self.settings, task.mean_square, failed)

    def _has_cells(self, node: int) -> bool:
        first, last = self.table.bounds[:2, node].tolist()
        return bool(first < last)

    def _stands(self, number: int) -> bool:
        """Whether least squares over all rows is the answer: clean, and so are the parents."""
        return bool(self.clean[number]) and not any(map(self._has_cells, self.parents[number]))

    def _enter(self, number: int, answer: NodeAnswer) -> None:
        self._enter_equation(number, answer)
        if answer.cells is not None:
            enter_cells(self.table, number, answer.cells)
        for parent, testimony in answer.testimonies.items():
            self.table.testimony[self.table.span(parent)] += testimony

    def _enter_equation(self, number: int, answer: NodeAnswer) -> None:
        edges = slice(*self.families.offsets[number : number + 2].tolist())
        self.learnt.coefficients[edges] = answer.coefficients
        numbers = (answer.intercept, answer.variance, answer.noise, answer.cutoff)
        self.learnt.numbers[:, number] = numbers
        used = len(self.columns) - len(answer.left_out)
        self.learnt.counts[:, number] = used, answer.rank, answer.returned
        if max(self.table.progress[:2].tolist()) + len(self.columns) > len(self.table.statuses):
            self.table = self.table.doubled(len(self.columns))
        self.table.add_left_out(number, answer.left_out)

    def _confirm(self, scale: RobustScale) -> None:
        """Hear the children on flagged cells of their parents."""
        used = slice(int(self.table.progress[0]))
        statuses, testimony = self.table.statuses[used], self.table.testimony[used]
        statuses[(statuses == FLAGGED) & (testimony < -self.settings.evidence)] = CONFIRMED
        for node in [node for node, few in self.discrete.items() if len(few.strange)]:
            self._confirm_values(node, scale)

    def _confirm_values(self, node: int, scale: RobustScale) -> None:
        """Hear the children on each value that does not seem to belong to a discrete column."""
        span = self.table.span(node)
        rows, statuses = self.table.rows[0, span], self.table.statuses[span]
        called = np.flatnonzero((statuses == FLAGGED) | (statuses == CONFIRMED))
        column, few = self.columns[:, node], self.discrete[node]
        values, owners = np.unique(column[rows[called]], return_inverse=True)
        heard = np.bincount(owners, self.table.testimony[span][called])
        evidence = self.settings.evidence
        real, wrong = values[heard < -evidence], values[heard > evidence]
        self.discrete[node] = few.with_values(real, wrong, column)
        belong = ~np.isin(rows[called], self.discrete[node].strange)
        statuses[called] = np.where(belong, CONFIRMED, FLAGGED)
        if belong.any():
            self._enter_equation(node, self._by_definition(self._task(scale), node))
