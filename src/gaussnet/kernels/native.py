"""The compiled kernels, with the names and signatures of the NumPy ones."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels import _native
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import batch_range, window_range
from gaussnet.kernels.numpy_medians import Sieve, Sifted, SplitSolutions
from gaussnet.kernels.numpy_robust import (
    CellTable,
    Judged,
    JudgeTask,
    Learnt,
    Screen,
    TrimAnswer,
    TrimTask,
    WalkTask,
)
from gaussnet.kernels.threads import Reserve
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

MOST_LANES = 8
"""Values that a compiled kernel may write beyond what it keeps."""


def readable(x: Rows) -> Rows:
    """The same values as aligned float64 or float32 in the machine's byte order."""
    if x.dtype in (np.float64, np.float32) and x.dtype.isnative and x.flags.aligned:
        return x
    kind: Any = np.float32 if x.dtype.itemsize == np.dtype(np.float32).itemsize else np.float64
    return np.array(x, dtype=kind)


def flat_families(families: Families) -> tuple[IntArray, IntArray, IntArray]:
    """Children, offsets and parents."""
    return families.children, families.offsets, families.parents


def all_finite(x: Rows) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(_native.all_finite(readable(x)))


def copy_finite(values: NDArray[Any], out: FloatArray) -> bool:
    """Copy a column, and say whether no value is NaN or infinite."""
    flags = values.flags
    if values.dtype == np.dtype("=f8") and flags.c_contiguous and flags.aligned:
        return bool(_native.copy_finite(values, out))
    out[:] = values
    return all_finite(out[None])


def family_moments(x: Rows, families: Families, centre: bool) -> tuple[FloatArray, FloatArray]:
    """Means and cross-products of the columns of each family."""
    means = np.empty(len(families.parents) + len(families))
    products = np.empty(families.product_offsets[-1])
    _native.family_moments(readable(x), flat_families(families), centre, means, products)
    return means, products


