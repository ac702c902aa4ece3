"""The errors of the coefficients, method by method.

A method has errors of its own if `own_kind` names it and `find_slopes` knows its law; any
other can still be asked for a bootstrap.
"""

from functools import partial

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.fitting.phases import Work, fold
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.uncertainty.heteroscedastic import heteroscedastic
from gaussnet.fitting.uncertainty.regressions import regress
from gaussnet.fitting.uncertainty.slopes import Slopes, between_batches, classical, medians
from gaussnet.kernels.families import Block
from gaussnet.methods.base import Equations, Estimator, Stripe
from gaussnet.methods.batches import BatchAverage, BatchMedian, Solutions
from gaussnet.methods.cauchy import Cauchy, CauchyTree
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.names import Method
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.types import FloatArray

WindowMethod = BatchAverage | BatchMedian | CauchyTree | Cauchy

WORKING_COPIES = 4
"""Arrays of the solutions' size that are held while medians and signs are taken."""


def own_kind(method: Method) -> str:
    """The kind of errors that a method has by default."""
    if isinstance(method, SequentialTrim):
        return "fitted-rows"
    if isinstance(method, LeastSquares):
        return "classical"
    if isinstance(method, BatchAverage):
        return "between-batch"
    if isinstance(method, BatchMedian | CauchyTree | Cauchy):
        return "order-statistic"
    raise SettingError(
        f"the method {method.name!r} has no standard errors of its own: give kind='bootstrap'"
    )


def find_slopes(
    method: Estimator, portion: Portion, work: Work, level: float, kind: str
) -> list[Slopes]:
    """Errors of the coefficients of a portion's families, size by size, roots first."""
    if kind == "classical":
        return [classical(found, level) for found in regress(portion, work)]
    if kind == "heteroscedastic":
        found = regress(portion, work)
        return [part.slopes for part in heteroscedastic(portion, found, work, level)]
    assert isinstance(method, WindowMethod)
    return _window_slopes(method, portion, work, level)


def kept_values(method: Estimator, portion: Portion) -> FloatArray:
    """Values that the errors of a method keep per row, (families,)."""
    sizes = portion.equations.families.sizes
    if isinstance(method, BatchAverage):
        return np.asarray(WORKING_COPIES * sizes / (sizes + method.extra_rows))
    return np.asarray(WORKING_COPIES * method.kept_values(sizes))


def _window_slopes(
    method: WindowMethod, portion: Portion, work: Work, level: float
) -> list[Slopes]:
    equations = portion.equations
    summarize = partial(_solutions, method=method, equations=equations)
    solutions: Solutions = fold(portion.pages, summarize, Solutions.merge, work.threads)
    factors = [part.upper for part in regress(portion, work)] if _whitens(method) else None
    blocks = equations.blocks(with_roots=True)
    roots = sum(block.size == 0 for block in blocks)
    slopes = []
    for index, block in enumerate(blocks):
        if block.size == 0:
            slopes.append(_no_slopes(block))
            continue
        found = solutions.of_block(index - roots)
        if isinstance(method, BatchAverage):
            slopes.append(between_batches(block, found, level))
            continue
        turn = None
        if factors is not None:
            found = factors[index] @ found
            turn = np.asarray(np.linalg.inv(factors[index]), dtype=np.float64)
        height = _overlapping_rows(method, block, equations.intercept)
        slopes.append(medians(block, found, turn, level, height))
    return slopes


def _solutions(stripe: Stripe, method: WindowMethod, equations: Equations) -> Solutions:
    found = method.solutions(stripe, equations)
    return found if isinstance(found, Solutions) else Solutions((tuple(found),))


def _whitens(method: WindowMethod) -> bool:
    return isinstance(method, Cauchy)


def _overlapping_rows(method: WindowMethod, block: Block, intercept: bool) -> int:
    """How many rows apart two windows must begin to share none; 1 if none are shared."""
    if isinstance(method, CauchyTree | Cauchy) and method.windows == "sliding":
        return method.rows_needed(block.size, intercept)
    return 1


def _no_slopes(block: Block) -> Slopes:
    empty, square = np.empty((block.count, 0)), np.empty((block.count, 0, 0))
    return Slopes(block, empty, square, empty, empty, empty, square)
