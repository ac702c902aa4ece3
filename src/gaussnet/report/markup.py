"""HTML: numbers and texts, tables, and the shell of a page."""

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from gaussnet.tails import PValue

MINUS = "\N{MINUS SIGN}"
UNKNOWN = "\N{EN DASH}"
MOST_LINES = 2_000
"""Longer tables are cut."""
LEFT = ' class="text"'
"""Cells of words stand left, others right."""
Cell = str | float | int


def number(value: float) -> str:
    """Four digits that count, a true minus sign, a dash for what is not known.

    Examples
    --------
    >>> number(1.23456), number(2.0), number(1234567.0), number(math.nan) == UNKNOWN
    ('1.235', '2.000', '1.235e+06', True)
    """
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size and not 1e-4 <= size < 1e5:
        shown = f"{size:.3e}"
    else:
        digits = 3 - math.floor(math.log10(size)) if size else 3
        shown = f"{size:.{min(max(digits, 0), 7)}f}"
    return f"{MINUS}{shown}" if value < 0 and float(shown) else shown


def share(value: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> share(0.95), share(0.4567)
    ('95 %', '45.7 %')
    """
    if math.isnan(value):
        return UNKNOWN
    shown = f"{100 * value:.1f}".removesuffix(".0").replace("-", MINUS)
    return f"{shown} %"


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun.

    Examples
    --------
    >>> many(1, "row"), many(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def brief(value: float) -> str:
    """Two digits after the point, or three that count where that is shorter or says more.

    Examples
    --------
    >>> brief(1.23456), brief(0.01234), brief(123456.0)
    ('1.23', '0.0123', '1.23e+05')
    """
    size = abs(value)
    shown = f"{size:.2f}" if 0.1 <= size < 1000 or not size else f"{size:.3g}"
    return f"{MINUS}{shown}" if value < 0 else shown


def text(value: object) -> str:
    """A value as text or as an attribute in double quotes.

    What no page may hold, such as control characters and half characters, is shown by a sign.

    Examples
    --------
    >>> text('<script>"x" & y')
    '&lt;script&gt;&quot;x&quot; &amp; y'
    >>> text("a\\x00b")
    'a\ufffdb'
    """
    shown = "".join(sign if _may_stand(sign) else "\ufffd" for sign in str(value))
    return escape(shown)


def _may_stand(sign: str) -> bool:
    code = ord(sign)
    return sign in "\t\n" or (code >= 0x20 and not 0x7F <= code < 0xA0 and not _is_odd(code))


def _is_odd(code: int) -> bool:
    """Half characters, and signs that reverse or hide the text around them."""
    return (
        0xD800 <= code < 0xE000
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or code & 0xFFFE == 0xFFFE
    )


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
            f'<th scope="col"{LEFT if word else ""} aria-sort="none">'
            f'<button type="button">{text(head)}</button></th>'
            for head, word in zip(self.heads, words, strict=True)
        )
        body = "\n".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in shown)
        cut = len(self.lines) - len(shown)
        more = f'<p class="faint">{cut:,} more rows are not shown.</p>' if cut else ""
        return (
            f'<div class="controls"><label>Filter <input type="search" data-filter="{self.name}" '
            'placeholder="part of a name" autocomplete="off" spellcheck="false"></label>'
            f'<span class="count" role="status" data-count="{self.name}">{len(shown):,}</span>'
            f'</div><div class="wide tall"><table id="{self.name}" class="sortable">'
            f"<caption>{text(self.caption)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{more}"
        )


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td{LEFT}>{text(cell)}</td>"
    if isinstance(cell, int):
        return f'<td data-v="{cell}">{cell:,}</td>'
    value = f"{cell:.7g}" if math.isfinite(cell) else ""
    told = text(str(cell)) if isinstance(cell, PValue) else number(cell)
    return f'<td data-v="{value}">{told}</td>'


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int]
) -> str:
    """A table of cells that are markup already; columns of `words` stand left, others right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{LEFT if column in words else ''}>{cell}</{tag}>"
            for column, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{caption}</caption>'
        f"<thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def asset(name: str) -> str:
    """The text of a file that comes with the package."""
    return files("gaussnet.report").joinpath("assets", name).read_text(encoding="utf-8")


def whole_page(title: str, sections: Iterable[str], styles: Sequence[str], *scripts: str) -> str:
    """A page, complete in itself; its own policy lets it ask for nothing and run one script.

    Parameters
    ----------
    styles
        Names of style sheets in `assets`.
    scripts
        Names of scripts in `assets`, if any; they become one.
    """
    style = "\n".join(asset(name) for name in styles)
    code = "\n".join(asset(name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if code else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>\n{style}</style></head>\n<body>\n"
        + "\n".join(sections)
        + (f"\n<script>{code}</script>" if code else "")
        + "\n</body></html>\n"
    )
