"""A layered drawing of a graph: parents before children, few crossings, smooth edges."""

from gaussnet.report.layered.layout import Layout, lay_out
from gaussnet.report.layered.parts import Point, Sizes

__all__ = ["Layout", "Point", "Sizes", "lay_out"]
