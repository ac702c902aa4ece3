"""The compiled kernels for triangles, with the names and signatures of `plain_triangles`."""

import numpy as np

from gaussnet._types import BoolArray, FloatArray
from gaussnet.kernels import _native
from gaussnet.kernels.families import Families
from gaussnet.kernels.native_arguments import flat_families


def upper_triangles(families: Families, products: FloatArray, lost: BoolArray) -> FloatArray:
    """Triangles U with U'U the cross-products of the parents, one family after the other, flat."""
    sizes = families.sizes
    uppers = np.empty(int(sizes @ sizes))
    _native.upper_triangles(flat_families(families), products, lost, uppers)
    return uppers


def solve_triangles(uppers: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions x of U x = y, (count, p, p) and (count, p); NaN where a diagonal entry is 0."""
    out = np.empty(right.shape)
    flat = np.ascontiguousarray(uppers).reshape(-1)
    given = np.ascontiguousarray(right).reshape(-1)
    _native.solve_triangles(right.shape[1], flat, given, out.reshape(-1))
    return out
