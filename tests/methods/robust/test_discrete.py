"""Columns of few values are told from continuous ones, and what does not belong is found."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.forced import fit_with_run, many_rows

import gaussnet as gn
from gaussnet import kernels
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows
from gaussnet.kernels import numpy_robust
from gaussnet.kernels.numpy_robust import FLAGGED
from gaussnet.methods.robust.all_nodes import Execution, SequentialFit
from gaussnet.methods.robust.cells import DiscreteColumn, SuspiciousCells, discrete_columns
from gaussnet.methods.robust.findings import JOINING, SIDED, SKEWED_FROM, TAIL_ENDS, Trimming
from gaussnet.methods.robust.refinement import _continuous, is_continuous
from gaussnet.methods.robust.sequential_trim import SequentialTrim

DAG_OF_TREATED = gn.Dag.parse("[age][treated|age]", nodes=["age", "treated"])


def test_two_groups_are_few_values_and_nothing_lies_outside():
    column = np.repeat([0.0, 1.0], [70, 30])
    found = DiscreteColumn.of(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0]
    assert len(found.outside) == 0


def test_continuous_columns_are_not():
    column = np.random.default_rng(0).normal(size=1_000)
    assert DiscreteColumn.of(column) is None
    column[:400] = -999.0
    assert DiscreteColumn.of(column) is None


def test_many_rounded_values_are_not_few():
    column = np.round(np.random.default_rng(0).normal(50.0, 12.0, size=5_000))
    assert DiscreteColumn.of(column) is None


@pytest.mark.parametrize("code", [-9.0, 9.0, -99.0, 9_999.0])
def test_a_code_apart_from_genotypes_lies_outside(code):
    column = np.random.default_rng(1).choice([0.0, 1.0, 2.0], size=500, p=[0.6, 0.3, 0.1])
    column[::10] = code
    found = DiscreteColumn.of(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0, 2.0]
    assert found.outside.tolist() == list(range(0, 500, 10))


def test_garbage_among_groups_lies_outside_on_both_sides():
    rng = np.random.default_rng(2)
    column = rng.choice([0.0, 1.0], size=200)
    column[:40], column[40:60] = rng.normal(1_000.0, 1.0, 40), rng.normal(-50.0, 1.0, 20)
    found = DiscreteColumn.of(column)
    assert found is not None
    assert found.outside.tolist() == list(range(60))


def test_a_rare_group_belongs():
    column = np.zeros(1_000)
    column[:300], column[:2] = 1.0, 2.0
    found = DiscreteColumn.of(column)
    assert found is not None
    assert len(found.outside) == 0


@pytest.mark.parametrize("sigma", [0.2, 1.0, 2.0])
def test_beside_many_zeros_only_the_far_beyond_all_others_lie_outside(sigma):
    column = np.concatenate((np.zeros(600), np.random.default_rng(3).lognormal(0.0, sigma, 400)))
    found = DiscreteColumn.of(column)
    assert found is not None
    assert (found.values.tolist(), len(found.outside)) == ([0.0], 0)
    column[[0, 999]] = np.exp(7.0 * sigma) * np.array([-1.0, 2.0])
    assert DiscreteColumn.of(column).outside.tolist() == [0, 999]


@pytest.mark.parametrize("others", [[], [1.0], [1.0, 2.0, 5000.0], 30 * [1.0] + [2.0, 3.0, 5000.0]])
def test_few_or_equal_values_beside_a_frequent_one_tell_no_far_ones(others):
    column = np.concatenate((np.zeros(200), others, [np.nan]))
    assert DiscreteColumn.tied(column).outside.tolist() == []


def test_scattered_typing_errors_among_genotypes_lie_outside():
    rng = np.random.default_rng(9)
    column = rng.choice([0.0, 1.0, 2.0], size=1_500, p=[0.5, 0.4, 0.1])
    column[:24] = np.repeat([10.0, 8.0, 6.0, 20.0, -7.0, -10.0], 4)
    found = DiscreteColumn.of(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0, 2.0]
    assert found.outside.tolist() == list(range(24))


def test_rounded_normal_values_are_judged_as_before():
    rng = np.random.default_rng(10)
    x = np.round(rng.normal(50.0, 8.0, size=1_500))
    y = x + rng.normal(size=1_500)
    x[:10] = 150.0
    found = gn.fit(
        np.column_stack((x, y)), gn.Dag.parse("[x][y|x]", nodes="xy"), "robust"
    ).outliers()
    assert {(node, row) for node, row in zip(found.nodes, found.rows.tolist(), strict=True)} == {
        ("x", row) for row in range(10)
    }


def test_doses_far_apart_are_confirmed_by_what_they_do():
    rng = np.random.default_rng(8)
    dose = rng.choice([0.0, 1.0, 10.0, 100.0], size=1_000, p=[0.4, 0.3, 0.2, 0.1])
    rows = np.column_stack((dose, 0.05 * dose + rng.normal(size=1_000)))
    dag = gn.Dag.parse("[dose][y|dose]", nodes=["dose", "y"])
    robust, plain = gn.fit(rows, dag, "robust"), gn.fit(rows, dag)
    assert len(robust.outliers()) == 0
    np.testing.assert_allclose(robust.network.variance_array, plain.network.variance_array, 1e-6)
    np.testing.assert_allclose(robust.network.coefficient_array, plain.network.coefficient_array)


def test_values_between_those_that_belong_belong():
    found = DiscreteColumn.of(np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 10.0, 10.0, 100.0, -50.0]))
    assert found is not None
    assert found.outside.tolist() == [6, 7, 8, 9]
    column = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 10.0, 10.0, 100.0, -50.0])
    assert found.with_values(np.array([100.0]), np.empty(0), column).outside.tolist() == [9]
    assert found.with_values(np.array([100.0]), np.array([10.0]), column).outside.tolist() == [
        6,
        7,
        9,
    ]


def test_missing_cells_do_not_count():
    column = np.array([0.0, 1.0, 0.0, 1.0] + 20 * [np.nan])
    found = DiscreteColumn.of(column)
    assert found is not None
    assert found.values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("column", [[], [3.0], [np.nan, np.nan]])
def test_next_to_nothing_is_not_discrete(column):
    assert DiscreteColumn.of(np.array(column, dtype=float)) is None


@given(st.permutations(range(12)), st.sampled_from([1e-200, 3.0, 1e150]))
def test_order_and_unit_do_not_matter(order, unit):
    column = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0, 77.0, 77.0, 500.5, 1.0])
    plain, moved = DiscreteColumn.of(column), DiscreteColumn.of(unit * column[list(order)])
    assert plain is not None
    assert moved is not None
    np.testing.assert_array_equal(moved.values, unit * plain.values)
    assert sorted(np.array(order)[moved.outside].tolist()) == plain.outside.tolist()


def test_columns_are_told_apart_wherever_the_alike_rows_stand():
    rng = np.random.default_rng(4)
    group = rng.choice([0.0, 1.0], size=3_000, p=[0.9, 0.1])
    columns = np.column_stack((rng.normal(size=3_000), group, np.sort(group), group[::-1]))
    assert sorted(discrete_columns(columns)) == [1, 2, 3]


def test_the_answer_of_a_group_is_that_of_least_squares():
    rng = np.random.default_rng(5)
    group = rng.choice([0.0, 1.0], size=800, p=[0.7, 0.3])
    rows = np.column_stack((group, 2.0 * group + rng.normal(size=800)))
    dag = gn.Dag.parse("[group][y|group]", nodes=["group", "y"])
    robust, plain = gn.fit(rows, dag, "robust"), gn.fit(rows, dag)
    assert robust.network.coefficients["group", "y"] == pytest.approx(
        plain.network.coefficients["group", "y"], rel=1e-12
    )
    assert robust.network.variances["group"] == pytest.approx(0.21, abs=0.03)
    assert len(robust.outliers()) == 0
    assert robust.notes == ()


@pytest.mark.parametrize("backend", [kernels, numpy_robust], ids=["fastest", "numpy"])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_dirty_rows_beside_a_group_are_found_and_the_group_is_kept(share, backend):
    rng = np.random.default_rng(6)
    group = (np.arange(2_000) < 2_000 * share).astype(float)
    rng.shuffle(group)
    y = 2.0 * group + rng.normal(size=2_000)
    y[:100] = rng.normal(1_000.0, 1.0, 100)
    group[100:200] = -99.0
    families, execution = (
        gn.Dag.parse("[group][y|group]", nodes=["group", "y"]).families,
        Execution(backend=backend),
    )
    rows = np.column_stack((group, y))
    fit = SequentialFit(rows, families, True, SequentialTrim(), True, execution)
    solution = fit.learn("core", 1)
    flagged = [own.rows[own.statuses == FLAGGED].tolist() for own in solution.cells.values()]
    assert set(flagged[0]) >= set(range(100, 200))
    assert set(flagged[1]) >= set(range(100))
    assert len(flagged[0]) + len(flagged[1]) <= 203
    used = np.delete(group, solution.left_out[1])
    error = np.sqrt(solution.variances[1] / len(used) / used.var())
    assert abs(solution.coefficients[0] - 2.0) < 4.0 * error


def test_a_group_with_dirty_parents_is_learnt_from_the_sound_rows():
    rng = np.random.default_rng(7)
    age = rng.normal(50.0, 10.0, size=3_000)
    treated = (rng.random(3_000) < 0.02 + 0.001 * np.clip(age, 0.0, 100.0)).astype(float)
    sound = gn.fit(np.column_stack((age, treated))[300:], DAG_OF_TREATED)
    age[:300] = 1e6
    fit = gn.fit(np.column_stack((age, treated)), DAG_OF_TREATED, "robust")
    assert set(fit.outliers().nodes) == {"age"}
    np.testing.assert_allclose(
        fit.network.coefficient_array, sound.network.coefficient_array, rtol=0.05
    )


def test_garbage_between_a_value_and_a_confirmed_one_stays_flagged():
    rng = np.random.default_rng(11)
    group = rng.choice([0.0, 1.0], size=2_000)
    group[:30] = 100.0
    child = 2.0 * group + rng.normal(size=2_000)
    group[30:40] = np.arange(50.3, 60.3)
    rows = np.column_stack((group, child))
    found = gn.fit(rows, gn.Dag.parse("[g][p|g]", nodes="gp"), "robust").outliers()
    flagged = {
        row for row, node in zip(found.rows.tolist(), found.nodes, strict=True) if node == "g"
    }
    assert flagged == set(range(30, 40))


@pytest.mark.parametrize(("share", "expected"), [(0.05, True), (0.4, True), (0.6, False)])
def test_a_value_far_from_all_others_is_a_code_unless_most_rows_hold_it(share, expected):
    column = np.random.default_rng(15).normal(10.0, 1.0, 1_000)
    column[: int(share * 1_000)] = 0.0
    assert is_continuous(column) == expected


@pytest.mark.parametrize("rows", [1, 5, 10, 40])
def test_all_columns_are_asked_as_one_column_is(rows):
    rng = np.random.default_rng(rows)
    values = rng.normal(size=(rows, 60))
    tied = rng.random(values.shape) < np.linspace(0.0, 0.3, 60)
    values[tied] = np.where(rng.random(60) < 0.5, 0.0, 500.0).repeat(rows).reshape(60, rows).T[tied]
    values[rng.random(values.shape) < 0.05 * (np.arange(60) % 3 == 0)] = np.nan
    alone = [is_continuous(column[~np.isnan(column)]) for column in values.T]
    assert _continuous(values).tolist() == alone


def test_shapes_of_flagged_values_are_those_of_each_node_by_itself():
    rng, cells, sides, tails = np.random.default_rng(5), {}, {}, []
    for node in range(0, 80, 2):
        far = rng.normal(0.0, 1.0 + node % 5, 12) + rng.choice([-4.5, 0.0, 4.5])
        statuses = np.where(rng.random(12) < 0.9, FLAGGED, numpy_robust.CONFIRMED)
        cells[node] = SuspiciousCells(
            np.arange(12), statuses.astype(np.uint8), far, far, far, np.ones(12)
        )
        own = far[statuses == FLAGGED]
        above, below = np.count_nonzero(own > 0.0), np.count_nonzero(own < 0.0)
        joins = np.count_nonzero(np.abs(own) < SKEWED_FROM) >= JOINING
        if joins and abs(above - below) >= SIDED * len(own):
            sides[node] = 1 if above > below else -1
        elif joins and np.count_nonzero(np.abs(own) < TAIL_ENDS) >= max(6, 0.5 * len(own)):
            tails.append(node)
    found = Trimming(100, np.full(80, np.inf), cells, {}, {})
    assert found.skewed == sides
    assert found.heavy_tailed == tuple(tails)
    assert {1, -1} == set(sides.values())
    assert tails
    assert Trimming(100, np.full(80, np.inf), {}, {}, {}).skewed == {}


ZERO_HEAVY = gn.Dag.parse("visits ~ years", nodes=["visits", "years"])


def zero_heavy(rows=2_000, zeros=0.68):
    """Skewed counts, more often 0 than not, over a few values of years."""
    rng = np.random.default_rng(12)
    years = rng.choice([0.5, 2.5, 6.0, 9.0, 13.0, 16.5, 23.0], size=rows)
    visits = np.round(rng.lognormal(1.0 - 0.02 * years, 1.0), 1) + 0.1
    visits[rng.random(rows) < zeros] = 0.0
    return np.column_stack((visits, years))


def spoilt(column, value):
    found = zero_heavy()
    found[:10, column] = value
    return found


IF_RIGHT, BOOTSTRAP = "Trust the numbers of visits only if values up to", "need the bootstrap"

TRUST_OF_ZERO_HEAVY = [
    (500, 0.42, BOOTSTRAP),
    (500, 0.49, BOOTSTRAP),
    (500, 0.68, BOOTSTRAP),
    (500, 0.9, IF_RIGHT),
    (2_000, 0.42, BOOTSTRAP),
    (2_000, 0.49, IF_RIGHT),
    (2_000, 0.68, IF_RIGHT),
    (2_000, 0.9, IF_RIGHT),
]
"""Rows, the share of zeros, and words of the verdict: more rows have farther values."""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("method", ["robust", "auto", "sequential-trim"])
@pytest.mark.parametrize(("rows", "zeros", "trust"), TRUST_OF_ZERO_HEAVY)
def test_zero_heavy_columns_are_fitted_by_least_squares_with_a_note(rows, zeros, trust, method):
    data = zero_heavy(rows, zeros)
    fit, plain = gn.fit(data, ZERO_HEAVY, method), gn.fit(data, ZERO_HEAVY)
    assert len(fit.outliers()) == 0
    np.testing.assert_allclose(
        fit.network.coefficient_array, plain.network.coefficient_array, rtol=1e-9
    )
    assert [note for note in fit.notes if "wrong values in it cannot be told" in note]
    assert "nan" not in str(fit.table())
    assert "nan" not in f"{fit.effect('years', 'visits')} {fit.fit_measures()}"
    assert "Wrong values in 'visits' could not be told" in fit.summary().data
    assert trust in fit.summary().trust


RARE = {
    "0 and 1": ([0.0, 1.0], [0.97, 0.03], 0.04),
    "a tenth of 1": ([0.0, 1.0], [0.9, 0.1], 0.12),
    "three levels": ([0.0, 1.0, 2.0], [0.95, 0.04, 0.01], 0.06),
}
"""Levels, their shares, and the share of wild values among them."""


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
@pytest.mark.parametrize("kind", RARE)
def test_wild_values_among_rare_levels_are_flagged(kind, method):
    levels, shares, wild = RARE[kind]
    rng, count = np.random.default_rng(7), 2_000
    group = rng.choice(levels, count, p=shares)
    rows = np.column_stack((group, 2.0 * group + rng.normal(size=count)))
    wrong = rng.choice(count, int(wild * count), replace=False)
    rows[wrong, 0] = rng.uniform(50.0, 500.0, len(wrong))
    fit = gn.fit(rows, gn.Dag.parse("y ~ g", nodes=["g", "y"]), method)
    found = fit.outliers()
    assert set(found.rows[np.array(found.nodes) == "g"].tolist()) == set(wrong.tolist())
    error = fit.standard_errors.coefficients["g", "y"]
    assert abs(fit.network.coefficients["g", "y"] - 2.0) < 4.0 * error


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_wrong_parents_of_zero_heavy_columns_are_flagged(method):
    found = gn.fit(spoilt(1, 1e4), ZERO_HEAVY, method).outliers()
    assert set(found.nodes) == {"years"}
    assert sorted(found.rows.tolist()) == list(range(10))


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_wild_values_of_zero_heavy_columns_are_flagged(method):
    fit = gn.fit(spoilt(0, np.geomspace(1e4, 2e4, 10)), ZERO_HEAVY, method)
    found, data = fit.outliers(), fit.summary().data
    assert set(found.nodes) == {"visits"}
    assert sorted(found.rows.tolist()) == list(range(10))
    assert "could not be told from its many equal values, unless far beyond all others" in data
    assert [note for note in fit.notes if "unless they lie far beyond all others; it is" in note]


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_values_of_zero_heavy_columns_that_join_the_others_are_warned_of(method):
    fit = gn.fit(spoilt(0, np.geomspace(20.0, 500.0, 10)), ZERO_HEAVY, method)
    assert len(fit.outliers()) == 0
    assert fit.summary().warns
    assert fit.summary().trust.startswith("Trust the numbers of visits only if values up to")
    assert "sequential-trim" not in fit.summary().trust


PARENTS = {
    "far from 0": lambda rng, count: rng.normal(10.0, 1.0, count),
    "exponential": lambda rng, count: rng.exponential(size=count),
    "lognormal": lambda rng, count: rng.lognormal(size=count),
    "normal": lambda rng, count: rng.normal(size=count),
}


def zero_heavy_parent(kind, zeros, seed):
    """A column x with many zeros, and its child 2 x + noise."""
    rng, count = np.random.default_rng(seed), 2_000
    x = np.where(rng.random(count) < zeros, 0.0, PARENTS[kind](rng, count))
    return np.column_stack((x, 2.0 * x + rng.normal(size=count)))


OF_PARENT = gn.Dag.parse("y ~ x", nodes="xy")


HALF_OR_LESS = [(0.4, kind) for kind in PARENTS if kind != "far from 0"]
"""Fewer zeros that lie far from all other values are taken for a code."""


@many_rows
@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
@pytest.mark.parametrize("wild", [50.0, 500.0, -5_000.0])
@pytest.mark.parametrize(("zeros", "kind"), [*HALF_OR_LESS, *((0.6, kind) for kind in PARENTS)])
def test_wild_values_of_zero_heavy_parents_leave_the_slope(kind, zeros, wild, method):
    rows = zero_heavy_parent(kind, zeros, 0)
    sound = gn.fit(rows[10:], OF_PARENT)
    rows[:10, 0] = wild * np.linspace(1.0, 1.2, 10)
    fit = gn.fit(rows, OF_PARENT, method)
    error = sound.standard_errors.coefficients["x", "y"]
    assert abs(fit.network.coefficients["x", "y"] - 2.0) < 4.0 * error
    if abs(wild) >= 500.0:
        found = fit.outliers()
        flagged = found.rows[np.array(found.nodes) == "x"]
        assert set(flagged.tolist()) == set(range(10))


@many_rows
@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
@pytest.mark.parametrize(("zeros", "kind"), [*HALF_OR_LESS, *((0.6, kind) for kind in PARENTS)])
def test_right_values_of_zero_heavy_parents_are_not_flagged(kind, zeros, method):
    for seed in range(5):
        rows = zero_heavy_parent(kind, zeros, seed)
        fit, plain = gn.fit(rows, OF_PARENT, method), gn.fit(rows, OF_PARENT)
        assert len(fit.outliers()) == 0
        np.testing.assert_allclose(
            fit.network.coefficient_array, plain.network.coefficient_array, rtol=1e-6
        )


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_far_values_of_zero_heavy_parents_that_children_follow_are_believed(method):
    rows = zero_heavy_parent("exponential", 0.4, 0)
    rows[:10] += np.array([500.0, 1_000.0])
    fit, plain = gn.fit(rows, OF_PARENT, method), gn.fit(rows, OF_PARENT)
    assert len(fit.outliers()) == 0
    assert fit.node("x").tied
    np.testing.assert_allclose(
        fit.network.coefficient_array, plain.network.coefficient_array, rtol=1e-9
    )
    assert fit.summary().trust.startswith("Trust the numbers of x and of its children only if")


def test_zero_heavy_parents_are_believed_and_told_of():
    data = zero_heavy()
    data[:, 1] = 0.5 * data[:, 0] + np.random.default_rng(13).normal(size=len(data))
    data[:20, 1] = 500.0
    dag = gn.Dag.parse("years ~ visits", nodes=["visits", "years"])
    fit = gn.fit(data, dag, "robust")
    assert set(fit.outliers().nodes) == {"years"}
    assert fit.network.coefficient_array[0] == pytest.approx(0.5, abs=0.05)
    assert fit.node("visits").tied
    assert not fit.node("years").tied


def test_zero_heavy_columns_with_missing_values_are_fitted_over_the_others():
    data = zero_heavy()
    data[::20, 0] = np.nan
    fit = gn.fit(data, ZERO_HEAVY, "robust", missing="likelihood")
    plain = gn.fit(data, ZERO_HEAVY, missing="likelihood")
    np.testing.assert_allclose(
        fit.network.coefficient_array, plain.network.coefficient_array, rtol=1e-4
    )
    assert fit.node("visits").tied


def test_zero_heavy_columns_in_pages_are_those_of_memory(tmp_path):
    data, path = zero_heavy(8_000), tmp_path / "rows.parquet"
    write_rows(path, ZERO_HEAVY.nodes, [data])
    run = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=2_000)
    fit = fit_with_run(run, str(path), ZERO_HEAVY, "robust", page_rows=3_000)
    assert fit.trimming.counts is not None
    plain = gn.fit(data, ZERO_HEAVY)
    np.testing.assert_allclose(
        fit.network.coefficient_array, plain.network.coefficient_array, rtol=1e-6
    )
    assert fit.node("visits").tied


def test_summaries_remember_zero_heavy_columns(tmp_path):
    summary = gn.summarize(zero_heavy(70_000), ZERO_HEAVY, "robust")
    summary.save(tmp_path / "visits.summary")
    fit = gn.load_summary(tmp_path / "visits.summary").solve()
    assert fit.node("visits").tied


def test_a_rare_group_is_not_told_of():
    rng = np.random.default_rng(14)
    group = (rng.random(2_000) < 0.003).astype(float)
    y = rng.normal(size=2_000)
    y[:50] = 1_000.0
    fit = gn.fit(np.column_stack((group, y)), gn.Dag.parse("y ~ g", nodes="gy"), "robust")
    assert not fit.node("g").tied
