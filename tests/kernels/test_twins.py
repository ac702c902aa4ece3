"""The compiled kernels agree with their definitions in NumPy.

Both do the same arithmetic in another order, so they differ by rounding: a few units in the
last place, times the condition of what is solved. Tolerances are multiples of that.
"""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise, product

import numpy as np
import pytest

from gaussnet.kernels import (
    numpy_core as plain,
    numpy_medians,
    numpy_robust as plain_robust,
    numpy_robust as plain_walk,
)
from gaussnet.kernels.families import Families
from gaussnet.methods.robust.regression import Node
from gaussnet.methods.robust.screening import trim_limits
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.robust.trimming import trim
from gaussnet.types import FloatArray, IntArray, Rows

if os.environ.get("GAUSSNET_KERNELS") == "numpy":
    pytest.skip("the compiled kernels are switched off", allow_module_level=True)
try:
    from gaussnet.kernels import _native, native
except ImportError as error:
    raise RuntimeError(
        "the compiled kernels are not built: run `python setup.py build_ext --inplace`, "
        "or set GAUSSNET_KERNELS=numpy to test without them"
    ) from error

EPSILON = float(np.finfo(np.float64).eps)

LAYOUTS: dict[str, Callable[[FloatArray], Rows]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "float32 Fortran order": lambda x: np.asfortranarray(x, dtype=np.float32),
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "transposed every other": lambda x: np.repeat(x.T, 2, axis=1)[:, ::2].T,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}

# Rows and columns: none, one, a ragged end, several tiles, and more columns than
# plain.FULL_GRAM_COLUMNS.
SHAPES = [(0, 9), (1, 9), (2, 9), (37, 14), (1100, 20), (300, 260)]


@pytest.fixture(params=_native.builds(), autouse=True)
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every build that this processor can run, one after the other."""
    _native.use_build(request.param)
    yield request.param
    _native.use_build(_native.builds()[0])


def random_families(columns: int, count: int, seed: int, most: int = 9) -> Families:
    """Families sorted by size, from no parents to `most`, of different columns each."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.integers(0, min(most, columns - 1) + 1, count))
    chosen = [rng.permutation(columns)[: size + 1] for size in sizes]
    return family_table(chosen)


def family_table(columns: list[IntArray]) -> Families:
    """Families given by their columns, child last."""
    offsets = np.concatenate(([0], np.cumsum([len(own) - 1 for own in columns]))).astype(np.int64)
    children = np.array([own[-1] for own in columns], dtype=np.int64)
    parents = np.concatenate([np.zeros(0), *(own[:-1] for own in columns)]).astype(np.int64)
    return Families(children, offsets, parents)


def normal_rows(rows: int, columns: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


def same_with_nan(left: FloatArray, right: FloatArray) -> bool:
    return np.array_equal(left, right, equal_nan=True)


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_moments_agree(rows: int, columns: int, layout: str, centre: bool) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 30, seed=2)
    means, products = native.family_moments(x, families, centre)
    plain_means, plain_products = plain.family_moments(x, families, centre)
    # A sum of n terms in any order is off by n eps times the sum of their sizes at most; centred
    # values carry the error of the mean, n eps times the largest value, besides their own.
    sizes = np.abs(np.asarray(x, dtype=np.float64))
    largest = sizes.max(initial=0.0)
    assert (np.abs(means - plain_means) <= 2 * (rows + 2) * EPSILON * largest).all()
    sums = plain.family_moments(sizes + largest * centre, families, False)[1]
    assert (np.abs(products - plain_products) <= 4 * (rows + 4) * EPSILON * sums).all()


