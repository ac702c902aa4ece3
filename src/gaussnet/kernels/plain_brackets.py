"""Splitting rows of values at a bracket, in NumPy: the definition of the compiled kernel."""

import numpy as np

from gaussnet._types import FloatArray, IntArray


def split_rows(
    values: FloatArray, starts: IntArray, lows: FloatArray, highs: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Count where the values of each row lie, and keep those strictly inside its bracket.

    Row r is ``values[starts[r]:starts[r + 1]]`` and its bracket goes from lows[r] to highs[r].
    Gives counts (rows, 4) of the values below, at the low end, at the high end and above; the
    largest value below, -inf if there is none, (rows,); the kept values, row after row, in
    order; and where each row of these starts, (rows + 1,). If both ends are one value, those
    equal to it count as at the low end. NaN is nowhere; a bracket of NaN holds nothing.
    """
    rows = len(lows)
    counts = np.zeros((rows, 4), dtype=np.int64)
    largest = np.full(rows, -np.inf)
    kept = []
    for row in range(rows):
        own, low, high = values[starts[row] : starts[row + 1]], lows[row], highs[row]
        is_below = own < low
        kept.append(own[(own > low) & (own < high)])
        counts[row] = [
            np.count_nonzero(is_below),
            np.count_nonzero(own == low),
            np.count_nonzero(own == high) if low != high else 0,
            np.count_nonzero(own > high),
        ]
        largest[row] = own.max(initial=-np.inf, where=is_below)
    kept_starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    return counts, largest, np.concatenate([np.zeros(0), *kept]), kept_starts
