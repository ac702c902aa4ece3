"""The tables of a fit equal lavaan's, where they define the same thing.

The rows, model texts and JSON files were written by scripts/golden/make_tables.py; the JSON says by
which versions. lavaan finds its estimates by iteration, to about 7 digits.
"""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn

HERE = Path(__file__).parent
NAMES = ("mediation", "crossing")
AGREE = 1e-6
REPETITIONS = 2_000


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    frame = pd.read_csv(HERE / f"{request.param}.csv")
    dag = gn.Dag.parse((HERE / f"{request.param}.txt").read_text())
    return gn.fit(frame, dag), json.loads((HERE / f"{request.param}.json").read_text())


def close(value, tolerance=AGREE):
    return pytest.approx(value, rel=tolerance, abs=tolerance)


def by_edge(table):
    return {(row["parent"], row["child"]): row for row in table}


def test_measures_of_fit(case):
    fit, golden = case
    found = fit.fit_measures()
    assert set(found) == set(golden["measures"])
    for name, value in golden["measures"].items():
        # lavaan finds the ends of the interval of RMSEA only to 1e-4 of the noncentrality
        loose = (
            1e-4 / (2 * found["ntotal"] * found["df"] * max(value, 1e-3)) if ".ci." in name else 0
        )
        assert found[name] == close(value, AGREE + loose), name
    assert found["pvalue"] < 0.05
    assert found["logl"] == close(fit.log_likelihood, 1e-9)
    assert found["bic"] == close(fit.bic, 1e-9)


def test_coefficients_with_errors_of_the_expected_information(case):
    fit, golden = case
    rows = by_edge(fit.table(kind="expected"))
    assert len(rows) == len(golden["coefficients"])
    for one in golden["coefficients"]:
        row = rows[one["rhs"], one["lhs"]]
        assert row["estimate"] == close(one["est"])
        assert row["std_error"] == close(one["se"])
        assert row["low"] == close(one["ci.lower"], 2 * AGREE)
        assert row["p_value"] == close(one["pvalue"])
        assert row["label"] == (one["label"] or "")


def test_intercepts_and_variances_with_errors(case):
    fit, golden = case
    sure = fit.uncertainty("expected")
    errors = sure.standard_errors
    for one in golden["intercepts"]:
        assert fit.network.intercepts[one["lhs"]] == close(one["est"])
        assert errors.intercepts[one["lhs"]] == close(one["se"])
    for one in golden["variances"]:
        if one["lhs"] == one["rhs"]:
            assert fit.network.variances[one["lhs"]] == close(one["est"])
            assert errors.variances[one["lhs"]] == close(one["se"])
            assert sure.confidence_intervals.variances[one["lhs"]][1] == close(one["ci.upper"])


def test_standardised_solution_with_its_own_errors(case):
    fit, golden = case
    rows = by_edge(fit.table(standardized=True, kind="expected", implied=True))
    plain = by_edge(fit.table(implied=True))
    for one in golden["standardised"]:
        row = rows[one["rhs"], one["lhs"]]
        assert row["estimate"] == close(one["est.std"])
        assert plain[one["rhs"], one["lhs"]]["standardized"] == close(one["est.std"])
        assert row["std_error"] == close(one["se"])
        assert row["low"] == close(one["ci.lower"], 2 * AGREE)
        assert row["high"] == close(one["ci.upper"], 2 * AGREE)
        assert row["p_value"] == close(one["pvalue"])


def test_r2_of_the_data_is_lavaans_where_the_model_implies_the_moments_of_the_rows(case):
    """lavaan divides by the variance that the model implies; "crossing" has parents whose
    covariance it gets wrong, and there the two differ."""
    fit, golden = case
    ours = dict(zip(fit.dag.nodes, fit.node_table()["r2"], strict=True))
    implied = np.diag(fit.network.covariance())
    model = dict(zip(fit.dag.nodes, 1 - fit.network.variance_array / implied, strict=True))
    frame = fit.data.given
    for node, value in golden["r2"].items():
        assert model[node] == close(value)
        assert ours[node] == close(1 - fit.network.variances[node] / frame[node].var(ddof=0), 1e-9)
    if "x" in fit.dag:
        assert all(ours[node] == close(value) for node, value in golden["r2"].items())
    else:
        assert ours["w"] > model["w"] + 0.02


def test_defined_quantities_by_the_delta_method(case):
    fit, golden = case
    rows = {row["name"]: row for row in fit.defined(kind="expected")}
    assert set(rows) == {one["lhs"] for one in golden["defined"]}
    for one in golden["defined"]:
        row = rows[one["lhs"]]
        assert row["estimate"] == close(one["est"], 2 * AGREE)
        assert row["std_error"] == close(one["se"], 2 * AGREE)
        assert row["high"] == close(one["ci.upper"], 4 * AGREE)
        assert row["p_value"] == close(one["pvalue"], 2 * AGREE)


def test_defined_quantities_by_the_bootstrap(case):
    """Both standard errors rest on so many repetitions: relative error 1 / sqrt(2 B), times 4 and
    half as much again for tails heavier than normal. An end at 2.5 % has standard error
    sqrt(p (1 - p) / B) / density = 2.67 / sqrt(B) standard deviations."""
    fit, golden = case
    rows = {row["name"]: row for row in fit.defined(kind="bootstrap", repetitions=REPETITIONS)}
    share = 1 / REPETITIONS + 1 / golden["repetitions"]
    for error, ends in zip(golden["percentile"], golden["corrected"], strict=True):
        row = rows[error["lhs"]]
        assert row["std_error"] == pytest.approx(error["se"], rel=6 * math.sqrt(share / 2))
        tolerance = 4.5 * 2.67 * math.sqrt(share) * error["se"]
        assert row["low"] == pytest.approx(ends["ci.lower"], abs=tolerance)
        assert row["high"] == pytest.approx(ends["ci.upper"], abs=tolerance)


def test_measures_with_missing_cells_by_likelihood(case):
    """The same cells are taken out as in tables.R; EM stops at 1e-6 standard errors."""
    fit, golden = case
    frame = fit.data.given.copy()
    for k in range(1, frame.shape[1]):
        frame.iloc[range(k, len(frame), 8 + k), k] = np.nan
    holes = gn.fit(frame, fit.dag, missing="likelihood")
    for one in golden["holes_coefficients"]:
        assert holes.network.coefficients[one["rhs"], one["lhs"]] == close(one["est"], 2 * AGREE)
    found = holes.fit_measures()
    for name, value in golden["holes_measures"].items():
        assert found[name] == close(value, 5 * AGREE), name
