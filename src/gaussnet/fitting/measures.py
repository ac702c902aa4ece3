"""How well the model fits: chi-square, RMSEA, CFI, TLI, SRMR and others, and R2 of the data.

The names and definitions are those of lavaan (Rosseel 2012, Journal of Statistical Software 48),
with the likelihood that divides by the number of rows.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Pass, Stripe
from gaussnet.data.table import Table, ask
from gaussnet.errors import EstimationError
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import shown
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.groups import Fitted
from gaussnet.methods.moments import CrossMoments, CrossMomentsPass, Moments, MomentsPass
from gaussnet.methods.standard_errors.regressions import regress
from gaussnet.model.network import GaussianNetwork
from gaussnet.named_rows import named
from gaussnet.tails import PValue
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.data.frames import FrameKind
    from gaussnet.fitting.result import Fit

CLOSE = 0.05
"""RMSEA up to which a model is said to fit closely."""
INTERVAL = 0.9
"""Level of the interval of RMSEA, as everywhere."""
COUNTS = ("npar", "ntotal", "df", "baseline.df")
"""Measures that are whole numbers."""


@dataclass(frozen=True, eq=False)
class FitMeasures(Tabular, Mapping[str, float]):
    """Measures of fit by their names in lavaan; NaN where a measure does not exist.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[a][b|a][c|b]", nodes="abc"), seed=0)
    >>> found = gn.fit(truth.sample(500, seed=1), truth.dag).fit_measures()
    >>> found["df"], round(found["chisq"], 2), round(found["cfi"], 3)
    (1.0, 1.89, 0.999)
    """

    values_by_name: Mapping[str, float]
    notes: tuple[str, ...] = ()
    """What they rest on, where these are not all values of the rows."""

    def __getitem__(self, name: str) -> float:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def table(self) -> ResultTable:
        """The measures as a table, one row each."""
        kinds: dict[str, Callable[[float], float]] = dict.fromkeys(COUNTS, int)
        kinds |= {name: PValue for name in self if name.endswith("pvalue")}
        values = [kinds.get(name, float)(value) for name, value in self.items()]
        columns = (
            Column("measure", "measure", list(self), "text"),
            Column("value", "value", values, "measure"),
        )
        return ResultTable("Measures of fit", columns, self.notes)

    def to_frame(self, kind: "FrameKind" = "pandas") -> Any:
        """The measures as a "pandas" or "polars" data frame."""
        from gaussnet.data.frames import new_frame  # slow to import

        return new_frame({"measure": list(self), "value": list(self.values())}, kind)

    def __repr__(self) -> str:
        return f"FitMeasures({', '.join(f'{name}={self[name]:.4g}' for name in self)})"

    def __str__(self) -> str:
        return str(self.table())


def find_measures(fit: "Fit") -> FitMeasures:
    r"""Measures of fit of a network that maximises the likelihood of its rows.

    .. math:: \chi^2 = 2 (\ell_{all} - \ell) = m \left(\sum_i \log s_i^2 - \log |S|\right)

    twice the gap of the log-likelihood to that of a model with every edge, with S the covariance
    of m complete rows; there is a degree of freedom for each missing edge. With missing cells
    and ``missing="likelihood"`` both likelihoods are those of the cells that are there. The
    baseline has no edges and, as lavaan's, no covariances unless all roots covary; the indicators
    of a category covary in any case, because only one of them can be 1.

    A robust fit is not one of largest likelihood. Where it flagged values, or some are missing, the
    measures are those of maximum likelihood over the values that it believes, the others taken as
    missing, and a note says so.
    """
    if _distrusts_values(fit):
        return _over_believed_values(fit)
    found = _over_holes(fit) if fit.method.fills_holes else _over_rows(fit)
    rows, nodes = fit.rows, len(fit.dag)
    pairs, model = nodes * (nodes - 1) // 2, found.discrepancy(fit)
    unrelated = pairs - sum(len(own) for _, own in _baseline(fit.dag))
    baseline = Discrepancy(2.0 * (found.every_edge - found.no_edge), unrelated, rows)
    count = int(fit.details.ranks.sum()) + nodes * (1 + int(fit.intercept))
    with_means = pairs + nodes + nodes * int(fit.intercept)
    covariances, means = _residuals(fit.network, found)
    low, high = model.rmsea_interval()
    values = {
        "npar": count,
        "ntotal": rows,
        "chisq": model.chisq,
        "df": model.df,
        "pvalue": model.pvalue,
        "baseline.chisq": baseline.chisq,
        "baseline.df": baseline.df,
        "baseline.pvalue": baseline.pvalue,
        "cfi": _cfi(model, baseline),
        "tli": _tli(model, baseline),
        "logl": found.model,
        "unrestricted.logl": found.model + 0.5 * model.chisq,
        "aic": 2.0 * count - 2.0 * found.model,
        "bic": count * math.log(rows) - 2.0 * found.model,
        "rmsea": model.rmsea,
        "rmsea.ci.lower": low,
        "rmsea.ci.upper": high,
        "rmsea.pvalue": model.close_pvalue,
        "srmr": math.sqrt((covariances + means) / with_means),
        "srmr_bentler_nomean": math.sqrt(covariances / (pairs + nodes)),
    }
    return FitMeasures({name: float(value) for name, value in values.items()})


class Likelihoods(NamedTuple):
    """Log-likelihoods of three models, and the moments that the one with every edge has."""

    model: float
    every_edge: float
    no_edge: float
    mean: FloatArray
    covariance: FloatArray

    def discrepancy(self, fit: "Fit") -> "Discrepancy":
        """The model against that with every edge."""
        nodes = len(fit.dag)
        missing_edges = nodes * (nodes - 1) // 2 - len(fit.dag.edges)
        gap = 2.0 * (self.every_edge - self.model) if missing_edges else 0.0
        return Discrepancy(gap, missing_edges, fit.rows)


def is_usual(fit: "Fit") -> bool:
    r"""Whether chi-square is clearly no larger than chance makes it, by a p-value above 0.02.

    .. math:: \Big(\frac{\chi^2}{d}\Big)^{1/3} < 1 - \frac{2}{9 d} + 2 \sqrt{\frac{2}{9 d}}

    with d degrees of freedom (Wilson and Hilferty, 1931), or those that allow for the number of
    rows: looked at first, because SciPy, which has the p-values, takes long to import. False where
    it would take a fit of its own.
    """
    if _distrusts_values(fit) or fit.method.fills_holes:
        return False
    model = _over_rows(fit).discrepancy(fit)
    if not model.df or _is_below(model.chisq, model.df):
        return True
    rows = int(fit.details.rows.min(initial=fit.rows))
    mean, variance = expected_chi_square(fit.dag, rows, fit.intercept)
    return variance > 0.0 and _is_below(
        2.0 * model.chisq * mean / variance, 2.0 * mean**2 / variance
    )


def _is_below(chisq: float, df: float) -> bool:
    """Whether the statistic is less than two standard deviations above its mean, as a cube root."""
    part = 2.0 / (9.0 * df)
    return math.cbrt(max(chisq, 0.0) / df) < 1.0 - part + 2.0 * math.sqrt(part)


def _distrusts_values(fit: "Fit") -> bool:
    """Whether this is a robust fit that left values out, and all of them are known."""
    if fit.trimming is None or fit.trimming.counts is not None or fit.data is None:
        return False
    if fit.has_dependent_rows or fit.details.set_rows.any():
        return False
    return not fit.maximizes_likelihood or bool(fit.details.dropped.any())


def _over_believed_values(fit: "Fit") -> FitMeasures:
    """The measures of maximum likelihood over the values that a robust fit believes."""
    from gaussnet.fitting.learn import fit as learn

    data = fit.required_data("ask for measures of fit where the data are, or fit again")
    from gaussnet.methods.robust.believed_cells import believed_rows  # much to import

    rows = believed_rows(Fitted(fit.network, fit.scale, data, fit.trimming))
    rows = rows[~np.isnan(rows).all(axis=1)]
    again = learn(
        named(rows, fit.dag.nodes), fit.dag, intercept=fit.intercept, missing="likelihood"
    )
    flagged = sum(fit.node(node).flagged for node in fit.dag.nodes)
    note = (
        f"{counted(flagged, 'flagged value')} taken as missing: these are the measures of maximum "
        "likelihood over the values that are believed"
    )
    return FitMeasures(find_measures(again).values_by_name, (note,))


def _over_rows(fit: "Fit") -> Likelihoods:
    """Of complete rows, from their covariance."""
    _require_likelihood(fit)
    moments = _moments(fit)
    covariance = moments.covariance
    log_all = _log_determinant(covariance)
    factors = fit.scale.factors(fit.rows, fit.details.ranks, fit.intercept)
    log_noise = float(np.log(fit.network.variance_array / factors).sum())
    log_none = sum(_log_variance(covariance, *family) for family in _baseline(fit.dag))
    start = -0.5 * fit.rows * len(fit.dag) * (math.log(2.0 * math.pi) + 1.0)
    model, every, none = (start - 0.5 * fit.rows * one for one in (log_noise, log_all, log_none))
    return Likelihoods(model, every, none, moments.means, covariance)


def _over_holes(fit: "Fit") -> Likelihoods:
    """Of the cells that are there: the graphs with every edge and without any are learnt too."""
    from gaussnet.fitting.learn import fit_with

    data = fit.required_data("ask for measures of fit where the data are, or fit again")
    _require_rows(fit)
    nodes = len(fit.dag)

    def learnt(parents: list[list[int]]) -> "Fit":
        options = replace(data.options, dag=Dag.from_parents(fit.dag.nodes, parents))
        return fit_with(data.run, data.given, options, (fit.method, fit.scale))

    every = learnt([list(range(node)) for node in range(nodes)])
    none = learnt([own for _, own in _baseline(fit.dag)])
    moments = every.network.mean(), every.network.covariance()
    return Likelihoods(
        fit.log_likelihood, every.log_likelihood, none.log_likelihood, moments[0], moments[1]
    )


def _log_variance(covariance: FloatArray, node: int, parents: list[int]) -> float:
    """Log of the variance that is left of a node given its parents."""
    if not parents:
        return math.log(covariance[node, node])
    across = covariance[parents, node]
    explained = across @ np.linalg.solve(covariance[np.ix_(parents, parents)], across)
    return math.log(covariance[node, node] - explained)


def _baseline(dag: Dag) -> list[tuple[int, list[int]]]:
    """Every node and its parents in the baseline, by which roots covary if all of them do.

    The indicators of a category always covary: only one of them can be 1.

    Examples
    --------
    >>> dag = Dag.parse("y ~ fuel + age").with_factors({"fuel": ("Diesel", "Gas", "Petrol")})
    >>> [(dag.nodes[node], [dag.nodes[one] for one in own]) for node, own in _baseline(dag) if own]
    [('fuel[Petrol]', ['fuel[Gas]'])]
    """
    if dag.covariances == dag.with_correlated_roots().covariances:
        both = zip(dag.families.parent_lists, dag.parent_lists, strict=True)
        return [(node, [] if given else own) for node, (own, given) in enumerate(both)]
    categories = [dag.indicators.get(node, (None,))[0] for node in dag.nodes]
    return [
        (node, [one for one in range(node) if category and categories[one] == category])
        for node, category in enumerate(categories)
    ]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A likelihood-ratio statistic against the model with every edge."""

    chisq: float
    df: int
    rows: int

    @property
    def pvalue(self) -> float:
        """Of the statistic; NaN without degrees of freedom."""
        from scipy.special import chdtrc  # slow to import

        return float(chdtrc(self.df, max(self.chisq, 0.0))) if self.df else math.nan

    @property
    def excess(self) -> float:
        """The statistic beyond its mean under the model, at least 0."""
        return max(self.chisq - self.df, 0.0)

    @property
    def rmsea(self) -> float:
        """Root mean square error of approximation."""
        return math.sqrt(self.excess / (self.df * self.rows)) if self.df else 0.0

    @property
    def close_pvalue(self) -> float:
        """P-value of the hypothesis that RMSEA is at most 0.05."""
        from scipy.special import chndtr  # slow to import

        if not self.df:
            return math.nan
        noncentral = self.rows * self.df * CLOSE**2
        return float(1.0 - chndtr(max(self.chisq, 0.0), self.df, noncentral))

    def rmsea_interval(self) -> tuple[float, float]:
        """Ends of the 90 % interval, from the noncentral chi-square law."""
        if not self.df:
            return 0.0, 0.0
        tail = 0.5 - 0.5 * INTERVAL
        low, high = (self._noncentrality(level) for level in (1.0 - tail, tail))
        return math.sqrt(low / (self.rows * self.df)), math.sqrt(high / (self.rows * self.df))

    def _noncentrality(self, level: float) -> float:
        """The noncentrality at which the statistic is the quantile of this level; 0 if none."""
        from scipy.optimize import brentq  # slow to import
        from scipy.special import chdtr, chndtr  # slow to import

        if chdtr(self.df, max(self.chisq, 0.0)) < level:
            return 0.0
        top = self.chisq
        while chndtr(self.chisq, self.df, top) > level:
            top *= 2.0
        return float(brentq(lambda x: chndtr(self.chisq, self.df, x) - level, 0.0, top))


