"""Missing cells by maximum likelihood: the maximum, the way to it, and what is refused."""

from contextlib import suppress

import numpy as np
import pytest
from tests.reference.em import em, observed_log_likelihood

import gaussnet as gn
from gaussnet.data.table import MemoryTable
from gaussnet.errors import DataError, SettingError
from gaussnet.methods.base import Equations, Solution
from gaussnet.methods.likelihood import EmPass, Parameters, StartPass

DAG = gn.simulate.erdos_renyi(8, 3.0, seed=2)
TRUTH = gn.simulate.random_network(DAG, seed=3)


def holed(rows: int, share: float, seed: int = 0, shift: float = 0.0) -> np.ndarray:
    x = TRUTH.sample(rows, seed=seed) + shift
    x[np.random.default_rng(seed + 1).random(x.shape) < share] = np.nan
    return x


def likelihood(rows, dag=DAG, **more):
    return gn.fit(rows, dag, missing="likelihood", **more)


def same(left: gn.GaussianNetwork, right: gn.GaussianNetwork, margin: float) -> bool:
    pairs = (
        (left.coefficient_array, right.coefficient_array),
        (left.variance_array, right.variance_array),
        (left.intercept_array, right.intercept_array),
    )
    return all(np.allclose(one, other, rtol=margin, atol=margin) for one, other in pairs)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_the_maximum_that_plain_em_finds(share, intercept):
    rows = holed(150, share, shift=3.0 * intercept)
    fit = likelihood(rows, intercept=intercept)
    # A round that moves nothing by 1e-6 standard errors leaves at most 1e-6 / (1 - rate) of them;
    # here errors are about 0.1 and rates below 0.9.
    slow = em(fit.network, rows, intercept)
    assert same(fit.network, slow, 1e-5)
    assert fit.log_likelihood == pytest.approx(observed_log_likelihood(fit.network, rows), abs=1e-7)
    assert (fit.network.intercept_array == 0.0).all() == (not intercept)


def rounds(rows, intercept=True):
    """The log-likelihoods of all points that EM accepts, and the solution."""
    table = MemoryTable.of(rows, DAG.nodes).surveyed(False)
    equations = Equations(DAG.families.sorted_by_size[1], intercept)
    step, found = StartPass(equations), []
    while not isinstance(step, Solution):
        step = step.then(table.fold(step))
        if isinstance(step, EmPass) and step.ascent is not None:
            found.append(step.ascent.log_likelihood)
    return found, step


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(share, seed):
    found, _ = rounds(holed(60, share, seed))
    # Sums of 60 densities, each rounded in its last digits.
    assert (np.diff(found) >= -64 * np.finfo(float).eps * np.abs(found[0])).all()
    assert found[-1] > found[0]


def test_few_rounds_are_enough():
    """Plain EM takes 30 rounds and more for the same."""
    found, solution = rounds(holed(500, 0.3))
    assert len(found) <= 16
    assert solution.notes == ()


def test_without_a_hole_it_is_least_squares():
    rows = TRUTH.sample(50, seed=4)
    fit = likelihood(rows)
    assert fit.network == gn.fit(rows, DAG).network
    assert fit.method.name == "least-squares"
    assert fit.notes == ()


def test_one_hole_in_a_root_without_children_costs_only_that_cell():
    """The equations of the others are those of least squares on all rows."""
    dag = gn.Dag.parse("[a][b|a][c]", nodes="abc")
    rows = np.random.default_rng(1).normal(size=(40, 3))
    whole = gn.fit(rows, dag).network
    rows[7, 2] = np.nan
    found = likelihood(rows, dag).network
    assert found.coefficients["a", "b"] == pytest.approx(whole.coefficients["a", "b"], rel=1e-12)
    known = rows[~np.isnan(rows[:, 2]), 2]
    assert found.intercepts["c"] == pytest.approx(known.mean(), rel=1e-6)
    assert found.variances["c"] == pytest.approx(known.var(), rel=1e-5)


def test_two_nodes_with_a_missing_child_are_least_squares_on_the_complete_rows():
    """Rows without the child say nothing of its equation, but of the parent."""
    dag = gn.Dag.parse("[a][b|a]", nodes="ab")
    rows = np.random.default_rng(1).normal(size=(60, 2)) @ [[1.0, 2.0], [0.0, 1.0]]
    rows[30:, 1] = np.nan
    found, half = likelihood(rows, dag).network, gn.fit(rows[:30], dag).network
    assert found.coefficients["a", "b"] == pytest.approx(half.coefficients["a", "b"], rel=1e-5)
    assert found.variances["b"] == pytest.approx(half.variances["b"], rel=1e-5)
    assert found.variances["a"] == pytest.approx(rows[:, 0].var(), rel=1e-12)


