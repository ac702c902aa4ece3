"""Log-likelihood, AIC, BIC, tables of fits and cross-validation."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import multivariate_normal
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.errors import DataError, EstimationError, NetworkError, SettingError
from gaussnet.fitting.validation import first_within_noise

DAG = gn.Dag.parse("[a][b|a][c|a:b][d]", nodes="abcd")


@pytest.fixture
def rows():
    return gn.simulate.random_network(DAG, seed=1).sample(300, seed=2) + 5.0


def regressions(rows, dag):
    """One regression a node by statsmodels, which takes the mean square for the variance."""
    for node in dag.nodes:
        parents = [dag.position(parent) for parent in dag.parents(node)]
        design = np.column_stack((np.ones(len(rows)), rows[:, parents]))
        yield sm.OLS(rows[:, dag.position(node)], design).fit()


def test_scores_are_the_sums_of_those_of_statsmodels(rows):
    fit = gn.fit(rows, DAG)
    found = list(regressions(rows, DAG))
    np.testing.assert_allclose(fit.log_likelihood, sum(one.llf for one in found), rtol=1e-12)
    # statsmodels does not count the variance as a parameter
    variances = len(DAG)
    aic = sum(one.aic for one in found) + 2 * variances
    bic = sum(one.bic for one in found) + math.log(len(rows)) * variances
    np.testing.assert_allclose([fit.aic, fit.bic], [aic, bic], rtol=1e-12)
    assert fit.scores.parameters == len(DAG.edges) + 2 * len(DAG) == 11


@pytest.mark.parametrize("intercept", [True, False])
def test_the_log_likelihood_is_that_of_one_multivariate_gaussian(rows, intercept):
    fit = gn.fit(rows, DAG, "batch-median", scale="mad", intercept=intercept)
    joint = multivariate_normal(fit.network.mean(), fit.network.covariance())
    np.testing.assert_allclose(fit.log_likelihood, joint.logpdf(rows).sum(), rtol=1e-10)
    assert fit.scores.parameters == len(DAG.edges) + len(DAG) * (1 + intercept)


def test_a_saturated_graph_has_the_same_likelihood_in_any_order(rows):
    def likelihood(order):
        edges = [(a, b) for i, b in enumerate(order) for a in order[:i]]
        return gn.fit(rows, gn.Dag.from_edges(edges, nodes=DAG.nodes)).log_likelihood

    np.testing.assert_allclose(likelihood("abcd"), likelihood("dcba"), rtol=1e-12)


def test_missing_values_count_for_the_nodes_that_lack_nothing(rows):
    rows[:40, 0] = np.nan
    rows[250:, 3] = np.nan
    fit = gn.fit(rows, DAG, missing="drop-by-node")
    parts = [regressions(rows[40:], DAG) for _ in range(3)]
    found = [list(part)[node] for node, part in enumerate(parts)]
    alone = rows[:250, [3]]
    found += list(regressions(alone, gn.Dag.parse("[d]")))
    np.testing.assert_allclose(fit.log_likelihood, sum(one.llf for one in found), rtol=1e-12)
    bic = sum(one.bic + math.log(one.nobs) for one in found)
    np.testing.assert_allclose(fit.bic, bic, rtol=1e-12)


def test_collinear_parents_count_by_their_rank(rows):
    twice = np.column_stack((rows[:, :2], rows[:, 0], rows[:, 2]))
    fit = gn.fit(twice, gn.Dag.parse("[a][b][a2][c|a:b:a2]", nodes=["a", "b", "a2", "c"]))
    assert fit.scores.parameters == 2 + 2 * 4
    without = gn.fit(rows[:, :3], gn.Dag.parse("[a][b][c|a:b]", nodes="abc"))
    alone = gn.fit(rows[:, [0]], gn.Dag.parse("[a2]"))
    expected = without.log_likelihood + alone.log_likelihood
    np.testing.assert_allclose(fit.log_likelihood, expected, rtol=1e-9)


def test_a_node_without_noise_and_medians_without_rows_have_no_likelihood(rows):
    exact = gn.fit(
        np.column_stack((rows[:, 0], 2 * rows[:, 0])), gn.Dag.parse("[a][b|a]", nodes="ab")
    )
    with pytest.raises(NetworkError, match="the node 'b' has variance 0"):
        _ = exact.log_likelihood
    copied = pickle.loads(pickle.dumps(gn.fit(rows, DAG, "batch-median")))
    with pytest.raises(EstimationError, match="no longer has the rows"):
        _ = copied.bic


def test_the_robust_score_expects_the_mean_log_density_of_the_truth():
    truth = gn.simulate.random_network(DAG, seed=1)
    rows = truth.sample(200_000, seed=3)
    # Both are means over rows: the difference of their terms has a standard deviation below
    # 1.6 a row over 4 nodes, so 4 standard errors are 0.015.
    for discount in (0.1, 0.5, 1.0):
        difference = gn.robust_score(truth, rows, discount=discount) - truth.score(rows)
        assert abs(difference) < 0.015
    assert gn.robust_score(truth, rows, discount=0) == truth.score(rows)


@pytest.mark.parametrize("discount", [0.2, 0.5, 1.0])
def test_the_robust_score_is_proper(discount):
    """Its expectation, by quadrature, is largest at the true equation."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def expected(location, variance):
        mean = weights @ np.exp(-0.5 * discount * (points - location) ** 2 / variance)
        factor = (1 + discount) / discount
        return factor * np.log(mean) - 0.5 * np.log(variance)

    best = expected(0.0, 1.0)
    for location, variance in [(0.1, 1.0), (-0.1, 1.0), (0.0, 1.1), (0.0, 0.9), (0.3, 1.4)]:
        assert expected(location, variance) < best - 1e-4


