"""The kernels of the robust estimator: what they take and give.

Without compiled kernels its steps are done where they are defined, in
`gaussnet.estimate.robust`: screening.py for all families at once, trimming.py for one node.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.kernels.families import Families

FINE, UNVERIFIED, FLAGGED, MISSING = range(4)
"""Status of a cell; every one but the first is suspicious."""

CONFIRMED = 4
"""Status of a flagged cell that the children of the node confirm."""

REACH = 1.0
"""Up to this leverage an equation tells sharply what the child of recorded parents should be."""

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN in, NaN out: a kernel does not warn of it."""


class Screen(NamedTuple):
    """Least squares of all families over all rows, and the limits of its checks."""

    part: tuple[int, int]
    """First and last + 1 of the families to look at."""
    intercept: bool
    spread: float
    """Largest ratio of the least-squares scale to the median scale."""
    gate_level: float
    coefficients: FloatArray
    """(edges,)"""
    intercepts: FloatArray
    """(families,)"""
    squares: FloatArray
    """Residual sums of squares, (families,)."""
    half: FloatArray
    """Largest half-sample statistics, (families,)."""
    means: FloatArray
    """Of parents and child, family after family, (edges + families,); 0 without an intercept."""


class TrimTask(NamedTuple):
    """A node to be trimmed."""

    child: int
    parents: IntArray
    sound: BoolArray
    """Which rows are to be judged, (rows,)."""
    judged: int
    """How many these are."""
    intercept: bool


class TrimAnswer(NamedTuple):
    """Least squares over the kept rows."""

    scale: float
    """Standard deviation of the noise, corrected for freedom and truncation."""
    cutoff: float
    """Infinite if all rows are kept."""
    reference: float
    """What the child was centred at."""
    smallest_scale: float
    """Below this a scale is rounding error."""
    squares: float
    """Sum of squared residuals of the rows kept."""
    used: int
    """How many these are."""
    coefficients: FloatArray
    """Of the constant, if there is an intercept, and of the parents, (p,)."""
    centres: FloatArray
    """What the parents were centred at."""
    whitener: FloatArray
    """W with ``(Z Z')^-1 = W' W`` for the columns Z of the kept rows, (rank, p)."""
    residuals: FloatArray
    """Of the rows rejected."""
    rejected: IntArray
    """The numbers of these, ascending."""


class Cells(NamedTuple):
    """The suspicious cells of some columns: offsets[s] .. offsets[s + 1] are those of column s."""

    offsets: IntArray
    """(columns + 1,)"""
    rows: IntArray
    """Ascending within a column, (cells,)."""
    expected: FloatArray
    variances: FloatArray


class JudgeTask(NamedTuple):
    """A column whose equation was learnt from sound rows, and what it is judged by."""

    child: int
    parents: IntArray
    sound: BoolArray
    """Which rows the equation was learnt from, or rejected in learning, (rows,)."""
    trimmed: TrimAnswer
    above: Cells
    """Suspicious cells of the parents."""
    limits: tuple[float, float, float, float]
    """Cutoff of the node, largest deviation from cleaned parents, largest vagueness, and cap."""


class Judged(NamedTuple):
    """The suspicious cells of the column by row, (cells,) each, and what all rows say."""

    rows: IntArray
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """The child by the cleaned parents."""
    variances: FloatArray
    """Variance of the child about it."""
    deviations: FloatArray
    """Recorded minus expected value in standard deviations."""
    left_out: IntArray
    """Rows rejected and rows with suspicious parents, ascending."""
    events: IntArray
    """Those of the latter that agree with the parents as recorded."""
    evidence: float
    """Twice the log likelihood ratio of wrong records to real events, with squares capped, over
    the rows with suspicious parents."""
    testimony: FloatArray
    """What the rows say of each suspicious cell of the parents, (their cells,)."""


def whole_columns(x: Rows) -> FloatArray:
    """The same values (rows, columns) as float64, each column without gaps."""
    return np.asfortranarray(x, dtype=np.float64)


def screen_families(columns: FloatArray, families: Families, screen: Screen) -> FloatArray:
    """Whether least squares needs no trimming, family by family: NaN, it is left to the caller."""
    return np.full(screen.part[1] - screen.part[0], np.nan)


def trim_family(columns: FloatArray, task: TrimTask, limits: FloatArray) -> TrimAnswer | None:
    """Trimmed least squares of one child on its parents; None: left to the caller."""
    return None


