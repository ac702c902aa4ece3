"""Edges to count values between, when a median is looked for in a known region."""

import numpy as np

from gaussnet._types import FloatArray

EDGES = 64
"""Edges of a coefficient, at most."""

DEVIATIONS = 6.0
"""Edges reach so many standard deviations of a sample's rank to either side."""


def edges_near(guides: FloatArray, share: float, ends: FloatArray) -> FloatArray:
    """Edges at guides around the one at `share`, as far as sampling error may reach."""
    centre = share * len(guides)
    reach = DEVIATIONS * np.sqrt(len(guides) * share * (1.0 - share)) + 4.0
    places = np.linspace(centre - reach, centre + reach, EDGES - 2).astype(np.int64)
    near = guides[np.clip(places, 0, len(guides) - 1)]
    outer = ends[[places[0] < 0, places[-1] >= len(guides)]]
    return np.unique(np.concatenate((near, outer)))


def even_edges(ends: FloatArray) -> FloatArray:
    """Edges that divide the floating-point numbers between the ends evenly, both included."""
    low, high = (_number_of(float(end)) for end in ends)
    numbers = [low + (high - low) * step // (EDGES - 1) for step in range(EDGES)]
    return np.array(sorted({_number_at(number) for number in numbers}))


def _number_of(value: float) -> int:
    """The place of a float64 in the order of all of them; 0.0 has the place 0."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0.0 else bits


def _number_at(place: int) -> float:
    """The float64 at a place in the order of all of them."""
    size = float(np.int64(abs(place)).view(np.float64))
    return -size if place < 0 else size


def window_of(edges: FloatArray, guides: FloatArray, share: float, most: float) -> tuple[int, int]:
    """First and last of the edges around `share` that hold at most the share `most`."""
    if len(edges) < 2:
        return 0, 0
    reached = np.searchsorted(guides, edges) / len(guides)
    first = last = int(np.clip(np.searchsorted(reached, share), 1, len(edges) - 1))
    first -= 1
    if reached[last] - reached[first] > most:
        return 0, 0
    while True:
        left, right = max(first - 1, 0), min(last + 1, len(edges) - 1)
        goes_left = first > 0 and reached[last] - reached[left] <= most
        goes_right = last < len(edges) - 1 and reached[right] - reached[first] <= most
        if goes_left and (share - reached[left] <= reached[right] - share or not goes_right):
            first = left
        elif goes_right:
            last = right
        else:
            return first, last
