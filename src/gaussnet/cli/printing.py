"""What the commands print: tables, numbers and progress bars."""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from threading import Timer
from typing import TYPE_CHECKING, Any, Protocol

from gaussnet.tails import PValue

if TYPE_CHECKING:  # slow to import, and for terminals alone
    from rich.progress import Progress

DELAY = 1.0
"""Seconds of silence before the bar shows."""
LONGEST_TABLE = 60
WIDTH_WITHOUT_TERMINAL = 120


class Steps:
    """What is told of the work; nobody hears it where there is no terminal."""

    def __init__(self, bar: "Progress | None", total: int) -> None:
        self._bar, self._done, self._what = bar, -1, ""
        self._task = None if bar is None else bar.add_task("", total=total)

    def __call__(self, what: str) -> None:
        """Tell which step begins."""
        self._done, self._what = self._done + 1, what
        self._show(what)

    @property
    def rows(self) -> "RowsRead":
        """Who is told of passes over rows in this step."""
        return RowsRead(self)

    def pass_over(self, purpose: str, done: int, total: int | None) -> None:
        """Tell how many rows of a pass are read, of how many if that is known, and what for."""
        known = "" if total is None else f" of {total:,}"
        what = f"{self._what} ({purpose})" if purpose else self._what
        self._show(f"{what}: {done:,}{known} rows")

    def _show(self, words: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=words, completed=self._done)


class RowsRead:
    """Told of passes over rows: what each is for, and how many rows it has read."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._purpose = steps, ""

    def begin(self, purpose: str) -> None:
        """A pass begins."""
        self._purpose = purpose

    def __call__(self, done: int, total: int | None) -> None:
        """So many rows are read, of so many if that is known."""
        self._steps.pass_over(self._purpose, done, total)


@contextmanager
def progress(steps: int, delay: float = DELAY) -> Iterator[Steps]:
    """Give somebody to tell what begins; the bar has so many steps and vanishes at the end.

    It shows after `delay` seconds, and only on a terminal.

    Examples
    --------
    >>> with progress(2) as tell:
    ...     tell("reading")
    ...     tell("learning")
    """
    if not sys.stderr.isatty():
        yield Steps(None, steps)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
    timer = Timer(delay, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Steps(bar, steps)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def shown(name: str) -> str:
    r"""A name as it is safe to print: itself, or with escapes if it holds odd characters.

    Examples
    --------
    >>> shown("wet grass"), shown("a\x1b[2J")
    ('wet grass', "'a\\x1b[2J'")
    """
    return name if name.isprintable() and name.strip() == name else repr(name)


def number(value: float) -> str:
    """Four significant digits; a p-value as everywhere.

    Examples
    --------
    >>> number(1.23456), number(float("nan"))
    ('1.235', '-')
    """
    if isinstance(value, PValue):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.4g}"


def in_shell_words(sentence: str) -> str:
    """A sentence for Python as it is said to someone at the shell: with options, not keywords.

    Examples
    --------
    >>> in_shell_words("a value is missing: fill it, or give missing='drop-rows'")
    "a value is missing: fill it, or give --missing 'drop-rows'"
    >>> in_shell_words("intervals are too short, so compare those of kind='bootstrap'")
    'intervals are too short, so compare those of --bootstrap 500'
    """
    sentence = re.sub(r"gn\.CsvPath\(path, (\w+)=('.*?')\)", r"--\1 \2", sentence)
    sentence = re.sub(r"\b(missing|method|scale|roots|sep|decimal|key)=(?=')", r"--\1 ", sentence)
    sentence = re.sub(r"(?<![\w'])intercept=False(?![\w'])", "--no-intercept", sentence)
    sentence = re.sub(r"missing_values=\[(.*?)\]", r"--missing-values \1", sentence)
    sentence = sentence.replace(
        "columns=[...] or dag.reordered([...])", "--columns, as --columns rain,wet"
    ).replace("give a frame", "give a file with named columns")
    sentence = re.sub(r"\boutliers_to\b", "--outliers", sentence)
    sentence = sentence.replace("see fit.outliers()", "--outliers PATH lists them")
    sentence = sentence.replace("see fit.notes", "--json has all")
    sentence = sentence.replace("kind='bootstrap'", "--bootstrap 500")
    sentence = sentence.replace("need the bootstrap", "need the bootstrap (--bootstrap 500)")
    sentence = sentence.replace(", as frame['log_x'] = np.log(frame['x']),", "")
    sentence = sentence.replace("call check_graph()", "gaussnet check tests it")
    sentence = re.sub(r"network\.do\(\{'(.*?)': '(.*?)'\}\)", r"--do '\1=\2'", sentence)
    sentence = re.sub(r"\{'(.*?)': '(.*?)'\}", r"'\1=\2'", sentence)
    sentence = sentence.replace("dag.with_factors({...})", "--levels fuel=Diesel,Gas")
    return re.sub(r"(,| or an estimator such as) gn\.\w+\(\d*\)( or gn\.\w+\(\))?", "", sentence)


class Page(Protocol):
    """Where sentences are printed."""

    def print(self, text: str, /, *, soft_wrap: bool = False) -> None:
        """Print a sentence, in lines unless the wrapping is left to the reader."""


class PlainPage:
    """A wide page, where output goes to a file or a pipe."""

    def print(self, text: str, /, *, soft_wrap: bool = False) -> None:
        """Print a sentence, in lines unless the wrapping is left to the reader."""
        lines = text.split("\n")
        if not soft_wrap:
            lines = [part for line in lines for part in _wrapped(line)]
        print("\n".join(lines))  # noqa: T201 (this is the output)


def _wrapped(line: str) -> list[str]:
    """Parts of a line, each no wider than a page."""
    if len(line) <= WIDTH_WITHOUT_TERMINAL:
        return [line]
    return wrap(line, WIDTH_WITHOUT_TERMINAL, break_on_hyphens=False)


def console() -> Page:
    """The terminal, or a wide page where output goes to a file or a pipe."""
    if not sys.stdout.isatty():
        return PlainPage()
    from rich.console import Console

    page: Page = Console(highlight=False, markup=False, soft_wrap=False)
    return page


def print_table(title: str, heads: Sequence[str], lines: Iterable[Sequence[str | float]]) -> None:
    """Print a table; texts stand left and numbers right, and a long table is cut."""
    rows = list(lines)
    if not rows:
        return
    left = [isinstance(cell, str) for cell in rows[0]]
    cells = [
        [shown(cell) if isinstance(cell, str) else number(cell) for cell in row]
        for row in rows[:LONGEST_TABLE]
    ]
    page = console()
    page.print(title)
    if sys.stdout.isatty():
        _print_rich_table(heads, cells, left)
    else:
        print("\n".join(_plain_table(heads, cells, left)))  # noqa: T201 (this is the output)
    if len(rows) > LONGEST_TABLE:
        page.print(f"... and {len(rows) - LONGEST_TABLE} more rows; --json prints all")


def _print_rich_table(
    heads: Sequence[str], cells: Sequence[Sequence[str]], left: Sequence[bool]
) -> None:
    """Print a table that fits in the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for head, is_left in zip(heads, left, strict=True):
        table.add_column(Text(head), justify="left" if is_left else "right")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(highlight=False, markup=False).print(table)