@pytest.mark.parametrize("most", [0, 1, 3, 9, 50])
def test_solutions_of_moments_agree(most: int) -> None:
    families = random_families(60, 40, seed=3, most=most)
    _, products = plain.family_moments(normal_rows(500, 60), families, False)
    solved = native.solve_moments(families, products)
    for ours, theirs in zip(solved, plain.solve_moments(families, products), strict=True):
        # Independent columns: the condition is below 10 at 50 parents of 500 rows.
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_moments_that_determine_nothing_are_flagged_by_both() -> None:
    x = normal_rows(50, 6)
    x[:, 1] = x[:, 0]
    x[:, 2] = 0.0
    families = family_table([np.array([3, 2]), np.array([0, 1, 3]), np.array([0, 2, 3])])
    _, products = plain.family_moments(x, families, True)
    _, _, pivots = native.solve_moments(families, products)
    _, _, plain_pivots = plain.solve_moments(families, products)
    assert (pivots < plain.WELL_CONDITIONED).all()
    assert (plain_pivots < plain.WELL_CONDITIONED).all()


def test_nan_moments_give_nan_in_both() -> None:
    x = normal_rows(50, 3)
    x[7, 0] = np.nan
    families = family_table([np.array([2]), np.array([0, 2]), np.array([1, 2])])
    moments = native.family_moments(x, families, False)
    assert same_with_nan(
        np.isnan(moments[1]), np.isnan(plain.family_moments(x, families, False)[1])
    )
    for ours, theirs in zip(
        native.solve_moments(families, moments[1]),
        plain.solve_moments(families, moments[1]),
        strict=True,
    ):
        assert np.isnan(ours).tolist() == np.isnan(theirs).tolist()


RANGES = [(0.0, 1.0), (0.1, 0.7), (0.5, 0.5), (0.9, 1.5), (1.0, 1.0)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_batches_agree(rows: int, columns: int, layout: str) -> None:
    page = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 12, seed=4)
    for (low, high), centre, extra_rows in product(RANGES, (False, True), (1, 20)):
        span = (int(low * rows), int(high * rows))
        ours = native.batch_solutions(page, *span, families, extra_rows, centre)
        theirs = plain.batch_solutions(page, *span, families, extra_rows, centre)
        assert [own.shape for own in ours] == [own.shape for own in theirs]
        for own, other in zip(ours, theirs, strict=True):
            # A pivot near the limit of 1e-6 may fall on either side of it; the solutions that
            # both give have at least nine digits.
            both = ~np.isnan(own) & ~np.isnan(other)
            assert np.count_nonzero(np.isnan(own) != np.isnan(other)) <= 1e-3 * own.size
            scale = 1.0 + np.abs(np.nan_to_num(other)).max(axis=1, keepdims=True, initial=0.0)
            assert (np.abs(own - other) / scale)[both].max(initial=0.0) < 1e-8


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_square_systems_agree(rows: int, columns: int, layout: str) -> None:
    page = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 12, seed=5, most=11)
    for (low, high), sliding, centre in product(RANGES, (False, True), (False, True)):
        span = (int(low * rows), int(high * rows))
        ours = native.square_solutions(page, *span, families, sliding, centre)
        theirs = plain.square_solutions(page, *span, families, sliding, centre)
        assert [own.shape for own in ours] == [own.shape for own in theirs]
        for own, other in zip(ours, theirs, strict=True):
            assert np.isnan(own).tolist() == np.isnan(other).tolist()
            # The condition of a random square system is heavy-tailed, and with it the size of
            # the solution: error <= condition * epsilon * size, condition of order size.
            size = np.abs(other).max(axis=1, keepdims=True, initial=1.0)
            assert (np.abs(own - other) <= 1e4 * EPSILON * size**2).all()


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 12, 13])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("sliding", [False, True])
def test_singular_windows_are_found_by_both(size: int, centre: bool, sliding: bool) -> None:
    page = normal_rows(400, 14)
    page[150:190, 2] = 0.75  # constant: singular when centred or beside another constant
    page[190:230, 0] = 0.0
    page[250:300, 1] = page[250:300, 0]
    page[320:360] *= 1e-200
    families = family_table([np.arange(size + 1), np.arange(size + 1)[::-1]])
    ours = native.square_solutions(page, 0, 400, families, sliding, centre)[0]
    theirs = plain.square_solutions(page, 0, 400, families, sliding, centre)[0]
    assert np.isnan(ours).tolist() == np.isnan(theirs).tolist()
    assert np.isnan(theirs).any()
    assert not np.isnan(theirs).all()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9, 13])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sliding", [False, True])
