"""Summaries: added to, merged, saved, solved; the answer is that of all rows at once."""

import json
import pickle
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.forced import many_rows

import gaussnet as gn
from gaussnet.data.sources import open_data
from gaussnet.data.write import write_rows
from gaussnet.errors import DataError, EstimationError, FileError, GraphError, SettingError

DAG = gn.Dag.parse("[a][b|a][c|a:b][d][e|c:d][f|e][g]", nodes="abcdefg")
ROWS = gn.simulate.random_network(DAG, seed=1).sample(2_345, seed=2) + np.arange(7.0)
PAGE = 128
METHODS = (
    gn.LeastSquares(),
    gn.BatchAverage(7),
    gn.BatchMedian(20),
    gn.CauchyTree(),
    gn.CauchyTree(windows="sliding"),
)
PIECES = (0, 1, 128, 300, 301, 1_500, 2_000, 2_345)
"""Seven uneven pieces."""


def pieces(rows=ROWS, edges=PIECES):
    return [rows[first:last] for first, last in pairwise(edges)]


def same(left, right):
    assert left.network == right.network
    np.testing.assert_array_equal(left.network.variance_array, right.network.variance_array)
    for name in ("rows", "dropped", "batches", "singular", "ranks"):
        np.testing.assert_array_equal(getattr(left.details, name), getattr(right.details, name))
    assert (left.rows, left.notes) == (right.rows, right.notes)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_rows_added_in_uneven_pieces_give_the_bits_of_all_at_once(tmp_path, method, intercept):
    first, *others = pieces()
    summary = gn.summarize(first, DAG, method, intercept=intercept, page_rows=PAGE)
    for more in others:
        summary.save(tmp_path / "yesterday.npz")
        summary = gn.load_summary(tmp_path / "yesterday.npz").add(more)
    assert (summary.rows, summary.rows_inside) == (len(ROWS), len(ROWS) % PAGE)
    same(gn.solve(summary), gn.fit(ROWS, DAG, method, intercept=intercept, page_rows=PAGE))


@pytest.mark.parametrize("scale", ["mean-square", "mad"])
@pytest.mark.parametrize("method", [*METHODS, gn.Cauchy()], ids=repr)
def test_a_fit_updated_in_seven_pieces_is_the_fit_to_all_rows(method, scale):
    first, *others = pieces(edges=(0, 30, 128, 300, 301, 1_500, 2_000, 2_345))
    fit = gn.fit(first, DAG, method, scale=scale, page_rows=PAGE)
    for more in others:
        fit = fit.update(more)
    whole = gn.fit(ROWS, DAG, method, scale=scale, page_rows=PAGE)
    same(fit, whole)
    assert fit.standard_errors.coefficients == whole.standard_errors.coefficients


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_files_are_summarised_page_by_page(tmp_path, method):
    def streamed(path):
        return open_data(path, DAG.nodes, largest_whole=-1)

    write_rows(tmp_path / "1.parquet", DAG.nodes, [ROWS[:700], ROWS[700:1_000]])
    write_rows(tmp_path / "2.csv", DAG.nodes, [ROWS[1_000:]])
    expected = gn.fit(ROWS, DAG, method, page_rows=PAGE)
    same(
        gn.solve(gn.summarize(streamed(tmp_path), DAG, method, page_rows=PAGE, threads=3)), expected
    )
    fit = gn.fit(streamed(tmp_path / "1.parquet"), DAG, method, page_rows=PAGE)
    same(fit.update(streamed(tmp_path / "2.csv")), expected)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_sites_merge_the_same_in_any_grouping_and_hold_no_rows(method):
    one, two, three = (
        gn.summarize(rows, DAG, method, page_rows=PAGE)
        for rows in (ROWS[:700], ROWS[700:1_500], ROWS[1_500:])
    )
    left = gn.merge(gn.merge(one, two), three)
    right = gn.merge(one, gn.merge(two, three))
    same(gn.solve(left), gn.solve(right))
    assert (left.rows, left.rows_inside) == (len(ROWS), 0)


