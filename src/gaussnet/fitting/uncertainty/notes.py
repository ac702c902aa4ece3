"""Why a node has no standard errors or no interval."""

import math
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.fitting.notes import NodeReport, Note, rank_words
from gaussnet.fitting.uncertainty.ranks import USUAL
from gaussnet.methods.batches import BatchAverage
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


def find_notes(
    fit: "Fit", table: tuple[FloatArray, FloatArray, FloatArray], level: float
) -> tuple[Note, ...]:
    """One note for each node that lacks a standard error or an interval."""
    coefficients, intercepts, variances = table
    families = fit.dag.families
    lacking = np.asarray(np.isnan(np.vstack((intercepts, variances))).any(axis=0))
    np.logical_or.at(lacking, families.family_of_edge, np.isnan(coefficients).any(axis=0))
    names = (fit.dag.nodes[position] for position in np.flatnonzero(lacking).tolist())
    needed = 2 if isinstance(fit.method, BatchAverage) else _order_statistics_needed(level)
    return tuple(Note(name, _reason(fit.node(name), fit.intercept, needed)) for name in names)


def _order_statistics_needed(level: float) -> int:
    """The fewest values whose extremes hold the median with this chance, and with 95 %."""
    return math.ceil(math.log2(2.0 / (1.0 - max(level, USUAL))))


def _reason(report: NodeReport, intercept: bool, needed: int) -> str:
    if report.rank < len(report.parents):
        return (
            f"{rank_words(report)}: the rows do not determine "
            "the coefficients, so these have no errors"
        )
    if report.batches and report.batches < needed:
        return (
            f"there are too few batches for an interval, {report.batches} where {needed} are "
            "needed: give more rows, or kind='bootstrap'"
        )
    if report.rows <= len(report.parents) + intercept:
        return f"{report.rows} rows leave nothing over to judge the errors by: give more rows"
    return "the rows are too few, or too many are equal, to judge the errors by"
