"""Tails and quantiles of the normal, Student's t and chi-square laws.

The shell's fit needs them, and SciPy's special functions take longer to import than a fit takes.
What is rare is asked of SciPy: tiny tails, very many values, very many degrees of freedom or less
than one.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.types import FloatArray

MOST_FREEDOM = 2e6
MOST_VALUES = 20_000
SMALLEST_TAIL = 1e-3
SMALLEST_P = 0.001
"""Smaller p-values are written as below it."""
BORDERS = (0.01, 0.05, 0.1)
"""A p-value below one of the usual levels is never written as the level."""
CLOSE = 1e-16
"""Sums end at terms that are smaller than this share of the whole."""
STEPS = np.arange(1.0, 257.0)


def _heavy_points() -> tuple[FloatArray, FloatArray]:
    """Points and weights on the half-line, for integrands that fall like a power."""
    s = np.arange(-67, 68) / 16
    points = np.exp(0.5 * math.pi * np.sinh(s))
    return points, points * 0.5 * math.pi * np.cosh(s) / 16


def _light_points() -> tuple[FloatArray, FloatArray]:
    """The same for integrands that fall like an exponential."""
    s = np.arange(-32, 41) / 8
    points = np.exp(s - np.exp(-s))
    return points, points * (1.0 + np.exp(-s)) / 8


HEAVY, LIGHT = _heavy_points(), _light_points()
LIGHT_TAILED = 60.0
"""Degrees of freedom from which a Student t density falls like an exponential."""


class PValue(float):
    """A p-value, which all tables and sentences write in one way: three decimals, or "<0.001".

    What is below a usual level and would round to it has four decimals.

    Examples
    --------
    >>> print(PValue(0.0001234), PValue(0.04567), PValue(0.5) / 2.0, PValue("nan"))
    <0.001 0.046 0.25 -
    >>> print(PValue(0.0496), PValue(0.049999), PValue(0.05))
    0.0496 0.0499 0.050
    """

    __slots__ = ()

    def __new__(cls, value: float | str) -> "PValue":
        """The p-value itself if it is one already."""
        return value if isinstance(value, cls) else super().__new__(cls, value)

    def __str__(self) -> str:
        if math.isnan(self):
            return "-"
        if 0.0 <= self < SMALLEST_P:
            return f"<{SMALLEST_P}"
        for border in BORDERS:
            if border - 0.0005 <= self < border:
                return f"{min(float(self), border - 0.0001):.4f}"
        return f"{float(self):.3f}"


class LeastPValue(PValue):
    """The least p-value that repetitions can tell of, which is written as below it.

    Examples
    --------
    >>> print(LeastPValue(2 / 201), LeastPValue(2 / 5_001), PValue(LeastPValue(2 / 21)))
    <0.010 <0.001 <0.096
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"<{math.ceil(1000.0 * self) / 1000.0:.3f}"


def normal_cdf(values: ArrayLike) -> FloatArray:
    r"""The chance :math:`\Phi(x)` that a standard normal variable is at most x, of any shape.

    Examples
    --------
    >>> normal_cdf([0.0, -1.959963984540054]).round(12).tolist()
    [0.5, 0.025]
    """
    given = np.asarray(values, dtype=np.float64)
    found = [0.5 * math.erfc(-value * math.sqrt(0.5)) for value in given.ravel().tolist()]
    return np.array(found, dtype=np.float64).reshape(given.shape)


