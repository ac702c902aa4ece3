"""Three sentences on a fit: a table of situations, also in docs/reading-a-fit.md, word for word."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.fitting.measures import small_sample_pvalue
from gaussnet.fitting.residuals import shape_words

DOCUMENT = Path(__file__).parents[2] / "docs" / "reading-a-fit.md"
DAG = gn.Dag.parse("[rain][wet|rain][mud|wet][slip|wet:mud]", nodes=["rain", "wet", "mud", "slip"])
TRUTH = gn.GaussianNetwork.from_arrays(
    DAG, [0.8, 0.7, 0.5, 0.6], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]
)
ROWS = TRUTH.sample(500, seed=3)


def changed(node, function, seed=0):
    """The rows with the noise of one node changed, and what follows from it downstream."""
    rng = np.random.default_rng(seed)
    rows = np.empty((500, 4))
    noise = rng.standard_normal((500, 4))
    noise[:, DAG.position(node)] = function(rng)
    rows[:, 0] = 1.0 + noise[:, 0]
    rows[:, 1] = 0.8 * rows[:, 0] + noise[:, 1]
    rows[:, 2] = 0.7 * rows[:, 1] + noise[:, 2]
    rows[:, 3] = 0.5 * rows[:, 1] + 0.6 * rows[:, 2] + noise[:, 3]
    return rows


def wild():
    rows = ROWS.copy()
    rows[[3, 70, 200], 1] = 400.0, -999.0, 80.0
    return rows


def holes():
    rows = ROWS.copy()
    rows[5:25, 2] = np.nan
    return rows


def copied_column():
    rows = ROWS.copy()
    rows[:, 2] = 2.0 * rows[:, 1]
    return rows


def follows_logarithm():
    """A column whose child follows its logarithm."""
    rows = ROWS.copy()
    rng = np.random.default_rng(1)
    rows[:, 0] = rng.lognormal(0.0, 0.8, 500)
    rows[:, 1] = 2.0 * np.log(rows[:, 0]) + 0.5 * rng.standard_normal(500)
    rows[:, 2] = 0.7 * rows[:, 1] + rng.standard_normal(500)
    rows[:, 3] = 0.5 * rows[:, 1] + 0.6 * rows[:, 2] + rng.standard_normal(500)
    return rows


WRONG = gn.Dag.parse("[rain][wet|rain][mud|rain][slip|wet]", nodes=["rain", "wet", "mud", "slip"])
SITUATIONS = {
    "clean data, the right graph": lambda: gn.fit(ROWS, DAG),
    "edges are missing in the graph": lambda: gn.fit(ROWS, WRONG),
    "wild values, least squares": lambda: gn.fit(wild(), DAG),
    "wild values, robust": lambda: gn.fit(wild(), DAG, "robust"),
    "clean data, robust": lambda: gn.fit(ROWS, DAG, "robust"),
    "a skewed column, robust": lambda: gn.fit(follows_logarithm(), DAG, "robust"),
    "skewed noise": lambda: gn.fit(changed("mud", lambda r: r.exponential(size=500) - 1), DAG),
    "heavy tails": lambda: gn.fit(changed("wet", lambda r: r.standard_t(5, 500), 5), DAG),
    "missing values, rows dropped": lambda: gn.fit(holes(), DAG, missing="drop-rows"),
    "missing values, dropped by node": lambda: gn.fit(holes(), DAG, missing="drop-by-node"),
    "a column is a copy of another": lambda: gn.fit(copied_column(), DAG),
    "few rows": lambda: gn.fit(ROWS[:12], DAG),
    "a fit from a summary, without rows": lambda: gn.solve(gn.summarize(ROWS, DAG)),
}


def documented():
    """Situation -> sentences, from the table in the document."""
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {row[0]: tuple(row[1].split("<br>")) for row in rows if len(row) == 2}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_sentences_are_those_of_the_document(situation):
    assert SITUATIONS[situation]().summary().sentences == documented()[situation]


def test_there_are_thirteen_situations_and_each_reads_differently():
    found = {make().summary().sentences for make in SITUATIONS.values()}
    assert len(SITUATIONS) == len(found) == 13


def test_odd_values_without_parents_leave_the_intervals_of_coefficients_right():
    """Least squares is exact given the parents, whatever their law is."""
    summary = gn.fit(changed("rain", lambda rng: rng.exponential(size=500)), DAG).summary()
    assert "the values of rain are not Gaussian" in summary.fits
    assert "coefficients and their intervals can be trusted" in summary.trust
    assert summary.warns


def test_maximum_likelihood_is_called_so():
    rows = wild()
    rows[5, 2] = np.nan
    assert "maximum likelihood follows wild" in gn.fit(rows, DAG, missing="likelihood").summary()


def test_flagged_values_that_look_like_skew_are_a_warning():
    fit = gn.fit(follows_logarithm(), DAG, "robust")
    assert fit.trimming.skewed == {0: 1}
    assert fit.summary().warns
    assert "try its logarithm" in fit.summary().trust
    gross = ROWS.copy()
    gross[::25, 0] += 50.0
    assert gn.fit(gross, DAG, "robust").trimming.skewed == {}


@pytest.mark.parametrize("method", ["robust", "sequential-trim"])
def test_confirmed_values_count_in_the_shape_of_residuals(method):
    """They are far off and right, so that the noise has heavy tails."""
    rows = changed("wet", lambda rng: rng.standard_t(3, 500), 5)
    fit = gn.fit(rows, DAG, method)
    assert len(fit.outliers("confirmed")) > 0
    left = fit.residuals(standardized=True)[:, 1]
    believed = np.ones(500, dtype=bool)
    doubted = (*fit.outliers("flagged"), *fit.outliers("unverified"))
    believed[[cell.row for cell in doubted if cell.node in ("wet", "rain")]] = False
    worst = np.abs(left[believed]).max()
    assert abs(fit.residual_shapes.worst[1]) == pytest.approx(worst, rel=1e-12)
    assert "not Gaussian" in fit.summary().fits
    assert "try robust" not in "".join(fit.notes)


def test_a_contradicted_graph_is_in_the_first_words():
    summary = gn.fit(ROWS, WRONG).summary()
    assert summary.fits.startswith("The data contradict the graph")
    assert summary.trust.startswith("Do not trust")
    assert summary.warns
    assert not gn.fit(ROWS, DAG).summary().warns


def test_sentences_are_plain():
    for make in SITUATIONS.values():
        for sentence in make().summary().sentences:
            assert sentence.endswith(".")
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert sentence.count(". ") == 0
            assert len(sentence) < 200


def test_least_squares_that_meets_wild_cells_notes_it():
    notes = [str(note) for note in gn.fit(wild(), DAG).notes]
    assert notes == [
        "residuals of wet are far from Gaussian (worst 20.7 sd of the noise): try robust"
    ]
    assert gn.fit(ROWS, DAG).notes == ()
    assert not any("try robust" in str(note) for note in gn.fit(wild(), DAG, "robust").notes)


def test_the_note_on_wild_values_tells_the_worst_of_all_its_nodes():
    rows = ROWS.copy()
    rows[7, 0], rows[[3, 70, 200], 2] = 60.0, (400.0, -999.0, 80.0)
    fit = gn.fit(rows, DAG)
    nodes = fit.residual_shapes.nodes("wild values")
    worst = np.abs(fit.residual_shapes.worst[nodes])
    assert worst.argmax() > 0  # it is not that of the node told first
    (note,) = fit.notes
    assert f"(worst {worst.max():.3g} sd of the noise)" in note
    assert f"worst {worst.max():.3g} sd of the noise" in str(fit.summary())


def test_missing_values_are_told_where_all_others_are_used():
    words = gn.fit(holes(), DAG, missing="likelihood").summary().data
    assert words == "20 of 2,000 values are missing, and the fit uses all others."
    one = ROWS.copy()
    one[3, 1] = np.nan
    words = gn.fit(one, DAG, missing="likelihood").summary().data
    assert words == "1 value is missing, and the fit uses all others."


def test_robust_fits_bridge_missing_values_and_say_so():
    rows = ROWS.copy()
    rows[:20, 2] = np.nan
    rows[30:33, 1] = 1_000.0
    fit = gn.fit(rows, DAG, "robust", missing="likelihood")
    words = fit.summary().data
    code = "1000 appears 3 times in wet and may mean missing"
    assert words.startswith(
        f"20 of 2,000 values are missing, and the fit uses all others; {code}; 3 values"
    )
    notes = "\n".join(fit.notes)
    assert "rows left out" not in notes
    assert "left out of" not in notes
    assert "mud: 20 of its values missing; the other values of these rows are used" in fit.notes
    assert "wet: 3 of its values flagged; the other values of these rows are used" in fit.notes
    assert any(note.startswith("rows: those in which") for note in fit.node_table().notes)


def test_a_node_with_half_of_its_values_missing_is_not_doubted_for_that():
    rows = ROWS.copy()
    rows[::2, 2] = np.nan
    notes = gn.fit(rows, DAG, "robust", missing="likelihood").notes
    assert not any("more than a quarter" in note for note in notes)


def test_summaries_and_notes_are_strings():
    fit = gn.fit(wild(), DAG)
    summary = fit.summary()
    assert summary == str(summary) == repr(summary) == "\n".join(summary.sentences)
    assert isinstance(summary, str)
    assert "wild values" in summary
    assert "\n".join(fit.notes) == str(fit.notes[0])
    for value in (summary, fit.notes[0]):
        copied = pickle.loads(pickle.dumps(value))
        assert copied == value
        assert vars(copied) == vars(value)


@pytest.mark.parametrize("every", [13, 20, 40])
def test_many_wild_cells_do_not_hide_each_other(every):
    """Of n cells a share p can be at most 1 / sqrt(p) standard deviations off, if they agree."""
    rows = ROWS.copy()
    rows[::every, 1] = 1_000.0
    fit = gn.fit(rows, DAG)
    assert np.nanmax(np.abs(fit.residual_shapes.worst)) < np.sqrt(every) + 0.5
    code = f"1000 appears {len(rows[::every])} times in wet and may mean missing"
    assert fit.summary().data == f"{code}; there are wild values in wet."
    assert "try method='robust'" in fit.summary().trust


def test_gaussian_rows_are_hardly_ever_called_wild():
    """The chance of a note is at most 1e-7 for each fit, by `WILD`."""
    noted = [len(gn.fit(TRUTH.sample(300, seed=seed), DAG).notes) for seed in range(400)]
    assert sum(noted) == 0


@pytest.mark.parametrize(
    ("side", "advice"), [(1.0, "consider a logarithm"), (-1.0, "consider a square")]
)
def test_the_advice_on_skewed_residuals_is_for_the_longer_tail_and_states_its_strength(
    side, advice
):
    fit = gn.fit(changed("mud", lambda r: side * (r.exponential(size=500) - 1)), DAG)
    words = fit.residual_shapes.words(2)
    assert advice in words
    assert f"(skewness {fit.residual_shapes.skewness[2]:.2g})" in words
    assert f"skewness {fit.residual_shapes.skewness[2]:.2g})" in fit.summary().fits


def test_a_long_lower_tail_of_flagged_values_is_not_mended_by_a_logarithm():
    rows = follows_logarithm()
    rows[:, 0] = -rows[:, 0]
    fit = gn.fit(rows, DAG, "robust")
    assert fit.trimming.skewed == {0: -1}
    assert "so try its square, or the logarithm of an upper limit minus" in fit.summary().trust
    assert any("lie below the others" in note for note in fit.notes)


def test_no_single_flagged_value_decides_whether_a_column_looks_skewed():
    """Without any one of the flagged values the verdict is the same."""
    rows = follows_logarithm()
    flagged = gn.fit(rows.copy(), DAG, "robust").outliers()
    nearest = np.argsort(np.abs(flagged.z))[:4]
    for row in flagged.rows[nearest].tolist():
        assert gn.fit(np.delete(rows, row, axis=0), DAG, "robust").trimming.skewed == {0: 1}


def test_shapes_are_those_of_scipy():
    from scipy.stats import kurtosis, skew

    fit = gn.fit(changed("mud", lambda r: r.exponential(size=500) - 1), DAG)
    left = fit.residuals(standardized=True)
    shapes = fit.residual_shapes
    assert shapes.skewness == pytest.approx(skew(left), rel=1e-9, abs=1e-9)
    assert shapes.kurtosis == pytest.approx(kurtosis(left), rel=1e-9, abs=1e-9)
    worst = left[np.abs(left).argmax(axis=0), range(4)]
    assert shapes.worst == pytest.approx(worst)
    assert shapes.shape(2) == "skewed"


def test_a_fit_to_a_file_or_a_loaded_one_says_what_was_not_checked(tmp_path):
    np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header=",".join(DAG.nodes), comments="")
    streamed = fit_streamed(tmp_path / "rows.csv", DAG)
    assert "was not checked (the rows are in a file" in streamed.summary().fits
    fit = gn.fit(ROWS, DAG)
    loaded = pickle.loads(pickle.dumps(fit))
    assert loaded.summary() == fit.summary()
    assert loaded.notes == ()


def test_what_a_copy_says_does_not_depend_on_what_was_asked_before():
    rows = ROWS.copy()
    rows[:, 1] += np.random.default_rng(1).standard_t(3, len(rows))  # tails widen some errors
    asked, never = gn.fit(rows, DAG), gn.fit(rows, DAG)
    tables = [str(asked.table(standardized=True)), str(asked.summary())]
    for fit in (asked, never):
        copy = pickle.loads(pickle.dumps(fit))
        assert [str(copy.table(standardized=True)), str(copy.summary())] == tables


def test_all_that_a_copy_writes_says_the_same(tmp_path):
    fit = gn.fit(ROWS, gn.Dag.parse("rain; wet ~ rain; mud ~ rain; slip ~ mud", nodes=DAG.nodes))
    assert fit.summary().warns
    copy = pickle.loads(pickle.dumps(fit))
    for number, one in enumerate((fit, copy)):
        one.save_network(tmp_path / f"{number}.json")
        gn.write_explorer(one, tmp_path / f"{number}.html", title="Rain")
        gn.write_report(one, tmp_path / f"{number}-report.html")
        assert fit.summary().fits in (tmp_path / f"{number}-report.html").read_text(
            encoding="utf-8"
        )
    for name in ("json", "html"):
        first, second = ((tmp_path / f"{number}.{name}").read_bytes() for number in (0, 1))
        assert first == second


def test_a_fit_whose_rows_have_changed_can_be_copied():
    rows = ROWS.copy()
    fit = gn.fit(rows, DAG)
    rows *= 2.0
    copied = pickle.loads(pickle.dumps(fit))
    assert copied.network == fit.network
    assert "changed" in copied.summary().fits


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((40, 4)),
        np.full((40, 4), 1e150) * np.random.default_rng(0).standard_normal((40, 4)),
        np.random.default_rng(0).standard_normal((40, 4)) * 1e-150,
        np.random.default_rng(0).integers(0, 3, (40, 4)).astype(float),
        ROWS[:1],
        ROWS[:3],
    ],
    ids=["constant", "huge", "tiny", "counts", "one row", "three rows"],
)
def test_odd_data_get_sentences_and_no_warning(rows):
    assert all(sentence.endswith(".") for sentence in gn.fit(rows, DAG).summary().sentences)


def test_residuals_keep_the_frame_and_see_codes_as_missing():
    frame = pd.DataFrame(ROWS, columns=DAG.nodes, index=range(5, 505))
    frame.loc[8, "wet"] = -999.0
    coded = gn.fit(frame, DAG, missing="drop-rows", missing_values=[-999]).residuals()
    assert coded.loc[8].isna().tolist() == [False, True, True, True]
    assert coded.index.tolist() == frame.index.tolist()


def test_a_summary_says_that_rows_have_changed():
    rows = ROWS.copy()
    fit = gn.fit(rows, DAG)
    rows[0, 0] += 1.0
    assert "was not checked (the data have changed since" in fit.summary().fits
    assert fit.summary().data.endswith("needs the rows in memory, unchanged.")


def test_values_left_out_of_a_residual_plot_are_counted_by_what_they_are():
    """So that the count of flagged values is the one that all sentences give."""
    rng = np.random.default_rng(0)
    rows = np.array(ROWS)
    rows[:40] += rng.normal(0.0, 4.0, (40, rows.shape[1]))
    fit = gn.fit(rows, DAG, "robust")
    for place, node in enumerate(DAG.nodes):
        words = shape_words(fit, fit.residual_shapes, place)
        flagged = fit.node(node).flagged
        assert (f"{flagged} flagged value" in words) == (flagged > 0)
        assert "unverified" not in words  # they count
    assert sum(fit.node(node).flagged for node in DAG.nodes) > 0


def test_a_robust_fit_that_believes_wild_values_promises_nothing():
    rng = np.random.default_rng(1)
    x = rng.normal(18.0, 2.5, 700)
    y = 15.0 + 0.7 * (x - 18.0) + rng.normal(0.0, 1.5, 700)
    rows = np.column_stack((x, y, 10.0 + 2.5 * y + rng.normal(0.0, 2.0, 700)))
    wrong = rng.random(rows.shape) < 0.01
    rows[wrong] *= rng.choice((10, 100, -1), wrong.sum())
    foreign = rng.choice(700, 6, replace=False)  # they follow the first equation
    rows[foreign] = rng.normal((35.0, 25.0, 5.0), (2.0, 2.0, 3.0), (6, 3))
    frame = pd.DataFrame(rows, columns=["x", "y", "z"])
    fit = gn.fit(frame, "y ~ x; z ~ y", "robust")
    found = abs(fit.network.coefficients["y", "z"] - 2.5) < 0.3
    assert found or "only if values up to" in str(fit.summary())


def incomes(lowest: float) -> pd.DataFrame:
    """A skewed root of which 14 of 600 values are a thousand times too small."""
    rng = np.random.default_rng(3)
    income = rng.lognormal(8.0, 0.6, 600)
    wealth = 100.0 + 0.004 * income + rng.normal(0.0, 5.0, 600)
    income[rng.choice(600, 14, replace=False)] /= 1000.0
    return pd.DataFrame({"income": income + lowest, "wealth": wealth})


def test_wrong_values_that_a_skewed_column_hides_are_told_of():
    fit = gn.fit(incomes(0.0), "wealth ~ income", "robust")
    said = fit.summary()
    assert "'income' could not be told from" in said.data
    assert "take" in said.data
    assert "logarithm and fit again" in said.data
    assert "no value of wealth and income is wrong" in said.trust
    below = gn.fit(incomes(-100.0), "wealth ~ income", "robust").summary()
    assert "'income' could not be told from" in below.data
    assert "'income' could not be told from its skew: look at its smallest" in below.data


def test_a_root_has_no_parents_that_could_contradict_it():
    notes = gn.fit(incomes(0.0), "wealth ~ income", "robust").notes
    shaped = [note for note in notes if note.node == "income" and "look Gaussian" in note]
    assert shaped
    assert all("its children do not" in note for note in shaped)


CHAIN = gn.Dag.parse("[x][y|x][z|y]", nodes="xyz")


def near_flags(direct: float) -> np.ndarray:
    """Rows of a chain with 30 of 1,000 values of y a little off, and an edge x -> z beside it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=1_000)
    y = x + rng.normal(size=1_000)
    rows = np.column_stack((x, y, y + direct * x + rng.normal(size=1_000)))
    chosen = rng.choice(1_000, 30, replace=False)
    rows[chosen, 1] += rng.choice((-1.0, 1.0), 30) * rng.uniform(2.8, 4.0, 30)
    return rows


