"""What people do after a fit, as ratios to the fit itself or to dense algebra.

Run alone: OPENBLAS_NUM_THREADS=1 python -m benchmarks.after_the_fit
How time grows with rows and nodes, and its picture:
OPENBLAS_NUM_THREADS=1 python -m benchmarks.after_the_fit growth
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import gaussnet as gn
from benchmarks.growth import Curve
from benchmarks.pictures import draw_curves
from benchmarks.sections import Line, at_most
from benchmarks.timing import best_times
from gaussnet.data.write import write_rows

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "after-the-fit-growth.png"


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


def long_graph_checks(nodes=30, rows=1_000_000) -> list[Line]:
    """The same of many rows, complete and with a cell in 20 missing."""
    dag, _, values = problem(nodes, rows)
    holes = values.copy()
    holes[np.random.default_rng(3).random(values.shape) < 0.05] = np.nan
    cases = {
        "complete": (values, "raise"),
        "5 % missing, by node": (holes, "drop-by-node"),
        "5 % missing, likelihood": (holes, "likelihood"),
    }
    lines = []
    for name, (given, missing) in cases.items():
        fit = gn.fit(given, dag, missing=missing)
        runs = {
            "fit": lambda given=given, missing=missing: gn.fit(given, dag, missing=missing),
            "check": fit.check_graph,
        }
        times = best_times(runs, repeats=2)
        what = f"check_graph, {nodes} x {rows:,}, {name}"
        lines.append(at_most(what, times["check"] / times["fit"], "x its fit", 5))
    return lines


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


def dense_answers(nodes=100, rows=20_000) -> list[Line]:
    """`impute` and `predict` beside dense algebra of one pattern; many rows beside a sum."""
    _, network, values = problem(nodes, rows)
    given = np.arange(nodes - 5)
    holes = values.copy()
    holes[:, nodes - 5 :] = np.nan
    mean, cov = np.asarray(network.mean()), np.asarray(network.covariance())

    def dense(source=holes, count=5):
        gain = np.linalg.solve(cov[np.ix_(given, given)], cov[given, nodes - 5 : nodes - 5 + count])
        filled = source.copy()
        known = source[:, : nodes - 5] - mean[given]
        filled[:, nodes - 5 : nodes - 5 + count] = (
            mean[nodes - 5 : nodes - 5 + count] + known @ gain
        )
        return filled

    target = network.dag.nodes[nodes - 5]
    _, small, many = problem(30, 1_000_000)
    times = best_times(
        {
            "dense 5": dense,
            "impute": lambda: network.impute(holes),
            "dense 1": lambda: dense(count=1),
            "predict": lambda: network.predict(holes, target),
            "sum": many.sum,
            "predict many": lambda: small.predict(many, small.dag.nodes[-1]),
        },
        repeats=3,
    )
    size, ratio = f"{nodes} nodes x {rows:,} rows", times["predict many"] / times["sum"]
    return [
        at_most(f"impute 5, {size}", times["impute"] / times["dense 5"], "x dense NumPy", 5),
        at_most(f"predict, {size}", times["predict"] / times["dense 1"], "x dense NumPy", 5),
        at_most("predict, 1,000,000 rows x 30", ratio, "x X.sum()", 5),
    ]


def plans(nodes=5_000) -> list[Line]:
    """Plans and certificates of a large graph, by method and law; each question is new."""
    dag, lines = gn.simulate.erdos_renyi(nodes, 5, seed=1), []
    tree = gn.simulate.random_tree(nodes, seed=1)
    asked = {
        "plan, least squares, exact": lambda: gn.plan(dag, tv=0.1, law="exact"),
        "plan, least squares, union": lambda: gn.plan(dag, tv=0.1, law="union"),
        "plan, batch-average, exact": lambda: gn.plan(
            dag, tv=0.1, law="exact", method="batch-average"
        ),
        "plan, cauchy-tree, exact": lambda: gn.plan(
            tree, tv=0.1, law="exact", method="cauchy-tree"
        ),
        "certify, batch-average": lambda: gn.certify(dag, rows=10**6, method="batch-average"),
    }
    for name, ask in asked.items():
        start = time.process_time()
        ask()
        took = time.process_time() - start
        lines.append(at_most(f"{name}, {nodes:,} nodes", took, "s CPU", 0.5))
    return lines


def robust(nodes=300, rows=2_000) -> list[Line]:
    """Standard errors and the test of contamination beside the robust fit."""
    dag, _, values = problem(nodes, rows)
    hit = np.random.default_rng(3).random(values.shape) < 0.02
    values[hit] += np.random.default_rng(4).normal(0.0, 50.0, np.count_nonzero(hit))
    fit = gn.fit(values, dag, "robust")
    times = best_times(
        {
            "fit": lambda: gn.fit(values, dag, "robust"),
            "errors": lambda: gn.fit(values, dag, "robust").uncertainty(),  # a fit keeps them
            "auto": lambda: gn.fit(values, dag, "auto"),
            "check": fit.check_graph,
        },
        repeats=2,
    )
    times["errors"] = max(times["errors"] - times["fit"], 0.0)
    size = f"{nodes} x {rows:,}, 2 % wrong"
    limits = {"errors": 3, "auto": 3, "check": 30}
    return [
        at_most(f"robust {name}, {size}", times[name] / times["fit"], "x robust fit", limit)
        for name, limit in limits.items()
    ]


def distances(nodes=1_000) -> list[Line]:
    """Hellinger and total variation beside KL and sampling."""
    dag, network, values = problem(nodes, 2_000)
    other = gn.fit(values, dag).network
    draws = gn.total_variation(network, other, accuracy=0.01).samples
    times = best_times(
        {
            "kl": lambda: gn.kl_divergence(network, other),
            "hellinger": lambda: gn.hellinger(network, other),
            "tv": lambda: gn.total_variation(network, other, accuracy=0.01),
            "sampling": lambda: network.sample(draws, seed=1),
        },
        repeats=2,
    )
    allowed = 20 * times["kl"] + times["sampling"]
    return [
        at_most(f"hellinger, {nodes:,} nodes", times["hellinger"] / times["kl"], "x KL", 20),
        at_most(f"TV to 1 %, {nodes:,} nodes", times["tv"] / allowed, "x (20 KL + sampling)", 1),
    ]


def shell(nodes=100) -> list[Line]:
    """Commands from their start to their end, the second time, so that all is compiled."""
    dag, _, values = problem(nodes, 50_000)
    with TemporaryDirectory() as folder:
        (Path(folder) / "graph.txt").write_text(
            "".join(
                f"[{node}|{':'.join(dag.parents(node))}]".replace("|]", "]") for node in dag.nodes
            )
        )
        for rows in (500, 50_000):
            write_rows(Path(folder) / f"{rows}.csv", dag.nodes, [values[:rows]])
        (Path(folder) / "rival.R").write_text(RIVAL)
        (plan,) = _commands(folder, [[*GAUSSNET, "plan", "graph.txt", "--tv", "0.1"]])
        lines = [at_most(f"gaussnet plan, {nodes} nodes", plan, "s CPU", 0.6)]
        return lines + [
            _shell_fit(folder, f"gaussnet fit, {rows:,} rows, {nodes} nodes", f"{rows}.csv", limit)
            for rows, limit in ((500, 0.25), (50_000, 0.6))
        ]


GAUSSNET = [sys.executable, "-m", "gaussnet"]
RIVAL = """suppressMessages({library(data.table); library(bnlearn)})
asked <- commandArgs(TRUE)
rows <- as.data.frame(fread(asked[1]))
print(bn.fit(model2network(readChar(asked[2], file.size(asked[2]))), rows))
"""
"""A fit of the same rows over the same graph by R."""


def _shell_fit(folder: str, what: str, rows: str, limit: float) -> Line:
    """A fit from the shell beside R's, in turns; beside a fixed limit where R is not at hand."""
    own = [*GAUSSNET, "fit", rows, "--dag", "graph.txt"]
    if not _has_rival():
        return at_most(what, _commands(folder, [own])[0], "s CPU", limit)
    took, rival = _commands(folder, [own, ["Rscript", "rival.R", rows, "graph.txt"]])
    return at_most(what, took / rival, "x R, fread and bn.fit", 0.9)


