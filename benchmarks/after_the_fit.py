"""What people do after a fit, as ratios to the fit itself or to dense algebra.

Run alone: OPENBLAS_NUM_THREADS=1 python -m benchmarks.after_the_fit
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import gaussnet as gn
from benchmarks.sections import Line, at_most
from benchmarks.timing import best_times


def problem(nodes, rows):
    """A random graph of mean degree 5, its network, and rows as an array."""
    dag = gn.simulate.erdos_renyi(nodes, 5, seed=1)
    network = gn.simulate.random_network(dag, seed=1)
    return dag, network, np.array(network.sample(rows, seed=2))


def graph_checks(nodes=1_000, rows=2_000) -> list[Line]:
    """`check_graph` beside the fit that it checks."""
    dag, _, values = problem(nodes, rows)
    fit = gn.fit(values, dag)
    times = best_times({"fit": lambda: gn.fit(values, dag), "check": fit.check_graph})
    what = f"check_graph, {nodes:,} nodes x {rows:,} rows"
    return [at_most(what, times["check"] / times["fit"], "x least squares", 30)]


def frames(nodes=100, rows=5_000) -> list[Line]:
    """Least squares from data frames, and with standard errors, beside an array."""
    dag, _, values = problem(nodes, rows)
    names = list(dag.nodes)
    columns = {name: values[:, k].copy() for k, name in enumerate(names)}
    given = {
        "pandas, one block": pd.DataFrame(values, columns=names),
        "pandas, a block a column": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
    }
    runs = {name: lambda frame=frame: gn.fit(frame, dag) for name, frame in given.items()}
    runs["array"] = lambda: gn.fit(values, dag)
    runs["errors"] = lambda: gn.fit(values, dag).standard_errors
    times = best_times(runs)
    size = f"{nodes} x {rows:,}"
    lines = [
        at_most(f"{name}, {size}", times[name] / times["array"], "x array", 3) for name in given
    ]
    ratio = times["errors"] / times["array"]
    return [*lines, at_most(f"with standard errors, {size}", ratio, "x fit alone", 4)]


def answers() -> list[Line]:
    """Several targets beside dense algebra, and cells that are missing here and there."""
    network = gn.networks.load("arth150")
    nodes = list(network.dag.nodes)
    rows = np.array(network.sample(1_000, seed=1))
    given, targets = nodes[:5], nodes[50:55]
    frame = pd.DataFrame(rows[:, :5], columns=given)
    mean, cov = np.asarray(network.mean()), np.asarray(network.covariance())

    def dense():
        gain = np.linalg.solve(cov[:5, :5], cov[:5, 50:55])
        left = cov[50:55, 50:55] - cov[:5, 50:55].T @ gain
        return mean[50:55] + (rows[:, :5] - mean[:5]) @ gain, left.diagonal()

    _, large, values = problem(1_000, 200)
    values[np.random.default_rng(3).random(values.shape) < 0.01] = np.nan
    times = best_times(
        {
            "several": lambda: network.predict(frame, targets),
            "dense": dense,
            "impute": lambda: large.impute(values),
        }
    )
    what = "5 targets, 5 evidences, 1,000 rows, arth150"
    return [
        at_most(what, times["several"] / times["dense"], "x dense NumPy", 3),
        at_most("impute, 1,000 nodes x 200 rows, 1 % missing", 1e3 * times["impute"], "ms", 60),
    ]


def section() -> list[Line]:
    """All of them."""
    return [*graph_checks(), *frames(), *answers()]


if __name__ == "__main__":
    for line in section():
        print(f"{line.what:55} {line.figure:8.2f} {line.unit:18} {line.target} {line.met}")
