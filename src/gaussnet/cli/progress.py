"""A progress bar on standard error, for work that takes more than a second on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

DELAY = 1.0
"""Seconds of silence before the bar shows."""


class Steps:
    """What is told of the work; nobody hears it where there is no terminal."""

    def __init__(self, bar: Progress | None, total: int) -> None:
        self._bar, self._done, self._what = bar, -1, ""
        self._task = None if bar is None else bar.add_task("", total=total)

    def __call__(self, what: str) -> None:
        """Tell which step begins."""
        self._done, self._what = self._done + 1, what
        self._show(what)

    def rows(self, done: int, total: int | None) -> None:
        """Tell how many rows of a pass over them are read, and of how many if that is known."""
        known = "" if total is None else f" of {total:,}"
        self._show(f"{self._what}: {done:,}{known} rows")

    def _show(self, words: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=words, completed=self._done)


@contextmanager
def progress(steps: int) -> Iterator[Steps]:
    """Give somebody to tell what begins; the bar has so many steps and vanishes at the end.

    Examples
    --------
    >>> with progress(2) as tell:
    ...     tell("reading")
    ...     tell("learning")
    """
    if not sys.stderr.isatty():
        yield Steps(None, steps)
        return
    text = TextColumn("{task.description}", markup=False)
    bar = Progress(
        SpinnerColumn(),
        text,
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    timer = Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Steps(bar, steps)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
