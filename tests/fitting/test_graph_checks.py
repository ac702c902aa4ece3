"""Tests of missing edges against plain regressions, in full and where the worst are listed."""

import numpy as np
import pytest
from scipy.stats import t as student

import gaussnet as gn


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
    assert check.verdict == "There is no missing edge to test."
