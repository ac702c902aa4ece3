"""Medians of the solutions of square systems, whose errors are Cauchy variables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import ask
from gaussnet.errors import SettingError
from gaussnet.kernels import Ends
from gaussnet.kernels.numpy_core import WELL_CONDITIONED, window_range
from gaussnet.methods.base import EquationGroup, Equations, Method, Scale, Solution, SummaryPass
from gaussnet.methods.batches import (
    WORKING_COPIES,
    all_solutions,
    chosen_families,
    counted_solution,
    median_summary,
    solution_medians,
)
from gaussnet.methods.medians.brackets import Brackets, sample_limit
from gaussnet.methods.medians.passes import Found, MedianPass, Plan, Values
from gaussnet.methods.medians.samples import Sample, drawn_indices
from gaussnet.methods.moments import Factors, FactorsPass, Moments, MomentsPass, with_mean_squares
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Slopes

Windows = Literal["disjoint", "sliding"]

Triangles = tuple[FloatArray, ...]
"""Upper triangles (families, p, p) for each size p >= 1, in order."""


@dataclass(frozen=True, slots=True)
class SquareWindows(Method):
    """Windows of p successive rows, one more with an intercept, each a square system.

    "disjoint": one after the other, floor(m / p) windows, as in the paper's text. "sliding": one
    begins at every row, m - p + 1 windows, as in the paper's figures; p times the work and a
    smaller error. Singular windows are set aside and counted.
    """

    windows: Windows = "disjoint"
    uses_row_order = True
    error_kinds = ("order-statistic",)

    def __post_init__(self) -> None:
        if self.windows not in ("disjoint", "sliding"):
            raise SettingError(f"got windows={self.windows!r}, expected 'disjoint' or 'sliding'")

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The rows of one window; a node without parents needs one row."""
        return parents + intercept if parents else 1

    def kept_values(self, equations: Equations) -> FloatArray:
        """One value for each coefficient and window, or those near the medians."""
        return self._values_per_row(equations) * self._plan(equations).share

    def error_values(self, equations: Equations) -> FloatArray:
        """One value for each coefficient and window, several times."""
        return WORKING_COPIES * self._values_per_row(equations)

    def fewest_batches(self, level: float) -> int:
        """As many as have an interval of the median."""
        from gaussnet.methods.standard_errors.order_statistics import fewest_values

        return fewest_values(level)

    def _values_per_row(self, equations: Equations) -> FloatArray:
        sizes = equations.families.sizes
        if self.windows == "sliding":
            return sizes.astype(np.float64)
        return np.minimum(sizes, 1).astype(np.float64)

    def _plan(self, equations: Equations) -> Plan:
        values = float(self._values_per_row(equations).sum())
        sizes = equations.families.sizes
        height = float(sizes @ sizes) / max(int(sizes.sum()), 1) + equations.intercept
        overlap = height if self.windows == "sliding" else 1.0
        return Plan.of(equations.limits, values, len(equations.families.parents), height, overlap)

    def _values(self, equations: Equations) -> "WindowValues":
        return WindowValues(equations, self.windows == "sliding")

    def _slopes(
        self, group: EquationGroup, level: float, uppers: "Triangles | None"
    ) -> "list[Slopes]":
        """Order statistics of the solutions, in coordinates multiplied by triangles if any."""
        from gaussnet.methods.standard_errors import median_slopes, no_slopes

        kept, blocks = all_solutions(group, self._values(group.equations))
        slopes, whitening_of = [], dict(zip(kept, uppers or (), strict=False))
        for block in blocks:
            if block.size == 0:
                slopes.append(no_slopes(block))
                continue
            solutions, back = kept[block.size], None
            if uppers is not None:
                upper = whitening_of[block.size]
                solutions = upper @ solutions
                back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
            intercept = group.equations.intercept
            overlap = self.rows_needed(block.size, intercept) if self.windows == "sliding" else 1
            slopes.append(median_slopes(block, solutions, back, level, overlap))
        return slopes


