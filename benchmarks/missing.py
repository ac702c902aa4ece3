"""Missing cells: what each choice of `missing` costs, and what lavaan takes for the same.

    python -m benchmarks.missing bias [--repetitions 2000]
    python -m benchmarks.missing table [--repetitions 10]
    python -m benchmarks.missing speed

"bias" repeats the example of docs/missing-data.md, where a child decides which cells are missing,
and counts how often intervals hold the truth. "table" measures the KL divergence of networks of 30
and 100 nodes. "speed" compares the CPU time with least squares on the same rows without holes, and
with lavaan (R is needed).
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

import gaussnet as gn

CHAIN = gn.GaussianNetwork.from_arrays(
    gn.Dag.parse("[x][y|x][z|y]"), [0.6, 0.8], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
)
LIMIT = 0.85
"""y is missing where z is larger."""

TABLE = ((30, 5.0, 500, 0.05), (30, 5.0, 500, 0.1), (30, 5.0, 500, 0.2), (30, 2.0, 500, 0.1),
         (100, 5.0, 500, 0.1))  # fmt: skip
"""Nodes, mean degree, rows, share of missing cells."""


def chain_rows(rows: int, seed: int) -> np.ndarray:
    """Rows of x -> y -> z in which y is missing where its child z is large."""
    drawn = CHAIN.sample(rows, seed=seed)
    drawn[drawn[:, 2] > LIMIT, 1] = np.nan
    return drawn


def parameters(network: gn.GaussianNetwork) -> np.ndarray:
    """All parameters in one row."""
    parts = (network.coefficient_array, network.intercept_array, network.variance_array)
    return np.concatenate(parts)


def bias(repetitions: int, rows: int = 500) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean error of each parameter in standard errors of that mean, and coverage, by choice."""
    truth = parameters(CHAIN)
    found = {}
    for missing in ("likelihood", "drop-by-node"):
        errors, held = [], []
        for seed in range(repetitions):
            fit = gn.fit(chain_rows(rows, seed), CHAIN.dag, missing=missing, threads=1)
            ends = fit.confidence_intervals()
            arrays = (ends.coefficient_array, ends.intercept_array, ends.variance_array)
            intervals = np.concatenate(arrays)
            errors.append(parameters(fit.network) - truth)
            held.append((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))
        off = np.array(errors)
        found[missing] = (off, np.mean(held, axis=0))
    return found


def print_bias(repetitions: int) -> None:
    names = [f"{a}->{b}" for a, b in CHAIN.dag.edges]
    names += [f"{what} {node}" for what in ("intercept", "variance") for node in CHAIN.dag.nodes]
    monte_carlo = np.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions} repetitions of 500 rows; a coverage is off by {monte_carlo:.2%} or so")
    for missing, (off, coverage) in bias(repetitions).items():
        mean, error = off.mean(axis=0), off.std(axis=0) / np.sqrt(repetitions)
        for name, value, one, share in zip(names, mean, error, coverage, strict=True):
            print(f"{missing:>14} {name:>12} mean error {value:+.4f} ({value / one:+6.1f} standard "
                  f"errors), coverage {share:.1%}")  # fmt: skip


def random_problem(nodes: int, degree: float, seed: int) -> gn.GaussianNetwork:
    """A random network with weights of 0.25 to 1 in size."""
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=seed)
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(0.25, 1.0, len(dag.edges)) * rng.choice([-1.0, 1.0], len(dag.edges))
    return gn.GaussianNetwork.from_arrays(dag, slopes, np.ones(nodes), np.zeros(nodes))


def holed(truth: gn.GaussianNetwork, rows: int, share: float, seed: int) -> tuple[np.ndarray, ...]:
    """Rows, and the same with cells missing completely at random."""
    whole = truth.sample(rows, seed=seed)
    lacking = whole.copy()
    lacking[np.random.default_rng(seed + 1).random(whole.shape) < share] = np.nan
    return whole, lacking


def print_table(repetitions: int) -> None:
    print("| nodes, degree, rows, missing | no hole at all | drop-by-node | likelihood |")
    print("|---|---:|---:|---:|")
    for nodes, degree, rows, share in TABLE:
        found = []
        for seed in range(repetitions):
            truth = random_problem(nodes, degree, seed)
            whole, lacking = holed(truth, rows, share, 1_000 + seed)
            fits = [gn.fit(whole, truth.dag)] + [
                gn.fit(lacking, truth.dag, missing=missing)
                for missing in ("drop-by-node", "likelihood")
            ]
            found.append([gn.kl_divergence(truth, fit.network) for fit in fits])
        means = " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0))
        print(f"| {nodes}, {degree:g}, {rows}, {share:.0%} | {means} |", flush=True)


def cpu_seconds(work: Callable[[], object], repetitions: int) -> float:
    """The least CPU time of a few repetitions."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def print_speed() -> None:
    truth = random_problem(100, 5.0, 0)
    whole, lacking = holed(truth, 5_000, 0.1, 1)
    plain = cpu_seconds(lambda: gn.fit(whole, truth.dag, threads=1), 30)
    em = cpu_seconds(lambda: gn.fit(lacking, truth.dag, missing="likelihood", threads=1), 5)
    print(f"100 nodes x 5,000 rows, 10 % missing: {1e3 * em:.0f} ms of CPU, least squares without "
          f"holes {1e3 * plain:.2f} ms: {em / plain:.0f} times")  # fmt: skip
    truth = random_problem(30, 5.0, 0)
    _, lacking = holed(truth, 1_000, 0.1, 1)

    def with_errors() -> object:
        return gn.fit(lacking, truth.dag, missing="likelihood", threads=1).standard_errors

    ours, theirs = cpu_seconds(with_errors, 5), lavaan_seconds(truth, lacking)
    print(f"30 nodes x 1,000 rows, 10 % missing, with standard errors: {1e3 * ours:.0f} ms of CPU, "
          f"lavaan {theirs:.1f} s: {theirs / ours:.0f} times")  # fmt: skip


def lavaan_seconds(truth: gn.GaussianNetwork, rows: np.ndarray) -> float:
    """CPU seconds of lavaan's FIML with standard errors, by scripts/golden/fiml.R."""
    script = Path(__file__).parents[1] / "scripts" / "golden" / "fiml.R"
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "rows.csv", Path(folder) / "out.csv"
        lines = [",".join("NA" if np.isnan(v) else repr(float(v)) for v in row) for row in rows]
        table.write_text("\n".join([",".join(truth.dag.nodes), *lines]) + "\n")
        arguments = [str(script), str(table), truth.to_lavaan(), str(out)]
        subprocess.run(["Rscript", *arguments], check=True)
        (line,) = (one for one in out.read_text().splitlines() if one.startswith("seconds"))
    return float(line.split(",")[3])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.missing", description=__doc__)
    parser.add_argument("what", choices=("bias", "table", "speed"))
    parser.add_argument("--repetitions", type=int)
    options = parser.parse_args()
    if options.what == "bias":
        print_bias(options.repetitions or 2_000)
    elif options.what == "table":
        print_table(options.repetitions or 10)
    else:
        print_speed()


if __name__ == "__main__":
    main()
