"""Of a parent and its children the likelier is called wrong."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.kernels.numpy_robust import FLAGGED
from gaussnet.methods.robust.sequential_trim import SequentialTrim

DAG = gn.Dag.parse("[a][b|a][c|a][d|b]", nodes="abcd")


def rows_of(count=1000, seed=0):
    noise = np.random.default_rng(seed).standard_normal((count, 4))
    a = noise[:, 0]
    b, c = 2.0 * a + noise[:, 1], -2.0 * a + noise[:, 2]
    return np.column_stack((a, b, c, 1.5 * b + noise[:, 3]))


def flagged(x, row):
    solution = SequentialTrim().learn(x, DAG.families)
    return [
        DAG.nodes[node]
        for node, cells in sorted(solution.cells.items())
        if row in cells.rows[cells.statuses == FLAGGED]
    ], solution


def test_parent_that_its_own_equation_lets_pass_is_found_by_its_children():
    x = rows_of()
    x[0] = [3.5, 0.0, 0.0, 0.0]  # a was 0; 3.5 is below the cutoff of about 4
    nodes, solution = flagged(x, 0)
    assert nodes == ["a"]
    cells = solution.cells[0]
    index = cells.rows.tolist().index(0)
    # Three equations with noise 1 and slopes 1, -2, 2 on the error: 1 / (1 + 4 + 4).
    assert cells.variances[index] == pytest.approx(1.0 / 9.0, rel=0.15)
    assert cells.expected[index] == pytest.approx(0.0, abs=0.6)
    assert cells.deviations[index] == pytest.approx(3.0 * 3.5, rel=0.15)


def test_child_is_flagged_if_the_other_children_side_with_the_parent():
    x = rows_of()
    x[0] = [2.5, 12.0, -5.0, 7.5]
    assert flagged(x, 0)[0] == ["b"]


def test_grandchild_is_cleared_with_the_child_that_it_agrees_with():
    x = rows_of()
    x[0] = [3.6, -0.5, 0.5, -0.75]
    assert flagged(x, 0)[0] == ["a"]


def test_gross_errors_of_a_child_are_never_blamed_on_its_parent():
    x = rows_of()
    x[:50, 1] = 1000.0
    solution = SequentialTrim().learn(x, DAG.families)
    assert 0 not in solution.cells
    assert solution.cells[1].rows[solution.cells[1].statuses == FLAGGED].tolist() == list(range(50))
