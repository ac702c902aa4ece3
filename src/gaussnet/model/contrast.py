r"""Two distributions compared in coordinates in which one of them is standard normal.

Two networks over the same nodes are compared node by node. Let P have
:math:`(I - A') x = c + S z` with z standard normal, and Q likewise with hats. With
:math:`D = \hat A - A`, kept only on the edges of either graph, the error of equation i of Q at a
draw of P is

.. math:: s_i z_i - w_i' S z - e_i, \quad (I - A) w_i = D_i, \quad e_i = \hat c_i - c_i + w_i' c

so no covariance is ever formed and nothing is subtracted that D has not subtracted already:
digits survive noise scales of 1e-10 next to 1. Where the edges of both graphs together have no
cycle, :math:`w_{ii} = 0` and the KL divergence is a sum of one non-negative term a node.
Any other pair is compared by dense factors.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias, Union

import numpy as np

from gaussnet import kernels
from gaussnet.errors import NetworkError
from gaussnet.graph.dag import shorten
from gaussnet.kernels.families import Families
from gaussnet.model.equations import blocks, reversed_edges
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.sparse_distance import Equations, sparse_bhattacharyya
from gaussnet.types import FloatArray, IntArray

Distribution = GaussianNetwork | Gaussian
Contrast: TypeAlias = Union["NetworkContrast", "Whitened"]
"""Distribution Q as seen from distribution P."""

DENSE_NODES = 2_000
"""Up to this many nodes a singular value decomposition is made without being asked for."""

FEW_DIGITS = 1e-6
"""A KL below this, per node, is a difference of larger numbers with few digits left."""

WIDE_SPREAD = 1e6
"""Beyond this ratio of singular values the small ones have few digits left."""


def compare(p: Distribution, q: Distribution) -> Contrast:
    """The contrast of two distributions over the same names, in any order."""
    check_same_names(p, q)
    if isinstance(p, GaussianNetwork) and isinstance(q, GaussianNetwork):
        return NetworkContrast.between(p, q)
    if any(isinstance(one, GaussianNetwork) and not one.variance_array.all() for one in (p, q)):
        _ = [one.lower_factor for one in (p, q) if isinstance(one, Gaussian)]
        return APART
    position = {name: index for index, name in enumerate(_names(p))}
    take = np.array([position[name] for name in _names(q)], dtype=np.int64)
    p_mean, p_factor, p_volume = _parts(p)
    q_mean, _, q_volume = _parts(q)
    columns = np.column_stack((p_factor[take], p_mean[take] - q_mean))
    seen = _whiten(q, columns)
    return Whitened(seen[:, :-1], seen[:, -1], p_volume - q_volume)


def _names(distribution: Distribution) -> tuple[str, ...]:
    """The names of the variables, in order."""
    if isinstance(distribution, GaussianNetwork):
        return distribution.dag.nodes
    return distribution.names


def check_same_names(p: Distribution, q: Distribution) -> None:
    """Refuse what is not a pair of distributions over the same names."""
    for one in (p, q):
        if not isinstance(one, GaussianNetwork | Gaussian):
            raise NetworkError(
                f"got {type(one).__name__}, expected a GaussianNetwork or a Gaussian to compare"
            )
    ours, theirs = set(_names(p)), set(_names(q))
    if ours != theirs:
        odd = sorted(ours ^ theirs)
        raise NetworkError(
            f"only one of the two distributions has {shorten(odd)}: compare distributions "
            "over the same names"
        )


def _parts(distribution: Distribution) -> tuple[FloatArray, FloatArray, float]:
    """Mean, square factor of the covariance, log of the factor's determinant."""
    if isinstance(distribution, Gaussian):
        lower = distribution.lower_factor
        return distribution.mean, lower, float(np.log(np.diag(lower)).sum())
    gaussian = distribution.to_gaussian()
    return gaussian.mean, gaussian.factor, 0.5 * float(np.log(distribution.variance_array).sum())


