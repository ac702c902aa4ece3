"""Causal effects: what one unit more of a node does to another, in all and path by path."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gaussnet import display
from gaussnet.errors import GraphError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.model import checks
from gaussnet.model.equations import propagate, reversed_edges
from gaussnet.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


@dataclass(frozen=True, slots=True)
class PathEffect:
    """A directed path and the product of its coefficients."""

    nodes: tuple[str, ...]
    effect: float

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        return f"{' -> '.join(self.nodes)}: {self.effect:.4g}"


def effect(network: "GaussianNetwork", cause: str, target: str, via: Iterable[str] | None) -> float:
    r"""The total effect, an entry of :math:`(I - A)^{-1}`; `via` keeps the paths through nodes."""
    stops = stations(network.dag, cause, target, via)
    legs = pairwise(stops)
    return float(np.prod([downstream(network, start)[stop] for start, stop in legs]))


def gradient(network: "GaussianNetwork", stops: list[int]) -> FloatArray:
    r"""Derivative of the effect through these stations by each coefficient, (edges,).

    .. math:: \partial T_{yx} / \partial a_{ij} = T_{yi} T_{jx}

    for one leg; a product of legs by the product rule.
    """
    families = network.dag.families
    legs = list(pairwise(stops))
    ahead = [downstream(network, start) for start, _ in legs]
    behind = [upstream(network, stop) for _, stop in legs]
    effects = np.array([down[stop] for down, (_, stop) in zip(ahead, legs, strict=True)])
    total = np.zeros(len(families.parents))
    for leg, (down, up) in enumerate(zip(ahead, behind, strict=True)):
        others = float(np.prod(np.delete(effects, leg)))
        total += others * up[families.family_of_edge] * down[families.parents]
    total[network.dag.is_covariance] = 0.0
    checks.check_overflow(total)
    return total


def stations(dag: Dag, cause: str, target: str, via: Iterable[str] | None) -> list[int]:
    """Positions of cause, stations in topological order, and target."""
    ends = [dag.position(cause), dag.position(target)]
    if via is None:
        return ends
    between = [
        dag.position(node) for node in checks.as_names([via] if isinstance(via, str) else via)
    ]
    if set(between) & set(ends):
        raise GraphError(
            f"got via={[dag.nodes[node] for node in between]}, expected nodes between "
            f"{cause!r} and {target!r}: leave out the ends"
        )
    rank = {node: index for index, node in enumerate(dag.order.tolist())}
    return [ends[0], *sorted(between, key=rank.__getitem__), ends[1]]


def path_edges(dag: Dag, stops: list[int]) -> BoolArray:
    """Which edges lie on a directed path through these stations, (edges,).

    Examples
    --------
    >>> dag = Dag.parse("[a][b|a][c|b][d|a]")
    >>> [edge for edge, on in zip(dag.edges, path_edges(dag, [0, 2])) if on]
    [('a', 'b'), ('b', 'c')]
    """
    found = np.zeros(len(dag.edges), dtype=bool)
    for one, other in pairwise(dag.nodes[stop] for stop in stops):
        below, above = {one, *dag.descendants(one)}, {other, *dag.ancestors(other)}
        found |= [parent in below and child in above for parent, child in dag.edges]
    return found & ~dag.is_covariance


def has_path(dag: Dag, stops: list[int]) -> bool:
    """Whether a directed path leads through these stations, one after the other.

    Examples
    --------
    >>> dag = Dag.parse("[a][b|a][c|b]")
    >>> has_path(dag, [0, 2]), has_path(dag, [0, 2, 1])
    (True, False)
    """
    names = [dag.nodes[stop] for stop in stops]
    return all(one == other or other in dag.descendants(one) for one, other in pairwise(names))


def downstream(network: "GaussianNetwork", cause: int) -> FloatArray:
    """Total effects of one node on all, (nodes,)."""
    row = np.zeros((1, len(network.dag)))
    row[0, cause] = 1.0
    propagate(row, network.dag.order, network.dag.families, network.causal_coefficients)
    return np.asarray(row[0])


def upstream(network: "GaussianNetwork", target: int) -> FloatArray:
    """Total effects of all nodes on one, (nodes,): one pass against the arrows."""
    row = np.zeros((1, len(network.dag)))
    row[0, target] = 1.0
    order = np.ascontiguousarray(network.dag.order[::-1])
    propagate(row, order, *reversed_edges(network.dag.families, network.causal_coefficients))
    return np.asarray(row[0])


def paths(
    network: "GaussianNetwork", cause: str, target: str, limit: int
) -> tuple[PathEffect, ...]:
    """All directed paths, the strongest first."""
    dag = network.dag
    start, stop = dag.position(cause), dag.position(target)
    counts = _path_counts(dag, stop)
    if not isinstance(limit, int) or limit < 1:
        raise SettingError(f"got limit={limit!r}, expected a whole number of 1 or more")
    if counts[start] > limit:
        raise SettingError(
            f"there are {counts[start]} paths from {cause!r} to {target!r}, more than "
            f"limit={limit}: give a larger limit, or ask for effect(..., via=...)"
        )
    found: list[PathEffect] = []
    waiting: list[tuple[tuple[int, ...], float]] = [((start,), 1.0)]
    while waiting:
        nodes, product = waiting.pop()
        if nodes[-1] == stop:
            found.append(PathEffect(tuple(dag.nodes[node] for node in nodes), product))
            continue
        name = dag.nodes[nodes[-1]]
        for child in dag.children(name):
            position = dag.positions[child]
            if counts[position]:
                waiting.append(((*nodes, position), product * network.coefficients[name, child]))
    return tuple(sorted(found, key=lambda path: (-abs(path.effect), path.nodes)))


def _path_counts(dag: Dag, stop: int) -> list[int]:
    """The number of directed paths from each node to one, exact."""
    counts = [0] * len(dag)
    counts[stop] = 1
    for node in reversed(dag.order.tolist()):
        if counts[node]:
            for parent in dag.parent_lists[node]:
                counts[parent] += counts[node]
    return counts
