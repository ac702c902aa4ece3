"""How sure location and variance of the residuals are: mean and mean square."""

import numpy as np
from scipy.special import chdtri

from gaussnet.fitting.uncertainty.heteroscedastic import Heteroscedastic
from gaussnet.fitting.uncertainty.regressions import Regressions
from gaussnet.fitting.uncertainty.slopes import student
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray


class Spreads:
    """Phase 2's errors, node by node over the whole graph, filled portion by portion."""

    def __init__(self, families: Families, same_rows: bool) -> None:
        nodes = len(families)
        self.families = families
        self.same_rows = same_rows
        """Whether the coefficients come from the same rows."""
        self.rows = np.zeros(nodes)
        self.location_error, self.location_low, self.location_high = np.full((3, nodes), np.nan)
        self.noise, self.noise_error, self.noise_low, self.noise_high = np.full((4, nodes), np.nan)
        self.centres = np.zeros(len(families.parents))
        self.location_correlation = np.zeros(len(families.parents))
        self.offsets = np.concatenate(([0], np.cumsum(families.sizes**2)))
        self.covariances = np.zeros(int(self.offsets[-1]))

    def enter_parents(self, nodes: IntArray, centres: FloatArray, covariances: FloatArray) -> None:
        """Centres (families, p) and covariances (families, p, p) of nodes of one size."""
        self.centres[self.families.edges_of(nodes)] = centres.ravel()
        self.covariances[self._places(nodes, centres.shape[1])] = covariances

    def parents(self, nodes: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
        """What was entered for these nodes."""
        centres = self.centres[self.families.edges_of(nodes)].reshape(len(nodes), size)
        return centres, self.covariances[self._places(nodes, size)]

    def _places(self, nodes: IntArray, size: int) -> IntArray:
        square = np.arange(size * size).reshape(size, size)
        return np.asarray(self.offsets[nodes][:, None, None] + square)


def enter_mean_squares(
    spreads: Spreads, nodes: IntArray, found: list[Regressions], level: float
) -> None:
    r"""Mean and mean square: Student's t and chi-square from the least-squares residuals.

    .. math:: RSS / \chi^2_{1 - \alpha/2} \le s^2 \le RSS / \chi^2_{\alpha/2}

    Least squares has the smallest residuals whatever method found the coefficients, and
    their law is known exactly.
    """
    tail = 0.5 - 0.5 * level
    for own in found:
        at = nodes[own.block.families]
        spreads.rows[at] = own.rows
        error = np.sqrt(own.noise / own.rows)
        spreads.location_error[at] = error
        spreads.location_low[at] = spreads.location_high[at] = error * student(level, own.freedom)
        spreads.noise[at] = own.noise
        spreads.noise_error[at] = np.sqrt(2.0 / own.freedom)
        spreads.noise_low[at] = own.squares / chdtri(own.freedom, tail)
        spreads.noise_high[at] = own.squares / chdtri(own.freedom, 1.0 - tail)
        covariances = own.upper.transpose(0, 2, 1) @ own.upper / own.rows
        spreads.enter_parents(at, own.means[:, :-1], covariances)


def enter_heteroscedastic(
    spreads: Spreads, nodes: IntArray, found: list[Regressions], parts: list[Heteroscedastic]
) -> None:
    """Mean and mean square without a common variance: HC3, and the fourth moment.

    Replaces what `enter_mean_squares` entered; the variance's interval is symmetric in the
    logarithm.
    """
    for own, part in zip(found, parts, strict=True):
        at = nodes[own.block.families]
        spreads.location_error[at] = part.location_error
        spreads.location_low[at] = spreads.location_high[at] = part.location_distance
        if spreads.same_rows:
            edges = spreads.families.edges_of(at)
            spreads.location_correlation[edges] = part.location_correlation.ravel()
        spreads.noise_error[at] = part.variance_error
        spreads.noise_low[at] = own.noise * np.exp(-part.variance_distance)
        spreads.noise_high[at] = own.noise * np.exp(part.variance_distance)
