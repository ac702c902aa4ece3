"""Back-door adjustment: which nodes to hold fixed so that what is left of a correlation is causal.

Family i is that of node i here: ``families.children`` counts 0, 1, 2, ...
"""

from collections.abc import Iterator

import numpy as np

from gaussnet.graph.algorithms import active_reach, child_lists, reachable
from gaussnet.kernels.families import Families

Neighbours = dict[int, set[int]]


def minimal_adjustment_sets(
    families: Families, cause: int, target: int, allowed: set[int]
) -> Iterator[frozenset[int]]:
    """All minimal sets of allowed nodes that satisfy the back-door criterion, in no special order.

    A set does if it holds no descendant of the cause and blocks every path from cause to target
    that begins with an arrow into the cause (Pearl, Causality, 2009, section 3.3.1). Without the
    arrows out of the cause it d-separates the two; the smallest such sets consist of ancestors
    of the two and are the minimal separators of the moral graph of these ancestors (van der
    Zander, Liskiewicz and Textor, Artificial Intelligence 270, 2019).

    Examples
    --------
    >>> fork = Families(np.arange(3), np.array([0, 0, 1, 3]), np.array([0, 0, 1]))
    >>> list(minimal_adjustment_sets(fork, cause=1, target=2, allowed={0}))
    [frozenset({0})]
    """
    parents = _without_arrows_out(families, cause).parent_lists
    usable = allowed - reachable(child_lists(families), {cause}) - {cause, target}
    neighbours = _moral_graph(parents, reachable(parents, {cause, target}))
    for node in set(neighbours) - usable - {cause, target}:
        _contract(neighbours, node)
    yield from _minimal_separators(neighbours, cause, target)


def is_adjustment_set(families: Families, cause: int, target: int, given: set[int]) -> bool:
    """Whether a set satisfies the back-door criterion.

    Examples
    --------
    >>> fork = Families(np.arange(3), np.array([0, 0, 1, 3]), np.array([0, 0, 1]))
    >>> is_adjustment_set(fork, 1, 2, {0}), is_adjustment_set(fork, 1, 2, set())
    (True, False)
    """
    if given & (reachable(child_lists(families), {cause}) | {target}):
        return False
    return target not in active_reach(_without_arrows_out(families, cause), {cause}, given)


def optimal_adjustment_set(families: Families, cause: int, target: int) -> set[int]:
    """The adjustment set whose regression estimates the effect with least variance.

    The parents of the nodes between cause and target, target included, less these nodes and the
    cause (Henckel, Perkovic and Maathuis, J. R. Statist. Soc. B 84, 2022). Empty if the target
    does not descend from the cause.

    Examples
    --------
    >>> fork = Families(np.arange(3), np.array([0, 0, 1, 3]), np.array([0, 0, 1]))
    >>> optimal_adjustment_set(fork, cause=1, target=2)
    {0}
    """
    parents = families.parent_lists
    descendants = reachable(child_lists(families), {cause})
    between = (reachable(parents, {target}) & descendants) - {cause}
    return {parent for node in between for parent in parents[node]} - between - {cause}


def _without_arrows_out(families: Families, node: int) -> Families:
    kept = families.parents != node
    sizes = np.bincount(families.family_of_edge[kept], minlength=len(families))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Families(families.children, offsets, families.parents[kept])


def _moral_graph(parents: list[list[int]], nodes: set[int]) -> Neighbours:
    """Neighbours of each node when arrows are forgotten and parents of one child are joined."""
    neighbours: Neighbours = {node: set() for node in nodes}
    for node in nodes:
        _join(neighbours, {node, *parents[node]})
    return neighbours


def _contract(neighbours: Neighbours, node: int) -> None:
    """Take a node out that no separator may hold: those around it stay joined."""
    around = neighbours.pop(node)
    for other in around:
        neighbours[other].discard(node)
    _join(neighbours, around)


def _join(neighbours: Neighbours, nodes: set[int]) -> None:
    for node in nodes:
        neighbours[node] |= nodes - {node}


def _minimal_separators(neighbours: Neighbours, start: int, stop: int) -> Iterator[frozenset[int]]:
    """All minimal sets of nodes whose removal parts two nodes of an undirected graph.

    From the one nearest to the start each other is reached by moving a node of the separator to
    the side of the start (Kloks and Kratsch, SIAM J. Comput. 27, 1998).
    """
    seen: set[frozenset[int]] = set()
    waiting = [{start}]
    while waiting:
        side = waiting.pop()
        border = _border(neighbours, side)
        if stop in border:
            continue
        separator = frozenset(_border(neighbours, _component(neighbours, stop, border)))
        if separator in seen:
            continue
        seen.add(separator)
        yield separator
        own = _component(neighbours, start, separator)
        waiting += [own | {node} for node in sorted(separator)]


def _border(neighbours: Neighbours, side: set[int]) -> set[int]:
    return set().union(*(neighbours[node] for node in side)) - side


def _component(neighbours: Neighbours, start: int, without: set[int] | frozenset[int]) -> set[int]:
    """The nodes that can be reached from one without passing through others."""
    found, waiting = {start}, [start]
    while waiting:
        fresh = neighbours[waiting.pop()] - without - found
        found |= fresh
        waiting += fresh
    return found
