"""The checks of all families at once against the same checks of one regression at a time."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.methods.base import Equations
from gaussnet.methods.robust.regression import Regression
from gaussnet.methods.robust.screening import looks_clean, screen
from gaussnet.methods.robust.sequential_trim import SequentialTrim


def network(seed, nodes=30):
    dag = gn.simulate.erdos_renyi(nodes, 4, seed=seed)
    return gn.simulate.random_network(dag, seed=seed, weights=(0.3, 1.0), intercepts=(-3.0, 3.0))


def one_at_a_time(x, families, family, intercept):
    start, stop = families.column_offsets[family : family + 2]
    columns = x[:, families.columns[start:stop]].T
    parents = columns[:-1]
    if intercept:
        parents = np.vstack((np.ones(len(x)), parents - parents.mean(axis=1, keepdims=True)))
    regression = Regression(parents, columns[-1])
    factor = regression.factor()
    return looks_clean(regression, regression.least_squares(factor), SequentialTrim())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [12, 150, 3000])
def test_screening_says_what_single_checks_say(rows, intercept):
    truth = network(rows)
    x = truth.sample(rows, seed=1) if intercept else truth.sample(rows, seed=1) - truth.mean()
    rng = np.random.default_rng(2)
    for column in range(0, 30, 3):
        share = rng.choice([0.01, 0.2, 0.45])
        x[rng.random(rows) < share, column] += rng.choice([5.0, 100.0])
    families = truth.dag.families.sorted_by_size[1]
    found = screen(x, Equations(families, intercept), SequentialTrim(), 1).clean
    expected = [one_at_a_time(x, families, family, intercept) for family in range(30)]
    assert found.tolist() == expected
    assert 0 < sum(expected) < 30


def test_threads_do_not_change_the_verdicts():
    truth = network(5)
    x = truth.sample(40_000, seed=1)
    x[:300, ::4] += 6.0
    equations = Equations(truth.dag.families.sorted_by_size[1], True)
    one = screen(x, equations, SequentialTrim(), 1)
    three = screen(x, equations, SequentialTrim(), 3)
    assert one.clean.tolist() == three.clean.tolist()
    assert np.array_equal(one.solution.coefficients, three.solution.coefficients)
