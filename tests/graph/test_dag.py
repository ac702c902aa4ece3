"""The Dag: what it accepts, what it refuses, and what it says about a graph."""

import copy
import enum
import pickle

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from gaussnet.errors import CycleError, GaussnetError, GraphError
from gaussnet.graph import Dag


@st.composite
def shuffled_dags(draw: st.DrawFn) -> Dag:
    """A DAG whose node order is unrelated to its edges."""
    nodes = draw(st.permutations(range(draw(st.integers(0, 8)))))
    pairs = [(i, j) for i in range(len(nodes)) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Dag.from_edges(edges, nodes=nodes)


def adjacency(dag: Dag) -> np.ndarray:
    matrix = np.zeros((len(dag), len(dag)))
    for parent, child in dag.edges:
        matrix[dag.position(parent), dag.position(child)] = 1.5
    return matrix


# Building


def test_nodes_stand_in_the_order_in_which_edges_name_them():
    assert Dag.from_edges([("c", "b"), ("a", "b"), ("b", "d")]).nodes == ("c", "b", "a", "d")


def test_given_nodes_fix_the_order_and_add_isolated_ones():
    dag = Dag.from_edges([("a", "b")], nodes=["alone", "b", "a"])
    assert dag.nodes == ("alone", "b", "a")
    assert dag.edges == (("a", "b"),)
    assert dag.parents("alone") == dag.children("alone") == ()


def test_parents_stand_in_node_order_however_the_edges_came():
    dag = Dag.from_edges([("z", "y"), ("b", "y"), ("a", "y")], nodes=["a", "b", "y", "z"])
    assert dag.parents("y") == ("a", "b", "z")
    assert dag.edges == (("a", "y"), ("b", "y"), ("z", "y"))
    assert dag.families.parents.tolist() == [0, 1, 3]
    assert dag.families.offsets.tolist() == [0, 0, 0, 3, 3]


def test_children_stand_in_node_order_and_repeat_alike():
    dag = Dag.from_edges([("a", "z"), ("a", "b")], nodes=["b", "z", "a"])
    assert [dag.children("a"), dag.children("a")] == [("b", "z"), ("b", "z")]


def test_integers_are_names():
    dag = Dag.from_edges([(265768, np.int64(7))])
    assert dag.nodes == ("265768", "7")


def test_numpy_strings_and_string_enums_become_plain_strings():
    class Weather(str, enum.Enum):  # noqa: UP042  (its str() is not its value)
        RAIN = "rain"

    dag = Dag.from_edges([(Weather.RAIN, np.str_("wet"))])
    assert [(type(name), name) for name in dag.nodes] == [(str, "rain"), (str, "wet")]


def test_edges_may_be_lists_or_rows_of_an_array():
    expected = Dag.from_edges([("a", "b"), ("b", "c")])
    assert Dag.from_edges([["a", "b"], ["b", "c"]]) == expected
    assert Dag.from_edges(np.array([["a", "b"], ["b", "c"]])) == expected


def test_edges_may_come_from_a_generator():
    assert Dag.from_edges((name, "z") for name in "ab").parents("z") == ("a", "b")


def test_a_graph_may_be_empty():
    dag = Dag.from_edges([])
    assert (dag.nodes, dag.edges, dag.order.tolist(), list(dag)) == ((), (), [], [])
    assert (dag.max_in_degree, dag.average_in_degree, dag.is_polytree) == (0, 0.0, True)
    assert dag == Dag.from_edges([], nodes=[]) == Dag.from_adjacency(np.zeros((0, 0)))
    assert dag.order.dtype == dag.families.parents.dtype == np.int64
    assert repr(dag) == "Dag(0 nodes, 0 edges: none)"


def test_a_graph_may_have_only_isolated_nodes():
    dag = Dag.from_edges([], nodes=["a", "b"])
    assert (dag.edges, dag.order.tolist(), dag.in_degrees.tolist()) == ((), [0, 1], [0, 0])


@pytest.mark.parametrize("name", ["größe", "雨", "a b", "[x]", "\n", '"', "\\", " ", "👩‍🔬"])
def test_any_non_empty_string_is_a_name(name):
    dag = Dag.from_edges([(name, "child")])
    assert dag.parents("child") == (name,)
    assert dag.children(name) == ("child",)


@pytest.mark.parametrize("label", ["", None, 1.5, True, b"a", ("a",)])
def test_a_name_is_a_non_empty_string(label):
    with pytest.raises(GraphError, match=r"expected a .*string: rename the node"):
        Dag.from_edges([], nodes=[label])


@pytest.mark.parametrize("edge", ["ab", ("a",), ("a", "b", "c"), None, 3, {"a", "b"}, np.array(1)])
def test_an_edge_is_a_pair(edge):
    with pytest.raises(GraphError, match=r"expected a pair \(parent, child\)"):
        Dag.from_edges([edge])


def test_an_edge_listed_twice_is_refused_by_name():
    with pytest.raises(GraphError, match="the edge 'a' -> 'y' is listed twice"):
        Dag.from_edges([("a", "y"), ("b", "y"), ("a", "y")])


def test_the_same_parent_of_two_children_is_no_edge_listed_twice():
    assert Dag.from_edges([("a", "x"), ("a", "y")]).children("a") == ("x", "y")


def test_a_node_listed_twice_is_refused_by_name():
    with pytest.raises(GraphError, match="the node 'b' is listed twice"):
        Dag.from_edges([("a", "b")], nodes=["a", "b", "c", "b"])


def test_an_integer_and_its_digits_are_the_same_name():
    with pytest.raises(GraphError, match="the node '7' is listed twice"):
        Dag.from_edges([], nodes=[7, "7"])


def test_an_edge_outside_the_given_nodes_is_refused_by_name():
    with pytest.raises(GraphError, match="'a' -> 'x' names 'x', which is not among the nodes"):
        Dag.from_edges([("a", "x")], nodes=["a", "b"])


@pytest.mark.parametrize("position", [-1, 2, 10])
def test_parent_positions_outside_the_graph_are_refused(position):
    with pytest.raises(GraphError, match=f"got the parent position {position} in a graph of 2"):
        Dag.from_parents(["a", "b"], [[], [position, position]])


def test_every_node_needs_a_list_of_parents():
    with pytest.raises(GraphError, match="got 1 lists of parents for 2 nodes"):
        Dag.from_parents(["a", "b"], [[]])


# Cycles


def named_cycle(edges: list[tuple[str, str]]) -> tuple[str, ...]:
    with pytest.raises(CycleError) as caught:
        Dag.from_edges(edges)
    message = str(caught.value)
    cycle = caught.value.cycle
    if len(cycle) <= 12:
        assert " -> ".join(map(repr, (*cycle, cycle[0]))) in message
    else:
        assert len(message) < 300
        assert " -> ".join(map(repr, cycle[:6])) + " -> ... -> " in message
    return cycle


def test_a_self_loop_is_named():
    assert named_cycle([("a", "b"), ("b", "b")]) == ("b",)


def test_a_cycle_error_survives_pickling():
    error = pickle.loads(pickle.dumps(CycleError(("a", "b"))))
    assert error.cycle == ("a", "b")
    assert str(error) == str(CycleError(("a", "b")))


def test_two_nodes_that_explain_each_other_are_named():
    assert set(named_cycle([("x", "a"), ("a", "b"), ("b", "a"), ("b", "y")])) == {"a", "b"}


@pytest.mark.parametrize("length", [3, 50, 5_000])
def test_a_long_cycle_is_named_whole_and_in_order_without_its_tails(length):
    loop = [(f"c{i}", f"c{(i + 1) % length}") for i in range(length)]
    tails = [("before", "c1"), ("c1", "after"), ("after", "later")]
    cycle = named_cycle(tails + loop)
    start = int(cycle[0][1:])
    assert cycle == tuple(f"c{(start + i) % length}" for i in range(length))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True, min_size=1, max_size=14)
)
def test_a_graph_is_refused_exactly_when_networkx_finds_a_cycle(edges):
    graph = networkx.DiGraph(edges)
    if networkx.is_directed_acyclic_graph(graph):
        assert set(Dag.from_edges(edges).edges) == {(str(i), str(j)) for i, j in edges}
    else:
        cycle = named_cycle(edges)
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        assert {(int(i), int(j)) for i, j in steps} <= set(edges)
        assert len(set(cycle)) == len(cycle)


