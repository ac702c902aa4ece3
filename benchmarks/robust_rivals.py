"""The robust method beside other programs that survive wrong cells: quality and time.

    python -m benchmarks.robust rivals [--nodes 10] [--repetitions 10] [--seed 611] [--only WORDS]
                                       [--alone]

400 rows of random networks of mean degree 3, weights +-[0.3, 1.5]. Rivals are cellMCD, DetMCD and
DDC of robpy and lmrob of R's robustbase, as far as they are installed; a mean and a covariance
matrix become a network by the regressions of its families. Figures are KL divergences, their sum
over the data sets divided by that of least squares from the rows of each family without a wrong
cell.
"""

import re
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gaussnet as gn
from gaussnet.seeds import children

ROWS, DEGREE = 400, 3

CASES = (
    "none",
    "10 % of cells, k = 3",
    "20 % of cells, k = 3",
    "10 % of cells, k = 6",
    "structured 10 %, gamma 2",
    "structured 10 %, gamma 4",
    "structured 20 %, gamma 2",
    "structured 20 %, gamma 4",
    "structured 20 %, gamma 10",
    "5 % drawn again",
    "3 % signs flipped",
    "20 % of rows without dependence",
    "20 % of rows of another network",
    "20 % of rows in a cluster",
)


class Problem(NamedTuple):
    """A network, rows of it, and which cells are wrong."""

    truth: gn.GaussianNetwork
    rows: np.ndarray
    wrong: np.ndarray


def draw(case: str, nodes: int, seed: np.random.SeedSequence) -> Problem:
    """A new network, new rows and new errors."""
    graph, sample, spoil, other = children(seed, 4)
    dag, rng = gn.simulate.erdos_renyi(nodes, DEGREE, seed=graph), np.random.default_rng(spoil)
    truth, strange = _network(dag, rng), _network(dag, rng)
    clean = np.array(truth.sample(ROWS, seed=sample))
    deviations = np.sqrt(np.diag(truth.covariance()))
    numbers = [float(number) for number in re.findall(r"\d+", case)]
    share, last = (numbers[0] / 100.0, numbers[-1]) if numbers else (0.0, 0.0)
    cells = rng.random(clean.shape) < share
    if "rows" in case:
        cells = np.repeat(rng.random((ROWS, 1)) < share, nodes, axis=1)
    if "structured" in case:
        written = _structured(clean, cells, truth.covariance(), last)
    elif "k =" in case:
        written = clean + deviations * rng.normal(last, 1.0, clean.shape)
    elif "again" in case:
        written = rng.permuted(clean, axis=0)
    elif "flipped" in case:
        written = -clean
    elif "another network" in case:
        written = np.array(strange.sample(ROWS, seed=other))
    elif "without dependence" in case:
        written = deviations * rng.standard_normal(clean.shape)
    else:
        centre = 3.0 * rng.choice([-1.0, 1.0], nodes)
        written = deviations * (centre + 0.3 * rng.standard_normal(clean.shape))
    return Problem(truth, np.where(cells, written, clean), cells)


def _network(dag: gn.Dag, rng: np.random.Generator) -> gn.GaussianNetwork:
    count = len(dag.families.parents)
    slopes = rng.uniform(0.3, 1.5, count) * rng.choice([-1.0, 1.0], count)
    return gn.GaussianNetwork.from_arrays(dag, slopes, np.ones(len(dag)))


def _structured(
    clean: np.ndarray, cells: np.ndarray, covariance: np.ndarray, gamma: float
) -> np.ndarray:
    """Wrong cells of a row along the direction in which they vary least (Raymaekers and Rousseeuw,
    2024): no cell stands out by itself."""
    written = clean.copy()
    for row in np.flatnonzero(cells.any(axis=1)):
        own = np.flatnonzero(cells[row])
        values, vectors = np.linalg.eigh(covariance[np.ix_(own, own)])
        written[row, own] = gamma * np.sqrt(len(own) * values[0]) * vectors[:, 0]
    return written


def from_covariance(dag: gn.Dag, mean: np.ndarray, covariance: np.ndarray) -> gn.GaussianNetwork:
    """The regressions of all families that a mean and a covariance imply."""
    slopes, variances, constants = [], [], []
    for child, (first, last) in enumerate(zip(*_spans(dag), strict=True)):
        own = dag.families.parents[first:last]
        beta = np.linalg.lstsq(covariance[np.ix_(own, own)], covariance[own, child], rcond=None)[0]
        slopes.extend(beta)
        variances.append(max(covariance[child, child] - beta @ covariance[own, child], 1e-9))
        constants.append(mean[child] - beta @ mean[own])
    return gn.GaussianNetwork.from_arrays(dag, np.array(slopes), variances, constants)


def _spans(dag: gn.Dag) -> tuple[np.ndarray, np.ndarray]:
    return dag.families.offsets[:-1], dag.families.offsets[1:]


Method = Callable[[gn.Dag, np.ndarray], gn.GaussianNetwork]


