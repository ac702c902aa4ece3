"""Sequential trimming (or robust) beside the oracle and beside least squares.

    python -m benchmarks.robust quality [--repetitions 8] [--only WORDS] [--intercept] [--seed 7]
    python -m benchmarks.robust speed
    python -m benchmarks.robust rivals [--nodes 10] [--alone]: see benchmarks/robust_rivals.py

The first prints KL divergence over that of the oracle and how wrong cells are flagged, the second
CPU times over those of least squares.
"""

import argparse
import os
from dataclasses import replace
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import gaussnet as gn
from benchmarks.robust_cases import Problem, quality, quality_cases
from benchmarks.robust_rivals import print_rivals
from benchmarks.timing import best_times
from benchmarks.workloads import Workload
from gaussnet.seeds import children

RLM_NODES = 10
"""Nodes that the rival is timed on."""


def print_quality(options: argparse.Namespace) -> None:
    """The table of all cases."""
    print(
        f"{'case':52} {'ratio':>8} {'+-':>6} {'limit':>6} {'worst':>7} {'KL':>8} {'clean':>8} "
        f"{'changed':>8} {'precis.':>8} {'recall':>8}"
    )
    for case in quality_cases():
        if options.only not in str(case):
            continue
        whole = replace(case, intercept=case.intercept or options.intercept)
        found = quality(whole, options.repetitions, options.seed, options.method)
        missed = found.ratio > case.limit or (case.spreads and found.kl > found.clean_kl)
        print(
            f"{case!s:52} {found.ratio:8.3f} {found.error:6.3f} {case.limit:6.3f} "
            f"{found.worst:7.3f} {found.kl:8.4f} {found.clean_kl:8.4f} {found.changed:8.1%} "
            f"{found.precision:8.4f} {found.recall:8.4f} {'MISSED' if missed else ''}",
            flush=True,
        )


def speed_cases() -> dict[str, tuple["gn.simulate.Contamination | None", float]]:
    """What is wrong with the rows, and how many times the time of least squares it may cost."""
    wrong = gn.simulate.Contamination
    return {
        "nothing": (None, 5.0),
        "5 columns in 20 % of the rows": (wrong(0.2, pattern="fixed"), 25.0),
        "5 cells of 5 % of the rows": (wrong(), 25.0),
        "2 % of all cells": (wrong(0.02, pattern="cells"), 25.0),
        "5 % of all cells": (wrong(0.05, pattern="cells"), 25.0),
        "10 % of all cells": (wrong(0.1, pattern="cells"), 25.0),
        "all cells of 20 % of the rows": (wrong(0.2, pattern="rows"), 25.0),
    }


def speed_graphs(rows: int) -> dict[str, tuple[gn.Dag, np.ndarray]]:
    """A random graph and a tree of 100 nodes, and clean rows of networks on them."""
    work = Workload("speed", 100, rows)
    tree = gn.simulate.random_tree(100, seed=3)
    sample = gn.simulate.random_network(tree, seed=4).sample(rows, seed=5)
    return {"random graph": (work.dag, work.data), "tree": (tree, sample)}


def print_speed(rows: int = 5_000, rounds: int = 40) -> None:
    """CPU time over that of least squares, the least of many rounds in turns."""
    print(f"{rows:,} rows, ms of CPU on one thread: least squares, robust, ratio, limit")
    for graph, (dag, clean) in speed_graphs(rows).items():
        for name, (settings, limit) in speed_cases().items():
            data = clean if settings is None else spoil(clean, settings)
            times = best_times(
                {
                    "least squares": lambda d=data, g=dag: gn.fit(d, g, threads=1),
                    "robust": lambda d=data, g=dag: gn.fit(d, g, "sequential-trim", threads=1),
                },
                seconds=20.0,
                repeats=rounds,
            )
            least, ours = times["least squares"], times["robust"]
            print(
                f"{graph:12} {name:30} {least * 1e3:7.2f} {ours * 1e3:8.2f} {ours / least:6.1f} "
                f"{limit:5.0f} {'MISSED' if ours / least > limit else ''}",
                flush=True,
            )
    print_clean(rows)
    print_rival(rows)


