"""How the guaranteed distance falls with the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from gaussnet.figures.style import INK, LOOKS, Picture, draw


def draw_guarantee(
    rows: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    shapes: Mapping[str, Sequence[float]],
) -> Picture:
    """Total variation against rows, both logarithmic: curves by label, shapes as dashed lines.

    Examples
    --------
    >>> draw_guarantee([100, 1000], {"guaranteed": [0.3, 0.1]}, {"limit": [0.1, 0.03]}).png[1:4]
    b'PNG'
    """

    def paint(figure: Any) -> None:
        axis = figure.subplots()
        for (label, values), look in zip(curves.items(), LOOKS, strict=False):
            axis.plot(rows, values, color=look.colour, label=label)
        for (label, values), style in zip(shapes.items(), ("--", ":", "-."), strict=False):
            axis.plot(rows, values, style, color=INK, linewidth=1.1, label=label)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("rows")
        axis.set_ylabel("total variation from the truth")
        axis.grid(True, which="major")
        figure.legend(loc="outside right center")

    return draw(paint, (7.2, 3.6))
