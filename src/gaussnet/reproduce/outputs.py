"""What a run leaves behind: its tables, its figures and one page that shows all of it."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gaussnet.report.markup import table, text, whole_page
from gaussnet.reproduce.catalogue import Experiment, experiment_named
from gaussnet.reproduce.figures import (
    Curve,
    Line,
    Panel,
    Picture,
    check_matplotlib,
    draw_bars,
    draw_curves,
)
from gaussnet.reproduce.run import PAPER_NODES, Run, Store
from gaussnet.reproduce.tables import Point, csv_bytes, parquet_bytes, parquet_package, summarise
from gaussnet.reproduce.tasks import Record, label_of
from gaussnet.reproduce.verdicts import (
    Claim,
    Deviation,
    Reading,
    check_claims,
    deviations,
    readings,
    summary_of,
)

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
TIMED_CLAIM = 8
QUANTITIES = {"kl": "KL divergence", "excess": "KL above the best on the graph"}


@dataclass(frozen=True)
class Reproduction:
    """All that a run found."""

    run: Run
    points: tuple[Point, ...]
    timed_points: tuple[Point, ...]
    claims: tuple[Claim, ...]
    deviations: tuple[Deviation, ...]
    page: Path


def check_packages() -> None:
    """Refuse before the work, not after it, if a package that writes the results is missing."""
    parquet_package()
    check_matplotlib()


def write_reproduction(run: Run, store: Store) -> Reproduction:
    """Gather what the tasks found and write tables, figures and the page.

    Everything but `index.html` and the folder `runtime` is the same bytes for the same run.
    """
    store.tidy()
    records, timed = _gather(run, store, timed=False), _gather(run, store, timed=True)
    points, timed_points = summarise(records), summarise(timed)
    comparable = run.nodes == PAPER_NODES
    found = deviations(points) if comparable else ()
    claims = tuple(
        claim
        for settings in run.settings
        for claim in check_claims(settings, (*points, *timed_points))
    )
    store.write("results.csv", csv_bytes(records, Record._fields))
    store.write("results.parquet", parquet_bytes(records, Record._fields))
    store.write("summary.csv", csv_bytes(points, Point._fields))
    store.write("deviations.csv", csv_bytes(found, Deviation._fields))
    plain = [claim for claim in claims if claim.number != TIMED_CLAIM]
    store.write("claims.csv", csv_bytes(plain, Claim._fields))
    if timed:
        store.write("runtime/results.csv", csv_bytes(timed, Record._fields))
        store.write("runtime/summary.csv", csv_bytes(timed_points, Point._fields))
        clocked = [claim for claim in claims if claim.number == TIMED_CLAIM]
        store.write("runtime/claims.csv", csv_bytes(clocked, Claim._fields))
    pictures = _draw(run, store, (*points, *timed_points))
    page = reproduction_page(run, (*points, *timed_points), claims, found, pictures)
    path = store.write("index.html", page.encode())
    return Reproduction(run, points, timed_points, claims, found, path)


def _gather(run: Run, store: Store, *, timed: bool) -> tuple[Record, ...]:
    """The records of all tasks, in the order of the tasks, whichever was done first."""
    return tuple(record for task in run.tasks(timed=timed) for record in store.read(task) or ())


def _draw(run: Run, store: Store, points: Sequence[Point]) -> dict[tuple[str, str], Picture]:
    """Draw and write the picture of each experiment, by settings and experiment."""
    pictures = {}
    for settings in run.settings:
        crosses = readings() if settings == "plotted" and run.nodes == PAPER_NODES else ()
        for name in run.experiments:
            own = [p for p in points if p.settings == settings and p.experiment == name]
            picture = picture_of(experiment_named(name), own, crosses)
            timed = experiment_named(name).is_timed
            stem = f"runtime/{settings}" if timed else f"figures/{settings}-{name}"
            store.write(f"{stem}.png", picture.png)
            store.write(f"{stem}.svg", picture.svg.encode())
            pictures[settings, name] = picture
    return pictures


def picture_of(
    experiment: Experiment, points: Sequence[Point], readings: Sequence[Reading]
) -> Picture:
    """The picture of one experiment under one of the settings."""
    if experiment.is_timed:
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
    suffix = " (median)" if first.shown == "median" else ""
    if not all(math.isfinite(point.value) for point in points):
        suffix += " (infinite)"
    crosses = {
        reading.rows: reading.value
        for reading in readings
        if (reading.experiment, reading.method) == (first.experiment, first.method)
    }
    return Curve(
        label_of(first.method) + suffix,
        [point.rows for point in points],
        [point.value for point in points],
        [point.standard_error for point in points],
        LOOKS[first.method],
        crosses,
    )


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
