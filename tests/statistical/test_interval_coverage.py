"""On clean rows, 95 % intervals hold the truth in 93 to 97 % of cases, whatever the method.

Many copies of a family stand in one graph, so one fit is many repetitions; the full table
comes from ``python -m benchmarks.coverage``.
"""

import numpy as np
import pytest
from benchmarks.cells import CASES, draw
from benchmarks.coverage import METHODS, SPOILT, copies_of_a_family, share_covered

import gaussnet as gn
from gaussnet.seeds import children

COPIES, FITS = 250, 4


def bounds(intervals, low=0.93, high=0.97):
    """The asked-for range, and 3 standard errors of a share of so many intervals beyond it.

    The coefficients of one family are found from the same rows; their number of intervals is
    counted by families, which can only be too careful.
    """
    error = np.sqrt(0.95 * 0.05 / intervals)
    return low - 3 * error, high + 3 * error


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize(("parents", "rows"), [(2, 200), (5, 200), (2, 1000)])
def test_intervals_hold_the_truth_as_often_as_they_say(name, scale, parents, rows):
    truth = copies_of_a_family(parents, COPIES)
    fits = FITS if rows == 200 else 2
    found = share_covered(truth, rows, fits, method=METHODS[name], scale=scale)
    low, high = bounds(COPIES * fits)
    for part, (share, _) in found.items():
        assert low <= share <= high, part


@pytest.mark.parametrize("scale", ["mean-square", "mad", "kl-optimal"])
@pytest.mark.parametrize("kind", ["classical", "heteroscedastic"])
def test_intervals_of_least_squares_hold_in_small_samples(scale, kind):
    # The fourth moment of 60 residuals is too small on average, so its variance intervals are
    # allowed a point less; nothing else is approximate but the medians.
    truth = copies_of_a_family(2, COPIES)
    found = share_covered(truth, 60, FITS, method="least-squares", scale=scale, kind=kind)
    for part, (share, _) in found.items():
        loose = kind == "heteroscedastic" and part == "variances"
        low, high = bounds(COPIES * FITS, low=0.92 if loose else 0.93)
        assert low <= share <= high, part


@pytest.mark.parametrize("name", METHODS)
def test_intervals_hold_without_an_intercept(name):
    truth = copies_of_a_family(2, COPIES, intercept=False)
    found = share_covered(truth, 200, FITS, method=METHODS[name], intercept=False)
    low, high = bounds(COPIES * FITS)
    assert low <= found["coefficients"][0] <= high
    assert low <= found["variances"][0] <= high


@pytest.mark.parametrize("spoilt", ["clean", "5 % cells N(1000, 1)", "5 % cells shifted 10 sd"])
@pytest.mark.parametrize("parents", [1, 2])
@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_intervals_of_robust_methods_hold_on_clean_and_on_spoilt_rows(method, spoilt, parents):
    truth = copies_of_a_family(parents, 125)
    found = share_covered(truth, 200, FITS, method=method, spoil=SPOILT[spoilt])
    low, high = bounds(125 * FITS)
    for part, (share, _) in found.items():
        assert low <= share <= high, part


@pytest.mark.parametrize(
    "case", [case for case in CASES if "5 % N" in case.name or "5 noise" in case.name]
)
def test_intervals_of_the_robust_method_hold_in_random_networks(case):
    held = {"coefficient_array": [], "intercept_array": [], "variance_array": []}
    for degree in (2, 5):
        for seed in children(2718, 6):
            truth, rows, _ = draw(case, degree, seed)
            fit = gn.fit(rows, truth.dag, "robust", columns=truth.dag.nodes, threads=1)
            for part, hits in held.items():
                low, high = getattr(fit.uncertainty().confidence_intervals, part).T
                value = getattr(truth, part)
                hits.append((low <= value) & (value <= high))
    for part, hits in held.items():
        every = np.concatenate(hits)
        low, high = bounds(len(every))
        assert low <= every.mean() <= high, part


def test_heteroscedastic_intervals_hold_where_classical_ones_fail():
    # Noise whose standard deviation grows with the parent's distance from its mean.
    rng = np.random.default_rng(0)
    dag = gn.Dag.from_edges([(f"x{i}", f"y{i}") for i in range(1000)])
    held = {"classical": [], "heteroscedastic": []}
    x = rng.normal(size=(200, 1000))
    y = 2.0 * x + rng.normal(size=x.shape) * np.abs(x)
    columns = {
        name: column
        for names, values in (("x", x), ("y", y))
        for name, column in zip((f"{names}{i}" for i in range(1000)), values.T, strict=True)
    }
    rows = np.column_stack([columns[name] for name in dag.nodes])
    fit = gn.fit(rows, dag, columns=dag.nodes)
    for kind, hits in held.items():
        low, high = fit.uncertainty(kind).confidence_intervals.coefficient_array.T
        hits.extend((low <= 2.0) & (high >= 2.0))
    low, high = bounds(1000)
    assert low <= np.mean(held["heteroscedastic"]) <= high
    # The true variance of the slope is 3 times the classical one: P(|N| < 1.96 / sqrt 3) = 0.742.
    assert np.mean(held["classical"]) == pytest.approx(0.742, abs=0.07)


@pytest.mark.parametrize("name", ["least-squares", "batch-median", "cauchy", "cauchy-tree sliding"])
def test_standard_errors_are_the_spread_of_the_estimates(name):
    truth = copies_of_a_family(2, COPIES)
    scale = "mean-square"
    fits = [
        gn.fit(truth.sample(600, seed=seed), truth.dag, METHODS[name], scale=scale)
        for seed in range(2)
    ]
    chosen = np.array([node.startswith("y ") for node in truth.dag.nodes])
    edges = np.array([child.startswith("y ") for _, child in truth.dag.edges])
    # The first, second... coefficient has one law in all copies.
    for part, own, shape in (
        ("coefficient", edges, (2 * COPIES, 2)),
        ("intercept", chosen, (2 * COPIES, 1)),
        ("variance", chosen, (2 * COPIES, 1)),
    ):
        estimates = [
            getattr(fit.network, f"{part}_array")[own].reshape(-1, shape[1]) for fit in fits
        ]
        errors = [
            getattr(fit.standard_errors, f"{part}_array")[own].reshape(-1, shape[1]) for fit in fits
        ]
        spread = np.concatenate(estimates).std(axis=0, ddof=1)
        typical = np.sqrt((np.concatenate(errors) ** 2).mean(axis=0))
        # A standard deviation of 500 is known to 1 / sqrt(1000) = 3.2 %: 3 of these, and 6 %
        # for the order statistics' own excess at a few dozen batches.
        np.testing.assert_allclose(typical, spread, rtol=0.16)
