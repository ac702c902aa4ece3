r"""The Bhattacharyya distance of two large networks whose precision matrices factor sparsely.

With K and L the precision matrices of P and Q, and m the difference of their means,

.. math:: -\ln BC = \tfrac12 \Big(\ln|K + L| - k \ln 2 - \tfrac12 \ln|K| - \tfrac12 \ln|L|\Big)
          + \tfrac14 \big(m' L m - m' L (K + L)^{-1} L m\big)

for :math:`|\Sigma_P + \Sigma_Q| = |K + L| / (|K| |L|)`. K + L is as sparse as both graphs with the
parents of each node married. Chains, trees and graphs whose edges are short factor in time
proportional to the nodes; random graphs of the same degree do not, in any order of the nodes, and
are left to dense factors, as is whatever would lose digits.
"""

from typing import Any, NamedTuple

import numpy as np

from gaussnet.types import FloatArray, IntArray

FEWEST_NODES = 300
"""Smaller networks are factored dense sooner than the sparse solver is imported."""
FILL = 1 / 64
"""Sparse factors do at most this share of the cube of the nodes, for each step takes longer."""
DIGITS = 1e-10
"""Relative error that is allowed, as by dense factors."""
CANCELLED = 1e-4
"""A difference that is a smaller share than this of its terms is left to dense factors."""
ROUNDING = float(4.0 * np.finfo(np.float64).eps)


class Equations(NamedTuple):
    """The equations of a network: every node minus coefficients times parents is noise."""

    children: IntArray
    """The equation that each edge belongs to, (edges,)."""
    parents: IntArray
    """(edges,)."""
    coefficients: FloatArray
    """(edges,); those of an edge that stands there twice are added."""
    scales: FloatArray
    """Noise scales, (nodes,)."""

    def whitening(self) -> Any:
        """S^-1 (I - A) as a sparse matrix, (nodes, nodes)."""
        from scipy.sparse import csr_array

        nodes = np.arange(len(self.scales))
        values = -self.coefficients / self.scales[self.children]
        rows, columns = (
            np.concatenate((nodes, self.children)),
            np.concatenate((nodes, self.parents)),
        )
        values = np.concatenate((1.0 / self.scales, values))
        return csr_array((values, (rows, columns)), shape=(len(nodes), len(nodes)))


def sparse_bhattacharyya(p: Equations, q: Equations, shift: FloatArray) -> float | None:
    """The distance; None where dense factors are quicker, or keep more digits.

    Every node has noise in both networks; `shift` is the difference of the means in units of Q's
    noise, as the errors of its equations, (nodes,).
    """
    if len(shift) < FEWEST_NODES:
        return None
    ours, theirs = p.whitening(), q.whitening()
    both = (ours.T @ ours + theirs.T @ theirs).tocsc()
    units = np.sqrt(both.diagonal())
    owners = np.repeat(np.arange(len(units)), np.diff(both.indptr))
    both.data /= units[owners] * units[both.indices]
    if not np.isfinite(both.data).all() or _steps(both, owners) > FILL * len(units) ** 3:
        return None
    factors = _factors(both)
    pivots = factors.U.diagonal()
    if not pivots.min() > 0.0:
        return None
    logs = np.log(0.5 * units * units * p.scales * q.scales)
    shape = 0.5 * float(logs.sum() + np.log(pivots).sum())
    seen = (theirs.T @ shift) / units
    whole = float(shift @ shift)
    rest = whole - float(seen @ factors.solve(seen))
    lost = ROUNDING * float((1.0 / pivots).sum())
    if not lost <= DIGITS * shape or not rest >= CANCELLED * whole:  # nor is NaN
        return None
    return shape + 0.25 * rest


def _factors(matrix: Any) -> Any:
    """Triangular factors of a symmetric matrix, in an order of least degree, pivots unmoved."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def _steps(matrix: Any, owners: IntArray) -> float:
    """Operations of a factor within its envelope, by Cuthill and McKee's order: least degree
    rarely takes more."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.arange(len(order))
    np.minimum.at(first, place[owners], place[matrix.indices])
    return float(np.square(np.arange(len(order)) - first).sum())
