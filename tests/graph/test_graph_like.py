"""A graph may come as text, as edges or from networkx, wherever a graph is asked for."""

from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import gaussnet as gn
from gaussnet.graph.graph_like import as_dag

EDGES = [("rain", "wet"), ("sprinkler", "wet"), ("season", "rain")]
DAG = gn.Dag.from_edges(EDGES)
FORMS = {
    "dag": DAG,
    "formulas": "wet ~ rain + sprinkler; rain ~ season",
    "labelled": "wet ~ a*rain + sprinkler; rain ~ b*season; far := a*b",
    "model string": "[season][sprinkler][rain|season][wet|rain:sprinkler]",
    "edges": EDGES,
    "lists": [list(edge) for edge in EDGES],
    "array": np.array(EDGES),
    "objects": np.array(EDGES, dtype=object),
    "once": None,
    "coefficients": dict.fromkeys(EDGES, 1.0),
    "networkx": networkx.DiGraph(EDGES),
}


@pytest.fixture(scope="module")
def frame():
    """Rows with a column to spare, in an order that no form has."""
    names = ["sprinkler", "wet", "other", "season", "rain"]
    rows = np.random.default_rng(0).normal(size=(60, 5))
    return pd.DataFrame(rows @ np.triu(np.ones((5, 5))), columns=names)


def form(name):
    return iter(EDGES) if name == "once" else FORMS[name]


def by_name(network):
    return network.coefficients | network.variances | network.intercepts


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_the_same_graph_and_fit(frame, name):
    assert set(as_dag(form(name)).edges) == set(EDGES)
    expected = by_name(gn.fit(frame, DAG).network)
    for network in (
        gn.fit(frame, form(name)).network,
        gn.solve(gn.summarize(frame, form(name))).network,
    ):
        # the order of parents differs by form, so the last bits may: 60 rows, condition below 100
        assert by_name(network) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_cross_validated(frame, name):
    found = gn.cross_validate(frame, form(name), ["least-squares"])
    expected = gn.cross_validate(frame, DAG, ["least-squares"])
    np.testing.assert_allclose(found.held_out, expected.held_out, rtol=1e-11)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "dag"])
def test_only_a_dag_states_the_order_of_columns_without_names(frame, name):
    rows = frame[list(DAG.nodes)].to_numpy()
    with pytest.raises(gn.DataError, match="the columns have no names"):
        gn.fit(rows, form(name))
    found = gn.fit(rows, form(name), columns=DAG.nodes).network
    assert found.dag == DAG.reordered(DAG.nodes)


def test_a_dag_is_taken_as_it_is():
    ordered = DAG.reordered(DAG.nodes)
    assert as_dag(ordered) is ordered


def test_labels_and_definitions_of_a_text_are_kept(frame):
    found = gn.fit(frame, FORMS["labelled"])
    assert found.network.dag.definitions == {"far": "a*b"}
    assert str(found.defined()) == str(gn.fit(frame, gn.Dag.parse(FORMS["labelled"])).defined())


def test_numbers_in_edges_are_names():
    assert as_dag([(0, 1)]).nodes == ("0", "1")


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (None, gn.SettingError, "got dag of type NoneType, expected a gaussnet.Dag, a model text"),
        (3, gn.SettingError, "got dag of type int"),
        (b"wet ~ rain", gn.SettingError, "got dag of type bytes"),
        (np.eye(2), gn.SettingError, "got dag of type ndarray, .* Dag.from_adjacency reads"),
        (np.array("a"), gn.SettingError, "got dag of type ndarray"),
        (pd.DataFrame({"a": [1.0]}), gn.SettingError, "got dag of type DataFrame"),
        (pl.DataFrame({"a": [1.0]}), gn.SettingError, "got dag of type DataFrame"),
        ("", gn.GraphError, "names no node"),
        ("wet ~ rain *", gn.GraphError, "line 1 of the formulas"),
        ([], gn.GraphError, "got no edges"),
        (("rain", "wet"), gn.GraphError, r"got the edge 'rain', expected a pair"),
        ([("a", "b", "c")], gn.GraphError, "expected a pair"),
        ({"wet": ["rain"]}, gn.GraphError, "got the edge 'wet', expected a pair"),
        ([("a", 1.5)], gn.GraphError, "got the node name 1.5"),
        ([("a", "b"), ("a", "b")], gn.GraphError, "is listed twice"),
        ([("a", "b"), ("b", "a")], gn.CycleError, "the graph has the cycle"),
        (networkx.Graph([(0, 1)]), gn.GraphError, "got an undirected networkx Graph"),
    ],
)
def test_what_is_no_graph_is_refused_with_a_sentence(frame, given, error, sentence):
    for call in (gn.fit, gn.summarize, gn.cross_validate):
        with pytest.raises(error, match=sentence):
            call(frame, given)
    with pytest.raises(error, match=sentence):
        gn.plan(given, tv=0.1)
    with pytest.raises(error, match=sentence):
        gn.certify(given, rows=100)


def test_a_node_without_a_column_is_named(frame):
    with pytest.raises(gn.DataError, match="'wett'"):
        gn.fit(frame, "wett ~ rain")


@pytest.mark.parametrize("as_path", [str, Path])
def test_the_name_of_a_file_is_read_as_a_graph(tmp_path, as_path):
    file = tmp_path / "graph.txt"
    file.write_text("wet ~ rain\n", encoding="utf-8")
    frame = pd.DataFrame({"rain": [1.0, 2.0, 3.0], "wet": [1.0, 2.0, 3.5]})
    assert gn.fit(frame, as_path(file)).dag.edges == (("rain", "wet"),)


def test_a_name_of_a_file_that_is_not_there_is_told_as_such():
    with pytest.raises(gn.FileError, match=r"graph\.txt"):
        gn.fit(pd.DataFrame({"a": [1.0, 2.0]}), "no such folder/graph.txt")


def test_names_with_dots_stay_names():
    assert as_dag("wet.txt ~ rain.csv").nodes == ("wet.txt", "rain.csv")
    assert as_dag("petal.length").nodes == ("petal.length",)
