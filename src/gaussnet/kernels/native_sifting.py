"""The compiled kernels that sift, with the names and signatures of `plain_sifting`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.kernels import _native
from gaussnet.kernels.families import Families
from gaussnet.kernels.native_arguments import MOST_LANES, flat_families, readable
from gaussnet.kernels.plain_sifting import Sieve, Sifted, SplitSolutions
from gaussnet.kernels.reserve import Reserve


def sift_solutions(
    stripe: tuple[Rows, int, int],
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
    sieve: Sieve,
) -> Sifted:
    """The solutions of `square_solutions`, sifted: one row of values for each edge."""
    return _sifted_solutions(stripe, families, windows, turns, sieve, None)


def split_solutions(
    page: Rows,
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
    sieve: Sieve,
    draw: tuple[IntArray, int],
) -> SplitSolutions:
    """The same solutions of a whole page, split at the ends of brackets and sampled."""
    edges, stripe = len(families.parents), (page, 0, len(page))
    drawn = np.full((edges, len(draw[0])), np.nan)
    own = (*draw, drawn.reshape(-1))
    found = _sifted_solutions(stripe, families, windows, turns, sieve, own)
    counts, largest = np.empty((edges, 4), dtype=np.int64), np.empty(edges)
    kept, starts = np.empty(len(found.kept) + MOST_LANES), np.empty(edges + 1, dtype=np.int64)
    parts = [(found.kept, found.starts)]
    ends = np.ascontiguousarray(sieve.lows), np.ascontiguousarray(sieve.highs)
    _native.split_sifted(parts, *ends, counts.reshape(-1), largest, kept, starts)
    counts[:, 0] += found.below
    counts[:, 3] += found.above
    return SplitSolutions(counts, kept[: starts[-1]].copy(), starts, drawn)


def sift_residuals(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    centres: FloatArray | None,
    sieve: Sieve,
) -> Sifted:
    """The residuals of each family, or their distances from its centre, sifted."""
    own = np.ascontiguousarray(coefficients, dtype=np.float64)
    fixed = (readable(x), flat_families(families), own, centres)
    run = _native.tile_rows(x.shape[1], False)
    expected = float(sieve.shares.sum()) * len(x)
    return _sifted(partial(_native.sift_residuals, *fixed), sieve, expected, (len(x), run))


def sifted_ranks(
    parts: list[Sifted], low_ranks: IntArray, high_ranks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The values of two ranks, from 0, among those kept of each row; NaN for one not there."""
    at_low, at_high = np.empty(len(low_ranks)), np.empty(len(low_ranks))
    runs = [(part.kept, part.starts) for part in parts]
    _native.sifted_ranks(runs, low_ranks, high_ranks, at_low, at_high)
    return at_low, at_high


def _sifted_solutions(
    stripe: tuple[Rows, int, int],
    families: Families,
    windows: tuple[bool, bool],
    turns: FloatArray | None,
    sieve: Sieve,
    draw: tuple[IntArray, int, FloatArray] | None,
) -> Sifted:
    page, start, stop = stripe
    stop = min(stop, len(page))
    rows = readable(page)
    fixed = (rows, flat_families(families), start, stop, *windows, turns, draw)
    sliding, centre = windows
    heights = 1 if sliding else np.repeat(families.sizes, families.sizes) + centre
    expected = float((sieve.shares / heights).sum()) * (stop - start)
    run = _native.tile_rows(page.shape[1], True)
    return _sifted(partial(_native.sift_solutions, *fixed), sieve, expected, (stop - start, run))


def _sifted(
    kernel: Callable[[tuple[Any, ...]], None], sieve: Sieve, expected: float, rows: tuple[int, int]
) -> Sifted:
    """What the kernel sifts of so many rows in tiles of so many, again if it runs out of room."""
    count, run = rows
    room = int(1.25 * expected) + len(sieve.lows)
    lows, highs = np.ascontiguousarray(sieve.lows), np.ascontiguousarray(sieve.highs)
    below, above = np.empty((2, len(lows)), dtype=np.int64)
    starts = np.empty(len(lows) * -(-max(count, 0) // run) + 1, dtype=np.int64)
    reserve = sieve.reserve or Reserve(0)
    while True:
        kept = reserve.take(room + run + MOST_LANES)
        kernel((lows, highs, below, above, kept, starts))
        found = int(starts[-1])
        reserve.keep(kept, found if found <= room else 0)
        if found <= room:
            return Sifted(below, above, kept[:found], starts)
        room = found
