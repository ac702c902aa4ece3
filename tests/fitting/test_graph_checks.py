"""Tests of missing edges against plain regressions, in full and where the worst are listed."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import t as student
from tests.forced import STREAMED, fit_streamed, fit_with_run

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows


def plain_tests(rows, dag, was_set=None):
    """Partial correlation and p-value of every missing edge, by regressions on complete rows."""
    names, order, found = dag.nodes, dag.order.tolist(), {}
    for index, node in enumerate(order):
        parents = [dag.position(name) for name in dag.parents(names[node])]
        for other in order[:index]:
            if other in parents:
                continue
            used = ~np.isnan(rows[:, [node, other, *parents]]).any(axis=1)
            if was_set is not None:
                used &= ~was_set[:, node]
            own = rows[used]
            design = np.column_stack((np.ones(len(own)), own[:, parents]))
            left = own[:, [node, other]]
            left = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
            r = np.corrcoef(left.T)[0, 1]
            freedom = len(own) - len(parents) - 2
            p = 2.0 * student.sf(abs(r) * np.sqrt(freedom / (1.0 - r * r)), freedom)
            found[names[node], names[other]] = r, p
    return found


def holm(p_values):
    ranked = sorted(p_values)
    steps = [p * (len(ranked) - k) for k, p in enumerate(ranked)]
    return dict(zip(ranked, np.minimum(np.maximum.accumulate(steps), 1.0), strict=True))


@pytest.mark.parametrize("kind", ["complete", "holes", "set", "scales"])
def test_every_missing_edge_is_tested_as_by_hand(kind):
    dag = gn.simulate.erdos_renyi(14, 3.0, seed=3)
    truth = gn.simulate.random_network(gn.simulate.erdos_renyi(14, 3.0, seed=4), seed=5)
    rows, settings, was_set = np.array(truth.sample(90, seed=6)), {}, None
    rng = np.random.default_rng(7)
    if kind == "holes":
        rows[rng.random(rows.shape) < 0.08] = np.nan
        settings["missing"] = "drop-by-node"
    if kind == "set":
        targets = [dag.nodes[5] if k % 3 == 0 else None for k in range(90)]
        settings["interventions"] = targets
        was_set = np.zeros(rows.shape, dtype=bool)
        was_set[::3, 5] = True
    given = rows
    if kind == "scales":
        units = 10.0 ** rng.integers(-120, 120, 14)
        given = (rows + 50.0) * units
    check = gn.fit(given, dag, columns=dag.nodes, **settings).check_graph()
    expected = plain_tests(rows, dag, was_set)
    found = {(one.node, one.other): one for one in check}
    assert found.keys() == expected.keys()
    assert check.tests == len(expected)
    adjusted = holm([p for _, p in expected.values()])
    # Columns are as correlated as 0.999, so that three digits of sixteen are lost on either side.
    for pair, (r, p) in expected.items():
        assert found[pair].correlation == pytest.approx(r, abs=1e-10)
        assert found[pair].p_value == pytest.approx(p, rel=1e-7, abs=1e-14)
        assert found[pair].adjusted == pytest.approx(adjusted[p], rel=1e-7, abs=1e-12)


def test_of_very_many_missing_edges_the_worst_are_listed_and_all_are_counted():
    dag = gn.simulate.erdos_renyi(205, 1.0, seed=0)
    truth = gn.simulate.random_network(gn.simulate.erdos_renyi(205, 1.2, seed=1), seed=2)
    rows = truth.sample(40, seed=3)
    fit = gn.fit(np.array(rows), dag, columns=dag.nodes)
    expected = plain_tests(np.array(rows), dag)
    adjusted = holm([p for _, p in expected.values()])
    check = fit.check_graph()
    assert check.tests == len(expected) > 20_000
    largest = 20_000 / len(expected)
    wanted = {pair for pair, (_, p) in expected.items() if p <= min(0.05, largest)}
    assert {(one.node, one.other) for one in check} == wanted
    assert len(check) < check.tests
    for one in check:
        p = expected[one.node, one.other][1]
        assert one.p_value == pytest.approx(p, rel=1e-7, abs=1e-14)
        assert one.adjusted == pytest.approx(adjusted[p], rel=1e-7, abs=1e-12)
    assert "listed are those" in check.notes[-1]
    everything = fit.check_graph(adjust="benjamini-hochberg")
    assert everything.tests == check.tests


def test_a_chosen_node_has_the_tests_that_touch_it():
    dag = gn.simulate.erdos_renyi(12, 2.0, seed=1)
    fit = gn.fit(gn.simulate.random_network(dag, seed=1).sample(100, seed=2), dag)
    every = {(one.node, one.other): one.p_value for one in fit.check_graph()}
    name = dag.nodes[4]
    some = {(one.node, one.other): one.p_value for one in fit.check_graph(nodes=[name])}
    assert some == {pair: p for pair, p in every.items() if name in pair}
    check = fit.check_graph(nodes=[name])
    assert check.tests == len(some)
    assert next(iter(check)).adjusted == pytest.approx(
        min(1.0, len(some) * min(some.values())), rel=1e-12
    )
    with pytest.raises(gn.GaussnetError, match="nobody"):
        fit.check_graph(nodes=["nobody"])


def test_collinear_and_constant_columns_are_not_tested():
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 50))
    rows = np.column_stack((a, 2.0 * a, c, np.full(50, 3.0)))
    dag = gn.Dag.parse("[a][b|a][c|a:b][d]", nodes="abcd")
    check = gn.fit(rows, dag).check_graph()
    assert check.tests == 0
    assert check.untested == 3
    assert check.verdict == (
        "No missing edge could be tested: rows are too few, or columns collinear."
    )


PAGE = 256
"""Rows of a page, so that few rows are many pages."""


def as_checked(fit, **settings):
    """What a check found, as plain values."""
    check = fit.check_graph(**settings)
    names = ("nodes", "others", "correlations", "p_values", "adjusted")
    arrays = [getattr(check, name).tolist() for name in names]
    return arrays, check.tests, check.untested, check.notes


def check_problem(kind, nodes=9):
    """A graph, rows and settings of a fit that has something to say about them."""
    dag = gn.simulate.erdos_renyi(nodes, 3.0, seed=3)
    truth = gn.simulate.random_network(gn.simulate.erdos_renyi(nodes, 3.0, seed=4), seed=5)
    rows = np.array(truth.sample(1_700, seed=6)) + np.arange(nodes)
    rng, settings = np.random.default_rng(7), {}
    if kind == "collinear":
        rows[:, 4] = rows[:, 1] + 1e-7 * rng.normal(size=len(rows))
        rows[:, 6] = rows[:, 0] - rows[:, 2]
        rows[:, 7] = 0.1
    if kind in ("holes", "likelihood", "set and holes"):
        rows[rng.random(rows.shape) < 0.08] = np.nan
        settings["missing"] = "likelihood" if kind == "likelihood" else "drop-by-node"
    if kind.startswith("set"):
        settings["interventions"] = [dag.nodes[5] if k % 3 == 0 else "" for k in range(len(rows))]
    return dag, rows, settings


KINDS = ("complete", "collinear", "holes", "likelihood", "set", "set and holes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_files_are_checked_page_by_page_with_the_bits_of_memory(tmp_path, kind, intercept):
    dag, rows, settings = check_problem(kind)
    settings |= {"intercept": intercept, "page_rows": PAGE}
    expected = as_checked(fit_streamed(rows, dag, **settings))
    for number, heights in enumerate([(1_700,), (1_000, 7, 693)]):
        edges = np.cumsum([0, *heights]).tolist()
        path = tmp_path / f"{number}.parquet"
        write_rows(path, dag.nodes, [rows[a:b] for a, b in pairwise(edges)])
        # No more than 2,000 values may be read at once: the rows are never all in memory.
        run = Run(1 + number, **STREAMED, largest_in_memory=2_000)
        fit = fit_with_run(run, path, dag, **settings)
        assert as_checked(fit) == expected


@pytest.mark.parametrize("kind", ["complete", "holes"])
def test_a_check_reads_a_file_once_however_many_nodes_there_are(tmp_path, kind):
    dag, rows, settings = check_problem(kind)
    write_rows(tmp_path / "rows.parquet", dag.nodes, [rows])
    read = []
    run = Run(1, lambda done, _: read.append(done), **STREAMED)
    fit = fit_with_run(run, tmp_path / "rows.parquet", dag, page_rows=PAGE, **settings)
    read.clear()
    fit.check_graph()
    assert read.count(len(rows)) == 1


def test_sums_that_are_kept_for_few_nodes_at_a_time_have_the_same_bits():
    dag, rows, settings = check_problem("holes")
    settings |= {"page_rows": PAGE}
    expected = as_checked(fit_with_run(Run(2), rows, dag, **settings))
    assert as_checked(fit_with_run(Run(1, budget=40), rows, dag, **settings)) == expected


def test_what_products_cannot_tell_comes_from_factors():
    """A column that is a parent with noise of 1e-7: products alone lose 14 of 16 digits of it."""
    rng = np.random.default_rng(0)
    a, e, noise = rng.normal(size=(3, 1_700))
    b = a + 1e-7 * e
    rows = np.column_stack((a, b, a + 3e6 * (b - a) + noise, np.full(1_700, 0.1)))
    dag = gn.Dag.parse("[a][b][c|a][d]", nodes="abcd")
    check = gn.fit(rows, dag, page_rows=PAGE).check_graph()
    found = {(one.node, one.other): one.correlation for one in check}
    assert found.keys() == {("b", "a"), ("c", "b")}  # d is constant
    assert check.untested == 3
    design = np.column_stack((np.ones(1_700), a))
    left = np.column_stack((b - a, rows[:, 2]))
    left -= design @ np.linalg.lstsq(design, left, rcond=None)[0]
    # Rows are rounded to 1e-16 of their size, which is 1e-9 of what is left of b.
    assert found["c", "b"] == pytest.approx(np.corrcoef(left.T)[0, 1], abs=1e-8)
    assert found["c", "b"] > 0.2


def test_a_wide_table_is_checked_as_a_narrow_one(monkeypatch):
    from gaussnet.methods import moments

    dag, rows, _ = check_problem("complete")
    fit = gn.fit(rows, dag, page_rows=PAGE)
    narrow = fit.check_graph()
    monkeypatch.setattr(moments, "WIDEST_TILED", 1)
    wide = fit.check_graph()
    # Sums of n products of unit columns.
    rounding = len(rows) * np.finfo(np.float64).eps
    np.testing.assert_allclose(wide.correlations, narrow.correlations, atol=rounding)


@pytest.mark.parametrize("kind", ["complete", "holes"])
def test_checks_of_float32_and_of_either_layout_have_the_same_bits(kind):
    dag, rows, settings = check_problem(kind)
    rows = rows.astype(np.float32)
    expected = as_checked(gn.fit(rows.astype(np.float64), dag, columns=dag.nodes, **settings))
    for given in (rows, np.asfortranarray(rows), np.asfortranarray(rows, dtype=np.float64)):
        assert as_checked(gn.fit(given, dag, columns=dag.nodes, **settings)) == expected


def test_small_correlations_keep_their_sign_in_tables():
    truth = gn.simulate.random_network(gn.Dag.parse("a; b ~ a; c ~ b; d ~ c"), seed=0)
    check = gn.fit(truth.sample(400, seed=1), truth.dag).check_graph()
    shown = [row.split("|")[4].strip() for row in check.to_markdown().splitlines()[2:5]]
    assert [float(text) for text in shown] == pytest.approx(check.correlations, rel=1e-3)
