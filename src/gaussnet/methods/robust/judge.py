"""Cells judged by fixed parameters: a matter of one row, so any rows can be judged, of any number.

A `Judge` is what a robust fit has learnt of right and wrong values. It says of every cell of a row
how likely it is wrong, and what should stand there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_robust import FLAGGED, MISSING, UNVERIFIED
from gaussnet.methods.robust.mixture import LEAST_CHANCE, Equation, Mixture, Sums
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.robust.starts import mixture_from
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

HUGE = 1e5
"""Cells farther off than so many standard deviations are wrong without further question."""

SLIGHTLY_DOUBTED = 0.1
"""Cells that are wrong with a smaller chance are not listed."""

USUAL = 4.0
"""Values within so many standard deviations of their column are usual by themselves."""

CELLS_AT_A_TIME = 1 << 16
"""Cells whose rows are looked at together."""


class JudgedRows(NamedTuple):
    """What is thought of every cell of some rows, (rows, nodes) each, and what they add up to."""

    missing: BoolArray
    flagged: BoolArray
    """Cells that are more likely wrong than not."""
    chances: FloatArray
    """That cells are wrong."""
    filled: FloatArray
    """The rows as expected: cells in doubt count in part."""
    sums: Sums
    lost: FloatArray | None
    """Information that doubts take from each family, one square matrix after the other."""


@dataclass(frozen=True, eq=False)
class Judge:
    """The mixture with fixed parameters, and the limits beyond which values are wrong anyway.

    Examples
    --------
    >>> import gaussnet as gn
    >>> network = gn.GaussianNetwork(gn.Dag.parse("wet ~ rain"), {("rain", "wet"): 2.0},
    ...                              {"rain": 1.0, "wet": 0.1})
    >>> judge = Judge.of_network(network)
    >>> judge.judged(np.array([[2.1, 1.0], [9.0, 1.0]])).flagged.tolist()
    [[False, False], [True, False]]
    """

    mixture: Mixture
    """Without rows."""
    low: FloatArray
    high: FloatArray
    """Right values lie between these, (nodes,) each."""
    tied: tuple[int, ...] = ()
    """Nodes so many values of which are equal that wrong ones cannot be told."""

    @classmethod
    def of(cls, mixture: Mixture, limits: tuple[FloatArray, FloatArray] | None = None) -> "Judge":
        """The parameters of a mixture; limits are by default `HUGE` standard deviations off."""
        reach = HUGE * np.sqrt(mixture.marginal)
        low, high = mixture.equation.means - reach, mixture.equation.means + reach
        if limits is not None:
            low, high = np.maximum(low, limits[0]), np.minimum(high, limits[1])
        return cls(mixture.without_rows(), low, high)

    @classmethod
    def of_network(cls, network: GaussianNetwork, chance: float = 1e-3) -> "Judge":
        """A judge who knows the network, and of wrong values only that any may come."""
        layout = SparsePrecision(network.dag.families)
        equation = Equation(network.coefficient_array, network.mean(), network.variance_array)
        return cls.of(clean_mixture(layout, True, equation, chance))

    @property
    def families(self) -> Families:
        """The families of the network, that of node i at i."""
        return self.mixture.layout.families

    @property
    def usual_range(self) -> tuple[FloatArray, FloatArray]:
        """Between which values are usual for their columns, (nodes,) each."""
        means, reach = self.mixture.equation.means, USUAL * np.sqrt(self.mixture.marginal)
        return means - reach, means + reach

    def judged(self, rows: Rows, *, with_lost: bool = False) -> JudgedRows:
        """All cells of some rows; NaN marks a missing one."""
        missing = np.isnan(rows)
        values = self.inside(rows)
        outside = np.isnan(values) & ~missing
        mixture, shape = self.mixture, values.shape
        wrong, filled, chances = np.zeros(shape, np.uint8), np.empty(shape), np.zeros(shape)
        sizes = self.families.sizes + 2
        lost = np.zeros(int(np.sum(sizes**2))) if with_lost else None
        foreign = None if mixture.foreign is None else mixture.on(values, outside).foreign
        densities = None if foreign is None else foreign.densities
        task = mixture.task()
        found = kernels.mixture_moments(values, task, wrong, densities, filled, chances, lost)
        chances[outside] = 1.0
        flagged = (chances > 0.5) & ~missing
        if foreign is not None:
            is_foreign = found.foreign > 0.5
            chance, means = found.foreign[is_foreign, None], mixture.equation.means
            chances[is_foreign] = chance
            own = np.where(np.isnan(values[is_foreign]), means, values[is_foreign])
            filled[is_foreign] = own + chance * (means - own)
            flagged |= is_foreign[:, None] & ~missing
        return JudgedRows(missing, flagged, chances, filled, mixture.summed(values, found), lost)

    def inside(self, rows: Rows) -> FloatArray:
        """The rows with NaN for every value beyond the limits, (rows, nodes)."""
        values = np.asarray(rows, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            outside = (values < self.low) | (values > self.high)
        return np.where(outside, np.nan, values) if outside.any() else values

    def believed(self, rows: Rows) -> FloatArray:
        """The rows with NaN for every cell that is flagged, (rows, nodes)."""
        return np.where(self.judged(rows).flagged, np.nan, rows)


class Believing(Protocol):
    """Who says which cells of rows are believed."""

    def believed(self, rows: Rows) -> FloatArray:
        """The rows with NaN for what is not believed."""
        ...


@dataclass(frozen=True, eq=False)
class Lenient:
    """A judge who believes flagged values within limits, (nodes,) each."""

    judge: Judge
    nodes: tuple[int, ...]
    """Where it believes them."""
    low: FloatArray
    high: FloatArray

    @classmethod
    def at(cls, judge: Judge, nodes: Sequence[int]) -> Self:
        """Believe values of these nodes that are usual by themselves."""
        low, high = (np.full(len(judge.low), end) for end in (np.inf, -np.inf))
        chosen = list(nodes)
        low[chosen], high[chosen] = (ends[chosen] for ends in judge.usual_range)
        return cls(judge, tuple(nodes), low, high)

    def usual(self, rows: Rows) -> BoolArray:
        """Which values lie within the limits, (rows, nodes)."""
        return np.asarray((rows >= self.low) & (rows <= self.high))

    def believed(self, rows: Rows) -> FloatArray:
        """The rows with NaN for what is flagged and beyond the limits."""
        return np.where(self.usual(rows), rows, self.judge.believed(rows))


@dataclass(frozen=True)
class BelievedPass(Pass):
    """A question about rows without the cells that a judge flags: these count as missing."""

    question: Pass
    judge: Believing

    @property
    def purpose(self) -> str:  # type: ignore[override]
        """What the question is for."""
        return self.question.purpose

    def summarize(self, stripe: Stripe) -> Any:
        """What the believed cells of a stripe say."""
        rows = self.judge.believed(stripe.rows)
        return self.question.summarize(Stripe(rows, 0, len(rows), False))

    def merge(self, left: Any, right: Any) -> Any:
        """The summary of both."""
        return self.question.merge(left, right)

    def then(self, summary: Any) -> Any:
        """The answer, or the next question about believed cells."""
        step = self.question.then(summary)
        return BelievedPass(step, self.judge) if isinstance(step, Pass) else step


def clean_mixture(
    layout: SparsePrecision,
    intercept: bool,
    equation: Equation,
    chance: float = LEAST_CHANCE,
    judged: BoolArray | None = None,
) -> Mixture:
    """A mixture that knows the network, and of wrong values only that any may come."""
    width = len(equation.means)
    nothing, every = np.zeros((1, width), dtype=bool), np.ones(width, dtype=bool)
    chosen = every if judged is None else judged
    start = mixture_from(equation.means[None, :], layout, intercept, equation, nothing, chosen)
    return start.with_chance(chance).without_rows()


class ListedCells(NamedTuple):
    """Cells that are worth listing, (cells,) each, by row."""

    rows: IntArray
    nodes: IntArray
    statuses: IntArray
    recorded: FloatArray
    expected: FloatArray
    deviations: FloatArray
    """Recorded minus expected value in standard deviations; NaN where missing."""
    chances: FloatArray

    @property
    def flagged(self) -> "ListedCells":
        """Those that are more likely wrong than not."""
        return self.chosen(np.flatnonzero(self.statuses == FLAGGED))

    def chosen(self, indices: IntArray) -> "ListedCells":
        """Some of the cells."""
        return ListedCells.of(values[indices] for values in self)

    @classmethod
    def of(cls, arrays: Iterable[NDArray[Any]]) -> "ListedCells":
        """The cells of some arrays, in this order."""
        return cls(*arrays)


def precisions(mixture: Mixture, bad: BoolArray, rows: IntArray, nodes: IntArray) -> FloatArray:
    """Of the true values of cells given the others of their rows that are not bad, (cells,)."""
    layout = mixture.layout
    found = mixture.precision[layout.diagonal[nodes]]
    beside = np.flatnonzero(layout.have_neighbours(bad, rows, nodes))
    for first in range(0, len(beside), CELLS_AT_A_TIME):
        some = beside[first : first + CELLS_AT_A_TIME]
        left_out, own = bad[rows[some]], nodes[some]
        left_out[np.arange(len(own)), own] = True
        found[some] = layout.given_others(mixture.precision, left_out, own)
    return found


def listed_cells(
    judge: Judge, rows: Rows, found: JudgedRows, first_row: int = 0, *, doubted: bool = True
) -> ListedCells:
    """The flagged cells of judged rows, and those in some doubt; rows are counted from here on."""
    listed = found.flagged
    if doubted:
        listed = listed | ((found.chances > SLIGHTLY_DOUBTED) & ~found.missing)
    row, node = np.nonzero(listed)
    recorded = np.asarray(rows, dtype=np.float64)[row, node]
    chances, filled = found.chances[row, node], found.filled[row, node]
    # A cell in doubt is filled in part: what is expected in its place is this part's end.
    is_recorded = np.isfinite(recorded)
    part = np.where(is_recorded, np.maximum(chances, SLIGHTLY_DOUBTED), 1.0)
    inside = (recorded >= judge.low[node]) & (recorded <= judge.high[node])
    expected = np.where(inside, recorded - (recorded - filled) / part, filled)
    statuses = np.where(found.flagged[row, node], FLAGGED, UNVERIFIED)
    bad = found.flagged | found.missing
    deviations = (recorded - expected) * np.sqrt(precisions(judge.mixture, bad, row, node))
    numbers = row + first_row
    return ListedCells(numbers, node, statuses, recorded, expected, deviations, chances)


def status_counts(found: JudgedRows) -> IntArray:
    """Cells of each status, (statuses, nodes), by the code of the status."""
    counts = np.zeros((1 + max(FLAGGED, MISSING, UNVERIFIED), found.missing.shape[1]), np.int64)
    counts[FLAGGED] = found.flagged.sum(axis=0)
    counts[MISSING] = found.missing.sum(axis=0)
    doubted = (found.chances > SLIGHTLY_DOUBTED) & ~found.flagged & ~found.missing
    counts[UNVERIFIED] = doubted.sum(axis=0)
    return counts