def print_clean(rows: int, graphs: int = 8) -> None:
    """The same on clean rows of several graphs: least squares is dear where digits are lacking."""
    make = {
        "random graph": partial(gn.simulate.erdos_renyi, degree=5),
        "tree": gn.simulate.random_tree,
    }
    for name, draw in make.items():
        found = []
        for seeds in (children(seed, 3) for seed in range(graphs)):
            dag = draw(100, seed=seeds[0])
            data = gn.simulate.random_network(dag, seed=seeds[1]).sample(rows, seed=seeds[2])
            runs = {
                method: lambda m=method, d=data, g=dag: gn.fit(d, g, m, threads=1)
                for method in ("least-squares", "sequential-trim")
            }
            found.append(list(best_times(runs, repeats=20).values()))
        least, ours = np.array(found).T
        ratios = np.sort(ours / least).round(1).tolist()
        print(
            f"{name:12} nothing, {graphs} graphs: {ours.sum() / least.sum():.1f} in all, {ratios}"
        )


def print_rival(rows: int) -> None:
    """CPU time and KL of Huber's regression node by node, beside ours; roots are left out."""
    work = Workload("rival", 100, rows)
    data, truth = spoil(work.data, gn.simulate.Contamination()), random_truth(work)
    problem = Problem(truth, data, np.zeros(data.shape, dtype=bool))
    chosen = np.flatnonzero(work.dag.families.sizes)
    few = chosen[:RLM_NODES]
    times = best_times(
        {
            "ours": lambda: problem.robust(True),
            "rival": lambda: huber_network(work.dag, data, few),
        }
    )
    ratio = times["rival"] * len(chosen) / len(few) / times["ours"]
    networks = (huber_network(work.dag, data, chosen), problem.robust(True).network)
    names = [work.dag.nodes[node] for node in chosen]
    theirs, ours = (
        sum(gn.kl_by_node(truth, network)[name] for name in names) for network in networks
    )
    print(
        f"statsmodels RLM, {rows:,} rows, 5 % rows x 5 nodes: {ratio:.0f} x our time, "
        f"KL without roots {theirs:.3g} against {ours:.3g}"
    )


def huber_network(dag: gn.Dag, data: np.ndarray, nodes: np.ndarray) -> gn.GaussianNetwork:
    """Huber's regression for some nodes; the others keep mean and variance of their column."""
    from statsmodels.api import RLM, add_constant

    families = dag.families
    coefficients = np.zeros(len(families.parents))
    variances, intercepts = data.var(axis=0), data.mean(axis=0)
    for node in nodes:
        edges = slice(families.offsets[node], families.offsets[node + 1])
        found = RLM(data[:, node], add_constant(data[:, families.parents[edges]])).fit()
        coefficients[edges], intercepts[node] = found.params[1:], found.params[0]
        variances[node] = found.scale**2
    return gn.GaussianNetwork.from_arrays(dag, coefficients, variances, intercepts)


def spoil(data: np.ndarray, settings: "gn.simulate.Contamination") -> np.ndarray:
    """The data with wrong values in them."""
    rng = np.random.default_rng(1)
    cells = settings.choose_cells(data.shape, rng)
    return settings.write(data, cells, data.std(axis=0), rng)


def random_truth(work: Workload) -> gn.GaussianNetwork:
    """The network that a workload's rows come from."""
    from gaussnet.seeds import children

    return gn.simulate.random_network(work.dag, seed=children(work.nodes, 3)[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robust", description=__doc__)
    parser.add_argument("what", choices=("quality", "speed", "rivals"))
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--only", default="", help="cases whose name holds these words")
    parser.add_argument("--intercept", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--method", default="sequential-trim", help="or robust")
    parser.add_argument("--nodes", type=int, default=10, help="for rivals")
    parser.add_argument("--alone", action="store_true", help="rivals: without them")
    options = parser.parse_args()
    if options.what == "speed":
        print_speed()
    elif options.what == "rivals":
        settings = (options.nodes, options.repetitions, options.seed, options.only, options.alone)
        print_rivals(*settings)
    else:
        print_quality(options)


if __name__ == "__main__":
    main()
