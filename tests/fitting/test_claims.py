"""`check_graph`: partial correlations, p-values, adjustment, and what they find."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import gaussnet as gn
from gaussnet.fitting.graph_tests import adjusted


def regression_test(rows, node, other, given, intercept=True):
    """The p-value of `other` in the regression of `node` on it and the given, by lstsq."""
    columns = [rows[:, [other]], rows[:, given]] + ([np.ones((len(rows), 1))] if intercept else [])
    design = np.hstack(columns)
    slopes, *_ = np.linalg.lstsq(design, rows[:, node], rcond=None)
    rest = rows[:, node] - design @ slopes
    left = len(rows) - design.shape[1]
    error = np.sqrt(rest @ rest / left * np.linalg.inv(design.T @ design)[0, 0])
    return 2.0 * stats.t.sf(abs(slopes[0] / error), left)


def simulated(nodes=8, rows=200, seed=0):
    dag = gn.simulate.erdos_renyi(nodes, 3, seed=seed)
    return dag, gn.simulate.random_network(dag, seed=seed).sample(rows, seed=seed + 1) + 5.0


@pytest.mark.parametrize("intercept", [True, False])
def test_p_values_are_those_of_the_regression_with_one_parent_more(intercept):
    dag, rows = simulated()
    check = gn.fit(rows, dag, intercept=intercept).check_graph()
    assert len(check) == 28 - len(dag.edges)
    for edge in check:
        node, other = dag.position(edge.node), dag.position(edge.other)
        given = [dag.position(parent) for parent in edge.given]
        expected = regression_test(rows, node, other, given, intercept)
        assert edge.p_value == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_the_tests_are_the_markov_basis():
    dag, rows = simulated()
    check = gn.fit(rows, dag).check_graph()
    claims = {(claim.node, claim.other, claim.given) for claim in dag.markov_basis()}
    assert {(edge.node, edge.other, edge.given) for edge in check} == claims
    p_values = [edge.p_value for edge in check]
    assert p_values == sorted(p_values)


def test_missing_values_leave_out_the_rows_that_a_pair_and_its_parents_lack():
    dag, rows = simulated()
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    for edge in gn.fit(rows, dag, missing="drop-by-node").check_graph():
        places = [dag.position(name) for name in (edge.node, edge.other, *edge.given)]
        whole = rows[~np.isnan(rows[:, places]).any(axis=1)]
        expected = regression_test(whole, places[0], places[1], places[2:])
        assert edge.p_value == pytest.approx(expected, rel=1e-5, abs=1e-300)


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("benjamini-hochberg", "fdr_bh")])
def test_adjustment_agrees_with_statsmodels(ours, theirs):
    p_values = np.random.default_rng(0).random(40) ** 3
    np.testing.assert_allclose(adjusted(p_values, ours), multipletests(p_values, method=theirs)[1])
    assert len(adjusted(np.empty(0), ours)) == 0


def test_a_removed_edge_is_found_and_the_true_graph_is_not_accused():
    """ER of degree 5 on 20 nodes, 5,000 rows, 40 repetitions.

    Of 40 at a level of 0.05, more than 8 false alarms have a chance of 0.0003; fewer than 34
    finds at a power of 0.95 have one of 0.003.
    """
    alarms = found = 0
    for seed in range(40):
        dag = gn.simulate.erdos_renyi(20, 5, seed=seed)
        rows = gn.simulate.random_network(dag, seed=100 + seed).sample(5_000, seed=200 + seed)
        alarms += not gn.fit(rows, dag).check_graph().agrees
        gone = dag.edges[np.random.default_rng(seed).integers(len(dag.edges))]
        kept = [edge for edge in dag.edges if edge != gone]
        check = gn.fit(rows, gn.Dag.from_edges(kept, nodes=dag.nodes)).check_graph()
        found += any({edge.node, edge.other} == set(gone) for edge in check.rejected)
    assert alarms <= 8
    assert found >= 34


def test_error_rate_holds_with_few_rows_and_uniform_p_values():
    """12 rows: Student's t is exact, so 60 graphs' p-values are uniform (Kolmogorov, 0.001)."""
    collected = []
    for seed in range(60):
        dag, rows = simulated(nodes=6, rows=12, seed=seed)
        collected.append(next(iter(gn.fit(rows, dag).check_graph())).p_value)
    # The least of k uniform p-values that are nearly independent: 1 - (1 - p)^k is uniform.
    dag_sizes = [15 - len(simulated(nodes=6, rows=1, seed=seed)[0].edges) for seed in range(60)]
    turned = 1.0 - (1.0 - np.array(collected)) ** np.array(dag_sizes)
    assert stats.kstest(turned, "uniform").pvalue > 0.001


def test_units_and_offsets_do_not_matter():
    dag, rows = simulated()
    plain = gn.fit(rows, dag).check_graph()
    scale = 10.0 ** np.linspace(-100, 100, rows.shape[1])
    moved = gn.fit(rows * scale, dag).check_graph()
    np.testing.assert_allclose(moved.correlations, plain.correlations, atol=1e-9)
    shifted = gn.fit(rows + 1e8, dag).check_graph()
    # Adding 1e8 rounds the rows to 1e-8, which moves correlations by about as much.
    np.testing.assert_allclose(shifted.correlations, plain.correlations, atol=1e-6)


def test_what_cannot_be_tested_is_counted_and_said():
    rng = np.random.default_rng(0)
    first = rng.normal(size=50)
    rows = np.column_stack((first, 2.0 * first, rng.normal(size=50), np.full(50, 3.0)))
    dag = gn.Dag.from_edges([("a", "double")], nodes=["a", "double", "c", "constant"])
    check = gn.fit(rows, dag).check_graph()
    tested = {(edge.node, edge.other) for edge in check}
    assert tested == {("c", "a"), ("c", "double")}
    assert check.untested == 3
    assert check.notes == ("3 missing edges cannot be tested: no noise, or too few rows",)


def test_a_copy_of_a_parent_is_no_candidate():
    rng = np.random.default_rng(0)
    first = rng.normal(size=50)
    rows = np.column_stack((first, first, first + rng.normal(size=50)))
    check = gn.fit(rows, gn.Dag.from_edges([("a", "c")], nodes=["a", "copy", "c"])).check_graph()
    assert [(edge.node, edge.other) for edge in check] == [("copy", "a")]
    assert check.rejected[0].p_value == 0.0
    assert check.untested == 1


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_too_few_rows_test_nothing(rows):
    dag = gn.Dag.from_edges([("a", "b"), ("b", "c")], nodes="abc")
    data = np.random.default_rng(0).normal(size=(rows, 3))
    check = gn.fit(data, dag).check_graph()
    assert len(check) == 0
    assert check.agrees
    assert check.verdict == (
        "No missing edge could be tested: rows are too few, or columns collinear."
    )


def test_a_graph_with_all_edges_has_nothing_to_test():
    check = gn.fit(
        np.random.default_rng(0).normal(size=(9, 2)), gn.Dag.parse("y ~ x", nodes="yx")
    ).check_graph()
    assert len(check) == 0
    assert str(check) == "There is no missing edge to test."


def test_the_table_shows_the_worst_first_and_odd_names_safely():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(300, 1))
    rows = np.hstack((common + rng.normal(size=(300, 2)), rng.normal(size=(300, 5))))
    names = ["a b", "<b>", "ünï", "\x1b[2J", "7", "f", "g"]
    check = gn.fit(rows, gn.Dag.from_edges([], nodes=names)).check_graph()
    lines = str(check).splitlines()
    assert lines[0].startswith("The data contradict 1 missing edge at level 0.05 (Holm, 21 tests)")
    assert lines[1].split() == ["node", "other", "given", "correlation", "p-value", "adjusted"]
    assert lines[2].startswith("<b>")
    assert lines[-1] == "... and 11 more"
    assert "\x1b" not in str(check)
    assert check.to_dicts()[0]["node"] == "<b>"
    assert check.to_dicts()[0]["given"] == ()
    assert repr(check) == "GraphCheck(21 missing edges, 1 contradicted)"


def test_a_robust_fit_is_checked_without_its_flagged_cells():
    """Spoilt cells in two unrelated nodes correlate; without them the graph agrees."""
    dag = gn.simulate.erdos_renyi(8, 3, seed=1)
    rows = gn.simulate.random_network(dag, seed=1).sample(1_000, seed=3)
    roots = [place for place in range(8) if not dag.parents(dag.nodes[place])][:2]
    rows[:15, roots] = 400.0
    assert not gn.fit(rows, dag).check_graph().agrees
    check = gn.fit(rows, dag, "robust").check_graph()
    assert check.agrees
    assert check.notes[0].startswith("flagged cells count as missing")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"level": 0.0}, "got level=0.0"), ({"adjust": "bonferroni"}, "got adjust='bonferroni'")],
)
def test_settings_out_of_range_are_refused(settings, message):
    dag, rows = simulated()
    with pytest.raises(gn.SettingError, match=message):
        gn.fit(rows, dag).check_graph(**settings)


def test_a_fit_without_its_rows_says_so():
    import pickle

    dag, rows = simulated()
    fit = pickle.loads(pickle.dumps(gn.fit(rows, dag)))
    with pytest.raises(gn.EstimationError, match=r"was copied or loaded.*for_checks=True"):
        fit.check_graph()
    with pytest.raises(gn.EstimationError, match="no longer has the rows"):
        fit.check_graph(errors="heteroscedastic")
