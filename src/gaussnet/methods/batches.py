"""Solutions of many small systems, kept size by size until their mean or median is taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gaussnet import kernels
from gaussnet.errors import SettingError
from gaussnet.kernels.families import Block
from gaussnet.kernels.numpy_core import SINGULAR, batch_range
from gaussnet.methods.base import Equations, Solution, Stripe, no_batches
from gaussnet.methods.least_squares import triangle
from gaussnet.methods.medians.brackets import Medians
from gaussnet.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Solutions:
    """Solutions of batches or windows, in runs as they were found; NaN marks a singular one.

    Each run has one array (families of that size, p, count) for each size p >= 1.
    """

    runs: tuple[tuple[FloatArray, ...], ...]

    def merge(self, other: "Solutions") -> "Solutions":
        """The runs of both."""
        return Solutions(self.runs + other.runs)

    def parts(self, index: int) -> list[FloatArray]:
        """The solutions of the families of one size, run by run: (families, p, count) each."""
        return [run[index] for run in self.runs]

    def of_block(self, index: int) -> FloatArray:
        """All solutions of the families of one size: (families, p, count), a fresh array."""
        return np.concatenate(self.parts(index), axis=2)


class Tally:
    """Collects the answer block by block into one `Solution`."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.coefficients = np.empty(len(equations.families.parents))
        self.batches = no_batches(equations)
        self.singular = no_batches(equations)

    def add_medians(
        self, block: Block, parts: list[FloatArray], upper: FloatArray | None = None
    ) -> None:
        """Enter the coordinate-wise medians of solutions in parts (families, p, count).

        With `upper`, (families, p, p), they are taken of ``upper @ solution`` and turned back.
        """
        answer, used = kernels.joined_medians(parts, upper)
        if upper is not None:
            answer = turned_back(upper, answer)
        self.add(block, answer, used, sum(part.shape[2] for part in parts))

    def add(self, block: Block, answer: FloatArray, used: IntArray, count: int | IntArray) -> None:
        """Enter coefficients (families, p) found from `used` of `count` batches."""
        self.coefficients[block.edges] = answer.ravel()
        self.batches[block.families] = used
        self.singular[block.families] = count - used

    def solution(self, doubtful: IntArray | None = None, passes: int = 1) -> Solution:
        """The collected answer; the parents of an answered family have full rank."""
        return Solution(
            self.coefficients,
            ranks=self.equations.families.sizes,
            batches=self.batches,
            singular=self.singular,
            doubtful=doubtful,
            passes=passes,
        )


def turned_back(upper: FloatArray, answer: FloatArray) -> FloatArray:
    """The solutions x of ``upper @ x = answer``, (families, p); NaN where there is none."""
    found: FloatArray = kernels.solve_triangles(upper, answer)
    return found


def tally_medians(
    equations: Equations,
    medians: Medians,
    counts: IntArray,
    uppers: Sequence[FloatArray] | None = None,
) -> Tally:
    """The medians of all coefficients, with what was used of so many."""
    tally = Tally(equations)
    for index, block in enumerate(equations.blocks()):
        shape = (block.count, block.size)
        answer = medians.values[block.edges].reshape(shape)
        if uppers is not None:
            answer = turned_back(uppers[index], answer)
        used, count = (own[block.edges].reshape(shape)[:, 0] for own in (medians.used, counts))
        tally.add(block, answer, used, count)
    return tally


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of p + extra_rows successive rows, one more with an intercept."""

    extra_rows: int = 20

    def __post_init__(self) -> None:
        if not isinstance(self.extra_rows, int | np.integer) or self.extra_rows < 1:
            raise SettingError(
                f"got extra_rows={self.extra_rows!r}, expected an integer of at least 1: "
                "a batch has that many rows more than the node has parents"
            )

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The rows of one batch; a node without parents needs one row."""
        return parents + self.extra_rows + intercept if parents else 1

    def careful(self) -> Self:
        """Itself: batches that lose digits are solved again at once."""
        return self

    def solutions(self, stripe: Stripe, equations: Equations) -> list[FloatArray]:
        """Least squares of the batches that begin in the stripe, size by size."""
        found: list[FloatArray] = kernels.batch_solutions(
            *stripe, equations.families, self.extra_rows, equations.intercept
        )
        if not _lacks_solutions(found):
            return found
        for block, solutions in zip(equations.blocks(), found, strict=True):
            unsolved = np.isnan(solutions[:, 0])
            if unsolved.any():
                height = self.rows_needed(block.size, equations.intercept)
                for place in np.flatnonzero(unsolved.any(axis=1)).tolist():
                    columns = _columns(equations, block.families.start + place)
                    rows = _batch_rows(stripe, height, columns, unsolved[place])
                    solutions[place][:, unsolved[place]] = _by_qr(rows, equations.intercept).T
        return found


