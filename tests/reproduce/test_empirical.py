"""The empirical Gaussian is the sample's own."""

import numpy as np
import pytest

from gaussnet import baselines, simulate
from gaussnet.errors import EstimationError


def test_mean_and_covariance_are_those_of_numpy():
    data = np.random.default_rng(0).normal(3.0, 2.0, size=(50, 4))
    found = baselines.empirical(data, centre=True)
    # Sums of 50 values or products round by at most 50 eps of their size, on each side; a factor
    # of 4 columns is squared once more.
    size = np.abs(data).max()
    rounding = 2 * 50 * np.finfo(np.float64).eps
    assert np.allclose(found.mean, data.mean(axis=0), rtol=0, atol=rounding * size)
    limits = {"rtol": 0, "atol": 4 * rounding * size**2}
    assert np.allclose(found.covariance, np.cov(data.T, bias=True), **limits)
    plain = baselines.empirical(data)
    assert np.allclose(plain.covariance, data.T @ data / 50, **limits)


def test_noise_of_a_ten_billionth_is_not_lost():
    dag = simulate.chain(3)
    network = simulate.random_network(dag, seed=0, ill_conditioned=3)
    data = network.sample(4000, seed=0)
    found = baselines.empirical(data)
    # the last diagonal entries of the factor are the scales of the noise given what is before;
    # a mean square of 4000 rows has a relative standard error of sqrt(2/4000) = 0.022, a root half
    # of it. The first node is 1e-10 too, so nothing here is large against anything else.
    assert np.allclose(np.diag(found.lower_factor) / 1e-10, 1.0, atol=4 * 0.011)


def test_noise_far_below_its_parent_keeps_its_digits():
    rng = np.random.default_rng(0)
    parent = rng.normal(size=4000)
    child = 2.0 * parent + 1e-10 * rng.normal(size=4000)
    factor = baselines.empirical(np.column_stack((parent, child))).lower_factor
    # sampling error as above; the child's rounding, 2e-16 of about 2, is 4e-6 of its noise
    assert factor[1, 1] == pytest.approx(1e-10, rel=4 * 0.011 + 1e-4)


@pytest.mark.parametrize(("rows", "centre", "needed"), [(3, False, 4), (4, True, 5)])
def test_too_few_rows_are_counted(rows, centre, needed):
    data = np.random.default_rng(0).normal(size=(rows, 4))
    with pytest.raises(EstimationError, match=f"at least {needed} rows"):
        baselines.empirical(data, centre=centre)
    enough = np.random.default_rng(0).normal(size=(needed, 4))
    assert len(baselines.empirical(enough, centre=centre).lower_factor) == 4


def test_a_copied_column_is_named():
    data = np.random.default_rng(0).normal(size=(30, 3))
    data[:, 2] = data[:, 0]
    with pytest.raises(EstimationError, match="'X3' follows"):
        baselines.empirical(data)
