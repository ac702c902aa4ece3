"""What is measured: each section gives rows of a table."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import gaussnet as gn
from benchmarks import rivals
from benchmarks.timing import best_times
from benchmarks.workloads import W1, W2, Workload
from gaussnet import kernels
from gaussnet.data.passes import Run
from gaussnet.data.table import MemoryTable, ask
from gaussnet.methods.base import EquationGroup, Method
from gaussnet.methods.groups import ReadOptions, equation_groups
from gaussnet.methods.scales import MeanSquare

METHODS = {
    "least-squares": gn.LeastSquares(),
    "batch-average": gn.BatchAverage(20),
    "batch-median": gn.BatchMedian(20),
    "cauchy-tree disjoint": gn.CauchyTree("disjoint"),
    "cauchy-tree sliding": gn.CauchyTree("sliding"),
    "cauchy disjoint": gn.Cauchy("disjoint"),
}
MOST_TIMES_SUM = {
    "least-squares": 10,
    "batch-average": 15,
    "batch-median": 15,
    "cauchy-tree disjoint": 30,
    "cauchy-tree sliding": 80,
    "cauchy disjoint": 40,
    "MAD alone": 25,
}
LEAST_SPEED_UP = {
    "least-squares": 20,
    "batch-average": 12,
    "batch-median": 12,
    "cauchy-tree disjoint": 7,
    "cauchy-tree sliding": 2,
    "cauchy disjoint": 5,
}


@dataclass(frozen=True)
class Line:
    """One measured figure and its target, as a ratio or in a unit."""

    what: str
    figure: float
    unit: str
    target: str = ""
    met: bool | None = None


def at_most(what: str, figure: float, unit: str, limit: float) -> Line:
    return Line(what, figure, unit, f"<= {limit:g}", figure <= limit)


def at_least(what: str, figure: float, unit: str, limit: float) -> Line:
    return Line(what, figure, unit, f">= {limit:g}", figure >= limit)


def methods(work: Workload) -> list[Line]:
    """Each method beside X.sum() and beside a loop of lstsq, on one thread.

    Targets are for a whole fit of least squares, and for the coefficients of the others; their
    whole fits, variances included, are listed beside.
    """
    _require_agreement(work)
    candidates = {"sum": work.data.sum, "lstsq": lambda: rivals.lstsq_loop(work)}
    for name, method in METHODS.items():
        candidates[f"whole {name}"] = lambda method=method: gn.fit(
            work.data, work.dag, method, intercept=False, threads=1
        )
        candidates[name] = _coefficients_alone(work, method)
    candidates["least-squares"] = candidates.pop("whole least-squares")
    candidates["MAD alone"] = _mad_alone(work)
    times = best_times(candidates, seconds=5.0, repeats=15)
    lines = []
    for name, limit in MOST_TIMES_SUM.items():
        what = f"{work.name} {name}"
        lines.append(at_most(what, times[name] / times["sum"], "x X.sum()", limit))
        if name in LEAST_SPEED_UP:
            speed_up = times["lstsq"] / times[name]
            lines.append(at_least(what, speed_up, "x faster than lstsq", LEAST_SPEED_UP[name]))
        if f"whole {name}" in times:
            whole = times[f"whole {name}"] / times["sum"]
            lines.append(Line(f"{what}, with variances", whole, "x X.sum()"))
    return lines


def small() -> list[Line]:
    """A small problem through the public function."""
    _require_agreement(W1)
    times = best_times(
        {
            "ours": lambda: gn.fit(W1.data, W1.dag, intercept=False),
            "lstsq": lambda: rivals.lstsq_loop(W1),
        }
    )
    return [
        at_most("W1 least-squares", 1e3 * times["ours"], "ms CPU", 1.0),
        at_least("W1 least-squares", times["lstsq"] / times["ours"], "x faster than lstsq", 5),
    ]


def other_programs() -> list[Line]:
    """Rivals at their defaults on W2; slow ones on ten nodes, scaled up to all."""
    columns = rivals.node_columns(W2)
    few = columns[:10]
    scale = len(columns) / len(few)
    ours = {
        "ours": lambda: gn.fit(W2.data, W2.dag, threads=1),
        "ours cauchy": lambda: gn.fit(W2.data, W2.dag, "cauchy", scale="mad", threads=1),
    }
    theirs = {}
    if rivals.present("sklearn"):
        theirs["scikit-learn LinearRegression"] = (
            1.0,
            lambda: rivals.sklearn_loop(columns, "LinearRegression"),
        )
        for name in ("HuberRegressor", "TheilSenRegressor"):
            theirs[f"scikit-learn {name}"] = (
                scale,
                lambda name=name: rivals.sklearn_loop(few, name),
            )
    if rivals.present("statsmodels"):
        theirs["statsmodels OLS"] = (1.0, lambda: rivals.statsmodels_loop(columns, "OLS"))
        theirs["statsmodels RLM"] = (scale, lambda: rivals.statsmodels_loop(few, "RLM"))
    if rivals.present("pgmpy"):
        theirs["pgmpy LinearGaussianBayesianNetwork"] = (1.0, rivals.pgmpy_fit(W2))
    _require_same_slopes(columns)
    times = best_times({**ours, **{name: run for name, (_, run) in theirs.items()}}, repeats=3)
    lines = [
        Line(f"absent: {package}", float("nan"), "not installed")
        for package in ("sklearn", "statsmodels", "pgmpy")
        if not rivals.present(package)
    ]
    robust = ("Huber", "TheilSen", "RLM")
    for name, (factor, _) in theirs.items():
        mine = "ours cauchy" if any(word in name for word in robust) else "ours"
        unit = "x our cauchy + MAD" if mine == "ours cauchy" else "x our least-squares"
        lines.append(Line(f"W2 {name}", factor * times[name] / times[mine], unit))
    return lines


def numpy_kernels() -> list[Line]:
    """The NumPy kernels on W2, in a process of their own; they are definitions and have no
    targets."""
    done = _fresh_process(
        "import json\n"
        "from benchmarks.sections import numpy_times\n"
        "print(json.dumps(numpy_times()))",
        GAUSSNET_KERNELS="numpy",
        OPENBLAS_NUM_THREADS="1",
    )
    times = json.loads(done)
    return [
        Line(f"W2 NumPy kernels, {name}, gn.fit", times[name] / times["sum"], "x X.sum()")
        for name in ("least-squares", "batch-median", "cauchy-tree disjoint")
    ]


def numpy_times() -> dict[str, float]:
    """CPU times on W2, with the kernels of this process, of X.sum() and of fits."""
    candidates = {"sum": W2.data.sum}
    for name in ("least-squares", "batch-median", "cauchy-tree disjoint"):
        candidates[name] = lambda method=METHODS[name]: gn.fit(
            W2.data, W2.dag, method, intercept=False, threads=1
        )
    return best_times(candidates, seconds=5.0, repeats=30)


def start() -> list[Line]:
    """CPU time of a fresh process that imports gaussnet and fits W2, beyond a bare one."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", W2.data)
        (Path(folder) / "graph.txt").write_text(W2.dag.to_model_string())
        code = (
            "import numpy as np, gaussnet as gn\n"
            f"dag = gn.Dag.parse(open({folder + '/graph.txt'!r}).read())\n"
            f"gn.fit(np.load({folder + '/rows.npy'!r}), dag)"
        )
        warm = _process_cpu(code) - _process_cpu("pass")
        copied = Path(folder) / "copy"
        _copy_without_caches(Path(gn.__file__).parent, copied / "gaussnet")
        options = {"PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1"}
        cold = _process_cpu(code, **options) - _process_cpu("pass")
    return [
        at_most("import and first fit of W2, warm", warm, "s CPU", 0.5),
        at_most("import and first fit of W2, our bytecode not yet compiled", cold, "s CPU", 0.5),
    ]


