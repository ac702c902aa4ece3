"""The order within layers: sweeps of barycentres, then exchanges of neighbours."""

from bisect import bisect_right, insort
from collections.abc import Sequence

from gaussnet.report.layered.lattice import Lattice

SWEEPS = 24
EXCHANGES = 8
Order = list[list[int]]
Neighbours = Sequence[Sequence[int]]


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
    >>> from gaussnet.report.layered.lattice import build_lattice
    >>> lattice = build_lattice(4, [(0, 2), (1, 3)])
    >>> count_crossings(lattice, [[0, 1], [2, 3]]), count_crossings(lattice, [[0, 1], [3, 2]])
    (0, 1)
    """
    place = _places(order)
    total = 0
    for layer in order:
        ends: list[int] = []
        for vertex in layer:
            own = sorted(place[end] for end in lattice.below[vertex])
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


def _sort_by_barycentres(lattice: Lattice, order: Order, *, downward: bool) -> None:
    """Sort each layer by the mean place of the neighbours in the layer that was sorted last."""
    neighbours = lattice.above if downward else lattice.below
    place = _places(order)
    for number in range(len(order)) if downward else reversed(range(len(order))):
        means = {
            vertex: sum(place[other] for other in neighbours[vertex]) / len(neighbours[vertex])
            if neighbours[vertex]
            else place[vertex]
            for vertex in order[number]
        }
        order[number].sort(key=means.__getitem__)
        place |= {vertex: index for index, vertex in enumerate(order[number])}


def _exchange_neighbours(lattice: Lattice, order: Order) -> None:
    """Exchange successive vertices of a layer wherever that removes crossings."""
    for _ in range(EXCHANGES):
        place = _places(order)
        gained = False
        for layer in order:
            for index in range(len(layer) - 1):
                left, right = layer[index : index + 2]
                gain = sum(
                    _crossings(side[left], side[right], place)
                    - _crossings(side[right], side[left], place)
                    for side in (lattice.above, lattice.below)
                )
                if gain > 0:
                    layer[index : index + 2] = right, left
                    place[left], place[right] = index + 1, index
                    gained = True
        if not gained:
            return


def _crossings(first: Sequence[int], second: Sequence[int], place: dict[int, int]) -> int:
    """Crossings of the edges of two vertices, the first of which stands before the second."""
    return sum(place[one] > place[other] for one in first for other in second)


def _places(order: Order) -> dict[int, int]:
    return {vertex: index for layer in order for index, vertex in enumerate(layer)}
