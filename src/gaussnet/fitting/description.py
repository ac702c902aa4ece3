"""A fit as text: what printing it shows."""

import math
from typing import TYPE_CHECKING

from gaussnet.errors import GaussnetError
from gaussnet.fitting.evidence import StreamedEvidence
from gaussnet.fitting.tables import cut_table, shown

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

LONGEST_TABLE = 20
LEVEL = 0.95


def describe(fit: "Fit") -> str:
    """What was learnt from what, edges with intervals, nodes, and notes.

    Intervals are left out where they would need a file to be read again.
    """
    dag, network = fit.dag, fit.network
    head = (
        f"{len(dag)} nodes, {len(dag.edges)} edges, {fit.rows:,} rows; {fit.method.name}, "
        f"variances by {fit.scale.name}"
    )
    numbers = zip(dag.nodes, network.intercept_array, network.scales, strict=True)
    nodes = [(shown(node), f"{value:.4g}", f"{scale:.4g}") for node, value, scale in numbers]
    notes = [f"note: {note}" for note in fit.notes]
    more = len(notes) - LONGEST_TABLE
    parts = [
        [head],
        cut_table(*_edges(fit), LONGEST_TABLE),
        cut_table(("node", "intercept", "noise sd"), nodes, LONGEST_TABLE),
        [*notes[:LONGEST_TABLE], *([f"... and {more} notes more"] if more > 0 else [])],
    ]
    return "\n".join(line for part in parts for line in part)


def _edges(fit: "Fit") -> tuple[list[str], list[list[str]]]:
    """Heads and lines of the table of edges."""
    heads = ["edge", "coefficient"]
    values = fit.network.coefficients.items()
    lines = [[f"{shown(a)} -> {shown(b)}", f"{value:.4g}"] for (a, b), value in values]
    if fit._evidence is None or isinstance(fit._evidence, StreamedEvidence):
        return heads, lines
    try:
        intervals = fit.confidence_intervals(LEVEL).coefficient_array.tolist()
    except GaussnetError:  # too few rows, or data that were changed since
        return heads, lines
    for line, (low, high) in zip(lines, intervals, strict=True):
        line.append("-" if math.isnan(low + high) else f"{low:.4g} to {high:.4g}")
    return [*heads, f"{LEVEL:.0%} interval"], lines
