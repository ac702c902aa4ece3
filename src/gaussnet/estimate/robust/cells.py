"""The suspicious cells of a column: what was recorded there, and what was expected."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import FloatArray, IntArray

FINE, UNVERIFIED, FLAGGED, MISSING, CONFIRMED = range(5)
"""Status of a cell; every one but the first is suspicious."""

Testimony = tuple[IntArray, FloatArray]
"""Rows of suspicious cells, and what a child says there of wrong record against real event."""


@dataclass(frozen=True, slots=True, eq=False)
class SuspiciousCells:
    """The cells of one node that no child should trust, (cells,) each, by row.

    A cell is *flagged* if it is too far from what its equation expects, *unverified* if the
    expectation is too vague to tell, because parents are suspicious themselves, and
    *missing* if nothing was recorded. A flagged cell becomes *confirmed* if the children of
    the node agree with what was recorded: the event was rare but real.
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

    def confirmed(self, testimonies: Sequence[Testimony], evidence: float) -> "SuspiciousCells":
        """The same with flagged cells confirmed where testimonies sum up to below -evidence."""
        total = np.zeros(len(self.rows))
        for rows, terms in testimonies:
            np.add.at(total, np.searchsorted(self.rows, rows), terms)
        real = (self.statuses == FLAGGED) & (total < -evidence)
        statuses = np.where(real, CONFIRMED, self.statuses).astype(np.uint8)
        return replace(self, statuses=statuses)

    def write(self, rows: IntArray, values: FloatArray, variances: FloatArray) -> None:
        """Write expected values and their variances over those of the suspicious rows.

        `rows` ascend; `values` and `variances`, (rows,), are changed in place.
        """
        places = np.searchsorted(rows, self.rows)
        inside = places < len(rows)
        inside[inside] = rows[places[inside]] == self.rows[inside]
        values[places[inside]] = self.expected[inside]
        variances[places[inside]] = self.variances[inside]

