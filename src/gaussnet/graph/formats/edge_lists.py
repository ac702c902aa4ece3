"""Graphs as lists of edges: CSV and JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gaussnet.errors import FileError, GraphError
from gaussnet.files import Line, join_line, split_lines
from gaussnet.graph.dag import edge_names, node_name
from gaussnet.graph.formats import NodesAndEdges

HEADERS = (("from", "to"), ("parent", "child"), ("source", "target"), ("cause", "effect"))


def edge_list(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> str:
    """The graph as CSV; nodes stand alone before the edges if these do not give their order.

    Examples
    --------
    >>> print(edge_list(["rain", "wet"], [("rain", "wet")]), end="")
    from,to
    rain,wet
    >>> print(edge_list(["wet", "rain"], [("rain", "wet")]), end="")
    from,to
    wet,
    rain,
    rain,wet
    """
    pairs = list(edges)
    in_order = tuple(dict.fromkeys(name for pair in pairs for name in pair)) == tuple(nodes)
    alone = [] if in_order else [(node, "") for node in nodes]
    return "".join(map(join_line, [HEADERS[0], *alone, *pairs]))


def parse_edge_list(text: str, file: str) -> NodesAndEdges:
    """The nodes, in order of appearance, and the edges of a table; `file` is for messages.

    The first line may name the columns: from and to, parent and child, source and target, or
    cause and effect; then other columns are passed over. Without it there are two columns. A
    line with an empty second cell is a node alone.

    Examples
    --------
    >>> parse_edge_list("weight,parent,child\\n0.5,rain,wet\\n,wind,", "edges.csv")
    (('rain', 'wet', 'wind'), [('rain', 'wet')])
    """
    lines = list(split_lines(text, file))
    if not lines:
        raise FileError(f"{file!r} is empty: expected one edge per line, parent and child")
    columns = _named_columns(lines[0].cells)
    body = lines if columns is None else lines[1:]
    width = len(lines[0].cells) if columns else 2
    nodes: dict[str, None] = {}
    edges = []
    for line in body:
        parent, child = _pair(line, width, columns or (0, 1), file)
        nodes[parent] = None
        if child:
            nodes[child] = None
            edges.append((parent, child))
    return tuple(nodes), edges


def _named_columns(cells: Sequence[str]) -> tuple[int, int] | None:
    """Where parent and child stand if this line is a header."""
    words = [cell.lower() for cell in cells]
    for parent, child in HEADERS:
        if words.count(parent) == 1 and words.count(child) == 1:
            return words.index(parent), words.index(child)
    return None


def _pair(line: Line, width: int, columns: tuple[int, int], file: str) -> tuple[str, str]:
    cells = line.cells if len(line.cells) > 1 or width > 2 else (*line.cells, "")
    where = f"line {line.number} of {file!r}"
    if len(cells) != width:
        raise FileError(
            f"{where} has {len(cells)} cells, expected {width}: give parent and child, and name "
            "the columns in the first line if there are more"
        )
    parent, child = cells[columns[0]], cells[columns[1]]
    if not parent:
        raise FileError(f"{where} names no parent: write a node without edges as 'name,'")
    return parent, child


def graph_json(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> str:
    r"""The graph as JSON, one edge per line.

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


def parse_json(raw: bytes) -> NodesAndEdges:
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


def _network_parts(content: Mapping[str, Any]) -> NodesAndEdges:
    """The graph of a saved network, its numbers left aside."""
    if content.get("covariances"):
        raise GraphError(
            "it is a network with covariances: take its graph with gaussnet.read_network(path).dag"
        )
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
