"""Points at which equations of several sets of rows can be compared.

Where parents are constant or collinear in some rows, these rows do not determine the coefficients.
They still say what a child is on average wherever its parents keep to what they are in the rows:
at c + d, with c the means of the parents and d no part in a combination that does not vary.
"""

from collections.abc import Sequence

import numpy as np

from gaussnet.types import FloatArray, IntArray

NO_VARIANCE = 1e-10
"""Eigenvalues of correlations below this are 0, where no rank is known."""
ROUNDING = 1e-12
"""Standard deviations below this share of the mean are those of a constant."""
APART = 1e-6
"""Means that differ by more than this share of a standard deviation are two."""


def constant_combinations(
    covariance: FloatArray, centres: FloatArray, rank: int | None = None
) -> FloatArray:
    """Combinations of parents that do not vary, as rows of coefficients, (size - rank, size).

    Examples
    --------
    >>> constant_combinations(np.diag([4.0, 0.0]), np.array([1.0, 3.0])).round(3).tolist()
    [[0.0, 1.0]]
    """
    lengths = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    varies = lengths > ROUNDING * np.abs(centres)
    scales = np.where(varies, lengths, 1.0)
    correlations = np.where(np.outer(varies, varies), covariance, 0.0) / np.outer(scales, scales)
    values, vectors = np.linalg.eigh(correlations)
    count = int((values <= NO_VARIANCE).sum()) if rank is None else len(values) - rank
    found = vectors[:, :count].T / scales
    return np.where(np.abs(vectors[:, :count].T) > APART, found, 0.0)


def common_point(
    wanted: FloatArray,
    scales: FloatArray,
    centres: Sequence[FloatArray],
    constant: Sequence[FloatArray],
) -> FloatArray | None:
    r"""The point nearest to `wanted` at which all sets of rows tell the mean of a child.

    .. math:: \min_p |(p - w) / s| \quad \text{with} \quad A_g (p - c_g) = 0 \text{ for all } g

    `scales` s are standard deviations of the parents, and each set of rows has its centres c and
    constant combinations A. None where there is no such point, as where a parent is constant at
    different values.

    Examples
    --------
    >>> means = [np.array([0.0]), np.array([5.0])]
    >>> fixed, free = np.array([[1.0]]), np.empty((0, 1))
    >>> common_point(np.array([2.5]), np.ones(1), means, [fixed, free]).tolist()
    [0.0]
    >>> common_point(np.array([2.5]), np.ones(1), means, [fixed, fixed]) is None
    True
    """
    units = np.where(scales > 0.0, scales, 1.0)
    rows = np.concatenate(constant) * units
    if not len(rows):
        return wanted
    gaps = (own @ (centre - wanted) for own, centre in zip(constant, centres, strict=True))
    lengths = np.linalg.norm(rows, axis=1)
    rows, targets = rows / lengths[:, None], np.concatenate(list(gaps)) / lengths
    moves = np.linalg.lstsq(rows, targets, rcond=NO_VARIANCE)[0]
    if np.abs(rows @ moves - targets).max() > APART:
        return None
    return np.asarray(wanted + units * moves)


def open_coefficients(constant: FloatArray) -> IntArray:
    """Places of the parents whose coefficients the rows leave open."""
    return np.flatnonzero(constant.any(axis=0))
