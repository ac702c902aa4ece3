"""Trimming stays at the oracle, least squares over the rows that are truly right; robust follows.

A part of the table of ``python -m benchmarks.robust quality``, with its limits and seeds: 100
nodes, weights +-[1, 2), 8 repetitions, ratio of mean KL divergences. The limits leave at least
three standard errors to what is found.
"""

import pytest
from benchmarks.robust_cases import quality, quality_cases

CHOSEN = (
    "clean, er5, m = 100",
    "clean, tree, m = 1000",
    "5 % rows x 5 nodes gaussian, er5, m = 100",
    "5 % rows x 5 nodes cauchy, tree, m = 1000",
    "fixed 5 nodes 40% rows, er5, m = 1000",
    "5 % rows x 5 nodes shift 5 sd, tree, m = 1000",
    "10% of all cells, tree, m = 500",
    "whole rows 40%, er5, m = 1000",
    "spreading 5 % rows x 5 nodes, er5, m = 1000",
    "ill-conditioned 5 % rows x 5, er5, m = 1000",
    "real, 5 % of all cells, ecoli70, m = 1000",
)
CASES = {str(case): case for case in quality_cases()}


@pytest.fixture(scope="module")
def qualities():
    return {}


def found(qualities, name):
    if name not in qualities:
        qualities[name] = quality(CASES[name], repetitions=8)
    return qualities[name]


@pytest.mark.parametrize("name", CHOSEN)
def test_kl_divergence_is_near_that_of_the_oracle(qualities, name):
    assert found(qualities, name).ratio <= CASES[name].limit


@pytest.mark.parametrize(
    "name",
    [
        "5 % rows x 5 nodes cauchy, tree, m = 1000",
        "fixed 5 nodes 40% rows, er5, m = 1000",
        "spreading 5 % rows x 5 nodes, er5, m = 1000",
    ],
)
def test_the_robust_method_is_no_worse_than_trimming_by_more_than_three_percent(qualities, name):
    ours = quality(CASES[name], repetitions=8, method="robust")
    assert ours.ratio <= 1.03 * found(qualities, name).ratio


@pytest.mark.parametrize("name", ["clean, er5, m = 100", "clean, tree, m = 1000"])
def test_clean_nodes_rarely_differ_from_least_squares(qualities, name):
    assert found(qualities, name).changed <= 0.02


def test_events_that_spread_beat_least_squares_on_clean_rows(qualities):
    quality = found(qualities, "spreading 5 % rows x 5 nodes, er5, m = 1000")
    assert quality.kl < quality.clean_kl


def test_gross_values_are_flagged_and_little_else(qualities):
    quality = found(qualities, "5 % rows x 5 nodes cauchy, tree, m = 1000")
    assert quality.precision >= 0.98
    assert quality.recall >= 0.98


def test_shifts_of_five_standard_deviations_are_mostly_flagged(qualities):
    quality = found(qualities, "5 % rows x 5 nodes shift 5 sd, tree, m = 1000")
    assert quality.precision >= 0.95
    assert quality.recall >= 0.9
