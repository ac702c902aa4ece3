"""Standard errors of the robust method: those of maximum likelihood over the cells it believes.

Flagged cells count as missing, so that errors follow from the observed information of the others
(`observed_information`). Where nothing is flagged they are the classical ones of least squares,
which are exact. That a flag is itself uncertain takes information as well, by the same identity of
Louis: the covariance of the scores over all combinations of cells in doubt, which the mixture finds
family by family.
"""

from functools import partial

import numpy as np

from gaussnet.data.table import MemoryTable
from gaussnet.methods.groups import Fitted
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.likelihood import Parameters
from gaussnet.methods.robust.judge import BelievedPass
from gaussnet.methods.scales import GaussianCore, KlOptimal
from gaussnet.methods.standard_errors import Assembly, assemble, student
from gaussnet.methods.standard_errors.observed_information import (
    ParameterLaw,
    Scores,
    observed_errors,
    parameter_law,
)
from gaussnet.types import FloatArray


def believed_cells(fitted: Fitted, level: float) -> Assembly:
    """Standard error, low and high of coefficients (3, edges), intercepts and variances."""
    if fitted.findings.is_untouched and fitted.data.has_all_rows:
        return assemble(LeastSquares(), fitted, "classical", level)
    found = observed_errors(fitted, level, believed_law(fitted))
    if not isinstance(fitted.scale, GaussianCore | KlOptimal):
        _enter_all_residuals(found, fitted, believed_rows(fitted))
    return found


def believed_law(fitted: Fitted) -> ParameterLaw:
    """What the believed cells say of all parameters together."""
    options, lost = fitted.data.options, partial(doubtful_information, fitted)
    if fitted.findings.counts is not None:
        believed = partial(BelievedPass, judge=fitted.findings.judge)
        return parameter_law(fitted, also_lost=lost, asked=believed)
    rows = believed_rows(fitted)
    table = MemoryTable.of(rows, options.dag.nodes, options.page_rows, fitted.data.run)
    return parameter_law(fitted, table.surveyed(False), lost)


def believed_rows(fitted: Fitted) -> FloatArray:
    """The rows of a fit with NaN for every cell that it does not believe, (rows, nodes)."""
    rows = np.array(fitted.data.table().in_memory("this").array, dtype=np.float64)
    for node, own in fitted.findings.disbelieved_cells.items():
        rows[own, node] = np.nan
    return rows


def doubtful_information(fitted: Fitted, model: Parameters) -> FloatArray:
    """What doubts take, as `observed_information` lays out its scores; families by themselves."""
    families, sizes = model.families, fitted.network.dag.families.sizes + 2
    count = len(families.parents) + 2 * len(families)
    found, taken = np.zeros((count, count)), fitted.findings.lost
    if taken is None:
        return found
    starts, scores = np.cumsum(sizes**2) - sizes**2, Scores.of(families)
    for family, node in enumerate(families.children.tolist()):
        edges = slice(*families.offsets[family : family + 2].tolist())
        own = (scores.constants[family, None], scores.variances[family, None])
        at, size = np.concatenate((scores.slopes[edges], *own)), int(sizes[node])
        found[np.ix_(at, at)] = taken[starts[node] : starts[node] + size**2].reshape(size, size)
    return found


def _enter_all_residuals(assembly: Assembly, fitted: Fitted, believed: FloatArray) -> None:
    """The mean square of all residuals of rows with sound parents, by its fourth moment."""
    network = fitted.network
    families, every = network.dag.families, fitted.data.table().in_memory("this").array
    for node in sorted(fitted.findings.left_out):
        own = families.subset(np.array([node]))
        sound = ~np.isnan(believed[:, own.parents]).any(axis=1) & ~np.isnan(every[:, node])
        slopes = network.coefficient_array[families.edges_of(np.array([node]))]
        rest = every[sound, node] - believed[np.ix_(sound, own.parents)] @ slopes
        squares = (rest - network.intercept_array[node]) ** 2
        left = float(len(rest) - len(slopes) - fitted.data.options.intercept)
        relative = squares.std() / squares.mean() / np.sqrt(left) if left > 0 else np.nan
        estimate = network.variance_array[node]
        reach = np.exp(relative * student(assembly.level, np.array([left]))[0])
        assembly.variances[:, node] = estimate * relative, estimate / reach, estimate * reach
