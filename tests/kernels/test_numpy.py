"""The NumPy kernels against loops that a reader can check by eye."""

import itertools

import numpy as np
import pytest

from gaussnet.kernels import numpy_core, numpy_medians
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray, IntArray


def family_table(columns: list[list[int]]) -> Families:
    """Families given by their columns, child last."""
    offsets = np.concatenate(([0], np.cumsum([len(own) - 1 for own in columns]))).astype(np.int64)
    children = np.array([own[-1] for own in columns], dtype=np.int64)
    parents = np.array([parent for own in columns for parent in own[:-1]], dtype=np.int64)
    return Families(children, offsets, parents)


SMALL = family_table([[4], [0, 3], [5, 1], [2, 4, 0], [0, 1, 2, 3]])
WIDE = family_table([[280], [0, 3], [2, 290, 0], [0, 251, 2, 299]])


def normal_rows(rows: int, columns: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(rows, columns)) + 3.0


def columns_of(families: Families, family: int) -> IntArray:
    return families.columns[families.column_offsets[family] : families.column_offsets[family + 1]]


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize(("families", "columns"), [(SMALL, 6), (WIDE, 300)])
@pytest.mark.parametrize("rows", [0, 1, 90])
def test_moments_are_sums_of_products(
    rows: int, columns: int, families: Families, centre: bool
) -> None:
    x = normal_rows(rows, columns)
    means, products = numpy_core.family_moments(x, families, centre)
    for family in range(len(families)):
        own = x[:, columns_of(families, family)]
        mean = own.mean(axis=0) if centre and rows else np.zeros(own.shape[1])
        gram = (own - mean).T @ (own - mean)
        start, stop = families.product_offsets[family : family + 2]
        # Sums of 90 products below about 50.
        np.testing.assert_allclose(
            products[start:stop], gram[np.tril_indices(len(gram))], rtol=0, atol=1e-11
        )
        start, stop = families.column_offsets[family : family + 2]
        np.testing.assert_allclose(means[start:stop], mean, rtol=1e-14)


@pytest.mark.parametrize("centre", [False, True])
def test_solved_moments_are_least_squares(centre: bool) -> None:
    x = normal_rows(90, 6)
    _, products = numpy_core.family_moments(x, SMALL, centre)
    coefficients, squares, pivots = numpy_core.solve_moments(SMALL, products)
    data = x - x.mean(axis=0) if centre else x
    for family in range(len(SMALL)):
        *parents, child = columns_of(SMALL, family)
        start, stop = SMALL.offsets[family : family + 2]
        expected = np.linalg.lstsq(data[:, parents], data[:, child], rcond=None)[0]
        rest = data[:, child] - data[:, parents] @ expected
        # A mean of 3 at spread 1 makes the condition about 100.
        np.testing.assert_allclose(coefficients[start:stop], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(squares[family], rest @ rest, rtol=1e-11)
    assert pivots[0] == np.inf
    assert (pivots[1:] > 1e-3).all()


def test_a_pivot_is_what_earlier_columns_leave_of_a_column() -> None:
    first, noise = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    x = np.column_stack((first, first + 0.1 * noise, np.array([0.0, 0.0, 2.0])))
    families = family_table([[0, 1, 2]])
    _, products = numpy_core.family_moments(x, families, False)
    _, _, pivots = numpy_core.solve_moments(families, products)
    np.testing.assert_allclose(pivots, 0.01 / 1.01, rtol=1e-13)


def batch_by_batch(page: FloatArray, family: IntArray, height: int, centre: bool) -> FloatArray:
    *parents, child = family
    found = []
    for first in range(0, len(page) - height + 1, height):
        rows = page[first : first + height]
        rows = rows - rows.mean(axis=0) if centre else rows
        found.append(np.linalg.lstsq(rows[:, parents], rows[:, child], rcond=None)[0])
    return np.array(found).reshape(-1, len(parents)).T


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 20, 203])
def test_batches_are_least_squares_of_their_rows(rows: int, centre: bool) -> None:
    page = normal_rows(rows, 6)
    solutions = numpy_core.batch_solutions(page, 0, rows, SMALL, 10, centre)
    assert [own.shape[:2] for own in solutions] == [(2, 1), (1, 2), (1, 3)]
    flat = [own for block in solutions for own in block]
    for family, own in enumerate(flat, start=1):
        size = int(SMALL.sizes[family])
        columns = columns_of(SMALL, family)
        expected = batch_by_batch(page, columns, size + 10 + centre, centre)
        # Batches of 11 to 14 rows: the condition of the products is below 1e5.
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-9)


def test_a_child_without_noise_is_solved_in_every_batch() -> None:
    page = normal_rows(100, 6)
    page[:, 3] = 2.0 * page[:, 0]
    solutions = numpy_core.batch_solutions(page, 0, 100, SMALL, 4, False)
    np.testing.assert_allclose(solutions[0][0], 2.0, rtol=1e-12)


