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

from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.model.equations import blocks
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.seen import FAR
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

SHARE, PROBABILITY = 0.01, 0.5
"""Of all cells so many are taken as wrong before they are seen; a cell more likely wrong than so is
flagged."""
WRONG_VARIANCE = 101.0
"""Of z where the value is wrong."""


class CellScores(NamedTuple):
    """Rows and their cells as a network sees them."""

    log_densities: FloatArray
    """Of the values that each row has, (rows,)."""
    z: FloatArray
    """Each value minus what the others of its row let expect, in standard deviations of this,
    (rows, nodes); NaN where missing."""
    expected: FloatArray
    """What the others let expect, also for missing cells, (rows, nodes)."""
    sds: FloatArray
    """Standard deviations about that, (rows, nodes)."""


class FlaggedCells(NamedTuple):
    """Cells that are more likely wrong than not, (cells,) each, row by row."""

    rows: IntArray
    nodes: IntArray
    expected: FloatArray
    """What the cells of the row let expect that are not flagged."""
    z: FloatArray
    """Value minus expected value, in standard deviations."""
    probabilities: FloatArray
    """That the value is wrong."""


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
    """One that knows what was seen in its rows has right values believed as far off as those."""

    def scores(self, rows: Rows) -> CellScores:
        """The scores of rows (rows, nodes); NaN is a missing cell."""
        shape = rows.shape
        found = CellScores(np.empty(len(rows)), *np.empty((3, *shape)))
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
            found.sds[places] = scores.sds * self._scales

    def flagged(
        self, rows: Rows, share: float = SHARE, probability: float = PROBABILITY
    ) -> FlaggedCells:
        r"""The cells of rows that are wrong with at least this probability.

        A right value has a standard normal z, a wrong one a normal z of variance
        :math:`1 + w^2` with :math:`w = 10`; a `share` of all cells is wrong. The worst cell of a
        row is flagged first, the others are judged anew without it, until none is left; then cells
        that fit those not flagged are believed again. Of nodes that did not look Gaussian when the
        network was learnt, values that are little farther off than those believed then are not
        flagged.

        Examples
        --------
        >>> from gaussnet.graph.dag import Dag
        >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
        >>> found = CellJudge(network).flagged(np.array([[1.0, 2.0], [1.0, 50.0]]))
        >>> found.rows.tolist(), found.nodes.tolist(), found.expected.tolist()
        ([1], [1], [2.0])
        """
        least = _least_square(share, probability)
        believed = np.array(rows, dtype=np.float64)
        doubtful = self._without_worst(believed, np.arange(len(rows)), least)
        self._believe_again(believed, rows, doubtful, least)
        hit = np.isnan(believed[doubtful]) & ~np.isnan(rows[doubtful])
        scores = self.scores(believed[doubtful])
        places, nodes = np.nonzero(hit)
        values = np.asarray(rows, dtype=np.float64)[doubtful][hit]
        z = (values - scores.expected[hit]) / scores.sds[hit]
        chances = _probability(z * z, share)
        return FlaggedCells(doubtful[places], nodes, scores.expected[hit], z, chances)

    def _without_worst(self, believed: FloatArray, asked: IntArray, least: float) -> IntArray:
        """Empty the worst cell of each row as long as it is too far off; gives the rows touched."""
        touched: list[IntArray] = [asked[:0]]
        while len(asked):
            shares = np.nan_to_num(self._excess(self.scores(believed[asked]).z, least), nan=-1.0)
            worst = shares.argmax(axis=1)
            far = shares[np.arange(len(asked)), worst] >= 1.0
            asked, worst = asked[far], worst[far]
            believed[asked, worst] = np.nan
            touched.append(asked)
        return np.unique(np.concatenate(touched))

    def _believe_again(
        self, believed: FloatArray, rows: Rows, asked: IntArray, least: float
    ) -> None:
        """Fill the emptied cell of each row that fits the others best, as long as one does."""
        while len(asked):
            scores = self.scores(believed[asked])
            values = np.asarray(rows[asked], dtype=np.float64)
            shares = self._excess((values - scores.expected) / scores.sds, least)
            shares[~np.isnan(believed[asked]) | np.isnan(values)] = np.inf
            best = shares.argmin(axis=1)
            fits = shares[np.arange(len(asked)), best] < 1.0
            asked, best = asked[fits], best[fits]
            believed[asked, best] = np.asarray(rows[asked, best], dtype=np.float64)

    def _excess(self, z: FloatArray, least: float) -> FloatArray:
        """Squares of z (rows, nodes), as shares of those from which values are flagged."""
        seen = self.network.seen
        if seen is None or seen.z_low is None or seen.z_high is None:
            return z**2 / least
        more = FAR * (seen.z_high - seen.z_low)
        below = np.where(seen.z_low**2 >= least, (seen.z_low - more) ** 2, least)
        above = np.where(seen.z_high**2 >= least, (seen.z_high + more) ** 2, least)
        return np.asarray(z**2 / np.where(z < 0.0, below, above))

    def _of_pattern(self, values: FloatArray, holes: BoolArray) -> CellScores:
        """Scores of standardised rows that lack the same cells."""
        precision, log_determinant, filling, unsure = self._without(holes)
        known = ~holes
        own = values[:, known]
        pull = own @ precision
        diagonal = np.diag(precision)
        squares = np.einsum("ij,ij->i", own, pull)
        log_scales = np.log(self._scales[known]).sum()
        constant = 0.5 * (log_determinant - known.sum() * np.log(2.0 * np.pi)) - log_scales
        z, expected, sds = np.full((3, *values.shape), np.nan)
        z[:, known] = pull / np.sqrt(diagonal)
        expected[:, known] = own - pull / diagonal
        expected[:, holes] = own @ filling
        sds[:, known], sds[:, holes] = 1.0 / np.sqrt(diagonal), unsure
        return CellScores(constant - 0.5 * squares, z, expected, sds)

    def _without(self, holes: BoolArray) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Precision of the other cells, the log of its determinant, how they fill the holes, and
        the standard deviations of these."""
        from scipy.linalg import cho_factor, cho_solve  # slow to import

        precision, log_determinant = self._precision
        known = ~holes
        if known.all():
            return precision, log_determinant, np.empty((len(holes), 0)), np.empty(0)
        factor = cho_factor(precision[np.ix_(holes, holes)], lower=True)
        across = precision[np.ix_(holes, known)]
        solved = cho_solve(factor, across)
        left = precision[np.ix_(known, known)] - across.T @ solved
        log_determinant -= 2.0 * float(np.log(np.diag(factor[0])).sum())
        unsure = np.sqrt(np.diag(cho_solve(factor, np.eye(len(across)))))
        return left, log_determinant, -solved.T, unsure

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


def _probability(squares: FloatArray, share: float) -> FloatArray:
    """The probability that values with these squares of z are wrong."""
    from scipy.special import expit  # slow to import

    return np.asarray(expit(_prior(share) + 0.5 * squares * (1.0 - 1.0 / WRONG_VARIANCE)))


def _least_square(share: float, probability: float) -> float:
    """The square of z from which a cell is wrong with this probability."""
    for name, value in (("share", share), ("probability", probability)):
        if not 0.0 < value < 1.0:
            raise SettingError(f"got {name}={value!r}, expected a number between 0 and 1")
    odds = np.log(probability) - np.log1p(-probability)
    found = float(2.0 * (odds - _prior(share)) / (1.0 - 1.0 / WRONG_VARIANCE))
    return max(found, float(np.finfo(np.float64).tiny))


def _prior(share: float) -> float:
    """Log odds that a cell with z = 0 is wrong."""
    return float(np.log(share) - np.log1p(-share) - 0.5 * np.log(WRONG_VARIANCE))