def small_sample_pvalue(dag: Dag, chisq: float, rows: int, intercept: bool = True) -> float:
    r"""P-value of the chi-square statistic of complete rows that allows for their number.

    If the graph is right the statistic is a sum over nodes, each minus m times the log of an
    independent Beta(a, b) variable: the squared residuals given all k earlier nodes over those
    given the parents, and the earlier nodes that it covaries with, alone, p in number,

    .. math:: a = \frac{n - k}{2}, \quad a + b = \frac{n - p}{2}

    with n rows, less one with intercepts. Its mean and variance are known, and the gamma law that
    shares them stands for its own. The chi-square law rejects too often where rows are few.

    Examples
    --------
    >>> dag = Dag.parse("[a][b][c][d][e][f][g][h]")
    >>> round(small_sample_pvalue(dag, 45.0, rows=2_000), 2)
    0.02
    >>> round(small_sample_pvalue(dag, 45.0, rows=20), 2)
    0.19
    """
    from scipy.special import chdtrc  # slow to import

    mean, variance = expected_chi_square(dag, rows, intercept)
    if not variance > 0.0:
        return math.nan
    return float(chdtrc(2.0 * mean**2 / variance, 2.0 * chisq * mean / variance))


def expected_chi_square(dag: Dag, rows: int, intercept: bool = True) -> tuple[float, float]:
    """Mean and variance of the statistic of complete rows; NaN if these are too few."""
    free = rows - int(intercept)
    if free < len(dag):
        return math.nan, math.nan
    earlier = _log_moments(0.5 * (free - np.arange(len(dag), dtype=np.float64)))
    parents = _log_moments(0.5 * (free - dag.families.sizes.astype(np.float64)))
    return rows * float(parents[0] - earlier[0]), rows**2 * float(earlier[1] - parents[1])


