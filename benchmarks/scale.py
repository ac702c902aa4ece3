"""Fits to files larger than memory, beside merely reading them.

    python -m benchmarks.scale data FOLDER [--rows 50_000_000] [--wrong 0.02]
    python -m benchmarks.scale run FOLDER [--out benchmarks/results] [--repeats 2]

`data` writes Parquet files of 5 million rows x 20 columns each (0.8 GB); with `--wrong` this share
of the cells is wrong in five ways, and `run` fits by the robust method only. `run` fits the first
1, 2, 4, ... of them, each in a process of its own, and writes CPU time, peak memory and the ratio
to reading the same row groups with pyarrow, one thread each: `scale.md`, `scale.json`,
`scale.png`.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

COLUMNS = 20
PART_ROWS = 5_000_000
GROUP_ROWS = 500_000
JOBS = ("read", "least-squares", "batch-median", "cauchy-tree")
WRONG_JOBS = ("read", "robust")
LIMITS = {"least-squares": 2.0, "cauchy-tree": 5.0, "robust": 12.0}
STUCK_ROWS = 20
"""Rows that a stuck sensor repeats a value for."""
MOST_MEGABYTES = 1_000

Figures = dict[str, dict[int, dict[str, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("action", choices=["data", "run", "one"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--job", choices=sorted({*JOBS, *WRONG_JOBS}))
    parser.add_argument("--files", type=int, default=1)
    options = parser.parse_args()
    if options.action == "data":
        write_data(options.folder, options.rows, options.wrong)
    elif options.action == "one":
        print(json.dumps(measure_one(options.folder, options.files, options.job)))
    else:
        options.out.mkdir(parents=True, exist_ok=True)
        figures = measure(options.folder, options.repeats)
        write_report(figures, options.out)


def write_data(folder: Path, rows: int, wrong: float = 0.0) -> None:
    """Rows of a random network, in files of at most `PART_ROWS` rows."""
    import gaussnet as gn
    from benchmarks.workloads import Workload
    from gaussnet.data.write import write_rows
    from gaussnet.seeds import children

    folder.mkdir(parents=True, exist_ok=True)
    dag = Workload("scale", COLUMNS, 1).dag
    weights = (0.5, 1.5) if wrong else (1.0, 2.0)
    network = gn.simulate.random_network(dag, seed=1, weights=weights)
    (folder / "_graph.txt").write_text(dag.to_model_string())
    network.save(folder / "_network.json")
    starts = range(0, rows, GROUP_ROWS)
    heights = [min(GROUP_ROWS, rows - start) for start in starts]
    seeds = list(children(2, len(heights)))
    groups = PART_ROWS // GROUP_ROWS
    for part in range(0, len(heights), groups):
        path = folder / f"part-{part // groups:03d}.parquet"
        own = zip(heights[part : part + groups], seeds[part : part + groups], strict=True)
        drawn = ((network.sample(height, seed=seed), seed) for height, seed in own)
        write_rows(path, dag.nodes, (spoilt(found, network, wrong, seed) for found, seed in drawn))
        print(f"{path}: {path.stat().st_size / 1e9:.2f} GB", flush=True)
    if wrong:
        (folder / "_wrong.txt").write_text(str(wrong))


def spoilt(rows, network, share: float, seed):  # type: ignore[no-untyped-def]
    """Rows of which a share of the cells is wrong, in five ways that are equally frequent.

    Values near 1,000; off by 5 standard deviations of the noise; drawn again from the column; stuck
    for `STUCK_ROWS` rows; missing.
    """
    import numpy as np

    if not share:
        return rows
    rng = np.random.default_rng(seed.spawn(1)[0])
    values, part = np.array(rows), share / 5.0
    kinds = rng.random(values.shape, dtype=np.float32)
    gross, off, again, missing = ((kinds >= k * part) & (kinds < (k + 1) * part) for k in range(4))
    blocks = np.arange(len(values)) // STUCK_ROWS
    stuck = (rng.random((blocks[-1] + 1, values.shape[1])) < part)[blocks]
    values[stuck] = values[blocks * STUCK_ROWS][stuck]
    signs = rng.choice([-1.0, 1.0], size=int(off.sum()))
    values[off] += 5.0 * signs * np.broadcast_to(network.scales, values.shape)[off]
    values[again] = rng.permuted(np.asarray(rows), axis=0)[again]
    values[gross] = rng.normal(1_000.0, 1.0, int(gross.sum()))
    values[missing] = np.nan
    return values


def files_in(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("part-*.parquet"))]


def measure_one(folder: Path, files: int, job: str) -> dict[str, float]:
    """CPU seconds, wall seconds and peak megabytes of one job, in this fresh process."""
    import resource
    import time

    import pyarrow.parquet as pq

    import gaussnet as gn

    chosen = files_in(folder)[:files]
    dag = gn.Dag.parse((folder / "_graph.txt").read_text())
    begun, wall = time.process_time(), time.perf_counter()
    if job == "read":
        for file in chosen:
            with pq.ParquetFile(file) as source:
                for group in range(source.num_row_groups):
                    source.read_row_group(group, use_threads=False)
    else:
        missing = "likelihood" if job == "robust" else "raise"
        fit = gn.fit(chosen, dag, job, threads=1, missing=missing)
    took, lasted = time.process_time() - begun, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"cpu": took, "wall": lasted, "megabytes": peak}
    if job != "read":
        truth = gn.GaussianNetwork.load(folder / "_network.json")
        found["rows_x_kl"] = fit.rows * gn.kl_divergence(truth, fit.network)
    return found


def measure(folder: Path, repeats: int) -> Figures:
    """The least CPU time and the largest memory over repeats in which each job runs once."""
    import pyarrow.parquet as pq

    files = files_in(folder)
    counts = [count for count in (1, 2, 4, 8, 16) if count < len(files)] + [len(files)]
    jobs = WRONG_JOBS if (folder / "_wrong.txt").exists() else JOBS
    figures: Figures = {job: {} for job in jobs}
    for count in counts:
        rows = sum(pq.ParquetFile(file).metadata.num_rows for file in files[:count])
        for _ in range(repeats):
            for job in jobs:
                found = _in_fresh_process(folder, count, job)
                known = figures[job].get(rows, found)
                figures[job][rows] = found | {
                    "cpu": min(known["cpu"], found["cpu"]),
                    "wall": min(known["wall"], found["wall"]),
                    "megabytes": max(known["megabytes"], found["megabytes"]),
                }
        for job in jobs:
            print(f"{rows:>12,} rows  {job:14} {figures[job][rows]}", flush=True)
    return figures


def _in_fresh_process(folder: Path, files: int, job: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "one", str(folder)]
    command += ["--files", str(files), "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def write_report(figures: Figures, out: Path) -> None:
    """The table, the numbers and the plot."""
    lines = [
        "| rows | job | CPU s | x reading | peak MB | CPU ns a value |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for rows in figures["read"]:
        read = figures["read"][rows]["cpu"]
        for job in figures:
            own = figures[job][rows]
            each = 1e9 * own["cpu"] / (rows * COLUMNS)
            ratio = f"{own['cpu'] / read:.2f}"
            lines.append(
                f"| {rows:,} | {job} | {own['cpu']:.2f} | {ratio} | {own['megabytes']:.0f} "
                f"| {each:.2f} |"
            )
    lines += ["", *_verdicts(figures)]
    (out / "scale.md").write_text("\n".join(lines) + "\n")
    (out / "scale.json").write_text(json.dumps(figures, indent=2))
    print("\n".join(lines))
    draw(figures, out / "scale.png")


def _verdicts(figures: Figures) -> list[str]:
    largest = max(figures["read"])
    found = []
    for job, limit in ((job, LIMITS[job]) for job in figures if job in LIMITS):
        own = figures[job][largest]
        ratio = own["cpu"] / figures["read"][largest]["cpu"]
        met = "met" if ratio <= limit and own["megabytes"] < MOST_MEGABYTES else "**missed**"
        found.append(
            f"- {largest:,} rows, {job}: {ratio:.2f} x reading (<= {limit:g}), peak "
            f"{own['megabytes']:.0f} MB (< {MOST_MEGABYTES}): {met}"
        )
    return found


def draw(figures: Figures, path: Path) -> None:
    """CPU time and memory against rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for job, points in figures.items():
        rows = [count / 1e6 for count in points]
        time_axes.plot(rows, [one["cpu"] for one in points.values()], "o-", label=job)
        memory_axes.plot(rows, [one["megabytes"] for one in points.values()], "o-", label=job)
    time_axes.set_ylabel("CPU seconds")
    memory_axes.set_ylabel("peak memory, MB")
    memory_axes.axhline(MOST_MEGABYTES, color="black", linewidth=0.8, linestyle="--")
    for axes in (time_axes, memory_axes):
        axes.set_xlabel("million rows x 20 columns")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    time_axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
