"""Curves of an error against the number of rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaussnet.figures.style import FAINT, INK, LOOKS, Picture, draw

PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 4.3, 3.5, 1.75
TICK_STEPS = (
    (4.0, (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)),
    (100.0, (1.0, 2.0, 5.0)),
    (1000.0, (1.0, 3.0)),
    (math.inf, (1.0,)),
)
"""Which multiples of powers of ten are named, by the ratio of the axis's ends."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One method: its values at each number of rows, with error bars; none where infinite."""

    label: str
    rows: Sequence[int]
    values: Sequence[float]
    errors: Sequence[float]
    look: int = 0
    """Which of the looks; methods keep theirs from figure to figure."""
    readings: Mapping[int, float] = field(default_factory=dict)
    """Values of another source at some numbers of rows, drawn as crosses."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line without marks: a limit, a best possible value."""

    label: str
    rows: Sequence[int]
    values: Sequence[float]
    style: str = "--"


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves that share their axes."""

    title: str
    quantity: str
    """What the vertical axis shows."""
    curves: Sequence[Curve]
    lines: Sequence[Line] = ()


def draw_curves(panels: Sequence[Panel]) -> Picture:
    """Panels side by side with logarithmic values, and one legend on the right.

    Examples
    --------
    >>> panel = Panel("Chains", "KL", [Curve("LeastSquares", [100, 200], [0.2, 0.1], [0.01, 0.01])])
    >>> draw_curves([panel]).png[1:4]
    b'PNG'
    """

    def paint(figure: Any) -> None:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            _paint_panel(axis, panel)
        handles: dict[str, Any] = {}
        for axis in axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        curves = [curve.label for panel in panels for curve in panel.curves]
        order = dict.fromkeys((*curves, *handles))
        figure.legend([handles[label] for label in order], list(order), loc="outside right center")

    return draw(paint, (PANEL_WIDTH * len(panels) + LEGEND_WIDTH, PANEL_HEIGHT))


def _paint_panel(axis: Any, panel: Panel) -> None:
    for curve in panel.curves:
        _paint_curve(axis, curve)
    for line in panel.lines:
        axis.plot(line.rows, line.values, line.style, color=INK, linewidth=1.2, label=line.label)
    if any(curve.readings for curve in panel.curves):
        axis.plot([], [], "x", color=INK, label="the paper's figure")
    axis.set_yscale("log")
    axis.set_title(panel.title)
    axis.set_xlabel("rows m")
    axis.set_ylabel(panel.quantity)
    axis.grid(True, which="major")
    _label_ticks(axis, panel)


def _paint_curve(axis: Any, curve: Curve) -> None:
    look = LOOKS[curve.look % len(LOOKS)]
    points = [
        (rows, value, error if math.isfinite(error) else 0.0)
        for rows, value, error in zip(curve.rows, curve.values, curve.errors, strict=True)
        if math.isfinite(value)
    ]
    rows, values, errors = zip(*points, strict=True) if points else ((), (), ())
    axis.errorbar(
        rows,
        values,
        # a bar may not reach below zero on a logarithmic axis
        yerr=[[min(e, 0.9 * v) for _, v, e in points], errors],
        color=look.colour,
        marker=look.mark,
        linestyle=look.line,
        markerfacecolor=look.colour if look.is_filled else "none",
        capsize=2.5,
        elinewidth=1.0,
        label=curve.label,
        zorder=3,
    )
    if curve.readings:
        axis.plot(
            list(curve.readings),
            list(curve.readings.values()),
            "x",
            color=INK,
            markersize=5.0,
            markeredgewidth=0.9,
            zorder=4,
        )


def _label_ticks(axis: Any, panel: Panel) -> None:
    """Ticks at the numbers of rows, and enough plain numbers on the logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    rows = sorted({count for curve in panel.curves for count in curve.rows})
    if len(rows) <= 7:
        axis.set_xticks(rows, [f"{count:,}" for count in rows])
    low, high = axis.get_ylim()
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    steps = next(steps for most, steps in TICK_STEPS if high / low <= most)
    axis.yaxis.set_major_locator(LogLocator(subs=steps, numticks=15))
    axis.yaxis.set_major_formatter(plain)
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(which="minor", color=FAINT)
