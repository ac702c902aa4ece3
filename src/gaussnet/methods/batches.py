"""Least squares on batches of rows, then the mean or the median of the solutions."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe, Together
from gaussnet.data.table import ask
from gaussnet.errors import SettingError
from gaussnet.kernels import Ends
from gaussnet.kernels.families import Block
from gaussnet.kernels.numpy_core import SINGULAR, batch_range
from gaussnet.methods.base import EquationGroup, Equations, Method, Scale, Solution, SummaryPass
from gaussnet.methods.medians.brackets import Brackets, Medians
from gaussnet.methods.medians.passes import (
    Found,
    KeepAllPass,
    KeptValues,
    MedianPass,
    Plan,
    Values,
)
from gaussnet.methods.medians.samples import Ragged
from gaussnet.methods.moments import Moments, MomentsPass, triangle, with_mean_squares
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Slopes

WORKING_COPIES = 4
"""Arrays of the solutions' size that are held while medians and signs are taken."""


@dataclass(frozen=True, slots=True)
class Batches(Method):
    """Batches of p + extra_rows successive rows, one more with an intercept."""

    extra_rows: int = 20
    uses_row_order = True

    def __post_init__(self) -> None:
        if not isinstance(self.extra_rows, int | np.integer) or self.extra_rows < 1:
            raise SettingError(
                f"got extra_rows={self.extra_rows!r}, expected an integer of at least 1: "
                "a batch has that many rows more than the node has parents"
            )

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The rows of one batch; a node without parents needs one row."""
        return parents + self.extra_rows + intercept if parents else 1

    def error_values(self, equations: Equations) -> FloatArray:
        """One value for each coefficient and batch, several times."""
        return WORKING_COPIES * self._values_per_row(equations)

    def _values_per_row(self, equations: Equations) -> FloatArray:
        sizes = equations.families.sizes
        return np.asarray(sizes / (sizes + self.extra_rows))


@dataclass(frozen=True, slots=True)
class BatchAverage(Batches):
    """Mean of the least-squares solutions of batches of p + extra_rows rows.

    The paper's BatchAvgLeastSquares. Singular batches are set aside and counted.
    """

    name = "batch-average"
    summarized_by = "batch-average"
    passes = "all rows are read once"
    error_kinds = ("between-batch",)

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Sums of the solutions."""
        return AveragePass(BatchValues(equations, self.extra_rows))

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """Sums of the solutions, and moments."""
        average = AveragePass(BatchValues(equations, self.extra_rows))
        return WithMomentsPass((average, MomentsPass(equations)))

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Student's t between the batches."""
        from gaussnet.methods.standard_errors import between_batches, no_slopes

        kept, blocks = all_solutions(group, BatchValues(group.equations, self.extra_rows))
        return [
            between_batches(block, kept[block.size], level) if block.size else no_slopes(block)
            for block in blocks
        ]

    def fewest_batches(self, level: float) -> int:
        """Two, which have a difference."""
        return 2


@dataclass(frozen=True, slots=True)
class BatchMedian(Batches):
    """Coordinate-wise median of the least-squares solutions of batches of p + extra_rows rows.

    The paper's BatchMedLeastSquares. An even number of batches gives the mean of the middle
    two. Singular batches are set aside and counted.
    """

    name = "batch-median"
    summarized_by = "batch-median"
    passes = "all rows are read once, and again if a sample did not say where the medians lie"
    error_kinds = ("order-statistic",)

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Medians of the solutions."""
        values = BatchValues(equations, self.extra_rows)
        return solution_medians(values, equations, self._plan(equations))

    def kept_values(self, equations: Equations) -> FloatArray:
        """One value for each coefficient and batch, or those near the medians."""
        return self._values_per_row(equations) * self._plan(equations).share

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """Brackets of the solutions, and moments."""
        return median_summary(BatchValues(equations, self.extra_rows), equations)

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Order statistics of the solutions."""
        from gaussnet.methods.standard_errors import median_slopes, no_slopes

        kept, blocks = all_solutions(group, BatchValues(group.equations, self.extra_rows))
        return [
            median_slopes(block, kept[block.size], None, level) if block.size else no_slopes(block)
            for block in blocks
        ]

    def fewest_batches(self, level: float) -> int:
        """As many as have an interval of the median."""
        from gaussnet.methods.standard_errors.order_statistics import fewest_values

        return fewest_values(level)

    def _plan(self, equations: Equations) -> Plan:
        values = float(self._values_per_row(equations).sum())
        sizes = equations.families.sizes
        height = float(sizes @ sizes) / max(int(sizes.sum()), 1) + self.extra_rows + 1.0
        return Plan.of(equations.limits, values, len(equations.families.parents), height)


