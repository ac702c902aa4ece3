"""Thirty and more ways to mismatch columns: each is learnt rightly or refused in a sentence."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import gaussnet as gn
from gaussnet.data.write import write_rows
from gaussnet.named_rows import named
from gaussnet.sklearn import GaussianBayesianNetwork

TEXT = "b ~ a; c ~ b"
DAG = gn.Dag.parse(TEXT)
TRUTH = gn.GaussianNetwork(
    DAG,
    coefficients={("a", "b"): 3.0, ("b", "c"): -0.5},
    variances={"a": 1.0, "b": 0.5, "c": 0.2},
    intercepts={"a": 10.0, "b": -5.0, "c": 1.0},
)
SAMPLE = TRUTH.sample(400, seed=0)
ARRAY = np.asarray(SAMPLE[:, [1, 0, 2]])
"""Columns a, b, c, as anybody would lay them out: not the order in which the text names them."""
FRAME = pd.DataFrame(ARRAY, columns=list("abc"))
RIGHT = gn.fit(FRAME, DAG).network


def coefficients(network):
    return [network.coefficients["a", "b"], network.coefficients["b", "c"]]


def is_right(network):
    return np.allclose(coefficients(network), coefficients(RIGHT), rtol=1e-9)


def network_of(steps, data, **settings):
    model = make_pipeline(*steps, GaussianBayesianNetwork(TEXT, **settings))
    return model.fit(data)[-1].network_


def scaled_back(network):
    """The coefficients of standardised columns in the columns' own units."""
    sd = dict(zip("abc", ARRAY.std(axis=0), strict=True))
    found = {(p, c): value * sd[c] / sd[p] for (p, c), value in network.coefficients.items()}
    return [found["a", "b"], found["b", "c"]]


def save_npy(folder, array):
    np.save(folder / "rows.npy", array)
    return folder / "rows.npy"


def dask_array():
    return pytest.importorskip("dask.array").from_array(ARRAY, chunks=(100, 3))


LEARNT = {
    "frame": lambda _: gn.fit(FRAME, DAG),
    "frame, columns in another order": lambda _: gn.fit(FRAME[["c", "a", "b"]], DAG),
    "frame with more columns": lambda _: gn.fit(FRAME.assign(id=range(400))[["id", *"bca"]], DAG),
    "frame, blanks around a name": lambda _: gn.fit(FRAME.rename(columns={"b": " b "}), DAG),
    "polars": lambda _: gn.fit(pl.from_pandas(FRAME[["c", "b", "a"]]), DAG),
    "pyarrow": lambda _: gn.fit(pa.table(FRAME[["c", "b", "a"]]), DAG),
    "rows of sample": lambda _: gn.fit(SAMPLE, DAG),
    "rows of sample, columns turned": lambda _: gn.fit(SAMPLE[:, ::-1], DAG),
    "rows of sample, copied": lambda _: gn.fit(SAMPLE[:, [2, 0, 1]].copy(), DAG),
    "array with columns": lambda _: gn.fit(ARRAY, DAG, columns=[*"abc"]),
    "array with columns and more": lambda _: gn.fit(
        np.column_stack((np.arange(400), ARRAY)), DAG, columns=["id", "a", "b", "c"]
    ),
    "array with nodes": lambda _: gn.fit(ARRAY, gn.Dag.parse(TEXT, nodes="abc")),
    "array with reordered": lambda _: gn.fit(ARRAY, DAG.reordered("abc")),
    "array of named nodes and a matrix": lambda _: gn.fit(
        ARRAY, gn.Dag.from_adjacency([[0, 1, 0], [0, 0, 1], [0, 0, 0]], "abc")
    ),
    "list of rows with columns": lambda _: gn.fit(ARRAY.tolist(), DAG, columns=[*"abc"]),
    ".npy with columns": lambda folder: gn.fit(save_npy(folder, ARRAY), DAG, columns=[*"abc"]),
    ".npy with named fields": lambda folder: gn.fit(
        save_npy(folder, FRAME[["c", "b", "a"]].to_records(index=False)), DAG
    ),
    "csv": lambda folder: gn.fit(_csv(folder, "cab"), DAG),
    "summaries": lambda _: gn.solve(
        gn.summarize(ARRAY[:99], DAG, columns=[*"abc"]).add(ARRAY[99:])
    ),
    "updated": lambda _: gn.fit(ARRAY[:99], DAG, columns=[*"abc"]).update(ARRAY[99:]),
    "updated by a frame": lambda _: gn.fit(ARRAY[:99], DAG, columns=[*"abc"]).update(
        FRAME[["c", "b", "a"]][99:]
    ),
}  # fmt: skip


