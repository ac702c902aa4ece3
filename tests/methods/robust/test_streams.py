"""The robust method on rows that are read page by page."""

from collections import Counter

import numpy as np
import pytest
from tests.forced import IS_COMPILED, fit_with_run, many_rows

import gaussnet as gn
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows
from gaussnet.fitting.outlier_files import OutlierFile
from gaussnet.fitting.residuals import judged_residuals
from gaussnet.methods.robust import streams
from gaussnet.methods.robust.judge import Judge

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c][e|b:d]", nodes=["a", "b", "c", "d", "e"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))
ROWS = 12_000 if IS_COMPILED else 600
PAGE_ROWS, SAMPLE = ROWS // 3 + 96, ROWS // 3


def streamed(data, method="robust", *, threads=1, page_rows=PAGE_ROWS, sample=SAMPLE, **settings):
    """A fit of files that are taken for too large to be read whole."""
    run = Run(threads, largest_judged=0, largest_whole_bytes=-1, sample_rows=sample)
    return fit_with_run(run, data, DAG, method, page_rows=page_rows, **settings)


def spoilt(seed=0, share=0.02, size=8.0):
    rows = np.asarray(NETWORK.sample(ROWS, seed=seed))
    rng = np.random.default_rng(seed)
    wrong = rng.random(rows.shape) < share
    signs = rng.choice([-1.0, 1.0], size=rows.shape)
    return np.where(wrong, rows + size * signs * NETWORK.scales, rows), wrong


@pytest.fixture(scope="module")
def spoilt_file(tmp_path_factory):
    rows, wrong = spoilt()
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    write_rows(path, DAG.nodes, [rows])
    return str(path), rows, wrong


@pytest.fixture(scope="module")
def fit(spoilt_file):
    return streamed(spoilt_file[0])


@pytest.fixture(scope="module")
def whole(spoilt_file):
    return gn.fit(spoilt_file[1], DAG, "robust")


def distance(one, other):
    """The largest difference of a parameter in standard errors of the first fit."""
    errors = one.standard_errors
    slopes = [
        (one.network.coefficients[edge] - other.network.coefficients[edge])
        / errors.coefficients[edge]
        for edge in one.network.coefficients
    ]
    logs = np.log(one.network.variance_array / other.network.variance_array)
    return max(np.abs(slopes).max(), np.abs(logs).max() * np.sqrt(one.rows / 2))


def test_pages_lead_to_what_memory_does(whole, fit):
    # What wrong values look like is learnt from a third of the rows. At 8 standard deviations of
    # the noise hardly a cell is in doubt, so that it matters little.
    assert distance(whole, fit) < streams.CLOSE


def test_a_sample_of_all_rows_leaves_rounds_little_to_do(spoilt_file, whole):
    assert distance(whole, streamed(spoilt_file[0], sample=ROWS)) < 2.0 * streams.CLOSE


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pieces", [1, 5])
def test_the_answer_does_not_depend_on_files_or_threads(
    tmp_path, spoilt_file, fit, threads, pieces
):
    files = []
    for number, part in enumerate(np.array_split(spoilt_file[1], pieces)):
        files.append(str(tmp_path / f"{number}.{'csv' if number % 2 else 'parquet'}"))
        write_rows(files[-1], DAG.nodes, [part])
    again = streamed(files, threads=threads)
    assert again.network == fit.network
    assert list(again.outliers()) == list(fit.outliers())


