"""Graphs in the forms in which people have them at hand."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from gaussnet.errors import GraphError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.graph.formats.networkx import DiGraph

GraphLike: TypeAlias = Dag | str | Iterable[tuple[Any, Any]] | DiGraph
"""A Dag, a model text such as "wet ~ rain", (parent, child) edges, or a networkx DiGraph."""


def stated_edges(edges: Iterable[Any]) -> Dag:
    """The graph of at least one edge."""
    dag = Dag.from_edges(edges)
    if not dag.nodes:
        raise GraphError(
            "got no edges, which name no node: give Dag.from_edges([], nodes=[...]) for nodes "
            "without edges"
        )
    return dag


def as_dag(given: GraphLike, from_edges: Callable[[Iterable[Any]], Dag] = stated_edges) -> Dag:
    """The graph that is given, read by its form; edges are read by `from_edges`.

    Only a `Dag` can state the order of columns without names.

    Examples
    --------
    >>> as_dag("wet ~ rain").edges, as_dag([("rain", "wet")]).edges
    ((('rain', 'wet'),), (('rain', 'wet'),))
    """
    if isinstance(given, Dag):
        return given
    if isinstance(given, str):
        return Dag.parse(given)
    if hasattr(given, "is_directed"):
        return Dag.from_networkx(given)
    if not _may_be_edges(given):
        raise SettingError(
            f"got dag of type {type(given).__name__}, expected a gaussnet.Dag, a model text, a "
            "list of (parent, child) edges or a networkx DiGraph: Dag.from_adjacency reads a "
            "matrix, and read_dag a file"
        )
    return from_edges(given)


def _may_be_edges(given: Any) -> bool:
    """Whether this is a collection, and neither a matrix nor a frame of data."""
    if isinstance(given, np.ndarray):
        return given.ndim > 0 and given.dtype.kind in "OUT"
    is_table = isinstance(given, bytes) or hasattr(given, "columns")
    return isinstance(given, Iterable) and not is_table
