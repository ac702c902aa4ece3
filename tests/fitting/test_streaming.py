"""Files larger than memory: the answer is that of the same rows in memory, to the last bit."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.forced import SAMPLED, STREAMED, fit_streamed, fit_with_run

import gaussnet as gn
from gaussnet.data.arrow import ParquetSource
from gaussnet.data.passes import Run
from gaussnet.data.sources import Chain
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, EstimationError, FileError, SettingError

DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d][f|e]", nodes="abcdef")
ROWS = gn.simulate.random_network(DAG, seed=1).sample(2_345, seed=2) + np.arange(6.0)
PAGE = 256
METHODS = (
    gn.LeastSquares(),
    gn.BatchAverage(20),
    gn.BatchMedian(20),
    gn.CauchyTree(),
    gn.CauchyTree(windows="sliding"),
    gn.Cauchy(),
)
ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy")


def put(path, rows, heights=(1_000, 0, 7, 1_338)):
    """Write rows in uneven chunks: row groups, record batches."""
    edges = np.cumsum([0, *heights])
    pieces = [rows[first:last] for first, last in pairwise(edges)]
    write_rows(path, DAG.nodes, pieces)
    return path


def same(left, right, notes=True):
    """Whether two fits are the same to the last bit, notes included if wanted."""
    assert left.network == right.network
    np.testing.assert_array_equal(left.network.variance_array, right.network.variance_array)
    for name in ("rows", "dropped", "batches", "singular", "ranks"):
        np.testing.assert_array_equal(getattr(left.details, name), getattr(right.details, name))
    assert left.rows == right.rows
    assert not notes or left.notes == right.notes


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_stream_gives_the_bits_of_memory(tmp_path, method, scale, threads):
    path = put(tmp_path / "rows.parquet", ROWS)
    streamed = fit_streamed(path, DAG, method, scale=scale, page_rows=PAGE, threads=threads)
    same(streamed, fit_streamed(ROWS, DAG, method, scale=scale, page_rows=PAGE))


@pytest.mark.parametrize("order", ["as they come", "sorted"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "method", [gn.CauchyTree(), gn.CauchyTree("sliding"), gn.Cauchy()], ids=repr
)
def test_solutions_that_are_split_as_they_are_found_give_the_same_bits(
    tmp_path, method, intercept, order
):
    rows = ROWS if order == "as they come" else ROWS[np.argsort(ROWS[:, 1])]
    path = put(tmp_path / "rows.parquet", rows)
    settings = {"intercept": intercept, "page_rows": PAGE}
    expected = fit_streamed(rows, DAG, method, **settings)
    pages = []
    run = Run(2, lambda done, _: pages.append(done), **STREAMED, **SAMPLED, capacity=9)
    same(fit_with_run(run, path, DAG, method, **settings), expected, notes=False)
    assert len(pages) > 2 * len(ROWS) / PAGE  # too many values for the first pass


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_graph_without_edges_streams(tmp_path, method):
    path, dag = put(tmp_path / "rows.parquet", ROWS), gn.Dag.from_edges([], nodes=DAG.nodes)
    settings = {"scale": "mad", "page_rows": PAGE}
    same(fit_streamed(path, dag, method, **settings), fit_streamed(ROWS, dag, method, **settings))


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_streams(tmp_path, ending):
    path = put(tmp_path / f"rows{ending}", ROWS)
    for method in ("least-squares", "cauchy-tree"):
        same(
            fit_streamed(path, DAG, method, page_rows=PAGE),
            fit_streamed(ROWS, DAG, method, page_rows=PAGE),
        )


def test_chunks_larger_than_the_limit_are_read_in_parts(tmp_path):
    path = put(tmp_path / "rows.parquet", ROWS, (1_000, 0, 7, 1_338))
    source = replace(ParquetSource.open(str(path), DAG.nodes), chunk_bytes=100)
    assert [len(chunk[0]) for chunk in source.chunks()] == [1_000, 7, 1_024, 314]
    same(fit_streamed(source, DAG, page_rows=PAGE), fit_streamed(ROWS, DAG, page_rows=PAGE))


@pytest.mark.parametrize("ending", ENDINGS)
def test_folders_and_lists_of_files_are_one_run_of_rows(tmp_path, ending):
    (tmp_path / "in").mkdir()
    edges = [0, 300, 301, 2_000, len(ROWS)]
    files = []
    for number, (first, last) in enumerate(pairwise(edges)):
        folder = tmp_path / ("in" if number == 3 else "")
        files.append(folder / f"part-{number}{ending}")
        write_rows(files[-1], DAG.nodes, [ROWS[first:last]])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part-9.csv").write_text("nothing\n")
    expected = fit_streamed(ROWS, DAG, "cauchy-tree", page_rows=PAGE)
    same(fit_streamed(files, DAG, "cauchy-tree", page_rows=PAGE), expected)
    same(fit_streamed(tmp_path, DAG, "cauchy-tree", page_rows=PAGE), expected)


def test_small_files_of_a_folder_give_the_same(tmp_path):
    write_rows(tmp_path / "1.csv", DAG.nodes, [ROWS[:1_000]])
    write_rows(tmp_path / "2.parquet", DAG.nodes, [ROWS[1_000:]])
    same(gn.fit(tmp_path, DAG, page_rows=PAGE), gn.fit(ROWS, DAG, page_rows=PAGE))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_phases_may_be_split(tmp_path, method, ending):
    path = put(tmp_path / f"rows{ending}", ROWS)
    split = (700, 911)
    streamed = fit_streamed(path, DAG, method, split=split, page_rows=PAGE)
    same(streamed, fit_streamed(ROWS, DAG, method, split=split, page_rows=PAGE))
    with pytest.raises(SettingError, match="add up to at most the 2345 rows"):
        fit_streamed(path, DAG, method, split=(2_000, 911), page_rows=PAGE)


def with_holes():
    rows = ROWS.copy()
    rng = np.random.default_rng(3)
    rows[rng.random(len(rows)) < 0.05, 0] = np.nan
    rows[512:768, 3] = np.nan  # a whole page of a node
    rows[-1, 4] = np.nan
    return rows


@pytest.mark.parametrize("split", [None, (700, 911)])
@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_missing_values_are_dropped_as_in_memory(tmp_path, method, missing, split):
    rows = with_holes()
    path = put(tmp_path / "rows.parquet", rows)
    settings = {"missing": missing, "split": split, "page_rows": PAGE}
    same(fit_streamed(path, DAG, method, **settings), fit_streamed(rows, DAG, method, **settings))


def spoilt(kind):
    rows = with_holes()
    if kind == "infinite":
        rows[1_999, 2] = -np.inf
        rows[2_000, 1] = np.inf
    if kind == "empty column":
        rows[:, 5] = np.nan
    if kind == "no complete row":
        rows[::2, 5] = np.nan
        rows[1::2, 4] = np.nan
    return rows[:0] if kind == "no rows" else rows


@pytest.mark.parametrize("missing", ["raise", "drop-rows", "drop-by-node", "zero"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "kind", ["holes", "infinite", "empty column", "no complete row", "no rows"]
)
def test_what_is_refused_is_refused_with_the_same_sentence(tmp_path, kind, ending, missing):
    rows = spoilt(kind)
    path = tmp_path / f"rows{ending}"
    write_rows(path, DAG.nodes, [rows])

    def outcome(data, method):
        try:
            return fit_streamed(data, DAG, method, missing=missing, page_rows=PAGE).network
        except gn.GaussnetError as problem:
            return type(problem), str(problem)

    for method in METHODS:
        assert outcome(path, method) == outcome(rows, method)


def test_too_few_rows_are_told_whether_or_not_they_are_counted_first(tmp_path):
    for ending in (".csv", ".parquet"):
        write_rows(tmp_path / f"rows{ending}", DAG.nodes, [ROWS[:5]])
        with pytest.raises(EstimationError, match="has 1 parents and 5 rows"):
            fit_streamed(tmp_path / f"rows{ending}", DAG, "batch-median")


@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_errors_are_found_by_reading_again(tmp_path, method, scale):
    path = put(tmp_path / "rows.parquet", ROWS)
    streamed, held = (
        fit_streamed(data, DAG, method, scale=scale, page_rows=PAGE).uncertainty()
        for data in (path, ROWS)
    )
    assert streamed.standard_errors.coefficients == held.standard_errors.coefficients
    assert streamed.standard_errors.intercepts == held.standard_errors.intercepts
    assert streamed.confidence_intervals.variances == held.confidence_intervals.variances


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node"])
@pytest.mark.parametrize("method", [*METHODS, "robust"], ids=repr)
def test_errors_of_rows_with_holes_are_those_of_memory(tmp_path, method, missing):
    rows = with_holes()
    path = put(tmp_path / "rows.parquet", rows)
    streamed, held = (
        fit_streamed(data, DAG, method, missing=missing, page_rows=PAGE) for data in (path, rows)
    )
    settings = [{}]
    if method in ("robust", METHODS[0]):
        settings += [{"kind": "bootstrap", "repetitions": 40}]
    for setting in settings:
        one, other = (fit.uncertainty(**setting) for fit in (streamed, held))
        assert one.standard_errors.coefficients == other.standard_errors.coefficients
        assert one.confidence_intervals.variances == other.confidence_intervals.variances
    # Sums of n products of standardised values, in whatever order their layout suggests.
    rounding = len(rows) * np.finfo(np.float64).eps
    np.testing.assert_allclose(
        streamed.check_graph().correlations, held.check_graph().correlations, atol=rounding
    )
    assert streamed.log_likelihood == held.log_likelihood


def test_the_bootstrap_reads_all_rows_or_says_why_not(tmp_path):
    path = put(tmp_path / "rows.parquet", ROWS)
    fit = fit_streamed(path, DAG, page_rows=PAGE)
    held = fit_streamed(ROWS, DAG, page_rows=PAGE).uncertainty("bootstrap", repetitions=40)
    found = fit.uncertainty("bootstrap", repetitions=40)
    assert found.standard_errors.coefficients == held.standard_errors.coefficients
    run = Run(**STREAMED, largest_in_memory=100)
    fit = fit_with_run(run, path, DAG, page_rows=PAGE)
    with pytest.raises(DataError, match="needs all rows in memory"):
        fit.uncertainty("bootstrap", repetitions=40)


def test_collinear_parents_are_read_again_with_care(tmp_path):
    rows = ROWS.copy()
    rows[:, 1] = 2.0 * rows[:, 0] + 1e-9 * rows[:, 3]
    path = put(tmp_path / "rows.parquet", rows)
    for method in ("least-squares", "cauchy"):
        same(
            fit_streamed(path, DAG, method, page_rows=PAGE),
            fit_streamed(rows, DAG, method, page_rows=PAGE),
        )


def test_ignored_columns_are_noted_and_not_read(tmp_path):
    table = pa.table({name: ROWS[:, place] for place, name in enumerate(DAG.nodes)})
    pq.write_table(table.append_column("note", pa.array(["x"] * len(ROWS))), tmp_path / "r.parquet")
    fit = fit_streamed(tmp_path / "r.parquet", DAG)
    assert [str(note) for note in fit.notes] == ["1 column is not in the graph and ignored: 'note'"]


def test_the_bootstrap_tells_of_its_repetitions():
    heard = []
    rows = gn.simulate.random_network(DAG, seed=0).sample(100, seed=1)
    fit = gn.fit(rows, DAG, progress=lambda done, total: heard.append((done, total)))
    heard.clear()
    fit.uncertainty("bootstrap", repetitions=40)
    assert heard == [(100 * done, 4_000) for done in range(1, 41)]


def test_progress_counts_the_rows_of_a_pass(tmp_path):
    for ending, total in ((".parquet", len(ROWS)), (".csv", None)):
        path = put(tmp_path / f"rows{ending}", ROWS)
        told = []

        def tell(done, of, told=told):
            told.append((done, of))

        fit_streamed(path, DAG, page_rows=1_000, progress=tell)
        assert told == [(1_000, total), (2_000, total), (len(ROWS), total)]


def test_a_cut_parquet_file_among_others_is_named(tmp_path):
    good, bad = put(tmp_path / "good.parquet", ROWS), put(tmp_path / "bad.parquet", ROWS)
    bad.write_bytes(bad.read_bytes()[:-9])
    with pytest.raises(FileError, match=r"bad\.parquet' is not a whole Parquet file"):
        fit_streamed([good, bad], DAG)


def test_damage_in_the_middle_of_a_file_is_named(tmp_path):
    good, bad = put(tmp_path / "good.parquet", ROWS), tmp_path / "bad.parquet"
    table = pa.table({name: ROWS[:, place] for place, name in enumerate(DAG.nodes)})
    pq.write_table(table, bad, write_page_checksum=True, use_dictionary=False)
    raw = bytearray(bad.read_bytes())
    raw[4:200] = bytes(196)
    bad.write_bytes(raw)
    with pytest.raises(FileError, match=r"bad\.parquet' is not a whole Parquet file"):
        fit_streamed([good, bad], DAG, page_rows=PAGE)


def test_a_column_that_changes_its_type_is_named_with_its_file(tmp_path):
    good, bad = put(tmp_path / "good.parquet", ROWS), tmp_path / "bad.parquet"
    table = pa.table({name: ROWS[:, place] for place, name in enumerate(DAG.nodes)})
    pq.write_table(table.set_column(2, "c", pa.array(["x"] * len(ROWS))), bad)
    with pytest.raises(DataError, match=r"in '.*bad\.parquet' the column 'c' holds text"):
        fit_streamed([good, bad], DAG)
    integers = table.set_column(2, "c", pa.array(np.arange(len(ROWS))))
    pq.write_table(integers, bad)
    again = np.concatenate((ROWS, ROWS))
    again[len(ROWS) :, 2] = np.arange(len(ROWS))
    same(fit_streamed([good, bad], DAG, page_rows=PAGE), fit_streamed(again, DAG, page_rows=PAGE))


def test_a_file_without_a_column_is_named(tmp_path):
    good, bad = put(tmp_path / "good.csv", ROWS), tmp_path / "bad.csv"
    write_rows(bad, DAG.nodes[:-1], [ROWS[:, :-1]])
    with pytest.raises(DataError, match=r"bad\.csv' has no column for 1 node \('f'\)"):
        fit_streamed([good, bad], DAG)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_file_that_disappears_or_changes_is_named(tmp_path, ending):
    paths = [put(tmp_path / f"{name}{ending}", ROWS) for name in ("one", "two")]

    def remove(done, _):
        if paths[1].exists():
            paths[1].unlink()

    with pytest.raises(FileError, match=r"cannot read '.*two\.\w+': no such file"):
        fit_streamed(paths, DAG, page_rows=PAGE, progress=remove)
    put(paths[1], ROWS)
    fit = fit_streamed(paths, DAG, page_rows=PAGE)
    put(paths[1], ROWS[:1_000], (1_000,))
    with pytest.raises(FileError, match=r"two\.\w+' has changed since it was first read"):
        fit.uncertainty()


def test_a_folder_without_files_of_rows_is_refused(tmp_path):
    (tmp_path / "notes.docx").write_text("")
    with pytest.raises(FileError, match="has no file of rows: expected names that end in"):
        fit_streamed(tmp_path, DAG)


def test_odd_cells_late_in_a_csv_file_are_named_by_their_line(tmp_path):
    path = put(tmp_path / "rows.csv", ROWS)
    lines = path.read_text().splitlines()
    lines[2_000] = lines[2_000].rpartition(",")[0] + ",oops"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"the column 'f' has 'oops' in line 2001 of .*rows\.csv"):
        fit_streamed(path, DAG, page_rows=PAGE)


def test_a_chain_skips_sources_before_its_first_row(tmp_path):
    class Unread:
        width, ignored = 1, ()

        def count(self):
            return 10

        def chunks(self, first=0, last=None):
            raise AssertionError

    class Counted(Unread):
        def chunks(self, first=0, last=None):
            yield [np.arange(10.0)[first:last]]

    chain = Chain((Unread(), Counted(), Counted(), Unread()))
    assert chain.count() == 40
    found = [chunk[0].tolist() for chunk in chain.chunks(18, 22)]
    assert found == [[8.0, 9.0], [0.0, 1.0]]


SCRIPT = """
import resource, sys
import gaussnet as gn
path, method = sys.argv[1:]
dag = gn.Dag.parse("; ".join(f"x{k} ~ x{k - 1}" for k in range(1, 20)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gn.fit(path, dag, method, threads=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path):
    """2 million rows, 320 MB; 16 MB row groups, four pages of 10 MB, what pyarrow keeps of them."""
    names = [f"x{k}" for k in range(20)]
    path = tmp_path / "rows.parquet"
    rng = np.random.default_rng(0)
    write_rows(path, names, (rng.standard_normal((100_000, 20)) for _ in range(20)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    grown = {}
    for method in ("least-squares", "cauchy-tree"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path), method],
            env=environment, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        grown[method] = int(done.stdout) / 1024
    assert max(grown.values()) < 160, grown


@pytest.mark.parametrize("method", ["cauchy-tree", gn.BatchMedian(3), "cauchy"])
@pytest.mark.parametrize("scale", ["mean-square", "mad"])
def test_rows_that_drift_take_more_passes_and_the_same_medians(tmp_path, method, scale):
    rows = ROWS * np.linspace(0.01, 10.0, len(ROWS))[:, None]
    rows[:, 1] += np.linspace(-5.0, 5.0, len(ROWS)) * rows[:, 0]
    path = put(tmp_path / "rows.parquet", rows)
    run = Run(**STREAMED, **SAMPLED, capacity=16)
    streamed = fit_with_run(run, path, DAG, method, scale=scale, page_rows=PAGE)
    held = fit_streamed(rows, DAG, method, scale=scale, page_rows=PAGE)
    assert streamed.network == held.network
    (note,) = [str(note) for note in streamed.notes if "drift" in str(note)]
    assert note.startswith("the rows drift, so that exact medians took")


def test_residuals_that_drift_are_told_of_where_the_scale_alone_takes_medians(tmp_path):
    rows = ROWS + np.linspace(-5.0, 5.0, len(ROWS))[:, None]
    path = put(tmp_path / "rows.parquet", rows)
    run = Run(**STREAMED, **SAMPLED)
    drifting = fit_with_run(run, path, DAG, scale="mad", page_rows=PAGE)
    assert any("the rows drift" in str(note) for note in drifting.notes)
    assert drifting.network == fit_streamed(rows, DAG, scale="mad", page_rows=PAGE).network
