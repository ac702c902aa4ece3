"""Rows with suspicious parents: are their own cells right, and was the event real?"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray
from gaussnet.estimate.robust.cells import cells_above
from gaussnet.estimate.robust.cutoffs import bonferroni_point
from gaussnet.estimate.robust.frames import Node
from gaussnet.estimate.robust.normal import chi_square_points
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.kernels import TrimAnswer

READMISSION_LEVEL = 0.01
"""Rows come back if the coefficients that they ask for are no farther off than by this chance."""


def judge(
    node: Node, sound: BoolArray, trimmed: TrimAnswer, settings: SequentialTrim
) -> kernels.Judged:
    """Judge the cells of the node; `sound` are the rows that it was learnt from, (rows,)."""
    limit = min(trimmed.cutoff, bonferroni_point(len(node.columns)))
    limits = (limit, settings.cleaned_cutoff, settings.largest_vagueness, settings.cap)
    above = cells_above(node.above)
    task = kernels.JudgeTask(node.number, node.parents, sound, trimmed, above, limits)
    judged: kernels.Judged = kernels.judge_rows(node.columns, task)
    return judged


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
