"""The multivariate Gaussian: factor, covariance, draws, density, marginals."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chi2, multivariate_normal

from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.model import Gaussian


def example(count=4, width=6, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(count)]
    return Gaussian(names, rng.normal(size=count), rng.normal(size=(count, width)))


def test_covariance_is_the_factor_times_itself():
    gaussian = example()
    np.testing.assert_allclose(gaussian.covariance, gaussian.factor @ gaussian.factor.T)
    assert not gaussian.covariance.flags.writeable


@given(st.integers(0, 2**32), st.integers(0, 6))
def test_from_covariance_gives_the_covariance_back(seed, count):
    gaussian = example(count, count + 1, seed)
    again = Gaussian.from_covariance(gaussian.names, gaussian.mean, gaussian.covariance)
    # Where Cholesky's factor fails, eigenvalues up to n * 1e-14 of the largest, n at most, are cut.
    scales = np.sqrt(np.diag(gaussian.covariance))
    gap = again.covariance - gaussian.covariance
    assert (np.abs(gap) <= 2.0 * count**2 * 1e-14 * np.outer(scales, scales)).all()


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_from_covariance_takes_singular_covariances(rank):
    flat = example(4, rank)
    again = Gaussian.from_covariance(flat.names, flat.mean, flat.covariance)
    np.testing.assert_allclose(again.covariance, flat.covariance, atol=1e-14)


def test_from_covariance_keeps_scales_that_are_far_apart():
    scales = np.array([1e-100, 1.0, 1e100])
    correlation = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
    covariance = correlation * np.outer(scales, scales)
    again = Gaussian.from_covariance(list("abc"), [0.0] * 3, covariance)
    # The factor of 3 correlations is right to 10 roundings of 1, the smallest correlation is 0.2.
    rounding = 10 * np.finfo(np.float64).eps / 0.2
    np.testing.assert_allclose(again.covariance, covariance, rtol=rounding)


def test_from_covariance_keeps_a_constant_beside_others():
    constant = Gaussian.from_covariance(["a", "b"], [1.0, 2.0], [[0.0, 0.0], [0.0, 4.0]])
    np.testing.assert_allclose(constant.covariance, [[0.0, 0.0], [0.0, 4.0]], atol=1e-15)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "direction of negative variance"),
        ([[0.0, 1.0], [1.0, 1.0]], "direction of negative variance"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([[-1.0, 0.0], [0.0, 1.0]], "negative variance on its diagonal"),
        ([[math.nan, 0.0], [0.0, 1.0]], "NaN"),
        ([1.0, 1.0], r"shape \(2,\), expected \(2, 2\)"),
        ([["x", 0.0], [0.0, 1.0]], "not all numbers"),
    ],
)
def test_what_is_no_covariance_is_refused(covariance, message):
    with pytest.raises(NetworkError, match=message):
        Gaussian.from_covariance(["a", "b"], [0.0, 0.0], covariance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "a"], [0.0, 0.0], np.eye(2)), "'a' is listed twice"),
        ((["a", ""], [0.0, 0.0], np.eye(2)), "non-empty string"),
        ((["a", 3], [0.0, 0.0], np.eye(2)), "non-empty string"),
        (("ab", [0.0, 0.0], np.eye(2)), "give a list"),
        ((["a", "b"], [0.0], np.eye(2)), r"means of shape \(1,\)"),
        ((["a", "b"], [0.0, math.inf], np.eye(2)), "mean of 'b' is inf"),
        ((["a", "b"], [0.0, 0.0], np.eye(3)), r"factor of shape \(3, 3\)"),
        ((["a", "b"], [0.0, 0.0], [1.0, 2.0]), r"factor of shape \(2,\)"),
        ((["a"], [0.0], [[math.nan]]), "factor holds NaN"),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(NetworkError, match=message):
        Gaussian(*arguments)


def test_sample_has_the_mean_and_covariance():
    gaussian = example(3, 4)
    rows = 40_000
    data = gaussian.sample(rows, seed=1)
    covariance = gaussian.covariance
    # rows * gap' C^-1 gap is chi-square with 3 degrees of freedom.
    gap = data.mean(axis=0) - gaussian.mean
    assert rows * gap @ np.linalg.solve(covariance, gap) < chi2.ppf(1 - 1e-6, 3)
    # The variance of an entry of the sample covariance is (C_ij^2 + C_ii C_jj) / rows.
    errors = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / rows)
    assert (np.abs(np.cov(data.T) - covariance) < 5.0 * errors).all()


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 700])
def test_first_rows_do_not_depend_on_how_many_are_asked_for(rows):
    gaussian = example(5, 7)
    np.testing.assert_array_equal(
        gaussian.sample(1000, seed=3)[:rows], gaussian.sample(rows, seed=3)
    )


def test_sample_refuses_a_wrong_number_of_rows():
    with pytest.raises(SettingError, match="rows=-2"):
        example().sample(-2, seed=0)


@pytest.mark.parametrize("seed", range(4))
def test_log_density_equals_that_of_scipy(seed):
    gaussian = example(5, 7, seed)
    data = gaussian.sample(60, seed=seed)
    expected = multivariate_normal(gaussian.mean, gaussian.covariance).logpdf(data)
    np.testing.assert_allclose(gaussian.log_density(data), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "flat",
    [
        Gaussian(["a", "b"], [0.0, 0.0], [[1.0], [2.0]]),
        Gaussian(["a", "b"], [0.0, 0.0], [[1.0, 0.1], [3.0, 0.3]]),
        Gaussian(["a", "b"], [0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]]),
    ],
    ids=["too few columns", "rows in line", "constant"],
)
def test_a_singular_covariance_has_no_density(flat):
    with pytest.raises(NetworkError, match="'b' is a linear function of the variables before"):
        flat.log_density([[0.0, 0.0]])


def test_small_scales_are_not_taken_for_singular():
    tiny = Gaussian(["a", "b"], [0.0, 0.0], [[1e-150, 0.0], [1.0, 1e-10]])
    expected = -math.log(2.0 * math.pi) - math.log(1e-150) - math.log(1e-10)
    assert tiny.log_density([[0.0, 0.0]])[0] == pytest.approx(expected, rel=1e-12)


def test_log_density_refuses_missing_values():
    with pytest.raises(DataError, match="nan at row 1"):
        example(2, 2).log_density([[0.0, 0.0], [0.0, math.nan]])


def test_rows_beyond_floating_point_have_density_zero_without_a_warning():
    gaussian = Gaussian(["a", "b"], [-1e308, 0.0], [[1.0, 0.0], [1.0, 1.0]])
    assert gaussian.log_density([[1e308, 1e308]])[0] == -math.inf


def test_marginal_keeps_mean_and_covariance_in_the_order_asked_for():
    gaussian = example()
    part = gaussian.marginal(["x3", "x1"])
    assert part.names == ("x3", "x1")
    np.testing.assert_array_equal(part.mean, gaussian.mean[[3, 1]])
    np.testing.assert_allclose(part.covariance, gaussian.covariance[np.ix_([3, 1], [3, 1])])


@pytest.mark.parametrize(
    ("names", "message"), [(["x9"], "no variable 'x9'"), (["x1"] * 2, "twice")]
)
def test_marginal_refuses_unknown_and_repeated_names(names, message):
    with pytest.raises(NetworkError, match=message):
        example().marginal(names)


def test_equality_hash_and_pickle_go_by_value():
    gaussian = example()
    again = pickle.loads(pickle.dumps(gaussian))
    assert again == gaussian
    assert hash(again) == hash(gaussian)
    assert not again.factor.flags.writeable
    assert gaussian != example(seed=1)
    assert gaussian != "x"
    assert repr(gaussian) == "Gaussian(4 variables: 'x0', 'x1', 'x2', 'x3')"
    alone = Gaussian(["rain"], [1.25], [[2.0]])
    assert repr(alone) == "Gaussian(1 variable: 'rain')"
    assert str(alone) == "rain: mean 1.25, standard deviation 2"
    many = Gaussian([f"x{i}" for i in range(25)], np.zeros(25), np.eye(25))
    assert str(many).splitlines()[-1] == "... and 5 more"
