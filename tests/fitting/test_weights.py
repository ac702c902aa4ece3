"""Weights and clusters of rows, against statsmodels and formulas written down by hand."""

import numpy as np
import pandas as pd
import pytest
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.errors import DataError, EstimationError, SettingError

sm = pytest.importorskip("statsmodels.api")

RNG = np.random.default_rng(5)
ROWS = 600
DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c]", nodes="abcd")
VALUES = gn.simulate.random_network(DAG, seed=3).sample(ROWS, seed=4)
VALUES += np.array([5.0, 0.0, -3.0, 100.0])
CLUSTERS = RNG.integers(0, 25, ROWS)
VALUES[:, 3] += RNG.normal(size=25)[CLUSTERS]
REAL = RNG.gamma(2.0, size=ROWS)
WHOLE = RNG.integers(0, 4, ROWS)
CLOSE = 1e-8


def regressions():
    """Child, parents' names, their design with a constant, and the values of the child."""
    for node in DAG.nodes:
        parents = DAG.parents(node)
        columns = [DAG.position(parent) for parent in parents]
        design = np.column_stack((np.ones(ROWS), VALUES[:, columns]))
        yield node, parents, design, VALUES[:, DAG.position(node)]


def parameters(fit, node, parents):
    """Intercept and coefficients of a node, and their standard errors."""
    network, errors = fit.network, fit.standard_errors
    values = [network.intercepts[node], *(network.coefficients[p, node] for p in parents)]
    deviations = [errors.intercepts[node], *(errors.coefficients[p, node] for p in parents)]
    return np.array(values), np.array(deviations)


def assert_close(found, expected):
    assert np.abs(np.asarray(found) / np.asarray(expected) - 1.0).max() < CLOSE


def test_precision_weights_are_those_of_weighted_least_squares():
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "precision"))
    for node, parents, design, child in regressions():
        other = sm.WLS(child, design, weights=REAL).fit()
        values, errors = parameters(fit, node, parents)
        assert_close(values, other.params)
        assert_close(errors, other.bse)
        assert_close(fit.network.variances[node], other.scale * other.df_resid / ROWS)
        ends = other.conf_int(alpha=0.1)
        found = fit.confidence_intervals(0.9)
        mine = [found.intercepts[node], *(found.coefficients[p, node] for p in parents)]
        assert_close(mine, ends)


def test_precision_weights_and_noise_of_any_variance():
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "precision"))
    sure = fit.uncertainty("heteroscedastic").standard_errors
    for node, parents, design, child in regressions():
        other = sm.WLS(child, design, weights=REAL).fit(cov_type="HC3")
        mine = [sure.intercepts[node], *(sure.coefficients[p, node] for p in parents)]
        assert_close(mine, other.bse)


@pytest.mark.parametrize("kind", ["classical", "heteroscedastic"])
def test_frequency_weights_are_repeated_rows(kind):
    repeated = np.repeat(VALUES, WHOLE, axis=0)
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(WHOLE, "frequency"))
    other = gn.fit(repeated, DAG)
    for name in ("coefficient_array", "intercept_array", "variance_array"):
        assert_close(getattr(fit.network, name), getattr(other.network, name))
        both = (one.uncertainty(kind) for one in (fit, other))
        found, expected = both
        assert_close(getattr(found.standard_errors, name), getattr(expected.standard_errors, name))
        assert_close(
            getattr(found.confidence_intervals, name), getattr(expected.confidence_intervals, name)
        )
    assert fit.node("c").rows == len(repeated)
    assert fit.effect("a", "d").interval == pytest.approx(other.effect("a", "d").interval, 1e-9)


def survey_errors(design, child, weights, clusters):
    """Linearisation, with replacement: B (n / (n - 1) sum of squared scores of units) B."""
    bread = np.linalg.inv(design.T @ (weights[:, None] * design))
    solution = bread @ design.T @ (weights * child)
    rest = child - design @ solution
    scores = design * (weights * rest)[:, None]
    units = np.array([scores[clusters == unit].sum(axis=0) for unit in np.unique(clusters)])
    noise = weights * (rest**2 - weights @ rest**2 / weights.sum())
    spread = np.array([noise[clusters == unit].sum() for unit in np.unique(clusters)])
    factor = len(units) / (len(units) - 1.0)
    errors = np.sqrt(np.diag(bread @ (factor * units.T @ units) @ bread))
    return solution, errors, np.sqrt(factor * spread @ spread) / weights.sum()


