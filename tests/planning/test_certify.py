"""Certificates: what they promise, and how they behave with few rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gaussnet as gn
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.methods.mad import Mad
from gaussnet.methods.scales import MeanSquare
from gaussnet.planning import certify
from gaussnet.planning.certificate import ASSUMPTIONS
from gaussnet.planning.laws import BY_SHORTFALL, BY_SUM, BY_UNION

COLLIDER = Dag.parse("wet ~ rain + sprinkler")
CHAIN = Dag.from_edges([(str(i), str(i + 1)) for i in range(80)])


def test_a_certificate_orders_its_numbers():
    promise = certify(CHAIN, rows=2_000)
    assert promise.information_limit < promise.expected_kl < promise.kl
    assert promise.tv == pytest.approx(np.sqrt(promise.kl / 2))
    assert promise.information_limit == (80 + 81 + 81) / 4_000
    assert promise.hardness_tv == pytest.approx(np.sqrt(81 / 2_000))
    assert promise.argument == BY_SUM


@pytest.mark.parametrize("intercept", [False, True])
def test_expected_kl_tends_to_the_information_limit(intercept):
    promise = certify(CHAIN, rows=1_000_000, intercept=intercept)
    assert promise.expected_kl == pytest.approx(promise.information_limit, rel=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_too_few_rows_give_an_infinite_kl_and_a_tv_of_one(intercept, split):
    # The node with 2 parents needs a row more than columns; each phase counts for itself.
    columns = 2 + intercept
    few = {"rows": 100, "split": (columns, 50)} if split else {"rows": columns}
    enough = {"rows": 100, "split": (columns + 1, 50)} if split else {"rows": columns + 1}
    assert certify(COLLIDER, intercept=intercept, **few).kl == np.inf
    assert certify(COLLIDER, intercept=intercept, **few).tv == 1.0
    assert np.isfinite(certify(COLLIDER, intercept=intercept, **enough).kl)


def test_a_guarantee_may_be_finite_where_the_expectation_is_not():
    promise = certify(COLLIDER, rows=5)
    assert promise.expected_kl == np.inf
    assert np.isfinite(promise.kl)


@pytest.mark.parametrize("method", ["batch-average", "cauchy-tree"])
def test_other_methods_need_their_batches(method):
    first = 2 + 20 + 1 if method == "batch-average" else 2 + 1
    assert certify(COLLIDER, rows=first - 1, method=method).expected_kl == np.inf
    assert np.isfinite(certify(COLLIDER, rows=first + 1, method=method).kl)


def test_the_least_bound_is_taken():
    few_nodes = certify(COLLIDER, rows=6)
    assert few_nodes.argument == BY_UNION
    assert few_nodes.kl == certify(COLLIDER, rows=6, law="union").kl
    assert certify(CHAIN, rows=1_000, method="batch-average").argument == BY_SHORTFALL


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(8, 3_000),
    factor=st.floats(1.05, 4.0),
    delta=st.floats(1e-4, 0.4),
    intercept=st.booleans(),
)
def test_more_rows_promise_more(rows, factor, delta, intercept):
    less = certify(COLLIDER, rows=rows, delta=delta, intercept=intercept)
    more = certify(COLLIDER, rows=int(np.ceil(rows * factor)), delta=delta, intercept=intercept)
    assert more.expected_kl < less.expected_kl
    assert more.kl < less.kl
    assert more.tv <= less.tv


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(8, 3_000), delta=st.floats(1e-4, 0.4), intercept=st.booleans())
def test_more_certainty_promises_less(rows, delta, intercept):
    sure = certify(COLLIDER, rows=rows, delta=delta, intercept=intercept)
    bold = certify(COLLIDER, rows=rows, delta=2 * delta, intercept=intercept)
    assert bold.kl < sure.kl
    assert bold.expected_kl == sure.expected_kl


def test_names_of_nodes_do_not_matter():
    renamed = Dag.parse("été ~ 雨 + ☂")
    assert certify(renamed, rows=100) == certify(COLLIDER, rows=100)


def test_a_graph_without_nodes_is_known():
    promise = certify(Dag.from_edges([]), rows=3)
    assert (promise.kl, promise.tv, promise.expected_kl) == (0.0, 0.0, 0.0)


def test_the_papers_promise_is_weaker_and_may_be_none():
    assert certify(CHAIN, rows=10_000, law="paper").kl == np.inf
    assert certify(CHAIN, rows=10**8, law="paper").kl > 100 * certify(CHAIN, rows=10**8).kl


def test_a_certificate_states_its_assumptions():
    text = str(certify(COLLIDER, rows=100, split=(50, 50)))
    for assumption in ASSUMPTIONS:
        assert assumption in text
    assert "times an unknown constant" in text
    assert "split 50 + 50" in text


def test_only_mean_squares_have_a_law():
    assert certify(COLLIDER, rows=50, scale=MeanSquare()).kl == certify(COLLIDER, rows=50).kl
    with pytest.raises(SettingError, match="'mad'"):
        certify(COLLIDER, rows=50, scale=Mad())


@pytest.mark.parametrize(
    "settings",
    [
        {"rows": 0},
        {"rows": 10.0},
        {"rows": True},
        {"rows": 10, "delta": 1.5},
        {"rows": 10, "law": "expected"},
        {"rows": 10, "split": 0.5},
        {"rows": 10, "split": (6, 5)},
        {"rows": 10, "split": (0, 5)},
        {"rows": 10, "method": "cauchy"},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(SettingError, match=r"got|no law"):
        certify(COLLIDER, **settings)


@pytest.mark.parametrize("ask", [gn.plan, gn.certify])
def test_a_union_that_asks_a_simulated_law_for_too_much_is_refused_at_once(ask):
    dag = gn.simulate.random_tree(1_000, seed=0)
    settings = {"tv": 0.1} if ask is gn.plan else {"rows": 10_000}
    with pytest.raises(gn.SettingError, match=r"1,000 nodes .* use law='exact'"):
        ask(dag, method="batch-average", law="union", **settings)
