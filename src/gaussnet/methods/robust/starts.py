"""Where the mixture starts from: several cheap guesses, none of which is right for all data.

The walk over the nodes is right where errors are gross. Ranks are right where many cells are
moderately wrong. Concentration on the likeliest rows is right where whole rows are foreign. The
likelihood of the mixture chooses.
"""

from dataclasses import replace

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.methods.robust.mixture import (
    FEWEST_FOREIGN,
    MISSING,
    WRONG,
    Equation,
    Laws,
    Mixture,
    foreign_network,
    marginal_variances,
)
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.types import BoolArray, FloatArray, Rows

MAD_FACTOR = 1.482602218505602
FAR = 3.0
"""A cell this many standard deviations from the median is doubted at first."""

NARROWED = 0.15
"""The variance of noise that ranks start with, as a share of what they say."""

CORE_SHARE, CORE_STEPS, CORE_ROWS = 0.6, 30, 2_000
"""The share of the rows that concentration keeps, its most steps, and its most rows."""

MOST_FOREIGN = 0.45


def mixture_from(
    rows: Rows,
    layout: SparsePrecision,
    intercept: bool,
    equation: Equation,
    doubted: BoolArray,
    judged: BoolArray,
) -> Mixture:
    """The mixture before its first round, with doubted cells taken for wrong."""
    marginal = marginal_variances(layout.families, equation)
    with np.errstate(invalid="ignore"):
        centres: FloatArray = np.nanmedian(np.asarray(rows, dtype=np.float64), axis=0)
    doubted = doubted & judged
    laws = Laws.initial(equation.variances, marginal, centres)
    laws = laws.with_kinds(rows, doubted, equation.variances)
    chances = np.where(judged, np.clip(doubted.mean(axis=0), 1e-3, 0.45), 0.0)
    wrong = np.where(np.isnan(rows), MISSING, np.where(doubted, WRONG, 0)).astype(np.uint8)
    return Mixture(rows, layout, intercept, equation, laws, chances, wrong, common=~judged)


def robust_scales(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Median and a scale of each column, (columns,) each; the scale of tied values is not 0."""
    values = np.asarray(rows, dtype=np.float64)
    middle: FloatArray = np.nanmedian(values, axis=0)
    scales: FloatArray = MAD_FACTOR * np.nanmedian(np.abs(values - middle), axis=0)
    spread: FloatArray = np.nanstd(values, axis=0)
    return middle, np.where(scales > 0.0, scales, np.where(spread > 0.0, spread, 1.0))


def rank_start(rows: Rows, layout: SparsePrecision, intercept: bool) -> tuple[Equation, BoolArray]:
    """Least squares of normal scores, scaled to the medians and MADs of the columns.

    Cells beyond 3 MADs from the median are doubted. What is wrong widens the noise, and then looks
    right: so noise is taken for much smaller than it seems. Cells that are right come back soon.
    """
    from scipy.special import ndtri  # slow to import
    from scipy.stats import rankdata  # slow to import

    middle, scales = robust_scales(rows)
    centre = middle if intercept else np.zeros(len(middle))
    counts = np.sum(~np.isnan(rows), axis=0)
    ranks = rankdata(rows, axis=0, nan_policy="omit")
    scores = np.nan_to_num(ndtri((ranks - 0.5) / counts))
    doubted = np.abs(np.nan_to_num(rows - middle)) > FAR * scales
    found = _least_squares(scores * scales, layout, centre, scales)
    return replace(found, variances=NARROWED * found.variances), doubted


def row_start(
    rows: Rows, layout: SparsePrecision, intercept: bool, judged: BoolArray
) -> tuple[Equation, BoolArray]:
    """Least squares of the rows that the network finds likeliest, again and again.

    These are the concentration steps of the minimum covariance determinant (Rousseeuw and Van
    Driessen, 1999), with the network in place of a covariance matrix; they start from ranks. Gives
    the rows that do not belong. Columns that are not judged have no say.
    """
    from scipy.special import chdtri  # slow to import

    families, (middle, scales) = layout.families, robust_scales(rows)
    whole = np.where(np.isnan(rows), middle, rows)
    some = whole[np.linspace(0, len(whole) - 1, min(len(whole), CORE_ROWS)).astype(np.int64)]
    equation, _ = rank_start(some, layout, intercept)
    for _ in range(CORE_STEPS):
        far = _distances(some, families, equation)[:, judged].sum(axis=1)
        core = some[far <= np.quantile(far, CORE_SHARE)]
        centre = core.mean(axis=0) if intercept else np.zeros(whole.shape[1])
        before, equation = equation, _least_squares(core - centre, layout, centre, scales)
        if np.allclose(equation.coefficients, before.coefficients):
            break
    squares = _distances(whole, families, equation)
    typical = np.maximum(np.median(squares, axis=0) / 0.4549364, 1e-12)
    typical[~judged] = 1.0
    equation = Equation(equation.coefficients, equation.means, equation.variances * typical)
    far = (squares / typical)[:, judged].sum(axis=1)
    foreign = far > chdtri(np.count_nonzero(judged), 0.001)
    if foreign.mean() > MOST_FOREIGN:
        foreign = far > np.quantile(far, 0.7)
    return equation, np.asarray(foreign)


def with_foreign(mixture: Mixture, foreign: BoolArray) -> Mixture:
    """The mixture with a second network for rows that do not belong, if they are many enough."""
    if foreign.sum() < FEWEST_FOREIGN:
        return mixture
    share = min(float(foreign.mean()), 0.49)
    return replace(mixture, foreign=foreign_network(mixture, foreign.astype(np.float64), share))


def _least_squares(
    centred: FloatArray, layout: SparsePrecision, means: FloatArray, scales: FloatArray
) -> Equation:
    """Least squares of centred rows; noise is never below a thousandth of the column's."""
    order, families = layout.by_size
    _, products = kernels.family_moments(centred, families, False)
    entries = np.zeros(len(layout.neighbours))
    entries[layout.of_product[0]] = products
    coefficients, variances, sound = layout.solve(
        entries, np.zeros(len(order)), float(len(centred))
    )
    coefficients = np.where(sound[layout.families.family_of_edge], coefficients, 0.0)
    spread = np.mean(centred**2, axis=0)
    variances = np.where(sound, variances, spread)
    return Equation(coefficients, means, np.maximum(variances, 1e-6 * scales**2))


def _distances(rows: FloatArray, families: Families, equation: Equation) -> FloatArray:
    """Squared residuals in units of the noise, (rows, nodes)."""
    rest = kernels.residuals(rows - equation.means, families, equation.coefficients).T
    return np.asarray(rest**2 / equation.variances)