# Adjacency matrices


@given(shuffled_dags())
def test_an_adjacency_matrix_gives_the_graph_back_in_both_orientations(dag):
    matrix = adjacency(dag)
    assert Dag.from_adjacency(matrix, dag.nodes) == dag
    assert Dag.from_adjacency(matrix.T, dag.nodes, orientation="child-row") == dag


def test_the_row_of_an_adjacency_matrix_is_the_parent():
    matrix = [[False, True], [False, False]]
    assert Dag.from_adjacency(matrix).edges == (("0", "1"),)
    assert Dag.from_adjacency(matrix, orientation="child-row").edges == (("1", "0"),)


@pytest.mark.parametrize("weight", [-2, 1e-300, np.inf, True])
def test_any_weight_but_zero_is_an_edge(weight):
    assert Dag.from_adjacency(np.array([[0, weight], [-0.0, 0]]), "ab").edges == (("a", "b"),)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1]], r"shape \(1, 2\)"),
        ([0, 1], r"shape \(2,\)"),
        (3.0, r"shape \(\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[0, 1], [0]], "differ in length"),
        ([[0, np.nan], [0, 0]], "NaN"),
        ([["", "x"], ["", ""]], "non-numbers"),
        ([[0, 1j], [0, 0]], "non-numbers"),
    ],
)
def test_an_adjacency_matrix_is_square_and_numeric(matrix, message):
    with pytest.raises(GraphError, match=message):
        Dag.from_adjacency(matrix)


