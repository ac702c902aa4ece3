"""The section of a report that compares groups of rows: in what they differ, edge by edge."""

import math
from collections.abc import Sequence

from gaussnet.fitting.group_fits import GroupFit
from gaussnet.fitting.group_tests import LEVELS, EqualityTest, EqualityTests
from gaussnet.report.markup import Sortable, many, number, share, text
from gaussnet.report.network_picture import shorten
from gaussnet.tails import PValue

MOST_PANELS = 60
WIDTH, LABELS, LINE = 300.0, 92.0, 17.0
"""Sizes of a panel: its width, that of the names of groups, and the height of a group."""

Interval = tuple[str, float, float, float]
"""A group, its estimate, and the ends of its interval; NaN where there is none."""


def groups_section(found: GroupFit, level: float) -> str:
    """Tests of all parameters, and a panel for every coefficient with the groups side by side."""
    counts = ", ".join(f"{shorten(name)} {fit.rows:,}" for name, fit in found.fits.items())
    lead = f"{many(len(found.fits), 'group')} by {found.by} ({counts} rows)"
    tests = found.test_equal()
    return (
        f"<h2>Groups</h2><p>{text(lead)}. The other sections are about all rows as if they were of "
        f'one group.</p><p class="verdict">{text(tests.verdict)}</p>'
        f"{_notes(tests)}{_panels(found, tests, level)}{_tests(tests)}"
    )


def _notes(tests: EqualityTests) -> str:
    """What could not be compared."""
    return "".join(
        f'<p class="faint">{text(note[0].upper() + note[1:])}.</p>' for note in tests.notes
    )


def _tests(tests: EqualityTests) -> str:
    lines: list[list[str | float]] = [
        [one.kind, one.name, *one.estimates, one.statistic, *_p_values(one)] for one in tests
    ]
    heads = ["kind", "parameter", *tests.groups, "statistic", "p-value", "adjusted"]
    caption = f"Whether the groups differ in a parameter ({LEVELS}); click a column heading to sort"
    return Sortable("groups", caption, heads, lines).to_html()


def _panels(found: GroupFit, tests: EqualityTests, level: float) -> str:
    """The coefficients in which the groups differ most come first."""
    adjusted = {one.name: one.adjusted for one in tests if one.kind == "coefficient"}
    by_edge: dict[str, list[Interval]] = {}
    for row in found.table(level=level):
        values = [float(str(row[key])) for key in ("estimate", "low", "high")]
        own = by_edge.setdefault(f"{row['parent']} -> {row['child']}", [])
        own.append((str(row["group"]), values[0], values[1], values[2]))
    order = sorted(by_edge, key=lambda edge: adjusted.get(edge, math.inf))
    shown = "".join(
        _panel(edge, by_edge[edge], adjusted.get(edge, math.nan), tests.level)
        for edge in order[:MOST_PANELS]
    )
    cut = len(order) - MOST_PANELS
    more = f" {many(cut, 'edge')} more are in the table." if cut > 0 else ""
    words = f"Coefficients with {share(level)} intervals, those that differ most first.{more}"
    return f'<p class="faint">{text(words)}</p><div class="residuals">{shown}</div>'


def _p_values(test: EqualityTest) -> tuple[float, float]:
    return PValue(test.p_value), PValue(test.adjusted)


def _panel(edge: str, rows: Sequence[Interval], adjusted: float, level: float) -> str:
    """One coefficient in all groups: a dot and its interval for each, and a line at 0."""
    ends = [value for _, *values in rows for value in values if math.isfinite(value)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    size = (high - low) or 1.0

    def place(value: float) -> float:
        return LABELS + 8.0 + (WIDTH - LABELS - 16.0) * (value - low) / size

    height = LINE * len(rows) + 6.0
    parts = [f'<path class="frame" d="M{place(0.0):.1f} 0V{height:.1f}"/>']
    for index, (group, value, bottom, top) in enumerate(rows):
        y = LINE * (index + 0.5) + 3.0
        words = f"{group}: {number(value)} ({number(bottom)} to {number(top)})"
        parts.append(f"<g><title>{text(words)}</title>")
        parts.append(f'<text x="{LABELS:.0f}" y="{y + 4:.1f}">{text(shorten(group, 14))}</text>')
        if math.isfinite(bottom) and math.isfinite(top):
            parts.append(f'<path class="reach" d="M{place(bottom):.1f} {y:.1f}H{place(top):.1f}"/>')
        if math.isfinite(value):
            parts.append(f'<circle cx="{place(value):.1f}" cy="{y:.1f}" r="3"/>')
        parts.append("</g>")
    differ = adjusted <= level
    verdict = "differ" if differ else "may be the same"
    told = "" if math.isnan(adjusted) else f"{verdict}, adjusted p-value {PValue(adjusted)!s}"
    return (
        f'<figure class="residual groups"><h3>{text(edge)}</h3><svg viewBox="0 0 {WIDTH:.0f} '
        f'{height:.0f}" role="img" aria-label="{text(edge)}: {text(told)}">{"".join(parts)}</svg>'
        f"<figcaption{' class=bad' if differ else ''}>{text(told)}</figcaption></figure>"
    )
