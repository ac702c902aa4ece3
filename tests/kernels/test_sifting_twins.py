"""The compiled kernels that sift agree with their definitions in NumPy."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gaussnet.kernels import (
    numpy_medians,
)
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_medians import Sieve, Sifted
from gaussnet.types import FloatArray

if os.environ.get("GAUSSNET_KERNELS") == "numpy":
    pytest.skip("the compiled kernels are switched off", allow_module_level=True)
from gaussnet.kernels import _native, native, native as native_sifting

# Fewer rows than lanes, a ragged end, several tiles; and a column that tiles are shorter for.
SHAPES = [(0, 9), (1, 9), (3, 9), (37, 14), (1100, 20), (300, 260)]


@pytest.fixture(params=_native.builds(), autouse=True)
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every build that this processor can run, one after the other."""
    _native.use_build(request.param)
    yield request.param
    _native.use_build(_native.builds()[0])


def some_families(columns: int, count: int = 11) -> Families:
    rng = np.random.default_rng(columns)
    sizes = np.sort(rng.integers(0, min(8, columns - 1) + 1, count))
    chosen = [rng.permutation(columns)[: size + 1] for size in sizes]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    children = np.array([own[-1] for own in chosen])
    return Families(children, offsets, np.concatenate([own[:-1] for own in chosen]))


def random_triangles(families: Families) -> FloatArray:
    rng = np.random.default_rng(2)
    sizes = families.sizes.tolist()
    return np.concatenate([np.triu(rng.normal(size=(size, size))).ravel() for size in sizes])


def rows_of(sifted: Sifted) -> list[FloatArray]:
    """The kept values of each row, sorted."""
    rows = len(sifted.below)
    runs = np.split(sifted.kept, sifted.starts[1:-1]) if len(sifted.starts) > 1 else []
    return [np.sort(np.concatenate([np.zeros(0), *runs[row::rows]])) for row in range(rows)]


