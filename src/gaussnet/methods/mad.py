"""Variances by the median absolute deviation of the residuals, and how sure these are."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.kernels import Ends
from gaussnet.methods.base import EquationGroup, Equations, Scale, Spread
from gaussnet.methods.medians.brackets import Brackets, sample_limit
from gaussnet.methods.medians.passes import Found, KeptValues, MedianPass, Plan, Values
from gaussnet.methods.medians.samples import Sample, drawn_indices
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Spreads

NORMAL_MAD = 1.482602218505602
"""1 / Phi^-1(3/4): turns a median absolute deviation into a standard deviation."""


@dataclass(frozen=True, slots=True)
class Mad(Scale):
    r"""Median absolute deviation of the residuals from their median.

    .. math:: \hat s = 1.4826 \cdot \mathrm{median}_k |r_k - \mathrm{median}\, r|

    With an intercept, the median is the location; without, the location is 0 and the scale is
    still taken about the median, as in the paper.
    """

    name = "mad"
    source = "from median absolute deviations of the residuals"
    takes_medians = True

    def first(self, equations: Equations, coefficients: FloatArray) -> Pass:
        """Medians of the residuals; then of their distances from these."""
        values, plan = ResidualValues(equations, coefficients), self._plan(equations)
        kept = partial(self._of_kept, equations.intercept)
        return MedianPass.first(values, plan, partial(self._distances, values), kept)

    def kept_values(self, equations: Equations) -> FloatArray:
        """The residuals, or those near the medians."""
        return np.full(len(equations.families), self._plan(equations).share)

    def variances(self, deviations: FloatArray) -> FloatArray:
        """Variances from median absolute deviations, (families,)."""
        return np.asarray((NORMAL_MAD * deviations) ** 2)

    def enter_errors(
        self,
        spreads: "Spreads",
        group: EquationGroup,
        coefficients: FloatArray,
        kind: str,
        level: float,
    ) -> None:
        """Order statistics of residuals and of their deviations."""
        from gaussnet.methods.standard_errors import parts_within_budget
        from gaussnet.methods.standard_errors.residual_medians import enter_medians

        families = spreads.families
        for part in parts_within_budget(group, _error_values):
            enter_medians(spreads, part, coefficients[families.edges_of(part.nodes)], level)

    def _plan(self, equations: Equations) -> Plan:
        count = len(equations.families)
        return Plan.of(equations.limits, float(count), count)

    def _distances(self, values: "ResidualValues", found: Found) -> Any:
        """Another pass, for the distances from the medians."""
        locations = found.medians.values
        about, equations = replace(values, centres=locations), values.equations
        finish = partial(self._of_distances, equations.intercept, found)
        return MedianPass.first(about, self._plan(equations), finish)

    def _of_distances(self, intercept: bool, residuals: Found, distances: Found) -> Spread:
        spread = self._spread(intercept, residuals.medians.values, distances.medians.values)
        return spread._replace(passes=max(residuals.passes, distances.passes))

    def _of_kept(self, intercept: bool, kept: KeptValues) -> Spread:
        """From all residuals at once."""
        parts = [run[0][:, 0] for run in kept.runs]
        return self._spread(intercept, *kernels.joined_spreads(parts))

    def _spread(self, intercept: bool, medians: FloatArray, deviations: FloatArray) -> Spread:
        locations = medians if intercept else np.zeros_like(medians)
        return Spread(locations, self.variances(deviations))


def _error_values(equations: Equations) -> FloatArray:
    """Values that errors keep per row: residuals, their distances, and copies of them."""
    return np.full(len(equations.families), 3.0)


@dataclass(frozen=True)
class ResidualValues(Values):
    """Residuals, or their distances from centres: one row of values for each family."""

    equations: Equations
    coefficients: FloatArray
    centres: FloatArray | None = None

    @property
    def rows(self) -> int:
        """Number of families."""
        return len(self.equations.families)

    def blocks(self, stripe: Stripe) -> list[FloatArray]:
        """All residuals of a stripe, in one block (families, 1, rows)."""
        values = kernels.residuals(stripe.rows, self.equations.families, self.coefficients)
        if self.centres is not None:
            values = np.abs(values - self.centres[:, None])
        return [values[:, None]]

    def split(self, stripe: Stripe, ends: Ends, capacity: int | None) -> Brackets:
        """Residuals are split as they are found, not written down."""
        rows, draw = stripe.rows, None
        if capacity is not None:
            draw = drawn_indices(len(rows), sample_limit(capacity))
        families, coefficients = self.equations.families, self.coefficients
        split = kernels.split_residuals(rows, families, coefficients, self.centres, ends, draw)
        sample = None if split.drawn is None or draw is None else Sample((split.drawn,), draw[1])
        lengths = np.full(self.rows, len(rows), dtype=np.int64)
        return Brackets.of_split(split, ends, lengths, capacity, sample)

    def only(self, chosen: IntArray) -> tuple["ResidualValues", IntArray]:
        """The chosen families."""
        edges = self.equations.families.edges_of(chosen)
        centres = None if self.centres is None else self.centres[chosen]
        values = ResidualValues(self.equations.only(chosen), self.coefficients[edges], centres)
        return values, np.arange(len(chosen))
