"""Errors of means and covariances of nodes that covary, where equations are correlated."""

from typing import TYPE_CHECKING

import numpy as np

from gaussnet.methods.groups import Fitted
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.standard_errors.observed_information import ParameterLaw


def joint_root_errors(
    fit: "Fit", firsts: IntArray, lasts: IntArray
) -> tuple[FloatArray, FloatArray]:
    r"""Standard errors of the means of `firsts`, and of covariances of `firsts` and `lasts`.

    By the delta method from the law of all parameters, as missing or flagged cells leave it. With
    T the inverse of I - B, and constants :math:`c_i` taken at the means of the parents,

    .. math:: \partial \mu_j / \partial c_i = T_{ji}, \qquad
              \partial \Sigma_{jk} / \partial b_{ip} = T_{ji} \Sigma_{pk} + T_{ki} \Sigma_{pj},
              \qquad \partial \Sigma_{jk} / \partial s_i^2 = T_{ji} T_{ki}.
    """
    from gaussnet.methods.standard_errors.observed_information import Scores  # much to import

    purpose = "ask for errors where the data are, or fit again"
    fitted = Fitted(fit.network, fit.scale, fit.data_or_sums(purpose), fit.trimming)
    law = fit.method.parameter_law(fitted)
    network, scores = fit.network, Scores.of(law.model.families)
    totals = np.linalg.inv(np.eye(len(fit.dag)) - network.to_matrix()).T  # (node, noise)
    covariance = network.covariance()
    means, products = np.zeros((2, len(firsts), len(law.covariance)))
    means[:, scores.constants] = totals[np.ix_(firsts, law.nodes)]
    products[:, scores.variances] = (totals[firsts] * totals[lasts])[:, law.nodes]
    children, parents = law.nodes[law.model.families.family_of_edge], law.model.families.parents
    products[:, scores.slopes] = (
        totals[np.ix_(firsts, children)] * covariance[np.ix_(lasts, parents)]
        + totals[np.ix_(lasts, children)] * covariance[np.ix_(firsts, parents)]
    )
    return _deviations(law, means), _deviations(law, products)


def _deviations(law: "ParameterLaw", gradients: FloatArray) -> FloatArray:
    """Standard errors of functions of the parameters with these gradients, (functions,)."""
    used = np.flatnonzero(gradients.any(axis=0))
    slopes, inner = gradients[:, used], law.covariance[np.ix_(used, used)]
    return np.asarray(np.sqrt(np.einsum("fp,pq,fq->f", slopes, inner, slopes)))


def normal_ends(errors: FloatArray, values: FloatArray, level: float) -> FloatArray:
    """Standard error, low and high by the normal law, (3, values)."""
    from scipy.special import ndtri  # slow to import

    reach = errors * float(ndtri(0.5 + 0.5 * level))
    return np.stack((errors, values - reach, values + reach))


def log_ends(errors: FloatArray, values: FloatArray, level: float) -> FloatArray:
    """Standard error, low and high of variances, whose logarithms are normal, (3, values)."""
    from scipy.special import ndtri  # slow to import

    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(errors / values * float(ndtri(0.5 + 0.5 * level)))
    return np.stack((errors, values / factor, values * factor))
