"""Standardised coefficients with their own standard errors, by the delta method.

In standard deviations of the rows, or in those that the network implies, which are lavaan's. Both
are the same where the graph implies no false covariance between the parents of a node.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaussnet.data.table import ask
from gaussnet.fitting.repetitions import BootstrapErrors, percentiles
from gaussnet.fitting.residuals import excess_kurtosis
from gaussnet.fitting.uncertainty import (
    EXPECTED,
    PURPOSE,
    Errors,
    bootstrap_fits,
    bootstrap_networks,
    check_repetitions,
    checked_kind,
    find_errors,
)
from gaussnet.methods.moments import MomentsPass, unpacked
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.moments import Moments


class Standardized(NamedTuple):
    """Standardised coefficients, (edges,) each; NaN where there is none."""

    values: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray
    drawn: BootstrapErrors | None = None
    """What the repetitions say, where the errors are those of the bootstrap."""


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


class SampleScales(NamedTuple):
    """Standard deviations in the rows that serve a child's equation, by edge.

    Without intercept they are root mean squares, as deviations are from 0.
    """

    ratios: FloatArray
    """Of parent to child."""
    correlations: FloatArray
    """Of parent and child."""
    left: FloatArray
    """Share of the child's variance that its equation leaves."""
    rows: FloatArray


def find_sample_scales(fit: "Fit") -> SampleScales | None:
    """Standard deviations of the rows; None where these do not speak for the network.

    That is so without the rows, with missing cells filled by likelihood, and for methods that
    distrust some values: a single wild value makes a standard deviation meaningless.
    """
    gone = fit.data is None and not fit.rests_on_sums
    if not fit.maximizes_likelihood or fit.method.fills_holes or gone:
        return None
    families, found = fit.dag.families, np.empty((4, len(fit.dag.families.parents)))
    for group in fit.data_or_sums(PURPOSE).groups()[0]:
        moments: Moments = ask(group.table, MomentsPass(group.equations))
        own = moments.families
        for index, node in enumerate(group.nodes.tolist()):
            packed = slice(*own.product_offsets[index : index + 2].tolist())
            square = unpacked(moments.products[packed])
            edges = families.edges_of(np.array([node]))
            with np.errstate(divide="ignore", invalid="ignore"):
                scales = np.sqrt(square.diagonal())
                found[0, edges] = scales[:-1] / scales[-1]
                found[1, edges] = square[-1, :-1] / (scales[:-1] * scales[-1])
                noise = fit.network.variance_array[node] / scales[-1] ** 2
                found[2, edges] = noise * moments.rows
            found[3, edges] = moments.rows
    return SampleScales(*found)


def shown_coefficients(fit: "Fit", implied: bool) -> FloatArray:
    """Standardised coefficients, in standard deviations of the rows where that makes sense."""
    scales = None if implied else fit.sample_scales
    if scales is None:
        return standardized_coefficients(fit.network)
    with np.errstate(invalid="ignore"):  # a constant child: 0 times infinity
        return np.asarray(fit.network.coefficient_array * scales.ratios)


def find_standardized(
    fit: "Fit", choice: tuple[str | None, float, int | None, int], implied: bool = False
) -> Standardized:
    """Standardised coefficients, their standard errors and intervals.

    Intervals are the estimate and so many standard errors to either side by the normal law, or
    those of the bootstrap.
    """
    from scipy.special import ndtri  # slow to import

    kind, level, repetitions, seed = choice
    chosen = checked_kind(fit, kind, level)
    values = shown_coefficients(fit, implied)
    if chosen == "bootstrap":
        check_repetitions(fit, repetitions, level)
        data = fit.required_data(PURPOSE)
        if implied or fit.sample_scales is None:
            networks = bootstrap_networks(fit, data, repetitions, seed)
            found = np.array([standardized_coefficients(one) for one in networks])
        else:
            drawn = bootstrap_fits(fit, data, repetitions, seed)
            found = np.array([shown_coefficients(one, implied) for one in drawn])
        own = percentiles(found, values, level, fit.method.uses_row_order)
        return Standardized(values, own.errors, own.low, own.high, own)
    scales, plain = None if implied else fit.sample_scales, find_errors(fit, chosen, level)
    if scales is None:
        errors = _errors(fit.network, values, plain)
    else:
        errors = _sample_errors(values, scales, plain.table[0][0])
    if allows_for_tails(chosen) and (scales is not None or chosen != "heteroscedastic"):
        errors = np.sqrt(errors**2 + _tail_squares(fit, values))
    reach = errors * float(ndtri(0.5 + 0.5 * level))
    return Standardized(values, errors, values - reach, values + reach)


def allows_for_tails(kind: str) -> bool:
    """Whether standard errors of this kind grow where noise has heavier tails than the Gaussian."""
    return kind not in {EXPECTED, "bootstrap"}  # the bootstrap has them in its rows


def _tail_squares(fit: "Fit", values: FloatArray) -> FloatArray:
    r"""What tails heavier than the Gaussian add to the squared standard errors, (edges,).

    .. math:: \sum_k \Big(\frac{\partial b}{\partial s_k^2}\Big)^2 \frac{\gamma_k s_k^4}{n}

    with :math:`\gamma_k` the excess kurtosis of the noise of node k: the fourth cumulants of rows
    are those of the noise, carried on by the total effects.
    """
    excess = excess_kurtosis(fit)
    if not excess.any():
        return np.zeros(len(values))
    network = fit.network
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes = _by_variances(network, values, _total_effects(network), network.covariance())
        more = excess * network.variance_array**2 / np.maximum(fit.details.rows, 1)
        return np.asarray(np.where(slopes == 0.0, 0.0, slopes**2 * more).sum(axis=1))


def _total_effects(network: GaussianNetwork) -> FloatArray:
    """Of the node in each row on that in each column, (nodes, nodes)."""
    return np.asarray(np.linalg.inv(np.eye(len(network.dag)) - network.to_matrix()))


def _by_variances(
    network: GaussianNetwork, values: FloatArray, totals: FloatArray, covariance: FloatArray
) -> FloatArray:
    """Derivatives of standardised coefficients by the noise variances, (edges, nodes)."""
    families = network.dag.families
    shares = (totals**2 / covariance.diagonal()).T  # (node k, noise i)
    change = shares[families.parents] - shares[families.family_of_edge]
    return np.asarray(0.5 * values[:, None] * change)


def _sample_errors(values: FloatArray, scales: SampleScales, errors: FloatArray) -> FloatArray:
    r"""Standard errors of coefficients in standard deviations of the rows, (edges,).

    .. math:: se(b)^2 = \frac{S_{jj}}{S_{ii}} se(a)^2
              + \frac{b^2}{n} \left(1 - r_{ij}^2 - \frac{2 s_i^2}{S_{ii}}\right)

    with S the covariance and r the correlation in the rows: how b moves with a and with the two
    standard deviations, whose covariances are those of Gaussian rows. The graph need not be right.
    With one parent b = r, and this is (1 - r^2)^2 / n.
    """
    more = values**2 * (1.0 - scales.correlations**2 - 2.0 * scales.left) / scales.rows
    return np.asarray(np.sqrt(np.maximum((scales.ratios * errors) ** 2 + more, 0.0)))


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
    totals = _total_effects(network)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own = spread[parents] / spread[owners]
        noise = _by_variances(network, values, totals, covariance)
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
