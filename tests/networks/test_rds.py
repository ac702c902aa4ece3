"""Networks of bnlearn in .rds files, written here byte by byte."""

import subprocess
import sys

import pytest
from tests.networks.rds_files import gaussian_network, named_list, numbers, rds_bytes, texts

from gaussnet.errors import FileError
from gaussnet.model import GaussianNetwork

pytest.importorskip("rdata")

NODES = {
    "b": (1.0 / 3.0, {"a": 0.1, "ü 1": -2.0}, 0.3),
    "a": (10.0, {}, 1.7),
    "ü 1": (-1e-8, {}, 2.0),
    "c": (0.0, {"b": 1e300}, 1e-10),
}


@pytest.fixture
def read(tmp_path):
    from gaussnet import read_network

    def read_bytes(raw):
        path = tmp_path / "network.rds"
        path.write_bytes(raw)
        return read_network(path)

    return read_bytes


def test_a_network_comes_with_all_its_digits(read):
    network = read(gaussian_network(NODES))
    assert network.dag.nodes == tuple(NODES)
    for name, (constant, slopes, scale) in NODES.items():
        assert set(network.dag.parents(name)) == set(slopes)
        assert network.intercepts[name] == constant
        assert network.variances[name] == scale**2
        for parent, slope in slopes.items():
            assert network.coefficients[parent, name] == slope


def node(**changes):
    fields = {
        "parents": texts([]),
        "coefficients": numbers([1.0], ["(Intercept)"]),
        "sd": numbers([1.0]),
    }
    fields |= changes
    return named_list({name: value for name, value in fields.items() if value is not None})


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (node(sd=None), "is not Gaussian"),
        (node(sd=numbers([1.0, 2.0])), "is not Gaussian"),
        (node(coefficients=None, prob=numbers([0.5])), "is not Gaussian"),
        (node(coefficients=numbers([1.0, 2.0], ["(Intercept)", "z"])), "does not hold"),
        (node(parents=texts(["a"]), coefficients=numbers([1.0, 2.0], ["(Intercept)", "a"])), "a"),
        (node(parents=texts(["z"]), coefficients=numbers([1.0, 2.0], ["(Intercept)", "z"])), "z"),
        (node(sd=numbers([float("nan")])), "does not hold"),
        (numbers([1.0]), "no network of bnlearn"),
    ],
)
def test_what_is_no_gaussian_network_is_refused(read, entry, words):
    with pytest.raises(FileError, match=words):
        read(rds_bytes(named_list({"a": entry})))


@pytest.mark.parametrize("raw", [b"", b"not R", gaussian_network(NODES)[:200], rds_bytes(b"")])
def test_a_broken_file_is_refused(read, raw):
    with pytest.raises(FileError):
        read(raw)


def test_the_command_writes_a_model_file(tmp_path):
    (tmp_path / "network.rds").write_bytes(gaussian_network(NODES))
    arguments = ["networks", "import", tmp_path / "network.rds", "--out", tmp_path / "model.json"]
    code = "from gaussnet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "4 nodes and 3 edges" in done.stdout
    network = GaussianNetwork.load(tmp_path / "model.json")
    assert network.coefficients["a", "b"] == 0.1
