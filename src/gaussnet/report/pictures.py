"""From the points of an experiment to its picture."""

import math
from collections.abc import Sequence

from gaussnet.experiments.catalogue import Experiment
from gaussnet.experiments.methods import label_of
from gaussnet.experiments.readings import Reading
from gaussnet.experiments.tables import Point
from gaussnet.figures.bars import draw_bars
from gaussnet.figures.curves import Curve, Line, Panel, draw_curves
from gaussnet.figures.style import Picture

LOOKS = {
    "least-squares": 0,
    "batch-average+20": 1,
    "batch-average+5": 2,
    "batch-average+100": 4,
    "batch-median+20": 2,
    "batch-median+5": 1,
    "batch-median+100": 4,
    "cauchy-tree": 3,
    "cauchy": 4,
    "empirical": 5,
    "graphical-lasso": 6,
    "clime": 7,
}
QUANTITIES = {"kl": "KL divergence", "excess": "KL above the best on the graph"}


def picture_of(
    experiment: Experiment, points: Sequence[Point], readings: Sequence[Reading]
) -> Picture:
    """The picture of one experiment under one of the settings."""
    if experiment.condition == "runtime":
        times = {label_of(point.method): 1000.0 * point.value for point in points}
        return draw_bars(experiment.title, "milliseconds, median (logarithmic)", times)
    measures = dict.fromkeys(point.measure for point in points)
    return draw_curves([_panel(experiment, points, readings, measure) for measure in measures])


def _panel(
    experiment: Experiment, points: Sequence[Point], readings: Sequence[Reading], measure: str
) -> Panel:
    own = [point for point in points if point.measure == measure]
    curves = [
        _curve([point for point in own if point.method == method], readings)
        for method in dict.fromkeys(point.method for point in own)
        if method != "projection"
    ]
    sizes = curves[0].rows
    best = [point.value for point in own if point.method == "projection"]
    limits = {point.rows: point.limit for point in own}
    line = (
        Line(label_of("projection"), sizes, best, ":")
        if best
        else Line("information limit", sizes, [limits[size] for size in sizes])
    )
    return Panel(experiment.title, QUANTITIES[measure], curves, [line])


def _curve(points: Sequence[Point], readings: Sequence[Reading]) -> Curve:
    first = points[0]
    remark = " (median)" if first.shown == "median" else ""
    if not all(math.isfinite(point.value) for point in points):
        remark += " (infinite)"
    crosses = {
        reading.rows: reading.value
        for reading in readings
        if (reading.experiment, reading.method) == (first.experiment, first.method)
    }
    return Curve(
        label_of(first.method) + remark,
        [point.rows for point in points],
        [point.value for point in points],
        [point.standard_error for point in points],
        LOOKS[first.method],
        crosses,
    )
