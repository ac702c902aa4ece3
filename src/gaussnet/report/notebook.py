"""What notebooks show: HTML that needs nothing else and takes the colours of the page around it.

Text and lines use the current colour, so that dark and light pages both can be read.
"""

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet.errors import GaussnetError
from gaussnet.fitting.notes import grouped_notes
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.fitting.text import heading
from gaussnet.graph.dag import counted
from gaussnet.report.layout import lay_out
from gaussnet.report.markup import brief
from gaussnet.report.network_picture import (
    FEW_EDGES,
    MARGIN,
    MOST_CONTRADICTIONS,
    arc,
    drawing_sizes,
    edge_path,
    place_inscriptions,
    shorten,
)

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.graph.dag import Dag
    from gaussnet.model.gaussian import Gaussian
    from gaussnet.model.inference.counterfactual import Counterfactual
    from gaussnet.model.inference.predicted_rows import Prediction
    from gaussnet.model.network import GaussianNetwork

MOST_NODES = 80
"""Larger graphs are told by their sizes."""
PLUS, MINUS, WRONG = "#3b82d6", "#d9722b", "#d6403a"
"""Colours that show on white and on black: of coefficients, and of contradicted missing edges."""
MOST_PREDICTIONS = 10


def dag(value: "Dag") -> str:
    """A graph, drawn."""
    return _figure(_picture(value), value.sizes)


def network(value: "GaussianNetwork") -> str:
    """A network drawn with its coefficients, and its equations as a table."""
    lines = {
        "node": list(value.dag.nodes),
        "intercept": value.constants.tolist(),
        "noise_sd": value.noise_scales.tolist(),
    }
    table = ResultTable(
        "Nodes",
        (
            Column("node", "node", lines["node"], "text"),
            Column("intercept", "intercept", lines["intercept"]),
            Column("noise_sd", "noise sd", lines["noise_sd"]),
        ),
    )
    picture = _figure(_picture(value.dag, list(value.coefficients.values())), value.dag.sizes)
    return f"{picture}<details><summary>Nodes</summary>{table._repr_html_()}</details>"


def gaussian(value: "Gaussian") -> str:
    """Means and standard deviations of the variables."""
    deviations = np.sqrt(value.variances).tolist()
    columns = (
        Column("variable", "variable", list(value.names), "text"),
        Column("mean", "mean", value.mean.tolist()),
        Column("sd", "standard deviation", deviations),
    )
    title = f"Gaussian over {counted(len(value.names), 'variable')}"
    return ResultTable(title, columns)._repr_html_()


def counterfactual(value: "Counterfactual") -> str:
    """What to know first, and the case in both worlds as a table."""
    warnings, columns = value.print_parts()
    names = Column("node", "node", list(value.network.dag.nodes), "text")
    numbers = (Column(head, head, own.tolist()) for head, own in columns.items())
    table = ResultTable("Counterfactual", (names, *numbers), value.notes)
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in warnings) + table.to_html()


def prediction(value: "Prediction") -> str:
    """The first rows of a prediction, with their intervals."""
    warnings = "".join(f"<p>{escape(sentence)}</p>" for sentence in value.warnings)
    return warnings + prediction_table(value).to_html()


def prediction_table(value: "Prediction") -> ResultTable:
    """The first rows of a prediction as a table."""
    level = f"{100 * value.level:.4g}%"
    first = slice(0, MOST_PREDICTIONS)
    columns = (
        Column("row", "row", [str(row) for row in value.labels[first]], "text"),
        Column("mean", f"{value.node}, expected", value.mean[first].tolist()),
        Column("scale", "standard deviation", value.scale[first].tolist()),
        Column("low", f"{level} low", value.low[first].tolist()),
        Column("high", f"{level} high", value.high[first].tolist()),
    )
    more = len(value) - MOST_PREDICTIONS
    notes = (f"{more:,} more rows are in to_frame()",) if more > 0 else ()
    title = f"Prediction of {value.node} in {counted(len(value), 'row')}"
    return ResultTable(title, columns, notes)


def fit(value: "Fit") -> str:
    """The sentences on a fit, the network drawn, the coefficients, and quantities defined."""
    coefficients = list(value.network.coefficients.values())
    check = value._verdict.check
    pairs = [] if check is None else [(one.other, one.node) for one in check.rejected]
    caption = heading(value)
    if pairs and len(value.dag) <= MOST_NODES:
        caption += "; red dots: no edge, but the data contradict that"
    picture = _figure(_picture(value.dag, coefficients, pairs), caption)
    try:
        table = value.table()._repr_html_()
        table += value.defined()._repr_html_() if value.dag.definitions else ""
    except GaussnetError as problem:
        table = f"<p>No table of coefficients: {escape(str(problem))}</p>"
    said = value.summary()
    colour = "#b7791f" if said.restricts else "#2e8b57"
    colour = "#c8372d" if said.warns else colour
    top = (
        f'<div style="border-left:4px solid {colour};padding:.1em .8em;margin:.3em 0">'
        f"{said._repr_html_()}</div>"
    )
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in grouped_notes(value.notes)[:20])
    listed = f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
    return f"{top}{picture}{table}{listed}"


