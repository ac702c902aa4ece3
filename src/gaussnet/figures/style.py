"""Colours, marks and sizes of all figures, and how a figure becomes a file."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from gaussnet.errors import FileError

INK = "#20242b"
"""Text, axes and ticks; replaced by the page's own colour where a figure is part of a page."""
FAINT = "#8a919c"
PAPER = "#ffffff"


class Look(NamedTuple):
    """Colour, mark and line of a curve: told apart without colour, and on light and dark."""

    colour: str
    mark: str
    line: str = "-"
    is_filled: bool = True


LOOKS = (
    Look("#2f7fd6", "o"),
    Look("#e08214", "s"),
    Look("#1c9e77", "^"),
    Look("#d6406f", "D"),
    Look("#8a63d2", "v", "--", is_filled=False),  # must show on top of the one before
    Look("#7a8799", "P"),
    Look("#a9793b", "X"),
    Look("#3aa6b9", "*"),
)

SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.2,
    "figure.dpi": 100,
    "svg.hashsalt": "gaussnet",
    "svg.fonttype": "none",
}


class Picture(NamedTuple):
    """A figure as files: for papers, for slides, and for a light or dark page."""

    png: bytes
    svg: str
    inline_svg: str
    """Without background; text and axes follow the reader's light or dark theme."""


@contextmanager
def _styled() -> Iterator[Any]:
    """The module matplotlib.figure, with our settings while in use."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise FileError("figures need matplotlib: pip install 'gaussnet[reproduce]'") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield matplotlib.figure


def draw(paint: Callable[[Any], None], size: tuple[float, float]) -> Picture:
    """Let `paint` draw on a fresh figure of this size in inches, and make files of it.

    The files hold no date and no program version, so equal numbers give equal bytes.
    """
    with _styled() as module:
        figure = module.Figure(figsize=size, layout="constrained", facecolor=PAPER)
        paint(figure)
        # places are found once, not for each file
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        png, svg = io.BytesIO(), io.StringIO()
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(svg, format="svg", metadata=nothing, transparent=True)
    clear = svg.getvalue()
    return Picture(png.getvalue(), _on_paper(clear), _themed(clear))


def check_matplotlib() -> None:
    """Refuse early if figures cannot be drawn."""
    with _styled():
        pass


def _on_paper(svg: str) -> str:
    """The picture on a white ground."""
    head, start, rest = svg.partition("<defs>")
    return f'{head}<rect width="100%" height="100%" fill="{PAPER}"/>{start}{rest}'


def _themed(svg: str) -> str:
    """The picture with its ink in the reader's theme."""
    style = (
        f"<style>:root{{color:{INK}}}"
        "@media (prefers-color-scheme: dark){:root{color:#dfe3ea}}</style>"
    )
    head, start, rest = svg.replace(INK, "currentColor").partition("<defs>")
    return head + style + start + rest