def test_a_window_is_solved_alike_wherever_the_page_is_cut(
    size: int, layout: str, sliding: bool
) -> None:
    page = normal_rows(700, 20)
    families = family_table([np.random.default_rng(7).permutation(20)[: size + 1]])
    whole = native.square_solutions(page, 0, 700, families, sliding, True)[0]
    batches = native.batch_solutions(page, 0, 700, families, 3, True)[0]
    cut_page = page if "float32" in layout else LAYOUTS[layout](page)
    cuts = [0, 1, 5, 200, 333, 640, 700]
    parts = [
        native.square_solutions(cut_page, *span, families, sliding, True)[0]
        for span in pairwise(cuts)
    ]
    cut_batches = [
        native.batch_solutions(cut_page, *span, families, 3, True)[0] for span in pairwise(cuts)
    ]
    assert same_with_nan(np.concatenate(parts, axis=2), whole)
    assert same_with_nan(np.concatenate(cut_batches, axis=2), batches)


@pytest.mark.parametrize("centre", [False, True])
def test_layout_and_other_families_do_not_change_a_bit_of_the_moments(centre: bool) -> None:
    x = normal_rows(1500, 40)
    families = random_families(40, 30, seed=8)
    means, products = native.family_moments(x, families, centre)
    for layout, arrange in LAYOUTS.items():
        if "float32" not in layout:
            others = native.family_moments(arrange(x), families, centre)
            assert np.array_equal(others[0], means), layout
            assert np.array_equal(others[1], products), layout
    alone = native.family_moments(x, families.subset(np.array([29])), centre)
    assert np.array_equal(alone[1], products[families.product_offsets[29] :])
    assert np.array_equal(alone[0], means[families.column_offsets[29] :])


def test_a_large_mean_leaves_the_centred_moments_alone() -> None:
    noise = normal_rows(3000, 3)
    x = noise + 1e9
    exact = (x - 1e9).astype(np.longdouble)  # exact: the shift is a subtraction of neighbours
    exact -= exact.mean(axis=0)
    families = family_table([np.array([0, 1, 2])])
    means, products = native.family_moments(x, families, True)
    row, column = families.product_columns
    expected = (exact.T @ exact)[row, column].astype(np.float64)
    np.testing.assert_allclose(products, expected, rtol=0, atol=1e-12 * len(x))
    np.testing.assert_allclose(means, 1e9, rtol=1e-9)


def test_a_constant_column_is_exactly_zero_when_centred() -> None:
    x = normal_rows(2000, 2)
    x[:, 0] = 0.1
    families = family_table([np.array([0, 1])])
    means, products = native.family_moments(x, families, True)
    assert products[:2].tolist() == [0.0, 0.0]
    assert means[0] == 0.1
    assert np.isnan(native.batch_solutions(x, 0, 2000, families, 5, True)[0]).all()


@pytest.mark.parametrize("kind", ["plain", "holes", "ties", "sorted", "mostly holes", "infinite"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 32, 33, 34, 100, 999, 1000, 5001, 40_000])
def test_medians_are_exact(count: int, kind: str) -> None:
    rng = np.random.default_rng(count)
    values = rng.standard_cauchy(size=(8, count))
    if kind == "ties":
        values = np.round(values)
    elif kind == "sorted":
        values.sort(axis=1)
    elif kind == "infinite":
        values[rng.random(values.shape) < 0.6] = np.inf
    elif kind != "plain":
        values[rng.random(values.shape) < (0.3 if kind == "holes" else 0.95)] = np.nan
    expected, expected_used = numpy_medians.row_medians(values.copy())
    medians, used = native.row_medians(values)
    assert used.tolist() == expected_used.tolist()
    assert same_with_nan(medians, expected)


