"""Numbers behind the pictures of residuals."""

import numpy as np
import pytest
from scipy import stats

import gaussnet as gn
from gaussnet.report.findings import findings_of_network
from gaussnet.report.residuals import MOST_ROWS, find_residuals

DAG = gn.Dag.parse("rain; wet ~ rain", nodes=["rain", "wet"])
NETWORK = gn.GaussianNetwork(
    DAG, coefficients={("rain", "wet"): 2.0}, variances={"rain": 1.0, "wet": 0.25},
    intercepts={"rain": 0.0, "wet": 3.0},
)  # fmt: skip


@pytest.mark.parametrize("rows", [1, 5, 70, 2_000])
def test_they_are_those_of_scipy(rows):
    data = NETWORK.sample(rows, seed=0)
    own = find_residuals(NETWORK, data)[1]
    z = (data[:, 1] - 3.0 - 2.0 * data[:, 0]) / 0.5
    assert own.count == rows
    assert own.departure == pytest.approx(stats.kstest(z, "norm").statistic, abs=1e-12)
    assert own.beyond == (np.abs(z) > 4).sum()
    counts = np.histogram(z, own.edges)[0]
    np.testing.assert_allclose(own.density * rows * np.diff(own.edges), counts, atol=1e-9)
    assert np.isin(own.found, np.sort(z)).all()
    assert (own.found[0], own.found[-1]) == (z.min(), z.max())
    levels = (stats.rankdata(z)[np.argsort(z)] - 0.5) / rows
    drawn = np.isin(np.sort(z), own.found)
    np.testing.assert_allclose(own.expected, stats.norm.ppf(levels[drawn]), atol=1e-12)


def test_many_points_are_thinned_but_not_the_tails():
    own = find_residuals(NETWORK, NETWORK.sample(50_000, seed=0))[0]
    assert len(own.found) < 60
    assert own.expected[1] - own.expected[0] > 0
    z = np.sort(NETWORK.sample(50_000, seed=0)[:, 0])
    np.testing.assert_array_equal(own.found[:8], z[:8])
    np.testing.assert_array_equal(own.found[-8:], z[-8:])


def test_many_rows_are_thinned():
    data = np.tile(NETWORK.sample(1_000, seed=0), (MOST_ROWS // 1_000 + 1, 1))
    assert findings_of_network(NETWORK, data).residuals[0].count == len(data) // 2


def test_rows_with_holes_are_left_out_node_by_node():
    data = NETWORK.sample(10, seed=0)
    data[0, 0] = np.nan
    data[1, 1] = np.inf
    assert [own.count for own in find_residuals(NETWORK, data)] == [9, 8]


def test_without_noise_or_values_there_are_none():
    still = gn.GaussianNetwork(DAG, coefficients={("rain", "wet"): 2.0},
                               variances={"rain": 1.0, "wet": 0.0})  # fmt: skip
    assert find_residuals(still, still.sample(5, seed=0))[1] is None
    assert find_residuals(NETWORK, np.empty((0, 2))) == [None, None]


@pytest.mark.parametrize("size", [1e-200, 1e150])
def test_the_unit_does_not_matter(size):
    data = NETWORK.sample(100, seed=0)
    big = gn.GaussianNetwork.from_arrays(
        DAG, [2.0], np.array([1.0, 0.25]) * size, np.array([0.0, 3.0]) * size**0.5
    )
    own = find_residuals(big, data * size**0.5)[1]
    assert own.departure == pytest.approx(find_residuals(NETWORK, data)[1].departure, abs=1e-9)