def _plain_table(
    heads: Sequence[str], cells: Sequence[Sequence[str]], left: Sequence[bool]
) -> list[str]:
    """The lines of a table as wide as its cells.

    Examples
    --------
    >>> print("\\n".join(_plain_table(["node", "noise sd"], [["wet", "1.2"]], [True, False])))
    ┏━━━━━━┳━━━━━━━━━━┓
    ┃ node ┃ noise sd ┃
    ┡━━━━━━╇━━━━━━━━━━┩
    │ wet  │      1.2 │
    └──────┴──────────┘
    """
    widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]

    def rule(ends: str) -> str:
        return ends[0] + ends[2].join(ends[1] * (width + 2) for width in widths) + ends[3]

    def line(row: Sequence[str], bar: str, sides: Sequence[bool]) -> str:
        padded = (
            cell + " " * (width - _width(cell)) if is_left else " " * (width - _width(cell)) + cell
            for cell, width, is_left in zip(row, widths, sides, strict=True)
        )
        return f"{bar} " + f" {bar} ".join(padded) + f" {bar}"

    drawn = [rule("┏━┳┓"), line(heads, "┃", left), rule("┡━╇┩")]
    drawn += [line(row, "│", left) for row in cells] + [rule("└─┴┘")]
    return drawn if _is_unicode() else [one.translate(PLAIN_BOX) for one in drawn]


PLAIN_BOX = str.maketrans("┏━┳┓┃┡╇┩│└─┴┘", "+-++|+++|+-++")
"""What boxes are drawn with where the output is in no Unicode encoding."""


def _is_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def _width(text: str) -> int:
    """Columns that a text takes in a terminal: letters of East Asia take two, accents none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def print_json(value: Any, indent: int = 2) -> None:
    """Print a value as JSON; what is infinite or not a number is null."""
    import json

    print(json.dumps(_finite(value), indent=indent))  # noqa: T201 (this is the output)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
