"""Every estimator equals its slow version, whatever the graph, pages, threads and layout."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.reference import estimators as slow

import gaussnet as gn

CASES = {
    "least-squares": (gn.LeastSquares(), slow.least_squares, {}),
    "batch-average": (gn.BatchAverage(6), slow.batch_average, {"extra_rows": 6}),
    "batch-median": (gn.BatchMedian(6), slow.batch_median, {"extra_rows": 6}),
    "cauchy-tree disjoint": (gn.CauchyTree("disjoint"), slow.cauchy_tree, {"sliding": False}),
    "cauchy-tree sliding": (gn.CauchyTree("sliding"), slow.cauchy_tree, {"sliding": True}),
    "cauchy disjoint": (gn.Cauchy("disjoint"), slow.cauchy, {"sliding": False}),
    "cauchy sliding": (gn.Cauchy("sliding"), slow.cauchy, {"sliding": True}),
}
SCALES = {"mean-square": slow.mean_square, "mad": slow.mad}


def random_problem(seed, nodes, rows):
    """A random DAG (node order shuffled) and rows of a network over it, means not 0."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(nodes)
    edges = [
        (f"v{shuffled[i]}", f"v{shuffled[j]}")
        for j in range(nodes)
        for i in range(j)
        if rng.random() < 0.5
    ]
    dag = gn.Dag.from_edges(edges, nodes=[f"v{i}" for i in range(nodes)])
    weights = rng.uniform(0.5, 1.5, len(edges)) * rng.choice([-1, 1], len(edges))
    network = gn.GaussianNetwork.from_arrays(
        dag, weights, rng.uniform(0.5, 2.0, nodes), rng.normal(size=nodes)
    )
    return dag, network.sample(rows, seed=seed)


def check_node(fit, data, node, reference, settings_, page_rows):
    dag = fit.dag
    x = data[:, [dag.position(parent) for parent in dag.parents(node)]]
    y = data[:, dag.position(node)]
    slopes = np.zeros(0)
    if x.shape[1]:
        slopes = reference(x, y, fit.intercept, page_rows, **settings_)
    learnt = np.array([fit.network.coefficients[parent, node] for parent in dag.parents(node)])
    np.testing.assert_allclose(learnt, slopes, rtol=1e-10, atol=1e-10)
    location, variance = SCALES[fit.scale.name](y - x @ slopes, fit.intercept)
    np.testing.assert_allclose(fit.network.variances[node], variance, rtol=1e-9)
    np.testing.assert_allclose(fit.network.intercepts[node], location, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    nodes=st.integers(1, 8),
    rows=st.integers(60, 300),
    page_rows=st.sampled_from([40, 64, 100, 1000]),
    intercept=st.booleans(),
    scale=st.sampled_from(sorted(SCALES)),
    threads=st.sampled_from([1, 2, 5]),
    layout=st.sampled_from("CF"),
)
def test_estimator_equals_its_slow_version(
    case, seed, nodes, rows, page_rows, intercept, scale, threads, layout
):
    estimator, reference, settings_ = CASES[case]
    dag, data = random_problem(seed, nodes, rows)
    fit = gn.fit(
        np.array(data, order=layout),
        dag,
        estimator,
        scale=scale,
        intercept=intercept,
        threads=threads,
        page_rows=page_rows,
    )
    for node in dag.nodes:
        check_node(fit, data, node, reference, settings_, page_rows)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("intercept", [True, False])
def test_split_takes_coefficients_from_the_first_rows_and_variances_from_the_last(case, intercept):
    estimator, reference, settings_ = CASES[case]
    dag, data = random_problem(5, 5, 300)
    fit = gn.fit(data, dag, estimator, intercept=intercept, split=(180, 90), scale="mad")
    for node in dag.nodes:
        columns = [dag.position(parent) for parent in dag.parents(node)]
        x, y = data[:, columns], data[:, dag.position(node)]
        slopes = np.zeros(0)
        if columns:
            slopes = reference(x[:180], y[:180], intercept, 10_000, **settings_)
        learnt = [fit.network.coefficients[parent, node] for parent in dag.parents(node)]
        np.testing.assert_allclose(learnt, slopes, rtol=1e-10, atol=1e-10)
        location, variance = slow.mad(y[-90:] - x[-90:] @ slopes, intercept)
        np.testing.assert_allclose(fit.network.variances[node], variance, rtol=1e-9)
        np.testing.assert_allclose(fit.network.intercepts[node], location, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_threads_and_layout_leave_every_bit_alone(case):
    estimator, _, _ = CASES[case]
    dag, data = random_problem(11, 12, 20_000)
    fits = [
        gn.fit(np.array(data, order=order), dag, estimator, threads=threads, page_rows=pages)
        for order, threads, pages in [("C", 1, None), ("C", 2, None), ("F", 3, None)]
    ]
    for other in fits[1:]:
        assert other.network == fits[0].network
    several = [
        gn.fit(data, dag, estimator, threads=threads, page_rows=3_000) for threads in (1, 2, 7)
    ]
    assert several[0].network == several[1].network == several[2].network


@pytest.mark.parametrize("case", CASES)
def test_single_precision_data_are_read_as_they_are(case):
    estimator, _, _ = CASES[case]
    dag, data = random_problem(3, 6, 400)
    single = data.astype(np.float32)
    narrow = gn.fit(single, dag, estimator)
    wide = gn.fit(single.astype(np.float64), dag, estimator)
    np.testing.assert_allclose(
        narrow.network.coefficient_array, wide.network.coefficient_array, rtol=1e-12, atol=1e-12
    )