@pytest.mark.parametrize("clustered", [False, True])
def test_sampling_weights_have_the_errors_of_surveys(clustered):
    clusters = CLUSTERS if clustered else None
    units = CLUSTERS if clustered else np.arange(ROWS)
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "sampling"), clusters=clusters)
    assert fit.uncertainty().kind == ("clustered" if clustered else "sampling")
    for node, parents, design, child in regressions():
        solution, expected, spread = survey_errors(design, child, REAL, units)
        values, errors = parameters(fit, node, parents)
        assert_close(values, solution)
        assert_close(errors, expected)
        rest = child - design @ solution
        assert_close(fit.network.variances[node], REAL @ rest**2 / REAL.sum())
        if clustered:
            # What the coefficients add is of the order of their number over the rows.
            assert abs(fit.standard_errors.variances[node] / spread - 1.0) < 0.02


@pytest.mark.parametrize("weights", [None, REAL])
def test_clusters_have_the_errors_of_statsmodels(weights):
    said = None if weights is None else gn.Weights(weights, "precision")
    fit = gn.fit(VALUES, DAG, clusters=CLUSTERS, weights=said)
    for node, parents, design, child in regressions():
        model = sm.OLS(child, design) if weights is None else sm.WLS(child, design, weights)
        other = model.fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS}, use_t=True)
        values, errors = parameters(fit, node, parents)
        assert_close(values, other.params)
        assert_close(errors, other.bse)
        found = fit.confidence_intervals(0.95)
        mine = [found.intercepts[node], *(found.coefficients[p, node] for p in parents)]
        assert_close(mine, other.conf_int())
    assert fit.network.coefficient_array.tolist() == (
        gn.fit(VALUES, DAG, weights=said).network.coefficient_array.tolist()
    )


def test_effects_and_tables_have_the_clusters_freedom():
    fit = gn.fit(VALUES, DAG, clusters=CLUSTERS)
    effect = fit.effect("c", "d")
    assert_close(effect.interval, fit.confidence_intervals().coefficients["c", "d"])
    line = fit.table().to_dicts()[-1]
    other = sm.OLS(VALUES[:, 3], sm.add_constant(VALUES[:, 2]))
    other = other.fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS}, use_t=True)
    assert abs(line["p_value"] - other.pvalues[1]) < CLOSE


def test_shares_explained_are_weighted():
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "precision"))
    shares = dict(zip(fit.node_table()["node"], fit.node_table()["r2"], strict=True))
    for node, parents, design, child in regressions():
        if parents:
            assert_close(shares[node], sm.WLS(child, design, weights=REAL).fit().rsquared)


def test_clusters_of_one_row_are_nearly_those_of_any_variance():
    fit = gn.fit(VALUES, DAG, clusters=np.arange(ROWS))
    for node, parents, design, child in regressions():
        other = sm.OLS(child, design).fit(cov_type="HC1")
        _, errors = parameters(fit, node, parents)
        assert_close(errors, other.bse)  # n / (n - 1) (n - 1) / (n - p) = n / (n - p)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_files_frames_and_streams_are_alike(tmp_path, ending):
    frame = pd.DataFrame(VALUES, columns=DAG.nodes).assign(w=REAL, site=CLUSTERS)
    path = tmp_path / f"rows.{ending}"
    getattr(frame, f"to_{ending}")(path, **({"index": False} if ending == "csv" else {}))
    settings = {"weights": gn.Weights("w", "sampling"), "clusters": "site", "page_rows": 100}
    expected = gn.fit(
        VALUES, DAG, weights=gn.Weights(REAL, "sampling"), clusters=CLUSTERS, page_rows=100
    )
    for fit in (
        gn.fit(frame, DAG, **settings),
        gn.fit(path, DAG, **settings),
        fit_streamed(path, DAG, **settings),
    ):
        assert fit.network == expected.network
        assert fit.ignored == ()
        assert np.array_equal(
            fit.standard_errors.coefficient_array, expected.standard_errors.coefficient_array
        )


