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


class TrimTask(NamedTuple):
    """A node to be trimmed."""

    child: int
    parents: IntArray
    sound: BoolArray
    """Which rows are to be judged, (rows,)."""
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
    """Rows with suspicious parents, and the equation that judges them."""

    child: int
    parents: IntArray
    rows: IntArray
    """Ascending."""
    above: Cells
    """Suspicious cells of the parents."""
    coefficients: FloatArray
    """Of the constant, if there is one, and of the parents, (p,)."""
    centres: FloatArray
    """What the parents are centred at, (parents,)."""
    whitener: FloatArray
    """W with ``(Z Z')^-1 = W' W`` for the columns Z of the rows learnt from, (rank, p)."""
    reference: float
    """What the child is centred at."""
    scale: float
    limits: tuple[float, float, float, float]
    """Cutoff of the node, largest deviation from cleaned parents, largest vagueness, and cap."""


class Judged(NamedTuple):
    """What the equation says of the rows, (rows,) each."""

    expected: FloatArray
    """Child by the cleaned parents, about its reference."""
    variances: FloatArray
    """Variance of the child about it."""
    evidence: FloatArray
    """Twice the log likelihood ratio of a wrong record to a real event, with squares capped;
    none for an event that the record does not fit either, 0 where a value is missing."""
    recorded: FloatArray
    """Squared deviation from the parents as recorded."""
    statuses: NDArray[np.uint8]
    testimony: FloatArray
    """What the rows say of each suspicious cell of the parents, (cells,)."""


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
    coefficients, scale = task.coefficients, task.scale
    constant = np.ones((len(coefficients) - len(task.parents), len(task.rows)))
    recorded_parents = columns[np.ix_(task.rows, task.parents)].T - task.centres[:, None]
    cleaned_parents, variances = recorded_parents.copy(), np.zeros_like(recorded_parents)
    owners = np.repeat(np.arange(len(task.parents)), np.diff(task.above.offsets))
    places = np.searchsorted(task.rows, task.above.rows)
    inside = np.isin(task.above.rows, task.rows)
    at = (owners[inside], places[inside])
    cleaned_parents[at] = task.above.expected[inside] - task.centres[owners[inside]]
    variances[at] = task.above.variances[inside]
    child = columns[task.rows, task.child] - task.reference
    leverages = _squared_lengths(task.whitener @ np.vstack((constant, recorded_parents)))
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
    return Judged(expected, spread, evidence, recorded, statuses.astype(np.uint8), testimony)


def _squared_lengths(columns: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", columns, columns))
