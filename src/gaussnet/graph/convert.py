"""Between gaussnet and networkx; the only place that knows networkx, loaded when first used."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from gaussnet.errors import GaussnetError, GraphError

DiGraph: TypeAlias = Any
"""A networkx.DiGraph; networkx brings no types of its own."""


def networkx_parts(graph: DiGraph) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """The nodes and the (parent, child) edges of a networkx DiGraph, labels turned into strings.

    A MultiDiGraph will do if no two of its edges run between the same nodes.

    Examples
    --------
    >>> import networkx
    >>> networkx_parts(networkx.DiGraph([(1, 2)]))
    (('1', '2'), [('1', '2')])
    """
    networkx = _networkx()
    if not isinstance(graph, networkx.Graph):
        raise GraphError(f"got a {type(graph).__name__}, expected a networkx DiGraph")
    if not graph.is_directed():
        raise GraphError(
            f"got an undirected networkx {type(graph).__name__}, expected a DiGraph: give every "
            "edge a direction, parent to child"
        )
    names: dict[Any, str] = {label: str(label) for label in graph.nodes}
    _check_distinct(names)
    edges = [(names[parent], names[child]) for parent, child in graph.edges()]
    if graph.is_multigraph() and len(set(edges)) != len(edges):
        parent, child = next(edge for edge in graph.edges() if graph.number_of_edges(*edge) > 1)
        raise GraphError(
            f"the networkx graph has more than one edge {names[parent]!r} -> {names[child]!r}: "
            "keep one of them, for instance with networkx.DiGraph(graph)"
        )
    return tuple(names.values()), edges


def to_networkx(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> DiGraph:
    """A networkx DiGraph with these nodes, in this order, and (parent, child) edges.

    Examples
    --------
    >>> list(to_networkx(["a", "b", "alone"], [("a", "b")]).nodes)
    ['a', 'b', 'alone']
    """
    graph = _networkx().DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def _networkx() -> Any:
    try:
        import networkx  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise GaussnetError(
            "networkx is not installed, and graphs go to and from networkx only with it: "
            "install it, for instance with 'pip install networkx'"
        ) from None
    return networkx


def _check_distinct(names: dict[Any, str]) -> None:
    owners: dict[str, Any] = {}
    for label, name in names.items():
        if name in owners:
            raise GraphError(
                f"the networkx labels {owners[name]!r} and {label!r} both read {name!r} as names: "
                "relabel one of them"
            )
        owners[name] = label
