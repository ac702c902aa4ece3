"""Lines of comma-separated cells, for small tables of names and numbers.

A cell may stand in double quotes; then each character between them stands for itself and the
quote is written twice. Blanks around an unquoted cell do not count. Blank lines are skipped.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gaussnet.errors import FileError

_CELL = re.compile(
    r"""[ \t]*(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"[ \t]*|(?P<bare>(?!")[^,\r\n]*))"""
    r"(?P<end>,|\r\n|\r|\n|\Z)"
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_NEEDS_QUOTES = re.compile(r'[",\t\r\n]|^\s|\s$')


class Line(NamedTuple):
    """The cells of one line and its number in the file, counted from 1."""

    number: int
    cells: tuple[str, ...]


def split_lines(text: str, file: str) -> Iterator[Line]:
    r"""The lines of a table; `file` is for the message.

    Examples
    --------
    >>> list(split_lines('from, to\n"a ""b"" c", 7\n', "edges.csv"))
    [Line(number=1, cells=('from', 'to')), Line(number=2, cells=('a "b" c', '7'))]
    """
    start = 0
    number = 1
    while start < len(text):
        cells, stop = _one_line(text, start, f"line {number} of {file!r}")
        if cells != [""]:
            yield Line(number, tuple(cells))
        number += len(_LINE_END.findall(text, start, stop))
        start = stop


def join_line(cells: Iterable[str], delimiter: str = ",") -> str:
    r"""One line of a table, quotes only where they are needed.

    Examples
    --------
    >>> join_line(["rain", '5" pipe', "a, b", " wet"])
    'rain,"5"" pipe","a, b"," wet"\n'
    """
    return delimiter.join(map(_quoted, cells)) + "\n"


def _one_line(text: str, start: int, where: str) -> tuple[list[str], int]:
    """The cells of the line that starts here, and where the next one starts."""
    cells: list[str] = []
    while True:
        match = _CELL.match(text, start)
        if match is None:
            raise FileError(
                f"{where} has a quote that is not closed at the end of its cell: write a quote "
                'inside quotes twice, as in "a ""b"""'
            )
        bare = match["bare"]
        cells.append(match["quoted"].replace('""', '"') if bare is None else bare.strip())
        start = match.end()
        if match["end"] != ",":
            return cells, start


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell
