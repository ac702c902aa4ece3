"""Fits whose nodes without parents covary, everywhere that a fit can be asked something."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn
from gaussnet.errors import GraphError, SettingError

TEXT = "m ~ a + b; y ~ m + c"
COVARIANCE = [[1.0, 1.2, 0.5], [1.2, 4.0, -0.8], [0.5, -0.8, 2.0]]


def rows(count=400, seed=0):
    rng = np.random.default_rng(seed)
    a, b, c = rng.multivariate_normal([1.0, -2.0, 3.0], COVARIANCE, count).T
    m = 0.5 + 0.9 * a - 0.4 * b + rng.normal(0.0, 1.1, count)
    y = 2.0 + 0.7 * m + 0.3 * c + rng.normal(0.0, 0.8, count)
    return pd.DataFrame({"a": a, "b": b, "c": c, "m": m, "y": y})


FRAME = rows()
FIT = gn.fit(FRAME, TEXT, roots="correlated")


def test_roots_have_the_moments_of_the_rows():
    sample = np.cov(FRAME[["a", "b", "c"]].T, ddof=0)
    places = [FIT.dag.position(node) for node in "abc"]
    assert FIT.network.covariance()[np.ix_(places, places)] == pytest.approx(sample, rel=1e-12)
    assert FIT.network.mean()[places] == pytest.approx(FRAME[["a", "b", "c"]].mean().to_numpy())
    alone = gn.fit(FRAME, TEXT)
    assert FIT.network.coefficients == alone.network.coefficients


def test_means_and_variances_have_the_errors_of_roots_alone():
    alone = gn.fit(FRAME, TEXT)
    for kind in ("classical", "heteroscedastic", "expected"):
        one, other = FIT.uncertainty(kind), alone.uncertainty(kind)
        for part in ("intercepts", "variances", "coefficients"):
            found, expected = (getattr(sure.confidence_intervals, part) for sure in (one, other))
            if kind != "expected" or part == "variances":
                ends = np.array([found[name] for name in expected])
                assert ends == pytest.approx(np.array(list(expected.values())), rel=1e-9)


def test_covariances_have_the_errors_of_the_bootstrap():
    table = FIT.covariance_table()
    drawn = FIT.covariance_table(kind="bootstrap", repetitions=400, seed=1)
    for one, other in zip(table, drawn, strict=True):
        # the standard error of 400 repetitions is known to 1 / sqrt(800) of itself
        assert one["std_error"] == pytest.approx(other["std_error"], rel=4 / np.sqrt(800))
        assert one["low"] < other["estimate"] < one["high"]


def observed_root_errors(rows, mean, covariance):
    """Errors of two means and of s11, s12, s22, from second differences of the log-likelihood."""

    def log_likelihood(values):
        m, s = values[:2], np.array([[values[2], values[3]], [values[3], values[4]]])
        total = 0.0
        for there in (np.array([0, 1]), np.array([0]), np.array([1])):
            pattern = np.zeros(2, dtype=bool)
            pattern[there] = True
            own = rows[(np.isfinite(rows) == pattern).all(axis=1)][:, there]
            block = s[np.ix_(there, there)]
            squares = np.einsum("ri,ij,rj->", own - m[there], np.linalg.inv(block), own - m[there])
            total -= 0.5 * (squares + len(own) * np.log(np.linalg.det(2.0 * np.pi * block)))
        return total

    at = np.array([*mean, covariance[0, 0], covariance[0, 1], covariance[1, 1]])
    step, unit = 1e-3, np.eye(5)
    hessian = np.array(
        [
            [
                sum(
                    a * b * log_likelihood(at + step * (a * unit[i] + b * unit[j]))
                    for a in (-1, 1)
                    for b in (-1, 1)
                )
                / (4.0 * step**2)
                for j in range(5)
            ]
            for i in range(5)
        ]
    )
    return np.sqrt(np.diag(np.linalg.inv(-hessian)))


def rows_of_two_roots():
    rng = np.random.default_rng(3)
    rows = np.empty((400, 3))
    rows[:, 0] = 2.0 + rng.standard_normal(400)
    rows[:, 1] = 0.6 * rows[:, 0] + rng.standard_normal(400)
    rows[:, 2] = rows[:, 0] - rows[:, 1] + rng.standard_normal(400)
    return rows


TWO_ROOTS = gn.Dag.parse("y ~ a + b; a ~~ b", nodes=["a", "b", "y"])


def found_root_errors(fit):
    errors = fit.standard_errors
    covariance = fit.covariance_table()["std_error"][0]
    intercepts, variances = errors.intercepts, errors.variances
    return [intercepts["a"], intercepts["b"], variances["a"], covariance, variances["b"]]


def test_missing_cells_leave_means_and_covariances_the_errors_of_the_observed_information():
    rows = rows_of_two_roots()
    rows[:120, 1], rows[350:, 0] = np.nan, np.nan
    # Without y the two roots are all that there is, so that the witness needs no other node.
    fit = gn.fit(rows[:, :2], gn.Dag.parse("a ~~ b", nodes=["a", "b"]), missing="likelihood")
    network = fit.network
    expected = observed_root_errors(rows[:, :2], network.mean(), network.covariance())
    # Second differences with steps of 1e-3 are good to about 1e-6.
    np.testing.assert_allclose(found_root_errors(fit), expected, rtol=1e-4)


def test_flagged_cells_leave_the_errors_of_missing_ones():
    rows = rows_of_two_roots()
    holes = rows.copy()
    rows[::20, 0] += 1_000.0
    holes[::20, 0] = np.nan
    robust = gn.fit(rows, TWO_ROOTS, "robust")
    expected = found_root_errors(gn.fit(holes, TWO_ROOTS, missing="likelihood"))
    # All wrong cells are flagged for certain; the scale of the robust fit divides by less rows.
    np.testing.assert_allclose(found_root_errors(robust), expected, rtol=0.01)
    assert all("covary" not in note for note in robust.table().notes + robust.node_table().notes)


def test_notes_on_lacking_errors_stand_below_the_table_that_lacks_them():
    rows = rows_of_two_roots()
    rows[:5, 0] = np.nan
    fit = gn.fit(rows, TWO_ROOTS, missing="drop-by-node")
    assert fit.table().notes == ("standard errors: least squares; p-values: two-sided t tests",)
    assert fit.node_table().notes == (
        "a and b: no standard errors of mean and variance here, because nodes covary: give "
        "kind='bootstrap'",
    )
    copied = rows_of_two_roots()
    copied[:, 1] = copied[:, 0]
    notes = gn.fit(copied, gn.Dag.parse("y ~ a + b", nodes=["a", "b", "y"])).table().notes
    assert notes[1].startswith("y: the 2 parents have rank 1")


def test_effects_and_their_errors_leave_covariances_out():
    effect = FIT.effect("a", "y")
    first, last = (FIT.network.coefficients[edge] for edge in (("a", "m"), ("m", "y")))
    errors = FIT.standard_errors.coefficients
    assert effect.value == pytest.approx(first * last)
    expected = np.hypot(first * errors["m", "y"], last * errors["a", "m"])
    assert effect.standard_error == pytest.approx(expected)
    none = FIT.effect("a", "b")
    assert (none.value, none.standard_error) == (0.0, 0.0)


def test_sensitivity_adjusts_for_the_other_root():
    assert FIT.sensitivity("a", "m").given == ("b",)
    with pytest.raises(GraphError, match="no directed path"):
        FIT.sensitivity("a", "b")


def test_graph_check_finds_roots_that_covary_and_accepts_them_once_they_may():
    alone = gn.fit(FRAME, TEXT).check_graph()
    wrong = {frozenset((one.node, one.other)) for one in alone.rejected}
    assert wrong >= {frozenset("ab"), frozenset("ac"), frozenset("bc")}
    assert FIT.check_graph().agrees
    assert len(FIT.check_graph()) == 3
    assert "2 of 2" not in FIT.summary().trust
    assert "4 of 4 coefficients" in FIT.summary().trust


@pytest.mark.parametrize("method", ["least-squares", "batch-median", "cauchy-tree", "robust"])
def test_every_method_learns_them(method):
    fit = gn.fit(rows(4_000), TEXT, method, roots="correlated")
    found = {frozenset(pair): value for pair, value in fit.network.covariances.items()}
    assert found[frozenset("ab")] == pytest.approx(1.2, abs=0.35)
    assert found[frozenset("bc")] == pytest.approx(-0.8, abs=0.35)
    assert "covariance" in str(fit)


def test_missing_cells_by_likelihood():
    holes = FRAME.copy()
    holes.loc[::7, "a"] = np.nan
    holes.loc[3::11, "b"] = np.nan
    fit = gn.fit(holes, TEXT, missing="likelihood", roots="correlated")
    whole = gn.fit(holes, gn.Dag.parse("b ~ a; c ~ a + b; m ~ a + b; y ~ m + c"),
                   missing="likelihood")  # fmt: skip
    places = [fit.dag.position(node) for node in whole.dag.nodes]
    found = fit.network.covariance()[np.ix_(places, places)]
    assert found == pytest.approx(whole.network.covariance(), rel=1e-5)
    assert fit.uncertainty().notes == ()
    assert np.isfinite(fit.standard_errors.intercept_array).all()
    assert np.isfinite(fit.covariance_table()["std_error"]).all()


def test_files_summaries_and_clusters_of_rows_agree(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    dag = FIT.dag
    again = gn.fit(tmp_path / "rows.csv", dag)
    assert again.network == gn.fit(FRAME, dag).network
    first = gn.summarize(FRAME.iloc[:150], dag)
    first.save(tmp_path / "one.npz")
    loaded = gn.load_summary(tmp_path / "one.npz")
    assert loaded.dag == dag
    assert loaded.dag.covariances
    found = gn.solve(loaded.add(FRAME.iloc[150:]))
    assert found.network.equals(gn.solve(gn.summarize(FRAME, dag)).network)
    clustered = gn.fit(FRAME, dag, clusters=np.arange(400) // 10)
    assert np.isfinite(clustered.standard_errors.intercepts["b"])


def test_a_root_that_was_set_must_not_covary():
    frame = FRAME.assign(target=np.where(np.arange(400) < 50, "a", ""))
    for text in (f"{TEXT}; a ~~ b", f"{TEXT}; b ~~ a + c"):
        with pytest.raises(SettingError, match="'a' was set from outside"):
            gn.fit(frame, text, interventions="target")
        with pytest.raises(SettingError, match="'a' was set from outside"):
            gn.summarize(frame, gn.Dag.parse(text), interventions="target")
    fit = gn.fit(frame, f"{TEXT}; b ~~ c", interventions="target")
    assert fit.node("a").set_rows == 50


def test_groups_compare_covariances_and_pool_what_is_below_them():
    other = rows(300, seed=5)
    other["b"] -= 1.5 * other["a"]
    frame = pd.concat([FRAME.assign(site="one"), other.assign(site="two")])
    found = gn.fit(frame, TEXT, roots="correlated", groups="site")
    tests = {(one.kind, one.name): one for one in found.test_equal()}
    assert ("covariance", "a ~~ b") in tests
    assert ("coefficient", "a -> b") not in tests
    assert tests["covariance", "a ~~ b"].p_value < 1e-6
    alone = found.fits["one"].network
    pool = found.pool("coefficients")
    assert pool.freedom == 4
    assert pool.networks["one"].covariances == pytest.approx(dict(alone.covariances))
    assert {row["child"] for row in found.table()} == {"m", "y"}


def test_collinear_and_constant_roots_are_told():
    frame = FRAME.assign(c=2.0 * FRAME["a"], k=1.0)
    fit = gn.fit(frame, "m ~ a + b + c; y ~ m + k", roots="correlated")
    notes = " ".join(map(str, fit.notes))
    assert "covaries with" in notes
    assert fit.network.do({"a": 0.0}).covariance()[1, 1] >= 0.0


def test_pictures_reports_and_pages_show_covariances_apart(tmp_path):
    gn.write_report(FIT, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('class="covary"') == 3
    assert "<h2>Covariances</h2>" in page
    gn.write_explorer(FIT, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="covary"') == 3
    model = json.loads(page.split('id="model">')[1].split("</script>")[0])
    roots = {model["nodes"].index(node) for node in "abc"}
    assert not any(roots & set(model["parents"][root]) for root in roots)
    assert "stroke-dasharray" in FIT._repr_html_()
    assert "3 covariances" in FIT.dag._repr_html_()


def test_the_shell_lets_roots_covary(tmp_path, capsys):
    from gaussnet.cli.app import COMMANDS
    from gaussnet.cli.arguments import run

    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "graph.txt").write_text(TEXT)
    words = ["fit", str(tmp_path / "rows.csv"), "--dag", str(tmp_path / "graph.txt")]
    run(COMMANDS, [*words, "--roots", "correlated", "--json"], "")
    found = json.loads(capsys.readouterr().out)["covariances"]
    assert len(found) == 3
    expected = {frozenset(pair): value for pair, value in FIT.network.covariances.items()}
    for one in found:
        pair = frozenset((one["first"], one["second"]))
        assert one["covariance"] == pytest.approx(expected[pair])
    with pytest.raises(gn.GaussnetError):
        run(COMMANDS, [*words, "--roots", "some"], "")


def nearly_collinear(noise):
    """Rows in which c is nearly 2 a + b, and y depends on all three."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 500))
    c = 2.0 * a + b + noise * rng.standard_normal(500)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": a + b + c + rng.standard_normal(500)})


@pytest.mark.parametrize("copied", [False, True])
def test_roots_that_nearly_determine_each_other_have_the_errors_of_roots_alone(copied):
    frame = nearly_collinear(1e-3)
    fit, alone = gn.fit(frame, "y ~ a + b + c", roots="correlated"), gn.fit(frame, "y ~ a + b + c")
    fit = pickle.loads(pickle.dumps(fit)) if copied else fit
    assert [row["std_error"] for row in fit.table()] == pytest.approx(
        [row["std_error"] for row in alone.table()]
    )
    for part in ("intercepts", "variances"):
        one, other = (getattr(sure.uncertainty().standard_errors, part) for sure in (fit, alone))
        assert one == pytest.approx(dict(other), rel=1e-6)  # as the condition number of c allows


def test_collinear_roots_that_covary_have_no_errors_and_say_why():
    fit = gn.fit(nearly_collinear(0.0), "y ~ a + b + c", roots="correlated")
    reason = "the 3 parents have rank 2"
    assert any(reason in note for note in fit.table().notes)
    assert reason in str(fit.effect("a", "y"))
    assert "collinear" in str(fit.summary())
