"""How well a network explains rows: log-likelihoods, and a score that wrong rows cannot move."""

import math
from collections.abc import Iterable

import numpy as np

from gaussnet.errors import DataError, NetworkError, SettingError
from gaussnet.model import checks
from gaussnet.model.equations import blocks
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

DISCOUNT = 0.5
"""How strongly the robust score discounts rows far from what they should be."""


def log_likelihoods(
    network: GaussianNetwork, rows: Rows, set_cells: BoolArray | None = None
) -> tuple[FloatArray, IntArray]:
    r"""The log-likelihood of each node given its parents, and the rows it rests on.

    .. math:: \sum_r \log N(x_{ri};\, c_i + \sum_j a_{ij} x_{rj},\, s_i^2)

    Rows where the node or a parent is NaN, or where the node was set from outside, are left
    out for that node. Both are (nodes,).

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    >>> sums, counts = log_likelihoods(network, np.array([[0.0, 0.0], [1.0, np.nan]]))
    >>> sums.round(4).tolist(), counts.tolist()
    ([-2.3379, -0.9189], [2, 1])
    """
    network._check_has_density()
    squares = np.zeros(len(network.dag))
    counts = np.zeros(len(network.dag), dtype=np.int64)
    for block in blocks(*rows.shape):
        errors = network._standardized_residuals(rows[block])
        known = ~np.isnan(errors)
        if set_cells is not None:
            known &= ~set_cells[block].T
        counts += known.sum(axis=1)
        squares += np.where(known, errors * errors, 0.0).sum(axis=1)
    constants = np.log(2.0 * np.pi) + np.log(network.variance_array)
    return -0.5 * (counts * constants + squares), counts


def robust_score(
    network: GaussianNetwork,
    data: object,
    *,
    discount: float = DISCOUNT,
    columns: Iterable[object] | None = None,
) -> float:
    r"""A mean log density that rows far from the network cannot move; higher is better.

    For a node with standardised residuals :math:`z_r` and :math:`g` the discount,

    .. math:: \frac{1 + g}{g} \log \frac{1}{m} \sum_r e^{-g z_r^2 / 2}
              - \tfrac12 \log (2 \pi s^2) + \frac{1 + g}{2 g} \log(1 + g) - \tfrac12,

    summed over nodes. It is the logarithmic gamma score in units of log density: for rows of
    the network itself it expects what the mean log density expects, and among all Gaussian
    equations the true one expects most (it is proper). A share e of wildly wrong cells in a
    column adds :math:`\frac{1 + g}{g} \log(1 - e)` to every network alike, so the order of
    networks stays. With ``discount=0`` it is the mean log density. `data` and `columns` are as in
    `GaussianNetwork.log_density`.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> truth = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    >>> rows = truth.sample(10_000, seed=0)
    >>> round(truth.score(rows), 1), round(robust_score(truth, rows), 1)
    (-2.8, -2.8)
    >>> rows[:100] = 1e6
    >>> truth.score(rows) < -1e9, round(robust_score(truth, rows), 1)
    (True, -2.9)
    """
    if not isinstance(network, GaussianNetwork):
        raise NetworkError(
            f"got a {type(network).__name__} to score with, expected a GaussianNetwork: give "
            "fit.network for a fit"
        )
    if not (isinstance(discount, int | float) and 0.0 <= discount < math.inf):
        raise SettingError(f"got discount={discount!r}, expected a number of 0 or more")
    if discount == 0.0:
        return network.score(data, columns=columns)
    rows = checks.node_rows(data, network.dag, columns)
    if not len(rows):
        raise DataError("got 0 rows, expected at least 1 to score")
    return gamma_score(network, rows, discount, np.zeros(rows.shape, dtype=bool))


def gamma_score(
    network: GaussianNetwork, rows: Rows, discount: float, set_cells: BoolArray
) -> float:
    """The robust score of rows; cells that were set from outside say nothing of their nodes."""
    network._check_has_density()
    weights = np.full(len(network.dag), -np.inf)
    for block in blocks(*rows.shape):
        checks.check_finite(rows[block], network.dag.nodes, block.start)
        terms = -0.5 * discount * _squares(network, rows[block])
        terms[set_cells[block].T] = -np.inf
        weights = np.logaddexp(weights, np.logaddexp.reduce(terms, axis=1))
    counts = np.count_nonzero(~set_cells, axis=0)
    factor = (1.0 + discount) / discount
    known = counts > 0
    scores = factor * (weights[known] - np.log(counts[known]) + 0.5 * math.log1p(discount))
    scores -= 0.5 * (1.0 + np.log(2.0 * np.pi) + np.log(network.variance_array[known]))
    return float(scores.sum())


@np.errstate(over="ignore")
def _squares(network: GaussianNetwork, rows: Rows) -> FloatArray:
    """Squares of the standardised residuals of finite rows, infinite where they overflow."""
    errors = network._standardized_residuals(rows)
    errors[np.isnan(errors)] = np.inf  # terms of both signs overflowed
    return np.asarray(errors * errors)