def test_the_robust_score_is_its_formula(rows):
    network = gn.fit(rows, DAG).network
    total = 0.0
    for node in DAG.nodes:
        mean = network.intercepts[node] + sum(
            network.coefficients[parent, node] * rows[:, DAG.position(parent)]
            for parent in DAG.parents(node)
        )
        squares = (rows[:, DAG.position(node)] - mean) ** 2 / network.variances[node]
        total += 3 * np.log(np.mean(np.exp(-squares / 4))) + 1.5 * np.log(1.5) - 0.5
        total -= 0.5 * np.log(2 * np.pi * network.variances[node])
    np.testing.assert_allclose(gn.robust_score(network, rows), total, rtol=1e-12)


def test_wild_cells_cost_every_network_the_same():
    truth = gn.simulate.random_network(DAG, seed=1)
    other = gn.fit(truth.sample(50, seed=9), DAG).network
    rows = truth.sample(2_000, seed=3)
    spoilt = rows.copy()
    spoilt[:200, 3] = 1e9  # d stands alone: its column is a tenth wrong, no other is touched
    cost = 3 * np.log(0.9)
    for network in (truth, other):
        clean = gn.robust_score(network, np.delete(rows, slice(200), axis=0)[:, :])
        alone = gn.robust_score(network, spoilt)
        whole = gn.robust_score(network, rows)
        # what 200 right cells said of d is gone, at most a few hundredths
        assert abs(alone - whole - cost) < 0.1
        assert abs(clean - whole) < 0.1
    lost = [gn.robust_score(net, rows) - gn.robust_score(net, spoilt) for net in (truth, other)]
    assert abs(lost[0] - lost[1]) < 0.01


def test_the_robust_score_survives_the_largest_numbers():
    network = gn.simulate.random_network(DAG, seed=1)
    assert math.isfinite(gn.robust_score(network, np.full((3, 4), 1e150)))


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0)])
def test_cells_whose_squares_overflow_cost_what_any_wild_cell_costs(rows, signs):
    network = gn.fit(rows, DAG).network
    wild, wilder = rows.copy(), rows.copy()
    wild[0, :2] = 1e100 * np.array(signs)
    wilder[0, :2] = 1.7e308 * np.array(signs)
    assert gn.robust_score(network, wilder) == gn.robust_score(network, wild)


def test_scores_refuse_what_they_cannot_score(rows):
    network = gn.fit(rows, DAG).network
    with pytest.raises(DataError, match="got 0 rows"):
        gn.robust_score(network, rows[:0])
    with pytest.raises(DataError, match="drop or mend"):
        gn.robust_score(network, np.full((1, 4), np.nan))
    with pytest.raises(SettingError, match="discount=-1"):
        gn.robust_score(network, rows, discount=-1)
    with pytest.raises(NetworkError, match="got a Fit to score with"):
        gn.robust_score(gn.fit(rows, DAG), rows)