def test_sites_together_learn_what_all_rows_teach():
    """Least squares of merged cross-products is that of all rows, to rounding."""
    parts = [gn.summarize(rows, DAG) for rows in pieces(edges=(0, 500, 600, 2_345))]
    found = gn.solve(gn.merge(gn.merge(*parts[:2]), parts[2])).network
    whole = gn.fit(ROWS, DAG).network
    np.testing.assert_allclose(found.coefficient_array, whole.coefficient_array, rtol=1e-10)
    np.testing.assert_allclose(found.variance_array, whole.variance_array, rtol=1e-10)


def test_shared_summaries_hold_no_value_of_a_row(tmp_path):
    summary = gn.summarize(ROWS[:50], DAG)
    summary.share().save(tmp_path / "shared.npz")
    with np.load(tmp_path / "shared.npz") as arrays:
        kept = np.concatenate([np.ravel(arrays[name]) for name in arrays if name != "header"])
    assert not np.isin(ROWS[:50], kept).any()
    assert np.isin(ROWS[:50], gn.summarize(ROWS[:50], DAG).tail).all()


def test_a_shared_summary_may_be_added_to():
    parts = gn.summarize(ROWS[:700], DAG, page_rows=PAGE).share().add(ROWS[700:])
    sites = [gn.summarize(rows, DAG, page_rows=PAGE) for rows in (ROWS[:700], ROWS[700:])]
    same(gn.solve(parts), gn.solve(gn.merge(*sites)))


@pytest.mark.parametrize("method", ["least-squares", "batch-median", "robust", "cauchy"])
def test_missing_values_in_more_rows_are_refused_with_what_can_be_done(method):
    rows, more = gn.simulate.random_network(DAG, seed=3).sample(400, seed=4), np.array(ROWS[:40])
    more[3, 1] = np.nan
    with pytest.raises(
        DataError, match="give missing='drop-rows' or 'drop-by-node' to the first fit"
    ):
        gn.fit(rows, DAG, method).update(more)
    assert gn.fit(rows, DAG, method, missing="drop-rows").update(more).rows == 439


def test_an_updated_fit_prints_the_intervals_of_all_rows():
    fit = gn.fit(ROWS[:200], DAG).update(ROWS[200:])
    assert "95% interval" in str(fit)
    assert str(fit) == str(gn.fit(ROWS, DAG))


def test_rows_with_missing_values_are_refused_or_dropped():
    rows = ROWS.copy()
    rows[::9, 2] = np.nan
    with pytest.raises(DataError, match="261 values are missing, the first in row 0"):
        gn.summarize(rows, DAG)
    with pytest.raises(SettingError, match="got missing='likelihood', expected"):
        gn.summarize(rows, DAG, missing="likelihood")
    settings = {"missing": "drop-rows", "page_rows": PAGE}
    expected = gn.fit(rows, DAG, "cauchy-tree", **settings)
    first, *others = pieces(rows, (0, 200, 1_000, 2_345))
    summary = gn.summarize(first, DAG, "cauchy-tree", **settings)
    fit = gn.fit(first, DAG, "cauchy-tree", **settings)
    for more in others:
        summary, fit = summary.add(more), fit.update(more)
    same(gn.solve(summary), expected)
    same(fit, expected)
    assert fit.standard_errors.coefficients == expected.standard_errors.coefficients
    # The log-likelihood is a sum over pages here and over all rows there: rounding differs.
    assert fit.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)


@many_rows
@pytest.mark.parametrize("method", ["robust", "auto"])
def test_robust_fits_are_updated_by_learning_from_all_rows_again(method):
    rows = ROWS[:400].copy()
    rows[::40, 1] = 500.0
    rows[3, 2] = np.nan
    settings = {"scale": "kl-optimal", "missing": "drop-rows", "intercept": False}
    fit = gn.fit(rows[:250], DAG, method, **settings).update(rows[250:])
    whole = gn.fit(rows, DAG, method, **settings)
    same(fit, whole)
    assert list(fit.outliers()) == list(whole.outliers())
    np.testing.assert_array_equal(fit.cleaned(), whole.cleaned())


