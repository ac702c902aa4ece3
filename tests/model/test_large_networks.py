"""Networks of 10,000 nodes: everything but the dense matrices runs in little memory."""

import tracemalloc
from itertools import pairwise
from time import process_time
from timeit import repeat

import numpy as np
import pytest

from gaussnet.graph import Dag
from gaussnet.model import GaussianNetwork
from gaussnet.model.distances import kl_by_node, kl_divergence

NODES = 10_000
DENSE_BYTES = NODES * NODES * 8


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    parents = [
        rng.choice(node, min(node, int(rng.integers(0, 6))), replace=False).tolist()
        for node in range(NODES)
    ]
    dag = Dag.from_parents([f"v{i}" for i in range(NODES)], parents)
    edges = len(dag.families.parents)
    return GaussianNetwork.from_arrays(
        dag, rng.uniform(-0.4, 0.4, edges), rng.uniform(0.5, 2.0, NODES), rng.normal(size=NODES)
    )


@pytest.fixture(scope="module")
def near(large):
    """The same network with other coefficients at the last 500 nodes and other variances."""
    rng = np.random.default_rng(1)
    changed = large.dag.families.family_of_edge >= NODES - 500
    return GaussianNetwork.from_arrays(
        large.dag,
        large.coefficient_array + np.where(changed, rng.normal(0.0, 0.01, len(changed)), 0.0),
        large.variance_array * 1.01,
        large.intercept_array,
    )


def peak_bytes(work):
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_mean_sample_and_log_density_form_no_dense_matrix(large):
    rows, peak = peak_bytes(lambda: large.sample(200, seed=0))
    assert rows.shape == (200, NODES)
    assert peak < DENSE_BYTES / 8
    densities, peak = peak_bytes(lambda: large.log_density(rows))
    assert peak < DENSE_BYTES / 8
    # Minus twice the log density is a constant plus a chi-square with NODES degrees of freedom.
    constant = np.log(2.0 * np.pi * large.variance_array).sum()
    squares = -2.0 * densities - constant
    assert abs(squares.mean() - NODES) < 5.0 * np.sqrt(2.0 * NODES / 200)
    mean, peak = peak_bytes(large.mean)
    assert peak < DENSE_BYTES / 8
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=7.0 * rows.std() / np.sqrt(200))


def test_kl_divergence_forms_no_dense_matrix_and_agrees_with_its_terms(large, near):
    divergence, peak = peak_bytes(lambda: kl_divergence(large, near))
    assert peak < DENSE_BYTES / 8
    terms = np.array(list(kl_by_node(large, near).values()))
    assert divergence == pytest.approx(terms.sum(), rel=1e-12)
    unchanged = 0.5 * (1.0 / 1.01 - 1.0 + np.log(1.01))
    np.testing.assert_allclose(terms[: NODES - 500], unchanged, rtol=1e-9)
    assert (terms[NODES - 500 :] >= unchanged * (1.0 - 1e-9)).all()


def test_kl_divergence_of_a_large_network_agrees_with_its_log_densities(large, near):
    rows = large.sample(200, seed=3)
    gains = large.log_density(rows) - near.log_density(rows)
    error = gains.std() / np.sqrt(len(gains))
    assert abs(gains.mean() - kl_divergence(large, near)) < 5.0 * error


@pytest.mark.parametrize("kind", ["chain", "polytree"])
def test_kl_over_a_polytree_is_that_of_dense_gaussians(kind):
    rng = np.random.default_rng(3)
    earlier = (lambda i: i - 1) if kind == "chain" else (lambda i: int(rng.integers(0, i)))
    pairs = [(f"x{earlier(i)}", f"x{i}") for i in range(1, 40)]
    pairs = [pair if kind == "chain" or rng.random() < 0.5 else pair[::-1] for pair in pairs]
    dag = Dag.from_edges(pairs, nodes=[f"x{i}" for i in range(40)])
    p, q = (
        GaussianNetwork.from_arrays(
            dag, rng.uniform(-1.0, 1.0, 39), rng.uniform(0.5, 2.0, 40), rng.normal(size=40)
        )
        for _ in range(2)
    )
    # Covariances of condition below 1e6 lose six digits in the dense form.
    expected = kl_divergence(p.to_gaussian(), q.to_gaussian())
    assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-9)


def test_kl_of_a_long_chain_takes_linear_time():
    rng = np.random.default_rng(4)
    times = {}
    for nodes in (10_000, 100_000):
        names = [f"x{i}" for i in range(nodes)]
        dag = Dag.from_edges(list(pairwise(names)), nodes=names)
        p, q = (
            GaussianNetwork.from_arrays(dag, rng.uniform(-0.9, 0.9, nodes - 1), np.ones(nodes))
            for _ in range(2)
        )
        assert kl_divergence(p, q) > 0.0
        arguments = {"p": p, "q": q, "kl": kl_divergence}
        tries = repeat("kl(p, q)", globals=arguments, timer=process_time, repeat=3, number=1)
        times[nodes] = min(tries)
    # Ten times the nodes: ten times the work, twice that allowed for caches; quadratic is 100.
    assert times[100_000] < 40 * times[10_000]
