"""Nodes without parents that covary: the graph, what it separates, and what to adjust for.

The witness is the graph in which every pair that covaries has a hidden common cause of its own.
"""

from itertools import combinations

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.errors import FileError, GraphError

ROOTS = "abcd"
PAIRS = list(combinations(ROOTS, 2))
ARROWS = [("a", "m"), ("b", "m"), ("b", "y"), ("c", "y"), ("m", "y"), ("d", "z"), ("y", "z")]
NODES = [*ROOTS, "m", "y", "z"]


def all_sets_of_pairs():
    return [
        [pair for index, pair in enumerate(PAIRS) if number >> index & 1]
        for number in range(2 ** len(PAIRS))
    ]


def with_hidden_causes(pairs):
    hidden = [(f"{one}{other}", node) for one, other in pairs for node in (one, other)]
    names = [*NODES, *dict.fromkeys(cause for cause, _ in hidden)]
    return gn.Dag.from_edges([*ARROWS, *hidden], nodes=names)


def has_chain(pairs):
    joined = {node: {o for pair in pairs for o in pair if node in pair} - {node} for node in ROOTS}
    return any(
        c in joined[b] and a in joined[b] - joined[c] - {c} and d in joined[c] - joined[b] - {b}
        for a in ROOTS
        for b in ROOTS
        for c in ROOTS
        for d in ROOTS
    )


def test_separation_and_adjustment_are_those_of_hidden_common_causes():
    plain = gn.Dag.from_edges(ARROWS, nodes=NODES)
    found = 0
    for pairs in all_sets_of_pairs():
        if has_chain(pairs):
            with pytest.raises(GraphError, match="roots='correlated'"):
                plain.with_covariances(pairs)
            continue
        dag, truth = plain.with_covariances(pairs), with_hidden_causes(pairs)
        assert {frozenset(pair) for pair in dag.covariances} == set(map(frozenset, pairs))
        assert dag.arrows == plain.edges
        found += 1
        for one, other in combinations(NODES, 2):
            rest = [node for node in NODES if node not in (one, other)]
            for given in ((), *((node,) for node in rest), *combinations(rest, 2), rest):
                assert dag.d_separated(one, other, given) == truth.d_separated(one, other, given)
        for cause, target in [("a", "y"), ("b", "y"), ("m", "y"), ("d", "z"), ("a", "b")]:
            sets = dag.adjustment_sets(cause, target)
            assert set(sets) == set(truth.adjustment_sets(cause, target, measured=NODES))
            assert all(dag.is_adjustment_set(cause, target, one) for one in sets)
    assert found > 30


def test_relatives_are_causal():
    dag = gn.Dag.parse("y ~ a + b; z ~ y; a ~~ b")
    assert dag.parents("b") == ()
    assert dag.children("a") == ("y",)
    assert dag.descendants("a") == ("y", "z")
    assert dag.ancestors("y") == ("a", "b")
    assert dag.edges != dag.arrows
    assert not dag.d_separated("a", "b")
    assert dag.conditioned_on("b") == ("a",)
    assert "1 covariance" in repr(dag)


def test_an_effect_of_a_correlated_cause_needs_the_other_cause():
    dag = gn.Dag.parse("y ~ a + b; a ~~ b")
    assert dag.adjustment_sets("a", "y") == (("b",),)
    assert dag.adjustment_sets("b", "y") == (("a",),)
    assert dag.adjustment_sets("a", "b") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y ~ a; a ~~ y", "whose parents are 'a'"),
        ("m ~ x; y ~ x; m ~~ y", "measure what causes both"),
        ("y ~ a + b; a ~~ 0*b", "fixes or labels"),
        ("y ~ a + b; a ~~ c1*b", "fixes or labels"),
        ("y ~ a + b; a ~~", "stops short"),
        ("y ~ a + b; a ~~ 1", "where a name is expected"),
        ("y ~ a + b; a ~~ b ~~ y", "where '\\+' is expected"),
        ("y ~ a + b; a ~~ b, y", "where '\\+' is expected"),
    ],
)
def test_other_covariances_are_refused_with_what_to_do(text, said):
    with pytest.raises(GraphError, match=said):
        gn.Dag.parse(text)


def test_a_variance_is_passed_over():
    assert gn.Dag.parse("y ~ a + b; a ~~ a; y ~~ y") == gn.Dag.parse("y ~ a + b")


@pytest.mark.parametrize("nodes", [None, ["y", "b", "c", "a"]])
def test_formulas_give_back_an_equal_graph(nodes):
    dag = gn.Dag.parse("y ~ a + b + c; a ~~ b + c", nodes=nodes)
    assert gn.Dag.parse(dag.to_formulas(), nodes=dag.nodes) == dag
    assert dag != dag.without_covariances() != dag.with_correlated_roots()


def test_the_order_of_nodes_does_not_matter():
    first = gn.Dag.parse("y ~ a + b; a ~~ b", nodes=["a", "b", "y"])
    last = first.reordered(["y", "b", "a"])
    assert last.covariances == (("b", "a"),)
    assert last.reordered(first.nodes) == first


@pytest.mark.parametrize("ending", [".json", ".csv", ".gml", ".graphml"])
def test_files_without_covariances_refuse_them(tmp_path, ending):
    path = tmp_path / f"graph{ending}"
    with pytest.raises(FileError, match="has no covariances"):
        gn.write_dag(gn.Dag.parse("y ~ a + b; a ~~ b"), path)
    assert not path.exists()


def test_text_files_keep_covariances_and_dot_draws_them(tmp_path):
    dag = gn.Dag.parse("y ~ a + b; a ~~ b")
    gn.write_dag(dag, tmp_path / "graph.txt")
    assert gn.read_dag(tmp_path / "graph.txt") == dag
    gn.write_dag(dag, tmp_path / "graph.dot")
    assert '"a" -> "b" [dir=both' in (tmp_path / "graph.dot").read_text()
    with pytest.raises(FileError, match="dir='both'"):
        gn.read_dag(tmp_path / "graph.dot")


@pytest.mark.parametrize("form", ["to_networkx", "to_model_string"])
def test_other_forms_refuse_covariances(form):
    with pytest.raises(GraphError, match="without_covariances"):
        getattr(gn.Dag.parse("y ~ a + b; a ~~ b"), form)()


def test_many_roots_covary_at_once():
    names = [f"x{index}" for index in range(300)]
    dag = gn.Dag.from_edges([(name, "y") for name in names]).with_correlated_roots()
    assert len(dag.covariances) == 300 * 299 // 2
    assert (dag.parent_counts == np.array([0 if n != "y" else 300 for n in dag.nodes])).all()
