"""Posteriors: what observed nodes, whatever their values, say about the others.

An observed node is a constant for its children, so the edges out of it are cut. What is left of
it is a *sensor*: an equation that its unobserved parents must satisfy, up to its noise. Unobserved
ancestors of sensors are *coupled* by them, and fall into connected *parts* that know nothing of
each other. All other unobserved nodes are *free*: they follow from their parents by their
equations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet import kernels
from gaussnet.errors import DataError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.model import checks
from gaussnet.model.equations import families_of_edges
from gaussnet.model.inference.solvers import SOURCES, Part, Solver, SolverChoice, choose_solver
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork

IMPOSSIBLE = 1e-9
"""Evidence further off what nodes without noise allow, relative to its size, is impossible."""

LOST = 1e-6
"""A variance below this share of what it is a difference of is found again."""


@dataclass(frozen=True)
class Division:
    """The nodes of a graph, divided by what is observed and what is asked for."""

    coupled: BoolArray
    """Unobserved ancestors of observed nodes that matter to the targets, (nodes,)."""
    free: IntArray
    """The other unobserved nodes that matter, in topological order."""
    labels: IntArray
    """The part that a coupled node or a sensor belongs to, (nodes,); -1 elsewhere."""


@dataclass(frozen=True)
class Posterior:
    """What the observed nodes, whatever their values, say about the targets.

    `observed` and `targets` mark nodes, (nodes,). Everything is made once for all values.
    """

    network: "GaussianNetwork"
    observed: BoolArray
    targets: BoolArray
    solver: SolverChoice = choose_solver

    @cached_property
    def division(self) -> Division:
        """Coupled and free nodes, and parts."""
        return divide(self.network.dag, self.observed, self.targets)

    @cached_property
    def solvers(self) -> list[Solver]:
        """The parts, factored."""
        net = self.network
        parts = make_parts(net.dag, self.division, net.coefficient_array, net.scales)
        return [self.solver(part) for part in parts]

    def check(self, rows: FloatArray) -> None:
        """Refuse observed values that nodes without noise rule out; rows are (rows, nodes)."""
        net = self.network
        right, sizes = self._right(rows), self._sizes(rows)
        found = np.zeros(rows.shape)
        lone = self.observed & (self.division.labels < 0) & (net.scales == 0.0)
        lone &= ~self._hidden_parent
        found[:, lone] = np.abs(right[:, lone]) / np.where(sizes[:, lone] > 0, sizes[:, lone], 1.0)
        for solver in self.solvers:
            own = solver.part.equations
            misfits = solver.misfits(right[:, own], sizes[:, own])
            found[:, solver.part.sensors] = misfits[:, len(solver.part.nodes) :]
        row, node = np.unravel_index(int(np.argmax(found)), found.shape) if found.size else (0, 0)
        if found.size and not found[row, node] <= IMPOSSIBLE:
            raise DataError(
                f"the evidence is impossible: {net.dag.nodes[node]!r} cannot be "
                f"{float(rows[row, node])} beside the other values, because nodes without noise "
                "determine it: change it or leave it out"
            )

    def fill(self, rows: FloatArray, noise: FloatArray | None = None) -> None:
        """Put the conditional means, or with standard noise draws, into rows (rows, nodes)."""
        net, free = self.network, self.division.free
        right = self._right(rows)
        if noise is not None:
            right += noise * net.scales
        for solver in self.solvers:
            rows[:, solver.part.nodes] = solver.solve(right[:, solver.part.equations])
        rows[:, free] = net.intercept_array[free]
        if noise is not None:
            rows[:, free] += noise[:, free] * net.scales[free]
        self._propagate_free(rows)
        checks.check_overflow(rows[:, self.targets])

    def factor(self, targets: IntArray) -> FloatArray:
        """A factor of the targets' covariance, (targets, noise)."""
        weights = np.zeros((len(targets), len(self.network.dag)))
        weights[np.arange(len(targets)), targets] = 1.0
        families, coefficients, order = self._backwards
        with np.errstate(over="ignore", invalid="ignore"):
            kernels.propagate(weights, order, families, coefficients)
        free = self.division.free
        blocks = [
            solver.rows_of_factor(np.ascontiguousarray(weights[:, solver.part.nodes]))
            for solver in self.solvers
        ]
        loads = np.hstack((*blocks, weights[:, free] * self.network.scales[free]))
        checks.check_overflow(loads)
        return loads

    def variances(self) -> FloatArray:
        """Conditional variances, (nodes,); meaningless but at the targets."""
        total, gross = np.zeros((2, len(self.network.dag)))
        for signs, rows in self._sources():
            with np.errstate(over="ignore", invalid="ignore"):
                self._propagate_free(rows)
                np.square(rows, out=rows)
                total += signs @ rows
                gross += np.maximum(signs, 0.0) @ rows
        # Where little is left of much, the difference has lost its digits.
        lost = np.flatnonzero(self.targets & (total < LOST * gross))
        for start in range(0, len(lost), SOURCES):
            chosen = lost[start : start + SOURCES]
            loads = self.factor(chosen)
            total[chosen] = np.einsum("ij,ij->i", loads, loads)
        checks.check_overflow(total[self.targets])
        return total

    def _sources(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """What noises (rows) do to coupled nodes, and their signs, `SOURCES` at a time."""
        rows = np.zeros((SOURCES, len(self.network.dag)))
        signs = np.zeros(SOURCES)
        used = 0
        for sign, nodes, loads in self._loads():
            for start in range(0, len(loads), SOURCES):
                part = loads[start : start + SOURCES]
                if used + len(part) > SOURCES:
                    yield signs[:used], rows[:used]
                    rows[:], used = 0.0, 0
                rows[used : used + len(part), nodes] = part
                signs[used : used + len(part)] = sign
                used += len(part)
        yield signs[:used], rows[:used]

    def _loads(self) -> Iterator[tuple[float, IntArray, FloatArray]]:
        """Sign, nodes and what noises (rows) do to these nodes, part by part, then free nodes."""
        for solver in self.solvers:
            for sign, loads in solver.loads():
                yield sign, solver.part.nodes, loads
        free, scales = self.division.free, self.network.scales
        for start in range(0, len(free), SOURCES):
            own = free[start : start + SOURCES]
            yield 1.0, own, np.diag(scales[own])

    def _propagate_free(self, rows: FloatArray) -> None:
        net = self.network
        with np.errstate(over="ignore", invalid="ignore"):
            kernels.propagate(rows, self.division.free, net.dag.families, net.coefficient_array)

    @cached_property
    def _backwards(self) -> tuple[Families, FloatArray, IntArray]:
        """The edges into free nodes, reversed, and an order for them."""
        dag = self.network.dag
        parents, children = dag.families.parents, dag.families.family_of_edge
        into = np.zeros(len(dag), dtype=bool)
        into[self.division.free] = True
        kept = into[children] & ~self.observed[parents]
        backwards = families_of_edges(
            len(dag), parents[kept], children[kept], self.network.coefficient_array[kept]
        )
        return *backwards, np.ascontiguousarray(dag.order[::-1])

    @cached_property
    def _from_observed(self) -> Any:
        """Coefficients of the edges out of observed nodes, sparse (children, parents)."""
        from scipy.sparse import csr_array

        families = self.network.dag.families
        kept = self.observed[families.parents]
        indices = (families.family_of_edge[kept], families.parents[kept])
        shape = (len(families), len(families))
        return csr_array((self.network.coefficient_array[kept], indices), shape=shape)

    @cached_property
    def _hidden_parent(self) -> BoolArray:
        """Whether a node has a parent that is not observed, (nodes,)."""
        families = self.network.dag.families
        found = np.zeros(len(families), dtype=bool)
        found[families.family_of_edge[~self.observed[families.parents]]] = True
        return found

    def _right(self, rows: FloatArray) -> FloatArray:
        """Right-hand sides of all equations, (rows, nodes)."""
        seen = np.where(self.observed, rows, 0.0)
        return np.asarray(self.network.intercept_array + (self._from_observed @ seen.T).T - seen)

    def _sizes(self, rows: FloatArray) -> FloatArray:
        """The sizes of the terms that the right-hand sides are sums of, (rows, nodes)."""
        seen = np.abs(np.where(self.observed, rows, 0.0))
        terms = abs(self._from_observed) @ seen.T
        return np.asarray(np.abs(self.network.intercept_array) + terms.T + seen)


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
    for node in reversed(dag.order.tolist()):
        if marked[node]:
            for parent in dag.families.parent_lists[node]:
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