def _whiten(distribution: Distribution, columns: FloatArray) -> FloatArray:
    """Columns (names, any) in the coordinates where the distribution is standard normal."""
    if isinstance(distribution, Gaussian):
        from scipy.linalg import solve_triangular

        solved: FloatArray = solve_triangular(
            distribution.lower_factor, columns, lower=True, check_finite=False
        )
        return solved
    errors: FloatArray = kernels.residuals(
        columns.T, distribution.dag.families, distribution.coefficient_array
    )
    return errors / distribution.scales[:, None]


@dataclass(frozen=True)
class Whitened:
    """P in the coordinates where Q is standard normal: ``matrix @ noise + shift``.

    `matrix` (k, k) is square, `log_determinant` is the log of its absolute determinant, known
    from the noise scales to more digits than the matrix could give. `apart` says that P and Q
    live on different hyperplanes, so that they share no mass; the rest then means nothing.
    """

    matrix: FloatArray
    shift: FloatArray
    log_determinant: float
    apart: bool = False

    @property
    def width(self) -> int:
        """Number of noise variables of P."""
        return len(self.shift)

    def kl(self) -> float:
        """KL divergence from P to Q.

        Equal to half the sum of ``v - 1 - log v`` over the squared singular values v, plus half
        the squared shift. Two ways round: the sum of squares keeps all digits of a large value,
        the singular values those of a small one.
        """
        if self.apart:
            return np.inf
        shape = 0.5 * float(np.square(self.matrix).sum() - self.width) - self.log_determinant
        shift = 0.5 * float(self.shift @ self.shift)
        if shape < FEW_DIGITS * self.width and self.width <= DENSE_NODES:
            values = self._decomposition[1]
            shape = 0.5 * float(excess((values - 1.0) * (values + 1.0)).sum())
        if np.isnan(shape + shift):
            raise too_far()
        return max(shape, 0.0) + shift

    def bhattacharyya(self) -> float:
        """Bhattacharyya distance, minus the log of the integral of sqrt(p q)."""
        if self.apart:
            return np.inf
        if not np.isfinite(self.shift).all():
            raise too_far()
        factored = self._by_factor()
        if factored is not None:
            return factored
        left, values = self._decomposition
        loads = (left.T @ self.shift) / np.hypot(1.0, values)
        if values.max(initial=1.0) < WIDE_SPREAD * values.min(initial=1.0):
            shape = 0.5 * float(np.log1p((1.0 - values) ** 2 / (2.0 * values)).sum())
        else:
            sums = np.log(np.hypot(1.0, values)) - 0.5 * np.log(2.0)
            shape = max(0.0, float(sums.sum()) - 0.5 * self.log_determinant)
        distance = shape + 0.25 * float(loads @ loads)
        if np.isnan(distance):
            raise too_far()
        return distance

    def _by_factor(self) -> float | None:
        r"""The Bhattacharyya distance by one Cholesky factor; None where it would lose digits.

        .. math:: \tfrac12 (\ln|I + GG'| - k \ln 2 - \ln|G|) + \tfrac14 s'(I + GG')^{-1} s

        with G the matrix and s the shift, whose solution is the last row of a bordered factor.
        The difference of logs is right to some 1e-16 for each variable.
        """
        width = self.width
        table = np.empty((width + 1, width + 1))
        table[:width, :width] = self.matrix @ self.matrix.T  # as one whole: half the work
        if not np.diagonal(table)[:width].max(initial=0.0) < WIDE_SPREAD:  # nor is NaN
            return None
        table[:width, :width][np.diag_indices(width)] += 1.0
        table[width, :width] = self.shift
        table[width, width] = 1.0 + float(np.einsum("i,i->", self.shift, self.shift))
        try:
            factor = np.linalg.cholesky(table)
        except np.linalg.LinAlgError:
            return None
        logs = float(np.log(factor.diagonal()[:width]).sum())
        shape = logs - 0.5 * width * float(np.log(2.0)) - 0.5 * self.log_determinant
        loads = factor[width, :width]
        return None if shape < FEW_DIGITS * width else shape + 0.25 * float(loads @ loads)

    def log_ratios(self, noise: FloatArray) -> FloatArray:
        """log q/p at the points of P that this noise (rows, width) makes, (rows,)."""
        gaps = noise @ (self.matrix - np.eye(self.width)).T + self.shift
        return log_ratios_of_gaps(noise, gaps) + self.log_determinant

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, FloatArray]:
        """Left singular vectors and singular values of the matrix."""
        if not np.isfinite(self.matrix).all():
            raise too_far()
        left, values, _ = np.linalg.svd(self.matrix)
        return left, values