@pytest.mark.parametrize(
    "row",
    [
        np.full(500, 3.0),
        np.full(500, np.nan),
        np.where(np.arange(1000) % 2, 1e308, -1e308),
        np.exp(np.linspace(-600.0, 600.0, 2000)),
        -np.exp(np.linspace(-600.0, 600.0, 2001)),
        np.tile([5.0, 1.0, np.nan], 300),
        np.concatenate((np.zeros(400), np.arange(401.0))),
    ],
    ids=["equal", "nan", "huge", "exponential", "mirrored", "periodic", "half zero"],
)
def test_medians_of_odd_rows_are_exact(row: FloatArray) -> None:
    expected, _ = numpy_medians.row_medians(row[None].copy())
    medians, _ = native.row_medians(row[None])
    assert same_with_nan(medians, expected)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "float32" not in name])
def test_medians_do_not_depend_on_layout(layout: str) -> None:
    values = normal_rows(9, 101)
    medians, _ = native.row_medians(LAYOUTS[layout](values))
    assert np.array_equal(medians, np.median(values, axis=1))


BRACKETS = [
    (-np.inf, np.inf),
    (-0.5, 0.5),
    (0.0, 0.0),
    (-np.inf, -1.0),
    (1.0, np.inf),
    (-np.inf, -np.inf),
    (50.0, 60.0),
    (np.nan, np.nan),
]


@pytest.mark.parametrize("kind", ["plain", "holes", "ties", "infinite", "zeros"])
@pytest.mark.parametrize("longest", [1, 7, 300, 20_000])
def test_rows_are_split_alike(longest: int, kind: str) -> None:
    rng = np.random.default_rng(longest)
    lengths = np.append(rng.integers(0, longest + 1, len(BRACKETS) - 1), longest)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    values = rng.standard_cauchy(starts[-1])
    if kind == "ties":
        values = np.round(2.0 * values) / 2.0
    elif kind == "infinite":
        values = rng.choice([-np.inf, -1.0, 0.5, np.inf], starts[-1])
    elif kind == "zeros":
        values = np.copysign(0.0, values)
    elif kind == "holes":
        values[rng.random(starts[-1]) < 0.4] = np.nan
    lows, highs = np.array(BRACKETS).T
    ours = native.split_rows(values, starts, lows, highs)
    theirs = numpy_medians.split_rows(values, starts, lows, highs)
    for own, other in zip(ours, theirs, strict=True):
        assert own.dtype == other.dtype
        assert same_with_nan(own, other)


def test_rows_to_split_lie_within_the_values() -> None:
    ends = np.zeros(1), np.ones(1)
    for starts in ([0, 6], [-1, 3], [4, 2]):
        with pytest.raises(ValueError, match="rows start outside"):
            native.split_rows(np.zeros(5), np.array(starts), *ends)
    nothing = native.split_rows(np.zeros(0), np.zeros(1, dtype=np.int64), *np.zeros((2, 0)))
    assert [len(part) for part in nothing] == [0, 0, 0, 1]


def test_zeros_of_both_signs_have_the_median_zero() -> None:
    for kernels in (native, numpy_medians):
        for count in (3, 4, 99, 5000):
            medians, _ = kernels.row_medians(np.full((1, count), -0.0))
            assert not np.signbit(medians[0])


def test_the_smallest_number_is_its_own_median() -> None:
    for kernels in (native, numpy_medians):
        assert kernels.row_medians(np.full((1, 3), 5e-324))[0][0] == 5e-324


def solutions_in_parts(size: int, counts: tuple[int, ...]) -> list[FloatArray]:
    rng = np.random.default_rng(size)
    parts = [rng.standard_cauchy(size=(4, size, count)) for count in counts]
    for part in parts:
        part[:, :, rng.random(part.shape[2]) < 0.1] = np.nan
    return parts


