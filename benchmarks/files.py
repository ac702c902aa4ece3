"""Fits of a Parquet file and plain reads of it, one thread each; for a process of its own."""

from benchmarks.timing import best_times
from benchmarks.workloads import Workload


def write(folder: str, rows: int, columns: int) -> None:
    """Put rows of a random network into a file, in row groups as pyarrow makes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    work = Workload("P", columns, rows)
    table = pa.table(list(work.data.T.copy()), names=list(work.dag.nodes))
    pq.write_table(table, _path(folder))


def measure(folder: str, columns: int, name: str) -> None:
    """Print the least CPU seconds of the named job over five rounds."""
    import pyarrow.parquet as pq

    import gaussnet as gn

    path, dag = _path(folder), Workload("P", columns, 0).dag

    def drop_row_groups() -> None:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, use_threads=False)

    jobs = {
        "read_table": lambda: pq.read_table(path, use_threads=False),
        "row groups": drop_row_groups,
        "least-squares": lambda: gn.fit(path, dag, gn.LeastSquares(), threads=1),
        "cauchy-tree disjoint": lambda: gn.fit(path, dag, gn.CauchyTree("disjoint"), threads=1),
    }
    print(best_times({name: jobs[name]}, seconds=float("inf"), repeats=5)[name])


def _path(folder: str) -> str:
    return f"{folder}/rows.parquet"