def solve_moments(
    families: Families, products: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares of each child on its parents from the packed cross-products."""
    coefficients = np.empty(len(families.parents))
    squares = np.empty(len(families))
    pivots = np.empty(len(families))
    packed = np.ascontiguousarray(products, dtype=np.float64)
    _native.solve_moments(flat_families(families), packed, coefficients, squares, pivots)
    return coefficients, squares, pivots


def batch_solutions(
    page: Rows, start: int, stop: int, families: Families, extra_rows: int, centre: bool
) -> list[FloatArray]:
    """Least squares of each child on its parents, batch by batch."""
    shapes = []
    for size, count in families.size_counts:
        first, last = batch_range(start, stop, len(page), size + extra_rows + centre)
        shapes.append((count, size, last - first))
    flat, blocks = _blocks(shapes)
    _native.batch_solutions(
        readable(page), flat_families(families), start, stop, extra_rows, False, centre, flat
    )
    return blocks


def square_solutions(
    page: Rows, start: int, stop: int, families: Families, sliding: bool, centre: bool
) -> list[FloatArray]:
    """Solutions of the square systems of successive windows of rows."""
    shapes = []
    for size, count in families.size_counts:
        first, last = window_range(start, stop, len(page), size + centre, sliding)
        shapes.append((count, size, last - first))
    flat, blocks = _blocks(shapes)
    _native.square_solutions(
        readable(page), flat_families(families), start, stop, 0, sliding, centre, flat
    )
    return blocks


def row_medians(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Median of each row of (rows, count) without its NaN, and how many values it is of."""
    medians = np.empty(len(values))
    used = np.empty(len(values), dtype=np.int64)
    values = np.require(values, np.float64, "A")
    if values.strides[1] != values.itemsize:
        values = np.ascontiguousarray(values)
    _native.row_medians(values, medians, used)
    return medians, used


def joined_medians(
    parts: list[FloatArray], turns: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    """Coordinate-wise medians of solutions that come in parts (families, p, count)."""
    families, size, _ = parts[0].shape
    medians, used = np.empty(families * size), np.empty(families, dtype=np.int64)
    rows = [_whole(part).reshape(families * size, part.shape[2]) for part in parts]
    flat = None if turns is None else _whole(turns).reshape(-1)
    _native.joined_medians(rows, size, flat, medians, used)
    return medians.reshape(families, size), used


def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts, and the median distance from it."""
    medians, deviations = np.empty(len(parts[0])), np.empty(len(parts[0]))
    _native.joined_spreads([_whole(part) for part in parts], medians, deviations)
    return medians, deviations


def residuals(x: Rows, families: Families, coefficients: FloatArray) -> FloatArray:
    """Child minus its parents' linear combination, for each family: (families, rows)."""
    out = np.empty((len(families), len(x)))
    own = np.ascontiguousarray(coefficients, dtype=np.float64)
    _native.residuals(readable(x), flat_families(families), own, out.reshape(-1))
    return out


def residual_moments(
    x: Rows, families: Families, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean of each family's residuals and their squared deviations from it."""
    means, squares = np.empty(len(families)), np.empty(len(families))
    own = np.ascontiguousarray(coefficients, dtype=np.float64)
    _native.residual_moments(readable(x), flat_families(families), own, means, squares)
    return means, squares


def propagate(
    rows: FloatArray, order: IntArray, families: Families, coefficients: FloatArray
) -> None:
    """Add to each column its parents' linear combination, in place, in topological order."""
    own = np.ascontiguousarray(coefficients, dtype=np.float64)
    places = np.ascontiguousarray(order, dtype=np.int64)
    _native.propagate(rows, places, flat_families(families), own)


def whole_columns(x: Rows) -> FloatArray:
    """The same values (rows, columns) as float64, each column without gaps."""
    if x.dtype == np.float64 and x.strides[0] == x.itemsize and x.dtype.isnative:
        return np.require(x, requirements="A")
    out = np.empty((x.shape[1], len(x)))
    _native.turn_columns(readable(x), out.reshape(-1))
    return out.T


def screen_families(columns: FloatArray, families: Families, screen: Screen) -> FloatArray:
    """Whether least squares of some families needs no trimming: 1, 0, or NaN if unknown."""
    verdicts = np.full(len(families), np.nan)
    settings = (*screen.part, screen.intercept, screen.spread, screen.gate_level)
    given = (screen.coefficients, screen.intercepts, screen.squares, screen.half, screen.means)
    _native.screen_families(columns, flat_families(families), settings, *given, verdicts)
    return verdicts[slice(*screen.part)]


def judge_rows(columns: FloatArray, task: JudgeTask) -> Judged:
    """The suspicious cells of a column: rejected ones, and those with suspicious parents."""
    trimmed, above = task.trimmed, task.above
    most = len(task.sound) - trimmed.used
    rows, left_out = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    events = np.empty(most, dtype=np.int64)
    statuses, numbers = np.empty(most, dtype=np.uint8), np.empty(3 * most + 3)
    testimony = np.empty(len(above.rows))
    whitener = np.ascontiguousarray(trimmed.whitener).reshape(-1)
    _native.judge_rows(
        columns,
        (task.child, trimmed.reference, trimmed.scale, *task.limits),
        (task.parents, task.sound, trimmed.rejected, trimmed.residuals),
        above,
        (np.ascontiguousarray(trimmed.coefficients), trimmed.centres, whitener),
        (rows, left_out, events, statuses, numbers, testimony),
    )
    evidence, cells, agreeing = numbers[:3].tolist()
    count = int(cells)
    expected, variances, deviations = numbers[3:].reshape(3, most)[:, :count]
    found = (rows[:count], statuses[:count], expected, variances, deviations)
    return Judged(*found, left_out, events[: int(agreeing)], evidence, testimony)


def trim_family(columns: FloatArray, task: TrimTask, limits: FloatArray) -> TrimAnswer | None:
    """Trimmed least squares of one child on its parents; None where digits are lacking."""
    count = len(task.parents)
    size = count + task.intercept
    numbers = np.empty(6 + size + count + size * size)
    judged = task.judged
    residuals, rejected = np.empty(judged), np.empty(judged, dtype=np.int64)
    node, parents, sound = (task.child, task.intercept), task.parents, task.sound
    _native.trim_family(columns, node, parents, sound, limits, numbers, residuals, rejected)
    scale, cutoff, reference, smallest, squares, used = numbers[:6].tolist()
    if math.isnan(scale):
        return None
    first, second, lost = 6 + size, 6 + size + count, judged - int(used)
    return TrimAnswer(
        scale,
        cutoff,
        reference,
        smallest,
        squares,
        int(used),
        numbers[6:first],
        numbers[first:second],
        numbers[second:].reshape(size, size),
        residuals[:lost],
        rejected[:lost],
    )


def learn_nodes(
    columns: FloatArray,
    task: WalkTask,
    nodes: IntArray,
    learnt: Learnt,
    tables: tuple[CellTable, CellTable],
) -> tuple[int, bool]:
    """Learn nodes, parents first, from the known cells of the first table into the second."""
    known, found = tables
    _native.learn_nodes(
        columns,
        flat_families(task.families),
        nodes,
        (task.intercept, task.mean_square),
        (task.limits, task.half, task.farthest, task.verdicts),
        (learnt.coefficients, learnt.numbers.reshape(-1), learnt.counts.reshape(-1)),
        _flat_table(known),
        _flat_table(found),
        found.progress,
    )
    done, full = found.progress[2:].tolist()
    return done, bool(full)


def list_parents(table: CellTable, families: Families, reach: FloatArray, rows: int) -> IntArray:
    """The cells that no one suspects in rows in which a child is called wrong or rare."""
    room = int((table.bounds[1] - table.bounds[0]) @ families.sizes)
    keys = np.empty(room, dtype=np.int64)
    flat = flat_families(families), _flat_table(table)
    count = _native.list_parents(*flat, reach, rows, keys)
    return np.unique(keys[:count])


def find_cells(table: CellTable, nodes: IntArray, rows: IntArray) -> IntArray:
    """Where these cells stand in the table, -1 for those that do not, (cells,)."""
    places = np.empty(len(nodes), dtype=np.int64)
    _native.find_cells(_flat_table(table), nodes, rows, places)
    return places


def split_rows(
    values: FloatArray, starts: IntArray, lows: FloatArray, highs: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Count where the values of each row lie, and keep those strictly inside its bracket."""
    rows = len(lows)
    counts = np.empty((rows, 4), dtype=np.int64)
    largest, kept = np.empty(rows), np.empty(len(values) + MOST_LANES)
    kept_starts = np.empty(rows + 1, dtype=np.int64)
    brackets = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
    flat, firsts = np.ascontiguousarray(values), np.ascontiguousarray(starts)
    _native.split_rows(flat, firsts, *brackets, counts.reshape(-1), largest, kept, kept_starts)
    inside = kept[: kept_starts[-1]]
    if 2 * len(inside) < len(kept):  # a view keeps twice its size alive at most; a copy is dear
        inside = inside.copy()
    return counts, largest, inside, kept_starts


def _whole(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _flat_table(
    table: CellTable,
) -> tuple[IntArray, IntArray, NDArray[np.uint8], FloatArray, FloatArray]:
    flat = table.bounds.reshape(-1), table.rows.reshape(-1), table.statuses
    return (*flat, table.values.reshape(-1), table.testimony)


def _blocks(shapes: list[tuple[int, int, int]]) -> tuple[FloatArray, list[FloatArray]]:
    """One flat array, and a view of it for each of the shapes."""
    sizes = [families * size * windows for families, size, windows in shapes]
    flat = np.empty(sum(sizes))
    ends = np.cumsum([0, *sizes]).tolist()
    views = [flat[ends[k] : ends[k + 1]].reshape(shape) for k, shape in enumerate(shapes)]
    return flat, views


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


def upper_triangles(families: Families, products: FloatArray, lost: BoolArray) -> FloatArray:
    """Triangles U with U'U the cross-products of the parents, one family after the other, flat."""
    sizes = families.sizes
    uppers = np.empty(int(sizes @ sizes))
    _native.upper_triangles(flat_families(families), products, lost, uppers)
    return uppers


def solve_triangles(uppers: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions x of U x = y, (count, p, p) and (count, p); NaN where a diagonal entry is 0."""
    out = np.empty(right.shape)
    flat = np.ascontiguousarray(uppers).reshape(-1)
    given = np.ascontiguousarray(right).reshape(-1)
    _native.solve_triangles(right.shape[1], flat, given, out.reshape(-1))
    return out