def test_a_family_without_a_complete_row_has_an_answer():
    """a -> b -> c with a and c never in the same row, and b always: two regressions."""
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) @ [[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    rows[::2, 0] = np.nan
    rows[1::2, 2] = np.nan
    found = likelihood(rows, dag).network
    assert np.isfinite(found.coefficient_array).all()
    half = gn.fit(rows[1::2, :2], gn.Dag.parse("[a][b|a]", nodes="ab")).network
    assert found.coefficients["a", "b"] == pytest.approx(half.coefficients["a", "b"], abs=0.2)


def test_pages_and_files_change_no_bit(tmp_path):
    rows = holed(700, 0.2)
    whole = likelihood(rows, page_rows=64).network
    np.save(tmp_path / "rows.npy", rows)
    text = "\n".join(",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in rows)
    (tmp_path / "rows.csv").write_text(",".join(DAG.nodes) + "\n" + text + "\n")
    from gaussnet.data.passes import Run
    from gaussnet.fitting.learn import fit_with
    from gaussnet.methods.groups import ReadOptions
    from gaussnet.methods.names import method_named, scale_named

    options = ReadOptions(DAG, True, None, "likelihood", 64)
    how = (method_named("least-squares"), scale_named(None, method_named("least-squares")))
    for threads in (1, 2):
        run = Run(threads=threads, largest_whole_bytes=0)
        fit = fit_with(run, str(tmp_path / "rows.csv"), options, how)
        assert fit.data.table().is_stream
        assert fit.network == whole
        assert likelihood(np.asfortranarray(rows), page_rows=64, threads=threads).network == whole


def test_rows_in_any_order_give_the_same_up_to_rounding():
    rows = holed(300, 0.2)
    assert same(likelihood(rows).network, likelihood(rows[::-1]).network, 1e-7)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_units_do_not_matter(scale):
    rows = holed(300, 0.2)
    units = np.where(np.arange(8) % 2, scale, 1.0)
    found, plain = likelihood(rows * units).network, likelihood(rows).network
    matrix = plain.to_matrix() * units / units[:, None]
    np.testing.assert_allclose(found.to_matrix(), matrix, rtol=1e-6, atol=0)
    np.testing.assert_allclose(found.variance_array, plain.variance_array * units**2, rtol=1e-6)


def test_a_large_mean_costs_no_digits():
    rows = np.round(holed(300, 0.2) * 1024) / 1024
    found, plain = likelihood(rows + 2.0**20).network, likelihood(rows).network
    np.testing.assert_allclose(found.coefficient_array, plain.coefficient_array, rtol=1e-7)
    np.testing.assert_allclose(found.variance_array, plain.variance_array, rtol=1e-7)


def test_a_sum_of_its_parents_is_filled_in_exactly():
    dag = gn.Dag.parse("[a][b][c|a:b][d|a:b:c]", nodes="abcd")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    rows[:, 3] += rows[:, 2]
    rows[rng.random(rows.shape) < 0.1] = np.nan
    fit = likelihood(rows, dag)
    assert fit.network.variances["c"] == 0.0
    assert fit.network.coefficients["a", "c"] == pytest.approx(1.0, abs=1e-6)
    assert fit.node("d").rank == 2
    assert any("determine this node exactly" in str(note) for note in fit.notes)


def test_a_constant_column_with_holes_is_a_constant():
    dag = gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 3))
    rows[:, 0] = 7.0
    rows[rng.random(rows.shape) < 0.2] = np.nan
    found = likelihood(rows, dag).network
    assert found.variances["a"] == 0.0
    assert found.intercepts["a"] == 7.0
    assert found.coefficients["a", "b"] == 0.0


def test_the_note_names_the_assumption():
    (note,) = likelihood(holed(100, 0.1)).notes
    assert "missing at random" in note.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cauchy"}, "with method='cauchy', expected 'least-squares'"),
        ({"scale": "mad"}, "got scale='mad' with missing='likelihood'"),
        ({"scale": "kl-optimal"}, "got scale='kl-optimal' with missing='likelihood'"),
        ({"split": (50, 50)}, "leave split out"),
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_settings_without_an_answer_are_refused(settings, message, share):
    with pytest.raises(SettingError, match=message):
        likelihood(holed(100, share), **settings)


def test_summaries_and_certificates_say_why_there_are_none():
    rows = holed(100, 0.1)
    with pytest.raises(SettingError, match="known only when all rows are seen"):
        gn.summarize(rows, DAG, missing="likelihood")
    with pytest.raises(SettingError, match="no exact law is known"):
        likelihood(rows).certificate()


def test_missing_values_are_refused_with_a_hint():
    with pytest.raises(DataError, match="give missing='likelihood'"):
        gn.fit(holed(100, 0.1), DAG)


def test_rows_added_later_count_as_if_they_had_been_there():
    rows = holed(200, 0.1)
    assert likelihood(rows[:120]).update(rows[120:]).network == likelihood(rows).network


def test_expectations_of_a_network_take_further_cells_as_missing():
    rows = TRUTH.sample(20, seed=1)
    distrusted = np.random.default_rng(0).random(rows.shape) < 0.3
    found = Parameters.of(TRUTH).expect(rows, distrusted)
    again = TRUTH.impute(np.where(distrusted, np.nan, rows))
    np.testing.assert_allclose(found.rows, again, rtol=1e-9, atol=1e-9)


def test_a_likelihood_without_a_maximum_is_refused():
    """b is recorded twice: its missing cells can explain all of c, and its noise goes to 0."""
    rows = np.cumsum(np.random.default_rng(1).normal(size=(60, 3)), axis=1)
    rows[2:, 1] = np.nan
    with pytest.raises(gn.EstimationError, match="the likelihood has no maximum: cells of 'c'"):
        likelihood(rows, gn.Dag.parse("[a][b|a][c|a:b]", nodes="abc"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_rows_is_answered_or_refused_in_words(count):
    rows = holed(count, 0.3, seed=7)
    with suppress(gn.GaussnetError):
        assert np.isfinite(likelihood(rows).network.coefficient_array).all()


def test_a_row_without_any_cell_says_nothing():
    rows = holed(100, 0.2)
    more = np.vstack((rows, np.full((5, 8), np.nan)))
    assert same(likelihood(rows).network, likelihood(more).network, 1e-5)
