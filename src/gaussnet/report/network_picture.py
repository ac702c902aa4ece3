"""The drawing of a network as SVG: its nodes, its edges, and coefficients that do not overlap."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork
from gaussnet.report.findings import Findings
from gaussnet.report.layout import Layout, Point, Sizes, lay_out
from gaussnet.report.markup import brief, number, share, text
from gaussnet.tails import PValue

MOST_DRAWN_NODES = 400
MOST_DRAWN_EDGES = 1_600
MANY_NODES = 40
FEW_EDGES = 20
"""So many edges can carry their coefficients."""
LONGEST_LABEL = 22
LETTER = 7.0
MARGIN = 14.0
LARGEST = 1.6
COMFORT = (900.0, 560.0)
"""A small drawing is enlarged up to these sides."""
THIN, THICK = 1.1, 5.0
MOST_CONTRADICTIONS = 60
ARC = 0.22
"""How far an arc bows, as a part of its length."""
HEAD = 7.0
SMALL_LETTER, HEIGHT = 6.2, 13.0
"""Sizes of a letter of an inscription."""
GAP = 8.0
"""Inscriptions side by side stand at least so far apart."""
SHARES = (0.5, 0.32, 0.68, 0.18, 0.82)
"""How far along a stretch of its edge an inscription may stand, best first."""
MOST_POSITIONS = 20
DENSE = tuple(step / 16 for step in range(17))
"""Where the line of an edge is looked at, to see what it crosses."""
CROSSED = 20.0
"""A line under a text counts as such an area of another text, for each point looked at."""


def draw_network(findings: Findings) -> str:
    """The network as SVG, each node and edge with a title that tells its numbers."""
    dag = findings.network.dag
    labels = [shorten(node) for node in dag.nodes]
    arrows = [(dag.position(parent), dag.position(child)) for parent, child in dag.arrows]
    layout = lay_out(len(dag), arrows, drawing_sizes(labels))
    inscriptions = _inscriptions(findings, layout) if len(arrows) <= FEW_EDGES else []
    left, top = -MARGIN, -MARGIN
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    zoom = max(1.0, min(LARGEST, COMFORT[0] / width, COMFORT[1] / height))
    box = f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"
    return (
        f'<svg id="network" class="network" viewBox="{box}" data-box="{box}" '
        f'width="{zoom * width:.0f}" height="{zoom * height:.0f}" role="img" tabindex="0" '
        f'aria-label="The network: {dag.sizes}">'
        f'<g class="covariances">{"".join(covariance_lines(findings.network, layout))}</g>'
        f'<g class="refutations">{"".join(_contradictions(findings, layout))}</g>'
        f'<g class="edges">{"".join(_edges(findings, layout))}</g>'
        f'<g class="nodes">{"".join(_nodes(findings, layout, labels))}</g>'
        f'<g class="inscriptions">{"".join(inscriptions)}</g></svg>'
    )


def is_drawn(findings: Findings) -> bool:
    """Whether the network is small enough for a drawing."""
    dag = findings.network.dag
    return 0 < len(dag) <= MOST_DRAWN_NODES and len(dag.edges) <= MOST_DRAWN_EDGES


def shorten(name: str, limit: int = LONGEST_LABEL) -> str:
    """A name that fits into a box.

    Examples
    --------
    >>> shorten("rain"), shorten("a" * 30)
    ('rain', 'aaaaaaaaaaaaaaaaaaaaa…')
    """
    line = " ".join(name.split()) or name
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def drawing_sizes(labels: Sequence[str]) -> Sizes:
    """Sizes of boxes that hold these labels, and the room between them."""
    widths = [max(28.0, 14.0 + LETTER * letters(label)) for label in labels]
    if len(labels) > MANY_NODES:
        return Sizes(widths, height=20.0, gap=5.0, bend=1.0, between=40.0)
    return Sizes(widths, height=26.0, gap=14.0, bend=2.0, between=64.0)


def letters(label: str) -> float:
    """Width of a text in letters of middle width.

    Examples
    --------
    >>> letters("rain"), letters("日本")
    (4.0, 3.5)
    """
    wide = sum(east_asian_width(sign) in "WF" for sign in label)
    capital = sum(sign.isupper() for sign in label)
    return len(label) + 0.75 * wide + 0.25 * capital


def _edges(findings: Findings, layout: Layout) -> list[str]:
    dag = findings.network.dag
    sizes = findings.standardised
    largest = max((abs(size) for size in sizes if math.isfinite(size)), default=0.0) or 1.0
    drawn = []
    indices = np.flatnonzero(~dag.is_covariance).tolist()
    for index, (parent, child), route in zip(indices, dag.arrows, layout.routes, strict=True):
        size = abs(sizes[index]) if math.isfinite(sizes[index]) else 0.0
        width = THIN + (THICK - THIN) * size / largest
        value = findings.network.coefficient_array[index]
        kinds = ["edge", "minus" if value < 0 else "plus"]
        if _holds_zero(findings, index):
            kinds.append("unsure")
        line, head = edge_path(route, layout.rightward, width)
        drawn.append(
            f'<g class="{" ".join(kinds)}" data-from="{dag.position(parent)}" '
            f'data-to="{dag.position(child)}"><title>{text(edge_words(findings, index))}</title>'
            f'<path class="hit" d="{line}"/><path class="line" d="{line}" '
            f'stroke-width="{width:.1f}"/><path class="head" d="{head}"/></g>'
        )
    return drawn


def _contradictions(findings: Findings, layout: Layout) -> Iterator[str]:
    """The missing edges that the data contradict, as dotted arcs between their nodes."""
    check, dag = findings.check, findings.network.dag
    for one in () if check is None else check.rejected[:MOST_CONTRADICTIONS]:
        first, last = dag.position(one.other), dag.position(one.node)
        words = (
            f"{one.other} and {one.node}: no edge, but the data contradict that\n"
            f"partial correlation {number(one.correlation)}, "
            f"adjusted p-value {PValue(one.adjusted)!s}"
        )
        bow = arc(layout.centres[first], layout.centres[last])
        yield (
            f'<g class="edge refuted" data-from="{first}" data-to="{last}">'
            f'<title>{text(words)}</title><path class="hit" d="{bow}"/>'
            f'<path class="line" d="{bow}"/></g>'
        )


def covariance_key(dag: Dag) -> str:
    """What the bows between nodes mean, for a legend; nothing where there are none."""
    if not dag.free_covariances:
        return ""
    return '<span><i class="key covaries"></i>covary, neither causes the other</span>'


def covariance_lines(network: GaussianNetwork, layout: Layout) -> Iterator[str]:
    """The pairs of nodes that covary, as dashed bows without a head."""
    dag = network.dag
    values = network.covariances
    for one, other in dag.free_covariances:
        ends = (layout.centres[dag.position(node)] for node in (one, other))
        words = (
            f"{one} and {other}: covariance {number(values[one, other])}, neither causes the other"
        )
        yield f'<path class="covary" d="{arc(*ends)}"><title>{text(words)}</title></path>'


def arc(start: Point, stop: Point) -> str:
    """A bow from one point to another, which goes around what lies between them."""
    (x, y), (right, down) = start, stop
    middle = (x + right) / 2 - ARC * (down - y), (y + down) / 2 + ARC * (right - x)
    return f"M{_pair(x, y)}Q{_pair(*middle)} {_pair(right, down)}"


def _nodes(findings: Findings, layout: Layout, labels: Sequence[str]) -> list[str]:
    sizes = drawing_sizes(labels)
    drawn = []
    for index, ((x, y), label) in enumerate(zip(layout.centres, labels, strict=True)):
        width, height = sizes.widths[index], sizes.height
        drawn.append(
            f'<g class="node" data-node="{index}"><title>{text(node_words(findings, index))}'
            f'</title><rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="5"/><text x="{x:.1f}" y="{y + 4.2:.1f}">{text(label)}'
            "</text></g>"
        )
    return drawn


def _inscriptions(findings: Findings, layout: Layout) -> list[str]:
    """The coefficients, each on its edge."""
    values = [brief(value) for value in findings.network.coefficients.values()]
    boxes = place_inscriptions(layout.routes, values)
    papers = (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - HEIGHT / 2:.1f}" '
        f'width="{box.width:.1f}" height="{HEIGHT:.0f}" rx="2"/>'
        for box in boxes
    )
    words = (
        f'<text x="{box.x:.1f}" y="{box.y + 3.5:.1f}">{value}</text>'
        for box, value in zip(boxes, values, strict=True)
    )
    return [*papers, *words]


class Box(NamedTuple):
    """Where a text stands: its centre and its width."""

    x: float
    y: float
    width: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover, with a gap between them."""
        across = (self.width + other.width) / 2 + GAP - abs(self.x - other.x)
        down = HEIGHT - abs(self.y - other.y)
        return max(across, 0.0) * max(down, 0.0)

    def holds(self, point: Point) -> bool:
        """Whether a point is in it."""
        return abs(self.x - point[0]) < self.width / 2 and abs(self.y - point[1]) < HEIGHT / 2