def test_a_caution_on_tails_keeps_the_promise():
    fit = gn.fit(near_flags(0.0), CHAIN, "robust")
    assert fit.trimming.heavy_tailed == (1,)
    caution, promise = fit.summary().trust.split(". ")
    assert caution.startswith("Trust the intervals at y only if the flagged values there are wrong")
    assert promise == (
        "If they are wrong, the graph is right and relations are linear, 1,000 rows tell 2 of 2 "
        "coefficients apart from 0 (95 % intervals)."
    )
    assert fit.summary().restricts
    assert not fit.summary().warns
    assert not gn.fit(ROWS, DAG, "robust").summary().restricts


def test_a_contradicted_graph_is_told_before_tails():
    """A direct effect of 0.5 is far beyond chance: its standard error is about 0.05."""
    fit = gn.fit(near_flags(0.5), CHAIN, "robust")
    summary = fit.summary()
    assert fit.trimming.heavy_tailed == (1,)
    assert summary.fits.startswith("The data contradict the graph in its 1 missing edge, x and z")
    assert summary.trust.startswith("Do not trust effects and standard errors before the graph is")
    assert "Trust the intervals at y only if" in summary.trust
    assert "coefficients apart from 0" not in summary.trust
    assert summary.warns
    assert not summary.restricts


