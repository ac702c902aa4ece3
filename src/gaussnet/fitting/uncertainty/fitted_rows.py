r"""Errors of the robust method: those of least squares over the rows that it keeps.

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
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri

from gaussnet.data.pages import cut_pages
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.uncertainty.assembly import Assembly
from gaussnet.fitting.uncertainty.regressions import Regressions, regress
from gaussnet.fitting.uncertainty.slopes import classical, student
from gaussnet.fitting.uncertainty.spread import Spreads, enter_mean_squares
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations
from gaussnet.methods.robust.normal import BEYOND_DOUBT, truncated_variance
from gaussnet.methods.scales import GaussianCore, KlOptimal
from gaussnet.types import BoolArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.fitting.evidence import Evidence
    from gaussnet.fitting.outliers import Trimming
    from gaussnet.fitting.result import Fit


def fitted_rows(fit: "Fit", evidence: "Evidence", level: float) -> Assembly:
    """Standard error, low and high of coefficients (3, edges), intercepts and variances."""
    trimming = fit.trimming
    assert trimming is not None
    rows, _ = evidence.rows()
    spreads = Spreads(fit.dag.families, same_rows=True)
    assembly = Assembly(fit.network, spreads, level)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        every = range(len(fit.dag))
        whole = np.array([n for n in every if n not in trimming.left_out], dtype=np.int64)
        if len(whole):
            _enter(assembly, _whole_portion(whole, rows, evidence), evidence, np.inf)
        for node in sorted(trimming.left_out):
            portion = _kept_portion(node, rows, trimming, evidence)
            _enter(assembly, portion, evidence, float(trimming.cutoffs[node]))
            if not isinstance(fit.scale, GaussianCore | KlOptimal):
                _enter_all_residuals(assembly, fit, node, rows)
    return assembly


def _enter(assembly: Assembly, portion: Portion, evidence: "Evidence", cutoff: float) -> None:
    """The nodes of a portion, all trimmed at one cutoff."""
    for own in regress(portion, evidence.work):
        kept = truncated_variance(cutoff)
        widened = replace(own, squares=own.squares / kept**2)
        nodes = portion.nodes[own.block.families]
        enter_mean_squares(assembly.spreads, portion.nodes, [widened], assembly.level)
        if kept < 1.0:
            _enter_core(assembly, portion, own, cutoff)
        assembly.enter(nodes, classical(widened, assembly.level), evidence.reading.intercept)


def _enter_core(assembly: Assembly, portion: Portion, own: Regressions, cutoff: float) -> None:
    """Replace what the mean square says of the noise by what its truncated law says."""
    spreads, tail = assembly.spreads, 0.5 - 0.5 * assembly.level
    at = portion.nodes[own.block.families]
    freedom = own.freedom * information(cutoff) / 2.0
    noise = own.noise / truncated_variance(cutoff)
    spreads.noise[at] = noise
    spreads.noise_error[at] = np.sqrt(2.0 / freedom)
    spreads.noise_low[at] = freedom * noise / chdtri(freedom, tail)
    spreads.noise_high[at] = freedom * noise / chdtri(freedom, 1.0 - tail)


def _enter_all_residuals(assembly: Assembly, fit: "Fit", node: int, rows: Rows) -> None:
    """The mean square of all residuals of rows with sound parents, by its fourth moment."""
    trimming, families = fit.trimming, fit.dag.families
    assert trimming is not None
    own = families.subset(np.array([node]))
    sound: BoolArray = np.logical_not(np.isnan(rows[:, own.columns]).any(axis=1))
    for parent in own.parents.tolist():
        if parent in trimming.cells:
            sound[trimming.cells[parent].rows] = False
    values = rows[sound][:, own.columns].astype(np.float64)
    slopes = fit.network.coefficient_array[families.edges_of(np.array([node]))]
    rest = values[:, -1] - values[:, :-1] @ slopes - fit.network.intercept_array[node]
    squares = (rest / np.sqrt(np.mean(rest**2))) ** 2
    left = float(len(rest) - len(slopes) - fit.intercept)
    relative = squares.std() / np.sqrt(left) if left > 0 else np.nan
    estimate = fit.network.variance_array[node]
    reach = np.exp(relative * student(assembly.level, np.array([left]))[0])
    assembly.variances[:, node] = estimate * relative, estimate / reach, estimate * reach


def information(cutoff: float) -> float:
    """What a residual kept within +-cutoff says of the log of the scale: v(t), 2 if infinite.

    Examples
    --------
    >>> information(np.inf), round(information(3.0), 3)
    (2.0, 1.733)
    """
    if cutoff > BEYOND_DOUBT:
        return 2.0
    kept = truncated_variance(cutoff)
    return 3.0 * kept - kept**2 - cutoff**2 * (1.0 - kept)


def _whole_portion(nodes: IntArray, rows: Rows, evidence: "Evidence") -> Portion:
    """The nodes that leave out no row."""
    families = evidence.reading.dag.families
    by_size = nodes[np.argsort(families.sizes[nodes], kind="stable")]
    equations = Equations(families.subset(by_size), evidence.reading.intercept)
    return Portion(by_size, equations, cut_pages(rows, evidence.reading.page_rows))


def _kept_portion(node: int, rows: Rows, trimming: "Trimming", evidence: "Evidence") -> Portion:
    """One node and the rows that its coefficients rest on."""
    own = evidence.reading.dag.families.subset(np.array([node]))
    size = len(own.parents)
    kept = np.delete(rows[:, own.columns], trimming.left_out[node], axis=0)
    alone = Families(np.array([size]), np.array([0, size]), np.arange(size))
    pages = cut_pages(kept, evidence.reading.page_rows)
    return Portion(np.array([node]), Equations(alone, evidence.reading.intercept), pages)
