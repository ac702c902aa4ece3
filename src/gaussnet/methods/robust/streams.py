"""The robust method on rows that are read anew by every pass: files, clusters, any number of rows.

What is wrong with a row is a matter of that row, given the parameters (`judge`). So a sample of the
rows is learnt from in memory: what wrong values look like, how frequent they are, and the network.
Then each pass over all rows (`RoundPass`) says how far that holds for all of them, and the mixture
goes on from there in memory, with the sample as a control variate. One or two passes
are mostly enough: the two halves of the sample say how far chance may lead astray.
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
from gaussnet.methods.robust.cellwise import FEWEST_ROWS, MOST_MISSING, Cellwise
from gaussnet.methods.robust.control_variate import ControlVariate
from gaussnet.methods.robust.findings import Trimming
from gaussnet.methods.robust.judge import (
    Judge,
    ListedCells,
    clean_mixture,
    listed_cells,
    status_counts,
)
from gaussnet.methods.robust.mixture import (
    LEAST_CHANCE,
    Metric,
    Mixture,
    Sums,
    network_equation,
)
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.robust.samples import Sample, SamplePass
from gaussnet.methods.scales import GaussianCore, KlOptimal, MeanSquare
from gaussnet.types import FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.methods.robust.sequential_trim import RobustSolution

SAMPLE_ROWS, SAMPLE_VALUES = 65_536, 1 << 22
"""At least so many rows, and about so many values, are learnt from in memory."""

MOST_LISTED = 10_000
"""The worst flagged cells that are kept."""

CLOSE = 0.05
"""Passes end when the next one would move no parameter by more standard errors than this, as far as
the last two moves or the two halves of the sample can tell."""

MOST_PASSES = 20

MOST_ROUNDS = 150
"""Of the mixture in memory, after each pass."""


def first_pass(method: Cellwise, equations: Equations, scale: Scale) -> Pass:
    """The first question of the robust method about rows that are not all in memory."""
    check_scale(method, scale)
    limits, width = equations.limits, len(equations.families)
    question = SamplePass(limits.run.sample_rows or sample_size(width), limits.rows)
    learnt = Followed(question, partial(_rounds, method, equations))
    return Followed(learnt, partial(answer, equations, scale))


def check_scale(method: Cellwise, scale: Scale) -> None:
    """Refuse a scale that needs all residuals at once."""
    if not isinstance(scale, GaussianCore | KlOptimal):
        raise SettingError(
            f"got scale={scale.name!r} with method={method.name!r} on rows that are not all in "
            "memory, expected 'core' or 'kl-optimal': leave scale out, or fit fewer rows"
        )


def sample_size(width: int) -> int:
    """Rows of so many values that are learnt from in memory."""
    return max(SAMPLE_ROWS, SAMPLE_VALUES // max(width, 1))


def _rounds(method: Cellwise, equations: Equations, sample: Sample) -> "RoundPass":
    """The first round over all rows, after what a sample teaches."""
    judge, shaped, discrete = judge_of_sample(method, equations, sample.rows)
    threads = equations.limits.run.threads
    return RoundPass(judge, Held(sample.rows), shaped, discrete, threads)


def judge_of_sample(
    method: Cellwise, equations: Equations, rows: FloatArray
) -> tuple[Judge, tuple[int, ...], tuple[int, ...]]:
    """What rows in memory teach of right and wrong; nodes of another shape, and discrete ones."""
    families = equations.families.by_node
    found = method.learn(
        rows,
        families,
        intercept=equations.intercept,
        threads=equations.limits.run.threads,
        complete=not bool(np.isnan(rows).any()),
    )
    judge = found.judge
    if judge is None:
        judge = _clean_judge(found, rows, families, equations.intercept)
    judge = replace(judge, tied=found.tied)
    return _watchful(judge, (*found.shaped, *found.discrete)), found.shaped, found.discrete


def _watchful(judge: Judge, believed: tuple[int, ...]) -> Judge:
    """A judge to whom any value may be wrong, but those of nodes that are believed as they are."""
    chances = np.maximum(judge.mixture.chances, LEAST_CHANCE)
    chances[list(believed)] = 0.0
    return replace(judge, mixture=replace(judge.mixture, chances=chances))


def _clean_judge(
    found: "RobustSolution", rows: FloatArray, families: Families, intercept: bool
) -> Judge:
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
    return Judge.of(clean_mixture(layout, intercept, equation, judged=judged))


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that stay where they are: a copy that is sent to a worker has none."""

    rows: FloatArray

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (np.empty((0, self.rows.shape[1])),)


