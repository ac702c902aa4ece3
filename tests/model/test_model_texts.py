"""Networks for networkx, lavaan, semopy and R: others read what we write, and agree."""

import json
import warnings
from itertools import pairwise

import networkx
import numpy as np
import pandas as pd
import pytest
from tests.model.r_programs import run_r
from tests.model.test_interchange import awkward_network

import gaussnet as gn
from gaussnet.errors import GraphError, NetworkError, SettingError

DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d]")
TRUTH = gn.simulate.random_network(DAG, seed=1)


@pytest.fixture
def frame():
    return pd.DataFrame(TRUTH.sample(400, seed=2) + 3.0, columns=list(DAG.nodes))


@pytest.mark.parametrize("name", ["awkward", "ecoli70"])
def test_a_network_comes_back_from_networkx_to_the_last_bit(name):
    network = awkward_network() if name == "awkward" else gn.networks.load(name)
    graph = network.to_networkx()
    assert type(graph) is networkx.DiGraph
    assert gn.GaussianNetwork.from_networkx(graph) == network
    assert gn.Dag.from_networkx(graph) == network.dag
    matrix = networkx.to_numpy_array(graph, weight="coefficient")
    np.testing.assert_array_equal(matrix, network.to_matrix())


def test_weights_do_for_coefficients_and_intercepts_may_be_missing():
    graph = networkx.DiGraph()
    graph.add_node(1, variance=2)
    graph.add_node(2, variance=0.5, intercept=-1.0)
    graph.add_edge(1, 2, weight=3)
    network = gn.GaussianNetwork.from_networkx(graph)
    assert dict(network.coefficients) == {("1", "2"): 3.0}
    assert dict(network.intercepts) == {"1": 0.0, "2": -1.0}


def test_graphs_without_all_numbers_are_refused():
    graph = networkx.DiGraph([("a", "b")])
    with pytest.raises(NetworkError, match="the edge 'a' -> 'b' has no attribute 'coefficient'"):
        gn.GaussianNetwork.from_networkx(graph)
    graph.edges["a", "b"]["coefficient"] = 1.0
    with pytest.raises(NetworkError, match="the node 'a' has no attribute 'variance'"):
        gn.GaussianNetwork.from_networkx(graph)
    networkx.set_node_attributes(graph, "x", "variance")
    with pytest.raises(NetworkError, match="the variance of 'a' is 'x'"):
        gn.GaussianNetwork.from_networkx(graph)
    with pytest.raises(GraphError, match="expected a networkx DiGraph"):
        gn.GaussianNetwork.from_networkx(3)


LAVAAN = """
suppressMessages(library(lavaan))
data <- read.csv("rows.csv", encoding = "UTF-8", check.names = FALSE)
fit <- lavaan(readLines("model.txt", encoding = "UTF-8"), data, fixed.x = FALSE{more})
found <- parTable(fit)
found <- data.frame(lhs = found$lhs, op = found$op, rhs = found$rhs, est = found$est)
cat(jsonlite::toJSON(list(table = found, likelihood = as.numeric(logLik(fit)),
                          bic = BIC(fit), aic = AIC(fit)), digits = I(17), auto_unbox = TRUE))
"""


def lavaan(network, values, frame, folder, more=""):
    (folder / "model.txt").write_text(network.to_lavaan(values), encoding="utf-8")
    frame.to_csv(folder / "rows.csv", index=False)
    return json.loads(run_r(LAVAAN.replace("{more}", more), folder, "lavaan", "jsonlite"))


def numbers_of(found):
    """(lhs, op, rhs) -> estimate; an intercept has no right side."""
    return {(one["lhs"], one["op"], one.get("rhs", "")): one["est"] for one in found["table"]}


def expected_numbers(network, one="~1", nothing=""):
    numbers = {(child, "~", parent): v for (parent, child), v in network.coefficients.items()}
    numbers |= {(node, one, nothing): value for node, value in network.intercepts.items()}
    return numbers | {(node, "~~", node): value for node, value in network.variances.items()}


@pytest.mark.parametrize("values", ["free", "start"])
def test_lavaan_estimates_what_we_estimate(frame, tmp_path, values):
    fit = gn.fit(frame, DAG)
    found = lavaan(fit.network if values == "start" else TRUTH, values, frame, tmp_path)
    numbers, expected = numbers_of(found), expected_numbers(fit.network)
    assert set(numbers) == set(expected)
    for key, value in expected.items():
        # lavaan stops iterating at a relative change of the fit of 1e-10 or so
        assert numbers[key] == pytest.approx(value, rel=1e-4, abs=1e-4), key
    assert found["likelihood"] == pytest.approx(fit.log_likelihood, rel=1e-8)
    assert found["aic"] == pytest.approx(fit.aic, rel=1e-8)
    assert found["bic"] == pytest.approx(fit.bic, rel=1e-8)