@pytest.mark.parametrize("counts", [(1,), (41,), (3, 0, 7), (500, 1, 1200)])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 11])
def test_medians_of_parts_are_those_of_the_whole(size: int, counts: tuple[int, ...]) -> None:
    parts = solutions_in_parts(size, counts)
    whole = np.concatenate(parts, axis=2)
    expected, used = numpy_medians.row_medians(whole.reshape(4 * size, -1))
    for kernels in (native, numpy_medians):
        medians, found = kernels.joined_medians(parts, None)
        assert same_with_nan(medians.ravel(), expected)
        assert found.tolist() == used[::size].tolist()


@pytest.mark.parametrize("counts", [(41,), (3, 0, 7), (500, 1, 1200)])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 11])
def test_medians_of_turned_solutions_agree(size: int, counts: tuple[int, ...]) -> None:
    parts = solutions_in_parts(size, counts)
    turns = np.triu(np.random.default_rng(13).normal(size=(4, size, size)))
    ours, used = native.joined_medians(parts, turns)
    theirs, plain_used = numpy_medians.joined_medians(parts, turns)
    assert used.tolist() == plain_used.tolist()
    assert same_with_nan(ours, theirs)  # to the last bit: streams take the NumPy version


@pytest.mark.parametrize("counts", [(1,), (33,), (3, 0, 7), (900, 1, 101)])
def test_spreads_of_parts_are_exact(counts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(14)
    parts = [rng.normal(5.0, 2.0, size=(6, count)) for count in counts]
    whole = np.concatenate(parts, axis=1)
    medians = np.median(whole, axis=1)
    for kernels in (native, numpy_medians):
        found, deviations = kernels.joined_spreads(parts)
        assert np.array_equal(found, medians)
        assert np.array_equal(deviations, np.median(np.abs(whole - medians[:, None]), axis=1))


def test_parts_of_different_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="the same rows"):
        native.joined_spreads([normal_rows(3, 5), normal_rows(4, 5)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_residuals_and_their_moments_agree(rows: int, columns: int, layout: str) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 20, seed=9)
    coefficients = np.random.default_rng(10).normal(size=len(families.parents))
    ours = native.residuals(x, families, coefficients)
    # Ten terms of size up to about 20.
    np.testing.assert_allclose(
        ours, plain.residuals(x, families, coefficients), rtol=0, atol=200 * EPSILON
    )
    means, squares = native.residual_moments(x, families, coefficients)
    other_means, other_squares = plain.residual_moments(x, families, coefficients)
    np.testing.assert_allclose(means, other_means, rtol=0, atol=200 * EPSILON)
    np.testing.assert_allclose(squares, other_squares, rtol=1e-12, atol=200 * rows * EPSILON)


def test_moments_of_constant_residuals_are_exactly_zero() -> None:
    x = np.full((1200, 1), 0.1)
    for kernels in (native, plain):
        means, squares = kernels.residual_moments(x, family_table([np.array([0])]), np.zeros(0))
        assert (means[0], squares[0]) == (0.1, 0.0)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("rows", [0, 1, 7, 1200])
def test_propagation_agrees(rows: int, order: str) -> None:
    rng = np.random.default_rng(11)
    nodes = 17
    topological = rng.permutation(nodes)
    place = np.argsort(topological)
    columns = []
    for node in range(nodes):
        earlier = topological[: place[node]]
        count = min(len(earlier), int(rng.integers(0, 6)))
        columns.append(np.append(rng.permutation(earlier)[:count], node))
    families = family_table(columns)
    coefficients = 0.5 * rng.normal(size=len(families.parents))
    expected = normal_rows(rows, nodes)
    wide = np.zeros((rows, 2 * nodes))
    ours = wide[:, ::2] if order == "strided" else np.zeros((rows, nodes), order=order)
    ours[:] = expected
    plain.propagate(expected, topological, families, coefficients)
    native.propagate(ours, topological, families, coefficients)
    np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-12)
    assert not wide[:, 1::2].any()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_found_anywhere(layout: str, bad: float) -> None:
    x = normal_rows(37, 14)
    assert native.all_finite(LAYOUTS[layout](x))
    for row, column in [(0, 0), (36, 13), (20, 5), (36, 0), (0, 13)]:
        broken = x.copy()
        broken[row, column] = bad
        assert not native.all_finite(LAYOUTS[layout](broken))