def test_a_contradicted_graph_is_told_before_skew():
    """Decimal slips to one side look like skew; the direct effect is ten standard errors large."""
    rng = np.random.default_rng(1)
    age = 38.0 + 9.0 * rng.normal(size=1_200)
    dose = 0.2 * age + 5.0 * rng.normal(size=1_200)
    rows = np.column_stack((age, dose, dose + 0.3 * age + 5.0 * rng.normal(size=1_200)))
    rows[rng.choice(1_200, 24, replace=False), 0] /= 10.0
    fit = gn.fit(rows, gn.Dag.parse("[a][b|a][c|b]", nodes="abc"), "robust")
    summary = fit.summary()
    assert summary.fits.startswith("The data contradict the graph")
    assert summary.trust.startswith("Do not trust effects and standard errors before the graph is")
    assert fit.trimming.skewed
    assert "Trust the numbers of a and of its parents and children only if" in summary.trust


@pytest.mark.parametrize(("rows", "words"), [(19, "with 2 coefficients"), (20, "")])
def test_few_rows_are_those_for_the_coefficients_that_equations_have(rows, words):
    columns = np.random.default_rng(0).normal(size=(rows, 3))
    dag = gn.Dag.parse("[a][b][c|a:b]", nodes="abc")
    trust = gn.fit(columns, dag, intercept=False).summary().trust
    assert ("few for an equation" in trust) == bool(words)
    assert words in trust


