r"""Sums over many rows, from those over a sample: the sample as a control variate.

Under some parameters the sums over all n rows are known, :math:`T_0`, and those over m rows drawn
from them, :math:`S_0`. Under other parameters those of the sample are S, and those of all rows
about

.. math:: T = T_0 + \frac n m (S - S_0).

Only the change is left to chance. It is small where parameters are near, and then all rows have
had their say; where the sample is all rows, T is exact.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.methods.robust.mixture import Mixture, Sums
    from gaussnet.methods.robust.precision import SparsePrecision


@dataclass(frozen=True, eq=False)
class ControlVariate:
    """What rows add up to beside a sample of them, under some parameters."""

    rows: int
    """All rows."""
    factor: float
    """Rows for each of the sample."""
    rest: "Sums"
    """Sums over all rows, less those of the sample times the factor."""
    means: FloatArray
    kinds: FloatArray
    """What the sums are about: means of the columns, and of their values of a kind of their own."""

    @classmethod
    def of(cls, mixture: "Mixture", total: "Sums", sample: "Sums") -> "ControlVariate":
        """From the sums over all rows and over the sample, both under this mixture."""
        factor = total.rows / max(sample.rows, 1)
        rest = combined(total, sample, -factor)
        return cls(total.rows, factor, rest, mixture.equation.means, mixture.laws.kinds[0])

    def total(self, mixture: "Mixture", sample: "Sums") -> "Sums":
        """The sums over all rows under a mixture, from those over the sample."""
        moves = self.means - mixture.equation.means, self.kinds - mixture.laws.kinds[0]
        known = moved(self.rest, mixture.layout, *moves)
        if len(known.foreign) != len(sample.foreign):  # only one of both knows of foreign rows
            known = known._replace(foreign=np.zeros(len(sample.foreign)))
        return combined(known, sample, self.factor)._replace(rows=self.rows)


def combined(one: "Sums", other: "Sums", factor: float) -> "Sums":
    """Sums plus a multiple of others."""
    pairs = zip(tuple[Any, ...](one), tuple[Any, ...](other), strict=True)
    return type(one)(*(a + factor * b for a, b in pairs))


def moved(sums: "Sums", layout: "SparsePrecision", means: FloatArray, kinds: FloatArray) -> "Sums":
    """Sums about points from which the old ones lie `means` and `kinds` off, (nodes,) each."""
    below = layout.of_product[0]  # the others are not summed
    shifts = _cross(layout.pairs, sums.sums, means, sums.weight)
    products = sums.products.copy()
    products[below] = sums.products[below] + shifts
    columns = sums.columns.copy()
    count, first = sums.columns[:, 2], sums.columns[:, 3]
    columns[:, 3] += kinds * count
    columns[:, 4] += kinds * (2.0 * first + kinds * count)
    foreign = sums.foreign
    if len(foreign):
        width, weight = len(means), float(foreign[0])
        firsts = foreign[1 : 1 + width]
        seconds = foreign[1 + width :] + _cross(layout.pairs, firsts, means, weight)
        foreign = np.concatenate((foreign[:1], firsts + weight * means, seconds))
    return sums._replace(
        products=products,
        sums=sums.sums + sums.weight * means,
        columns=columns,
        foreign=foreign,
    )


def _cross(
    pairs: tuple[IntArray, IntArray], sums: FloatArray, moves: FloatArray, weight: float
) -> FloatArray:
    """What is added to the products of pairs of columns if all values grow by these moves."""
    one, other = pairs
    return np.asarray(
        moves[one] * sums[other] + moves[other] * sums[one] + weight * moves[one] * moves[other]
    )
