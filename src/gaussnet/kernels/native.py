"""The compiled kernels, with the names and arguments of their definitions in NumPy.

Each has a signature in `c/kernels.h`, which `_native` gives as its docstring. Arguments are
converted, and the arrays to be written are allocated, as the signature says; the compiled side
checks all of them by the same signature.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gaussnet.kernels import _native, numpy_core, numpy_pairs
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import batch_range, window_range
from gaussnet.kernels.numpy_likelihood import Expected
from gaussnet.kernels.numpy_medians import Draw, Ends, Split
from gaussnet.kernels.numpy_mixture import MixtureMoments, MixtureTask
from gaussnet.kernels.numpy_robust import CellTable, LearningTask, Learnt, Screen
from gaussnet.kernels.threads import interruptible
from gaussnet.types import FloatArray, IntArray, Rows

LONG_CALL = 1 << 24
"""Products from which a call may be felt: some ten milliseconds. It can then be interrupted."""

LEARNING_ROUNDS = 64
"""How often learning a node may walk through its rows, roughly."""

MOST_LANES = 8
"""Values that a compiled kernel may write beyond what it keeps."""

Definition = TypeVar("Definition", bound=Callable[..., Any])


def readable(x: Rows) -> Rows:
    """The values as aligned float64 or float32 in the machine's byte order."""
    if x.dtype in (np.float64, np.float32) and x.dtype.isnative and x.flags.aligned:
        return x
    kind: Any = np.float32 if x.dtype.itemsize == np.dtype(np.float32).itemsize else np.float64
    return np.array(x, dtype=kind)


def flat_families(families: Families) -> tuple[IntArray, IntArray, IntArray]:
    """Children, offsets and parents."""
    return families.children, families.offsets, families.parents


CONVERSIONS = {
    "x": "readable({0})",
    "f": "({0}.children, {0}.offsets, {0}.parents)",
    "g": "({0}.children, {0}.offsets, {0}.parents)",
    "d": "ascontiguousarray({0}, float64)",
    "i": "ascontiguousarray({0}, int64)",
    "j": "ascontiguousarray({0}, int64)",
    "o": "ascontiguousarray({0}, int64)",
    "b": "ascontiguousarray({0})",
}
"""What is done to an argument, by the letter of its signature."""

ROW_SIZES = {"R": "len({0})", "C": "{0}.shape[1]"}
FAMILY_SIZES = {
    "F": "len({0}.children)",
    "E": "len({0}.parents)",
    "P": "int({0}.product_offsets[-1])",
    "S": "int({0}.sizes @ {0}.sizes)",
}
"""The lengths that an argument tells, by their letters in signatures."""

TYPES = {"D": "float64", "I": "int64"}
"""Arrays that are written."""


def _sizes_told(token: str) -> dict[str, str]:
    """The lengths that an argument of this signature tells."""
    if token in "xXc":
        return ROW_SIZES
    if token in "fg":
        return FAMILY_SIZES
    if token[0] == "n":
        return {token[1:]: "{0}"}
    return {token[2]: "len({0})"} if "[" in token and token[3] in "];" else {}


def _run(call: Callable[..., int], products: int, *arguments: Any) -> int:
    """Call a kernel that has so many products to do, roughly."""
    return call(*arguments) if products < LONG_CALL else interruptible(call, *arguments)


def _products(tokens: list[str], names: list[str]) -> str:
    """How much a kernel of this signature has to do, as far as it is known: 0 if not."""
    found = [name for token, name in zip(tokens, names, strict=True) if token in "fg"]
    if not found:
        return "0"
    rows = "len(a0)" if tokens[0] in "xXc" else f"int({found[0]}.product_count**0.5)"
    return f"{rows} * {found[0]}.product_count"


def _source(tokens: list[str], written: list[str]) -> str:
    """A function that converts arguments, allocates what is written, and calls a kernel."""
    names = [f"a{k}" for k in range(len(tokens))]
    values = [
        CONVERSIONS.get(token[0], "{0}").format(name)
        for token, name in zip(tokens, names, strict=True)
    ]
    sizes: dict[str, str] = {}
    for token, name in zip(tokens, names, strict=True):
        for letter, told in _sizes_told(token).items():
            sizes.setdefault(letter, told.format(name))
    lines = []
    for k, token in enumerate(written):
        shape = "".join(sizes.get(letter, letter) for letter in token[2:-1])
        lines.append(f"    w{k} = empty(({shape}), {TYPES[token[0]]})")
    out = [f"w{k}" for k in range(len(written))]
    products = _products(tokens, names)
    lines.append(f"    found = run({', '.join(['call', products, *values, *out])})")
    lines.append(f"    return {', '.join(out) or 'found'}")
    return "\n".join([f"def kernel({', '.join(names)}):", *lines])