def test_an_adjacency_matrix_has_one_name_for_each_row():
    with pytest.raises(GraphError, match="got 3 names for 2 nodes"):
        Dag.from_adjacency(np.zeros((2, 2)), "abc")


def test_an_unknown_orientation_is_refused():
    with pytest.raises(GraphError, match="got orientation='rows'"):
        Dag.from_adjacency(np.zeros((2, 2)), orientation="rows")  # type: ignore[arg-type]


def test_a_weight_on_the_diagonal_is_a_cycle():
    with pytest.raises(CycleError, match="'b' -> 'b'"):
        Dag.from_adjacency(np.diag([0.0, 1.0]), "ab")


# Order, degrees, shape


@given(shuffled_dags())
def test_the_order_puts_every_node_after_its_parents(dag):
    rank = {dag.nodes[i]: step for step, i in enumerate(dag.order.tolist())}
    assert sorted(dag.order.tolist()) == list(range(len(dag)))
    assert all(rank[parent] < rank[child] for parent, child in dag.edges)


@given(shuffled_dags())
def test_the_order_is_the_first_of_all_in_node_order(dag):
    slow = networkx.lexicographical_topological_sort(dag.to_networkx(), key=dag.position)
    assert [dag.nodes[i] for i in dag.order] == list(slow)


@given(shuffled_dags())
def test_parents_children_and_degrees_agree_with_networkx(dag):
    graph = dag.to_networkx()
    for index, node in enumerate(dag):
        assert set(dag.parents(node)) == set(graph.predecessors(node))
        assert set(dag.children(node)) == set(graph.successors(node))
        assert dag.in_degrees[index] == graph.in_degree(node)
    assert dag.max_in_degree == max((degree for _, degree in graph.in_degree), default=0)
    assert dag.average_in_degree * len(dag) == pytest.approx(graph.number_of_edges())


@given(shuffled_dags())
def test_a_polytree_has_no_cycle_when_arrows_are_forgotten(dag):
    graph = dag.to_networkx().to_undirected()
    assert dag.is_polytree == (not networkx.cycle_basis(graph))


