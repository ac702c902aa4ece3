"""Parts: the unobserved nodes that evidence couples, cut where a value is known.

An observed node is a constant for its children, so the edges out of it are cut. What is left of
it is a *sensor*: an equation that its unobserved parents must satisfy, up to its noise. Unobserved
ancestors of sensors are *coupled* by them, and fall into connected parts that know nothing of each
other. All other unobserved nodes are *free*: they follow from their parents by their equations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families


@dataclass(frozen=True)
class Part:
    r"""Equations :math:`B x = r + S z` of the nodes x of one part: their own, then the sensors'.

    .. math:: x_i - \sum_j a_{ij} x_j = r_i + s_i z_i, \qquad -\sum_j a_{ej} x_j = r_e + s_e z_e
    """

    nodes: IntArray
    """Positions of the unknown nodes, in topological order."""
    sensors: IntArray
    """Positions of the observed nodes that are their children."""
    children: IntArray
    """The equation that each edge belongs to, (edges,): nodes first, then sensors."""
    parents: IntArray
    """The unknown that each edge comes from, (edges,)."""
    coefficients: FloatArray
    """(edges,)."""
    scales: FloatArray
    """Noise scales of the equations, (equations,)."""

    @property
    def equations(self) -> IntArray:
        """Positions of the nodes whose equations these are, (equations,)."""
        return np.concatenate((self.nodes, self.sensors))

    @property
    def loops(self) -> int:
        """Independent loops of the graph when the arrows are forgotten."""
        return len(self.children) - len(self.equations) + 1

    def matrix(self) -> FloatArray:
        """B, dense (equations, nodes)."""
        dense = np.eye(len(self.scales), len(self.nodes))
        dense[self.children, self.parents] = -self.coefficients
        return dense

    def inner(self) -> tuple[Families, FloatArray]:
        """The edges between unknowns, as families with coefficients."""
        own = self.children < len(self.nodes)
        return grouped(
            len(self.nodes), self.children[own], self.parents[own], self.coefficients[own]
        )


def grouped(
    count: int, children: IntArray, parents: IntArray, coefficients: FloatArray
) -> tuple[Families, FloatArray]:
    """Edges in any order as families of 0, ..., count - 1, and their coefficients."""
    order = np.argsort(children, kind="stable")
    sizes = np.bincount(children, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    families = Families(np.arange(count), offsets, np.ascontiguousarray(parents[order]))
    return families, np.ascontiguousarray(coefficients[order])


@dataclass(frozen=True)
class Division:
    """The nodes of a graph, divided by what is observed and what is asked for."""

    coupled: BoolArray
    """Unobserved ancestors of observed nodes that matter to the targets, (nodes,)."""
    free: IntArray
    """The other unobserved nodes that matter, in topological order."""
    labels: IntArray
    """The part that a coupled node or a sensor belongs to, (nodes,); -1 elsewhere."""


def divide(dag: Dag, observed: BoolArray, targets: BoolArray) -> Division:
    """Coupled and free nodes, and parts; only those that the targets depend on."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    coupled = ancestors(dag, observed, observed) & ~observed
    needed = ancestors(dag, targets & ~observed, observed)
    families = dag.families
    parents, children = families.parents, families.family_of_edge
    out = coupled[parents]
    ends = (parents[out], children[out])
    # The children of coupled nodes are coupled, sensors or free; free ones tie nothing together.
    tying = coupled[ends[1]] | observed[ends[1]]
    ends = (ends[0][tying], ends[1][tying])
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(len(dag), len(dag)))
    labels = connected_components(graph, directed=False)[1].astype(np.int64)
    wanted = np.zeros(len(dag), dtype=bool)
    wanted[labels[needed & coupled]] = True
    inside = coupled & wanted[labels]
    kept = inside.copy()
    kept[ends[1][inside[ends[0]]]] = True
    labels[~kept] = -1
    free = dag.order[(needed & ~coupled & ~observed)[dag.order]]
    return Division(inside, np.ascontiguousarray(free), labels)


def ancestors(dag: Dag, start: BoolArray, observed: BoolArray) -> BoolArray:
    """The starting nodes and all that they descend from by edges out of unobserved nodes."""
    marked = start.tolist()
    blocked = observed.tolist()
    offsets = dag.families.offsets.tolist()
    parents = dag.families.parents.tolist()
    for node in reversed(dag.order.tolist()):
        if marked[node]:
            for parent in parents[offsets[node] : offsets[node + 1]]:
                if not blocked[parent]:
                    marked[parent] = True
    return np.array(marked, dtype=bool)


def make_parts(
    dag: Dag, division: Division, coefficients: FloatArray, scales: FloatArray
) -> Iterator[Part]:
    """The parts of a division, each with its own numbering."""
    families = dag.families
    rank = np.empty(len(dag), dtype=np.int64)
    rank[dag.order] = np.arange(len(dag))
    inside = np.flatnonzero(division.labels >= 0)
    # Within a part the unknowns come first, each kind in topological order.
    inside = inside[np.lexsort((rank[inside], ~division.coupled[inside], division.labels[inside]))]
    local = np.zeros(len(dag), dtype=np.int64)
    edges = np.flatnonzero(
        division.coupled[families.parents] & (division.labels[families.family_of_edge] >= 0)
    )
    edges = edges[np.argsort(division.labels[families.parents[edges]], kind="stable")]
    edge_labels = division.labels[families.parents[edges]]
    labels, starts = np.unique(division.labels[inside], return_index=True)
    stops = np.append(starts, len(inside))[1:]
    first = np.searchsorted(edge_labels, labels)
    last = np.searchsorted(edge_labels, labels, side="right")
    for start, stop, low, high in zip(starts, stops, first, last, strict=True):
        members, own = inside[start:stop], edges[low:high]
        local[members] = np.arange(len(members))
        known = ~division.coupled[members]
        yield Part(
            members[~known],
            members[known],
            local[families.family_of_edge[own]],
            local[families.parents[own]],
            coefficients[own],
            scales[members],
        )
