"""Medians of the solutions of square systems, whose errors are Cauchy variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gaussnet import kernels
from gaussnet.errors import SettingError
from gaussnet.kernels.numpy_core import WELL_CONDITIONED, window_range
from gaussnet.methods.base import Equations, Solution, Stripe
from gaussnet.methods.batches import Solutions, Tally, solve_medians
from gaussnet.methods.least_squares import Factors, Moments
from gaussnet.types import FloatArray, IntArray, Rows

Windows = Literal["disjoint", "sliding"]


@dataclass(frozen=True, slots=True)
class SquareWindows:
    """Windows of p successive rows, one more with an intercept, each a square system.

    "disjoint": one after the other, floor(m / p) windows, as in the paper's text. "sliding": one
    begins at every row, m - p + 1 windows, as in the paper's figures; p times the work and a
    smaller error. Singular windows are set aside and counted.
    """

    windows: Windows = "disjoint"

    def __post_init__(self) -> None:
        if self.windows not in ("disjoint", "sliding"):
            raise SettingError(f"got windows={self.windows!r}, expected 'disjoint' or 'sliding'")

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The rows of one window; a node without parents needs one row."""
        return parents + intercept if parents else 1

    def kept_values(self, parents: IntArray) -> FloatArray:
        """One value for each coefficient and window."""
        if self.windows == "sliding":
            return parents.astype(np.float64)
        return np.minimum(parents, 1).astype(np.float64)

    def window_counts(self, page: Rows, equations: Equations) -> IntArray:
        """How many windows a page has for each coefficient, (edges,)."""
        counts = np.zeros(len(equations.families.parents), dtype=np.int64)
        rows, sliding = len(page), self.windows == "sliding"
        for block in equations.blocks():
            height = block.size + equations.intercept
            first, last = window_range(0, rows, rows, height, sliding)
            counts[block.edges] = last - first
        return counts

    def solutions(self, stripe: Stripe, equations: Equations) -> Solutions:
        """Solutions of the windows that begin in the stripe."""
        found = kernels.square_solutions(
            *stripe, equations.families, self.windows == "sliding", equations.intercept
        )
        return Solutions((tuple(found),))


@dataclass(frozen=True, slots=True)
class CauchyTree(SquareWindows):
    """Coordinate-wise median of the solutions of square systems.

    The paper's CauchyEstTree, near-optimal on polytrees.
    """

    name = "cauchy-tree"

    def summarize(self, stripe: Stripe, equations: Equations) -> Solutions:
        """The solutions of the stripe's windows."""
        return self.solutions(stripe, equations)

    def merge(self, left: Solutions, right: Solutions) -> Solutions:
        """Solutions of both."""
        return left.merge(right)

    def solve(self, summary: Solutions, equations: Equations) -> Solution:
        """Medians of the solutions."""
        return solve_medians(summary, equations)

    def careful(self) -> "CauchyTree":
        """Itself: partial pivoting keeps the digits."""
        return self


@dataclass(frozen=True, slots=True)
class Cauchy(SquareWindows):
    r"""Median of the solutions of square systems, taken in whitened coordinates.

    The paper's CauchyEst: with :math:`L L'` the Cholesky factorisation of the parents'
    empirical covariance, the coordinate-wise median of :math:`L' a` over the windows'
    solutions a, and then a from it. Parents stand in the order of the graph's nodes.
    """

    name = "cauchy"

    def summarize(self, stripe: Stripe, equations: Equations) -> tuple[Moments, Solutions]:
        """Moments of the stripe and the solutions of its windows."""
        return Moments.of(stripe, equations), self.solutions(stripe, equations)

    def merge(
        self, left: tuple[Moments, Solutions], right: tuple[Moments, Solutions]
    ) -> tuple[Moments, Solutions]:
        """Moments and solutions of both."""
        return left[0].merge(right[0]), left[1].merge(right[1])

    def solve(self, summary: tuple[Moments, Solutions], equations: Equations) -> Solution:
        """Medians in whitened coordinates, turned back; marks doubtful families."""
        moments, solutions = summary
        uppers, doubtful = whitening(moments, equations)
        tally = Tally(equations)
        for index, block in enumerate(equations.blocks()):
            tally.add_medians(block, solutions.parts(index), uppers[index])
        return tally.solution(doubtful)

    def careful(self) -> "CarefulCauchy":
        """The same with factors by QR."""
        return CarefulCauchy(self.windows)


@dataclass(frozen=True, slots=True)
class CarefulCauchy(SquareWindows):
    """`Cauchy` with the parents' factor from QR: for nearly collinear parents."""

    name = "cauchy"

    def summarize(self, stripe: Stripe, equations: Equations) -> tuple[Factors, Solutions]:
        """Triangular factors of the stripe and the solutions of its windows."""
        return Factors.of(stripe, equations), self.solutions(stripe, equations)

    def merge(
        self, left: tuple[Factors, Solutions], right: tuple[Factors, Solutions]
    ) -> tuple[Factors, Solutions]:
        """Factors and solutions of both."""
        return left[0].merge(right[0]), left[1].merge(right[1])

    def solve(self, summary: tuple[Factors, Solutions], equations: Equations) -> Solution:
        """Medians in whitened coordinates, turned back."""
        factors, solutions = summary
        tally = Tally(equations)
        for index, block in enumerate(equations.blocks()):
            members = range(block.families.start, block.families.stop)
            upper = np.stack([factors.parent_factor(family) for family in members])
            tally.add_medians(block, solutions.parts(index), upper)
        return tally.solution()

    def careful(self) -> "CarefulCauchy":
        """Itself."""
        return self


def whitening(moments: Moments, equations: Equations) -> tuple[list[FloatArray], IntArray]:
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
    return uppers, np.flatnonzero(doubtful)


def flat_triangles(uppers: Sequence[FloatArray]) -> FloatArray:
    """The triangles of all blocks, one family after the other, as kernels take them."""
    return np.concatenate([np.zeros(0), *(upper.ravel() for upper in uppers)])
