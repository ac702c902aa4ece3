"""Summaries for the robust method: updates day by day."""

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from tests.forced import many_rows

import gaussnet as gn
from gaussnet.fitting.robust_summaries import RobustSummary
from gaussnet.methods.robust.cellwise import Cellwise
from gaussnet.methods.robust.streams import CLOSE

pytestmark = many_rows

DAG = gn.Dag.parse("[a][b|a][c|a:b][d|c][e|b:d]", nodes=["a", "b", "c", "d", "e"])
NETWORK = gn.simulate.random_network(DAG, seed=3, weights=(0.5, 1.5))
DAYS, ROWS = 30, 300


def spoilt_rows(seed, kind, share=0.02):
    """Rows of 30 days with some cells wrong."""
    rows = np.array(NETWORK.sample(DAYS * ROWS, seed=seed))
    rng = np.random.default_rng(seed)
    wrong = rng.random(rows.shape) < share
    gross = rng.normal(1000.0, 1.0, rows.shape)
    near = rows + 8.0 * NETWORK.scales * rng.choice([-1.0, 1.0], rows.shape)
    return np.where(wrong, gross if kind == "gross" else near, rows)


def summary_of(days, size=None, **settings):
    """A summary of days, one update after the other, with a sample of this size."""
    settings = {"missing": "raise", "page_rows": 256} | settings
    first = RobustSummary.empty(DAG, Cellwise(), True, settings["page_rows"], settings["missing"])
    found = first if size is None else dataclasses.replace(first, size=size)
    for day in days:
        found = found.add(day)
    return found


def distance(one, other):
    """The largest difference of a parameter in standard errors of the first fit."""
    errors, network = one.standard_errors, one.network
    slopes = [
        (network.coefficients[edge] - other.network.coefficients[edge]) / errors.coefficients[edge]
        for edge in network.coefficients
    ]
    spreads = [
        (network.variances[node] - other.network.variances[node]) / errors.variances[node]
        for node in DAG.nodes
    ]
    means = [
        (network.intercepts[node] - other.network.intercepts[node]) / errors.intercepts[node]
        for node in DAG.nodes
    ]
    return np.abs([*slopes, *spreads, *means]).max()


def test_while_all_rows_are_in_the_sample_the_answer_is_that_of_all_rows():
    rows = spoilt_rows(1, "near")
    found = gn.solve(summary_of(np.split(rows, DAYS)))
    whole = gn.fit(rows, DAG, "robust", page_rows=256)
    assert found.network == whole.network
    assert list(found.outliers()) == list(whole.outliers())
    assert found.summary() == whole.summary()


@pytest.mark.parametrize("kind", ["gross", "near"])
def test_thirty_updates_lead_to_what_all_rows_do(kind):
    rows = spoilt_rows(2, kind)
    summary = summary_of(np.split(rows, DAYS), size=2_000)
    assert (summary.rows, summary.rows_inside) == (DAYS * ROWS, 2_000)
    assert distance(gn.fit(rows, DAG, "robust"), gn.solve(summary)) < CLOSE


def test_what_is_left_to_the_sample_is_little_beside_what_it_misses():
    rows = spoilt_rows(3, "gross")
    summary = summary_of(np.split(rows, DAYS), size=2_000)
    whole, alone = gn.fit(rows, DAG, "robust"), gn.fit(summary.sample.rows, DAG, "robust")
    # A sample of 2,000 of 9,000 rows alone is off by about sqrt(9000 / 2000 - 1) = 1.9 errors.
    assert distance(whole, alone) > 1.0
    assert distance(whole, gn.solve(summary)) < CLOSE


def test_standard_errors_flags_and_effects_come_from_the_summary():
    rows = spoilt_rows(4, "gross")
    whole, found = gn.fit(rows, DAG, "robust"), gn.solve(summary_of(np.split(rows, 3), size=2_000))
    for edge, error in whole.standard_errors.coefficients.items():
        # Variances of a sample of 2,000 are known to sqrt(2 / 2000) = 3 %, errors to half of it;
        # the largest of a dozen is within three times as much.
        assert found.standard_errors.coefficients[edge] == pytest.approx(error, rel=0.05)
    assert found.outliers().total == whole.outliers().total
    assert found.outliers().shares == whole.outliers().shares
    there = {(cell.row, cell.node) for cell in whole.outliers()}
    assert {(cell.row, cell.node) for cell in found.outliers()} == there
    one, other = (fit.effect("a", "e") for fit in (whole, found))
    assert other.value == pytest.approx(one.value, abs=0.05 * (one.high - one.low))


def test_questions_that_need_the_rows_are_refused_with_the_reason():
    found = gn.solve(summary_of(np.split(spoilt_rows(4, "gross"), 3), size=2_000))
    for ask in (
        found.check_graph,
        lambda: found.log_likelihood,
        found.residuals,
        found.cleaned,
        found.impute,
    ):
        with pytest.raises(gn.EstimationError, match=r"summary|does not believe"):
            ask()
    assert "flagged" in str(found.summary()) or "do not fit" in str(found.summary())
    assert str(found)
    assert repr(found.table())


