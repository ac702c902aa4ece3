"""Standard errors and confidence intervals: against other programs, closed forms and by hand."""

import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.forced import fit_with_run

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.fitting.repetitions import percentiles
from gaussnet.methods.standard_errors import overlap
from gaussnet.methods.standard_errors.order_statistics import median_shares, order_statistic

METHODS = [
    gn.LeastSquares(),
    gn.BatchAverage(8),
    gn.BatchMedian(8),
    gn.CauchyTree(),
    gn.CauchyTree("sliding"),
    gn.Cauchy(),
    gn.Cauchy("sliding"),
]
SCALES = ["mean-square", "mad"]
DAG = gn.Dag.parse("[a][b|a][c][y|a:b:c]", nodes="abcy")
PARENTS = "abc"


def problem(rows=300, seed=0):
    """Rows of DAG whose noise at y grows with a, means not 0."""
    rng = np.random.default_rng(seed)
    a, c = rng.normal(3.0, 1.0, rows), rng.normal(-1.0, 2.0, rows)
    b = a + rng.normal(size=rows)
    y = 2.0 * a - b + 0.5 * c + 4.0 + rng.normal(size=rows) * (0.5 + 0.3 * np.abs(a))
    return np.column_stack((a, b, c, y))


def at_y(found, intercept):
    """Values of y's intercept (if any) and coefficients."""
    own = [found.intercepts["y"]] if intercept else []
    return np.array([*own, *(found.coefficients[name, "y"] for name in PARENTS)])


def ordinary(data, intercept):
    design = sm.add_constant(data[:, :3]) if intercept else data[:, :3]
    return sm.OLS(data[:, 3], design).fit()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["classical", "heteroscedastic"])
@pytest.mark.parametrize("page_rows", [None, 70])
def test_least_squares_errors_are_those_of_statsmodels(kind, intercept, page_rows):
    data = problem()
    fit = gn.fit(data, DAG, intercept=intercept, page_rows=page_rows)
    expected = ordinary(data, intercept)
    if kind == "heteroscedastic":
        expected = expected.get_robustcov_results("HC3")
    found = fit.uncertainty(kind, level=0.9)
    np.testing.assert_allclose(at_y(found.standard_errors, intercept), expected.bse, rtol=1e-10)
    np.testing.assert_allclose(
        at_y(found.confidence_intervals, intercept), expected.conf_int(0.1), rtol=1e-9
    )


def test_least_squares_errors_hold_for_float32_frames_and_missing_values():
    data = problem().astype(np.float32)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data, columns=list(DAG.nodes))
    frame.iloc[5, 0] = frame.iloc[9, 2] = np.nan
    fit = gn.fit(frame, DAG, missing="drop-by-node")
    whole = frame.dropna().to_numpy(dtype=np.float64)
    expected = ordinary(whole, True)
    np.testing.assert_allclose(at_y(fit.standard_errors, True), expected.bse, rtol=1e-10)
    # b lacks only the row in which its parent is missing.
    kept = frame.iloc[np.arange(300) != 5].to_numpy(dtype=np.float64)
    b = sm.OLS(kept[:, 1], sm.add_constant(kept[:, 0])).fit()
    assert fit.standard_errors.coefficients["a", "b"] == pytest.approx(b.bse[1], rel=1e-10)


def test_nearly_collinear_parents_keep_their_digits():
    # Two parents that differ by 1e-7 of their size: cross-products alone would lose 14 digits.
    rng = np.random.default_rng(1)
    a, c = rng.normal(size=(2, 400))
    difference = rng.normal(size=400)
    data = np.column_stack((a, a + 1e-7 * difference, c, a + c + rng.normal(size=400)))
    fit = gn.fit(data, gn.Dag.parse("[a][b][c][y|a:b:c]", nodes="abcy"))
    # The same regression in well-conditioned columns: y on a + b's sum, difference and c.
    other = sm.OLS(data[:, 3], sm.add_constant(np.column_stack((a, data[:, 1] - a, c)))).fit()
    for kind, robust in (("classical", other), ("heteroscedastic", None)):
        expected = other.get_robustcov_results("HC3") if robust is None else robust
        found = fit.uncertainty(kind).standard_errors.coefficients
        # Rounding of the column itself, 1e-16 / 1e-7, limits what can agree.
        assert found["b", "y"] == pytest.approx(expected.bse[2], rel=1e-6)
        assert found["c", "y"] == pytest.approx(expected.bse[3], rel=1e-6)


