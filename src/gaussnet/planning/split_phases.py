"""What the laws need to know of a fit: rows of each phase, intercept, in-degrees."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.planning.rules import chi_square, gauss_normal
from gaussnet.planning.sums import Law
from gaussnet.types import FloatArray


@dataclass(frozen=True, slots=True)
class Phases:
    """Rows of the two phases, and whether the equations have a constant.

    Phase 1 finds coefficients from `first` rows, phase 2 variances from `second` rows; they
    are the same rows unless `split`.
    """

    first: int
    second: int
    split: bool
    intercept: bool

    @classmethod
    def shared(cls, rows: int, *, intercept: bool) -> "Phases":
        """Both phases on all rows."""
        return cls(rows, rows, False, intercept)

    @property
    def residual_rows(self) -> int:
        """Degrees of freedom of phase 2 before coefficients are paid for."""
        return self.second - self.intercept


Degrees = tuple[tuple[int, int], ...]
"""Pairs (number of parents, how many nodes have so many), ascending."""


def degrees_of(dag: Dag) -> Degrees:
    """The in-degrees of a graph and how often each occurs.

    Examples
    --------
    >>> degrees_of(Dag.parse("[a][b][c|a:b]"))
    ((0, 2), (2, 1))
    """
    parents, counts = np.unique(dag.in_degrees, return_counts=True)
    return tuple(zip(parents.tolist(), counts.tolist(), strict=True))


# A bound for least squares whose phases have rows of their own.
#
# With x the mean square of phase 2 over :math:`s^2 (1+q)`, and e the error of the location over s,
#
# .. math:: 2 KL = \ln(1+q) + \frac{1 + e^2/(1+q)}{x} - 1 + \ln x
#
# The x of different nodes depend on each other, but only through the lengths of their fitted
# errors :math:`X_i D_i`, which are within narrow limits for all nodes at once; the worst value
# within these limits is a function of variables that are independent. docs/theory.md, "Split
# phases", has the proof.


def split_bound_law(parents: int, phases: Phases, weight: float, event: float) -> Law:
    """The law of a bound for a node with parents, whose limits fail with probability `event`.

    In ln(1+q) alone, q is taken as :math:`|z|^2` over `weight`.
    """
    limits = _Limits.of(parents, phases, event)
    rest = chi_square(phases.residual_rows - 1, panels=24, inverse=True)
    along = gauss_normal(12)
    squares = chi_square(parents, panels=5, reach=5.0)
    location = chi_square(int(phases.intercept), panels=2, reach=5.0)
    smallest, largest = limits.ratios(
        rest.points[:, None, None], along.points[:, None], squares.points
    )
    worst = np.maximum(_mismatch(smallest), _mismatch(largest))
    most = squares.points / limits.weight[0]
    shift = (np.sqrt(location.points)[:, None] + limits.lean * np.sqrt(most)) ** 2 / phases.second
    if not phases.intercept:
        shift = np.zeros_like(shift)
    values = (
        worst[..., None, :] + shift / smallest[..., None, :] + np.log1p(squares.points / weight)
    )
    masses = np.multiply.outer(rest.masses, np.outer(along.masses, location.masses))
    masses = np.multiply.outer(masses.reshape(len(rest.points), -1), squares.masses)
    return Law(0.5 * values.ravel(), masses.ravel(), heavy=phases.residual_rows <= 3)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What holds for a node but for a small probability."""

    weight: tuple[float, float]
    """W = |z|^2 / q lies between these."""
    length: tuple[float, float]
    """|X D| / (s sqrt(q)), in phase 2, lies between these."""
    lean: float
    """The mean of X D in phase 2 is at most this times s sqrt(q / m2)."""
    rows: int

    @classmethod
    def of(cls, parents: int, phases: Phases, event: float) -> "_Limits":
        """Five limits, each broken with probability event / 5 at most."""
        from scipy.special import gammainccinv, gammaincinv, ndtri

        each = event / 5
        freedom = phases.first - phases.intercept - parents + 1
        own = phases.residual_rows
        return cls(
            weight=(
                2 * float(gammaincinv(freedom / 2, each)),
                2 * float(gammainccinv(freedom / 2, each)),
            ),
            length=(
                sqrt(2 * float(gammaincinv(own / 2, each))),
                sqrt(2 * float(gammainccinv(own / 2, each))),
            ),
            lean=-float(ndtri(each / 2)),
            rows=phases.second,
        )

    def ratios(
        self, rest: FloatArray, along: FloatArray, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the largest x = (rest + (along - t)^2) / (m2 (1 + q)) within the limits."""
        least, most = squares / self.weight[1], squares / self.weight[0]
        near, far = np.sqrt(least) * self.length[0], np.sqrt(most) * self.length[1]
        closest = np.clip(along, near, far)
        farthest = np.maximum(np.abs(along - near), np.abs(along - far))
        smallest = (rest + (along - closest) ** 2) / (self.rows * (1 + most))
        largest = (rest + farthest**2) / (self.rows * (1 + least))
        return np.maximum(smallest, 1e-150), np.maximum(largest, 1e-150)


def _mismatch(ratio: FloatArray) -> FloatArray:
    """1/x - 1 + ln x, least at x = 1."""
    return np.asarray((1 - ratio) / ratio + np.log(ratio))
