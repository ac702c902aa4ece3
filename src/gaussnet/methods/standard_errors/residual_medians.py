"""Standard errors and intervals of the median and the MAD of residuals."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import ask
from gaussnet.kernels.numpy_core import SCRATCH_VALUES
from gaussnet.methods.base import EquationGroup, Equations
from gaussnet.methods.mad import NORMAL_MAD, ResidualValues
from gaussnet.methods.medians.passes import KeepAllPass, KeptValues
from gaussnet.methods.standard_errors import Spreads
from gaussnet.methods.standard_errors.order_statistics import MedianLaw, median_law
from gaussnet.types import FloatArray, IntArray, Rows

SAMPLED_ROWS = 2_048
"""Rows, evenly spaced, from which the medians of the parents are taken."""

CUTOFF = 3.0
"""Residuals within so many scales of the median serve to refine the coefficients."""


class Trimmed(NamedTuple):
    """Rows near their equation: number (families,), sums (families, p + 1) and products
    (families, p + 1, p + 1) of their columns about an origin."""

    rows: FloatArray
    sums: FloatArray
    products: FloatArray


class Line(NamedTuple):
    """An equation's own rows: origin of its columns, coefficients, median and scale."""

    origins: FloatArray
    coefficients: FloatArray
    medians: FloatArray
    scales: FloatArray


def enter_medians(
    spreads: Spreads, part: EquationGroup, coefficients: FloatArray, level: float
) -> None:
    """Median and MAD: order statistics of residuals and of their deviations.

    Errors of the coefficients make residuals larger than the noise. So the variance's interval
    comes from residuals about refined coefficients: least squares on the rows near the line.
    """
    families, at = part.equations.families, part.nodes
    residuals = _all_residuals(part, coefficients)
    rows = residuals.shape[1]
    lost = families.sizes + part.equations.intercept
    wider = np.sqrt(rows / np.maximum(rows - lost, 1.0))
    location, deviation = _laws(residuals, level)
    spreads.rows[at] = rows
    spreads.location_error[at] = location.errors * wider
    spreads.location_low[at] = location.low * wider
    spreads.location_high[at] = location.high * wider
    scales = NORMAL_MAD * deviation.medians
    refined = _refine(spreads, part, coefficients, (location.medians, scales))
    _, deviation = _laws(_all_residuals(part, refined), level)
    middle = deviation.medians * wider
    low, high = (middle - deviation.low * wider), (middle + deviation.high * wider)
    spreads.noise[at] = (NORMAL_MAD * middle) ** 2
    spreads.noise_error[at] = 2.0 * deviation.errors / np.where(middle > 0.0, middle / wider, 1.0)
    spreads.noise_low[at] = (NORMAL_MAD * low) ** 2
    spreads.noise_high[at] = (NORMAL_MAD * high) ** 2


def _all_residuals(part: EquationGroup, coefficients: FloatArray) -> FloatArray:
    """All residuals, (families, rows)."""
    values = ResidualValues(part.equations, coefficients)
    kept: KeptValues = ask(part.table, KeepAllPass(values))
    return kept.block(0)[:, 0]


def _laws(residuals: FloatArray, level: float) -> tuple[MedianLaw, MedianLaw]:
    """Of the residuals' median and of their median deviation from it; reorders residuals."""
    residuals.sort(axis=1)
    location = median_law(residuals, level)
    residuals -= location.medians[:, None]
    np.abs(residuals, out=residuals)
    residuals.sort(axis=1)
    return location, median_law(residuals, level)


def _refine(
    spreads: Spreads,
    part: EquationGroup,
    coefficients: FloatArray,
    spread: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Least squares on the rows near the line, (edges,); enters the parents on the way."""
    equations = part.equations
    step = -(-part.table.rows // SAMPLED_ROWS)
    sample = part.table.every_row(step)
    lines: list[Line] = []
    for block in equations.blocks(with_roots=True):
        columns = equations.families.by_size[len(lines)][2]
        origins = np.median(sample, axis=0)[columns] * equations.intercept
        own = coefficients[block.edges].reshape(block.count, block.size)
        shifts = origins[:, -1] - np.einsum("fp,fp->f", own, origins[:, :-1])
        medians, scales = spread[0][block.families] - shifts, spread[1][block.families]
        lines.append(Line(origins, own, medians, scales))
    sums: list[Trimmed] = ask(part.table, NearRowsPass(equations, lines))
    refined = []
    for block, line, found in zip(equations.blocks(with_roots=True), lines, sums, strict=True):
        own, covariances = _regress(found, equations.intercept)
        spreads.enter_parents(part.nodes[block.families], line.origins[:, :-1], covariances)
        refined.append(own.ravel())
    return np.concatenate(refined)


def _regress(found: Trimmed, intercept: bool) -> tuple[FloatArray, FloatArray]:
    """Coefficients (families, p) and covariances of the parents (families, p, p)."""
    number = np.maximum(found.rows, 1.0)[:, None, None]
    means = found.sums / number[:, :, 0] * intercept
    products = found.products / number - means[:, :, None] * means[:, None, :]
    covariances, shared = products[:, :-1, :-1], products[:, :-1, -1]
    lengths = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    unit = covariances * inverse[:, :, None] * inverse[:, None, :]
    solved = np.linalg.pinv(unit, rcond=1e-10, hermitian=True) @ (shared * inverse)[:, :, None]
    return np.asarray(solved[:, :, 0] * inverse), covariances


@dataclass(frozen=True)
class NearRowsPass(Pass):
    """Asks for the moments of the rows near the line of each equation."""

    purpose = "standard errors"

    equations: Equations
    lines: list[Line]

    def summarize(self, stripe: Stripe) -> list[Trimmed]:
        """Moments of a stripe, size by size."""
        out = []
        for line, (size, _, columns) in zip(
            self.lines, self.equations.families.by_size, strict=True
        ):
            step = max(1, SCRATCH_VALUES // max(len(stripe.rows) * (size + 1), 1))
            parts = [
                _near(stripe.rows, Line(*(array[first : first + step] for array in line)), own)
                for first in range(0, len(columns), step)
                for own in [columns[first : first + step]]
            ]
            out.append(Trimmed(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))))
        return out

    def merge(self, left: list[Trimmed], right: list[Trimmed]) -> list[Trimmed]:
        """Moments of both."""
        return [
            Trimmed(*(a + b for a, b in zip(one, other, strict=True)))
            for one, other in zip(left, right, strict=True)
        ]


def _near(rows: Rows, line: Line, columns: IntArray) -> Trimmed:
    picked = rows[:, columns.ravel()].reshape(len(rows), *columns.shape)
    values = picked.transpose(1, 0, 2) - line.origins[:, None, :]
    rest = values[:, :, -1] - np.einsum("fkp,fp->fk", values[:, :, :-1], line.coefficients)
    near = np.abs(rest - line.medians[:, None]) <= CUTOFF * line.scales[:, None]
    values *= near[:, :, None]
    number = np.count_nonzero(near, axis=1).astype(np.float64)
    return Trimmed(number, values.sum(axis=1), values.transpose(0, 2, 1) @ values)
