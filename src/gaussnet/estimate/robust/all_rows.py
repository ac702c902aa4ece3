"""Least squares of all families over all rows, and which of them need nothing more."""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.estimate.equations import Equations, cut_stripes
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.robust.checks import SPARE_ROWS, Limits
from gaussnet.estimate.robust.screening import Screen
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Estimator, Solution
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import merge_in_order, thread_map


class AllRows(NamedTuple):
    """Least squares over all rows, and which families look clean, (families,)."""

    solution: Solution
    clean: BoolArray


def learn_all_rows(
    x: Rows,
    equations: Equations,
    settings: SequentialTrim,
    threads: int,
) -> AllRows:
    """Least squares of every family over all rows, and whether it passes the checks."""
    columns: FloatArray = kernels.whole_columns(x)
    moments, solution = _least_squares(columns, equations, threads)
    few = len(x) < equations.families.sizes + equations.intercept + SPARE_ROWS
    if few.all():
        return AllRows(solution, few)
    verdicts = _verdicts(columns, equations, (moments, solution), settings, threads)
    unknown = np.flatnonzero(np.isnan(verdicts))
    if len(unknown):
        screen = Screen(columns, equations, moments.means, solution).only(unknown)
        verdicts[unknown] = screen.passed(settings, threads)
    return AllRows(solution, few | (verdicts == 1.0))


def _verdicts(
    columns: FloatArray,
    equations: Equations,
    learnt: tuple[Moments, Solution],
    settings: SequentialTrim,
    threads: int,
) -> FloatArray:
    """1 for families that pass the checks, 0 for those that fail, NaN for want of digits."""
    families, (moments, solution) = equations.families, learnt
    limits = Limits.each(len(columns), families.sizes + equations.intercept, settings)
    assert solution.mean_squares is not None
    assert solution.intercepts is not None
    fitted = (solution.coefficients, solution.intercepts, solution.mean_squares * len(columns))

    def look(part: tuple[int, int]) -> FloatArray:
        own = (part, equations.intercept, limits.spread, settings.gate_level)
        screen = kernels.Screen(*own, *fitted, limits.half, moments.means)
        return np.asarray(kernels.screen_families(columns, families, screen))

    edges = [len(families) * worker // threads for worker in range(threads + 1)]
    return np.concatenate(list(thread_map(look, list(pairwise(edges)), threads)))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _least_squares(x: Rows, equations: Equations, threads: int) -> tuple[Moments, Solution]:
    """Moments and least squares; families that lost digits are learnt again with care."""

    def summary(estimator: Estimator, equations: Equations) -> Any:
        summarize = partial(estimator.summarize, equations=equations)
        return merge_in_order(thread_map(summarize, cut_stripes(x), threads), estimator.merge)

    estimator = LeastSquares()
    moments = summary(estimator, equations)
    solution = estimator.solve(moments, equations)
    doubtful = _finite(equations.families, moments, solution)
    if len(doubtful) == 0:
        return moments, solution
    careful = estimator.careful()
    part = Equations(equations.families.subset(doubtful), equations.intercept)
    again = careful.solve(summary(careful, part), part)
    return moments, solution.patched(equations.families, doubtful, again)


def _finite(families: Families, moments: Moments, solution: Solution) -> IntArray:
    """The doubtful families whose cross-products did not overflow: the others fail the checks."""
    if solution.doubtful is None:
        return np.empty(0, dtype=np.int64)
    largest = np.maximum.reduceat(np.abs(moments.products), families.product_offsets[:-1])
    return np.asarray(solution.doubtful[np.isfinite(largest[solution.doubtful])])
