"""Stories of rows with doubted cells: single wrong cells in columns that are not Gaussian."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from tests.forced import many_rows

import gaussnet as gn
from gaussnet.kernels.families import Families
from gaussnet.methods.likelihood import Parameters
from gaussnet.methods.robust.directions import RecordedRows
from gaussnet.methods.robust.stories import (
    MOST_COMBINED,
    NEAR,
    ROW_WIDTHS,
    UNUSUAL,
    WIDTHS,
    Counts,
    Rates,
    Stories,
    _combinations,
    chances_of_errors,
)

SLOPES, MEANS, VARIANCES = np.array([0.8, -1.2]), np.array([1.0, 0.5, -2.0]), np.array([1, 0.5, 2])
MODEL = Parameters(
    Families(np.arange(3), np.array([0, 0, 1, 2]), np.array([0, 1])), SLOPES, MEANS, VARIANCES
)
SCALES = np.array([1.0, 1.2, 2.1])


def filled_in(row, wrong):
    """The row with wrong cells at their conditional means, by dense algebra."""
    matrix = np.array([[1.0, 0.0, 0.0], [-0.8, 1.0, 0.0], [0.0, 1.2, 1.0]])
    precision = matrix.T @ np.diag(1.0 / VARIANCES) @ matrix
    found, other = row.copy(), [node for node in range(3) if node not in wrong]
    if wrong:
        move = precision[np.ix_(wrong, other)] @ (row - MEANS)[other]
        found[wrong] = MEANS[wrong] - np.linalg.solve(precision[np.ix_(wrong, wrong)], move)
    rest = matrix @ (found - MEANS) / np.sqrt(VARIANCES)
    return rest, (row - found) * np.sqrt(np.diag(precision))


def plain_chances(row, doubted, rates):
    """That cells are wrong, story by story as the formula has it."""
    at_zero = norm.pdf(0.0)
    likelihoods, stories = [], []
    for size in range(len(doubted) + 1):
        for wrong in itertools.combinations(doubted, size):
            rest, errors = filled_in(row, list(wrong))
            value = 1.0
            for node in range(3):
                usual = 1.0 - rates.events[node].sum()
                wide = rates.events[node] @ norm.pdf(rest[node], scale=WIDTHS)
                wide = wide if abs(rest[node]) > NEAR else 0.0
                value *= (usual * norm.pdf(rest[node]) + wide) / at_zero
            for node in wrong:
                odds = rates.errors[node] / (1.0 - rates.errors[node])
                value *= odds * (rates.sizes @ norm.pdf(errors[node], scale=WIDTHS)) / at_zero
            likelihoods.append(value)
            stories.append(wrong)
    rest = filled_in(row, [])[0]
    whole = [0.0] * (1 + len(ROW_WIDTHS))
    if np.count_nonzero(np.abs(rest) > UNUSUAL) >= 2:
        far = (row - MEANS) / SCALES
        density = [rates.sizes @ norm.pdf(one, scale=WIDTHS) / at_zero for one in far]
        whole[0] = np.prod(density) * np.prod(np.sqrt(VARIANCES) / SCALES)
        whole[1:] = [np.prod(norm.pdf(rest, scale=width) / at_zero) for width in ROW_WIDTHS]
        whole = np.array(whole) * rates.rows / (1.0 - rates.rows.sum())
    total = sum(likelihoods) + sum(whole)
    found = np.zeros(3)
    for value, wrong in zip(likelihoods, stories, strict=True):
        found[list(wrong)] += value / total
    found[list(doubted)] += whole[0] / total
    return found


@pytest.mark.parametrize("doubted", [(0,), (2,), (0, 1), (0, 1, 2)])
def test_chances_are_those_of_the_formula(doubted):
    rng = np.random.default_rng(len(doubted))
    rates = Rates(
        np.abs(rng.normal(0.01, 0.003, (3, len(WIDTHS)))),
        np.array([0.01, 0.03, 0.02]),
        rng.dirichlet(np.ones(len(WIDTHS))),
        np.full(1 + len(ROW_WIDTHS), 0.002),
    )
    for size in (2.0, 5.0, 30.0, 300.0):
        row = MEANS + rng.normal(size=3)
        row[doubted[0]] += size
        mask = np.isin(np.arange(3), doubted)[None]
        recorded = RecordedRows.of(MODEL, row[None], SCALES)
        found = np.zeros(3)
        found[list(doubted)] = Stories.of(recorded, mask).chances(rates)[0]
        np.testing.assert_allclose(found, plain_chances(row, doubted, rates), rtol=1e-9, atol=1e-12)


def test_stories_fill_in_wrong_and_missing_cells_as_the_network_expects():
    # Some rows lack cells, which follow the doubted ones; sizes and units differ a lot, so that
    # ten digits of the largest number are left.
    dag = gn.simulate.erdos_renyi(12, 3, seed=5)
    network = gn.simulate.random_network(dag, seed=5)
    model = Parameters.of(network)
    rng = np.random.default_rng(5)
    rows = np.array(network.sample(40, seed=5))
    doubted = np.argsort(rng.random(rows.shape), axis=1) < 3
    rows[doubted] += rng.normal(0.0, 100.0, np.count_nonzero(doubted))
    rows[:20][(rng.random((20, 12)) < 0.3) & ~doubted[:20]] = np.nan
    stories = Stories.of(RecordedRows.of(model, rows, np.ones(12)), doubted)
    for story, wrong in enumerate(stories.chosen):
        blank = np.zeros(rows.shape, dtype=bool)
        blank[doubted] = np.tile(wrong, len(rows))
        filled = model.expect(rows, blank).rows
        rest = RecordedRows.of(model, filled, np.ones(12)).residuals
        rest = np.column_stack((rest, np.zeros(40)))
        found, off = stories.residuals[:, story], (rows - filled) * np.sqrt(model.precisions())
        wanted = np.take_along_axis(rest, stories.touched, axis=1)
        np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(stories.errors).max())
        np.testing.assert_allclose(stories.errors[:, story, wrong].ravel(), off[blank], rtol=1e-10)


def test_all_combinations_of_a_few_cells_and_single_ones_of_many():
    assert len({tuple(one) for one in _combinations(MOST_COMBINED).tolist()}) == 2**MOST_COMBINED
    many = _combinations(MOST_COMBINED + 1)
    assert not many[0].any()
    assert {int(one.sum()) for one in many} == {0, 1, MOST_COMBINED, MOST_COMBINED + 1}


def test_wide_noise_adds_no_more_to_the_variance_than_narrower_noise():
    events = np.array([[9.0, 4.0, 3.0, 3.0, 3.0, 1.0, 1.0]])
    rates = Counts(events, np.zeros(1), np.zeros(len(WIDTHS)), np.zeros(1 + len(ROW_WIDTHS))).rates(
        1_000.0
    )
    added = (rates.events * WIDTHS**2)[0]
    assert (np.diff(added[2:]) <= 1e-12 * added[2]).all()


def test_contradicted_cells_are_wrong_and_carried_on_events_are_not():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2_000, 3)) * np.where(rng.random((2_000, 3)) < 0.03, 12.0, 1.0)
    noise *= np.sqrt(VARIANCES)
    x = noise[:, 0]
    y = 0.8 * x + noise[:, 1]
    rows = np.column_stack((x, y, -1.2 * y + noise[:, 2])) + MEANS
    wrong = np.zeros(rows.shape, dtype=bool)
    wrong[:40, 1] = True
    rows[:40, 1] += rng.choice((-1.0, 1.0), 40) * rng.uniform(50.0, 500.0, 40)
    rest = rows - MEANS
    rest[:, 1:] -= rest[:, :2] * SLOPES
    events = np.abs(rest / np.sqrt(VARIANCES)) > UNUSUAL
    doubted = (events & ~wrong) | wrong
    chances = chances_of_errors(RecordedRows.of(MODEL, rows, SCALES), doubted)
    assert (chances[wrong] > 0.5).mean() > 0.95
    assert (chances[doubted & ~wrong] < 0.5).mean() > 0.9


@many_rows
@pytest.mark.parametrize("kind", ["t3", "weibull", "slash", "skewed"])
@pytest.mark.parametrize("seed", [11, 12])
def test_gross_errors_are_found_in_noise_that_is_not_gaussian(kind, seed):
    # Kinds and seeds that no constant was chosen on. Coefficients lie within four standard errors
    # of the truth (40 of them: once in 400), those of someone who knows the wrong cells.
    rng = np.random.default_rng(seed)
    draw = {
        "t3": lambda: rng.standard_t(3, size=1_000),
        "weibull": lambda: rng.weibull(0.9, size=1_000),
        "slash": lambda: rng.normal(size=1_000) * np.where(rng.random(1_000) < 0.05, 8.0, 1.0),
        "skewed": lambda: rng.gamma(1.5, size=1_000),
    }[kind]
    x, u = draw(), draw()
    y = x - 0.8 * u + draw()
    z = 0.7 * y + draw()
    rows = np.column_stack((x, u, y, z, 1.2 * z + 0.5 * x + draw()))
    wrong = rng.random(rows.shape) < 0.01
    errors = rng.choice((-1.0, 1.0), rows.shape) * 10.0 ** rng.uniform(1.5, 3.0, rows.shape)
    rows = np.where(wrong, rows + errors * rows.std(axis=0), rows)
    dag = gn.Dag.parse("[x][u][y|x:u][z|y][w|z:x]", nodes=["x", "u", "y", "z", "w"])
    best = gn.fit(np.where(wrong, np.nan, rows), dag, missing="likelihood")
    ours, plain = gn.fit(rows, dag, "robust"), gn.fit(rows, dag)
    unit = best.standard_errors.coefficient_array
    truth = np.array(
        [
            {("x", "y"): 1.0, ("u", "y"): -0.8, ("y", "z"): 0.7, ("z", "w"): 1.2}.get(edge, 0.5)
            for edge in dag.edges
        ]
    )
    off = np.abs(ours.network.coefficient_array - truth) / unit
    assert (np.abs(plain.network.coefficient_array - truth) / unit).max() > 10.0
    assert off.max() < 4.0


def test_flagged_values_that_join_the_others_make_intervals_doubtful():
    rng = np.random.default_rng(5)
    x = rng.normal(size=1_000)
    y = x + rng.normal(size=1_000)
    rows = np.column_stack((x, y, y + rng.normal(size=1_000)))
    chosen = rng.choice(1_000, 30, replace=False)
    rows[chosen, 1] += rng.choice((-1.0, 1.0), 30) * rng.uniform(2.8, 4.0, 30)
    dag = gn.Dag.parse("[x][y|x][z|y]", nodes="xyz")
    near = gn.fit(rows, dag, "robust")
    assert near.trimming.heavy_tailed == (1,)
    assert any("join the others without a gap" in note for note in near.notes)
    assert "Trust the intervals at y only if" in near.summary().trust
    rows[chosen, 1] += 500.0
    assert gn.fit(rows, dag, "robust").trimming.heavy_tailed == ()


@many_rows
@pytest.mark.parametrize("shape", ["exponential", "laplace"])
def test_clean_columns_without_relatives_are_believed(shape):
    rows = getattr(np.random.default_rng(7), shape)(size=(2_000, 3))
    fit = gn.fit(rows, gn.Dag.parse("[a][b][c]", nodes="abc"), "robust")
    assert len(fit.outliers()) == 0
    np.testing.assert_allclose(fit.network.mean(), rows.mean(axis=0), rtol=1e-9)
    rows[::200, 1] += 900.0  # nobody needs relatives to see these
    found = gn.fit(rows, fit.dag, "robust").outliers()
    assert set(zip(found.rows.tolist(), found.nodes, strict=True)) == {
        (row, "b") for row in range(0, 2_000, 200)
    }
