"""Medians in NumPy: the definition of the compiled kernels."""

import numpy as np

from gaussnet._types import FloatArray, IntArray

quiet = np.errstate(over="ignore", divide="ignore", invalid="ignore")
"""NaN and infinity in, NaN or infinity out: a kernel does not warn of them."""


@quiet
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


@quiet
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


@quiet
def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts (rows, count), and the median distance
    of the values from it."""
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    medians, _ = row_medians(values)
    distances = values - medians[:, None]
    return medians, row_medians(np.abs(distances, out=distances))[0]
