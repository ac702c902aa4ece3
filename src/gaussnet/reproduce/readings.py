"""The numbers read off the paper's figures, and how far ours are from them."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from gaussnet.reproduce.catalogue import experiment_named
from gaussnet.reproduce.tables import Point

TOLERANCE = 0.15
WIDE_TOLERANCE = 0.25
"""For curves with heavy tails: spoilt least squares and batches, and 100 rows."""
PAPER_REPETITIONS = 20
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
    verdict: str
    """"near", "chance", "pixel" or "off"; see `deviations`."""


@cache
def readings() -> tuple[Reading, ...]:
    """All points that can be read off the figures.

    Examples
    --------
    >>> len(readings()), readings()[0]
    (140, Reading(experiment='er5-all', method='empirical', rows=1000, value=3.005))
    """
    data = _data()
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
    """Our points beside the readings, where both are there.

    A point is "near" if it is within its tolerance. Of the others, "chance" says that two means,
    of the paper's 20 repetitions and of ours, often differ so much: by no more than two standard
    errors of the difference; and "pixel" that it is no more than one pixel of the figure
    further. The rest are "off".
    """
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
            found.append(
                Deviation(
                    *reading,
                    ours=point.value,
                    standard_error=point.standard_error,
                    deviation=apart,
                    tolerance=tolerance(reading),
                    verdict=_verdict(reading, point),
                )
            )
    return tuple(found)


def summary_of(found: Sequence[Deviation]) -> str:
    """One sentence that counts the verdicts."""
    counts = Counter(one.verdict for one in found)
    parts = [
        f"{counts['near']} of {len(found)} points are as near as allowed",
        f"{counts['chance']} within sampling error",
        f"{counts['pixel']} within one pixel of the figure",
        f"{counts['off']} off",
    ]
    kept = [part for part in parts if not part.startswith("0 ")]
    return ", ".join(kept) + "."


def tolerance(reading: Reading) -> float:
    """How far ours may be from a reading, as a share of it.

    Examples
    --------
    >>> tolerance(Reading("tree-gauss", "batch-median+20", 1000, 0.75))
    0.25
    """
    spoilt = experiment_named(reading.experiment).is_contaminated
    heavy_tailed = spoilt and reading.method.startswith(FRAGILE)
    return WIDE_TOLERANCE if heavy_tailed or reading.rows == 100 else TOLERANCE


def _verdict(reading: Reading, point: Point) -> str:
    apart = abs(point.value - reading.value)
    if apart <= tolerance(reading) * reading.value:
        return "near"
    error = point.standard_error * math.sqrt(1.0 + point.repetitions / PAPER_REPETITIONS)
    if apart <= 2.0 * error:
        return "chance"
    pixel = _data()["pixels"].get(reading.experiment, 0.0)
    return "pixel" if apart <= pixel + 2.0 * error else "off"


@cache
def _data() -> dict[str, Any]:
    file = files("gaussnet.reproduce") / "data" / "readings.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
