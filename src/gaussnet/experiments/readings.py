"""The numbers read off the paper's figures, and how far ours are from them."""

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from gaussnet.experiments.catalogue import experiment_named
from gaussnet.experiments.tables import Point

TOLERANCE = 0.15
WIDE_TOLERANCE = 0.25
"""For curves with heavy tails: spoilt least squares and batches, and 100 rows."""
FRAGILE = ("least-squares", "batch-average", "batch-median")


class Reading(NamedTuple):
    """A point of the paper's figures."""

    experiment: str
    method: str
    rows: int
    value: float


class Deviation(NamedTuple):
    """A point of the paper's figures beside ours."""

    experiment: str
    method: str
    rows: int
    reading: float
    ours: float
    standard_error: float
    deviation: float
    """(ours - reading) / reading."""
    tolerance: float
    within: bool


@cache
def readings() -> tuple[Reading, ...]:
    """All points that can be read off the figures.

    Examples
    --------
    >>> len(readings()), readings()[0]
    (140, Reading(experiment='er5-all', method='empirical', rows=1000, value=3.005))
    """
    data: dict[str, Any] = json.loads(
        (files("gaussnet.experiments") / "data" / "readings.json").read_text(encoding="utf-8")
    )
    found = []
    for name, curves in data["experiments"].items():
        spoilt = experiment_named(name).is_contaminated
        sizes = data["contaminated_rows" if spoilt else "clean_rows"]
        for method, values in curves.items():
            for rows, value in zip(sizes, values, strict=True):
                if value is not None:
                    found.append(Reading(name, method, rows, value))
    return tuple(found)


def deviations(points: Iterable[Point]) -> tuple[Deviation, ...]:
    """Our points beside the readings, where both are there."""
    ours = {
        (point.experiment, point.method, point.rows): point
        for point in points
        if point.settings == "plotted" and point.measure == "kl"
    }
    found = []
    for reading in readings():
        point = ours.get(reading[:3])
        if point is not None:
            apart = point.value / reading.value - 1.0
            limit = tolerance(reading)
            error = point.standard_error
            found.append(Deviation(*reading, point.value, error, apart, limit, abs(apart) <= limit))
    return tuple(found)


def tolerance(reading: Reading) -> float:
    """How far ours may be from a reading.

    Examples
    --------
    >>> tolerance(Reading("tree-gauss", "batch-median+20", 1000, 0.75))
    0.25
    """
    spoilt = experiment_named(reading.experiment).is_contaminated
    heavy_tailed = spoilt and reading.method.startswith(FRAGILE)
    return WIDE_TOLERANCE if heavy_tailed or reading.rows == 100 else TOLERANCE
