"""One node of the walk: its equation, and the cells of its column."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.robust.cells import FLAGGED, SuspiciousCells, Testimony
from gaussnet.estimate.robust.checks import trim_limits
from gaussnet.estimate.robust.frames import Frame, Node
from gaussnet.estimate.robust.judging import Verdict, judge, readmit
from gaussnet.estimate.robust.regression import Regression
from gaussnet.estimate.robust.sequential_trim import RobustScale, SequentialTrim
from gaussnet.estimate.robust.trimming import Trimmed, trim
from gaussnet.estimate.robust.variances import core_variance, kl_optimal_ratios


class NodeAnswer(NamedTuple):
    """What is learnt of one node."""

    coefficients: FloatArray
    intercept: float
    variance: float
    cutoff: float
    rank: int
    left_out: IntArray
    cells: SuspiciousCells | None
    testimonies: dict[int, Testimony]
    """What the node says of its parents' suspicious cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The equation of a node as the rows with sound parents teach it."""

    node: Node
    frame: Frame
    rows: IntArray
    """The rows with sound parents."""
    trimmed: Trimmed

    @classmethod
    def of(
        cls, node: Node, rows: IntArray, settings: SequentialTrim, suspected: bool
    ) -> "Lesson":
        """Trim the rows; `suspected` says that they are known to fail the checks."""
        size = len(node.parents) + node.intercept
        limits = np.array(trim_limits(len(rows), size, settings, suspected))
        task = kernels.TrimTask(node.number, node.parents, rows, node.intercept)
        found = kernels.trim_family(node.columns, task, limits)
        if found is None:
            frame = node.frame(rows)
            return cls(node, frame, rows, trim(node.regression(rows, frame), settings, suspected))
        frame = Frame(found.centres, found.reference, node.intercept)
        return cls(node, frame, rows, Trimmed.found(found))

    @property
    def regression(self) -> Regression:
        """The rows and columns that were trimmed."""
        return self.node.regression(self.rows, self.frame)

    @property
    def rejected(self) -> IntArray:
        """Places among the rows of those that are left out."""
        kept = self.trimmed.kept
        return np.empty(0, dtype=np.int64) if kept is None else np.flatnonzero(~kept)

    @property
    def fitted(self) -> IntArray:
        """The rows that the coefficients rest on."""
        return self.rows if self.trimmed.kept is None else self.rows[self.trimmed.kept]

    def result(self) -> "Result":
        """The answer of these rows alone."""
        residuals = self.trimmed.trial.residuals
        kept = residuals if self.trimmed.kept is None else residuals[self.trimmed.kept]
        return Result(self.trimmed.trial.coefficients, kept, self.fitted)


class Result(NamedTuple):
    """Coefficients, the residuals of the rows they rest on, and those rows."""

    coefficients: FloatArray
    residuals: FloatArray
    rows: IntArray


def learn_node(
    node: Node, settings: SequentialTrim, scale: RobustScale, suspected: bool
) -> NodeAnswer:
    """The equation of a node and the statuses of its cells, from what is known of its parents.

    `suspected` says that least squares over all rows failed the checks.
    """
    sound = node.sound_rows()
    every = bool(sound.all())
    lesson = Lesson.of(node, np.flatnonzero(sound), settings, suspected and every)
    frame, result, verdict = lesson.frame, lesson.result(), None
    if not every:
        doubted = node.doubted(np.flatnonzero(~sound), frame)
        verdict = judge(lesson.trimmed, doubted, settings, len(sound))
        joined = _with_events(lesson, result, verdict, settings)
        if joined is not None:
            result = joined
    coefficients, intercept = frame.equation(result.coefficients)
    left_out = np.ones(len(sound), dtype=bool)
    left_out[result.rows] = False
    return NodeAnswer(
        coefficients,
        intercept,
        _variance(lesson, result, scale),
        lesson.trimmed.cutoff,
        lesson.trimmed.factor.rank - node.intercept,
        np.flatnonzero(left_out),
        _suspicious_cells(lesson, verdict),
        _testimonies(node, verdict),
    )


def _with_events(
    lesson: Lesson, result: Result, verdict: Verdict, settings: SequentialTrim
) -> Result | None:
    """The answer with doubted rows taken back, if they speak for real events."""
    if not verdict.evidence.sum() < -settings.evidence or not verdict.fits.any():
        return None
    events = verdict.doubted.only(verdict.fits)
    joined = readmit(lesson.regression, lesson.trimmed, events)
    if joined is None:
        return None
    rows = np.concatenate((result.rows, events.rows))
    return Result(joined.coefficients, joined.residuals, rows)


def _variance(lesson: Lesson, result: Result, scale: RobustScale) -> float:
    """The variance of the noise: of the rows kept, or of all rows with sound parents."""
    if scale == "mean-square":
        residuals = lesson.regression.trial(result.coefficients).residuals
        return float(residuals @ residuals) / len(residuals)
    variance = core_variance(result.residuals, lesson.trimmed.cutoff)
    if variance <= lesson.regression.smallest_scale**2:
        return 0.0
    if scale == "core":
        return variance
    parents = np.array([len(lesson.frame.centres)])
    ratios = kl_optimal_ratios(len(result.rows), parents, lesson.frame.intercept)
    return float(variance * ratios[0])


def _suspicious_cells(lesson: Lesson, verdict: Verdict | None) -> SuspiciousCells | None:
    """Cells of rejected rows, and those that the verdict does not clear."""
    rejected, trimmed = lesson.rejected, lesson.trimmed
    rows = lesson.rows[rejected]
    found = SuspiciousCells(
        rows,
        np.full(len(rejected), FLAGGED, dtype=np.uint8),
        lesson.node.columns[rows, lesson.node.number] - trimmed.trial.residuals[rejected],
        np.full(len(rejected), trimmed.scale**2),
        trimmed.trial.residuals[rejected] / trimmed.scale,
    )
    if verdict is not None:
        found = found.joined(verdict.suspicious(lesson.frame.reference))
    return found if len(found.rows) else None


def _testimonies(node: Node, verdict: Verdict | None) -> dict[int, Testimony]:
    """What the verdict says of each parent that has suspicious cells."""
    if verdict is None:
        return {}
    pairs = enumerate(zip(node.parents.tolist(), node.above, strict=True), start=node.intercept)
    return {
        parent: verdict.testimony(column) for column, (parent, cells) in pairs if cells is not None
    }
