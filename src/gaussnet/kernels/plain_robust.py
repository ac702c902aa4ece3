"""The kernels of the robust estimator: what they take and give.

Without compiled kernels its steps are done where they are defined, in
`gaussnet.estimate.robust`: screening.py for all families at once, trimming.py for one node.
"""

from typing import NamedTuple

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.kernels.families import Families


class Screen(NamedTuple):
    """Least squares of all families over all rows, and the limits of its checks."""

    part: tuple[int, int]
    """First and last + 1 of the families to look at."""
    intercept: bool
    spread: float
    """Largest ratio of the least-squares scale to the median scale."""
    gate_level: float
    coefficients: FloatArray
    """(edges,)"""
    intercepts: FloatArray
    """(families,)"""
    squares: FloatArray
    """Residual sums of squares, (families,)."""
    half: FloatArray
    """Largest half-sample statistics, (families,)."""


class TrimTask(NamedTuple):
    """A node to be trimmed, and the rows to be judged."""

    child: int
    parents: IntArray
    rows: IntArray
    intercept: bool


class TrimAnswer(NamedTuple):
    """Least squares over the kept rows."""

    scale: float
    """Standard deviation of the noise, corrected for freedom and truncation."""
    cutoff: float
    """Infinite if all rows are kept."""
    reference: float
    """What the child was centred at."""
    pivot: float
    """Smallest pivot of the cross-products scaled to unit diagonal."""
    coefficients: FloatArray
    """Of the constant, if there is an intercept, and of the parents, (p,)."""
    centres: FloatArray
    """What the parents were centred at."""
    whitener: FloatArray
    """W with ``(Z Z')^-1 = W' W`` for the columns Z of the kept rows, (p, p)."""
    residuals: FloatArray
    """(rows,)"""
    kept: BoolArray
    """(rows,)"""


def whole_columns(x: Rows) -> FloatArray:
    """The same values (rows, columns) as float64, each column without gaps."""
    return np.asfortranarray(x, dtype=np.float64)


def screen_families(columns: FloatArray, families: Families, screen: Screen) -> FloatArray:
    """Whether least squares of some families needs no trimming: 1, 0, or NaN: left to the caller."""
    return np.full(screen.part[1] - screen.part[0], np.nan)


def trim_family(columns: FloatArray, task: TrimTask, limits: FloatArray) -> TrimAnswer | None:
    """Trimmed least squares of one child on its parents; None: left to the caller."""
    return None
