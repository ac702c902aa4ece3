"""Columns of tiny or huge numbers, learnt in units in which their squares are numbers too."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.robust.sequential_trim import RobustSolution
from gaussnet.types import FloatArray, IntArray, Rows

SMALLEST, LARGEST = 1e-250, 1e250
"""Variances outside of these come from squares that may have lost digits or all of them."""


def learn_in_units(
    learn: Callable[[Rows], RobustSolution], rows: Rows, families: Families
) -> RobustSolution:
    """Learn from the rows, or from rows in units of powers of 2 if variances show the need.

    Scaling by powers of 2 is exact, so the answer is that of the rows themselves.
    """
    solution = _learn_or_none(learn, rows)
    if solution is not None:
        with np.errstate(invalid="ignore"):
            fine = (solution.variances > SMALLEST) & (solution.variances < LARGEST)
        if fine.all():
            return solution
    units = _units(rows)
    if solution is not None and not (np.abs(units) > np.log2(LARGEST) / 3).any():
        return solution
    scaled = np.ldexp(np.asarray(rows, dtype=np.float64), -units)
    found = _in_own_units(learn(scaled), families, units)
    recorded = {
        node: rows[cells.rows, node].astype(np.float64) for node, cells in found.cells.items()
    }
    return replace(found, recorded=recorded)


def _learn_or_none(learn: Callable[[Rows], RobustSolution], rows: Rows) -> RobustSolution | None:
    """The solution from the rows as they are; None if squares of their values overflow."""
    try:
        return learn(rows)
    except OverflowError:
        return None


def _units(rows: Rows) -> IntArray:
    """Exponents of the powers of 2 that the columns' typical values are of, (columns,)."""
    sizes = np.asarray(np.nanmedian(np.abs(rows), axis=0), dtype=np.float64)
    return np.asarray(np.frexp(sizes)[1], dtype=np.int64)


@np.errstate(over="ignore", under="ignore")
def _in_own_units(solution: RobustSolution, families: Families, units: IntArray) -> RobustSolution:
    own = units[families.children[families.family_of_edge]]
    return replace(
        solution,
        coefficients=np.ldexp(solution.coefficients, own - units[families.parents]),
        intercepts=np.ldexp(solution.intercepts, units),
        variances=np.ldexp(solution.variances, 2 * units),
        cells={node: _cells(cells, int(units[node])) for node, cells in solution.cells.items()},
    )


def _cells(cells: SuspiciousCells, unit: int) -> SuspiciousCells:
    def scaled(values: FloatArray, power: int) -> FloatArray:
        return np.asarray(np.ldexp(values, power))

    return replace(
        cells, expected=scaled(cells.expected, unit), variances=scaled(cells.variances, 2 * unit)
    )