def test_columns_that_are_ignored_are_noted_after_an_update():
    frame = pd.DataFrame(ROWS, columns=DAG.nodes).assign(other=1.0)
    fit = gn.fit(frame[:100], DAG).update(frame[100:])
    assert [str(note) for note in fit.notes] == [
        "1 column is not in the graph and ignored: 'other'"
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gn.summarize(ROWS, None), "got dag of type NoneType"),
        (lambda: gn.summarize(ROWS, DAG, threads=0), "got threads=0"),
        (lambda: gn.summarize(ROWS, DAG).add(ROWS, threads="2"), "got threads='2'"),
        (lambda: gn.merge(gn.summarize(ROWS, DAG), 3), "got a int, expected what"),
        (lambda: gn.solve(gn.fit(ROWS, DAG)), "got a Fit, expected what"),
    ],
)
def test_settings_that_mean_nothing_are_refused_with_a_sentence(call, message):
    with pytest.raises(SettingError, match=message):
        call()


def test_updates_by_node_read_all_rows_again():
    rows = ROWS.copy()
    rows[1_000:1_100, 2] = np.nan
    settings = {"missing": "drop-by-node", "page_rows": PAGE}
    fit = gn.fit(rows[:1_050], DAG, **settings).update(rows[1_050:])
    same(fit, gn.fit(rows, DAG, **settings))


def test_kl_optimal_variances_come_from_a_summary_too():
    summary = gn.summarize(ROWS, DAG)
    same(gn.solve(summary, scale="kl-optimal"), gn.fit(ROWS, DAG, scale="kl-optimal"))


def test_what_a_summary_cannot_tell_is_refused():
    with pytest.raises(SettingError, match="got method='cauchy', which needs all rows more than"):
        gn.summarize(ROWS, DAG, "cauchy")
    with pytest.raises(SettingError, match="got method='auto', which needs all rows"):
        gn.summarize(ROWS, DAG, "auto")
    with pytest.raises(SettingError, match="got scale='mad', expected 'mean-square'"):
        gn.solve(gn.summarize(ROWS, DAG), scale="mad")
    with pytest.raises(EstimationError, match="because it comes from a summary"):
        _ = gn.solve(gn.summarize(ROWS, DAG, "batch-median")).standard_errors
    with pytest.raises(EstimationError, match="the node 'b' has 1 parents and 3 rows"):
        gn.solve(gn.summarize(ROWS[:3], DAG, "batch-median"))
    with pytest.raises(DataError, match="the data have no rows"):
        gn.summarize(ROWS[:0], DAG)
    with pytest.raises(SettingError, match="a page holds at least 1 row"):
        gn.summarize(ROWS, DAG, page_rows=0)
    with pytest.raises(SettingError, match="used some rows for coefficients and others"):
        gn.fit(ROWS, DAG, split=(100, 200)).update(ROWS)


def test_lost_digits_are_refused_alone_and_found_where_the_rows_are():
    rows = ROWS.copy()
    rows[:, 1] = 2.0 * rows[:, 0] + 1e-9 * rows[:, 3]
    with pytest.raises(EstimationError, match="too few digits for the node 'b'"):
        gn.solve(gn.summarize(rows, DAG))
    same(gn.fit(rows[:999], DAG, page_rows=PAGE).update(rows[999:]),
         gn.fit(rows, DAG, page_rows=PAGE))  # fmt: skip


def test_a_copied_fit_cannot_be_updated():
    copied = pickle.loads(pickle.dumps(gn.fit(ROWS, DAG).update(ROWS)))
    with pytest.raises(EstimationError, match=r"update a summary of them instead"):
        copied.update(ROWS)


def test_drift_is_noted_with_its_rank_error_where_no_row_is_left():
    rows = gn.simulate.random_network(DAG, seed=1).sample(60_000, seed=3)
    rows[:, 1] += np.linspace(-5.0, 5.0, len(rows)) * rows[:, 0]
    summary = gn.summarize(rows, DAG, "cauchy-tree", page_rows=4_096)
    (note,) = [str(note) for note in gn.solve(summary).notes]
    assert "medians are not exact: the share of values below" in note
    fit = gn.fit(rows[:20_000], DAG, "cauchy-tree", page_rows=4_096).update(rows[20_000:])
    assert fit.network == gn.fit(rows, DAG, "cauchy-tree", page_rows=4_096).network


