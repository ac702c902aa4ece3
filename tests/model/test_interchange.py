"""Networks in the formats of others: numbers go out exactly and come back."""

import re
import sys
import types
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.networks.rds_files import gaussian_network as bn_fit_bytes

import gaussnet as gn
from gaussnet.errors import FileError, GaussnetError, NetworkError
from gaussnet.graph import Dag
from gaussnet.model import GaussianNetwork
from gaussnet.model.formats.bnlearn import to_bnlearn
from gaussnet.model.formats.text import from_csv, to_csv, to_dot

AWKWARD = [
    " a",
    "a",
    "b c",
    '5" pipe',
    "\\",
    "ü",
    "雨",
    "265768",
    "007",
    "a,b",
    "x\ny",
    "intercept",
]


def awkward_network():
    rng = np.random.default_rng(0)
    dag = Dag.from_edges([(b, a) for a, b in pairwise(AWKWARD)], nodes=[*AWKWARD, "alone"])
    return GaussianNetwork.from_arrays(
        dag,
        rng.standard_cauchy(len(dag.edges)),
        rng.random(len(dag)),
        rng.standard_cauchy(len(dag)),
    )


NETWORKS = {
    "awkward": awkward_network,
    "ecoli70": lambda: gn.networks.load("ecoli70"),
    "arth150": lambda: gn.networks.load("arth150"),
    "empty": lambda: GaussianNetwork(Dag.from_edges([]), {}, {}),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_a_network_comes_back_to_the_last_bit(tmp_path, network, ending):
    gn.write_network(network, tmp_path / f"net{ending}")
    assert gn.read_network(tmp_path / f"net{ending}") == network


@pytest.mark.parametrize("ending", [".dot", ".gv"])
def test_the_graph_of_dot_with_weights_is_the_graph(tmp_path, network, ending):
    gn.write_network(network, tmp_path / f"net{ending}")
    assert gn.read_dag(tmp_path / f"net{ending}") == network.dag


def test_dot_holds_every_digit():
    network = gn.networks.load("ecoli70")
    exact = [float(number) for number in re.findall(r'coefficient="([^"]*)"', to_dot(network))]
    assert exact == network.coefficient_array.tolist()


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(NAMES, unique=True, min_size=2, max_size=4),
    numbers=st.lists(st.floats(0, 1e300), min_size=9, max_size=9),
)
def test_any_names_and_numbers_come_back_from_csv(names, numbers):
    dag = Dag.from_edges([(names[1], names[0])], nodes=names)
    size = len(names)
    network = GaussianNetwork.from_arrays(dag, numbers[:1], numbers[1 : size + 1], numbers[-size:])
    assert from_csv(to_csv(network), "net.csv") == network


@settings(max_examples=80, deadline=None)
@given(text=st.text(st.sampled_from('node,quantity,parent,value\n"abcivr1.0'), max_size=60))
def test_noise_after_the_header_raises_nothing_but_our_own_errors(text):
    with suppress(GaussnetError):
        from_csv("node,quantity,parent,value\n" + text, "net.csv")


LINES = "a,intercept,,0\na,variance,,1\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not a table of a network: expected the columns node, quantity, parent, value"),
        ("a,b\n", "is not a table of a network"),
        ("a,intercept,0\n", "line 2 of .* has 3 cells, expected 4"),
        ("a,slope,,0\n", "has the node 'a' and the quantity 'slope', expected a name and one of"),
        (",variance,,0\n", "has the node '' and the quantity 'variance'"),
        ("a,coefficient,,0\n", "has the parent '', expected one for a coefficient"),
        ("a,variance,b,0\n", "has the parent 'b', expected one for a coefficient and none"),
        ("a,variance,,1\n", "the node 'a' of .* has no intercept: add a line"),
        ("a,intercept,,1\n", "the node 'a' of .* has no variance: add a line"),
        (LINES + "a,variance,,1\n", "line 4 of .* repeats the variance of 'a'"),
        (LINES + "b,variance,,x\n", "line 4 of .* has the value 'x', expected a finite number"),
        (LINES + "b,variance,,inf\n", "has the value 'inf', expected a finite number"),
        (LINES + "a,coefficient,z,1\n", "does not hold: the edge 'z' -> 'a' names 'z'"),
        (LINES + "a,coefficient,a,1\n", "does not hold: the graph has the cycle 'a' -> 'a'"),
        ("a,intercept,,0\na,variance,,-1\n", "the variance of 'a' is -1.0"),
    ],
)
def test_a_broken_table_is_one_sentence(tmp_path, text, sentence):
    header = "" if sentence.startswith("is not") else "node,quantity,parent,value\n"
    (tmp_path / "net.csv").write_text(header + text)
    with pytest.raises(FileError, match=sentence):
        gn.read_network(tmp_path / "net.csv")


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot tell the format of .*\.json, \.csv, \.rds"):
        gn.read_network(tmp_path / "net.dot")
    with pytest.raises(FileError, match=r"cannot write a network as .*\.json, \.csv, \.dot"):
        gn.write_network(awkward_network(), tmp_path / "net.rds")
    assert not any(tmp_path.iterdir())