@dataclass(frozen=True, slots=True)
class CauchyTree(SquareWindows):
    """Coordinate-wise median of the solutions of square systems.

    The paper's CauchyEstTree, near-optimal on polytrees.
    """

    name = "cauchy-tree"
    summarized_by = "cauchy-tree"
    passes = "all rows are read once, and again if a sample did not say where the medians lie"

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Medians of the solutions."""
        return solution_medians(self._values(equations), equations, self._plan(equations))

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """Brackets of the solutions, and moments."""
        return median_summary(self._values(equations), equations)

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Order statistics of the solutions."""
        return self._slopes(group, level, None)


@dataclass(frozen=True, slots=True)
class Cauchy(SquareWindows):
    r"""Median of the solutions of square systems, taken in whitened coordinates.

    The paper's CauchyEst: with :math:`L L'` the Cholesky factorisation of the parents'
    empirical covariance, the coordinate-wise median of :math:`L' a` over the windows'
    solutions a, and then a from it. Parents stand in the order of the graph's nodes.
    """

    name = "cauchy"
    passes = "all rows are read twice, and again if a sample did not say where the medians lie"
    finds_mean_squares = True

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Moments, for the whitening; then medians in whitened coordinates."""
        return WhiteningPass(equations, partial(self._medians, equations))

    def _medians(self, equations: Equations, moments: Moments, uppers: Triangles) -> Pass:
        values = replace(self._values(equations), uppers=uppers)
        finish = partial(_unwhitened, equations, moments, uppers)
        return MedianPass.first(values, self._plan(equations), finish)

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Order statistics of the whitened solutions."""
        uppers: Triangles = ask(group.table, WhiteningPass(group.equations, _triangles))
        return self._slopes(group, level, uppers)


@dataclass(frozen=True)
class WindowValues(Values):
    """Solutions of the windows: one row of values for each coefficient, whitened if asked."""

    equations: Equations
    sliding: bool
    uppers: Triangles | None = None
    """Upper triangles (families, p, p), block by block, that solutions are multiplied by."""

    @property
    def rows(self) -> int:
        """Number of coefficients."""
        return len(self.equations.families.parents)

    def blocks(self, stripe: Stripe) -> list[FloatArray]:
        """Solutions of the windows that begin in the stripe, size by size, not yet whitened."""
        equations = self.equations
        found: list[FloatArray] = kernels.square_solutions(
            *stripe[:3], equations.families, self.sliding, equations.intercept
        )
        return found

    def transforms(self, block: int) -> FloatArray | None:
        """The triangles of a block."""
        return None if self.uppers is None else self.uppers[block]

    def split(self, stripe: Stripe, ends: Ends, capacity: int | None) -> Brackets:
        """Solutions are split as they are found, not written down."""
        equations, draw = self.equations, None
        lengths = self._window_counts(stripe)
        if capacity is not None:
            draw = drawn_indices(int(lengths.max(initial=0)), sample_limit(capacity))
        flat = None if self.uppers is None else _flat(self.uppers)
        windows = (self.sliding, equations.intercept, flat)
        split = kernels.split_solutions(*stripe[:3], equations.families, *windows, ends, draw)
        sample = None if split.drawn is None or draw is None else Sample((split.drawn,), draw[1])
        return Brackets.of_split(split, ends, lengths, capacity, sample)

    def only(self, chosen: IntArray) -> tuple["WindowValues", IntArray]:
        """The families that the chosen coefficients belong to."""
        equations, own = chosen_families(self.equations, chosen)
        uppers = self.uppers
        if uppers is not None:
            some = np.unique(self.equations.families.family_of_edge[chosen])
            uppers = _some_triangles(self.equations, uppers, some)
        return replace(self, equations=equations, uppers=uppers), own

    def for_sample(self) -> "WindowValues":
        """Disjoint windows, which say most for their number."""
        return replace(self, sliding=False)

    def _window_counts(self, stripe: Stripe) -> IntArray:
        """How many windows begin in a stripe for each coefficient, (edges,)."""
        counts = np.zeros(self.rows, dtype=np.int64)
        for block in self.equations.blocks():
            height = block.size + self.equations.intercept
            first, last = window_range(
                stripe.start, stripe.stop, len(stripe.page), height, self.sliding
            )
            counts[block.edges] = last - first
        return counts