class RoundSummary(NamedTuple):
    """What one round over some rows says."""

    sums: Sums
    counts: IntArray
    """Cells of each status, (statuses, nodes)."""
    touched: IntArray
    """Rows of each family with a flagged or missing cell, (nodes,)."""
    worst: ListedCells
    lost: FloatArray
    usual: IntArray
    """Flagged cells of each node whose values are usual for their column, (nodes,)."""

    def plus(self, other: "RoundSummary") -> "RoundSummary":
        """What both say; the rows of the other come after these."""
        later = other.worst._replace(rows=other.worst.rows + self.sums.rows)
        pairs = zip(self.worst, later, strict=True)
        return RoundSummary(
            self.sums.plus(other.sums),
            self.counts + other.counts,
            self.touched + other.touched,
            _worst(ListedCells.of(np.concatenate(pair) for pair in pairs)),
            self.lost + other.lost,
            self.usual + other.usual,
        )


def round_summary(judge: Judge, rows: Rows) -> RoundSummary:
    """A round over some rows."""
    found = judge.judged(rows, with_lost=True)
    bad = found.flagged | found.missing
    touched = np.flatnonzero(bad.any(axis=1))
    families, spoilt = judge.families, bad[touched].T.copy()
    by_family = spoilt.copy()
    for edge, parent in enumerate(families.parents.tolist()):
        by_family[families.family_of_edge[edge]] |= spoilt[parent]
    listed = listed_cells(judge, rows, found, doubted=False)
    assert found.lost is not None
    counts, own = status_counts(found), by_family.sum(axis=1)
    low, high = judge.usual_range
    usual = (found.flagged & (rows >= low) & (rows <= high)).sum(axis=0)
    return RoundSummary(found.sums, counts, own, _worst(listed), found.lost, usual)


class Learnt(NamedTuple):
    """What rounds have found."""

    judge: Judge
    """By whom all rows were judged in the last round."""
    summary: RoundSummary
    """What they said then."""
    mixture: Mixture
    """What follows from it."""
    shaped: tuple[int, ...]
    discrete: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Past:
    """Rows that were read before: what they said then, and a sample of them."""

    judge: Judge
    summary: RoundSummary
    sample: FloatArray

    def under(self, judge: Judge) -> RoundSummary:
        """What they would say now."""
        if judge is self.judge:
            return self.summary
        before, now = (one.judged(self.sample, with_lost=True) for one in (self.judge, judge))
        variate = ControlVariate.of(self.judge.mixture, self.summary.sums, before.sums)
        assert before.lost is not None
        assert now.lost is not None
        lost = self.summary.lost + variate.factor * (now.lost - before.lost)
        return self.summary._replace(sums=variate.total(judge.mixture, now.sums), lost=lost)


@dataclass(frozen=True)
class RoundPass(Pass):
    """One round of the mixture over all rows, and what it finds wrong.

    What follows from it is found in memory, with the sample as a control variate: the rounds that
    the mixture takes to its end read no other rows, and the next pass has little to correct.
    """

    judge: Judge
    sample: Held
    shaped: tuple[int, ...] = ()
    discrete: tuple[int, ...] = ()
    threads: int = 1
    past: Past | None = None
    passes: int = 1
    before: float = np.inf
    """The largest move of a parameter by the round before, in standard errors."""

    def summarize(self, stripe: Stripe) -> RoundSummary:
        """A round over the rows of a stripe."""
        return round_summary(self.judge, stripe.rows)

    def merge(self, left: RoundSummary, right: RoundSummary) -> RoundSummary:
        """What both say."""
        return left.plus(right)

    def then(self, summary: RoundSummary) -> Any:
        """The next round, or what was learnt."""
        if self.past is not None:
            summary = self.past.under(self.judge).plus(summary)
        mixture = followed_up(self.judge, summary.sums, self.sample.rows, self.threads)
        move = _largest_move(self.judge.mixture, mixture, summary.sums)
        left = move if np.isinf(self.before) else move * min(move / self.before, 1.0)
        if left >= CLOSE:
            left = min(left, self._chance_error(summary.sums, mixture))
        if left < CLOSE or self.passes >= MOST_PASSES:
            return Learnt(self.judge, summary, mixture, self.shaped, self.discrete)
        judge = replace(self.judge, mixture=mixture)
        return replace(self, judge=judge, before=move, passes=self.passes + 1)

    def _chance_error(self, total: Sums, mixture: Mixture) -> float:
        """How far the sample may lead astray, in standard errors: what the next pass would correct.

        Each half of the sample goes on by itself. Their answers differ by twice the standard
        deviation of the answer of both together.
        """
        halves = self.sample.rows[::2], self.sample.rows[1::2]
        if min(len(half) for half in halves) < FEWEST_ROWS:
            return np.inf
        one, other = (
            followed_up(self.judge, total, half, self.threads, mixture) for half in halves
        )
        return _largest_move(one, other, total)


