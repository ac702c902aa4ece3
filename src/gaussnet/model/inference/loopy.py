"""A large part with many loops, solved in the space of its noise: no fill at all.

The equations of a DAG are triangular already, so noise becomes nodes by one pass over the edges;
any elimination order of the nodes would fill in. Evidence costs one pass a sensor, backwards, and
one orthogonal factor of (noise, sensors).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray
from gaussnet.kernels.families import Families
from gaussnet.model import checks
from gaussnet.model.inference.dense import ROUNDING
from gaussnet.model.inference.parts import Part, grouped

STEP = 256
"""Sources of noise that are followed at a time."""


@dataclass(frozen=True)
class LoopyPart:
    r"""The least noise z with :math:`G z = d`: what the sensors see of the noise.

    .. math:: G = (A_e F, S_e), \quad F = (I - A)^{-1} S, \quad G' = Q R

    x is :math:`F z`, and its covariance :math:`F (I - Q Q') F'`.
    """

    part: Part
    basis: FloatArray
    """Q, (equations, rank)."""
    weights: FloatArray
    """What each sensor's scaled misfit puts on the basis, (rank, sensors)."""
    redundant: FloatArray
    """Combinations of scaled misfits that hold without noise, (sensors, count)."""
    sizes: FloatArray
    """What one unit of each scaled misfit is, (sensors,)."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """Factor what the sensors see."""
        from scipy.linalg import qr, solve_triangular

        seen = _seen(part)
        sizes = np.abs(seen).max(axis=1)
        sizes[sizes == 0.0] = 1.0
        seen /= sizes[:, None]
        basis, upper, order = qr(
            seen.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False
        )
        pivots = np.abs(np.diag(upper))
        rank = int(np.count_nonzero(pivots > ROUNDING * len(part.scales) * pivots.max(initial=0.0)))
        weights = np.zeros((rank, len(sizes)))
        weights[:, order[:rank]] = solve_triangular(
            upper[:rank, :rank].T, np.eye(rank), lower=True, check_finite=False
        )
        redundant = np.eye(len(sizes))[:, order[rank:]] - weights.T @ upper[:rank, rank:]
        return cls(part, np.ascontiguousarray(basis[:, :rank]), weights, redundant, sizes)

    def solve(self, right: FloatArray) -> FloatArray:
        """The nodes (rows, nodes) for right-hand sides (rows, equations)."""
        count = len(self.part.nodes)
        plain = np.array(right[:, :count], order="C")
        self._propagate(plain)
        misfits = self._misfits(plain, right)
        noise = (misfits @ self.weights.T) @ self.basis[:count].T
        noise *= self.part.scales[:count]
        noise += right[:, :count]
        self._propagate(noise)
        return noise

    def rows_of_factor(self, weights: FloatArray) -> FloatArray:
        """The factor of linear combinations (rows, nodes) of the nodes: (rows, equations)."""
        rows = np.zeros((len(weights), len(self.part.scales)))
        rows[:, : weights.shape[1]] = _pulled_back(self.part, weights)
        rows -= (rows @ self.basis) @ self.basis.T
        # Once more, for the rounding of a small rest beside a large whole.
        rows -= (rows @ self.basis) @ self.basis.T
        return rows

    def misfits(self, right: FloatArray, sizes: FloatArray) -> FloatArray:
        """How far each sensor is off what those without noise allow, relative, (rows, ...)."""
        count = len(self.part.nodes)
        plain = np.array(right[:, :count], order="C")
        self._propagate(plain)
        largest = np.abs(plain) @ np.abs(self._sensing).T + sizes[:, count:]
        largest = (largest / self.sizes).max(axis=1, keepdims=True)
        found = np.zeros_like(right)
        scaled = self._misfits(plain, right) @ self.redundant
        found[:, count:] = np.abs(scaled @ self.redundant.T)
        return found / np.where(largest > 0.0, largest, 1.0)

    def loads(self) -> Iterator[tuple[float, FloatArray]]:
        """What independent noises (rows) do to the nodes, and the sign of their squares."""
        count = len(self.part.nodes)
        scales = self.part.scales[:count]
        for start in range(0, count, STEP):
            own = np.arange(start, min(start + STEP, count))
            rows = np.zeros((len(own), count))
            rows[np.arange(len(own)), own] = scales[own]
            self._propagate(rows)
            yield 1.0, rows
        shared = self.basis[:count].T * scales
        self._propagate(shared)
        yield -1.0, shared

    def _misfits(self, plain: FloatArray, right: FloatArray) -> FloatArray:
        """What the noise must make up for at each sensor, scaled, (rows, sensors)."""
        told = -right[:, len(self.part.nodes) :] - plain @ self._sensing.T
        return np.asarray(told / self.sizes)

    @cached_property
    def _sensing(self) -> FloatArray:
        return _sensing(self.part)

    @cached_property
    def _inner(self) -> tuple[Families, FloatArray]:
        return self.part.inner()

    def _propagate(self, rows: FloatArray) -> None:
        families, coefficients = self._inner
        with np.errstate(over="ignore", invalid="ignore"):
            kernels.propagate(rows, np.arange(len(families)), families, coefficients)
        checks.check_overflow(rows)


def _sensing(part: Part) -> FloatArray:
    """Coefficients of the sensors on the nodes, dense (sensors, nodes)."""
    count = len(part.nodes)
    sensing = np.zeros((len(part.sensors), count))
    own = part.children >= count
    sensing[part.children[own] - count, part.parents[own]] = part.coefficients[own]
    return sensing


def _seen(part: Part) -> FloatArray:
    """G: what each sensor sees of each equation's noise, (sensors, equations)."""
    count = len(part.nodes)
    seen = np.zeros((len(part.sensors), len(part.scales)))
    seen[:, :count] = _pulled_back(part, _sensing(part))
    each = np.arange(len(part.sensors))
    seen[each, count + each] = part.scales[count:]
    return seen


def _pulled_back(part: Part, weights: FloatArray) -> FloatArray:
    """Weights on nodes (rows, nodes) as weights on their noise, by one pass against the arrows."""
    count = len(part.nodes)
    own = part.children < count
    families, coefficients = grouped(
        count, part.parents[own], part.children[own], part.coefficients[own]
    )
    rows = np.array(weights, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        kernels.propagate(rows, np.arange(count)[::-1].copy(), families, coefficients)
        rows *= part.scales[:count]
    checks.check_overflow(rows)
    return rows