@pytest.mark.parametrize("scale", ["mean-square", "kl-optimal"])
@pytest.mark.parametrize("intercept", [True, False])
def test_variance_interval_of_least_squares_is_chi_square(scale, intercept):
    data = problem()
    fit = gn.fit(data, DAG, scale=scale, intercept=intercept)
    rest = ordinary(data, intercept)
    low, high = fit.confidence_intervals(0.9).variances["y"]
    ends = stats.chi2.ppf([0.95, 0.05], rest.df_resid)
    np.testing.assert_allclose((low, high), rest.ssr / ends, rtol=1e-10)
    error = fit.network.variances["y"] * np.sqrt(2.0 / rest.df_resid)
    assert fit.standard_errors.variances["y"] == pytest.approx(error, rel=1e-9)


def test_roots_have_the_errors_of_a_mean():
    data = problem()
    fit = gn.fit(data, DAG)
    error = data[:, 0].std(ddof=1) / np.sqrt(300)
    assert fit.standard_errors.intercepts["a"] == pytest.approx(error, rel=1e-12)
    expected = stats.t.interval(0.95, 299, data[:, 0].mean(), error)
    np.testing.assert_allclose(fit.confidence_intervals().intercepts["a"], expected, rtol=1e-12)


def test_batch_average_is_a_mean_of_batches_with_students_t():
    data = problem()
    fit = gn.fit(data, DAG, gn.BatchAverage(10))
    batches = [
        np.linalg.lstsq(sm.add_constant(part[:, :3]), part[:, 3], rcond=None)[0][1:]
        for part in data[:294].reshape(21, 14, 4)
    ]
    found = fit.uncertainty()
    errors = np.std(batches, axis=0, ddof=1) / np.sqrt(21)
    np.testing.assert_allclose(at_y(found.standard_errors, False), errors, rtol=1e-8)
    expected = np.mean(batches, axis=0) + np.outer([-1, 1], errors * stats.t.ppf(0.975, 20))
    np.testing.assert_allclose(at_y(found.confidence_intervals, False), expected.T, rtol=1e-8)
    # The intercept adds the mean's own error to that of the slopes at the parents' mean.
    at_mean = np.array(batches) @ data[:, :3].mean(axis=0)
    rest = ordinary(data, True)
    variance = rest.mse_resid / 300 + at_mean.var(ddof=1) / 21
    assert found.standard_errors.intercepts["y"] == pytest.approx(np.sqrt(variance), rel=1e-8)


def test_median_intervals_end_between_the_order_statistics_of_the_level():
    data = problem(rows=202)
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    pairs = data[:, :2].reshape(101, 2, 2)
    slopes = np.sort((pairs[:, 1, 1] - pairs[:, 0, 1]) / (pairs[:, 1, 0] - pairs[:, 0, 0]))
    for method in ("cauchy-tree", "cauchy"):
        found = gn.fit(data[:, :2], dag, method).confidence_intervals(0.95)
        low, high = found.coefficients["a", "b"]
        rank = int(stats.binom.ppf(0.025, 101, 0.5))
        assert slopes[rank - 1] <= low <= slopes[rank]
        assert slopes[100 - rank] <= high <= slopes[101 - rank]


def test_at_the_level_of_an_order_statistic_the_interval_ends_there():
    values = np.sort(np.random.default_rng(0).normal(size=(1, 20)))
    level = 1.0 - 2.0 * stats.binom.cdf(5, 20, 0.5)
    low, high = median_shares(np.array([20.0]), level)
    assert order_statistic(values, low)[0] == pytest.approx(values[0, 5], rel=1e-9)
    assert order_statistic(values, high)[0] == pytest.approx(values[0, 14], rel=1e-9)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(count=st.floats(1.0, 1e6), level=st.floats(0.05, 0.999))
def test_shares_are_symmetric_and_undefined_only_where_extremes_do_not_reach(count, level):
    low, high = (share[0] for share in median_shares(np.array([count]), level))
    if 0.5**count > 0.5 - 0.5 * level:
        assert np.isnan(low)
        assert np.isnan(high)
    else:
        assert low + high == pytest.approx(1.0)
        assert 1.0 / (count + 1.0) <= low * (1.0 + 1e-12)
        assert low <= high + 1.0 / count