def _csv(folder, order):
    write_rows(folder / "rows.csv", list(order), [FRAME[list(order)].to_numpy()])
    return folder / "rows.csv"


@pytest.mark.parametrize("way", LEARNT)
def test_columns_find_their_nodes(way, tmp_path):
    assert is_right(LEARNT[way](tmp_path).network)


REFUSED = {
    "array": (lambda _: gn.fit(ARRAY, DAG), "no names"),
    "array of float32": (lambda _: gn.fit(ARRAY.astype(np.float32), DAG), "no names"),
    "list of rows": (lambda _: gn.fit(ARRAY.tolist(), DAG), "no names"),
    "masked array": (lambda _: gn.fit(np.ma.masked_invalid(ARRAY), DAG), "no names"),
    "arithmetic on rows of sample": (lambda _: gn.fit(SAMPLE * 2.0, DAG), "no names"),
    "stacked rows of sample": (lambda _: gn.fit(np.vstack((SAMPLE, SAMPLE)), DAG), "no names"),
    "frame without its names": (lambda _: gn.fit(FRAME.to_numpy(), DAG), "no names"),
    "frame of numbered columns": (lambda _: gn.fit(pd.DataFrame(ARRAY), DAG), "no column for"),
    "edges": (lambda _: gn.fit(ARRAY, gn.Dag.from_edges([("b", "c"), ("a", "b")])), "no names"),
    "networkx": (lambda _: gn.fit(ARRAY, gn.Dag.from_networkx(DAG.to_networkx())), "no names"),
    "bnlearn text": (lambda _: gn.fit(ARRAY, gn.Dag.parse("[b|a][a][c|b]")), "no names"),
    "graph from a file": (lambda folder: gn.fit(ARRAY, _read_dag(folder)), "no names"),
    ".npy": (lambda folder: gn.fit(save_npy(folder, ARRAY), DAG), "no names"),
    "folder of .npy": (lambda folder: gn.fit(save_npy(folder, ARRAY).parent, DAG), "no names"),
    "renamed": (lambda _: gn.fit(FRAME.rename(columns={"b": "x"}), DAG), "no column for"),
    "other case": (lambda _: gn.fit(FRAME.rename(columns={"b": "B"}), DAG), "mean 'B'"),
    "duplicated": (lambda _: gn.fit(pd.concat((FRAME, FRAME["a"]), axis=1), DAG), "same name"),
    "duplicated but for blanks": (
        lambda _: gn.fit(FRAME.rename(columns={"b": "b "}).assign(**{" b": 0.0}), DAG),
        "2 columns 'b' with blanks",
    ),
    "wrong columns": (lambda _: gn.fit(ARRAY, DAG, columns=["a", "b", "x"]), "leaves out 'c'"),
    "columns twice": (lambda _: gn.fit(ARRAY, DAG, columns=["a", "b", "b"]), "'b' twice"),
    "too few columns": (lambda _: gn.fit(ARRAY, DAG, columns=["a", "b"]), "leaves out 'c'"),
    "columns against names": (lambda _: gn.fit(FRAME, DAG, columns=[*"bac"]), "names already"),
    "columns for a wider array": (
        lambda _: gn.fit(np.hstack((ARRAY, ARRAY)), DAG, columns=[*"abc"]), "expected (rows, 3)",
    ),
    "summary": (lambda _: gn.summarize(ARRAY, DAG), "no names"),
    "summary of a frame, then an array": (
        lambda _: gn.summarize(FRAME, DAG).add(ARRAY), "no names",
    ),
    "fit to a frame, then an array": (lambda _: gn.fit(FRAME, DAG).update(ARRAY), "no names"),
    "cross-validation": (lambda _: gn.cross_validate(ARRAY, DAG), "no names"),
    "comparison": (lambda _: gn.compare([gn.fit(FRAME, DAG)], ARRAY), "no names"),
    "comparison of two orders": (
        lambda _: gn.compare(
            [gn.fit(FRAME, DAG.reordered("abc")), gn.fit(FRAME, DAG.reordered("cab"))], ARRAY
        ),
        "differ in the order",
    ),
    "log density": (lambda _: RIGHT.log_density(ARRAY), "no names"),
    "score": (lambda _: RIGHT.score(ARRAY), "no names"),
    "robust score": (lambda _: gn.robust_score(RIGHT, ARRAY), "no names"),
    "prediction": (lambda _: RIGHT.predict(ARRAY, "c"), "no names"),
    "prediction, other case": (
        lambda _: RIGHT.predict(FRAME.rename(columns={"b": "B"}), "c"), "no column 'b' but 'B'",
    ),
    "prediction, blanks": (
        lambda _: RIGHT.predict(FRAME.rename(columns={"b": "b "}), "c"), "no column 'b' but 'b '",
    ),
    "imputation": (lambda _: RIGHT.impute(ARRAY), "no names"),
    "after an intervention": (lambda _: RIGHT.do({"a": 1.0}).predict(ARRAY, "c"), "no names"),
    "joint Gaussian": (lambda _: RIGHT.to_gaussian().log_density(ARRAY), "no names"),
    "saved and loaded": (lambda folder: _loaded(folder).score(ARRAY), "no names"),
    "report": (
        lambda folder: gn.write_report(RIGHT, folder / "page.html", data=ARRAY), "no names",
    ),
    "Dask array": (lambda _: gn.fit(dask_array(), DAG, client=object()), "no names"),
    "scikit-learn": (lambda _: network_of([], ARRAY), "no column names"),
    "Pipeline that drops names": (lambda _: network_of([StandardScaler()], FRAME), "set_output"),
    "Pipeline that turns columns": (
        lambda _: network_of([FunctionTransformer(lambda x: x[:, ::-1])], FRAME.to_numpy()),
        "set_output",
    ),
    "scikit-learn, wrong columns": (
        lambda _: network_of([], FRAME, columns=[*"cba"]), "columns says",
    ),
    "scikit-learn, columns twice": (lambda _: network_of([], ARRAY, columns=[*"aab"]), "different"),
}  # fmt: skip


