"""What the documentation site needs beyond its plugins: formulas as MathML.

Pages write formulas between dollars, docstrings as ``.. math::`` or ``:math:`...` ``. Browsers
show MathML without any script, so nothing is fetched when a page is read.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

BLOCKS = (
    re.compile(r"<p>\.\. math::\s*(.*?)</p>", re.DOTALL),
    re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL),
)
INLINES = (
    re.compile(r":math:<code>(.*?)</code>", re.DOTALL),
    re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL),
)
TAG = re.compile(r"</?(em|strong|code|br|p)\b[^>]*>")


def on_page_content(html: str, **_: Any) -> str:
    """Turn the LaTeX of a page into MathML."""
    for pattern in BLOCKS:
        html = pattern.sub(lambda found: _formula(found[1], "block"), html)
    for pattern in INLINES:
        html = pattern.sub(lambda found: _formula(found[1], "inline"), html)
    return html


def _formula(latex: str, display: str) -> str:
    return convert(unescape(TAG.sub("", latex)).strip(), display=display)
