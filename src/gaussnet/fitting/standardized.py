"""Standardised coefficients with their own standard errors, by the delta method."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from gaussnet.fitting.uncertainty import (
    PURPOSE,
    Errors,
    bootstrap_networks,
    checked_kind,
    find_errors,
    percentiles,
)
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


class Standardized(NamedTuple):
    """Standardised coefficients, (edges,) each; NaN where there is none."""

    values: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray


def standardized_coefficients(network: GaussianNetwork) -> FloatArray:
    r"""Coefficients in standard deviations of child and parent, (edges,); NaN without any.

    .. math:: b_{ij} = a_{ij} \sqrt{\Sigma_{jj} / \Sigma_{ii}}

    with Sigma the covariance of the network: lavaan's "std.all".

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]", nodes="ab"), [2.0], [1.0, 12.0])
    >>> standardized_coefficients(network).round(12).tolist()
    [0.5]
    """
    spread = np.sqrt(network.covariance().diagonal())
    families = network.dag.families
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = spread[families.parents] / spread[families.family_of_edge]
        return np.asarray(network.coefficient_array * ratio)


def find_standardized(
    fit: "Fit", kind: str | None, level: float, repetitions: int, seed: int
) -> Standardized:
    """Standardised coefficients, their standard errors and intervals.

    Intervals are the estimate and so many standard errors to either side by the normal law, or
    those of the bootstrap.
    """
    chosen = checked_kind(fit, kind, level)
    values = standardized_coefficients(fit.network)
    if chosen == "bootstrap":
        data = fit.required_data(PURPOSE)
        drawn = bootstrap_networks(fit, data, repetitions, seed)
        found = np.array([standardized_coefficients(network) for network in drawn])
        table = percentiles(found, values, level, fit.method.uses_row_order)
        return Standardized(values, *table)
    errors = _errors(fit.network, values, find_errors(fit, chosen, level))
    reach = errors * float(ndtri(0.5 + 0.5 * level))
    return Standardized(values, errors, values - reach, values + reach)


def _errors(network: GaussianNetwork, values: FloatArray, found: Errors) -> FloatArray:
    r"""Standard errors of the standardised coefficients, (edges,).

    With T the total effects, :math:`\Sigma = T' D T`, and :math:`v_k = \log \Sigma_{kk}`,

    .. math:: \partial v_k / \partial a_{ij} = 2 T_{ik} \Sigma_{jk} / \Sigma_{kk}, \qquad
              \partial v_k / \partial s_i^2 = T_{ik}^2 / \Sigma_{kk},

    and b on the edge j -> i changes by :math:`b (da/a + dv_j/2 - dv_i/2)`. Estimates of different
    families are uncorrelated, unless the errors have a joint covariance; so are coefficients and
    variances, but for terms that vanish with symmetric noise and no missing cells.
    """
    families = network.dag.families
    parents, owners = families.parents, families.family_of_edge
    covariance = network.covariance()
    spread = np.sqrt(covariance.diagonal())
    totals = np.linalg.inv(np.eye(len(network.dag)) - network.to_matrix())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own = spread[parents] / spread[owners]
        shares = (totals**2 / covariance.diagonal()).T  # (node k, noise i)
        noise = 0.5 * values[:, None] * (shares[parents] - shares[owners])
        squares = np.where(noise == 0.0, 0.0, (noise * found.table[2][0]) ** 2).sum(axis=1)
        slopes = 2.0 * totals / covariance.diagonal()  # (family i, node k)

        def gradient(node: int) -> FloatArray:
            """By the coefficients of one family, (edges, parents)."""
            edges = families.edges_of(np.array([node]))
            change = slopes[node][:, None] * covariance[parents[edges]].T  # (node k, parents)
            by_own = 0.5 * values[:, None] * (change[parents] - change[owners])
            by_own[edges, np.arange(len(edges))] += own[edges]
            return np.asarray(by_own)

        if found.joint is not None:
            by_all = np.hstack([gradient(node) for node in range(len(network.dag))])
            return np.asarray(np.sqrt(squares + _quadratic(by_all, found.joint)))
        for nodes, covariances in found.covariances:
            for node, errors in zip(nodes.tolist(), covariances, strict=True):
                squares = squares + _quadratic(gradient(node), errors)
        return np.asarray(np.sqrt(squares))


def _quadratic(gradient: FloatArray, covariance: FloatArray) -> FloatArray:
    """g'Cg row by row; a coefficient that does not count must not spread its NaN."""
    if not np.isnan(covariance).any():
        return np.asarray(np.einsum("ei,ij,ej->e", gradient, covariance, gradient))
    weights = gradient[:, :, None] * gradient[:, None, :]
    return np.asarray(np.where(weights == 0.0, 0.0, weights * covariance).sum(axis=(1, 2)))
