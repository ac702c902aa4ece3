"""Which layer a node is in, and where it stands within it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

ROUGH_SWEEPS = 8
FINE_SWEEPS = 60
BEND_WEIGHT = 4.0
LEAST_WEIGHT = 1e-3
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


def find_positions(
    lattice: Lattice, order: list[list[int]], sizes: Sequence[float], gap: float
) -> list[float]:
    """The centre of each vertex across the layers.

    Sweeps of least squares: each layer is put as near to its neighbours as the
    order and the sizes allow; edges between bends pull harder, so that long edges get straight.
    """
    positions = _packed(lattice, order, sizes, gap)
    for sweep in range(ROUGH_SWEEPS + FINE_SWEEPS):
        downward = sweep % 2 == 0
        sides = [lattice.above, lattice.below]
        if sweep < ROUGH_SWEEPS:
            sides = sides[:1] if downward else sides[1:]
        for layer in order if downward else reversed(order):
            pulls = [_pull(lattice, vertex, sides, positions) for vertex in layer]
            steps = _steps(layer, sizes, gap)
            found = settle([target for target, _ in pulls], [weight for _, weight in pulls], steps)
            for vertex, position in zip(layer, found, strict=True):
                positions[vertex] = position
    return positions


def settle(
    wanted: Sequence[float], weights: Sequence[float], steps: Sequence[float]
) -> list[float]:
    """Positions nearest to those wanted, in weighted squares, each a step or more after the last.

    Examples
    --------
    >>> settle([0.0, 0.0, 9.0], [1.0, 1.0, 1.0], [2.0, 2.0])
    [-1.0, 1.0, 9.0]
    """
    offsets = [0.0]
    for step in steps:
        offsets.append(offsets[-1] + step)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, vertices: pooled until they rise
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, total, count = want - offset, weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, more, members = blocks.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + members
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _packed(
    lattice: Lattice, order: list[list[int]], sizes: Sequence[float], gap: float
) -> list[float]:
    """Vertices of each layer side by side, around zero."""
    positions = [0.0] * len(lattice.above)
    for layer in order:
        steps = _steps(layer, sizes, gap)
        position = -sum(steps) / 2
        for vertex, step in zip(layer, [*steps, 0.0], strict=True):
            positions[vertex] = position
            position += step
    return positions


def _steps(layer: Sequence[int], sizes: Sequence[float], gap: float) -> list[float]:
    return [(sizes[one] + sizes[other]) / 2 + gap for one, other in pairwise(layer)]


def _pull(
    lattice: Lattice, vertex: int, sides: Sequence[Sequence[Sequence[int]]], positions: list[float]
) -> tuple[float, float]:
    """Where the neighbours on these sides want a vertex, and how much."""
    total = moment = 0.0
    for side in sides:
        for other in side[vertex]:
            weight = BEND_WEIGHT ** ((vertex >= lattice.nodes) + (other >= lattice.nodes))
            total += weight
            moment += weight * positions[other]
    return (moment / total, total) if total else (positions[vertex], LEAST_WEIGHT)
