"""The robust method beside the oracle, which knows the wrong cells: quality, flags and speed.

    python -m benchmarks.robust [quality | flags | speed] [--repetitions 8] [--only WORDS]

The oracle is least squares of each equation over the rows in which the cells of the child and of
its parents are all right. Quality is the KL divergence from the truth over that of the oracle, a
ratio of means over repetitions.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

import gaussnet as gn
from gaussnet.estimate.robust import FLAGGED, RobustSolution, SequentialTrim
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

    def robust(self, intercept: bool) -> tuple[gn.GaussianNetwork, RobustSolution]:
        """The network that the robust method learns."""
        dag = self.truth.dag
        solution = SequentialTrim().learn(self.data, dag.families, dag.order, intercept=intercept)
        network = gn.GaussianNetwork.from_arrays(
            dag,
            solution.coefficients,
            solution.variances,
            solution.intercepts if intercept else None,
        )
        return network, solution

    def flags(self, solution: RobustSolution) -> np.ndarray:
        """The cells that the robust method calls wrong."""
        flagged = np.zeros(self.data.shape, dtype=bool)
        for node, cells in solution.cells.items():
            flagged[cells.rows[cells.statuses == FLAGGED], node] = True
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
        for value in ("gaussian", "cauchy"):
            for rows, limit in ((100, 1.05), (500, 1.04), (1000, 1.02), (3000, 1.02)):
                spoil = {"value": value}
                yield Case(f"5 % rows x 5 nodes {value}", graph, rows, limit, spoil)
        for share in (0.05, 0.1, 0.2, 0.3, 0.4):
            for rows in (1000, 3000):
                spoil = {"share": share, "pattern": "fixed"}
                yield Case(f"fixed 5 nodes {share:.0%} rows", graph, rows, 1.02, spoil)
        for size, limit in ((5.0, 1.06), (10.0, 1.04)):
            spoil = {"value": "shift", "size": size}
            yield Case(f"5 % rows x 5 nodes shift {size:g} sd", graph, 1000, limit, spoil)
            name = f"5 % rows x 5 nodes shift {size:g} noise sd"
            yield Case(name, graph, 1000, limit, spoil, noise_units=True)
        for share, limit in ((0.05, 1.06), (0.1, 1.08)):
            for rows in (500, 1000):
                spoil = {"share": share, "pattern": "cells"}
                yield Case(f"{share:.0%} of all cells", graph, rows, limit, spoil)
        for share in (0.2, 0.4):
            yield Case(
                f"whole rows {share:.0%}", graph, 1000, 1.03, {"share": share, "pattern": "rows"}
            )
        yield Case("spreading 5 % rows x 5 nodes", graph, 1000, 1.25, {}, spreads=True)
        yield Case("ill-conditioned", graph, 1000, 1.03, ill_conditioned=3)
        spoil = {"share": 0.05}
        name = "ill-conditioned 5 % rows x 5"
        yield Case(name, graph, 1000, 1.03, spoil, ill_conditioned=3)
    for graph in gn.networks.names():
        yield Case("real, clean", graph, 1000, 1.03)
        yield Case("real, fixed 5 x 20 %", graph, 1000, 1.03, {"share": 0.2, "pattern": "fixed"})
        yield Case("real, 5 % of all cells", graph, 1000, 1.03, {"share": 0.05, "pattern": "cells"})


def quality(case: Case, repetitions: int, intercept: bool) -> dict[str, float]:
    """Ratio of mean KL to the oracle's, and its jackknife standard error."""
    ours, best, clean, changed = [], [], [], []
    for seed in children(7, repetitions):
        problem = case.draw(seed)
        network, solution = problem.robust(intercept)
        ours.append(gn.kl_divergence(problem.truth, network))
        best.append(gn.kl_divergence(problem.truth, problem.oracle(intercept)))
        changed.append(len(solution.left_out) / len(problem.truth.dag))
    ratios = np.array([(sum(ours) - a) / (sum(best) - b) for a, b in zip(ours, best, strict=True)])
    error = np.sqrt((len(ratios) - 1) * ratios.var()) if len(ratios) > 1 else np.nan
    return {
        "ratio": float(sum(ours) / sum(best)),
        "error": float(error),
        "worst": float(np.max(np.divide(ours, best))),
        "changed": float(np.mean(changed)),
        "kl": float(np.mean(ours)),
    }


def print_quality(repetitions: int, only: str, intercept: bool) -> None:
    print(f"{'case':52} {'ratio':>8} {'+-':>6} {'limit':>6} {'worst':>8} {'KL':>8} changed")
    for case in quality_cases():
        if only not in str(case):
            continue
        found = quality(case, repetitions, intercept)
        verdict = "" if found["ratio"] <= case.limit else "MISSED"
        print(
            f"{case!s:52} {found['ratio']:8.3f} {found['error']:6.3f} {case.limit:6.3f} "
            f"{found['worst']:8.3f} {found['kl']:8.4f} {found['changed']:7.1%} {verdict}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robust", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--only", default="", help="cases whose name holds these words")
    parser.add_argument("--intercept", action="store_true")
    options = parser.parse_args()
    print_quality(options.repetitions, options.only, options.intercept)


if __name__ == "__main__":
    main()
