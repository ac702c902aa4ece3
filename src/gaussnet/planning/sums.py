"""Sums of many independent variables: quantiles without simulation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaussnet.types import FloatArray

CELLS = 1 << 15
"""Cells of the grid on which laws are added; a quantile is good to 3 / CELLS of itself."""
WIDEST = 3.0
"""A grid longer than this many times the answer is too coarse."""
TILT = 14.0
"""Masses are damped by exp(-TILT) along the grid, so that what wraps round weighs nothing."""


@dataclass(frozen=True)
class Law:
    """A non-negative law as weighted points: (points,) values and masses that add up to 1."""

    values: FloatArray
    masses: FloatArray
    heavy: bool = False
    """Whether the mean of the true law is infinite, whatever the points say."""
    resolution: float = 0.0
    """Tails of smaller probability are not known; their quantiles are inf."""

    @property
    def mean(self) -> float:
        """The expectation; inf for a heavy law."""
        return float("inf") if self.heavy else float(self.values @ self.masses)

    def exceeded_with(self, probability: float) -> float:
        """The value exceeded with this probability, between points by straight lines."""
        if probability < self.resolution:
            return float("inf")
        values, above = self._tail()
        return float(np.interp(-probability, -above, values))

    def shortfall(self, probability: float) -> float:
        """The mean of the worst part of this probability; inf for a heavy law.

        For variables that depend on each other in any way, their sum exceeds the sum of
        their shortfalls with at most this probability.
        """
        if self.heavy or probability < self.resolution:
            return float("inf")
        quantile = self.exceeded_with(probability)
        excess = np.maximum(self.values - quantile, 0.0) @ self.masses
        return quantile + float(excess) / probability

    def _tail(self) -> tuple[FloatArray, FloatArray]:
        """Sorted values, and the mass above each, half of its own counted."""
        order = np.argsort(self.values)
        masses = self.masses[order]
        above = np.cumsum(masses[::-1])[::-1] - masses / 2
        return self.values[order], above


Parts = Sequence[tuple[Law, int]]
"""Independent variables: laws, and how many variables have each."""


def sum_exceeded_with(parts: Parts, probability: float) -> float:
    """The value that a sum of independent variables exceeds with this probability.

    The laws are put on a grid, mass and mean kept, and multiplied as Fourier transforms.
    Nothing is drawn at random. Mass beyond the grid counts as exceeding; a grid that does not
    hold the answer is lengthened, and one that is too coarse for it is fitted to it. Against
    closed forms the error is below 0.5 % for a single variable, below 1e-4 from three to a
    thousand variables, and for 10,000 the answer is too large by about 0.1 %.

    Examples
    --------
    >>> coin = Law(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> round(sum_exceeded_with([(coin, 1000)], 0.05), 1)  # 500 + 1.645 sqrt(250)
    526.0
    """
    parts = [(law, count) for law, count in parts if count and law.values.any()]
    if not parts:
        return 0.0
    length = 2.0 * sum(count * _typical(law) for law, count in parts)
    for _ in range(200):
        found = _quantile_on_grid(parts, probability, length)
        if found is not None:
            if length < WIDEST * found:
                return found
            fitted = _quantile_on_grid(parts, probability, 1.5 * found)
            return found if fitted is None else fitted
        length *= 4.0
    return float("inf")


def _typical(law: Law) -> float:
    """A rough middle of the law, not moved by a heavy tail."""
    positive = law.values > 0.0
    masses = law.masses[positive]
    return float(np.exp(np.log(law.values[positive]) @ masses / masses.sum()) * masses.sum())


def _quantile_on_grid(parts: Parts, probability: float, length: float) -> float | None:
    step = length / CELLS
    transform = np.ones(CELLS // 2 + 1, dtype=np.complex128)
    damping = np.exp(-TILT / CELLS * np.arange(CELLS))
    for law, count in parts:
        transform *= np.fft.rfft(_gridded(law, step) * damping) ** count
    masses = np.fft.irfft(transform, CELLS) / damping
    below = np.cumsum(masses)
    place = int(np.searchsorted(np.maximum.accumulate(below), 1.0 - probability))
    if place >= CELLS - 1:
        return None
    # Mass at a cell stands for the half cells on both sides of it.
    before = below[place] - masses[place]
    inside = (1.0 - probability - before) / masses[place] if masses[place] > 0.0 else 1.0
    return max(step * (place - 0.5 + float(np.clip(inside, 0.0, 1.0))), 0.0)


def _gridded(law: Law, step: float) -> FloatArray:
    """Masses on the grid: each point is shared by its two neighbours, so the mean is kept."""
    place = law.values / step
    inside = place < CELLS - 1
    place, masses = place[inside], law.masses[inside]
    cell = place.astype(np.int64)
    right = masses * (place - cell)
    grid: FloatArray = np.zeros(CELLS)
    grid += np.bincount(cell, weights=masses - right, minlength=CELLS)
    grid[1:] += np.bincount(cell, weights=right, minlength=CELLS)[:-1]
    return grid
