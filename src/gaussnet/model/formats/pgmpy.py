"""To pgmpy and back; the only place that knows pgmpy, loaded when first used."""

import math
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from gaussnet.errors import NetworkError
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork

Model: TypeAlias = Any
"""A pgmpy LinearGaussianBayesianNetwork; pgmpy brings no types of its own."""


def to_pgmpy(network: GaussianNetwork) -> Model:
    """The network as a `LinearGaussianBayesianNetwork` of pgmpy (1.0 or later).

    pgmpy keeps standard deviations where we keep variances, so a variance may come back from
    `from_pgmpy` with its last digit changed.
    """
    try:
        models = import_module("pgmpy.models")
        factors = import_module("pgmpy.factors.continuous")
    except ImportError:
        raise NetworkError(
            "pgmpy is not installed, and networks go to pgmpy only with it: install it, for "
            "instance with 'pip install pgmpy'"
        ) from None
    dag = network.dag
    dag.require_arrows("pgmpy")
    model = models.LinearGaussianBayesianNetwork()
    model.add_nodes_from(dag.nodes)
    model.add_edges_from(dag.edges)
    for node in dag.nodes:
        parents = list(dag.parents(node))
        numbers = [network.intercepts[node]]
        numbers += [network.coefficients[parent, node] for parent in parents]
        scale = math.sqrt(network.variances[node])
        model.add_cpds(factors.LinearGaussianCPD(node, numbers, scale, parents))
    return model


def from_pgmpy(model: Model) -> GaussianNetwork:
    """The network of a pgmpy `LinearGaussianBayesianNetwork`, whose nodes all have a CPD."""
    if not hasattr(model, "get_cpds") or not hasattr(model, "nodes"):
        raise NetworkError(
            f"got a {type(model).__name__}, expected a LinearGaussianBayesianNetwork of pgmpy"
        )
    coefficients: dict[tuple[str, str], float] = {}
    variances: dict[str, float] = {}
    intercepts: dict[str, float] = {}
    for label in model.nodes():
        name, (intercept, *slopes), scale, parents = str(label), *_equation(model, label)
        intercepts[name], variances[name] = intercept, scale * scale
        coefficients |= {
            (str(parent), name): slope for parent, slope in zip(parents, slopes, strict=True)
        }
    edges = [(str(parent), str(child)) for parent, child in model.edges()]
    dag = Dag.from_parts(variances, edges)
    return GaussianNetwork(dag, coefficients, variances, intercepts)


def _equation(model: Model, label: object) -> tuple[list[float], float, list[object]]:
    """Intercept and slopes, scale, and parents of one node."""
    cpd = model.get_cpds(label)
    try:
        numbers = np.asarray(cpd.beta, dtype=np.float64).ravel().tolist()
        scale, parents = float(cpd.std), list(cpd.evidence)
    except (AttributeError, TypeError, ValueError):
        numbers, scale, parents = [], math.nan, []
    if len(numbers) != 1 + len(parents):
        raise NetworkError(
            f"the node {str(label)!r} of the pgmpy model has no linear Gaussian CPD with an "
            "intercept and one coefficient a parent: add it with add_cpds"
        )
    return numbers, scale, parents