def test_a_table_of_fits_prints_and_gives_plain_values(rows):
    fits = [gn.fit(rows, DAG), gn.fit(rows, DAG, "batch-median"), gn.fit(rows, DAG)]
    table = gn.compare(fits, rows)
    assert [one.name for one in table] == ["least-squares 1", "batch-median", "least-squares 2"]
    first = table["least-squares 1"]
    assert (first.log_likelihood, first.aic, first.bic) == (
        fits[0].log_likelihood,
        fits[0].aic,
        fits[0].bic,
    )
    np.testing.assert_allclose(first.held_out * len(rows), first.log_likelihood, rtol=1e-12)
    assert first.robust == gn.robust_score(fits[0].network, rows)
    assert table["batch-median"].notes == (
        "AIC and BIC are made for least squares, not for this method",
    )
    lines = str(table).splitlines()
    assert lines[0].split() == [
        "fit",
        "rows",
        "parameters",
        "log-likelihood",
        "AIC",
        "BIC",
        "held-out",
        "robust",
    ]
    assert len(lines) == 5
    assert lines[4].startswith("batch-median: AIC and BIC")
    assert json.loads(json.dumps(table.to_dict()))["fits"][0]["bic"] == first.bic


def test_without_rows_the_table_has_no_held_out_columns(rows):
    table = gn.compare({"ours": gn.fit(rows, DAG)})
    assert "held-out" not in str(table)
    assert table.to_dict()["fits"][0]["held_out"] is None
    assert len(table) == 1


def test_what_has_no_likelihood_is_noted_and_not_fatal(rows):
    exact = gn.fit(
        np.column_stack((rows[:, 0], 2 * rows[:, 0])), gn.Dag.parse("[a][b|a]", nodes="ab")
    )
    table = gn.compare({"exact": exact}, rows[:, :2])
    assert math.isnan(table["exact"].bic)
    assert math.isnan(table["exact"].robust)
    assert "has variance 0" in " ".join(table["exact"].notes)
    assert " - " in str(table)


def test_fits_of_different_rows_are_said_not_to_compare(rows):
    table = gn.compare({"all": gn.fit(rows, DAG), "half": gn.fit(rows[:150], DAG)})
    assert table.notes[0].startswith("the fits rest on different numbers of rows")
    assert str(table).endswith(table.notes[0])


def test_frames_are_matched_by_name_for_each_fit(rows):
    turned = gn.Dag.from_edges(DAG.edges, nodes=["d", "c", "b", "a"])
    frame = pd.DataFrame(rows, columns=list(DAG.nodes))
    one, other = gn.compare({"one": gn.fit(frame, DAG), "other": gn.fit(frame, turned)}, frame)
    np.testing.assert_allclose(one.held_out, other.held_out, rtol=1e-12)


