"""A progress bar for passes over the rows of large files: on a terminal only, to stderr."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gaussnet.stream.streamed import Progress as Tell

PATIENCE = 1.0
"""Seconds of work after which the bar appears."""


@contextmanager
def row_progress() -> Iterator[Tell | None]:
    """A function to tell rows read and their number, or None where nobody would see the bar."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("rows", total=None, visible=False)
        begun = time.monotonic()

        def tell(done: int, total: int | None) -> None:
            late = time.monotonic() - begun > PATIENCE
            bar.update(task, completed=done, total=total, visible=late)

        yield tell
