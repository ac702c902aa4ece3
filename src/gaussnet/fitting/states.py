"""What a page says to a method, all in one pass: the state that summaries are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.medians import PageMedians, SolutionPass
from gaussnet.fitting.phases import PageSummary
from gaussnet.graph.dag import Dag
from gaussnet.methods.base import Equations, Solution
from gaussnet.methods.batches import BatchAverage, BatchMedian, tally_medians
from gaussnet.methods.cauchy import CauchyTree
from gaussnet.methods.least_squares import LeastSquares, Moments
from gaussnet.methods.medians.brackets import Medians
from gaussnet.methods.medians.recounts import FirstPass
from gaussnet.methods.with_moments import WithMoments, with_mean_squares
from gaussnet.types import Rows

SummaryMethod = LeastSquares | BatchAverage | BatchMedian | CauchyTree


@dataclass(frozen=True)
class States:
    """How a method turns pages into states, merges them, and solves the last one."""

    dag: Dag
    method: SummaryMethod
    intercept: bool

    def __post_init__(self) -> None:
        if not isinstance(self.method, SummaryMethod):
            name = getattr(self.method, "name", self.method)
            raise SettingError(
                f"got method={name!r}, which needs all rows more than once, expected "
                "'least-squares', 'batch-average', 'batch-median' or 'cauchy-tree': use one of "
                "these, or fit the rows themselves"
            )

    @property
    def equations(self) -> Equations:
        """All equations, sorted by number of parents."""
        return Equations(self.dag.families.sorted_by_size[1], self.intercept)

    @property
    def of_page(self) -> Callable[[Rows], Any]:
        """The state of a page."""
        equations, method = self.equations, self.method
        if isinstance(method, BatchMedian | CauchyTree):
            return SolutionPass(method, equations, FirstPass(), moments=True)
        own = method if isinstance(method, LeastSquares) else WithMoments(method)
        return PageSummary(partial(own.summarize, equations=equations), self.merge)

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        """The state of two runs of rows, left before right."""
        if isinstance(self.method, LeastSquares):
            return Moments.merge
        if isinstance(self.method, BatchAverage):
            return WithMoments(self.method).merge
        return PageMedians.merge

    def rows(self, state: Any) -> int:
        """Rows that a state is of."""
        return int((state if isinstance(self.method, LeastSquares) else state[1]).rows)

    def solve(self, state: Any) -> tuple[Solution, tuple[str, ...]]:
        """The solution with intercepts and mean squares, in sorted order, and notes.

        Refuses what the state alone does not determine.
        """
        equations = self.equations
        notes: tuple[str, ...] = ()
        if isinstance(self.method, LeastSquares):
            solution = self.method.solve(state, equations)
        elif isinstance(self.method, BatchAverage):
            solution = WithMoments(self.method).solve(state, equations)
        else:
            medians = state.summary.medians()
            found = tally_medians(equations, medians, state.summary.lengths).solution()
            solution = with_mean_squares(found, state.moments)
            notes = _rank_notes(medians)
        self._require_digits(solution)
        return solution, notes

    def is_proven(self, state: Any) -> bool:
        """Whether every median is exact."""
        if not isinstance(self.method, BatchMedian | CauchyTree):
            return True
        return bool(state.summary.medians().proven.all())

    def _require_digits(self, solution: Solution) -> None:
        assert solution.mean_squares is not None
        lost = np.isnan(solution.mean_squares)
        if solution.doubtful is not None:
            lost[solution.doubtful] = True
        if lost.any():
            position = self.dag.families.sorted_by_size[0][np.flatnonzero(lost)[0]]
            raise NotInSummary(
                f"the summary has too few digits for the node {self.dag.nodes[position]!r}: its "
                "parents are nearly collinear, or determine it, or no batch of rows has an "
                "answer, so fit the rows themselves"
            )


class NotInSummary(EstimationError):
    """The rows say more than their summary does."""


def _rank_notes(found: Medians) -> tuple[str, ...]:
    if found.proven.all():
        return ()
    missed = int(np.count_nonzero(~found.proven))
    worst = float((found.rank_errors / np.maximum(found.used, 1)).max())
    return (
        f"the rows drift, so that {missed} medians are not exact: the share of values below "
        f"them may be off a half by {worst:.2g}; a fit to the rows themselves is exact",
    )
