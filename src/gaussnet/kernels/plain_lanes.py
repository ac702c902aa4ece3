"""Small systems in NumPy, one a lane: arrays (..., lanes) that go through the same steps."""

import numpy as np

from gaussnet._types import BoolArray, FloatArray

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
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    work = lower * inverse * inverse[:, None]
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


def eliminate_lanes(system: FloatArray, largest: FloatArray) -> FloatArray:
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
            _trade(system[i, j:], system[j, j:], larger)
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


def _trade(left: FloatArray, right: FloatArray, where: BoolArray) -> None:
    """Swap the values of two arrays (..., lanes) where asked; bit by bit is fastest."""
    bits, other = left.view(np.int64), right.view(np.int64)
    difference = bits ^ other
    difference &= -where.astype(np.int64)
    bits ^= difference
    other ^= difference
