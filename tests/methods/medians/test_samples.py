"""A sample is thinned the same in whatever parts it lies, and keeps one of each two neighbours."""

import numpy as np
from hypothesis import given, strategies as st

from gaussnet.methods.medians.samples import Sample

WIDTHS = st.lists(st.integers(0, 9), min_size=1, max_size=6)
DOUBLINGS = st.integers(0, 3)


def numbered(widths: list[int]) -> Sample:
    """A sample of two rows in parts of these widths, whose values tell their places."""
    drawn = np.arange(float(sum(widths))) + np.array([[0.0], [1_000.0]])
    return Sample(tuple(np.split(drawn, np.cumsum(widths)[:-1], axis=1)), 64)


@given(WIDTHS, DOUBLINGS)
def test_parts_are_thinned_as_the_whole_is(widths, doublings):
    sample = numbered(widths)
    whole = Sample((sample.values,), sample.stride)
    stride = sample.stride << doublings
    thinned = sample.thinned(stride)
    assert thinned.stride == stride
    np.testing.assert_array_equal(thinned.values, whole.thinned(stride).values)


@given(WIDTHS)
def test_thinning_keeps_one_of_each_two_neighbours(widths):
    thinned = numbered(widths).thinned(128).values
    np.testing.assert_array_equal(thinned[1], thinned[0] + 1_000.0)
    pairs = thinned[0] // 2
    whole_pairs = np.arange(sum(widths) // 2)
    np.testing.assert_array_equal(pairs[: len(whole_pairs)], whole_pairs)
    assert len(pairs) - len(whole_pairs) <= sum(widths) % 2


def test_a_sample_over_its_limit_is_thinned_until_it_is_within():
    within = numbered([5, 0, 8, 7]).within(6)
    assert (within.values.shape, within.stride) == ((2, 5), 256)
