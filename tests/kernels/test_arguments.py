"""No argument makes a compiled kernel touch memory that is not its own.

The arguments are made from the signatures of the kernels, so a new kernel is tested too.
"""

from typing import Any

import numpy as np
import pytest
from tests.kernels.examples import family_table, normal_rows

native = pytest.importorskip("gaussnet.kernels.native")
_native = native._native
pytestmark = pytest.mark.usefixtures("build")

NAMES = [name for name in dir(_native) if name[0] != "_" and "[" in getattr(_native, name).__doc__]
FAMILIES = family_table([np.array([0]), np.array([0, 1]), np.array([0, 1, 2])])
ROWS, COLUMNS = 7, 3
SIZES = {"R": ROWS, "C": COLUMNS, "F": 3, "E": 3, "P": 10, "S": 5, "T": 1}
FREE = {"N": 2, "M": 0, "K": 4, "L": 1, "J": 2, "Q": 9}
SINGLE: dict[str, Any] = {
    "x": normal_rows(ROWS, COLUMNS),
    "X": normal_rows(ROWS, COLUMNS),
    "c": np.asfortranarray(normal_rows(ROWS, COLUMNS)),
    "r": normal_rows(ROWS, COLUMNS),
    "f": native.flat_families(FAMILIES),
    "g": native.flat_families(FAMILIES),
    "w": (0, ROWS, False, False),
    "v": (0, ROWS, 1, False),
    "p": True,
    "s": 0.5,
}
SOLUTIONS = {"w": 7 + 2 * 3, "v": 3 + 2 * 2}
TYPES = {"d": np.float64, "i": np.int64, "j": np.int64, "o": np.int64, "b": np.uint8}


def tokens_of(name: str) -> list[str]:
    """The signature of each argument."""
    return str(getattr(_native, name).__doc__).replace("->", "").split()


def length_of(expression: str, sizes: dict[str, int]) -> int:
    """The length that an expression such as ET+1 or 4,F stands for."""
    total = 0
    for term in expression.split("+"):
        product = 1
        for letter in term.replace(",", ""):
            product *= int(letter) if letter.isdigit() else sizes[letter]
        total += product
    return total


def argument(token: str, sizes: dict[str, int]) -> Any:
    """A sound argument of this signature."""
    if token[0] == "n":
        return sizes.get(token[1:], 1)
    if token[0] == "l":
        return [(np.zeros(5), np.zeros(length_of(token[2:-1], sizes), dtype=np.int64))]
    if token in SINGLE:
        return SINGLE[token]
    kind, expression = token.lstrip("?")[0], token.lstrip("?")[2:-1].split(";")[0]
    return np.zeros(length_of(expression, sizes), dtype=TYPES[kind.lower()])


def sound_arguments(name: str) -> list[Any]:
    """Arguments that the kernel takes."""
    tokens = tokens_of(name)
    windows = next((SOLUTIONS[token] for token in tokens if token in SOLUTIONS), 0)
    return [argument(token, SIZES | FREE | {"W": windows}) for token in tokens]


def is_bound(name: str, position: int) -> bool:
    """Whether the length of an array is told by another argument too."""
    tokens = tokens_of(name)
    letters = set(filter(str.isalpha, tokens[position].lstrip("?")[1:]))
    rest = (token.lstrip("?")[1:].split(";")[0] for k, token in enumerate(tokens) if k != position)
    others = "".join(rest)
    return all(letter in SIZES or letter == "W" or letter in others for letter in letters)


ARRAYS = [
    (name, position)
    for name in NAMES
    for position, token in enumerate(tokens_of(name))
    if "[" in token and token[0] != "l"
]


@pytest.mark.parametrize("name", NAMES)
def test_sound_arguments_are_taken(name: str) -> None:
    assert getattr(_native, name)(*sound_arguments(name)) >= 0


@pytest.mark.parametrize("name", NAMES)
def test_too_few_and_too_many_arguments_are_refused(name: str) -> None:
    given = sound_arguments(name)
    with pytest.raises((IndexError, ValueError)):
        getattr(_native, name)(*given[:-1])
    with pytest.raises(ValueError, match="too many"):
        getattr(_native, name)(*given, given[-1])


