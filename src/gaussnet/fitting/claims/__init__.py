"""Claims of a graph, tested against the rows that a network was learnt from."""

from gaussnet.fitting.claims.check import GraphCheck, MissingEdge, check_graph

__all__ = ["GraphCheck", "MissingEdge", "check_graph"]
