"""Rows with suspicious parents: are their own cells right, and was the event real?"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels import Judged, TrimAnswer
from gaussnet.kernels.numpy_robust import FLAGGED
from gaussnet.methods.robust.cells import SuspiciousCells, cells_above
from gaussnet.methods.robust.normal import bonferroni_point, chi_square_points, truncated_variance
from gaussnet.methods.robust.regression import Frame, Node, Regression
from gaussnet.methods.robust.screening import trim_limits
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.robust.trimming import trim, untrimmed
from gaussnet.types import BoolArray, FloatArray, IntArray

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


NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


class NodeAnswer(NamedTuple):
    """What is learnt of one node."""

    coefficients: FloatArray
    intercept: float
    variance: float
    noise: float
    """Variance of the noise as the trimming has it, whatever variance was asked for."""
    cutoff: float
    rank: int
    returned: int
    """Rows with suspicious parents that were taken back."""
    left_out: IntArray
    cells: SuspiciousCells | None
    testimonies: dict[int, FloatArray]
    """What the node says of its parents' suspicious cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The equation of a node as the rows with sound parents teach it."""

    node: Node
    sound: BoolArray
    trimmed: TrimAnswer
    frame: Frame

    @classmethod
    def of(
        cls, node: Node, sound: BoolArray, settings: SequentialTrim, suspected: bool
    ) -> "Lesson":
        """Trim the sound rows; `suspected` says that all rows are known to fail the checks."""
        count = int(np.count_nonzero(sound))
        suspected = suspected and count == len(sound)
        size = len(node.parents) + node.intercept
        limits = np.array(trim_limits(count, size, settings, suspected))
        task = kernels.TrimTask(node.number, node.parents, sound, count, node.intercept)
        found = None if node.discrete else kernels.trim_family(node.columns, task, limits)
        if found is None:
            found = _trim_by_definition(node, np.flatnonzero(sound), settings, suspected)
        return cls(node, sound, found, Frame(found.centres, found.reference, node.intercept))

    @property
    def regression(self) -> Regression:
        """The rows and columns that were trimmed."""
        return self.node.regression(np.flatnonzero(self.sound), self.frame)


def _trim_by_definition(
    node: Node, rows: IntArray, settings: SequentialTrim, suspected: bool
) -> TrimAnswer:
    """What the compiled kernel leaves to NumPy."""
    frame = node.frame(rows)
    regression = node.regression(rows, frame)
    found = untrimmed(regression) if node.discrete else trim(regression, settings, suspected)
    residuals = found.trial.residuals
    kept = np.ones(len(rows), dtype=bool) if found.kept is None else found.kept
    return TrimAnswer(
        found.scale,
        found.cutoff,
        frame.reference,
        regression.smallest_scale,
        float(residuals[kept] @ residuals[kept]),
        int(np.count_nonzero(kept)),
        found.trial.coefficients,
        frame.centres,
        found.factor.whitener,
        residuals[~kept],
        rows[~kept],
    )


class Result(NamedTuple):
    """Coefficients, the sum of squared residuals of the rows they rest on, and their number."""

    coefficients: FloatArray
    squares: float
    used: int
    events: IntArray = NO_ROWS
    """Rows that were taken back."""


def learn_node(
    node: Node, settings: SequentialTrim, mean_square: bool, suspected: bool
) -> NodeAnswer:
    """The equation of a node and the statuses of its cells, from what is known of its parents.

    `mean_square` says that the variance is that of all rows with sound parents, `suspected` that
    least squares over all rows failed the checks.
    """
    sound = node.sound_rows()
    lesson = Lesson.of(node, sound, settings, suspected)
    frame, trimmed = lesson.frame, lesson.trimmed
    result, judged = Result(trimmed.coefficients, trimmed.squares, trimmed.used), None
    if trimmed.used < len(sound):
        judged = judge(node, sound, trimmed, settings)
        result = _with_events(lesson, result, judged, settings)
    coefficients, intercept = frame.equation(result.coefficients)
    return NodeAnswer(
        coefficients,
        intercept,
        _variance(lesson, result, mean_square),
        trimmed.scale**2,
        trimmed.cutoff,
        len(trimmed.whitener) - node.intercept,
        len(result.events),
        _left_out(result, judged),
        _suspicious_cells(node, judged),
        {} if judged is None else _testimonies(node, judged.testimony),
    )


def _with_events(
    lesson: Lesson, result: Result, judged: Judged, settings: SequentialTrim
) -> Result:
    """The answer with doubted rows taken back if they speak for real events."""
    if not judged.evidence < -settings.evidence or len(judged.events) == 0:
        return result
    columns = lesson.frame.columns(lesson.node.recorded(judged.events))
    child = lesson.node.columns[judged.events, lesson.node.number] - lesson.frame.reference
    joined = readmit(lesson.trimmed, columns, child)
    if joined is None:
        return result
    used = result.used + len(judged.events)
    return Result(joined.coefficients, result.squares + joined.added, used, judged.events)


def _left_out(result: Result, judged: Judged | None) -> IntArray:
    """The rows that the coefficients do not rest on."""
    if judged is None:
        return NO_ROWS
    if len(result.events) == 0:
        return judged.left_out
    return np.setdiff1d(judged.left_out, result.events, assume_unique=True)


def _variance(lesson: Lesson, result: Result, mean_square: bool) -> float:
    r"""The variance of the noise: of the rows kept, or of all rows with sound parents.

    Truncation at the cutoff t is corrected for:

    .. math:: \hat s^2 = \frac{1}{\kappa(t)\, |F|} \sum_{k \in F} r_k^2
    """
    if mean_square:
        residuals = lesson.regression.trial(result.coefficients).residuals
        return float(residuals @ residuals) / len(residuals)
    variance = result.squares / truncated_variance(lesson.trimmed.cutoff) / result.used
    return 0.0 if variance <= lesson.trimmed.smallest_scale**2 else variance


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


def _testimonies(node: Node, testimony: FloatArray) -> dict[int, FloatArray]:
    """What the node says of the cells of each parent that has suspicious ones."""
    found, start = {}, 0
    for parent, cells in zip(node.parents.tolist(), node.above, strict=True):
        if cells is not None:
            found[parent] = testimony[start : start + len(cells.rows)]
            start += len(cells.rows)
    return found
