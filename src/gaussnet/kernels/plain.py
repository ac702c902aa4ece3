"""The kernels in NumPy: the definition of each, and what runs where no compiled twin was built.

A kernel takes arrays and gives arrays and trusts its caller. `x` and `page` are (rows, columns)
with any strides, float64 or float32; sums are float64. `families` come sorted by number of
parents, so that everything kept for the families of one size is a block of its own.
"""

from collections.abc import Iterator

import numpy as np

from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.kernels.families import Families

WELL_CONDITIONED = 1e-6
"""Smallest pivot of a unit-diagonal Gram matrix that still leaves ten digits to a solution."""

SINGULAR = 1e-14
"""A pivot this small beside its column is rounding error: the square system is singular."""

FULL_GRAM_COLUMNS = 250
"""Up to this many columns one Gram matrix of all is faster than one a family."""

SCRATCH_VALUES = 1 << 17
"""Float64 values that a kernel gathers at a time: they should stay in the cache."""

_quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN and infinity in, NaN or infinity out: a kernel does not warn of them."""


def all_finite(x: Rows) -> bool:
    """Whether no value is NaN or infinite."""
    return all(bool(np.isfinite(block).all()) for block in _blocks(x))


@_quiet
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
        lower = np.tril_indices(size + 1)
        start = families.product_offsets[chosen[0]]
        out = products[start : start + len(chosen) * len(lower[0])].reshape(len(chosen), -1)
        for part in _parts(len(chosen), (size + 1) * len(data)):
            own = data[:, columns[part].ravel()].T.reshape(*columns[part].shape, len(data))
            out[part] = (own @ own.transpose(0, 2, 1))[:, lower[0], lower[1]]
    return means[families.columns], products


@_quiet
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
        lower[np.tril_indices(size + 1)] = packed.reshape(len(chosen), -1).T
        own, squares[chosen], ratios = _solve_lanes(lower)
        pivots[chosen] = ratios.min(axis=0) if size else np.inf
        edge = families.offsets[chosen[0]]
        coefficients[edge : edge + own.size] = own.T.ravel()
    return coefficients, squares, pivots


@_quiet
def batch_solutions(
    page: Rows, start: int, stop: int, families: Families, extra_rows: int, centre: bool
) -> list[FloatArray]:
    """Least squares of each child on its parents, batch by batch.

    A batch of a family with p parents is p + extra_rows successive rows of the page, one
    more with `centre`; those that begin in rows start..stop are solved. Gives for each size
    p >= 1, in order, an array (families of that size, p, batches). NaN marks a batch where
    the scaled Gram matrix of the parents has a pivot below `WELL_CONDITIONED`.
    """
    solutions = []
    for size, chosen, columns in families.by_size:
        if size == 0:
            continue
        height = size + extra_rows + centre
        first, last = batch_range(start, stop, len(page), height)
        rows = page[first * height : last * height]
        out = np.empty((len(chosen), size, last - first))
        for part in _parts(len(chosen), (size + 1) * len(rows)):
            own = rows[:, columns[part].ravel()].astype(np.float64, copy=False)
            own = own.reshape(last - first, height, part.stop - part.start, size + 1)
            own = np.ascontiguousarray(own.transpose(3, 1, 2, 0))
            if centre:
                own -= own[:, :1].copy()
                own -= own.mean(axis=1, keepdims=True)
            lower = np.zeros((size + 1, size + 1, *own.shape[2:]))
            for i in range(size + 1):
                for j in range(i + 1):
                    lower[i, j] = np.einsum("bfk,bfk->fk", own[i], own[j])
            solved, _, ratios = _solve_lanes(lower)
            sound = ratios[:size].min(axis=0) >= WELL_CONDITIONED
            out[part] = np.where(sound, solved, np.nan).transpose(1, 0, 2)
        solutions.append(out)
    return solutions


@_quiet
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
    solutions = []
    for size, chosen, columns in families.by_size:
        if size == 0:
            continue
        height = size + centre
        step = 1 if sliding else height
        first, last = window_range(start, stop, len(page), height, sliding)
        count = last - first
        rows = page[first * step : (last - 1) * step + height]
        out = np.empty((len(chosen), size, count))
        for part in _parts(len(chosen) if count else 0, (size + 1) * height * count):
            own = rows[:, columns[part].ravel()].astype(np.float64, copy=False)
            own = own.T.reshape(*columns[part].shape, len(rows)).transpose(1, 0, 2)
            system = np.empty((height, size + 1, own.shape[1], count))
            for row in range(height):
                system[row] = own[:, :, row : row + (count - 1) * step + 1 : step]
            largest = np.abs(system[:, :size]).max(axis=0)
            if centre:
                system = system[1:] - system[0]
            out[part] = _eliminate_lanes(system, largest).transpose(1, 0, 2)
        solutions.append(out)
    return solutions


@_quiet
def row_medians(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Median of each row of (rows, count) without its NaN, and how many values it is of.

    An even number of values gives the mean of the middle two, none gives NaN. May reorder
    `values` within its rows.
    """
    used = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    medians = np.full(len(values), np.nan)
    for count in np.unique(used[used > 0]).tolist():
        chosen = used == count
        middle = count // 2
        # np.partition puts NaN last, and is fastest when asked for a single position.
        sorted_part = np.partition(values[chosen], middle, axis=1)
        upper = sorted_part[:, middle]
        if count % 2 == 0:
            upper = 0.5 * sorted_part[:, :middle].max(axis=1) + 0.5 * upper
        medians[chosen] = upper + 0.0  # -0.0 becomes 0.0: no order of equal zeros can show
    return medians, used


