"""Bars of a quantity by name."""

from collections.abc import Mapping
from typing import Any

from gaussnet.figures.style import FAINT, LOOKS, Picture, draw


def draw_bars(title: str, quantity: str, values: Mapping[str, float]) -> Picture:
    """Horizontal bars, one for each name, on a logarithmic axis.

    Examples
    --------
    >>> draw_bars("Time", "milliseconds", {"LeastSquares": 0.4, "CauchyEst": 2.0}).png[1:4]
    b'PNG'
    """

    def paint(figure: Any) -> None:
        axis = figure.subplots()
        places = range(len(values))
        colours = [LOOKS[place % len(LOOKS)].colour for place in places]
        axis.barh(places, list(values.values()), color=colours, height=0.6)
        axis.set_yticks(places, list(values))
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlim(min(values.values()) / 3.0, max(values.values()) * 2.0)
        for place, value in zip(places, values.values(), strict=True):
            axis.annotate(
                f"{value:.3g}", (value, place), (4, 0), textcoords="offset points", va="center"
            )
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.xaxis.set_minor_formatter(lambda value, _: "")
        axis.set_xlabel(quantity)
        axis.set_title(title)
        axis.tick_params(axis="y", length=0)
        axis.tick_params(which="minor", color=FAINT)

    return draw(paint, (6.0, 0.9 + 0.36 * len(values)))
