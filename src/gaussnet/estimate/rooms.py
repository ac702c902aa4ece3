"""How many values a bracket should hold, and where the middle of a row must lie."""

import numpy as np

from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.middles import Ends
from gaussnet.estimate.ragged import Ragged
from gaussnet.estimate.samples import middle_part, sorted_spread

WIDTH = 16.0
"""A bracket holds so many square roots of the number of values."""

SLACK = 2.0
"""A bracket is narrowed when it holds so many times what it should."""

LARGEST_ROOM = 4_096
SMALLEST_ROOM = 256
SAMPLE_ROOMS = 16
"""The sample of the stream is at most so many times the room."""

SUMMARY_VALUES = 1 << 23
"""Values that rooms and samples of all coefficients should take together (64 MiB)."""

NARROWING_SAMPLE = 1_024
"""Values that the ends of a narrower bracket are chosen by."""

SAMPLE_ERROR = 3.0 / np.sqrt(NARROWING_SAMPLE)
"""Three standard deviations of the share of a row that its sample puts on either side."""


def default_room(coefficients: int) -> int:
    """Values of a coefficient that are all kept: 4,096, fewer beyond a hundred coefficients.

    Examples
    --------
    >>> default_room(10), default_room(1_000), default_room(100_000)
    (4096, 466, 256)
    """
    fitting = int(SUMMARY_VALUES / ((SLACK + SAMPLE_ROOMS) * max(coefficients, 1)))
    return min(max(fitting, SMALLEST_ROOM), LARGEST_ROOM)


def should_hold(room: int, used: IntArray) -> FloatArray:
    """Values that a bracket should hold."""
    return np.maximum(float(room), WIDTH * np.sqrt(used))


def middle_ends(rows: Ragged, chosen: IntArray, room: int) -> Ends:
    """Ends between which the middle of each chosen row lies, by a sample of it."""
    lengths = rows.lengths[chosen]
    ordered = sorted_spread(rows, chosen, NARROWING_SAMPLE)
    return middle_part(ordered, should_hold(room, lengths) / lengths + SAMPLE_ERROR)


def bracket_values(coefficients: int, rows: int) -> float:
    """Values that brackets keep for each of so many coefficients over so many rows."""
    room = default_room(coefficients)
    near = max(float(room), WIDTH * float(np.sqrt(rows)))
    return SLACK * near + SAMPLE_ROOMS * room
