"""P-values made fair to their number."""

from typing import Literal, get_args

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.errors import SettingError

Adjustment = Literal["holm", "benjamini-hochberg"]


def adjusted(p_values: FloatArray, how: Adjustment) -> FloatArray:
    """Adjusted p-values: those below a level keep an error rate of that level.

    "holm" bounds the chance of a single false alarm; "benjamini-hochberg" the expected share of
    false alarms among all alarms, for tests that do not counteract each other.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").round(9).tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "benjamini-hochberg").round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    if how not in get_args(Adjustment):
        raise SettingError(f"got adjust={how!r}, expected 'holm' or 'benjamini-hochberg'")
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, count + 1)
    found = np.empty(count)
    if how == "holm":
        found[order] = np.maximum.accumulate(p_values[order] * (count + 1 - ranks))
    else:
        steps = p_values[order] * (count / ranks)
        found[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return np.minimum(found, 1.0)
