"""Graphs in the forms in which people have them at hand."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from gaussnet.errors import GraphError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.graph.formats.files import ENDINGS, read_dag
from gaussnet.graph.formats.networkx import DiGraph

GraphLike: TypeAlias = Dag | str | PathLike[str] | Iterable[tuple[Any, Any]] | DiGraph
"""A Dag, a model text such as "wet ~ rain", the name of a file with one, (parent, child) edges, or
a networkx DiGraph."""


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

    A text that is one word with the ending of a graph file, as "graph.txt", names that file. Only
    a `Dag` can state the order of columns without names.

    Examples
    --------
    >>> as_dag("wet ~ rain").edges, as_dag([("rain", "wet")]).edges
    ((('rain', 'wet'),), (('rain', 'wet'),))
    """
    if isinstance(given, Dag):
        return given
    if isinstance(given, PathLike):
        return read_dag(given)
    if isinstance(given, str):
        return read_dag(given) if _is_file_name(given) else Dag.parse(given)
    if hasattr(given, "is_directed"):
        return Dag.from_networkx(given)
    if not _may_be_edges(given):
        raise SettingError(
            f"got dag of type {type(given).__name__}, expected a gaussnet.Dag, a model text, the "
            "name of a file, a list of (parent, child) edges or a networkx DiGraph: "
            "Dag.from_adjacency reads a matrix"
        )
    return from_edges(given)


def _is_file_name(text: str) -> bool:
    """Whether a text names a file: no formula or model string looks like that."""
    return text.endswith(ENDINGS) and not set(text) & set('~[];"`\n')


def _may_be_edges(given: Any) -> bool:
    """Whether this is a collection, and neither a matrix nor a frame of data."""
    if isinstance(given, np.ndarray):
        return given.ndim > 0 and given.dtype.kind in "OUT"
    is_table = isinstance(given, bytes) or hasattr(given, "columns")
    return isinstance(given, Iterable) and not is_table
