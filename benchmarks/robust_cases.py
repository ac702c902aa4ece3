"""Ways for data to go wrong, and how near the robust method comes to the oracle in each.

The oracle is least squares of each equation over the rows in which the cells of the child and of
its parents are all right. Quality is the KL divergence from the truth over that of the oracle, a
ratio of means over repetitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import gaussnet as gn
from gaussnet.seeds import children

NODES = 100


@dataclass(frozen=True)
class Case:
    """A way for data to go wrong, and the largest ratio of KL to the oracle's."""

    name: str
    graph: str
    rows: int
    limit: float
    spoil: dict[str, Any] = field(default_factory=dict)
    spreads: bool = False
    """Whether wrong noise spreads to descendants."""
    ill_conditioned: int = 0
    noise_units: bool = False
    """Whether a shift is in standard deviations of the noise, not of the column."""
    intercept: bool = False

    def __str__(self) -> str:
        return f"{self.name}, {self.graph}, m = {self.rows}"

    def network(self, seed: np.random.SeedSequence) -> gn.GaussianNetwork:
        graph, weights = children(seed, 2)
        if self.graph in gn.networks.names():
            return gn.networks.load(self.graph)
        if self.graph == "tree":
            dag = gn.simulate.random_tree(NODES, seed=graph)
        else:
            dag = gn.simulate.erdos_renyi(NODES, 5, seed=graph)
        return gn.simulate.random_network(dag, seed=weights, ill_conditioned=self.ill_conditioned)

    def draw(self, seed: np.random.SeedSequence) -> "Problem":
        network, sample, spoil = children(seed, 3)
        truth = self.network(network)
        if self.spreads:
            spoilt = gn.simulate.sample_contaminated(truth, self.rows, seed=sample, **self.spoil)
            return Problem(truth, spoilt.data, spoilt.cells)
        data = truth.sample(self.rows, seed=sample)
        if not self.spoil:
            return Problem(truth, data, np.zeros(data.shape, dtype=bool))
        settings = gn.simulate.Contamination(**self.spoil)
        rng = np.random.default_rng(spoil)
        wrong = settings.choose_cells((self.rows, len(truth.dag)), rng)
        scales = truth.scales if self.noise_units else data.std(axis=0)
        return Problem(truth, settings.write(data, wrong, scales, rng), wrong)


@dataclass(frozen=True)
class Problem:
    """A network, rows of it, and which cells are wrong."""

    truth: gn.GaussianNetwork
    data: np.ndarray
    wrong: np.ndarray

    def oracle(self, intercept: bool) -> gn.GaussianNetwork:
        """Least squares of each equation over its right rows."""
        dag = self.truth.dag
        coefficients, variances, intercepts = [], [], []
        for node, name in enumerate(dag.nodes):
            family = [*(dag.position(parent) for parent in dag.parents(name)), node]
            own = self.data[~self.wrong[:, family].any(axis=1)][:, family]
            means = own.mean(axis=0) if intercept else np.zeros(len(family))
            own = own - means
            found = regress(own[:, :-1], own[:, -1])
            rest = own[:, -1] - own[:, :-1] @ found
            coefficients.extend(found)
            variances.append(rest @ rest / len(rest))
            intercepts.append(means[-1] - means[:-1] @ found)
        return gn.GaussianNetwork.from_arrays(
            dag, coefficients, variances, intercepts if intercept else None
        )

    def robust(self, intercept: bool, method: str = "sequential-trim") -> gn.Fit:
        """What a robust method learns."""
        return gn.fit(self.data, self.truth.dag, method, intercept=intercept, threads=1)

    def flags(self, fit: gn.Fit) -> np.ndarray:
        """The cells that the robust method calls wrong."""
        flagged, found = np.zeros(self.data.shape, dtype=bool), fit.outliers()
        nodes = [self.truth.dag.position(name) for name in found.nodes]
        flagged[found.rows, nodes] = True
        return flagged


def regress(parents: np.ndarray, child: np.ndarray) -> np.ndarray:
    """Least squares by QR with columns at unit length, refined once."""
    if parents.shape[1] == 0:
        return np.zeros(0)
    lengths = np.linalg.norm(parents, axis=0)
    basis, upper = np.linalg.qr(parents / lengths)
    found = np.linalg.solve(upper, basis.T @ child) / lengths
    return found + np.linalg.solve(upper, basis.T @ (child - parents @ found)) / lengths


