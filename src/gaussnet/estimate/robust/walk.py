"""The walk over the nodes, parents first."""

from functools import partial
from itertools import pairwise

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.estimate.equations import Equations
from gaussnet.estimate.robust.all_rows import learn_all_rows
from gaussnet.estimate.robust.attribution import Model, attribute
from gaussnet.estimate.robust.cells import SuspiciousCells
from gaussnet.estimate.robust.frames import Node
from gaussnet.estimate.robust.node import NodeAnswer, learn_node
from gaussnet.estimate.robust.sequential_trim import RobustScale, RobustSolution, SequentialTrim
from gaussnet.estimate.robust.variances import kl_optimal_ratios
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import thread_map

FEWEST_ROWS_FOR_THREADS = 20_000
"""With fewer rows a node is learnt sooner than a thread can be woken."""


class Walk:
    """Least squares for the nodes that look clean, and the trimming of the others in turn."""

    def __init__(
        self, rows: Rows, families: Families, intercept: bool, settings: SequentialTrim
    ) -> None:
        nodes = len(families)
        self.rows, self.families = rows, families
        self.intercept, self.settings = intercept, settings
        self.columns = kernels.whole_columns(rows)
        self.parents = _parent_lists(families)
        self.missing = _missing(rows)
        self.clean = np.zeros(nodes, dtype=bool)
        self.failed = np.zeros(nodes, dtype=bool)
        self.coefficients = np.zeros(len(families.parents))
        self.intercepts = np.zeros(nodes)
        self.variances = np.zeros(nodes)
        self.noise = np.zeros(nodes)
        self.cutoffs = np.full(nodes, np.inf)
        self.used = np.full(nodes, len(rows), dtype=np.int64)
        self.ranks = families.sizes.copy()
        self.cells: dict[int, SuspiciousCells] = {}
        self.left_out: dict[int, IntArray] = {}
        self.testimonies: dict[int, FloatArray] = {}

    def learn(self, order: IntArray, scale: RobustScale, threads: int) -> RobustSolution:
        """All nodes, those of one level of the graph side by side."""
        self._learn_all_rows(scale, threads)
        workers = threads if len(self.rows) >= FEWEST_ROWS_FOR_THREADS else 1
        for level in [] if self.clean.all() else self._levels(order):
            work = [node for node in level if not self._stands(node)]
            answers = thread_map(partial(self._learn_node, scale), work, workers)
            for node, answer in zip(work, list(answers), strict=True):
                self._enter(node, answer)
        self._confirm()
        model = Model(
            self.columns,
            self.families,
            self.coefficients,
            self.intercepts,
            self.noise,
            self.cells,
        )
        cells = attribute(model, self.settings)
        return RobustSolution(
            self.coefficients,
            self.intercepts,
            self.variances,
            self.cutoffs,
            self.used,
            self.ranks,
            cells,
            self.left_out,
        )

    def _learn_all_rows(self, scale: RobustScale, threads: int) -> None:
        """Least squares for the families without a missing cell."""
        families = self.families
        whole = np.flatnonzero(~self._families_with_holes())
        whole = whole[np.argsort(families.sizes[whole], kind="stable")]
        equations = Equations(families.subset(whole), self.intercept)
        solution, clean = learn_all_rows(self.rows, equations, self.settings, threads, self.columns)
        self.coefficients[families.edges_of(whole)] = solution.coefficients
        if self.intercept and solution.intercepts is not None:
            self.intercepts[whole] = solution.intercepts
        if solution.mean_squares is not None:
            self.variances[whole] = self.noise[whole] = solution.mean_squares
        if scale == "kl-optimal":
            sizes = families.sizes[whole]
            self.variances[whole] *= kl_optimal_ratios(len(self.rows), sizes, self.intercept)
        self.ranks[whole] = solution.ranks
        self.clean[whole], self.failed[whole] = clean, ~clean

    def _families_with_holes(self) -> BoolArray:
        holed = np.zeros(len(self.families), dtype=bool)
        holed[list(self.missing)] = True
        found = holed.copy()
        np.logical_or.at(found, self.families.family_of_edge, holed[self.families.parents])
        return found

    def _levels(self, order: IntArray) -> list[list[int]]:
        """Nodes by the length of the longest path that leads to them."""
        depths = [0] * len(self.families)
        levels: list[list[int]] = []
        for node in order.tolist():
            depth = max((depths[parent] + 1 for parent in self.parents[node]), default=0)
            depths[node] = depth
            if depth == len(levels):
                levels.append([])
            levels[depth].append(node)
        return [sorted(level) for level in levels]

    def _node(self, number: int) -> Node:
        start, stop = self.families.offsets[number : number + 2].tolist()
        parents = self.families.parents[start:stop]
        above = [self.cells.get(parent) for parent in self.parents[number]]
        missing = self.missing.get(number, np.empty(0, dtype=np.int64))
        return Node(self.columns, number, parents, above, missing, self.intercept)

    def _stands(self, number: int) -> bool:
        """Whether least squares over all rows is the answer: clean, and so are the parents."""
        return bool(self.clean[number]) and self.cells.keys().isdisjoint(self.parents[number])

    def _learn_node(self, scale: RobustScale, number: int) -> NodeAnswer:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return learn_node(self._node(number), self.settings, scale, bool(self.failed[number]))

    def _enter(self, number: int, answer: NodeAnswer) -> None:
        edges = slice(*self.families.offsets[number : number + 2].tolist())
        self.coefficients[edges] = answer.coefficients
        self.intercepts[number] = answer.intercept
        self.variances[number] = answer.variance
        self.noise[number] = answer.noise
        self.cutoffs[number] = answer.cutoff
        self.ranks[number] = answer.rank
        self.used[number] = len(self.rows) - len(answer.left_out)
        if len(answer.left_out):
            self.left_out[number] = answer.left_out
        if answer.cells is not None:
            self.cells[number] = answer.cells
        for parent, testimony in answer.testimonies.items():
            if parent in self.testimonies:
                self.testimonies[parent] += testimony
            else:
                self.testimonies[parent] = testimony

    def _confirm(self) -> None:
        """Hear the children on flagged cells of their parents."""
        for parent, testimony in self.testimonies.items():
            cells = self.cells[parent]
            self.cells[parent] = cells.confirmed(testimony, self.settings.evidence)


def _parent_lists(families: Families) -> list[list[int]]:
    """The parents of each family."""
    parents, offsets = families.parents.tolist(), families.offsets.tolist()
    return [parents[start:stop] for start, stop in pairwise(offsets)]


def _missing(rows: Rows) -> dict[int, IntArray]:
    """The rows of the missing cells, for the columns that have any."""
    if kernels.all_finite(rows):
        return {}
    holed = np.flatnonzero(np.isnan(rows).any(axis=0))
    return {column: np.flatnonzero(np.isnan(rows[:, column])) for column in holed.tolist()}
