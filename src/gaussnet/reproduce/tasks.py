"""One repetition of one experiment: its rows, what each method learns, and how far off that is."""

import math
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet.errors import EstimationError
from gaussnet.model.distances import kl_divergence
from gaussnet.reproduce.beds import Bed, draw_bed, draw_rows
from gaussnet.reproduce.catalogue import (
    UNDIRECTED,
    Experiment,
    Settings,
    experiment_named,
    settings_named,
)
from gaussnet.reproduce.methods import learn
from gaussnet.seeds import children
from gaussnet.types import FloatArray

TIMINGS = 5
"""A method is timed so often and its best time kept."""


class Record(NamedTuple):
    """One number: a method's KL divergence, its excess over the projection, or its seconds."""

    settings: str
    experiment: str
    method: str
    measure: str
    rows: int
    repetition: int
    value: float
    limit: float
    """The information limit at this many rows."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is told."""

    settings: str
    experiment: str
    repetition: int
    seed: int
    nodes: int = 100
    rows: tuple[int, ...] | None = None
    """Instead of the figure's."""

    @property
    def name(self) -> str:
        """A file name."""
        return f"{self.settings}.{self.experiment}.{self.repetition:04d}"

    @property
    def cost(self) -> float:
        """How long it takes, beside other tasks."""
        return experiment_named(self.experiment).cost

    def run(self) -> tuple[Record, ...]:
        """Draw the network and the rows, and let every method learn from them."""
        experiment, settings = experiment_named(self.experiment), settings_named(self.settings)
        sizes = self.rows or experiment.rows(settings)
        key = (zlib.crc32(f"{self.settings} {experiment.draw_key}".encode()), self.repetition)
        root = np.random.SeedSequence(self.seed, spawn_key=key)
        bed_seed, *row_seeds = children(root, 1 + len(sizes))
        bed = draw_bed(experiment, settings, self.nodes, bed_seed)
        found = []
        for size, seed in zip(sizes, row_seeds, strict=True):
            rows = draw_rows(bed, experiment, settings, size, seed)
            for method, measure, value in _measure(bed, rows, experiment, settings):
                where = (self.settings, self.experiment, method, measure)
                found.append(Record(*where, size, self.repetition, value, bed.limit(size)))
        return tuple(found)


def _measure(
    bed: Bed, rows: FloatArray, experiment: Experiment, settings: Settings
) -> Iterator[tuple[str, str, float]]:
    """Method, measure and value of all methods on these rows."""
    if experiment.condition == "runtime":
        for method in experiment.methods:
            yield method, "seconds", _seconds(method, bed, rows, experiment, settings)
        return
    at_best = 0.0
    if experiment.condition == "agnostic":
        at_best = kl_divergence(bed.truth, bed.projection)
        yield "projection", "kl", at_best
    for method in experiment.methods:
        kl = _divergence(method, bed, rows, experiment, settings)
        yield method, "kl", kl
        if experiment.condition == "agnostic":
            yield method, "excess", kl - at_best


def _divergence(
    method: str, bed: Bed, rows: FloatArray, experiment: Experiment, settings: Settings
) -> float:
    """The KL divergence; NaN where a baseline gives up, which must not stop the others."""
    try:
        return kl_divergence(bed.truth, learn(method, rows, bed.dag, experiment, settings))
    except EstimationError:
        if method not in UNDIRECTED:
            raise
        return math.nan


def _seconds(
    method: str, bed: Bed, rows: FloatArray, experiment: Experiment, settings: Settings
) -> float:
    times = []
    for _ in range(TIMINGS):
        start = time.perf_counter()
        learn(method, rows, bed.dag, experiment, settings)
        times.append(time.perf_counter() - start)
    return min(times)
