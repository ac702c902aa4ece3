"""The compiled kernels, with the names and signatures of `gaussnet.kernels.plain`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.kernels import _native
from gaussnet.kernels.families import Families
from gaussnet.kernels.native_arguments import MOST_LANES, flat_families, readable
from gaussnet.kernels.plain import batch_range, window_range
from gaussnet.kernels.plain_robust import Judged, JudgeTask, Screen, TrimAnswer, TrimTask
from gaussnet.kernels.plain_walk import CellTable, Learnt, WalkTask

__all__ = [
    "all_finite",
    "batch_range",
    "batch_solutions",
    "copy_finite",
    "family_moments",
    "find_cells",
    "joined_medians",
    "joined_spreads",
    "judge_rows",
    "learn_nodes",
    "list_parents",
    "propagate",
    "residual_moments",
    "residuals",
    "row_medians",
    "screen_families",
    "solve_moments",
    "split_rows",
    "square_solutions",
    "trim_family",
    "whole_columns",
    "window_range",
]


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
