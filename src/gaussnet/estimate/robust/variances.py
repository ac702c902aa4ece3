"""What makes a variance the one of least expected KL divergence."""

import numpy as np

from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.scales import KlOptimal


def kl_optimal_ratios(rows: int | IntArray, parents: IntArray, intercept: bool) -> FloatArray:
    """What mean squares of so many rows are to be multiplied by for the least expected KL.

    1 where rows are too few for an expectation.

    Examples
    --------
    >>> kl_optimal_ratios(100, np.array([5, 99]), False).round(4).tolist()
    [1.1325, 1.0]
    """
    found = KlOptimal().factors(rows, parents, intercept)
    return np.where(np.isnan(found), 1.0, found)