def test_clean_rows_get_least_squares_to_the_last_bit(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    path = str(tmp_path / "clean.parquet")
    write_rows(path, DAG.nodes, [rows])
    found = streamed(path)
    assert found.network == gn.fit(rows, DAG, page_rows=PAGE_ROWS).network
    assert len(found.outliers()) == 0
    # Sums over at most 12,000 rows of terms of size 1 to 10, each rounded to 1e-16 of the total.
    assert found.log_likelihood == pytest.approx(gn.fit(rows, DAG).log_likelihood, rel=1e-10)


def test_errors_that_the_sample_did_not_see_are_flagged(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    rows[77, 2] = 400.0
    path = str(tmp_path / "rare.parquet")
    write_rows(path, DAG.nodes, [rows])
    (cell,) = streamed(path, sample=400).outliers()
    assert (cell.row, cell.node, cell.recorded) == (77, "c", 400.0)
    assert cell.probability > 0.99


def test_all_flagged_cells_are_counted_and_the_worst_are_listed(spoilt_file, fit, monkeypatch):
    _, rows, wrong = spoilt_file
    every = fit.outliers()
    assert every.total == len(every)
    flagged = np.zeros(rows.shape, dtype=bool)
    flagged[every.rows, [DAG.position(node) for node in every.nodes]] = True
    # 8 standard deviations of the noise are beyond doubt in nearly all cells.
    assert (flagged & wrong).sum() / flagged.sum() > 0.97
    assert (flagged & wrong).sum() / wrong.sum() > 0.97
    monkeypatch.setattr(streams, "MOST_LISTED", 20)
    some = streamed(spoilt_file[0])
    few = some.outliers()
    assert few.total == every.total > rows.size / 60
    assert list(few) == list(every)[:20]
    assert few.shares == every.shares
    assert "the worst 20 listed" in repr(few)
    assert f"{every.total:,} values do not fit" in some.summary()
    assert {note.node for note in some.notes} == {None, *DAG.nodes}
    with pytest.raises(gn.EstimationError, match=f"does not believe {every.total:,} values"):
        _ = some.log_likelihood


def test_standard_errors_are_those_of_memory(whole, fit):
    for edge, error in whole.standard_errors.coefficients.items():
        # Errors follow from the same information, up to flags of cells in doubt.
        assert fit.standard_errors.coefficients[edge] == pytest.approx(error, rel=0.02)


def test_contamination_is_tested_in_pages_as_in_memory(spoilt_file):
    whole = gn.fit(spoilt_file[1], DAG, "auto")
    found = streamed(spoilt_file[0], "auto")
    assert found.network == streamed(spoilt_file[0]).network
    assert set(found.contamination.contaminated) == set(whole.contamination.contaminated)
    assert set(found.contamination.contaminated) == set(DAG.nodes)
    # Rows beside suspicious parents are not counted, and 2 % of 2 % of cells have other flags.
    np.testing.assert_allclose(found.contamination.shares, whole.contamination.shares, atol=2e-3)
    np.testing.assert_allclose(found.contamination.shifts, whole.contamination.shifts, rtol=0.05)


def test_clean_pages_show_no_contamination(tmp_path):
    path = str(tmp_path / "clean.parquet")
    write_rows(path, DAG.nodes, [np.asarray(NETWORK.sample(ROWS, seed=5))])
    assert streamed(path, "auto").contamination.contaminated == ()


@many_rows
@pytest.mark.parametrize("missing", ["likelihood", "drop-by-node"])
def test_missing_cells_are_bridged(tmp_path, missing):
    rows, _ = spoilt(seed=2)
    rows[np.random.default_rng(1).random(rows.shape) < 0.03] = np.nan
    path = str(tmp_path / "holes.parquet")
    write_rows(path, DAG.nodes, [rows])
    found = streamed(path, missing=missing)
    whole = gn.fit(rows, DAG, "robust", missing=missing)
    assert distance(whole, found) < streams.CLOSE
    assert found.node("b").rows < ROWS


@many_rows
def test_foreign_rows_are_found_in_pages_too(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    rows[::10] = np.random.default_rng(2).normal(6.0, 0.5, rows[::10].shape)
    path = str(tmp_path / "foreign.parquet")
    write_rows(path, DAG.nodes, [rows])
    found = streamed(path)
    whole = gn.fit(rows, DAG, "robust")
    assert distance(whole, found) < streams.CLOSE


@many_rows
def test_cells_of_rows_that_may_be_foreign_are_expected_at_the_means(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    rows[::10] = np.random.default_rng(2).normal(3.0, 1.5, rows[::10].shape)
    path = str(tmp_path / "near.parquet")
    write_rows(path, DAG.nodes, [rows])
    found = streamed(path)
    judge = found.trimming.judge
    by_row = Counter(cell.row for cell in found.outliers())
    unsure = [
        cell for cell in found.outliers() if by_row[cell.row] == len(DAG) and cell.probability < 0.9
    ]
    assert unsure
    for cell in unsure:
        # Rows are judged by means that a sample taught, nine tenths of it right. From those of all
        # rows these lie 5 standard deviations off in one case of a million.
        position = DAG.position(cell.node)
        error = np.sqrt(judge.mixture.marginal[position] * (1.0 / SAMPLE - 1.0 / ROWS) / 0.9)
        mean = judge.mixture.equation.means[position]
        assert cell.expected == pytest.approx(mean, abs=5.0 * error)


@many_rows
def test_files_of_outliers_hold_the_cells_that_are_counted(tmp_path):
    rows, _ = spoilt(5, 0.05, 5.0)
    path = str(tmp_path / "moderate.parquet")
    write_rows(path, DAG.nodes, [rows])
    found = streamed(path)
    counted = sum(found.trimming.count(node, "flagged") for node in range(len(DAG)))
    # The judge of the last pass counted them, and not the one that the fit ends with.
    assert found.trimming.judged_by.judged(rows).flagged.sum() == counted
    assert OutlierFile(LabelledRows(path), tmp_path / "bad.csv").write(found) == counted


def test_columns_without_noise_are_refused(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    rows[:, 3] = 2.0 * rows[:, 2]
    path = str(tmp_path / "sums.parquet")
    write_rows(path, DAG.nodes, [rows])
    with pytest.raises(gn.EstimationError, match="noise of its own"):
        streamed(path)


def test_values_out_of_range_are_refused_with_the_reason(tmp_path):
    rows = np.asarray(NETWORK.sample(ROWS, seed=5))
    rows[77, 2] = 1e101
    path = str(tmp_path / "huge.parquet")
    write_rows(path, DAG.nodes, [rows])
    with pytest.raises(gn.EstimationError, match="no value beyond 1e100"):
        streamed(path, sample=ROWS)


def test_other_scales_are_refused(spoilt_file):
    with pytest.raises(gn.SettingError, match="'core' or 'kl-optimal'"):
        streamed(spoilt_file[0], scale="mean-square")


def test_a_judge_of_a_network_finds_what_relatives_contradict():
    rows = np.asarray(NETWORK.sample(500, seed=8))
    rows[7, 1] += 12.0
    found = Judge.of_network(NETWORK).judged(rows)
    assert found.flagged[7, 1]
    assert found.flagged.sum() <= 3
    others = np.delete(np.arange(5), 1)
    covariance, means = NETWORK.covariance(), NETWORK.mean()
    gain = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, 1])
    expected = means[1] + gain @ (rows[7, others] - means[others])
    assert found.filled[7, 1] == pytest.approx(expected, abs=1e-3)


def expected_and_sd(network, row, node, believed):
    """What the believed cells of a row say of one, by dense algebra."""
    covariance, means = network.covariance(), network.mean()
    own = np.flatnonzero(believed)
    gain = np.linalg.solve(covariance[np.ix_(own, own)], covariance[own, node])
    variance = covariance[node, node] - gain @ covariance[own, node]
    return means[node] + gain @ (row[own] - means[own]), np.sqrt(variance)


def gross_rows():
    """Rows with gross errors, alone, beside holes, beside each other, and in every cell."""
    rows = np.asarray(NETWORK.sample(ROWS, seed=8))
    rows[3, 1] = rows[4, 1] = rows[5, 1] = rows[5, 2] = rows[6, 1] = 500.0
    rows[4, [0, 2]] = rows[6, [0, 2, 3, 4]] = np.nan
    wrong = np.zeros(rows.shape, dtype=bool)
    wrong[[3, 4, 5, 5, 6], [1, 1, 1, 2, 1]] = True
    return rows, wrong


@many_rows
@pytest.mark.parametrize("where", ["memory", "pages"])
def test_z_counts_standard_deviations_given_the_believed_cells_of_the_row(tmp_path, where):
    rows, wrong = gross_rows()
    path = str(tmp_path / "gross.parquet")
    write_rows(path, DAG.nodes, [rows])
    whole = gn.fit(rows, DAG, "robust", missing="likelihood")
    fit = whole if where == "memory" else streamed(path, missing="likelihood")
    found = {(cell.row, DAG.position(cell.node)): cell for cell in fit.outliers()}
    flagged = np.zeros(rows.shape, dtype=bool)
    flagged[tuple(np.array(list(found)).T)] = True
    assert flagged[wrong].all()
    equation = fit.trimming.judge.mixture.equation
    learnt = gn.GaussianNetwork.from_arrays(DAG, equation.coefficients, equation.variances)
    for row, node in np.argwhere(wrong).tolist():
        cell, own = found[row, node], rows[row] - equation.means
        believed = ~flagged[row] & ~np.isnan(own)
        expected, sd = expected_and_sd(learnt, own, node, believed)
        # The chance that a value so far off is right is below 1e-6. Pages were judged by the
        # parameters of the sample; its standard deviations have errors of 1 / sqrt(2 rows), and are
        # 5 of these off in one case of a million.
        exact = 1e-6 if where == "memory" else 5.0 / np.sqrt(2.0 * SAMPLE)
        assert cell.z == pytest.approx((own[node] - expected) / sd, rel=exact)


def test_rows_that_lack_more_cells_than_a_pattern_holds_have_no_weight():
    nodes = [f"x{number}" for number in range(130)]
    dag = gn.Dag.parse("; ".join(nodes), nodes=nodes)
    network = gn.GaussianNetwork.from_arrays(dag, [], np.ones(len(nodes)))
    rows = np.asarray(network.sample(200, seed=1))
    rows[::2, :110] = np.nan
    judge = Judge.of_network(network)
    every, whole = judge.judged(rows).sums, judge.judged(rows[1::2]).sums
    assert every.weight == whole.weight == 100.0
    found, expected = (judge.mixture.solved(sums).variances for sums in (every, whole))
    # Sums of 100 squares in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_report_of_pages_shows_residuals_of_believed_values(tmp_path, spoilt_file, fit):
    gn.write_report(fit, tmp_path / "report.html")
    assert "the rows are in a file: call check_graph()" in (tmp_path / "report.html").read_text()
    residuals = judged_residuals(fit, 2_000)
    assert np.nanmax(np.abs(residuals)) < 7.0  # wrong values are 8 standard deviations off
    assert np.isnan(residuals).any()


def test_r2_of_pages_is_that_of_the_believed_cells(spoilt_file, fit):
    """Against the formula, cell by cell, and near that of a fit in memory."""
    rows = fit.trimming.judge.believed(spoilt_file[1])
    table = {row["node"]: row["r2"] for row in fit.node_table()}
    assert np.isnan(table["a"])
    for child in "bcde":
        parents = DAG.parents(child)
        own = rows[:, [DAG.position(name) for name in (child, *parents)]]
        own = own[np.isfinite(own).all(axis=1)]
        weights = [fit.network.coefficients[parent, child] for parent in parents]
        errors = own[:, 0] - own[:, 1:] @ weights - fit.network.intercepts[child]
        expected = 1.0 - errors @ errors / ((own[:, 0] - own[:, 0].mean()) ** 2).sum()
        assert table[child] == pytest.approx(expected, rel=1e-10)
    whole = gn.fit(spoilt_file[1], DAG, "robust")
    for row in whole.node_table():
        if row["parents"]:
            assert table[row["node"]] == pytest.approx(row["r2"], abs=0.01)


def test_the_graph_is_checked_on_the_believed_cells_of_pages(spoilt_file, fit):
    # The graph is right: a false alarm has a chance of one in 10,000.
    check = fit.check_graph(level=1e-4)
    assert check.agrees
    assert check.tests == len(DAG) * (len(DAG) - 1) // 2 - len(DAG.edges)
    assert any("approximate" in note for note in check.notes)
    whole = gn.fit(spoilt_file[1], DAG, "robust").check_graph()
    pairs = {(test.node, test.other): test.correlation for test in whole}
    # Cells in doubt count here and not there, one in a few hundred.
    for test in check:
        assert test.correlation == pytest.approx(pairs[test.node, test.other], abs=0.01)


@many_rows
def test_a_wrong_graph_is_contradicted_by_the_believed_cells_of_pages(spoilt_file):
    wrong = gn.Dag.parse("[a][b|a][c|a][d|c][e|b:d]", nodes=DAG.nodes)
    run = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=4_000)
    other = fit_with_run(run, spoilt_file[0], wrong, "robust", page_rows=4_096)
    assert not other.check_graph(level=1e-4).agrees


def test_refusals_of_pages_advise_what_can_be_done(fit):
    with pytest.raises(gn.EstimationError) as told:
        fit.fit_measures()
    assert str(told.value).endswith("the likelihood of these rows: use check_graph()")
    with pytest.raises(gn.EstimationError, match="fit a sample of the rows"):
        fit.check_graph(errors="heteroscedastic")
