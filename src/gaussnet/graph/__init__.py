"""The directed acyclic graph of a network, and the ways in and out of it."""

from gaussnet.graph.dag import Dag
from gaussnet.graph.files import read_dag, write_dag

__all__ = ["Dag", "read_dag", "write_dag"]