def weak_edges(seed: int, size: float) -> gn.Fit:
    """A fit without edges to 1,200 rows of ten nodes with 45 weak edges."""
    names = [f"x{place}" for place in range(10)]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    right = gn.Dag.from_edges(pairs, nodes=names)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), 45)
    truth = gn.GaussianNetwork.from_arrays(right, size * signs, np.ones(10))
    return gn.fit(truth.sample(1_200, seed=seed), gn.Dag.from_edges([], nodes=names))


def test_many_weak_edges_are_told_of_though_none_is_found():
    fits = [weak_edges(seed, 0.027) for seed in range(8)]
    quiet = [fit for fit in fits if fit.check_graph().agrees]
    assert quiet
    for fit in quiet:
        found = fit.fit_measures()
        p_values = found["pvalue"], small_sample_pvalue(fit.dag, found["chisq"], fit.rows)
        start = (
            "The data contradict no single one of the 45 missing edges, but all of them together"
        )
        assert fit.summary().fits.startswith(start) == (max(p_values) < 0.01) == fit.summary().warns
        assert (fit.effect("x0", "x1").doubt is not None) == fit.summary().warns
        promises = fit.summary().trust.startswith("If the graph is right")
        assert promises == (not fit.summary().warns)
    assert any("(chi-square p-value" in fit.summary().fits for fit in quiet)


