r"""Standard errors of sequential trimming: those of least squares over the rows that it keeps.

A row is kept if its residual is within t standard deviations of a fit to the kept rows. With
:math:`\kappa` the variance of a standard normal variable within :math:`\pm t`, that is the
estimator whose score is the residual inside the cutoff and 0 outside. Its coefficients have the
covariance

.. math:: \frac{s^2}{\kappa(t)} (X_F' X_F)^{-1}, \qquad
          s^2 = \frac{RSS_F}{(|F| - p)\, \kappa(t)},

and its variance, the maximum of a truncated normal likelihood, the information

.. math:: \mathrm{var}(\log \hat s^2) = \frac{4}{|F|\, v(t)}, \qquad
          v(t) = 3 \kappa - \kappa^2 - t^2 (1 - \kappa).

Where nothing is left out, t is infinite and all of this is the classical law, which is exact.
"""

from dataclasses import replace

import numpy as np

from gaussnet.data.table import MemoryTable
from gaussnet.methods.base import EquationGroup, Equations
from gaussnet.methods.groups import Fitted
from gaussnet.methods.robust.cutoffs import UNTRUNCATED, truncated_variance
from gaussnet.methods.scales import GaussianCore, KlOptimal
from gaussnet.methods.standard_errors import (
    Assembly,
    Spreads,
    classical,
    enter_mean_squares,
    student,
)
from gaussnet.methods.standard_errors.regressions import Regressions, regress
from gaussnet.types import BoolArray, IntArray, Rows


def fitted_rows(fitted: Fitted, level: float) -> Assembly:
    """Standard error, low and high of coefficients (3, edges), intercepts and variances."""
    trimming, network = fitted.findings, fitted.network
    rows = fitted.data.table().in_memory("this").array
    spreads = Spreads(network.dag.families, same_rows=True)
    assembly = Assembly(network, spreads, level)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        every = range(len(network.dag))
        whole = np.array([n for n in every if n not in trimming.left_out], dtype=np.int64)
        if len(whole):
            _enter(assembly, _whole_group(whole, rows, fitted), np.inf)
        for node in sorted(trimming.left_out):
            group = _kept_group(node, rows, fitted)
            _enter(assembly, group, float(trimming.cutoffs[node]))
            if not isinstance(fitted.scale, GaussianCore | KlOptimal):
                _enter_all_residuals(assembly, fitted, node, rows)
    return assembly


def _enter(assembly: Assembly, group: EquationGroup, cutoff: float) -> None:
    """The nodes of a group, all trimmed at one cutoff."""
    for own in regress(group):
        kept = truncated_variance(cutoff)
        widened = replace(own, squares=own.squares / kept**2)
        nodes = group.nodes[own.block.families]
        enter_mean_squares(assembly.spreads, group.nodes, [widened], assembly.level)
        if kept < 1.0:
            _enter_core(assembly, group, own, cutoff)
        assembly.enter(nodes, classical(widened, assembly.level), group.equations.intercept)


def _enter_core(assembly: Assembly, group: EquationGroup, own: Regressions, cutoff: float) -> None:
    """Replace what the mean square says of the noise by what its truncated law says."""
    from scipy.special import chdtri  # slow to import

    spreads, tail = assembly.spreads, 0.5 - 0.5 * assembly.level
    at = group.nodes[own.block.families]
    freedom = own.freedom * information(cutoff) / 2.0
    noise = own.noise / truncated_variance(cutoff)
    spreads.noise[at] = noise
    spreads.noise_error[at] = np.sqrt(2.0 / freedom)
    spreads.noise_low[at] = freedom * noise / chdtri(freedom, tail)
    spreads.noise_high[at] = freedom * noise / chdtri(freedom, 1.0 - tail)


def _enter_all_residuals(assembly: Assembly, fitted: Fitted, node: int, rows: Rows) -> None:
    """The mean square of all residuals of rows with sound parents, by its fourth moment."""
    trimming, network = fitted.findings, fitted.network
    families = network.dag.families
    own = families.subset(np.array([node]))
    sound: BoolArray = np.logical_not(np.isnan(rows[:, own.columns]).any(axis=1))
    sound[trimming.set_rows.get(node, [])] = False
    for parent in own.parents.tolist():
        if parent in trimming.cells:
            sound[trimming.cells[parent].rows] = False
    values = rows[sound][:, own.columns].astype(np.float64)
    slopes = network.coefficient_array[families.edges_of(np.array([node]))]
    rest = values[:, -1] - values[:, :-1] @ slopes - network.intercept_array[node]
    squares = (rest / np.sqrt(np.mean(rest**2))) ** 2
    left = float(len(rest) - len(slopes) - fitted.data.options.intercept)
    relative = squares.std() / np.sqrt(left) if left > 0 else np.nan
    estimate = network.variance_array[node]
    reach = np.exp(relative * student(assembly.level, np.array([left]))[0])
    assembly.variances[:, node] = estimate * relative, estimate / reach, estimate * reach


def information(cutoff: float) -> float:
    """What a residual kept within +-cutoff says of the log of the scale: v(t), 2 if infinite.

    Examples
    --------
    >>> information(np.inf), round(information(3.0), 3)
    (2.0, 1.733)
    """
    if cutoff > UNTRUNCATED:
        return 2.0
    kept = truncated_variance(cutoff)
    return 3.0 * kept - kept**2 - cutoff**2 * (1.0 - kept)


def _whole_group(nodes: IntArray, rows: Rows, fitted: Fitted) -> EquationGroup:
    """The nodes that leave out no row."""
    families, options = fitted.network.dag.families, fitted.data.options
    by_size = nodes[np.argsort(families.sizes[nodes], kind="stable")]
    table = MemoryTable.of(rows, options.dag.nodes, options.page_rows, fitted.data.run)
    equations = Equations(families.subset(by_size), options.intercept, table.limits)
    return EquationGroup(by_size, equations, table.surveyed(True))


def _kept_group(node: int, rows: Rows, fitted: Fitted) -> EquationGroup:
    """One node and the rows that its coefficients rest on."""
    columns = fitted.network.dag.families.subset(np.array([node])).columns
    kept = np.delete(rows[:, columns], fitted.findings.left_out[node], axis=0)
    return fitted.node_group(node, kept)
