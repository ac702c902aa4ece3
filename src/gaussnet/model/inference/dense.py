"""A small part, solved by orthogonal factors: exact also where nodes have no noise."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.model.inference.parts import Part

ROUNDING = float(8.0 * np.finfo(np.float64).eps)


@dataclass(frozen=True)
class DensePart:
    r"""The least noise that explains the right-hand sides, and the nodes that follow from it.

    .. math:: \min |z| \text{ with } B x = r + S z

    With :math:`B = Q_1 R`, and :math:`Q_2` orthogonal to B, the noise obeys
    :math:`-Q_2' S z = Q_2' r` alone; then :math:`x = R^{-1} Q_1' (r + S z)`. Nothing is divided
    by a noise scale, so that any of them may be 0.
    """

    part: Part
    gain: FloatArray
    """H with x = H r, (nodes, equations)."""
    factor: FloatArray
    """H S, whose product with its transpose is the covariance of x, (nodes, equations)."""
    redundant: FloatArray
    """Combinations of scaled equations that hold without noise, (equations, count)."""
    sizes: FloatArray
    """What one unit of each scaled equation is, (equations,)."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """Factor the equations of a part."""
        from scipy.linalg import qr, solve_triangular

        units = _units(part)
        matrix = part.matrix() * units
        sizes = np.maximum(np.abs(matrix).max(axis=1), part.scales)
        # A sensor without noise whose coefficients are all 0 has the size of its value alone.
        sizes[sizes == 0.0] = 1.0
        count = len(part.nodes)
        full, upper = qr(matrix / sizes[:, None], check_finite=False)
        noise = part.scales / sizes
        basis, weights, redundant = _row_space(full[:, count:], noise)
        plain = full[:, :count].T * noise
        shared = plain @ basis
        # The noise that the evidence demands is -basis @ weights @ r.
        corrected = full[:, :count].T - shared @ weights
        projected = plain - shared @ basis.T
        top = upper[:count]
        gain = solve_triangular(top, corrected, check_finite=False) * units[:, None]
        factor = solve_triangular(top, projected, check_finite=False) * units[:, None]
        return cls(part, gain / sizes, factor, redundant, sizes)

    def solve(self, right: FloatArray) -> FloatArray:
        """The nodes (rows, nodes) for right-hand sides (rows, equations)."""
        return np.asarray(right @ self.gain.T)

    def rows_of_factor(self, weights: FloatArray) -> FloatArray:
        """The factor of linear combinations (rows, nodes) of the nodes: (rows, equations)."""
        return np.asarray(weights @ self.factor)

    def misfits(self, right: FloatArray, sizes: FloatArray) -> FloatArray:
        """How far each equation is off what those without noise allow, relative, (rows, ...)."""
        scaled = (right / self.sizes) @ self.redundant
        largest = (sizes / self.sizes).max(axis=1, keepdims=True)
        return np.abs(scaled @ self.redundant.T) / np.where(largest > 0.0, largest, 1.0)

    def loads(self) -> Iterator[tuple[float, FloatArray]]:
        """What independent noises (rows) do to the nodes, and the sign of their squares."""
        yield 1.0, self.factor.T


def _units(part: Part) -> FloatArray:
    """A unit for each node: its noise scale, or what its parents' units make of it."""
    families, coefficients = part.inner()
    units = part.scales[: len(part.nodes)].copy()
    for node in np.flatnonzero(units == 0.0).tolist():
        own = slice(*families.offsets[node : node + 2].tolist())
        made = np.abs(coefficients[own]) * units[families.parents[own]]
        units[node] = made.max(initial=0.0) or 1.0
    return units


def _row_space(
    complement: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Orthonormal basis of the rows of Q2' S, the weights of r on it, and what is redundant."""
    from scipy.linalg import qr, solve_triangular

    across = complement * noise[:, None]
    basis, upper, order = qr(across, mode="economic", pivoting=True, check_finite=False)
    smallest = ROUNDING * len(noise) * float(noise.max(initial=0.0))
    rank = int(np.count_nonzero(np.abs(np.diag(upper)) > smallest))
    lower = upper[:rank, :rank].T
    picked = complement[:, order[:rank]].T
    weights = solve_triangular(lower, picked, lower=True, check_finite=False)
    redundant = complement[:, order[rank:]] - weights.T @ upper[:rank, rank:]
    if redundant.shape[1]:
        redundant = np.linalg.qr(redundant).Q
    return np.asarray(basis[:, :rank], dtype=np.float64), weights, redundant
