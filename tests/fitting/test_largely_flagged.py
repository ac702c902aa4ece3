"""Wrong graphs that a robust fit explains by wrong values."""

import numpy as np
import pytest
from tests.forced import fit_with_run, many_rows

import gaussnet as gn
from gaussnet.data.passes import Run
from gaussnet.data.write import write_rows

pytestmark = many_rows  # every other row has a wrong cell to search for

NODES = ["a", "b", "c", "d", "e"]
RIGHT = gn.Dag.parse("[a][b|a][c|a:b][d|c][e|b:d]", nodes=NODES)
LACKING = gn.Dag.parse("[a][b|a][c|a][d|c][e|b:d]", nodes=NODES)
"""Without the edge from b to c."""
NETWORK = gn.simulate.random_network(RIGHT, seed=3, weights=(0.5, 1.5))


def clean(rows, seed):
    return np.asarray(NETWORK.sample(rows, seed=seed))


@pytest.fixture(scope="module")
def fit():
    return gn.fit(clean(300, 1), LACKING, "robust")


def test_the_case_is_one_in_which_half_a_clean_column_is_flagged(fit):
    assert fit.trimming.largely_flagged == (0,)


def test_a_lacking_edge_is_found_behind_the_flags(fit):
    check = fit.check_graph()
    # With all values the partial correlation of b and c is -0.7: 300 rows are 15 standard errors.
    assert {check.rejected[0].node, check.rejected[0].other} == {"b", "c"}
    assert "more than a quarter of the values of a were flagged" in check.notes[0]


def test_the_summary_contradicts_the_graph_and_warns_of_the_column(fit):
    summary = fit.summary()
    assert summary.fits.startswith("The data contradict the graph")
    assert summary.trust.startswith("Do not trust the numbers of a and of its parents and children")
    assert summary.warns


def test_a_column_with_gross_errors_in_a_third_of_its_rows_is_no_doubt_about_the_graph():
    rows = clean(300, 1)
    rows[:100, 1] = 1e3
    fit = gn.fit(rows, RIGHT, "robust")
    assert fit.trimming.largely_flagged == (1,)
    assert fit.trimming.lenient is None
    # The graph is right: a false alarm has a chance of one in 10,000.
    assert fit.check_graph(level=1e-4).agrees
    assert "lacks an edge" not in str(fit.summary())


def test_usual_values_alone_are_believed_again(fit):
    rows = clean(300, 1)
    far = np.arange(300) < 3
    rows[far, 0] = 40.0
    other = gn.fit(rows, LACKING, "robust")
    assert 0 in other.trimming.largely_flagged
    found = {(test.node, test.other): test.correlation for test in other.check_graph()}
    rest = {(test.node, test.other): test.correlation for test in fit.check_graph()}
    # Three rows of 300 less: a partial correlation moves by a few hundredths; believed, the values
    # of 40 would halve it.
    assert found["c", "b"] == pytest.approx(rest["c", "b"], abs=0.05)


def test_pages_find_it_too(tmp_path, fit):
    path = str(tmp_path / "rows.parquet")
    write_rows(path, NODES, [clean(300, 1)])
    run = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=4_000)
    paged = fit_with_run(run, path, LACKING, "robust", page_rows=128)
    assert paged.trimming.counts is not None
    assert paged.trimming.largely_flagged == (0,)
    check = paged.check_graph()
    assert check.notes[0] == fit.check_graph().notes[0]
    assert {check.rejected[0].node, check.rejected[0].other} == {"b", "c"}


def test_gross_errors_of_pages_are_no_doubt_about_the_graph_either(tmp_path):
    rows = clean(600, 1)
    rows[:200, 1] = 1e3
    path = str(tmp_path / "rows.parquet")
    write_rows(path, NODES, [rows])
    run = Run(1, largest_judged=0, largest_whole_bytes=-1, sample_rows=4_000)
    paged = fit_with_run(run, path, RIGHT, "robust", page_rows=128)
    assert paged.trimming.counts is not None
    assert paged.trimming.largely_flagged == (1,)
    assert paged.trimming.lenient is None
    assert "lacks an edge" not in str(paged.summary())