def test_overlapping_differences_are_worth_nine_elevenths():
    # Signs of successive slopes of one parent correlate by (2 asin(1/2) / pi)^2 = 1/9.
    rng = np.random.default_rng(0)
    slopes = np.diff(rng.normal(size=400_000)) / np.diff(rng.normal(size=400_000))
    found = overlap(np.sign(slopes)[None, None, :], 2)[0]
    # Twice a mean of 400,000 signs: standard error below 2 * 1.3 / sqrt(400,000).
    assert abs(found - 11.0 / 9.0) <= 3 * 2.6 / np.sqrt(400_000)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("scale", SCALES)
def test_estimates_lie_inside_and_wider_levels_enclose_narrower(method, scale):
    fit = gn.fit(problem(rows=600), DAG, method, scale=scale)
    narrow, wide = fit.confidence_intervals(0.5), fit.confidence_intervals(0.99)
    for part in ("coefficient", "intercept"):
        values = getattr(fit.network, f"{part}_array")
        inner, outer = (getattr(found, f"{part}_array") for found in (narrow, wide))
        assert (inner[:, 0] <= values).all()
        assert (values <= inner[:, 1]).all()
    for part in ("coefficient", "intercept", "variance"):
        inner, outer = (getattr(found, f"{part}_array") for found in (narrow, wide))
        assert (outer[:, 0] < inner[:, 0]).all()
        assert (inner[:, 1] < outer[:, 1]).all()
        assert (getattr(fit.standard_errors, f"{part}_array") > 0.0).all()


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("scale", SCALES)
def test_units_of_the_columns_pass_through(method, scale):
    data = problem()
    units = np.array([2.0**40, 0.25, 2.0**-30, 8.0])
    plain = gn.fit(data, DAG, method, scale=scale).uncertainty()
    scaled = gn.fit(data * units, DAG, method, scale=scale).uncertainty()
    own = units[DAG.families.children]
    ratios = own[DAG.families.family_of_edge] / units[DAG.families.parents]
    for part, factor in (("coefficient", ratios), ("intercept", own), ("variance", own**2)):
        name = f"{part}_array"
        np.testing.assert_allclose(
            getattr(scaled.standard_errors, name),
            getattr(plain.standard_errors, name) * factor,
            rtol=1e-7,
        )
        np.testing.assert_allclose(
            getattr(scaled.confidence_intervals, name),
            getattr(plain.confidence_intervals, name) * factor[:, None],
            rtol=1e-7,
            atol=1e-9 * np.abs(factor).min(),
        )


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("scale", SCALES)
def test_threads_and_parts_leave_the_errors_alone(method, scale):
    data = problem(rows=2_000)
    one, two = (
        fit_with_run(run, data, DAG, method, scale=scale, page_rows=300).uncertainty()
        for run in (Run(1), Run(2, budget=1))
    )
    for part in ("coefficient", "intercept", "variance"):
        name = f"{part}_array"
        # Parts change the shape of a matrix product, hence its rounding.
        np.testing.assert_allclose(
            getattr(one.confidence_intervals, name),
            getattr(two.confidence_intervals, name),
            rtol=1e-9,
        )


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_without_an_intercept_its_error_is_zero(method):
    fit = gn.fit(problem(), DAG, method, intercept=False)
    assert set(fit.standard_errors.intercepts.values()) == {0.0}
    assert set(fit.confidence_intervals().intercepts.values()) == {(0.0, 0.0)}
    assert not np.isnan(fit.standard_errors.coefficient_array).any()


def test_graph_without_nodes_has_no_errors():
    fit = gn.fit(np.zeros((5, 0)), gn.Dag.from_edges([]))
    assert dict(fit.standard_errors.variances) == {}
    assert fit.confidence_intervals().coefficient_array.shape == (0, 2)


def test_collinear_parents_have_no_errors_but_the_others_and_the_variance_have():
    data = problem()
    data[:, 1] = 2.0 * data[:, 0]
    found = gn.fit(data, DAG).uncertainty()
    *unknown, last = at_y(found.standard_errors, True)
    assert np.isnan(unknown).all()
    plain = gn.fit(data[:, [0, 2, 3]], gn.Dag.parse("[a][c][y|a:c]", nodes="acy")).standard_errors
    assert last == pytest.approx(plain.coefficients["c", "y"], rel=1e-9)
    rest = sm.OLS(data[:, 3], sm.add_constant(data[:, [0, 2]])).fit()
    expected = rest.ssr / stats.chi2.ppf([0.975, 0.025], 297)
    np.testing.assert_allclose(found.confidence_intervals.variances["y"], expected, rtol=1e-9)
    (note,) = [note for note in found.notes if note.node == "y"]
    assert "the 3 parents have rank 2" in note.text


