"""Rows with suspicious parents: are their own cells right, and was the event real?"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.estimate.robust.cells import (
    FINE,
    FLAGGED,
    MISSING,
    UNVERIFIED,
    SuspiciousCells,
    Testimony,
)
from gaussnet.estimate.robust.cutoffs import bonferroni_point
from gaussnet.estimate.robust.normal import chi_square_points
from gaussnet.estimate.robust.regression import Regression, Trial
from gaussnet.estimate.robust.sequential_trim import SequentialTrim
from gaussnet.estimate.robust.trimming import Trimmed

REACH = 1.0
"""Up to this leverage an equation tells sharply what the child of recorded parents should be."""

READMISSION_LEVEL = 0.01
"""Rows come back if the coefficients that they ask for are no farther off than by this chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Doubted:
    """Rows with suspicious parents: what was recorded, and the parents as they should be."""

    rows: IntArray
    columns: FloatArray
    """Parents as recorded, NaN where missing, (p, rows)."""
    cleaned: FloatArray
    """Parents with suspicious cells replaced by their expected values, (p, rows)."""
    variances: FloatArray
    """Variances of the cleaned parents about the true ones, (p, rows)."""
    child: FloatArray
    suspects: BoolArray
    """Whether each column is suspicious, (p, rows)."""

    def only(self, chosen: BoolArray) -> "Doubted":
        """The chosen rows."""
        return Doubted(
            self.rows[chosen],
            self.columns[:, chosen],
            self.cleaned[:, chosen],
            self.variances[:, chosen],
            self.child[chosen],
            self.suspects[:, chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the equation says of doubted rows, (rows,) each."""

    doubted: Doubted
    statuses: NDArray[np.uint8]
    expected: FloatArray
    """Child by the cleaned parents."""
    variances: FloatArray
    """Variance of the child about it."""
    evidence: FloatArray
    """Twice the log likelihood ratio of a wrong record to a real event, with squares capped;
    none for an event that the record does not fit either, 0 where a value is missing."""
    fits: BoolArray
    """Whether the child agrees with its parents as recorded, for all that is known of these."""

    def testimony(self, column: int) -> Testimony:
        """The evidence of the child on a suspicious column.

        If other columns are suspicious in the same row, it counts only if it speaks for a
        real event: what fits the record confirms all of it, what does not may be the fault of
        any.
        """
        suspects = self.doubted.suspects
        alone = np.count_nonzero(suspects, axis=0) == 1
        chosen = np.flatnonzero(suspects[column] & (alone | (self.evidence < 0.0)))
        return self.doubted.rows[chosen], self.evidence[chosen]

    def suspicious(self, reference: float) -> SuspiciousCells:
        """The cells that are not fine; `reference` is what the child was centred at."""
        chosen = np.flatnonzero(self.statuses)
        expected, variances = self.expected[chosen], self.variances[chosen]
        deviations = (self.doubted.child[chosen] - expected) / np.sqrt(variances)
        return SuspiciousCells(
            self.doubted.rows[chosen],
            self.statuses[chosen],
            expected + reference,
            variances,
            deviations,
        )


def judge(trimmed: Trimmed, doubted: Doubted, settings: SequentialTrim, rows: int) -> Verdict:
    r"""Compare doubted rows with the parents as recorded and with the cleaned parents.

    If the event at a parent was real, its deviation went on into the child, which then agrees
    with the parents as recorded; if only the record is wrong, with the cleaned ones. The
    evidence of a row is, with capped squares,

    .. math:: L = z_{rec}^2 + \log(1 + h) - z_{cl}^2 - \log(1 + v / s^2)

    A cell far from what the cleaned parents lead to expect is flagged, unless it agrees with
    the recorded ones better and these lie within reach of the rows learnt from.
    """
    coefficients, scale = trimmed.trial.coefficients, trimmed.scale
    limit = min(trimmed.cutoff, bonferroni_point(rows))
    leverages = trimmed.factor.leverages(doubted.columns)
    recorded = (doubted.child - coefficients @ doubted.columns) / scale
    recorded = recorded**2 / (1.0 + leverages)
    expected = coefficients @ doubted.cleaned
    vagueness = (coefficients / scale) ** 2 @ doubted.variances
    cleaned = ((doubted.child - expected) / scale) ** 2 / (1.0 + vagueness)
    terms = np.minimum(recorded, settings.cap) + np.log1p(leverages)
    terms -= np.minimum(cleaned, settings.cap) + np.log1p(vagueness)
    terms = np.where(recorded < settings.cap, terms, np.fmax(terms, 0.0))
    statuses = np.where(vagueness > settings.largest_vagueness, UNVERIFIED, FINE)
    statuses[cleaned > min(limit, settings.cleaned_cutoff) ** 2] = FLAGGED
    within = (recorded <= settings.cleaned_cutoff**2) & (leverages <= REACH)
    statuses[within & (terms < 0.0)] = FINE
    statuses[np.isnan(doubted.child)] = MISSING
    variances = scale**2 * (1.0 + vagueness)
    fits = recorded <= limit**2
    return Verdict(doubted, statuses.astype(np.uint8), expected, variances, terms, fits)


def readmit(regression: Regression, trimmed: Trimmed, events: Doubted) -> Trial | None:
    """Least squares with these rows taken back as good leverage points; None if they do not fit.

    The residuals are those of the rows kept before, then of the rows taken back.
    """
    columns, child = regression.columns, regression.child
    if trimmed.kept is not None:
        columns, child = columns[:, trimmed.kept], child[trimmed.kept]
    before = trimmed.trial.coefficients
    joined = replace(
        regression,
        columns=np.hstack((columns, events.columns)),
        child=np.concatenate((child, events.child)),
    )
    factor = joined.factor()
    trial = joined.refit(joined.refit(joined.trial(before), factor), factor)
    change = (trial.coefficients - before) @ columns
    own = trial.residuals[len(child) :]
    count = len(own)
    variance = trimmed.scale**2
    farthest = chi_square_points(READMISSION_LEVEL, np.array([len(columns)]))[0]
    moved = change @ change > variance * farthest
    spread = own @ own > variance * (count + 3.0 * np.sqrt(2.0 * count))
    return None if moved or spread else trial