def place_inscriptions(routes: Sequence[Sequence[Point]], texts: Sequence[str]) -> list[Box]:
    """For each edge the first free position on it, or the one least covered.

    What covers are earlier texts and the lines of other edges.

    Examples
    --------
    >>> routes = [[(0.0, 0.0), (0.0, 100.0)], [(30.0, 0.0), (30.0, 100.0)]]
    >>> [round(box.y) for box in place_inscriptions(routes, ["1.25", "-0.5"])]
    [50, 36]
    """
    placed: list[Box] = []
    lines = [list(_positions(route, DENSE)) for route in routes]
    for edge, (route, label) in enumerate(zip(routes, texts, strict=True)):
        boxes = [
            Box(*point, SMALL_LETTER * len(label))
            for point in islice(_positions(route), MOST_POSITIONS)
        ]
        crossing = [point for other, line in enumerate(lines) if other != edge for point in line]
        covered = [
            sum(box.overlap(other) for other in placed) + CROSSED * sum(map(box.holds, crossing))
            for box in boxes
        ]
        placed.append(boxes[covered.index(min(covered))])
    return placed


def _positions(route: Sequence[Point], shares: Sequence[float] = SHARES) -> Iterator[Point]:
    """Points of an edge, from its last stretch backwards."""
    for (x, y), (right, down) in reversed(list(pairwise(route))):
        for t in shares:
            eased = t * t * (3.0 - 2.0 * t)
            bowed = 0.5 * (3.0 * t * (1.0 - t)) + t**3
            if abs(right - x) > abs(down - y):
                yield x + bowed * (right - x), y + eased * (down - y)
            else:
                yield x + eased * (right - x), y + bowed * (down - y)


