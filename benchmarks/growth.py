"""How time grows with rows, nodes, parents and threads."""

import time
from collections.abc import Callable

import numpy as np

import gaussnet as gn
from benchmarks.timing import best_times
from benchmarks.workloads import Workload

Curve = dict[str, dict[float, float]]
METHODS = {
    "least-squares": gn.LeastSquares(),
    "batch-median": gn.BatchMedian(20),
    "cauchy-tree": gn.CauchyTree(),
    "cauchy": gn.Cauchy(),
}


def by_rows(largest: int) -> Curve:
    """100 nodes; rows from 1,000 upwards."""
    work = Workload("rows", 100, largest)
    counts = [rows for rows in (1_000, 10_000, 100_000, 1_000_000) if rows <= largest]
    return _curves(counts, lambda rows: (work.data[: int(rows)], work.dag))


def by_nodes(largest: int) -> Curve:
    """2,000 rows; nodes from 100 upwards."""
    counts = [nodes for nodes in (100, 300, 1_000, 3_000, 10_000) if nodes <= largest]

    def problem(nodes: float) -> tuple[np.ndarray, gn.Dag]:
        work = Workload("nodes", int(nodes), 2_000)
        return work.data, work.dag

    return _curves(counts, problem)


def by_parents() -> Curve:
    """100 children that share p parents; 20,000 rows."""

    def problem(parents: float) -> tuple[np.ndarray, gn.Dag]:
        dag = gn.simulate.bipartite(int(parents), 100)
        truth = gn.simulate.random_network(dag, seed=0)
        return truth.sample(20_000, seed=1), dag

    return _curves([1, 2, 3, 4, 5, 6, 8, 10], problem)


def by_threads(work: Workload, most: int) -> Curve:
    """Wall time by number of threads."""
    curves: Curve = {}
    for name, method in METHODS.items():
        curves[name] = {}
        for threads in range(1, most + 1):
            runs = [_wall(lambda m=method, t=threads: gn.fit(work.data, work.dag, m, threads=t))]
            runs += [_wall(lambda m=method, t=threads: gn.fit(work.data, work.dag, m, threads=t))]
            curves[name][threads] = min(runs)
    return curves


def _curves(counts: list[int], problem: Callable[[float], tuple[np.ndarray, gn.Dag]]) -> Curve:
    curves: Curve = {name: {} for name in METHODS}
    for count in counts:
        data, dag = problem(count)
        runs = {
            name: lambda method=method, data=data, dag=dag: gn.fit(data, dag, method, threads=1)
            for name, method in METHODS.items()
        }
        for name, took in best_times(runs, seconds=0.5, repeats=5).items():
            curves[name][count] = took
    return curves


def _wall(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
