"""One node of the walk: its equation, and the cells of its column."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.estimate.robust.cells import FLAGGED, SuspiciousCells
from gaussnet.estimate.robust.checks import trim_limits
from gaussnet.estimate.robust.frames import Frame, Node
from gaussnet.estimate.robust.judging import Verdict, judge, readmit
from gaussnet.estimate.robust.normal import truncated_variance
from gaussnet.estimate.robust.regression import Regression
from gaussnet.estimate.robust.sequential_trim import RobustScale, SequentialTrim
from gaussnet.estimate.robust.trimming import trim
from gaussnet.estimate.robust.variances import kl_optimal_ratios
from gaussnet.kernels import TrimAnswer


class NodeAnswer(NamedTuple):
    """What is learnt of one node."""

    coefficients: FloatArray
    intercept: float
    variance: float
    noise: float
    """Variance of the noise as the trimming has it, whatever variance was asked for."""
    cutoff: float
    rank: int
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
        """Trim the sound rows; `suspected` says that they are known to fail the checks."""
        count = int(np.count_nonzero(sound))
        size = len(node.parents) + node.intercept
        limits = np.array(trim_limits(count, size, settings, suspected))
        task = kernels.TrimTask(node.number, node.parents, sound, node.intercept)
        found = kernels.trim_family(node.columns, task, limits)
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
    found = trim(regression, settings, suspected)
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


def learn_node(
    node: Node, settings: SequentialTrim, scale: RobustScale, suspected: bool
) -> NodeAnswer:
    """The equation of a node and the statuses of its cells, from what is known of its parents.

    `suspected` says that least squares over all rows failed the checks.
    """
    sound = node.sound_rows()
    doubted = np.flatnonzero(~sound)
    lesson = Lesson.of(node, sound, settings, suspected and len(doubted) == 0)
    frame, trimmed = lesson.frame, lesson.trimmed
    left_out = ~sound
    left_out[trimmed.rejected] = True
    result, verdict = Result(trimmed.coefficients, trimmed.squares, trimmed.used), None
    if len(doubted):
        verdict = judge(node, frame, trimmed, doubted, settings)
        result = _with_events(lesson, result, verdict, settings, left_out)
    coefficients, intercept = frame.equation(result.coefficients)
    return NodeAnswer(
        coefficients,
        intercept,
        _variance(lesson, result, scale),
        trimmed.scale**2,
        trimmed.cutoff,
        len(trimmed.whitener) - node.intercept,
        np.flatnonzero(left_out),
        _suspicious_cells(lesson, verdict),
        {} if verdict is None else _testimonies(node, verdict),
    )


def _with_events(
    lesson: Lesson,
    result: Result,
    verdict: Verdict,
    settings: SequentialTrim,
    left_out: BoolArray,
) -> Result:
    """The answer with doubted rows taken back if they speak for real events.

    Those are unmarked in `left_out`, (rows,).
    """
    events = verdict.events(settings.evidence)
    if len(events) == 0:
        return result
    columns = lesson.frame.columns(lesson.node.recorded(verdict.rows[events]))
    joined = readmit(lesson.trimmed, columns, verdict.child[events])
    if joined is None:
        return result
    left_out[verdict.rows[events]] = False
    return Result(joined.coefficients, result.squares + joined.added, result.used + len(events))


def _variance(lesson: Lesson, result: Result, scale: RobustScale) -> float:
    r"""The variance of the noise: of the rows kept, or of all rows with sound parents.

    Truncation at the cutoff t is corrected for:

    .. math:: \hat s^2 = \frac{1}{\kappa(t)\, |F|} \sum_{k \in F} r_k^2
    """
    if scale == "mean-square":
        residuals = lesson.regression.trial(result.coefficients).residuals
        return float(residuals @ residuals) / len(residuals)
    variance = result.squares / truncated_variance(lesson.trimmed.cutoff) / result.used
    if variance <= lesson.trimmed.smallest_scale**2:
        return 0.0
    if scale == "core":
        return variance
    parents = np.array([len(lesson.frame.centres)])
    return float(variance * kl_optimal_ratios(result.used, parents, lesson.frame.intercept)[0])


def _suspicious_cells(lesson: Lesson, verdict: Verdict | None) -> SuspiciousCells | None:
    """Cells of rejected rows, and those that the verdict does not clear."""
    trimmed, rows, residuals = lesson.trimmed, lesson.trimmed.rejected, lesson.trimmed.residuals
    found = SuspiciousCells(
        rows,
        np.full(len(rows), FLAGGED, dtype=np.uint8),
        lesson.node.columns[rows, lesson.node.number] - residuals,
        np.full(len(rows), trimmed.scale**2),
        residuals / trimmed.scale,
    )
    if verdict is not None:
        found = found.joined(verdict.suspicious(lesson.frame.reference))
    return found if len(found.rows) else None


def _testimonies(node: Node, verdict: Verdict) -> dict[int, FloatArray]:
    """What the verdict says of the cells of each parent that has suspicious ones."""
    offsets = verdict.above.offsets.tolist()
    spans = zip(node.parents.tolist(), pairwise(offsets), strict=True)
    return {
        parent: verdict.judged.testimony[start:stop]
        for parent, (start, stop) in spans
        if stop > start
    }
