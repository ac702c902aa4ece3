"""Networks for R's bnlearn, and from it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussnet.errors import FileError, NetworkError
from gaussnet.graph.dag import Dag
from gaussnet.graph.formats.rds import bn_parts, fitted_nodes, strings
from gaussnet.model.network import GaussianNetwork

INTERCEPT = "(Intercept)"


def to_bnlearn(network: GaussianNetwork) -> str:
    """An R script that makes the network a `bn.fit` of bnlearn, called `network`.

    Examples
    --------
    >>> dag = Dag.parse("[rain][wet|rain]")
    >>> print(to_bnlearn(GaussianNetwork.from_arrays(dag, [1.5], [1.0, 0.25])), end="")
    library(bnlearn)
    dag <- empty.graph(c(
      "rain",
      "wet"
    ))
    arcs(dag) <- matrix(c(
      "rain", "wet"
    ), ncol = 2, byrow = TRUE, dimnames = list(NULL, c("from", "to")))
    network <- custom.fit(dag, dist = list(
      "rain" = list(coef = c("(Intercept)" = 0.0), sd = 1.0),
      "wet" = list(coef = c("(Intercept)" = 0.0, "rain" = 1.5), sd = 0.5)
    ))
    """
    dag = network.dag
    dag.require_arrows("bnlearn")
    arcs = [f"  {_string(parent)}, {_string(child)}" for parent, child in dag.edges]
    script = ["library(bnlearn)", "dag <- empty.graph(c("]
    script += [",\n".join(f"  {_string(node)}" for node in dag.nodes), "))"]
    if arcs:
        ending = '), ncol = 2, byrow = TRUE, dimnames = list(NULL, c("from", "to")))'
        script += ["arcs(dag) <- matrix(c(", ",\n".join(arcs), ending]
    script.append("network <- custom.fit(dag, dist = list(")
    script += [",\n".join(_distribution(network, node) for node in dag.nodes), "))"]
    return "\n".join(script) + "\n"


def from_bnlearn(value: Any, file: str) -> GaussianNetwork:
    """The network of a Gaussian `bn.fit` that was read from a file."""
    fitted = fitted_nodes(value, file)
    nodes, edges = bn_parts(value, file)
    coefficients: dict[tuple[str, str], float] = {}
    variances: dict[str, float] = {}
    intercepts: dict[str, float] = {}
    for node in nodes:
        numbers, scale = _numbers(fitted[node], node, file)
        intercepts[node] = numbers.pop(INTERCEPT, 0.0)
        variances[node] = scale * scale
        coefficients |= {(parent, node): number for parent, number in numbers.items()}
    return GaussianNetwork(Dag.from_parts(nodes, edges), coefficients, variances, intercepts)


def _distribution(network: GaussianNetwork, node: str) -> str:
    terms = [f"{_string(INTERCEPT)} = {network.intercepts[node]!r}"]
    for parent in network.dag.parents(node):
        if parent == INTERCEPT:
            raise NetworkError(f"bnlearn keeps the name {INTERCEPT!r} for itself: rename the node")
        terms.append(f"{_string(parent)} = {network.coefficients[parent, node]!r}")
    scale = float(np.sqrt(network.variances[node]))
    return f"  {_string(node)} = list(coef = c({', '.join(terms)}), sd = {scale!r})"


def _string(name: str) -> str:
    """The name as a string of R."""
    if "\x00" in name:
        raise NetworkError(f"R cannot hold the node name {name!r}: rename the node")
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _numbers(entry: Mapping[str, Any], node: str, file: str) -> tuple[dict[str, float], float]:
    """Intercept and coefficients by name, and the scale, of one node of a `bn.fit`."""
    try:
        vector = entry["coefficients"]
        (labels,) = (strings(coordinate) for coordinate in vector.coords.values())
        numbers = np.asarray(vector, dtype=np.float64).ravel().tolist()
        (scale,) = np.asarray(entry["sd"], dtype=np.float64).ravel().tolist()
        return dict(zip(labels, numbers, strict=True)), scale
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FileError(
            f"the node {node!r} of {file!r} is not Gaussian: expected coefficients by name and sd"
        ) from None
