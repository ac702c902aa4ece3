"""The range of the values that a fit was learnt from, and what a model file keeps of the rows."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import GaussnetError
from gaussnet.fitting.residuals import doubted_cells
from gaussnet.model.cells import CellJudge
from gaussnet.model.seen import SavedVerdict, Seen
from gaussnet.types import BoolArray, FloatArray, Rows

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.robust.judge import Judge

WRONG = 1.0
"""A value of a column that a robust fit does not judge is wrong if it lies farther beyond the range
than so many of its widths."""
MOST_PRODUCTS = 4e9
"""Of rows and pairs of nodes: more rows are thinned before their z are found."""
ODD_SHAPES = ("skewed", "heavy tails", "wild values")
"""Shapes of residuals that a model file tells of."""


def limiting(seen: Seen, judge: "Judge") -> "Judge":
    """A judge to whom values far beyond are wrong in columns that the judge does not judge."""
    low, high = seen.reach(WRONG)
    judged = judge.mixture.judged
    return replace(
        judge,
        low=np.where(judged, judge.low, np.fmax(judge.low, low)),
        high=np.where(judged, judge.high, np.fmin(judge.high, high)),
    )


def find_seen_range(fit: "Fit") -> Seen | None:
    """The range of the values that are believed, if the rows are in memory, unchanged."""
    rows = _rows_in_memory(fit)
    if rows is None:
        return None
    doubted, ends = doubted_cells(fit), np.full((2, len(fit.dag)), np.nan)
    for node in range(len(fit.dag) if len(rows) else 0):
        column = np.array(rows[:, node], dtype=np.float64)
        column[doubted.get(node, [])] = np.nan
        ends[:, node] = np.fmin.reduce(column), np.fmax.reduce(column)
    return Seen(*ends)


def seen_for_file(fit: "Fit") -> Seen:
    """All that a model file keeps: ranges, shapes of residuals, codes, far z, and the verdict.

    Of levels of a category there is no range.
    """
    nodes = len(fit.dag)
    found = fit.seen_range or Seen(*np.full((2, nodes), np.nan))
    levels = [fit.dag.position(node) for node in fit.dag.indicators]
    low, high = np.array(found.low), np.array(found.high)
    low[levels] = high[levels] = np.nan
    kinds = () if fit.residual_shapes is None else fit.residual_shapes.kinds
    believed = believed_nodes(fit)
    odd = [kind in ODD_SHAPES for kind in kinds] or [False] * nodes
    known = kinds or ("",) * nodes
    shapes = tuple(kind if own else "" for kind, own in zip(known, odd, strict=True))
    marked = tuple(
        shape or ("not Gaussian" if own else "")
        for shape, own in zip(shapes, believed.tolist(), strict=True)
    )
    z_low, z_high = _far_z(fit, believed)
    codes = tuple(fit.missing_values)
    return Seen(low, high, z_low, z_high, marked, codes, _verdict_for_file(fit))


def _verdict_for_file(fit: "Fit") -> SavedVerdict:
    """The sentences on a fit; a graph that was not checked is something to warn of too."""
    found = fit._verdict.summary
    return SavedVerdict(found.sentences, bool(found.warns or fit._verdict.check is None))


def believed_nodes(fit: "Fit") -> BoolArray:
    """The nodes that a robust fit believes although they do not look Gaussian, (nodes,)."""
    chosen = np.zeros(len(fit.dag), dtype=bool)
    if fit.trimming is not None:
        chosen[list(fit.trimming.shaped)] = True
        if fit.trimming.judge is not None:
            chosen |= ~fit.trimming.judge.mixture.judged
    return chosen


def _far_z(fit: "Fit", believed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The ends of z in believed cells, (nodes,) each, of believed nodes and their neighbours.

    A neighbour counts because a value that is far off its equation makes its parents look wrong.
    """
    ends = np.full((2, len(fit.dag)), np.nan)
    rows = _rows_in_memory(fit) if believed.any() else None
    if rows is None or not len(rows) or not (fit.network.variance_array > 0.0).all():
        return ends[0], ends[1]
    own = np.array(rows, dtype=np.float64)
    for node, places in doubted_cells(fit).items():
        own[places, node] = np.nan
    step = int(np.ceil(own.size * own.shape[1] / MOST_PRODUCTS)) or 1
    z = CellJudge(fit.network).scores(own[::step]).z
    near = np.array(believed)
    for child, parents in enumerate(fit.dag.families.parent_lists):
        family = [child, *parents]
        if believed[family].any():
            near[family] = True
    ends[:, near] = np.fmin.reduce(z, axis=0)[near], np.fmax.reduce(z, axis=0)[near]
    return ends[0], ends[1]


def _rows_in_memory(fit: "Fit") -> Rows | None:
    """The rows (rows, nodes) of a fit; None if they are elsewhere, or were changed since."""
    try:
        if fit.data is None or not fit.data.table().is_in_memory:
            return None
        return fit.data.table().in_memory("the range of the values").array
    except GaussnetError:
        return None
