"""The kernels in NumPy: the definition of each, and what runs where no compiled twin was built.

A kernel takes arrays and gives arrays and trusts its caller. `x` and `page` are (rows, columns)
with any strides, float64 or float32; sums are float64. `families` come sorted by number of
parents, so that everything kept for the families of one size is a block of its own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.kernels.families import Families
from gaussnet.kernels.plain_lanes import SINGULAR, WINDOW_VALUES, solve_lanes, solve_windows
from gaussnet.kernels.plain_medians import (
    joined_medians,
    joined_spreads,
    quiet,
    row_medians,
    turned,
)
from gaussnet.kernels.plain_scratch import kept_scratch
from gaussnet.kernels.plain_triangles import lower_places

__all__ = [
    "SINGULAR",
    "WELL_CONDITIONED",
    "all_finite",
    "batch_range",
    "batch_solutions",
    "centred",
    "copy_finite",
    "family_moments",
    "joined_medians",
    "joined_spreads",
    "propagate",
    "residual_moments",
    "residuals",
    "row_medians",
    "solve_moments",
    "square_solutions",
    "turned",
    "window_range",
]

WELL_CONDITIONED = 1e-6
"""Smallest pivot of a unit-diagonal Gram matrix that still leaves ten digits to a solution."""

FULL_GRAM_COLUMNS = 250
"""Up to this many columns one Gram matrix of all is faster than one a family."""

SCRATCH_VALUES = 1 << 17
"""Float64 values that a kernel gathers at a time: they should stay in the cache."""


def all_finite(x: Rows) -> bool:
    """Whether no value is NaN or infinite."""
    return all(bool(np.isfinite(block).all()) for block in _blocks(x))


def copy_finite(values: NDArray[Any], out: FloatArray) -> bool:
    """Copy a column, (rows,) of any numbers to float64, and say whether no value is NaN or
    infinite."""
    out[:] = values
    return all_finite(out[None])


@quiet
def family_moments(x: Rows, families: Families, centre: bool) -> tuple[FloatArray, FloatArray]:
    """Means and cross-products of the columns of each family.

    Gives means (columns,) and the packed lower triangles of the cross-products (products,);
    with `centre` the products are about the means, without it about 0 and the means are 0.
    """
    data = np.ascontiguousarray(x, dtype=np.float64)
    means = np.zeros(x.shape[1])
    if centre:
        data, means = centred(data)
    if x.shape[1] <= FULL_GRAM_COLUMNS:
        gram = data.T @ data
        row, column = families.product_columns
        return means[families.columns], gram[families.columns[row], families.columns[column]]
    products = np.empty(families.product_offsets[-1])
    for size, chosen, columns in families.by_size:
        lower = lower_places(size + 1)
        start = families.product_offsets[chosen[0]]
        out = products[start : start + len(chosen) * len(lower[0])].reshape(len(chosen), -1)
        for part in _parts(len(chosen), (size + 1) * len(data)):
            own = data[:, columns[part].ravel()].T.reshape(*columns[part].shape, len(data))
            out[part] = (own @ own.transpose(0, 2, 1))[:, lower[0], lower[1]]
    return means[families.columns], products


@quiet
def solve_moments(
    families: Families, products: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares of each child on its parents from the packed cross-products.

    Gives coefficients (edges,), residual sums of squares (families,) and the smallest pivot
    of each family's matrix scaled to unit diagonal (families,), the child's own pivot
    included for a family with parents: below `WELL_CONDITIONED` digits were lost.
    """
    coefficients = np.empty(len(families.parents))
    squares = np.empty(len(families))
    pivots = np.empty(len(families))
    for size, chosen, _ in families.by_size:
        start = families.product_offsets[chosen[0]]
        packed = products[start : start + len(chosen) * (size + 1) * (size + 2) // 2]
        lower = np.zeros((size + 1, size + 1, len(chosen)))
        lower[lower_places(size + 1)] = packed.reshape(len(chosen), -1).T
        own, squares[chosen], ratios = solve_lanes(lower)
        pivots[chosen] = ratios.min(axis=0) if size else np.inf
        edge = families.offsets[chosen[0]]
        coefficients[edge : edge + own.size] = own.T.ravel()
    return coefficients, squares, pivots


@quiet
def batch_solutions(
    page: Rows, start: int, stop: int, families: Families, extra_rows: int, centre: bool
) -> list[FloatArray]:
    """Least squares of each child on its parents, batch by batch.

    A batch of a family with p parents is p + extra_rows successive rows of the page, one
    more with `centre`; those that begin in rows start..stop are solved. Gives for each size
    p >= 1, in order, an array (families of that size, p, batches). NaN marks a batch where
    the scaled Gram matrix of the parents has a pivot below `WELL_CONDITIONED`.
    """
    data = _columns(page, start, stop, families, extra_rows + centre)
    solutions = []
    for size, chosen, columns in families.by_size:
        if size == 0:
            continue
        height = size + extra_rows + centre
        first, last = batch_range(start, stop, len(page), height)
        rows = data[:, first * height - start : last * height - start]
        batches = rows.reshape(len(data), last - first, height)
        out = np.empty((len(chosen), size, last - first))
        for part in _parts(len(chosen), (size + 1) ** 2 * (last - first)):
            out[part] = _solve_batches(batches, columns[part], centre).transpose(1, 0, 2)
        solutions.append(out)
    return solutions


def _solve_batches(batches: FloatArray, columns: IntArray, centre: bool) -> FloatArray:
    """Solutions (p, families, batches) of some families of one size, NaN where ill-conditioned."""
    solved, _, ratios = solve_lanes(_batch_products(batches, columns, centre))
    sound = ratios[:-1].min(axis=0) >= WELL_CONDITIONED
    return np.where(sound, solved, np.nan)


def _batch_products(batches: FloatArray, columns: IntArray, centre: bool) -> FloatArray:
    """Lower triangles of the cross-products of some families of one size, batch by batch.

    Batches are (columns, batches, height), and products (p + 1, p + 1, families, batches).
    """
    families, side = columns.shape
    _, count, height = batches.shape
    products = np.zeros((side, side, families, count))
    for part in _parts(families, side * count * height):
        own = np.ascontiguousarray(batches[columns[part].T].transpose(0, 3, 1, 2))
        if centre:
            own -= own[:, :1].copy()
            own -= own.mean(axis=1, keepdims=True)
        for i in range(side):
            np.einsum("bfk,jbfk->jfk", own[i], own[: i + 1], out=products[i, : i + 1, part])
    return products


@quiet
def square_solutions(
    page: Rows, start: int, stop: int, families: Families, sliding: bool, centre: bool
) -> list[FloatArray]:
    """Solutions of the square systems of successive windows of rows.

    A window of a family with p parents is p successive rows of the page; with `centre` it is
    p + 1 rows, and the first is subtracted from the others. Windows follow each other
    without overlap, or start at every row with `sliding`; those that begin in rows
    start..stop are solved by elimination with partial pivoting. Gives for each size p >= 1,
    in order, an array (families of that size, p, windows). NaN marks a singular window.
    """
    data = _columns(page, start, stop, families, centre)
    solutions = []
    for size, chosen, columns in families.by_size:
        if size == 0:
            continue
        height = size + centre
        step = 1 if sliding else height
        first, last = window_range(start, stop, len(page), height, sliding)
        count = last - first
        own = data[:, first * step - start : (last - 1) * step + height - start]
        out = np.empty((len(chosen), size, count))
        values = (size + 1) * height * count
        for part in _parts(len(chosen) if count else 0, values, WINDOW_VALUES):
            solved = solve_windows(own[columns[part].T], height, step, centre)
            out[part] = solved.transpose(1, 0, 2)
        solutions.append(out)
    return solutions


@quiet
def residuals(x: Rows, families: Families, coefficients: FloatArray) -> FloatArray:
    """Child minus its parents' linear combination, for each family: (families, rows)."""
    out = np.empty((len(families), len(x)))
    for some, rest in _residual_parts(x, families, coefficients):
        out[some] = rest
    return out


@quiet
def residual_moments(
    x: Rows, families: Families, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean of each family's residuals and their squared deviations from it, (families,) each."""
    means, squares = np.zeros(len(families)), np.zeros(len(families))
    if len(x) == 0:
        return means, squares
    for some, rest in _residual_parts(x, families, coefficients):
        shifted = rest - rest[:, :1]  # the first goes first: a constant becomes exactly zero
        means[some] = shifted.mean(axis=1)
        shifted -= means[some, None]
        squares[some] = np.einsum("fr,fr->f", shifted, shifted)
        means[some] += rest[:, 0]
    return means, squares


def _residual_parts(
    x: Rows, families: Families, coefficients: FloatArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """A few families at a time, and their residuals (families, rows)."""
    data = np.ascontiguousarray(x.T, dtype=np.float64)
    for size, chosen, columns in families.by_size:
        own = coefficients[families.offsets[chosen][:, None] + np.arange(size)]
        for part in _parts(len(chosen), 8 * len(x)):
            rest = data[columns[part, size]]
            for slot in range(size):
                rest -= own[part, slot, None] * data[columns[part, slot]]
            yield chosen[part], rest


def propagate(
    rows: FloatArray, order: IntArray, families: Families, coefficients: FloatArray
) -> None:
    """Add to each column its parents' linear combination, in place, in topological order.

    Turns rows of intercept plus noise, (rows, columns), into rows of the network.
    """
    for node in order.tolist():
        start, stop = families.offsets[node : node + 2].tolist()
        for edge in range(start, stop):
            rows[:, node] += coefficients[edge] * rows[:, families.parents[edge]]


def centred(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows minus their mean, and the mean; the first row goes first, so that a constant
    column becomes exactly zero. No rows have the mean 0."""
    if len(rows) == 0:
        return rows, np.zeros(rows.shape[1])
    shifted = rows - rows[0]
    means = shifted.mean(axis=0)
    return shifted - means, rows[0] + means


def batch_range(start: int, stop: int, page_rows: int, height: int) -> tuple[int, int]:
    """First and last + 1 of the batches of `height` rows that begin in rows start..stop."""
    first = -(-start // height)
    return first, max(first, min(-(-stop // height), page_rows // height))


def window_range(
    start: int, stop: int, page_rows: int, height: int, sliding: bool
) -> tuple[int, int]:
    """First and last + 1 of the windows that begin in rows start..stop and fit the page."""
    if sliding:
        return start, max(start, min(stop, page_rows - height + 1))
    return batch_range(start, stop, page_rows, height)


def _columns(page: Rows, start: int, stop: int, families: Families, more_rows: int) -> FloatArray:
    """The columns of all windows that begin in rows start..stop, (columns, rows)."""
    tallest = int(families.sizes.max(initial=0)) + more_rows
    rows = page[start : stop + tallest].T
    if rows.flags.c_contiguous and rows.dtype == np.float64:
        return np.asarray(rows, dtype=np.float64)
    data = kept_scratch("columns", rows.shape)
    data[...] = rows
    return data


def _parts(count: int, values_each: int, scratch: int = SCRATCH_VALUES) -> Iterator[slice]:
    """Slices of `count` items of which each needs `values_each` values of scratch."""
    step = max(1, scratch // max(values_each, 1))
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


def _blocks(x: Rows) -> Iterator[Rows]:
    """Blocks of rows of at most `SCRATCH_VALUES` values."""
    return (x[part] for part in _parts(len(x), x.shape[1]))
