"""Which of the two ways a pair of distributions is compared: node by node, or dense."""

from typing import Protocol

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray
from gaussnet.errors import NetworkError
from gaussnet.graph.dag import shorten
from gaussnet.model.contrast import NetworkContrast
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.whitened import APART, Whitened

Distribution = GaussianNetwork | Gaussian

quiet = np.errstate(all="ignore")
"""Around every comparison: what overflows is checked at its end, not warned about on its way."""


class Contrast(Protocol):
    """Distribution Q as seen from distribution P."""

    @property
    def width(self) -> int:
        """Number of noise variables of P."""

    @property
    def apart(self) -> bool:
        """Whether P and Q share no mass."""

    def kl(self) -> float:
        """KL divergence from P to Q."""

    def bhattacharyya(self) -> float:
        """Bhattacharyya distance."""

    def log_ratios(self, noise: FloatArray) -> FloatArray:
        """log q/p at the points of P that this noise (rows, width) makes, (rows,)."""


def compare(p: Distribution, q: Distribution) -> Contrast:
    """The contrast of two distributions over the same names, in any order."""
    check_same_names(p, q)
    if isinstance(p, GaussianNetwork) and isinstance(q, GaussianNetwork):
        return NetworkContrast.between(p, q)
    if any(isinstance(one, GaussianNetwork) and not one.variance_array.all() for one in (p, q)):
        _ = [one.lower_factor for one in (p, q) if isinstance(one, Gaussian)]
        return APART
    place = {name: index for index, name in enumerate(names_of(p))}
    take = np.array([place[name] for name in names_of(q)], dtype=np.int64)
    p_mean, p_factor, p_volume = _parts(p)
    q_mean, _, q_volume = _parts(q)
    columns = np.column_stack((p_factor[take], p_mean[take] - q_mean))
    seen = _whiten(q, columns)
    return Whitened(seen[:, :-1], seen[:, -1], p_volume - q_volume)


def names_of(distribution: Distribution) -> tuple[str, ...]:
    """The names of the variables, in order."""
    if isinstance(distribution, GaussianNetwork):
        return distribution.dag.nodes
    return distribution.names


def check_same_names(p: Distribution, q: Distribution) -> None:
    """Refuse what is not a pair of distributions over the same names."""
    for one in (p, q):
        if not isinstance(one, GaussianNetwork | Gaussian):
            raise NetworkError(
                f"got {type(one).__name__}, expected a GaussianNetwork or a Gaussian to compare"
            )
    ours, theirs = set(names_of(p)), set(names_of(q))
    if ours != theirs:
        odd = sorted(ours ^ theirs)
        raise NetworkError(
            f"only one of the two distributions has {shorten(odd)}: compare distributions "
            "over the same names"
        )


def _parts(distribution: Distribution) -> tuple[FloatArray, FloatArray, float]:
    """Mean, square factor of the covariance, log of the factor's determinant."""
    if isinstance(distribution, Gaussian):
        lower = distribution.lower_factor
        return distribution.mean, lower, float(np.log(np.diag(lower)).sum())
    gaussian = distribution.to_gaussian()
    return gaussian.mean, gaussian.factor, 0.5 * float(np.log(distribution.variance_array).sum())


def _whiten(distribution: Distribution, columns: FloatArray) -> FloatArray:
    """Columns (names, any) in the coordinates where the distribution is standard normal."""
    if isinstance(distribution, Gaussian):
        from scipy.linalg import solve_triangular

        solved: FloatArray = solve_triangular(
            distribution.lower_factor, columns, lower=True, check_finite=False
        )
        return solved
    errors: FloatArray = kernels.residuals(
        columns.T, distribution.dag.families, distribution.coefficient_array
    )
    return errors / distribution.scales[:, None]
