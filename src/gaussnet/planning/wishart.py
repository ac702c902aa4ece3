r"""How weak a random design can be: the law of W, where :math:`q = |z|^2 / W`.

Without an intercept W ~ chi2(m - p + 1). With one, and p >= 1 parents, let u = (u_0, v) be
uniform on the sphere, g the mean of m standard normal rows and V ~ chi2(m - p); then

.. math:: 1/W = u_0^2/m + |v - u_0 g|^2 / V

Given u and g this is a chi-square law; :math:`u_0^2` ~ Beta(1/2, p/2) and
:math:`|v - u_0 g|^2` are integrated by Gauss's rules (10 x 8 x 2 points), which is made for the
lower tail of W: probabilities up to 0.1 are good to 0.1 % of themselves.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.planning.phases import Phases
from gaussnet.planning.rules import gauss_beta, gauss_chi_square, gauss_normal


@dataclass(frozen=True)
class Weights:
    """The law of W: 1/W = constants + lengths / V with the given masses, V ~ chi2(freedom)."""

    constants: FloatArray
    lengths: FloatArray
    masses: FloatArray
    freedom: int

    def below(self, weight: float) -> float:
        """P(W <= weight)."""
        from scipy.special import gammainc

        return float(self.masses @ gammainc(self.freedom / 2, self._limits(weight) / 2))

    def excess(self, weight: float) -> float:
        """E max(1/W - 1/weight, 0), by E[1/V; V < v] = P(chi2(k - 2) < v) / (k - 2)."""
        from scipy.special import gammainc

        if self.freedom <= 2:
            return float("inf")
        limits, room = self._limits(weight), 1 / weight - self.constants
        inverse = gammainc(self.freedom / 2 - 1, limits / 2) / (self.freedom - 2)
        inside = gammainc(self.freedom / 2, limits / 2)
        return float(self.masses @ np.maximum(self.lengths * inverse - room * inside, 0.0))

    def quantile(self, probability: float, tolerance: float = 1e-5) -> float:
        """The weight that W falls below with this probability, by secants in ln w.

        Good to `tolerance` in the normal score of the probability.
        """
        from scipy.special import gammaincinv, ndtri

        start = 2.0 * float(gammaincinv(self.freedom / 2, probability))
        if len(self.masses) == 1:
            return start
        goal = float(ndtri(probability))

        def miss(weight: float) -> float:
            return float(ndtri(max(self.below(weight), 1e-300))) - goal

        left, right = start, start * (1 + 0.1 / sqrt(self.freedom))
        miss_left, miss_right = miss(left), miss(right)
        for _ in range(50):
            if abs(miss_right) < tolerance or miss_right == miss_left:
                break
            ratio = np.log(right / left) * miss_right / (miss_right - miss_left)
            left, miss_left = right, miss_right
            right = right * float(np.exp(np.clip(-ratio, -1.0, 1.0)))
            miss_right = miss(right)
        return right

    def _limits(self, weight: float) -> FloatArray:
        """W <= weight where V is at most this; surely where 1/weight leaves no room."""
        room = 1 / weight - self.constants
        with np.errstate(divide="ignore"):
            return np.where(room > 0.0, self.lengths / room, np.inf)


@lru_cache(maxsize=1024)
def slope_weights(parents: int, phases: Phases) -> Weights:
    """W of the slopes alone: with an intercept the rows are centred, which costs one.

    Examples
    --------
    >>> round(slope_weights(5, Phases.shared(1000, intercept=False)).quantile(0.05), 1)
    923.7
    """
    freedom = phases.first - phases.intercept - parents + 1
    return Weights(np.zeros(1), np.ones(1), np.ones(1), freedom)


@lru_cache(maxsize=1024)
def design_weights(parents: int, phases: Phases) -> Weights:
    """W of the whole design of a node with parents, the constant included if there is one."""
    if not phases.intercept:
        return slope_weights(parents, phases)
    rows = phases.first
    squares, first = gauss_beta(0.5, parents / 2, 10)
    normals, second = gauss_normal(8)
    others, third = gauss_chi_square(parents - 1, 2)
    squares, normals = squares[:, None, None], normals[:, None]
    along = np.sqrt(1 - squares) - np.sqrt(squares / rows) * normals
    lengths = along**2 + squares * others / rows
    masses = first[:, None, None] * second[:, None] * third
    constants = np.broadcast_to(squares / rows, lengths.shape)
    return Weights(constants.ravel(), lengths.ravel(), masses.ravel(), rows - parents)