def test_bnlearn_files_are_read(tmp_path):
    entries = {"a": (0.5, {}, 2.0), "b": (1.0, {"a": -2.0}, 3.0)}
    (tmp_path / "net.rds").write_bytes(bn_fit_bytes(entries))
    network = gn.read_network(tmp_path / "net.rds")
    assert dict(network.coefficients) == {("a", "b"): -2.0}
    assert dict(network.variances) == {"a": 4.0, "b": 9.0}
    assert dict(network.intercepts) == {"a": 0.5, "b": 1.0}


def unquoted(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), text)


def test_the_script_for_bnlearn_names_every_number(tmp_path, network):
    gn.write_network(network, tmp_path / "net.R")
    script = (tmp_path / "net.R").read_text(encoding="utf-8")
    name = r'"((?:[^"\\]|\\.)*)"'
    found = {}
    for line in re.findall(rf"^  {name} = list\(coef = c\((.*)\), sd = (\S+)\),?$", script, re.M):
        terms = re.findall(rf"{name} = ([^,]+)(?:, |$)", line[1])
        found[unquoted(line[0])] = ({unquoted(key): float(value) for key, value in terms}, line[2])
    assert tuple(found) == network.dag.nodes
    for node, (terms, scale) in found.items():
        assert terms.pop("(Intercept)") == network.intercepts[node]
        assert float(scale) == np.sqrt(network.variances[node])
        assert terms == {p: network.coefficients[p, node] for p in network.dag.parents(node)}
    arcs = script.partition("arcs(dag) <- matrix(c(\n")[2].partition("\n), ncol")[0]
    assert len(re.findall(rf"^  {name}, {name},?$", arcs, re.M)) == len(network.dag.edges)


@pytest.mark.parametrize("name", ["(Intercept)", "a\x00b"])
def test_names_that_bnlearn_cannot_hold_are_refused(tmp_path, name):
    network = GaussianNetwork.from_arrays(Dag.from_edges([(name, "b")]), [1.0], [1.0, 1.0])
    with pytest.raises(NetworkError, match="rename the node"):
        to_bnlearn(network)
    with pytest.raises(FileError, match=r"cannot write .*rename the node"):
        gn.write_network(network, tmp_path / "net.R")
    assert not any(tmp_path.iterdir())


class StandInCpd:
    def __init__(self, variable, beta, std, evidence):
        self.variable, self.beta, self.std, self.evidence = variable, np.array(beta), std, evidence


class StandInModel:
    """As much of pgmpy's LinearGaussianBayesianNetwork as an interchange needs."""

    def __init__(self):
        self.names, self.pairs, self.cpds = [], [], {}

    def add_nodes_from(self, nodes):
        self.names += nodes

    def add_edges_from(self, edges):
        self.pairs += edges

    def add_cpds(self, cpd):
        self.cpds[cpd.variable] = cpd

    def get_cpds(self, node):
        return self.cpds.get(node)

    def nodes(self):
        return self.names

    def edges(self):
        return self.pairs


@pytest.fixture
def stand_in(monkeypatch):
    modules = {
        "pgmpy": types.ModuleType("pgmpy"),
        "pgmpy.models": types.SimpleNamespace(LinearGaussianBayesianNetwork=StandInModel),
        "pgmpy.factors": types.ModuleType("pgmpy.factors"),
        "pgmpy.factors.continuous": types.SimpleNamespace(LinearGaussianCPD=StandInCpd),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def assert_close(one, other):
    assert one.dag == other.dag
    np.testing.assert_array_equal(one.coefficient_array, other.coefficient_array)
    np.testing.assert_array_equal(one.intercept_array, other.intercept_array)
    # a square root and a square, half a unit in the last place each
    np.testing.assert_allclose(one.variance_array, other.variance_array, rtol=4e-16)


@pytest.mark.usefixtures("stand_in")
def test_a_network_goes_to_a_stand_in_of_pgmpy_and_back(network):
    assert_close(gn.from_pgmpy(gn.to_pgmpy(network)), network)


def test_a_network_goes_to_pgmpy_and_back():
    pytest.importorskip("pgmpy", reason="pgmpy is not installed: its stand-in was tested alone")
    for name in ("ecoli70", "arth150"):
        network = gn.networks.load(name)
        model = gn.to_pgmpy(network)
        assert model.check_model()
        assert_close(gn.from_pgmpy(model), network)
        mean, covariance = model.to_joint_gaussian()[:2]
        order = [network.dag.position(node) for node in _pgmpy_order(model)]
        # pgmpy rounds what it gives to three decimals
        np.testing.assert_allclose(
            covariance, network.covariance()[np.ix_(order, order)], atol=6e-4
        )
        np.testing.assert_allclose(mean, network.mean()[order], atol=6e-4)


def _pgmpy_order(model):
    import networkx

    return list(networkx.topological_sort(model))


def test_without_pgmpy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy", None)  # importing it now fails
    monkeypatch.delitem(sys.modules, "pgmpy.models", raising=False)
    with pytest.raises(NetworkError, match="pip install pgmpy"):
        gn.to_pgmpy(awkward_network())


def test_models_without_all_numbers_are_refused():
    model = StandInModel()
    model.add_nodes_from(["a", "b"])
    model.add_cpds(StandInCpd("a", [1.0], 1.0, []))
    with pytest.raises(
        NetworkError, match="the node 'b' of the pgmpy model has no linear Gaussian"
    ):
        gn.from_pgmpy(model)
    with pytest.raises(NetworkError, match="got a int, expected a LinearGaussianBayesianNetwork"):
        gn.from_pgmpy(3)
