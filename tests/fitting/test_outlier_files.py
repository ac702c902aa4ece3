"""`fit(..., outliers_to=)`: all flagged cells in a file, the same wherever the rows lie."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.forced import fit_with_run

import gaussnet as gn
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.passes import Run
from gaussnet.errors import EstimationError, GaussnetError
from gaussnet.fitting.outlier_files import OutlierFile

DAG = gn.Dag.parse("[a][b|a][c|a:b]", nodes=["a", "b", "c"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))
FILES = 3
ROWS = 300
WRONG = {(0, 3, "b"): 900.0, (1, 7, "c"): -700.0, (2, 0, "b"): 650.0, (2, 299, "a"): 500.0}
HEADS = ["row", "time", "column", "value", "expected", "z", "probability"]
BY_PAGES = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=700)


def frames():
    found = []
    for number in range(FILES):
        rows = np.array(NETWORK.sample(ROWS, seed=number))
        for (file, row, node), value in WRONG.items():
            if file == number:
                rows[row, DAG.position(node)] = value
        frame = pd.DataFrame(rows, columns=list(DAG.nodes))
        frame.insert(1, "time", [f"day {number}-{row}" for row in range(ROWS)])
        found.append(frame)
    return found


WHOLE = pd.concat(frames(), ignore_index=True)
PLACES = {(ROWS * file + row, node): value for (file, row, node), value in WRONG.items()}
KEYS = {f"day {file}-{row}" for file, row, _ in WRONG}


def written(path):
    if str(path).endswith(".parquet"):
        return parquet.read_table(path).to_pylist()
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def places(cells):
    return {(int(one["row"]), one["column"]): float(one["value"]) for one in cells}


def file_places(cells, names):
    return {
        (names.index(one["file"]), int(one["row"]), one["column"]): float(one["value"])
        for one in cells
    }


@pytest.fixture(params=["csv", "parquet"])
def folder(request, tmp_path):
    inner = tmp_path / "rows"
    inner.mkdir()
    for number, frame in enumerate(frames()):
        if request.param == "csv":
            frame.to_csv(inner / f"{number}.csv", index=False)
        else:
            frame.to_parquet(inner / f"{number}.parquet", row_group_size=70)
    return inner


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "given",
    [WHOLE, pl.from_pandas(WHOLE), pa.Table.from_pandas(WHOLE)],
    ids=["pandas", "polars", "arrow"],
)
@pytest.mark.parametrize("method", ["robust", "auto"])
def test_cells_of_frames_are_written_with_row_and_key(given, ending, method, tmp_path):
    out = tmp_path / f"bad.{ending}"
    fit = gn.fit(given, DAG, method, outliers_to=out, key="time")
    cells = written(out)
    assert list(cells[0]) == HEADS
    assert places(cells) == PLACES
    assert {one["time"] for one in cells} == KEYS
    for one, cell in zip(cells, sorted(fit.outliers()), strict=True):
        numbers = [float(one[name]) for name in ("expected", "z", "probability")]
        assert numbers == [cell.expected, cell.z, cell.probability]


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_cells_of_a_folder_are_written_with_file_row_and_key(folder, ending, tmp_path):
    out = tmp_path / f"bad.{ending}"
    gn.fit(folder, DAG, "robust", outliers_to=str(out), key="time")
    packed = ending == "tsv.gz"
    cells = pd.read_csv(out, sep="\t").to_dict("records") if packed else written(out)
    assert list(cells[0]) == ["file", *HEADS]
    names = sorted(map(str, folder.iterdir()))
    assert file_places(cells, names) == WRONG
    assert {one["time"] for one in cells} == KEYS


@pytest.mark.parametrize("missing", ["drop-rows", "drop-by-node", "likelihood"])
def test_pages_and_memory_flag_the_same_cells_whatever_is_missing(folder, missing, tmp_path):
    names = sorted(map(str, folder.iterdir()))
    first = frames()[0]
    first.loc[[10, 20], "c"] = np.nan
    first.loc[3, "a"] = np.nan  # beside a wrong value
    first.to_csv(names[0], index=False) if names[0].endswith("csv") else first.to_parquet(names[0])
    by_pages = fit_with_run(BY_PAGES, names, DAG, "robust", missing=missing)
    assert by_pages.trimming.counts is not None
    out = OutlierFile(LabelledRows(names), tmp_path / "pages.csv")
    found = file_places(written(out.path), names) if out.write(by_pages) else {}
    kept = {place: value for place, value in WRONG.items() if place != (0, 3, "b")}
    assert found == (kept if missing == "drop-rows" else WRONG)
    gn.fit(names, DAG, "robust", outliers_to=tmp_path / "memory.csv", missing=missing)
    assert file_places(written(tmp_path / "memory.csv"), names) == found


def test_codes_of_missing_values_are_no_flagged_cells(tmp_path):
    given = WHOLE.copy()
    given.loc[[10, 20, 30], "c"] = -999.0
    settings = {"missing": "likelihood", "missing_values": [-999]}
    gn.fit(given, DAG, "robust", outliers_to=tmp_path / "bad.csv", **settings)
    assert places(written(tmp_path / "bad.csv")) == PLACES


def test_arrays_have_rows_alone(tmp_path):
    values = WHOLE[["c", "time", "a", "b"]].assign(time=0.0).to_numpy()
    columns = (name for name in ("c", "time", "a", "b"))
    gn.fit(values, DAG, "robust", columns=columns, outliers_to=tmp_path / "bad.csv")
    cells = written(tmp_path / "bad.csv")
    assert list(cells[0])[:2] == ["row", "column"]
    assert places(cells) == PLACES


def test_a_column_that_is_called_as_a_heading_is_the_key(tmp_path):
    given = WHOLE.rename(columns={"time": "row"})
    gn.fit(given, DAG, "robust", outliers_to=tmp_path / "bad.parquet", key="row")
    cells = written(tmp_path / "bad.parquet")
    assert {one["key"] for one in cells} == KEYS


def test_a_node_may_be_the_key_and_keys_may_be_missing(tmp_path):
    gn.fit(WHOLE, DAG, "robust", outliers_to=tmp_path / "bad.csv", key="b")
    assert {float(one["b"]) for one in written(tmp_path / "bad.csv")} >= {900.0, 650.0}
    given = WHOLE.assign(time=[None] * len(WHOLE))
    gn.fit(given, DAG, "robust", outliers_to=tmp_path / "bad.parquet", key="time")
    assert {one["time"] for one in written(tmp_path / "bad.parquet")} == {None}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_clean_rows_give_a_table_without_lines(ending, tmp_path):
    out = tmp_path / f"bad.{ending}"
    gn.fit(NETWORK.sample(500, seed=9), DAG, "robust", outliers_to=out)
    assert written(out) == []
    read = parquet.read_table(out).column_names if ending == "parquet" else out.read_text().split()
    assert ",".join(read) == "row,column,value,expected,z,probability"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"outliers_to": "bad.csv", "method": "least-squares"}, "flags no cell: give method='ro"),
        ({"outliers_to": "bad.csv", "method": "cauchy"}, "flags no cell"),
        ({"key": "time"}, "got key='time' without outliers_to"),
        ({"outliers_to": "bad.xlsx"}, "cannot write a table as 'bad.xlsx': expected a name that"),
        ({"outliers_to": "no/bad.csv"}, "no such file or directory"),
        ({"outliers_to": "bad.csv", "key": "day"}, "'day'"),
        ({"outliers_to": "bad.csv", "groups": "time"}, "groups or shifts"),
    ],
)
@pytest.mark.parametrize("given", ["frame", "folder"])
def test_what_cannot_be_written_is_refused_before_rows_are_read(
    settings, sentence, given, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gaussnet.fitting.learn.open_table", None)
    data = WHOLE if given == "frame" else folder
    with pytest.raises(GaussnetError, match=sentence) as told:
        gn.fit(data, DAG, **{"method": "robust"} | settings)
    assert "\n" not in str(told.value)
    assert not list(tmp_path.glob("b*"))


def test_an_array_has_no_column_for_a_key(tmp_path):
    rows = NETWORK.sample(50, seed=1)
    with pytest.raises(GaussnetError, match="key='time'"):
        gn.fit(np.array(rows), DAG, "robust", outliers_to=tmp_path / "bad.csv", key="time")


def test_changed_rows_leave_the_old_file_as_it_is(tmp_path):
    out = tmp_path / "bad.csv"
    fit = gn.fit(WHOLE, DAG, "robust", outliers_to=out, key="time")
    before = out.read_bytes()
    with pytest.raises(EstimationError, match="changed"):
        OutlierFile(LabelledRows(WHOLE[:10], key="time"), out).write(fit)
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


def test_a_key_that_a_spreadsheet_would_run_leaves_no_file(tmp_path):
    given = WHOLE.assign(time="=1+1")
    with pytest.raises(GaussnetError, match="or write Parquet"):
        gn.fit(given, DAG, "robust", outliers_to=tmp_path / "bad.csv", key="time")
    assert not list(tmp_path.iterdir())
    gn.fit(given, DAG, "robust", outliers_to=tmp_path / "bad.parquet", key="time")
    assert {one["time"] for one in written(tmp_path / "bad.parquet")} == {"=1+1"}


def test_categories_keep_their_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": rng.choice(["Graz", "Ulm"], 400), "x": rng.normal(size=400)})
    frame["y"] = frame["x"] + (frame["site"] == "Ulm") + 0.1 * rng.normal(size=400)
    frame.loc[5, "y"] = 99.0
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for data in (frame, tmp_path / "rows.csv"):
        gn.fit(data, "y ~ x + site", "robust", outliers_to=tmp_path / "bad.csv", key="site")
        assert places(written(tmp_path / "bad.csv")) == {(5, "y"): 99.0}


def test_the_data_are_never_overwritten(tmp_path):
    for number, frame in enumerate(frames()):
        frame.to_csv(tmp_path / f"{number}.csv", index=False)
    one = tmp_path / "0.csv"
    before = one.read_bytes()
    for data, target in ((one, one), (tmp_path, tmp_path / "bad.csv"), ([one], str(one))):
        with pytest.raises(GaussnetError, match="name another file"):
            gn.fit(data, DAG, "robust", outliers_to=target)
    assert one.read_bytes() == before
    assert not (tmp_path / "bad.csv").exists()
