"""Cutoffs and tail probabilities against plain statements of what they should be."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from gaussnet.methods.robust.cutoffs import (
    Tail,
    bonferroni_cutoff,
    chi_square_quantile,
    chi_square_quantiles,
    normal_quantile,
    normal_tail,
    student_tail,
    truncated_variance,
)


@pytest.mark.parametrize("limit", [0.5, 1.75, 2.5, 4.0, 7.9])
def test_truncated_variance_is_that_of_the_truncated_normal_distribution(limit):
    assert truncated_variance(limit) == pytest.approx(stats.truncnorm(-limit, limit).var())


@pytest.mark.parametrize("freedom", [5, 20, 1000])
def test_student_tail_is_close_to_students_distribution(freedom):
    deviations = np.array([0.5, 2.0, 4.0, 6.0])
    expected = 2 * stats.t.sf(deviations, freedom)
    # Wallace's formula is good to a few per cent far out, and far better at many degrees.
    assert student_tail(deviations, freedom) == pytest.approx(
        expected, rel=4.0 / freedom**1.5 + 0.01
    )


def test_quantiles_are_those_of_scipy():
    assert normal_quantile(0.01) == pytest.approx(stats.norm.isf(0.005))
    assert normal_tail(normal_quantile(0.01)) == pytest.approx(0.01)
    assert chi_square_quantile(0.005, 3) == pytest.approx(stats.chi2.isf(0.005, 3))
    several = chi_square_quantiles(0.005, np.array([3, 0, 1]))
    assert several.tolist() == [chi_square_quantile(0.005, freedom) for freedom in (3, 0, 1)]


def by_hand(deviations, level, freedom):
    """How many the rule of Benjamini and Hochberg rejects, counted one by one."""
    ordered = sorted(deviations, reverse=True)
    best = 0
    for rank, value in enumerate(ordered, start=1):
        if value > 2.0 and student_tail(np.array([value]), freedom)[0] <= (
            level * rank / len(ordered)
        ):
            best = rank
    return best


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(0.0, 8.0), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_cutoff_rejects_what_benjamini_and_hochberg_reject(values, level):
    deviations = np.array(values)
    limit = Tail.of(deviations).cutoff(level, level, 100.0)
    assert np.count_nonzero(deviations > limit) == by_hand(values, level, 100.0)


def test_gate_keeps_what_only_the_wider_level_would_reject():
    deviations = np.full(100, 0.5)
    deviations[0] = normal_quantile(0.03 / 100)
    tail = Tail.of(deviations)
    assert tail.cutoff(0.01, 0.05, 1e9) == np.inf
    assert tail.cutoff(0.05, 0.05, 1e9) < deviations[0]


def normal_sample(count, seed=0):
    return np.abs(np.random.default_rng(seed).standard_normal(count))


def test_band_is_kept_when_only_gross_values_are_wrong():
    deviations = np.concatenate((normal_sample(2000), np.full(200, 100.0)))
    tail = Tail.of(deviations)
    limit = tail.cutoff(0.01, 0.05, 2000.0)
    assert limit < 3.0
    assert tail.widened(limit) == bonferroni_cutoff(2200)


def test_band_is_rejected_when_it_is_contaminated_itself():
    wrong = np.linspace(3.0, 6.0, 200)
    tail = Tail.of(np.concatenate((normal_sample(2000), wrong)))
    limit = tail.cutoff(0.01, 0.05, 2000.0)
    assert tail.widened(limit) == limit < 3.1
