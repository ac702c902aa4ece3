"""How often `method="auto"` calls clean data contaminated, and what it finds in spoilt data.

    python -m benchmarks.false_alarms [--repetitions 400] [--nodes 20] [--seed 1]

Alarms are the share of the data sets with at least one node called contaminated; on clean data
they are to stay below the level of 5 %. Trimmed is the share of clean data sets in which some node
left out a row: what a test that forgets that rows were chosen for being far off would call
contaminated. On spoilt data, found is the share of the spoilt columns that are called so, and
wrong the share of the others.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import gaussnet as gn
from gaussnet.seeds import children

SPOILT = {
    "clean": None,
    "5 % rows x 5 N(1000, 1)": {},
    "5 % rows x 5 Cauchy": {"value": "cauchy"},
    "5 % rows x 5 shift 5 sd": {"value": "shift", "size": 5.0},
    "5 % rows x 5 shift 3 sd": {"value": "shift", "size": 3.0},
    "fixed 5, 20 % of rows": {"pattern": "fixed", "share": 0.2},
    "fixed 5, 1 % of rows": {"pattern": "fixed", "share": 0.01},
}


def draw(graph: str, nodes: int, seed: np.random.SeedSequence) -> gn.GaussianNetwork:
    """A random network."""
    shape, weights = children(seed, 2)
    if graph == "tree":
        dag = gn.simulate.random_tree(nodes, seed=shape)
    else:
        dag = gn.simulate.erdos_renyi(nodes, 5, seed=shape)
    return gn.simulate.random_network(dag, seed=weights)


def repeat(
    graph: str, nodes: int, rows: int, spoil: dict | None, seed: np.random.SeedSequence
) -> tuple[float, ...]:
    """Alarm, trimmed, found and number of spoilt columns, wrong and number of others."""
    network, sample, wrong = children(seed, 3)
    truth = draw(graph, nodes, network)
    data, cells = truth.sample(rows, seed=sample), np.zeros((rows, nodes), dtype=bool)
    if spoil is not None:
        spoilt = gn.simulate.contaminate(data, seed=wrong, **spoil)
        data, cells = spoilt.data, spoilt.cells
    fit = gn.fit(data, truth.dag, "auto", threads=1)
    called = fit.contamination.adjusted <= 0.05
    touched = cells.any(axis=0)
    return (
        called.any(),
        bool(fit.trimming.left_out),
        np.count_nonzero(called & touched),
        np.count_nonzero(touched),
        np.count_nonzero(called & ~touched),
        np.count_nonzero(~touched),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.false_alarms", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| rows are | graph | rows | alarms | trimmed | found | wrong |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, spoil in SPOILT.items():
        if options.only not in name:
            continue
        count = options.repetitions if spoil is None else max(options.repetitions // 8, 10)
        for graph in ("er5", "tree"):
            for rows in options.rows:
                seeds = children(options.seed, count)
                results = [repeat(graph, options.nodes, rows, spoil, seed) for seed in seeds]
                alarm, trimmed, hits, spoilt, false, others = np.sum(results, axis=0)
                print(
                    f"| {name} | {graph} | {rows} | {alarm / count:.1%} | {trimmed / count:.1%} | "
                    f"{hits / max(spoilt, 1):.1%} | {false / max(others, 1):.2%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
