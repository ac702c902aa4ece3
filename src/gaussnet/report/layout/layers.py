"""One connected component drawn in layers: parents before children, few crossings."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from gaussnet.report.layout.positions import Arrow, Lattice, build_lattice, find_positions

Point = tuple[float, float]
CROWDED = 60
PORT_STEP = 13.0
PORT_SHARE = 0.75
SWEEPS = 24
EXCHANGES = 8
Order = list[list[int]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a drawing, in pixels."""

    widths: Sequence[float]
    """Of the nodes, one each."""
    height: float = 24.0
    gap: float = 10.0
    """Between nodes of a layer."""
    bend: float = 2.0
    """What a passing edge takes of a layer."""
    between: float = 56.0
    """Between layers."""


@dataclass(frozen=True, slots=True)
class Component:
    """Where the nodes and edges of one connected component stand, as (x, y) from its corner."""

    members: Sequence[int]
    edges: Sequence[int]
    centres: Sequence[Point]
    routes: Sequence[Sequence[Point]]
    extent: Point
    """Width and height."""


def draw_component(
    members: Sequence[int], edges: Sequence[Arrow], sizes: Sizes, rightward: bool
) -> Component:
    """The component with these nodes, layers going right or down."""
    own = {node: index for index, node in enumerate(members)}
    inside = [index for index, (_, child) in enumerate(edges) if child in own]
    lattice = build_lattice(
        len(members), [(own[edges[index][0]], own[edges[index][1]]) for index in inside]
    )
    lengths, breadths = _vertex_sizes(lattice, [sizes.widths[node] for node in members], sizes)
    if not rightward:
        lengths[: lattice.nodes], breadths[: lattice.nodes] = (
            breadths[: lattice.nodes],
            lengths[: lattice.nodes],
        )
    gap = sizes.gap if rightward else 1.6 * sizes.gap
    positions = find_positions(lattice, order_layers(lattice), breadths, gap)
    least = min(position - size / 2 for position, size in zip(positions, breadths, strict=True))
    positions = [position - least for position in positions]
    spans = _spans(lattice, lengths, sizes.between)
    routes = spread_ports(lattice, _routes(lattice, spans, positions), breadths)
    centres = [(sum(spans[node]) / 2, positions[node]) for node in range(lattice.nodes)]
    breadth = max(position + size / 2 for position, size in zip(positions, breadths, strict=True))
    return Component(
        members,
        inside,
        _oriented(centres, rightward),
        [_oriented(route, rightward) for route in routes],
        _oriented([(max(end for _, end in spans), breadth)], rightward)[0],
    )


def spread_ports(
    lattice: Lattice, routes: Sequence[list[Point]], breadths: Sequence[float]
) -> list[list[Point]]:
    """The routes, those of one node side by side where they leave it or arrive."""
    spread = [list(route) for route in routes]
    for end, beside in ((0, 1), (-1, -2)):
        groups: dict[int, list[int]] = {}
        for index, route in enumerate(lattice.routes):
            groups.setdefault(route[end], []).append(index)
        for node, group in groups.items():
            group.sort(key=lambda index: _slope(routes[index], end, beside))
            step = min(PORT_STEP, PORT_SHARE * breadths[node] / len(group))
            for rank, index in enumerate(group):
                along, across = routes[index][end]
                shift = step * (rank - (len(group) - 1) / 2)
                spread[index][end] = (along, across + shift)
    return spread


def _slope(route: Sequence[Point], end: int, beside: int) -> tuple[float, float]:
    """Where the next point of a route lies; of those on one side, the steeper is further out."""
    (along, across), (next_along, next_across) = route[end], route[beside]
    step = next_across - across
    return step, abs(next_along - along) * (1 if step < 0 else -1)


def _vertex_sizes(
    lattice: Lattice, widths: list[float], sizes: Sizes
) -> tuple[list[float], list[float]]:
    """Sizes of all vertices along and across layers that go right."""
    bends = len(lattice.above) - lattice.nodes
    return widths + [0.0] * bends, [sizes.height] * lattice.nodes + [sizes.bend] * bends