@pytest.mark.parametrize("size", [None, 1_000])
def test_a_saved_summary_goes_on_as_if_it_had_not_been(tmp_path, size):
    days = np.split(spoilt_rows(5, "near"), 6)
    half = summary_of(days[:3], size)
    half.save(tmp_path / "half.npz")
    again = gn.load_summary(tmp_path / "half.npz")
    assert repr(again) == repr(half)
    one, other = gn.solve(half.add(days[3])), gn.solve(again.add(days[3]))
    assert one.network == other.network
    errors = (fit.standard_errors.coefficients for fit in (one, other))
    assert next(errors) == next(errors)
    assert list(one.outliers()) == list(other.outliers())


def test_foreign_rows_and_missing_cells_survive_a_file(tmp_path):
    rows = np.array(NETWORK.sample(6_000, seed=5))
    rows[::10] = np.random.default_rng(2).normal(6.0, 0.5, rows[::10].shape)
    rows[np.random.default_rng(1).random(rows.shape) < 0.02] = np.nan
    summary = summary_of(np.split(rows, 4), 1_500, missing="likelihood")
    assert summary.judged.judge.mixture.foreign is not None
    summary.save(tmp_path / "some.npz")
    found = gn.solve(gn.load_summary(tmp_path / "some.npz"))
    assert found.network == gn.solve(summary).network
    whole = gn.fit(rows, DAG, "robust", missing="likelihood")
    # Rows of 6 standard deviations off are beyond doubt, but for those with missing cells.
    assert distance(whole, found) < 2.0 * CLOSE


def test_clean_rows_beyond_the_sample_give_nearly_least_squares():
    rows = np.array(NETWORK.sample(6_000, seed=6))
    found = gn.solve(summary_of(np.split(rows, 4), 1_500))
    assert found.outliers().total <= 2
    assert distance(gn.fit(rows, DAG), found) < CLOSE


@pytest.mark.parametrize("threads", [1, 3])
def test_the_answer_does_not_depend_on_threads_or_files(tmp_path, threads):
    days = np.split(spoilt_rows(7, "near"), 6)
    files = []
    for number, day in enumerate(days):
        files.append(str(tmp_path / f"{number}.csv"))
        np.savetxt(files[-1], day, "%.17g", ",", header=",".join(DAG.nodes), comments="")
    expected = summary_of(days, 1_000)
    found = summary_of([], 1_000)
    for file in files:
        found = found.add(file, threads=threads)
    assert gn.solve(found).network == gn.solve(expected).network


def test_missing_cells_are_refused_unless_allowed():
    rows = spoilt_rows(8, "near")
    rows[5, 2] = np.nan
    with pytest.raises(gn.DataError, match="missing='likelihood' to the first summary"):
        gn.summarize(rows, DAG, "robust")
    assert gn.summarize(rows, DAG, "robust", missing="likelihood").rows == len(rows)
    with pytest.raises(gn.SettingError, match="'raise' or 'likelihood'"):
        gn.summarize(rows, DAG, "robust", missing="drop-rows")


def test_foreign_rows_that_come_later_are_found():
    rows = np.array(NETWORK.sample(9_000, seed=5))
    rng = np.random.default_rng(2)
    later = np.flatnonzero(rng.random(9_000) < 0.05)
    later = later[later >= 2_500]
    right = np.delete(rows, later, axis=0)
    rows[later] = rng.normal(6.0, 0.5, (len(later), 5))
    found = gn.solve(summary_of(np.split(rows, 9), 2_000))
    flagged = set(found.outliers().rows.tolist())
    assert len(flagged & set(later.tolist())) > 0.9 * len(later)
    # Foreign rows before they were known as such are taken back by those in the sample, which tell
    # their number to 5 or so: 5 * 36 / 9,000 of a variance is 1.3 errors, here within three times
    # as much. As right ones they would be off by hundreds.
    assert distance(gn.fit(right, DAG), found) < 4.0


def test_a_day_of_many_foreign_rows_is_found():
    rows = np.array(NETWORK.sample(6_000, seed=7))
    foreign = 1_500 + 5 * np.arange(300)
    right = np.delete(rows, foreign, axis=0)
    rows[foreign] = np.random.default_rng(3).normal(6.0, 0.5, (300, 5))
    found = gn.solve(summary_of(np.split(rows, 4), 1_500))
    assert found.outliers().total == pytest.approx(1_500, rel=0.02)
    assert distance(gn.fit(right, DAG), found) < 1.0


