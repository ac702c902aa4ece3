"""Tables as plain text, and what printing a fit shows."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from gaussnet.errors import GaussnetError
from gaussnet.fitting.notes import grouped_notes
from gaussnet.graph.dag import counted

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


def text_table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], left: Collection[int] = (0,)
) -> list[str]:
    """The lines of a table; the columns numbered in `left` stand left, the others right.

    Examples
    --------
    >>> print(*text_table(("node", "mean"), [("rain", "1.5"), ("snow", "12")]), sep=chr(10))
    node  mean
    rain   1.5
    snow    12
    """
    cells = [heads, *lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    table = []
    for line in cells:
        columns = enumerate(zip(line, widths, strict=True))
        padded = (text.ljust(w) if k in left else text.rjust(w) for k, (text, w) in columns)
        table.append("  ".join(padded).rstrip())
    return table


def cut_table(
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    longest: int,
    left: Collection[int] = (0,),
) -> list[str]:
    """A `text_table` of the first `longest` lines, and how many more there are; [] of no lines."""
    more = len(lines) - longest
    table = text_table(heads, lines[:longest], left) if lines else []
    return [*table, f"... and {more} more"] if more > 0 else table


def shown(name: str) -> str:
    r"""A name as it is safe to print.

    Examples
    --------
    >>> shown("wet grass"), shown("a\x1b[2J")
    ('wet grass', "'a\\x1b[2J'")
    """
    return name if name.isprintable() else repr(name)


LONGEST_TABLE = 20
LEVEL = 0.95


def describe(fit: "Fit") -> str:
    """What was learnt from what, edges with intervals, nodes, and notes.

    Intervals are left out where they would need a file to be read again.
    """
    dag, network = fit.dag, fit.network
    numbers = zip(dag.nodes, network.constants, network.noise_scales, strict=True)
    nodes = [(shown(node), f"{value:.4g}", f"{scale:.4g}") for node, value, scale in numbers]
    notes = [f"note: {note}" for note in grouped_notes(fit.notes)]
    more = len(notes) - LONGEST_TABLE
    parts = [
        [heading(fit)],
        cut_table(*_edges(fit), LONGEST_TABLE),
        cut_table(*_covariances(fit), LONGEST_TABLE),
        cut_table(("node", "intercept", "noise sd"), nodes, LONGEST_TABLE),
        [*notes[:LONGEST_TABLE], *([f"... and {more} more notes"] if more > 0 else [])],
    ]
    return "\n".join(line for part in parts for line in part)


def heading(fit: "Fit") -> str:
    """The sizes of a fit, and how it was learnt, in one line."""
    sizes = f"{fit.dag.sizes}, {counted(fit.rows, 'row')}"
    return f"{sizes}; fitted by {fit.method.name}, noise variances {fit.scale.source}"


def _edges(fit: "Fit") -> tuple[list[str], list[list[str]]]:
    """Heads and lines of the table of edges."""
    heads = ["edge", "coefficient"]
    values = fit.network.coefficients.items()
    lines = [[f"{shown(a)} -> {shown(b)}", f"{value:.4g}"] for (a, b), value in values]
    try:
        if fit.data is None or not fit.data.table().is_in_memory:
            return heads, lines
        intervals = fit.confidence_intervals(LEVEL).coefficients.values()
    except GaussnetError:  # too few rows, or data that were changed since
        return heads, lines
    for line, (low, high) in zip(lines, intervals, strict=True):
        line.append("-" if math.isnan(low + high) else f"{low:.4g} to {high:.4g}")
    return [*heads, f"{LEVEL:.0%} interval"], lines


def _covariances(fit: "Fit") -> tuple[list[str], list[list[str]]]:
    """Heads and lines of the table of nodes that covary, but for levels of one category."""
    network = fit.network
    lines = []
    for (one, other), value in network.covariances.items():
        if fit.dag.are_levels(one, other):
            continue
        size = math.sqrt(network.variances[one] * network.variances[other])
        told = f"{value / size:.4g}" if size else "-"
        lines.append([f"{shown(one)} ~~ {shown(other)}", f"{value:.4g}", told])
    return ["pair", "covariance", "correlation"], lines
