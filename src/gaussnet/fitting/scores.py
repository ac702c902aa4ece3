"""Scores of a fit on its own rows."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from gaussnet.errors import EstimationError
from gaussnet.model.scores import log_likelihoods
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

Likelihoods = tuple[FloatArray, IntArray]
"""Log-likelihood of each node, and the rows it rests on."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the rows of a fit say about it, and how many numbers were learnt from them."""

    log_likelihood: float
    parameters: int
    """Coefficients that the rows determine, variances, and intercepts if there are any."""
    aic: float
    bic: float


class Scored:
    """The part of a fit that tells how well it explains its own rows."""

    @cached_property
    def scores(self) -> Scores:
        """Log-likelihood, number of parameters, AIC and BIC on the rows learnt from.

        Found when first asked for, in one more pass over the rows. AIC and BIC are on the scale
        of -2 log-likelihood, lower is better; bnlearn and pgmpy give -1/2 of that.

        Examples
        --------
        >>> import gaussnet as gn
        >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], gn.Dag.parse("y ~ x"))
        >>> fit.scores.parameters, round(fit.log_likelihood, 3), round(fit.bic, 3)
        (5, -0.18, 7.29)
        """
        return find_scores(cast("Fit", self))

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the rows learnt from."""
        return self.scores.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log-likelihood + 2 parameters; lower is better."""
        return self.scores.aic

    @property
    def bic(self) -> float:
        """The Bayesian criterion, -2 log-likelihood + parameters log(rows); lower is better."""
        return self.scores.bic


def find_scores(fit: "Fit") -> Scores:
    r"""Scores on all rows that the network was learnt from.

    .. math:: AIC = -2 \ell + 2 k, \qquad BIC = -2 \ell + \sum_i k_i \log m_i

    with :math:`k_i` the parameters of node i and :math:`m_i` its rows: all of them, but for
    ``missing="drop-by-node"``.
    """
    evidence = fit._evidence
    if evidence is None:
        raise EstimationError(
            "this fit no longer has the rows that it was learnt from, because it was copied or "
            "loaded: score it where the data are, or give rows to network.score"
        )
    sums, counts = evidence.fold(partial(log_likelihoods, fit.network), _add)
    total = float(sums.sum())
    parameters = fit.details.ranks + 1 + int(fit.intercept)
    count = int(parameters.sum())
    penalty = float((parameters * np.log(counts)).sum())
    return Scores(total, count, 2.0 * count - 2.0 * total, penalty - 2.0 * total)


def _add(left: Likelihoods, right: Likelihoods) -> Likelihoods:
    return left[0] + right[0], left[1] + right[1]
