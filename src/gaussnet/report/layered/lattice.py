"""The lattice of a drawing: nodes in layers, and bends where a long edge passes a layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Arrow = tuple[int, int]
"""An edge by the numbers of its parent and child."""


@dataclass(frozen=True)
class Lattice:
    """Vertices by layer; the first `nodes` vertices are nodes, the others are bends of edges."""

    nodes: int
    layers: tuple[tuple[int, ...], ...]
    above: tuple[tuple[int, ...], ...]
    """Neighbours of each vertex in the layer before."""
    below: tuple[tuple[int, ...], ...]
    """Neighbours of each vertex in the layer after."""
    routes: tuple[tuple[int, ...], ...]
    """Of each edge its vertices, from parent to child."""


def assign_layers(nodes: int, edges: Sequence[Arrow]) -> list[int]:
    """The layer of each node: every edge goes to a later one, their total length is least.

    The linear program has whole solutions, because its matrix is that of a graph.

    Examples
    --------
    >>> assign_layers(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    if not edges:
        return [0] * nodes
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    pairs = np.array(edges)
    count = len(pairs)
    costs = np.bincount(pairs[:, 1], minlength=nodes) - np.bincount(pairs[:, 0], minlength=nodes)
    steps = csr_array(
        (np.repeat([1.0, -1.0], count), (np.tile(np.arange(count), 2), pairs.T.ravel())),
        shape=(count, nodes),
    )
    found = linprog(  # type: ignore[call-overload]
        costs, A_ub=steps, b_ub=-np.ones(count), method="highs-ds"
    )  # its stubs do not know that it takes sparse arrays
    layers = np.rint(found.x).astype(int)
    found_layers: list[int] = (layers - layers.min()).tolist()
    return found_layers


def build_lattice(nodes: int, edges: Sequence[Arrow]) -> Lattice:
    """Nodes in their layers, in the order in which a walk from parent to child meets them.

    Examples
    --------
    >>> build_lattice(3, [(0, 1), (1, 2), (0, 2)]).routes
    ((0, 1), (1, 2), (0, 3, 2))
    """
    layer = assign_layers(nodes, edges)
    routes: list[tuple[int, ...]] = []
    for parent, child in edges:
        first = len(layer)
        layer += range(layer[parent] + 1, layer[child])
        routes.append((parent, *range(first, len(layer)), child))
    above: list[list[int]] = [[] for _ in layer]
    below: list[list[int]] = [[] for _ in layer]
    for route in routes:
        for start, end in pairwise(route):
            below[start].append(end)
            above[end].append(start)
    layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for vertex in _walk(above, below):
        layers[layer[vertex]].append(vertex)
    return Lattice(nodes, _frozen(layers), _frozen(above), _frozen(below), tuple(routes))


def _walk(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """All vertices, neighbours soon after each other."""
    seen: dict[int, None] = {}
    for start in range(len(above)):
        waiting = [start]
        while waiting:
            vertex = waiting.pop()
            if vertex not in seen:
                seen[vertex] = None
                waiting += [*reversed(above[vertex]), *reversed(below[vertex])]
    return list(seen)


def _frozen(lists: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(own) for own in lists)
