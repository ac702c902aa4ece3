"""Which equations changed a node's mean and variance between two networks: Shapley values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gaussnet import display
from gaussnet.errors import CycleError, GraphError, NetworkError
from gaussnet.graph.algorithms import with_relatives
from gaussnet.graph.dag import Dag, shorten
from gaussnet.model import checks
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ChangeAttribution:
    """What each equation has to do with the change of a node; printing it shows a table.

    Contributions add up to the change, of the mean and of the variance.
    """

    target: str
    mean_before: float
    mean_after: float
    variance_before: float
    variance_after: float
    mean: Mapping[str, float]
    """What the equation of each node adds to the mean, for the target and its ancestors."""
    variance: Mapping[str, float]
    """What the equation of each node adds to the variance."""

    def __repr__(self) -> str:
        return f"ChangeAttribution({self.target!r}, {len(self.mean)} equations)"

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        lines = [
            f"mean of {self.target}: {self.mean_before:.4g} to {self.mean_after:.4g}; variance: "
            f"{self.variance_before:.4g} to {self.variance_after:.4g}"
        ]
        width = max([8, *map(len, self.mean)])
        lines.append(f"{'equation':{width}}  {'mean':>10}  {'variance':>10}")
        sizes = {name: abs(value) for name, value in self.mean.items()}
        for name in sorted(sizes, key=lambda name: (-sizes[name], -abs(self.variance[name]))):
            lines.append(f"{name:{width}}  {self.mean[name]:+10.4g}  {self.variance[name]:+10.4g}")
        return "\n".join(lines)


def attribute_change(before: object, after: object, target: str) -> ChangeAttribution:
    r"""Which equations changed the mean and the variance of a node between two networks.

    The equation of a node is its intercept, coefficients and noise variance. Let v(S) be the mean
    (or variance) of the target when the equations of the nodes in S are those of `after` and all
    others those of `before`. The contribution of a node is its Shapley value: the mean, over all
    orders in which equations can be exchanged one by one, of what its own exchange adds. The
    values add up to the whole change, and an equation that is the same has none.

    There are :math:`2^k` sets S, but none is visited. If each equation is exchanged with
    probability t, independently, the expected moments follow node by node, because the moments of
    a node's parents depend on earlier equations alone; and the Shapley value is the integral of
    the derivative by a node's own probability (Owen, Management Science 18, 1972),

    .. math:: \phi_i = \int_0^1 \frac{\partial E[v]}{\partial p_i}(t, \ldots, t) \, dt

    of a polynomial in t, for which Gauss-Legendre quadrature is exact. For k ancestors with at
    most d parents each the cost is :math:`O(k^3 d)`.

    Parameters
    ----------
    before, after
        Networks or fits over the same nodes; edges may differ, as long as those of both
        together have no cycle.
    target
        The node whose change is to be explained, by its own equation and its ancestors'.

    Examples
    --------
    >>> dag = Dag.parse("[rain][wet|rain]")
    >>> dry = GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0], [0.0, 0.0])
    >>> rainy = GaussianNetwork.from_arrays(dag, [2.0], [1.0, 1.0], [3.0, 0.0])
    >>> print(attribute_change(dry, rainy, "wet"))
    mean of wet: 0 to 6; variance: 2 to 5
    equation        mean    variance
    rain            +4.5          +0
    wet             +1.5          +3
    """
    old, new = _network(before), _network(after)
    dag = _common_graph(old, new)
    parents = dag.families.parent_lists
    place = dag.position(target)
    kept = with_relatives(parents, {place})
    order = [node for node in dag.order.tolist() if node in kept]
    pair = _Mixture.of(order, dag, old, new)
    mean, variance, ends = pair.shapley()
    names = [dag.nodes[node] for node in order]
    parts = [dict(zip(names, values.tolist(), strict=True)) for values in (mean, variance)]
    return ChangeAttribution(target, *ends, *map(MappingProxyType, parts))


class _Pass(NamedTuple):
    """Expected moments of all nodes when equations are exchanged at random."""

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The equations of both networks over the ancestors of a target, which stands last.

    All are in topological order; the first axis has the network before and the one after.
    """

    slopes: FloatArray
    """(2, nodes, nodes): row i holds the coefficients of node i on those before it."""
    intercepts: FloatArray
    """(2, nodes)."""
    variances: FloatArray
    """(2, nodes)."""

    @classmethod
    def of(
        cls, order: list[int], dag: Dag, old: GaussianNetwork, new: GaussianNetwork
    ) -> "_Mixture":
        names = [dag.nodes[node] for node in order]
        slopes = np.zeros((2, len(names), len(names)))
        constants, squares = np.zeros((2, 2, len(names)))
        for index, network in enumerate((old, new)):
            places = [network.dag.position(name) for name in names]
            slopes[index] = network.to_matrix()[np.ix_(places, places)].T
            constants[index] = network.intercept_array[places]
            squares[index] = network.variance_array[places]
        return cls(slopes, constants, squares)

    def shapley(self) -> tuple[FloatArray, FloatArray, tuple[float, float, float, float]]:
        """Contributions to mean and variance of the target, (nodes,), and both at the ends."""
        changed = np.any(self.slopes[0] != self.slopes[1], axis=1)
        changed |= (self.intercepts[0] != self.intercepts[1]) | (
            self.variances[0] != self.variances[1]
        )
        count = int(np.count_nonzero(changed))
        mean, variance = np.zeros((2, len(changed)))
        points, weights = np.polynomial.legendre.leggauss(max(1, (count + 1) // 2))
        for point, weight in zip(0.5 + 0.5 * points, 0.5 * weights, strict=True):
            slope_mean, slope_variance = self._derivatives(float(point))
            mean += weight * slope_mean
            variance += weight * slope_variance
        first, last = self._forward(0.0), self._forward(1.0)
        ends = (first.mean[-1], last.mean[-1], first.covariance[-1, -1], last.covariance[-1, -1])
        checks.check_overflow(np.array([*mean, *variance, *ends]))
        low, high, narrow, wide = (float(end) for end in ends)
        return mean, variance, (low, high, narrow, wide)

    @np.errstate(over="ignore", invalid="ignore")
    def _forward(self, t: float) -> _Pass:
        """Expected means and covariances, each equation exchanged with probability t."""
        slopes, constants, squares = (_at(t, both) for both in self._equations)
        count = len(constants)
        mean, covariance = np.zeros(count), np.zeros((count, count))
        for node in range(count):
            own = slopes[node, :node]
            mean[node] = constants[node] + own @ mean[:node]
            covariance[node, :node] = covariance[:node, node] = own @ covariance[:node, :node]
            both = self.slopes[:, node, :node]
            squared = np.einsum("ni,ij,nj->n", both, covariance[:node, :node], both)
            covariance[node, node] = squares[node] + _at(t, squared)
        return _Pass(mean, covariance)

    @np.errstate(over="ignore", invalid="ignore")
    def _derivatives(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the target's expected mean and variance by each probability, at t."""
        found = self._forward(t)
        slopes = _at(t, self.slopes)
        steps, jumps, squares = (both[1] - both[0] for both in self._equations)
        count = len(jumps)
        mean, variance = np.zeros((2, count))
        # How much the target's mean, and variance, grow with each mean and covariance.
        weight, weights = np.zeros(count), np.zeros((count, count))
        weight[-1] = weights[-1, -1] = 1.0
        for node in reversed(range(count)):
            earlier = found.covariance[:node, :node]
            both, row, own = self.slopes[:, node, :node], weights[node, :node], weights[node, node]
            mean[node] = weight[node] * (jumps[node] + steps[node, :node] @ found.mean[:node])
            squared = np.einsum("ni,ij,nj->n", both, earlier, both)
            variance[node] = own * (squares[node] + squared[1] - squared[0])
            variance[node] += 2.0 * row @ (earlier @ steps[node, :node])
            weight[:node] += weight[node] * slopes[node, :node]
            passed = np.outer(slopes[node, :node], row)
            weights[:node, :node] += passed + passed.T
            weights[:node, :node] += own * _at(t, both[:, :, None] * both[:, None, :])
        return mean, variance

    @property
    def _equations(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.slopes, self.intercepts, self.variances


def _at(t: float, both: FloatArray) -> FloatArray:
    """The mean of two values, the second taken with probability t."""
    return np.asarray((1.0 - t) * both[0] + t * both[1])


def _network(given: object) -> GaussianNetwork:
    """A network, or that of a fit."""
    network = getattr(given, "network", given)
    if not isinstance(network, GaussianNetwork):
        raise NetworkError(
            f"got {type(given).__name__}, expected a gaussnet.GaussianNetwork or a gaussnet.Fit"
        )
    return network


def _common_graph(old: GaussianNetwork, new: GaussianNetwork) -> Dag:
    """The graph with the edges of both, in which any mixture of their equations fits."""
    names = old.dag.nodes
    different: Iterable[str] = set(names) ^ set(new.dag.nodes)
    if different:
        raise NetworkError(
            f"the networks have different nodes: {shorten(sorted(different))} is in one of them "
            "only; give two networks over the same nodes"
        )
    for dag in (old.dag, new.dag):
        dag.require_arrows("an exchange of equations one by one")
    try:
        return Dag.from_parts(names, dict.fromkeys((*old.dag.edges, *new.dag.edges)))
    except CycleError as problem:
        path = " -> ".join(repr(name) for name in problem.cycle)
        raise GraphError(
            f"the edges of both networks together have the cycle {path}, so that their equations "
            "cannot be exchanged one by one: turn the edges of one network"
        ) from None
