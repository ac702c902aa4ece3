r"""Correlated roots: from means, variances and covariances to equations along arcs, and back.

A node that covaries with others and has no parents follows

.. math:: x_i = m_i + \sum_{j} b_{ij} (x_j - m_j) + e_i

over the nodes j that its arcs come from (`gaussnet.graph.covariances`). This is how a network
holds it, for samples, densities and fits. Its own parameters are the mean, the variance and the
covariances, which do not depend on the direction of the arcs.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gaussnet.errors import NetworkError
from gaussnet.graph.dag import Dag, Edge
from gaussnet.types import FloatArray, IntArray


class RootMoments(NamedTuple):
    """Means and covariance of the nodes that covary, by position in topological order."""

    nodes: IntArray
    means: FloatArray
    loads: FloatArray
    """Lower triangle: what independent noises of variance 1 do to the nodes, (nodes, noises)."""

    @property
    def covariance(self) -> FloatArray:
        """Of the nodes."""
        return self.loads @ self.loads.T


def correlated_nodes(dag: Dag) -> IntArray:
    """Positions of the nodes with a covariance, in topological order."""
    named = {dag.positions[node] for pair in dag.covariances for node in pair}
    return np.array([node for node in dag.order.tolist() if node in named], dtype=np.int64)


def root_moments(
    dag: Dag, slopes: FloatArray, variances: FloatArray, intercepts: FloatArray
) -> RootMoments:
    """Means and covariance of the nodes that covary, from the equations of all nodes.

    Examples
    --------
    >>> dag = Dag.parse("y ~ a + b; a ~~ b", nodes=["a", "b", "y"])
    >>> slopes, variances = np.array([0.5, 1.0, 1.0]), np.array([4.0, 1.0, 1.0])
    >>> root_moments(dag, slopes, variances, np.zeros(3)).covariance.tolist()
    [[4.0, 2.0], [2.0, 2.0]]
    """
    from scipy.linalg import solve_triangular  # slow to import

    nodes = correlated_nodes(dag)
    matrix = np.eye(len(nodes)) - _slope_matrix(dag, slopes, nodes)
    scales = np.diag(np.sqrt(variances[nodes]))
    loads = solve_triangular(matrix, scales, lower=True, unit_diagonal=True)
    means = solve_triangular(matrix, intercepts[nodes], lower=True, unit_diagonal=True)
    return RootMoments(nodes, means, loads)


def enter_equations(
    dag: Dag,
    arrays: tuple[FloatArray, FloatArray, FloatArray],
    covariances: Mapping[Edge, float],
) -> None:
    """Turn variances and means of nodes that covary into those of their equations, in place.

    `arrays` are coefficients, 0 where an edge is a covariance, variances and intercepts.

    Examples
    --------
    >>> dag = Dag.parse("y ~ a + b; a ~~ b", nodes=["a", "b", "y"])
    >>> arrays = np.array([0.0, 1.0, 1.0]), np.array([4.0, 2.0, 1.0]), np.array([1.0, 0.0, 0.0])
    >>> enter_equations(dag, arrays, {("a", "b"): 2.0})
    >>> [array.round(12).tolist() for array in arrays]
    [[0.5, 1.0, 1.0], [4.0, 1.0, 1.0], [1.0, -0.5, 0.0]]
    """
    coefficients, variances, intercepts = arrays
    nodes = correlated_nodes(dag)
    place = {dag.nodes[node]: index for index, node in enumerate(nodes.tolist())}
    covariance = np.diag(variances[nodes])
    for (one, other), value in covariances.items():
        pair = place[one], place[other]
        covariance[pair] = covariance[pair[::-1]] = value
    slopes, noise = _equations(covariance)
    if noise.min(initial=0.0) < -_rounding(covariance):
        raise NetworkError(
            f"the variances and covariances of {dag.nodes[nodes[0]]!r} and the nodes that it "
            "covaries with belong to no distribution: some correlation is too large"
        )
    families, means = dag.families, intercepts[nodes]
    for index, node in enumerate(nodes.tolist()):
        edges = families.edges_of(np.array([node]))
        own = [place[dag.nodes[parent]] for parent in families.parents[edges].tolist()]
        coefficients[edges] = slopes[index, own]
        intercepts[node] = means[index] - slopes[index, own] @ means[own]
        variances[node] = max(noise[index], 0.0)


def _equations(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes (nodes, nodes) of each node on those before it, and what they leave, (nodes,)."""
    from scipy.linalg import solve_triangular  # slow to import

    count = len(covariance)
    scales = np.sqrt(covariance.diagonal())
    units = np.where(scales > 0.0, scales, 1.0)
    shape = covariance / units[:, None] / units
    try:
        lower = np.linalg.cholesky(shape)
        pivots = lower.diagonal().copy()
        inverse = solve_triangular(lower / pivots, np.eye(count), lower=True, unit_diagonal=True)
        slopes, noise = np.eye(count) - inverse, pivots**2
    except np.linalg.LinAlgError:  # some are functions of others
        slopes, noise = np.zeros((count, count)), shape.diagonal().copy()
        for node in range(1, count):
            own = np.linalg.lstsq(shape[:node, :node], shape[:node, node], rcond=None)[0]
            slopes[node, :node] = own
            noise[node] -= own @ shape[:node, node]
    return slopes * units[:, None] / units, noise * units**2


def _rounding(covariance: FloatArray) -> float:
    return float(len(covariance) ** 2 * np.finfo(np.float64).eps * covariance.max(initial=0.0))


def _slope_matrix(dag: Dag, slopes: FloatArray, nodes: IntArray) -> FloatArray:
    """Coefficients among these nodes: row child, column parent."""
    place = np.full(len(dag), -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    families, chosen = dag.families, dag.is_covariance
    matrix = np.zeros((len(nodes), len(nodes)))
    rows, columns = place[families.family_of_edge[chosen]], place[families.parents[chosen]]
    matrix[rows, columns] = slopes[chosen]
    return matrix
