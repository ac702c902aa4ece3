"""Networks as networkx graphs: numbers are attributes of nodes and edges."""

from gaussnet.errors import NetworkError
from gaussnet.graph.dag import Dag
from gaussnet.graph.formats.networkx import DiGraph, networkx_attributes, to_networkx as graph_of
from gaussnet.model.network import GaussianNetwork


def to_networkx(network: GaussianNetwork) -> DiGraph:
    """A networkx DiGraph: nodes with `intercept` and `variance`, edges with `coefficient`."""
    network.dag.require_arrows("networkx")
    nodes = {
        node: {"intercept": network.intercepts[node], "variance": network.variances[node]}
        for node in network.dag.nodes
    }
    return graph_of(
        nodes, {edge: {"coefficient": value} for edge, value in network.coefficients.items()}
    )


def from_networkx(graph: DiGraph) -> GaussianNetwork:
    """The network of a networkx DiGraph with these attributes; labels become names by `str`."""
    nodes, edges = networkx_attributes(graph)
    coefficients = {
        edge: own.get("coefficient", own.get("weight", None)) for edge, own in edges.items()
    }
    for (parent, child), value in coefficients.items():
        if value is None:
            raise NetworkError(
                f"the edge {parent!r} -> {child!r} has no attribute 'coefficient' or 'weight': add "
                "it, or take the graph alone with Dag.from_networkx"
            )
    for node, own in nodes.items():
        if "variance" not in own:
            raise NetworkError(
                f"the node {node!r} has no attribute 'variance': add it, or take the graph alone "
                "with Dag.from_networkx"
            )
    return GaussianNetwork(
        Dag.from_networkx(graph),
        coefficients,
        {node: own["variance"] for node, own in nodes.items()},
        {node: own.get("intercept", 0.0) for node, own in nodes.items()},
    )
