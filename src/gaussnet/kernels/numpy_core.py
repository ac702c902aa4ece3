"""The kernels in NumPy: the definition of each, and what runs where no compiled form was built.

A kernel takes arrays and gives arrays and trusts its caller. `x` and `page` are (rows, columns)
with any strides, float64 or float32; sums are float64. `families` come sorted by number of
parents, so that everything kept for the families of one size is a block of its own.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gaussnet.kernels.families import Families
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN and infinity in, NaN or infinity out: a kernel does not warn of them."""

WELL_CONDITIONED = 1e-6
"""Smallest pivot of a unit-diagonal Gram matrix that still leaves ten digits to a solution."""

SINGULAR = 1e-14
"""A pivot this small beside its column is rounding error: the square system is singular."""

ROW_KEY, COLUMN_KEY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
LANE_KEY = np.uint64(0x165667B19E3779F9)
"""Odd numbers without a pattern, for checksums."""

LARGEST_CHECKSUM = 2**63 - 1

SCRATCH_VALUES = 1 << 17
"""Float64 values that are gathered at a time if they should stay in the cache."""


def all_finite(x: Rows) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(np.isfinite(x).all())


def copy_finite(values: NDArray[Any], out: FloatArray) -> bool:
    """Copy a column, (rows,) of any numbers to float64, and say whether no value is NaN or
    infinite."""
    out[:] = values
    return all_finite(out)