def test_lavaan_scores_a_network_with_its_numbers_fixed(frame, tmp_path):
    network = gn.fit(frame[:100], DAG).network
    found = lavaan(network, "fixed", frame, tmp_path, ", do.fit = FALSE")
    assert numbers_of(found) == pytest.approx(expected_numbers(network), rel=1e-14)
    # lavaan keeps 15 digits of a number in the text
    assert found["likelihood"] == pytest.approx(network.score(frame) * len(frame), rel=1e-10)


NAMES = ["x.1", "a_b", ".dot", "ü", "雨", "start", "T", "E"]


def chain(names):
    dag = gn.Dag.from_edges(pairwise(names), nodes=names)
    return gn.simulate.random_network(dag, seed=3)


def test_lavaan_reads_every_name_that_we_let_through(tmp_path):
    network = chain(NAMES)
    frame = pd.DataFrame(network.sample(50, seed=4), columns=NAMES)
    found = numbers_of(lavaan(network, "fixed", frame, tmp_path, ", do.fit = FALSE"))
    assert found == pytest.approx(expected_numbers(network), rel=1e-14)


REFUSED = [
    "a b",
    "265768",
    "_a",
    "x-1",
    "1a",
    ".5",
    "...",
    "..1",
    "if",
    "TRUE",
    "NA",
    "a\nb",
    "<b>",
]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_lavaan_cannot_hold_are_refused(name):
    network = chain(["a", name])
    with pytest.raises(NetworkError, match="lavaan cannot hold the node name"):
        network.to_lavaan()


def test_an_unknown_kind_of_values_is_refused():
    with pytest.raises(SettingError, match="got values='loose'"):
        TRUTH.to_lavaan("loose")


def semopy_numbers(text, frame):
    semopy = pytest.importorskip("semopy", reason="semopy is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of semopy and its own use of others
        model = semopy.ModelMeans(text)
        model.fit(frame)
        table = model.inspect()
    keys = zip(table["lval"], table["op"], table["rval"], strict=True)
    return dict(zip(keys, table["Estimate"], strict=True))


def test_semopy_estimates_what_we_estimate(frame):
    fit = gn.fit(frame, DAG)
    found = semopy_numbers(TRUTH.to_lavaan(), frame)
    expected = expected_numbers(fit.network, "~", "1")
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-3, abs=1e-3), key


def test_semopy_reads_fixed_numbers(frame):
    network = gn.GaussianNetwork.from_arrays(
        DAG, TRUTH.coefficient_array, [1e-5, 2.0, 3.0, 4.0, 5.0], [1e-7, -2.5, 0.0, 1e3, -1e-3]
    )
    text = network.to_lavaan("fixed").replace("e ~~ 5.0*e", "e ~~ e")  # it wants something free
    found = semopy_numbers(text, frame)
    expected = expected_numbers(network, "~", "1")
    expected.pop(("e", "~~", "e"))
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key


STAND_IN = """
library <- function(...) NULL
empty.graph <- function(nodes) list(nodes = nodes)
`arcs<-` <- function(x, value) { x$arcs <- value; x }
custom.fit <- function(x, dist) list(dag = x, dist = dist)
source("net.R", encoding = "UTF-8")
all <- c(network$dag$nodes, network$dag$arcs)
for (node in names(network$dist)) {
  own <- network$dist[[node]]
  all <- c(all, node, names(own$coef), sprintf("%.17g", c(own$coef, own$sd)))
}
cat(jsonlite::toJSON(all))
"""


@pytest.mark.parametrize("name", ["awkward", "ecoli70", "arth150"])
def test_r_reads_the_script_for_bnlearn_as_we_mean_it(tmp_path, name):
    """R's own parser, with bnlearn's three functions replaced: bnlearn itself is not run."""
    network = awkward_network() if name == "awkward" else gn.networks.load(name)
    gn.write_network(network, tmp_path / "net.R")
    found = json.loads(run_r(STAND_IN, tmp_path, "jsonlite"))
    dag = network.dag
    expected = list(dag.nodes)
    expected += [parent for parent, _ in dag.edges] + [child for _, child in dag.edges]
    for node in dag.nodes:
        parents = dag.parents(node)
        numbers = [network.intercepts[node], *(network.coefficients[p, node] for p in parents)]
        numbers.append(np.sqrt(network.variances[node]))
        expected += [node, "(Intercept)", *parents, *numbers]
    for mine, theirs in zip(expected, found, strict=True):
        assert mine == (theirs if isinstance(mine, str) else float(theirs))
