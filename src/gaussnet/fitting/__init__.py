"""Learning: from rows and a graph to a network."""

from gaussnet.fitting.learn import fit
from gaussnet.fitting.notes import NodeReport, Note
from gaussnet.fitting.result import Fit

__all__ = ["Fit", "NodeReport", "Note", "fit"]