@dataclass(frozen=True)
class WhiteningPass(MomentsPass):
    """Asks for the triangles that whiten solutions: from moments, or QR where these lack digits."""

    finish: Callable[[Moments, Triangles], Any]
    """From moments and triangles to what to ask next, or to the answer."""

    def then(self, summary: Moments) -> Any:
        """What `finish` makes of the triangles; factors first of families that lost digits."""
        uppers, doubtful = whitening(summary, self.equations)
        if not len(doubtful):
            return self.finish(summary, uppers)
        again = self.equations.only(doubtful)
        return FactorsPass(again, partial(self._careful, summary, uppers, doubtful))

    def _careful(
        self, moments: Moments, uppers: Triangles, doubtful: IntArray, factors: Factors
    ) -> Any:
        """With the triangles of doubtful families from their QR factors."""
        blocks = self.equations.blocks()
        for index, family in enumerate(doubtful.tolist()):
            for block, upper in zip(blocks, uppers, strict=True):
                if block.families.start <= family < block.families.stop:
                    upper[family - block.families.start] = factors.parent_factor(index)
        return self.finish(moments, uppers)


def _triangles(moments: Moments, uppers: Triangles) -> Triangles:
    """The triangles themselves, for standard errors."""
    return uppers


def _unwhitened(
    equations: Equations, moments: Moments, uppers: Triangles, found: Found
) -> Solution:
    """Medians back from whitened coordinates, with mean squares from the moments."""
    coefficients = np.empty(len(found.medians.values))
    for block, upper in zip(equations.blocks(), uppers, strict=True):
        white = found.medians.values[block.edges].reshape(block.count, block.size)
        coefficients[block.edges] = kernels.solve_triangles(upper, white).ravel()
    solution = counted_solution(equations, coefficients, found.medians.used, found.lengths)
    return with_mean_squares(replace(solution, passes=found.passes), moments)


def whitening(moments: Moments, equations: Equations) -> tuple[Triangles, IntArray]:
    """Upper triangles L' of the parents' cross-products, block by block, and doubtful families.

    A doubtful family, which has lost digits, gets the identity.
    """
    families = equations.families
    pivots = kernels.solve_moments(families, moments.products)[2]
    doubtful = (families.sizes > 0) & ~(pivots >= WELL_CONDITIONED)
    flat = kernels.upper_triangles(families, moments.products, doubtful)
    uppers: list[FloatArray] = []
    start = 0
    for block in equations.blocks():
        stop = start + block.count * block.size * block.size
        uppers.append(flat[start:stop].reshape(block.count, block.size, block.size))
        start = stop
    return tuple(uppers), np.flatnonzero(doubtful)


def _flat(uppers: Sequence[FloatArray]) -> FloatArray:
    """The triangles of all blocks, one family after the other, as kernels take them."""
    return np.concatenate([np.zeros(0), *(upper.ravel() for upper in uppers)])


def _some_triangles(
    equations: Equations, uppers: Sequence[FloatArray], chosen: IntArray
) -> tuple[FloatArray, ...]:
    """The triangles of the chosen families, block by block."""
    blocks = zip(equations.blocks(), uppers, strict=True)
    spans = ((np.arange(b.families.start, b.families.stop), upper) for b, upper in blocks)
    parts = [upper[np.isin(members, chosen)] for members, upper in spans]
    return tuple(part for part in parts if len(part))
