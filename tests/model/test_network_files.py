"""Networks on disk: exact, whole or absent, and one sentence for every broken file."""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.model.exact import random_dag, random_network

from gaussnet.errors import FileError
from gaussnet.graph import Dag
from gaussnet.model import GaussianNetwork

NAMES = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def networks(draw):
    nodes = draw(st.lists(NAMES, unique=True, max_size=6))
    pairs = [(i, j) for i in range(len(nodes)) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    dag = Dag.from_edges([(nodes[i], nodes[j]) for i, j in edges], nodes=nodes)
    numbers = [
        draw(st.lists(kind, min_size=size, max_size=size))
        for kind, size in (
            (FINITE, len(edges)),
            (st.floats(0.0, sys.float_info.max), len(nodes)),
            (FINITE, len(nodes)),
        )
    ]
    return GaussianNetwork.from_arrays(dag, *numbers)


def bits(net):
    arrays = (net.coefficient_array, net.variance_array, net.intercept_array)
    return [array.tobytes() for array in arrays]


def document(**changes):
    nodes = [
        {"name": "a", "intercept": 0.0, "variance": 1.0, "parents": {}},
        {"name": "b", "intercept": 0, "variance": 0.5, "parents": {"a": 2.0}},
    ]
    return {"format": "gaussnet-network", "version": 1, "nodes": nodes} | changes


def node(**changes):
    return {"name": "a", "intercept": 0.0, "variance": 1.0, "parents": {}} | changes


@given(networks())
@settings(max_examples=150, deadline=None)
def test_load_gives_back_every_name_and_every_bit(net):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.json")
        net.save(path)
        again = GaussianNetwork.load(path)
    assert again == net
    assert bits(again) == bits(net)


@pytest.mark.parametrize("value", [5e-324, sys.float_info.max, -0.0, 0.1, 1e-310, 1 / 3])
def test_awkward_floats_keep_every_bit(tmp_path, value):
    net = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [value], [abs(value)] * 2, [value] * 2)
    net.save(tmp_path / "net.json")
    assert bits(GaussianNetwork.load(tmp_path / "net.json")) == bits(net)


@pytest.mark.parametrize(
    "name", ['"', "\\", "\n", "\x00", "\u2028", "é", "e\u0301", "雨", "🌧", "\ud83d\ude00", "null"]
)
def test_hostile_names_come_back(tmp_path, name):
    dag = Dag.from_edges([(name, name + name)])
    net = GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0])
    net.save(tmp_path / "net.json")
    assert GaussianNetwork.load(tmp_path / "net.json").dag.nodes == (name, name + name)


def test_node_order_and_isolated_nodes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    net = random_network(rng, random_dag(rng, 40, degree=1.0))
    net.save(str(tmp_path / "net.json"))
    assert GaussianNetwork.load(str(tmp_path / "net.json")) == net


def test_a_network_without_nodes_comes_back(tmp_path):
    empty = GaussianNetwork(Dag.from_edges([]), {}, {})
    empty.save(tmp_path / "net.json")
    assert GaussianNetwork.load(tmp_path / "net.json") == empty


def test_the_file_is_json_that_a_person_can_read(tmp_path):
    net = GaussianNetwork.from_arrays(Dag.from_edges([("雨", "wet")]), [2.0], [1.0, 0.5])
    net.save(tmp_path / "net.json")
    text = (tmp_path / "net.json").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "format": "gaussnet-network",
        "version": 1,
        "nodes": [
            {"name": "雨", "intercept": 0.0, "variance": 1.0, "parents": {}},
            {"name": "wet", "intercept": 0.0, "variance": 0.5, "parents": {"雨": 2.0}},
        ],
    }
    assert "雨" in text
    assert sum('"name"' in line for line in text.splitlines()) == 2