def followed_up(
    judge: Judge, total: Sums, sample: FloatArray, threads: int, start: Mixture | None = None
) -> Mixture:
    """The mixture after rounds over a sample of the rows that have these sums under a judge.

    The rounds begin at the parameters of the judge, and are taken back if they lead away; or at
    another start, which rounds have led to.
    """
    values = judge.inside(sample)
    here = (start or judge.mixture).on(values, np.zeros(values.shape, dtype=bool))
    variate = ControlVariate.of(judge.mixture, total, judge.judged(sample).sums)
    first = replace(here, variate=variate, threads=threads, rounds=0).round()
    found = first.run_far(MOST_ROUNDS)
    metric = Metric.of(first, first.sums)
    if start is None and not metric.between(found, found.round()) <= metric.between(here, first):
        found = replace(first, laws=here.laws, chances=here.chances)  # a round of the network alone
    return found.without_rows()


def _largest_move(start: Mixture, end: Mixture, sums: Sums) -> float:
    """The largest difference of an equation's parameter, in standard errors or less."""
    metric = Metric.of(end, sums)
    moves = (metric.point(start) - metric.point(end))[: len(metric.units)]
    return float(np.abs(moves).max(initial=0.0))


def answer(equations: Equations, scale: Scale, learnt: Learnt) -> Any:
    """The solution; least squares where nothing is wrong or missing."""
    findings = trimming_of(learnt)
    if not learnt.summary.counts[[FLAGGED, MISSING]].any():
        plain = LeastSquares().first(equations, MeanSquare())
        return Followed(plain, partial(_with_findings, scale=scale, findings=findings))
    return solution_of(equations, scale, learnt, findings)


def solution_of(equations: Equations, scale: Scale, learnt: Learnt, findings: Trimming) -> Solution:
    """The network of the mixture, families sorted by size."""
    families, equation = learnt.judge.families, learnt.mixture.equation
    order = families.sorted_by_size[0]
    slopes, means = equation.coefficients, equation.means
    constants = means - np.bincount(
        families.family_of_edge, slopes * means[families.parents], len(families)
    )
    rows = learnt.summary.sums.rows - learnt.summary.touched
    variances = equation.variances * _factors(scale, rows, families, equations.intercept)
    return Solution.of(
        equations,
        slopes[families.edges_of(order)],
        intercepts=constants[order] if equations.intercept else np.zeros(len(order)),
        variances=variances[order],
        rows=rows[order],
        dropped=np.zeros(len(order), dtype=np.int64),
        findings=findings,
    )


def _factors(scale: Scale, rows: IntArray, families: Families, intercept: bool) -> FloatArray:
    if not isinstance(scale, KlOptimal):
        return np.ones(len(families))
    factors = scale.factors(rows, families.sizes, intercept)
    return np.where(np.isnan(factors), 1.0, factors)


def trimming_of(learnt: Learnt) -> Trimming:
    """What was found wrong: all of it counted, the worst cells listed."""
    summary, worst = learnt.summary, learnt.summary.worst
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
        discrete=learnt.discrete,
        shaped=learnt.shaped,
        tied=learnt.judge.tied,
        bridged=True,
        lost=summary.lost,
        judge=replace(learnt.judge, mixture=learnt.mixture),
        judged_by=learnt.judge,
        counts=summary.counts,
        usual=summary.usual,
    )


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
