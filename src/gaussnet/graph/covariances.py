"""Covariances between nodes without parents, as arcs of an equivalent graph.

``x1 ~~ x2`` says that two nodes without parents have causes in common that nobody measured. Their
covariance is free, and neither causes the other. A graph in which every part that hangs together
has a node joined to all others of its part, and has one again once this node is taken away, can be
written with arcs that say the same of the distribution: that node last, as a child of all others
of its part, and so on inwards (Pearl and Wermuth, *When can association graphs admit a causal
interpretation?*, 1994: no chain and no ring of four without a chord). So everything that is about
the distribution works on these arcs as on any others; what is about causes must leave them out.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from gaussnet.errors import GraphError
from gaussnet.kernels.families import Families
from gaussnet.types import BoolArray

Pair = tuple[int, int]


def arcs_of(pairs: Iterable[Pair], names: Sequence[str]) -> list[Pair]:
    """Arcs (parent, child) that are equivalent to free covariances of these pairs of nodes.

    Examples
    --------
    >>> sorted(arcs_of([(0, 1), (1, 2)], "abc"))
    [(0, 1), (2, 1)]
    """
    joined: dict[int, set[int]] = {}
    for one, other in pairs:
        joined.setdefault(one, set()).add(other)
        joined.setdefault(other, set()).add(one)
    arcs: list[Pair] = []
    waiting = [set(joined)]
    while waiting:
        nodes = waiting.pop()
        while nodes:
            part = _connected(joined, nodes)
            nodes -= part
            wanted = len(part) - 1
            ends = [node for node in part if len(joined[node] & part) == wanted]
            if not ends:
                raise _no_arcs(_chain(joined, part), names)
            last = max(ends)
            arcs += [(parent, last) for parent in part - {last}]
            waiting.append(part - {last})
    return arcs


def _connected(joined: dict[int, set[int]], nodes: set[int]) -> set[int]:
    """The nodes that hang together with the first of these."""
    found: set[int] = set()
    waiting = [min(nodes)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += joined[node] & nodes
    return found


def _chain(joined: dict[int, set[int]], part: set[int]) -> list[int]:
    """Four nodes a - b - c - d with neither a - c nor b - d."""
    return next(
        [a, b, c, d]
        for b in sorted(part)
        for c in sorted(joined[b] & part)
        for a in sorted((joined[b] & part) - joined[c] - {c})
        for d in sorted((joined[c] & part) - joined[b] - {b})
    )


def _no_arcs(chain: list[int], names: Sequence[str]) -> GraphError:
    first, second, third, fourth = (names[node] for node in chain)
    return GraphError(
        f"the covariances {first!r} ~~ {second!r}, {second!r} ~~ {third!r} and {third!r} ~~ "
        f"{fourth!r} without {first!r} ~~ {third!r} and {second!r} ~~ {fourth!r} have no "
        "estimate in one step: add one of these two, or let all nodes without parents covary by "
        "roots='correlated'"
    )


def causal_families(families: Families, is_covariance: BoolArray) -> Families:
    """The graph with a hidden common cause, a further node, for nodes that covary.

    Nodes that all covary with each other share one; the parents of a node are then its causes.

    Examples
    --------
    >>> pair = Families(np.arange(2), np.array([0, 0, 1]), np.array([0]))
    >>> causal_families(pair, np.array([True])).parent_lists
    [[2], [2], []]
    """
    if not is_covariance.any():
        return families
    parents = families.parents.tolist()
    owners = families.family_of_edge.tolist()
    lists: list[list[int]] = [[] for _ in range(len(families))]
    groups: dict[int, list[int]] = {}
    for parent, child, covary in zip(parents, owners, is_covariance.tolist(), strict=True):
        if covary:
            groups.setdefault(parent, [parent]).append(child)
        else:
            lists[child].append(parent)
    inner = set(families.family_of_edge[is_covariance].tolist())
    for first, group in groups.items():
        if first not in inner:  # else all of its pairs are among those of the first ones before it
            hidden = len(lists)
            lists.append([])
            for node in group:
                lists[node].append(hidden)
    return _from_lists(lists)


def _from_lists(lists: Sequence[Sequence[int]]) -> Families:
    sizes = [len(own) for own in lists]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    flat = np.array([parent for own in lists for parent in sorted(own)], dtype=np.int64)
    return Families(np.arange(len(lists)), offsets, flat)
