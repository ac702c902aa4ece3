"""Networks as Graphviz DOT, the numbers as attributes."""

from gaussnet.graph.text import dot_name
from gaussnet.model.network import GaussianNetwork


def to_dot(network: GaussianNetwork) -> str:
    """The network in DOT: edges are labelled with their coefficients.

    The exact numbers stand in the attributes `coefficient`, `intercept` and `variance`, which
    Graphviz passes over. `gaussnet.read_dag` reads the graph.

    Examples
    --------
    >>> from gaussnet.graph import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [1 / 3], [1.0, 0.5])
    >>> print(to_dot(network), end="")
    digraph {
      "a" [intercept="0.0", variance="1.0"];
      "b" [intercept="0.0", variance="0.5"];
      "a" -> "b" [label="0.333", coefficient="0.3333333333333333"];
    }
    """
    nodes = [
        f'  {dot_name(node)} [intercept="{network.intercepts[node]!r}", '
        f'variance="{network.variances[node]!r}"];\n'
        for node in network.dag.nodes
    ]
    edges = [
        f"  {dot_name(parent)} -> {dot_name(child)} "
        f'[label="{value:.3g}", coefficient="{value!r}"];\n'
        for (parent, child), value in network.coefficients.items()
    ]
    return "".join(("digraph {\n", *nodes, *edges, "}\n"))
