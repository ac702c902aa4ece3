"""A Dask cluster gives the bits of one machine: for any partitions, workers and lost workers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from itertools import pairwise

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from tests.forced import SAMPLED, fit_with_run

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, FileError, SettingError

DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d][f|e]", nodes="abcdef")
ROWS = gn.simulate.random_network(DAG, seed=1).sample(3_001, seed=2) + np.arange(6.0)
PAGE = 64
METHODS = (gn.LeastSquares(), gn.CauchyTree(), gn.Cauchy())
PATIENCE = 90.0
"""Seconds after which a cluster that does not answer has failed."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:Port 8787 is already in use:UserWarning"),
    pytest.mark.xdist_group("dask"),
]


@pytest.fixture(scope="module")
def client():
    settings = {
        "distributed.worker.daemon": True,
        "distributed.comm.timeouts.connect": "60s",
        "distributed.admin.low-level-log-length": 0,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, timeout=PATIENCE) as found,
    ):  # fmt: skip
        yield found


def same(left, right):
    assert left.network == right.network
    for name in ("rows", "dropped", "batches", "singular", "ranks"):
        np.testing.assert_array_equal(getattr(left.details, name), getattr(right.details, name))
    assert (left.rows, left.notes) == (right.rows, right.notes)


def frame(rows=ROWS, edges=(0, 100, 101, 1_700, 2_000)):
    """A Dask frame with partitions of uneven lengths."""
    whole = pd.DataFrame(rows, columns=DAG.nodes)
    divisions = [*edges, len(rows) - 1]
    return dask.dataframe.from_pandas(whole, sort=False, npartitions=1).repartition(
        divisions=divisions, force=True
    )


