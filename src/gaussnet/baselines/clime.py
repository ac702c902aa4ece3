"""CLIME: the sparsest approximate inverse of the sample covariance, by linear programs."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gaussnet._types import FloatArray
from gaussnet.baselines.moments import checked_penalty, moments, penalty_rule
from gaussnet.errors import EstimationError
from gaussnet.model.gaussian import Gaussian


class BaselineWarning(UserWarning):
    """A baseline had to change its answer to make it a Gaussian."""


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
    columns = len(found.names)
    limit = (
        penalty_rule(*found.table.shape) if penalty is None else checked_penalty("penalty", penalty)
    )
    units = np.ones(columns) if standardise else found.scales
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
    unit = float(np.exp(np.log(np.diag(covariance)).mean()))
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
