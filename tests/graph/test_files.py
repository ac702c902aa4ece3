"""Graphs on disk: every format gives back what it was given."""

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
import rdata
from hypothesis import given, settings, strategies as st
from rdata.conversion import ConverterFromPythonToR
from rdata.parser import RObjectType

import gaussnet as gn
from gaussnet.errors import FileError, GaussnetError
from gaussnet.graph import Dag
from gaussnet.graph.formats.dot import parse_dot
from gaussnet.graph.formats.files import read_dag, write_dag

WRITTEN = (".dot", ".gv", ".gml", ".graphml", ".json", ".csv", ".txt")
AWKWARD = {
    "blanks": [" a", "a", "a ", "b c", "b  c", "\ta"],
    "quotes": ['"', "'", '5" pipe', '""', "`", 'a"b"c', "\\", '\\"', "a\\n", "\\N"],
    "unicode": ["ü", "e\u0301", "é", "雨", "🌧", "\u2028", "\u00a0", "א"],
    "digits": ["265768", "007", "0", "1", "-1.5", "1e5", "0.5", "7"],
    "signs": ["a,b", "a;b", "a->b", "<script>", "&amp;", "&#65;", "[x]", "{y}", "#z", "()", "[]"],
    "words": [
        "from",
        "to",
        "node",
        "edge",
        "graph",
        "digraph",
        "label",
        "id",
        "null",
        "NA",
        "strict",
    ],
    "lines": ["a\nb", "a\rb", "a\r\nb", "\n", "a\\\nb"],
}


def chain_with_a_loner(names):
    edges = [(parent, child) for child, parent in pairwise(names)]
    return Dag.from_edges(edges, nodes=[*names, "alone"])


def there_and_back(dag, folder, ending):
    path = Path(folder, f"graph{ending}")
    write_dag(dag, path)
    return read_dag(path)


@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_names_and_node_order_come_back(tmp_path, kind, ending):
    dag = chain_with_a_loner(AWKWARD[kind])
    assert there_and_back(dag, tmp_path, ending) == dag


@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize("name", ["ecoli70", "arth150", "magic-irri", "magic-niab"])
def test_networks_of_the_repository_come_back(tmp_path, name, ending):
    dag = gn.networks.load(name).dag
    assert there_and_back(dag, tmp_path, ending) == dag


