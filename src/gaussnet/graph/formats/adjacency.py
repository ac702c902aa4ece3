"""Graphs as adjacency matrices, with the habits of lingam and causal-learn."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.errors import GraphError
from gaussnet.types import FloatArray

Orientation = Literal["parent-row", "child-row", "lingam", "causal-learn"]

_ENDS = {-1.0: "-", 1.0: ">", 2.0: "o"}


def parent_lists(
    matrix: ArrayLike, names: Sequence[object], orientation: Orientation
) -> list[list[int]]:
    """The positions of every node's parents; `names` are for messages.

    Examples
    --------
    >>> parent_lists([[0, 1], [0, 0]], "ab", "parent-row")
    [[], [0]]
    >>> parent_lists([[0, 1], [0, 0]], "ab", "lingam")
    [[1], []]
    >>> parent_lists([[0, -1], [1, 0]], "ab", "causal-learn")
    [[], [0]]
    """
    if orientation not in get_args(Orientation):
        raise GraphError(
            f"got orientation={orientation!r}, expected 'parent-row' (matrix[i, j] means i -> j), "
            "'child-row' or 'lingam' (j -> i), or 'causal-learn' (marks at both ends)"
        )
    weights = _square_matrix(matrix, allow_nan=orientation == "lingam")
    if len(names) != len(weights):
        raise GraphError(
            f"got {len(names)} names for {len(weights)} nodes: give one name for each row"
        )
    _refuse_unknown(weights, names)
    if orientation == "causal-learn":
        into = _arrows(weights, names)
    else:
        into = weights.T if orientation == "parent-row" else weights
    return [np.flatnonzero(row).tolist() for row in into]


def _square_matrix(matrix: ArrayLike, allow_nan: bool) -> FloatArray:
    """The matrix as floats, (nodes, nodes), all of them numbers unless NaN is allowed."""
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


def _arrows(marks: FloatArray, names: Sequence[object]) -> FloatArray:
    """Row j, column i is not 0 where the edge goes i -> j.

    causal-learn writes at ``[i, j]`` the mark at i of the edge between i and j: -1 a tail, 1 an
    arrowhead, 2 a circle.
    """
    arrows = (marks == 1.0) & (marks.T == -1.0)
    wrong = np.argwhere(((marks != 0.0) | (marks.T != 0.0)) & ~arrows & ~arrows.T)
    if len(wrong):
        i, j = wrong[0].tolist()
        near, far = (_ENDS.get(mark, "?") for mark in (marks[i, j], marks[j, i]))
        shown = f"{near.replace('>', '<')}-{far}"
        raise GraphError(
            f"the edge between {names[i]!r} and {names[j]!r} is {names[i]!r} {shown} {names[j]!r}, "
            "expected a direction: a DAG has neither undirected nor two-headed edges, so decide it "
            "(-1 at the parent's end, 1 at the child's)"
        )
    return np.asarray(arrows, dtype=np.float64)


def _refuse_unknown(weights: FloatArray, names: Sequence[object]) -> None:
    """Refuse NaN, which lingam writes for pairs with a common cause that was not observed."""
    unknown = np.argwhere(np.isnan(weights))
    if len(unknown):
        i, j = unknown[0].tolist()
        raise GraphError(
            f"lingam could not tell how {str(names[j])!r} and {str(names[i])!r} are related and "
            "wrote NaN, expected a number: decide it, with 0 for 'no edge'"
        )