APART = Whitened(np.empty((0, 0)), np.empty(0), 0.0, apart=True)
"""Two distributions that share no mass."""


class Errors(NamedTuple):
    """The errors of Q's equations under P, in units of Q's noise scales, (nodes,) each."""

    feedback: FloatArray
    """How far a node's own noise comes back to it through the other graph, w_ii."""
    spread: FloatArray
    """Variance from the noise of the other nodes; infinite if Q's scale is 0 and this is not."""
    bias: FloatArray
    """The mean error, e_i."""


@dataclass(frozen=True)
class NetworkContrast:
    """Network Q as seen from network P, in P's node order."""

    p: GaussianNetwork
    q_variances: FloatArray
    families: Families
    """The parents of each node in either graph."""
    differences: FloatArray
    """Coefficient of Q minus coefficient of P, by edge of `families`."""
    shifts: FloatArray
    """Intercept of Q minus intercept of P."""
    same_edges: bool

    @classmethod
    def between(cls, p: GaussianNetwork, q: GaussianNetwork) -> Self:
        """The contrast of two networks that have the same node names, in any order."""
        take = np.array([q.dag.positions[name] for name in p.dag.nodes], dtype=np.int64)
        families, differences, same = _edge_differences(p, q, take)
        shifts = q.intercept_array[take] - p.intercept_array
        return cls(p, q.variance_array[take], families, differences, shifts, same)

    @property
    def width(self) -> int:
        """Number of noise variables of P."""
        return len(self.shifts)

    @cached_property
    def errors(self) -> Errors:
        """The errors of Q's equations under P, found in blocks of nodes."""
        errors = Errors(*(np.zeros(self.width) for _ in range(3)))
        everyone = np.arange(self.width)
        errors.bias[:] = self._scaled(self.shifts, everyone)
        nodes = self._changed
        if len(nodes) and self._has_independent_parents:
            spread, bias = self._sums_over_parents()
            errors.bias[:] = self._scaled(self.shifts + bias, everyone)
            errors.spread[:] = spread / np.where(self.q_variances > 0.0, self.q_variances, 1.0)
            errors.spread[(self.q_variances == 0.0) & (spread > 0.0)] = np.inf
            return errors
        for block in blocks(len(nodes), self.width):
            chosen = nodes[block]
            loads, feedback, errors.bias[chosen] = self._loads(chosen)
            errors.feedback[chosen] = feedback
            errors.spread[chosen] = np.einsum("ij,ij->i", loads, loads)
            exact = self.q_variances[chosen] == 0.0
            errors.spread[chosen[exact]] = np.where(loads[exact].any(axis=1), np.inf, 0.0)
        return errors

    @property
    def _has_independent_parents(self) -> bool:
        """Whether P's graph is a polytree and no coefficient differs but on its edges: then the
        parents of a node are independent, and no ancestor need be looked at."""
        dag = self.p.dag
        if not dag.is_polytree:
            return False
        keys = dag.families.family_of_edge * self.width + dag.families.parents
        differing = self.differences != 0.0
        child, parent = self.families.family_of_edge[differing], self.families.parents[differing]
        return bool(np.isin(child * self.width + parent, keys).all())

    def _sums_over_parents(self) -> tuple[FloatArray, FloatArray]:
        r"""Variance and mean of each equation's error over independent parents, (nodes,) each.

        .. math:: \sum_k D_{ik}^2 \operatorname{var} x_k, \qquad \sum_k D_{ik} \operatorname{E} x_k
        """
        dag, a = self.p.dag, self.p.coefficient_array
        variances, means = self.p.variance_array[None].copy(), self.p.intercept_array[None].copy()
        kernels.propagate(variances, dag.order, dag.families, a * a)
        kernels.propagate(means, dag.order, dag.families, a)
        child, parent = self.families.family_of_edge, self.families.parents
        spread, bias = np.zeros(self.width), np.zeros(self.width)
        np.add.at(spread, child, np.square(self.differences) * variances[0, parent])
        np.add.at(bias, child, self.differences * means[0, parent])
        return spread, bias

    @cached_property
    def kl_terms(self) -> FloatArray:
        """What each node adds to the KL divergence, (nodes,); none is negative without feedback."""
        ours, theirs = self.p.variance_array, self.q_variances
        feedback, spread, bias = self.errors
        terms = np.full(self.width, np.inf)
        terms[(ours == 0.0) & (theirs == 0.0) & (spread == 0.0) & (bias == 0.0)] = 0.0
        both = (ours > 0.0) & (theirs > 0.0)
        own = _own_term(ours[both], theirs[both], feedback[both])
        terms[both] = 0.5 * (own + spread[both] + bias[both] ** 2)
        if np.isnan(terms).any():
            raise too_far()
        return terms

    @cached_property
    def apart(self) -> bool:
        """Whether P and Q live on different hyperplanes and so share no mass."""
        exact = self.q_variances == 0.0
        if not exact.any() and self.p.variance_array.all():
            return False
        feedback, spread, bias = self.errors
        own = (self.p.variance_array > 0.0) & (feedback != 1.0)
        off = exact & (own | (spread > 0.0) | (bias != 0.0))
        return bool(off.any() or exact.sum() != (self.p.variance_array == 0.0).sum())

    def kl(self) -> float:
        """KL divergence from P to Q."""
        if self._needs_matrix:
            return self.whitened().kl()
        total = float(self.kl_terms.sum())
        few_digits = total < FEW_DIGITS * self.width and self.width <= DENSE_NODES
        if few_digits and self.errors.feedback.any():
            return self.whitened().kl()
        return max(total, 0.0)

    def bhattacharyya(self) -> float:
        """Bhattacharyya distance, by sparse factors or else by a dense matrix (nodes, nodes)."""
        found = None
        if self.p.variance_array.all() and self.q_variances.all():
            found = sparse_bhattacharyya(*self._equations)
        return self.whitened().bhattacharyya() if found is None else found

    @property
    def _equations(self) -> tuple[Equations, Equations, FloatArray]:
        """The equations of P and of Q, and the difference of their means in those of Q."""
        graph, edges = self.p.dag.families, self.families
        ours = Equations(
            graph.family_of_edge, graph.parents, self.p.coefficient_array, self.p.scales
        )
        theirs = Equations(
            np.concatenate((ours.children, edges.family_of_edge)),
            np.concatenate((ours.parents, edges.parents)),
            np.concatenate((ours.coefficients, self.differences)),
            np.sqrt(self.q_variances),
        )
        terms = self.differences * self.p.mean()[edges.parents]
        errors = self.shifts + np.bincount(edges.family_of_edge, terms, self.width)
        return ours, theirs, errors / theirs.scales

    def log_ratios(self, noise: FloatArray) -> FloatArray:
        """log q/p at the rows of P that this noise (rows, nodes) makes, (rows,).

        Works with the gap between Q's noise and P's, which is exactly 0 where P and Q agree.
        """
        lifted, differences, own_gaps = self._gap_equations
        own = np.array(noise.T, order="C")  # node by node, as kernels work
        own[self.p.variance_array == 0.0] = 0.0
        pair = np.empty((2 * self.width, len(noise)))
        rows = np.multiply(own, self.p.scales[:, None], out=pair[: self.width]).T
        np.multiply(own, own_gaps[:, None], out=pair[self.width :])
        pair[self.width :] -= self.errors.bias[:, None]
        kernels.propagate(rows, self.p.dag.order, self.p.dag.families, self.p.coefficient_array)
        gaps = kernels.residuals(pair.T, lifted, differences)
        gaps[self.q_variances == 0.0] = -own[self.q_variances == 0.0]
        return log_ratios_of_gaps(own.T, gaps.T) + self.log_determinant

    @cached_property
    def _gap_equations(self) -> tuple[Families, FloatArray, FloatArray]:
        """The gaps in units of Q's scales: families, differences of coefficients and of scales.

        Their children stand behind all nodes.
        """
        units = self._units(np.arange(self.width))
        lifted = replace(self.families, children=self.families.children + self.width)
        differences = self.differences / units[self.families.family_of_edge]
        own = _scale_gaps(self.p.variance_array, self.q_variances) / units
        return lifted, differences, own

    @cached_property
    def log_determinant(self) -> float:
        """Log of P's noise volume in units of Q's."""
        if self._needs_matrix:
            return self.whitened().log_determinant
        both = (self.p.variance_array > 0.0) & (self.q_variances > 0.0)
        return 0.5 * float(_logs(self.p.variance_array[both], self.q_variances[both]).sum())

    def whitened(self) -> Whitened:
        """P in the coordinates where Q is standard normal, dense."""
        if self.apart:
            return APART
        matrix = np.zeros((self.width, self.width))
        nodes = self._changed
        for block in blocks(len(nodes), self.width):
            matrix[nodes[block]] = -self._loads(nodes[block])[0]
        own = self.p.scales * (1.0 - self.errors.feedback)
        everyone = np.arange(self.width)
        matrix[everyone, everyone] = self._scaled(own, everyone)
        rows, columns = self.q_variances > 0.0, self.p.variance_array > 0.0
        kept = matrix[np.ix_(rows, columns)]
        # With exact nodes and feedback the scales alone do not tell the volume.
        volume = np.linalg.slogdet(kept)[1] if self._needs_matrix else self.log_determinant
        return Whitened(kept, -self.errors.bias[rows], float(volume))

    @property
    def _needs_matrix(self) -> bool:
        """Whether nodes without noise may stand for one another in the two graphs."""
        exact = (self.p.variance_array == 0.0).any() or (self.q_variances == 0.0).any()
        return bool(exact and self.errors.feedback.any())

    @cached_property
    def _changed(self) -> IntArray:
        """The nodes with a coefficient that differs."""
        return np.unique(self.families.family_of_edge[self.differences != 0.0])

    def _loads(self, nodes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What P's noise does to Q's equations: loads (nodes, noise), feedback, bias.

        The diagonal of the loads is taken out and given as the feedback.
        """
        sizes = self.families.sizes[nodes]
        edges = self.families.edges_of(nodes)
        here = np.arange(len(nodes))
        weights = np.zeros((len(nodes), self.width))
        weights[np.repeat(here, sizes), self.families.parents[edges]] = self.differences[edges]
        kernels.propagate(weights, self.p.dag.order[::-1].copy(), *self._downstream)
        bias = self.shifts[nodes] + weights @ self.p.intercept_array
        feedback = weights[here, nodes]
        weights *= self.p.scales
        weights[here, nodes] = 0.0
        return self._scaled(weights.T, nodes).T, feedback, self._scaled(bias, nodes)

    def _scaled(self, values: FloatArray, nodes: IntArray) -> FloatArray:
        """Values (..., nodes) in units of Q's noise scales; untouched where the scale is 0."""
        scaled: FloatArray = values / self._units(nodes)
        return scaled

    def _units(self, nodes: IntArray) -> FloatArray:
        """Q's noise scales, and 1 where they are 0."""
        scales = np.sqrt(self.q_variances[nodes])
        return np.where(scales > 0.0, scales, 1.0)

    @cached_property
    def _downstream(self) -> tuple[Families, FloatArray]:
        """P's graph with every arrow reversed: each node with its children and coefficients."""
        return reversed_edges(self.p.dag.families, self.p.coefficient_array)


def too_far() -> NetworkError:
    """The error for two distributions whose comparison leaves the range of floating point."""
    return NetworkError(
        "the two distributions are too far apart to compare in floating point: rescale the "
        "variables"
    )


def log_ratios_of_gaps(noise: FloatArray, gaps: FloatArray) -> FloatArray:
    """Half the squared norm of each row of `noise` minus that of ``noise + gaps``, (rows,)."""
    squares = np.einsum("ij,ij->i", gaps, gaps)
    ratios: FloatArray = -np.einsum("ij,ij->i", gaps, noise) - 0.5 * squares
    return ratios


def excess(t: FloatArray) -> FloatArray:
    r"""t - log(1 + t) for t > -1, never negative and exact to rounding also for tiny t.

    With :math:`u = t / (2 + t)`, :math:`\log(1 + t) = 2 (u + u^3/3 + u^5/5 + \dots)` and
    :math:`t - 2u = t u`; the series serves where |t| < 0.1.

    Examples
    --------
    >>> f"{excess(np.array([1e-9]))[0]:.12e}"
    '4.999999996667e-19'
    """
    near = np.abs(t) < 0.1
    u = np.where(near, t / (2.0 + t), 0.0)
    square = u * u
    tail = np.zeros_like(u)
    for odd in range(17, 1, -2):
        tail = tail * square + 1.0 / odd
    return np.where(near, u * (t - 2.0 * square * tail), t - np.log1p(np.where(near, 0.0, t)))


def _own_term(ours: FloatArray, theirs: FloatArray, feedback: FloatArray) -> FloatArray:
    """g - 1 - log gamma, with gamma = ours / theirs and g = gamma (1 - feedback)^2."""
    growth = (ours - theirs) / theirs
    far = np.abs(growth) > 0.1
    logs = _logs(ours, theirs)
    alone = np.where(far, growth - logs, excess(np.where(far, 0.0, growth)))
    returned = ours / theirs * (1.0 - feedback) ** 2 - 1.0 - logs
    return np.where(feedback == 0.0, alone, returned)


def _logs(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """log(ours / theirs), right to rounding also where both are nearly equal."""
    growth = (ours - theirs) / theirs
    far = np.abs(growth) > 0.1
    return np.where(far, np.log(ours) - np.log(theirs), np.log1p(np.where(far, 0.0, growth)))


def _scale_gaps(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """sqrt(ours) - sqrt(theirs), right to rounding also where both are nearly equal."""
    sums = np.sqrt(ours) + np.sqrt(theirs)
    return (ours - theirs) / np.where(sums > 0.0, sums, 1.0)


def _edge_differences(
    p: GaussianNetwork, q: GaussianNetwork, take: IntArray
) -> tuple[Families, FloatArray, bool]:
    """The edges of either graph in P's positions, Q's coefficients minus P's, all edges shared?"""
    ours, theirs = p.dag.families, q.dag.families
    count = len(take)
    position = np.empty(count, dtype=np.int64)
    position[take] = np.arange(count)
    keys = ours.family_of_edge * count + ours.parents
    other = position[theirs.family_of_edge] * count + position[theirs.parents]
    union, where = np.unique(np.concatenate((keys, other)), return_inverse=True)
    differences = np.zeros(len(union))
    differences[where[len(keys) :]] = q.coefficient_array
    differences[where[: len(keys)]] -= p.coefficient_array
    children, parents = np.divmod(union, max(count, 1))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(children, minlength=count))))
    same = len(union) == len(keys) == len(other)
    return Families(np.arange(count), offsets, parents), differences, same