def _read_dag(folder):
    gn.write_dag(DAG, folder / "graph.txt")
    return gn.read_dag(folder / "graph.txt")


def _loaded(folder):
    RIGHT.save(folder / "net.json")
    return gn.GaussianNetwork.load(folder / "net.json")


@pytest.mark.parametrize("way", REFUSED)
def test_columns_that_may_be_mistaken_are_refused(way, tmp_path):
    act, words = REFUSED[way]
    with pytest.raises(gn.GaussnetError, match=re.escape(words)):
        act(tmp_path)


def test_a_pipeline_learns_from_the_right_columns_or_not_at_all():
    kept = make_pipeline(StandardScaler(), GaussianBayesianNetwork(TEXT))
    kept.set_output(transform="pandas").fit(FRAME)
    told = network_of([StandardScaler()], FRAME, columns=["a", "b", "c"])
    for network in (kept[-1].network_, told):
        np.testing.assert_allclose(scaled_back(network), coefficients(RIGHT), rtol=1e-9)


def test_an_order_that_was_stated_is_kept_by_files_and_interventions(tmp_path):
    fit = gn.fit(ARRAY, DAG, columns=[*"abc"])
    assert fit.dag.nodes == ("a", "b", "c")
    fit.network.save(tmp_path / "net.json")
    again = gn.GaussianNetwork.load(tmp_path / "net.json")
    expected = RIGHT.score(FRAME)
    for network in (fit.network, again):
        assert network.score(ARRAY) == pytest.approx(expected, rel=1e-12)
    assert fit.network.do({"b": 0.0}).dag.has_column_order
    gn.summarize(ARRAY, DAG, columns=[*"abc"]).save(tmp_path / "rows.npz")
    assert gn.load_summary(tmp_path / "rows.npz").add(ARRAY).rows == 800


def test_questions_to_a_network_take_columns():
    expected = RIGHT.predict(FRAME, "c").mean
    np.testing.assert_array_equal(RIGHT.predict(ARRAY, "c", columns=[*"abc"]).mean, expected)
    assert RIGHT.score(ARRAY, columns=[*"abc"]) == RIGHT.score(FRAME)
    holes = ARRAY.copy()
    holes[::7, 1] = np.nan
    filled = RIGHT.impute(holes, columns=[*"abc"])
    assert filled.names == DAG.nodes
    np.testing.assert_array_equal(filled, RIGHT.impute(pd.DataFrame(holes, columns=list("abc"))))


