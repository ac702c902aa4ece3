"""Learning: from rows and a graph to a network."""

from gaussnet.fitting.learn import fit
from gaussnet.fitting.result import Fit, NodeReport, Note

__all__ = ["Fit", "NodeReport", "Note", "fit"]
