"""What a method works on and gives back."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from gaussnet.kernels.families import Block, Families
from gaussnet.types import FloatArray, IntArray, Rows

STRIPE_BYTES = 8 * 1024 * 1024
SMALLEST_STRIPE_ROWS = 1_024
LARGEST_STRIPE_ROWS = 32_768
"""About a millisecond of work for 20 columns: less is not worth a thread, and each stripe costs a
call from Python and a merge."""


@dataclass(frozen=True)
class Equations:
    """One regression of a child on its parents for each family, with or without intercept.

    The families are sorted by their number of parents.
    """

    families: Families
    intercept: bool

    def blocks(self, *, with_roots: bool = False) -> list[Block]:
        """The families size by size; roots, which have no parents, only with `with_roots`."""
        return [block for block in self.families.blocks if block.size or with_roots]


class Stripe(NamedTuple):
    """Rows start..stop of a page: the unit of work.

    Sums are over these rows; a batch or window belongs to the stripe that it begins in, and
    may run on beyond `stop` inside the page.
    """

    page: Rows
    start: int
    stop: int

    @property
    def rows(self) -> Rows:
        """The stripe's own rows."""
        return self.page[self.start : self.stop]


def cut_stripes(page: Rows) -> list[Stripe]:
    """The page in stripes of nearly equal height, which its shape alone decides."""
    fitting = STRIPE_BYTES // (8 * max(page.shape[1], 1))
    height = min(max(fitting, SMALLEST_STRIPE_ROWS), LARGEST_STRIPE_ROWS)
    count = max(1, -(-len(page) // height))
    edges = [len(page) * index // count for index in range(count + 1)]
    return [Stripe(page, start, stop) for start, stop in pairwise(edges)]


@dataclass(frozen=True)
class Solution:
    """Coefficients of the equations, and what happened on the way to them."""

    coefficients: FloatArray
    """(edges,); NaN where nothing determines them."""
    ranks: IntArray
    """Rank of each family's parents, (families,)."""
    batches: IntArray
    """Batches or windows used, (families,); 0 where the estimator uses none."""
    singular: IntArray
    """Singular batches or windows set aside, (families,)."""
    intercepts: FloatArray | None = None
    """(families,), where phase 1 finds them on its way."""
    mean_squares: FloatArray | None = None
    """Mean squared residual, (families,), where phase 1 finds it on its way."""
    doubtful: IntArray | None = None
    """Families that lost digits and should be learnt again by the careful twin."""
    passes: int = 1
    """Passes over the rows that it took."""

    def patched(self, families: Families, chosen: IntArray, part: "Solution") -> "Solution":
        """This solution with the chosen families taken from `part`."""
        edges = families.edges_of(chosen)
        changes: dict[str, Any] = {"doubtful": None, "passes": max(self.passes, part.passes)}
        for name in ("ranks", "batches", "singular", "intercepts", "mean_squares"):
            changes[name] = _patched(getattr(self, name), chosen, getattr(part, name))
        changes["coefficients"] = _patched(self.coefficients, edges, part.coefficients)
        return replace(self, **changes)

    def with_spread(self, intercepts: FloatArray, mean_squares: FloatArray) -> "Solution":
        """This solution with intercepts and mean squared residuals, (families,) each."""
        return replace(self, intercepts=intercepts, mean_squares=mean_squares)


class Estimator(Protocol):
    """Phase 1: finds the coefficients.

    Summaries of stripes merge, in the order of the rows, to the summary of all rows; the
    solution comes from that alone.
    """

    @property
    def name(self) -> str:
        """The name that `fit` knows the method by."""
        ...

    def summarize(self, stripe: Stripe, equations: Equations) -> Any:
        """All that these rows say of the coefficients."""
        ...

    def merge(self, left: Any, right: Any) -> Any:
        """The summary of the rows of both, `left` before `right`."""
        ...

    def solve(self, summary: Any, equations: Equations) -> Solution:
        """The coefficients of all equations."""
        ...

    def careful(self) -> "Estimator":
        """The same method, slower, for equations that lost digits."""
        ...

    def rows_needed(self, parents: int, intercept: bool) -> int:
        """The fewest rows with which an equation with so many parents has an answer."""
        ...

    def kept_values(self, parents: IntArray) -> FloatArray:
        """Values that a summary keeps per row for families with so many parents."""
        ...


def no_batches(equations: Equations) -> IntArray:
    """Zero batches for each family."""
    return np.zeros(len(equations.families), dtype=np.int64)


def _patched(whole: Any, places: IntArray, part: Any) -> Any:
    if whole is None or part is None:
        return None
    out = whole.copy()
    out[places] = part
    return out
