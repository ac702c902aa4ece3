r"""Pairs of columns in NumPy: which may be correlated given the parents of one, and how much.

Columns have length 1. With L the Cholesky factor of the products of a family's parents, the *loads*
of a column x on the parents P are :math:`L^{-1} P' x`; `inverses` holds :math:`L^{-1}` of each
family, flat, and `loads` those of its child, (edges,). The residuals of child y and column x have
the product :math:`y' x - l_y' l_x`, and x keeps the share :math:`1 - |l_x|^2` of its square.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray


def candidate_pairs(
    products: NDArray[np.float32],
    families: Families,
    inverses: FloatArray,
    loads: FloatArray,
    bounds: FloatArray,
    least: float,
) -> tuple[IntArray, IntArray]:
    """The families and earlier columns of which a residual product may be large, (pairs,) each.

    `products` of all columns, (columns, columns), are in single precision, and so is what is done
    with them. A child is paired with the columns before it that are no parents, if the square of
    the product plus a margin is at least a limit times the share that is left less a margin, or if
    this is below `least`. `bounds` are the limits and both margins, (3, families); a family whose
    limit is NaN is left out. Pairs come family by family, columns rising.
    """
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    limits, margins, left_margins = bounds.astype(np.float32)
    for family, inverse, parents, own in _each_family(families, inverses, loads):
        if np.isnan(limits[family]):
            continue
        child = families.children[family]
        part = inverse.astype(np.float32) @ products[parents, :child]
        size = np.abs(products[child, :child] - own.astype(np.float32) @ part) + margins[family]
        left = np.float32(1.0) - np.einsum("ij,ij->j", part, part) - left_margins[family]
        passes = (size * size >= left * limits[family]) | (left < np.float32(least))
        passes[parents[parents < child]] = False
        others = np.flatnonzero(passes)
        found.append((np.full(len(others), family), others))
    chosen, others = map(np.concatenate, zip(*found, strict=True))
    return chosen, others


def pair_residuals(
    columns: FloatArray,
    families: Families,
    inverses: FloatArray,
    loads: FloatArray,
    chosen: IntArray,
    others: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Residual products of children and other columns, and the shares left of these, (pairs,).

    `columns` are (rows, columns); pair k has the child of family ``chosen[k]`` and the column
    ``others[k]``.
    """
    found, left = np.empty((2, len(chosen)))
    for family, inverse, parents, own in _each_family(families, inverses, loads):
        places = np.flatnonzero(chosen == family)
        if len(places):
            members = columns[:, np.append(parents, families.children[family])]
            products = members.T @ columns[:, others[places]]
            part = inverse @ products[:-1]
            found[places] = products[-1] - own @ part
            left[places] = 1.0 - np.einsum("ij,ij->j", part, part)
    return found, left


def _each_family(
    families: Families, inverses: FloatArray, loads: FloatArray
) -> Iterator[tuple[int, FloatArray, IntArray, FloatArray]]:
    """Each family, its inverse factor, its parents and the loads of its child."""
    start = 0
    for family, size in enumerate(families.sizes.tolist()):
        edges = slice(families.offsets[family], families.offsets[family + 1])
        inverse = inverses[start : start + size * size].reshape(size, size)
        yield family, inverse, families.parents[edges], loads[edges]
        start += size * size
