"""Graphs in files: the format goes by the ending of the file's name."""

import re
from collections.abc import Callable

from gaussnet.errors import FileError, GaussnetError, GraphError
from gaussnet.files import Path, file_name, read_bytes, read_text, suffix, write_text
from gaussnet.graph.dag import Dag, Edge
from gaussnet.graph.formats import NodesAndEdges, networkx
from gaussnet.graph.formats.edge_lists import edge_list, graph_json, parse_edge_list, parse_json
from gaussnet.graph.formats.text import parse_model


def read_dag(path: Path) -> Dag:
    """Read a graph from a file.

    ========================= =====================================================
    ``.dot``, ``.gv``          Graphviz; nodes by their ID
    ``.gml``, ``.graphml``     as of networkx, igraph, Gephi (needs networkx)
    ``.json``                  ``{"nodes": [...], "edges": [[parent, child], ...]}``, the
                               node-link data of networkx, or a saved network
    ``.csv``                   one edge per line, parent and child; a name alone is a node
    ``.txt``                   a model string ``[a][b|a]`` or lines ``b ~ a``
    ``.rds``                   bnlearn's `bn` or `bn.fit` (needs rdata)
    ========================= =====================================================

    Names are text, also where they are made of digits only.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "garden.dot")
    >>> write_dag(Dag.parse("wet ~ rain + 7"), path)
    >>> read_dag(path).edges
    (('rain', 'wet'), ('7', 'wet'))
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _READERS:
        raise FileError(
            f"cannot tell the format of {file!r}: expected a name that ends in "
            f"{', '.join(_READERS)}"
        )
    try:
        if ending == MODEL_TEXT:
            return Dag.parse(read_text(file))
        return Dag.from_parts(*_READERS[ending](file))
    except FileError:
        raise
    except GaussnetError as problem:
        raise FileError(f"the graph in {file!r} does not hold: {problem}") from None


def write_dag(dag: Dag, path: Path) -> None:
    """Write a graph to a file, whole or not at all; `read_dag` gives back an equal graph.

    Covariances need ``.txt``; ``.dot`` draws them, and cannot be read back with them.

    The endings are those of `read_dag` except ``.rds``.
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _WRITERS:
        raise FileError(
            f"cannot write a graph as {file!r}: expected a name that ends in {', '.join(_WRITERS)}"
        )
    try:
        content = _WRITERS[ending](dag)
    except GaussnetError as problem:
        raise FileError(f"cannot write {file!r}: {problem}") from None
    write_text(file, content)


def _read_dot(file: str) -> NodesAndEdges:
    from gaussnet.graph.formats.dot import parse_dot  # much to import

    return parse_dot(read_text(file))


def _read_rds(file: str) -> NodesAndEdges:
    from gaussnet.graph.formats.rds import bn_parts, read_rds

    return bn_parts(read_rds(file), file)


def _read_gml(file: str) -> NodesAndEdges:
    return _parts(lambda: networkx.read_gml(read_text(file)), file, "GML")


def _read_graphml(file: str) -> NodesAndEdges:
    raw = read_bytes(file)
    return _parts(lambda: networkx.read_graphml(raw), file, "GraphML")


def _parts(read: Callable[[], networkx.DiGraph], file: str, kind: str) -> NodesAndEdges:
    try:
        return networkx.networkx_parts(read())
    except GaussnetError:
        raise
    except Exception as problem:  # a foreign parser fails in any way on a broken file
        raise FileError(f"{file!r} is not a whole {kind} file: write it again") from problem


def _to_graphml(dag: Dag) -> str:
    for name in dag.nodes:
        if re.search(_NOT_XML, name):
            raise GraphError(f"GraphML cannot hold the node name {name!r}: rename the node")
    return networkx.write_graphml(dag.to_networkx())


def _arrows(dag: Dag, form: str) -> tuple[Edge, ...]:
    """The edges, for a form that has no covariances."""
    dag.require_arrows(form)
    return dag.edges


MODEL_TEXT = ".txt"
_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_READERS: dict[str, Callable[[str], NodesAndEdges]] = {
    ".dot": _read_dot,
    ".gv": _read_dot,
    ".gml": _read_gml,
    ".graphml": _read_graphml,
    ".json": lambda file: parse_json(read_bytes(file)),
    ".csv": lambda file: parse_edge_list(read_text(file), file),
    MODEL_TEXT: lambda file: parse_model(read_text(file)),
    ".rds": _read_rds,
}
ENDINGS = tuple(_READERS)
"""Of files that `read_dag` reads."""
_WRITERS: dict[str, Callable[[Dag], str]] = {
    ".dot": Dag.to_dot,
    ".gv": Dag.to_dot,
    ".gml": lambda dag: networkx.write_gml(dag.to_networkx()),
    ".graphml": _to_graphml,
    ".json": lambda dag: graph_json(dag.nodes, _arrows(dag, "this JSON")),
    ".csv": lambda dag: edge_list(dag.nodes, _arrows(dag, "a list of edges")),
    ".txt": lambda dag: dag.to_formulas() + "\n",
}
