"""How sure the coefficients are, family by family, in the coordinates where that is simple."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from gaussnet.fitting.uncertainty.ranks import median_law
from gaussnet.fitting.uncertainty.regressions import Regressions
from gaussnet.kernels.families import Block
from gaussnet.types import FloatArray


@dataclass(frozen=True)
class Slopes:
    """Errors of the coefficients of the families with p parents.

    Coefficients are ``turn @ coordinates``; each coordinate has a standard error and an
    interval of its own, and they may be correlated.
    """

    block: Block
    estimates: FloatArray
    """The coefficients as found from these rows, (families, p)."""
    turn: FloatArray
    """(families, p, p)."""
    errors: FloatArray
    """(families, p)."""
    low: FloatArray
    """Distances down to the lower end of each coordinate's interval, (families, p)."""
    high: FloatArray
    """Distances up to the upper end, (families, p)."""
    correlation: FloatArray
    """(families, p, p)."""

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the coefficients, (families, p, p)."""
        scaled = self.turn * self.errors[:, None, :]
        return np.asarray(scaled @ self.correlation @ scaled.transpose(0, 2, 1))


def classical(regressions: Regressions, level: float) -> Slopes:
    r"""Least squares under the model: :math:`s^2 (X'X)^{-1}` and Student's t, exact.

    Whitened coordinates have the noise's own standard error and are uncorrelated.
    """
    block = regressions.block
    errors = np.repeat(np.sqrt(regressions.noise)[:, None], block.size, axis=1)
    distance = errors * student(level, regressions.freedom)[:, None]
    identity = np.broadcast_to(np.eye(block.size), (block.count, block.size, block.size))
    return Slopes(
        block,
        regressions.coefficients,
        regressions.whitening,
        errors,
        distance,
        distance,
        identity,
    )


def between_batches(block: Block, solutions: FloatArray, level: float) -> Slopes:
    """Means of the batches' solutions (families, p, batches): Student's t between batches."""
    solved = ~np.isnan(solutions)
    used = np.count_nonzero(solved[:, 0], axis=1).astype(np.float64)
    means = np.where(solved, solutions, 0.0).sum(axis=2) / used[:, None]
    rest = np.where(solved, solutions - means[:, :, None], 0.0)
    freedom = np.where(used > 1, used - 1, np.nan)
    covariance = rest @ rest.transpose(0, 2, 1) / (used * freedom)[:, None, None]
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    distance = errors * student(level, freedom)[:, None]
    return Slopes(
        block, means, _identity(block), errors, distance, distance, correlations(covariance)
    )


def medians(
    block: Block, coordinates: FloatArray, turn: FloatArray | None, level: float, height: int = 1
) -> Slopes:
    """Coordinate-wise medians of solutions (families, p, count): order statistics.

    Solutions fewer than `height` apart share rows; they are worth as many independent ones
    as the autocovariance of their signs says. Coordinates are correlated as the signs are.
    """
    count, size, _ = coordinates.shape
    estimates, errors, low, high = (np.full((count, size), np.nan) for _ in range(4))
    correlation = np.broadcast_to(np.eye(size), (count, size, size)).copy()
    used = np.count_nonzero(~np.isnan(coordinates[:, 0]), axis=1)
    for number in np.unique(used).tolist():
        own = np.flatnonzero(used == number)
        values = np.sort(coordinates[own], axis=2)[:, :, :number].reshape(-1, number)
        middle = np.median(values, axis=1).reshape(len(own), size, 1)
        signs = np.nan_to_num(np.sign(coordinates[own] - middle))
        worth = number / overlap(signs, height)
        law = median_law(values, level, np.repeat(worth, size))
        for whole, part in zip((estimates, errors, low, high), law, strict=True):
            whole[own] = part.reshape(len(own), size)
        correlation[own] = correlations(signs @ signs.transpose(0, 2, 1))
    if turn is None:
        return Slopes(block, estimates, _identity(block), errors, low, high, correlation)
    estimates = (turn @ estimates[:, :, None])[:, :, 0]
    return Slopes(block, estimates, turn, errors, low, high, correlation)


def overlap(signs: FloatArray, height: int) -> FloatArray:
    r"""How many times less (families, p, count) overlapping signs say than independent ones.

    .. math:: 1 + 2 \sum_{l=1}^{h-1} \rho_l

    The signs of windows h or more apart are independent. The joint law of the windows'
    solutions is the same in every direction, so the p coordinates share one autocorrelation.
    """
    count = signs.shape[2]
    lags = range(1, min(height, count))
    shared = sum(np.einsum("fpk,fpk->f", signs[:, :, lag:], signs[:, :, :-lag]) for lag in lags)
    inflation = 1.0 + 2.0 * shared / np.maximum(np.einsum("fpk,fpk->f", signs, signs), 1.0)
    # Deviations from the sample's own median make each lag look too small by its share.
    inflation /= max(1.0 - (2 * height - 1) / count, 0.5) if height > 1 else 1.0
    return np.asarray(np.clip(inflation, 1.0, height))


def correlations(covariance: FloatArray) -> FloatArray:
    """Covariances (families, p, p) at unit diagonal; a coordinate without error stands alone."""
    size = covariance.shape[1]
    lengths = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    found = covariance * inverse[:, :, None] * inverse[:, None, :]
    found[:, np.arange(size), np.arange(size)] = 1.0
    return np.asarray(found)


def student(level: float, freedom: FloatArray) -> FloatArray:
    """The point that a Student t variable stays below in absolute value with this chance.

    Examples
    --------
    >>> student(0.95, np.array([10.0])).round(3).tolist()
    [2.228]
    """
    return np.asarray(stdtrit(freedom, 0.5 + 0.5 * level), dtype=np.float64)


def _identity(block: Block) -> FloatArray:
    return np.broadcast_to(np.eye(block.size), (block.count, block.size, block.size))