def test_a_file_written_by_hand_may_order_parents_freely(tmp_path):
    nodes = [
        node(name="c", parents={"b": 3, "a": 2.0}),
        node(name="a"),
        node(name="b", note="more keys do no harm"),
    ]
    path = tmp_path / "net.json"
    path.write_text(json.dumps(document(nodes=nodes)), encoding="utf-8-sig")
    assert dict(GaussianNetwork.load(path).coefficients) == {("a", "c"): 2.0, ("b", "c"): 3.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not whole JSON"),
        ("{", "is not whole JSON"),
        (json.dumps(document())[:-20], "is not whole JSON"),
        ("[" * 100_000, "is not whole JSON"),
        (b"\xff\xfe\xfa", "UTF-16"),
        ('{"format": "gaussnet-network", "format": "gaussnet-network"}', "stands twice"),
        ("[1, 2]", "is not a network"),
        ("null", "is not a network"),
        ({"format": "other"}, "is not a network"),
        (document(version=3), "newer than 2"),
        (document(version="1"), "version '1', expected 1"),
        (document(version=0), "version 0, expected 1"),
        (document(version=True), "version True"),
        ({"format": "gaussnet-network", "version": 1}, "no list of nodes"),
        (document(nodes={}), "no list of nodes"),
        (document(nodes=["a"]), "node 1 of .* is 'a', expected an object"),
        (document(nodes=[{"name": "a"}]), "node 1 of .* has no 'intercept'"),
        (document(nodes=[node(name=7)]), "name 7, expected a non-empty string"),
        (document(nodes=[node(name="")]), "non-empty string"),
        (document(nodes=[node(), node()]), "'a' is listed twice"),
        (document(nodes=[node(variance="1")]), "node 'a' of .* variance '1', expected a finite"),
        (document(nodes=[node(variance=None)]), "variance None"),
        (document(nodes=[node(variance=True)]), "variance True"),
        (document(nodes=[node(variance=-1)]), "variance of 'a' is -1.0"),
        (document(nodes=[node(intercept=float("nan"))]), "holds NaN"),
        (document(nodes=[node(intercept=float("inf"))]), "holds Infinity"),
        (json.dumps(document()).replace("0.5", "1e999"), "variance inf"),
        (document(nodes=[node(intercept=10**400)]), "expected a finite number"),
        (json.dumps(document()).replace("0.5", "1" * 5000), "is not whole JSON|finite number"),
        (document(nodes=[node(parents=["b"])]), "no parents by name"),
        (document(nodes=[node(parents={"b": 1.0})]), "parent 'b', which is not among the nodes"),
        (document(nodes=[node(parents={"a": 1.0})]), "cycle 'a' -> 'a'"),
        (
            document(nodes=[node(parents={"b": 1}), node(name="b", parents={"a": 1})]),
            "the graph in .* has the cycle",
        ),
    ],
)
def test_a_broken_file_is_one_sentence_that_names_it(tmp_path, content, message):
    path = tmp_path / "broken.json"
    raw = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    with pytest.raises(FileError, match=message) as caught:
        GaussianNetwork.load(path)
    assert "broken.json" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_every_truncation_of_a_file_is_refused(tmp_path):
    path = tmp_path / "net.json"
    GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 0.5]).save(path)
    whole = path.read_bytes().rstrip()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError):
            GaussianNetwork.load(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read '.*absent\.json': no such file"):
        GaussianNetwork.load(tmp_path / "absent.json")
    with pytest.raises(FileError, match="cannot read"):
        GaussianNetwork.load(tmp_path)
    with pytest.raises(FileError, match="cannot read"):
        GaussianNetwork.load("a\x00b")


def test_a_file_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path):
    net = GaussianNetwork(Dag.from_edges([]), {}, {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=r"cannot write '.*folder'"):
        net.save(tmp_path / "folder")
    with pytest.raises(FileError, match=r"cannot write '.*net\.json': no such file"):
        net.save(tmp_path / "absent" / "net.json")
    with pytest.raises(FileError, match="cannot write"):
        net.save("a\x00b")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_failed_save_leaves_the_old_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "net.json"
    old = GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [1.0])
    old.save(path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="no space left on device"):
        GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [2.0]).save(path)
    assert GaussianNetwork.load(path) == old
    assert os.listdir(tmp_path) == ["net.json"]


def test_saving_over_a_link_keeps_the_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [1.0]).save(target)
    link.symlink_to(target)
    GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [2.0]).save(link)
    assert link.is_symlink()
    assert GaussianNetwork.load(target).variances["a"] == 2.0


def test_a_saved_file_has_the_rights_of_any_new_file(tmp_path):
    GaussianNetwork(Dag.from_edges([]), {}, {}).save(tmp_path / "net.json")
    (tmp_path / "plain").touch()
    modes = [(tmp_path / name).stat().st_mode for name in ("net.json", "plain")]
    assert modes[0] == modes[1]