@pytest.mark.parametrize(
    "graph", ["a ~~ b; a ~~ c; b ~~ c; y ~ a; z ~ y + b", "x; y ~ x + site; z ~ y + k"]
)
def test_the_p_value_for_few_rows_is_that_of_chi_square_where_rows_are_many(graph):
    """Pairs that covary, of roots or of levels of one category, are no missing edges."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2_000, 6)), columns=list("abcxyz"))
    frame["site"], frame["k"] = rng.choice(list("pqrstu"), 2_000), rng.choice(list("vw"), 2_000)
    fit = gn.fit(frame, graph)
    found, many = fit.fit_measures(), 10**7
    expected = found["pvalue"]
    assert 1e-4 < expected < 1.0 - 1e-4
    # The statistic differs from chi-square by terms of the order (nodes / rows).
    assert small_sample_pvalue(fit.dag, found["chisq"], many) == pytest.approx(expected, rel=1e-4)


def test_moments_of_logs_are_those_of_scipy():
    from scipy.special import polygamma

    from gaussnet.fitting.measures import _log_moments

    for shape in (0.5, 1.0, 3.5, 9.5, 10.0, 200.0, 1e6):
        expected = [polygamma(order, shape) for order in (0, 1)]
        # The first term that the series leave out is below 1 / (100 x^8) at x = 10.
        np.testing.assert_allclose(_log_moments(np.array([shape])), expected, rtol=1e-9, atol=1e-10)


def test_a_summary_imports_scipy_only_where_chi_square_is_unusual():
    code = (
        "import sys; import gaussnet as gn;"
        "dag = gn.simulate.random_tree(40, seed=0);"
        "rows = gn.simulate.random_network(dag, seed=0).sample(300, seed=1);"
        "print(gn.fit(rows, dag).summary().fits, 'scipy.special' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("The data agree with the graph"), done.stdout
    assert done.stdout.strip().endswith("False")


def test_few_rows_are_not_taken_for_misfit():
    """Chi-square rejects four right graphs in ten at level 0.01; the sentence should one in 100."""
    dag = gn.Dag.from_edges([], nodes=[f"x{place}" for place in range(20)])
    truth = gn.GaussianNetwork.from_arrays(dag, [], np.ones(20))
    fits = [gn.fit(truth.sample(45, seed=seed), dag) for seed in range(60)]
    assert sum(fit.fit_measures()["pvalue"] < 0.01 for fit in fits) > 12
    assert sum("all of them together" in fit.summary().fits for fit in fits) <= 3


def test_the_p_value_for_few_rows_is_that_of_simulated_residuals():
    """Of 20,000 statistics a share p is beyond each value, +- 4 * sqrt(0.1 * 0.9 / 20,000)."""
    rng, free = np.random.default_rng(0), 29
    parents = np.array([len(own) for own in DAG.parent_lists])
    lost = np.arange(4)[DAG.order.argsort()] - parents
    shares = [
        rng.beta((free - own - gone) / 2, gone / 2, 20_000)
        for own, gone in zip(parents, lost, strict=True)
        if gone
    ]
    drawn = -30.0 * np.log(shares).sum(axis=0)
    for part in (0.1, 0.01):
        value = np.quantile(drawn, 1.0 - part)
        assert small_sample_pvalue(DAG, value, 30) == pytest.approx(part, abs=0.009 * part**0.5)
    assert np.isnan(small_sample_pvalue(DAG, 5.0, 4))


def test_without_intercept_values_far_from_zero_are_not_wild():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(50.0, 1.0, 500)})
    frame["b"] = 0.5 * frame["a"] + rng.normal(size=500)
    for method in ("least-squares", "robust", "sequential-trim"):
        fit = gn.fit(frame, "b ~ a", method, intercept=False)
        assert not fit.summary().warns, method
    frame.loc[3, "a"] = 80.0
    assert gn.fit(frame, "b ~ a", intercept=False).residual_shapes.wild.tolist() == [True, True]


def test_kurtosis_without_intercept_keeps_its_digits():
    values = np.random.default_rng(0).normal(size=(2_000, 1))
    exact = gn.fit(values, "a ~ 1", columns=["a"]).residual_shapes.kurtosis
    for mean in (1e2, 1e4, 1e6):
        far = gn.fit(values + mean, "a ~ 1", columns=["a"], intercept=False).residual_shapes
        # Values are rounded by mean * 2^-52, and enter with their cube, at most 4^3 here.
        np.testing.assert_allclose(far.kurtosis, exact, rtol=0.0, atol=1e2 * mean * 2.0**-52)


def test_an_equation_without_noise_is_not_called_collinear():
    rows = ROWS.copy()
    rows[:, 3] = 2.0 * rows[:, 2]
    summary = gn.fit(rows[:, 2:], "slip ~ mud", columns=["mud", "slip"]).summary()
    assert "collinear" not in summary
    assert summary.warns
    assert "There is no noise in slip" in summary.trust


@pytest.mark.parametrize("method", ["least-squares", "robust"])
def test_missing_levels_are_warned_of(method):
    rng = np.random.default_rng(3)
    soil = rng.choice(["clay", "loam", "sand"], 800)
    ph = 5.0 * (soil == "loam") + 10.0 * (soil == "sand") + rng.normal(size=800)
    frame = pd.DataFrame({"ph": ph, "soil": soil})
    few, many = frame.copy(), frame.copy()
    few.loc[:9, "soil"] = None
    many.loc[rng.random(800) < np.where(ph > 5.0, 0.7, 0.1), "soil"] = None
    assert not gn.fit(few, "ph ~ soil", method, missing="likelihood").summary().warns
    fit = gn.fit(many, "ph ~ soil", method, missing="likelihood")
    assert fit.summary().warns
    assert fit.summary().trust.startswith("Trust the coefficients of soil and their intervals only")
    # The bias that is warned of: the truth is 5.
    _, high = fit.confidence_intervals().coefficients["soil[loam]", "ph"]
    assert high < 5.0


@pytest.mark.parametrize("method", ["least-squares", "auto"])
def test_a_binary_outcome_is_no_gaussian_one(method):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    frame["y"] = (0.5 * frame["x"] + rng.normal(size=200) > -0.5).astype(float)
    summary = gn.fit(frame, "y ~ x", method).summary()
    assert "the values of y are only two numbers" in summary.fits
    assert summary.warns
    assert not gn.fit(frame, "x ~ y", method).summary().warns  # a binary cause is nothing odd


def test_wild_values_are_said_to_hide_what_contradicts_the_graph():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=500)})
    frame["b"] = frame.a + rng.normal(size=500)
    frame["c"] = frame.b + 0.4 * frame.a + rng.normal(size=500)
    clean = gn.fit(frame, "b ~ a; c ~ b").summary().fits
    for column in frame:
        frame.loc[rng.choice(500, 12, replace=False), column] = -999.0
    hidden = gn.fit(frame, "b ~ a; c ~ b").summary().fits
    assert "contradict the graph in its 1 missing edge" in clean
    assert "tested), though wild values can hide what contradicts it" in hidden


@pytest.mark.parametrize(("rows", "can_tell"), [(6, False), (10, False), (60, True)])
def test_so_few_rows_that_they_could_hardly_contradict_do_not_agree(rows, can_tell):
    """Of 66 missing edges 10 rows find r > 0.88: t is 5.3 at 0.05 / 66 and 8 degrees of freedom."""
    columns = [f"x{number}" for number in range(12)]
    frame = pd.DataFrame(np.random.default_rng(5).normal(size=(rows, 12)), columns=columns)
    fit = gn.fit(frame, gn.Dag.parse("".join(f"[{name}]" for name in columns)))
    assert fit.summary().fits.startswith("The data agree with the graph (66") is can_tell
    assert fit.summary().fits.startswith("The rows are too few to contradict") is not can_tell
    assert ("too few to contradict" in fit.check_graph().verdict) is not can_tell


def test_the_smallest_correlation_that_is_found_has_the_smallest_p_value_that_is():
    fit = gn.fit(ROWS, DAG)
    check = fit.check_graph(level=0.01)
    freedom = 500 - 2 - 1
    t = check.detectable * np.sqrt(freedom / (1.0 - check.detectable**2))
    assert 2.0 * stats.t.sf(t, freedom) == pytest.approx(0.01 / check.tests, rel=1e-9)


@pytest.mark.parametrize("method", ["sequential-trim", "robust"])
def test_no_method_is_advised_that_was_tried_or_cannot_judge(method):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "k": (rng.random(400) < 0.05) * 1.0})
    trust = gn.fit(frame, "k ~ x", method).summary().trust
    assert "look at them" in trust
    assert "try method" not in trust


def skewed(rows=800):
    rng = np.random.default_rng(0)
    age = rng.normal(50.0, 10.0, rows)
    crp = np.exp(rng.normal(size=rows) + 0.03 * (age - 50.0))
    return pd.DataFrame({"age": age, "crp": crp, "y": 0.3 * crp + rng.normal(size=rows)})


def test_least_squares_advises_the_logarithm_of_a_skewed_column_first():
    fit = gn.fit(skewed(), "crp ~ age; y ~ crp")
    assert "the values of crp look skewed" in fit.summary().data.lower()
    assert "first take the logarithm of crp" in fit.summary().trust
    assert "robust" not in fit.summary()
    assert any("take logarithms first" in str(note) for note in fit.notes)
    logs = skewed().assign(crp=lambda frame: np.log(frame.crp))
    assert not gn.fit(logs, "crp ~ age").summary().warns


def test_wild_values_of_a_positive_column_are_no_skew():
    frame = skewed().assign(crp=lambda one: 30.0 + one.y)
    frame.loc[:5, "crp"] = 9_999.0
    assert "try method='robust'" in gn.fit(frame, "crp ~ age").summary().trust