@pytest.mark.parametrize("ending", [one for one in WRITTEN if one not in (".txt", ".csv")])
def test_a_graph_without_nodes_comes_back(tmp_path, ending):
    assert there_and_back(Dag.from_edges([]), tmp_path, ending) == Dag.from_edges([])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def dags(draw):
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=5))
    pairs = [(parent, child) for i, child in enumerate(names) for parent in names[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Dag.from_edges(edges, nodes=draw(st.permutations(names)))


def has_control_character(name):
    """Whether XML 1.0 has no way to write this name."""
    return any((ord(one) < 32 and one not in "\t\n\r") or one in "\ufffe\uffff" for one in name)


@pytest.mark.parametrize("ending", WRITTEN)
@settings(max_examples=40, deadline=None)
@given(dag=dags())
def test_any_graph_comes_back_or_is_refused_when_written(tmp_path_factory, ending, dag):
    folder = tmp_path_factory.mktemp("graphs")
    path = folder / f"graph{ending}"
    if ending == ".graphml" and any(has_control_character(name) for name in dag.nodes):
        with pytest.raises(FileError, match="GraphML cannot hold the node name"):
            write_dag(dag, path)
        assert not any(folder.iterdir())
    else:
        write_dag(dag, path)
        assert read_dag(path) == dag


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "nodes", "edges"),
    [
        ("a.dot", "digraph { a -> b -> c }", "abc", ["ab", "bc"]),
        ("a.dot", "DiGraph g { subgraph { a -> b } c }", "abc", ["ab"]),
        (
            "a.dot",
            "digraph { subgraph cluster_x { label=L; a -> b; } b -> c }",
            "abc",
            ["ab", "bc"],
        ),
        ("a.dot", "digraph { {a b} -> {c d} }", "abcd", ["ac", "ad", "bc", "bd"]),
        ("a.dot", "digraph { a:port:n -> b:s [weight=2, label=<x<b>y</b>>]; }", "ab", ["ab"]),
        ("a.dot", "strict digraph { a -> b; a -> b }", "ab", ["ab"]),
        (
            "a.dot",
            '# c\ndigraph "g" /* a -> z */ { // q\n "a" -> "b" + "c" }',
            ["a", "bc"],
            [("a", "bc")],
        ),
        (
            "a.dot",
            "digraph { node [shape=box]; edge [dir=forward]; a; 2 -> -3.5 }",
            ["a", "2", "-3.5"],
            [("2", "-3.5")],
        ),
        ("a.csv", "a,b\nb,c\n", "abc", ["ab", "bc"]),
        ("a.csv", "\ufefffrom,to\r\na,b\r\n\r\nc\r\n", "abc", ["ab"]),
        ("a.csv", "Source, Target, Weight\na , b, 0.5\n", "ab", ["ab"]),
        ("a.csv", "1,2", "12", ["12"]),
        ("a.txt", "[a][b|a]", "ab", ["ab"]),
        ("a.txt", "b ~ a # note\n", "ba", ["ab"]),
        ("a.json", '{"edges": [["a", "b"]]}', "ab", ["ab"]),
        ("a.json", '{"nodes": ["b", 1], "edges": [[1, "b"]]}', "b1", ["1b"]),
        (
            "a.gml",
            "graph [ directed 1 node [id 1] node [id 2] edge [source 1 target 2] ]",
            "12",
            ["12"],
        ),
        (
            "a.gml",
            'graph [ directed 1 node [id 1 label 007] node [id 2 label "ü"] ]',
            ["007", "ü"],
            [],
        ),
    ],
)
def test_files_of_others_are_read(tmp_path, name, content, nodes, edges):
    dag = read_dag(put(tmp_path, name, content))
    assert dag.nodes == tuple(nodes)
    assert set(dag.edges) == {tuple(edge) for edge in edges}


def test_edges_inside_nested_subgraphs_are_all_kept():
    text = "digraph { a -> b; subgraph s { c -> d; subgraph { d -> e } } e -> subgraph t {f g} }"
    nodes, edges = parse_dot(text)
    assert nodes == tuple("abcdefg")
    assert set(edges) == {("a", "b"), ("c", "d"), ("d", "e"), ("e", "f"), ("e", "g")}


@pytest.mark.parametrize("edges", ["edges", "links"])
def test_node_link_data_of_networkx_are_read(tmp_path, edges):
    dag = chain_with_a_loner(["a b", "265768", "ü"])
    data = networkx.node_link_data(dag.to_networkx(), edges=edges)
    assert read_dag(put(tmp_path, "graph.json", json.dumps(data))) == dag


def test_a_saved_network_is_read_as_its_graph(tmp_path):
    network = gn.networks.load("arth150")
    network.save(tmp_path / "net.json")
    assert read_dag(tmp_path / "net.json") == network.dag


def test_graphml_of_igraph_is_read_by_the_datum_name(tmp_path):
    graph = networkx.DiGraph()
    graph.add_node("n0", name="rain")
    graph.add_node("n1", name="wet")
    graph.add_edge("n0", "n1")
    path = put(tmp_path, "graph.graphml", "\n".join(networkx.generate_graphml(graph)))
    assert read_dag(path).edges == (("rain", "wet"),)


def test_graphml_in_another_declared_encoding_is_read(tmp_path):
    text = "\n".join(networkx.generate_graphml(networkx.DiGraph([("ü", "b")])))
    declared = '<?xml version="1.0" encoding="iso-8859-1"?>' + text
    assert read_dag(put(tmp_path, "g.graphml", declared.encode("latin-1"))).nodes == ("ü", "b")


