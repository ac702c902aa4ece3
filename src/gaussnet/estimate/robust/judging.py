"""Rows with suspicious parents: are their own cells right, and was the event real?"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.robust.cells import SuspiciousCells, cells_above
from gaussnet.estimate.robust.cutoffs import bonferroni_point
from gaussnet.estimate.robust.frames import Frame, Node
from gaussnet.estimate.robust.normal import chi_square_points
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.kernels import TrimAnswer

READMISSION_LEVEL = 0.01
"""Rows come back if the coefficients that they ask for are no farther off than by this chance."""


class Verdict(NamedTuple):
    """What the equation says of doubted rows."""

    rows: IntArray
    child: FloatArray
    """The recorded cells of the child, about its reference."""
    judged: kernels.Judged
    above: kernels.Cells
    limit: float
    """How far from its parents as recorded a child may be."""

    def suspicious(self, reference: float) -> SuspiciousCells:
        """The cells that are not fine; `reference` is what the child was centred at."""
        chosen = np.flatnonzero(self.judged.statuses)
        expected, variances = self.judged.expected[chosen], self.judged.variances[chosen]
        deviations = (self.child[chosen] - expected) / np.sqrt(variances)
        return SuspiciousCells(
            self.rows[chosen],
            self.judged.statuses[chosen],
            expected + reference,
            variances,
            deviations,
        )

    def events(self, evidence: float) -> IntArray:
        """Places of the rows to be taken back, if all together speak for real events."""
        if not self.judged.evidence.sum() < -evidence:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.judged.recorded <= self.limit**2)


def judge(
    node: Node, frame: Frame, trimmed: TrimAnswer, rows: IntArray, settings: SequentialTrim
) -> Verdict:
    """Judge the rows that were not learnt from."""
    limit = min(trimmed.cutoff, bonferroni_point(len(node.columns)))
    above = cells_above(node.above)
    task = kernels.JudgeTask(
        node.number,
        node.parents,
        rows,
        above,
        trimmed.coefficients,
        frame.centres,
        trimmed.whitener,
        frame.reference,
        trimmed.scale,
        (limit, settings.cleaned_cutoff, settings.largest_vagueness, settings.cap),
    )
    child = node.columns[rows, node.number] - frame.reference
    return Verdict(rows, child, kernels.judge_rows(node.columns, task), above, limit)


class Joined(NamedTuple):
    """Least squares with rows taken back."""

    coefficients: FloatArray
    added: float
    """What the sum of squared residuals has grown by, over the rows kept before and these."""


def readmit(trimmed: TrimAnswer, columns: FloatArray, child: FloatArray) -> Joined | None:
    r"""Least squares with these rows taken back as good leverage points; None if they do not fit.

    With W the whitener of the rows kept before, G = W E the new columns (p, rows) in its
    coordinates and r their residuals, the step is :math:`W' (I + G G')^{-1} G r`.
    """
    whitener, before = trimmed.whitener, trimmed.coefficients
    white = whitener @ columns
    matrix = np.eye(len(white)) + white @ white.T
    step, coefficients, own = np.zeros(len(white)), before, child - before @ columns
    inverse = np.linalg.inv(matrix)
    for _ in range(2):
        step = step + inverse @ (white @ own - step)
        coefficients = before + whitener.T @ step
        own = child - coefficients @ columns
    count = len(child)
    variance = trimmed.scale**2
    farthest = _farthest(len(columns))
    moved = step @ step > variance * farthest
    spread = own @ own > variance * (count + 3.0 * np.sqrt(2.0 * count))
    return None if moved or spread else Joined(coefficients, float(step @ step + own @ own))


@lru_cache
def _farthest(parameters: int) -> float:
    """How far coefficients may move, in squared standard errors, when rows are taken back."""
    return float(chi_square_points(READMISSION_LEVEL, np.array([parameters]))[0])
