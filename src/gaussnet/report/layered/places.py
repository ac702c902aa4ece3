"""Where vertices stand within their layer: near their neighbours, apart from each other."""

from collections.abc import Sequence
from itertools import pairwise

from gaussnet.report.layered.lattice import Lattice

ROUGH_SWEEPS = 8
FINE_SWEEPS = 60
BEND_WEIGHT = 4.0
LEAST_WEIGHT = 1e-3
Places = list[float]


def find_places(
    lattice: Lattice, order: list[list[int]], sizes: Sequence[float], gap: float
) -> Places:
    """The middle of each vertex across the layers.

    Sweeps of least squares: each layer in turn is put as near to its neighbours' places as the
    order and the sizes allow; edges between bends pull harder, so that long edges get straight.
    """
    places = _packed(lattice, order, sizes, gap)
    for sweep in range(ROUGH_SWEEPS + FINE_SWEEPS):
        downward = sweep % 2 == 0
        sides = [lattice.above, lattice.below]
        if sweep < ROUGH_SWEEPS:
            sides = sides[:1] if downward else sides[1:]
        for layer in order if downward else reversed(order):
            pulls = [_pull(lattice, vertex, sides, places) for vertex in layer]
            steps = _steps(layer, sizes, gap)
            found = settle([at for at, _ in pulls], [weight for _, weight in pulls], steps)
            for vertex, place in zip(layer, found, strict=True):
                places[vertex] = place
    return places


def settle(wanted: Sequence[float], weights: Sequence[float], steps: Sequence[float]) -> Places:
    """Places nearest to those wanted, in weighted squares, each a step or more after the last.

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


def _packed(lattice: Lattice, order: list[list[int]], sizes: Sequence[float], gap: float) -> Places:
    """Vertices of each layer side by side, around zero."""
    places = [0.0] * len(lattice.above)
    for layer in order:
        steps = _steps(layer, sizes, gap)
        place = -sum(steps) / 2
        for vertex, step in zip(layer, [*steps, 0.0], strict=True):
            places[vertex] = place
            place += step
    return places


def _steps(layer: Sequence[int], sizes: Sequence[float], gap: float) -> list[float]:
    return [(sizes[one] + sizes[other]) / 2 + gap for one, other in pairwise(layer)]


def _pull(
    lattice: Lattice, vertex: int, sides: Sequence[Sequence[Sequence[int]]], places: Places
) -> tuple[float, float]:
    """Where the neighbours on these sides want a vertex, and how much."""
    total = moment = 0.0
    for side in sides:
        for other in side[vertex]:
            weight = BEND_WEIGHT ** ((vertex >= lattice.nodes) + (other >= lattice.nodes))
            total += weight
            moment += weight * places[other]
    return (moment / total, total) if total else (places[vertex], LEAST_WEIGHT)
