"""The directed acyclic graph of a network, and the ways in and out of it."""

from gaussnet.graph.dag import Dag, Independence

__all__ = ["Dag", "Independence"]