@pytest.mark.parametrize("seed", range(20))
def test_large_sparse_polytrees_are_told_from_graphs_with_one_more_edge(seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(60)
    tree = [(int(rng.integers(i)), i) for i in range(1, 60)]
    turned = [(i, j) if names[i] < names[j] else (j, i) for i, j in tree]
    free = [(i, j) for i in range(60) for j in range(i) if not {(i, j), (j, i)} & set(turned)]
    i, j = free[rng.integers(len(free))]
    extra = (i, j) if names[i] < names[j] else (j, i)
    assert Dag.from_edges(turned).is_polytree
    assert not Dag.from_edges([*turned, extra]).is_polytree


def test_a_graph_of_ten_thousand_nodes_is_ordered_whatever_its_labels():
    rng = np.random.default_rng(3)
    pairs = np.sort(rng.integers(0, 10_000, size=(26_000, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)[:25_000]
    shuffled = rng.permutation(10_000)[pairs]
    dag = Dag.from_edges(shuffled.tolist(), nodes=range(10_000))
    rank = np.argsort(dag.order)
    assert np.all(rank[shuffled[:, 0]] < rank[shuffled[:, 1]])
    assert sum(len(dag.children(node)) for node in dag) == len(dag.edges) == len(pairs)


# As a value


def test_graphs_are_equal_when_nodes_their_order_and_edges_are():
    dag = Dag.from_edges([("a", "b"), ("b", "c")])
    same = Dag.from_edges([("b", "c"), ("a", "b")], nodes=["a", "b", "c"])
    assert dag == same
    assert hash(dag) == hash(same)
    assert dag != Dag.from_edges([("a", "b"), ("b", "c")], nodes=["b", "a", "c"])
    assert dag != Dag.from_edges([("a", "b"), ("a", "c")])
    assert dag != "[a][b|a][c|b]"
    assert {dag: "found"}[same] == "found"


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize(
    "clone", [lambda dag: pickle.loads(pickle.dumps(dag)), copy.copy, copy.deepcopy]
)
def test_a_copy_is_an_equal_graph(clone, touched):
    dag = Dag.from_edges([("b", "a"), ("c", "a")], nodes=["a", "b", "c", "alone"])
    if touched:
        _ = dag.edges, dag.children("b"), dag.is_polytree
    twin = clone(dag)
    assert twin == dag
    assert hash(twin) == hash(dag)
    assert twin.order.tolist() == dag.order.tolist()
    assert twin.children("b") == ("a",)


def test_a_graph_cannot_be_changed():
    with pytest.raises(AttributeError):
        Dag.from_edges([("a", "b")]).nodes = ("x",)  # type: ignore[misc]


def test_a_graph_is_a_collection_of_its_nodes():
    dag = Dag.from_edges([("a", "b")])
    assert list(dag) == ["a", "b"]
    assert "a" in dag
    assert "z" not in dag
    assert 0 not in dag


def test_positions_are_column_numbers():
    dag = Dag.from_edges([("a", "b")], nodes=["b", "a"])
    assert [dag.position("b"), dag.position("a")] == [0, 1]


@pytest.mark.parametrize("ask", [Dag.parents, Dag.children, Dag.position])
@pytest.mark.parametrize("name", ["x", 0, ["a"], None])
def test_an_unknown_node_is_refused_with_the_known_ones(ask, name):
    dag = Dag.from_edges([(f"n{i}", "z") for i in range(9)])
    with pytest.raises(GraphError, match=r"there is no node .*: the nodes are 'n0', .* and 4 more"):
        ask(dag, name)


def test_the_printed_form_is_short():
    dag = Dag.from_edges([("a", "b")])
    assert repr(dag) == "Dag(2 nodes, 1 edge: 'a', 'b')"


def test_graph_errors_are_value_errors():
    assert issubclass(CycleError, GraphError)
    assert issubclass(GraphError, GaussnetError)
    assert issubclass(GaussnetError, ValueError)
