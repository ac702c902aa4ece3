"""The graph over the columns of X, from whatever form it was given in."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from gaussnet.errors import GraphError
from gaussnet.graph.dag import Dag, shorten

GraphLike: TypeAlias = Dag | str | Iterable[tuple[Any, Any]] | np.ndarray | Any | None
"""A Dag, a model text, (parent, child) edges, an adjacency matrix, a networkx DiGraph, or None."""


def graph_over(given: GraphLike, columns: tuple[str, ...], named: bool) -> Dag:
    """The graph with its nodes in the order of the columns.

    None is the complete graph: each column has all columns before it as parents, so that the
    network is one multivariate Gaussian without any constraint. Edges and matrices speak of
    all columns; a `Dag`, a model text or a networkx graph may leave out named columns.

    Examples
    --------
    >>> graph_over(None, ("a", "b", "c"), True).edges
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    >>> graph_over([(2, 0)], ("x0", "x1", "x2"), False).edges
    (('x2', 'x0'),)
    >>> graph_over("b ~ c", ("a", "b", "c"), True).nodes
    ('b', 'c')
    """
    if given is None:
        return Dag.from_parents(columns, [range(place) for place in range(len(columns))])
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf":
        return Dag.from_adjacency(given, columns)
    if isinstance(given, str):
        return _ordered(Dag.parse(given), columns, named)
    if isinstance(given, Dag):
        return _ordered(given, columns, named)
    if hasattr(given, "is_directed"):
        return _ordered(Dag.from_networkx(given), columns, named)
    if not isinstance(given, Iterable):
        raise GraphError(
            f"got dag of type {type(given).__name__}, expected a gaussnet.Dag, a model text, "
            "edges, an adjacency matrix or a networkx DiGraph"
        )
    return Dag.from_edges([_edge(edge, columns) for edge in given], nodes=columns)


def _ordered(dag: Dag, columns: tuple[str, ...], named: bool) -> Dag:
    if named or set(dag.nodes) == set(columns):
        unknown = [node for node in dag.nodes if node not in set(columns)]
        if unknown:
            raise GraphError(
                f"X has no column for {shorten(unknown)}: its columns are {shorten(columns)}"
            )
        return Dag.from_edges(dag.edges, nodes=[name for name in columns if name in dag])
    if len(dag) != len(columns):
        raise GraphError(
            f"the graph has {len(dag)} nodes and X has {len(columns)} columns without names: give "
            "one column for each node, in the order of dag.nodes, or a data frame"
        )
    numbers = [str(place) for place in range(len(columns))]
    return dag if set(dag.nodes) != set(numbers) else Dag.from_edges(dag.edges, nodes=numbers)


def _edge(edge: Any, columns: tuple[str, ...]) -> tuple[Any, Any]:
    """The edge with column numbers turned into names."""
    try:
        parent, child = edge
    except (TypeError, ValueError):
        raise GraphError(
            f"got the edge {edge!r}, expected a pair (parent, child) of column names or numbers"
        ) from None
    return _column(parent, columns), _column(child, columns)


def _column(label: Any, columns: tuple[str, ...]) -> Any:
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        if not 0 <= label < len(columns):
            raise GraphError(f"there is no column {label}: X has {len(columns)}, counted from 0")
        return columns[label]
    return label
