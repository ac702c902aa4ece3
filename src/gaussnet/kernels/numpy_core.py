"""The kernels in NumPy: the definition of each, and what runs where no compiled twin was built.

A kernel takes arrays and gives arrays and trusts its caller. `x` and `page` are (rows, columns)
with any strides, float64 or float32; sums are float64. `families` come sorted by number of
parents, so that everything kept for the families of one size is a block of its own.
"""

import math
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels.families import Families
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN and infinity in, NaN or infinity out: a kernel does not warn of them."""

MOST_KEPT = 1 << 20
"""Values of a piece of scratch that are kept from call to call: 8 MiB."""

_kept = threading.local()


def kept_scratch(name: str, shape: tuple[int, ...]) -> FloatArray:
    """Memory for values that are done with before this thread asks for this name again.

    It is kept unless it is large: memory new to the process costs a page fault every 4 KiB.

    >>> kept_scratch("example", (2, 3)).shape
    (2, 3)
    """
    count = math.prod(shape)
    if count > MOST_KEPT:
        return np.empty(shape)
    memory: FloatArray = getattr(_kept, name, np.empty(0))
    if len(memory) < count:
        memory = np.empty(count)
        setattr(_kept, name, memory)
    return memory[:count].reshape(shape)


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


SINGULAR = 1e-14
"""A pivot this small beside its column is rounding error: the square system is singular."""

FEW_LANES = 1 << 10
"""Below so many systems it is calls that take time, not arithmetic."""

WINDOW_VALUES = 1 << 18
"""Values of square systems that are solved at a time: many, because it takes many calls."""

FEW_ROWS = 3
"""Up to so many rows it is faster to trade two of them by sweeping over all."""


def solve_lanes(lower: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares from Gram matrices (p + 1, p + 1, ...lanes), lower triangle, child last.

    Scales to unit diagonal, factors as L D L' and solves; gives coefficients (p, ...lanes),
    residual sums of squares (...lanes) and the pivots, the child's last (p + 1, ...lanes).
    """
    size = len(lower) - 1
    diagonal = lower[np.arange(size + 1), np.arange(size + 1)]
    scale = np.sqrt(diagonal)
    inverse = np.where(scale > 0.0, 1.0 / scale, 0.0)
    work = lower * inverse
    work *= inverse[:, None]
    few = work[0, 0].size < FEW_LANES
    for j in range(size):
        ratio = work[j + 1 :, j] / np.where(work[j, j] > 0.0, work[j, j], 1.0)
        if few:  # one call for both triangles takes less time than several for the lower
            work[j + 1 :, j + 1 :] -= ratio[:, None] * work[j + 1 :, j]
        else:
            for i in range(j + 1, size + 1):
                work[i, j + 1 : i + 1] -= ratio[i - j - 1] * work[j + 1 : i + 1, j]
        work[j + 1 :, j] = ratio
    solution = work[size, :size].copy()
    for j in range(size - 1, 0, -1):
        solution[:j] -= work[j, :j] * solution[j]
    squares = np.maximum(work[size, size], 0.0) * diagonal[size]
    pivots = work[np.arange(size + 1), np.arange(size + 1)]
    return solution * inverse[:size] * scale[size], squares, pivots