@dataclass(frozen=True)
class BatchValues(Values):
    """Solutions of the batches: one row of values for each coefficient."""

    equations: Equations
    extra_rows: int

    @property
    def rows(self) -> int:
        """Number of coefficients."""
        return len(self.equations.families.parents)

    def blocks(self, stripe: Stripe) -> list[FloatArray]:
        """Least squares of the batches that begin in the stripe, size by size.

        A batch whose cross-products lack digits is solved again by QR.
        """
        equations = self.equations
        found: list[FloatArray] = kernels.batch_solutions(
            *stripe[:3], equations.families, self.extra_rows, equations.intercept
        )
        if not _lacks_solutions(found):
            return found
        for block, solutions in zip(equations.blocks(), found, strict=True):
            unsolved = np.isnan(solutions[:, 0])
            height = block.size + self.extra_rows + equations.intercept
            for index in np.flatnonzero(unsolved.any(axis=1)).tolist():
                columns = _columns(equations, block.families.start + index)
                rows = _batch_rows(stripe, height, columns, unsolved[index])
                solutions[index][:, unsolved[index]] = _by_qr(rows, equations.intercept).T
        return found

    def split(self, stripe: Stripe, ends: Ends, capacity: int | None) -> Brackets:
        """The solutions, split at fixed ends."""
        return Brackets.of(Ragged.of_blocks(self.blocks(stripe)), ends, capacity)

    def only(self, chosen: IntArray) -> tuple["BatchValues", IntArray]:
        """The families that the chosen coefficients belong to."""
        equations, own = chosen_families(self.equations, chosen)
        return replace(self, equations=equations), own