@_quiet
def joined_medians(
    parts: list[FloatArray], turns: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    """Coordinate-wise medians of solutions that come in parts (families, p, count).

    With `turns`, upper triangles (families, p, p), the medians are of the solutions multiplied
    by them. Gives medians (families, p) and how many values those of a family are of.
    """
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
    values = values if turns is None else turned(turns, values)
    families, size, count = values.shape
    medians, used = row_medians(values.reshape(families * size, count))
    return medians.reshape(families, size), used[::size]


def turned(upper: FloatArray, solutions: FloatArray) -> FloatArray:
    """``upper @ solutions`` for each family, (families, p, p) and (families, p, count).

    Term by term, so that a value's bits do not depend on how many stand beside it.
    """
    out = upper[:, :, :1] * solutions[:, :1]
    for place in range(1, upper.shape[1]):
        rows = slice(0, place + 1)
        out[:, rows] += upper[:, rows, place, None] * solutions[:, None, place]
    return out


@_quiet
def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts (rows, count), and the median distance
    of the values from it."""
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    medians, _ = row_medians(values)
    distances = values - medians[:, None]
    return medians, row_medians(np.abs(distances, out=distances))[0]


@_quiet
def residuals(x: Rows, families: Families, coefficients: FloatArray) -> FloatArray:
    """Child minus its parents' linear combination, for each family: (families, rows)."""
    out = np.empty((len(families), len(x)))
    for size, chosen, columns in families.by_size:
        own = coefficients[families.offsets[chosen][:, None] + np.arange(size)]
        rest = x[:, columns[:, size]].T.astype(np.float64)
        for slot in range(size):
            rest -= own[:, slot, None] * x[:, columns[:, slot]].T
        out[chosen] = rest
    return out


@_quiet
def residual_moments(
    x: Rows, families: Families, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean of each family's residuals and their squared deviations from it, (families,) each."""
    rest, means = centred(residuals(x, families, coefficients).T)
    return means, np.einsum("rf,rf->f", rest, rest)


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


def _solve_lanes(lower: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares from Gram matrices (p + 1, p + 1, ...lanes), lower triangle, child last.

    Scales to unit diagonal, factors as L D L' and solves; gives coefficients (p, ...lanes),
    residual sums of squares (...lanes) and the pivots, the child's last (p + 1, ...lanes).
    """
    size = len(lower) - 1
    diagonal = lower[np.arange(size + 1), np.arange(size + 1)]
    scale = np.sqrt(diagonal)
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    work = lower * inverse * inverse[:, None]
    for j in range(size):
        ratio = work[j + 1 :, j] / np.where(work[j, j] > 0.0, work[j, j], 1.0)
        for i in range(j + 1, size + 1):
            work[i, j + 1 : i + 1] -= ratio[i - j - 1] * work[j + 1 : i + 1, j]
        work[j + 1 :, j] = ratio
    solution = work[size, :size].copy()
    for j in range(size - 1, -1, -1):
        for i in range(j + 1, size):
            solution[j] -= work[i, j] * solution[i]
    squares = np.maximum(work[size, size], 0.0) * diagonal[size]
    pivots = work[np.arange(size + 1), np.arange(size + 1)]
    return solution * inverse[:size] * scale[size], squares, pivots


def _eliminate_lanes(system: FloatArray, largest: FloatArray) -> FloatArray:
    """Solve the systems (p, p + 1, ...lanes) whose last column is the right side, in place.

    `largest` are the largest values of the columns, (p, ...lanes), before anything was
    subtracted: rounding error is of their size. Gives (p, ...lanes), NaN where a pivot is no
    more than the rounding error of the column that has most of it, or cannot be divided by.
    """
    size = len(system)
    tiny = np.finfo(np.float64).tiny
    spread = np.abs(system[:, :size]).max(axis=0)
    worst = (largest / np.maximum(spread, tiny)).max(axis=0)
    limit = np.maximum(SINGULAR * spread * worst, tiny)
    singular = np.zeros(system.shape[2:], dtype=bool)
    for j in range(size):
        for i in range(j + 1, size):
            larger = np.abs(system[i, j]) > np.abs(system[j, j])
            upper = np.where(larger, system[i, j:], system[j, j:])
            system[i, j:] = np.where(larger, system[j, j:], system[i, j:])
            system[j, j:] = upper
        pivot = system[j, j]
        singular |= ~(np.abs(pivot) > limit[j])
        safe = np.where(singular, 1.0, pivot)
        for i in range(j + 1, size):
            ratio = system[i, j] / safe
            system[i, j + 1 :] -= ratio * system[j, j + 1 :]
        system[j, j] = safe
    solution = system[:, size]
    for j in range(size - 1, -1, -1):
        for i in range(j + 1, size):
            solution[j] -= system[j, i] * solution[i]
        solution[j] /= system[j, j]
    return np.where(singular, np.nan, solution)


def _parts(count: int, values_each: int) -> Iterator[slice]:
    """Slices of `count` items of which each needs `values_each` values of scratch."""
    step = max(1, SCRATCH_VALUES // max(values_each, 1))
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


def _blocks(x: Rows) -> Iterator[Rows]:
    """Blocks of rows of at most `SCRATCH_VALUES` values."""
    return (x[part] for part in _parts(len(x), x.shape[1]))
