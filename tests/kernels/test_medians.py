"""Medians and splits of rows are exact, in NumPy and compiled."""

import numpy as np
import pytest
from tests.kernels.examples import LAYOUTS, normal_rows, same_with_nan

from gaussnet.kernels import numpy_medians
from gaussnet.types import FloatArray, IntArray

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")


def compiled_medians(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Median of each row, and how many values it is of."""
    medians, used = native.joined_medians([values[:, None]], None)
    return medians[:, 0], used


@pytest.mark.parametrize("kind", ["normal", "holes", "ties", "sorted", "mostly holes", "infinite"])
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
    elif kind != "normal":
        values[rng.random(values.shape) < (0.3 if kind == "holes" else 0.95)] = np.nan
    expected, expected_used = numpy_medians.row_medians(values.copy())
    medians, used = compiled_medians(values)
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
    medians, _ = compiled_medians(row[None])
    assert same_with_nan(medians, expected)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "float32" not in name])
def test_medians_do_not_depend_on_layout(layout: str) -> None:
    values = normal_rows(9, 101)
    medians, _ = compiled_medians(LAYOUTS[layout](values))
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


@pytest.mark.parametrize("kind", ["normal", "holes", "ties", "infinite", "zeros"])
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
    for own, other in zip(ours[:3], theirs[:3], strict=True):
        assert own.dtype == other.dtype
        assert same_with_nan(own, other)


def test_rows_to_split_lie_within_the_values() -> None:
    ends = np.zeros(1), np.ones(1)
    for starts in ([0, 6], [-1, 3], [4, 2]):
        with pytest.raises(ValueError, match="offsets fall or point outside"):
            native.split_rows(np.zeros(5), np.array(starts), *ends)
    nothing = native.split_rows(np.zeros(0), np.zeros(1, dtype=np.int64), *np.zeros((2, 0)))
    assert [len(part) for part in nothing[:3]] == [0, 0, 1]


def test_zeros_of_both_signs_have_the_median_zero() -> None:
    for row_medians in (compiled_medians, numpy_medians.row_medians):
        for count in (3, 4, 99, 5000):
            medians, _ = row_medians(np.full((1, count), -0.0))
            assert not np.signbit(medians[0])


def test_the_smallest_number_is_its_own_median() -> None:
    for row_medians in (compiled_medians, numpy_medians.row_medians):
        assert row_medians(np.full((1, 3), 5e-324))[0][0] == 5e-324


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
def test_medians_of_transformed_solutions_agree(size: int, counts: tuple[int, ...]) -> None:
    parts = solutions_in_parts(size, counts)
    transforms = np.triu(np.random.default_rng(13).normal(size=(4, size, size)))
    ours, used = native.joined_medians(parts, transforms)
    theirs, numpy_used = numpy_medians.joined_medians(parts, transforms)
    assert used.tolist() == numpy_used.tolist()
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


def test_parts_with_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="offsets fall or point outside"):
        native.joined_spreads([normal_rows(4, 5), normal_rows(3, 5)])
