"""Maximum likelihood with missing cells equals lavaan's missing = "fiml".

The rows and lavaan's numbers were written by scripts/golden/make_fiml.py. lavaan stops when its
likelihood no longer changes in the tenth digit, which leaves 1e-5 of a standard error or so.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn

HERE = Path(__file__).parent
CASES = {"fiml12": (12, 3.0), "fiml30": (30, 5.0)}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    nodes, degree = CASES[request.param]
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=nodes)
    table = pd.read_csv(HERE / f"{request.param}-lavaan.csv", skipinitialspace=True)
    numbers = table[table["op"] != "="].astype({"estimate": float, "error": float})
    likelihood = float(table.loc[table["lhs"] == "loglik", "estimate"].iloc[0])
    fit = gn.fit(pd.read_csv(HERE / f"{request.param}.csv"), dag, missing="likelihood")
    return fit, numbers, likelihood


def ours(fit, line):
    """Estimate and standard error of a parameter by lavaan's name of it."""
    network, errors = fit.network, fit.standard_errors
    if line.op == "~":
        edge = (line.rhs, line.lhs)
        return network.coefficients[edge], errors.coefficients[edge]
    if line.op == "~1":
        return network.intercepts[line.lhs], errors.intercepts[line.lhs]
    return network.variances[line.lhs], errors.variances[line.lhs]


def test_estimates_and_standard_errors_are_those_of_lavaan(case):
    fit, numbers, _ = case
    assert len(numbers) == len(fit.dag.edges) + 2 * len(fit.dag)
    for line in numbers.itertuples():
        estimate, error = ours(fit, line)
        assert estimate == pytest.approx(line.estimate, abs=1e-5)
        assert error == pytest.approx(line.error, rel=1e-4)


def test_the_log_likelihood_is_that_of_lavaan(case):
    fit, numbers, likelihood = case
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    assert fit.log_likelihood >= likelihood - 1e-8
    assert fit.scores.parameters == len(numbers)
    assert fit.bic == pytest.approx(len(numbers) * np.log(fit.rows) - 2.0 * likelihood, abs=1e-5)
