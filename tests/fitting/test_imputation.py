"""Missing cells filled in: conditional means, and draws with the uncertainty of the network."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gaussnet as gn
from gaussnet.errors import EstimationError, SettingError

DAG = gn.Dag.parse("[a][b|a][c|b]", nodes="abc")
TRUTH = gn.GaussianNetwork.from_arrays(DAG, [1.0, -0.8], [1.0, 0.5, 1.0], [2.0, 0.0, 1.0])


def holed(rows=200, share=0.2, seed=0):
    x = TRUTH.sample(rows, seed=seed)
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    return x


def test_cells_are_filled_with_conditional_means():
    rows = holed()
    fit = gn.fit(rows, DAG, missing="likelihood")
    found = fit.impute()
    np.testing.assert_allclose(found, fit.network.impute(rows), rtol=1e-9, atol=1e-9)
    known = ~np.isnan(rows)
    assert np.array_equal(found[known], rows[known])


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
def test_every_fit_fills_in_all_rows(missing):
    rows = holed()
    fit = gn.fit(rows, DAG, missing=missing)
    assert fit.impute().shape == rows.shape
    assert np.isfinite(fit.impute()).all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_give_frames_with_all_their_columns(kind):
    rows = holed()
    columns = {"time": np.arange(len(rows)), **dict(zip(DAG.nodes, rows.T, strict=True))}
    frame = kind(columns)
    fit = gn.fit(frame, DAG, missing="likelihood")
    for found in (fit.impute(), *fit.draw_imputations(2)):
        assert isinstance(found, kind)
        assert list(found.columns) == ["time", "a", "b", "c"]
        assert np.array_equal(np.asarray(found["time"]), columns["time"])
        assert np.isfinite(np.asarray(found["b"], dtype=float)).all()


def test_codes_are_filled_in_too():
    rows = holed()
    coded = np.where(np.isnan(rows), -999.0, rows)
    fit = gn.fit(coded, DAG, missing="likelihood", missing_values=[-999])
    assert np.array_equal(fit.impute(), gn.fit(rows, DAG, missing="likelihood").impute())


def test_nodes_without_noise_are_filled_in_exactly():
    rows = np.random.default_rng(0).normal(size=(50, 2)) @ [[1.0, 2.0], [0.0, 0.0]]
    rows[3, 1] = np.nan
    fit = gn.fit(rows, gn.Dag.parse("[a][b|a]", nodes="ab"), missing="likelihood")
    assert fit.impute()[3, 1] == pytest.approx(2.0 * rows[3, 0], rel=1e-9)


def test_draws_are_the_same_for_the_same_seed_and_for_any_number_of_them():
    fit = gn.fit(holed(), DAG, missing="likelihood")
    two, three = fit.draw_imputations(2, seed=5), fit.draw_imputations(3, seed=5)
    assert all(np.array_equal(one, other) for one, other in zip(two, three[:2], strict=True))
    assert not np.array_equal(two[0], two[1])
    assert not np.array_equal(two[0], fit.draw_imputations(1, seed=6)[0])


def test_draws_have_the_conditional_law():
    """Many rows, so that the parameters are known: mean and spread of 500 draws of two cells."""
    rows = TRUTH.sample(20_000, seed=1)
    rows[0, 1] = rows[1, 0] = rows[1, 1] = np.nan
    fit = gn.fit(rows, DAG, missing="likelihood")
    drawn = np.array([one[:2] for one in fit.draw_imputations(500, seed=2)])
    for row, nodes in ((0, ["b"]), (1, ["a", "b"])):
        known = {node: rows[row, i] for i, node in enumerate(DAG.nodes) if node not in nodes}
        law = fit.network.condition(known)
        own = drawn[:, row, [DAG.position(node) for node in law.names]]
        scales = np.sqrt(np.diag(law.covariance))
        # 500 draws: means to 1 / sqrt(500), covariances to sqrt(2 / 500) of their size.
        assert (np.abs(own.mean(axis=0) - law.mean) < 4.0 * scales / np.sqrt(500)).all()
        gap = np.atleast_2d(np.cov(own.T)) - law.covariance
        assert (np.abs(gap) < 4.0 * np.sqrt(2.0 / 500) * np.outer(scales, scales)).all()


def test_rubins_rules_give_back_the_error_of_the_likelihood():
    """Errors within and between 200 imputed copies combine to that of the observed information.

    Of the coefficient of b on a; 200 copies know the part between them to 10 %.
    """
    fit = gn.fit(holed(400, 0.3), DAG, missing="likelihood")
    copies = [gn.fit(rows, DAG) for rows in fit.draw_imputations(200, seed=1)]
    values = np.array([one.network.coefficients["a", "b"] for one in copies])
    within = np.mean([one.standard_errors.coefficients["a", "b"] ** 2 for one in copies])
    total = np.sqrt(within + (1.0 + 1.0 / len(copies)) * values.var(ddof=1))
    error = fit.standard_errors.coefficients["a", "b"]
    assert total == pytest.approx(error, rel=0.15)
    assert within < 0.8 * error**2
    assert values.mean() == pytest.approx(fit.network.coefficients["a", "b"], abs=0.5 * error)


def test_data_without_a_hole_come_back_as_they_are():
    rows = TRUTH.sample(50, seed=0)
    fit = gn.fit(rows, DAG, missing="likelihood")
    assert np.array_equal(fit.impute(), rows)
    assert all(np.array_equal(one, rows) for one in fit.draw_imputations(2))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(SettingError, match="robust, with missing='likelihood'"):
        gn.fit(holed(), DAG, missing="drop-by-node").draw_imputations(2)
    fit = gn.fit(holed(), DAG, missing="likelihood")
    with pytest.raises(SettingError, match="got count=0"):
        fit.draw_imputations(0)
    with pytest.raises(SettingError, match="got seed=-1"):
        fit.draw_imputations(2, seed=-1)
    from copy import copy

    with pytest.raises(EstimationError, match="impute where the data are"):
        copy(fit).impute()


def test_flagged_cells_say_nothing_of_missing_ones():
    dag = gn.Dag.parse("[x][y|x][z|y]")
    truth = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0], [1.0, 1.0, 1.0])
    rows = truth.sample(500, seed=1)
    rows[0, 1], rows[0, 2] = np.nan, 1000.0
    fit = gn.fit(rows, dag, "robust", missing="likelihood", columns=dag.nodes)
    believed = np.where(np.arange(3) > 0, np.nan, rows[0])
    expected = fit.network.impute(believed[None, :], columns=dag.nodes)[0, 1]
    found = fit.impute()
    assert found[0, 1] == pytest.approx(expected, rel=1e-9)
    assert found[0, 2] == 1000.0
    assert np.array_equal(found[1:], rows[1:])
    # Draws have the mean of the cell given the believed ones, and a variance of 1 or so.
    drawn = np.array([one[0, 1] for one in fit.draw_imputations(50, seed=2)])
    assert abs(drawn.mean() - expected) < 5.0 * drawn.std() / np.sqrt(50)
    assert 0.5 < drawn.std() < 2.0