def test_what_is_no_fit_is_not_compared(rows):
    fit = gn.fit(rows, DAG)
    with pytest.raises(SettingError, match="got no fit"):
        gn.compare([])
    with pytest.raises(SettingError, match="got a GaussianNetwork to compare"):
        gn.compare([fit.network])
    with pytest.raises(SettingError, match="got a NoneType to compare"):
        gn.compare(None)
    assert len(gn.compare(fit)) == 1
    with pytest.raises(SettingError, match="only some of the fits have 'd'"):
        gn.compare([fit, gn.fit(rows[:, :3], gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"))])
    with pytest.raises(SettingError, match="there is no fit 'x'"):
        gn.compare([fit])["x"]


def test_cross_validation_is_what_a_loop_over_folds_gives(rows):
    found = gn.cross_validate(rows, DAG, ["least-squares", "batch-median"], folds=3, seed=4)
    order = np.random.default_rng(4).permutation(len(rows))
    for fold, part in enumerate(np.array_split(order, 3)):
        seen = np.delete(rows, part, axis=0)
        for place, method in enumerate(("least-squares", "batch-median")):
            network = gn.fit(seen, DAG, method).network
            score = network.score(rows[part])
            np.testing.assert_allclose(found.held_out[place, fold], score, rtol=1e-12)
            robust = gn.robust_score(network, rows[part])
            np.testing.assert_allclose(found.robust[place, fold], robust, rtol=1e-12)
    again = gn.cross_validate(rows, DAG, ["least-squares", "batch-median"], folds=3, seed=4)
    np.testing.assert_array_equal(found.held_out, again.held_out)


def test_cross_validation_refuses_missing_values_and_says_what_to_do(rows):
    holed = rows.copy()
    holed[7, 1] = np.nan
    with pytest.raises(gn.DataError, match=f"nan at row 7, column '{DAG.nodes[1]}': give the"):
        gn.cross_validate(holed, DAG)
    holed[7, 1] = np.inf
    with pytest.raises(gn.DataError, match=f"inf at row 7, column '{DAG.nodes[1]}': drop or mend"):
        gn.cross_validate(holed, DAG)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing", r"no setting missing=: its settings are methods, .*; settings of gaussnet.fit"),
        ("fold", "no setting fold=, did you mean 'folds'"),
        ("cv", "folds"),
    ],
)
def test_cross_validation_lists_its_settings_where_one_is_unknown(rows, name, sentence):
    with pytest.raises(TypeError, match=rf"cross_validate\(\) has {sentence}|cv=.*{sentence}"):
        gn.cross_validate(rows, DAG, **{name: 3})


def test_settings_and_graphs_can_be_cross_validated(rows):
    methods = {
        "right": "least-squares",
        "kl": {"method": "least-squares", "scale": "kl-optimal"},
        "no edges": {"dag": gn.Dag.from_edges([], nodes=DAG.nodes)},
    }
    found = gn.cross_validate(rows, DAG, methods)
    assert found.methods == ("right", "kl", "no edges")
    means = found.held_out.mean(axis=1)
    assert means[2] < means[0] < means[1]
    assert str(found).splitlines()[-1] == f"best: {found.best}"


def test_outliers_do_not_move_the_choice_but_move_the_mean():
    network = gn.simulate.random_network(DAG, seed=1)
    rows = network.sample(1_000, seed=2)
    spoilt = gn.simulate.contaminate(rows, seed=3, share=0.05, nodes=2).data
    methods = {
        "least squares": "least-squares",
        "medians": {"method": "batch-median", "scale": "mad"},
    }
    found = gn.cross_validate(spoilt, DAG, methods)
    assert found.best == "medians"
    assert found.held_out[0].mean() > found.held_out[1].mean()
    assert gn.cross_validate(rows, DAG, methods).best == "least squares"


def test_a_tie_goes_to_the_method_named_first():
    scores = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert first_within_noise(scores) == 0
    # better in one fold of five only: the mean is one standard error
    once = np.array([[0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0]])
    assert first_within_noise(once) == 0
    assert first_within_noise(np.array([[0.0] * 5, [1.0, 1.1, 0.9, 1.0, 1.0]])) == 1
    assert first_within_noise(np.array([[np.nan] * 2, [1.0, 2.0]])) == 1
    with pytest.raises(SettingError, match="no candidate has a score"):
        first_within_noise(np.array([[np.nan, 1.0]]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"folds": 1}, "got folds=1, expected a whole number from 2 to the 300 rows"),
        ({"folds": 301}, "got folds=301"),
        ({"methods": []}, "expected at least one"),
        ({"methods": ["cauchy", "cauchy"]}, "none twice"),
        ({"methods": "cauchy"}, "expected several"),
        ({"seed": -1}, "got seed=-1"),
        ({"methods": {"one": {"spread": "mad"}}}, "got the settings 'spread', expected those of"),
        ({"dag": None}, "got dag of type NoneType"),
        ({"methods": ["nothing"]}, "'nothing' cannot be scored: got method='nothing'"),
    ],
)
def test_settings_of_cross_validation_are_checked(rows, settings, sentence):
    with pytest.raises(gn.GaussnetError, match=sentence):
        gn.cross_validate(rows, **({"dag": DAG, "methods": ["least-squares"]} | settings))


