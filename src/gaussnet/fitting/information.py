"""Standard errors of maximum likelihood from the expected information, as lavaan gives them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """Rows of each table are standard error, low and high."""

    coefficients: FloatArray
    """(3, edges)."""
    intercepts: FloatArray
    """(3, nodes)."""
    variances: FloatArray
    """(3, nodes)."""
    covariances: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    """Nodes of as many parents, and their coefficients' covariances, (nodes, p, p)."""
    joint: FloatArray | None = None
    """Families are not correlated."""
    freedom: FloatArray | None = None
    """The law is normal."""

    @property
    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coefficients, intercepts and variances."""
        return self.coefficients, self.intercepts, self.variances


def expected_errors(fit: "Fit", level: float) -> ExpectedErrors:
    r"""Errors from the inverse of the expected information, with normal quantiles.

    .. math:: C_i = \frac{s_i^2}{m_i} \Sigma_{pa(i)}^{-1}, \qquad
              se(c_i)^2 = \frac{s_i^2}{m_i} + \mu' C_i \mu, \qquad
              se(s_i^2) = s_i^2 \sqrt{2 / m_i}

    Sigma and mu are covariance and mean of the parents *in the network*, not in the rows, so
    that rows are not needed. "classical" uses those of the rows, and Student's t; both differ by
    terms of the order of 1 / rows where the graph is right.
    """
    from scipy.special import ndtri  # slow to import

    network, families = fit.network, fit.dag.families
    nodes, edges = len(fit.dag), len(families.parents)
    errors = np.zeros(edges), np.zeros(nodes), network.variance_array * _relative(fit)
    noise = network.variance_array / fit.details.rows
    covariance, mean, covariances = network.covariance(), network.mean(), []
    for size, chosen, columns in families.by_size:
        own = np.asarray(columns)[:, :size]
        inverse = _inverses(covariance[own[:, :, None], own[:, None, :]])
        found = noise[chosen][:, None, None] * inverse
        errors[0][families.edges_of(chosen)] = np.sqrt(np.diagonal(found, axis1=1, axis2=2)).ravel()
        shift = np.einsum("fi,fij,fj->f", mean[own], found, mean[own])
        errors[1][chosen] = np.sqrt(noise[chosen] + shift) * fit.intercept
        covariances.append((chosen, found))
    values = network.coefficient_array, network.intercept_array, network.variance_array
    point = float(ndtri(0.5 + 0.5 * level))
    parts = [
        np.stack((error, value - point * error, value + point * error))
        for error, value in zip(errors, values, strict=True)
    ]
    return ExpectedErrors(parts[0], parts[1], parts[2], covariances)


def _relative(fit: "Fit") -> FloatArray:
    """Standard errors of the noise variances relative to these, (nodes,)."""
    return np.asarray(np.sqrt(2.0 / fit.details.rows))


def _inverses(squares: FloatArray) -> FloatArray:
    """Inverses of covariances (families, p, p), taken at unit diagonal; NaN if singular."""
    lengths = np.sqrt(np.diagonal(squares, axis1=1, axis2=2))
    safe = np.where(lengths > 0.0, lengths, 1.0)
    unit = squares / safe[:, :, None] / safe[:, None, :]
    eps = np.finfo(np.float64).eps
    singular = np.array([np.linalg.cond(one) > 0.1 / eps if one.size else False for one in unit])
    singular = singular.astype(bool) | (lengths == 0.0).any(axis=1)
    unit[singular] = np.eye(squares.shape[1])
    found = np.linalg.inv(unit) / safe[:, :, None] / safe[:, None, :]
    found[singular] = np.nan
    return np.asarray(found)
