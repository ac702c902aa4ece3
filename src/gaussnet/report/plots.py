"""Plots of fits with matplotlib: the network, coefficients, residuals and outliers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from gaussnet.data.factors import column_positions
from gaussnet.errors import GaussnetError, SettingError
from gaussnet.fitting.residuals import MOST_ROWS, judged_residuals, shape_words
from gaussnet.fitting.standardized import shown_coefficients, standardized_coefficients
from gaussnet.graph.dag import counted
from gaussnet.report.layout import Layout, lay_out
from gaussnet.report.markup import brief
from gaussnet.report.network_picture import FEW_EDGES, drawing_sizes, place_inscriptions, shorten

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

PLUS, MINUS, WRONG = "#2f7fd6", "#d9722b", "#c8372d"
COLOURS = ("#2f7fd6", "#d9722b", "#1c9e77", "#8a63d2", "#d6406f", "#7a8799")
THIN, THICK = 0.6, 2.8
"""Widths of the edges with the smallest and the largest coefficient, in points."""
MOST_NODES = 150
MOST_PANELS = 30
MOST_POINTS = 2_000
MOST_COEFFICIENTS = 60
UNIT = 72.0
"""Units of the layout to an inch."""


def network(fit: "Fit", *, ax: Any = None) -> Any:
    """The network, with the missing edges that the data contradict as dotted lines."""
    dag = fit.dag
    if not 0 < len(dag) <= MOST_NODES:
        raise SettingError(
            f"the graph has {counted(len(dag), 'node')}, and a plot shows 1 to {MOST_NODES}: use "
            "write_explorer for a chosen part"
        )
    labels = [shorten(node) for node in dag.nodes]
    sizes = drawing_sizes(labels)
    arrows = [(dag.position(parent), dag.position(child)) for parent, child in dag.arrows]
    layout = lay_out(len(dag), arrows, sizes)
    axes = ax if ax is not None else _axes((layout.width / UNIT + 0.6, layout.height / UNIT + 0.6))
    _draw_edges(axes, fit, layout)
    for (x, y), label in zip(layout.centres, labels, strict=True):
        box = {"boxstyle": "round,pad=0.35", "facecolor": "#eef1f5", "edgecolor": "#616874"}
        axes.text(x, y, label, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    for pair in dag.free_covariances:
        _draw_bow(axes, [layout.centres[dag.position(node)] for node in pair], "#616874", "--")
    _draw_contradictions(axes, fit, layout)
    axes.set_xlim(-20, layout.width + 20)
    axes.set_ylim(layout.height + 20, -20)
    axes.set_aspect("equal")
    axes.axis("off")
    return axes


def _draw_edges(axes: Any, fit: "Fit", layout: Layout) -> None:
    """Edges whose width is the size of the standardised coefficient; numbers if they are few."""
    values = list(fit.network.coefficients.values())
    for route, value, width in zip(layout.routes, values, _widths(fit), strict=True):
        colour = MINUS if value < 0.0 else PLUS
        points = np.array(route)
        style = "--" if value < 0.0 else "-"
        if len(points) > 2:
            axes.plot(
                points[:-1, 0], points[:-1, 1], style, color=colour, linewidth=width, zorder=1
            )
        arrow = {"arrowstyle": "-|>", "color": colour, "linestyle": style, "linewidth": width}
        axes.annotate("", xy=points[-1], xytext=points[-2], arrowprops=arrow, zorder=1)
    if len(values) <= FEW_EDGES:
        texts = [brief(value) for value in values]
        for box, words in zip(place_inscriptions(layout.routes, texts), texts, strict=True):
            patch = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
            axes.text(box.x, box.y, words, ha="center", va="center", fontsize=8, bbox=patch)


def _widths(fit: "Fit") -> list[float]:
    """The width of each edge, by its standardised coefficient against the largest, in points."""
    try:
        found = shown_coefficients(fit, implied=False)
    except GaussnetError:  # rows that were changed since
        found = standardized_coefficients(fit.network)
    sizes = np.nan_to_num(np.abs(found[~fit.dag.is_covariance]))
    largest = sizes.max(initial=0.0) or 1.0
    return [THIN + (THICK - THIN) * size / largest for size in sizes.tolist()]


def _draw_contradictions(axes: Any, fit: "Fit", layout: Layout) -> None:
    check = fit._verdict.check
    for one in () if check is None else check.rejected:
        ends = [layout.centres[fit.dag.position(node)] for node in (one.other, one.node)]
        _draw_bow(axes, ends, WRONG, ":")


def _draw_bow(axes: Any, ends: Sequence[Any], colour: str, line: str) -> None:
    style = {
        "arrowstyle": "-",
        "color": colour,
        "linestyle": line,
        "linewidth": 1.6,
        "connectionstyle": "arc3,rad=0.25",
    }
    axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=style, zorder=2)


def coefficients(
    fits: Sequence["Fit"], names: Sequence[str], *, level: float, standardized: bool, ax: Any
) -> Any:
    """A forest plot: each coefficient with its interval, several fits side by side."""
    edges = list(dict.fromkeys(edge for fit in fits for edge in fit.dag.arrows))
    if not edges:
        raise SettingError("the graph has no edges, so there are no coefficients to plot")
    shown = edges[:MOST_COEFFICIENTS]
    axes = ax if ax is not None else _axes((6.4, 0.8 + len(shown) * (0.16 + 0.14 * len(fits))))
    axes.axvline(0.0, color="#616874", linewidth=0.8)
    for index, (fit, name) in enumerate(zip(fits, names, strict=True)):
        table = fit.table(standardized, level=level)
        rows = {(row["parent"], row["child"]): row for row in table}
        own = [(place, rows[edge]) for place, edge in enumerate(shown) if edge in rows]
        shift = 0.6 * ((index + 0.5) / len(fits) - 0.5)
        places = np.array([place for place, _ in own]) + shift
        values, low, high = (
            np.array([row[key] for _, row in own], dtype=np.float64)
            for key in ("estimate", "low", "high")
        )
        reach = np.nan_to_num(np.stack((values - low, high - values)))
        axes.errorbar(
            values, places, xerr=np.maximum(reach, 0.0), fmt="o", markersize=4, capsize=2.5,
            color=COLOURS[index % len(COLOURS)], label=name, linewidth=1.3,
        )  # fmt: skip
    words = [f"{shorten(parent)} \N{RIGHTWARDS ARROW} {shorten(child)}" for parent, child in shown]
    axes.set_yticks(range(len(shown)), words)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    kind = "standardised coefficient" if standardized else "coefficient (units of child / parent)"
    more = f", first {len(shown)} of {len(edges)}" if len(shown) < len(edges) else ""
    axes.set_xlabel(f"{kind} with {100 * level:.4g} % interval{more}")
    if len(fits) > 1:
        axes.legend(frameon=False)
    return axes


def residuals(fit: "Fit", nodes: Iterable[str] | None) -> Any:
    """Quantiles of each node's residuals against those of the Gaussian, with a verdict.

    Values that a robust fit does not believe are left out, and their number is in the verdict.
    Levels of a category are 0 or 1 and have no panel unless they are named.
    """
    dag = fit.dag
    chosen = [node for node in dag.nodes if node not in dag.indicators]
    chosen = chosen if nodes is None else list(nodes)
    positions = [dag.position(node) for node in chosen][:MOST_PANELS]
    left, shapes = judged_residuals(fit, MOST_ROWS), fit.residual_shapes
    columns = min(3, max(len(positions), 1))
    rows = -(-len(positions) // columns)
    panels = _figure((3.0 * columns, 2.9 * rows)).subplots(rows, columns, squeeze=False)
    for panel, position in zip(panels.ravel(), positions, strict=False):
        found = np.sort(left[position][np.isfinite(left[position])])
        expected = ndtri((np.arange(len(found)) + 0.5) / max(len(found), 1))
        step = max(1, len(found) // MOST_POINTS)
        panel.plot(expected[::step], found[::step], ".", markersize=3, color=PLUS)
        panel.axline((0.0, 0.0), slope=1.0, color=MINUS, linewidth=1.0)
        words = shape_words(fit, shapes, position).replace(" (", "\n(")
        panel.set_title(f"{shorten(dag.nodes[position])}\n{words}".strip(), fontsize=9)
        panel.set_xlabel("Gaussian quantile", fontsize=8)
        panel.set_ylabel("residual, sd", fontsize=8)
    for panel in panels.ravel()[len(positions) :]:
        panel.axis("off")
    return panels


def outliers(fit: "Fit", *, ax: Any) -> Any:
    """Flagged cells: rows across, one line per node, the size of a mark by how far off it is."""
    found = fit.outliers()
    touched = [node for node in fit.dag.nodes if found.shares[node] > 0.0]
    axes = ax if ax is not None else _axes((7.0, 1.4 + 0.3 * max(len(touched), 1)))
    places = {node: place for place, node in enumerate(touched)}
    z = np.abs(found.z)
    axes.scatter(
        found.rows, [places[node] for node in found.nodes], s=12.0 + 14.0 * np.log1p(z),
        c=[MINUS if value < 0.0 else PLUS for value in found.z.tolist()], alpha=0.7, linewidths=0,
    )  # fmt: skip
    shares = [f"{shorten(node)} ({found.shares[node]:.1%})" for node in touched]
    axes.set_yticks(range(len(touched)), shares)
    axes.set_ylim(len(touched) - 0.4, -0.6)
    last = max(fit.rows, int(found.rows.max(initial=0)) + 1)
    axes.set_xlim(-0.01 * last, 1.01 * last)
    axes.set_xlabel("row; blue: too high, orange: too low; larger: further off")
    values = fit.rows * len(column_positions(fit.dag))
    axes.set_title(f"{counted(len(found), 'flagged value')} of {values:,}")
    return axes


def named_fits(
    first: "Fit", others: "Fit | Mapping[str, Fit] | Iterable[Fit]"
) -> tuple[Any, list[str]]:
    """The fits to plot side by side, and their names."""
    from gaussnet.fitting.comparison import fit_labels
    from gaussnet.fitting.result import Fit

    if isinstance(others, Mapping):
        fits, names = [first, *others.values()], [first.method.name, *map(str, others)]
    else:
        fits = [first, *(others if isinstance(others, Iterable) else [others])]
        names = fit_labels(fits)
    for fit in fits:
        if not isinstance(fit, Fit):
            raise SettingError(
                f"got a {type(fit).__name__} to plot beside, expected what gaussnet.fit gives: one "
                "fit, a list of fits, or a mapping from names to fits"
            )
    return fits, names


def _axes(size: tuple[float, float]) -> Any:
    return _figure(size).subplots()


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise SettingError(
            "plots need matplotlib, which is not installed: pip install 'gaussnet[figures]'"
        ) from None
    sides = min(size[0], 30.0), min(size[1], 30.0)
    return pyplot.figure(figsize=sides, layout="constrained")
