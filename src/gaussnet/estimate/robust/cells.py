"""The suspicious cells of a column: what was recorded there, and what was expected."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray

FINE, UNVERIFIED, FLAGGED, MISSING = range(4)
"""Status of a cell; every one but the first is suspicious."""


@dataclass(frozen=True, slots=True, eq=False)
class SuspiciousCells:
    """The cells of one node that no child should trust, (cells,) each, by row.

    A cell is *flagged* if it is too far from what its equation expects, *unverified* if the
    expectation is too vague to tell, because parents are suspicious themselves, and
    *missing* if nothing was recorded.
    """

    rows: IntArray
    """Row numbers, ascending."""
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """Prediction from the parents, which are replaced by their own prediction if suspicious."""
    variances: FloatArray
    """Variance of the true value about the prediction."""
    deviations: FloatArray
    """Recorded minus expected value in standard deviations, z; NaN where missing."""

    def joined(self, other: "SuspiciousCells") -> "SuspiciousCells":
        """The cells of both, by row."""
        order = np.argsort(np.concatenate((self.rows, other.rows)))
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return SuspiciousCells(*(np.concatenate(pair)[order] for pair in pairs))

    @property
    def flagged(self) -> int:
        """Number of flagged cells."""
        return int(np.count_nonzero(self.statuses == FLAGGED))

    def replace(self, rows: IntArray, values: FloatArray, variances: FloatArray) -> None:
        """Write expected values and their variances over those of the suspicious rows.

        `rows` ascend; `values` and `variances`, (rows,), are changed in place.
        """
        places = np.searchsorted(rows, self.rows)
        inside = places < len(rows)
        inside[inside] = rows[places[inside]] == self.rows[inside]
        values[places[inside]] = self.expected[inside]
        variances[places[inside]] = self.variances[inside]


def suspicious_rows(columns: Sequence[SuspiciousCells | None]) -> IntArray:
    """The rows with a suspicious cell in any of the columns, ascending."""
    parts = [cells.rows for cells in columns if cells is not None]
    return reduce(np.union1d, parts) if parts else np.empty(0, dtype=np.int64)
