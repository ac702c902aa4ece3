"""How often confidence intervals hold the truth on clean rows, and robust ones on spoilt rows.

    python -m benchmarks.coverage [--rows 200 1000] [--copies 500] [--fits 8] [--level 0.95]
    python -m benchmarks.coverage --method robust|sequential-trim

One graph holds many copies of a family, so that one fit is many repetitions.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

import gaussnet as gn

METHODS = {
    "least-squares": gn.LeastSquares(),
    "batch-average": gn.BatchAverage(20),
    "batch-median": gn.BatchMedian(20),
    "cauchy-tree": gn.CauchyTree(),
    "cauchy-tree sliding": gn.CauchyTree("sliding"),
    "cauchy": gn.Cauchy(),
    "cauchy sliding": gn.Cauchy("sliding"),
}
SCALES = ("mean-square", "mad")
SPOILT = {
    "clean": {},
    "5 % cells N(1000, 1)": {"share": 0.05},
    "5 % cells Cauchy(1000, 1)": {"share": 0.05, "value": "cauchy"},
    "5 % cells shifted 10 sd": {"share": 0.05, "value": "shift"},
    "10 % cells N(1000, 1)": {"share": 0.1},
}
"""Ways for the rows to go wrong that the robust method is asked about."""


def copies_of_a_family(parents: int, copies: int, intercept: bool = True) -> gn.GaussianNetwork:
    """Copies of a node whose parents form a chain, so that they are correlated."""
    names = [*(f"p{index}" for index in range(parents)), "y"]
    chain = list(pairwise(names[:-1]))
    edges = [*chain, *((name, "y") for name in names[:-1])]
    nodes = [f"{name} {copy}" for copy in range(copies) for name in names]
    dag = gn.Dag.from_edges(
        [(f"{a} {copy}", f"{b} {copy}") for copy in range(copies) for a, b in edges], nodes=nodes
    )
    rng = np.random.default_rng(parents)
    weights = rng.uniform(0.5, 1.5, len(edges)) * rng.choice([-1.0, 1.0], len(edges))
    by_edge = {
        (f"{a} {copy}", f"{b} {copy}"): weight
        for copy in range(copies)
        for (a, b), weight in zip(edges, weights.tolist(), strict=True)
    }
    noise = np.tile(np.linspace(0.5, 3.0, parents + 1), copies)
    constants = np.tile(np.linspace(2.0, -1.0, parents + 1), copies)
    return gn.GaussianNetwork(
        dag,
        by_edge,
        dict(zip(nodes, noise.tolist(), strict=True)),
        dict(zip(nodes, constants.tolist(), strict=True)) if intercept else None,
    )


def share_covered(
    truth: gn.GaussianNetwork, rows: int, fits: int, level: float = 0.95, **settings: object
) -> dict[str, tuple[float, int]]:
    """Share of the intervals of the nodes "y" that hold the truth, and their number."""
    kind, spoil = settings.pop("kind", None), settings.pop("spoil", None)
    chosen = np.array([name.startswith("y ") for name in truth.dag.nodes])
    edges = np.array([child.startswith("y ") for _, child in truth.dag.edges], dtype=bool)
    held: dict[str, list[np.ndarray]] = {"coefficients": [], "intercepts": [], "variances": []}
    for seed in range(fits):
        data = truth.sample(rows, seed=seed)
        if spoil:
            data = gn.simulate.contaminate(data, seed=seed, **{"pattern": "cells", **spoil}).data
        fit = gn.fit(data, truth.dag, **settings)
        found = fit.uncertainty(kind, level=level).confidence_intervals
        for part, own in (("coefficient", edges), ("intercept", chosen), ("variance", chosen)):
            low, high = getattr(found, f"{part}_array")[own].T
            value = getattr(truth, f"{part}_array")[own]
            held[f"{part}s"].append((low <= value) & (value <= high))
    return {part: (float(np.mean(hits)), np.size(hits)) for part, hits in held.items()}


def table(options: argparse.Namespace) -> Iterator[str]:
    yield "| method | scale | parents | rows | coefficients | intercepts | variances |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for parents in options.parents:
        truth = copies_of_a_family(parents, options.copies)
        for rows in options.rows:
            for name, method in METHODS.items():
                if options.method and name not in options.method:
                    continue
                for scale in SCALES:
                    found = share_covered(
                        truth, rows, options.fits, options.level, method=method, scale=scale
                    )
                    shares = " | ".join(f"{100 * share:.1f}" for share, _ in found.values())
                    yield f"| {name} | {scale} | {parents} | {rows} | {shares} |"


def robust_table(options: argparse.Namespace) -> Iterator[str]:
    """A robust method on clean and on spoilt rows; +- is the binomial error by families."""
    yield "| rows are | parents | rows | coefficients | intercepts | variances | +- |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    error = 100 * np.sqrt(options.level * (1 - options.level) / (options.copies * options.fits))
    for parents in options.parents:
        truth = copies_of_a_family(parents, options.copies)
        for rows in options.rows:
            for name, spoil in SPOILT.items():
                found = share_covered(
                    truth, rows, options.fits, options.level, method=options.method[0], spoil=spoil
                )
                shares = " | ".join(f"{100 * share:.1f}" for share, _ in found.values())
                yield f"| {name} | {parents} | {rows} | {shares} | {error:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--parents", type=int, nargs="+", default=[1, 2, 5])
    parser.add_argument("--copies", type=int, default=500)
    parser.add_argument("--fits", type=int, default=8)
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--method", nargs="*")
    options = parser.parse_args()
    is_robust = options.method in (["robust"], ["sequential-trim"])
    lines = robust_table if is_robust else table
    for line in lines(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
