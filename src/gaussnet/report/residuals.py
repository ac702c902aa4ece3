"""Residuals of every node in few numbers: bins of a histogram, points of a QQ plot."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from gaussnet._types import FloatArray, Rows
from gaussnet.fitting.residuals import node_residuals
from gaussnet.model.network import GaussianNetwork

MOST_ROWS = 200_000
"""More rows than this are thinned: a picture shows no more."""
REACH = 4.0
"""Pictures go so many standard deviations to either side."""
TAIL_POINTS = 8
MIDDLE_POINTS = 33


@dataclass(frozen=True, eq=False)
class Residuals:
    """The standardised residuals of one node."""

    node: str
    count: int
    """Rows in which the node and its parents have values, of those that are looked at."""
    edges: FloatArray
    """Edges of the bins."""
    density: FloatArray
    """Share of the residuals in each bin over its width."""
    beyond: int
    """Residuals further than `REACH` standard deviations from 0."""
    expected: FloatArray
    """Quantiles of the standard Gaussian, rising."""
    found: FloatArray
    """The residuals that stand at these quantiles."""
    departure: float
    """Largest difference of the two distribution functions (Kolmogorov's distance)."""

    @property
    def expected_beyond(self) -> float:
        """How many would be beyond if they were Gaussian."""
        return float(2.0 * self.count * ndtr(-REACH))


def thinning(rows: int) -> int:
    """Every how many rows one is looked at.

    Examples
    --------
    >>> thinning(200_000), thinning(200_001)
    (1, 2)
    """
    return max(1, -(-rows // MOST_ROWS))


def find_residuals(network: GaussianNetwork, seen: Rows) -> list[Residuals | None]:
    """The residuals of each node; None where there is no noise or no value to judge them by."""
    return [_of_node(network, seen, position) for position in range(len(network.dag))]


def _of_node(network: GaussianNetwork, rows: Rows, position: int) -> Residuals | None:
    scale = float(network.scales[position])
    left = node_residuals(network, rows, position)
    if not scale or not len(left):
        return None
    with np.errstate(over="ignore"):
        found = np.sort(left / scale)
    count = len(found)
    edges = np.linspace(-REACH, REACH, 1 + _bins(count))
    counts = np.histogram(found, edges)[0]
    ranks = _ranks(count)
    levels = ndtr(found)
    after = np.arange(1, count + 1) / count
    departure = max(float((after - levels).max()), float((levels - after).max()) + 1 / count)
    return Residuals(
        node=network.dag.nodes[position],
        count=count,
        edges=edges,
        density=counts / (count * (edges[1] - edges[0])),
        beyond=int((np.abs(found) > REACH).sum()),
        expected=ndtri((ranks + 0.5) / count),
        found=found[ranks],
        departure=departure,
    )


def _bins(count: int) -> int:
    return 32 if count >= 1_000 else 16 if count >= 60 else 8


def _ranks(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Ranks of the points to draw: all of few, else the tails and an even net between."""
    if count <= 2 * TAIL_POINTS + MIDDLE_POINTS:
        return np.arange(count)
    net = ndtr(np.linspace(-1.0, 1.0, MIDDLE_POINTS) * ndtri((TAIL_POINTS + 0.5) / count))
    tails = np.arange(TAIL_POINTS)
    ranks = np.concatenate((tails, (net * count).astype(np.int64), count - 1 - tails))
    return np.unique(ranks.clip(0, count - 1))
