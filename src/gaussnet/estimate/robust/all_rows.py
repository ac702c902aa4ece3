"""Least squares of all families over all rows, and which of them need nothing more."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gaussnet._types import BoolArray, Rows
from gaussnet.estimate.equations import Equations, cut_stripes
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.robust.checks import SPARE_ROWS, Limits
from gaussnet.estimate.robust.screening import Screen
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.solution import Estimator, Solution
from gaussnet.kernels.threads import merge_in_order, thread_map

LARGEST_PART = 1 << 22
"""Residuals that are looked at together, at most (unless one family has more)."""


class AllRows(NamedTuple):
    """Least squares over all rows, and which families look clean, (families,)."""

    solution: Solution
    clean: BoolArray


def learn_all_rows(
    x: Rows, equations: Equations, settings: SequentialTrim, threads: int
) -> AllRows:
    """Least squares of every family over all rows, and whether it passes the checks."""
    moments, solution = _least_squares(x, equations, threads)
    sizes = equations.families.sizes + equations.intercept

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def screen(part: slice) -> BoolArray:
        limits = Limits.each(len(x), sizes[part], settings)
        chosen = Screen.of(equations, moments, solution, part)
        return chosen.passed(x, settings.gate_level, limits)

    step = max(1, LARGEST_PART // max(len(x), 1))
    parts = [slice(first, min(first + step, len(sizes))) for first in range(0, len(sizes), step)]
    passed = [np.zeros(0, dtype=bool), *thread_map(screen, parts, threads)]
    return AllRows(solution, np.concatenate(passed) | (len(x) < sizes + SPARE_ROWS))


def _least_squares(x: Rows, equations: Equations, threads: int) -> tuple[Moments, Solution]:
    """Moments and least squares; families that lost digits are learnt again with care."""

    def summary(estimator: Estimator, equations: Equations) -> Any:
        summarize = partial(estimator.summarize, equations=equations)
        return merge_in_order(thread_map(summarize, cut_stripes(x), threads), estimator.merge)

    estimator = LeastSquares()
    moments = summary(estimator, equations)
    solution = estimator.solve(moments, equations)
    doubtful = solution.doubtful
    if doubtful is None or len(doubtful) == 0:
        return moments, solution
    careful = estimator.careful()
    part = Equations(equations.families.subset(doubtful), equations.intercept)
    again = careful.solve(summary(careful, part), part)
    return moments, solution.patched(equations.families, doubtful, again)
