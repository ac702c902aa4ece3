"""The networks and rows that the experiments are made of."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from gaussnet import networks, simulate
from gaussnet.model import GaussianNetwork
from gaussnet.model.distances import kl_divergence
from gaussnet.reproduce.catalogue import EXPERIMENTS, PLOTTED, WRITTEN, experiment_named
from gaussnet.reproduce.problems import (
    draw_problem,
    draw_rows,
    project,
    published_graph,
    with_unit_noise,
    without_edges,
)


def problem_of(name, settings, seed=0):
    return draw_problem(experiment_named(name), settings, 40, seed)


@pytest.mark.parametrize(("settings", "low"), [(WRITTEN, 1.0), (PLOTTED, 0.5)], ids=["w", "p"])
def test_weights_are_those_of_the_settings(settings, low):
    sizes = np.abs(problem_of("er5", settings).truth.coefficient_array)
    assert sizes.min() >= low
    assert sizes.max() < 2.0
    # among about 100 uniform draws one lies in the lowest quarter, but for chance 0.75 ** 100
    assert sizes.min() < low + 0.25 * (2.0 - low)


def test_written_trees_are_rooted_and_plotted_ones_are_polytrees():
    assert problem_of("tree", WRITTEN).dag.max_in_degree == 1
    plotted = problem_of("tree", PLOTTED).dag
    assert plotted.is_polytree
    assert plotted.max_in_degree > 1


def test_real_networks_have_unit_noise_and_no_intercepts():
    problem = problem_of("ecoli70", PLOTTED)
    original = networks.load("ecoli70")
    assert (problem.truth.variance_array == 1.0).all()
    assert (problem.truth.intercept_array == 0.0).all()
    assert np.array_equal(problem.truth.coefficient_array, original.coefficient_array)


def test_three_nodes_are_ill_conditioned():
    variances = problem_of("ill-er", WRITTEN).truth.variance_array
    assert np.sort(variances)[:4] == pytest.approx([1e-20, 1e-20, 1e-20, 1.0])


@pytest.mark.parametrize(("name", "missing"), [("agnostic-tree", 4), ("agnostic-er", 9)])
def test_agnostic_graphs_lack_edges_of_the_true_graph(name, missing):
    problem = problem_of(name, PLOTTED)
    assert set(problem.dag.edges) < set(problem.truth.dag.edges)
    assert len(problem.dag.edges) == len(problem.truth.dag.edges) - missing
    assert problem.dag.nodes == problem.truth.dag.nodes


@pytest.mark.parametrize("settings", [WRITTEN, PLOTTED], ids=lambda one: one.name)
def test_the_stated_share_of_rows_is_contaminated(settings):
    experiment = experiment_named("ecoli70-noisy")
    problem = draw_problem(experiment, settings, 100, 0)
    rows = draw_rows(problem, experiment, settings, 200, 1)
    contaminated = np.abs(rows) > 500.0
    assert contaminated.any(axis=1).sum() == 200 * settings.contaminated_share
    assert set(contaminated.sum(axis=1)) == {0, settings.contaminated_nodes}


def test_clean_rows_come_from_the_network():
    experiment = experiment_named("magic-niab")
    problem = draw_problem(experiment, PLOTTED, 100, 0)
    assert np.array_equal(
        draw_rows(problem, experiment, PLOTTED, 30, 7), problem.truth.sample(30, seed=7)
    )


def test_projection_is_the_truth_on_the_true_graph():
    truth = with_unit_noise(networks.load("arth150"))
    # A regression on n rows of the factor rounds a coefficient by n eps times its condition, and
    # the divergence is a sum of squares of such errors over the n nodes.
    nodes = len(truth.dag)
    rounding = nodes * np.finfo(np.float64).eps * np.linalg.cond(truth.to_gaussian().factor)
    found = kl_divergence(truth, project(truth, truth.dag))
    assert found == pytest.approx(0.0, abs=nodes * rounding**2)


def test_no_network_near_the_projection_is_nearer_to_the_truth():
    problem = problem_of("agnostic-er", PLOTTED)
    best = kl_divergence(problem.truth, problem.projection)
    rng = np.random.default_rng(0)
    for _ in range(20):
        edges, nodes = len(problem.dag.edges), len(problem.dag)
        other = GaussianNetwork.from_arrays(
            problem.dag,
            problem.projection.coefficient_array + rng.normal(0.0, 1e-4, edges),
            problem.projection.variance_array * np.exp(rng.normal(0.0, 1e-4, nodes)),
        )
        assert kl_divergence(problem.truth, other) > best


def test_a_graph_can_lose_all_its_edges():
    assert without_edges(simulate.chain(3), 9, 0).edges == ()


def test_experiments_have_names_of_their_own_and_known_graphs():
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS) == 22
    known = {"er5", "er2", "tree", *networks.names()}
    assert {experiment.graph for experiment in EXPERIMENTS} <= known


def test_plotted_graphs_are_the_same_in_every_repetition_and_written_ones_are_not():
    for name in ("tree-gauss", "er5", "batch-avg-d2"):
        experiment = experiment_named(name)
        plotted = [draw_problem(experiment, PLOTTED, 100, seed) for seed in (0, 1)]
        assert plotted[0].dag == plotted[1].dag
        assert not np.array_equal(*(problem.truth.coefficient_array for problem in plotted))
        written = [draw_problem(experiment, WRITTEN, 100, seed) for seed in (0, 1)]
        assert written[0].dag != written[1].dag


def test_the_published_graphs_are_those_of_networkx_with_seed_5():
    path = Path(__file__).parents[2] / "scripts" / "build_published_graphs.py"
    builder = runpy.run_path(str(path))
    graphs = {"tree": builder["tree"](), "er2": builder["erdos_renyi"](2)}
    for name, graph in graphs.items():
        edges = {(f"X{max(edge) + 1}", f"X{min(edge) + 1}") for edge in graph.edges}
        assert set(published_graph(name).edges) == edges
