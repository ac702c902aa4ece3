"""Missing cells in NumPy: what a network expects of them, and the information that they take away.

NaN marks a missing cell; there is one family for each column, in any order. With A the matrix of
the equations (row f holds 1 at the child of family f and minus its coefficients at the parents), s
the noise variances and e the row less the means, A e are the residuals and

    Omega = A' diag(1 / s) A

is the precision of a row. Given the cells that are there, the missing cells M have the covariance
V = (Omega_MM)^-1 and lie V (Omega e)_M below their means, where e is 0 at M.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import SINGULAR
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows


class Expected(NamedTuple):
    """What a network expects of some rows, given the cells that are there."""

    rows: FloatArray
    """The rows with conditional means at the missing cells, (rows, columns)."""
    log_likelihoods: FloatArray
    """Log density of the cells that are there, (rows,)."""
    products: FloatArray
    """Conditional covariances of the missing cells, added up over the rows, for each family's
    columns as packed lower triangles, (products,): added to the cross-products of the filled rows
    they give the expected cross-products."""


def expected_rows(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> Expected:
    r"""The E step: rows with their missing cells (NaN) filled in, as the network expects them.

    `coefficients` are (edges,) and `variances` (families,) in the order of the families; `means`
    are those of the columns, (columns,). Variances must be positive. Rows that come sorted by
    their missing cells are cheaper: neighbours with the same holes share a factorisation.

    .. math:: \log p(x_O) = -\tfrac12 \Big( |O| \log 2\pi + \sum_f \log s_f
              + \log \det \Omega_{MM} + \sum_f \hat r_f^2 / s_f \Big)

    where r are the residuals of the row as filled in.
    """
    data = np.array(x, dtype=np.float64, order="C")
    equations = equation_matrix(families, coefficients)
    precision = equations.T @ (equations / variances[:, None])
    missing = np.isnan(data)
    rest = np.where(missing, 0.0, data - means)
    pulls = rest @ precision
    added = np.zeros_like(precision)
    log_dets = np.zeros(len(data))
    for cells, rows in _patterns(missing):
        factor = _factor(precision[np.ix_(cells, cells)])
        inverse = np.linalg.inv(factor)
        covariance = inverse.T @ inverse
        rest[np.ix_(rows, cells)] = -pulls[np.ix_(rows, cells)] @ covariance
        log_dets[rows] = 2.0 * np.log(np.diag(factor)).sum()
        added[np.ix_(cells, cells)] += len(rows) * covariance
    residuals = rest @ equations.T
    known = x.shape[1] - missing.sum(axis=1)
    squares = (residuals * residuals / variances).sum(axis=1)
    constant = float(np.log(variances).sum())
    likelihoods = -0.5 * (known * np.log(2.0 * np.pi) + constant + log_dets + squares)
    row, column = (families.columns[side] for side in families.product_columns)
    return Expected(np.where(missing, means + rest, data), likelihoods, added[row, column])


def missing_information(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    r"""Covariance of the complete rows' scores given the cells that are there, added up over rows.

    What Louis' identity takes away from the expected information of complete rows. Each family
    has p + 2 scores, in the order coefficients, constant, variance:

    .. math:: r\, e_1, \dots, r\, e_p, \quad r, \quad \tfrac12 r^2

    with r its residual and e the parents less their means; divided by s, s and s^2 they are
    derivatives of the log-likelihood. Gives (scores, scores), family after family. Products of
    two Gaussian variables each have the covariance

    .. math:: \mathrm{cov}(yz, y'z') = \bar y \bar y' c_{zz'} + \bar y \bar z' c_{zy'}
              + \bar z \bar y' c_{yz'} + \bar z \bar z' c_{yy'} + c_{yy'} c_{zz'} + c_{yz'} c_{zy'}.
    """
    data = np.array(x, dtype=np.float64, order="C")
    equations = equation_matrix(families, coefficients)
    precision = equations.T @ (equations / variances[:, None])
    missing = np.isnan(data)
    rest = np.where(missing, 0.0, data - means)
    pulls = rest @ precision
    variables = _score_variables(families, equations)
    first, second, halves = variables
    total = np.zeros((len(halves), len(halves)))
    for cells, rows in _patterns(missing):
        if not len(cells):
            continue
        inverse = np.linalg.inv(_factor(precision[np.ix_(cells, cells)]))
        covariance = inverse.T @ inverse
        rest[np.ix_(rows, cells)] = -pulls[np.ix_(rows, cells)] @ covariance
        left, right = first[:, cells] @ covariance, second[:, cells] @ covariance
        yy, yz = left @ first[:, cells].T, left @ second[:, cells].T
        zy, zz = right @ first[:, cells].T, right @ second[:, cells].T
        own = np.column_stack((rest[rows], np.ones(len(rows))))
        y, z = own[:, :-1] @ first.T, own @ _with_constant(second, families).T
        total += (y.T @ y) * zz + (y.T @ z) * zy + (z.T @ y) * yz + (z.T @ z) * yy
        total += len(rows) * (yy * zz + yz * zy)
    return np.asarray(halves[:, None] * halves * total)


def equation_matrix(families: Families, coefficients: FloatArray) -> FloatArray:
    """Row f gives the residual of family f: 1 at its child, minus its coefficients."""
    matrix = np.zeros((len(families), len(families)))
    matrix[np.arange(len(families)), families.children] = 1.0
    matrix[families.family_of_edge, families.parents] = -coefficients
    return matrix


def _score_variables(
    families: Families, equations: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The two variables of each score as combinations of columns, (scores, columns) each, and
    what their product is multiplied by."""
    count = len(families.parents) + 2 * len(families)
    own = np.repeat(np.arange(len(families)), families.sizes + 2)
    first, second, factors = equations[own], np.zeros((count, len(families))), np.ones(count)
    starts = families.offsets[:-1] + 2 * np.arange(len(families))
    edges = np.arange(len(families.parents)) + 2 * families.family_of_edge
    second[edges, families.parents] = 1.0
    last = starts + families.sizes + 1
    second[last], factors[last] = equations, 0.5
    return first, second, factors


def _with_constant(second: FloatArray, families: Families) -> FloatArray:
    """The second variables with one more column, 1 where the variable is the constant."""
    constant = np.zeros((len(second), 1))
    constant[families.offsets[1:] + 2 * np.arange(len(families))] = 1.0
    return np.hstack((second, constant))


def _patterns(missing: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Each set of missing cells, and the rows that have it."""
    if not len(missing):
        return
    packed = np.packbits(missing, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    counts = np.bincount(which.ravel(), minlength=len(first))
    for index, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield np.flatnonzero(missing[index]), rows


def _factor(precision: FloatArray) -> FloatArray:
    """Lower Cholesky factor; a pivot that is rounding error counts as that."""
    try:
        return np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
    except np.linalg.LinAlgError:
        scale = np.sqrt(np.diag(precision))
        unit = precision / scale / scale[:, None]
        values, vectors = np.linalg.eigh(unit)
        mended = vectors * np.maximum(values, SINGULAR * len(values)) @ vectors.T
        return np.asarray(scale[:, None] * np.linalg.cholesky(mended))