def test_a_column_may_be_empty_for_a_day_and_a_day_without_rows():
    days = np.split(spoilt_rows(8, "gross"), 6)
    days[2][:, 1] = np.nan
    found = summary_of(days, 2_000, missing="likelihood")
    rows = np.concatenate(days)
    whole = gn.fit(rows, DAG, "robust", missing="likelihood")
    assert distance(whole, gn.solve(found)) < 2.0 * CLOSE
    assert found.add(np.empty((0, 5))) is found
    with pytest.raises(gn.DataError, match="has no value at all"):
        summary_of([days[2]], missing="likelihood")


def test_categories_have_errors_beyond_the_sample():
    rng = np.random.default_rng(1)
    site = rng.choice(["north", "south", "west"], 3_000)
    value = 2.0 * (site == "south") + rng.normal(size=3_000)
    value[::100] += 50.0
    frame = pd.DataFrame({"site": site, "value": value})
    settings = {"page_rows": 256}
    first = gn.summarize(frame[:1_000], "value ~ site", "robust", **settings)
    found = gn.solve(dataclasses.replace(first, size=1_000).add(frame[1_000:]))
    whole = gn.fit(frame, "value ~ site", "robust")
    for edge, error in whole.standard_errors.coefficients.items():
        # Known from a sample of 1,000: to sqrt(1 / 2000) = 2 %, within three times as much.
        assert found.standard_errors.coefficients[edge] == pytest.approx(error, rel=0.07)
    assert "south" in str(found.table())


def test_codes_of_missing_values_hold_for_rows_that_are_added(tmp_path):
    rows = spoilt_rows(8, "near")
    coded = rows.copy()
    coded[::50, 2], rows[::50, 2] = -999.0, np.nan
    settings = {"missing": "likelihood", "missing_values": [-999.0]}
    gn.summarize(coded[:4_000], DAG, "robust", **settings).save(tmp_path / "some.npz")
    found = gn.solve(gn.load_summary(tmp_path / "some.npz").add(coded[4_000:]))
    expected = gn.fit(rows, DAG, "robust", missing="likelihood").network
    assert found.network == expected
    half = gn.solve(gn.summarize(coded[:4_000], DAG, "robust", **settings))
    assert half.update(coded[4_000:]).network == expected


def test_what_a_robust_summary_cannot_use_is_refused():
    rows = spoilt_rows(8, "near")
    summary = gn.summarize(rows, DAG, "robust")
    with pytest.raises(gn.SettingError, match="one site after the other"):
        gn.merge(summary, summary)
    with pytest.raises(gn.SettingError, match="cannot do without"):
        summary.share()
    with pytest.raises(gn.SettingError, match="for_checks=True"):
        gn.summarize(rows, DAG, "robust", for_checks=True)
    with pytest.raises(gn.SettingError, match="interventions or weights"):
        gn.summarize(rows, DAG, "robust", interventions=np.zeros(rows.shape, dtype=bool))
    with pytest.raises(gn.SettingError, match="'core' or 'kl-optimal'"):
        gn.solve(summary_of(np.split(rows, 3), 1_000), scale="mean-square")
    with pytest.raises(gn.DataError, match="no rows"):
        gn.solve(summary_of([]))


def test_a_pickled_fit_takes_no_rows_with_it():
    found = gn.solve(summary_of(np.split(spoilt_rows(4, "gross"), 3), size=2_000))
    assert found.kept.sample.rows[0].tobytes() not in pickle.dumps(found)
    again = pickle.loads(pickle.dumps(found))
    assert again.network == found.network
    with pytest.raises(gn.EstimationError, match="no longer has the rows"):
        _ = again.standard_errors


@pytest.mark.parametrize(
    "change",
    [
        {"rows": -1},
        {"size": 10},
        {"missing": "drop-rows"},
        {"intercept": "yes"},
        {"shaped": [77]},
        {"page_rows": 0},
    ],
)
def test_a_header_that_was_tampered_with_is_refused(tmp_path, change):
    path = tmp_path / "some.npz"
    summary_of(np.split(spoilt_rows(4, "gross"), 3), size=2_000).save(path)
    with np.load(path) as arrays:
        held = dict(arrays)
    header = json.loads(held["header"].tobytes().decode()) | change
    held["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **held)
    with pytest.raises(gn.FileError, match="not a whole summary"):
        gn.load_summary(path)


@pytest.mark.parametrize("name", ["equation/variances", "laws/shares", "worst/nodes", "lost"])
def test_arrays_that_were_tampered_with_are_refused(tmp_path, name):
    path = tmp_path / "some.npz"
    summary_of(np.split(spoilt_rows(4, "gross"), 3), size=2_000).save(path)
    with np.load(path) as arrays:
        held = dict(arrays)
    held[name] = -np.ones(held[name].shape, held[name].dtype)[..., :-1]
    np.savez(path, **held)
    with pytest.raises(gn.FileError, match="not a whole summary"):
        gn.load_summary(path)


def test_an_update_of_the_fit_goes_on_from_the_summary():
    days = np.split(spoilt_rows(5, "near"), 6)
    half = summary_of(days[:3], 1_000)
    assert gn.solve(half).update(days[3]).network == gn.solve(half.add(days[3])).network
