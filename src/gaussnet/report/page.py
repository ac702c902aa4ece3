"""The HTML page of a reproduction: claims, deviations and figures, in one file."""

import base64
from collections.abc import Mapping, Sequence

from gaussnet.experiments.catalogue import experiment_named
from gaussnet.experiments.claims import Claim
from gaussnet.experiments.methods import label_of
from gaussnet.experiments.readings import Deviation, summary_of
from gaussnet.experiments.run import Run
from gaussnet.experiments.tables import Point
from gaussnet.figures.style import Picture
from gaussnet.report.markup import table, text, whole_page


def reproduction_page(
    run: Run,
    points: Sequence[Point],
    claims: Sequence[Claim],
    found: Sequence[Deviation],
    pictures: Mapping[tuple[str, str], Picture],
) -> str:
    """The page, complete in itself: no script, no other file."""
    sections = [
        _head(run),
        "<h2>Claims of the paper</h2>",
        *(_claims(settings, claims) for settings in run.settings),
        _deviations(found),
        "<h2>Figures</h2>",
        '<p class="faint">Means over the repetitions with their standard errors; a median where '
        "the legend says so. Crosses: the paper's own points, read off its figures.</p>",
        *(_experiment(name, run, points, pictures) for name in run.experiments),
    ]
    return whole_page("The paper, reproduced", sections, ["page.css"])


def _head(run: Run) -> str:
    rows = "" if run.rows is None else f", rows {', '.join(f'{size:,}' for size in run.rows)}"
    return (
        "<h1>Learning Gaussian networks with a known graph: the experiments, reproduced</h1>"
        f"<p>{run.repetitions} repetitions, seed {run.seed}, random networks of {run.nodes} nodes"
        f"{rows}. Settings: {' and '.join(run.settings)}. <i>Written</i> follows the paper's text, "
        "<i>plotted</i> what its figures were made with; the two differ, and both are worth "
        "having.</p>"
    )


def _claims(settings: str, claims: Sequence[Claim]) -> str:
    rows = [
        [
            str(claim.number),
            text(claim.text),
            _verdict(claim.verdict),
            f"{claim.held} of {claim.tested}" if claim.tested else "",
            text(claim.numbers),
        ]
        for claim in claims
        if claim.settings == settings
    ]
    heads = ["", "claim", "verdict", "comparisons", "numbers"]
    return table(f"Settings: {settings}", heads, rows, words=(1, 2, 4))


def _deviations(found: Sequence[Deviation]) -> str:
    if not found:
        return ""
    rows = [
        [
            text(one.experiment),
            text(label_of(one.method)),
            f"{one.rows:,}",
            f"{one.reading:.4g}",
            f"{one.ours:.4g}",
            f"{one.standard_error / one.ours:.0%}",
            f"{one.deviation:+.1%}",
            f"{one.tolerance:.0%}",
            f'<span class="{"bad" if one.verdict == "off" else "good"}">{one.verdict}</span>',
        ]
        for one in found
    ]
    heads = ["experiment", "method", "rows", "paper", "ours", "std. error", "deviation", "allowed"]
    points = table("Plotted settings", [*heads, "verdict"], rows, words=(0, 1, 8))
    return (
        "<h2>Deviation from the paper's figures</h2>"
        f"<p>{text(summary_of(found))}</p>"
        f"<details><summary>All points</summary>{points}</details>"
    )


def _experiment(
    name: str,
    run: Run,
    points: Sequence[Point],
    pictures: Mapping[tuple[str, str], Picture],
) -> str:
    experiment = experiment_named(name)
    figures = "".join(
        f"<figure><h3>{settings}</h3>{_image(pictures[settings, name], experiment.title)}</figure>"
        for settings in run.settings
    )
    own = [point for point in points if point.experiment == name]
    return (
        f'<h2 id="{name}">{text(experiment.title)} <span class="faint">{name}</span></h2>'
        f'<div class="pair">{figures}</div>'
        f"<details><summary>Numbers</summary>{_numbers(own)}</details>"
    )


def _numbers(points: Sequence[Point]) -> str:
    tables = []
    for settings, measure in dict.fromkeys((point.settings, point.measure) for point in points):
        own = [p for p in points if (p.settings, p.measure) == (settings, measure)]
        sizes = sorted({point.rows for point in own})
        values = {(p.method, p.rows): f"{p.value:.4g} ± {p.standard_error:.2g}" for p in own}
        rows = [
            [text(label_of(method)), *(values[method, size] for size in sizes)]
            for method in dict.fromkeys(point.method for point in own)
        ]
        if measure != "seconds":
            limits = {point.rows: point.limit for point in own}
            rows.append(["information limit", *(f"{limits[size]:.4g}" for size in sizes)])
        heads = ["method", *(f"m = {size:,}" for size in sizes)]
        tables.append(table(f"{settings}, {measure}", heads, rows, words=(0,)))
    return "".join(tables)


def _verdict(verdict: str) -> str:
    kind = {"holds": "good", "does not hold": "bad", "not tested": "faint"}.get(verdict, "good")
    return f'<span class="{kind}">{verdict}</span>'


def _image(picture: Picture, title: str) -> str:
    coded = base64.b64encode(picture.inline_svg.encode()).decode()
    return f'<img alt="{text(title)}" src="data:image/svg+xml;base64,{coded}">'