@dataclass(frozen=True, slots=True)
class BatchAverage(Batches):
    """Mean of the least-squares solutions of batches of p + extra_rows rows.

    The paper's BatchAvgLeastSquares. Singular batches are set aside and counted.
    """

    name = "batch-average"

    @np.errstate(over="ignore", invalid="ignore")
    def summarize(self, stripe: Stripe, equations: Equations) -> FloatArray:
        """Sums of the solutions and counts: (3, edges) of sum, solved, singular."""
        out = np.zeros((3, len(equations.families.parents)))
        for block, found in zip(equations.blocks(), self.solutions(stripe, equations), strict=True):
            sums = out[0, block.edges].reshape(block.count, block.size)
            np.add.reduce(found, axis=2, out=sums)
            out[1:, block.edges] = found.shape[2]
            if np.isnan(sums).any():
                solved = ~np.isnan(found)
                sums[:] = np.where(solved, found, 0.0).sum(axis=2)
                out[1, block.edges] = np.count_nonzero(solved, axis=2).ravel()
        return out

    def merge(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Sums of both."""
        return left + right

    def solve(self, summary: FloatArray, equations: Equations) -> Solution:
        """Means of the solutions."""
        sums, solved, tried = summary
        means = np.divide(sums, solved, out=np.full_like(sums, np.nan), where=solved > 0)
        tally = Tally(equations)
        tally.coefficients[:] = means
        has_parents = equations.families.sizes > 0
        first = equations.families.offsets[:-1][has_parents]
        tally.batches[has_parents] = solved[first]
        tally.singular[has_parents] = tried[first] - solved[first]
        return tally.solution()

    def kept_values(self, parents: IntArray) -> FloatArray:
        """None: only sums are kept."""
        return np.zeros(len(parents))


@dataclass(frozen=True, slots=True)
class BatchMedian(Batches):
    """Coordinate-wise median of the least-squares solutions of batches of p + extra_rows rows.

    The paper's BatchMedLeastSquares. An even number of batches gives the mean of the middle
    two. Singular batches are set aside and counted.
    """

    name = "batch-median"

    def summarize(self, stripe: Stripe, equations: Equations) -> Solutions:
        """The solutions of the stripe's batches."""
        return Solutions((tuple(self.solutions(stripe, equations)),))

    def merge(self, left: Solutions, right: Solutions) -> Solutions:
        """Solutions of both."""
        return left.merge(right)

    def solve(self, summary: Solutions, equations: Equations) -> Solution:
        """Medians of the solutions."""
        return solve_medians(summary, equations)

    def kept_values(self, parents: IntArray) -> FloatArray:
        """One value for each coefficient and batch."""
        return np.asarray(parents / (parents + self.extra_rows))


def solve_medians(summary: Solutions, equations: Equations) -> Solution:
    """The coordinate-wise medians of all solutions."""
    tally = Tally(equations)
    for index, block in enumerate(equations.blocks()):
        tally.add_medians(block, summary.parts(index))
    return tally.solution()


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
    blur = SINGULAR * np.maximum(worst.max(axis=1, keepdims=True), 1.0)
    regular = (pivots > blur * lengths).all(axis=1)
    out = np.full((len(batches), size), np.nan)
    out[regular] = np.linalg.solve(parents[regular], child[regular][..., None])[..., 0]
    return out