def test_exact_relations_have_errors_of_zero():
    x = np.random.default_rng(0).normal(size=100)
    for scale in SCALES:
        fit = gn.fit(
            np.column_stack((x, 2.0 * x)), gn.Dag.parse("[x][y|x]", nodes="xy"), scale=scale
        )
        assert fit.standard_errors.coefficients["x", "y"] == pytest.approx(0.0, abs=1e-14)
        assert fit.confidence_intervals().variances["y"] == pytest.approx((0.0, 0.0), abs=1e-28)


@pytest.mark.parametrize(
    ("rows", "method", "words"),
    [
        (4, "least-squares", "4 rows leave nothing over"),
        (30, gn.BatchAverage(20), "too few batches for an interval, 1 where 2 are needed"),
        (100, gn.BatchMedian(20), "too few batches for an interval, 4 where 6 are needed"),
        (12, "cauchy-tree", "too few batches for an interval, 3 where 6 are needed"),
    ],
)
def test_too_few_rows_give_nan_and_a_note(rows, method, words):
    found = gn.fit(problem(rows), DAG, method).uncertainty()
    assert np.isnan(at_y(found.standard_errors, True)).all()
    assert np.isnan(at_y(found.confidence_intervals, True)).all()
    assert words in {note.node: note.text for note in found.notes}["y"]


def test_a_row_that_decides_a_coefficient_alone_has_no_hc3():
    data = problem()
    data[:, 2] = 0.0
    data[7, 2] = 5.0
    fit = gn.fit(data, DAG)
    assert np.isnan(fit.uncertainty("heteroscedastic").standard_errors.coefficients["c", "y"])
    assert fit.standard_errors.coefficients["c", "y"] > 0.0


def test_split_rows_give_slopes_from_the_first_and_variance_from_the_last():
    data = problem()
    fit = gn.fit(data, DAG, split=(200, 100))
    first, last = ordinary(data[:200], True), ordinary(data[200:], True)
    np.testing.assert_allclose(at_y(fit.standard_errors, False), first.bse[1:], rtol=1e-10)
    expected = last.ssr / stats.chi2.ppf([0.975, 0.025], 96)
    np.testing.assert_allclose(fit.confidence_intervals().variances["y"], expected, rtol=1e-10)
    slopes = first.cov_params()[1:, 1:]
    centre = data[200:, :3].mean(axis=0)
    variance = last.mse_resid / 100 + centre @ slopes @ centre
    assert fit.standard_errors.intercepts["y"] == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("kind", [None, "bootstrap"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("method", [gn.LeastSquares(), gn.BatchMedian(8), gn.SequentialTrim()])
@pytest.mark.parametrize("power", [-500, 490])
def test_errors_follow_the_units_of_tiny_and_huge_data(power, method, scale, kind):
    if isinstance(method, gn.SequentialTrim):
        scale = None
    data = problem(120)
    # Powers of 2 scale exactly; the robust method learns in other units, which rounds.
    first, second = (
        gn.fit(rows, DAG, method, scale=scale).uncertainty(kind, repetitions=40).standard_errors
        for rows in (data, np.ldexp(data, power))
    )
    for name, order in (("coefficient_array", 0), ("intercept_array", 1), ("variance_array", 2)):
        found = np.ldexp(getattr(second, name), -order * power)
        np.testing.assert_allclose(found, getattr(first, name), rtol=1e-9)


def test_bootstrap_repeats_with_its_seed_and_agrees_with_the_method():
    data = np.random.default_rng(0).normal(size=(400, 2))
    fit = gn.fit(data, gn.Dag.parse("[a][b|a]", nodes="ab"))
    first = fit.uncertainty("bootstrap", repetitions=400, seed=3)
    again = fit.uncertainty("bootstrap", repetitions=400, seed=3)
    other = fit.uncertainty("bootstrap", repetitions=400, seed=4)
    found = first.confidence_intervals.coefficients["a", "b"]
    assert found == again.confidence_intervals.coefficients["a", "b"]
    assert found != other.confidence_intervals.coefficients["a", "b"]
    for part in ("coefficient", "intercept", "variance"):
        own = getattr(fit.standard_errors, f"{part}_array")
        drawn = getattr(first.standard_errors, f"{part}_array")
        # A standard deviation of 400 draws is within 1 / sqrt(800) = 3.5 %, and the
        # variance of 400 rows that it estimates within sqrt(2.4 / 400) / 2 = 4 %: 4 of both.
        np.testing.assert_allclose(drawn, own, rtol=0.22)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_bootstrap_serves_every_method(method):
    fit = gn.fit(problem(), DAG, method, scale="mad", split=(200, 100))
    found = fit.uncertainty("bootstrap", repetitions=40)
    assert found.kind == "bootstrap"
    for part in ("coefficient", "intercept", "variance"):
        low, high = getattr(found.confidence_intervals, f"{part}_array").T
        assert (low < high).all()


def test_nothing_is_copied_shown_or_pickled():
    data = problem()
    fit = gn.fit(data, DAG)
    assert fit.data.given is data
    assert "data" not in repr(fit)
    known = fit.standard_errors
    loaded = pickle.loads(pickle.dumps(fit))
    assert len(pickle.dumps(fit)) < data.nbytes
    assert loaded.standard_errors.coefficients == known.coefficients
    with pytest.raises(gn.EstimationError, match="no longer has the rows"):
        loaded.uncertainty("bootstrap")


def test_data_that_changed_after_the_fit_are_noticed():
    data = problem()
    for method in METHODS:
        fit = gn.fit(data, DAG, method)
        kept = data.copy()
        data[:, 3] += data[:, 0]
        with pytest.raises(gn.EstimationError, match="the data have changed"):
            fit.confidence_intervals()
        data[:] = kept


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"level": 1.0}, "got level=1.0, expected a number between 0 and 1"),
        ({"level": float("nan")}, "got level=nan"),
        ({"kind": "jackknife"}, "got kind='jackknife', expected 'classical'"),
        ({"kind": "bootstrap", "repetitions": 1}, "got repetitions=1, expected at least 20"),
        ({"kind": "bootstrap", "seed": -1}, "got seed=-1"),
    ],
)
def test_wrong_settings_are_refused(settings_, words):
    fit = gn.fit(problem(), DAG)
    with pytest.raises(gn.SettingError, match=words):
        fit.uncertainty(**settings_)


