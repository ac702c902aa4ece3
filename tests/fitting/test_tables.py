"""Tables of a fit: standard errors by independent algebra, forms of output, labels, refusals."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tests.forced import fit_streamed

import gaussnet as gn
from gaussnet.cli.fit import Errors, Learnt, print_fit
from gaussnet.data.write import write_rows
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.tails import PValue

DAG = gn.Dag.parse("m ~ a*x; y ~ b*m + c*x + w; z ~ y + w; indirect := a*b", nodes="mxywz")
TRUTH = gn.simulate.random_network(DAG, seed=3, intercepts=(-1.0, 1.0))
ROWS = TRUTH.sample(400, seed=4)
SET = np.zeros(ROWS.shape, dtype=bool)
SET[:50, 2] = True


@pytest.fixture(scope="module")
def fit():
    return gn.fit(ROWS, DAG)


@pytest.mark.parametrize("implied", [False, True], ids=["rows", "implied"])
def test_intervals_of_standardised_coefficients_hold_under_heavy_tails(implied):
    """Student's t with 5 degrees of freedom has an excess kurtosis of 6.

    300 repetitions of 1,000 rows: three standard errors of their count are 0.038, and the sample
    kurtosis of such rows, too small in most of them, costs two per cent.
    """
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    inside = 0
    for seed in range(300):
        noise = np.random.default_rng(seed).standard_t(5.0, (1_000, 2))
        rows = np.column_stack((noise[:, 0], noise.sum(axis=1)))
        table = gn.fit(rows, dag, columns=["a", "b"]).table(True, implied=implied).to_dicts()[0]
        inside += table["low"] <= np.sqrt(0.5) <= table["high"]
    assert inside / 300 > 0.95 - 0.038 - 0.02  # 0.83 with the errors of Gaussian rows


def standardised(network):
    spread = np.sqrt(np.diag(network.covariance()))
    families = DAG.families
    return network.coefficient_array * spread[families.parents] / spread[families.family_of_edge]


@pytest.mark.parametrize("kind", ["classical", "heteroscedastic", "expected"])
def test_standardised_errors_are_those_of_numerical_derivatives(fit, kind):
    """Central differences of step 1e-6 are good to about 1e-9 relative."""
    network, step = fit.network, 1e-6
    errors = fit.uncertainty(kind).standard_errors
    covariance = np.zeros((len(DAG.edges),) * 2)
    from gaussnet.fitting.uncertainty import find_covariances

    for nodes, own in find_covariances(fit, kind, 0.95)[1].covariances:
        for node, part in zip(nodes, own, strict=True):
            edges = DAG.families.edges_of(np.array([node]))
            covariance[np.ix_(edges, edges)] = part
    slopes, noise = network.coefficient_array, network.variance_array

    def moved(which, index, by):
        values = [slopes.copy(), noise.copy()]
        values[which][index] += by
        return standardised(gn.GaussianNetwork.from_arrays(DAG, *values))

    def gradient(which, count):
        return np.array(
            [(moved(which, i, step) - moved(which, i, -step)) / (2 * step) for i in range(count)]
        )

    by_slopes, by_noise = gradient(0, len(slopes)), gradient(1, len(noise))
    squares = np.einsum("ie,ij,je->e", by_slopes, covariance, by_slopes)
    squares += (by_noise**2 * errors.variance_array[:, None] ** 2).sum(axis=0)
    if kind == "classical":  # the fourth cumulants of the noise; "expected" has none by its name
        tails = np.maximum(stats.kurtosis(fit.residuals(), axis=0), 0.0) * noise**2 / fit.rows
        squares += (by_noise**2 * tails[:, None]).sum(axis=0)
    found = fit.table(True, kind=kind, implied=True)["std_error"]
    assert found == pytest.approx(np.sqrt(squares), rel=1e-7)


@pytest.mark.parametrize("implied", [False, True])
def test_standardised_errors_cover(implied):
    """300 samples: 95 % intervals hold the truth in 95 %, within 4 standard errors of a share."""
    truth = standardised(TRUTH)
    inside = []
    for seed in range(300):
        table = gn.fit(TRUTH.sample(300, seed=seed), DAG).table(True, implied=implied)
        low, high = np.array(table["low"]), np.array(table["high"])
        inside.append((low < truth) & (truth < high))
    shares = np.mean(inside, axis=0)
    assert np.abs(shares - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / 300)


def correlated_rows(count, seed):
    """y from two causes that covary, which the graph of these tests does not know."""
    rng = np.random.default_rng(seed)
    a = rng.normal(0.0, 2.0, count)
    b = 0.8 * a + rng.normal(0.0, 1.0, count)
    return np.column_stack((a, b, 0.7 * a + 0.9 * b + rng.normal(0.0, 1.5, count)))


COLLIDER = gn.Dag.parse("y ~ a + b", nodes=["a", "b", "y"])


def test_standardised_coefficients_are_those_of_columns_of_variance_1():
    rows = correlated_rows(200, 0)
    plain = gn.fit(rows, COLLIDER)
    units = gn.fit((rows - rows.mean(axis=0)) / rows.std(axis=0), COLLIDER)
    expected = units.network.coefficient_array
    assert plain.table(True)["estimate"] == pytest.approx(expected, rel=1e-12)
    assert plain.table()["standardized"] == pytest.approx(expected, rel=1e-12)
    implied = plain.table(True, implied=True)["estimate"]
    assert np.abs(np.array(implied) / expected - 1.0).min() > 0.1


def test_errors_in_sample_units_hold_although_the_graph_is_wrong():
    """The truth is that of a million rows; 300 samples as above."""
    truth = np.array(gn.fit(correlated_rows(1_000_000, 99), COLLIDER).table(True)["estimate"])
    inside, errors, values = [], [], []
    for seed in range(300):
        table = gn.fit(correlated_rows(200, seed), COLLIDER).table(True)
        inside.append((np.array(table["low"]) < truth) & (truth < np.array(table["high"])))
        errors.append(table["std_error"])
        values.append(table["estimate"])
    assert np.abs(np.mean(inside, axis=0) - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / 300)
    spread = np.std(values, axis=0)  # itself known to 1 / sqrt(600)
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=4 / np.sqrt(600))


def test_bootstrap_in_sample_units_draws_the_units_too():
    fit = gn.fit(correlated_rows(300, 1), COLLIDER)
    drawn = fit.table(True, kind="bootstrap", repetitions=300, seed=2)["std_error"]
    assert fit.table(True)["std_error"] == pytest.approx(drawn, rel=4 / np.sqrt(600))


def test_methods_that_distrust_values_use_what_the_network_implies():
    rows = correlated_rows(400, 2)
    rows[5, 2] = 1e6
    table = gn.fit(rows, COLLIDER, "robust").table(True)
    assert np.max(np.abs(table["estimate"])) > 0.3
    assert any("implies" in note for note in table.notes)


def test_p_values_and_intervals_say_the_same(fit):
    for kind in ("classical", "heteroscedastic", "expected"):
        table = fit.table(kind=kind, level=0.99)
        for row in table:
            assert (row["p_value"] < 0.01) == (row["low"] > 0 or row["high"] < 0)


def test_p_values_are_those_of_students_t(fit):
    from scipy.stats import t

    row = fit.table().to_dicts()[0]
    expected = 2 * t.sf(abs(row["estimate"]) / row["std_error"], len(ROWS) - 2)
    assert row["p_value"] == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_expected_errors_need_no_rows(fit):
    from_summary = gn.solve(gn.summarize(ROWS, DAG))
    here = fit.uncertainty("expected").standard_errors
    there = from_summary.uncertainty("expected").standard_errors
    # cross-products of the same rows: rounding only
    assert there.coefficient_array == pytest.approx(here.coefficient_array, rel=1e-12)
    # with the rows' own covariances instead of the network's, and m - q instead of m
    assert here.coefficient_array == pytest.approx(
        fit.standard_errors.coefficient_array, rel=4 / np.sqrt(len(ROWS))
    )


def test_r2_is_that_of_regressions(fit):
    values = dict(zip(DAG.nodes, fit.node_table()["r2"], strict=True))
    for node in DAG.nodes:
        parents = DAG.parents(node)
        if not parents:
            assert np.isnan(values[node])
            continue
        design = np.column_stack((np.ones(len(ROWS)), *(ROWS[:, DAG.position(p)] for p in parents)))
        child = ROWS[:, DAG.position(node)]
        left = child - design @ np.linalg.lstsq(design, child, rcond=None)[0]
        assert values[node] == pytest.approx(1 - (left @ left) / (child.var() * len(child)))


def test_r2_of_a_robust_fit_does_not_count_wild_cells():
    rows = ROWS.copy()
    rows[:8, DAG.position("z")] = 1e6
    clean = gn.fit(ROWS, DAG).node_table()["r2"][DAG.position("z")]
    robust = gn.fit(rows, DAG, "robust").node_table()
    # 8 rows of 400 less: 1 - R2 has a relative standard error of about sqrt(2 / 8) * 8 / 400
    assert robust["r2"][DAG.position("z")] == pytest.approx(clean, abs=4 * (1 - clean) * 0.02)
    assert robust["flagged"][DAG.position("z")] == 8


def test_r2_and_shapes_leave_out_cells_that_were_set():
    rows = ROWS.copy()
    rows[:50, 2] = 1e6
    children = gn.fit(rows, DAG, interventions=SET)
    assert children.residual_shapes.shape(2) != "wild values"
    without = gn.fit(ROWS, DAG, interventions=SET).node_table()["r2"][2]
    assert children.node_table()["r2"][2] == pytest.approx(without)


def test_a_stream_has_the_same_tables(tmp_path):
    write_rows(tmp_path / "rows.csv", DAG.nodes, [ROWS])
    whole = gn.fit(ROWS, DAG)
    streamed = fit_streamed(tmp_path / "rows.csv", DAG, page_rows=90)
    assert streamed.data.table().is_stream
    assert streamed.table()["p_value"] == pytest.approx(whole.table()["p_value"], rel=1e-8)
    assert streamed.node_table()["r2"] == pytest.approx(
        whole.node_table()["r2"], rel=1e-12, nan_ok=True
    )
    here, there = whole.fit_measures(), streamed.fit_measures()
    assert list(there.values()) == pytest.approx(list(here.values()), rel=1e-9, abs=1e-12)


def test_measures_are_those_of_the_rows_and_not_of_the_scale(fit):
    """chisq is about the graph, so a scale that multiplies variances does not move it."""
    other = gn.fit(ROWS, DAG, scale="kl-optimal").fit_measures()
    assert other["chisq"] == pytest.approx(fit.fit_measures()["chisq"], rel=1e-9)
    robust = gn.fit(ROWS, DAG, "robust")
    if not robust.trimming.left_out:
        assert robust.fit_measures()["chisq"] == pytest.approx(fit.fit_measures()["chisq"])


def test_chisq_has_its_law_where_the_graph_is_right():
    """Mean df and variance 2 df over 400 samples, within 4 standard errors."""
    dag = TRUTH.dag
    found = np.array(
        [gn.fit(TRUTH.sample(500, seed=s), dag).fit_measures()["chisq"] for s in range(400)]
    )
    df = 10 - len(dag.edges)
    assert abs(found.mean() - df) < 4 * np.sqrt(2 * df / 400) + 0.02 * df


def test_chisq_without_intercepts_is_about_zero():
    centred = ROWS - ROWS.mean(axis=0)
    with_means = gn.fit(centred, DAG).fit_measures()
    without = gn.fit(centred, DAG, intercept=False).fit_measures()
    assert without["chisq"] == pytest.approx(with_means["chisq"], rel=1e-9)
    assert without["npar"] == with_means["npar"] - len(DAG)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gn.fit(ROWS, DAG, "batch-median"), "does not maximise the likelihood"),
        (lambda: gn.fit(ROWS, DAG, split=(200, 200)), "does not maximise the likelihood"),
        (lambda: gn.fit(ROWS[:5], DAG), "give more rows than nodes"),
        (lambda: gn.fit(np.column_stack((ROWS[:, :4], np.ones(400))), DAG), "singular"),
        (lambda: gn.solve(gn.summarize(ROWS, DAG)), "comes from a summary"),
        (lambda: gn.fit(ROWS, DAG, interventions=SET), "set from outside"),
        (lambda: gn.fit(_with_holes(), DAG, missing="drop-by-node"), "no common likelihood"),
    ],
)
def test_measures_are_refused_where_there_are_none(make, words):
    with pytest.raises(gn.EstimationError, match=words):
        make().fit_measures()


@pytest.mark.parametrize("method", ["robust", "auto", "sequential-trim"])
def test_measures_of_a_robust_fit_are_those_of_the_values_that_it_believes(method):
    rows = _wild()
    found = gn.fit(rows, DAG, method).fit_measures()
    rows[3, 1] = np.nan
    expected = gn.fit(rows, DAG, missing="likelihood").fit_measures()
    assert dict(found) == pytest.approx(dict(expected), rel=1e-6, abs=1e-6)
    assert "1 flagged value taken as missing" in str(found)
    assert expected.notes == ()


def test_measures_of_a_robust_fit_to_rows_with_holes_are_those_of_maximum_likelihood():
    rows = _with_holes()
    found = gn.fit(rows, DAG, "robust", missing="likelihood").fit_measures()
    expected = gn.fit(rows, DAG, missing="likelihood").fit_measures()
    assert found["chisq"] == pytest.approx(expected["chisq"], rel=1e-6)
    assert "0 flagged values taken as missing" in str(found)


def test_the_chi_square_of_robust_fits_has_its_level():
    """Of 100 right graphs at level 5 % so many are rejected with a chance of 1 in 10,000."""
    from scipy.stats import binom

    rejected = 0
    for seed in range(100):
        rows = np.array(TRUTH.sample(200, seed=seed))
        rows[np.random.default_rng(seed).random(rows.shape) < 0.01] += 30.0
        rejected += gn.fit(rows, DAG, "robust").fit_measures()["pvalue"] < 0.05
    assert rejected <= binom.ppf(1.0 - 1e-4, 100, 0.05)


def _with_holes():
    rows = ROWS.copy()
    rows[3, 1] = np.nan
    return rows


def _wild():
    rows = ROWS.copy()
    rows[3, 1] = 1e5
    return rows


def test_measures_over_holes_tend_to_those_of_complete_rows(fit):
    """One cell of 2,000 is missing: chisq moves by about as much as one row of 400 says."""
    found = gn.fit(_with_holes(), DAG, missing="likelihood").fit_measures()
    whole = fit.fit_measures()
    assert found["df"] == whole["df"]
    assert found["chisq"] == pytest.approx(whole["chisq"], abs=1.0)
    assert found["cfi"] == pytest.approx(whole["cfi"], abs=0.01)


def test_measures_with_rows_dropped_are_those_of_the_rows_left():
    dropped = gn.fit(_with_holes(), DAG, missing="drop-rows").fit_measures()
    whole = gn.fit(np.delete(ROWS, 3, axis=0), DAG).fit_measures()
    assert list(dropped.values()) == pytest.approx(list(whole.values()), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_hold_all_digits(fit, kind, frame):
    table = fit.table()
    made = table.to_frame(kind)
    assert isinstance(made, frame)
    assert list(made.columns) == list(table.names)
    assert list(made["estimate"]) == fit.network.coefficient_array.tolist()
    assert fit.fit_measures().to_frame(kind).shape == (len(fit.fit_measures()), 2)


def test_odd_names_break_no_format():
    edges = [("a|b", "50%_&x"), ("<i>\\", "50%_&x")]
    dag = gn.Dag.from_edges(edges, nodes=["a|b", "50%_&x", "<i>\\"])
    rows = gn.simulate.random_network(dag, seed=0).sample(50, seed=0)
    table = gn.fit(rows, dag).table()
    lines = table.to_markdown(notes=False).split("\n")
    assert all(line.count("|") - line.count("\\|") == 9 for line in lines)
    assert r"50\%\_\&x" in table.to_latex()
    assert r"\textless{}i\textgreater{}\textbackslash{} & " in table.to_latex()
    assert r"a\textbar{}b & " in table.to_latex()
    assert "&lt;i&gt;\\" in table._repr_html_()
    assert "<i>" not in table._repr_html_()


def test_notes_go_along_into_markdown_and_latex(fit):
    table = ResultTable("T", (Column("a", "a", [1.0]),), ("50 % of x_1 <2>", "second"))
    assert table.to_markdown().split("\n\n")[1:] == [r"Note: 50 % of x\_1 \<2\>", "Note: second"]
    after = table.to_latex().split(r"\end{tabular}")[1]
    assert r"{\footnotesize Note: 50 \% of x\_1 \textless{}2\textgreater{}\par}" in after
    assert "Note" not in table.to_markdown(notes=False) + table.to_latex(notes=False)
    assert "Note: standard errors: least squares" in fit.table().to_latex()


def test_tables_of_standardised_coefficients_say_so_in_all_forms(fit):
    table = fit.table(standardized=True)
    assert str(table).startswith("Standardised coefficients\n")
    for text in (table.to_markdown().splitlines()[0], table.to_latex(notes=False)):
        assert "standardised" in text
        assert "estimate" not in text
    assert "estimate" in table.names


def test_r2_below_zero_is_explained_where_it_appears():
    dag = gn.Dag.parse("[a][b|a][c|b]", nodes="abc")
    rows = gn.simulate.random_network(dag, seed=0).sample(500, seed=1)
    plain = gn.fit(rows, dag).node_table()
    assert not any("below 0" in note for note in plain.notes)
    rows[::40, 1] = 1_000.0
    table = gn.fit(rows, dag, "cauchy", scale="mad").node_table()
    below = [row["node"] for row in table if (row["r2"] or 0.0) < 0.0]
    assert "c" in below
    assert any(note.startswith(f"R2 of {' and '.join(below)} is below 0") for note in table.notes)


def test_latex_has_as_many_columns_in_every_row(fit):
    lines = [line for line in fit.table().to_latex().splitlines() if line.endswith("\\\\")]
    assert len(lines) == 1 + len(DAG.edges)
    assert {line.count("&") for line in lines} == {8}
    assert re.search(r"\$-\d", fit.table().to_latex()) is not None


def test_a_graph_without_edges_has_an_empty_table():
    fit = gn.fit([[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]], gn.Dag.from_edges([], nodes=["a", "b"]))
    assert len(fit.table()) == 0
    assert fit.table().to_frame().shape[0] == 0
    assert "Coefficients" in str(fit.table())
    assert fit.fit_measures()["df"] == 1


def test_labels_and_definitions_are_read_from_text_and_files(tmp_path):
    assert DAG.labels == {"a": ("x", "m"), "b": ("m", "y"), "c": ("x", "y")}
    file = tmp_path / "model.txt"
    file.write_text("m ~ a*x # a comment\ny ~ b*`m` + c*x\n\nindirect := (a * b) # another\n")
    dag = gn.read_dag(file)
    assert dag.definitions == {"indirect": "(a * b)"}
    assert dag.labels["b"] == ("m", "y")
    assert dag == gn.Dag.parse("m ~ x; y ~ m + x", nodes="mxy")


def test_a_definition_is_the_effect_that_it_spells_out(fit):
    row = fit.defined().to_dicts()[0]
    effect = fit.effect("x", "y", via="m")
    assert row["estimate"] == pytest.approx(effect.value, rel=1e-12)
    assert row["std_error"] == pytest.approx(effect.standard_error, rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx(effect.interval, rel=1e-12)
    assert str(effect).startswith("x -> y through m: ")
    assert str(fit.effect("x", "y")).startswith("x -> y: ")


@pytest.mark.parametrize(
    ("expression", "value", "gradient"),
    [
        ("a/b", 1.5, (0.5, -0.75)),
        ("-a + 2*b^2", 5.0, (-1.0, 8.0)),
        ("exp(log(a))", 3.0, (1.0, 0.0)),
        ("sqrt(a*a)", 3.0, (1.0, 0.0)),
        ("abs(-b)", 2.0, (0.0, 1.0)),
        ("2^b", 4.0, (0.0, 4 * np.log(2))),
        ("a^0", 1.0, (0.0, 0.0)),
        ("(a - b) * 1.5", 1.5, (1.5, -1.5)),
    ],
)
def test_expressions_and_their_derivatives(expression, value, gradient):
    from gaussnet.fitting.definitions import Dual, evaluate

    known = {"a": Dual(3.0, np.array([1.0, 0.0])), "b": Dual(2.0, np.array([0.0, 1.0]))}
    found = evaluate(expression, known, 2)
    assert found.value == pytest.approx(value)
    assert found.gradient == pytest.approx(gradient)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q := a b", "expected an expression"),
        ("q := __import__(a)", "expected an expression"),
        ("q := a.__class__", "neither a label"),
        ("q := log(-exp(a))", "has no value"),
        ("q := a / 0", "has no value"),
        ("q := zz", "neither a label"),
        ("q := (" + "(" * 300 + "a", "expected an expression"),
        ("q := a +", "expected an expression"),
        ("q := a[0]", "expected numbers, labels"),
        ("indirect := a", ""),
    ],
)
def test_wrong_definitions_are_refused_in_one_sentence(fit, text, words):
    if not words:
        assert fit.defined(text)["definition"] == ["a"]
        return
    with pytest.raises(gn.GaussnetError, match=words) as caught:
        fit.defined(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y ~ x*x2 + x", "as a label before '\\*', and as a node"),
        ("y ~ a*x + a*z", "to a second edge"),
        ("y ~ a*x; a := 2", "a second time"),
        ("y ~ a*x; b := a; b := a", "a second time"),
        ("y ~ 0.5*x", "fixes a coefficient"),
        ("y ~ start(1)*x", "calls a function"),
        ("y ~ a*x; b :=", "defines nothing"),
    ],
)
def test_wrong_labels_are_refused(text, words):
    with pytest.raises(gn.GraphError, match=words):
        gn.Dag.parse(text)


def test_a_label_that_is_a_column_is_refused_as_an_interaction():
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "a": [1.0, 0, 1, 0], "x": [0.0, 1, 2, 3]})
    with pytest.raises(gn.GraphError, match=r"'a' is a column .* write 'a \+ x' for both"):
        gn.fit(frame, "y ~ a*x")
    assert gn.fit(frame, "y ~ slope*x").dag.labels == {"slope": ("x", "y")}


def test_a_fit_without_definitions_says_how_to_give_some():
    with pytest.raises(gn.SettingError, match="defines no quantity"):
        gn.fit(ROWS, gn.Dag.parse("m ~ x; y ~ m + x + w; z ~ y + w", nodes="mxywz")).defined()


def test_latex_writes_r2_as_a_formula():
    rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.1], [7.2, 3.0]]
    table = gn.fit(rows, gn.Dag.parse("y ~ x"), columns=["y", "x"]).node_table()
    assert " & $R^2$ & " in table.to_latex()
    assert " | R2 | " in table.to_markdown()


def test_latex_of_an_effect_has_an_arrow(fit):
    assert "\nx $\\to$ y through m & " in fit.effect("x", "y", via="m").to_latex()
    assert "x -> y through m" in fit.effect("x", "y", via="m").to_markdown()


@pytest.mark.parametrize("method", ["least-squares", "robust", "sequential-trim"])
def test_p_values_agree_with_intervals_and_name_their_test(method):
    # The interval of level 1 - p ends at 0, by the law that the p-value is of.
    dag = gn.Dag.parse("y ~ x", nodes=["y", "x"])
    noise = np.random.default_rng(1).normal(size=(15, 2))
    fit = gn.fit(noise + [[0.4, 0.0]] * noise[:, 1:], dag, method)
    table = fit.table()
    ends = fit.confidence_intervals(1.0 - table["p_value"][0]).coefficients["x", "y"]
    assert min(map(abs, ends)) < 1e-9 * max(map(abs, ends))
    assert table.notes[0].endswith("p-values: two-sided t tests")


@pytest.mark.parametrize("settings", [{"method": "robust"}, {"missing": "likelihood"}])
@pytest.mark.parametrize("count", [30, 300])
def test_p_values_over_some_cells_are_of_the_law_of_the_intervals(settings, count):
    """An interval excludes 0 if and only if the p-value is below 1 - level, at every level."""
    dag = gn.Dag.parse("y ~ x", nodes=["y", "x"])
    rows = gn.simulate.random_network(dag, seed=3, weights=(0.1, 0.2)).sample(count, seed=5)
    rows[7, 0] = 1e4 if "method" in settings else np.nan
    fit = gn.fit(rows, dag, **settings)
    table = fit.table()
    (p_value,) = table["p_value"]
    assert table.notes[0].endswith("p-values: two-sided t tests")
    for part in (0.999, 1.001):
        (line,) = fit.table(level=1.0 - part * p_value)
        assert (line["low"] > 0.0 or line["high"] < 0.0) == (p_value < part * p_value)
        assert line["p_value"] == pytest.approx(p_value, rel=1e-9)
    told = Errors.of(fit)
    assert told.p_values["x", "y"] == p_value


def test_p_values_are_written_in_one_way_everywhere(tmp_path, capsys):
    rows = ROWS.copy()
    fit = gn.fit(rows, DAG)
    small = [str(PValue(value)) for value in fit.table()["p_value"]]
    assert set(small) == {"<0.001"}
    print_fit(Learnt(fit, Errors.of(fit), None))
    shell = capsys.readouterr().out
    check = fit.check_graph()
    gn.write_report(fit, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<0.001" in str(fit.table())
    assert "<0.001" in shell
    assert ">&lt;0.001</td>" in page
    for edge in check:
        assert str(PValue(edge.adjusted)) in str(check)
    assert not re.search(r"\de-\d\d", shell.split("Nodes")[0])


def test_rows_of_a_latex_table_may_begin_with_a_bracket_or_a_star():
    names = ["[x]", "*y", "z"]
    columns = (Column("name", "name", names, "text"), Column("value", "value", [1.0, 2.0, 3.0]))
    lines = ResultTable("Odd names", columns).to_latex().splitlines()
    assert lines[0] == r"% needs \usepackage{booktabs}"
    ends = ("rule", r"\\")
    after = [line for before, line in pairwise(lines) if before.endswith(ends)]
    assert [line for line in after if line.startswith("{}")] == [
        r"{}[x] & 1.000 \\", r"{}*y & 2.000 \\"
    ]  # fmt: skip
    assert not any(line.startswith(("[", "*")) for line in after)


def test_captions_stand_above_tables_and_latex_has_a_label(fit):
    plain, effect = fit.table(), fit.effect("x", "z")
    for value in (plain, effect):
        told = value.to_markdown(caption="Effects of x_1 | all")
        assert told == "Table: Effects of x\\_1 \\| all\n\n" + value.to_markdown()
        told = value.to_latex(caption="Effects at 5 %", label="tab:effects")
        body = value.to_latex().split("\n", 1)[1]
        assert told.endswith(
            "\\begin{table}\n\\centering\n\\caption{Effects at 5 \\%}\n\\label{tab:effects}\n"
            f"{body}\\end{{table}}\n"
        )
    assert "\\caption" not in plain.to_latex(label="tab:effects")
    assert "\\begin{table}" not in plain.to_latex()


def test_a_p_value_of_0_is_printed_as_below_the_smallest_told():
    measures = gn.fit(ROWS, DAG).fit_measures()
    assert measures["baseline.pvalue"] == 0.0
    line = next(line for line in str(measures).splitlines() if line.startswith("baseline.pvalue"))
    assert line.split() == ["baseline.pvalue", "<0.001"]


def test_standardised_coefficients_without_intercept_say_what_they_are():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 5.0], "y": [2.0, 3.0, 7.0, 9.0]})
    fit = gn.fit(frame, "y ~ x", intercept=False)
    (found,) = fit.table().to_dicts()
    squares = (frame**2).mean() ** 0.5
    assert found["standardized"] == pytest.approx(found["estimate"] * squares["x"] / squares["y"])
    assert any("root mean squares" in note for note in fit.table().notes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("condition", r"use fit\.network\.condition\(\.\.\.\)"),
        ("do", r"use fit\.network\.do\(\.\.\.\)"),
        ("adjustment_sets", r"use fit\.network\.adjustment_sets\(\.\.\.\)"),
        ("p_values", r"use fit\.table\(\)\['p_value'\]"),
    ],
)
def test_what_a_fit_has_elsewhere_is_refused_with_the_place(fit, name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(fit, name)


def test_what_frames_have_is_refused_with_the_way_to_a_frame(fit):
    with pytest.raises(AttributeError, match=r"use table\.to_frame\(\)\.to_csv"):
        fit.table().to_csv("table.csv")
    with pytest.raises(AttributeError, match="no attribute 'rowz'"):
        _ = fit.table().rowz


def test_a_misspelt_setting_of_a_table_is_told():
    fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]], "y ~ x", columns=["y", "x"])
    with pytest.raises(TypeError, match=r"no setting standardised=, did you mean 'standardized'\?"):
        fit.table(standardised=True)
