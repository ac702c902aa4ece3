r"""Cells of rows as a network sees them: each value against what all others of its row say.

With :math:`K` the precision matrix of the cells that have a value and :math:`g = K (x - \mu)`,

.. math:: z_i = g_i / \sqrt{K_{ii}}, \qquad E(x_i \mid x_{-i}) = x_i - g_i / K_{ii}.

Missing cells are left out of the density: :math:`K_{OO} - K_{OM} K_{MM}^{-1} K_{MO}` is the
precision matrix of the others.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gaussnet.errors import DataError, NetworkError
from gaussnet.model.equations import blocks
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray, Rows


class CellScores(NamedTuple):
    """Rows and their cells as a network sees them."""

    log_densities: FloatArray
    """Of the values that each row has, (rows,)."""
    z: FloatArray
    """Each value minus what the others of its row let expect, in standard deviations of this,
    (rows, nodes); NaN where missing."""
    expected: FloatArray
    """What the others let expect, also for missing cells, (rows, nodes)."""


@dataclass(frozen=True, eq=False)
class CellJudge:
    """Judges cells by a network; matrices are found once and serve all rows.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    >>> found = CellJudge(network).scores(np.array([[0.0, 0.0], [1.0, 7.0], [np.nan, 2.0]]))
    >>> found.z.round(2).tolist()
    [[0.0, 0.0], [-4.02, 5.0], [nan, 0.89]]
    >>> found.expected.round(2).tolist()
    [[0.0, 0.0], [2.8, 2.0], [0.8, 0.0]]
    """

    network: GaussianNetwork

    def scores(self, rows: Rows) -> CellScores:
        """The scores of rows (rows, nodes); NaN is a missing cell."""
        shape = rows.shape
        found = CellScores(np.empty(len(rows)), np.empty(shape), np.empty(shape))
        for block in blocks(*shape):
            self._score(np.asarray(rows[block], dtype=np.float64), block.start, found, block)
        return found

    def _score(self, rows: FloatArray, first: int, found: CellScores, block: slice) -> None:
        """Rows with the same missing cells at a time."""
        self._check_values(rows, first)
        missing = np.isnan(rows)
        values = (rows - self._means) / self._scales
        for chosen, holes in _patterns(missing):
            scores = self._of_pattern(values[chosen], holes)
            places = np.flatnonzero(chosen) + block.start
            for target, own in zip(found, scores, strict=True):
                target[places] = own
            found.expected[places] = scores.expected * self._scales + self._means

    def _of_pattern(self, values: FloatArray, holes: BoolArray) -> CellScores:
        """Scores of standardised rows that lack the same cells."""
        precision, log_determinant, filling = self._without(holes)
        known = ~holes
        own = values[:, known]
        pull = own @ precision
        diagonal = np.diag(precision)
        squares = np.einsum("ij,ij->i", own, pull)
        log_scales = np.log(self._scales[known]).sum()
        constant = 0.5 * (log_determinant - known.sum() * np.log(2.0 * np.pi)) - log_scales
        z, expected = np.full((2, *values.shape), np.nan)
        z[:, known] = pull / np.sqrt(diagonal)
        expected[:, known] = own - pull / diagonal
        expected[:, holes] = own @ filling
        return CellScores(constant - 0.5 * squares, z, expected)

    def _without(self, holes: BoolArray) -> tuple[FloatArray, float, FloatArray]:
        """Precision of the other cells, the log of its determinant, and how they fill the holes."""
        precision, log_determinant = self._precision
        known = ~holes
        if known.all():
            return precision, log_determinant, np.empty((len(holes), 0))
        factor = cho_factor(precision[np.ix_(holes, holes)], lower=True)
        across = precision[np.ix_(holes, known)]
        solved = cho_solve(factor, across)
        left = precision[np.ix_(known, known)] - across.T @ solved
        return left, log_determinant - 2.0 * float(np.log(np.diag(factor[0])).sum()), -solved.T

    @cached_property
    def _means(self) -> FloatArray:
        return np.asarray(self.network.mean())

    @cached_property
    def _scales(self) -> FloatArray:
        """Standard deviations of the nodes: matrices are in units of these, of any size."""
        return np.asarray(np.sqrt(np.diag(self.network.covariance())))

    @cached_property
    def _precision(self) -> tuple[FloatArray, float]:
        """The precision matrix in units of the scales, and the log of its determinant."""
        network = self.network
        if not (network.scales > 0.0).all():
            node = network.dag.nodes[int(np.argmin(network.scales))]
            raise NetworkError(
                f"the node {node!r} has no noise, so that no value of a cell is more likely than "
                "another: learn the network without it"
            )
        nodes = len(network.dag)
        equations = (np.eye(nodes) - network.to_matrix().T) * self._scales
        equations /= network.scales[:, None]
        ratios = np.log(self._scales) - np.log(network.scales)
        return equations.T @ equations, 2.0 * float(ratios.sum())

    def _check_values(self, rows: FloatArray, first: int) -> None:
        infinite = np.isinf(rows)
        if infinite.any():
            row, node = np.argwhere(infinite)[0].tolist()
            raise DataError(
                f"the column {self.network.dag.nodes[node]!r} is infinite in row {first + row}: "
                "mend it, or leave it empty if it is missing"
            )


def _patterns(missing: BoolArray) -> "list[tuple[BoolArray, BoolArray]]":
    """Which rows have each set of missing cells."""
    if not missing.any():
        whole = np.ones(len(missing), dtype=bool)
        return [(whole, np.zeros(missing.shape[1], dtype=bool))]
    _, firsts, numbers = np.unique(
        np.packbits(missing, axis=1), axis=0, return_index=True, return_inverse=True
    )
    numbers = numbers.reshape(-1)
    return [(numbers == number, missing[first]) for number, first in enumerate(firsts.tolist())]
