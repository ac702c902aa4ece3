"""How far apart two Gaussian networks or Gaussians are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gaussnet.errors import NetworkError, SettingError
from gaussnet.model.contrast import (
    DENSE_NODES,
    Contrast,
    Distribution,
    NetworkContrast,
    check_same_names,
    compare,
    too_far,
)
from gaussnet.model.equations import CACHED_VALUES, blocks
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import generator
from gaussnet.types import Seed

FIRST_LOOK = 2_000
"""Draws before the first look at the accuracy, at least."""

quiet = np.errstate(all="ignore")
"""Around every comparison: what overflows is checked at its end, not warned about on its way."""


@quiet
def kl_divergence(p: Distribution, q: Distribution) -> float:
    r"""Kullback-Leibler divergence from P to Q, in nats; never negative.

    .. math:: KL(P, Q) = E_P[\log p - \log q]

    The distributions are networks or Gaussians over the same names, in any order. Two networks
    are compared node by node without a dense matrix, whatever their graphs. Infinite where P
    and Q do not live on the same hyperplane: nodes of variance 0 that differ.

    Examples
    --------
    >>> from gaussnet.graph import Dag
    >>> dag = Dag.from_edges([("a", "b")])
    >>> p = GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0])
    >>> q = GaussianNetwork.from_arrays(dag, [1.5], [1.0, 1.0])
    >>> kl_divergence(p, q)
    0.125
    """
    return compare(p, q).kl()


@quiet
def kl_by_node(p: GaussianNetwork, q: GaussianNetwork) -> Mapping[str, float]:
    r"""What each node adds to the KL divergence of two networks with the same edges.

    .. math:: KL_i = \ln(\hat s/s) + \frac{s^2 - \hat s^2}{2 \hat s^2}
              + \frac{D' M D + e^2}{2 \hat s^2}

    with M the covariance of the parents under P, D the error of the coefficients and e that of
    the mean. No term is negative, and they sum to `kl_divergence`.

    Examples
    --------
    >>> from gaussnet.graph import Dag
    >>> dag = Dag.from_edges([("a", "b")])
    >>> p = GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0])
    >>> q = GaussianNetwork.from_arrays(dag, [1.5], [1.0, 1.0])
    >>> dict(kl_by_node(p, q))
    {'a': 0.0, 'b': 0.125}
    """
    for one in (p, q):
        if not isinstance(one, GaussianNetwork):
            raise NetworkError(
                f"got {type(one).__name__}, expected two GaussianNetworks: use kl_divergence"
            )
    check_same_names(p, q)
    contrast = NetworkContrast.between(p, q)
    if not contrast.same_edges:
        raise NetworkError(
            "the two networks do not have the same edges, so the KL divergence is no sum over "
            "nodes: use kl_divergence"
        )
    return MappingProxyType(dict(zip(p.dag.nodes, contrast.kl_terms.tolist(), strict=True)))


@quiet
def bhattacharyya(p: Distribution, q: Distribution) -> float:
    r"""Bhattacharyya distance; 0 for equal distributions, infinite for such as share no mass.

    .. math:: -\ln BC, \quad BC = \int \sqrt{p q}

    Forms a dense matrix (names, names) and its Cholesky factor, or singular values where the
    distributions are so near that these keep more digits. Two networks of 300 nodes and more are
    compared by a sparse factor where their graphs allow it: chains, trees, short edges.

    Examples
    --------
    >>> from gaussnet.model.gaussian import Gaussian
    >>> p, q = Gaussian(["a"], [0.0], [[1.0]]), Gaussian(["a"], [2.0], [[1.0]])
    >>> round(bhattacharyya(p, q), 12)
    0.5
    """
    return compare(p, q).bhattacharyya()


def hellinger(p: Distribution, q: Distribution) -> float:
    r"""Hellinger distance, from 0 for equal distributions to 1 for such as share no mass.

    .. math:: H = \sqrt{1 - BC}

    Examples
    --------
    >>> from gaussnet.model.gaussian import Gaussian
    >>> p, q = Gaussian(["a"], [0.0], [[1.0]]), Gaussian(["a"], [2.0], [[1.0]])
    >>> round(hellinger(p, q), 4)
    0.6273
    """
    return math.sqrt(-math.expm1(-bhattacharyya(p, q)))


@dataclass(frozen=True, slots=True)
class TotalVariation:
    """A total variation distance as far as it is known."""

    estimate: float
    """The mean over the samples; unbiased."""
    interval: tuple[float, float]
    """Holds the distance with at least the probability asked for, whatever P and Q."""
    lower: float
    """The distance is not less than this, for certain."""
    upper: float
    """The distance is not more than this, for certain."""
    samples: int = 0
    """Draws behind the estimate; 0 where none were needed."""


@quiet
def total_variation(
    p: Distribution,
    q: Distribution,
    *,
    samples: int = 100_000,
    seed: Seed = 0,
    level: float = 0.95,
    accuracy: float | None = None,
) -> TotalVariation:
    r"""Total variation distance of two distributions over the same names.

    .. math:: TV = E_P[\max(0, 1 - q/p)] = \tfrac12 \int |p - q|

    The estimate is the mean of that expression over `samples` draws of P. Its values lie in
    [0, 1], so Maurer and Pontil's empirical Bernstein bound (COLT 2009, theorem 4) on each side
    gives an interval that keeps its level at every sample size, also where few or no draws hit
    the part that differs; it is about half again as wide as one from the normal law, which does
    not. What the bounds rule out is cut off the interval, which takes nothing from its level:

    .. math:: 1 - BC \le TV \le \min(\sqrt{KL/2}, \sqrt{1 - e^{-KL}}, \sqrt{1 - BC^2})

    with KL taken both ways. BC needs a dense matrix and is left out above 2,000 names: then
    `lower` is 0.

    With an `accuracy`, 0.01 say, draws stop as soon as half the interval is at most this share of
    the estimate, and `samples` is the most there may be. The interval is looked at after some
    thousand draws, twice as many, and so on; each look has its part of the failures that `level`
    allows, so the interval keeps its level although the draws decide when to stop.

    Examples
    --------
    >>> from gaussnet.model.gaussian import Gaussian
    >>> p, q = Gaussian(["a"], [0.0], [[1.0]]), Gaussian(["a"], [1.0], [[1.0]])
    >>> found = total_variation(p, q)  # the truth is 0.3829
    >>> found.lower < found.interval[0] < 0.3829 < found.interval[1] < found.upper
    True
    """
    _check_settings(samples, level, accuracy)
    stream = generator(seed)
    forward = compare(p, q)
    if forward.apart:
        return TotalVariation(1.0, (1.0, 1.0), 1.0, 1.0)
    lower, upper = _bounds(forward, compare(q, p))
    sizes = _sizes(samples, accuracy)
    each = 1.0 - (1.0 - level) / len(sizes)
    sums = Sums()
    for size in sizes:
        sums = overlap_sums(forward, size - sums.draws, stream).plus(sums)
        radius = _bernstein_radius(sums.variance, size, each)
        if accuracy is not None and radius <= accuracy * sums.mean:
            break
    ends = (min(max(end, lower), upper) for end in (sums.mean - radius, sums.mean + radius))
    return TotalVariation(sums.mean, (next(ends), next(ends)), lower, upper, sums.draws)


def _sizes(samples: int, accuracy: float | None) -> list[int]:
    """The numbers of draws after which the interval is looked at, the largest last."""
    found = [samples]
    while accuracy is not None and found[0] > 2 * FIRST_LOOK:
        found.insert(0, found[0] // 2)
    return found


def _check_settings(samples: int, level: float, accuracy: float | None) -> None:
    if accuracy is not None and (
        not isinstance(accuracy, int | float | np.floating) or not 0.0 < accuracy < 1.0
    ):
        raise SettingError(f"got accuracy={accuracy!r}, expected a number between 0 and 1")
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 2:
        raise SettingError(f"got samples={samples!r}, expected a whole number of 2 or more")
    if not isinstance(level, int | float | np.floating) or not 0.0 < level < 1.0:
        raise SettingError(f"got level={level!r}, expected a number between 0 and 1")


def _bounds(forward: Contrast, backward: Contrast) -> tuple[float, float]:
    """What total variation cannot leave: (lower, upper)."""
    upper = 1.0
    for divergence in (forward.kl(), backward.kl()):
        upper = min(upper, math.sqrt(divergence / 2.0), math.sqrt(-math.expm1(-divergence)))
    if forward.width > DENSE_NODES:
        return 0.0, upper
    distance = forward.bhattacharyya()
    upper = min(upper, math.sqrt(-math.expm1(-2.0 * distance)))
    return min(-math.expm1(-distance), upper), upper


class Sums(NamedTuple):
    """Draws of max(0, 1 - q/p): how many, their sum, and the sum of their squares."""

    draws: int = 0
    total: float = 0.0
    squares: float = 0.0

    def plus(self, other: "Sums") -> "Sums":
        """Those of both."""
        total, squares = self.total + other.total, self.squares + other.squares
        return Sums(self.draws + other.draws, total, squares)

    @property
    def mean(self) -> float:
        """The mean of the draws."""
        return self.total / self.draws

    @property
    def variance(self) -> float:
        """The sample variance of the draws."""
        return max(0.0, self.squares - self.total * self.mean) / (self.draws - 1)


def overlap_sums(
    contrast: Contrast,
    samples: int,
    stream: np.random.Generator,
    block_values: int = CACHED_VALUES,
) -> Sums:
    """Sums over draws of P."""
    total = squares = 0.0
    for block in blocks(samples, contrast.width, block_values):
        noise = stream.standard_normal((block.stop - block.start, contrast.width))
        values = -np.expm1(np.minimum(contrast.log_ratios(noise), 0.0))
        total += float(values.sum())
        squares += float(values @ values)
    if math.isnan(total):
        raise too_far()
    return Sums(samples, total, squares)


def _bernstein_radius(variance: float, samples: int, level: float) -> float:
    """Half the width of the empirical Bernstein interval, each side with half the failures."""
    failures = math.log(4.0 / (1.0 - level))
    return math.sqrt(2.0 * variance * failures / samples) + 7.0 * failures / (3.0 * (samples - 1))
