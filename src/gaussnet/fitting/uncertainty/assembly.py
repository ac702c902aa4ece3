"""From errors of slopes, locations and spreads to those of a network's parameters."""

import numpy as np

from gaussnet.errors import EstimationError
from gaussnet.fitting.uncertainty.slopes import Slopes
from gaussnet.fitting.uncertainty.spread import Spreads
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray, IntArray

SAME = 1e-6
"""Coefficients found again differ by rounding at most, beside their size and error."""


class Assembly:
    """Standard errors and interval ends of all parameters, filled block by block.

    Rows of `coefficients`, `intercepts` and `variances` are standard error, low and high.
    """

    def __init__(self, network: GaussianNetwork, spreads: Spreads, level: float) -> None:
        self.network, self.spreads, self.level = network, spreads, level
        self.coefficients = np.full((3, len(network.coefficient_array)), np.nan)
        self.intercepts = np.full((3, len(network.variance_array)), np.nan)
        self.variances = np.full((3, len(network.variance_array)), np.nan)
        self.covariances: list[tuple[IntArray, FloatArray]] = []
        """Nodes of as many parents, and their coefficients' covariances, (nodes, p, p)."""

    @property
    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coefficients, intercepts and variances."""
        return self.coefficients, self.intercepts, self.variances

    def enter(self, nodes: IntArray, slopes: Slopes, intercept: bool) -> None:
        """The parameters of these nodes, all with as many parents."""
        edges = self.network.dag.families.edges_of(nodes)
        learnt = self.network.coefficient_array[edges].reshape(slopes.estimates.shape)
        found = self._combined(nodes, slopes)
        self._require_same(learnt, slopes, found[0][:, 1:])
        centres = np.column_stack((self.network.intercept_array[nodes], learnt))
        ends = np.stack((found[0], centres - found[1], centres + found[2]))
        self.coefficients[:, edges] = ends[:, :, 1:].reshape(3, -1)
        self.intercepts[:, nodes] = ends[:, :, 0] if intercept else 0.0
        self.covariances.append((nodes, slopes.covariance))
        self._enter_variances(nodes, slopes)

    def _combined(self, nodes: IntArray, slopes: Slopes) -> tuple[FloatArray, ...]:
        """Standard errors and distances down and up of (intercept, coefficients)."""
        spreads, size = self.spreads, slopes.block.size
        centres, _ = spreads.parents(nodes, size)
        weights = np.zeros((len(nodes), size + 1, size + 1))
        weights[:, 0, 0] = 1.0
        weights[:, 1:, 1:] = slopes.turn
        weights[:, 0, 1:] = -np.einsum("fp,fpc->fc", centres, slopes.turn)
        correlation = np.zeros_like(weights)
        correlation[:, 0, 0] = 1.0
        correlation[:, 1:, 1:] = slopes.correlation
        own = spreads.location_correlation[spreads.families.edges_of(nodes)]
        correlation[:, 0, 1:] = correlation[:, 1:, 0] = own.reshape(len(nodes), size)
        errors = np.column_stack((spreads.location_error[nodes], slopes.errors))
        low = np.column_stack((spreads.location_low[nodes], slopes.low))
        high = np.column_stack((spreads.location_high[nodes], slopes.high))
        return (
            combine(weights, errors, errors, correlation),
            combine(weights, low, high, correlation),
            combine(weights, high, low, correlation),
        )

    def _enter_variances(self, nodes: IntArray, slopes: Slopes) -> None:
        r"""Intervals of the variances as they are; standard errors with the coefficients' part.

        With C the covariance of the coefficients and M that of the parents, the residuals'
        mean square holds a quadratic form beyond that of least squares, whose variance is
        :math:`2 tr((CM - I s^2 / m)^2)`.
        """
        spreads, size = self.spreads, slopes.block.size
        rows, noise = spreads.rows[nodes], spreads.noise[nodes]
        added = slopes.covariance @ spreads.parents(nodes, size)[1]
        unit = np.where(noise > 0.0, noise, 1.0)  # fourth powers of the data may overflow
        excess = added / unit[:, None, None] - (noise / unit / rows)[:, None, None] * np.eye(size)
        squares = np.einsum("fij,fji->f", excess, excess)
        wandering = unit * np.sqrt(2.0 * np.maximum(squares, 0.0))
        estimates = self.network.variance_array[nodes]
        errors = np.hypot(estimates * spreads.noise_error[nodes], np.nan_to_num(wandering))
        low, high = spreads.noise_low[nodes], spreads.noise_high[nodes]
        self.variances[:, nodes] = np.stack((errors, low, high))

    def _require_same(self, learnt: FloatArray, slopes: Slopes, errors: FloatArray) -> None:
        known = np.isfinite(slopes.estimates) & np.isfinite(errors)
        gap = np.abs(learnt - slopes.estimates)
        size = np.abs(learnt).max(axis=1, keepdims=True, initial=0.0)
        if (gap > SAME * (size + errors))[known].any():
            raise EstimationError(
                "the data have changed since the network was learnt from them: fit again"
            )


def combine(
    weights: FloatArray, falling: FloatArray, rising: FloatArray, correlation: FloatArray
) -> FloatArray:
    r"""How far linear combinations may lie below their estimates, (families, combinations).

    .. math:: \sqrt{\sum_{ij} \rho_{ij} w_i d_i w_j d_j}

    `weights` are (families, combinations, coordinates). The distance d of a coordinate is
    `falling` (families, coordinates) where its weight is positive and `rising` where it is
    negative: each interval is combined with its own two sides.
    """
    distances = np.where(weights > 0.0, falling[:, None, :], rising[:, None, :])
    # A coordinate that does not count must not spread its NaN.
    arms = np.where(weights == 0.0, 0.0, weights * distances)
    squares = np.einsum("ftc,fcd,ftd->ft", arms, correlation, arms)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
