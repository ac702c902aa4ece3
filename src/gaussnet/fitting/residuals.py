"""Residuals of a network on rows: what its equations leave unexplained."""

from typing import TYPE_CHECKING

import numpy as np

from gaussnet.data.pages import LazyPages
from gaussnet.errors import EstimationError
from gaussnet.fitting.evidence import StreamedEvidence
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray, Rows

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


def rows_of(fit: "Fit") -> Rows | LazyPages:
    """The rows that a network was learnt from, while the fit still has them."""
    evidence = fit._evidence
    if evidence is None:
        raise EstimationError(
            "this fit no longer has the rows that it was learnt from, because it was copied or "
            "loaded: ask where the data are, or fit again"
        )
    return evidence.pages if isinstance(evidence, StreamedEvidence) else evidence.rows()[0]


def every(rows: Rows | LazyPages, step: int) -> Rows:
    """One row in so many; of pages that are read one after the other, one in so many of each.

    Examples
    --------
    >>> every(np.arange(10.0).reshape(5, 2), 2)
    array([[0., 1.],
           [4., 5.],
           [8., 9.]])
    """
    if isinstance(rows, np.ndarray):
        return rows[::step]
    parts: list[FloatArray] = rows.fold(lambda page: [page[::step].copy()], list.__add__, 1)
    return np.concatenate(parts)


def node_residuals(network: GaussianNetwork, rows: Rows, position: int) -> FloatArray:
    r"""Child minus its equation, :math:`x_i - c_i - \sum_j a_{ij} x_j`, where all are numbers.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("rain; wet ~ rain"), [2.0], [1.0, 1.0])
    >>> node_residuals(network, np.array([[1.0, 2.5], [2.0, np.nan], [3.0, 5.0]]), 1)
    array([ 0.5, -1. ])
    """
    families = network.dag.families
    edges = slice(*families.offsets[position : position + 2].tolist())
    left: FloatArray = rows[:, position].astype(np.float64) - network.intercept_array[position]
    with np.errstate(over="ignore", invalid="ignore"):
        for parent, value in zip(
            families.parents[edges].tolist(), network.coefficient_array[edges].tolist(), strict=True
        ):
            left -= value * rows[:, parent]
    return np.asarray(left[np.isfinite(left)])
