"""How far one distribution is from another: KL, Bhattacharyya, Hellinger, total variation."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from gaussnet.errors import NetworkError
from gaussnet.model.compare import Distribution, check_same_names, compare, quiet
from gaussnet.model.contrast import NetworkContrast
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.variation import TotalVariation, total_variation

__all__ = [
    "TotalVariation",
    "bhattacharyya",
    "hellinger",
    "kl_by_node",
    "kl_divergence",
    "total_variation",
]


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

    Forms a dense matrix (names, names) and its singular values.

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