def _log_moments(shapes: Any) -> FloatArray:
    """Means and variances of the logs of gamma variables of these shapes, summed up, (2,).

    The digamma and trigamma functions by their asymptotic series, from 10 on by recurrence, so
    that SciPy is not imported for them.
    """
    x, found = np.array(shapes, dtype=np.float64), np.zeros((2, len(shapes)))
    while (small := x < 10.0).any():
        found += np.where(small, (-1.0 / x, 1.0 / x**2), 0.0)
        x = np.where(small, x + 1.0, x)
    y = 1.0 / x**2
    found[0] += np.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y / 252))
    found[1] += 1.0 / x + 0.5 * y + y / x * (1 / 6 - y * (1 / 30 - y / 42))
    sums: FloatArray = found.sum(axis=1)
    return sums


def _cfi(model: Discrepancy, baseline: Discrepancy) -> float:
    """Comparative fit index: 1 less the share of the baseline's misfit that is left."""
    worst = max(model.excess, baseline.excess)
    return 1.0 - model.excess / worst if worst else 1.0


def _tli(model: Discrepancy, baseline: Discrepancy) -> float:
    """Tucker-Lewis index: as CFI, per degree of freedom and not cut at 1."""
    if not model.df:
        return 1.0
    ratio = baseline.chisq / baseline.df
    return (ratio - model.chisq / model.df) / (ratio - 1.0) if ratio != 1.0 else math.nan


