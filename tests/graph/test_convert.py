"""To networkx and back."""

import os
import subprocess
import sys

import networkx
import pytest
from hypothesis import given, strategies as st

from gaussnet.errors import CycleError, GaussnetError, GraphError
from gaussnet.graph import Dag
from gaussnet.graph.formats.networkx import networkx_parts, to_networkx


@st.composite
def named_dags(draw: st.DrawFn) -> Dag:
    names = draw(st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=6))
    pairs = [(parent, child) for i, child in enumerate(names) for parent in names[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Dag.from_edges(edges, nodes=draw(st.permutations(names)))


@given(named_dags())
def test_a_graph_comes_back_from_networkx_with_its_node_order(dag):
    graph = dag.to_networkx()
    assert type(graph) is networkx.DiGraph
    assert tuple(graph.nodes) == dag.nodes
    assert Dag.from_networkx(graph) == dag


def test_an_empty_graph_goes_to_networkx_and_back():
    assert Dag.from_networkx(networkx.DiGraph()) == Dag.from_edges([])
    assert networkx.utils.graphs_equal(to_networkx([], []), networkx.DiGraph())


def test_labels_of_any_kind_become_names_by_str():
    graph = networkx.DiGraph([(1, (2, "x")), ((2, "x"), 0.5)])
    assert networkx_parts(graph) == (
        ("1", "(2, 'x')", "0.5"),
        [("1", "(2, 'x')"), ("(2, 'x')", "0.5")],
    )


def test_weights_and_attributes_do_not_matter():
    graph = networkx.DiGraph()
    graph.add_node("a", color="red")
    graph.add_edge("a", "b", weight=0.0)
    assert Dag.from_networkx(graph).edges == (("a", "b"),)


def test_two_labels_that_read_the_same_are_refused():
    graph = networkx.DiGraph([(1, "2"), ("1", "2")])
    with pytest.raises(GraphError, match="labels 1 and '1' both read '1'"):
        Dag.from_networkx(graph)


@pytest.mark.parametrize("kind", [networkx.Graph, networkx.MultiGraph])
def test_an_undirected_graph_is_refused(kind):
    with pytest.raises(GraphError, match=f"undirected networkx {kind.__name__}"):
        Dag.from_networkx(kind([("a", "b")]))


def test_two_edges_between_the_same_nodes_are_refused_by_name():
    graph = networkx.MultiDiGraph([("a", "b"), ("b", "c"), ("b", "c")])
    with pytest.raises(GraphError, match="more than one edge 'b' -> 'c'"):
        Dag.from_networkx(graph)
    assert Dag.from_networkx(networkx.DiGraph(graph)).edges == (("a", "b"), ("b", "c"))


def test_a_multigraph_with_single_edges_is_read():
    graph = networkx.MultiDiGraph([("a", "b"), ("b", "c")])
    assert Dag.from_networkx(graph).edges == (("a", "b"), ("b", "c"))


def test_a_cycle_in_networkx_is_named():
    with pytest.raises(CycleError, match=r"'a' -> 'b' -> 'a'|'b' -> 'a' -> 'b'"):
        Dag.from_networkx(networkx.DiGraph([("a", "b"), ("b", "a")]))


@pytest.mark.parametrize("thing", [None, "a -> b", [("a", "b")], {"a": ["b"]}])
def test_something_else_than_a_networkx_graph_is_refused(thing):
    with pytest.raises(GraphError, match=f"got a {type(thing).__name__}, expected a networkx"):
        Dag.from_networkx(thing)


def test_without_networkx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)  # importing it now fails
    with pytest.raises(GaussnetError, match="pip install networkx"):
        Dag.from_edges([("a", "b")]).to_networkx()
    with pytest.raises(GaussnetError, match="pip install networkx"):
        Dag.from_networkx(None)


def test_networkx_is_loaded_only_when_it_is_asked_for():
    script = (
        "import sys; from gaussnet.graph import Dag; Dag.parse('b ~ a').to_dot(); "
        "print('networkx' in sys.modules); Dag.parse('b ~ a').to_networkx(); "
        "print('networkx' in sys.modules)"
    )
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=places, check=True
    )
    assert run.stdout.split() == [b"False", b"True"]
