"""Brackets count what is there, merge in any order, and say what they do not know."""

import pickle

import numpy as np
import pytest
from tests.methods.medians.streams import STREAMS, sorted_median, tree_merge

from gaussnet.kernels import Ends
from gaussnet.kernels.threads import merge_in_order
from gaussnet.methods.medians.brackets import (
    ABOVE,
    AT_HIGH,
    AT_LOW,
    BELOW,
    INSIDE,
    Brackets,
    default_capacity,
)
from gaussnet.methods.medians.samples import MOST_PARTS, Ragged


def ends_of(*pairs: tuple[float, float]) -> Ends:
    lows, highs = np.array(pairs, dtype=np.float64).T
    return Ends(lows, highs, np.ones(len(pairs)))


@pytest.mark.parametrize("kind", ["random", "ties", "holes", "constant", "two clusters"])
def test_exchangeable_rows_are_exact_with_ends_that_nobody_gave(kind: str) -> None:
    rng = np.random.default_rng(1)
    values = np.stack([STREAMS[kind](200_000, rng) for _ in range(4)])
    found = tree_merge([Brackets.of(page, capacity=512) for page in np.split(values, 20, axis=1)])
    medians = found.medians()
    assert medians.proven.all()
    assert medians.values.tolist() == [sorted_median(row) for row in values]
    assert medians.used.tolist() == np.count_nonzero(~np.isnan(values), axis=1).tolist()


@pytest.mark.parametrize("ends", [None, ends_of((-0.1, 0.1), (-np.inf, np.inf), (-1.0, 1.0))])
def test_rows_of_different_lengths_are_one_summary(ends: Ends | None) -> None:
    # As windows give them: 30,000 values of one coefficient a page, 11 of another, none of a third.
    rng = np.random.default_rng(12)
    pages = [[rng.standard_cauchy((1, count)) for count in (30_000, 11, 0)] for _ in range(9)]
    capacity = 512 if ends is None else None
    summaries = [Brackets.of(Ragged.of_blocks(blocks), ends, capacity) for blocks in pages]
    found = tree_merge(summaries).medians()
    assert found.used.tolist() == [270_000, 99, 0]
    assert found.proven.all()
    for row in range(2):
        values = np.concatenate([blocks[row] for blocks in pages], axis=1)
        assert found.values[row] == sorted_median(values[0])
    assert np.isnan(found.values[2])


def test_no_blocks_have_no_rows() -> None:
    nothing = Ragged.of_blocks([])
    assert (nothing.values.tolist(), nothing.starts.tolist()) == ([], [0])


@pytest.mark.parametrize("ends", [None, ends_of((0.0, 0.0))])
def test_parts_are_joined_before_they_are_too_many(ends: Ends | None) -> None:
    # A constant stream keeps no value, so nothing else would ever join its parts.
    page = Brackets.of(np.zeros((1, 500)), ends, 16)
    summary = page
    for _ in range(1_000):
        summary = summary.merge(page)
    assert len(summary.kept.parts) <= MOST_PARTS
    assert summary.sample is not None
    assert len(summary.sample.parts) <= MOST_PARTS
    assert summary.medians().used.tolist() == [500_500]


@pytest.mark.parametrize("ends", [None, ends_of((-0.31, 0.02), (-0.3, 0.3), (-np.inf, 0.1))])
def test_what_a_summary_counts_is_what_is_there(ends: Ends | None) -> None:
    rng = np.random.default_rng(4)
    values = np.round(rng.normal(size=(3, 30_000)), 2)
    capacity = 600 if ends is None else None
    pages = np.split(values, 10, axis=1)
    summary = tree_merge([Brackets.of(page, ends, capacity) for page in pages])
    for row in range(3):
        low, high = summary.ends.lows[row], summary.ends.highs[row]
        own, counts = values[row], summary.counts[row]
        kept = summary.kept.whole.row(row)
        assert low < high
        assert np.array_equal(np.sort(kept), np.sort(own[(own > low) & (own < high)]))
        assert counts[BELOW] == np.count_nonzero(own < low)
        assert counts[AT_LOW] == np.count_nonzero(own == low)
        assert counts[INSIDE] == len(kept)
        assert counts[AT_HIGH] == np.count_nonzero(own == high)
        assert counts[ABOVE] == np.count_nonzero(own > high)
        assert summary.used[row] == 30_000


