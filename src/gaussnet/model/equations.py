"""Linear equations over a graph: edges as families, noise carried along the arrows, in blocks."""

from collections.abc import Iterator

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.model.checks import check_overflow
from gaussnet.types import FloatArray, IntArray

BLOCK_VALUES = 1 << 21
"""Float64 values held at a time while many rows are worked through."""
CACHED_VALUES = 1 << 17
"""Those of a block that stays in the cache while it is worked through several times."""


def blocks(count: int, width: int, values: int = BLOCK_VALUES) -> Iterator[slice]:
    """Consecutive slices of `count` rows, each of about this many `values`.

    Examples
    --------
    >>> list(blocks(3, 10, values=20))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    height = max(1, values // max(width, 1))
    return (slice(start, min(start + height, count)) for start in range(0, count, height))


def propagate(
    rows: FloatArray, order: IntArray, families: Families, coefficients: FloatArray
) -> None:
    """Turn intercept plus noise (rows, nodes) into the values of the nodes, in place.

    Nodes follow from their parents in this order; values that overflow are refused.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        kernels.propagate(rows, order, families, coefficients)
    check_overflow(rows)


SOURCES_AT_A_TIME = 64
"""Nodes whose noise is followed through the network together: what it needs stays in the cache."""


def marginal_variances(
    order: IntArray, families: Families, coefficients: FloatArray, variances: FloatArray
) -> FloatArray:
    """The variance of each node, (nodes,), from the noise variances of all."""
    width, found = len(families), np.zeros(len(families))
    for first in range(0, width, SOURCES_AT_A_TIME):
        sources = order[first : first + SOURCES_AT_A_TIME]
        responses = np.zeros((len(sources), width))
        responses[np.arange(len(sources)), sources] = np.sqrt(variances[sources])
        kernels.propagate(responses, order[first:], families, coefficients)
        found += np.einsum("ij,ij->j", responses, responses)
    return found


def families_of_edges(
    count: int, children: IntArray, parents: IntArray, coefficients: FloatArray
) -> tuple[Families, FloatArray]:
    """Edges in any order as families of 0, ..., count - 1, and their coefficients."""
    order = np.argsort(children, kind="stable")
    sizes = np.bincount(children, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    families = Families(np.arange(count), offsets, np.ascontiguousarray(parents[order]))
    return families, np.ascontiguousarray(coefficients[order])


def reversed_edges(families: Families, coefficients: FloatArray) -> tuple[Families, FloatArray]:
    """The graph with every arrow reversed: each node with its children, and the coefficients."""
    return families_of_edges(len(families), families.parents, families.family_of_edge, coefficients)