@dataclass(frozen=True)
class AveragePass(Pass):
    """Asks for the means of the batches' solutions."""

    purpose = "batches"

    values: BatchValues

    @np.errstate(over="ignore", invalid="ignore")
    def summarize(self, stripe: Stripe) -> FloatArray:
        """Sums of the solutions and counts: (3, edges) of sum, solved, tried."""
        out = np.zeros((3, self.values.rows))
        blocks = self.values.equations.blocks()
        for block, found in zip(blocks, self.values.blocks(stripe), strict=True):
            sums = out[0, block.edges].reshape(block.count, block.size)
            np.add.reduce(found, axis=2, out=sums)
            out[1:, block.edges] = found.shape[2]
            if np.isnan(sums).any():
                solved = ~np.isnan(found)
                sums[:] = np.where(solved, found, 0.0).sum(axis=2)
                out[1, block.edges] = np.count_nonzero(solved, axis=2).ravel()
        return out

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Sums of both."""
        return left + right

    def then(self, summary: FloatArray) -> Solution:
        """Means of the solutions."""
        sums, solved, tried = summary
        means = np.divide(sums, solved, out=np.full_like(sums, np.nan), where=solved > 0)
        return counted_solution(self.values.equations, means, solved, tried)

    def notes(self, summary: FloatArray) -> tuple[str, ...]:
        """Sums are exact."""
        return ()

    def to_arrays(self, summary: FloatArray) -> dict[str, Any]:
        """The sums and counts, by name."""
        return {"sums": summary}

    def from_arrays(self, arrays: dict[str, Any]) -> FloatArray:
        """The sums that `to_arrays` gave."""
        sums: FloatArray = arrays["sums"]
        if sums.shape != (3, self.values.rows) or sums.dtype != np.float64:
            raise ValueError
        return sums


@dataclass(frozen=True)
class FreeMedianPass(Pass):
    """Asks for medians of rows that nobody has seen together: brackets with free ends."""

    purpose = "medians"

    values: Values
    equations: Equations

    def summarize(self, stripe: Stripe) -> Brackets:
        """Brackets of a stripe."""
        blocks = Ragged.of_blocks(self.values.blocks(stripe))
        return Brackets.of(blocks, capacity=self.equations.limits.run.capacity)

    def merge(self, left: Brackets, right: Brackets) -> Brackets:
        """Brackets of both."""
        return left.merge(right)

    def then(self, summary: Brackets) -> Solution:
        """Medians, exact or not."""
        medians = summary.medians()
        return counted_solution(self.equations, medians.values, medians.used, summary.lengths)

    def notes(self, summary: Brackets) -> tuple[str, ...]:
        """How far medians may be off that are not exact."""
        return _rank_notes(summary.medians())

    def to_arrays(self, summary: Brackets) -> dict[str, Any]:
        """The brackets as plain arrays."""
        return {f"brackets/{key}": value for key, value in summary.to_arrays().items()}

    def from_arrays(self, arrays: dict[str, Any]) -> Brackets:
        """The brackets that `to_arrays` gave."""
        start = "brackets/"
        own = {key.removeprefix(start): arrays[key] for key in arrays if key.startswith(start)}
        brackets = Brackets.from_arrays(own)
        values, starts = brackets.kept.whole
        rising = starts[0] == 0 and bool((np.diff(starts) >= 0).all()) and starts[-1] == len(values)
        if not len(brackets.counts) == self.values.rows == len(starts) - 1 or not rising:
            raise ValueError
        return brackets


@dataclass(frozen=True)
class WithMomentsPass(Together, SummaryPass):
    """Sums or brackets of solutions with the moments beside them, as a summary that can be kept."""

    def rows(self, summary: tuple[Any, Moments]) -> int:
        """Rows of the moments."""
        return summary[1].rows

    def solve(self, summary: tuple[Any, Moments]) -> Solution:
        """The solution with intercepts and mean squares."""
        return with_mean_squares(self.questions[0].then(summary[0]), summary[1])

    def notes(self, summary: tuple[Any, Moments]) -> tuple[str, ...]:
        """Those of the solutions."""
        return tuple(self.questions[0].notes(summary[0]))

    def to_arrays(self, summary: tuple[Any, Moments]) -> dict[str, Any]:
        """Both as plain arrays."""
        own: dict[str, Any] = self.questions[0].to_arrays(summary[0])
        return summary[1].to_arrays() | own

    def from_arrays(self, arrays: dict[str, Any]) -> tuple[Any, Moments]:
        """Both from what `to_arrays` gave."""
        families = self.questions[1].equations.families
        return self.questions[0].from_arrays(arrays), Moments.from_arrays(families, arrays)


def median_summary(values: Values, equations: Equations) -> SummaryPass:
    """Brackets of solutions, and moments."""
    return WithMomentsPass((FreeMedianPass(values, equations), MomentsPass(equations)))


def solution_medians(values: Values, equations: Equations, plan: Plan) -> Pass:
    """Asks for the medians of solutions, one row of values for each coefficient."""
    return MedianPass.first(values, plan, partial(_median_solution, equations))


def _median_solution(equations: Equations, found: Found) -> Solution:
    medians = found.medians
    solution = counted_solution(equations, medians.values, medians.used, found.lengths)
    return replace(solution, passes=found.passes)


def counted_solution(
    equations: Equations,
    coefficients: FloatArray,
    used: FloatArray | IntArray,
    tried: FloatArray | IntArray,
) -> Solution:
    """The solution from so many of the batches or windows of each coefficient, (edges,) each."""
    families = equations.families
    has_parents = families.sizes > 0
    first = families.offsets[:-1][has_parents]
    batches, singular = np.zeros((2, len(families)), dtype=np.int64)
    batches[has_parents] = used[first]
    singular[has_parents] = tried[first] - used[first]
    return Solution.of(equations, coefficients, batches=batches, singular=singular)


def chosen_families(equations: Equations, chosen: IntArray) -> tuple[Equations, IntArray]:
    """The families of the chosen coefficients, and where these are among their coefficients."""
    families = equations.families
    some = np.unique(families.family_of_edge[chosen])
    return equations.only(some), np.searchsorted(families.edges_of(some), chosen)


def all_solutions(
    group: EquationGroup, values: Values
) -> tuple[dict[int, FloatArray], list[Block]]:
    """All solutions by number of parents, (families, p, count) each, and the blocks with roots."""
    kept: KeptValues = ask(group.table, KeepAllPass(values))
    sizes = [block.size for block in group.equations.blocks()]
    solutions = {size: kept.block(index) for index, size in enumerate(sizes)}
    return solutions, group.equations.blocks(with_roots=True)


def _rank_notes(found: Medians) -> tuple[str, ...]:
    if found.proven.all():
        return ()
    missed = int(np.count_nonzero(~found.proven))
    worst = float((found.rank_errors / np.maximum(found.used, 1)).max())
    return (
        f"the rows drift, so that {missed} medians are not exact: the share of values below "
        f"them may be off a half by {worst:.2g}; a fit to the rows themselves is exact",
    )


@np.errstate(over="ignore", invalid="ignore")
def _lacks_solutions(found: list[FloatArray]) -> bool:
    """Whether a solution is NaN, or so large that a sum of them is."""
    shared = found[0].base if found else None
    if shared is not None and shared.size == sum(solutions.size for solutions in found):
        return bool(np.isnan(shared.sum()))
    return any(bool(np.isnan(solutions[:, 0].sum())) for solutions in found)


def _columns(equations: Equations, family: int) -> IntArray:
    families = equations.families
    span = families.column_offsets[family : family + 2]
    return families.columns[span[0] : span[1]]


def _batch_rows(stripe: Stripe, height: int, columns: IntArray, chosen: BoolArray) -> FloatArray:
    """The rows of the chosen batches of one family: (batches, height, p + 1)."""
    first, last = batch_range(stripe.start, stripe.stop, len(stripe.page), height)
    rows = stripe.page[first * height : last * height, columns]
    batches = rows.reshape(last - first, height, len(columns))
    return np.asarray(batches[chosen], dtype=np.float64)


@np.errstate(over="ignore", invalid="ignore")
def _by_qr(batches: FloatArray, intercept: bool) -> FloatArray:
    """Least squares of each batch (batches, height, p + 1) by QR; NaN where it is singular."""
    size = batches.shape[2] - 1
    largest = np.abs(batches[:, :, :size]).max(axis=1)
    if intercept:
        batches = batches - batches[:, :1]
        batches -= batches.mean(axis=1, keepdims=True)
    factors = triangle(batches)
    parents, child = factors[:, :size, :size], factors[:, :size, size]
    pivots = np.abs(np.diagonal(parents, axis1=1, axis2=2))
    lengths = np.linalg.norm(parents, axis=1)
    # Rounding error is of the size of the values before their mean was subtracted.
    worst = np.divide(largest, lengths, out=np.ones_like(lengths), where=lengths > 0.0)
    tolerance = SINGULAR * np.maximum(worst.max(axis=1, keepdims=True), 1.0)
    regular = (pivots > tolerance * lengths).all(axis=1)
    out = np.full((len(batches), size), np.nan)
    out[regular] = np.linalg.solve(parents[regular], child[regular][..., None])[..., 0]
    return out
