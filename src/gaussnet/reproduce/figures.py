"""Pictures by matplotlib: curves with error bars, bars, guarantees."""

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gaussnet.errors import FileError

INK = "#20242b"
"""Text, axes and ticks; replaced by the page's own colour where a figure is part of a page."""
FAINT = "#8a919c"
PAPER = "#ffffff"
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 4.3, 3.5, 1.75
TICK_STEPS = (
    (4.0, (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)),
    (100.0, (1.0, 2.0, 5.0)),
    (1000.0, (1.0, 3.0)),
    (math.inf, (1.0,)),
)
"""Which multiples of powers of ten are named, by the ratio of the axis's ends."""


class Look(NamedTuple):
    """Colour, mark and line of a curve: told apart without colour, and on light and dark."""

    colour: str
    mark: str
    line: str = "-"
    is_filled: bool = True


LOOKS = (
    Look("#2f7fd6", "o"),
    Look("#e08214", "s"),
    Look("#1c9e77", "^"),
    Look("#d6406f", "D"),
    Look("#8a63d2", "v", "--", is_filled=False),  # must show on top of the one before
    Look("#7a8799", "P"),
    Look("#a9793b", "X"),
    Look("#3aa6b9", "*"),
)

SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.2,
    "figure.dpi": 100,
    "svg.hashsalt": "gaussnet",
    "svg.fonttype": "none",
}


class Picture(NamedTuple):
    """A figure as files: for papers, for slides, and for a light or dark page."""

    png: bytes
    svg: str
    inline_svg: str
    """Without background; text and axes follow the reader's light or dark theme."""


@contextmanager
def _styled() -> Iterator[Any]:
    """The module matplotlib.figure, with our settings while in use."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise FileError("figures need matplotlib: pip install 'gaussnet[reproduce]'") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield matplotlib.figure


def draw(paint: Callable[[Any], None], size: tuple[float, float]) -> Picture:
    """Let `paint` draw on a fresh figure of this size in inches, and make files of it.

    The files hold no date and no program version, so equal numbers give equal bytes.
    """
    with _styled() as module:
        figure = module.Figure(figsize=size, layout="constrained", facecolor=PAPER)
        paint(figure)
        # positions are found once, not for each file
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        png, svg = io.BytesIO(), io.StringIO()
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(svg, format="svg", metadata=nothing, transparent=True)
    clear = svg.getvalue()
    return Picture(png.getvalue(), _on_paper(clear), _themed(clear))


def check_matplotlib() -> None:
    """Refuse early if figures cannot be drawn."""
    with _styled():
        pass


def _on_paper(svg: str) -> str:
    """The picture on a white ground."""
    head, start, rest = svg.partition("<defs>")
    return f'{head}<rect width="100%" height="100%" fill="{PAPER}"/>{start}{rest}'


def _themed(svg: str) -> str:
    """The picture with its ink in the reader's theme."""
    style = (
        f"<style>:root{{color:{INK}}}"
        "@media (prefers-color-scheme: dark){:root{color:#dfe3ea}}</style>"
    )
    head, start, rest = svg.replace(INK, "currentColor").partition("<defs>")
    return head + style + start + rest


def draw_bars(title: str, quantity: str, values: Mapping[str, float]) -> Picture:
    """Horizontal bars, one for each name, on a logarithmic axis.

    Examples
    --------
    >>> draw_bars("Time", "milliseconds", {"LeastSquares": 0.4, "CauchyEst": 2.0}).png[1:4]
    b'PNG'
    """

    def paint(figure: Any) -> None:
        axis = figure.subplots()
        positions = range(len(values))
        colours = [LOOKS[position % len(LOOKS)].colour for position in positions]
        axis.barh(positions, list(values.values()), color=colours, height=0.6)
        axis.set_yticks(positions, list(values))
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlim(min(values.values()) / 3.0, max(values.values()) * 2.0)
        for position, value in zip(positions, values.values(), strict=True):
            axis.annotate(
                f"{value:.3g}", (value, position), (4, 0), textcoords="offset points", va="center"
            )
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.xaxis.set_minor_formatter(lambda value, _: "")
        axis.set_xlabel(quantity)
        axis.set_title(title)
        axis.tick_params(axis="y", length=0)
        axis.tick_params(which="minor", color=FAINT)

    return draw(paint, (6.0, 0.9 + 0.36 * len(values)))


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


def draw_guarantee(
    rows: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    shapes: Mapping[str, Sequence[float]],
) -> Picture:
    """Total variation against rows, both logarithmic: curves by label, shapes as dashed lines.

    Examples
    --------
    >>> draw_guarantee([100, 1000], {"guaranteed": [0.3, 0.1]}, {"limit": [0.1, 0.03]}).png[1:4]
    b'PNG'
    """

    def paint(figure: Any) -> None:
        axis = figure.subplots()
        for (label, values), look in zip(curves.items(), LOOKS, strict=False):
            axis.plot(rows, values, color=look.colour, label=label)
        for (label, values), style in zip(shapes.items(), ("--", ":", "-."), strict=False):
            axis.plot(rows, values, style, color=INK, linewidth=1.1, label=label)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("rows")
        axis.set_ylabel("total variation from the truth")
        axis.grid(True, which="major")
        figure.legend(loc="outside right center")

    return draw(paint, (7.2, 3.6))