def test_what_is_known_of_rows_goes_to_the_workers(client, tmp_path):
    names = np.where(np.arange(len(ROWS)) % 5 == 0, "b", "")
    names[1_000:1_200] = "c, e"
    weights = np.random.default_rng(0).gamma(2.0, size=len(ROWS))
    known = pd.DataFrame(ROWS, columns=DAG.nodes).assign(target=names, w=weights)
    parts = dask.dataframe.from_pandas(known, sort=False, npartitions=3)
    known.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    for method in METHODS:
        settings = {"interventions": "target", "page_rows": 4 * PAGE}
        expected = gn.fit(known, DAG, method, **settings)
        for data in (parts, tmp_path / "rows.parquet"):
            found = gn.fit(data, DAG, method, client=client, **settings)
            assert found.network == expected.network
            np.testing.assert_array_equal(found.details.set_rows, expected.details.set_rows)
    settings = {"weights": gn.Weights("w", "sampling"), "clusters": np.arange(len(ROWS)) // 30}
    expected = gn.fit(known, DAG, page_rows=PAGE, **settings)
    found = gn.fit(parts, DAG, page_rows=PAGE, client=client, **settings)
    assert found.network == expected.network
    errors = (one.standard_errors.coefficient_array for one in (found, expected))
    np.testing.assert_array_equal(*errors)
    with pytest.raises(DataError, match="one value for each row"):
        gn.fit(parts, DAG, client=client, clusters=[1, 2, 3])


def test_missing_cells_and_their_codes_by_likelihood_give_the_bits_of_memory(client, tmp_path):
    rows = ROWS[:1_001]
    coded = np.where(np.random.default_rng(5).random(rows.shape) < 0.05, -999.0, rows)
    settings = {"missing": "likelihood", "missing_values": [-999], "page_rows": 4 * PAGE}
    expected = gn.fit(coded, DAG, **settings)
    path = tmp_path / "rows.parquet"
    write_rows(path, DAG.nodes, [coded[:500], coded[500:]])
    parts = frame(coded, edges=(0, 100, 101, 600))
    for data in (parts, dask.array.from_array(coded, chunks=(300, 6)), path):
        found = gn.fit(data, DAG, client=client, **settings)
        same(found, expected)
    errors = found.standard_errors.coefficient_array
    assert np.array_equal(errors, expected.standard_errors.coefficient_array)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_frames_and_arrays_give_the_bits_of_memory(client, method):
    expected = gn.fit(ROWS, DAG, method, page_rows=PAGE)
    same(gn.fit(frame(), DAG, method, page_rows=PAGE, client=client), expected)
    array = dask.array.from_array(ROWS, chunks=(777, 4))
    same(gn.fit(array, DAG, method, page_rows=PAGE, client=client), expected)


def test_files_are_read_by_the_workers(client, tmp_path):
    write_rows(tmp_path / "1.parquet", DAG.nodes, [ROWS[:700], ROWS[700:1_000]])
    write_rows(tmp_path / "2.csv", DAG.nodes, [ROWS[1_000:2_000]])
    write_rows(tmp_path / "3.arrow", DAG.nodes, [ROWS[2_000:]])
    for method in ("least-squares", "cauchy-tree"):
        found = gn.fit(tmp_path, DAG, method, page_rows=PAGE, client=client)
        same(found, gn.fit(ROWS, DAG, method, page_rows=PAGE))


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
def test_missing_values_are_dropped_as_in_memory(client, missing):
    rows = ROWS.copy()
    rows[5::40, 0] = np.nan
    rows[512:768, 3] = np.nan  # a whole page
    settings = {"missing": missing, "page_rows": 4 * PAGE}
    found = gn.fit(frame(rows), DAG, client=client, **settings)
    same(found, gn.fit(rows, DAG, **settings))


def test_the_median_deviation_and_split_rows_work_as_in_memory(client):
    settings = {"scale": "mad", "split": (1_000, 1_500), "page_rows": 4 * PAGE}
    found = gn.fit(frame(), DAG, "cauchy-tree", client=client, **settings)
    same(found, gn.fit(ROWS, DAG, "cauchy-tree", **settings))


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
@pytest.mark.parametrize("method", [gn.BatchMedian(4), gn.CauchyTree(), gn.Cauchy()], ids=repr)
def test_medians_by_samples_are_those_of_memory(client, method, missing):
    rows = ROWS[:1_001].copy()
    rows[:300, 3] = np.nan  # the sample of a stream are its first rows
    settings = {"scale": "mad", "missing": missing, "page_rows": 4 * PAGE}
    run = Run(**SAMPLED, capacity=128)
    parts = frame(rows, edges=(0, 100, 101, 600))
    found = fit_with_run(run, parts, DAG, method, client=client, **settings)
    held = gn.fit(rows, DAG, method, **settings)
    assert found.network == held.network
    np.testing.assert_array_equal(found.network.variance_array, held.network.variance_array)


def test_errors_are_found_on_the_cluster(client):
    for method in (gn.LeastSquares(), gn.CauchyTree()):
        found = gn.fit(frame(), DAG, method, page_rows=PAGE, client=client)
        held = gn.fit(ROWS, DAG, method, page_rows=PAGE)
        assert found.standard_errors.coefficients == held.standard_errors.coefficients
    with pytest.raises(DataError, match="those of a cluster stay on its workers"):
        found.uncertainty("bootstrap")
    with pytest.raises(SettingError, match="the rows of this fit are on a cluster"):
        found.update(ROWS)


@pytest.mark.parametrize("missing", ["raise", "drop-by-node"])
def test_graphs_are_checked_on_the_cluster(client, missing):
    rows = ROWS.copy()
    if missing != "raise":
        rows[::7, 2] = np.nan
    settings = {"missing": missing, "page_rows": PAGE}
    found = gn.fit(frame(rows), DAG, client=client, **settings).check_graph()
    held = gn.fit(rows, DAG, **settings).check_graph()
    np.testing.assert_array_equal(found.correlations, held.correlations)
    assert (found.tests, found.verdict) == (held.tests, held.verdict)


def test_what_is_refused_is_refused_with_one_sentence(client, tmp_path):
    rows = ROWS.copy()
    rows[2_500, 2] = np.nan
    with pytest.raises(DataError, match="1 value is missing, the first in row 2500 of column 'c'"):
        gn.fit(frame(rows), DAG, client=client)
    with pytest.raises(SettingError, match=r"expected a distributed\.Client"):
        gn.fit(frame(), DAG, client="tcp://nowhere")
    with pytest.raises(SettingError, match="got method='sequential-trim' with a client"):
        gn.fit(frame(), DAG, "sequential-trim", client=client)
    with pytest.raises(SettingError, match="the graph has no nodes"):
        gn.fit(frame(), gn.Dag.from_edges([]), client=client)
    with pytest.raises(DataError, match="the data have no column for 1 node"):
        gn.fit(frame()[["a", "b", "c", "d", "e"]], DAG, client=client)
    with pytest.raises(DataError, match="the column 'a' holds"):
        gn.fit(frame().assign(a="x"), DAG, client=client)
    with pytest.raises(DataError, match="got data of type ndarray, expected a Dask DataFrame"):
        gn.fit(ROWS, DAG, client=client)
    with pytest.raises(FileError, match=r"cannot read '.*absent\.parquet'"):
        gn.fit(tmp_path / "absent.parquet", DAG, client=client)
    write_rows(tmp_path / "1.parquet", DAG.nodes, [ROWS])
    cut = tmp_path / "2.parquet"
    write_rows(cut, DAG.nodes, [ROWS])
    cut.write_bytes(cut.read_bytes()[:-9])
    with pytest.raises(FileError, match=r"2\.parquet' is not a whole Parquet file"):
        gn.fit(tmp_path, DAG, client=client)


def slow_part(first, last, folder):
    """Rows that take a while to come, and leave a mark when they do."""
    time.sleep(0.06)
    with suppress(FileExistsError):
        os.close(os.open(f"{folder}/{first}-{os.getpid()}", os.O_CREAT | os.O_EXCL))
    return pd.DataFrame(ROWS[first:last], columns=DAG.nodes)


def slow_frame(folder, parts=20):
    edges = [len(ROWS) * k // parts for k in range(parts + 1)]
    meta = pd.DataFrame(ROWS[:0], columns=DAG.nodes)
    return dask.dataframe.from_map(
        slow_part, edges[:-1], edges[1:], folder=str(folder), meta=meta, enforce_metadata=False
    )


@contextmanager
def killing(folder, victims):
    """Kill one of the processes as soon as it has begun to work on parts a second time round."""
    killed = []

    def watch():
        begun = time.monotonic()
        while not killed and time.monotonic() - begun < PATIENCE:
            for pid in victims():
                if len(list(folder.glob(f"*-{pid}"))) >= 6:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    yield killed
    thread.join()


@pytest.mark.parametrize("method", ["least-squares", "cauchy-tree"])
def test_a_killed_worker_changes_nothing(client, tmp_path, method):
    def pids():
        return list(client.run(os.getpid).values())

    expected = gn.fit(ROWS, DAG, method, page_rows=PAGE)
    client.wait_for_workers(2, timeout=PATIENCE)
    victims = pids()
    with killing(tmp_path, lambda: victims[:1]) as killed:
        found = gn.fit(slow_frame(tmp_path), DAG, method, page_rows=PAGE, client=client)
    assert killed
    same(found, expected)


def paged(rows, folder):
    """A robust fit of rows that are taken for too many to be read whole."""
    write_rows(folder / "rows.parquet", DAG.nodes, [rows])
    run = Run(1, largest_judged=0, largest_whole_bytes=-1)
    return fit_with_run(run, str(folder / "rows.parquet"), DAG, "robust", page_rows=PAGE)


def test_robust_fits_have_the_bits_of_pages_on_one_machine(client, tmp_path):
    rows = ROWS.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.02] += 30.0
    expected = paged(rows, tmp_path)
    found = gn.fit(frame(rows), DAG, "robust", page_rows=PAGE, client=client)
    same(found, expected)
    assert list(found.outliers()) == list(expected.outliers())
    assert len(found.outliers()) > 300
    assert found.standard_errors.coefficients == expected.standard_errors.coefficients


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_workers_find_the_flagged_cells_and_their_keys(client, tmp_path, ending):
    rows = np.array(ROWS)
    wrong = {(3, "b"): 900.0, (1_500, "d"): -700.0, (3_000, "f"): 650.0}
    for (row, node), value in wrong.items():
        rows[row, DAG.position(node)] = value
    whole = pd.DataFrame(rows, columns=list(DAG.nodes))
    whole["time"] = [f"t{row}" for row in range(len(whole))]
    given = dask.dataframe.from_pandas(whole, npartitions=7)
    how = {"page_rows": PAGE, "client": client, "outliers_to": tmp_path / f"bad.{ending}"}
    gn.fit(given, DAG, "robust", **how, key="time")
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    cells = read(tmp_path / f"bad.{ending}")
    assert "file" not in cells
    assert cells.set_index(["row", "column"]).value.to_dict() == wrong
    assert set(cells.time) == {f"t{row}" for row, _ in wrong}
    cuts = [0, 1_000, 1_500, len(whole)]
    files = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    for file, (first, last) in zip(files, pairwise(cuts), strict=True):
        whole[first:last].to_parquet(file, row_group_size=100)
    gn.fit(files, DAG, "robust", **how, key="time")
    split = read(tmp_path / f"bad.{ending}")
    assert list(split.file) == [files[0], files[2], files[2]]
    assert list(split.row) == [3, 0, 1_500]
    for name in ("time", "column", "value", "expected", "z", "probability"):
        assert list(split[name]) == list(cells[name])
    with pytest.raises(DataError, match="'day'"):
        gn.fit(given, DAG, "robust", **how, key="day")
    with pytest.raises(SettingError, match="Dask array"):
        gn.fit(dask.array.from_array(rows), DAG, "robust", **how, key="time")


def test_a_killed_worker_changes_no_robust_fit(client, tmp_path):
    expected = paged(ROWS, tmp_path)
    client.wait_for_workers(2, timeout=PATIENCE)
    victims = list(client.run(os.getpid).values())
    with killing(tmp_path, lambda: victims[:1]) as killed:
        found = gn.fit(slow_frame(tmp_path), DAG, "robust", page_rows=PAGE, client=client)
    assert killed
    same(found, expected)


@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers_gives_the_same_bits(client, workers):
    client.cluster.scale(workers)
    deadline = time.monotonic() + PATIENCE
    while len(client.nthreads()) != workers and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(client.nthreads()) == workers
    for method in ("least-squares", "cauchy-tree"):
        found = gn.fit(frame(), DAG, method, page_rows=PAGE, client=client)
        same(found, gn.fit(ROWS, DAG, method, page_rows=PAGE))


def test_the_command_works_on_a_cluster(client, tmp_path, capsys):
    from gaussnet.cli.app import COMMANDS
    from gaussnet.cli.arguments import run

    table, graph = tmp_path / "rows.csv", tmp_path / "graph.txt"
    write_rows(table, [*DAG.nodes, "time"], [np.column_stack((ROWS, ROWS[:, 0]))])
    graph.write_text(DAG.to_model_string())
    address = client.scheduler.address
    command = ["fit", str(table), "--dag", str(graph), "--cluster", address, "--json"]
    run(COMMANDS, command, "")
    found = json.loads(capsys.readouterr().out)
    expected = gn.fit(ROWS, DAG).network.coefficients
    learnt = {
        (parent, node["name"]): numbers["coefficient"]
        for node in found["nodes"]
        for parent, numbers in node["parents"].items()
    }
    assert learnt == dict(expected)
    assert found["ignored"] == ["time"]


@contextmanager
def started(*command):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def test_a_worker_over_tcp_may_die_for_good(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    with LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as cluster:
        worker = ("-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny",
                  "--no-dashboard", "--nthreads", "1", "--memory-limit", "0",
                  "--local-directory", str(tmp_path))  # fmt: skip
        with (
            started(*worker) as one,
            started(*worker) as two,
            Client(cluster, timeout=PATIENCE) as client,
        ):
            assert client.scheduler.address.startswith("tcp://")
            client.wait_for_workers(2, timeout=PATIENCE)
            with killing(marks, lambda: [one.pid]) as killed:
                slow = slow_frame(marks)
                found = gn.fit(slow, DAG, "cauchy-tree", page_rows=PAGE, client=client)
            assert len(client.nthreads()) == 1
            assert killed == [one.pid]
            assert two.poll() is None
    same(found, gn.fit(ROWS, DAG, "cauchy-tree", page_rows=PAGE))