def student_tail(freedom: FloatArray, values: FloatArray) -> FloatArray:
    r"""The chance that a Student t variable is beyond \|t\| on one side, (values,) each.

    .. math:: f(t) \int_0^\infty \Big(1 + \frac{v (2 t + v)}{\nu + t^2}\Big)^{-(\nu + 1) / 2} dv

    f is the density. The integral is a sum over double exponential points: nothing is subtracted,
    so that the smallest chances have all digits. Infinite freedom is the normal law.

    Examples
    --------
    >>> student_tail(np.array([1.0, 10.0]), np.array([1.0, 2.2281388519862753])).round(12).tolist()
    [0.25, 0.025]
    """
    normal = np.isposinf(freedom)
    if len(values) > MOST_VALUES or any(map(_is_odd, set(freedom[~normal].tolist()))):
        from scipy.special import stdtr

        return np.asarray(stdtr(freedom, -np.abs(values)), dtype=np.float64)
    found = np.zeros(len(values))
    found[normal] = normal_cdf(-np.abs(values[normal]))
    heavy = freedom < LIGHT_TAILED
    found[~(freedom > 0.0) | np.isnan(values)] = np.nan
    finite = (freedom > 0.0) & np.isfinite(values) & ~normal
    for points, weights, mask in ((*HEAVY, heavy), (*LIGHT, ~heavy)):
        chosen = np.flatnonzero(mask & finite)
        for first in range(0, len(chosen), 1_000):
            own = chosen[first : first + 1_000]
            found[own] = _student_part(freedom[own], np.abs(values[own]), points, weights)
    return found


LARGEST_T = 1e140
"""Squares of larger statistics may overflow; no chance is left there that a double tells from 0 but
for a few degrees of freedom, and then it is below 1e-140."""


def _student_part(
    freedom: FloatArray, t: FloatArray, points: FloatArray, weights: FloatArray
) -> FloatArray:
    """The same by these points of the integral, in units of the length over which it falls."""
    t = np.minimum(t, LARGEST_T)
    power, base = 0.5 * (freedom + 1.0), freedom + t * t
    rate = 2.0 * power / base
    length = 1.0 / (rate * t + np.sqrt(rate))
    density = _gamma_ratios(0.5 * freedom) / np.sqrt(math.pi * freedom)
    density *= np.exp(-power * np.log1p(t * t / freedom))
    v = length[:, None] * points
    with np.errstate(over="ignore"):  # the density there is 0
        inside = np.exp(-power[:, None] * np.log1p(v * (2.0 * t[:, None] + v) / base[:, None]))
    inside *= weights
    return np.asarray(density * length * inside.sum(axis=1), dtype=np.float64)  # row by row


def student_quantile(freedom: ArrayLike, chance: float) -> FloatArray:
    """What a Student t variable stays below with this chance, of any shape; NaN for no freedom.

    Examples
    --------
    >>> student_quantile([1.0, 10.0], 0.975).round(9).tolist()
    [12.706204736, 2.228138852]
    """
    given = np.asarray(freedom, dtype=np.float64)
    tail, distinct = min(chance, 1.0 - chance), set(given.ravel().tolist())
    if tail < SMALLEST_TAIL or any(map(_is_odd, distinct)):
        from scipy.special import stdtrit

        return np.asarray(stdtrit(given, chance), dtype=np.float64)
    found = _by_value(given, lambda one: _student_point(one, tail), distinct)
    return found if chance > 0.5 else -found


def chi_square_quantile(freedom: ArrayLike, chance: float) -> FloatArray:
    """What a chi-square variable stays below with this chance, of any shape; NaN for no freedom.

    Examples
    --------
    >>> chi_square_quantile([2.0, 10.0], 0.5).round(9).tolist()
    [1.386294361, 9.341817766]
    """
    given = np.asarray(freedom, dtype=np.float64)
    distinct = set(given.ravel().tolist())
    if min(chance, 1.0 - chance) < SMALLEST_TAIL or any(map(_is_odd, distinct)):
        from scipy.special import chdtri

        return np.asarray(chdtri(given, 1.0 - chance), dtype=np.float64)
    return _by_value(given, lambda one: _chi_square_point(one, chance), distinct)


def _is_odd(freedom: float) -> bool:
    """Whether these degrees of freedom are left to SciPy: fewer than 1, or very many."""
    return 0.0 < freedom < 1.0 or freedom > MOST_FREEDOM


