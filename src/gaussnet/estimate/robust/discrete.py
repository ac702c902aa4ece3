"""Columns of few values: groups, genotypes, scores, counts.

A continuous law never gives a value twice, and neither does most garbage. A column whose values
recur is no sum of parents and Gaussian noise, so that deviations from its equation say nothing of
what is wrong: half of a group would look wrong to the other half. Such a column is not trimmed;
only what lies far outside its values is set aside.
"""

from typing import NamedTuple

import numpy as np

from gaussnet._types import FloatArray, IntArray

MOST_VALUES = 20
SMALLEST_COVER = 0.5
"""The recurring values are at least this share of the rows."""
SAMPLE = 64
FAR = 10.0
"""A value is far outside if it lies so many ranges of the others away from them."""


class FewValues(NamedTuple):
    """The values that belong to a column, and the rows that hold something else, far off."""

    values: FloatArray
    """Ascending."""
    strange: IntArray
    """Rows, ascending; none if only one value belongs, which leaves no measure of far."""


def discrete_columns(columns: FloatArray) -> dict[int, FewValues]:
    """The columns of few values; the others are told by some of their rows.

    Of 64 rows of such a column about half or more hold one of 20 values, so that two are alike.
    """
    places = np.linspace(0, len(columns) - 1, min(len(columns), SAMPLE)).astype(np.int64)
    sample = np.sort(columns[places], axis=0)
    alike = np.flatnonzero((sample[1:] == sample[:-1]).any(axis=0)).tolist()
    found = {column: few_values(columns[:, column]) for column in alike}
    return {column: few for column, few in found.items() if few is not None}


def few_values(column: FloatArray) -> FewValues | None:
    """The values of a column, if few that recur cover at least half of it; else None.

    A group of values that lies far from where most rows are does not belong, such as the
    code -99 for what is not known. Missing cells do not count.

    Examples
    --------
    >>> few_values(np.array([0.0, 1.0, 1.0, 0.0, 1.0, -99.0, 1.0, -99.0, 1000.3]))
    FewValues(values=array([0., 1.]), strange=array([5, 7, 8]))
    >>> few_values(np.array([0.1, 0.2, 0.3, 0.4])) is None
    True
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    values, counts, rows = values[counts > 1], counts[counts > 1], counts.sum()
    if not 0 < len(values) <= MOST_VALUES or counts.sum() < SMALLEST_COVER * rows:
        return None
    body = _body(values, counts)
    reach = FAR * (body[-1] - body[0])
    outside = np.maximum(body[0] - column, column - body[-1])
    strange = np.flatnonzero(outside > reach) if reach > 0.0 else np.empty(0, dtype=np.int64)
    return FewValues(body, strange)


def _body(values: FloatArray, counts: IntArray) -> FloatArray:
    """The values without groups that lie far from the others, which hold more rows."""
    while len(values) > 2:
        gaps = np.diff(values)
        cut = int(np.argmax(gaps)) + 1
        lower = counts[:cut].sum() >= counts[cut:].sum()
        side = slice(None, cut) if lower else slice(cut, None)
        if not 0.0 < FAR * np.ptp(values[side]) < gaps[cut - 1]:
            break
        values, counts = values[side], counts[side]
    return values