def test_errors_of_least_squares_are_refused_to_other_methods():
    fit = gn.fit(problem(), DAG, "cauchy")
    with pytest.raises(gn.SettingError, match="was learnt by 'cauchy': leave kind out"):
        fit.uncertainty("heteroscedastic")


def test_tables_of_one_bootstrap_learn_its_networks_once(monkeypatch):
    from gaussnet.fitting import uncertainty

    dag = gn.Dag.parse("[a][b|a][c|b]")
    rows = gn.simulate.random_network(dag, seed=0).sample(120, seed=1)
    rows[::20, 1] = 500.0
    fit = gn.fit(rows, dag, "robust")
    runs = []
    whole = uncertainty.bootstrap_fits
    monkeypatch.setattr(
        uncertainty, "bootstrap_fits", lambda *asked: runs.append(asked[2:]) or whole(*asked)
    )
    asked = {"kind": "bootstrap", "repetitions": 40, "seed": 3}
    table = fit.table(**asked)
    again = fit.table(**asked), fit.node_table(**asked), fit.table(standardized=True, **asked)
    effect = fit.effect("a", "c", **asked)
    assert runs == [(40, 3)]
    assert again[0]["std_error"] == table["std_error"]
    said = "p-values: two-sided shares of the repetitions beyond 0"
    assert f"standard errors: bootstrap, 40 repetitions; {said}" in table.notes
    assert fit.table(kind="bootstrap", repetitions=40, seed=4)["low"] != table["low"]
    assert len(runs) == 2
    # The same numbers as those of a fit that was asked nothing else.
    alone = gn.fit(rows, dag, "robust")
    assert alone.effect("a", "c", **asked) == effect
    rows[0, 0] += 1.0
    with pytest.raises(gn.GaussnetError, match="changed"):
        fit.table(kind="bootstrap", repetitions=40, seed=4)


def test_robust_bootstraps_have_fewer_repetitions_unless_they_are_asked_for():
    from gaussnet.fitting.uncertainty import repetitions_of

    dag = gn.Dag.parse("[a][b|a]")
    rows = gn.simulate.random_network(dag, seed=0).sample(60, seed=1)
    assert repetitions_of(gn.fit(rows, dag), None) == 500
    robust = gn.fit(rows, dag, "robust")
    assert repetitions_of(robust, None) == 200
    assert repetitions_of(robust, 1_000) == 1_000
    with pytest.raises(gn.SettingError, match="got repetitions=3, expected at least 20"):
        repetitions_of(robust, 3)


