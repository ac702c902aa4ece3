"""Undirected estimates of a Gaussian, to compare with: no graph is used.

`empirical` is the most likely Gaussian; the precision matrices of `graphical_lasso` and `clime` are
sparse.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.model.gaussian import Gaussian
from gaussnet.types import FloatArray

ROUNDS = 10_000
"""The graphical lasso gives up after so many."""
RELAXATION = 0.6
FOLDS = 3
FACTORS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Multiples of the rule that cross-validation tries."""


class BaselineWarning(UserWarning):
    """A baseline had to change its answer to make it a Gaussian."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What the baselines need to know of the data.

    `table` holds the rows less the mean (0 if not centred), each column divided by its
    scale, so that its mean square is 1.
    """

    names: tuple[str, ...]
    mean: FloatArray
    scales: FloatArray
    table: FloatArray

    @property
    def correlation(self) -> FloatArray:
        """The covariance of the table, (columns, columns), with the divisor `rows`."""
        correlation = self.table.T @ self.table / len(self.table)
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)

    def units(self, standardise: bool) -> FloatArray:
        """What the columns of the table are multiplied by: their scales, or 1 if standardised."""
        return np.ones(len(self.names)) if standardise else self.scales

    def gaussian(self, precision: FloatArray) -> Gaussian:
        """The Gaussian of the data if the table has this precision matrix."""
        inverse = np.linalg.inv(np.linalg.cholesky(precision))
        return Gaussian(self.names, self.mean, self.scales[:, None] * inverse.T)


def moments(data: ArrayLike, names: Sequence[str] | None, centre: bool) -> Moments:
    """Mean and scales of a table of rows; columns are X1, X2, ... unless named."""
    table = _table(data)
    columns = table.shape[1]
    labels = tuple(f"X{k + 1}" for k in range(columns)) if names is None else tuple(names)
    if len(labels) != columns:
        raise DataError(f"got {len(labels)} names for {columns} columns: give one name for each")
    largest = np.abs(table).max(axis=0)
    table /= np.where(largest > 0.0, largest, 1.0)
    mean = table.mean(axis=0) if centre else np.zeros(columns)
    table -= mean
    roots = np.sqrt(np.mean(table**2, axis=0))
    flat = np.flatnonzero(roots <= 1e-14 * np.abs(mean))
    if len(flat):
        raise EstimationError(
            f"the column {labels[flat[0]]!r} does not vary, so it has no variance: drop it"
        )
    table /= roots
    return Moments(labels, mean * largest, roots * largest, table)


def penalty_rule(rows: int, columns: int) -> float:
    r"""The penalty by the rule :math:`\sqrt{\log n / m}` for m rows and n columns.

    This is the size of the largest chance correlation among n independent columns.

    Examples
    --------
    >>> round(penalty_rule(1000, 100), 4)
    0.0679
    """
    return math.sqrt(math.log(columns) / rows)


