"""One node: its equation from the sound rows, and the statuses of its own cells.

`learn_node` takes a node whose parents are learnt. It trims the sound rows, those in which no
parent is suspicious, and judges the cells of the node. Then a likelihood ratio decides whether the
rows with suspicious parents tell of real events: if the child agrees with the parents as recorded,
better than with what was expected of them, the rows are readmitted as good leverage points. The
kernel `learn_nodes` does all of this in C where it can; this is its definition."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from gaussnet.errors import EstimationError
from gaussnet.kernels.numpy_robust import (
    FLAGGED,
    MISSING,
    Judged,
    JudgeTask,
    TrimAnswer,
    judge_rows,
)
from gaussnet.methods.robust.cells import NO_ROWS, SuspiciousCells, concatenated
from gaussnet.methods.robust.cutoffs import (
    bonferroni_cutoff,
    chi_square_quantile,
    truncated_variance,
)
from gaussnet.methods.robust.regression import Centring, Regression, median
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.robust.trimming import trim, untrimmed
from gaussnet.types import BoolArray, FloatArray, IntArray

READMISSION_LEVEL = 0.01
"""Clean rows would move the coefficients farther than readmission allows with this probability."""

ROUNDING_LEVEL = 4 * np.finfo(np.float64).eps
"""What is smaller than this, beside the child's values, is rounding error."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node, its parents, and what is known of their cells."""

    columns: FloatArray
    """All data, (rows, nodes), each column contiguous."""
    number: int
    parents: IntArray
    parent_cells: Sequence[SuspiciousCells]
    """Suspicious cells of each parent."""
    missing: IntArray
    """Rows in which the node's own cell is missing, or cannot belong to its column."""
    intercept: bool
    discrete: bool = False
    """Whether its column has few values, so that residuals do not tell what is wrong."""

    def sound_rows(self) -> BoolArray:
        """The rows to learn from: those without a suspicious parent, if these are enough."""
        sound = np.ones(len(self.columns), dtype=bool)
        sound[self.missing] = False
        with_all_parents = sound.copy()
        for cells in self.parent_cells:
            sound[cells.rows] = False
            with_all_parents[cells.rows[cells.statuses == MISSING]] = False
        size = len(self.parents) + self.intercept
        if np.count_nonzero(sound) >= max(3 * size, size + 10):
            return sound
        if not with_all_parents.any():
            raise EstimationError(
                f"column {self.number} has no row in which neither it nor a parent is missing: "
                "leave the node out of the graph or give more rows"
            )
        return with_all_parents

    def recorded_parents(self, rows: IntArray) -> FloatArray:
        """The parents as recorded in some rows, (parents, rows)."""
        found = np.empty((len(self.parents), len(rows)))
        for own, parent in zip(found, self.parents.tolist(), strict=True):
            np.take(self.columns[:, parent], rows, out=own)
        return found

    def centring(self, rows: IntArray) -> Centring:
        """Parents centred at their means over some rows, the child at its median."""
        if not self.intercept:
            return Centring(np.zeros(len(self.parents)), 0.0, False)
        reference = median(self.columns[rows, self.number])
        return Centring(self.recorded_parents(rows).mean(axis=1), reference, True)

    def regression(self, rows: IntArray, centring: Centring) -> Regression:
        """The regression over some rows."""
        child = self.columns[rows, self.number] - centring.reference
        size = median(np.abs(child)) + abs(centring.reference)
        smallest = max(float(ROUNDING_LEVEL * size), float(np.finfo(np.float64).tiny))
        return Regression(centring.columns(self.recorded_parents(rows)), child, smallest)


class NodeAnswer(NamedTuple):
    """What is learnt of one node."""

    coefficients: FloatArray
    intercept: float
    variance: float
    noise: float
    """Variance of the noise as the trimming has it, whatever variance was asked for."""
    cutoff: float
    rank: int
    readmitted: int
    """Number of rows with suspicious parents that were readmitted."""
    left_out: IntArray
    cells: SuspiciousCells | None
    parent_ratios: dict[int, FloatArray]
    """By parent, twice the log-likelihood ratio of a wrong record to a real event for each of its
    suspicious cells."""


class Estimate(NamedTuple):
    """Coefficients, the sum of squared residuals of the rows they rest on, and their number."""

    coefficients: FloatArray
    squares: float
    used: int
    readmitted: IntArray = NO_ROWS


def learn_node(
    node: Node, settings: SequentialTrim, mean_square: bool, suspected: bool
) -> NodeAnswer:
    """The equation of a node and the statuses of its cells, from what is known of its parents.

    `mean_square` says that the variance is that of all rows with sound parents, `suspected` that
    least squares over all rows failed the checks.
    """
    sound = node.sound_rows()
    trimmed = _trim(node, sound, settings, suspected)
    centring = Centring(trimmed.centres, trimmed.reference, node.intercept)
    estimate, judged = Estimate(trimmed.coefficients, trimmed.squares, trimmed.used), None
    if trimmed.used < len(sound):
        judged = _judge(node, sound, trimmed, settings)
        if judged.evidence < -settings.evidence and len(judged.events):
            estimate = _readmit(node, centring, trimmed, judged.events) or estimate
    coefficients, intercept = centring.equation(estimate.coefficients)
    if mean_square:
        variance = _mean_square(node, np.flatnonzero(sound), centring, estimate)
    else:
        variance = _core_variance(trimmed, estimate)
    return NodeAnswer(
        coefficients,
        intercept,
        variance,
        trimmed.scale * trimmed.scale,
        trimmed.cutoff,
        len(trimmed.whitener) - node.intercept,
        len(estimate.readmitted),
        _left_out(estimate, judged),
        _suspicious_cells(node, judged),
        {} if judged is None else _parent_ratios(node, judged.log_ratios),
    )


