"""A layered drawing of a graph: parents before children, few crossings, smooth edges."""

from collections.abc import Sequence
from dataclasses import dataclass

from gaussnet.report.layout.layers import Point, Sizes, draw_component
from gaussnet.report.layout.positions import Arrow

__all__ = ["Layout", "Point", "Sizes", "lay_out"]

PAGE = (1180.0, 860.0)
"""Width and height in which a drawing is read without zooming."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands."""

    width: float
    height: float
    centres: tuple[Point, ...]
    """Of the nodes."""
    routes: tuple[tuple[Point, ...], ...]
    """Of each edge its points: it leaves and enters them along the layers' direction."""
    rightward: bool
    """Whether layers follow each other to the right, not downward."""

    @property
    def scale(self) -> float:
        """How much it must shrink to be seen at once; 1 if it fits."""
        return min(1.0, PAGE[0] / max(self.width, 1.0), PAGE[1] / max(self.height, 1.0))


def lay_out(nodes: int, edges: Sequence[Arrow], sizes: Sizes) -> Layout:
    """Layers from top to bottom, or from left to right where that is read more easily.

    Examples
    --------
    >>> layout = lay_out(2, [(0, 1)], Sizes([40.0, 60.0]))
    >>> layout.centres, layout.rightward
    (((30.0, 12.0), (30.0, 92.0)), False)
    """
    components = _connected_components(nodes, edges)
    downward, rightward = (_one_way(components, nodes, edges, sizes, way) for way in (False, True))
    return rightward if rightward.scale > downward.scale else downward


def _one_way(
    components: list[list[int]], nodes: int, edges: Sequence[Arrow], sizes: Sizes, rightward: bool
) -> Layout:
    centres: list[Point] = [(0.0, 0.0)] * nodes
    routes: list[tuple[Point, ...]] = [()] * len(edges)
    drawn = [draw_component(members, edges, sizes, rightward) for members in components]
    corners, width, height = _pack([part.extent for part in drawn], sizes)
    for part, (left, top) in zip(drawn, corners, strict=True):
        for node, (x, y) in zip(part.members, part.centres, strict=True):
            centres[node] = (x + left, y + top)
        for edge, points in zip(part.edges, part.routes, strict=True):
            routes[edge] = tuple((x + left, y + top) for x, y in points)
    return Layout(width, height, tuple(centres), tuple(routes), rightward)


def _connected_components(nodes: int, edges: Sequence[Arrow]) -> list[list[int]]:
    """Nodes by connected component, the largest first."""
    owner = list(range(nodes))

    def root(node: int) -> int:
        while owner[node] != node:
            owner[node] = node = owner[owner[node]]
        return node

    for parent, child in edges:
        one, other = sorted((root(parent), root(child)))
        owner[other] = one
    components: dict[int, list[int]] = {}
    for node in range(nodes):
        components.setdefault(root(node), []).append(node)
    return sorted(components.values(), key=len, reverse=True)


def _pack(extents: Sequence[Point], sizes: Sizes) -> tuple[list[Point], float, float]:
    """Corners of boxes on shelves about as wide as a page or the widest box."""
    area = sum((width + sizes.gap) * (height + sizes.gap) for width, height in extents)
    shelf = max([width for width, _ in extents] + [min(PAGE[0], (1.6 * area) ** 0.5)], default=0.0)
    corners: list[Point] = []
    left = top = depth = widest = 0.0
    for width, height in extents:
        if left and left + width > shelf:
            left, top, depth = 0.0, top + depth + 2 * sizes.gap, 0.0
        corners.append((left, top))
        widest, depth = max(widest, left + width), max(depth, height)
        left += width + 2 * sizes.gap
    return corners, widest, top + depth
