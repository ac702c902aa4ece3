"""What a graph is built from, checked at the door."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gaussnet._types import FloatArray
from gaussnet.errors import GraphError
from gaussnet.kernels.families import Families


def node_name(label: object) -> str:
    """The name of a node: a string as it is, an integer by its digits.

    Examples
    --------
    >>> node_name("rain"), node_name(7)
    ('rain', '7')
    """
    if isinstance(label, str):
        return str.__str__(label)  # a plain string, also for numpy strings and enum members
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return str(label)
    raise GraphError(f"got the node name {label!r}, expected a string: rename the node")


def edge_names(edge: object) -> tuple[str, str]:
    """The names of a (parent, child) pair, which may also be a list or an array of two.

    Examples
    --------
    >>> edge_names(["rain", 7])
    ('rain', '7')
    """
    match edge.tolist() if isinstance(edge, np.ndarray) else edge:
        case (parent, child):
            return node_name(parent), node_name(child)
    raise GraphError(
        f"got the edge {edge!r}, expected a pair (parent, child): give two names for each edge"
    )


def square_matrix(matrix: ArrayLike, *, allow_nan: bool = False) -> FloatArray:
    """The matrix as floats, (nodes, nodes), all of them numbers unless NaN is allowed.

    Examples
    --------
    >>> square_matrix([[0, 1], [0, 0]]).shape
    (2, 2)
    """
    try:
        weights = np.asarray(matrix)
    except ValueError:
        raise GraphError(
            "the rows of the adjacency matrix differ in length: give a square matrix"
        ) from None
    if not weights.shape or weights.shape != 2 * weights.shape[:1]:
        raise GraphError(
            f"got an adjacency matrix of shape {weights.shape}, expected a square one: give one "
            "row and one column for each node"
        )
    numbers = weights.dtype.kind in "biuf"
    if not numbers or (not allow_nan and np.isnan(weights.astype(np.float64)).any()):
        raise GraphError("the adjacency matrix holds NaN or non-numbers: use 0 for 'no edge'")
    return weights.astype(np.float64)


def check_parents(nodes: Sequence[str], families: Families) -> None:
    """Refuse parents that are no nodes, and parents listed twice; each family is sorted.

    Examples
    --------
    >>> check_parents(["a", "b"], Families(np.arange(2), np.array([0, 0, 1]), np.array([0])))
    """
    parents, owners = families.parents, families.family_of_edge
    wrong = parents[(parents < 0) | (parents >= len(nodes))]
    if len(wrong):
        raise GraphError(
            f"got the parent position {wrong[0]} in a graph of {len(nodes)} nodes: count the "
            "nodes from 0"
        )
    twice = np.flatnonzero((np.diff(parents) == 0) & (np.diff(owners) == 0))
    if len(twice):
        parent, child = nodes[parents[twice[0]]], nodes[owners[twice[0]]]
        raise GraphError(f"the edge {parent!r} -> {child!r} is listed twice: list it once")
