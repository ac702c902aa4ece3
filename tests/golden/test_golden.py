"""Our numbers equal those of other programs on rows of ecoli70, where they define the same thing.

ecoli70.csv and ecoli70.json were written by scripts/golden/make_golden.py; the JSON says by which
programs: R's own lm, with the definitions of bnlearn, bnlearn 5.2.1 itself, and lavaan. pgmpy is
run here.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "ecoli70.json").read_text())
FRAME = pd.read_csv(HERE / "ecoli70.csv")
DAG = gn.networks.load("ecoli70").dag
# 15 digits in the file; equations of at most 4 parents with condition numbers below 1e3
RELATIVE = 1e-11


@pytest.fixture(scope="module")
def fit():
    return gn.fit(FRAME, DAG)


def close(value):
    return pytest.approx(value, rel=RELATIVE, abs=RELATIVE)


def degrees_of_freedom(node):
    return len(FRAME) - len(DAG.parents(node)) - 1


def test_the_rows_are_those_that_the_numbers_were_made_from():
    assert GOLDEN["rows"] == len(FRAME) == 150
    assert sorted(FRAME.columns) == sorted(DAG.nodes)
    assert {"R", "lm", "lavaan", "bnlearn"} <= set(GOLDEN["made_by"])


def test_coefficients_and_scales_are_those_of_lm(fit):
    """summary(lm)$sigma, and so the sd of a bn.fit, divides by the degrees of freedom."""
    assert {one["node"] for one in GOLDEN["lm"]["nodes"]} == set(DAG.nodes)
    for one in GOLDEN["lm"]["nodes"]:
        node, numbers = one["node"], dict(one["coefficients"])
        assert fit.network.intercepts[node] == close(numbers.pop("(Intercept)"))
        expected = {parent: fit.network.coefficients[parent, node] for parent in DAG.parents(node)}
        assert numbers == close(expected)
        unbiased = fit.network.variances[node] * len(FRAME) / degrees_of_freedom(node)
        assert np.sqrt(unbiased) == close(one["sd"])


def test_scores_are_those_of_lm_and_stats(fit):
    golden = GOLDEN["lm"]
    assert fit.scores.parameters == golden["parameters"] == 162
    assert fit.log_likelihood == close(golden["loglik"])
    assert fit.aic == close(golden["aic"])
    assert fit.bic == close(golden["bic"])


def test_scores_by_the_definition_of_bnlearn(fit):
    """The likelihood at its sd, less half of k log(rows); ours at the same variances agrees."""
    ratios = np.array([len(FRAME) / degrees_of_freedom(node) for node in DAG.nodes])
    theirs = gn.GaussianNetwork.from_arrays(
        DAG,
        fit.network.coefficient_array,
        fit.network.variance_array * ratios,
        fit.network.intercept_array,
    )
    likelihood = theirs.score(FRAME) * len(FRAME)
    golden = GOLDEN["lm"]
    assert likelihood == close(golden["loglik_sd"])
    assert likelihood - 162 == close(golden["aic_g"])
    assert likelihood - 162 / 2 * np.log(len(FRAME)) == close(golden["bic_g"])
    # ours is the maximum, theirs is not: the difference is of order parameters^2 / rows
    assert 0 < fit.log_likelihood - likelihood < 1


def test_numbers_of_bnlearn_itself(fit):
    golden = GOLDEN["bnlearn"]
    assert set(golden["coefficients"]) == set(golden["sd"]) == set(DAG.nodes)
    for node, numbers in golden["coefficients"].items():
        slopes = {parent: fit.network.coefficients[parent, node] for parent in DAG.parents(node)}
        assert numbers == close({"(Intercept)": fit.network.intercepts[node]} | slopes)
        unbiased = fit.network.variances[node] * len(FRAME) / degrees_of_freedom(node)
        assert np.sqrt(unbiased) == close(golden["sd"][node])
    for name, ours in {"loglik": "loglik_sd", "aic": "aic_g", "bic": "bic_g"}.items():
        assert golden[name] == close(GOLDEN["lm"][ours]), name


def test_the_whole_model_at_once_by_lavaan_is_the_same(fit):
    golden = GOLDEN["lavaan"]
    # lavaan iterates to a relative tolerance: at the maximum an error e of the estimates costs
    # e^2 of likelihood
    assert fit.log_likelihood == pytest.approx(golden["loglik"], rel=1e-10)
    assert fit.aic == pytest.approx(golden["aic"], rel=1e-10)
    assert fit.bic == pytest.approx(golden["bic"], rel=1e-10)
    slopes = {
        (one["rhs"], one["lhs"]): one["estimate"] for one in golden["table"] if one["op"] == "~"
    }
    assert slopes == pytest.approx(dict(fit.network.coefficients), rel=1e-4, abs=1e-4)
    variances = {one["lhs"]: one["estimate"] for one in golden["table"] if one["op"] == "~~"}
    assert variances == pytest.approx(dict(fit.network.variances), rel=1e-4)


@pytest.fixture
def pgmpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pgmpy and what it imports
        pytest.importorskip("pgmpy", reason="pgmpy is not installed")
        import pgmpy.models
        import pgmpy.parameter_estimator
        import pgmpy.structure_score

        yield pgmpy


def test_pgmpy_learns_the_same(fit, pgmpy):
    model = pgmpy.models.LinearGaussianBayesianNetwork(DAG.edges)
    model.add_nodes_from(DAG.nodes)
    model.fit(FRAME, pgmpy.parameter_estimator.LinearGaussianMLE(std_estimator="mle"))
    theirs = gn.from_pgmpy(model)
    assert dict(theirs.coefficients) == close(dict(fit.network.coefficients))
    assert dict(theirs.intercepts) == close(dict(fit.network.intercepts))
    assert dict(theirs.variances) == close(dict(fit.network.variances))
    # pgmpy rounds mean and covariance to 8 digits after the point before it takes densities
    assert model.log_likelihood(FRAME) == pytest.approx(fit.log_likelihood, rel=1e-6)


def test_scores_of_pgmpy_are_ours_times_minus_a_half(fit, pgmpy):
    scores = pgmpy.structure_score
    expected = {"LogLikelihoodGauss": fit.log_likelihood}
    expected |= {"BICGauss": -fit.bic / 2, "AICGauss": -fit.aic / 2}
    for name, value in expected.items():
        score = getattr(scores, name)(FRAME)
        total = sum(score.local_score(node, DAG.parents(node)) for node in DAG.nodes)
        assert total == close(value), name
