"""What an estimator gives back, and the three verbs that every estimator speaks."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.equations import Equations, Stripe
from gaussnet.kernels.families import Families


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