def test_batches_with_dependent_parents_are_nan() -> None:
    page = normal_rows(100, 6)
    page[:, 4] = page[:, 2]
    page[:, 0] = 7.0
    solutions = numpy_core.batch_solutions(page, 0, 100, SMALL, 4, True)
    assert np.isnan(solutions[0][0]).all()  # a constant parent, centred
    assert not np.isnan(solutions[0][1]).any()
    assert np.isnan(solutions[1]).all()


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("sliding", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 3, 61])
def test_square_systems_reproduce_their_rows(rows: int, sliding: bool, centre: bool) -> None:
    page = normal_rows(rows, 6)
    solutions = numpy_core.square_solutions(page, 0, rows, SMALL, sliding, centre)
    flat = [own for block in solutions for own in block]
    assert len(flat) == len(SMALL) - 1
    for family, own in enumerate(flat, start=1):
        *parents, child = columns_of(SMALL, family)
        height = len(parents) + centre
        starts = range(0, max(rows - height + 1, 0), 1 if sliding else height)
        assert own.shape == (len(parents), len(starts))
        for window, first in enumerate(starts):
            window_rows = page[first : first + height]
            if centre:
                window_rows = window_rows[1:] - window_rows[0]
            left = window_rows[:, parents] @ own[:, window]
            # Elimination leaves a residual of rounding times the size of the solution.
            atol = 1e-13 * (1.0 + np.abs(own[:, window]).max())
            np.testing.assert_allclose(left, window_rows[:, child], rtol=0, atol=atol)


def test_a_singular_window_is_nan_and_its_neighbours_are_not() -> None:
    page = normal_rows(40, 6)
    page[8, [2, 4]] = 0.0  # rows 8 and 9 are one window of the family with parents 2 and 4
    solutions = numpy_core.square_solutions(page, 0, 40, SMALL, False, False)
    assert np.flatnonzero(np.isnan(solutions[1][0, 0])).tolist() == [4]
    page[8, 2] = np.nan
    solutions = numpy_core.square_solutions(page, 0, 40, SMALL, False, False)
    assert np.flatnonzero(np.isnan(solutions[1][0]).all(axis=0)).tolist() == [4]


@pytest.mark.parametrize("sliding", [False, True])
def test_cutting_the_page_shares_out_the_windows(sliding: bool) -> None:
    page = normal_rows(50, 6)
    cuts = [0, 7, 8, 30, 50]
    whole = numpy_core.square_solutions(page, 0, 50, SMALL, sliding, True)
    parts = [
        numpy_core.square_solutions(page, *span, SMALL, sliding, True)
        for span in itertools.pairwise(cuts)
    ]
    for block, own in enumerate(whole):
        joined = np.concatenate([part[block] for part in parts], axis=2)
        assert np.array_equal(joined, own)


def test_medians_leave_nan_out() -> None:
    values = np.array(
        [[3.0, 1.0, 2.0, 10.0], [np.nan, 1.0, 5.0, np.nan], [4.0, np.nan, -1.0, 2.0], [np.nan] * 4]
    )
    medians, used = numpy_medians.row_medians(values)
    np.testing.assert_array_equal(medians, [2.5, 3.0, 2.0, np.nan])
    assert used.tolist() == [4, 2, 3, 0]


def test_medians_of_no_values_are_nan() -> None:
    medians, used = numpy_medians.row_medians(np.empty((3, 0)))
    assert np.isnan(medians).all()
    assert used.tolist() == [0, 0, 0]


def test_residuals_subtract_the_parents() -> None:
    x = normal_rows(30, 6)
    coefficients = np.arange(1.0, len(SMALL.parents) + 1.0)
    out = numpy_core.residuals(x, SMALL, coefficients)
    for family in range(len(SMALL)):
        *parents, child = columns_of(SMALL, family)
        own = coefficients[SMALL.offsets[family] : SMALL.offsets[family + 1]]
        np.testing.assert_allclose(out[family], x[:, child] - x[:, parents] @ own, atol=1e-12)


def test_propagated_rows_have_their_noise_as_residuals() -> None:
    families = family_table([[0], [0, 1], [0, 1, 2]])
    coefficients = np.array([0.5, 2.0, -1.0])
    noise = normal_rows(30, 3)
    rows = noise.copy()
    numpy_core.propagate(rows, np.array([0, 1, 2]), families, coefficients)
    np.testing.assert_allclose(
        numpy_core.residuals(rows, families, coefficients), noise.T, atol=1e-13
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_found(bad: float) -> None:
    x = normal_rows(30, 6)
    assert numpy_core.all_finite(x)
    assert numpy_core.all_finite(x[:0])
    x[29, 5] = bad
    assert not numpy_core.all_finite(x)