def bn(dag):
    """The R objects `bn` and `bn.fit` as bnlearn lays them out, classes and all."""
    arcs = np.array([*(a for a, _ in dag.edges), *(b for _, b in dag.edges)], dtype=str)
    nodes = {
        node: {"mb": None, "nbr": None, "parents": np.array(dag.parents(node), dtype=str)}
        for node in dag.nodes
    }
    return {"learning": {"algo": np.array(["hc"])}, "nodes": nodes, "arcs": arcs}


def save_rds(path, value, kind):
    data = ConverterFromPythonToR().convert_to_r_data(value)
    converter = ConverterFromPythonToR()
    names = converter.convert_to_r_attributes(
        {"names": np.array(list(value)), "class": np.array([kind])}
    )
    data.object.attributes = names
    data.object.info.attributes = data.object.info.object = True
    assert data.object.info.type == RObjectType.VEC
    rdata.unparser.unparse_file(path, data, file_type="rds")


@pytest.mark.parametrize("name", ["ecoli70", "arth150"])
def test_graphs_of_bnlearn_are_read(tmp_path, name):
    dag = gn.networks.load(name).dag
    save_rds(tmp_path / "graph.rds", bn(dag), "bn")
    assert read_dag(tmp_path / "graph.rds") == dag
    fitted = {node: {"node": np.array([node]), **bn(dag)["nodes"][node]} for node in dag.nodes}
    save_rds(tmp_path / "fit.rds", fitted, "bn.fit")
    assert read_dag(tmp_path / "fit.rds") == dag


def test_an_rds_file_of_something_else_is_refused(tmp_path):
    rdata.write_rds(tmp_path / "x.rds", {"a": np.array([1.0])})
    with pytest.raises(FileError, match="holds no network of bnlearn"):
        read_dag(tmp_path / "x.rds")


