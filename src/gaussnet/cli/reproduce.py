"""`gaussnet reproduce`: the paper's experiments, with a progress bar and tables at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from gaussnet.cli.printing import print_json
from gaussnet.errors import SettingError
from gaussnet.kernels.threads import available_threads
from gaussnet.reproduce.catalogue import EXPERIMENTS
from gaussnet.reproduce.outputs import Reproduction, check_packages, write_reproduction
from gaussnet.reproduce.run import Listener, Run, Store, work
from gaussnet.reproduce.tasks import label_of
from gaussnet.reproduce.verdicts import Claim, Deviation, summary_of

STOPPED = 130
"""The exit code of a program that Ctrl-C ended."""
VERDICT_STYLES = {"holds": "green", "holds within sampling error": "green", "does not hold": "red"}


def run_experiments(run: Run, folder: Path, workers: int | None) -> Reproduction:
    """Do what is left to do of the run in this folder, and write its tables, figures and page."""
    count = available_threads() if workers is None else workers
    if count < 1:
        raise SettingError(f"got workers={count}, expected at least 1")
    check_packages()
    store = Store.open(folder, run)
    try:
        with _progress_bar() as tell:
            work(run, store, count, tell)
    except KeyboardInterrupt:
        Console(stderr=True).print("gaussnet: stopped; run the same command again to go on")
        raise SystemExit(STOPPED) from None
    return write_reproduction(run, store)


def print_experiments(as_json: bool) -> None:
    """Print the experiments by name."""
    if as_json:
        print_json(
            [{"name": one.name, "title": one.title, "figure": one.label} for one in EXPERIMENTS]
        )
        return
    table = Table(title="Experiments of the paper")
    for head in ("name", "what", "figure"):
        table.add_column(head)
    for experiment in EXPERIMENTS:
        table.add_row(experiment.name, experiment.title, experiment.label)
    Console().print(table)


def print_reproduction(found: Reproduction, as_json: bool) -> None:
    """Print the deviations from the paper's figures and what became of its claims.

    As JSON, with the points of all curves.
    """
    if as_json:
        print_json(
            {
                "run": found.run.description(),
                "page": str(found.page),
                "claims": [claim._asdict() for claim in found.claims],
                "deviations": [one._asdict() for one in found.deviations],
                "points": [point._asdict() for point in (*found.points, *found.timed_points)],
            },
            indent=1,
        )
        return
    console = Console()
    if found.deviations:
        console.print(_deviation_table(found.deviations))
        console.print(summary_of(found.deviations) + "\n", highlight=False)
    for settings in found.run.settings:
        console.print(_claim_table(settings, found.claims))
    console.print(f"All of it: {found.page}", soft_wrap=True)


@contextmanager
def _progress_bar() -> Iterator[Listener]:
    """A bar on stderr if that is a terminal, and nothing otherwise."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    if not console.is_terminal:  # some versions of rich print an empty line even if disabled
        yield lambda done, total: None
        return
    with Progress(*columns, console=console, speed_estimate_period=300.0) as bar:
        shown = bar.add_task("reproducing", total=None)

        def tell(done: float, total: float) -> None:
            bar.update(shown, completed=done, total=total)

        yield tell


def _deviation_table(found: Sequence[Deviation]) -> Table:
    title = "KL divergence beside the paper's figures (plotted settings)"
    table = Table(title=title, box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("experiment", "method"):
        table.add_column(head, no_wrap=True)
    for head in ("rows", "paper", "ours", "s.e.", "off by"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in found:
        style = "red" if one.verdict == "off" else "green"
        table.add_row(
            one.experiment,
            label_of(one.method),
            f"{one.rows:,}",
            f"{one.reading:.4g}",
            f"{one.ours:.4g}",
            f"{one.standard_error / one.ours:.0%}",
            f"[{style}]{one.deviation:+.1%}[/{style}]",
            one.verdict,
        )
    return table


def _claim_table(settings: str, claims: Sequence[Claim]) -> Table:
    table = Table(title=f"Claims of the paper ({settings} settings)", show_lines=True)
    table.add_column("")
    table.add_column("claim", ratio=4)
    table.add_column("verdict")
    table.add_column("held", justify="right")
    table.add_column("numbers", ratio=4)
    for claim in claims:
        if claim.settings == settings:
            style = VERDICT_STYLES.get(claim.verdict, "dim")
            held = f"{claim.held}/{claim.tested}" if claim.tested else ""
            verdict = f"[{style}]{claim.verdict}[/{style}]"
            table.add_row(str(claim.number), claim.text, verdict, held, claim.numbers)
    return table
