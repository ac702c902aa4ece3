"""Solvers of the equations that evidence couples: dense, sparse, and for graphs with many loops.

All find the least noise that explains the right-hand sides, and the nodes that follow from it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias, Union

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.model import checks
from gaussnet.model.equations import families_of_edges, propagate
from gaussnet.types import FloatArray, IntArray

DENSE_EQUATIONS = 400
"""Parts of at most this many equations are solved by dense orthogonal factors."""

FEW_LOOPS = 0.02
"""A large part with at most this many loops for each equation is factored sparse."""

SOURCES = 256
"""Sources of noise that are followed at a time."""

ROUNDING = float(8.0 * np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Part:
    r"""Equations :math:`B x = r + S z` of the nodes x of one part: their own, then the sensors'.

    .. math:: x_i - \sum_j a_{ij} x_j = r_i + s_i z_i, \qquad -\sum_j a_{ej} x_j = r_e + s_e z_e
    """

    nodes: IntArray
    """Positions of the unknown nodes, in topological order."""
    sensors: IntArray
    """Positions of the observed nodes that are their children."""
    children: IntArray
    """The equation that each edge belongs to, (edges,): nodes first, then sensors."""
    parents: IntArray
    """The unknown that each edge comes from, (edges,)."""
    coefficients: FloatArray
    """(edges,)."""
    scales: FloatArray
    """Noise scales of the equations, (equations,)."""

    @property
    def equations(self) -> IntArray:
        """Positions of the nodes whose equations these are, (equations,)."""
        return np.concatenate((self.nodes, self.sensors))

    @property
    def loops(self) -> int:
        """Independent loops of the graph when the arrows are forgotten."""
        return len(self.children) - len(self.equations) + 1

    def matrix(self) -> FloatArray:
        """B, dense (equations, nodes)."""
        dense = np.eye(len(self.scales), len(self.nodes))
        dense[self.children, self.parents] = -self.coefficients
        return dense

    def inner(self) -> tuple[Families, FloatArray]:
        """The edges between unknowns, as families with coefficients."""
        own = self.children < len(self.nodes)
        return families_of_edges(
            len(self.nodes), self.children[own], self.parents[own], self.coefficients[own]
        )


Solver: TypeAlias = Union["DenseSolver", "SparseSolver", "LoopySolver"]
SolverChoice = Callable[[Part], Solver]


def choose_solver(
    part: Part, dense_equations: int = DENSE_EQUATIONS, few_loops: float = FEW_LOOPS
) -> Solver:
    """The solver that suits the size and shape of a part."""
    if len(part.scales) <= dense_equations:
        return DenseSolver.of(part)
    if part.loops <= few_loops * len(part.scales) and part.scales.all():
        return SparseSolver.of(part)
    return LoopySolver.of(part)


@dataclass(frozen=True)
class DenseSolver:
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
        seen = full[:, :count].T * noise
        shared = seen @ basis
        # The noise that the evidence demands is -basis @ weights @ r.
        corrected = full[:, :count].T - shared @ weights
        projected = seen - shared @ basis.T
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


@dataclass(frozen=True)
class SparseSolver:
    r"""Least squares of the noise, every noise scale positive, by its augmented equations.

    .. math:: \begin{pmatrix} I & C \\ C' & 0 \end{pmatrix}
              \begin{pmatrix} \lambda \\ y \end{pmatrix} = \begin{pmatrix} S^{-1} r \\ 0
              \end{pmatrix}, \quad C = S^{-1} B U, \quad x = U y

    U are the nodes' own noise scales. The condition is not squared, and the lower right of the
    inverse is minus the covariance of y.
    """

    part: Part
    lower_upper: Any
    """The factors of the augmented matrix."""

    @classmethod
    def of(cls, part: Part) -> Self:
        """Factor the augmented equations with an order that fills in little."""
        from scipy.sparse import coo_array, csc_array
        from scipy.sparse.linalg import splu

        nodes, equations = len(part.nodes), len(part.scales)
        units = part.scales[:nodes]
        values = np.concatenate(
            (np.ones(nodes), -part.coefficients * units[part.parents] / part.scales[part.children])
        )
        rows = np.concatenate((np.arange(nodes), part.children))
        columns = np.concatenate((np.arange(nodes), part.parents)) + equations
        every = np.arange(equations)
        size = equations + nodes
        entries = np.concatenate((np.ones(equations), values, values))
        indices = (np.concatenate((every, rows, columns)), np.concatenate((every, columns, rows)))
        augmented = csc_array(coo_array((entries, indices), shape=(size, size)))
        return cls(part, splu(augmented, permc_spec="COLAMD"))

    def solve(self, right: FloatArray) -> FloatArray:
        """The nodes (rows, nodes) for right-hand sides (rows, equations)."""
        equations = len(self.part.scales)
        full = np.zeros((equations + len(self.part.nodes), len(right)))
        full[:equations] = (right / self.part.scales).T
        units = self.part.scales[: len(self.part.nodes)]
        return np.asarray(self.lower_upper.solve(full)[equations:].T * units)

    def rows_of_factor(self, weights: FloatArray) -> FloatArray:
        """The factor of linear combinations (rows, nodes) of the nodes: (rows, equations)."""
        equations = len(self.part.scales)
        full = np.zeros((equations + len(self.part.nodes), len(weights)))
        full[equations:] = (weights * self.part.scales[: len(self.part.nodes)]).T
        return np.asarray(self.lower_upper.solve(full, "T")[:equations].T)

    def misfits(self, right: FloatArray, sizes: FloatArray) -> FloatArray:
        """Nothing is impossible where every equation has noise, (rows, equations)."""
        return np.zeros_like(right)

    def loads(self) -> Iterator[tuple[float, FloatArray]]:
        """What independent noises (rows) do to the nodes, and the sign of their squares."""
        for right in _noise_blocks(self.part.scales):
            yield 1.0, self.solve(right)


@dataclass(frozen=True)
class LoopySolver:
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
        expected = np.array(right[:, :count], order="C")
        self._propagate(expected)
        misfits = self._misfits(expected, right)
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
        expected = np.array(right[:, :count], order="C")
        self._propagate(expected)
        largest = np.abs(expected) @ np.abs(self._sensing).T + sizes[:, count:]
        largest = (largest / self.sizes).max(axis=1, keepdims=True)
        found = np.zeros_like(right)
        scaled = self._misfits(expected, right) @ self.redundant
        found[:, count:] = np.abs(scaled @ self.redundant.T)
        return found / np.where(largest > 0.0, largest, 1.0)

    def loads(self) -> Iterator[tuple[float, FloatArray]]:
        """What independent noises (rows) do to the nodes, and the sign of their squares."""
        count = len(self.part.nodes)
        scales = self.part.scales[:count]
        for rows in _noise_blocks(scales):
            self._propagate(rows)
            yield 1.0, rows
        shared = self.basis[:count].T * scales
        self._propagate(shared)
        yield -1.0, shared

    def _misfits(self, expected: FloatArray, right: FloatArray) -> FloatArray:
        """What the noise must make up for at each sensor, scaled, (rows, sensors)."""
        missing = -right[:, len(self.part.nodes) :] - expected @ self._sensing.T
        return np.asarray(missing / self.sizes)

    @cached_property
    def _sensing(self) -> FloatArray:
        return _sensing(self.part)

    @cached_property
    def _inner(self) -> tuple[Families, FloatArray]:
        return self.part.inner()

    def _propagate(self, rows: FloatArray) -> None:
        families, coefficients = self._inner
        propagate(rows, np.arange(len(families)), families, coefficients)


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
    families, coefficients = families_of_edges(
        count, part.parents[own], part.children[own], part.coefficients[own]
    )
    rows = np.array(weights, order="C")
    propagate(rows, np.arange(count)[::-1].copy(), families, coefficients)
    with np.errstate(over="ignore"):
        rows *= part.scales[:count]
    checks.check_overflow(rows)
    return rows


def _noise_blocks(scales: FloatArray) -> Iterator[FloatArray]:
    """The rows of diag(scales), `SOURCES` at a time: one standard deviation of each noise."""
    for start in range(0, len(scales), SOURCES):
        own = np.arange(start, min(start + SOURCES, len(scales)))
        rows = np.zeros((len(own), len(scales)))
        rows[own - start, own] = scales[own]
        yield rows
