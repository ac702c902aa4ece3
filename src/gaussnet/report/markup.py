"""HTML and SVG as text: what every page of ours is made of, names from data always escaped."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files


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


def asset(name: str) -> str:
    """The text of a file that comes with the package."""
    return files("gaussnet.report").joinpath("assets", name).read_text(encoding="utf-8")


def whole_page(title: str, sections: Iterable[str], styles: Sequence[str], script: str = "") -> str:
    """A page, complete in itself; its own policy lets it ask for nothing and run one script.

    Parameters
    ----------
    styles
        Names of style sheets in `assets`.
    script
        Name of a script in `assets`, if any.
    """
    style = "\n".join(asset(name) for name in styles)
    code = asset(script) if script else ""
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


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int]
) -> str:
    """A table of cells that are markup already; columns of `words` stand left, others right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="text">{cell}</{tag}>' if place in words else f"<{tag}>{cell}</{tag}>"
            for place, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{caption}</caption>'
        f"<thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _may_stand(sign: str) -> bool:
    code = ord(sign)
    return sign in "\t\n" or (code >= 0x20 and not 0x7F <= code < 0xA0 and not _is_odd(code))


def _is_odd(code: int) -> bool:
    """Half characters, and signs that turn or hide the text around them."""
    return (
        0xD800 <= code < 0xE000
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or code & 0xFFFE == 0xFFFE
    )
