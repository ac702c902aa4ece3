"""The checks of all families at once against the same checks of one regression at a time."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.methods.base import Equations
from gaussnet.methods.robust.normal import Tail
from gaussnet.methods.robust.regression import Regression
from gaussnet.methods.robust.screening import (
    Limits,
    gate_is_shut,
    half_moments,
    learn_all_rows,
    looks_clean,
)
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
    regression = Regression(parents, columns[-1], 1.0, 1e-300)
    factor = regression.factor()
    return looks_clean(regression, regression.least_squares(factor), SequentialTrim())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [12, 150, 3000])
def test_screen_says_what_single_checks_say(rows, intercept):
    truth = network(rows)
    x = truth.sample(rows, seed=1) if intercept else truth.sample(rows, seed=1) - truth.mean()
    rng = np.random.default_rng(2)
    for column in range(0, 30, 3):
        share = rng.choice([0.01, 0.2, 0.45])
        x[rng.random(rows) < share, column] += rng.choice([5.0, 100.0])
    families = truth.dag.families.sorted_by_size[1]
    found = learn_all_rows(x, Equations(families, intercept), SequentialTrim(), 1).clean
    expected = [one_at_a_time(x, families, family, intercept) for family in range(30)]
    assert found.tolist() == expected
    assert 0 < sum(expected) < 30


def test_threads_do_not_change_the_screen():
    truth = network(5)
    x = truth.sample(40_000, seed=1)
    x[:300, ::4] += 6.0
    equations = Equations(truth.dag.families.sorted_by_size[1], True)
    one = learn_all_rows(x, equations, SequentialTrim(), 1)
    three = learn_all_rows(x, equations, SequentialTrim(), 3)
    assert one.clean.tolist() == three.clean.tolist()
    assert np.array_equal(one.solution.coefficients, three.solution.coefficients)


def test_gate_opens_exactly_when_the_rule_rejects_something():
    rng = np.random.default_rng(0)
    for rows in (20, 300):
        magnitudes = np.abs(rng.standard_normal((200, rows)))
        magnitudes[::2, : rows // 20] *= 1.7
        medians = np.median(magnitudes, axis=1)
        limits = Limits.each(rows, np.full(200, 2), SequentialTrim())
        squares = (magnitudes**2).sum(axis=1)
        shut = gate_is_shut(magnitudes, squares, medians, limits, 0.01)
        scales = limits.median_scales(medians)
        for own, scale, answer in zip(magnitudes, scales, shut, strict=True):
            core = own[own <= 2.5 * scale]
            # 0.9113 is the variance of a standard normal value within +-2.5.
            size = np.sqrt(core @ core / len(core) / 0.911257)
            tail = Tail.of(own / size)
            rejected = tail.cutoff(0.01, 0.01, rows - 3.0) < np.inf
            assert answer == (not rejected)
        assert 0 < np.count_nonzero(shut) < 200


def test_half_moments_are_sums_over_the_rows_with_small_residuals():
    truth = network(3)
    families = truth.dag.families.sorted_by_size[1]
    x = truth.sample(2900, seed=0)
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal(len(families.parents))
    constants, means = rng.standard_normal((2, 30))
    medians = np.full(30, 2.0)
    found = half_moments(x, families, (coefficients, constants, means), medians)
    for family in range(30):
        edges = slice(*families.offsets[family : family + 2])
        parents = families.parents[edges]
        rest = x[:, families.children[family]] - constants[family]
        rest = rest - x[:, parents] @ coefficients[edges]
        small = np.abs(rest) <= 2.0
        own = np.column_stack((x[:, parents] - means[parents], rest))[small]
        span = slice(*families.column_offsets[family : family + 2])
        assert found.counts[family] == len(own)
        assert found.sums[span] == pytest.approx(own.sum(axis=0), abs=1e-8)
        span = slice(*families.product_offsets[family : family + 2])
        lower = np.tril_indices(own.shape[1])
        assert found.products[span] == pytest.approx((own.T @ own)[lower], abs=1e-7)
