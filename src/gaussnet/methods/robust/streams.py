"""The robust method on rows that are read anew by every pass: files, clusters, any number of rows.

What is wrong with a row is a matter of that row, given the parameters (`judge`). So a sample of the
rows, evenly spread over all of them, is learnt from in memory (`SamplePass`): what wrong values
look like, how frequent they are, and the network. Then each pass over all rows is one round for the
network alone (`RoundPass`); a round goes most of the way, so that two or three passes are enough.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.errors import EstimationError, SettingError
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import FLAGGED, MISSING
from gaussnet.methods.base import Equations, Scale, Solution
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.robust.cellwise import MOST_MISSING, Cellwise
from gaussnet.methods.robust.findings import Trimming
from gaussnet.methods.robust.judge import (
    Judge,
    ListedCells,
    clean_mixture,
    listed_cells,
    status_counts,
)
from gaussnet.methods.robust.mixture import Equation, Metric, Mixture, Sums, network_equation
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.scales import GaussianCore, KlOptimal, MeanSquare
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.robust.sequential_trim import RobustSolution

SAMPLE_ROWS, SAMPLE_VALUES = 65_536, 1 << 22
"""At least so many rows, and about so many values, are learnt from in memory."""

MOST_LISTED = 10_000
"""The worst flagged cells that are kept."""

CLOSE = 0.05
"""Passes end when the next one would move no parameter by more standard errors than this."""

FEWEST_PASSES, MOST_PASSES = 2, 20


def first_pass(method: Cellwise, equations: Equations, scale: Scale) -> "SamplePass":
    """The first question of the robust method about rows that are not all in memory."""
    if not isinstance(scale, GaussianCore | KlOptimal):
        raise SettingError(
            f"got scale={scale.name!r} with method={method.name!r} on rows that are read page by "
            "page, expected 'core' or 'kl-optimal': leave scale out, or give fewer rows"
        )
    return SamplePass(method, equations, scale, sample_step(equations))


def sample_step(equations: Equations) -> int:
    """One row in so many is learnt from in memory."""
    limits, width = equations.limits, len(equations.families)
    wanted = limits.run.sample_rows or max(SAMPLE_ROWS, SAMPLE_VALUES // max(width, 1))
    return 1 if limits.rows is None else max(1, limits.rows // wanted)


@dataclass(frozen=True)
class SamplePass(Pass):
    """Asks for one row in so many, each drawn from its own block of rows; learns from them."""

    method: Cellwise
    equations: Equations
    scale: Scale
    step: int

    def summarize(self, stripe: Stripe) -> list[Any]:
        """Rows of a stripe: which ones depends on their place in the page alone."""
        starts = np.arange(0, stripe.stop - stripe.start, self.step)
        draw = np.random.default_rng(stripe.start).integers(self.step, size=len(starts))
        chosen = np.minimum(starts + draw, stripe.stop - stripe.start - 1)
        return [np.array(stripe.rows[chosen], dtype=np.float64)]

    def merge(self, left: list[FloatArray], right: list[FloatArray]) -> list[FloatArray]:
        """The rows of both."""
        return left + right

    def then(self, summary: list[FloatArray]) -> "RoundPass":
        """Learn from the sample; then the first round over all rows."""
        rows = np.concatenate(summary)
        families = self.equations.families.by_node
        found = self.method.learn(
            rows,
            families,
            intercept=self.equations.intercept,
            threads=self.equations.limits.run.threads,
            complete=not bool(np.isnan(rows).any()),
        )
        judge = found.judge
        if judge is None:
            judge = self._clean_judge(found, rows, families)
        return RoundPass(self.equations, self.scale, judge, found.shaped, found.discrete)

    def _clean_judge(self, found: "RobustSolution", rows: FloatArray, families: Families) -> Judge:
        """One who has seen nothing wrong; refused where cells cannot be judged."""
        spread: FloatArray = np.nanvar(rows, axis=0)
        if found.cells or found.left_out or not (found.variances > 1e-6 * spread).all():
            raise EstimationError(
                "wrong values can be looked for in rows that are read page by page only if every "
                "column varies, has noise of its own and no value beyond 1e100, and no row lacks "
                f"more than {MOST_MISSING} values: leave out columns that are constant or sums of "
                "others, mend the rest, or give fewer rows"
            )
        layout = SparsePrecision(families)
        equation = network_equation(families, found.coefficients, found.intercepts, found.variances)
        judged = np.array([node not in found.discrete for node in range(len(families))])
        return Judge.of(clean_mixture(layout, self.equations.intercept, equation, judged=judged))


class RoundSummary(NamedTuple):
    """What one round over some rows says."""

    sums: Sums
    counts: IntArray
    """Cells of each status, (statuses, nodes)."""
    touched: IntArray
    """Rows of each family with a flagged or missing cell, (nodes,)."""
    worst: ListedCells
    lost: FloatArray


@dataclass(frozen=True)
class RoundPass(Pass):
    """One round of the mixture over all rows, and what it finds wrong."""

    equations: Equations
    scale: Scale
    judge: Judge
    shaped: tuple[int, ...] = ()
    discrete: tuple[int, ...] = ()
    passes: int = 1
    before: "Step | None" = None
    """That of the round before."""

    def summarize(self, stripe: Stripe) -> RoundSummary:
        """A round over the rows of a stripe."""
        found = self.judge.judged(stripe.rows, with_lost=True)
        bad = found.flagged | found.missing
        touched = np.flatnonzero(bad.any(axis=1))
        families, spoilt = self.judge.families, bad[touched].T.copy()
        by_family = spoilt.copy()
        for edge, parent in enumerate(families.parents.tolist()):
            by_family[families.family_of_edge[edge]] |= spoilt[parent]
        listed = listed_cells(self.judge, stripe.rows, found).flagged
        assert found.lost is not None
        return RoundSummary(
            found.sums, status_counts(found), by_family.sum(axis=1), _worst(listed), found.lost
        )

    def merge(self, left: RoundSummary, right: RoundSummary) -> RoundSummary:
        """What both say."""
        moved = right.worst._replace(rows=right.worst.rows + left.sums.rows)
        pairs = zip(left.worst, moved, strict=True)
        return RoundSummary(
            left.sums.plus(right.sums),
            left.counts + right.counts,
            left.touched + right.touched,
            _worst(ListedCells.of(np.concatenate(pair) for pair in pairs)),
            left.lost + right.lost,
        )

    def then(self, summary: RoundSummary) -> Any:
        """The next round, or the solution."""
        mixture = self.judge.mixture
        step = Step.of(mixture, mixture.solved(summary.sums), summary.sums)
        equation, left = step.following(self.before)
        found = replace(mixture, equation=equation, sums=None)
        is_near = left < CLOSE or self.passes >= MOST_PASSES
        if self.passes >= FEWEST_PASSES and is_near:
            return self._answer(summary, found)
        judge = replace(self.judge, mixture=found)
        return replace(self, judge=judge, before=step, passes=self.passes + 1)

    def _answer(self, summary: RoundSummary, mixture: Mixture) -> Any:
        """The solution; least squares where nothing is wrong or missing."""
        findings = self._findings(summary, mixture)
        if not summary.counts[[FLAGGED, MISSING]].any():
            plain = LeastSquares().first(self.equations, MeanSquare())
            return Followed(plain, partial(_with_findings, scale=self.scale, findings=findings))
        families, equation = self.judge.families, mixture.equation
        order = families.sorted_by_size[0]
        slopes, means = equation.coefficients, equation.means
        constants = means - np.bincount(
            families.family_of_edge, slopes * means[families.parents], len(families)
        )
        rows = summary.sums.rows - summary.touched
        variances = equation.variances * self._factors(rows, families)
        return Solution.of(
            self.equations,
            slopes[families.edges_of(order)],
            intercepts=constants[order] if self.equations.intercept else np.zeros(len(order)),
            variances=variances[order],
            rows=rows[order],
            dropped=np.zeros(len(order), dtype=np.int64),
            findings=findings,
        )

    def _factors(self, rows: IntArray, families: Families) -> FloatArray:
        if not isinstance(self.scale, KlOptimal):
            return np.ones(len(families))
        factors = self.scale.factors(rows, families.sizes, self.equations.intercept)
        return np.where(np.isnan(factors), 1.0, factors)

    def _findings(self, summary: RoundSummary, mixture: Mixture) -> Trimming:
        """What was found wrong: all of it counted, the worst cells listed."""
        worst = summary.worst
        cells, recorded = {}, {}
        for node in np.unique(worst.nodes).tolist():
            own = worst.chosen(np.flatnonzero(worst.nodes == node))
            own = own.chosen(np.argsort(own.rows, kind="stable"))
            statuses, variances = own.statuses.astype(np.uint8), np.full(len(own.rows), np.nan)
            found = (own.rows, statuses, own.expected, variances, own.deviations, own.chances)
            cells[node], recorded[node] = SuspiciousCells(*found), own.recorded
        return Trimming(
            summary.sums.rows,
            np.full(len(summary.touched), np.inf),
            cells,
            recorded,
            {},
            discrete=self.discrete,
            shaped=self.shaped,
            bridged=True,
            lost=summary.lost,
            judge=replace(self.judge, mixture=mixture),
            counts=summary.counts,
        )


@dataclass(frozen=True)
class Step:
    """Where a round started and led to: parameters as vectors, in standard errors."""

    start: FloatArray
    end: FloatArray
    units: FloatArray
    """Standard errors of coefficients, means and logs of variances."""
    nodes: int

    @classmethod
    def of(cls, mixture: Mixture, equation: Equation, sums: Sums) -> "Step":
        """From the equations of a mixture to those that a round asks for."""
        units = Metric.of(mixture, sums).units
        start, end = (_vector(one) / units for one in (mixture.equation, equation))
        return cls(start, end, units, len(equation.means))

    @property
    def size(self) -> float:
        """The largest move of a parameter."""
        return float(np.abs(self.end - self.start).max(initial=0.0))

    def following(self, before: "Step | None") -> tuple[Equation, float]:
        """The next equations, and the largest move that a round from there should make.

        Two rounds tell how fast rounds come to an end, f = end - start, and so how much is left:
        the point x + f - (dx + df) (f'df / df'df), as in Anderson's method (1965).
        """
        nodes = self.nodes
        edges = len(self.units) - 2 * nodes
        point, left = self.end, np.inf
        if before is not None:
            scale = before.units / self.units
            step = self.end - self.start
            moved = self.start - before.start * scale
            change = step - (before.end - before.start) * scale
            square = float(change @ change)
            if square > 0.0:
                point = self.end - (moved + change) * float(step @ change) / square
            left = self.size * min(self.size / max(before.size, 1e-300), 1.0)
        coefficients, means, logs = np.split(point * self.units, (edges, edges + nodes))
        return Equation(coefficients, means, np.exp(logs)), left


def _vector(equation: Equation) -> FloatArray:
    return np.concatenate((equation.coefficients, equation.means, np.log(equation.variances)))


def _worst(cells: ListedCells) -> ListedCells:
    """The cells that are farthest off; of equal ones those that come first."""
    if len(cells.rows) <= MOST_LISTED:
        return cells
    order = np.lexsort((cells.nodes, cells.rows, -np.abs(cells.deviations)))
    return cells.chosen(np.sort(order[:MOST_LISTED]))


@dataclass(frozen=True)
class Followed(Pass):
    """A question, and what is made of its answer."""

    question: Pass
    made: Any

    def summarize(self, stripe: Stripe) -> Any:
        """As the question."""
        return self.question.summarize(stripe)

    def merge(self, left: Any, right: Any) -> Any:
        """As the question."""
        return self.question.merge(left, right)

    def then(self, summary: Any) -> Any:
        """The next question, or what is made of the answer."""
        step = self.question.then(summary)
        return replace(self, question=step) if isinstance(step, Pass) else self.made(step)


def _with_findings(solution: Solution, scale: Scale, findings: Trimming) -> Solution:
    """Least squares as the answer of the robust method."""
    if isinstance(scale, KlOptimal):
        return replace(solution, findings=findings)
    return replace(solution, variances=solution.mean_squares, findings=findings)