def test_weights_go_with_interventions_and_missing_values():
    mask = np.zeros(VALUES.shape, dtype=bool)
    mask[:150, 2] = True
    values = VALUES.copy()
    values[100:120, 0] = np.nan
    fit = gn.fit(
        values,
        DAG,
        weights=gn.Weights(REAL, "precision"),
        interventions=mask,
        missing="drop-by-node",
    )
    kept = np.arange(ROWS) >= 150
    design = np.column_stack((np.ones(kept.sum()), VALUES[kept][:, :2]))
    other = sm.WLS(VALUES[kept, 2], design, weights=REAL[kept]).fit()
    values, errors = parameters(fit, "c", ("a", "b"))
    assert_close(values, other.params)
    assert_close(errors, other.bse)


def test_weights_of_one_and_large_means_lose_no_digits():
    plain = gn.fit(VALUES, DAG)
    for kind in ("precision", "frequency", "sampling"):
        fit = gn.fit(VALUES, DAG, weights=gn.Weights(np.ones(ROWS), kind))
        assert_close(fit.network.coefficient_array, plain.network.coefficient_array)
        assert_close(fit.network.variance_array, plain.network.variance_array)
    moved = gn.fit(VALUES + 1e8, DAG, weights=gn.Weights(REAL, "precision"))
    other = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "precision"))
    # Values of 1e8 are rounded by 1e-8; sums of 600 such errors stay below 1e-6 of a coefficient.
    gap = moved.network.coefficient_array - other.network.coefficient_array
    assert np.abs(gap).max() < 1e-6


def test_nearly_collinear_parents_keep_their_digits():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    b = a + 1e-7 * rng.normal(size=400)
    c = a + b + rng.normal(size=400)
    weights = rng.gamma(2.0, size=400)
    rows, dag = np.column_stack((a, b, c)), gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
    fit = gn.fit(rows, dag, weights=gn.Weights(weights, "precision"))
    roots = np.sqrt(weights)[:, None]
    design = np.column_stack((np.ones(400), a, b))
    expected = np.linalg.lstsq(roots * design, roots[:, 0] * c, rcond=None)[0]
    # A condition of 1e7 leaves 9 digits.
    assert np.abs(fit.network.coefficient_array / expected[1:] - 1.0).max() < 1e-7


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"weights": "w"}, SettingError, "expected what they mean too"),
        ({"weights": REAL}, SettingError, "expected what they mean too"),
        ({"weights": gn.Weights(REAL[:-1], "precision")}, DataError, "one value for each row"),
        ({"weights": gn.Weights(-REAL, "precision")}, DataError, "below 0"),
        ({"weights": gn.Weights(REAL * np.nan, "sampling")}, DataError, "missing, infinite or"),
        ({"weights": gn.Weights(0 * REAL, "sampling")}, DataError, "all 0"),
        ({"weights": gn.Weights(["x"] * ROWS, "sampling")}, DataError, "not numbers"),
        ({"weights": gn.Weights(VALUES, "sampling")}, DataError, "of shape"),
        ({"clusters": [None] * ROWS}, DataError, "600 rows have no value in clusters"),
        ({"weights": gn.Weights(REAL, "precision"), "method": "cauchy"}, SettingError, "cannot"),
        ({"weights": gn.Weights(REAL, "precision"), "method": "robust"}, SettingError, "cannot"),
        ({"weights": gn.Weights(REAL, "precision"), "scale": "mad"}, SettingError, "cannot use"),
        ({"clusters": CLUSTERS, "method": "batch-median"}, SettingError, "cannot use"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        gn.fit(VALUES, DAG, **settings)


def test_what_weights_cannot_tell_is_refused():
    with pytest.raises(SettingError, match="expected 'precision'"):
        gn.Weights("w", "importance")
    fit = gn.fit(VALUES, DAG, weights=gn.Weights(REAL, "sampling"))
    for ask in (fit.check_graph, fit.certificate, lambda: fit.uncertainty("bootstrap")):
        with pytest.raises(SettingError):
            ask()
    with pytest.raises(EstimationError, match="likelihood is not known"):
        _ = fit.scores
    alone = gn.fit(VALUES, DAG, clusters=np.zeros(ROWS))
    with pytest.raises(EstimationError, match="one cluster only"):
        _ = alone.standard_errors


def test_sample_weights_of_scikit_learn_are_frequencies():
    from gaussnet.sklearn import GaussianBayesianNetwork

    model = GaussianBayesianNetwork(DAG).fit(VALUES, sample_weight=WHOLE)
    other = GaussianBayesianNetwork(DAG).fit(np.repeat(VALUES, WHOLE, axis=0))
    assert_close(model.network_.coefficient_array, other.network_.coefficient_array)
    assert_close(model.network_.variance_array, other.network_.variance_array)