@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4", "<i4", "strided"])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 37])
def test_a_copied_column_is_looked_at_on_the_way(kind: str, rows: int) -> None:
    wide = np.random.default_rng(rows).integers(-99, 99, 2 * rows).astype(float)
    values = wide[::2] if kind == "strided" else wide[:rows].astype(kind)
    for twin in (plain, native):
        out = np.full(rows + 1, 7.0)
        assert twin.copy_finite(values, out[:rows])
        assert np.array_equal(out[:rows], values)
        assert out[rows] == 7.0
        for place in range(0 if "i" in kind else rows):
            broken = values.copy()
            broken[place] = [np.nan, np.inf, -np.inf][place % 3]
            assert not twin.copy_finite(broken, out[:rows])


def test_nothing_asks_for_nothing() -> None:
    empty = family_table([])
    x = normal_rows(5, 3)
    assert [part.size for part in native.family_moments(x, empty, True)] == [0, 0]
    assert [part.size for part in native.solve_moments(empty, np.zeros(0))] == [0, 0, 0]
    assert native.square_solutions(x, 0, 5, empty, True, True) == []
    assert native.batch_solutions(x, 0, 5, empty, 2, True) == []
    assert native.residuals(x, empty, np.zeros(0)).shape == (0, 5)
    assert native.all_finite(np.zeros((0, 3)))
    orphans = family_table([np.array([0]), np.array([2])])
    assert native.square_solutions(x, 0, 5, orphans, False, False) == []
    assert np.array_equal(native.residuals(x, orphans, np.zeros(0)), x[:, [0, 2]].T)


