"""Between gaussnet and networkx; the only place that knows networkx, loaded when first used."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any, TypeAlias

from gaussnet.errors import GaussnetError, GraphError
from gaussnet.graph.formats import NodesAndEdges

DiGraph: TypeAlias = Any
"""A networkx.DiGraph; networkx brings no types of its own."""

Attributes: TypeAlias = Mapping[str, Any]
Names: TypeAlias = Iterable[str] | Mapping[str, Attributes]
Pairs: TypeAlias = Iterable[tuple[str, str]] | Mapping[tuple[str, str], Attributes]

_GML_LABEL = re.compile(r'"[^"]*"|^[ \t]*#.*$|\blabel\s+([^\s"\[\]]+)', re.MULTILINE)


def networkx_parts(graph: DiGraph) -> NodesAndEdges:
    """The nodes and the (parent, child) edges of a networkx DiGraph, labels as strings.

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


def to_networkx(nodes: Names, edges: Pairs) -> DiGraph:
    """A networkx DiGraph with these nodes, in this order, and (parent, child) edges.

    Either may be a mapping to attributes.

    Examples
    --------
    >>> list(to_networkx(["a", "b", "alone"], [("a", "b")]).nodes)
    ['a', 'b', 'alone']
    >>> to_networkx(["a", "b"], {("a", "b"): {"coefficient": 2.0}}).edges["a", "b"]
    {'coefficient': 2.0}
    """
    graph = _networkx().DiGraph()
    graph.add_nodes_from(nodes.items() if isinstance(nodes, Mapping) else nodes)
    pairs = [(*pair, own) for pair, own in edges.items()] if isinstance(edges, Mapping) else edges
    graph.add_edges_from(pairs)
    return graph


def networkx_attributes(
    graph: DiGraph,
) -> tuple[dict[str, Attributes], dict[tuple[str, str], Attributes]]:
    """The attributes of the nodes and edges of a networkx DiGraph, by name.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.DiGraph()
    >>> graph.add_edge(1, 2, coefficient=0.5)
    >>> networkx_attributes(graph)
    ({'1': {}, '2': {}}, {('1', '2'): {'coefficient': 0.5}})
    """
    names, _ = networkx_parts(graph)
    own: dict[str, Attributes] = {
        name: dict(graph.nodes[label]) for name, label in zip(names, graph.nodes, strict=True)
    }
    return own, {(str(a), str(b)): dict(data) for a, b, data in graph.edges(data=True)}


def read_gml(text: str) -> DiGraph:
    """The networkx graph of a GML text; nodes are called by their labels, else by their ids.

    Labels stay text as it stands in the file: ``label 007`` is the name "007".

    Examples
    --------
    >>> graph = read_gml('graph [ directed 1 node [ id 0 label 007 ] node [ id 1 ] ]')
    >>> list(graph.nodes)
    ['007', '1']
    """
    networkx = _networkx()
    quoted = _GML_LABEL.sub(lambda match: f'label "{match[1]}"' if match[1] else match[0], text)
    escaped = quoted.encode("ascii", "xmlcharrefreplace").decode("ascii")
    graph = networkx.parse_gml(escaped, label="id")
    # networkx turns the labels "()" and "[]" into an empty tuple and list.
    names = {node: str(graph.nodes[node].get("label", node)) for node in graph.nodes}
    _check_distinct_names(names)
    return networkx.relabel_nodes(graph, names, copy=True)


def write_gml(graph: DiGraph) -> str:
    """The GML text of a networkx graph."""
    return "\n".join(_networkx().generate_gml(graph)) + "\n"


def read_graphml(raw: bytes) -> DiGraph:
    """The networkx graph of a GraphML file; nodes are called by their ids.

    Where the ids are n0, n1, ... and each node has a datum "name", as igraph writes it, that
    is the name.
    """
    from xml.etree.ElementTree import iterparse

    networkx = _networkx()
    tags = [element.tag.rpartition("}")[2] for _, element in iterparse(BytesIO(raw))]
    if tags.count("graph") != 1:
        raise GraphError(f"the file holds {tags.count('graph')} graphs, expected 1 and none nested")
    graph = networkx.read_graphml(BytesIO(raw), node_type=str)
    given = {node: graph.nodes[node].get("name") for node in graph.nodes}
    numbered = [f"n{index}" for index in range(len(given))]
    if list(given) != numbered or not all(isinstance(name, str) for name in given.values()):
        return graph
    _check_distinct_names(given)
    return networkx.relabel_nodes(graph, given, copy=True)


def write_graphml(graph: DiGraph) -> str:
    """The GraphML text of a networkx graph."""
    lines = _networkx().generate_graphml(graph, encoding="utf-8")
    return "\n".join(lines) + "\n"


def _check_distinct_names(names: dict[Any, str]) -> None:
    name, count = Counter(names.values()).most_common(1)[0] if names else ("", 1)
    if count > 1:
        raise GraphError(f"{count} nodes are called {name!r}: give each node one name of its own")


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