def brackets(rows: list[FloatArray]) -> Sieve:
    """Brackets of all kinds, none with an end at a value: so rounding moves nothing over it."""
    lows, highs = np.full((2, len(rows)), [[-np.inf], [np.inf]])
    for row, values in enumerate(rows):
        if len(values) > 3 and row % 4:
            lows[row] = values[len(values) // 3 : len(values) // 3 + 2].mean()
        if len(values) > 3 and row % 4 > 1:
            highs[row] = values[len(values) // 2 : len(values) // 2 + 2].mean()
        if row % 4 == 3:
            highs[row] = lows[row]
    return Sieve(lows, highs, np.full(len(rows), 0.1))


def assert_sifted_alike(ours: Sifted, theirs: Sifted) -> None:
    np.testing.assert_array_equal(ours.below, theirs.below)
    np.testing.assert_array_equal(ours.above, theirs.above)
    for own, other in zip(rows_of(ours), rows_of(theirs), strict=True):
        assert len(own) == len(other)
        # As the solutions themselves: a heavy tail of conditions times rounding.
        np.testing.assert_allclose(own, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("turned", [False, True])
def test_solutions_are_sifted_alike(rows: int, columns: int, turned: bool) -> None:
    page = np.random.default_rng(1).normal(size=(rows, columns))
    families = some_families(columns)
    turns = random_triangles(families) if turned else None
    for windows in product((False, True), (False, True)):
        for start, stop in ((0, rows), (rows // 3, rows // 2), (rows // 2, rows + 5)):
            stripe = (page, start, stop)
            everything = Sieve.open(len(families.parents))
            whole = numpy_medians.sift_solutions(stripe, families, windows, turns, everything)
            for sieve in (everything, brackets(rows_of(whole))):
                asked = (stripe, families, windows, turns, sieve)
                ours = native_sifting.sift_solutions(*asked)
                assert_sifted_alike(ours, numpy_medians.sift_solutions(*asked))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("stride", [1, 7, 64])
def test_solutions_are_split_and_drawn_alike(rows: int, columns: int, stride: int) -> None:
    page = np.random.default_rng(8).normal(size=(rows, columns))
    page = [page, np.asfortranarray(page), page.astype(np.float32)][stride % 3]
    families = some_families(columns)
    turns = random_triangles(families) if stride == 7 else None
    for windows in product((False, True), (False, True)):
        everything = Sieve.open(len(families.parents))
        whole = numpy_medians.sift_solutions((page, 0, rows), families, windows, turns, everything)
        places = stride * np.arange(-(-rows // stride))
        places = places[places < rows - stride] + stride // 2
        nowhere = np.full(len(families.parents), np.nan)
        nothing = replace(everything, lows=nowhere, highs=nowhere)
        for sieve in (everything, brackets(rows_of(whole)), nothing):
            asked = (page, families, windows, turns, sieve, (places, stride))
            ours = native_sifting.split_solutions(*asked)
            theirs = numpy_medians.split_solutions(*asked)
            np.testing.assert_array_equal(ours.counts, theirs.counts)
            np.testing.assert_array_equal(ours.starts, theirs.starts)
            assert ours.kept.base is None  # no view that keeps a larger array alive
            np.testing.assert_allclose(ours.kept, theirs.kept, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(ours.drawn, theirs.drawn, rtol=1e-7, atol=1e-9)


def test_split_solutions_are_those_that_are_kept_whole() -> None:
    page = np.round(np.random.default_rng(9).normal(size=(1500, 20)), 1)  # ties, and singular
    families = some_families(20)
    for windows in product((False, True), (False, True)):
        blocks = native.square_solutions(page, 0, 1500, families, *windows)
        rows = [row for block in blocks for family in block for row in family]
        ends = [np.sort(row[~np.isnan(row)])[[len(row) // 3, len(row) // 2]] for row in rows]
        lows, highs = np.array(ends).T.copy()
        highs[::5] = lows[::5]
        sieve = Sieve(lows, highs, np.zeros(len(rows)))  # says nothing of how many are kept
        places = np.arange(0, 1500, 64)
        split = native_sifting.split_solutions(page, families, windows, None, sieve, (places, 64))
        lengths = [len(row) for row in rows]
        counts, _, kept, starts = numpy_medians.split_rows(
            np.concatenate(rows), np.cumsum([0, *lengths]), lows, highs
        )
        assert counts[:, 1].any()
        assert counts[:, 2].any()
        np.testing.assert_array_equal(split.counts, counts)
        np.testing.assert_array_equal(split.kept, kept)
        np.testing.assert_array_equal(split.starts, starts)
        for row, drawn in zip(rows, split.drawn, strict=True):
            own = places[places < len(row)]
            np.testing.assert_array_equal(drawn[: len(own)], row[own])
            assert np.isnan(drawn[len(own) :]).all()


def test_a_draw_without_a_stride_or_of_the_wrong_size_is_refused() -> None:
    page, families = np.zeros((10, 20)), some_families(20)
    flat = native_sifting.flat_families(families)
    edges, nothing = len(families.parents), np.zeros(1, dtype=np.int64)
    below, above = np.zeros((2, edges), dtype=np.int64)
    sieve = (*np.zeros((2, edges)), below, above, np.zeros(99), np.zeros(edges + 1, dtype=np.int64))
    for stride, values in ((0, edges), (-64, edges), (64, edges - 1)):
        draw = (nothing, stride, np.zeros(values))
        with pytest.raises(ValueError, match=r"stride|expected"):
            _native.sift_solutions(page, flat, 0, 10, False, False, None, draw, sieve)


def test_sifted_solutions_are_those_that_are_kept_whole() -> None:
    page = np.random.default_rng(3).normal(size=(1500, 20))
    families = some_families(20)
    for windows in product((False, True), (False, True)):
        solutions = native.square_solutions(page, 100, 1400, families, *windows)
        everything = Sieve.open(len(families.parents))
        sifted = native_sifting.sift_solutions(
            (page, 100, 1400), families, windows, None, everything
        )
        rows = [row for block in solutions for family in block for row in family]
        for own, other in zip(rows_of(sifted), rows, strict=True):
            np.testing.assert_array_equal(own, np.sort(other[~np.isnan(other)]))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("centred", [False, True])
def test_residuals_are_sifted_alike(rows: int, columns: int, centred: bool) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, columns))
    families = some_families(columns)
    coefficients = rng.normal(size=len(families.parents))
    centres = rng.normal(size=len(families)) if centred else None
    everything = Sieve.open(len(families))
    whole = numpy_medians.sift_residuals(x, families, coefficients, centres, everything)
    for sieve in (everything, brackets(rows_of(whole))):
        asked = (x, families, coefficients, centres, sieve)
        ours = native_sifting.sift_residuals(*asked)
        assert_sifted_alike(ours, numpy_medians.sift_residuals(*asked))


@pytest.mark.parametrize("kind", ["normal", "cauchy", "integers", "constant"])
@pytest.mark.parametrize("lengths", [(0,), (1,), (5, 0, 2), (40, 700), (3000,)])
def test_values_of_ranks_are_exact(kind: str, lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    rows, parts, everything = 6, [], [[] for _ in range(6)]
    for length in lengths:
        values = {
            "normal": rng.normal(size=(2, rows, length)),
            "cauchy": rng.standard_cauchy((2, rows, length)),
            "integers": rng.integers(-3, 4, (2, rows, length)).astype(float),
            "constant": np.full((2, rows, length), 1.5),
        }[kind]
        for row in range(rows):
            everything[row] += values[:, row].ravel().tolist()
        starts = length * np.arange(2 * rows + 1)
        nothing = np.zeros(rows, dtype=np.int64)
        parts.append(Sifted(nothing, nothing, values.ravel(), starts))
    count = 2 * sum(lengths)
    for low, high in ((0, 0), (count // 2 - 1, count // 2), (count // 4, 3 * count // 4), (-1, -1)):
        ranks = np.full(rows, low), np.full(rows, high)
        found = native_sifting.sifted_ranks(parts, *ranks)
        theirs = numpy_medians.sifted_ranks(parts, *ranks)
        np.testing.assert_array_equal(found, theirs)
        for row in range(rows):
            ordered = sorted(everything[row])
            for value, rank in ((found[0][row], low), (found[1][row], high)):
                expected = ordered[rank] if 0 <= rank < len(ordered) else np.nan
                np.testing.assert_array_equal(value, expected)


def test_runs_lie_within_the_kept_values() -> None:
    nothing = np.zeros(2, dtype=np.int64)
    for starts in ([0, 2, 4], [0, 3, 2], [-1, 1, 2], [0, 1], []):
        part = Sifted(nothing, nothing, np.zeros(3), np.array(starts, dtype=np.int64))
        with pytest.raises(ValueError, match="runs point outside"):
            native_sifting.sifted_ranks([part], nothing, nothing)


def test_a_sieve_of_the_wrong_size_is_refused() -> None:
    x, families = np.zeros((10, 20)), some_families(20)
    for size in (len(families) - 1, len(families) + 1):
        with pytest.raises(ValueError, match="expected"):
            native_sifting.sift_residuals(
                x, families, np.zeros(len(families.parents)), None, Sieve.open(size)
            )


def test_turned_solutions_have_the_bits_of_their_definition() -> None:
    page = np.random.default_rng(6).normal(size=(600, 20))
    families = some_families(20)
    solutions = native.square_solutions(page, 0, 600, families, False, False)
    rng, turns, expected = np.random.default_rng(7), [], []
    for block in solutions:
        count, size, _ = block.shape
        own = np.triu(rng.normal(size=(count, size, size)))
        turns.append(own.ravel())
        expected += [row for family in numpy_medians.turned(own, block) for row in family]
    asked = ((page, 0, 600), families, (False, False), np.concatenate(turns))
    sifted = native_sifting.sift_solutions(*asked, Sieve.open(len(families.parents)))
    for own, other in zip(rows_of(sifted), expected, strict=True):
        np.testing.assert_array_equal(own, np.sort(other[~np.isnan(other)]))