def solve_windows(own: FloatArray, height: int, step: int, centre: bool) -> FloatArray:
    """Solutions of the windows of `height` rows that begin at every `step` rows.

    `own` are the columns of some families, (p + 1, families, rows), and the solutions are
    (p, families, windows). With `centre` the first row of a window goes off the others.
    """
    width, families, rows = own.shape
    system = kept_scratch("windows", (width, height, families, (rows - height) // step + 1))
    for row in range(height):
        system[:, row] = own[:, :, row : rows - height + row + 1 : step]
    system = system.reshape(width, height, -1)
    largest = None
    if centre:
        largest = np.abs(system[:-1]).max(axis=1)
        system = system[:, 1:] - system[:, :1]
    return eliminate_lanes(system, largest).reshape(width - 1, families, -1)


def eliminate_lanes(system: FloatArray, largest: FloatArray | None = None) -> FloatArray:
    """Solve systems (p + 1, p, lanes), column after column, the right side last, in place.

    The answer lies where the right side was, and the memory must be contiguous.
    `largest` are the largest values of the columns, (p, lanes), before anything was
    subtracted, if something was: rounding error is of their size. Gives (p, lanes), NaN
    where a pivot is no more than the rounding error of the column that has most of it, or
    cannot be divided by.
    """
    size = system.shape[1]
    sizes = np.abs(system[:size], out=kept_scratch("products", (size, size, system.shape[2])))
    limit = _pivot_limits(sizes.max(axis=1), largest)
    inverse = np.empty_like(limit)
    for j in range(size):
        _bring_up(system, j)
        np.divide(1.0, system[j, j], out=inverse[j])
        ratios = system[j, j + 1 :] * inverse[j]
        rest = system[j + 1 :, j + 1 :]
        rest -= np.multiply(
            ratios, system[j + 1 :, j, None], out=kept_scratch("products", rest.shape)
        )
    solution = system[size]
    for j in range(size - 1, -1, -1):
        solution[j] *= inverse[j]
        solution[:j] -= system[j, :j] * solution[j]
    pivots = system[np.arange(size), np.arange(size)]
    singular = ~(np.abs(pivots, out=pivots) > limit).all(axis=0)
    if singular.any():
        solution[:, singular] = np.nan
    return solution


def _pivot_limits(spread: FloatArray, largest: FloatArray | None) -> FloatArray:
    """What each pivot must exceed, (p, ...lanes), from the largest values of the columns now
    and before anything was subtracted."""
    tiny = np.finfo(np.float64).tiny
    limit = SINGULAR * spread
    if largest is not None:
        limit *= (largest / np.maximum(spread, tiny)).max(axis=0)
    return np.maximum(limit, tiny, out=limit)


def _bring_up(system: FloatArray, j: int) -> None:
    """Trade row j of the systems (p + 1, p, lanes), lane by lane, for the first of the rows
    from j on that has the largest entry in column j."""
    rows = system.shape[1] - j
    if rows == 1:
        return
    chosen = _first_largest(np.abs(system[j, j:]))
    if rows <= FEW_ROWS:
        _trade_bits(system[j:, j:], chosen)
    else:
        _trade_entries(system, j, chosen)


def _first_largest(sizes: FloatArray) -> NDArray[np.int16]:
    """Which of the rows (r, lanes) is the first that has the largest value of its lane."""
    after = np.arange(len(sizes) - 1, -1, -1, dtype=np.int16)
    largest = sizes == sizes.max(axis=0)
    first: NDArray[np.int16] = after[0] - (largest * after[:, None]).max(axis=0)
    return first


def _trade_bits(system: FloatArray, chosen: NDArray[np.int16]) -> None:
    """Trade the first row of (columns, r, lanes) for the chosen one by the bits that differ:
    four sweeps over every row."""
    bits = system.view(np.int64)
    top = bits[:, 0]
    for i in range(1, bits.shape[1]):
        difference = bits[:, i] ^ top
        difference &= np.negative(chosen == i, dtype=np.int64)
        bits[:, i] ^= difference
        top ^= difference


def _trade_entries(system: FloatArray, j: int, chosen: NDArray[np.int16]) -> None:
    """Trade row j of (columns, rows, lanes) for the row `chosen` places below it, entry by
    entry: slower for a row, but once for all rows."""
    columns, rows, lanes = system.shape
    first_column = (chosen + np.intp(j)) * lanes + np.arange(lanes)
    place = first_column + rows * lanes * np.arange(j, columns)[:, None]
    entries = system.reshape(-1)
    brought = entries.take(place, mode="clip")
    entries[place] = system[j:, j]
    system[j:, j] = brought


# The kernels in NumPy: the definition of each, and what runs where no compiled twin was built.
#
# A kernel takes arrays and gives arrays and trusts its caller. `x` and `page` are (rows, columns)
# with any strides, float64 or float32; sums are float64. `families` come sorted by number of
# parents, so that everything kept for the families of one size is a block of its own.

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