@pytest.mark.parametrize(("name", "position"), ARRAYS)
def test_arrays_of_another_length_or_type_are_refused(name: str, position: int) -> None:
    given = sound_arguments(name)
    array = given[position]
    given[position] = array.astype(np.float32)
    with pytest.raises(TypeError, match="expected an array"):
        getattr(_native, name)(*given)
    for other in (array[:-1].copy(), np.append(array, array[-1:]), np.empty(0, array.dtype)):
        given[position] = other
        if len(other) != len(array) and is_bound(name, position):
            with pytest.raises(ValueError, match=r"expected|contradict|outside"):
                getattr(_native, name)(*given)


PAIRS = [
    (name, written, other)
    for name, written in ARRAYS
    if tokens_of(name)[written].lstrip("?")[0] in "DIB"
    for same, other in ARRAYS
    if same == name and other != written
]


@pytest.mark.parametrize(("name", "written", "other"), PAIRS)
def test_what_is_written_shares_no_memory_with_other_arguments(
    name: str, written: int, other: int
) -> None:
    given = sound_arguments(name)
    first, second = given[written], given[other]
    if first.dtype != second.dtype or not (len(first) and len(second)):
        return
    memory = np.zeros(len(first) + len(second), dtype=first.dtype)
    given[written], given[other] = memory[: len(first)], memory[len(first) :]
    assert getattr(_native, name)(*given) >= 0  # side by side
    memory[:] = 0
    given[other] = memory[len(first) - 1 : -1]
    with pytest.raises(ValueError, match="shares memory"):
        getattr(_native, name)(*given)


def test_rows_written_in_place_share_no_memory_with_indices() -> None:
    memory = np.zeros(ROWS * COLUMNS + 2)
    given = sound_arguments("propagate")
    given[0] = memory[:-2].reshape(ROWS, COLUMNS)[::-1]
    assert _native.propagate(*given) >= 0
    for start in (0, 7, ROWS * COLUMNS - 1):
        given[2] = memory.view(np.int64)[start : start + 2]
        memory[:] = 0.0
        with pytest.raises(ValueError, match="shares memory"):
            _native.propagate(*given)


@pytest.mark.parametrize("name", ["propagate", "learn_nodes", "find_cells"])
@pytest.mark.parametrize("bad", [-1, 3, 2**62, -(2**63)])
def test_indices_that_point_outside_are_refused(name: str, bad: int) -> None:
    given = sound_arguments(name)
    position = next(k for k, token in enumerate(tokens_of(name)) if token[0] == "j")
    given[position][0] = bad
    with pytest.raises(ValueError, match="indices point outside"):
        getattr(_native, name)(*given)


@pytest.mark.parametrize("name", ["split_rows", "joined_runs"])
@pytest.mark.parametrize("starts", [[0, 3, 2], [-1, 0, 0], [0, 0, 5], [2**62, 0, 4]])
def test_offsets_that_fall_or_point_outside_are_refused(name: str, starts: list[int]) -> None:
    given = sound_arguments(name)
    given[1] = np.array(starts)
    with pytest.raises(ValueError, match="offsets fall or point outside"):
        getattr(_native, name)(*given)


LARGE = 2**63 - 1


