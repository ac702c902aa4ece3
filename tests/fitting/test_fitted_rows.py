"""Errors of the robust method: least squares over the rows kept, widened for the cutoff."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.integrate import quad
from scipy.stats import chi2, norm, truncnorm

import gaussnet as gn
from gaussnet.methods.robust.fitted_rows import information

DAG = gn.Dag.parse("[a][b][c|a:b][d|c]", nodes="abcd")
TRUTH = gn.simulate.random_network(DAG, seed=1, intercepts=(-2.0, 2.0))
ROWS = TRUTH.sample(500, seed=3)
ROWS[:60, 2] += 30.0


@pytest.mark.parametrize("intercept", [True, False])
def test_untrimmed_nodes_have_the_classical_errors(intercept):
    clean = TRUTH.sample(300, seed=5)
    robust = gn.fit(clean, DAG, "sequential-trim", intercept=intercept)
    assert robust.trimming.left_out == {}
    found, expected = robust.uncertainty(), gn.fit(clean, DAG, intercept=intercept).uncertainty()
    assert (found.kind, expected.kind) == ("fitted-rows", "classical")
    for part in ("coefficient_array", "intercept_array", "variance_array"):
        for value in ("standard_errors", "confidence_intervals"):
            np.testing.assert_allclose(
                getattr(getattr(found, value), part),
                getattr(getattr(expected, value), part),
                rtol=1e-9,
                atol=1e-12,
            )


@pytest.mark.parametrize("scale", ["core", "kl-optimal"])
def test_trimmed_nodes_have_errors_of_the_kept_rows_over_the_truncated_variance(scale):
    fit = gn.fit(ROWS, DAG, "sequential-trim", scale=scale)
    node = DAG.position("c")
    cutoff = fit.trimming.cutoffs[node]
    kept = np.delete(ROWS, fit.trimming.left_out[node], axis=0)
    assert len(kept) < len(ROWS)
    least = sm.OLS(kept[:, 2], sm.add_constant(kept[:, :2])).fit()
    kappa = truncnorm.var(-cutoff, cutoff)
    errors, intervals = fit.standard_errors, fit.confidence_intervals(0.9)
    expected = least.bse / kappa
    assert errors.intercepts["c"] == pytest.approx(expected[0], rel=1e-8)
    assert errors.coefficients["a", "c"] == pytest.approx(expected[1], rel=1e-8)
    assert errors.coefficients["b", "c"] == pytest.approx(expected[2], rel=1e-8)
    freedom = least.df_resid * information(cutoff) / 2.0
    noise = least.ssr / least.df_resid / kappa
    assert intervals.variances["c"] == pytest.approx(
        freedom * noise / chi2.ppf([0.95, 0.05], freedom), rel=1e-8
    )


@pytest.mark.parametrize("cutoff", [1.5, 2.5, 3.5])
def test_information_is_the_curvature_of_the_truncated_likelihood(cutoff):
    # Minus the second derivative, in the log of the scale at 1, of the expected log density of
    # N(0, s^2) within the fixed bounds of the trimming set, taken as moving with the scale.
    inside = norm.cdf(cutoff) - norm.cdf(-cutoff)

    def moment(power):
        return quad(lambda u: u**power * norm.pdf(u), -cutoff, cutoff)[0] / inside

    score_variance = moment(4) - moment(2) ** 2
    assert information(cutoff) == pytest.approx(score_variance, rel=1e-8)
    assert information(np.inf) == 2.0


def test_spread_of_a_hard_rejection_fit_is_what_the_law_says():
    # 3,000 samples of 400 rows with everything beyond 2.5 standard deviations rejected until
    # the set is stable: a standard deviation is known to 1.3 %, and 4 such are allowed.
    rng = np.random.default_rng(0)
    cutoff, rows, samples = 2.5, 400, 3_000
    kappa = truncnorm.var(-cutoff, cutoff)
    values = rng.normal(size=(samples, rows))
    means, scales = values.mean(axis=1), values.std(axis=1)
    for _ in range(25):
        kept = np.abs(values - means[:, None]) <= cutoff * scales[:, None]
        count = kept.sum(axis=1)
        means = (values * kept).sum(axis=1) / count
        rest = (values - means[:, None]) * kept
        scales = np.sqrt((rest**2).sum(axis=1) / (count - 1) / kappa)
    share = norm.cdf(cutoff) - norm.cdf(-cutoff)
    assert means.std() == pytest.approx(1.0 / np.sqrt(kappa * share * rows), rel=0.052)
    logs = 2.0 * np.log(scales)
    assert logs.std() == pytest.approx(
        np.sqrt(4.0 / (share * rows * information(cutoff))), rel=0.052
    )


def test_mean_squares_of_trimmed_nodes_have_the_error_of_their_fourth_moment():
    fit = gn.fit(ROWS, DAG, "sequential-trim", scale="mean-square")
    slopes = [fit.network.coefficients[parent, "c"] for parent in ("a", "b")]
    rest = ROWS[:, 2] - ROWS[:, :2] @ slopes - fit.network.intercepts["c"]
    assert fit.network.variances["c"] == pytest.approx(np.mean(rest**2), rel=1e-9)
    expected = np.std(rest**2) / np.sqrt(500 - 3)
    assert fit.standard_errors.variances["c"] == pytest.approx(expected, rel=1e-6)
    low, high = fit.confidence_intervals().variances["c"]
    assert low < fit.network.variances["c"] < high


def test_missing_cells_leave_the_errors_of_the_rows_used():
    holed = TRUTH.sample(300, seed=5)
    holed[:25, 0] = np.nan
    robust = gn.fit(holed, DAG, "sequential-trim", missing="drop-by-node")
    plain = gn.fit(holed, DAG, missing="drop-by-node")
    np.testing.assert_allclose(
        robust.standard_errors.coefficient_array,
        plain.standard_errors.coefficient_array,
        rtol=1e-9,
    )


def test_the_bootstrap_agrees_with_the_fitted_rows():
    fit = gn.fit(ROWS, DAG, "sequential-trim")
    drawn = fit.uncertainty("bootstrap", repetitions=50, seed=0).standard_errors
    ratio = drawn.coefficient_array / fit.standard_errors.coefficient_array
    # 50 repetitions know a standard deviation to 10 %, and 3 such are allowed.
    assert ((ratio > 0.7) & (ratio < 1.3)).all()


def test_other_kinds_and_changed_data_are_refused():
    rows = ROWS.copy()
    fit = gn.fit(rows, DAG, "sequential-trim")
    with pytest.raises(gn.SettingError, match="leave kind out or give kind='bootstrap'"):
        fit.uncertainty("classical")
    rows[:, 3] *= 2.0
    with pytest.raises(gn.EstimationError, match="the data have changed"):
        fit.uncertainty()