def _residuals(network: GaussianNetwork, found: Likelihoods) -> tuple[float, float]:
    """Sums of squared residual correlations, variances among them, and of squared mean residuals.

    Each is in standard deviations of the rows.
    """
    lengths = np.sqrt(found.covariance.diagonal())
    lengths = np.where(lengths > 0.0, lengths, np.nan)  # a constant column has no correlations
    gap = (found.covariance - network.covariance()) / lengths[:, None] / lengths
    shift = (found.mean - network.mean()) / lengths
    return float((np.tril(gap) ** 2).sum()), float((shift**2).sum())


def _log_determinant(covariance: FloatArray) -> float:
    """Log determinant of a covariance, from the factor of the correlations."""
    lengths = np.sqrt(covariance.diagonal())
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = covariance / lengths[:, None] / lengths
        pivots = np.diag(np.linalg.cholesky(unit))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    rounding = len(lengths) * np.finfo(np.float64).eps
    if not len(lengths) or not np.isfinite(pivots).all() or pivots.min() ** 2 <= 10.0 * rounding:
        raise EstimationError(
            "the covariance of the rows is singular, because some nodes are linear functions of "
            "others or are constant: leave these out of the graph for measures of fit"
        )
    return float(2.0 * (np.log(lengths) + np.log(pivots)).sum())