def kernel(name: str) -> Any:
    """A compiled kernel: takes the arguments left of the arrow of its signature, gives the arrays
    that stand right of it, or the number that it found if there are none.

    It is written out once as a function, as `collections.namedtuple` does, because small fits
    would feel a walk through the signature in every call.
    """
    call = getattr(_native, name)
    given, _, written = str(call.__doc__).partition("->")
    scope = {name: getattr(np, name) for name in ("empty", "ascontiguousarray", "float64", "int64")}
    scope |= {"call": call, "readable": readable, "run": _run}
    exec(_source(given.split(), written.split()), scope)
    return scope["kernel"]


def compiled(definition: Definition) -> Definition:
    """The compiled form of a kernel whose arguments are those of its signature."""
    return cast(Definition, functools.update_wrapper(kernel(definition.__name__), definition))


checksum = compiled(numpy_core.checksum)
family_moments = compiled(numpy_core.family_moments)
solve_moments = compiled(numpy_core.solve_moments)
upper_triangles = compiled(numpy_core.upper_triangles)
residuals = compiled(numpy_core.residuals)
residual_moments = compiled(numpy_core.residual_moments)
pair_residuals = compiled(numpy_pairs.pair_residuals)

_solve_triangles = kernel("solve_triangles")
_propagate = kernel("propagate")
_kept_ranks = kernel("kept_ranks")
_joined_medians = kernel("joined_medians")
_joined_spreads = kernel("joined_spreads")
_split_rows = kernel("split_rows")
_screen_families = kernel("screen_families")
_find_cells = kernel("find_cells")
_expected_rows = kernel("expected_rows")
_missing_information = kernel("missing_information")


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


def whole_columns(x: Rows) -> FloatArray:
    """The values (rows, columns) as float64, each column without gaps."""
    if x.dtype == np.float64 and x.strides[0] == x.itemsize and x.dtype.isnative:
        return np.require(x, requirements="A")
    out = np.empty((x.shape[1], len(x)))
    _native.transposed_columns(readable(x), out)
    return out.T