@pytest.mark.parametrize("windows", [(0, LARGE), (LARGE, LARGE), (LARGE, 0), (3, LARGE)])
@pytest.mark.parametrize("flags", [(False, False), (True, True), (True, False)])
def test_windows_end_with_the_page(
    windows: tuple[int, int], flags: tuple[bool, bool], build: str
) -> None:
    page = normal_rows(50, COLUMNS)
    found = native.square_solutions(page, *windows, FAMILIES, *flags)
    expected = native.square_solutions(page, *np.minimum(windows, 50).tolist(), FAMILIES, *flags)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("extra_rows", [44, LARGE - 10, LARGE // 8, LARGE])
def test_batches_that_are_longer_than_the_page_are_none(extra_rows: int) -> None:
    given = [normal_rows(40, COLUMNS), native.flat_families(FAMILIES), (0, LARGE, extra_rows, True)]
    assert _native.batch_solutions(*given, np.empty(0)) == 0
    with pytest.raises(ValueError, match="expected 0 values"):
        _native.batch_solutions(*given, np.empty(1))


@pytest.mark.parametrize("windows", [(-1, 5, 0, False), (0, -1, 0, False), (0, 5, -1, False)])
def test_windows_begin_with_the_page(windows: tuple[int, int, int, bool]) -> None:
    given = [normal_rows(40, COLUMNS), native.flat_families(FAMILIES), windows]
    with pytest.raises(ValueError, match="at least 0"):
        _native.batch_solutions(*given, np.empty(0))


def test_ranks_of_any_size_are_taken() -> None:
    parts = [(np.arange(4.0), np.array([0, 4]))]
    for low in (-(2**63), -1, 0, 3, 4, LARGE):
        for high in (-(2**63), -1, 0, 3, 4, LARGE):
            ranks = np.array([low]), np.array([high])
            at_low, at_high = native.kept_ranks(parts, *ranks)
            for found, rank in ((at_low, low), (at_high, high)):
                np.testing.assert_array_equal(found, [rank if 0 <= rank < 4 else np.nan])


@pytest.mark.parametrize(("count", "size"), [(2**32, 2**32), (2**47, 2**47), (3, 0), (-1, 1)])
def test_triangles_whose_number_no_array_has_are_refused(count: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"expected|contradict|negative"):
        _native.solve_triangles(count, size, np.empty(0), np.empty(0), np.empty(0))


def test_tables_whose_cells_point_outside_are_refused() -> None:
    for name, first in (("learn_nodes", 12), ("list_parents", 1), ("find_cells", 0)):
        for bounds in ([0, 0, 0, 5, 0, 0], [0, 0, -1, 0, 0, 0], [2, 0, 0, 1, 0, 0]):
            given = sound_arguments(name)
            given[first][:6] = bounds
            with pytest.raises(ValueError, match="contradict"):
                getattr(_native, name)(*given)
    for name, first in (("learn_nodes", 12), ("list_parents", 1)):
        for row in (-1, ROWS, 2**62):
            given = sound_arguments(name)
            given[first][3:6] = 1
            given[first + 1][0] = row
            with pytest.raises(ValueError, match="contradict"):
                getattr(_native, name)(*given)


def test_a_walk_without_rows_is_left_to_the_caller() -> None:
    given = sound_arguments("learn_nodes")
    given[0] = np.zeros((0, COLUMNS), order="F")
    given[2][:] = 2
    assert _native.learn_nodes(*given) == 0
    assert given[-1].tolist() == [0, 0, 0, 0]


def test_a_screen_of_families_that_are_not_there_is_refused() -> None:
    given = sound_arguments("screen_families")
    for part in ((0, 4), (4, 5), (0, 2**40)):
        given[2:4] = part
        with pytest.raises(ValueError, match="contradict"):
            _native.screen_families(*given)


def test_a_precision_without_its_diagonal_is_no_place_for_products() -> None:
    memory = np.full(3, 7.0)
    # Of the laws of wrong values only the column's own errors are there, of variance 9.
    laws = [1.0, -700.0, 0.0, 0.0, 9.0, -700.0, 1.0, -700.0, 0.0, 1.0]
    none = np.zeros(0, dtype=np.int64)
    given = [
        np.array([[2.0]]), (np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), none),
        np.zeros(0), np.ones(1), np.zeros(1), np.ones(1),
        np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(0),
        np.array([-6.0, 1.0, *laws]), np.log([1e-2, 1e-9]), 0.0, None, 0.0,
        np.zeros(1, dtype=np.uint8), np.empty(1), np.empty(1), None, np.zeros(1), memory[1:2],
        np.empty(1), np.zeros(0), np.empty(8), None,
    ]  # fmt: skip
    assert _native.mixture_moments(*given) == 0
    assert 0.0 < given[-6][0] < 0.05  # in slight doubt, which is counted where there is a place
    np.testing.assert_array_equal(memory, [7.0, 0.0, 7.0])