def test_rows_with_more_values_inside_than_they_may_keep_are_only_counted() -> None:
    values = np.random.default_rng(13).normal(size=(2, 10_000))
    ends = ends_of((-1.0, 1.0), (-0.01, 0.01))
    pages = np.split(values, 20, axis=1)
    summary = tree_merge([Brackets.of(page, ends, 300) for page in pages])
    whole = tree_merge([Brackets.of(page, ends) for page in pages])
    assert np.array_equal(summary.counts, whole.counts)
    assert np.isnan(summary.middle_values()[:, 0]).all()
    assert np.array_equal(summary.middle_values()[:, 1], whole.middle_values()[:, 1])
    # Of a row that keeps too much nothing is left but for what came after the last merge.
    assert summary.kept.lengths[0] < whole.kept.lengths[0]


def test_a_median_missed_by_a_kept_summary_is_near_and_says_how_near() -> None:
    values = STREAMS["sorted"](300_000, np.random.default_rng(5))[None]
    pages = np.split(values, 30, axis=1)
    found = tree_merge([Brackets.of(page, capacity=1_000) for page in pages]).medians()
    assert not found.proven[0]
    rank = np.searchsorted(values[0], found.values[0])
    assert 0 < found.rank_errors[0] < 0.05 * 300_000
    assert abs(rank - 150_000) <= found.rank_errors[0]


def test_summaries_travel_as_arrays_and_pickles() -> None:
    values = STREAMS["slightly drifting"](40_000, np.random.default_rng(6)).reshape(2, -1)
    whole = Brackets.of(values[:, :10_000], capacity=600)
    rest = Brackets.of(values[:, 10_000:], capacity=600)
    sent = Brackets.from_arrays(whole.to_arrays()).merge(pickle.loads(pickle.dumps(rest)))
    here = whole.merge(rest)
    assert whole.sample is not None
    for name, array in here.to_arrays().items():
        assert np.array_equal(sent.to_arrays()[name], array, equal_nan=True), name
    few = Brackets.of(values[:, :5], capacity=600)
    assert Brackets.from_arrays(few.to_arrays()).sample is None


def test_the_summary_stays_small() -> None:
    # 1e6 values: at most twice 16 sqrt(n) are kept, but for the sample error of a narrowing,
    # and a sample of 16 capacities.
    rng = np.random.default_rng(7)
    pages = [rng.normal(size=(2, 25_000)) for _ in range(40)]
    summary = tree_merge([Brackets.of(page) for page in pages])
    assert summary.kept.lengths.max() <= 2.1 * 16 * 1_000
    assert summary.nbytes / 2 < 8 * (2.1 * 16 * 1_000 + 16 * default_capacity(2)) + 200


def test_ties_take_no_memory() -> None:
    values = np.random.default_rng(14).integers(-1, 2, (2, 100_000)).astype(np.float64)
    pages = np.split(values, 10, axis=1)
    for ends in (None, ends_of((0.0, 0.0), (0.0, 0.0))):
        summary = tree_merge([Brackets.of(page, ends, 256) for page in pages])
        assert summary.kept.lengths.max() == 0
        assert summary.medians().values.tolist() == [sorted_median(row) for row in values]


def test_values_that_are_nan_are_set_aside_and_counted() -> None:
    values = np.array([[np.nan, 3.0, np.nan, 1.0], [np.nan] * 4])
    for ends in (None, ends_of((1.0, 2.0), (0.0, 1.0)), ends_of((-np.inf, np.inf), (5.0, 5.0))):
        summary = Brackets.of(values, ends).merge(Brackets.of(values[:, :2], ends))
        assert summary.used.tolist() == [3, 0]
        assert summary.missing.tolist() == [3, 6]
        assert summary.lengths.tolist() == [6, 6]
        assert summary.medians().proven[1]


@pytest.mark.parametrize("kind", ["random", "sorted", "drifting", "autocorrelated"])
def test_ten_million_values_take_less_than_two_megabytes(kind: str) -> None:
    values = STREAMS[kind](10_000_000, np.random.default_rng(8))[None]
    largest = 0

    def merge(left: Brackets, right: Brackets) -> Brackets:
        nonlocal largest
        merged = left.merge(right)
        largest = max(largest, merged.nbytes)
        return merged

    pages = (values[:, start : start + 65_536] for start in range(0, 10_000_000, 65_536))
    found = merge_in_order(map(Brackets.of, pages), merge).medians()
    assert largest < 2_000_000
    assert found.proven[0] == (kind == "random")
    if found.proven[0]:
        assert found.values[0] == np.median(values)
    else:
        rank = np.count_nonzero(values < found.values[0])
        assert abs(rank - 5_000_000) <= found.rank_errors[0] < 10_000_000