@quiet
def judge_rows(columns: FloatArray, task: JudgeTask) -> Judged:
    """The suspicious cells of a column: rejected ones, and those with suspicious parents."""
    trimmed, doubted = task.trimmed, np.flatnonzero(~task.sound)
    child = columns[:, task.child]
    found = _opinions(columns, task, doubted)
    own = np.flatnonzero(found.statuses)
    rows = np.concatenate((trimmed.rejected, doubted[own]))
    order = np.argsort(rows)
    flagged = np.full(len(trimmed.rejected), FLAGGED, dtype=np.uint8)
    statuses = np.concatenate((flagged, found.statuses[own]))[order]
    rejected = child[trimmed.rejected] - trimmed.residuals
    expected = np.concatenate((rejected, found.expected[own] + trimmed.reference))[order]
    known = np.full(len(flagged), trimmed.scale**2)
    variances = np.concatenate((known, found.variances[own]))[order]
    rest = np.concatenate((trimmed.residuals, found.rest[own]))[order]
    left_out = np.sort(np.concatenate((trimmed.rejected, doubted)))
    events = doubted[found.recorded <= task.limits[0] ** 2]
    cells = (rows[order], statuses, expected, variances, rest / np.sqrt(variances))
    return Judged(*cells, left_out, events, float(found.evidence.sum()), found.testimony)


class _Opinions(NamedTuple):
    """What the equation says of rows with suspicious parents, (rows,) each."""

    expected: FloatArray
    """Child by the cleaned parents, about its reference."""
    rest: FloatArray
    """Child as recorded less that."""
    variances: FloatArray
    evidence: FloatArray
    """Twice the log likelihood ratio of a wrong record to a real event, with squares capped;
    none for an event that the record does not fit either, 0 where a value is missing."""
    recorded: FloatArray
    """Squared deviation from the parents as recorded."""
    statuses: NDArray[np.uint8]
    testimony: FloatArray


def _opinions(columns: FloatArray, task: JudgeTask, rows: IntArray) -> _Opinions:
    r"""Compare rows with the parents as recorded and with the cleaned parents.

    If the event at a parent was real, its deviation went on into the child, which then agrees
    with the parents as recorded; if only the record is wrong, with the cleaned ones. The
    evidence of a row is, with capped squares,

    .. math:: L = z_{rec}^2 + \log(1 + h) - z_{cl}^2 - \log(1 + v / s^2)

    A cell far from what the cleaned parents lead to expect is flagged, unless it agrees with
    the recorded ones better and these lie within reach of the rows learnt from. If several
    parents are suspicious in a row, its evidence counts as testimony only if it speaks for a
    real event: what fits the record confirms all of it, what does not may be the fault of any.
    """
    limit, cleaned_cutoff, largest_vagueness, cap = task.limits
    trimmed, scale = task.trimmed, task.trimmed.scale
    coefficients, centres = trimmed.coefficients, trimmed.centres
    constant = np.ones((len(coefficients) - len(task.parents), len(rows)))
    recorded_parents = columns[np.ix_(rows, task.parents)].T - centres[:, None]
    cleaned_parents, variances = recorded_parents.copy(), np.zeros_like(recorded_parents)
    owners = np.repeat(np.arange(len(task.parents)), np.diff(task.above.offsets))
    places = np.searchsorted(rows, task.above.rows)
    inside = ~task.sound[task.above.rows]
    at = (owners[inside], places[inside])
    cleaned_parents[at] = task.above.expected[inside] - centres[owners[inside]]
    variances[at] = task.above.variances[inside]
    child = columns[rows, task.child] - trimmed.reference
    leverages = _squared_lengths(trimmed.whitener @ np.vstack((constant, recorded_parents)))
    recorded = (child - coefficients @ np.vstack((constant, recorded_parents))) / scale
    recorded = recorded**2 / (1.0 + leverages)
    expected = coefficients @ np.vstack((constant, cleaned_parents))
    vagueness = (coefficients[len(constant) :] / scale) ** 2 @ variances
    cleaned = ((child - expected) / scale) ** 2 / (1.0 + vagueness)
    evidence = np.minimum(recorded, cap) + np.log1p(leverages)
    evidence -= np.minimum(cleaned, cap) + np.log1p(vagueness)
    evidence = np.where(recorded < cap, evidence, np.fmax(evidence, 0.0))
    statuses = np.where(vagueness > largest_vagueness, UNVERIFIED, FINE)
    statuses[cleaned > min(limit, cleaned_cutoff) ** 2] = FLAGGED
    within = (recorded <= cleaned_cutoff**2) & (leverages <= REACH)
    statuses[within & (evidence < 0.0)] = FINE
    statuses[np.isnan(child)] = MISSING
    heard = (variances > 0.0) & ((np.sum(variances > 0.0, axis=0) == 1) | (evidence < 0.0))
    testimony = np.zeros(len(owners))
    testimony[inside] = np.where(heard[at], evidence[at[1]], 0.0)
    spread = scale**2 * (1.0 + vagueness)
    said = (evidence, recorded, statuses.astype(np.uint8), testimony)
    return _Opinions(expected, child - expected, spread, *said)


def _squared_lengths(columns: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", columns, columns))
