"""Ordinary least squares on all rows, and its standard errors."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gaussnet import kernels
from gaussnet.data.design import Part
from gaussnet.data.passes import Pass
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import WELL_CONDITIONED
from gaussnet.methods.base import EquationGroup, Equations, Method, Scale, Solution, SummaryPass
from gaussnet.methods.moments import Factors, FactorsPass, Moments, MomentsPass, intercepts
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Slopes


@dataclass(frozen=True, slots=True)
class LeastSquares(Method):
    """Ordinary least squares of each node on its parents.

    Works from cross-products of each family, scaled to unit diagonal; a family whose parents
    are nearly collinear, or whose residual is tiny beside the child, is learnt again from a QR
    factor, which keeps all digits. Parents that are exactly collinear get the solution of
    least norm.
    """

    name = "least-squares"
    summarized_by = "least-squares"
    passes = "all rows are read once, and again if moments lose digits"
    finds_mean_squares = True
    maximizes_likelihood = True
    error_kinds: ClassVar[tuple[str, ...]] = ("classical", "heteroscedastic")
    uses: ClassVar[frozenset[Part]] = frozenset({"regime", "cluster", "weight"})

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """Moments; then factors of what they lack the digits for."""
        return LeastSquaresPass(equations)

    def over_holes(self) -> Method:
        """Maximum likelihood, which least squares is where nothing is missing."""
        from gaussnet.methods.likelihood import Likelihood

        return Likelihood()

    def summary_pass(self, equations: Equations) -> SummaryPass:
        """Moments alone: families that lost digits have NaN as mean square."""
        return LeastSquaresPass(equations)

    def slopes(self, group: EquationGroup, kind: str, level: float) -> "list[Slopes]":
        """Exact errors under the model, or those of noise with a variance for every row."""
        from gaussnet.methods.standard_errors import classical
        from gaussnet.methods.standard_errors.regressions import heteroscedastic, regress

        found = regress(group)
        if kind == "classical":
            return [classical(own, level) for own in found]
        return [part.slopes for part in heteroscedastic(group, found, level, kind)]


@dataclass(frozen=True)
class LeastSquaresPass(MomentsPass, SummaryPass):
    """Asks for moments, and for factors of the families that lost digits."""

    finish: Callable[[Moments, Solution, dict[int, FloatArray]], Any] | None = None
    """From moments, solution and the parents' factors of doubtful families to the answer."""

    def then(self, summary: Moments) -> Any:
        """The solution, or factors first."""
        solution, doubtful = solve_moments(summary, self.equations)
        if not len(doubtful):
            return self._answer(summary, self._with_sums(solution, summary), {})
        again = self.equations.only(doubtful)
        return FactorsPass(again, partial(self._patched, summary, solution, doubtful, again))

    def _patched(
        self,
        moments: Moments,
        solution: Solution,
        doubtful: IntArray,
        again: Equations,
        factors: Factors,
    ) -> Any:
        part = solve_factors(factors, again)
        patched = solution.patched(self.equations.families, doubtful, part)
        patched = self._with_sums(patched, moments, factors)
        uppers = {int(f): factors.parent_factor(i) for i, f in enumerate(doubtful)}
        return self._answer(moments, patched, uppers)

    def _answer(self, moments: Moments, solution: Solution, uppers: dict[int, FloatArray]) -> Any:
        return solution if self.finish is None else self.finish(moments, solution, uppers)

    def _with_sums(
        self, solution: Solution, moments: Moments, factors: Factors | None = None
    ) -> Solution:
        """The solution with what it was found from, which outlives the rows."""
        from gaussnet.methods.sums import FamilySums

        equations = Equations(moments.families, self.equations.intercept)
        numbers = np.arange(len(moments.families))
        return replace(solution, sums=(FamilySums(numbers, equations, moments, factors),))

    def rows(self, summary: Moments) -> int:
        """Rows of the moments."""
        return summary.rows

    def solve(self, summary: Moments) -> Solution:
        """The solution; its mean squares are NaN where digits are lacking."""
        solution, doubtful = solve_moments(summary, self.equations)
        assert solution.mean_squares is not None
        solution.mean_squares[doubtful] = np.nan
        return self._with_sums(solution, summary)

    def to_arrays(self, summary: Moments) -> dict[str, Any]:
        """The moments as plain arrays."""
        return summary.to_arrays()

    def from_arrays(self, arrays: dict[str, Any]) -> Moments:
        """The moments that `to_arrays` gave."""
        return Moments.from_arrays(self.equations.families, arrays)


def solve_moments(moments: Moments, equations: Equations) -> tuple[Solution, IntArray]:
    """Least squares from moments, and the families that lost digits."""
    families = equations.families
    coefficients, squares, pivots = kernels.solve_moments(families, moments.products)
    doubtful = (families.sizes > 0) & ~(pivots >= WELL_CONDITIONED)
    solution = Solution.of(
        equations,
        coefficients,
        intercepts=intercepts(families, moments.means, coefficients),
        mean_squares=squares / moments.divisor,
        **_counted(moments, families),
    )
    return solution, np.flatnonzero(doubtful)


def _counted(moments: Moments, families: Families) -> dict[str, Any]:
    """The rows that count, where weights say that it is not all of them, or more."""
    if moments.weighing is None:
        return {}
    return {"rows": np.full(len(families), round(moments.effective_rows))}


def solve_factors(factors: Factors, equations: Equations) -> Solution:
    """Least squares from triangular factors: for nearly or exactly collinear parents."""
    families = equations.families
    coefficients = np.empty(len(families.parents))
    squares = np.empty(len(families))
    ranks = np.empty(len(families), dtype=np.int64)
    for family in range(len(families)):
        edges = slice(*families.offsets[family : family + 2].tolist())
        coefficients[edges], squares[family], ranks[family] = factors.regress(family)
    return Solution.of(
        equations,
        coefficients,
        ranks=ranks,
        intercepts=intercepts(families, factors.means, coefficients),
        mean_squares=squares / factors.divisor,
    )
