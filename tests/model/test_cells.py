"""Cells against what the others of their row say: by conditioning the Gaussian of all nodes."""

import numpy as np
import pytest
from scipy import stats

import gaussnet as gn
from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.model.cells import CellJudge

NETWORK = gn.simulate.random_network(
    gn.simulate.erdos_renyi(7, 3, seed=0), seed=1, intercepts=(-2.0, 2.0)
)
ROWS = np.array(NETWORK.sample(40, seed=2))


def with_holes(share):
    return np.where(np.random.default_rng(3).random(ROWS.shape) < share, np.nan, ROWS)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_scores_are_those_of_the_conditional_and_the_marginal_gaussian(share):
    rows = with_holes(share)
    mean, covariance = NETWORK.mean(), NETWORK.covariance()
    found = CellJudge(NETWORK).scores(rows)
    for row, values in enumerate(rows):
        known = np.flatnonzero(~np.isnan(values))
        law = stats.multivariate_normal(mean[known], covariance[np.ix_(known, known)])
        assert found.log_densities[row] == pytest.approx(law.logpdf(values[known]), rel=1e-9)
        for node in range(len(mean)):
            others = known[known != node]
            gain = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, node])
            expected = mean[node] + gain @ (values[others] - mean[others])
            sd = np.sqrt(covariance[node, node] - gain @ covariance[others, node])
            assert found.expected[row, node] == pytest.approx(expected, rel=1e-7, abs=1e-7)
            if np.isnan(values[node]):
                assert np.isnan(found.z[row, node])
            else:
                z = (values[node] - expected) / sd
                assert found.z[row, node] == pytest.approx(z, rel=1e-6, abs=1e-7)


def test_densities_are_those_of_the_network_for_complete_rows():
    found = CellJudge(NETWORK).scores(ROWS).log_densities
    np.testing.assert_allclose(found, NETWORK.log_density(ROWS), rtol=1e-10)


def test_columns_of_any_size_are_judged_alike():
    sizes = 10.0 ** np.linspace(-120, 120, 7)
    scaled = gn.GaussianNetwork.from_arrays(
        NETWORK.dag,
        [
            value * sizes[NETWORK.dag.position(child)] / sizes[NETWORK.dag.position(parent)]
            for (parent, child), value in NETWORK.coefficients.items()
        ],
        NETWORK.variance_array * sizes**2,
        NETWORK.intercept_array * sizes,
    )
    plain, other = CellJudge(NETWORK).scores(ROWS), CellJudge(scaled).scores(ROWS * sizes)
    np.testing.assert_allclose(other.z, plain.z, rtol=1e-6, atol=1e-7)


def test_a_row_without_any_value_has_density_1_and_the_means():
    found = CellJudge(NETWORK).scores(np.full((1, 7), np.nan))
    # Two sums of logarithms of seven variances, each below 10 in size, cancel.
    assert abs(found.log_densities[0]) <= 2 * 7 * 10 * np.finfo(float).eps
    np.testing.assert_allclose(found.expected[0], NETWORK.mean(), rtol=1e-9)


def test_infinite_values_and_nodes_without_noise_are_refused():
    rows = ROWS[:3].copy()
    rows[1, NETWORK.dag.position("X1")] = np.inf
    with pytest.raises(DataError, match="'X1' is infinite in row 1"):
        CellJudge(NETWORK).scores(rows)
    still = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [1.0], [1.0, 0.0])
    with pytest.raises(NetworkError, match="'b' has no noise"):
        CellJudge(still).scores(np.ones((1, 2)))


def probability(z, share):
    right, wrong = stats.norm.pdf(z), stats.norm.pdf(z, scale=np.sqrt(101.0))
    return share * wrong / (share * wrong + (1.0 - share) * right)


def test_wrong_cells_are_found_with_their_rows_values_and_probabilities():
    rows = np.array(NETWORK.sample(400, seed=5))
    scales = NETWORK.scales
    wrong = {(3, 2): 1_000.0, (8, 0): -30.0, (8, 5): 40.0, (90, 6): 12.0}
    for (row, node), size in wrong.items():
        rows[row, node] += size * scales[node]
    found = CellJudge(NETWORK).flagged(rows)
    cells = list(zip(found.rows.tolist(), found.nodes.tolist(), strict=True))
    assert set(wrong) <= set(cells)
    assert len(cells) <= len(wrong) + 3
    mean, covariance = NETWORK.mean(), NETWORK.covariance()
    for place, (row, node) in enumerate(cells):
        others = [one for one in range(7) if (row, one) not in cells]
        gain = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, node])
        expected = mean[node] + gain @ (rows[row, others] - mean[others])
        sd = np.sqrt(covariance[node, node] - gain @ covariance[others, node])
        z = (rows[row, node] - expected) / sd
        assert found.expected[place] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert found.z[place] == pytest.approx(z, rel=1e-6)
        if abs(z) < 8.0:
            assert found.probabilities[place] == pytest.approx(probability(z, 0.01), rel=1e-6)


def test_few_right_cells_are_flagged():
    rows = NETWORK.sample(20_000, seed=6)
    count = len(CellJudge(NETWORK).flagged(rows).rows)
    z = np.sqrt(2.0 / (1.0 - 1.0 / 101.0) * np.log(99.0 * np.sqrt(101.0)))
    chance = 2.0 * stats.norm.sf(z)
    # At most the cells that are as far off at first, each perhaps with another beside it.
    assert count <= 1.5 * stats.poisson.ppf(1.0 - 1e-6, chance * 7 * 20_000)
    assert len(CellJudge(NETWORK).flagged(rows, probability=0.999).rows) < count


def test_missing_cells_are_never_flagged():
    rows = with_holes(0.3)
    rows[:, 1] = np.where(np.isnan(rows[:, 1]), np.nan, 1e6)
    found = CellJudge(NETWORK).flagged(rows)
    assert not np.isnan(rows[found.rows, found.nodes]).any()
    assert set(found.rows[found.nodes == 1].tolist()) == set(
        np.flatnonzero(~np.isnan(rows[:, 1])).tolist()
    )


@pytest.mark.parametrize(("share", "chance"), [(0.0, 0.5), (0.01, 1.0), (2.0, 0.5)])
def test_shares_and_probabilities_that_are_none_are_refused(share, chance):
    with pytest.raises(SettingError, match="expected a number between 0 and 1"):
        CellJudge(NETWORK).flagged(ROWS, share, chance)