def _figure(picture: str, caption: str) -> str:
    return (
        f'<figure style="margin:.3em 0;color:inherit">{picture}'
        f'<figcaption style="opacity:.8">{escape(caption)}</figcaption></figure>'
    )


def _picture(
    value: "Dag",
    coefficients: list[float] | None = None,
    contradicted: Sequence[tuple[str, str]] = (),
) -> str:
    """The graph as SVG; nothing if it is too large.

    Missing edges that the data contradict are dotted arcs.
    """
    if not 0 < len(value) <= MOST_NODES:
        return ""
    labels = [shorten(node) for node in value.nodes]
    sizes = drawing_sizes(labels)
    arrows = [(value.position(parent), value.position(child)) for parent, child in value.arrows]
    layout = lay_out(len(value), arrows, sizes)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    edges = []
    for index, route in enumerate(layout.routes):
        line, head = edge_path(route, layout.rightward, 1.6)
        colour = "currentColor"
        dash = ""
        if coefficients is not None:
            colour = MINUS if coefficients[index] < 0.0 else PLUS
            dash = ' stroke-dasharray="7 3"' if coefficients[index] < 0.0 else ""
        edges.append(
            f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>'
            f'<path d="{head}" fill="{colour}"/>'
        )
    frame = f'x="{-MARGIN:.0f}" y="{-MARGIN:.0f}" width="{width:.0f}" height="{height:.0f}"'
    texts = [] if coefficients is None else [brief(value) for value in coefficients]
    parts = _inscribed(edges, layout.routes, texts if len(arrows) <= FEW_EDGES else [], frame)
    for pair in value.free_covariances:
        bow = arc(*(layout.centres[value.position(node)] for node in pair))
        line = 'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="4 4"'
        parts.append(f'<path d="{bow}" fill="none" {line}/>')
    for pair in contradicted[:MOST_CONTRADICTIONS]:
        bow = arc(*(layout.centres[value.position(node)] for node in pair))
        line = f'stroke="{WRONG}" stroke-width="1.6" stroke-dasharray="1.5 4"'
        parts.append(
            f'<path d="{bow}" fill="none" {line}><title>{escape(" and ".join(pair))}: no edge, but '
            "the data contradict that</title></path>"
        )
    for (x, y), label, wide in zip(layout.centres, labels, sizes.widths, strict=True):
        parts.append(
            f'<rect x="{x - wide / 2:.1f}" y="{y - sizes.height / 2:.1f}" width="{wide:.1f}" '
            f'height="{sizes.height:.1f}" rx="5" fill="rgba(128,128,128,.16)" '
            'stroke="currentColor" stroke-opacity=".55"/>'
            f'<text x="{x:.1f}" y="{y + 4.2:.1f}" text-anchor="middle" fill="currentColor" '
            f'font-size="12" font-family="system-ui, sans-serif">{escape(label)}</text>'
        )
    return (
        f'<svg viewBox="{-MARGIN:.0f} {-MARGIN:.0f} {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Graph of {value.sizes}" width="{width:.0f}" '
        f'style="max-width:100%;height:auto;color:inherit">{"".join(parts)}</svg>'
    )


def _inscribed(edges: list[str], routes: Any, texts: list[str], frame: str) -> list[str]:
    """The edges with texts on them; a mask cuts the lines there, on a page of any colour."""
    drawn = "".join(edges)
    if not texts:
        return [f"<g>{drawn}</g>"]
    boxes = place_inscriptions(routes, texts)
    name = f"gaussnet-{sha256(drawn.encode()).hexdigest()[:12]}"
    holes = "".join(
        f'<rect x="{box.x - box.width / 2 - 1:.1f}" y="{box.y - 7:.1f}" '
        f'width="{box.width + 2:.1f}" height="14"/>'
        for box in boxes
    )
    words = "".join(
        f'<text x="{box.x:.1f}" y="{box.y + 3.8:.1f}" text-anchor="middle" fill="currentColor" '
        f'font-size="10.5" font-family="system-ui, sans-serif">{one}</text>'
        for box, one in zip(boxes, texts, strict=True)
    )
    mask = (
        f'<mask id="{name}" maskUnits="userSpaceOnUse" {frame}>'
        f'<rect {frame} fill="white"/>{holes}</mask>'
    )
    return [mask, f'<g mask="url(#{name})">{drawn}</g>', words]
