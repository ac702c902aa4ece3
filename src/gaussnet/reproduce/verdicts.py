"""The paper beside our numbers: points read off its figures, and its claims."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from gaussnet.reproduce.catalogue import (
    EXPERIMENTS,
    FIVE,
    UNDIRECTED,
    Condition,
    experiment_named,
    settings_named,
)
from gaussnet.reproduce.tables import Point
from gaussnet.reproduce.tasks import label_of

TOLERANCE = 0.15
WIDE_TOLERANCE = 0.25
"""For curves with heavy tails: contaminated least squares and batches, and 100 rows."""
PAPER_REPETITIONS = 20
HEAVY_TAILED = ("least-squares", "batch-average", "batch-median")
LARGE_MARGIN = 2.0
"""What we take "by a large margin" to mean: at most half the KL divergence."""
LINE_WIDTH = 0.05
"""Curves closer than this coincide in a figure."""
ROBUST = ("cauchy", "cauchy-tree", "batch-median+20")
FRAGILE = ("least-squares", "batch-average+20")


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
        contaminated = experiment_named(name).is_contaminated
        sizes = data["contaminated_rows" if contaminated else "clean_rows"]
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
    contaminated = experiment_named(reading.experiment).is_contaminated
    heavy_tailed = contaminated and reading.method.startswith(HEAVY_TAILED)
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


class Comparison(NamedTuple):
    """One question put to the numbers: is `less` below `more`, or do the two coincide?"""

    experiment: str
    rows: int
    less: str
    more: str
    less_value: float
    more_value: float
    margin: float = 1.0
    """So many times `less` must still be below `more`."""
    coincide: bool = False
    error: float = 0.0
    """Standard error of the difference between the two."""

    @property
    def slack(self) -> float:
        """By what factor the answer is yes; below 1 it is no.

        Examples
        --------
        >>> Comparison("er5", 1000, "cauchy", "cauchy-tree", 2.0, 3.0).slack
        1.5
        """
        ratio = self.more_value / self.less_value
        if self.coincide:
            return (1.0 + LINE_WIDTH) / max(ratio, 1.0 / ratio)
        return ratio / self.margin

    @property
    def holds(self) -> bool:
        """The answer."""
        return self.slack > 1.0

    @property
    def is_contrary(self) -> bool:
        """Whether the answer is no, and not by chance: more than two standard errors off."""
        gap = self.margin * self.less_value - self.more_value
        by_chance = math.isfinite(gap) and not self.coincide and gap <= 2.0 * self.error
        return not self.holds and not by_chance

    def __str__(self) -> str:
        return (
            f"{label_of(self.less)} {self.less_value:.3g}, {label_of(self.more)} "
            f"{self.more_value:.3g} ({self.experiment}, m = {self.rows})"
        )


class Claim(NamedTuple):
    """A claim of the paper and what became of it."""

    number: int
    settings: str
    text: str
    verdict: str
    """"holds", "holds within sampling error", "does not hold" or "not tested"."""
    held: int
    tested: int
    """Comparisons of two points that hold, of so many."""
    numbers: str
    """The closest call if the claim holds, the worst failure if it does not."""


@dataclass(frozen=True)
class Curves:
    """The points of one of the settings, by experiment, method and rows."""

    settings: str
    points: dict[tuple[str, str, str, int], Point]

    @classmethod
    def of(cls, settings: str, points: Iterable[Point]) -> "Curves":
        """The points of these settings."""
        chosen = (point for point in points if point.settings == settings)
        return cls(settings, {(p.experiment, p.method, p.measure, p.rows): p for p in chosen})

    def rows(self, experiment: str) -> list[int]:
        """The sample sizes that an experiment was done with."""
        return sorted({key[3] for key in self.points if key[0] == experiment})

    def compare(
        self, experiment: str, less: str, more: str, *, measure: str = "kl", margin: float = 1.0
    ) -> Iterator[Comparison]:
        """Compare two methods at every sample size."""
        for rows in self.rows(experiment):
            one = self.points[experiment, less, measure, rows]
            other = self.points[experiment, more, measure, rows]
            error = math.hypot(margin * one.standard_error, other.standard_error)
            values = (one.value, other.value)
            yield Comparison(experiment, rows, less, more, *values, margin, error=error)


def _least_squares_on_clean(curves: Curves) -> Iterator[Comparison]:
    for experiment in EXPERIMENTS:
        if experiment.condition == "clean" and experiment.methods == FIVE:
            for other in _others("least-squares"):
                yield from curves.compare(experiment.name, "least-squares", other)


def _five_beat_undirected(curves: Curves) -> Iterator[Comparison]:
    for method in FIVE:
        for other in UNDIRECTED:
            yield from curves.compare("er5-all", method, other)


def _cauchy_beats_tree(curves: Curves) -> Iterator[Comparison]:
    yield from curves.compare("er5", "cauchy", "cauchy-tree")
    if settings_named(curves.settings).tree == "rooted":
        for found in curves.compare("tree", "cauchy", "cauchy-tree"):
            yield found._replace(coincide=True)


def _robust_beat_fragile(curves: Curves) -> Iterator[Comparison]:
    for experiment in EXPERIMENTS:
        if experiment.is_contaminated:
            for method in ROBUST:
                for other in FRAGILE:
                    yield from curves.compare(experiment.name, method, other, margin=LARGE_MARGIN)


def _least_squares_when_ill_conditioned(curves: Curves) -> Iterator[Comparison]:
    for name in _names("ill-conditioned"):
        for other in _others("least-squares"):
            yield from curves.compare(name, "least-squares", other)


def _batch_average_when_agnostic(curves: Curves) -> Iterator[Comparison]:
    # the excess over the best network on the graph has the order of the full KL, and shows more
    for name in _names("agnostic"):
        for other in _others("batch-average+20"):
            yield from curves.compare(name, "batch-average+20", other, measure="excess")


def _larger_batches(curves: Curves) -> Iterator[Comparison]:
    for experiment in EXPERIMENTS:
        if experiment.name.startswith("batch-"):
            for nearer, farther in pairwise(experiment.methods[:4]):
                yield from curves.compare(experiment.name, nearer, farther)


def _run_times(curves: Curves) -> Iterator[Comparison]:
    batches = ("batch-median+20", "batch-average+20")
    pairs = [("least-squares", one) for one in batches] + [(one, "cauchy-tree") for one in batches]
    for less, more in (*pairs, ("cauchy-tree", "cauchy")):
        yield from curves.compare("runtime", less, more, measure="seconds")


def _others(method: str) -> tuple[str, ...]:
    return tuple(other for other in FIVE if other != method)


def _names(condition: Condition) -> list[str]:
    return [experiment.name for experiment in EXPERIMENTS if experiment.condition == condition]


CLAIMS: tuple[tuple[str, Callable[[Curves], Iterator[Comparison]]], ...] = (
    ("On clean data LeastSquares has the smallest KL divergence", _least_squares_on_clean),
    ("The five estimators beat GLASSO, CLIME and MLE", _five_beat_undirected),
    (
        "CauchyEst beats CauchyEstTree on ER graphs of d = 5; on trees of in-degree 1 they "
        "coincide",
        _cauchy_beats_tree,
    ),
    (
        "Under contamination CauchyEst, CauchyEstTree and BatchMed beat LeastSquares and BatchAvg "
        "by a large margin (taken as: at most half the KL)",
        _robust_beat_fragile,
    ),
    ("With ill-conditioned nodes LeastSquares is still best", _least_squares_when_ill_conditioned),
    (
        "On a graph that lacks edges BatchAvg is slightly better than all others",
        _batch_average_when_agnostic,
    ),
    (
        "Larger batches bring BatchAvg and BatchMed closer to LeastSquares",
        _larger_batches,
    ),
    ("Run times: LeastSquares < BatchMed, BatchAvg < CauchyEstTree < CauchyEst", _run_times),
)
"""The claims in the order of the paper; the last one is about time."""


def check_claims(settings: str, points: Iterable[Point]) -> tuple[Claim, ...]:
    """What the numbers say of each claim; one without numbers is not tested."""
    curves = Curves.of(settings, points)
    return tuple(
        _judge(number, text, curves, tuple(comparisons(curves)))
        for number, (text, comparisons) in enumerate(CLAIMS, start=1)
    )


def _judge(number: int, text: str, curves: Curves, asked: tuple[Comparison, ...]) -> Claim:
    if not asked:
        return Claim(number, curves.settings, text, "not tested", 0, 0, "")
    worst = min(asked, key=lambda comparison: comparison.slack)
    held = sum(comparison.holds for comparison in asked)
    word = "closest" if held == len(asked) else "worst"
    if any(comparison.is_contrary for comparison in asked):
        verdict = "does not hold"
    else:
        verdict = "holds" if held == len(asked) else "holds within sampling error"
    return Claim(number, curves.settings, text, verdict, held, len(asked), f"{word}: {worst}")