def _spans(lattice: Lattice, lengths: Sequence[float], between: float) -> list[Point]:
    """Where each vertex begins and ends; a bend takes all of its layer.

    Layers with many edges between them stand further apart.
    """
    spans: list[Point] = [(0.0, 0.0)] * len(lengths)
    end = -between
    for layer in lattice.layers:
        crowd = sum(len(lattice.above[vertex]) for vertex in layer)
        start = end + between * (1.0 + min(max(crowd - 1, 0), CROWDED) / CROWDED)
        end = start + max(lengths[vertex] for vertex in layer)
        middle = (start + end) / 2
        for vertex in layer:
            half = lengths[vertex] / 2
            is_node = vertex < lattice.nodes
            spans[vertex] = (middle - half, middle + half) if is_node else (start, end)
    return spans


def _routes(
    lattice: Lattice, spans: Sequence[Point], positions: Sequence[float]
) -> list[list[Point]]:
    return [
        [(along, positions[vertex]) for vertex in route for along in spans[vertex]][1:-1]
        for route in lattice.routes
    ]


def _oriented(points: Sequence[Point], rightward: bool) -> list[Point]:
    return list(points) if rightward else [(across, along) for along, across in points]


def order_layers(lattice: Lattice) -> Order:
    """An order of each layer with few crossings of edges."""
    order = [list(layer) for layer in lattice.layers]
    best, fewest = [layer.copy() for layer in order], count_crossings(lattice, order)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        _sort_by_barycentres(lattice, order, downward=sweep % 2 == 0)
        _exchange_neighbours(lattice, order)
        found = count_crossings(lattice, order)
        if found < fewest:
            best, fewest = [layer.copy() for layer in order], found
    return best


def count_crossings(lattice: Lattice, order: Order) -> int:
    """Pairs of edges between successive layers that cross.

    Examples
    --------
    >>> from gaussnet.report.layout.positions import build_lattice
    >>> lattice = build_lattice(4, [(0, 2), (1, 3)])
    >>> count_crossings(lattice, [[0, 1], [2, 3]]), count_crossings(lattice, [[0, 1], [3, 2]])
    (0, 1)
    """
    rank = _ranks(order)
    total = 0
    for layer in order:
        ends: list[int] = []
        for vertex in layer:
            own = sorted(rank[end] for end in lattice.below[vertex])
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


def _sort_by_barycentres(lattice: Lattice, order: Order, *, downward: bool) -> None:
    """Sort each layer by the mean rank of the neighbours in the layer that was sorted last."""
    neighbours = lattice.above if downward else lattice.below
    rank = _ranks(order)
    for number in range(len(order)) if downward else reversed(range(len(order))):
        means = {
            vertex: sum(rank[other] for other in neighbours[vertex]) / len(neighbours[vertex])
            if neighbours[vertex]
            else rank[vertex]
            for vertex in order[number]
        }
        order[number].sort(key=means.__getitem__)
        rank |= {vertex: index for index, vertex in enumerate(order[number])}


def _exchange_neighbours(lattice: Lattice, order: Order) -> None:
    """Exchange successive vertices of a layer wherever that removes crossings."""
    for _ in range(EXCHANGES):
        rank = _ranks(order)
        gained = False
        for layer in order:
            for index in range(len(layer) - 1):
                left, right = layer[index : index + 2]
                gain = sum(
                    _crossings(side[left], side[right], rank)
                    - _crossings(side[right], side[left], rank)
                    for side in (lattice.above, lattice.below)
                )
                if gain > 0:
                    layer[index : index + 2] = right, left
                    rank[left], rank[right] = index + 1, index
                    gained = True
        if not gained:
            return


def _crossings(first: Sequence[int], second: Sequence[int], rank: dict[int, int]) -> int:
    """Crossings of the edges of two vertices, the first of which stands before the second."""
    return sum(rank[one] > rank[other] for one in first for other in second)


def _ranks(order: Order) -> dict[int, int]:
    return {vertex: index for layer in order for index, vertex in enumerate(layer)}
