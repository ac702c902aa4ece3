"""Pictures of values in notebooks and plots: the one place that asks an upper layer.

A value of any layer may be asked for its picture, while pictures are drawn in `gaussnet.report`,
above all of them. So the module that draws is looked up by name, when it is needed.
"""

from importlib import import_module
from typing import Any


def html(kind: str, value: Any) -> str:
    """The HTML of a value, by a function of `gaussnet.report.notebook`."""
    found: str = getattr(import_module("gaussnet.report.notebook"), kind)(value)
    return found


def plot(kind: str, *values: Any, **settings: Any) -> Any:
    """Axes of matplotlib with a plot, by a function of `gaussnet.report.plots`."""
    return getattr(import_module("gaussnet.report.plots"), kind)(*values, **settings)
