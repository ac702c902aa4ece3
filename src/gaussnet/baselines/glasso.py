"""The graphical lasso, solved by the alternating direction method of multipliers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gaussnet._types import FloatArray
from gaussnet.baselines.empirical import empirical
from gaussnet.baselines.moments import checked_penalty, moments, penalty_rule
from gaussnet.errors import EstimationError
from gaussnet.model.gaussian import Gaussian

ROUNDS = 10_000
RELAXATION = 0.6
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

    Examples
    --------
    >>> rows = [[1.0, 0.9], [-1.0, -1.1], [0.5, -0.4], [-0.5, 0.6]]
    >>> graphical_lasso(rows, alpha=0.2).covariance.round(3).tolist()
    [[0.625, 0.175], [0.175, 0.635]]
    """
    found = moments(data, names, centre)
    units = np.ones(len(found.names)) if standardise else found.scales
    table = found.table * units
    if alpha is None:
        penalty = penalty_rule(*table.shape)
    elif alpha == "cross-validated":
        penalty = _cross_validated(table)
    else:
        penalty = checked_penalty("alpha", alpha)
    if penalty == 0.0:
        return empirical(data, names=names, centre=centre)
    precision = sparse_precision(found.correlation * np.outer(units, units), penalty)
    return found.gaussian(precision * np.outer(units, units))


def sparse_precision(covariance: FloatArray, alpha: float) -> FloatArray:
    """The graphical lasso's precision matrix for this covariance, (n, n) to (n, n)."""
    unit = float(np.exp(np.log(np.diag(covariance)).mean()))
    return solve(covariance / unit, alpha / unit).precision / unit


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where the solver stands: a sparse matrix, the scaled multipliers and the step."""

    precision: FloatArray
    multipliers: FloatArray
    step: float


def solve(
    covariance: FloatArray, alpha: float, *, start: State | None = None, tolerance: float = 1e-8
) -> State:
    """The precision matrix at which the penalised likelihood is greatest.

    One round takes the likelihood's step, an eigenvalue problem with a positive solution
    whatever the matrix, then the penalty's step, soft thresholding, until the two agree.
    """
    identity = np.eye(len(covariance))
    penalties = alpha * (1.0 - identity)
    state = start or State(identity, np.zeros_like(identity), 1.0)
    for count in range(ROUNDS):
        likely = _likelihood_step(covariance, state)
        ahead = likely + RELAXATION * (likely - state.precision) + state.multipliers
        sparse = np.sign(ahead) * np.maximum(np.abs(ahead) - penalties / state.step, 0.0)
        multipliers = ahead - sparse
        size = float(np.linalg.norm(sparse))
        apart = float(np.linalg.norm(likely - sparse)) / size
        # multipliers vanish where no penalty binds: then the matrix itself is the yardstick
        yardstick = max(float(np.linalg.norm(multipliers)), 1e-3 * size)
        moved = float(np.linalg.norm(sparse - state.precision)) / yardstick
        state = State(sparse, multipliers, state.step)
        if max(apart, moved) < tolerance and _is_positive_definite(sparse):
            return state
        if count < ROUNDS // 2:
            state = _balanced(state, apart, moved)
    raise EstimationError(
        f"the graphical lasso did not settle within {ROUNDS} rounds: raise alpha, or drop a "
        "column that nearly follows from the others"
    )


def _likelihood_step(covariance: FloatArray, state: State) -> FloatArray:
    target = state.step * (state.precision - state.multipliers) - covariance
    values, vectors = np.linalg.eigh(target)
    roots = np.sqrt(values**2 + 4.0 * state.step)
    # the two forms of the positive root: neither subtracts numbers of like size
    positive = np.where(values > 0.0, (values + roots) / (2.0 * state.step), 2.0 / (roots - values))
    return np.asarray((vectors * positive) @ vectors.T)


def _balanced(state: State, apart: float, moved: float) -> State:
    """The step doubled or halved when one of the two errors lags far behind the other."""
    if apart > 3.0 * moved:
        return State(state.precision, state.multipliers / 2.0, state.step * 2.0)
    if moved > 3.0 * apart:
        return State(state.precision, state.multipliers * 2.0, state.step / 2.0)
    return state


def _is_positive_definite(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _cross_validated(table: FloatArray) -> float:
    """The multiple of the rule under which left-out rows are likeliest."""
    rows = len(table)
    if rows < 2 * FOLDS:
        raise EstimationError(
            f"cross-validation needs at least {2 * FOLDS} rows, got {rows}: give alpha a number"
        )
    rule = penalty_rule(*table.shape)
    unit = float(np.exp(np.log(np.mean(table**2, axis=0)).mean()))
    losses = np.zeros(len(FACTORS))
    for fold in range(FOLDS):
        left_out = np.arange(rows) % FOLDS == fold
        train, test = _second_moments(table[~left_out]), _second_moments(table[left_out])
        state = None
        for index, factor in enumerate(FACTORS):
            state = solve(train / unit, factor * rule / unit, start=state, tolerance=1e-5)
            log_det = np.linalg.slogdet(state.precision)[1]
            losses[index] += np.sum(test / unit * state.precision) - log_det
    return float(rule * FACTORS[int(np.argmin(losses))])


def _second_moments(table: FloatArray) -> FloatArray:
    return np.asarray(table.T @ table / len(table))
