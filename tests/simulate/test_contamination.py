"""Contamination touches the cells it says, and no other."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gaussnet import simulate
from gaussnet.errors import DataError, SettingError
from gaussnet.simulate.contamination import PATTERNS, VALUES


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(0).normal(size=(400, 12)) * np.arange(1, 13)


@given(
    pattern=st.sampled_from(PATTERNS),
    value=st.sampled_from(VALUES),
    share=st.floats(0.0, 1.0),
    rows=st.integers(0, 30),
    columns=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_only_the_marked_cells_change(pattern, value, share, rows, columns, seed):
    table = np.random.default_rng(seed).normal(size=(rows, columns))
    before = table.copy()
    spoilt = simulate.contaminate(
        table, seed=seed, share=share, nodes=min(2, columns), pattern=pattern, value=value
    )
    assert (table == before).all()
    assert (spoilt.data[~spoilt.cells] == table[~spoilt.cells]).all()
    if value in ("gaussian", "cauchy"):
        assert (spoilt.data[spoilt.cells] != table[spoilt.cells]).all()


def test_fresh_contamination_takes_as_many_cells_in_each_row_but_other_ones(data):
    spoilt = simulate.contaminate(data, seed=1, share=0.1, nodes=3)
    assert spoilt.rows.sum() == 40
    assert set(spoilt.cells[spoilt.rows].sum(axis=1).tolist()) == {3}
    assert len({tuple(row) for row in spoilt.cells[spoilt.rows].tolist()}) > 1


def test_fresh_nodes_are_drawn_evenly(data):
    spoilt = simulate.contaminate(np.zeros((20_000, 12)), seed=1, share=0.5, nodes=3)
    # in 10,000 rows each column is hit with probability 1/4
    assert np.abs(spoilt.cells.sum(axis=0) - 2500).max() < 4 * math.sqrt(10_000 * 0.25 * 0.75)


def test_fixed_contamination_stays_in_the_same_columns(data):
    cells = simulate.contaminate(data, seed=1, share=0.1, nodes=3, pattern="fixed").cells
    assert sorted(cells.sum(axis=0).tolist()) == [0] * 9 + [40] * 3


def test_row_contamination_takes_whole_rows(data):
    cells = simulate.contaminate(data, seed=1, share=0.25, pattern="rows").cells
    assert sorted(cells.sum(axis=1).tolist()) == [0] * 300 + [12] * 100


def test_cell_contamination_takes_a_share_of_all_cells(data):
    spoilt = simulate.contaminate(data, seed=1, share=0.1, pattern="cells")
    assert spoilt.cells.sum() == 480
    # a row stays clean with probability close to 0.9^12
    assert abs(spoilt.rows.mean() - (1 - 0.9**12)) < 4 * math.sqrt(0.25 / 400)


def test_gaussian_values_have_the_stated_mean_and_unit_variance(data):
    spoilt = simulate.contaminate(data, seed=2, share=1.0, nodes=12, size=500.0)
    wrong = spoilt.data[spoilt.cells]
    assert wrong.size == 4800
    assert abs(wrong.mean() - 500.0) < 4 / math.sqrt(4800)
    # the variance of a sample variance of N(0,1) is 2/m
    assert abs(wrong.var() - 1.0) < 4 * math.sqrt(2 / 4800)


def test_cauchy_values_have_the_stated_quartiles(data):
    spoilt = simulate.contaminate(data, seed=2, share=1.0, pattern="rows", value="cauchy")
    below = (spoilt.data[:, :, None] < [999.0, 1000.0, 1001.0]).mean(axis=(0, 1))
    # shares 1/4, 1/2, 3/4, each with a standard error of at most 0.5/sqrt(4800)
    assert np.abs(below - [0.25, 0.5, 0.75]).max() < 4 * 0.5 / math.sqrt(4800)


def test_a_shift_is_in_standard_deviations_of_the_column(data):
    spoilt = simulate.contaminate(data, seed=2, share=0.2, nodes=4, value="shift", size=-5.0)
    moved = (spoilt.data - data) / data.std(axis=0)
    # rounding of a sum of numbers below 100
    assert np.abs(moved[spoilt.cells] + 5.0).max() < 1e-12


def test_resampled_values_come_from_the_same_column(data):
    spoilt = simulate.contaminate(data, seed=2, share=0.5, pattern="cells", value="resampled")
    for column in range(data.shape[1]):
        assert np.isin(spoilt.data[:, column], data[:, column]).all()
    assert (spoilt.data != data).any()


def test_contamination_is_reproducible(data):
    one, again, other = (simulate.contaminate(data, seed=seed) for seed in (3, 3, 4))
    assert (one.data == again.data).all()
    assert (one.cells == again.cells).all()
    assert (one.cells != other.cells).any()


def test_the_value_written_does_not_move_the_cells(data):
    masks = [simulate.contaminate(data, seed=3, value=value).cells for value in VALUES]
    assert all((mask == masks[0]).all() for mask in masks)


def test_a_constant_column_and_a_single_row_can_be_contaminated():
    assert simulate.contaminate(np.ones((1, 2)), seed=0, share=1.0, nodes=1).cells.sum() == 1
    spoilt = simulate.contaminate(np.ones((4, 1)), seed=0, share=1.0, nodes=1, value="shift")
    assert (spoilt.data == 1.0).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"share": 1.1},
        {"share": -0.1},
        {"share": math.nan},
        {"nodes": 13},
        {"nodes": -1},
        {"nodes": 2.0},
        {"pattern": "stripes"},
        {"value": "zero"},
        {"size": math.inf},
        {"seed": "one"},
    ],
)
def test_bad_contamination_settings_are_refused(data, settings):
    with pytest.raises(SettingError, match="expected"):
        simulate.contaminate(data, **({"seed": 0} | settings))


@pytest.mark.parametrize(
    "table", [np.zeros(3), [[math.nan]], [[math.inf]], [["a"]], [[1.0], [1.0, 2.0]]]
)
def test_data_that_are_no_table_of_finite_numbers_are_refused(table):
    with pytest.raises(DataError):
        simulate.contaminate(table, seed=0)