def _trim(node: Node, sound: BoolArray, settings: SequentialTrim, suspected: bool) -> TrimAnswer:
    """Trim the sound rows; `suspected` says that all rows are known to fail the checks.

    A discrete column is not trimmed.
    """
    rows = np.flatnonzero(sound)
    suspected = suspected and len(rows) == len(sound)
    centring = node.centring(rows)
    regression = node.regression(rows, centring)
    found = untrimmed(regression) if node.discrete else trim(regression, settings, suspected)
    residuals = found.trial.residuals
    kept = np.ones(len(rows), dtype=bool) if found.kept is None else found.kept
    return TrimAnswer(
        found.scale,
        found.cutoff,
        centring.reference,
        regression.smallest_scale,
        float(residuals[kept] @ residuals[kept]),
        int(np.count_nonzero(kept)),
        found.trial.coefficients,
        centring.centres,
        found.factor.whitener,
        residuals[~kept],
        rows[~kept],
    )


def _judge(node: Node, sound: BoolArray, trimmed: TrimAnswer, settings: SequentialTrim) -> Judged:
    """Judge the cells of the node; `sound` are the rows that it was learnt from, (rows,)."""
    limit = min(trimmed.cutoff, bonferroni_cutoff(len(node.columns)))
    limits = (limit, settings.cleaned_cutoff, settings.largest_vagueness, settings.cap)
    cells = concatenated(node.parent_cells)
    task = JudgeTask(node.number, node.parents, sound, trimmed, cells, limits)
    return judge_rows(node.columns, task)


def _readmit(
    node: Node, centring: Centring, trimmed: TrimAnswer, rows: IntArray
) -> Estimate | None:
    r"""Least squares with these rows as good leverage points; None if they do not fit.

    With W the whitener of the rows kept before, G = W E the new columns (p, rows) in its
    coordinates and r their residuals, the step is :math:`W' (I + G G')^{-1} G r`. It is taken
    twice, for all digits.
    """
    whitener, before = trimmed.whitener, trimmed.coefficients
    columns = centring.columns(node.recorded_parents(rows))
    child = node.columns[rows, node.number] - centring.reference
    white = whitener @ columns
    step, residuals = np.zeros(len(white)), child - before @ columns
    inverse = np.linalg.inv(np.eye(len(white)) + white @ white.T)
    for _ in range(2):
        step = step + inverse @ (white @ residuals - step)
        coefficients = before + whitener.T @ step
        residuals = child - coefficients @ columns
    count, variance = len(child), trimmed.scale * trimmed.scale
    moved, squares = step @ step, residuals @ residuals
    if moved > variance * chi_square_quantile(READMISSION_LEVEL, len(columns)):
        return None
    if squares > variance * (count + 3.0 * np.sqrt(2.0 * count)):
        return None
    added = float(moved + squares)
    return Estimate(coefficients, trimmed.squares + added, trimmed.used + count, rows)


def _core_variance(trimmed: TrimAnswer, estimate: Estimate) -> float:
    r"""The variance of the noise from the rows used, corrected for truncation at the cutoff t.

    .. math:: \hat s^2 = \frac{1}{\kappa(t)\, |F|} \sum_{k \in F} r_k^2
    """
    variance = estimate.squares / truncated_variance(trimmed.cutoff) / estimate.used
    return 0.0 if math.sqrt(variance) <= trimmed.smallest_scale else variance


def _mean_square(node: Node, rows: IntArray, centring: Centring, estimate: Estimate) -> float:
    """The mean square of the residuals of some rows."""
    return node.regression(rows, centring).trial(estimate.coefficients).squares / len(rows)


def _left_out(estimate: Estimate, judged: Judged | None) -> IntArray:
    """The rows that the coefficients do not rest on."""
    if judged is None:
        return NO_ROWS
    if len(estimate.readmitted) == 0:
        return judged.left_out
    return np.setdiff1d(judged.left_out, estimate.readmitted, assume_unique=True)


def _suspicious_cells(node: Node, judged: Judged | None) -> SuspiciousCells | None:
    """What was judged; of a discrete column only what cannot belong to it is wrong."""
    if judged is None:
        return None
    cells = SuspiciousCells(
        judged.rows, judged.statuses, judged.expected, judged.variances, judged.deviations
    )
    if node.discrete:
        cells = cells.only((cells.statuses != FLAGGED) | np.isin(cells.rows, node.missing))
    return cells if len(cells.rows) else None


def _parent_ratios(node: Node, ratios: FloatArray) -> dict[int, FloatArray]:
    """The likelihood ratios of all suspicious parent cells, by parent."""
    spans = pairwise(accumulate((len(cells.rows) for cells in node.parent_cells), initial=0))
    found = zip(node.parents.tolist(), spans, strict=True)
    return {parent: ratios[first:last] for parent, (first, last) in found}