def test_arrays_that_may_not_be_written_can_be_read() -> None:
    x = normal_rows(50, 6)
    families = random_families(6, 5, seed=12, most=3)
    expected = native.family_moments(x, families, True)
    x.flags.writeable = False
    families.parents.flags.writeable = False
    for ours, theirs in zip(native.family_moments(x, families, True), expected, strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.raises((BufferError, ValueError), match=r"read-only|not writable"):
        native.propagate(x, np.arange(1), families, np.zeros(len(families.parents)))


def test_a_column_that_is_not_there_is_refused() -> None:
    x = normal_rows(50, 3)
    with pytest.raises(ValueError, match="families point outside"):
        native.family_moments(x, family_table([np.array([0, 3])]), False)
    with pytest.raises(ValueError, match="families point outside"):
        native.residuals(x, family_table([np.array([-1, 2])]), np.zeros(1))


def robust_columns(rows: int = 400, seed: int = 5) -> FloatArray:
    """Rows of a child and three parents, with gaps, in Fortran order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)) + 3.0
    x[:, 3] += x[:, :3] @ [1.0, -2.0, 0.5]
    x[: rows // 10, 3] += 40.0
    return np.asfortranarray(x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_whole_columns_agree(rows: int, columns: int, layout: str) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    found = native.whole_columns(x)
    assert found.dtype == np.float64
    assert rows < 2 or found.strides[0] == 8
    assert np.array_equal(found, plain_robust.whole_columns(x))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("suspected", [False, True])
@pytest.mark.parametrize("wrong", [0, 1, 60, 150])
def test_trimming_agrees_with_its_definition(wrong: int, suspected: bool, intercept: bool) -> None:
    x = robust_columns()
    x[:, 3] -= 40.0 * (np.arange(400) < 40)
    x[:wrong, 3] += np.linspace(4.0, 300.0, wrong) if wrong > 1 else 12.0
    sound = np.arange(400) % 7 != 3
    rows, parents = np.flatnonzero(sound), np.arange(3)
    node = Node(x, 3, parents, [None] * 3, np.empty(0, dtype=np.int64), intercept)
    frame = node.frame(rows)
    settings = SequentialTrim()
    expected = trim(node.regression(rows, frame), settings, suspected)
    limits = np.array(trim_limits(len(rows), 3 + intercept, settings, suspected))
    task = plain_robust.TrimTask(3, parents, sound, len(rows), intercept)
    found = native.trim_family(x, task, limits)
    assert found is not None
    kept = np.ones(len(rows), dtype=bool) if expected.kept is None else expected.kept
    assert np.array_equal(found.rejected, rows[~kept])
    assert found.used == np.count_nonzero(kept)
    # Sums of 400 terms in another order, a condition below 10.
    np.testing.assert_allclose(found.coefficients, expected.trial.coefficients, rtol=1e-11)
    residuals = expected.trial.residuals
    np.testing.assert_allclose(found.residuals, residuals[~kept], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.squares, residuals[kept] @ residuals[kept], rtol=1e-10)
    np.testing.assert_allclose(
        found.whitener.T @ found.whitener,
        expected.factor.whitener.T @ expected.factor.whitener,
        rtol=1e-10,
        atol=1e-14,
    )
    np.testing.assert_allclose(
        (found.scale, found.cutoff, found.reference),
        (expected.scale, expected.cutoff, frame.reference),
        rtol=1e-10,
    )


def spoilt_columns(rng: np.random.Generator, parents: int, rows: int) -> FloatArray:
    """A child in the last column, of which up to two fifths are wrong in one of several ways."""
    x = rng.normal(size=(rows, parents + 1)) + rng.choice([0.0, 3.0])
    noise = 10.0 ** rng.uniform(-2.0, 0.5)
    x[:, -1] = x[:, :-1] @ rng.normal(size=parents) + noise * rng.normal(size=rows) + 1.0
    wrong = rng.random(rows) < rng.uniform(0.0, 0.4)
    shifts = rng.choice([0.0, 4.0 * noise, 40.0, 1e3, 1e6]) * rng.choice([1.0, rng.random()], rows)
    x[:, -1] += wrong * shifts
    return np.asfortranarray(x)


@pytest.mark.parametrize("seed", range(60))
def test_trimming_agrees_with_its_definition_whatever_is_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, height = int(rng.integers(0, 8)), int(rng.integers(30, 1200))
    x, intercept, suspected = spoilt_columns(rng, count, height), seed % 2 == 0, seed % 3 == 0
    sound = rng.random(height) >= rng.choice([0.0, 0.1, 0.4])
    rows, parents = np.flatnonzero(sound), np.arange(count)
    node = Node(x, count, parents, [None] * count, np.empty(0, dtype=np.int64), intercept)
    settings = SequentialTrim()
    expected = trim(node.regression(rows, node.frame(rows)), settings, suspected)
    limits = np.array(trim_limits(len(rows), count + intercept, settings, suspected))
    task = plain_robust.TrimTask(count, parents, sound, len(rows), intercept)
    found = native.trim_family(x, task, limits)
    assert found is not None
    kept = np.ones(len(rows), dtype=bool) if expected.kept is None else expected.kept
    assert np.array_equal(found.rejected, rows[~kept])
    own = expected.trial.residuals
    largest = np.abs(expected.trial.coefficients).max(initial=0.0)
    # Sums of 1200 terms in another order; with wrong values of 1e6 the definition itself has
    # 16 - 6 digits of a coefficient of size 1 before it mends them.
    np.testing.assert_allclose(
        found.coefficients, expected.trial.coefficients, rtol=0, atol=1e-10 * largest
    )
    np.testing.assert_allclose(found.residuals, own[~kept], rtol=1e-9, atol=1e-9)
    ours = found.scale, found.cutoff, found.squares
    theirs = expected.scale, expected.cutoff, own[kept] @ own[kept]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_trimming_leaves_collinear_parents_to_its_definition() -> None:
    x = robust_columns()
    x[:, 1] = x[:, 0]
    task = plain_robust.TrimTask(3, np.arange(3), np.ones(400, dtype=bool), 400, True)
    limits = np.array(trim_limits(400, 4, SequentialTrim(), True))
    assert native.trim_family(x, task, limits) is None


@pytest.mark.parametrize("constant", [False, True])
def test_judging_agrees(constant: bool) -> None:
    x = robust_columns(seed=6)
    x[5, 3], x[9, 0] = np.nan, np.nan
    rng = np.random.default_rng(7)
    sound = (rng.random(400) < 0.5) & ~np.isnan(x[:, 3])
    rejected = np.flatnonzero(sound)[::20].copy()
    own = [rng.permutation(400)[: 100 * s] for s in range(3)]
    cells = np.concatenate([np.sort(part) for part in own])
    above = plain_robust.Cells(
        np.array([0, 0, 100, 300]), cells, rng.normal(size=300) + 3.0, rng.random(300)
    )
    width = 3 + constant
    trimmed = plain_robust.TrimAnswer(
        scale=0.8,
        cutoff=4.0,
        reference=1.5,
        smallest_scale=1e-12,
        squares=100.0,
        used=int(np.count_nonzero(sound)) - len(rejected),
        coefficients=np.array([0.1, 1.0, -2.0, 0.5])[4 - width :],
        centres=np.full(3, 3.0 * constant),
        whitener=np.tril(rng.normal(size=(width, width))) / 5.0,
        residuals=rng.normal(size=len(rejected)) * 20.0,
        rejected=rejected,
    )
    task = plain_robust.JudgeTask(3, np.arange(3), sound, trimmed, above, (4.0, 3.0, 2.0, 16.0))
    found, expected = native.judge_rows(x, task), plain_robust.judge_rows(x, task)
    for ours, theirs in zip(found, expected, strict=True):
        # Sums of a few terms of size 1, squared: rounding times the largest of about 4,000,
        # and a sum of 200 of them.
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-9)
    assert set(found.statuses.tolist()) == {1, 2, 3}
    assert np.array_equal(np.setdiff1d(rejected, found.rows), [])
    assert 0 < len(found.events) < np.count_nonzero(~sound)
    assert np.array_equal(found.left_out, np.sort(np.append(rejected, np.flatnonzero(~sound))))
    assert 0 < np.count_nonzero(found.testimony) < 300


def test_listed_parents_agree() -> None:
    rng = np.random.default_rng(8)
    families = Families(np.arange(4), np.array([0, 0, 1, 3, 5]), np.array([0, 0, 1, 1, 2]))
    table = plain_walk.CellTable.empty(4, 400)
    for node in (2, 0, 3):
        rows = np.sort(rng.permutation(100)[:60])
        statuses = rng.integers(1, 5, 60).astype(np.uint8)
        table.add(node, rows, statuses, tuple(rng.normal(size=(3, 60))))
    reach = np.array([0.0, 1.0, 1.0, 0.5])
    found = native.list_parents(table, families, reach, 100)
    assert np.array_equal(found, plain_walk.list_parents(table, families, reach, 100))
    nodes, rows = np.divmod(found, 100)
    assert np.array_equal(np.unique(nodes), [0, 1, 2])
    assert np.array_equal(native.find_cells(table, nodes, rows), np.full(len(nodes), -1))


def test_cells_are_found() -> None:
    rng = np.random.default_rng(9)
    table = plain_walk.CellTable.empty(4, 200)
    for node in (2, 0, 3):
        rows = np.sort(rng.permutation(100)[:50])
        table.add(node, rows, np.full(50, 2, dtype=np.uint8), tuple(rng.normal(size=(3, 50))))
    nodes, rows = np.divmod(rng.permutation(400), 100)
    found = native.find_cells(table, nodes, rows)
    assert np.array_equal(found, plain_walk.find_cells(table, nodes, rows))
    there = found >= 0
    assert np.count_nonzero(there) == 150
    assert np.array_equal(table.rows[0, found[there]], rows[there])
    assert not np.any(nodes[there] == 1)
    with pytest.raises(ValueError, match="points outside"):
        native.find_cells(table, np.array([4]), np.array([0]))
