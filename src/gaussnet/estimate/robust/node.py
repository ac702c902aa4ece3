"""One node of the walk: its equation, and the cells of its column."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.estimate.robust.cells import FLAGGED, SuspiciousCells
from gaussnet.estimate.robust.checks import trim_limits
from gaussnet.estimate.robust.frames import Frame, Node
from gaussnet.estimate.robust.judging import judge, readmit
from gaussnet.estimate.robust.normal import truncated_variance
from gaussnet.estimate.robust.regression import Regression
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.robust.trimming import trim, untrimmed
from gaussnet.kernels import Judged, TrimAnswer

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