def quality_cases() -> Iterator[Case]:
    """Every case of the table."""
    for graph in ("er5", "tree"):
        for rows, limit in ((100, 1.03), (500, 1.015), (1000, 1.015), (5000, 1.015)):
            yield Case("clean", graph, rows, limit)
        yield from wrong_nodes(graph)
        yield from wrong_cells(graph)
        yield from other_trouble(graph)
    for graph in gn.networks.names():
        fixed, cells = {"share": 0.2, "pattern": "fixed"}, {"share": 0.05, "pattern": "cells"}
        yield Case("real, clean", graph, 1000, 1.03, intercept=True)
        yield Case("real, fixed 5 x 20 %", graph, 1000, 1.03, fixed, intercept=True)
        yield Case("real, 5 % of all cells", graph, 1000, 1.03, cells, intercept=True)


def wrong_nodes(graph: str) -> Iterator[Case]:
    """Five wrong values in some rows: anywhere, or always in the same columns."""
    for value in ("gaussian", "cauchy"):
        for rows, limit in ((100, 1.05), (500, 1.04), (1000, 1.02), (3000, 1.02)):
            yield Case(f"5 % rows x 5 nodes {value}", graph, rows, limit, {"value": value})
    for share in (0.05, 0.1, 0.2, 0.3, 0.4):
        for rows in (1000, 3000):
            spoil = {"share": share, "pattern": "fixed"}
            yield Case(f"fixed 5 nodes {share:.0%} rows", graph, rows, 1.02, spoil)
    for size, limit in ((5.0, 1.06), (10.0, 1.04)):
        spoil = {"value": "shift", "size": size}
        name = f"5 % rows x 5 nodes shift {size:g}"
        yield Case(f"{name} sd", graph, 1000, limit, spoil)
        yield Case(f"{name} noise sd", graph, 1000, limit, spoil, noise_units=True)


def wrong_cells(graph: str) -> Iterator[Case]:
    """Wrong values anywhere, or in whole rows."""
    for share, limit in ((0.05, 1.06), (0.1, 1.08)):
        for rows in (500, 1000):
            spoil = {"share": share, "pattern": "cells"}
            yield Case(f"{share:.0%} of all cells", graph, rows, limit, spoil)
    for share in (0.2, 0.4):
        spoil = {"share": share, "pattern": "rows"}
        yield Case(f"whole rows {share:.0%}", graph, 1000, 1.03, spoil)


def other_trouble(graph: str) -> Iterator[Case]:
    """Real events that spread, and nodes with next to no noise."""
    spoil = {"share": 0.05}
    yield Case("spreading 5 % rows x 5 nodes", graph, 1000, 1.25, spoil, spreads=True)
    yield Case("ill-conditioned", graph, 1000, 1.03, ill_conditioned=3)
    yield Case("ill-conditioned 5 % rows x 5", graph, 1000, 1.03, spoil, ill_conditioned=3)


class Quality(NamedTuple):
    """How near to the oracle."""

    ratio: float
    error: float
    """Jackknife standard error of the ratio."""
    worst: float
    """Largest ratio of a single repetition."""
    kl: float
    clean_kl: float
    """Mean KL divergence of least squares on as many clean rows."""
    changed: float
    """Share of the nodes that leave out rows."""
    precision: float
    """Share of the flagged cells that are wrong."""
    recall: float
    """Share of the wrong cells that are flagged."""


def quality(
    case: Case, repetitions: int, seed: int = 7, method: str = "sequential-trim"
) -> Quality:
    """Repeat a case with new networks and new rows."""
    found = [repeat(case, own, method) for own in children(seed, repetitions)]
    ours, best, clean, changed, hits, flagged, wrong = np.array(found, dtype=float).T
    jackknife = (ours.sum() - ours) / (best.sum() - best)
    return Quality(
        ours.sum() / best.sum(),
        np.sqrt((repetitions - 1) * jackknife.var()),
        np.max(ours / best),
        ours.mean(),
        clean.mean(),
        changed.mean(),
        hits.sum() / max(flagged.sum(), 1.0),
        hits.sum() / max(wrong.sum(), 1.0),
    )


def repeat(case: Case, seed: np.random.SeedSequence, method: str) -> tuple[float, ...]:
    """KL of robust, oracle and clean least squares; changed nodes; hits, flags, wrong cells."""
    problem = case.draw(seed)
    truth = problem.truth
    fit = problem.robust(case.intercept, method)
    clean = gn.fit(truth.sample(case.rows, seed=seed), truth.dag, intercept=case.intercept)
    flagged = problem.flags(fit)
    return (
        gn.kl_divergence(truth, fit.network),
        gn.kl_divergence(truth, problem.oracle(case.intercept)),
        gn.kl_divergence(truth, clean.network),
        len(fit.trimming.left_out) / len(truth.dag),
        np.count_nonzero(flagged & problem.wrong),
        np.count_nonzero(flagged),
        np.count_nonzero(problem.wrong),
    )