def test_nodes_called_by_numbers_are_columns_by_number():
    dag = gn.Dag.from_edges([(1, 2), (0, 1)])
    assert dag.nodes == ("1", "2", "0")
    fit = gn.fit(ARRAY, dag)
    assert fit.network.coefficients["0", "1"] == pytest.approx(coefficients(RIGHT)[0], rel=1e-9)
    assert fit.network.coefficients["1", "2"] == pytest.approx(coefficients(RIGHT)[1], rel=1e-9)


def test_named_rows_keep_names_only_where_columns_stay_themselves():
    rows = named(np.arange(12.0).reshape(4, 3), "abc")
    assert rows[1:].names == rows[[3, 0]].names == rows[rows[:, 0] > 3].names == tuple("abc")
    assert rows[:, [name == "a" for name in "abc"]].names == ("a",)
    assert rows[1:, 1:].names == ("b", "c")
    assert rows.astype(np.float32).names == rows.copy().names == tuple("abc")
    for other in (rows.T, rows[:, 0], rows.reshape(3, 4), rows[None], rows.view(), rows[..., ::-1]):
        assert getattr(other, "names", None) is None
    for plain in (rows + 1, rows.mean(axis=0), np.sort(rows, axis=1).copy(), rows @ np.eye(3)):
        assert getattr(plain, "names", None) is None
    assert type(rows.sum()) is np.float64
    import pickle

    again = pickle.loads(pickle.dumps(rows))
    assert again.names == rows.names
    assert repr(rows) == repr(np.asarray(rows))


def test_the_fields_of_a_record_array_are_its_columns():
    records = FRAME.assign(site="Graz").to_records()
    fit = gn.fit(records, DAG)
    assert is_right(fit.network)
    assert str(fit.notes[0]) == "1 column is not in the graph and ignored: 'index'"
    assert is_right(gn.fit(records.view(np.ndarray), DAG).network)
    with pytest.raises(gn.DataError, match=r"no column for 1 node \('c'\)"):
        gn.fit(FRAME[["a", "b"]].to_records(), DAG)


@pytest.mark.parametrize("data", [None, 7, b"rows.csv", iter([[1.0, 2.0, 3.0]]), {1.0, 2.0}])
def test_what_is_no_table_is_told_by_its_type(data):
    words = f"got data of type {type(data).__name__}, expected a frame, an array"
    with pytest.raises(gn.DataError, match=words):
        gn.fit(data, DAG)
    with pytest.raises(gn.DataError, match=words):
        gn.fit(data, DAG, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "b"], "columns=['a', 'b'] leaves out 'c': give a name for each of the 3 columns"),
        (
            ["a", "b", "C"],
            "leaves out 'c', did you mean 'C'? Give a name for each of the 3 columns",
        ),
    ],
)
def test_a_column_without_a_name_is_told_in_words_of_the_array(columns, message):
    with pytest.raises(gn.GraphError, match=re.escape(message)):
        gn.fit(ARRAY, TEXT, columns=columns)


def test_an_empty_frame_with_text_has_no_rows():
    with pytest.raises(gn.DataError, match="the data have no rows: give at least one"):
        gn.fit(FRAME.assign(t="x").head(0), "b ~ a + t")


def test_one_row_is_too_few_for_a_category():
    with pytest.raises(gn.DataError, match="the data have 1 row, and the category 't' needs"):
        gn.fit(FRAME.assign(t="x").head(1), "b ~ a + t")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_dates_are_converted_as_the_message_says(frame):
    days = {"date": ["2020-01-31", "2021-02-01", "2020-02-02"], "b": [1.0, 2.0, 4.0]}
    with pytest.raises(gn.DataError, match="this looks like a date") as problem:
        gn.fit(frame(days), "b ~ date")
    names = {"pandas": pd, "polars": pl, "frame": frame(days)}
    code = str(problem.value).rpartition(" as ")[2]
    if frame is pl.DataFrame:
        code = f"frame.select({code})['date']"
    found = eval(code, names)
    assert (found - found.min()).to_list() == [0, 367, 2]
