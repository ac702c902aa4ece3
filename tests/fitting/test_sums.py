"""Fits without rows, from summaries or loaded: they answer what their sums can, as with rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from tests.forced import STREAMED, fit_with_run

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows
from gaussnet.errors import EstimationError, FileError, SettingError
from gaussnet.fitting.standardized import _tail_squares
from gaussnet.methods.moments import MomentsPass

DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d][f|e]", nodes="abcdef")
TRUTH = gn.simulate.random_network(DAG, seed=1)
ROWS = np.array(TRUTH.sample(1_234, seed=2)) + np.arange(6.0)
WRONG = gn.Dag.parse("[a][b|a][c|a][d][e|c:d][f|e]", nodes="abcdef")
PAGE = 128
EPS = np.finfo(np.float64).eps


def from_summary(rows=ROWS, dag=DAG, **settings):
    scale = settings.pop("scale", "mean-square")
    settings = {"page_rows": PAGE} | settings
    return gn.solve(gn.summarize(rows, dag, **settings), scale=scale)


def loaded(fit):
    return pickle.loads(pickle.dumps(fit))


def interval_arrays(fit, **settings):
    found = fit.uncertainty(**settings)
    parts = (found.standard_errors, found.confidence_intervals)
    names = ("coefficient_array", "intercept_array", "variance_array")
    return [getattr(part, name) for part in parts for name in names]


def answers_alike(found, expected):
    """Errors to the last bit, for they come from the same sums; the others to rounding."""
    for level in (0.9, 0.95):
        pairs = zip(
            interval_arrays(found, level=level), interval_arrays(expected, level=level), strict=True
        )
        for own, other in pairs:
            np.testing.assert_array_equal(own, other)
    rounding = len(ROWS) * EPS
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=rounding)
    assert found.aic == pytest.approx(expected.aic, rel=rounding)
    assert found.bic == pytest.approx(expected.bic, rel=rounding)
    assert str(found.table()) == str(expected.table())
    standardized_alike(found, expected)
    assert str(found.node_table()) == str(expected.node_table())
    one, other = (fit.effect("a", "f") for fit in (found, expected))
    assert (one.value, one.low, one.high) == (other.value, other.low, other.high)
    new = TRUTH.sample(3, seed=9)
    one, other = (fit.predict(new, "e") for fit in (found, expected))
    np.testing.assert_array_equal(one.low, other.low)
    if found.scale.name == "mean-square":
        assert found.certificate().kl == expected.certificate().kl


def standardized_alike(found, expected):
    """The same; a summary's errors lack what the tails of the rows' residuals add to them."""
    if found.residual_shapes is not None:  # a pickled fit keeps what was asked before
        assert str(found.table(standardized=True)) == str(expected.table(standardized=True))
        return
    one, other = (fit.table(standardized=True).to_dicts() for fit in (found, expected))
    values = np.array([row["estimate"] for row in other])
    assert [row["estimate"] for row in one] == values.tolist()
    squares = np.array([row["std_error"] for row in other]) ** 2 - _tail_squares(expected, values)
    errors = [row["std_error"] for row in one]
    np.testing.assert_allclose(errors, np.sqrt(squares), rtol=len(ROWS) * EPS)
    assert "no allowance for heavy tails" in str(found.table(standardized=True))
    assert "no allowance" not in str(expected.table(standardized=True))


@pytest.mark.parametrize("scale", ["mean-square", "kl-optimal"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_summary_of_least_squares_answers_as_its_rows_do(intercept, scale):
    expected = gn.fit(ROWS, DAG, intercept=intercept, scale=scale, page_rows=PAGE)
    answers_alike(from_summary(intercept=intercept, scale=scale), expected)
    answers_alike(loaded(expected), expected)
    answers_alike(loaded(from_summary(intercept=intercept, scale=scale)), expected)


@pytest.mark.parametrize("intercept", [True, False])
def test_with_products_of_all_pairs_a_summary_checks_the_graph(tmp_path, intercept):
    settings = {"intercept": intercept, "page_rows": PAGE}
    expected = gn.fit(ROWS, WRONG, **settings)
    summary = gn.summarize(ROWS[:500], WRONG, for_checks=True, **settings)
    summary.save(tmp_path / "summary.npz")
    found = gn.solve(gn.load_summary(tmp_path / "summary.npz").add(ROWS[500:]))
    answers_alike(found, expected)
    check, other = found.check_graph(), expected.check_graph()
    np.testing.assert_array_equal(check.correlations, other.correlations)
    np.testing.assert_array_equal(check.adjusted, other.adjusted)
    assert check.verdict == other.verdict
    assert not check.agrees
    assert dict(found.fit_measures()) == dict(expected.fit_measures())
    assert "The data contradict the graph" in found.summary().fits
    np.testing.assert_array_equal(loaded(found).check_graph().p_values, other.p_values)


@pytest.mark.parametrize("method", ["batch-average", "batch-median", "cauchy-tree"])
def test_other_methods_are_checked_from_a_summary_and_say_why_they_have_no_errors(method):
    found = from_summary(dag=WRONG, method=method, for_checks=True)
    expected = gn.fit(ROWS, WRONG, method, page_rows=PAGE).check_graph()
    np.testing.assert_array_equal(found.check_graph().correlations, expected.correlations)
    with pytest.raises(EstimationError, match="because it comes from a summary"):
        _ = found.standard_errors
    with pytest.raises(EstimationError, match="because it comes from a summary"):
        _ = found.bic


def test_sites_that_merge_check_the_graph_that_all_their_rows_would():
    parts = [gn.summarize(rows, WRONG, for_checks=True) for rows in (ROWS[:300], ROWS[300:])]
    found = gn.solve(gn.merge(*parts)).check_graph()
    expected = gn.fit(ROWS, WRONG).check_graph()
    np.testing.assert_allclose(found.correlations, expected.correlations, atol=len(ROWS) * EPS)
    with pytest.raises(SettingError, match="the summaries differ in for_checks"):
        gn.merge(parts[0], gn.summarize(ROWS, WRONG))


def test_pairs_whose_products_lack_digits_are_not_tested_from_a_summary():
    rows = ROWS.copy()
    rows[:, 1] = rows[:, 0] + 1e-7 * np.random.default_rng(0).normal(size=len(rows))
    dag = gn.Dag.parse("[a][b][c|a][d][e][f]", nodes="abcdef")
    with_rows = gn.fit(rows, dag).check_graph()
    check = gn.solve(gn.summarize(rows, dag, for_checks=True)).check_graph()
    assert with_rows.untested == 0
    assert check.untested == 1
    assert check.tests == with_rows.tests - 1
    assert not any({one.node, one.other} == {"b", "c"} for one in check)
    assert "nearly collinear nodes, for which sums lack digits" in check.notes[0]


def test_what_sums_cannot_tell_is_refused_with_the_true_reason():
    fit, read = from_summary(), loaded(gn.fit(ROWS, DAG))
    for one, why in ((fit, "comes from a summary"), (read, "was copied or loaded")):
        for ask in (one.check_graph, one.fit_measures):
            with pytest.raises(EstimationError, match=f"{why}, which keeps the sums.*for_checks"):
                ask()
        for ask in (one.residuals, lambda one=one: one.uncertainty("bootstrap")):
            with pytest.raises(EstimationError, match=f"because it {why}"):
                ask()
        with pytest.raises(EstimationError, match="has sums over its rows and no longer the rows"):
            one.uncertainty("heteroscedastic")
    with pytest.raises(SettingError, match="got for_checks=True and interventions"):
        gn.summarize(ROWS, DAG, for_checks=True, interventions=[["a"]] * len(ROWS))


def test_interventions_have_errors_from_their_summary():
    targets = ["c" if row % 3 == 0 else "" for row in range(len(ROWS))]
    expected = gn.fit(ROWS, DAG, interventions=targets, page_rows=PAGE)
    found = from_summary(interventions=targets)
    for own, other in zip(interval_arrays(found), interval_arrays(expected), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)
    assert found.bic == pytest.approx(expected.bic, rel=len(ROWS) * EPS)
    assert loaded(expected).bic == pytest.approx(expected.bic, rel=len(ROWS) * EPS)


def test_nodes_that_covary_have_errors_without_rows():
    dag = gn.Dag.parse("a ~~ d; b ~ a; e ~ d + b", nodes="abde")
    rows = ROWS[:, [0, 1, 3, 4]]
    expected = gn.fit(rows, dag, page_rows=PAGE)
    for found in (from_summary(rows, dag), loaded(expected)):
        for own, other in zip(interval_arrays(found), interval_arrays(expected), strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)
        assert str(found.covariance_table()) == str(expected.covariance_table())


def test_collinear_parents_keep_their_errors_when_a_fit_is_loaded():
    rows = ROWS.copy()
    for factor in (1.0, 0.0):
        rows[:, 1] = 2.0 * rows[:, 0] + factor * 1e-7 * rows[:, 3]
        expected = gn.fit(rows, DAG)
        for own, other in zip(
            interval_arrays(loaded(expected)), interval_arrays(expected), strict=True
        ):
            np.testing.assert_array_equal(own, other)


def test_weights_and_clusters_are_not_forgotten_by_a_copy():
    frame = pd.DataFrame(ROWS, columns=list(DAG.nodes))
    frame["w"] = np.random.default_rng(0).integers(1, 4, len(frame)).astype(float)
    for kind in ("precision", "frequency"):
        expected = gn.fit(frame, DAG, weights=gn.Weights("w", kind))
        for own, other in zip(
            interval_arrays(loaded(expected)), interval_arrays(expected), strict=True
        ):
            np.testing.assert_array_equal(own, other)
        with pytest.raises(EstimationError, match="weights or clusters"):
            _ = loaded(expected).bic
    for settings in ({"weights": gn.Weights("w", "sampling")}, {"clusters": "w"}):
        fit = loaded(gn.fit(frame, DAG, **settings))
        with pytest.raises(EstimationError, match="sums over its rows and no longer the rows"):
            _ = fit.standard_errors


def test_other_methods_and_split_rows_keep_no_sums():
    for fit in (gn.fit(ROWS, DAG, "robust"), gn.fit(ROWS, DAG, split=(600, 600))):
        with pytest.raises(EstimationError, match="no longer has the rows"):
            _ = loaded(fit).standard_errors


def test_summaries_of_earlier_versions_are_read_and_later_ones_refused(tmp_path):
    path = tmp_path / "summary.npz"
    gn.summarize(ROWS, DAG).save(path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    header = parts["header"].tobytes().decode()
    assert '"version": 2' in header
    parts["header"] = np.frombuffer(
        header.replace(', "for_checks": false', "").encode(), dtype=np.uint8
    )
    np.savez(path, **parts)
    answers_alike(gn.solve(gn.load_summary(path)), gn.fit(ROWS, DAG))
    gn.summarize(ROWS, DAG, for_checks=True).save(path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    header = parts["header"].tobytes().decode()
    assert '"version": 5' in header
    parts["header"] = np.frombuffer(
        header.replace('"version": 5', '"version": 9').encode(), dtype=np.uint8
    )
    np.savez(path, **parts)
    with pytest.raises(FileError, match="has version 9 of the format of summaries, expected 2 to"):
        gn.load_summary(path)


def test_errors_of_a_file_and_of_memory_take_no_reading(tmp_path, monkeypatch):
    write_rows(tmp_path / "rows.parquet", DAG.nodes, [ROWS])
    read = []
    run = Run(1, lambda done, *_: read.append(done), **STREAMED)
    fit = fit_with_run(run, tmp_path / "rows.parquet", DAG, page_rows=PAGE)
    read.clear()
    expected = interval_arrays(fit)
    effects = [fit.effect("a", "f"), fit.effect("b", "e")]
    assert not read
    held = gn.fit(ROWS, DAG, page_rows=PAGE)
    monkeypatch.delattr(MomentsPass, "summarize")
    for own, other in zip(interval_arrays(held), expected, strict=True):
        np.testing.assert_array_equal(own, other)
    assert [held.effect("a", "f").low, held.effect("b", "e").low] == [one.low for one in effects]
