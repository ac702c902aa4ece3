"""A fit gives the certificate of its own settings."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.planning.certificate import certify_by_node

DAG = gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
ROWS = gn.simulate.random_network(DAG, seed=0).sample(400, seed=1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("split", [None, (250, 150)])
@pytest.mark.parametrize("method", ["least-squares", "batch-average", "cauchy-tree"])
def test_certificate_is_that_of_the_fits_own_settings(method, split, intercept):
    fit = gn.fit(ROWS, DAG, method, split=split, intercept=intercept)
    expected = gn.certify(DAG, rows=400, delta=0.1, method=method, split=split, intercept=intercept)
    assert fit.certificate(0.1) == expected
    assert "Gaussian network over exactly this graph" in str(fit.certificate(0.1))


def test_rows_dropped_for_all_nodes_do_not_count():
    holed = ROWS.copy()
    holed[:50, 0] = np.nan
    fit = gn.fit(holed, DAG, missing="drop-rows")
    assert fit.certificate().rows == 350


def node_expected(parents, rows):
    """Expected KL of one node, from graphs whose other nodes have no parents."""
    alone = gn.certify(gn.Dag.from_edges([], nodes=["a"]), rows=rows).expected_kl
    roots = [f"x{k}" for k in range(parents)]
    dag = gn.Dag.from_edges([(root, "y") for root in roots], nodes=[*roots, "y"])
    return gn.certify(dag, rows=rows).expected_kl - parents * alone


def test_rows_dropped_by_node_are_certified_with_each_nodes_own():
    holed = ROWS.copy()
    holed[:50, 0] = np.nan
    fit = gn.fit(holed, DAG, missing="drop-by-node")
    found = fit.certificate()
    expected = sum(node_expected(len(DAG.parents(node)), fit.node(node).rows) for node in DAG.nodes)
    assert found.expected_kl == pytest.approx(expected, rel=1e-9)
    assert found.node_rows == {node: fit.node(node).rows for node in DAG.nodes}
    assert any("completely at random" in one for one in found.assumptions)
    least, most = min(found.node_rows.values()), max(found.node_rows.values())
    assert gn.certify(DAG, rows=most).kl < found.kl < gn.certify(DAG, rows=least).kl
    assert "every node with its own rows" in str(found)
    for settings in ({"method": "batch-average"}, {"split": (100, 200)}):
        own = {"method": "least-squares"} | settings
        refused = gn.fit(holed, DAG, own.pop("method"), missing="drop-by-node", **own)
        with pytest.raises(gn.SettingError, match="missing='drop-rows' for a certificate"):
            refused.certificate()


def test_equal_rows_by_node_are_the_usual_certificate():
    counts = np.full(len(DAG), 150)
    how = ("least-squares", "mean-square", True)
    found = certify_by_node(DAG, 150, (counts, counts), 0.05, how, ())
    usual = gn.certify(DAG, rows=150)
    assert found.kl == pytest.approx(usual.kl, rel=1e-12)
    assert found.expected_kl == pytest.approx(usual.expected_kl, rel=1e-12)
    assert found.information_limit == pytest.approx(usual.information_limit, rel=1e-12)


def test_interventions_are_certified_by_rows_without_a_set_ancestor():
    dag = gn.Dag.parse("[a][b|a][c|b][d]", nodes="abcd")
    rows = np.array(gn.simulate.random_network(dag, seed=0).sample(300, seed=1))
    said = ["b"] * 40 + ["a"] * 30 + ["d"] * 20 + [""] * 210
    fit = gn.fit(rows, dag, interventions=said)
    found = fit.certificate()
    assert found.node_rows == {"a": 270, "b": 230, "c": 230, "d": 280}
    assert any("neither it nor an ancestor" in one for one in found.assumptions)
    fewest = gn.certify(dag, rows=230)
    assert gn.certify(dag, rows=300).kl < found.kl < fewest.kl
    again = gn.fit(rows, dag, "robust", interventions=said)
    assert again.trimming is not None
    if not again.trimming.trimmed:
        assert again.certificate().kl == pytest.approx(found.kl)
    rows[100, 0] = np.nan
    both = gn.fit(rows, dag, interventions=said, missing="drop-by-node")
    with pytest.raises(gn.SettingError, match="not both"):
        both.certificate()
    dropped = gn.fit(rows, dag, interventions=said, missing="drop-rows")
    assert dropped.certificate().node_rows == {"a": 269, "b": 229, "c": 229, "d": 279}
    every = gn.fit(rows[:70], dag, interventions=said[:70])
    assert every.certificate().kl == np.inf


@pytest.mark.parametrize("method", ["robust", "auto"])
def test_a_missing_cell_is_no_wrong_one_for_the_certificate(method):
    rows = np.array(gn.simulate.random_network(DAG, seed=0).sample(400, seed=4))
    rows[5, 1] = np.nan
    fit = gn.fit(rows, DAG, method, missing="drop-by-node")
    with pytest.raises(gn.SettingError, match="fit with missing='drop-rows' for a certificate"):
        fit.certificate()
    rows[6, 1] = 1e4
    fit = gn.fit(rows, DAG, method, missing="drop-by-node")
    with pytest.raises(gn.SettingError, match="leave out rows that do not fit"):
        fit.certificate()


@pytest.mark.parametrize("settings", [{"method": "cauchy"}, {"scale": "mad"}])
def test_methods_and_scales_without_a_law_say_so(settings):
    with pytest.raises(gn.SettingError, match="there is no law for"):
        gn.fit(ROWS, DAG, **settings).certificate()


def test_rows_lost_to_pages_do_not_count():
    fit = gn.fit(ROWS, DAG, "batch-average", page_rows=30)
    assert fit.node("c").batches == 13
    assert fit.certificate().rows == 14 * 23 - 1
    assert gn.fit(ROWS, DAG, "batch-average").certificate().rows == 400


def test_exact_functions_of_others_have_no_certificate():
    rows = ROWS.copy()
    rows[:, 1] = 2.0 * rows[:, 0]
    with pytest.raises(gn.SettingError, match="some nodes are exact functions of others"):
        gn.fit(rows, DAG).certificate()
