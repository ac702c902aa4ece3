"""What the three baselines share: doors, units, names, centring."""

import math

import numpy as np
import pytest

from gaussnet import baselines, simulate
from gaussnet.errors import DataError, EstimationError, GaussnetError, SettingError

ALL = {
    "empirical": baselines.empirical,
    "graphical_lasso": baselines.graphical_lasso,
    "clime": baselines.clime,
}


@pytest.fixture(scope="module")
def data():
    network = simulate.random_network(
        simulate.erdos_renyi(8, 3, seed=0), seed=0, weights=(0.3, 0.8), intercepts=(-3, 3)
    )
    return network.sample(300, seed=1)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
def test_columns_are_named_in_order_unless_told(baseline, data):
    assert baseline(data).names == tuple(f"X{k}" for k in range(1, 9))
    names = ["ä", "1", *"cdefgh"]
    assert baseline(data, names=names).names == tuple(names)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
def test_centring_is_the_same_as_centring_first(baseline, data):
    centred = baseline(data, centre=True)
    by_hand = baseline(data - data.mean(axis=0))
    assert np.allclose(centred.mean, data.mean(axis=0), rtol=0, atol=1e-12)
    assert (by_hand.mean == 0).all()
    # the solvers stop within 1e-7 of the solution
    assert np.allclose(centred.covariance, by_hand.covariance, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
def test_the_answer_is_a_positive_definite_gaussian(baseline, data):
    assert np.linalg.eigvalsh(baseline(data).covariance).min() > 0


@pytest.mark.parametrize("name", ["graphical_lasso", "clime"])
def test_standardised_baselines_do_not_depend_on_units(name, data):
    units = np.logspace(-6, 6, 8)
    plain = ALL[name](data, standardise=True).covariance
    scaled = ALL[name](data * units, standardise=True).covariance
    assert np.allclose(scaled / np.outer(units, units), plain, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_very_large_and_very_small_values_are_carried(baseline, data, factor):
    settings = {} if baseline is baselines.empirical else {"standardise": True}
    plain = baseline(data, **settings).covariance
    scaled = baseline(data * factor, **settings)
    assert np.allclose(scaled.covariance / factor**2, plain, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
def test_one_column_gives_its_mean_square(baseline):
    rows = np.array([[1.0], [-2.0], [3.0]])
    assert baseline(rows).covariance[0, 0] == pytest.approx(14 / 3, rel=1e-7)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
@pytest.mark.parametrize(
    "table",
    [
        np.empty((0, 3)),
        np.empty((3, 0)),
        np.zeros(4),
        [[math.nan, 1.0]],
        [[math.inf, 1.0]],
        [["a", "b"]],
    ],
)
def test_data_that_are_no_table_of_finite_numbers_are_refused(baseline, table):
    with pytest.raises(DataError):
        baseline(table)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
def test_a_column_without_variance_is_named(baseline, data):
    flat = np.column_stack((data[:, :2], np.full(len(data), 0.1)))
    with pytest.raises(EstimationError, match="'X3' does not vary"):
        baseline(flat, centre=True)
    with pytest.raises(EstimationError, match="'X1' does not vary"):
        baseline(np.zeros((5, 2)))
    with pytest.raises(EstimationError, match="'X1' does not vary"):
        baseline([[1.0, 2.0]], centre=True)


@pytest.mark.parametrize("baseline", ALL.values(), ids=ALL)
@pytest.mark.parametrize("names", [["a"], ["a"] * 8, [""] * 8])
def test_bad_names_are_refused(baseline, names, data):
    with pytest.raises(GaussnetError):
        baseline(data, names=names)


@pytest.mark.parametrize("penalty", [-0.1, math.nan, math.inf, True, "0.1", [0.1]])
def test_bad_penalties_are_refused(penalty, data):
    with pytest.raises(SettingError, match="expected"):
        baselines.clime(data, penalty=penalty)
    with pytest.raises(SettingError, match="expected"):
        baselines.graphical_lasso(data, alpha=penalty)