def solve_triangles(uppers: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions x of U x = y, (count, p, p) and (count, p); NaN where a diagonal entry is 0."""
    found: FloatArray = _solve_triangles(*right.shape, uppers, right)
    return found


def propagate(
    rows: FloatArray, order: IntArray, families: Families, coefficients: FloatArray
) -> None:
    """Add to each column its parents' linear combination, in place, in topological order."""
    _propagate(rows, families, order, coefficients)


def batch_solutions(
    page: Rows, start: int, stop: int, families: Families, extra_rows: int, centre: bool
) -> list[FloatArray]:
    """Least squares of each child on its parents, batch by batch."""
    counts = [
        batch_range(start, stop, len(page), size + extra_rows + centre)
        for size, _ in families.size_counts
    ]
    windows = (start, stop, extra_rows, centre)
    return _solutions(_native.batch_solutions, page, families, windows, counts)


def square_solutions(
    page: Rows, start: int, stop: int, families: Families, sliding: bool, centre: bool
) -> list[FloatArray]:
    """Solutions of the square systems of successive windows of rows."""
    counts = [
        window_range(start, stop, len(page), size + centre, sliding)
        for size, _ in families.size_counts
    ]
    windows = (start, stop, sliding, centre)
    return _solutions(_native.square_solutions, page, families, windows, counts)


def _solutions(
    kernel: Callable[..., int],
    page: Rows,
    families: Families,
    windows: tuple[int, ...],
    ranges: list[tuple[int, int]],
) -> list[FloatArray]:
    """Solutions of the windows in these ranges, a block for each size of families."""
    shapes = [
        (count, size, last - first)
        for (size, count), (first, last) in zip(families.size_counts, ranges, strict=True)
    ]
    sizes = [families * size * windows for families, size, windows in shapes]
    flat = np.empty(sum(sizes))
    products = len(page) * families.product_count
    _run(kernel, products, readable(page), flat_families(families), windows, flat)
    ends = np.cumsum([0, *sizes]).tolist()
    return [flat[ends[k] : ends[k + 1]].reshape(shape) for k, shape in enumerate(shapes)]


MOST_RETAINED = 1 << 21
"""Values of scratch that a thread keeps from call to call: 16 MiB."""

_retained = threading.local()


def _scratch(values: int) -> FloatArray:
    """Memory for at least so many values, which this thread may have had before.

    Memory new to the process costs a page fault every 4 KiB, more than what is done with it.
    """
    memory: FloatArray = getattr(_retained, "memory", np.empty(0))
    if len(memory) < values:
        memory = np.empty(values)
        _retained.memory = memory if values <= MOST_RETAINED else np.empty(0)
    return memory


def split_solutions(
    page: Rows,
    start: int,
    stop: int,
    families: Families,
    sliding: bool,
    centre: bool,
    transforms: FloatArray | None,
    brackets: Ends,
    draw: Draw | None,
) -> Split:
    """Solutions of the windows of `square_solutions`, split: one row of values for each edge."""
    rows = max(min(stop, len(page)) - start, 0)
    windows = (start, stop, sliding, centre)
    fixed = (readable(page), flat_families(families), windows, _contiguous(transforms))
    heights = 1 if sliding else np.repeat(families.sizes, families.sizes) + centre
    expected = rows * float((brackets.shares / heights).sum())
    tile = _native.tile_rows(page.shape[1], True)
    kernel = functools.partial(_run, _native.split_solutions, rows * families.product_count, *fixed)
    return _split(kernel, brackets, draw, expected, (rows, tile))


def split_residuals(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    centres: FloatArray | None,
    brackets: Ends,
    draw: Draw | None,
) -> Split:
    """Residuals of each family, or with `centres` their distances from its centre, split."""
    own = _contiguous(coefficients), _contiguous(centres)
    kernel = functools.partial(_native.split_residuals, readable(x), flat_families(families), *own)
    expected = len(x) * float(brackets.shares.sum())
    return _split(kernel, brackets, draw, expected, (len(x), _native.tile_rows(x.shape[1], False)))


def _contiguous(values: FloatArray | None) -> FloatArray | None:
    return None if values is None else np.ascontiguousarray(values, dtype=np.float64)


def _split(
    kernel: Callable[..., int],
    brackets: Ends,
    draw: Draw | None,
    expected: float,
    rows: tuple[int, int],
) -> Split:
    """What a kernel keeps of so many rows, in tiles of so many, where `expected` values are.

    A second kernel joins the runs of the tiles. If there was too little memory for these, the
    first counts them all the same and is called again.
    """
    height, tile = rows
    ends = _contiguous(brackets.lows), _contiguous(brackets.highs)
    count = len(brackets.lows)
    counts = np.empty((count, 4), dtype=np.int64)
    starts = np.empty(count * -(-height // tile) + 1, dtype=np.int64)
    indices, stride = (None, 1) if draw is None else draw
    drawn = None if indices is None else np.full((count, len(indices)), np.nan)
    wanted = int(1.25 * expected) + count
    while True:
        kept = _scratch(wanted + tile + MOST_LANES)
        kernel(indices, stride, drawn, *ends, kept, counts, starts)
        wanted = int(starts[-1])
        if wanted + tile + MOST_LANES <= len(kept):
            break
    joined, joined_starts = np.empty(wanted), np.empty(count + 1, dtype=np.int64)
    _native.joined_runs(kept, starts, count, wanted, joined, joined_starts)
    return Split(counts, joined, joined_starts, drawn)


def split_rows(values: FloatArray, starts: IntArray, lows: FloatArray, highs: FloatArray) -> Split:
    """Count where the values of each row lie, and keep those strictly inside its bracket."""
    counts, kept, kept_starts = _split_rows(values, starts, lows, highs)
    inside = kept[: kept_starts[-1]]
    if 2 * len(inside) < len(kept):  # a view keeps twice its size alive at most; a copy is dear
        inside = inside.copy()
    return Split(counts, inside, kept_starts, None)


def kept_ranks(
    parts: Sequence[tuple[FloatArray, IntArray]], low_ranks: IntArray, high_ranks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The values of two ranks, counted from 0, among the values of each row, (rows,) each."""
    at_low, at_high = _kept_ranks(low_ranks, high_ranks, list(parts))
    return at_low, at_high


def joined_medians(
    parts: list[FloatArray], transforms: FloatArray | None
) -> tuple[FloatArray, IntArray]:
    """Coordinate-wise medians of solutions that come in parts (families, p, count)."""
    families, size, _ = parts[0].shape
    whole = _contiguous(transforms)
    medians, used = _joined_medians(families, size, _row_parts(parts, families * size), whole)
    return medians, used


def joined_spreads(parts: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Median of each row of values that come in parts, and the median distance from it."""
    rows = len(parts[0])
    medians, deviations = _joined_spreads(rows, _row_parts(parts, rows))
    return medians, deviations


def _row_parts(parts: list[FloatArray], rows: int) -> list[tuple[FloatArray, IntArray]]:
    """Arrays of so many rows as values and where the rows start."""
    flat = []
    for part in parts:
        values = np.ascontiguousarray(part, dtype=np.float64)
        flat.append((values, values.shape[-1] * np.arange(rows + 1)))
    return flat


def screen_families(columns: FloatArray, families: Families, screen: Screen) -> FloatArray:
    """Whether least squares of some families needs no trimming: 1, 0, or NaN if unknown."""
    (first, last), *rest = screen
    verdicts: FloatArray = _screen_families(columns, families, first, last, *rest)
    return verdicts[first:last]


def learn_nodes(
    columns: FloatArray,
    task: LearningTask,
    nodes: IntArray,
    learnt: Learnt,
    tables: tuple[CellTable, CellTable],
) -> tuple[int, bool]:
    """Learn nodes, parents first, from the known cells of the first table into the second."""
    known, found = tables
    families, *rest = task
    written = (learnt.coefficients, learnt.numbers, learnt.counts)
    cells = (*known[:5], *found)
    products = LEARNING_ROUNDS * len(columns) * families.product_count
    given = (columns, flat_families(families), nodes, *rest, *written, *cells)
    _run(_native.learn_nodes, products, *given)
    done, full = found.progress[2:].tolist()
    return done, bool(full)


def list_parents(table: CellTable, families: Families, reach: FloatArray, rows: int) -> IntArray:
    """The cells that no one suspects in rows in which a child is called wrong or rare."""
    most = int((table.bounds[1] - table.bounds[0]) @ families.sizes)
    keys = np.empty(most, dtype=np.int64)
    count = _native.list_parents(flat_families(families), *table[:4], reach, rows, keys)
    return np.unique(keys[:count])


def find_cells(table: CellTable, nodes: IntArray, rows: IntArray) -> IntArray:
    """Indices of these cells in the table, -1 for those that are not there, (cells,)."""
    indices: IntArray = _find_cells(table.bounds, table.rows, nodes, rows)
    return indices


def candidate_pairs(
    products: NDArray[np.float32],
    families: Families,
    inverses: FloatArray,
    loads: FloatArray,
    bounds: FloatArray,
    least: float,
) -> tuple[IntArray, IntArray]:
    """The families and earlier columns of which a residual product may be large."""
    given = (readable(products), flat_families(families), inverses, loads, bounds, least)
    work, capacity = len(products) * len(families.columns), 8 * len(families) + 64
    while True:
        pairs = np.empty((2, capacity), dtype=np.int64)
        found = _run(_native.candidate_pairs, work, *given, pairs)
        if found <= capacity:
            return pairs[0, :found], pairs[1, :found]
        capacity = found


def expected_rows(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> Expected:
    """Rows with their missing cells filled in, as the network expects them."""
    return Expected(*_expected_rows(x, families, coefficients, means, variances))


def missing_information(
    x: Rows,
    families: Families,
    coefficients: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    """Covariance of the complete rows' scores given the cells that are there, (scores, scores)."""
    count = len(families.parents) + 2 * len(families)
    found: FloatArray = _missing_information(x, families, coefficients, means, variances, count)
    return found


def mixture_moments(
    x: Rows,
    task: MixtureTask,
    wrong: NDArray[np.uint8],
    foreign: FloatArray | None = None,
    filled: FloatArray | None = None,
    chances: FloatArray | None = None,
    lost: FloatArray | None = None,
) -> MixtureMoments:
    """Expected cross-products and sums of rows, and what their wrong cells look like."""
    families, nodes = task.families, len(task.families)
    found = MixtureMoments(
        np.empty(len(x)),
        np.empty(len(x)),
        np.empty(len(task.precision[0])),
        np.empty(nodes),
        np.empty(task.laws.shape),
        np.empty((nodes, 8)),
    )
    settings = (task.laws, task.by_column, task.settings, task.base)
    given = (*task.equation, *task.precision, *settings, foreign, task.foreign_odds, wrong)
    written = (*found[:2], filled, chances, *found[2:], lost)
    if chances is not None:
        chances[:] = 0.0
    products = LEARNING_ROUNDS * len(x) * families.product_count
    _run(_native.mixture_moments, products, readable(x), flat_families(families), *given, *written)
    return found
