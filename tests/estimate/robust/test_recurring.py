"""Columns of few values are told from continuous ones, and what does not belong is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaussnet.estimate.robust.recurring import few_values, recurs


def test_two_groups_are_few_values_and_nothing_is_strange():
    column = np.repeat([0.0, 1.0], [70, 30])
    found = few_values(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0]
    assert len(found.strange) == 0


def test_continuous_columns_are_not():
    column = np.random.default_rng(0).normal(size=1_000)
    assert few_values(column) is None
    column[:400] = -999.0
    assert few_values(column) is None


def test_many_rounded_values_are_not_few():
    assert few_values(np.round(np.random.default_rng(0).normal(50.0, 12.0, size=5_000))) is None


@pytest.mark.parametrize("code", [-99.0, 99.0, 9_999.0])
def test_a_code_far_from_genotypes_is_strange(code):
    column = np.random.default_rng(1).choice([0.0, 1.0, 2.0], size=500, p=[0.6, 0.3, 0.1])
    column[::10] = code
    found = few_values(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0, 2.0]
    assert found.strange.tolist() == list(range(0, 500, 10))


def test_garbage_among_groups_is_strange_on_both_sides():
    rng = np.random.default_rng(2)
    column = rng.choice([0.0, 1.0], size=200)
    column[:40], column[40:60] = rng.normal(1_000.0, 1.0, 40), rng.normal(-50.0, 1.0, 20)
    found = few_values(column)
    assert found is not None
    assert found.strange.tolist() == list(range(60))


def test_a_rare_group_belongs():
    column = np.zeros(1_000)
    column[:300], column[:2] = 1.0, 2.0
    found = few_values(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0, 2.0]


def test_beside_a_single_value_nothing_can_be_called_far():
    column = np.concatenate((np.zeros(60), np.random.default_rng(3).lognormal(size=40)))
    found = few_values(column)
    assert found is not None
    assert (found.values.tolist(), len(found.strange)) == ([0.0], 0)


def test_missing_cells_do_not_count():
    column = np.array([0.0, 1.0, 0.0, 1.0] + 20 * [np.nan])
    found = few_values(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("column", [[], [3.0], [np.nan, np.nan]])
def test_next_to_nothing_is_not_few_values(column):
    assert few_values(np.array(column, dtype=float)) is None


@given(st.permutations(range(12)), st.sampled_from([1e-200, 3.0, 1e150]))
def test_order_and_unit_do_not_matter(order, unit):
    column = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0, 77.0, 77.0, 500.5, 1.0])
    plain, moved = few_values(column), few_values(unit * column[list(order)])
    assert plain is not None
    assert moved is not None
    np.testing.assert_array_equal(moved.values, unit * plain.values)
    assert sorted(np.array(order)[moved.strange].tolist()) == plain.strange.tolist()


def test_recurs_sees_a_tie_anywhere():
    assert recurs(np.array([2.0, 5.0, 3.0, 5.0]))
    assert not recurs(np.array([2.0, 5.0, 3.0]))
    assert not recurs(np.empty(0))