def test_a_path_may_be_a_string_and_the_ending_in_capitals(tmp_path):
    dag = Dag.parse("b ~ a")
    write_dag(dag, str(tmp_path / "graph.DOT"))
    assert read_dag(str(tmp_path / "graph.DOT")) == dag
    assert gn.read_dag is read_dag


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("g.xyz", "", "cannot tell the format of"),
        ("g", "", "cannot tell the format of"),
        ("g.dot", "", "line 1 has the end of the text, expected 'digraph'"),
        ("g.dot", "graph { a -- b }", "line 1 has an undirected graph"),
        ("g.dot", "digraph {\n a -- b }", "line 2 has the undirected edge '--'"),
        ("g.dot", "digraph { edge [dir=none] a -> b }", "an edge with dir='none'"),
        ("g.dot", "digraph { a -> b [dir=back] }", "an edge with dir='back'"),
        ("g.dot", "digraph { a -> b", "line 1 has the end of the text"),
        ("g.dot", "digraph { a -> b } x", "expected nothing after the closing"),
        ("g.dot", 'digraph { "a -> b }', "is not closed"),
        ("g.dot", "digraph { <a b }", "'<' that is not closed"),
        ("g.dot", "digraph " + "{" * 5000, "101 braces in each other"),
        ("g.dot", "digraph { a -> b a -> b }", "is listed twice"),
        ("g.dot", "digraph { a -> b -> a }", "has the cycle"),
        ("g.dot", b"\xff\xfea\x00", "is not UTF-8 text but UTF-16"),
        ("g.csv", "", "is empty"),
        ("g.csv", "a,b,c\n", "line 1 of .* has 3 cells, expected 2"),
        ("g.csv", "a,b\nc,d,e\n", "line 2 of .* has 3 cells, expected 2"),
        ("g.csv", "from,to,w\na,b\n", "line 2 of .* has 2 cells, expected 3"),
        ("g.csv", "a,b\n,c\n", "line 2 of .* names no parent"),
        ("g.csv", '"a,b\n', "line 1 of .* has a quote that is not closed"),
        ("g.csv", "a,b\nb,a\n", "has the cycle"),
        ("g.txt", "", "names no node"),
        ("g.txt", "y ~ a:b", "makes an interaction"),
        ("g.txt", "y ~ log(a)", "calls a function"),
        ("g.txt", b"\xe4 ~ b", r"is not UTF-8 text \(byte 0xe4 at offset 0\)"),
        ("g.json", "{", "not whole JSON"),
        ("g.json", "[" * 100_000, "not whole JSON"),
        ("g.json", "[]", r"it holds \[\], expected"),
        ("g.json", "{}", "it has no list 'edges'"),
        ("g.json", '{"edges": [], "nodes": 3}', "it has no list 'nodes'"),
        ("g.json", '{"edges": [["a"]]}', "expected a pair"),
        ("g.json", '{"edges": ["ab"]}', "expected a pair"),
        ("g.json", '{"edges": [[null, "a"]]}', "got the node name None"),
        ("g.json", '{"nodes": [1.5], "edges": []}', "got the node name 1.5"),
        ("g.json", '{"nodes": ["a"], "edges": [["a", "b"]]}', "names 'b', which is not among"),
        ("g.json", '{"directed": false, "nodes": [], "edges": []}', "undirected"),
        (
            "g.json",
            '{"format": "gaussnet-network", "nodes": ["a"]}',
            "expected its name and parents",
        ),
        ("g.gml", "", "is not a whole GML file"),
        ("g.gml", "graph [ node [ id 1 ] ]", "undirected"),
        (
            "g.gml",
            "graph [ directed 1 node [ id 1 label 2 ] node [ id 2 label 2 ] ]",
            "2 nodes are called '2'",
        ),
        ("g.graphml", "", "is not a whole GraphML file"),
        ("g.graphml", "<graphml>", "is not a whole GraphML file"),
        ("g.graphml", "<graphml></graphml>", "the file holds 0 graphs"),
        ("g.graphml", "<graphml><graph><node id='a'><graph/></node></graph></graphml>", "2 graphs"),
        ("g.rds", b"nonsense", "is not a whole .rds file"),
        ("g.rds", b"", "is not a whole .rds file"),
    ],
)
def test_a_broken_file_is_one_sentence_that_names_it(tmp_path, name, content, sentence):
    with pytest.raises(FileError, match=sentence) as caught:
        read_dag(put(tmp_path, name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_missing_file_and_an_unknown_ending_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*no such file"):
        read_dag(tmp_path / "absent.dot")
    with pytest.raises(FileError, match=r"expected a name that ends in \.dot, \.gv"):
        write_dag(Dag.parse("b ~ a"), tmp_path / "graph.rds")
    with pytest.raises(FileError, match="half character"):
        write_dag(Dag.from_edges([("\ud800", "b")]), tmp_path / "graph.dot")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [*WRITTEN, ".rds"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_files_raise_nothing_but_our_own_errors(tmp_path_factory, ending, data):
    folder = tmp_path_factory.mktemp("damage")
    path = folder / f"g{ending}"
    dag = chain_with_a_loner(["a b", "7", 'x"y'])
    if ending == ".rds":
        rdata.write_rds(path, bn(dag), compression=None)
    else:
        write_dag(dag, path)
    raw = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:cut] if data.draw(st.booleans()) else raw)
    with suppress(GaussnetError):
        read_dag(path)


@pytest.mark.parametrize("ending", [".dot", ".gml", ".graphml", ".json", ".csv", ".txt", ".rds"])
@settings(max_examples=40, deadline=None)
@given(content=st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
def test_noise_raises_nothing_but_our_own_errors(tmp_path_factory, ending, content):
    path = put(tmp_path_factory.mktemp("noise"), f"g{ending}", content)
    with suppress(GaussnetError):
        read_dag(path)
