"""The compiled kernels agree with their definitions in NumPy.

Both do the same arithmetic in another order, so they differ by rounding: a few units in the
last place, times the condition of what is solved. Tolerances are multiples of that.
"""

from itertools import pairwise, product

import numpy as np
import pytest
from tests.kernels.examples import (
    EPSILON,
    LAYOUTS,
    SHAPES,
    family_table,
    normal_rows,
    random_families,
    same_with_nan,
)

from gaussnet.kernels import numpy_core, numpy_robust

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_moments_agree(rows: int, columns: int, layout: str, centre: bool) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 30, seed=2)
    means, products = native.family_moments(x, families, centre)
    numpy_means, numpy_products = numpy_core.family_moments(x, families, centre)
    # A sum of n terms in any order is off by n eps times the sum of their sizes at most; centred
    # values carry the error of the mean, n eps times the largest value, besides their own.
    sizes = np.abs(np.asarray(x, dtype=np.float64))
    largest = sizes.max(initial=0.0)
    assert (np.abs(means - numpy_means) <= 2 * (rows + 2) * EPSILON * largest).all()
    sums = numpy_core.family_moments(sizes + largest * centre, families, False)[1]
    assert (np.abs(products - numpy_products) <= 4 * (rows + 4) * EPSILON * sums).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_checksums_agree(rows: int, columns: int, layout: str) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    assert native.checksum(x, 5, 2) == numpy_core.checksum(x, 5, 2)


@pytest.mark.parametrize("most", [0, 1, 3, 9, 50])
def test_solutions_of_moments_agree(most: int) -> None:
    families = random_families(60, 40, seed=3, most=most)
    _, products = numpy_core.family_moments(normal_rows(500, 60), families, False)
    solved = native.solve_moments(families, products)
    for ours, theirs in zip(solved, numpy_core.solve_moments(families, products), strict=True):
        # Independent columns: the condition is below 10 at 50 parents of 500 rows.
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_moments_that_determine_nothing_are_flagged_by_both() -> None:
    x = normal_rows(50, 6)
    x[:, 1] = x[:, 0]
    x[:, 2] = 0.0
    families = family_table([np.array([3, 2]), np.array([0, 1, 3]), np.array([0, 2, 3])])
    _, products = numpy_core.family_moments(x, families, True)
    _, _, pivots = native.solve_moments(families, products)
    _, _, numpy_pivots = numpy_core.solve_moments(families, products)
    assert (pivots < numpy_core.WELL_CONDITIONED).all()
    assert (numpy_pivots < numpy_core.WELL_CONDITIONED).all()


def test_nan_moments_give_nan_in_both() -> None:
    x = normal_rows(50, 3)
    x[7, 0] = np.nan
    families = family_table([np.array([2]), np.array([0, 2]), np.array([1, 2])])
    moments = native.family_moments(x, families, False)
    assert same_with_nan(
        np.isnan(moments[1]), np.isnan(numpy_core.family_moments(x, families, False)[1])
    )
    for ours, theirs in zip(
        native.solve_moments(families, moments[1]),
        numpy_core.solve_moments(families, moments[1]),
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
        theirs = numpy_core.batch_solutions(page, *span, families, extra_rows, centre)
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
        theirs = numpy_core.square_solutions(page, *span, families, sliding, centre)
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
    theirs = numpy_core.square_solutions(page, 0, 400, families, sliding, centre)[0]
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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_residuals_and_their_moments_agree(rows: int, columns: int, layout: str) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    families = random_families(columns, 20, seed=9)
    coefficients = np.random.default_rng(10).normal(size=len(families.parents))
    ours = native.residuals(x, families, coefficients)
    # Ten terms of size up to about 20.
    np.testing.assert_allclose(
        ours, numpy_core.residuals(x, families, coefficients), rtol=0, atol=200 * EPSILON
    )
    means, squares = native.residual_moments(x, families, coefficients)
    other_means, other_squares = numpy_core.residual_moments(x, families, coefficients)
    np.testing.assert_allclose(means, other_means, rtol=0, atol=200 * EPSILON)
    np.testing.assert_allclose(squares, other_squares, rtol=1e-12, atol=200 * rows * EPSILON)


def test_moments_of_constant_residuals_are_exactly_zero() -> None:
    x = np.full((1200, 1), 0.1)
    for kernels in (native, numpy_core):
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
    numpy_core.propagate(expected, topological, families, coefficients)
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
    for twin in (numpy_core, native):
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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_whole_columns_agree(rows: int, columns: int, layout: str) -> None:
    x = LAYOUTS[layout](normal_rows(rows, columns))
    found = native.whole_columns(x)
    assert found.dtype == np.float64
    assert rows < 2 or found.strides[0] == 8
    assert np.array_equal(found, numpy_robust.whole_columns(x))
