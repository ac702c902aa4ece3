"""Plans: how many rows, by which law, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import CauchyTree
from gaussnet.planning import certify, plan
from gaussnet.planning.plans import fewest_rows


def graph_with(degrees):
    """A graph whose node i has so many parents, the first ones."""
    return Dag.from_parents([f"v{i}" for i in range(len(degrees))], [range(d) for d in degrees])


HUNDRED = graph_with([0] * 50 + [5] * 50)
TREE = Dag.from_edges([(f"v{i // 2}", f"v{i}") for i in range(1, 60)])
COLLIDER = Dag.parse("wet ~ rain + sprinkler")


def rows(law, **settings):
    return plan(HUNDRED, tv=0.1, delta=0.05, law=law, intercept=False, **settings).rows


def test_hundred_nodes_need_8765_rows_on_average():
    assert rows("expected") == 8_765


def test_hundred_nodes_need_about_10300_rows_for_a_guarantee():
    assert rows("exact") == pytest.approx(10_300, rel=0.02)


def test_hundred_nodes_need_about_45000_rows_by_a_union_of_exact_quantiles():
    assert rows("union") == pytest.approx(45_000, rel=0.02)


def test_hundred_nodes_need_20_million_rows_by_the_papers_constants():
    assert rows("paper") == pytest.approx(20.4e6, rel=1e-3)


def test_an_intercept_costs_one_more_parameter_for_each_node():
    with_intercept = plan(HUNDRED, tv=0.1).rows
    assert with_intercept / rows("expected") == pytest.approx(450 / 350, rel=1e-3)


@pytest.mark.parametrize("law", ["expected", "exact", "union"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dag", [HUNDRED, TREE, COLLIDER], ids=["hundred", "tree", "collider"])
def test_a_plan_is_the_first_number_of_rows_whose_certificate_meets_the_target(dag, intercept, law):
    found = plan(dag, kl=0.05, law=law, intercept=intercept).rows

    def reached(count):
        promise = certify(
            dag, rows=count, intercept=intercept, law="exact" if law == "expected" else law
        )
        return promise.expected_kl if law == "expected" else promise.kl

    assert reached(found) <= 0.05 < reached(found - 1)


@pytest.mark.parametrize("method", ["least-squares", "batch-average", "cauchy-tree"])
@pytest.mark.parametrize("split", [None, 0.4])
def test_expected_rows_are_fewer_than_guaranteed_ones(method, split):
    expected, exact, union = (
        plan(TREE, tv=0.2, method=method, law=law, split=split).rows
        for law in ("expected", "exact", "union")
    )
    assert expected < exact <= union


@pytest.mark.parametrize("method", ["least-squares", "batch-average", "cauchy-tree"])
def test_a_guarantee_from_a_plan_is_kept_by_the_certificate(method):
    found = plan(TREE, tv=0.2, method=method, law="exact", split=0.5)
    assert found.split is not None
    assert sum(found.split) == found.rows
    promise = certify(TREE, rows=found.rows, method=method, split=found.split)
    assert promise.kl <= found.kl
    assert promise.tv <= 0.2 + 1e-12


def test_ten_thousand_nodes_can_be_planned():
    rng = np.random.default_rng(0)
    degrees = np.minimum(rng.poisson(2.5, 10_000), np.arange(10_000))
    found = plan(graph_with(degrees.tolist()), tv=0.1, law="exact")
    assert found.information_rows < found.rows < 1.03 * found.information_rows


def test_methods_may_be_estimators_with_settings():
    wide = plan(TREE, tv=0.2, method=BatchAverage(100)).rows
    narrow = plan(TREE, tv=0.2, method=BatchAverage(5)).rows
    assert wide < narrow
    assert plan(TREE, tv=0.2, method=CauchyTree()).method == "cauchy-tree"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("batch-median", "no closed law"),
        ("cauchy", "no closed law"),
        ("robust", "not clean"),
        ("auto", "not clean"),
        ("magic", "expected 'least-squares'"),
        (BatchMedian(20), "no closed law"),
        (CauchyTree("sliding"), "share rows"),
        (7, "expected 'least-squares'"),
    ],
    ids=str,
)
def test_methods_without_a_law_say_why(method, words):
    with pytest.raises(SettingError, match=words):
        plan(TREE, tv=0.1, method=method)


def test_cauchy_tree_has_no_law_where_parents_may_be_correlated():
    with pytest.raises(SettingError, match="not a polytree"):
        plan(Dag.parse("[a][b|a][c|a:b]"), tv=0.1, method="cauchy-tree")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tv": 0.1, "kl": 0.1},
        {"tv": 0.0},
        {"tv": 1.0},
        {"tv": np.nan},
        {"kl": 0.0},
        {"kl": np.inf},
        {"kl": -1.0},
        {"kl": 1e-16},
        {"tv": 0.1, "delta": 0.0},
        {"tv": 0.1, "delta": 1.0},
        {"tv": 0.1, "delta": 1e-9},
        {"tv": 0.1, "law": "hope"},
        {"tv": 0.1, "split": 1.0},
        {"tv": 0.1, "split": (10, 10)},
        {"tv": 0.1, "law": "paper", "method": "batch-average"},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(SettingError, match=r"got|needs|gives no constant"):
        plan(TREE, **settings)


def test_what_is_not_a_graph_is_refused():
    with pytest.raises(SettingError, match=r"expected a gaussnet\.Dag"):
        plan(3, tv=0.1)


def test_a_text_or_edges_are_planned_for_as_their_graph():
    graphs = ["c ~ a + b", [("a", "c"), ("b", "c")], iter([("a", "c"), ("b", "c")])]
    expected = plan(Dag.parse("[a][b][c|a:b]"), tv=0.1, law="exact")
    assert [plan(graph, tv=0.1, law="exact") for graph in graphs] == [expected] * 3
    assert certify("c ~ a + b", rows=500) == certify(Dag.parse("[a][b][c|a:b]"), rows=500)


def test_a_graph_without_nodes_needs_one_row():
    assert plan(Dag.from_edges([]), tv=0.1, law="exact").rows == 1


def test_a_plan_reads_as_a_sentence():
    text = str(plan(COLLIDER, tv=0.05, law="exact"))
    assert "TV <= 0.05, with probability 0.95" in text
    assert "times an unknown constant" in text
    assert "put right" in str(plan(COLLIDER, tv=0.05, law="paper"))
    assert "expected KL" in str(plan(COLLIDER, tv=0.05))
    assert "split" in str(plan(COLLIDER, tv=0.05, split=0.5))


@settings(max_examples=60, deadline=None)
@given(
    constant=st.floats(1e-3, 1e6),
    shift=st.integers(0, 50),
    goal=st.floats(1e-4, 10.0),
    start=st.integers(1, 1_000),
)
def test_the_search_finds_the_first_row_wherever_it_starts(constant, shift, goal, start):
    def divergence(count):
        return np.inf if count <= shift else constant / (count - shift)

    found = fewest_rows(divergence, goal, start)
    assert divergence(found) <= goal
    assert found == 1 or divergence(found - 1) > goal


def test_the_search_takes_few_steps():
    asked = []

    def divergence(count):
        asked.append(count)
        return 1e4 / count + 3e5 / count**1.5

    fewest_rows(divergence, 1e-3, start=10_000)
    assert len(asked) <= 12
