"""Values as pictures and data frames: the one place that asks another layer by name.

A value of any layer may be asked for its picture, while pictures are drawn in `gaussnet.report`,
above all of them, and networks may be asked for data frames, which only `gaussnet.data` knows. So
the module that does it is looked up by name, when it is needed.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from gaussnet.types import FloatArray


def html(kind: str, value: Any) -> str:
    """The HTML of a value, by a function of `gaussnet.report.notebook`."""
    found: str = getattr(import_module("gaussnet.report.notebook"), kind)(value)
    return found


def text(kind: str, value: Any) -> str:
    """The text of a table, which a function of `gaussnet.report.notebook` makes of a value."""
    return str(getattr(import_module("gaussnet.report.notebook"), kind)(value))


def escaped(text: str) -> str:
    """Text as HTML shows it."""
    from html import escape  # slow to import

    return escape(text)


def as_printed(value: Any) -> str:
    """The HTML of a value that prints well: its text, with long lines wrapped between words.

    Notebooks have a rule of their own that breaks the words of such texts.
    """
    style = (
        "color:inherit;background:transparent;font-family:monospace;white-space:pre-wrap;"
        "word-break:normal;overflow-wrap:break-word"
    )
    return f'<pre style="{style}">{escaped(str(value))}</pre>'


def plot(kind: str, *values: Any, **settings: Any) -> Any:
    """Axes of matplotlib with a plot, by a function of `gaussnet.report.plots`."""
    return getattr(import_module("gaussnet.report.plots"), kind)(*values, **settings)


def frame_like(
    frame: Any, names: Sequence[str], values: FloatArray, texts: Mapping[str, Sequence[str]] = {}
) -> Any:
    """A frame with the kind and index of another and these columns, by `gaussnet.data.frames`."""
    return import_module("gaussnet.data.frames").frame_like(frame, names, values, texts)


def with_indicators(frame: Any, factors: Mapping[str, tuple[str, ...]]) -> Any:
    """A frame whose categories are columns of 0 and 1, by `gaussnet.data.factors`."""
    return import_module("gaussnet.data.factors").with_indicators(frame, factors)


def named_frame(values: FloatArray, names: Sequence[str], kind: str, by_node: bool) -> Any:
    """A "pandas" or "polars" frame of columns of these names; `by_node` names the rows too."""
    return import_module("gaussnet.data.frames").named_frame(values, names, kind, by_node)


def new_frame(columns: Mapping[str, Sequence[Any]], kind: str) -> Any:
    """A "pandas" or "polars" frame of these columns, by `gaussnet.data.frames`."""
    return import_module("gaussnet.data.frames").new_frame(columns, kind)
