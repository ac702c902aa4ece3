"""Columns of few values: groups, genotypes, scores, counts.

A continuous law never gives a value twice, and neither does most garbage. A column whose values
recur is no sum of parents and Gaussian noise, so that deviations from its equation say nothing of
what is wrong: half of a group would look wrong to the other half. Such a column is not trimmed;
only what lies outside its values, farther off than they reach, is set aside. If that was right
after all, as the largest of some doses may be, the children confirm it.
"""

from typing import NamedTuple

import numpy as np

from gaussnet._types import FloatArray, IntArray

MOST_VALUES = 10
SMALLEST_SHARE = 0.005
"""A value is common if it comes more than once, in at least this share of the rows."""
SMALLEST_COVER = 0.5
"""The common values cover at least this share of the rows."""
SAMPLE = 64


class FewValues(NamedTuple):
    """The values that belong to a column, and the rows that hold something else, outside."""

    values: FloatArray
    """Ascending."""
    strange: IntArray
    """Rows, ascending; none if only one value belongs, which leaves no measure of far."""

    def with_values(self, more: FloatArray, refuted: FloatArray, column: FloatArray) -> "FewValues":
        """The same after more values of the column turned out to belong.

        So do those between, unless they are refuted.
        """
        values = np.union1d(self.values, more)
        own = column[self.strange]
        strange = (own < values[0]) | (own > values[-1]) | np.isin(own, refuted)
        return FewValues(values, self.strange[strange])


def discrete_columns(columns: FloatArray) -> dict[int, FewValues]:
    """The columns of few values; the others are told by some of their rows.

    Of 64 rows of such a column about half or more hold one of 10 values, so that two are alike.
    """
    places = np.linspace(0, len(columns) - 1, min(len(columns), SAMPLE)).astype(np.int64)
    sample = np.sort(columns[places], axis=0)
    alike = np.flatnonzero((sample[1:] == sample[:-1]).any(axis=0)).tolist()
    found = {column: few_values(columns[:, column]) for column in alike}
    return {column: few for column, few in found.items() if few is not None}


def few_values(column: FloatArray) -> FewValues | None:
    """The common values of a column, if they are few and cover at least half of it; else None.

    What lies farther from the others than these lie from each other does not belong, such as
    the code -9 for what is not known. Missing cells do not count.

    Examples
    --------
    >>> few_values(np.array([0.0, 1.0, 1.0, 0.0, 1.0, -9.0, 1.0, -9.0, 1000.3]))
    FewValues(values=array([0., 1.]), strange=array([5, 7, 8]))
    >>> few_values(np.array([0.1, 0.2, 0.3, 0.4])) is None
    True
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    rows = counts.sum()
    common = counts >= max(2, SMALLEST_SHARE * rows)
    values, counts = values[common], counts[common]
    if not 0 < len(values) <= MOST_VALUES or counts.sum() < SMALLEST_COVER * rows:
        return None
    body = _body(values, counts)
    reach = body[-1] - body[0]
    outside = np.maximum(body[0] - column, column - body[-1])
    strange = np.flatnonzero(outside > reach) if reach > 0.0 else np.empty(0, dtype=np.int64)
    return FewValues(body, strange)


def _body(values: FloatArray, counts: IntArray) -> FloatArray:
    """The values without groups that lie apart from the others, which hold more rows."""
    while len(values) > 2:
        gaps = np.diff(values)
        cut = int(np.argmax(gaps)) + 1
        lower = counts[:cut].sum() >= counts[cut:].sum()
        side = slice(None, cut) if lower else slice(cut, None)
        if not 0.0 < np.ptp(values[side]) < gaps[cut - 1]:
            break
        values, counts = values[side], counts[side]
    return values