@pytest.mark.parametrize("missing", ["raise", "drop-rows", "drop-by-node"])
def test_scores_of_rows_read_page_by_page_are_those_of_rows_in_memory(rows, tmp_path, missing):
    if missing != "raise":
        rows[7, 1] = rows[250, 0] = np.nan
    frame = pd.DataFrame(rows, columns=list(DAG.nodes))
    frame.to_parquet(tmp_path / "rows.parquet")
    settings = {"missing": missing, "page_rows": 64}
    streamed = fit_streamed(tmp_path / "rows.parquet", DAG, **settings)
    assert streamed.data.table().is_stream
    expected = gn.fit(frame, DAG, **settings)
    np.testing.assert_allclose(streamed.log_likelihood, expected.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(streamed.bic, expected.bic, rtol=1e-12)


def marginal_log_likelihood(network, rows):
    """The log-likelihood of the cells that are there, row by row from the joint Gaussian."""
    mean, covariance = network.mean(), network.covariance()
    total = 0.0
    for row in np.asarray(rows):
        there = np.flatnonzero(np.isfinite(row))
        if len(there):
            block = covariance[np.ix_(there, there)]
            total += multivariate_normal(mean[there], block).logpdf(row[there])
    return total


def test_a_robust_fit_that_flags_values_has_no_likelihood_of_its_own(rows):
    rows[3, 0] = 1e4
    fit = gn.fit(rows, DAG, "robust")
    for score in ("log_likelihood", "aic", "bic"):
        with pytest.raises(EstimationError, match=r"does not believe 1 value .*compare\(\[fit"):
            getattr(fit, score)
    clean = gn.fit(np.delete(rows, 3, axis=0), DAG, "robust")
    assert clean.aic == gn.fit(np.delete(rows, 3, axis=0), DAG).aic


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_compared_fits_are_scored_on_the_values_that_all_believe(rows, method):
    rows[3, 0], rows[11, 2], rows[40, 3] = 1e4, -600.0, 900.0
    pruned = gn.Dag.parse("[d][c|b][b|a][a]", nodes="dcba")
    fits = {"all": gn.fit(rows, DAG, method), "least squares": gn.fit(rows, DAG)}
    fits["pruned"] = gn.fit(pd.DataFrame(rows, columns=list(DAG.nodes)), pruned, method)
    table = gn.compare(fits)
    common = np.array(rows)
    for fit in (fits["all"], fits["pruned"]):
        for status in ("flagged", "unverified"):
            for cell in fit.outliers(status):
                common[cell.row, DAG.position(cell.node)] = np.nan
    assert 3 <= np.isnan(common).sum() < 12
    for name, fit in fits.items():
        order = [DAG.position(node) for node in fit.dag.nodes]
        expected = marginal_log_likelihood(fit.network, common[:, order])
        np.testing.assert_allclose(table[name].log_likelihood, expected, rtol=1e-10)
        penalty = 2.0 * table[name].parameters
        np.testing.assert_allclose(table[name].aic, penalty - 2.0 * expected, rtol=1e-10)
    assert f"of the {np.isfinite(common).sum():,} values that every fit believes" in table.notes[0]
    # Least squares followed the wild values, so that it explains the others worst.
    assert table["least squares"].aic > table["all"].aic + 100.0


def test_differences_of_aic_are_those_of_someone_who_knows_the_wrong_cells():
    """With gross errors all are flagged, so that both score the same cells."""
    dag = gn.Dag.parse("[a][b|a][c|b][d|a:c]")
    pruned = gn.Dag.parse("[a][b|a][c|b][d|c]")
    truth = gn.GaussianNetwork.from_arrays(dag, [0.8, 0.8, 0.3, 0.8], np.ones(4))
    rows = truth.sample(400, seed=5)
    wrong = np.random.default_rng(6).random(rows.shape) < 0.05
    rows[wrong] = 1e4 + np.arange(wrong.sum())
    known = rows.copy()
    known[wrong] = np.nan
    table = gn.compare({"all": gn.fit(rows, dag, "robust"), "less": gn.fit(rows, pruned, "robust")})
    oracle = [gn.fit(known, one, missing="likelihood").aic for one in (dag, pruned)]
    # Parameters d standard errors from the maximum cost d * d of -2 log-likelihood each; both
    # networks have 12 or 11 of them, within a twentieth of a standard error.
    assert abs((table["less"].aic - table["all"].aic) - (oracle[1] - oracle[0])) < 0.05
    assert oracle[1] > oracle[0]


def test_maximum_likelihood_over_missing_cells_needs_no_warning(rows):
    rows[7, 1] = np.nan
    fit = gn.fit(rows, DAG, missing="likelihood")
    assert not any(
        "made for least squares" in note for one in gn.compare([fit]) for note in one.notes
    )


def test_fits_to_other_rows_that_flag_values_are_not_scored(rows):
    rows[3, 0] = 1e4
    fit, other = gn.fit(rows, DAG, "robust"), gn.fit(rows[::-1].copy(), DAG)
    table = gn.compare([fit, other])
    assert math.isnan(table["robust"].aic)
    assert math.isnan(table["least-squares"].aic)
    assert "the fits rest on different rows" in table.notes[0]
    assert "nan" not in str(table)


def test_missing_cells_of_a_robust_fit_count_as_missing_in_its_likelihood(rows):
    rows[7, 1] = rows[9, 0] = np.nan
    fit = gn.fit(rows, DAG, "robust", missing="likelihood")
    assert not len(fit.outliers())
    expected = marginal_log_likelihood(fit.network, rows)
    np.testing.assert_allclose(fit.log_likelihood, expected, rtol=1e-10)


def test_scores_go_to_latex_and_frames(rows):
    table = gn.compare([gn.fit(rows, DAG)])
    assert table.to_latex() == table.table().to_latex()
    assert table.to_frame()["aic"].tolist() == [table["least-squares"].aic]


def test_two_fits_that_are_not_in_a_list_are_refused():
    fit = gn.fit(np.eye(3), gn.Dag.parse("[a][b][c]", nodes="abc"))
    with pytest.raises(gn.SettingError, match="to compare fits give a list"):
        gn.compare(fit, fit)