@pytest.mark.parametrize(
    ("change", "value"),
    [("dag", gn.Dag.parse("a ~ b", nodes="ab")), ("method", "cauchy-tree"), ("intercept", False),
     ("page_rows", 64), ("missing", "drop-rows")],
)  # fmt: skip
def test_summaries_of_different_things_do_not_merge(change, value):
    rows = ROWS[:, :2] if change == "dag" else ROWS
    settings = {} if change == "dag" else {change: value}
    other = gn.summarize(rows, value if change == "dag" else DAG, **settings)
    with pytest.raises(SettingError, match=f"the summaries differ in {change}"):
        gn.merge(gn.summarize(ROWS, DAG), other)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_damaged_files_are_refused_with_one_sentence(tmp_path, method):
    path = tmp_path / "summary.npz"
    gn.summarize(ROWS, DAG, method, page_rows=PAGE).save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"'.*summary\.npz' is not a whole summary|cannot read"):
            gn.load_summary(path)
    with pytest.raises(FileError, match=r"cannot read '.*absent\.npz': no such file"):
        gn.load_summary(tmp_path / "absent.npz")


@pytest.mark.parametrize(
    ("key", "value"),
    [("nodes", ["a"]), ("method", {"name": "robust", "settings": {}}), ("sizes", [1]),
     ("format", "other"), ("page_rows", 3)],
)  # fmt: skip
def test_files_that_do_not_fit_together_are_refused(tmp_path, key, value):
    path, spoilt = tmp_path / "summary.npz", tmp_path / "spoilt.npz"
    gn.summarize(ROWS, DAG, page_rows=PAGE).save(path)
    with np.load(path) as arrays:
        changed = dict(arrays)
    header = json.loads(changed["header"].tobytes()) | {key: value}
    changed["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(spoilt, **changed)
    with pytest.raises(FileError, match="is not a whole summary"):
        gn.load_summary(spoilt)
    header |= {"version": 99, "format": "gaussnet summary"}
    changed["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(spoilt, **changed)
    with pytest.raises(FileError, match="has version 99 of the format of summaries, expected 2"):
        gn.load_summary(spoilt)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "summary.npz"
    np.savez(path, header=np.array([print], dtype=object))
    with pytest.raises(FileError, match="is not a whole summary"):
        gn.load_summary(path)
    gn.summarize(ROWS, DAG).save(path)
    with zipfile.ZipFile(path) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())


@pytest.mark.parametrize("with_targets", [False, True])
@pytest.mark.parametrize("method", METHODS[:3], ids=repr)
def test_rows_are_left_out_node_by_node_as_in_a_fit(tmp_path, method, with_targets):
    rows = ROWS.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    rows[400:900, 3] = np.nan  # whole pages of one column, and whole pieces
    settings = {"missing": "drop-by-node", "page_rows": PAGE}
    edges = (0, 1, 128, 300, 301, 420, 880, 2_000, 2_345)
    targets = ["c" if row % 3 == 0 else "" for row in range(len(rows))]
    said = [{"interventions": targets[a:b]} if with_targets else {} for a, b in pairwise(edges)]
    first, *others = pieces(rows, edges)
    summary = gn.summarize(first, DAG, method, **settings, **said[0])
    for more, known in zip(others, said[1:], strict=True):
        summary.save(tmp_path / "yesterday.npz")
        summary = gn.load_summary(tmp_path / "yesterday.npz").add(more, **known)
    every = {"interventions": targets} if with_targets else {}
    expected = gn.fit(rows, DAG, method, **settings, **every)
    found = gn.solve(summary)
    # Families of a fit that lack nothing share one call of a kernel, which may round elsewhere.
    names = ("coefficient_array", "variance_array", "intercept_array")
    for name in names:
        own, other = (getattr(fit.network, name) for fit in (found, expected))
        np.testing.assert_allclose(own, other, rtol=1e-12)
    for name in ("rows", "dropped", "set_rows", "batches", "singular", "ranks"):
        own, other = (getattr(fit.details, name) for fit in (found, expected))
        np.testing.assert_array_equal(own, other)
    assert (found.rows, found.notes) == (expected.rows, expected.notes)


def test_errors_and_scores_of_rows_left_out_node_by_node_come_from_the_summary():
    rows = ROWS.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    found = gn.solve(gn.summarize(rows, DAG, missing="drop-by-node"))
    expected = gn.fit(rows, DAG, missing="drop-by-node")
    for name in ("coefficient_array", "intercept_array", "variance_array"):
        own, other = (getattr(fit.standard_errors, name) for fit in (found, expected))
        np.testing.assert_allclose(own, other, rtol=1e-12)
    assert found.bic == pytest.approx(expected.bic, rel=len(rows) * np.finfo(float).eps)
    assert str(found.node_table()) == str(expected.node_table())


def test_what_stays_missing_in_all_rows_is_refused_when_it_is_solved():
    rows = ROWS[:200].copy()
    rows[:, 2] = np.nan
    summary = gn.summarize(rows, DAG, missing="drop-by-node")
    with pytest.raises(EstimationError, match="the node 'c' has 2 parents and 0 rows"):
        gn.solve(summary)
    assert gn.solve(summary.add(ROWS)).details.dropped.tolist() == [0, 0, 200, 0, 200, 0, 0]
    rows[3, 0] = np.inf
    with pytest.raises(DataError, match="1 value is infinite"):
        summary.add(rows)
    with pytest.raises(SettingError, match="got for_checks=True and missing='drop-by-node'"):
        gn.summarize(ROWS, DAG, missing="drop-by-node", for_checks=True)


@pytest.mark.parametrize("kind", ["precision", "frequency", "sampling"])
@pytest.mark.parametrize("intercept", [True, False])
def test_weighted_rows_are_summarised_as_they_are_fitted(tmp_path, kind, intercept):
    frame = pd.DataFrame(ROWS, columns=list(DAG.nodes))
    frame["w"] = np.random.default_rng(0).integers(0, 4, len(frame)).astype(float)
    frame.loc[256:600, "w"] = 0.0  # whole pages count nothing
    weights = gn.Weights("w", kind)
    settings = {"intercept": intercept, "page_rows": PAGE, "weights": weights}
    summary = gn.summarize(frame[:300], DAG, **settings)
    summary.save(tmp_path / "yesterday.npz")
    summary = gn.load_summary(tmp_path / "yesterday.npz").add(frame[300:])
    found, expected = gn.solve(summary), gn.fit(frame, DAG, **settings)
    for name in ("coefficient_array", "variance_array", "intercept_array"):
        own, other = (getattr(fit.network, name) for fit in (found, expected))
        np.testing.assert_allclose(own, other, rtol=1e-11)
    for name in ("rows", "dropped", "set_rows", "ranks"):
        own, other = (getattr(fit.details, name) for fit in (found, expected))
        np.testing.assert_array_equal(own, other)
    assert (found.rows, summary.rows) == (expected.rows, len(frame))
    with pytest.raises(EstimationError, match="the rows have weights or clusters"):
        _ = found.bic
    if kind == "sampling":
        with pytest.raises(EstimationError, match="no longer the rows themselves"):
            _ = found.standard_errors
        return
    for name in ("coefficient_array", "variance_array", "intercept_array"):
        own, other = (getattr(fit.standard_errors, name) for fit in (found, expected))
        np.testing.assert_allclose(own, other, rtol=1e-11)


def test_weights_with_missing_values_and_interventions_are_summarised_together():
    frame = pd.DataFrame(ROWS, columns=list(DAG.nodes))
    frame = frame.mask(np.random.default_rng(0).random(ROWS.shape) < 0.05)
    frame["w"] = np.random.default_rng(1).random(len(frame))
    frame["set"] = [
        "c" if row % 3 == 0 else "e" if row % 7 == 0 else "" for row in range(len(frame))
    ]
    settings = {
        "weights": gn.Weights("w", "precision"),
        "interventions": "set",
        "missing": "drop-by-node",
        "page_rows": PAGE,
    }
    found = gn.solve(gn.summarize(frame[:5], DAG, **settings).add(frame[5:]))
    expected = gn.fit(frame, DAG, **settings)
    np.testing.assert_allclose(
        found.network.coefficient_array, expected.network.coefficient_array, rtol=1e-11
    )
    for name in ("rows", "dropped", "set_rows"):
        own, other = (getattr(fit.details, name) for fit in (found, expected))
        np.testing.assert_array_equal(own, other)


def test_weights_that_are_not_said_or_not_used_are_refused():
    weights = gn.Weights(np.ones(100), "precision")
    summary = gn.summarize(ROWS[:100], DAG, weights=weights)
    with pytest.raises(SettingError, match="knows of weights, and nothing is said"):
        summary.add(ROWS[100:200])
    with pytest.raises(SettingError, match="weights of another kind"):
        summary.add(ROWS[100:200], weights=gn.Weights(np.ones(100), "frequency"))
    assert summary.add(ROWS[100:200], weights=weights).rows == 200
    with pytest.raises(SettingError, match="weights of another kind"):
        gn.summarize(ROWS[:100], DAG).add(ROWS[:100], weights=weights)
    with pytest.raises(SettingError, match="got weights with method='batch-median'"):
        gn.summarize(ROWS[:100], DAG, "batch-median", weights=weights)
    with pytest.raises(SettingError, match="got weights with method='least-squares' and scale='kl"):
        gn.solve(summary, scale="kl-optimal")
    with pytest.raises(SettingError, match="got for_checks=True and weights"):
        gn.summarize(ROWS[:100], DAG, weights=weights, for_checks=True)
    with pytest.raises(SettingError, match="the summaries differ in weight_kind"):
        gn.merge(summary, gn.summarize(ROWS[:100], DAG))


class Counted:
    """A source that counts the rows that are read of it."""

    def __init__(self, source, read):
        self.source, self.read = source, read
        self.width, self.ignored, self.count = source.width, source.ignored, source.count

    def chunks(self, first=0, last=None):
        for chunk in self.source.chunks(first, last):
            self.read.append(len(chunk[0]))
            yield chunk


def test_thirty_days_of_updates_are_all_files_at_once_and_each_reads_its_own_day(tmp_path):
    """Days of uneven length, not multiples of a page; files of earlier days are removed."""
    heights = [100 + 37 * (day * 7 % 11) for day in range(30)]
    edges = np.cumsum([0, *heights]).tolist()
    rows = gn.simulate.random_network(DAG, seed=5).sample(edges[-1], seed=6)
    days = [tmp_path / f"{day:02}.parquet" for day in range(30)]
    for path, (first, last) in zip(days, pairwise(edges), strict=True):
        write_rows(path, DAG.nodes, [rows[first:last]])
    expected = gn.fit(days, DAG, page_rows=PAGE)
    state = tmp_path / "state.npz"
    for day, path in enumerate(days):
        read = []
        today = Counted(open_data(path, DAG.nodes, largest_whole=-1), read)
        if day:
            summary = gn.load_summary(state).add(today)
        else:
            summary = gn.summarize(today, DAG, page_rows=PAGE, for_checks=True)
        assert sum(read) == heights[day]
        summary.save(state)
        path.unlink()
    found = gn.solve(gn.load_summary(state))
    same(found, expected)
    assert found.rows == edges[-1]
    held = gn.fit(rows, DAG, page_rows=PAGE)
    assert found.standard_errors.coefficients == held.standard_errors.coefficients
    np.testing.assert_array_equal(found.check_graph().p_values, held.check_graph().p_values)


def test_codes_of_missing_values_hold_for_rows_that_are_added(tmp_path):
    dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    rows = gn.simulate.random_network(dag, seed=0).sample(300, seed=1)
    coded = np.array(rows)
    coded[::7, 0], coded[::11, 1] = -999.0, -99.0
    holes = np.where(np.isin(coded, (-999.0, -99.0)), np.nan, coded)
    for missing in ("drop-rows", "drop-by-node"):
        found = gn.summarize(coded[:100], dag, missing=missing, missing_values=[-999, -99])
        found.save(tmp_path / "coded.npz")
        found = gn.load_summary(tmp_path / "coded.npz").add(coded[100:])
        assert found.missing_values == (-999.0, -99.0)
        assert (
            gn.solve(found).network == gn.solve(gn.summarize(holes, dag, missing=missing)).network
        )
    plain = gn.summarize(holes[100:], dag, missing="drop-by-node")
    assert gn.merge(plain, found).missing_values == (-999.0, -99.0)


@pytest.mark.parametrize("method", ["least-squares", "robust"])
def test_a_label_that_is_a_column_is_refused_in_summaries_too(method):
    frame = pd.DataFrame({name: np.arange(30.0) ** 0.5 for name in ("y", "a", "x")})
    with pytest.raises(GraphError, match="'a' is a column of the data"):
        gn.summarize(frame, "y ~ a*x", method)
