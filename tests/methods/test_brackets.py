"""Medians of a stream are those of its sorted values, to the last bit, however it is cut."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.methods.streams import STREAMS, fold_of, sorted_median, tree_merge

from gaussnet import kernels
from gaussnet.kernels.threads import merge_in_order
from gaussnet.methods.medians import brackets as rooms, recounts
from gaussnet.methods.medians.brackets import Brackets, default_room
from gaussnet.methods.medians.recounts import FirstPass, Pass, find_medians
from gaussnet.methods.medians.samples import MOST_PARTS, Ragged
from gaussnet.types import FloatArray

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]


def expected_medians(values: FloatArray) -> FloatArray:
    return np.array([sorted_median(row) for row in values])


def same_bits(left: FloatArray, right: FloatArray) -> bool:
    """Equal in every bit; all NaN are alike."""
    return np.array_equal(left, right, equal_nan=True) and np.array_equal(
        np.signbit(left[~np.isnan(left)]), np.signbit(right[~np.isnan(right)])
    )


@contextmanager
def little_room(width: float = 1.0, limit: int = 8) -> Iterator[None]:
    """Brackets and recounts that keep next to nothing, so that a few values overflow them."""
    with (
        patch.object(rooms, "WIDTH", width),
        patch.object(recounts, "LARGEST_LIMIT", limit),
        patch.object(recounts, "SMALLEST_LIMIT", limit),
    ):
        yield


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1_000, 4_097, 60_000])
@pytest.mark.parametrize("learning", [(), (1, 4, 16)], ids=["alone", "after others"])
def test_streamed_medians_are_the_sorted_medians(
    kind: str, count: int, learning: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(count)
    values = np.stack([STREAMS[kind](count, rng) for _ in range(3)])
    pages = np.arange(1_000, count, 1_000).tolist()
    with little_room(width=4.0, limit=2_000):
        found, passes = find_medians(fold_of(values, pages, learning=learning), room=500)
    assert found.proven.all()
    assert not found.rank_errors.any()
    assert same_bits(found.values, expected_medians(values))
    assert found.used.tolist() == np.count_nonzero(~np.isnan(values), axis=1).tolist()
    assert passes <= 3


@pytest.mark.parametrize("kind", ["random", "ties", "holes", "constant", "two clusters"])
@pytest.mark.parametrize("learning", [(), (1, 4, 16)], ids=["alone", "after others"])
def test_exchangeable_rows_take_one_pass(kind: str, learning: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    values = np.stack([STREAMS[kind](200_000, rng) for _ in range(4)])
    cuts = list(range(10_000, 200_000, 10_000))
    found, passes = find_medians(fold_of(values, cuts, learning=learning), room=512)
    assert passes == 1
    assert same_bits(found.values, expected_medians(values))


@pytest.mark.parametrize("kind", ["sorted", "reversed", "drifting", "half below half"])
def test_rows_that_drift_take_a_second_pass_that_is_reported(kind: str) -> None:
    values = STREAMS[kind](200_000, np.random.default_rng(2))[None]
    found, passes = find_medians(fold_of(values, list(range(10_000, 200_000, 10_000))), room=512)
    assert passes == 2
    assert same_bits(found.values, expected_medians(values))


def test_a_page_after_many_others_keeps_few_values() -> None:
    # Sixteen pages of 65,536: a bracket of 16 sqrt(16 * 65,536) = 16,384 values or up to twice
    # that, so a page after them has a sixteenth, 1,024 to 2,048, within four standard
    # deviations of a binomial count of those.
    values = np.random.default_rng(11).standard_cauchy((3, 17, 65_536))
    earlier = tree_merge([Brackets.of(values[:, page]) for page in range(16)])
    later = FirstPass().after(earlier).summarize(values[:, 16])
    alone = FirstPass().summarize(values[:, 16])
    assert later.kept.lengths.max() < 2_048 + 4 * np.sqrt(2_048)
    assert alone.kept.lengths.min() > 4_096
    assert np.array_equal(later.lows, earlier.lows)
    assert np.array_equal(later.used, alone.used)


def test_rows_of_different_lengths_are_one_summary() -> None:
    # As windows give them: 30,000 values of one coefficient a page, 11 of another, none of a third.
    rng = np.random.default_rng(12)
    pages = [[rng.standard_cauchy((1, count)) for count in (30_000, 11, 0)] for _ in range(9)]
    for learning in (False, True):
        summary, step = None, FirstPass(512)
        for blocks in pages:
            own = step.summarize(Ragged.of_blocks(blocks))
            summary = own if summary is None else summary.merge(own)
            step = step.after(summary) if learning else step
        found = summary.medians()
        assert found.used.tolist() == [270_000, 99, 0]
        assert found.proven.all()
        for row in range(2):
            values = np.concatenate([blocks[row] for blocks in pages], axis=1)
            assert found.values[row] == sorted_median(values[0])
        assert np.isnan(found.values[2])


def test_no_blocks_have_no_rows() -> None:
    nothing = Ragged.of_blocks([])
    assert (nothing.values.tolist(), nothing.starts.tolist()) == ([], [0])


def test_parts_are_joined_before_they_are_too_many() -> None:
    # A constant stream keeps no value, so nothing else would ever join its parts.
    step = FirstPass(16)
    summary = step.summarize(np.zeros((1, 500)))
    for _ in range(1_000):
        summary = summary.merge(step.summarize(np.zeros((1, 500))))
    assert len(summary.kept.parts) <= MOST_PARTS
    assert len(summary.sample.parts) <= MOST_PARTS
    assert summary.medians().used.tolist() == [500_500]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_values_any_cuts_and_any_tree_give_the_same_bits(data: st.DataObject) -> None:
    floats = st.one_of(st.floats(width=64), st.integers(-3, 3).map(float), st.sampled_from(SPECIAL))
    row = data.draw(st.lists(floats, max_size=120))
    values = np.array([row, row[::-1], sorted(row, key=str)], dtype=np.float64).reshape(3, -1)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(row)), max_size=8)))
    order = np.random.default_rng(data.draw(st.integers(0, 99)))
    room = data.draw(st.integers(1, 20))
    with little_room(limit=data.draw(st.sampled_from([1, 8, 50]))):
        learning = data.draw(st.sampled_from([(), (1, 4), (2,)]))
        found, passes = find_medians(fold_of(values, cuts, order, learning), room=room)
    with np.errstate(invalid="ignore"):
        assert same_bits(found.values, expected_medians(values))
    assert found.proven.all()
    assert passes <= 13


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.integers(0, 3_000), st.integers(0, 2**32))
def test_hard_streams_cut_anywhere_give_the_same_bits(kind: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.stack([STREAMS[kind](count, rng) for _ in range(2)])
    cuts = np.sort(rng.integers(0, count + 1, rng.integers(0, 30))).tolist()
    with little_room(limit=int(rng.choice([1, 40, 400]))):
        learning = (1, 4, 16) if seed % 2 else ()
        fold = fold_of(values, cuts, rng, learning)
        found, _ = find_medians(fold, room=int(rng.integers(1, 60)))
    assert same_bits(found.values, expected_medians(values))


def test_medians_are_those_of_the_summary_that_keeps_everything() -> None:
    values = np.random.default_rng(3).standard_cauchy((5, 50_001))
    values[2, ::3] = np.nan
    expected, used = kernels.row_medians(values.copy())
    found, _ = find_medians(fold_of(values, [7_000, 7_001, 30_000]))
    assert same_bits(found.values, expected)
    assert np.array_equal(found.used, used)


def test_what_a_summary_counts_is_what_is_there() -> None:
    rng = np.random.default_rng(4)
    values = np.round(rng.normal(size=(3, 30_000)), 2)
    pages = np.split(values, 10, axis=1)
    summary = tree_merge([Brackets.of(page, 600) for page in pages])
    for row in range(3):
        low, high = summary.lows[row], summary.highs[row]
        own = values[row]
        kept = summary.kept.whole.row(row)
        assert low < high
        assert np.array_equal(np.sort(kept), np.sort(own[(own > low) & (own < high)]))
        assert summary.below[row] == np.count_nonzero(own < low)
        assert summary.at_low[row] == np.count_nonzero(own == low)
        assert summary.at_high[row] == np.count_nonzero(own == high)
        assert summary.used[row] == 30_000


def test_a_median_missed_by_one_pass_is_near_and_says_how_near() -> None:
    values = STREAMS["sorted"](300_000, np.random.default_rng(5))[None]
    pages = np.split(values, 30, axis=1)
    found = tree_merge([Brackets.of(page, 1_000) for page in pages]).medians()
    assert not found.proven[0]
    rank = np.searchsorted(values[0], found.values[0])
    assert 0 < found.rank_errors[0] < 0.05 * 300_000
    assert abs(rank - 150_000) <= found.rank_errors[0]


def test_summaries_travel_as_arrays_and_pickles() -> None:
    values = STREAMS["slightly drifting"](40_000, np.random.default_rng(6)).reshape(2, -1)
    whole = Brackets.of(values[:, :10_000], 600)
    rest = Brackets.of(values[:, 10_000:], 600)
    sent = Brackets.from_arrays(whole.to_arrays()).merge(pickle.loads(pickle.dumps(rest)))
    here = whole.merge(rest)
    assert whole.sample is not None
    for name, array in here.to_arrays().items():
        assert np.array_equal(sent.to_arrays()[name], array, equal_nan=True), name
    few = Brackets.of(values[:, :5], 600)
    assert Brackets.from_arrays(few.to_arrays()).sample is None


def test_the_state_stays_small() -> None:
    # 1e6 values: at most twice 16 sqrt(n) are kept, but for the sample error of a narrowing,
    # and a sample of 16 rooms.
    rng = np.random.default_rng(7)
    pages = [rng.normal(size=(2, 25_000)) for _ in range(40)]
    summary = tree_merge([Brackets.of(page) for page in pages])
    assert summary.kept.lengths.max() <= 2.1 * 16 * 1_000
    assert summary.nbytes / 2 < 8 * (2.1 * 16 * 1_000 + 16 * default_room(2)) + 200


def test_no_coefficients_have_no_medians() -> None:
    found, passes = find_medians(fold_of(np.zeros((0, 50)), [20]))
    assert (len(found.values), passes) == (0, 1)
    assert FirstPass().summarize(np.zeros((2, 0))).next_pass() is None


@pytest.mark.parametrize("kind", ["random", "sorted", "drifting", "autocorrelated"])
def test_ten_million_values_take_less_than_two_megabytes(kind: str) -> None:
    values = STREAMS[kind](10_000_000, np.random.default_rng(8))[None]
    largest = 0

    def merge(left: Any, right: Any) -> Any:
        nonlocal largest
        merged = left.merge(right)
        largest = max(largest, merged.nbytes)
        return merged

    def fold(step: Pass) -> Any:
        pages = (values[:, start : start + 65_536] for start in range(0, 10_000_000, 65_536))
        return merge_in_order((step.summarize(page) for page in pages), merge)

    found, passes = find_medians(fold)
    assert same_bits(found.values, np.median(values, axis=1))
    assert largest < 2_000_000
    assert passes == (1 if kind == "random" else 2)