def _require_likelihood(fit: "Fit") -> None:
    """Refuse a fit for which the likelihood ratio has no known law, and say why."""
    if not fit.maximizes_likelihood:
        raise EstimationError(
            f"measures of fit compare likelihoods at their maximum, and the method "
            f"{fit.method.name!r} does not maximise the likelihood of these rows: use "
            f"check_graph(){', or fit by least-squares' * (fit.trimming is None)}"
        )
    if fit.has_dependent_rows:
        raise EstimationError(
            "the rows have weights or clusters, so that their likelihood is not known for measures "
            "of fit: fit without them to ask"
        )
    if fit.details.set_rows.any():
        raise EstimationError(
            "some cells were set from outside, so that the rows do not share one covariance for "
            "measures of fit: use check_graph()"
        )
    if fit.details.dropped.any():
        raise EstimationError(
            "some nodes were learnt from fewer rows than others, so that there is no common "
            "likelihood for measures of fit: fit with missing='likelihood' or 'drop-rows'"
        )
    _require_rows(fit)


def _require_rows(fit: "Fit") -> None:
    """Refuse rows that are too few for the model with every edge."""
    if fit.rows <= len(fit.dag):
        raise EstimationError(
            f"measures of fit compare with the model that has every edge, and {fit.rows} rows "
            f"cannot learn it over {len(fit.dag)} nodes: give more rows than nodes"
        )


def _moments(fit: "Fit") -> CrossMoments:
    if fit.data is None and fit.sums is not None:
        from gaussnet.fitting.graph_tests import required_cross_moments  # much to import

        return required_cross_moments(fit, "measures of fit")
    data = fit.required_data("ask for measures of fit where the data are, or fit again")
    found: CrossMoments = ask(data.table(), CrossMomentsPass(fit.intercept))
    return found


class Explained(NamedTuple):
    """Rows of each family, means and squared deviations of the child, squared residuals."""

    rows: IntArray
    means: FloatArray
    total: FloatArray
    left: FloatArray


@dataclass(frozen=True)
class ExplainedPass(Pass):
    """Asks how much of each node's sum of squares the equation leaves, over its own rows."""

    purpose = "measures of fit"

    network: GaussianNetwork
    intercept: bool

    def summarize(self, stripe: Stripe) -> Explained:
        """Sums over a stripe; rows that lack a value of a family do not count there."""
        return self.summed(stripe, {})

    @np.errstate(over="ignore", invalid="ignore")
    def summed(self, stripe: Stripe, left_out: Mapping[int, IntArray]) -> Explained:
        """The same without the rows that the equations of some nodes leave out."""
        network = self.network
        errors = kernels.residuals(stripe.rows, network.dag.families, network.coefficient_array)
        errors -= network.intercept_array[:, None]
        known = np.isfinite(errors)
        if stripe.set_cells is not None:
            known &= ~stripe.set_cells.T
        for node, rows in left_out.items():
            known[node, rows] = False
        counts = known.astype(np.float64)
        if stripe.weights is not None:
            counts *= stripe.weights
        values = np.where(known, stripe.rows.T, 0.0).astype(np.float64)
        rows = counts.sum(axis=1)
        means = (counts * values).sum(axis=1) / np.where(rows > 0.0, rows, 1.0)
        total = (counts * (values - means[:, None]) ** 2).sum(axis=1)
        left = (counts * np.where(known, errors, 0.0) ** 2).sum(axis=1)
        return Explained(rows, means, total, left)

    def merge(self, left: Explained, right: Explained) -> Explained:
        """Sums over both."""
        rows = left.rows + right.rows
        shift, safe = right.means - left.means, np.where(rows > 0.0, rows, 1.0)
        total = left.total + right.total + shift**2 * (left.rows * right.rows / safe)
        means = left.means + shift * (right.rows / safe)
        return Explained(rows, means, total, left.left + right.left)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def then(self, summary: Explained) -> FloatArray:
        """R2 of every node with parents, NaN for the others, (nodes,)."""
        total = summary.total
        if not self.intercept:
            total = total + summary.rows * summary.means**2
        share = 1.0 - summary.left / total
        has_parents = self.network.dag.parent_counts > 0
        return np.where(has_parents & (total > 0.0), share, np.nan)


