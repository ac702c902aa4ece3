"""The section on flagged cells: where they are, how many, and each of the worst."""

import numpy as np

from gaussnet.fitting.outliers import Outliers
from gaussnet.report.markup import text
from gaussnet.report.network_picture import shorten
from gaussnet.report.numbers import many, share
from gaussnet.report.sortable import Sortable

MOST_CELLS = 500
MOST_NODES = 60
BINS = 360
LINE, LABELS, WIDTH = 15, 190, 900


def flagged_section(found: Outliers | None, rows: int) -> str:
    """Picture and table of the cells that a robust fit flagged; nothing for other methods."""
    if found is None:
        return ""
    title = "<h2>Flagged cells</h2>"
    if not len(found):
        return f"{title}<p>None: every value fits its equation.</p>"
    touched = sum(part > 0.0 for part in found.shares.values())
    words = (
        f"{many(len(found), 'value')} in {many(touched, 'node')} "
        f"{'does' if len(found) == 1 else 'do'} not fit the equation of the node and had no say in "
        "what was learnt. Rows are counted from 0; z is recorded minus expected value, in "
        "standard deviations of the noise."
    )
    caption = "One line a flagged value, worst first"
    if len(found) > MOST_CELLS:
        caption += f"; the worst {MOST_CELLS:,} of {len(found):,}"
    cells = [
        (c.row, c.node, c.recorded, c.expected, c.z)
        for c, _ in zip(found, range(MOST_CELLS), strict=False)
    ]
    table = Sortable("flagged", caption, ("row", "node", "recorded", "expected", "z"), cells)
    return f"{title}<p>{words}</p>{draw_flagged(found, rows)}{table.to_html()}"


def draw_flagged(found: Outliers, rows: int) -> str:
    """One strip a node, from the first row to the last, with a mark where cells are flagged."""
    names = np.array(found.nodes, dtype=object)
    nodes = sorted(
        (node for node in found.shares if found.shares[node]), key=lambda node: -found.shares[node]
    )
    shown = nodes[:MOST_NODES]
    rows = max(rows, int(found.rows.max()) + 1)  # dropped rows are counted too
    strips = [
        _strip(node, found.shares[node], found.rows[names == node], rows, LINE * line)
        for line, node in enumerate(shown)
    ]
    more = len(nodes) - len(shown)
    rest = f" {many(more, 'node')} with smaller shares are not shown." if more else ""
    height = LINE * len(shown) + 2
    return (
        f'<figure class="strips"><svg viewBox="0 0 {LABELS + WIDTH + 2} {height}" role="img" '
        f'aria-label="Flagged cells by node and row">{"".join(strips)}</svg><figcaption>Left to '
        f"right: the {many(rows, 'row')} in their order. Per cent: share of a node's values that "
        f"is flagged.{rest}</figcaption></figure>"
    )


def _strip(
    node: str,
    part: float,
    places: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    rows: int,
    top: int,
) -> str:
    bins = min(BINS, rows)
    step = WIDTH / bins
    marks = "".join(
        f"M{LABELS + step * mark:.1f} {top + 1}h{max(step, 1.5):.1f}"
        for mark in np.unique(places * bins // rows).tolist()
    )
    height = LINE - 3
    return (
        f"<g><title>{text(node)}: {share(part)} flagged</title>"
        f'<text x="{LABELS - 8}" y="{top + 10}">{text(shorten(node))} {share(part)}</text>'
        f'<rect x="{LABELS}" y="{top + 1}" width="{WIDTH}" height="{height}"/>'
        f'<path d="{marks}" transform="translate(0 {height / 2:g})" stroke-width="{height}"/></g>'
    )
