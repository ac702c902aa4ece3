"""Separation: which independences a graph implies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from gaussnet.errors import GraphError
from gaussnet.graph.order import child_lists

if TYPE_CHECKING:
    from gaussnet.graph.dag import Dag


@dataclass(frozen=True, slots=True)
class Independence:
    """`node` is independent of `other` given `given`."""

    node: str
    other: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        condition = f" | {', '.join(self.given)}" if self.given else ""
        return f"{self.node} _||_ {self.other}{condition}"


class Separation:
    """The independences of a graph, as methods."""

    def d_separated(
        self, first: str | Iterable[str], second: str | Iterable[str], given: Iterable[str] = ()
    ) -> bool:
        """Whether the graph makes two nodes, or sets of nodes, independent given others.

        Examples
        --------
        >>> from gaussnet import Dag
        >>> dag = Dag.parse("[rain][sprinkler][wet|rain:sprinkler]")
        >>> dag.d_separated("rain", "sprinkler"), dag.d_separated("rain", "sprinkler", ["wet"])
        (True, False)
        """
        dag = cast("Dag", self)
        ones, others, known = (_positions(dag, nodes) for nodes in (first, second, given))
        for left, right in ((ones, others), (ones, known), (others, known)):
            if left & right:
                name = dag.nodes[min(left & right)]
                raise GraphError(
                    f"the node {name!r} stands in two of the three sets: name it in one only"
                )
        return not _reached(dag, ones, known) & others

    def markov_basis(self) -> tuple[Independence, ...]:
        """Independences that imply all others of the graph, one for each pair without an edge.

        Each node is independent of every node before it in topological order that is no
        parent of its, given its parents.

        Examples
        --------
        >>> from gaussnet import Dag
        >>> [str(claim) for claim in Dag.parse("[a][b|a][c|b]").markov_basis()]
        ['c _||_ a | b']
        """
        return tuple(_basis(cast("Dag", self)))


def _basis(dag: "Dag") -> Iterator[Independence]:
    order = [dag.nodes[place] for place in dag.order.tolist()]
    for index, node in enumerate(order):
        parents = dag.parents(node)
        own = set(parents)
        for other in order[:index]:
            if other not in own:
                yield Independence(node, other, parents)


def _positions(dag: "Dag", nodes: str | Iterable[str]) -> set[int]:
    return {dag.position(node) for node in ([nodes] if isinstance(nodes, str) else nodes)}


def _reached(dag: "Dag", start: set[int], given: set[int]) -> set[int]:
    """The nodes that an active path leads to from the start, in time linear in the edges.

    A path goes on through a node from child to parents and children if the node is not given;
    from parent to children if it is not given, to parents if it or a descendant is given.
    """
    offsets, flat = dag.families.offsets.tolist(), dag.families.parents.tolist()
    parents = [flat[low:high] for low, high in pairwise(offsets)]
    children = child_lists(dag.families)
    opening = _with_ancestors(parents, given)
    waiting = [(node, True) for node in start]  # True: as if from a child
    seen: set[tuple[int, bool]] = set()
    while waiting:
        node, from_child = step = waiting.pop()
        if step in seen:
            continue
        seen.add(step)
        if node not in given:
            waiting += [(child, False) for child in children[node]]
        if node not in given if from_child else node in opening:
            waiting += [(parent, True) for parent in parents[node]]
    return {node for node, _ in seen} - given


def _with_ancestors(parents: list[list[int]], nodes: set[int]) -> set[int]:
    """The nodes and all that they descend from."""
    found: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += parents[node]
    return found
