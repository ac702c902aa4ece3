"""Tables that sort and filter in the page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gaussnet.report.markup import text
from gaussnet.report.numbers import number

MOST_LINES = 2_000
Cell = str | float | int


@dataclass(frozen=True)
class Sortable:
    """A table by the name of its element, its heads and its lines; texts left, numbers right."""

    name: str
    caption: str
    heads: Sequence[str]
    lines: Sequence[Sequence[Cell]]

    def to_html(self) -> str:
        """The table with a field to filter it; a long one is cut, and says so."""
        shown = self.lines[:MOST_LINES]
        words = [isinstance(cell, str) for cell in shown[0]] if shown else [True] * len(self.heads)
        heads = "".join(
            f'<th scope="col"{_kind(word)} aria-sort="none"><button type="button">{text(head)}'
            "</button></th>"
            for head, word in zip(self.heads, words, strict=True)
        )
        body = "\n".join(f"<tr>{_cells(line)}</tr>" for line in shown)
        cut = len(self.lines) - len(shown)
        more = f'<p class="faint">{cut:,} lines more are not shown.</p>' if cut else ""
        return (
            f'<div class="controls"><label>Filter <input type="search" data-filter="{self.name}" '
            'placeholder="part of a name" autocomplete="off" spellcheck="false"></label>'
            f'<span class="count" role="status" data-count="{self.name}">{len(shown):,}</span>'
            f'</div><div class="wide tall"><table id="{self.name}" class="sortable">'
            f"<caption>{text(self.caption)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{more}"
        )


def _cells(line: Iterable[Cell]) -> str:
    return "".join(_cell(cell) for cell in line)


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f'<td class="text">{text(cell)}</td>'
    if isinstance(cell, int):
        return f'<td data-v="{cell}">{cell:,}</td>'
    value = f"{cell:.7g}" if math.isfinite(cell) else ""
    return f'<td data-v="{value}">{number(cell)}</td>'


def _kind(word: bool) -> str:
    return ' class="text"' if word else ""