@given(st.integers(0, 10_000), st.floats(-3.0, 3.0), st.floats(0.5, 0.97))
@settings(max_examples=60, deadline=None)
def test_a_bootstrap_p_value_agrees_with_the_interval_of_any_level(seed, centre, level):
    """An interval excludes 0 if and only if the p-value is below 1 - level."""
    rng = np.random.default_rng(seed)
    drawn = rng.gamma(2.0, size=(199, 1)) + centre
    found = percentiles(drawn, np.array([centre + 2.2]), level, False)
    excludes = found.low[0] > 0.0 or found.high[0] < 0.0
    if abs(found.p_values[0] - (1.0 - level)) > 1e-9:  # else rounding decides
        assert excludes == (found.p_values[0] < 1.0 - level)
    assert found.p_values[0] >= 2.0 / 200.0


def test_a_bootstrap_without_an_estimate_beyond_0_writes_its_least_p_value():
    fit = gn.fit(problem(), DAG)
    table = fit.table(kind="bootstrap", repetitions=99, seed=1)
    own = {(row["parent"], row["child"]): row["p_value"] for row in table.to_dicts()}
    assert own["a", "b"] == pytest.approx(2.0 / 100.0)
    assert "<0.020" in str(table)
    assert "p-values: two-sided shares of the repetitions beyond 0" in str(table)
    effect = fit.effect("a", "b", kind="bootstrap", repetitions=99, seed=1)
    assert "p-value <0.020" in str(effect)


def test_a_few_repetitions_far_from_the_others_do_not_ruin_standard_errors():
    """Of 200 standard normal repetitions the half width of the middle is known to 8 %."""
    rng = np.random.default_rng(5)
    drawn = 10.0 + rng.normal(size=(200, 2))
    drawn[:4, 1] = -300.0
    plain, ruined = percentiles(drawn, np.array([10.0, 10.0]), 0.95, False).errors
    assert plain == pytest.approx(drawn[:, 0].std(ddof=1), rel=1e-12)
    assert abs(ruined - 1.0) < 4.0 * 0.08
    found = percentiles(drawn, np.array([10.0, 10.0]), 0.95, False)
    assert found.far.tolist() == [0, 4]
    assert found.note.startswith("4 of 200 repetitions lie far from the others")


def test_tables_tell_of_repetitions_far_from_the_others():
    fit = gn.fit(problem(), DAG)
    networks = list(gn.fit(problem(seed=seed), DAG).network for seed in range(40))
    wild = gn.GaussianNetwork(DAG, dict.fromkeys(DAG.edges, 90.0), dict.fromkeys(DAG.nodes, 1.0))
    fit.bootstraps[42, 0] = (*networks, wild, wild)
    sure = fit.uncertainty("bootstrap", repetitions=42)
    assert sure.standard_errors.coefficients["a", "b"] < 1.0
    said = "2 of 42 repetitions lie far from the others: standard errors are from their quantiles"
    assert ("b", said) in {(note.node, note.text) for note in sure.notes}
    assert said in str(fit.table(kind="bootstrap", repetitions=42))


def test_repetitions_must_reach_the_ends_of_an_interval():
    """The ends of 95 % lie at the first and the last of 39 repetitions; p-values agree with it."""
    fit = gn.fit(problem(), DAG)
    with pytest.raises(gn.SettingError, match="got repetitions=38, expected at least 39 for"):
        fit.table(kind="bootstrap", repetitions=38)
    for ask in (fit.effect, fit.uncertainty, fit.table):
        names = DAG.edges[0] if ask == fit.effect else ()
        with pytest.raises(gn.SettingError, match="expected at least 199 for intervals"):
            ask(*names, kind="bootstrap", repetitions=150, level=0.99)
    table = fit.table(kind="bootstrap", repetitions=39)
    for low, high, p_value in zip(table["low"], table["high"], table["p_value"], strict=True):
        # 2 / 40 is the least p-value and means below it.
        assert (low > 0.0 or high < 0.0) <= (p_value <= 0.05 + 1e-12)
    assert len(fit.table(kind="bootstrap", repetitions=20, level=0.9)["low"])
