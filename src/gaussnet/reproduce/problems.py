"""What the methods are given: the true network of a repetition, the graph to learn, the rows."""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from gaussnet import networks, simulate
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork
from gaussnet.planning.targets import information_limit
from gaussnet.reproduce.catalogue import Experiment, Settings
from gaussnet.seeds import generator
from gaussnet.types import FloatArray, Seed

ILL_CONDITIONED_NODES = 3
MISSING_EDGES = {"tree": 4, "er5": 9}
DEGREES = {"er2": 2.0, "er5": 5.0}
PUBLISHED_NODES = 100
"""Nodes of the graphs that the paper's program draws."""


@dataclass(frozen=True)
class Problem:
    """The network that the rows come from, and the graph that the methods are told."""

    truth: GaussianNetwork
    dag: Dag

    def limit(self, rows: int) -> float:
        """The information limit (edges + nodes) / (2 rows) of the graph that is learnt."""
        return information_limit(self.dag, rows, intercept=False)

    @cached_property
    def projection(self) -> GaussianNetwork:
        """The network on the learnt graph that is nearest to the truth, from its covariance."""
        return project(self.truth, self.dag)


def draw_problem(experiment: Experiment, settings: Settings, nodes: int, seed: Seed) -> Problem:
    """Draw the network of one repetition; real networks are not random."""
    rng = generator(seed)
    if not experiment.is_random:
        truth = with_unit_noise(networks.load(experiment.graph))
        return Problem(truth, truth.dag)
    ill = ILL_CONDITIONED_NODES if experiment.condition == "ill-conditioned" else 0
    truth = simulate.random_network(
        _draw_dag(experiment.graph, settings, nodes, rng),
        seed=rng,
        weights=settings.weights,
        ill_conditioned=ill,
    )
    if experiment.condition != "agnostic":
        return Problem(truth, truth.dag)
    return Problem(truth, without_edges(truth.dag, MISSING_EDGES[experiment.graph], rng))


def draw_rows(
    problem: Problem, experiment: Experiment, settings: Settings, rows: int, seed: Seed
) -> FloatArray:
    """Sample rows from the true network and make some wrong if the experiment asks for it."""
    rng = generator(seed)
    sample = problem.truth.sample(rows, seed=rng)
    if not experiment.is_contaminated:
        return sample
    return simulate.contaminate(
        sample,
        seed=rng,
        share=settings.contaminated_share,
        nodes=settings.contaminated_nodes,
        value="cauchy" if experiment.condition == "cauchy" else "gaussian",
    ).data


@cache
def published_graph(graph: str) -> Dag:
    """The one "tree", "er2" or "er5" of the paper's program, one for all repetitions.

    Examples
    --------
    >>> published_graph("tree").is_polytree, len(published_graph("er5").edges)
    (True, 248)
    """
    text = (files("gaussnet.reproduce") / "data" / "graphs.json").read_text(encoding="utf-8")
    names = [f"X{number}" for number in range(1, PUBLISHED_NODES + 1)]
    edges = [(names[parent], names[child]) for parent, child in json.loads(text)[graph]]
    return Dag.from_edges(edges, nodes=names)


def _draw_dag(graph: str, settings: Settings, nodes: int, seed: Seed) -> Dag:
    if settings.graphs == "published" and nodes == PUBLISHED_NODES:
        return published_graph(graph)
    if graph in DEGREES:
        return simulate.erdos_renyi(
            nodes, DEGREES[graph], seed=seed, edge_probability=settings.edge_probability
        )
    if settings.tree == "rooted":
        return simulate.random_tree(nodes, seed=seed)
    return simulate.random_polytree(nodes, seed=seed)


def with_unit_noise(network: GaussianNetwork) -> GaussianNetwork:
    """The network with noise of variance 1 and no intercepts, its coefficients kept.

    Examples
    --------
    >>> with_unit_noise(networks.load("ecoli70")).variances["aceB"]
    1.0
    """
    return GaussianNetwork.from_arrays(
        network.dag, network.coefficient_array, np.ones(len(network.dag))
    )


def without_edges(dag: Dag, count: int, seed: Seed) -> Dag:
    """The graph less some edges drawn at random; all of them if it has no more.

    Examples
    --------
    >>> len(without_edges(simulate.chain(9), 3, 0).edges)
    5
    """
    edges = dag.edges
    dropped = set(generator(seed).permutation(len(edges))[:count].tolist())
    kept = [edge for index, edge in enumerate(edges) if index not in dropped]
    return Dag.from_edges(kept, nodes=dag.nodes)


def project(truth: GaussianNetwork, dag: Dag) -> GaussianNetwork:
    r"""The network on this graph with the least KL divergence from the truth.

    Each node is regressed on its parents under the true covariance :math:`F F'`, by least
    squares on the rows of F, so that nothing is squared.

    Examples
    --------
    >>> truth = GaussianNetwork.from_arrays(simulate.chain(3), [2.0, 1.0], [1.0, 1.0, 1.0])
    >>> smaller = Dag.from_edges([("X1", "X2")], nodes=["X1", "X2", "X3"])
    >>> project(truth, smaller).variance_array.round(9).tolist()
    [1.0, 1.0, 6.0]
    """
    factor = truth.to_gaussian().factor
    coefficients = np.empty(len(dag.edges))
    variances = np.empty(len(dag))
    for node in range(len(dag)):
        edges = slice(*dag.families.offsets[node : node + 2].tolist())
        above = factor[dag.families.parents[edges]].T
        coefficients[edges] = np.linalg.lstsq(above, factor[node], rcond=None)[0]
        rest = factor[node] - above @ coefficients[edges]
        variances[node] = rest @ rest
    return GaussianNetwork.from_arrays(dag, coefficients, variances)
