"""Quadrature rules: a continuous law as finitely many weighted points."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from gaussnet.types import FloatArray

ORDER = 4
"""Gauss-Legendre points in a panel."""
REACH = 7.0
"""How far the chi rules reach on both sides of sqrt(k): beyond lies less than 1e-15."""
HEAVY = 8
"""Below this power a density falls so slowly to 0 that its end needs panels of its own."""


@dataclass(frozen=True)
class Rule:
    """Points of a law and their masses, which add up to 1."""

    points: FloatArray
    masses: FloatArray

    def condensed(self, cells: int) -> "Rule":
        """The same law with at most so many points: means of cells that are finer in the tails."""
        if len(self.points) <= cells:
            return self
        from scipy.special import ndtri

        order = np.argsort(self.points)
        points, masses = self.points[order], self.masses[order]
        middles = np.clip(np.cumsum(masses) - masses / 2, 1e-17, None)
        scores = np.where(middles < 0.5, ndtri(middles), -ndtri(self._above(masses)))
        cell = np.floor((scores / 9 + 1) / 2 * cells).astype(np.int64).clip(0, cells - 1)
        total = np.asarray(np.bincount(cell, weights=masses), dtype=np.float64)
        sums = np.bincount(cell, weights=masses * points)
        filled = total > 0.0
        return Rule(sums[filled] / total[filled], total[filled])

    @staticmethod
    def _above(masses: FloatArray) -> FloatArray:
        return np.asarray(np.clip(np.cumsum(masses[::-1])[::-1] - masses / 2, 1e-17, None))

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.points, self.masses))


def chi_square(freedom: int, panels: int, *, inverse: bool = False, reach: float = REACH) -> Rule:
    """The chi-square law of `freedom` degrees; 0 degrees is the point 0.

    Panels are laid in the square root s, whose density s^(k-1) exp(-s^2/2) is smooth and
    falls like a normal one on both sides of sqrt(k). If 1/s^2 will be asked for (`inverse`)
    and the panels begin at 0, the first one is halved again and again.

    Examples
    --------
    >>> points, masses = chi_square(3, panels=40)
    >>> round(float(points @ masses), 9)
    3.0
    """
    if freedom == 0:
        return Rule(np.zeros(1), np.ones(1))
    centre = sqrt(freedom)
    low = max(-reach, -centre)
    edges = np.linspace(low, reach, panels + 1)
    if inverse and low == -centre:
        first = (edges[1] + centre) * 0.5 ** np.arange(24, 0, -1)
        edges = np.concatenate((edges[:1], first - centre, edges[1:]))
    shifts, widths = _panel_points(edges)
    logs = (freedom - 1) * np.log1p(shifts / centre) - centre * shifts - shifts**2 / 2
    return _normalised((centre + shifts) ** 2, logs, widths)


def beta_odds(numerator: int, denominator: int, panels: int) -> Rule:
    r"""The law of chi2(numerator) / chi2(denominator), independent of each other.

    Panels are laid in the angle t with tan(t)^2 the ratio, whose density is
    :math:`\sin(t)^{a-1} \cos(t)^{b-1}`.

    Examples
    --------
    >>> points, masses = beta_odds(3, 10, panels=40)
    >>> round(float(points @ masses), 9)
    0.375
    """
    if numerator == 0:
        return Rule(np.zeros(1), np.ones(1))
    from scipy.special import betaincinv

    share = betaincinv(numerator / 2, denominator / 2, 1e-17)
    low = np.arcsin(np.sqrt(share)) if numerator > 1 else 0.0
    rest = betaincinv(denominator / 2, numerator / 2, 1e-17)
    high = np.arccos(np.sqrt(rest))
    edges = np.linspace(low, high, panels + 1)
    if rest < 1e-6:  # a heavy tail: the angle crowds at a right angle
        left = np.pi / 2 - edges[-2]
        edges = np.concatenate((edges[:-1], np.pi / 2 - left * 0.5 ** np.arange(1, 25)))
    angles, widths = _panel_points(edges)
    tangents = np.tan(angles)
    logs = (numerator - 1) * np.log(np.sin(angles)) + (denominator - 1) * np.log(np.cos(angles))
    return _normalised(tangents**2, logs, widths)


def beta_law(first: float, second: float, panels: int) -> Rule:
    """The Beta(first, second) law; an end with a heavy tail has panels that halve towards it."""
    from scipy.special import betaincinv

    low = float(betaincinv(first, second, 1e-17))
    high = 1.0 - float(betaincinv(second, first, 1e-17))
    edges = np.linspace(low, high, panels + 1)
    halves = 0.5 ** np.arange(1, 41)
    start = np.append(0.0, edges[1] * halves[::-1]) if first < HEAVY else edges[:1]
    stop = 1.0 - (1.0 - edges[-2]) * halves if second < HEAVY else edges[-1:]
    points, widths = _panel_points(np.concatenate((start, edges[1:-1], stop)))
    logs = (first - 1) * np.log(points) + (second - 1) * np.log1p(-points)
    return _normalised(points, logs, widths)


def gauss_normal(count: int) -> Rule:
    """Gauss's rule of the standard normal law."""
    steps = np.sqrt(np.arange(1.0, count))
    return _golub_welsch(np.zeros(count), steps)


def gauss_chi_square(freedom: int, count: int) -> Rule:
    """Gauss's rule of the chi-square law; 0 degrees is the point 0."""
    if freedom == 0:
        return Rule(np.zeros(1), np.ones(1))
    index, shape = np.arange(float(count)), freedom / 2 - 1
    rule = _golub_welsch(2 * index + shape + 1, np.sqrt(index[1:] * (index[1:] + shape)))
    return Rule(2.0 * rule.points, rule.masses)


def gauss_beta(first: float, second: float, count: int) -> Rule:
    """Gauss's rule of the Beta(first, second) law, by its Jacobi recurrence."""
    a, b, n = second - 1, first - 1, np.arange(1.0, count)
    twice = 2 * n + a + b
    diagonal = np.concatenate(([(b - a) / (a + b + 2)], (b - a) * (b + a) / (twice * (twice + 2))))
    steps = 4 * n * (n + a) * (n + b) * (n + a + b)
    steps[0] = 4 * (1 + a) * (1 + b)  # n + a + b and twice - 1 may both vanish at n = 1
    below = twice**2 * (twice + 1) * (twice - 1)
    below[0] = twice[0] ** 2 * (twice[0] + 1)
    rule = _golub_welsch(diagonal, np.sqrt(steps / below))
    return Rule((1 + rule.points) / 2, rule.masses)


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    points, widths = np.polynomial.legendre.leggauss(ORDER)
    return points, widths


def _panel_points(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    points, widths = _legendre()
    half = np.diff(edges) / 2
    middle = (edges[:-1] + edges[1:]) / 2
    return (middle[:, None] + np.outer(half, points)).ravel(), np.outer(half, widths).ravel()


def _normalised(points: FloatArray, logs: FloatArray, widths: FloatArray) -> Rule:
    masses = np.exp(logs - logs.max()) * widths
    return Rule(points, masses / masses.sum())


def _golub_welsch(diagonal: FloatArray, steps: FloatArray) -> Rule:
    """Points and masses from the three-term recurrence of the orthogonal polynomials."""
    matrix = np.diag(diagonal) + np.diag(steps, 1) + np.diag(steps, -1)
    points, vectors = np.linalg.eigh(matrix)
    return Rule(points, vectors[0] ** 2)
