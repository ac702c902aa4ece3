"""Fits whose roots covary equal lavaan's.

The rows and numbers were written by scripts/golden/make_correlated.py; the JSON says by which
version. "default" is `sem()` with exogenous variables fixed: estimates, chi-square and R2 are the
same, but it counts no parameters of causes and has other standard errors.
"""

import json
from pathlib import Path

import pandas as pd
import pytest

import gaussnet as gn

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "correlated.json").read_text())
MODEL = "m ~ a + b; y ~ m + c"
MODELS = {
    "default": (MODEL, "correlated"),
    "all": (f"{MODEL}; a ~~ b + c; b ~~ c", "independent"),
    "one": (f"{MODEL}; a ~~ b", "independent"),
    "chain": (f"{MODEL}; a ~~ b; c ~~ b", "independent"),
}
OF_ALL_PARAMETERS = ("npar", "logl", "aic", "bic")


def close(value):
    return pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    text, roots = MODELS[request.param]
    fit = gn.fit(pd.read_csv(HERE / "correlated.csv"), text, roots=roots)
    return request.param, fit, GOLDEN[request.param]


def pairs(mapping):
    return {frozenset(pair): value for pair, value in mapping.items()}


def test_estimates_and_their_errors(case):
    name, fit, golden = case
    errors = fit.uncertainty("expected").standard_errors
    table = fit.covariance_table(kind="expected")
    covariances = {frozenset((row["first"], row["second"])): row for row in table}
    assert {frozenset(pair) for pair in fit.network.covariances} == set(covariances)
    seen = 0
    for one in golden["estimates"]:
        left, right = one["lhs"], one["rhs"]
        if one["op"] == "~":
            found = fit.network.coefficients[right, left], errors.coefficients[right, left]
        elif one["op"] == "~1":
            found = fit.network.intercepts[left], errors.intercepts[left]
        elif left == right:
            found = fit.network.variances[left], errors.variances[left]
        elif frozenset((left, right)) in covariances:
            row = covariances[frozenset((left, right))]
            found = row["estimate"], row["std_error"]
        else:
            found = 0.0, 0.0  # a covariance that is fixed
        seen += 1
        assert found[0] == close(one["est"]), one
        if one["se"] or name != "default":
            assert found[1] == close(one["se"]), one
    assert seen == 17


def test_measures_of_fit(case):
    name, fit, golden = case
    found = fit.fit_measures()
    for measure, value in golden["measures"].items():
        if name != "default" or measure not in OF_ALL_PARAMETERS:
            assert found[measure] == close(value), measure


def test_standardised_solution(case):
    name, fit, golden = case
    rows = {
        (row["child"], row["parent"]): row for row in fit.table(True, kind="expected", implied=True)
    }
    correlations = {
        frozenset((row["first"], row["second"])): row["correlation"]
        for row in fit.covariance_table()
    }
    for one in golden["standardised"]:
        ends = one["lhs"], one["rhs"]
        if one["op"] == "~":
            assert rows[ends]["estimate"] == close(one["est"])
            if name != "default":
                assert rows[ends]["std_error"] == close(one["se"])
        elif one["op"] == "~~" and frozenset(ends) in correlations:
            assert correlations[frozenset(ends)] == close(one["est"])


def test_r2_implied_by_the_model(case):
    _, fit, golden = case
    found = {row["node"]: row["r2"] for row in fit.node_table(implied=True)}
    for node, value in golden["r2"].items():
        assert found[node] == close(value)


def test_r2_of_the_data_is_that_of_a_regression(case):
    _, fit, _ = case
    rows = pd.read_csv(HERE / "correlated.csv")
    left = fit.residuals()
    for row in fit.node_table():
        if row["parents"]:
            node = row["node"]
            assert row["r2"] == pytest.approx(1.0 - left[node].var() / rows[node].var(), abs=1e-12)
        else:
            assert row["r2"] != row["r2"]
