"""Interventions: a network in which some nodes are set from outside."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.model.inference.evidence import as_values, marked

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


def do(network: "GaussianNetwork", values: Mapping[str, float]) -> "GaussianNetwork":
    """The network with these nodes cut from their parents, each at its value without noise."""
    dag = network.dag
    places, numbers = as_values(dag, values, "intervention")
    cut = marked(dag, places)
    families = dag.families
    kept = ~cut[families.family_of_edge]
    parents: list[list[int]] = [[] for _ in dag.nodes]
    ends = (families.parents[kept].tolist(), families.family_of_edge[kept].tolist())
    for parent, child in zip(*ends, strict=True):
        parents[child].append(parent)
    intercepts = network.intercept_array.copy()
    intercepts[places] = numbers
    return type(network).from_arrays(
        Dag.from_parents(dag.nodes, parents),
        network.coefficient_array[kept],
        np.where(cut, 0.0, network.variance_array),
        intercepts,
    )