def _by_value(
    given: FloatArray, function: Callable[[float], float], distinct: set[float]
) -> FloatArray:
    """A function of the distinct values of an array, most of which are equal; NaN stays."""
    known = {one: function(one) for one in distinct if one > 0.0}
    if len(distinct) == 1:
        return np.full(given.shape, known.get(distinct.pop(), math.nan))
    found = [known.get(one, math.nan) for one in given.ravel().tolist()]
    return np.array(found, dtype=np.float64).reshape(given.shape)


@lru_cache(1_024)
def _student_point(freedom: float, tail: float) -> float:
    """The point beyond which a tail below 1/2 lies, by Newton's method on its logarithm."""
    if tail == 0.5:
        return 0.0
    one = np.array([freedom])
    point = first_normal_point(tail)
    point *= 1.0 + (point * point + 1.0) / (4.0 * freedom)  # for many degrees of freedom
    log_density = math.log(float(_gamma_ratios(0.5 * one)[0]) / math.sqrt(math.pi * freedom))
    for _ in range(100):
        beyond = float(student_tail(one, np.array([point]))[0])
        slope = math.exp(log_density - (freedom + 1.0) / 2.0 * math.log1p(point**2 / freedom))
        step = beyond * math.log(beyond / tail) / slope
        point = max(point + step, 0.5 * point)
        if abs(step) <= 1e-14 * point:
            break
    return point


def first_normal_point(tail: float) -> float:
    """The point beyond which a tail of the normal law lies, to 4.5e-4 (Abramowitz, 26.2.23)."""
    t = math.sqrt(-2.0 * math.log(tail))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return max(t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))), 1e-3)


@lru_cache(1_024)
def _chi_square_point(freedom: float, chance: float) -> float:
    """Newton's method on the logarithm of the smaller tail, from Wilson and Hilferty's point."""
    half = 0.5 * freedom
    normal = math.copysign(first_normal_point(min(chance, 1.0 - chance)), chance - 0.5)
    spread = 2.0 / (9.0 * freedom)
    point = half * max(1.0 - spread + normal * math.sqrt(spread), 0.0) ** 3
    if point < 0.1 * half:  # where the law is far from normal
        point = math.exp((math.log(chance) + math.lgamma(half + 1.0)) / half)
    for _ in range(100):
        below = _gamma_below(half, point)
        slope = math.exp(_log_gamma_term(half, point)) * half / point
        step = below * math.log(chance / below) / slope
        point = max(point + step, 0.1 * point)
        if abs(step) <= 1e-14 * point:
            break
    return 2.0 * point


def _gamma_below(shape: float, point: float) -> float:
    r"""The regularised incomplete gamma function: front times :math:`\sum_n x^n / (a + 1)_n`."""
    term = total = 1.0
    place = shape
    while term > CLOSE * total:
        terms = term * np.cumprod(point / (place + STEPS))
        term, total, place = float(terms[-1]), total + float(terms.sum()), place + len(STEPS)
    return math.exp(_log_gamma_term(shape, point)) * total


def _log_gamma_term(shape: float, point: float) -> float:
    r"""Logarithm of :math:`x^a e^{-x} / \Gamma(a + 1)`; of large ones without large differences."""
    if shape < 20.0:
        return shape * math.log(point) - point - math.lgamma(shape + 1.0)
    beyond = (point - shape) / shape
    inverse = 1.0 / (shape * shape)
    rest = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / shape
    return shape * (math.log1p(beyond) - beyond) - 0.5 * math.log(2.0 * math.pi * shape) - rest


def _gamma_ratios(shapes: FloatArray) -> FloatArray:
    r""":math:`\Gamma(a + 1/2) / \Gamma(a)`, (shapes,)."""
    return _by_value(shapes, _gamma_ratio, set(shapes.tolist()))


def _gamma_ratio(shape: float) -> float:
    if shape < 60.0:
        return math.gamma(shape + 0.5) / math.gamma(shape)
    u = 1.0 / (8.0 * shape)
    series = 1.0 + u * (-1.0 + u * (0.5 + u * (2.5 - u * (2.625 + u * 49.875))))
    return math.sqrt(shape) * series
