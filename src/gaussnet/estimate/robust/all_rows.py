"""Least squares of all families over all rows, and which of them need nothing more."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gaussnet._types import BoolArray, IntArray, Rows
from gaussnet.estimate.equations import Equations, cut_stripes
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.robust.checks import SPARE_ROWS
from gaussnet.estimate.robust.screening import Screen
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Estimator, Solution
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import merge_in_order, thread_map


class AllRows(NamedTuple):
    """Least squares over all rows, and which families look clean, (families,)."""

    solution: Solution
    moments: Moments
    clean: BoolArray


def learn_all_rows(
    x: Rows, equations: Equations, settings: SequentialTrim, threads: int
) -> AllRows:
    """Least squares of every family over all rows, and whether it passes the checks."""
    moments, solution = _least_squares(x, equations, threads)
    few = len(x) < equations.families.sizes + equations.intercept + SPARE_ROWS
    if few.all():
        return AllRows(solution, moments, few)
    passed = Screen(x, equations, moments, solution).passed(settings, threads)
    return AllRows(solution, moments, passed | few)


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
