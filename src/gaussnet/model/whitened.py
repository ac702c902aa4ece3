"""Two Gaussians seen in the coordinates where the second is standard normal."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.errors import NetworkError

DENSE_NODES = 2_000
"""Up to this many nodes a singular value decomposition is made without being asked for."""

FEW_DIGITS = 1e-6
"""A KL below this, per node, is a difference of larger numbers with few digits left."""

WIDE_SPREAD = 1e6
"""Beyond this ratio of singular values the small ones have few digits left."""


@dataclass(frozen=True)
class Whitened:
    """P in the coordinates where Q is standard normal: ``matrix @ noise + shift``.

    `matrix` (k, k) is square, `log_determinant` is the log of its absolute determinant, known
    from the noise scales to more digits than the matrix could give. `apart` says that P and Q
    live on different hyperplanes, so that they share no mass; the rest then means nothing.
    """

    matrix: FloatArray
    shift: FloatArray
    log_determinant: float
    apart: bool = False

    @property
    def width(self) -> int:
        """Number of noise variables of P."""
        return len(self.shift)

    def kl(self) -> float:
        """KL divergence from P to Q.

        Equal to half the sum of ``v - 1 - log v`` over the squared singular values v, plus half
        the squared shift. Two ways round: the sum of squares keeps all digits of a large value,
        the singular values those of a small one.
        """
        if self.apart:
            return np.inf
        shape = 0.5 * float(np.square(self.matrix).sum() - self.width) - self.log_determinant
        shift = 0.5 * float(self.shift @ self.shift)
        if shape < FEW_DIGITS * self.width and self.width <= DENSE_NODES:
            values = self._decomposition[1]
            shape = 0.5 * float(excess((values - 1.0) * (values + 1.0)).sum())
        if np.isnan(shape + shift):
            raise too_far()
        return max(shape, 0.0) + shift

    def bhattacharyya(self) -> float:
        """Bhattacharyya distance, minus the log of the integral of sqrt(p q)."""
        if self.apart:
            return np.inf
        if not np.isfinite(self.shift).all():
            raise too_far()
        left, values = self._decomposition
        loads = (left.T @ self.shift) / np.hypot(1.0, values)
        if values.max(initial=1.0) < WIDE_SPREAD * values.min(initial=1.0):
            shape = 0.5 * float(np.log1p((1.0 - values) ** 2 / (2.0 * values)).sum())
        else:
            sums = np.log(np.hypot(1.0, values)) - 0.5 * np.log(2.0)
            shape = max(0.0, float(sums.sum()) - 0.5 * self.log_determinant)
        distance = shape + 0.25 * float(loads @ loads)
        if np.isnan(distance):
            raise too_far()
        return distance

    def log_ratios(self, noise: FloatArray) -> FloatArray:
        """log q/p at the points of P that this noise (rows, width) makes, (rows,)."""
        gaps = noise @ (self.matrix - np.eye(self.width)).T + self.shift
        return log_ratios_of_gaps(noise, gaps) + self.log_determinant

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, FloatArray]:
        """Left singular vectors and singular values of the matrix."""
        if not np.isfinite(self.matrix).all():
            raise too_far()
        left, values, _ = np.linalg.svd(self.matrix)
        return left, values


def too_far() -> NetworkError:
    """The error for two distributions whose comparison leaves the range of floating point."""
    return NetworkError(
        "the two distributions are too far apart to compare in floating point: rescale the "
        "variables"
    )


APART = Whitened(np.empty((0, 0)), np.empty(0), 0.0, apart=True)
"""Two distributions that share no mass."""


def log_ratios_of_gaps(noise: FloatArray, gaps: FloatArray) -> FloatArray:
    """Half the squared norm of each row of `noise` minus that of ``noise + gaps``, (rows,)."""
    ratios: FloatArray = -0.5 * np.einsum("ij,ij->i", gaps, 2.0 * noise + gaps)
    return ratios


def excess(t: FloatArray) -> FloatArray:
    r"""t - log(1 + t) for t > -1, never negative and exact to rounding also for tiny t.

    With :math:`u = t / (2 + t)`, :math:`\log(1 + t) = 2 (u + u^3/3 + u^5/5 + \dots)` and
    :math:`t - 2u = t u`; the series serves where |t| < 0.1.

    Examples
    --------
    >>> f"{excess(np.array([1e-9]))[0]:.12e}"
    '4.999999996667e-19'
    """
    near = np.abs(t) < 0.1
    u = np.where(near, t / (2.0 + t), 0.0)
    square = u * u
    tail = np.zeros_like(u)
    for odd in range(17, 1, -2):
        tail = tail * square + 1.0 / odd
    return np.where(near, u * (t - 2.0 * square * tail), t - np.log1p(np.where(near, 0.0, t)))
