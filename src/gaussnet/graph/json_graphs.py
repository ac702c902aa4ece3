"""Graphs as JSON: our own form, the node-link form of networkx, and the graph of a network."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gaussnet.errors import GraphError
from gaussnet.graph.checks import edge_names, node_name

Parts = tuple[tuple[str, ...], list[tuple[str, str]]]


def graph_json(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> str:
    r"""The graph as JSON, one edge a line.

    Examples
    --------
    >>> print(graph_json(["rain", "wet"], [("rain", "wet")]), end="")
    {
    "nodes": ["rain", "wet"],
    "edges": [
    ["rain", "wet"]
    ]
    }
    """
    lines = ",\n".join(json.dumps(edge) for edge in edges)
    return f'{{\n"nodes": {json.dumps(list(nodes))},\n"edges": [\n{lines}\n]\n}}\n'


def parse_json(raw: bytes) -> Parts:
    """The nodes and (parent, child) edges of a JSON document of one of the three forms.

    Examples
    --------
    >>> parse_json(b'{"edges": [["rain", "wet"]]}')
    (('rain', 'wet'), [('rain', 'wet')])
    >>> parse_json(b'{"directed": true, "nodes": [{"id": 7}], "links": []}')
    (('7',), [])
    """
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise GraphError("it is not whole JSON: write it again") from None
    if not isinstance(content, dict):
        raise GraphError(f'it holds {content!r:.40}, expected {{"nodes": [...], "edges": [...]}}')
    if content.get("format") == "gaussnet-network":
        return _network_parts(content)
    key = "links" if "links" in content and "edges" not in content else "edges"
    edges = [_edge(edge) for edge in _list(content, key)]
    if "nodes" not in content:
        return tuple(dict.fromkeys(name for edge in edges for name in edge)), edges
    if content.get("directed") is False:
        raise GraphError("it holds an undirected graph, expected edges from parent to child")
    return tuple(_node(node) for node in _list(content, "nodes")), edges


def _network_parts(content: Mapping[str, Any]) -> Parts:
    """The graph of a saved network, its numbers left aside."""
    nodes, edges = [], []
    for entry in _list(content, "nodes"):
        if not isinstance(entry, dict) or not isinstance(entry.get("parents"), dict):
            raise GraphError(f"it has the node {entry!r:.40}, expected its name and parents")
        child = node_name(entry.get("name"))
        nodes.append(child)
        edges += [(parent, child) for parent in entry["parents"]]
    return tuple(nodes), edges


def _list(content: Mapping[str, Any], key: str) -> list[object]:
    value = content.get(key)
    if not isinstance(value, list):
        raise GraphError(f"it has no list {key!r}: add it")
    return value


def _node(node: object) -> str:
    return node_name(node.get("id") if isinstance(node, dict) else node)


def _edge(edge: object) -> tuple[str, str]:
    if isinstance(edge, dict):
        edge = (edge.get("source"), edge.get("target"))
    return edge_names(edge)
