"""Small systems in NumPy, one a lane: arrays (..., lanes) that go through the same steps."""

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray
from gaussnet.kernels.plain_scratch import kept_scratch

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