def edge_words(findings: Findings, index: int) -> str:
    """What is known of an edge, a line each."""
    network = findings.network
    parent, child = network.dag.edges[index]
    lines = [f"{parent} → {child}", f"coefficient {number(network.coefficient_array[index])}"]
    if findings.uncertainty is not None:
        errors = findings.uncertainty.standard_errors
        intervals = findings.uncertainty.confidence_intervals
        low, high = intervals.coefficient_array[index]
        lines[1] += f" ± {number(errors.coefficient_array[index])}"
        lines.append(f"{share(intervals.level)} interval {number(low)} to {number(high)}")
    lines.append(f"standardised {number(findings.standardised[index])}")
    return "\n".join(lines)


def node_words(findings: Findings, index: int) -> str:
    """What is known of a node, a line each."""
    network = findings.network
    node = network.dag.nodes[index]
    lines = [
        node,
        f"intercept {number(network.constants[index])}",
        f"noise: standard deviation {number(network.noise_scales[index])}",
    ]
    if network.dag.parents(node):
        lines.append(f"parents explain {share(findings.explained[index])} of the variance")
    parents, children = len(network.dag.parents(node)), len(network.dag.children(node))
    return "\n".join([*lines, f"{parents} parents, {children} children"])


def _holds_zero(findings: Findings, index: int) -> bool:
    if findings.uncertainty is None:
        return False
    low, high = findings.uncertainty.confidence_intervals.coefficient_array[index]
    return bool(low <= 0.0 <= high)


def edge_path(route: Sequence[Point], rightward: bool, width: float) -> tuple[str, str]:
    """The line of an edge and its head, as paths.

    Examples
    --------
    >>> edge_path([(0.0, 0.0), (0.0, 50.0)], rightward=False, width=1.0)
    ('M0.0 0.0L0.0 42.0', 'M0.0 50.0l-4.0 -8.0 8.0 0z')
    """
    head = HEAD + width
    (x, y), last = route[0], route[-1]
    end = (last[0] - head, last[1]) if rightward else (last[0], last[1] - head)
    line = f"M{_pair(x, y)}"
    for one, other in pairwise([*route[:-1], end]):
        line += _bow(one, other, rightward)
    half = head / 2
    if rightward:
        sides = (f"{-head:.1f} {-half:.1f}", f"0 {2 * half:.1f}")
    else:
        sides = (f"{-half:.1f} {-head:.1f}", f"{2 * half:.1f} 0")
    return line, f"M{_pair(*last)}l{sides[0]} {sides[1]}z"


def _bow(one: Point, other: Point, rightward: bool) -> str:
    """From one point to the next, leaving and arriving along the layers' direction."""
    if one[rightward] == other[rightward]:
        return f"L{_pair(*other)}"
    if rightward:
        middle = (one[0] + other[0]) / 2
        return f"C{_pair(middle, one[1])} {_pair(middle, other[1])} {_pair(*other)}"
    middle = (one[1] + other[1]) / 2
    return f"C{_pair(one[0], middle)} {_pair(other[0], middle)} {_pair(*other)}"


def _pair(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"
