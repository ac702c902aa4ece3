"""The Gaussian with the mean and covariance of the sample."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gaussnet.baselines.moments import moments
from gaussnet.errors import EstimationError
from gaussnet.model.gaussian import Gaussian


def empirical(
    data: ArrayLike, *, names: Sequence[str] | None = None, centre: bool = False
) -> Gaussian:
    r"""The most likely Gaussian when nothing is known of its graph.

    .. math:: \hat\Sigma = \frac{1}{m} \sum_r (x_r - \hat\mu)(x_r - \hat\mu)'

    with :math:`\hat\mu = 0`, or the mean of the rows if `centre`. `data` is (rows, columns).

    Examples
    --------
    >>> empirical([[1.0, 0.0], [0.0, 2.0]]).covariance.round(12).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """
    found = moments(data, names, centre)
    rows, columns = found.table.shape
    if rows < columns + centre:
        raise EstimationError(
            f"{rows} rows give a singular covariance of {columns} columns: "
            f"give at least {columns + centre} rows"
        )
    # the factor comes from the rows themselves: squaring them would lose half the digits
    upper = np.asarray(np.linalg.qr(found.table, mode="r"))
    rounding = 4.0 * columns * np.finfo(np.float64).eps * np.linalg.norm(upper, axis=0)
    flat = np.flatnonzero(np.abs(np.diag(upper)) <= rounding)
    if len(flat):
        raise EstimationError(
            f"the column {found.names[flat[0]]!r} follows from the columns before it: drop it"
        )
    return Gaussian(found.names, found.mean, found.scales[:, None] * upper.T / math.sqrt(rows))
