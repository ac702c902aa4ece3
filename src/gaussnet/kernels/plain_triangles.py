"""Upper triangles of the parents of families, in NumPy."""

from functools import cache

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain_medians import quiet


def upper_triangles(families: Families, products: FloatArray, lost: BoolArray) -> FloatArray:
    """Triangles U with U'U the cross-products of the parents, one family after the other, flat.

    `products` are those of `family_moments`. Families that are `lost`, because these are nearly
    singular, get the identity. Families are sorted by size.
    """
    found = [np.zeros(0)]
    for size, chosen, _ in families.by_size:
        start, stop = families.product_offsets[[chosen[0], chosen[-1] + 1]].tolist()
        packed = products[start:stop].reshape(len(chosen), -1)[:, places_in_triangle(size)]
        matrices = packed.reshape(len(chosen), size, size)
        matrices[lost[chosen]] = np.eye(size)
        lower: FloatArray = np.linalg.cholesky(matrices).astype(np.float64)
        found.append(lower.transpose(0, 2, 1).ravel())
    return np.concatenate(found)


@quiet
def solve_triangles(uppers: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions x of U x = y, (count, p, p) and (count, p); NaN where a diagonal entry is 0."""
    regular = np.abs(np.diagonal(uppers, axis1=1, axis2=2)).min(axis=1, initial=np.inf) > 0.0
    out = np.full(right.shape, np.nan)
    out[regular] = np.linalg.solve(uppers[regular], right[regular][..., None])[..., 0]
    return out


@cache
def places_in_triangle(size: int) -> IntArray:
    """Where each entry of a symmetric matrix, row by row, stands in its packed lower triangle."""
    row, column = np.indices((size, size)).reshape(2, size * size)
    low, high = np.minimum(row, column), np.maximum(row, column)
    return np.asarray(high * (high + 1) // 2 + low)


@cache
def lower_places(size: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the entries of a lower triangle, row by row."""
    return np.tril_indices(size)
