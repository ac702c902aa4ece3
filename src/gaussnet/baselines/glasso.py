"""The graphical lasso, solved by the alternating direction method of multipliers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gaussnet._types import FloatArray
from gaussnet.baselines.moments import checked_penalty, moments, penalty_rule
from gaussnet.errors import EstimationError
from gaussnet.model.gaussian import Gaussian

ITERATIONS = 20_000
FOLDS = 3
FACTORS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Multiples of the rule that cross-validation tries."""


def graphical_lasso(
    data: ArrayLike,
    *,
    alpha: float | Literal["cross-validated"] | None = None,
    names: Sequence[str] | None = None,
    centre: bool = False,
    standardise: bool = False,
) -> Gaussian:
    r"""The Gaussian whose precision matrix is likely and has many zeros.

    .. math:: \min_{\Theta \succ 0} \; \mathrm{tr}(S \Theta) - \log\det\Theta
              + \alpha \sum_{i \ne j} |\Theta_{ij}|

    S is the sample covariance of `data`, (rows, columns). Without `alpha` the penalty is
    :math:`\sqrt{\log n / m}` for n columns and m rows, a rule for columns with noise of
    about unit variance; ``alpha="cross-validated"`` tries multiples of it on three folds of
    the rows (every third row) and keeps the likeliest. With `standardise`, S is the
    correlation matrix and the answer does not depend on the units of the columns.

    The solver works on any S with a positive diagonal, however ill-conditioned.

    Examples
    --------
    >>> rows = [[1.0, 0.9], [-1.0, -1.1], [0.5, -0.4], [-0.5, 0.6]]
    >>> graphical_lasso(rows, alpha=0.2).covariance.round(3).tolist()
    [[0.625, 0.175], [0.175, 0.635]]
    """
    found = moments(data, names, centre)
    units = np.ones(len(found.names)) if standardise else found.scales
    if alpha is None:
        penalty = penalty_rule(*found.table.shape)
    elif alpha == "cross-validated":
        penalty = _cross_validated(found.table, units)
    else:
        penalty = checked_penalty("alpha", alpha)
    state = solve(found.correlation, penalty / np.outer(units, units))
    return found.gaussian(state.precision)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where the solver stands: a sparse matrix, the scaled multipliers and the step."""

    precision: FloatArray
    multipliers: FloatArray
    step: float


def solve(
    correlation: FloatArray,
    penalties: FloatArray,
    *,
    start: State | None = None,
    tolerance: float = 1e-7,
) -> State:
    """The precision matrix at which the penalised likelihood is greatest.

    `correlation` and `penalties` are (n, n); the diagonal is not penalised. One round takes
    the likelihood's step, an eigenvalue problem with a positive solution whatever the
    matrix, then the penalty's step, soft thresholding, until the two agree.
    """
    weights = penalties - np.diag(np.diag(penalties))
    size = len(correlation)
    state = start or State(np.eye(size), np.zeros((size, size)), 1.0)
    for _ in range(ITERATIONS):
        likely = _likelihood_step(correlation, state)
        raised = likely + state.multipliers
        sparse = np.sign(raised) * np.maximum(np.abs(raised) - weights / state.step, 0.0)
        multipliers = raised - sparse
        apart = _relative(likely - sparse, sparse)
        moved = _relative(sparse - state.precision, multipliers)
        state = _balanced(State(sparse, multipliers, state.step), apart, moved)
        if max(apart, moved) < tolerance and _is_positive_definite(sparse):
            return state
    raise EstimationError(
        f"the graphical lasso did not settle within {ITERATIONS} rounds: raise alpha, or drop "
        "a column that nearly follows from the others"
    )


def _likelihood_step(correlation: FloatArray, state: State) -> FloatArray:
    target = state.step * (state.precision - state.multipliers) - correlation
    values, vectors = np.linalg.eigh(target)
    roots = np.sqrt(values**2 + 4.0 * state.step)
    # the two forms of the positive root: neither subtracts numbers of like size
    positive = np.where(values > 0.0, (values + roots) / (2.0 * state.step), 2.0 / (roots - values))
    return np.asarray((vectors * positive) @ vectors.T)


def _balanced(state: State, apart: float, moved: float) -> State:
    """The step doubled or halved when one of the two errors lags far behind the other."""
    if apart > 10.0 * moved:
        return State(state.precision, state.multipliers / 2.0, state.step * 2.0)
    if moved > 10.0 * apart:
        return State(state.precision, state.multipliers * 2.0, state.step / 2.0)
    return state


def _relative(difference: FloatArray, size: FloatArray) -> float:
    return float(np.linalg.norm(difference) / max(float(np.linalg.norm(size)), 1e-300))


def _is_positive_definite(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _cross_validated(rows: FloatArray, units: FloatArray) -> float:
    """The multiple of the rule under which left-out rows are likeliest; rows in unit scale."""
    if len(rows) < 2 * FOLDS:
        raise EstimationError(
            f"cross-validation needs at least {2 * FOLDS} rows, got {len(rows)}: give alpha"
        )
    rule = penalty_rule(*rows.shape)
    losses = np.zeros(len(FACTORS))
    for fold in range(FOLDS):
        left_out = np.arange(len(rows)) % FOLDS == fold
        train, test = rows[~left_out], rows[left_out]
        covariance, witness = train.T @ train / len(train), test.T @ test / len(test)
        state = None
        for index, factor in enumerate(FACTORS):
            penalties = factor * rule / np.outer(units, units)
            state = solve(covariance, penalties, start=state, tolerance=1e-4)
            log_det = np.linalg.slogdet(state.precision)[1]
            losses[index] += np.sum(witness * state.precision) - log_det
    return float(rule * FACTORS[int(np.argmin(losses))])
