"""What reading rows will take, told before they are read: `--verbose`."""

import os
import sys
from dataclasses import dataclass
from typing import Any

from gaussnet.data.passes import Run
from gaussnet.data.paths import STANDARD_INPUT, bytes_of, files_of
from gaussnet.data.sources import open_data
from gaussnet.data.table import default_page_rows
from gaussnet.errors import GaussnetError
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.base import Method

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
BYTES = 8
"""Of a number in memory."""


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """Sizes of files, as far as they tell, and how their rows will be read."""

    files: int
    bytes: int
    """On disk, compressed files as they unpack."""
    rows: int | None
    """None if only reading tells, as for text."""
    columns: int
    is_whole: bool
    """Whether the rows are read into memory, once."""
    memory: int | None
    """Bytes of memory for rows, about; None if only reading tells."""
    passes: str

    @classmethod
    def of(cls, data: Any, dag: Dag, passes: str, largest_whole: int | None = 0) -> "ReadingPlan":
        """Look at the files, but at no row; so many values are read whole, None for all."""
        files = [file for file in files_of(data) if file != STANDARD_INPUT]
        size, run, columns = bytes_of(files), Run(), len(dag)
        try:
            rows = open_data(data, dag.nodes, 0).count() if files else None  # type: ignore[union-attr]
        except (GaussnetError, AttributeError, OSError):  # told where the rows are read
            rows = None
        is_whole = not files or size <= run.largest_whole_bytes or largest_whole is None
        if largest_whole and not is_whole:
            values = size // BYTES if rows is None else rows * columns
            is_whole = values <= largest_whole
        memory = None if rows is None else rows * columns * BYTES
        if not is_whole:
            memory = (run.threads + 2) * default_page_rows(columns) * columns * BYTES
        return cls(len(files), size, rows, columns, is_whole, memory, passes)

    @property
    def sentence(self) -> str:
        """The plan in one line."""
        rows = "rows that only reading counts" if self.rows is None else counted(self.rows, "row")
        memory = "" if self.memory is None else f", about {size_words(self.memory)} for rows"
        how = "read once, into memory" if self.is_whole else f"page by page; {self.passes}"
        return (
            f"{counted(self.files, 'file')}, {size_words(self.bytes)}, {rows} of "
            f"{counted(self.columns, 'node')}: {how}{memory}"
        )


def size_words(size: int) -> str:
    """A number of bytes in a unit that fits.

    Examples
    --------
    >>> size_words(900), size_words(3 << 20)
    ('900 bytes', '3 MiB')
    """
    unit, value = 0, float(size)
    while value >= 1024.0 and unit < len(UNITS) - 1:
        unit, value = unit + 1, value / 1024.0
    return f"{value:.3g} {UNITS[unit]}"


def whole_values(method: Method) -> int | None:
    """Values that a method reads whole, whatever the size of the files; None for all."""
    if not method.needs_all_rows:
        return 0
    return Run().largest_judged if method.reads_pages else None


def tell_plan(
    verbose: bool, data: Any, dag: Dag, passes: str, largest_whole: int | None = 0
) -> None:
    """Print the plan on standard error, if it is wanted."""
    if verbose:
        plan = ReadingPlan.of(data, dag, passes, largest_whole)
        threads = f"{counted(Run().threads, 'thread')} of {os.cpu_count()}"
        for sentence in (plan.sentence, threads):
            print(f"plan: {sentence}", file=sys.stderr)  # noqa: T201 (the message)
