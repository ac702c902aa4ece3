"""Tails and quantiles beside SciPy's and closed forms.

The integral of Student's tail ends at 1e-15 of itself; its front is an exponential of up to 650,
which rounding moves by as many units in the last place, 2e-13 in all with the gamma functions.
"""

import numpy as np
import pytest
from scipy.special import chdtri, ndtr, stdtr, stdtrit

from gaussnet.tails import PValue, chi_square_quantile, normal_cdf, student_quantile, student_tail

FREEDOM = [1.5, 2.0, 3.0, 4.5, 10.0, 59.0, 60.0, 61.0, 119.0, 121.0, 498.0, 5e3, 49_990.0, 1e6]
CHANCES = [0.001, 0.025, 0.3, 0.5, 0.6, 0.9, 0.975, 0.998]


def test_a_p_value_below_a_usual_level_is_not_written_as_the_level():
    for level in (0.01, 0.05, 0.1):
        for below in (4e-4, 1e-5, 1e-12):
            assert float(str(PValue(level - below))) < level
        assert str(PValue(level)) == f"{level:.3f}"
    written = [str(PValue(value)) for value in (0.0494, 0.0496, 0.0504, 0.0196)]
    assert written == ["0.049", "0.0496", "0.050", "0.020"]


def test_the_normal_law_is_scipys():
    values = np.concatenate((np.linspace(-37.0, 9.0, 2_000), [-np.inf, np.inf])).reshape(2, -1)
    np.testing.assert_allclose(normal_cdf(values), ndtr(values), rtol=1e-13)
    assert np.isnan(normal_cdf([np.nan])).all()


@pytest.mark.parametrize("freedom", FREEDOM)
def test_students_tail_is_scipys(freedom):
    t = np.concatenate((np.linspace(0.0, 36.0, 1_500), 10.0 ** np.linspace(-6.0, 4.0, 500)))
    expected = stdtr(freedom, -t)
    seen = expected > 1e-280
    found = student_tail(np.full(len(t), freedom), np.where(np.arange(len(t)) % 2, t, -t))
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-12)
    assert (found[~seen] < 1e-279).all()


def test_students_tail_has_the_closed_forms_of_one_and_two_degrees_of_freedom():
    t = 10.0 ** np.linspace(-9.0, 9.0, 400)
    one = np.arctan2(1.0, t) / np.pi
    np.testing.assert_allclose(student_tail(np.ones(len(t)), t), one, rtol=1e-13)
    root = np.sqrt(2.0 + t * t)
    two = 1.0 / (root * (root + t))
    np.testing.assert_allclose(student_tail(np.full(len(t), 2.0), t), two, rtol=1e-13)


def test_what_is_unknown_stays_so_and_infinity_has_no_tail():
    freedom = np.array([np.nan, 5.0, 5.0, 0.0, -1.0, 5.0])
    found = student_tail(freedom, np.array([1.0, np.nan, np.inf, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0.0, np.nan, np.nan, found[-1]])
    assert found[-1] == pytest.approx(0.5, rel=1e-14)
    for quantile in (student_quantile, chi_square_quantile):
        assert np.isnan(quantile([np.nan, 0.0, -1.0], 0.975)).all()
        assert quantile(np.ones((2, 3)), 0.975).shape == (2, 3)
        assert quantile([], 0.975).shape == (0,)


def test_students_tail_of_infinite_freedom_is_normal():
    freedom, t = np.array([np.inf, 5.0, np.inf, np.inf]), np.array([-1.0, 1.0, 30.0, np.nan])
    found = student_tail(freedom, t)
    np.testing.assert_allclose(found[[0, 2]], ndtr([-1.0, -30.0]), rtol=1e-13)
    assert found[1] == pytest.approx(stdtr(5.0, -1.0), rel=1e-13)
    assert np.isnan(found[3])


@pytest.mark.parametrize("chance", CHANCES)
def test_quantiles_are_scipys(chance):
    freedom = np.array([1.0, *FREEDOM, *range(1, 150)])
    found = student_quantile(freedom, chance)
    np.testing.assert_allclose(found, stdtrit(freedom, chance), rtol=1e-12, atol=1e-15)
    found = chi_square_quantile(freedom, chance)
    np.testing.assert_allclose(found, chdtri(freedom, 1.0 - chance), rtol=1e-12)


@pytest.mark.parametrize("chance", [1e-9, 1.0 - 1e-6])
def test_tiny_tails_and_very_many_degrees_of_freedom_are_asked_of_scipy(chance):
    for freedom, asked in ((np.array([4.0, 1e3]), chance), (np.array([0.5, 1e9]), 0.975)):
        np.testing.assert_array_equal(student_quantile(freedom, asked), stdtrit(freedom, asked))
        expected = chdtri(freedom, 1.0 - asked)
        np.testing.assert_array_equal(chi_square_quantile(freedom, asked), expected)
    many = np.linspace(0.0, 9.0, 30_000)
    np.testing.assert_array_equal(student_tail(np.full(30_000, 7.0), many), stdtr(7.0, -many))


def test_statistics_that_are_nearly_infinite_have_no_chance_and_no_warning():
    found = student_tail(np.array([1.0, 1.0, 3.0, 47.0]), np.array([1e120, 1e200, 1e155, 1e300]))
    assert found[0] == pytest.approx(1e-120 / np.pi, rel=1e-9)  # of Cauchy's law
    assert (found[1:] >= 0.0).all()
    assert (found[1:] < 1e-139).all()