def rivals() -> Iterator[tuple[str, Method]]:
    """Those that are installed."""
    if find_spec("robpy") and find_spec("seaborn"):
        yield "cellMCD", _cell_mcd
        yield "DetMCD", _det_mcd
        yield "DDC", _ddc
    if shutil.which("Rscript"):
        asked = ["Rscript", "-e", "library(robustbase)"]
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            yield "lmrob", _lmrob


def _cell_mcd(dag: gn.Dag, rows: np.ndarray) -> gn.GaussianNetwork:
    from robpy.covariance import CellMCD

    found = CellMCD().fit(rows)
    return from_covariance(dag, found.location_, found.covariance_)


def _det_mcd(dag: gn.Dag, rows: np.ndarray) -> gn.GaussianNetwork:
    from robpy.covariance import DetMCD

    found = DetMCD(alpha=0.75).fit(rows)
    return from_covariance(dag, found.location_, found.covariance_)


def _ddc(dag: gn.Dag, rows: np.ndarray) -> gn.GaussianNetwork:
    import pandas as pd
    from robpy.outliers import DDC

    frame = pd.DataFrame(rows, columns=list(dag.nodes))
    imputed = DDC().fit(frame).impute(frame)
    return gn.fit(imputed, dag).network


LMROB = """
args <- commandArgs(TRUE); suppressMessages(library(robustbase))
x <- as.matrix(read.csv(args[1], header=FALSE)); families <- readLines(args[2])
set.seed(1)
for (line in families) {
  own <- as.integer(strsplit(line, " ")[[1]]); y <- x[, own[1]]
  fit <- tryCatch(if (length(own) > 1) lmrob(y ~ x[, own[-1]], setting="KS2014")
                  else lmrob(y ~ 1, setting="KS2014"), error=function(e) NULL)
  if (is.null(fit)) cat(rep(NaN, length(own) + 1), "\\n")
  else cat(coef(fit), fit$scale^2, "\\n")
}
"""


def _lmrob(dag: gn.Dag, rows: np.ndarray) -> gn.GaussianNetwork:
    with tempfile.TemporaryDirectory() as folder:
        script, table, graph = (Path(folder) / name for name in ("fit.R", "x.csv", "graph"))
        script.write_text(LMROB)
        np.savetxt(table, rows, delimiter=",")
        spans = zip(*_spans(dag), strict=True)
        own = [[i, *dag.families.parents[a:b].tolist()] for i, (a, b) in enumerate(spans)]
        graph.write_text("".join(" ".join(str(i + 1) for i in line) + "\n" for line in own))
        asked = ["Rscript", str(script), str(table), str(graph)]
        printed = subprocess.run(asked, capture_output=True, check=True, text=True).stdout
    lines = [np.array(line.split(), dtype=float) for line in printed.splitlines()]
    slopes = np.concatenate([line[1:-1] for line in lines])
    return gn.GaussianNetwork.from_arrays(
        dag, slopes, [line[-1] for line in lines], [line[0] for line in lines]
    )


def _ours(dag: gn.Dag, rows: np.ndarray) -> gn.GaussianNetwork:
    return gn.fit(rows, dag, "robust", columns=dag.nodes, threads=1).network


def measure(
    case: str, nodes: int, seeds: Sequence[np.random.SeedSequence], methods: dict[str, Method]
) -> tuple[np.ndarray, np.ndarray]:
    """KL over the oracle's and mean CPU or waiting time of each method."""
    kls, times = np.zeros(len(methods)), np.zeros(len(methods))
    oracle = 0.0
    for seed in seeds:
        truth, rows, wrong = draw(case, nodes, seed)
        known = np.where(wrong, np.nan, rows)
        sound = gn.fit(known, truth.dag, missing="drop-by-node", columns=truth.dag.nodes)
        oracle += gn.kl_divergence(truth, sound.network)
        for k, method in enumerate(methods.values()):
            start = time.perf_counter()
            try:
                kls[k] += gn.kl_divergence(truth, method(truth.dag, rows))
            except (gn.GaussnetError, ValueError, np.linalg.LinAlgError):
                kls[k] = np.nan
            times[k] += time.perf_counter() - start
    return kls / oracle, times / len(seeds)


def print_rivals(nodes: int, repetitions: int, seed: int, only: str, alone: bool) -> None:
    """The table; a method that fails has no figure."""
    warnings.simplefilter("ignore")
    methods: dict[str, Method] = {"robust": _ours, **({} if alone else dict(rivals()))}
    print(f"{nodes} nodes, KL over the oracle's; seconds in brackets")
    print(f"{'wrong':34}" + "".join(f"{name:>18}" for name in methods))
    for case in CASES:
        if only in case:
            found, times = measure(case, nodes, children(seed, repetitions), methods)
            cells = [f"{a:9.2f} ({b:6.3f})" for a, b in zip(found, times, strict=True)]
            print(f"{case:34}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
