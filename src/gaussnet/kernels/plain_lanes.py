"""Small systems in NumPy, one a lane: arrays (..., lanes) that go through the same steps."""

import numpy as np

from gaussnet._types import FloatArray

SINGULAR = 1e-14
"""A pivot this small beside its column is rounding error: the square system is singular."""

FEW_LANES = 1 << 10
"""Below so many systems it is calls that take time, not arithmetic."""


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


def eliminate_lanes(system: FloatArray, largest: FloatArray | None = None) -> FloatArray:
    """Solve the systems (p, p + 1, ...lanes) whose last column is the right side, in place.

    `largest` are the largest values of the columns, (p, ...lanes), before anything was
    subtracted, if something was: rounding error is of their size. Gives (p, ...lanes), NaN
    where a pivot is no more than the rounding error of the column that has most of it, or
    cannot be divided by.
    """
    size = len(system)
    limit = _pivot_limits(np.abs(system[:, :size]).max(axis=0), largest)
    singular = np.zeros(system.shape[2:], dtype=bool)
    inverse = np.empty_like(limit)
    for j in range(size):
        _bring_up(system[j:, j:])
        pivot = system[j, j]
        singular |= ~(np.abs(pivot) > limit[j])
        np.divide(1.0, np.where(singular, 1.0, pivot), out=inverse[j])
        ratios = system[j + 1 :, j] * inverse[j]
        system[j + 1 :, j + 1 :] -= ratios[:, None] * system[j, j + 1 :]
    solution = system[:, size]
    for j in range(size - 1, -1, -1):
        for i in range(j + 1, size):
            solution[j] -= system[j, i] * solution[i]
        solution[j] *= inverse[j]
    return np.where(singular, np.nan, solution)


def _pivot_limits(spread: FloatArray, largest: FloatArray | None) -> FloatArray:
    """What each pivot must exceed, (p, ...lanes), from the largest values of the columns now
    and before anything was subtracted."""
    tiny = np.finfo(np.float64).tiny
    limit = SINGULAR * spread
    if largest is not None:
        limit *= (largest / np.maximum(spread, tiny)).max(axis=0)
    return np.maximum(limit, tiny, out=limit)


def _bring_up(rows: FloatArray) -> None:
    """Trade the first of the rows (r, columns, ...lanes) for that with the largest first entry,
    lane by lane; the bits that differ are exchanged, which is fastest."""
    sizes = np.abs(rows[:, 0])
    largest = sizes.max(axis=0)
    done = sizes[0] == largest
    top, *others = rows.view(np.int64)
    difference = np.empty_like(top)
    for row, size in zip(others, sizes[1:], strict=True):
        chosen = (size == largest) > done
        done |= chosen
        np.bitwise_xor(row, top, out=difference)
        difference &= -chosen.astype(np.int64)
        np.bitwise_xor(row, difference, out=row)
        np.bitwise_xor(top, difference, out=top)
