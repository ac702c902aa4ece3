"""What a finished run leaves behind: tables, figures, and one page that shows all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gaussnet.experiments.catalogue import experiment_named
from gaussnet.experiments.claims import Claim, check_claims
from gaussnet.experiments.readings import Deviation, deviations, readings
from gaussnet.experiments.run import PAPER_NODES, Run
from gaussnet.experiments.store import Store
from gaussnet.experiments.tables import (
    Point,
    csv_bytes,
    parquet_bytes,
    parquet_package,
    summarise,
)
from gaussnet.experiments.tasks import Record
from gaussnet.figures.style import Picture, check_matplotlib
from gaussnet.report.page import reproduction_page
from gaussnet.report.pictures import picture_of

TIMED_CLAIM = 8


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
            timed = experiment_named(name).condition == "runtime"
            place = f"runtime/{settings}" if timed else f"figures/{settings}-{name}"
            store.write(f"{place}.png", picture.png)
            store.write(f"{place}.svg", picture.svg.encode())
            pictures[settings, name] = picture
    return pictures
