"""Where the coefficients stand on a drawing: on their edges, not on top of each other."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from gaussnet.report.layered import Point

LETTER, HEIGHT = 6.2, 13.0
"""Sizes of a letter of an inscription."""
SHARES = (0.5, 0.32, 0.68, 0.18, 0.82)
"""How far along a stretch of its edge an inscription may stand, best first."""
MOST_PLACES = 15


class Box(NamedTuple):
    """A text's place: its middle and its width."""

    x: float
    y: float
    width: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover."""
        across = (self.width + other.width) / 2 - abs(self.x - other.x)
        down = HEIGHT - abs(self.y - other.y)
        return max(across, 0.0) * max(down, 0.0)


def place_inscriptions(routes: Sequence[Sequence[Point]], texts: Sequence[str]) -> list[Box]:
    """For each edge the first place on it that is free, or the one least covered by earlier ones.

    Examples
    --------
    >>> routes = [[(0.0, 0.0), (0.0, 100.0)], [(4.0, 0.0), (4.0, 100.0)]]
    >>> [round(box.y) for box in place_inscriptions(routes, ["1.25", "-0.5"])]
    [50, 36]
    """
    placed: list[Box] = []
    for route, text in zip(routes, texts, strict=True):
        boxes = [Box(*point, LETTER * len(text)) for point in islice(_places(route), MOST_PLACES)]
        covered = [sum(box.overlap(other) for other in placed) for box in boxes]
        placed.append(boxes[covered.index(min(covered))])
    return placed


def _places(route: Sequence[Point]) -> Iterator[Point]:
    """Points of an edge, from its last stretch backwards."""
    for (x, y), (right, down) in reversed(list(pairwise(route))):
        for t in SHARES:
            eased = t * t * (3.0 - 2.0 * t)
            bowed = 0.5 * (3.0 * t * (1.0 - t)) + t**3
            if abs(right - x) > abs(down - y):
                yield x + bowed * (right - x), y + eased * (down - y)
            else:
                yield x + eased * (right - x), y + bowed * (down - y)
