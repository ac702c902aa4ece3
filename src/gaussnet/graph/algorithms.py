"""Algorithms on a graph given as families: topological order, cycles, d-separation.

Family i is that of node i here: ``families.children`` counts 0, 1, 2, ...
"""

from heapq import heapify, heappop, heappush

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.types import IntArray


def topological_order(families: Families) -> IntArray:
    """Nodes after their parents, the smallest that is ready first.

    If there is a cycle, the nodes on it and all that descend from it are left out.

    Examples
    --------
    >>> topological_order(Families(np.arange(2), np.array([0, 1, 1]), np.array([1]))).tolist()
    [1, 0]
    """
    if np.all(families.parents < families.family_of_edge):
        return np.arange(len(families))
    waiting = families.sizes.tolist()
    children = child_lists(families)
    ready = [node for node, parents in enumerate(waiting) if parents == 0]
    heapify(ready)
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heappush(ready, child)
    return np.array(order, dtype=np.int64)


def find_cycle(families: Families, order: IntArray) -> list[int]:
    """A directed cycle among the nodes that a topological order leaves out, parent to child.

    Each of those nodes has a parent among them, so a walk from parent to parent must close.

    Examples
    --------
    >>> loop = Families(np.arange(2), np.array([0, 1, 2]), np.array([1, 0]))
    >>> find_cycle(loop, topological_order(loop))
    [1, 0]
    """
    stuck = set(range(len(families))) - set(order.tolist())
    steps: dict[int, int] = {}
    node = min(stuck)
    while node not in steps:
        steps[node] = len(steps)
        start, stop = families.offsets[node : node + 2].tolist()
        node = next(parent for parent in families.parents[start:stop].tolist() if parent in stuck)
    loop = list(steps)[steps[node] :]
    return loop[::-1]


def child_lists(families: Families) -> list[list[int]]:
    """The children of each node, in node order."""
    lists: list[list[int]] = [[] for _ in range(len(families))]
    for parent, child in _edges(families):
        lists[parent].append(child)
    return lists


def is_forest(families: Families) -> bool:
    """Whether no cycle is left when the arrows are forgotten.

    Examples
    --------
    >>> is_forest(Families(np.arange(3), np.array([0, 0, 1, 3]), np.array([0, 0, 1])))
    False
    """
    root = list(range(len(families)))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for parent, child in _edges(families):
        one, other = find(parent), find(child)
        if one == other:
            return False
        root[one] = other
    return True


def active_reach(families: Families, start: set[int], given: set[int]) -> set[int]:
    """The nodes that an active path leads to from the start, in time linear in the edges.

    A path goes on through a node from child to parents and children if the node is not given;
    from parent to children if it is not given, to parents if it or a descendant is given.
    """
    parents, children = families.parent_lists, child_lists(families)
    opening = reachable(parents, given)
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


def reachable(lists: list[list[int]], nodes: set[int]) -> set[int]:
    """The nodes and all their ancestors, or descendants, by lists of parents, or of children.

    Examples
    --------
    >>> sorted(reachable([[], [0], [1], []], {2}))
    [0, 1, 2]
    """
    found: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += lists[node]
    return found


def _edges(families: Families) -> list[tuple[int, int]]:
    owners = families.family_of_edge.tolist()
    return list(zip(families.parents.tolist(), owners, strict=True))
