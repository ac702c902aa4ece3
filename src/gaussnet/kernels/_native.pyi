# The compiled module, seen from Python: families are (children, offsets, parents), the last
# arrays of a call are written.
import numpy as np
from numpy.typing import NDArray

from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

_Families = tuple[IntArray, IntArray, IntArray]
_Sieve = tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray, IntArray]
# Lows, highs; below, above, kept and starts, which are written.
_Table = tuple[IntArray, IntArray, NDArray[np.uint8], FloatArray, FloatArray]

def all_finite(x: Rows, /) -> bool: ...
def copy_finite(values: FloatArray, out: FloatArray, /) -> bool: ...
def family_moments(
    x: Rows, families: _Families, centre: bool, means: FloatArray, products: FloatArray, /
) -> None: ...
def solve_moments(
    families: _Families,
    products: FloatArray,
    coefficients: FloatArray,
    squares: FloatArray,
    pivots: FloatArray,
    /,
) -> None: ...
def upper_triangles(
    families: _Families, products: FloatArray, lost: BoolArray, uppers: FloatArray, /
) -> None: ...
def solve_triangles(
    size: int, uppers: FloatArray, right: FloatArray, out: FloatArray, /
) -> None: ...
def batch_solutions(
    page: Rows,
    families: _Families,
    start: int,
    stop: int,
    extra_rows: int,
    sliding: bool,
    centre: bool,
    solutions: FloatArray,
    /,
) -> None: ...
def square_solutions(
    page: Rows,
    families: _Families,
    start: int,
    stop: int,
    extra_rows: int,
    sliding: bool,
    centre: bool,
    solutions: FloatArray,
    /,
) -> None: ...
def tile_rows(columns: int, for_windows: bool, /) -> int: ...
def sift_solutions(
    page: Rows,
    families: _Families,
    start: int,
    stop: int,
    sliding: bool,
    centre: bool,
    turns: FloatArray | None,
    draw: tuple[IntArray, int, FloatArray] | None,
    sieve: _Sieve,
    /,
) -> None: ...
def split_sifted(
    parts: list[tuple[FloatArray, IntArray]],
    lows: FloatArray,
    highs: FloatArray,
    counts: IntArray,
    largest: FloatArray,
    kept: FloatArray,
    kept_starts: IntArray,
    /,
) -> None: ...
def sift_residuals(
    x: Rows,
    families: _Families,
    coefficients: FloatArray,
    centres: FloatArray | None,
    sieve: _Sieve,
    /,
) -> None: ...
def sifted_ranks(
    parts: list[tuple[FloatArray, IntArray]],
    low_ranks: IntArray,
    high_ranks: IntArray,
    at_low: FloatArray,
    at_high: FloatArray,
    /,
) -> None: ...
def row_medians(values: FloatArray, medians: FloatArray, used: IntArray, /) -> None: ...
def joined_medians(
    parts: list[FloatArray],
    size: int,
    turns: FloatArray | None,
    medians: FloatArray,
    used: IntArray,
    /,
) -> None: ...
def joined_spreads(
    parts: list[FloatArray], medians: FloatArray, deviations: FloatArray, /
) -> None: ...
def residuals(
    x: Rows, families: _Families, coefficients: FloatArray, out: FloatArray, /
) -> None: ...
def residual_moments(
    x: Rows,
    families: _Families,
    coefficients: FloatArray,
    means: FloatArray,
    squares: FloatArray,
    /,
) -> None: ...
def propagate(
    rows: FloatArray, order: IntArray, families: _Families, coefficients: FloatArray, /
) -> None: ...
def turn_columns(x: Rows, out: FloatArray, /) -> None: ...
def screen_families(
    x: FloatArray,
    families: _Families,
    screen: tuple[int, int, bool, float, float],
    coefficients: FloatArray,
    intercepts: FloatArray,
    squares: FloatArray,
    half: FloatArray,
    means: FloatArray,
    verdicts: FloatArray,
    /,
) -> None: ...
def judge_rows(
    x: FloatArray,
    numbers: tuple[int, float, float, float, float, float, float],
    node: tuple[IntArray, BoolArray, IntArray, FloatArray],
    cells: tuple[IntArray, IntArray, FloatArray, FloatArray],
    equation: tuple[FloatArray, FloatArray, FloatArray],
    found: tuple[IntArray, IntArray, IntArray, NDArray[np.uint8], FloatArray, FloatArray],
    /,
) -> None: ...
def trim_family(
    x: FloatArray,
    node: tuple[int, bool],
    parents: IntArray,
    sound: BoolArray,
    limits: FloatArray,
    numbers: FloatArray,
    residuals: FloatArray,
    rejected: IntArray,
    /,
) -> None: ...
def split_rows(
    values: FloatArray,
    starts: IntArray,
    lows: FloatArray,
    highs: FloatArray,
    counts: IntArray,
    largest: FloatArray,
    kept: FloatArray,
    kept_starts: IntArray,
    /,
) -> None: ...
def builds() -> list[str]: ...
def use_build(name: str, /) -> None: ...
def learn_nodes(
    columns: FloatArray,
    families: _Families,
    nodes: IntArray,
    settings: tuple[bool, bool],
    given: tuple[FloatArray, FloatArray, FloatArray, NDArray[np.uint8]],
    learnt: tuple[FloatArray, FloatArray, IntArray],
    known: _Table,
    found: _Table,
    progress: IntArray,
    /,
) -> None: ...
def list_parents(
    families: _Families, table: _Table, reach: FloatArray, rows: int, keys: IntArray, /
) -> int: ...
def find_cells(table: _Table, nodes: IntArray, rows: IntArray, places: IntArray, /) -> None: ...
