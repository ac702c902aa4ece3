r"""How weak a random design can be: the law of W, where :math:`q = |z|^2 / W`."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.planning.phases import Phases
from gaussnet.planning.rules import gauss_beta, gauss_chi_square, gauss_normal


def smallest_weight(parents: int, phases: Phases, probability: float) -> float:
    """The value that W falls below with this probability.

    Without an intercept W ~ chi2(m - p + 1). With one, see `augmented_below`; a node without
    parents then has W = m exactly, and no event is needed.

    Examples
    --------
    >>> round(smallest_weight(5, Phases.shared(1000, intercept=False), 0.05), 1)
    923.8
    """
    rows = phases.first
    if parents == 0:
        return float(rows)
    from scipy.special import gammaincinv

    freedom = rows - parents + (not phases.intercept)
    start = 2.0 * float(gammaincinv(freedom / 2, probability))
    return _augmented_quantile(parents, rows, probability, start) if phases.intercept else start


def augmented_below(weight: float, parents: int, rows: int) -> float:
    r"""P(W <= weight) for a design of a constant and p standard normal columns.

    With u = (u_0, v) uniform on the sphere, g the mean of the rows and V ~ chi2(m - p),

    .. math:: 1/W = u_0^2/m + |v - u_0 g|^2 / V

    Given u and g this is a chi-square probability; u_0^2 ~ Beta(1/2, p/2) and
    |v - u_0 g|^2 are integrated by Gauss's rules (12 x 12 x 4 points).
    """
    return _Augmented.of(parents, rows).below(weight)


def _augmented_quantile(parents: int, rows: int, probability: float, start: float) -> float:
    """Solve below(w) = probability by secants in ln w; `start` is the law of u_0 = 0."""
    from scipy.special import ndtri

    law = _Augmented.of(parents, rows)
    goal = float(ndtri(probability))

    def miss(weight: float) -> float:
        return float(ndtri(max(law.below(weight), 1e-300))) - goal

    left, right = start, start * 1.001
    miss_left, miss_right = miss(left), miss(right)
    for _ in range(50):
        if abs(miss_right) < 1e-7 or miss_right == miss_left:
            break
        ratio = np.log(right / left) * miss_right / (miss_right - miss_left)
        left, miss_left = right, miss_right
        right = right * float(np.exp(np.clip(-ratio, -1.0, 1.0)))
        miss_right = miss(right)
    return right


@dataclass(frozen=True)
class _Augmented:
    """The points over which the conditional probabilities are averaged."""

    constants: FloatArray
    """u_0^2 / m"""
    lengths: FloatArray
    """|v - u_0 g|^2"""
    masses: FloatArray
    freedom: int

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, parents: int, rows: int) -> "_Augmented":
        squares, first = gauss_beta(0.5, parents / 2, 12)
        normals, second = gauss_normal(12)
        others, third = gauss_chi_square(parents - 1, 4)
        squares, normals = squares[:, None, None], normals[:, None]
        along = np.sqrt(1 - squares) - np.sqrt(squares / rows) * normals
        lengths = along**2 + squares * others / rows
        masses = first[:, None, None] * second[:, None] * third
        constants = np.broadcast_to(squares / rows, lengths.shape)
        return cls(constants.ravel(), lengths.ravel(), masses.ravel(), rows - parents)

    def below(self, weight: float) -> float:
        """P(W <= weight): V <= |v - u_0 g|^2 / (1/weight - u_0^2/m), surely if that is negative."""
        from scipy.special import gammainc

        room = 1 / weight - self.constants
        with np.errstate(divide="ignore"):
            bound = np.where(room > 0.0, self.lengths / room, np.inf)
        return float(self.masses @ gammainc(self.freedom / 2, bound / 2))