def memory(work: Workload) -> list[Line]:
    """Peak extra resident memory of a fit beside the data's size, in a process of its own."""
    code = (
        "import resource, gaussnet as gn\n"
        "from benchmarks import workloads\n"
        f"work = workloads.{work.name}\n"
        "gn.fit(work.data[:100], work.dag)\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "def now():\n"
        "    pages = int(open('/proc/self/statm').read().split()[1])\n"
        "    return pages * resource.getpagesize()\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"
        "before = now()\n"
        "gn.fit(work.data, work.dag)\n"
        "high = [line for line in open('/proc/self/status') if line.startswith('VmHWM')][0]\n"
        "print((int(high.split()[1]) * 1024 - before) / work.data.nbytes)"
    )
    share = float(_fresh_process(code))
    return [at_most(f"{work.name} least-squares, peak extra memory", share, "x data", 0.25)]


def threads_agree(work: Workload) -> list[Line]:
    """Whether one and two threads give the same bits, for every method."""
    differing = 0
    for method in METHODS.values():
        one, two = (gn.fit(work.data, work.dag, method, threads=count) for count in (1, 2))
        differing += one.network != two.network
    return [at_most(f"{work.name} methods whose bits threads change", differing, "of 6", 0)]


def parquet(rows: int, columns: int = 20, rounds: int = 5) -> list[Line]:
    """Reading a Parquet file and fitting it, beside merely reading it.

    Every job has processes of its own, in turns with those of the others: what a process has read
    before decides what memory costs it. A plain read is `pq.read_table`. Row groups that are read
    and dropped one by one, the cheapest way that we know, are held to the same target.
    """
    if not rivals.present("pyarrow"):
        return [Line("absent: pyarrow", float("nan"), "not installed")]
    limits = {"least-squares": 1.6, "cauchy-tree disjoint": 2.2}
    jobs = ("read_table", "row groups", *limits)
    best = dict.fromkeys(jobs, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        _fresh_process(f"from benchmarks import files; files.write({folder!r}, {rows}, {columns})")
        for job in jobs * rounds:
            code = f"from benchmarks import files; files.measure({folder!r}, {columns}, {job!r})"
            took = float(_fresh_process(code, OPENBLAS_NUM_THREADS="1"))
            best[job] = min(best[job], took)
    lines = []
    for name, limit in limits.items():
        what, took = f"{rows:,} x {columns} Parquet, read and {name}", best[name]
        lines.append(at_most(what, took / best["read_table"], "x a plain read", limit))
        lines.append(at_most(what, took / best["row groups"], "x row groups dropped", limit))
    return lines


def public_overhead(work: Workload) -> list[Line]:
    """Least squares through `gn.fit` beside the two kernels that do its arithmetic."""
    families = work.dag.families.sorted_by_size[1]

    def arithmetic() -> None:
        _, products = kernels.family_moments(work.data, families, False)
        kernels.solve_moments(families, products)

    whole = partial(gn.fit, work.data, work.dag, intercept=False, threads=1)
    times = best_times({"whole": whole, "arithmetic": arithmetic}, seconds=4.0, repeats=20)
    ratio = times["whole"] / times["arithmetic"]
    return [at_most(f"{work.name} least-squares, gn.fit", ratio, "x its kernels", 1.2)]


def _coefficients_alone(work: Workload, method: Method):
    group = _group(work)

    def run():
        for part in group.parts(method.kept_values):
            ask(part.table, method.first(part.equations, MeanSquare()))

    return run


def _mad_alone(work: Workload):
    group, scale = _group(work), gn.Mad()
    learnt = gn.fit(work.data, work.dag, intercept=False).network.coefficient_array

    def run():
        for part in group.parts(scale.kept_values):
            edges = work.dag.families.edges_of(part.nodes)
            ask(part.table, scale.first(part.equations, learnt[edges]))

    return run


def _group(work: Workload) -> EquationGroup:
    """All equations with their rows, as `fit` has them on one thread."""
    table = MemoryTable.of(work.data, work.dag.nodes, run=Run(threads=1)).surveyed(True)
    options = ReadOptions(work.dag, False, None, "raise", table.page_rows)
    [group], _ = equation_groups(table, options, None)
    return group


def _require_agreement(work: Workload) -> None:
    """Stop unless our answer is that of the lstsq loop."""
    fit = gn.fit(work.data, work.dag, intercept=False)
    answers = rivals.lstsq_loop(work)
    slopes = np.concatenate([answer[:-1] for answer in answers])
    variances = np.array([answer[-1] for answer in answers])
    np.testing.assert_allclose(fit.network.coefficient_array, slopes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.network.variance_array, variances, rtol=1e-8)


def _require_same_slopes(columns: rivals.Columns) -> None:
    """Stop unless the least-squares rivals answer as we do."""
    ours = gn.fit(W2.data, W2.dag).network.coefficient_array
    for package, loop, name in (
        ("sklearn", rivals.sklearn_loop, "LinearRegression"),
        ("statsmodels", rivals.statsmodels_loop, "OLS"),
    ):
        if rivals.present(package):
            np.testing.assert_allclose(np.concatenate(loop(columns, name)), ours, rtol=1e-8)


def _fresh_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def _process_cpu(code: str, **environment: str) -> float:
    """Least CPU time of a process that runs the code, of five."""
    best = float("inf")
    for _ in range(5):
        before = os.times()
        _fresh_process(code, **environment)
        after = os.times()
        used = after.children_user + after.children_system
        best = min(best, used - before.children_user - before.children_system)
    return best


def _copy_without_caches(source: Path, target: Path) -> None:
    import shutil

    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
