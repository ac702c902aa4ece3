"""A fit gives the certificate of its own settings."""

import numpy as np
import pytest

import gaussnet as gn

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


def test_rows_dropped_by_node_have_no_certificate():
    holed = ROWS.copy()
    holed[:50, 0] = np.nan
    fit = gn.fit(holed, DAG, missing="drop-by-node")
    with pytest.raises(gn.SettingError, match="fit with missing='drop-rows' for a certificate"):
        fit.certificate()


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
