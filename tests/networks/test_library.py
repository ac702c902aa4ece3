"""The networks that come with the package are the ones of the repository."""

import importlib.util
import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from gaussnet import networks
from gaussnet.errors import SettingError

SIZES = {
    "arth150": (107, 150),
    "ecoli70": (46, 70),
    "magic-irri": (64, 102),
    "magic-niab": (44, 66),
}


def test_the_names_are_known_and_sorted():
    assert networks.names() == tuple(sorted(SIZES))


@pytest.mark.parametrize("name", SIZES)
def test_a_network_has_the_stated_nodes_and_edges(name):
    network = networks.load(name)
    assert (len(network.dag.nodes), len(network.dag.edges)) == SIZES[name]
    assert (network.variance_array > 0).all()
    assert np.linalg.eigvalsh(network.covariance()).min() > 0


def test_numbers_stand_with_their_edges_and_nodes():
    network = networks.load("ecoli70")
    assert network.coefficients["sucA", "atpD"] == 0.2603
    assert network.coefficients["ygcE", "atpD"] == -0.7252
    assert network.intercepts["atpD"] == -0.0403
    assert network.variances["atpD"] == 0.4131


def test_every_edge_of_a_file_keeps_its_coefficient():
    for name in SIZES:
        text = (files("gaussnet.networks") / "data" / f"{name}.json").read_text(encoding="utf-8")
        given = {(parent, child): weight for parent, child, weight in json.loads(text)["edges"]}
        assert dict(networks.load(name).coefficients) == given


def test_root_variances_are_squares_of_the_standard_deviations_published_elsewhere():
    published = {"b1191": 0.7801025725, "cspG": 1.037081083, "eutG": 0.8313535229}
    network = networks.load("ecoli70")
    for node, scale in published.items():
        # half a unit in the fourth decimal
        assert abs(network.variances[node] - scale**2) <= 0.5e-4


def test_markers_without_parents_have_the_variance_of_a_genotype():
    network = networks.load("magic-irri")
    roots = network.dag.in_degrees == 0
    share = network.intercept_array[roots] / 2
    # genotypes 0 or 2: variance 4 p (1 - p), over about 1000 lines with the divisor m - 1
    assert roots.sum() > 20
    assert np.allclose(network.variance_array[roots], 4 * share * (1 - share), rtol=0.003)


def test_names_made_of_digits_stay_strings():
    nodes = networks.load("arth150").dag.nodes
    assert "81" in nodes
    assert all(isinstance(node, str) for node in nodes)


@pytest.mark.parametrize("name", ["alarm", "", "ecoli70.json", "../secret", None, 7, ["ecoli70"]])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(SettingError, match="'ecoli70'"):
        networks.load(name)


def test_files_name_their_source_and_licence():
    folder = files("gaussnet.networks") / "data"
    assert "CC BY-SA 3.0" in (folder / "NOTICE").read_text(encoding="utf-8")
    for name in SIZES:
        record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        assert record["licence"] == "CC BY-SA 3.0"
        assert record["source"].startswith("https://www.bnlearn.com")


@pytest.fixture(scope="module")
def builder():
    path = Path(__file__).parents[2] / "scripts" / "build_networks.py"
    if not path.exists():
        pytest.skip("the scripts do not come with this copy")
    spec = importlib.util.spec_from_file_location("build_networks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_builder_writes_what_it_read(builder):
    folder = files("gaussnet.networks") / "data"
    for name in SIZES:
        text = (folder / f"{name}.json").read_text(encoding="utf-8")
        assert builder.written(json.loads(text)) == text


def test_the_builder_refuses_standard_deviations(builder):
    text = (files("gaussnet.networks") / "data" / "magic-irri.json").read_text(encoding="utf-8")
    record = json.loads(text)
    builder.check_variances(record)
    record["variances"] = np.sqrt(record["variances"]).tolist()
    with pytest.raises(SystemExit, match="not the variance"):
        builder.check_variances(record)
