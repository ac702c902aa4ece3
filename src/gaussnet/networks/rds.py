"""Gaussian networks of bnlearn, read from R's .rds files at full precision."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussnet.errors import FileError, GraphError, NetworkError
from gaussnet.graph.dag import Dag
from gaussnet.graph.rds import fitted_nodes, read_rds, strings
from gaussnet.model.network import GaussianNetwork

INTERCEPT = "(Intercept)"


def read_network(path: str | os.PathLike[str]) -> GaussianNetwork:
    """The network in a file that `saveRDS` wrote from a Gaussian `bn.fit` of bnlearn.

    Such are the Gaussian networks of the bnlearn repository. Needs the package rdata.
    """
    file = os.fspath(path)
    fitted = fitted_nodes(read_rds(path), file)
    nodes = [_Node(file, str(name), entry) for name, entry in fitted.items()]
    edges = [(parent, node.name) for node in nodes for parent in node.parents]
    coefficients = {
        (parent, node.name): node.coefficients[parent] for node in nodes for parent in node.parents
    }
    try:
        return GaussianNetwork(
            Dag.from_edges(edges, nodes=[node.name for node in nodes]),
            coefficients,
            {node.name: node.scale**2 for node in nodes},
            {node.name: node.coefficients[INTERCEPT] for node in nodes},
        )
    except (GraphError, NetworkError) as problem:
        raise FileError(f"the network in {file!r} does not hold: {problem}") from None


class _Node:
    """One entry of a Gaussian `bn.fit`: parents, coefficients by name, standard deviation."""

    def __init__(self, file: str, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.parents = strings(entry["parents"])
        numbers = np.asarray(entry.get("coefficients", ()))
        scale = np.asarray(entry.get("sd", ()))
        if numbers.ndim != 1 or not numbers.size or scale.size != 1 or numbers.dtype.kind != "f":
            raise FileError(
                f"the node {name!r} in {file!r} is not Gaussian: expected one vector of "
                "coefficients and one standard deviation, as in a Gaussian bn.fit"
            )
        names = _names(entry["coefficients"], [INTERCEPT, *self.parents])
        self.coefficients = dict(zip(names, numbers.tolist(), strict=False))
        if set(self.coefficients) != {INTERCEPT, *self.parents} or len(names) != len(numbers):
            raise FileError(
                f"the coefficients of {name!r} in {file!r} are named {', '.join(names)}, expected "
                f"{', '.join([INTERCEPT, *self.parents])}"
            )
        self.scale = float(scale.ravel()[0])


def _names(vector: Any, otherwise: list[str]) -> list[str]:
    """The names of a named vector of R; `otherwise` if it has none."""
    coordinates = getattr(vector, "coords", None)
    if not coordinates:
        return otherwise
    return [str(name) for name in next(iter(coordinates.values())).values]