def implied_r2(network: GaussianNetwork) -> FloatArray:
    """Share of the variance that the network implies which the parents explain, (nodes,).

    NaN of nodes without parents. lavaan's R2.
    """
    total = network.covariance().diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1.0 - network.variance_array / total
    return np.where(network.dag.parent_counts > 0, share, np.nan)


def r2_note(nodes: Sequence[str], r2: FloatArray) -> str | None:
    """What an R2 below 0 means, for the nodes that have one; None if none has.

    Examples
    --------
    >>> r2_note(["a", "b"], np.array([0.5, 0.2])) is None
    True
    """
    below = [shown(nodes[position]) for position in np.flatnonzero(r2 < 0.0).tolist()]
    if not below:
        return None
    return (
        f"R2 of {listed(below)} is below 0: over these rows the values lie farther from the "
        "equation than from their own mean, because the equation was not chosen to follow them "
        "all, as with wrong or missing values"
    )


def _r2_of_sums(fit: "Fit") -> FloatArray:
    """The same from sums over rows that are gone."""
    found = np.full(len(fit.dag), np.nan)
    for group in fit.data_or_sums("fit again").groups()[0]:
        moments: Moments = ask(group.table, MomentsPass(group.equations))
        totals = moments.products[moments.families.product_offsets[1:] - 1]
        for own in regress(group):
            nodes = group.nodes[own.block.families]
            with np.errstate(divide="ignore", invalid="ignore"):
                share = 1.0 - own.squares / totals[own.block.families]
            found[nodes] = np.where(totals[own.block.families] > 0.0, share, np.nan)
    return np.where(fit.dag.parent_counts > 0, found, np.nan)


def find_r2(fit: "Fit") -> FloatArray:
    r"""Share of the variance in the rows that the parents explain, (nodes,); NaN of roots.

    .. math:: R^2_i = 1 - \frac{\sum_k (x_{ki} - \hat x_{ki})^2}{\sum_k (x_{ki} - \bar x_i)^2}

    over the rows that the node was learnt from, without cells that a robust fit does not
    believe. lavaan divides by the variance that the model implies instead, which is the same
    where the graph implies no false covariance between the parents.
    """
    if fit.rests_on_sums:
        return _r2_of_sums(fit)
    table = fit.required_data("ask for R2 where the data are, or fit again").table()
    question = ExplainedPass(fit.network, fit.intercept)
    if fit.trimming is None:
        found: FloatArray = ask(table, question)
        return found
    return _believed_r2(fit, table, question)


def r2_beside(network: GaussianNetwork, fit: "Fit") -> FloatArray:
    """R2 of a network's equations on the rows of a fit, without cells that this does not believe.

    The network need not be that of the fit.
    """
    table = fit.required_data("ask for R2 where the data are, or fit again").table()
    return _believed_r2(fit, table, ExplainedPass(network, True))


def _believed_r2(fit: "Fit", table: Table, question: ExplainedPass) -> FloatArray:
    """The same without the cells that a robust fit does not believe."""
    from gaussnet.fitting.graph_tests import judge_of_pages  # much to import
    from gaussnet.methods.robust.judge import BelievedPass

    judge = judge_of_pages(fit)
    if judge is not None:
        answer: FloatArray = ask(table.surveyed(False), BelievedPass(question, judge))
        return answer
    if fit.trimming is None or not fit.trimming.left_out:
        found: FloatArray = ask(table, question)
        return found
    stripe = table.in_memory("this").stripe()
    return question.then(question.summed(stripe, fit.trimming.left_out))