def checksum(x: Rows, first_row: int, first_column: int) -> int:
    r"""A number that changes if the values do, or their order.

    Values that lie in memory in one piece are a run: the whole array, a column or a row. The 64-bit
    words :math:`b_{ik}` of a run, i = 0, 1, ... and k = 0..7, give

    .. math:: a_{ik} = a_0 + k\lambda + \sum_{j \le i} b_{jk}, \qquad
        s_k = \sum_i a_{ik} \oplus \lfloor a_{ik} / 2^{29} \rfloor

    and the checksum is a combination of the last :math:`a_{ik}`, the :math:`s_k` and the lengths of
    all runs, modulo 2^63. Parts of a table are told apart by their first row and column, which set
    :math:`a_0`; their checksums add up to that of the table in these parts. It guards against
    accidents, not against forgers: about one change in 2^63 goes unseen.
    """
    runs: NDArray[Any] = x.astype(x.dtype.newbyteorder("="), copy=False)
    if runs.size == 0:
        return 0
    if runs.flags.c_contiguous:
        runs = runs.reshape(1, -1)
    elif len(runs) > 1 and runs.strides[0] == runs.itemsize:
        runs = runs.T
    keys = (np.arange(len(runs), dtype=np.uint64) + np.uint64(first_column)) * COLUMN_KEY
    keys += np.array([first_row], dtype=np.uint64) * ROW_KEY
    width = -(-runs.shape[1] * runs.itemsize // 64) * 64 // runs.itemsize
    total = 0
    for key, run in zip(keys, runs, strict=True):
        values = np.zeros(width, dtype=runs.dtype)
        values[: len(run)] = run
        words = np.cumsum(values.view(np.uint64).reshape(-1, 8), axis=0, dtype=np.uint64)
        words += key + np.arange(8, dtype=np.uint64) * LANE_KEY
        sums = (words ^ (words >> np.uint64(29))).sum(axis=0, dtype=np.uint64)
        combined = 0
        for word, own in zip(words[-1].tolist(), sums.tolist(), strict=True):
            combined = combined * int(LANE_KEY) + word + own * int(ROW_KEY)
        total += combined + len(run) * int(COLUMN_KEY)
    return total & LARGEST_CHECKSUM


@quiet
def family_moments(x: Rows, families: Families, centre: bool) -> tuple[FloatArray, FloatArray]:
    """Means and cross-products of the columns of each family.

    Gives means (columns,) and the packed lower triangles of the cross-products (products,);
    with `centre` the products are about the means, without it about 0 and the means are 0.
    """
    data = np.ascontiguousarray(x, dtype=np.float64)  # the layout of x changes no bit
    means = np.zeros(x.shape[1])
    if centre:
        data, means = centred(data)
    products = [np.zeros(0)]
    for _, columns in _each_family(families):
        own = data[:, columns]
        products.append((own.T @ own)[np.tril_indices(len(columns))])
    return means[families.columns], np.concatenate(products)


def centred(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows minus their mean, and the mean; the first row goes first, so that a constant
    column becomes exactly zero. No rows have the mean 0."""
    if len(rows) == 0:
        return rows, np.zeros(rows.shape[1])
    shifted = rows - rows[0]
    means = shifted.mean(axis=0)
    first = rows[0] + means
    shifted -= means
    return shifted, first


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
        start, stop = families.product_offsets[[chosen[0], chosen[-1] + 1]].tolist()
        packed = products[start:stop].reshape(len(chosen), -1)
        grams = packed[:, packed_indices(size + 1)].reshape(-1, size + 1, size + 1)
        own, squares[chosen], ratios = solve_grams(grams)
        pivots[chosen] = ratios.min(axis=1) if size else np.inf
        edge = families.offsets[chosen[0]]
        coefficients[edge : edge + own.size] = own.ravel()
    return coefficients, squares, pivots


def solve_grams(grams: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares from Gram matrices (count, p + 1, p + 1) of the parents and the child.

    Scales to unit diagonal, factors as L D L' and solves; gives coefficients (count, p),
    residual sums of squares (count,) and the pivots, the child's last (count, p + 1).
    """
    size = grams.shape[1] - 1
    diagonals = np.diagonal(grams, axis1=1, axis2=2)
    scales = np.sqrt(diagonals)
    inverses = np.where(scales > 0.0, 1.0 / scales, 0.0)
    work = grams * inverses[:, :, None] * inverses[:, None, :]
    for j in range(size):
        below, pivots = work[:, j + 1 :, j].copy(), work[:, j, j]
        ratios = below / np.where(pivots > 0.0, pivots, 1.0)[:, None]
        work[:, j + 1 :, j + 1 :] -= ratios[:, :, None] * below[:, None, :]
        work[:, j + 1 :, j] = ratios
    solutions = work[:, size, :size].copy()
    for j in range(size - 1, 0, -1):
        solutions[:, :j] -= work[:, j, :j] * solutions[:, j, None]
    squares = np.maximum(work[:, size, size], 0.0) * diagonals[:, size]
    pivots = np.diagonal(work, axis1=1, axis2=2)
    return solutions * inverses[:, :size] * scales[:, size, None], squares, pivots


@cache
def packed_indices(size: int) -> IntArray:
    """Index of each entry of a symmetric matrix, row by row, in its packed lower triangle."""
    row, column = np.indices((size, size)).reshape(2, size * size)
    low, high = np.minimum(row, column), np.maximum(row, column)
    return np.asarray(high * (high + 1) // 2 + low)


def upper_triangles(families: Families, products: FloatArray, lost: BoolArray) -> FloatArray:
    """Triangles U with U'U the cross-products of the parents, one family after the other, flat.

    `products` are those of `family_moments`. Families that are `lost`, because these are nearly
    singular, get the identity.
    """
    found = [np.zeros(0)]
    for family, size in enumerate(families.sizes.tolist()):
        packed = products[families.product_offsets[family] :]
        own = np.eye(size) if lost[family] else packed[packed_indices(size)].reshape(size, size)
        found.append(np.linalg.cholesky(own).T.ravel().astype(np.float64, copy=False))
    return np.concatenate(found)


@quiet
def solve_triangles(uppers: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions x of U x = y, (count, p, p) and (count, p); NaN where a diagonal entry is 0."""
    regular = np.abs(np.diagonal(uppers, axis1=1, axis2=2)).min(axis=1, initial=np.inf) > 0.0
    out = np.full(right.shape, np.nan)
    out[regular] = np.linalg.solve(uppers[regular], right[regular][..., None])[..., 0]
    return out


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

    def solve(columns: IntArray) -> FloatArray:
        height = len(columns) - 1 + extra_rows + centre
        first, last = batch_range(start, stop, len(page), height)
        own = _rows(page, columns, first * height, last * height)
        rows = own.reshape(last - first, height, len(columns))
        if centre:
            rows = rows - rows[:, :1]  # the first goes first: a constant becomes exactly zero
            rows = rows - rows.mean(axis=1, keepdims=True)
        found, _, pivots = solve_grams(rows.transpose(0, 2, 1) @ rows)
        found[~(pivots[:, :-1] >= WELL_CONDITIONED).all(axis=1)] = np.nan
        return found

    return _by_size(families, solve)


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

    def solve(columns: IntArray) -> FloatArray:
        height = len(columns) - 1 + centre
        step = 1 if sliding else height
        first, last = window_range(start, stop, len(page), height, sliding)
        if first == last:
            return np.empty((0, len(columns) - 1))
        own = _rows(page, columns, first * step, (last - 1) * step + height)
        windows = sliding_window_view(own, height, axis=0)[::step].transpose(0, 2, 1)
        largest = np.abs(windows[:, :, :-1]).max(axis=1)
        return eliminate(windows[:, 1:] - windows[:, :1] if centre else windows.copy(), largest)

    return _by_size(families, solve)


def eliminate(systems: FloatArray, largest: FloatArray) -> FloatArray:
    """Solve systems (count, p, p + 1), the right side last, by elimination; overwrites them.

    `largest` are the largest values of the columns, (count, p), before anything was
    subtracted: rounding error is of their size. Gives (count, p), NaN where a pivot is no more
    than the rounding error of the column that has most of it, or cannot be divided by.
    """
    size, every = systems.shape[1], np.arange(len(systems))
    limits = _pivot_limits(np.abs(systems[:, :, :size]).max(axis=1), largest)
    regular = np.ones(len(systems), dtype=bool)
    for j in range(size):
        chosen = j + np.abs(systems[:, j:, j]).argmax(axis=1)
        top = systems[every, chosen]
        systems[every, chosen] = systems[:, j]
        systems[:, j] = top
        regular &= np.abs(top[:, j]) > limits[:, j]
        ratios = systems[:, j + 1 :, j] * (1.0 / top[:, j])[:, None]
        systems[:, j + 1 :] -= ratios[:, :, None] * top[:, None]
    solutions = systems[:, :, size]
    for j in range(size - 1, -1, -1):
        solutions[:, j] *= 1.0 / systems[:, j, j]
        solutions[:, :j] -= systems[:, :j, j] * solutions[:, j, None]
    return np.where(regular[:, None], solutions, np.nan)


def _pivot_limits(spreads: FloatArray, largest: FloatArray) -> FloatArray:
    """What each pivot must exceed, (count, p), from the largest values of the columns now and
    before anything was subtracted."""
    tiny = np.finfo(np.float64).tiny
    worst = (largest / np.maximum(spreads, tiny)).max(axis=1, keepdims=True)
    return np.asarray(np.maximum(SINGULAR * spreads * np.maximum(worst, 1.0), tiny))


@quiet
def residuals(x: Rows, families: Families, coefficients: FloatArray) -> FloatArray:
    """Child minus its parents' linear combination, for each family: (families, rows)."""
    data = np.asarray(x, dtype=np.float64)
    out = np.empty((len(families), len(x)))
    for family, columns in _each_family(families):
        rest = data[:, columns[-1]].copy()
        first = families.offsets[family]
        for slot, parent in enumerate(columns[:-1].tolist()):
            rest -= coefficients[first + slot] * data[:, parent]
        out[family] = rest
    return out


@quiet
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


def _each_family(families: Families) -> Iterator[tuple[int, IntArray]]:
    """Every family and its columns, the child last."""
    return enumerate(np.split(families.columns, families.column_offsets[1:-1])[: len(families)])


def _rows(page: Rows, columns: IntArray, first: int, last: int) -> FloatArray:
    """Some columns of rows first..last."""
    return np.asarray(page[first:last][:, columns], dtype=np.float64)


def _by_size(families: Families, solve: Callable[[IntArray], FloatArray]) -> list[FloatArray]:
    """For each size p >= 1 what is solved for its families, (families, p, count)."""
    return [
        np.stack([solve(own).T for own in columns]) for size, _, columns in families.by_size if size
    ]
