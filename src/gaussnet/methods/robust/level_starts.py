"""A start for the mixture in which no level of a category is doubted as a whole.

What a node is at one level of its discrete parents is known from the rows of that level alone. If
one wrong value carries the estimate away, the right ones look wrong, and once they are all doubted
nothing speaks for them any more. So where most cells of a level are doubted and most of them agree
with one another, these are believed again, the equation is learnt from them, and the likelihood
decides between both answers.
"""

from collections.abc import Iterator

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.methods.robust.mixture import Equation, Mixture, network_equation
from gaussnet.methods.robust.starts import mixture_from
from gaussnet.types import BoolArray, FloatArray, IntArray

FEWEST_CELLS = 3
"""Fewer cells of a level that agree with one another say nothing."""
AGREEING = 5.0
"""Cells within so many standard deviations of the noise of their median agree."""
MOST_LEVELS = 100
"""With more combinations of levels each has few rows, and nobody looks at them."""


def level_start(mixture: Mixture, doubted: BoolArray) -> Mixture | None:
    """The mixture before its first round, with levels believed again; None if there are none."""
    families, equation = mixture.layout.families, mixture.equation
    believed = doubted.copy()
    with np.errstate(invalid="ignore"):
        rest = kernels.residuals(mixture.rows - equation.means, families, equation.coefficients).T
    for node in np.flatnonzero(mixture.judged & doubted.any(axis=0)).tolist():
        sd = float(np.sqrt(equation.variances[node]))
        for rows in _levels(mixture, node):
            agreeing = _agreeing(rest[rows, node], doubted[rows, node], sd)
            believed[rows[agreeing], node] = False
    changed = np.flatnonzero((believed != doubted).any(axis=0))
    if not len(changed):
        return None
    learnt = _learnt(mixture, believed, changed)
    parts = (mixture.rows, mixture.layout, mixture.intercept, learnt, believed, mixture.judged)
    return mixture_from(*parts)


def _levels(mixture: Mixture, node: int) -> Iterator[IntArray]:
    """The rows of each combination of values of a node's discrete parents."""
    parents = np.array(mixture.layout.families.parent_lists[node], dtype=np.int64)
    discrete = parents[~mixture.judged[parents]]
    if not len(discrete):
        return
    values = mixture.rows[:, discrete]
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    levels, numbers = np.unique(values[known], axis=0, return_inverse=True)
    if len(levels) < MOST_LEVELS:
        for number in range(len(levels)):
            yield known[numbers.reshape(-1) == number]


def _agreeing(rest: FloatArray, doubted: BoolArray, sd: float) -> BoolArray:
    """Which residuals of a level agree with one another, if most are doubted; else none."""
    known = ~np.isnan(rest)
    count = int(np.count_nonzero(known))
    if count < FEWEST_CELLS or 2 * np.count_nonzero(doubted & known) <= count:
        return np.zeros(len(rest), dtype=bool)
    with np.errstate(invalid="ignore"):
        near: BoolArray = np.abs(rest - np.median(rest[known])) <= AGREEING * sd
    enough = np.count_nonzero(near) >= max(FEWEST_CELLS, 0.5 * count)
    return near & enough


def _learnt(mixture: Mixture, doubted: BoolArray, nodes: IntArray) -> Equation:
    """The equations, with those of some nodes learnt from the cells that are not doubted."""
    families, old = mixture.layout.families, mixture.equation
    coefficients, constants = old.coefficients.copy(), _constants(families, old)
    bad = doubted | np.isnan(mixture.rows)
    for node in nodes.tolist():
        edges = slice(*families.offsets[node : node + 2].tolist())
        parents = families.parents[edges]
        rows = mixture.rows[~bad[:, [node, *parents.tolist()]].any(axis=1)]
        ones = np.full((len(rows), 1), float(mixture.intercept))
        design = np.hstack((rows[:, parents], ones))
        found = np.linalg.lstsq(design, rows[:, node], rcond=None)[0]
        coefficients[edges], constants[node] = found[:-1], found[-1]
    return network_equation(families, coefficients, constants, old.variances)


def _constants(families: Families, equation: Equation) -> FloatArray:
    """The constants of the equations, (nodes,)."""
    means = equation.means[None, :]
    return np.asarray(kernels.residuals(means, families, equation.coefficients)[:, 0])