def checked_penalty(name: str, value: float) -> float:
    """A penalty that a user gave: finite and not negative."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_number or not 0.0 <= value < math.inf:
        raise SettingError(f"got {name}={value!r}, expected a finite number of at least 0")
    return float(value)


def _geometric_mean(values: FloatArray) -> float:
    return float(np.exp(np.log(values).mean()))


def _table(data: ArrayLike) -> FloatArray:
    """The data as a new float64 table with at least one row and one column."""
    try:
        table = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the data hold something that is not a number: give numbers only") from None
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"got data of shape {table.shape}, expected (rows, columns), not empty")
    if not np.isfinite(table).all():
        raise DataError("the data hold NaN or infinite values: fill or drop them first")
    return table


def empirical(
    data: ArrayLike, *, names: Sequence[str] | None = None, centre: bool = False
) -> Gaussian:
    r"""The most likely Gaussian when nothing is known of its graph.

    .. math:: \hat\Sigma = \frac{1}{m} \sum_r (x_r - \hat\mu)(x_r - \hat\mu)'

    with :math:`\hat\mu = 0`, or the mean of the rows if `centre`. `data` is (rows, columns).

    Examples
    --------
    >>> empirical([[1.0, 0.0], [0.0, 2.0]]).covariance.round(12).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """
    found = moments(data, names, centre)
    rows, columns = found.table.shape
    if rows < columns + centre:
        raise EstimationError(
            f"{rows} rows give a singular covariance of {columns} columns: "
            f"give at least {columns + centre} rows"
        )
    # the factor comes from the rows themselves: squaring them would lose half the digits
    upper = np.asarray(np.linalg.qr(found.table, mode="r"))
    rounding = 4.0 * columns * np.finfo(np.float64).eps * np.linalg.norm(upper, axis=0)
    flat = np.flatnonzero(np.abs(np.diag(upper)) <= rounding)
    if len(flat):
        raise EstimationError(
            f"the column {found.names[flat[0]]!r} follows from the columns before it: drop it"
        )
    return Gaussian(found.names, found.mean, found.scales[:, None] * upper.T / math.sqrt(rows))


def clime(
    data: ArrayLike,
    *,
    penalty: float | None = None,
    names: Sequence[str] | None = None,
    centre: bool = False,
    standardise: bool = False,
) -> Gaussian:
    r"""The Gaussian whose precision matrix is a constrained l1-minimal inverse of S.

    .. math:: \min \sum_{ij} |\Omega_{ij}| \quad\text{subject to}\quad
              \max_{ij} |S \Omega - I|_{ij} \le \lambda

    S is the sample covariance of `data`, (rows, columns), or its correlation matrix with
    `standardise`. Each column of Omega is one linear program; of the two values at (i, j)
    and (j, i) the smaller in magnitude is kept. Without `penalty`, lambda is
    :math:`\sqrt{\log n / m}` for n columns and m rows.

    The matrix so made symmetric need not be positive definite. If it is not, its
    eigenvalues are raised to 1 over the largest eigenvalue of S (no direction of the answer
    then varies more than the sample does in any direction), and a `BaselineWarning` says so.

    Examples
    --------
    >>> rows = [[1.0, 0.9], [-1.0, -1.1], [0.5, -0.4], [-0.5, 0.6]]
    >>> clime(rows, penalty=0.0).covariance.round(3).tolist()
    [[0.625, 0.375], [0.375, 0.635]]
    """
    found = moments(data, names, centre)
    limit = (
        penalty_rule(*found.table.shape) if penalty is None else checked_penalty("penalty", penalty)
    )
    units = found.units(standardise)
    covariance = found.correlation * np.outer(units, units)
    omega = symmetrised(clime_columns(covariance, limit))
    omega = _mended(omega, 1.0 / float(np.linalg.eigvalsh(covariance)[-1]))
    return found.gaussian(omega * np.outer(units, units))


def clime_columns(covariance: FloatArray, penalty: float) -> FloatArray:
    """The CLIME matrix before it is made symmetric, (n, n) to (n, n), column by column.

    The l1 norm of each column b is least among all with max |S b - e| <= penalty; with b =
    u - v and u, v >= 0 this is a linear program. S is brought to unit size first.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    size = len(covariance)
    unit = _geometric_mean(np.diag(covariance))
    matrix = np.hstack((covariance, -covariance)) / unit
    answer = np.empty((size, size))
    for column, target in enumerate(np.eye(size)):
        result = milp(
            np.ones(2 * size),
            constraints=LinearConstraint(matrix, target - penalty, target + penalty),
            bounds=Bounds(0.0, np.inf),
        )
        if result.x is None:
            raise EstimationError(
                f"CLIME has no solution at penalty {penalty:.3g} for column {column + 1}: "
                "raise the penalty or give more rows"
            )
        answer[:, column] = (result.x[:size] - result.x[size:]) / unit
    return answer


def symmetrised(matrix: FloatArray) -> FloatArray:
    """Of the values at (i, j) and (j, i), the one of smaller magnitude."""
    return np.where(np.abs(matrix) <= np.abs(matrix.T), matrix, matrix.T)


def _mended(matrix: FloatArray, floor: float) -> FloatArray:
    """The matrix itself if positive definite, else with no eigenvalue below the floor."""
    values, vectors = np.linalg.eigh(matrix)
    rounding = len(values) * np.finfo(np.float64).eps * float(np.abs(values).max())
    if values[0] > rounding:
        return matrix
    low = int(np.sum(values < floor))
    warnings.warn(
        f"the symmetric CLIME matrix is not positive definite (smallest eigenvalue "
        f"{values[0]:.3g}): {low} of {len(values)} eigenvalues were raised to {floor:.3g}",
        BaselineWarning,
        stacklevel=3,
    )
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


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
    units = found.units(standardise)
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
    unit = _geometric_mean(np.diag(covariance))
    return lasso_solution(covariance / unit, alpha / unit).precision / unit


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where the solver stands: a sparse matrix, the scaled multipliers and the step."""

    precision: FloatArray
    multipliers: FloatArray
    step: float


def lasso_solution(
    covariance: FloatArray,
    alpha: float,
    *,
    start: State | None = None,
    tolerance: float = 1e-8,
    rounds: int = ROUNDS,
) -> State:
    """The precision matrix at which the penalised likelihood is greatest.

    One round takes the likelihood's step, an eigenvalue problem with a positive solution
    whatever the matrix, then the penalty's step, soft thresholding, until the two agree.
    """
    identity = np.eye(len(covariance))
    penalties = alpha * (1.0 - identity)
    state = start or State(identity, np.zeros_like(identity), 1.0)
    for count in range(rounds):
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
        if count < rounds // 2:
            state = _balanced(state, apart, moved)
    raise EstimationError(
        f"the graphical lasso did not settle within {rounds} rounds: raise alpha, or drop a "
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
    unit = _geometric_mean(np.mean(table**2, axis=0))
    losses = np.zeros(len(FACTORS))
    for fold in range(FOLDS):
        left_out = np.arange(rows) % FOLDS == fold
        train, test = _second_moments(table[~left_out]), _second_moments(table[left_out])
        state = None
        for index, factor in enumerate(FACTORS):
            state = lasso_solution(train / unit, factor * rule / unit, start=state, tolerance=1e-5)
            log_det = np.linalg.slogdet(state.precision)[1]
            losses[index] += np.sum(test / unit * state.precision) - log_det
    return float(rule * FACTORS[int(np.argmin(losses))])


def _second_moments(table: FloatArray) -> FloatArray:
    return np.asarray(table.T @ table / len(table))
