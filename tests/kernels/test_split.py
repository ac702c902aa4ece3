"""Solutions and residuals split at the ends of brackets: compiled kernels and definitions agree."""

from itertools import product

import numpy as np
import pytest

from gaussnet.kernels import numpy_medians
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_medians import Ends, Split
from gaussnet.types import FloatArray

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")

# Fewer rows than lanes, a ragged end, several tiles; and a column that tiles are shorter for.
SHAPES = [(0, 9), (1, 9), (3, 9), (37, 14), (1100, 20), (300, 260)]
WINDOWS = list(product((False, True), (False, True)))


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


def rows_of(split: Split) -> list[FloatArray]:
    """The kept values of each row, sorted."""
    return [np.sort(part) for part in np.split(split.kept, split.starts[1:-1])]


def between_values(rows: list[FloatArray]) -> Ends:
    """Brackets of all kinds, none with an end at a value: so rounding moves nothing over it."""
    lows, highs = np.full((2, len(rows)), [[-np.inf], [np.inf]])
    for row, values in enumerate(rows):
        if len(values) > 3 and row % 4:
            lows[row] = values[len(values) // 3 : len(values) // 3 + 2].mean()
        if len(values) > 3 and row % 4 > 1:
            highs[row] = values[len(values) // 2 : len(values) // 2 + 2].mean()
        if row % 4 == 3:
            highs[row] = lows[row]
    return Ends(lows, highs, np.full(len(rows), 0.1))


def nowhere(rows: int) -> Ends:
    """Brackets that hold nothing."""
    return Ends(np.full(rows, np.nan), np.full(rows, np.nan), np.zeros(rows))


def runs_of(rows: int, stride: int) -> tuple[np.ndarray, int]:
    """A draw of the value in the middle of each run, but for the last runs."""
    firsts = stride * np.arange(-(-rows // stride))
    return firsts[firsts < rows - stride] + stride // 2, stride


def assert_split_alike(ours: Split, theirs: Split) -> None:
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_array_equal(ours.starts, theirs.starts)
    assert ours.kept.base is None  # no view that keeps a larger array alive
    # As the solutions themselves: a heavy tail of conditions times rounding.
    np.testing.assert_allclose(ours.kept, theirs.kept, rtol=1e-7, atol=1e-9)
    assert (ours.drawn is None) == (theirs.drawn is None)
    if ours.drawn is not None:
        np.testing.assert_allclose(ours.drawn, theirs.drawn, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("stride", [None, 1, 7, 64])
def test_solutions_are_split_alike(rows: int, columns: int, stride: int | None) -> None:
    page = np.random.default_rng(1).normal(size=(rows, columns))
    page = [page, np.asfortranarray(page), page.astype(np.float32)][(stride or 0) % 3]
    families = some_families(columns)
    transforms = random_triangles(families) if stride in (None, 7) else None
    draw = None if stride is None else runs_of(rows, stride)
    edges = len(families.parents)
    for sliding, centre in WINDOWS:
        for start, stop in ((0, rows), (rows // 3, rows // 2), (rows // 2, rows + 5)):
            asked = (page, start, stop, families, sliding, centre, transforms)
            whole = numpy_medians.split_solutions(*asked, Ends.open(edges), None)
            for ends in (Ends.open(edges), between_values(rows_of(whole)), nowhere(edges)):
                ours = native.split_solutions(*asked, ends, draw)
                assert_split_alike(ours, numpy_medians.split_solutions(*asked, ends, draw))


def test_split_solutions_have_the_bits_of_those_kept_whole() -> None:
    page = np.round(np.random.default_rng(9).normal(size=(1500, 20)), 1)  # ties, and singular
    families = some_families(20)
    for (sliding, centre), start in product(WINDOWS, (0, 100)):
        blocks = native.square_solutions(page, start, 1400, families, sliding, centre)
        rows = [row for block in blocks for family in block for row in family]
        ends = [np.sort(row[~np.isnan(row)])[[len(row) // 3, len(row) // 2]] for row in rows]
        lows, highs = np.array(ends).T.copy()
        highs[::5] = lows[::5]
        brackets = Ends(lows, highs, np.zeros(len(rows)))  # says nothing of how many are kept
        indices = np.arange(0, 1400, 64)
        asked = (page, start, 1400, families, sliding, centre, None, brackets, (indices, 64))
        split = native.split_solutions(*asked)
        assert split.drawn is not None
        lengths = [len(row) for row in rows]
        counts, kept, starts, _ = numpy_medians.split_rows(
            np.concatenate(rows), np.cumsum([0, *lengths]), lows, highs
        )
        assert counts[:, 1].any()
        assert counts[:, 2].any()
        np.testing.assert_array_equal(split.counts, counts)
        np.testing.assert_array_equal(split.kept, kept)
        np.testing.assert_array_equal(split.starts, starts)
        for row, drawn in zip(rows, split.drawn, strict=True):
            own = indices[indices < len(row)]
            np.testing.assert_array_equal(drawn[: len(own)], row[own])
            assert np.isnan(drawn[len(own) :]).all()


def test_transformed_solutions_have_the_bits_of_their_definition() -> None:
    page = np.random.default_rng(6).normal(size=(600, 20))
    families = some_families(20)
    solutions = native.square_solutions(page, 0, 600, families, False, False)
    rng, transforms, expected = np.random.default_rng(7), [], []
    for block in solutions:
        count, size, _ = block.shape
        own = np.triu(rng.normal(size=(count, size, size)))
        transforms.append(own.ravel())
        expected += [row for family in numpy_medians.transformed(own, block) for row in family]
    asked = (page, 0, 600, families, False, False, np.concatenate(transforms))
    split = native.split_solutions(*asked, Ends.open(len(families.parents)), None)
    for own, other in zip(rows_of(split), expected, strict=True):
        np.testing.assert_array_equal(own, np.sort(other[~np.isnan(other)]))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("stride", [None, 7])
def test_residuals_are_split_alike(
    rows: int, columns: int, centred: bool, stride: int | None
) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, columns))
    families = some_families(columns)
    centres = rng.normal(size=len(families)) if centred else None
    asked = (x, families, rng.normal(size=len(families.parents)), centres)
    draw = None if stride is None else runs_of(rows, stride)
    whole = numpy_medians.split_residuals(*asked, Ends.open(len(families)), None)
    for ends in (Ends.open(len(families)), between_values(rows_of(whole))):
        ours = native.split_residuals(*asked, ends, draw)
        assert_split_alike(ours, numpy_medians.split_residuals(*asked, ends, draw))


def test_split_residuals_have_the_bits_of_those_kept_whole() -> None:
    x = np.round(np.random.default_rng(3).normal(size=(1500, 20)), 1)
    families = some_families(20)
    coefficients = np.round(np.random.default_rng(4).normal(size=len(families.parents)))
    values = native.residuals(x, families, coefficients)
    lows, highs = np.quantile(values, [0.45, 0.55], axis=1, method="nearest")
    ends = Ends(lows, highs, np.zeros(len(families)))
    split = native.split_residuals(x, families, coefficients, None, ends, None)
    starts = values.shape[1] * np.arange(len(values) + 1)
    counts, kept, kept_starts, _ = numpy_medians.split_rows(values.ravel(), starts, lows, highs)
    assert counts[:, 1:3].all()
    np.testing.assert_array_equal(split.counts, counts)
    np.testing.assert_array_equal(split.kept, kept)
    np.testing.assert_array_equal(split.starts, kept_starts)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "integers", "constant"])
@pytest.mark.parametrize("lengths", [(), (0,), (1,), (5, 0, 2), (40, 700), (3000,)])
def test_values_of_ranks_are_exact(kind: str, lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    rows, parts, everything = 6, [], [[] for _ in range(6)]
    for length in lengths:
        values = {
            "normal": rng.normal(size=(rows, length)),
            "cauchy": rng.standard_cauchy((rows, length)),
            "integers": rng.integers(-3, 4, (rows, length)).astype(float),
            "constant": np.full((rows, length), 1.5),
        }[kind]
        for row in range(rows):
            everything[row] += values[row].tolist()
        parts.append((values.ravel(), length * np.arange(rows + 1)))
    count = sum(lengths)
    for low, high in ((0, 0), (count // 2 - 1, count // 2), (count // 4, 3 * count // 4), (-1, -1)):
        ranks = np.full(rows, low), np.full(rows, high)
        found = native.kept_ranks(parts, *ranks)
        np.testing.assert_array_equal(found, numpy_medians.kept_ranks(parts, *ranks))
        for row in range(rows):
            ordered = sorted(everything[row])
            for value, rank in ((found[0][row], low), (found[1][row], high)):
                expected = ordered[rank] if 0 <= rank < len(ordered) else np.nan
                np.testing.assert_array_equal(value, expected)


def test_runs_lie_within_the_kept_values() -> None:
    nothing = np.zeros(2, dtype=np.int64)
    for starts in ([0, 2, 4], [0, 3, 2], [-1, 1, 2], [0, 1], []):
        part = np.zeros(3), np.array(starts, dtype=np.int64)
        with pytest.raises(ValueError, match=r"offsets fall|expected"):
            native.kept_ranks([part], nothing, nothing)


def test_brackets_of_the_wrong_number_are_refused() -> None:
    x, families = np.zeros((10, 20)), some_families(20)
    none = np.zeros(len(families.parents))
    for size in (len(families) - 1, len(families) + 1):
        with pytest.raises(ValueError, match="expected"):
            native.split_residuals(x, families, none, None, Ends.open(size), None)


def test_a_draw_without_a_stride_is_refused() -> None:
    page, families = np.zeros((10, 20)), some_families(20)
    ends, indices = Ends.open(len(families.parents)), np.zeros(1, dtype=np.int64)
    for stride in (0, -64):
        asked = (page, 0, 10, families, False, False, None, ends, (indices, stride))
        with pytest.raises(ValueError, match=r"contradict|negative"):
            native.split_solutions(*asked)


def test_a_thread_uses_its_memory_again_unless_it_is_large() -> None:
    first = native._scratch(1000)
    assert native._scratch(900) is first
    large = native._scratch(native.MOST_RETAINED + 1)
    assert native._scratch(native.MOST_RETAINED + 1) is not large