def _has_rival() -> bool:
    """Whether R, data.table and bnlearn are at hand."""
    asked = "quit(status = !all(sapply(c('data.table', 'bnlearn'), requireNamespace)))"
    if shutil.which("Rscript") is None:
        return False
    return not subprocess.run(["Rscript", "-e", asked], check=False, capture_output=True).returncode


def _commands(folder: str, commands: list[list[str]]) -> list[float]:
    """The least CPU seconds of each command, of five rounds; in the first all is compiled."""
    left_out = {"PYTHONDONTWRITEBYTECODE"}
    environment = {key: text for key, text in os.environ.items() if key not in left_out}
    environment["OMP_NUM_THREADS"] = "1"
    found = np.full((5, len(commands)), np.inf)
    for times in found:
        for index, command in enumerate(commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[index] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [float(least) for least in found.min(axis=0)]


def bounded_problem(nodes, rows):
    """A graph in which two of the ten nodes before a node are its parents, and rows."""
    rng, names = np.random.default_rng(1), [f"X{k}" for k in range(nodes)]
    edges = [
        (names[parent], names[child])
        for child in range(2, nodes)
        for parent in rng.choice(np.arange(max(child - 10, 0), child), 2, replace=False)
    ]
    dag = gn.Dag.from_edges(edges, nodes=names)
    network = gn.simulate.random_network(dag, seed=1, weights=(0.2, 0.6))
    return dag, network, np.array(network.sample(rows, seed=2))


def growth(counts: list[int], made: Callable[[int], tuple[int, int]]) -> Curve:
    """CPU seconds of calls on graphs of degree 4; `made` gives nodes and rows of a count."""
    curves: Curve = {}
    for count in counts:
        calls = _calls(*bounded_problem(*made(count)))
        for name, took in best_times(calls, seconds=0.1, repeats=5).items():
            curves.setdefault(name, {})[count] = took
    return curves


def _calls(
    dag: gn.Dag, network: gn.GaussianNetwork, values: np.ndarray
) -> dict[str, Callable[[], object]]:
    """Every public call on rows, fits and networks.

    About a third of the rows lack a cell where cells are missing, and one cell in 100 is wrong
    where cells are flagged.
    """
    rng = np.random.default_rng(3)
    holes, dirty = values.copy(), values.copy()
    holes[rng.random(values.shape) < 0.3 / values.shape[1]] = np.nan
    hit = rng.random(values.shape) < 0.01
    dirty[hit] += rng.normal(0.0, 50.0, np.count_nonzero(hit))
    fit, robust = gn.fit(values, dag), gn.fit(dirty, dag, "robust")
    summary, last = gn.summarize(values, dag), dag.nodes[-1]
    first = {node: 1.0 for node in dag.nodes[:3]}
    return {
        "fit": lambda: gn.fit(values, dag),
        "fit, robust": lambda: gn.fit(dirty, dag, "robust"),
        "fit, auto": lambda: gn.fit(dirty, dag, "auto"),
        "fit, likelihood": lambda: gn.fit(holes, dag, missing="likelihood"),
        "fit, drop by node": lambda: gn.fit(holes, dag, missing="drop-by-node"),
        "fit, batch median": lambda: gn.fit(values, dag, gn.BatchMedian(20)),
        "standard errors": fit.uncertainty,
        "standard errors, robust": robust.uncertainty,
        "node table": fit.node_table,
        "residuals": fit.residuals,
        "outliers": robust.outliers,
        "cleaned": robust.cleaned,
        "check of the graph": fit.check_graph,
        "check of drift": lambda: gn.check_drift(fit, values),
        "cross-validation": lambda: gn.cross_validate(values, dag, ("least-squares",), folds=3),
        "summarize": lambda: gn.summarize(values, dag),
        "fit of a summary": lambda: gn.solve(summary),
        "log density": lambda: network.log_density(values),
        "sample": lambda: network.sample(len(values), seed=1),
        "predict one node": lambda: network.predict(values, last),
        "predict with errors": lambda: fit.predict(values, last),
        "impute": lambda: network.impute(holes),
        "condition": lambda: network.condition(first),
        "effect": lambda: fit.effect(dag.nodes[0], last),
        "KL": lambda: gn.kl_divergence(network, fit.network),
        "Hellinger": lambda: gn.hellinger(network, fit.network),
        "total variation": lambda: gn.total_variation(network, fit.network, samples=2_000, seed=1),
        "plan": lambda: gn.plan(dag, tv=0.1),
        "certificate": lambda: gn.certify(dag, rows=len(values)),
    }


def slope(curve: dict[float, float]) -> float:
    """Of the logarithm of the time against that of the count, over the last three points."""
    points = np.log(np.array(list(curve.items())[-3:]))
    return float(np.polyfit(*points.T, 1)[0])


def section() -> list[Line]:
    """All of them."""
    large = [*graph_checks(5_000), *frames(1_000, 10_000)]
    answered = [*answers(), *dense_answers(), *plans(), *robust(), *distances(), *shell()]
    return [*graph_checks(), *long_graph_checks(), *frames(), *large, *answered]


def show_growth() -> None:
    """Print the slopes, and draw the curves."""
    curves = {
        "rows": growth([1_000, 4_000, 16_000], lambda rows: (30, rows)),
        "nodes": growth([50, 200, 800], lambda nodes: (nodes, 500)),
    }
    print("| call | rows | nodes |\n|---|---:|---:|")
    for name in curves["rows"]:
        print(
            f"| {name} | {slope(curves['rows'][name]):.2f} | {slope(curves['nodes'][name]):.2f} |"
        )
    draw_curves(curves, PICTURE)


if __name__ == "__main__":
    if sys.argv[1:] == ["growth"]:
        show_growth()
    else:
        for line in section():
            print(f"{line.what:55} {line.figure:8.2f} {line.unit:18} {line.target} {line.met}")
