"""Changes of equations between two sets of rows: tests of each quantity, and changes of units."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.common_points import (
    NO_VARIANCE,
    common_point,
    constant_combinations,
    open_coefficients,
)
from gaussnet.fitting.result import Fit
from gaussnet.fitting.uncertainty import find_covariances
from gaussnet.graph.dag import Dag
from gaussnet.methods.standard_errors import Assembly
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, FloatArray

MEAN, SPREAD, COEFFICIENT = "mean of residuals", "noise sd", "coefficient"
SHARE = "share of rows"
MOST_UNITS = 10
"""Columns whose units may have changed, at most: with more it is another table."""
ROUNDING = 1e-9
"""Differences below this share of the numbers compared are rounding where there is no noise."""
MOST_COUNTS = 1_000_000
"""Counts of a level up to which its share is tested exactly, and not by the normal law."""
ROUND_FACTORS = tuple(
    sign * factor
    for size in (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e9, 60.0, 3600.0)
    for factor in dict.fromkeys((size, 1.0 / size))
    for sign in (1.0, -1.0)
)
"""Factors between units: an estimate that may be one of them is taken for it."""


class UnitChange(NamedTuple):
    """A column whose values are ``factor * value + shift`` of what the model expects.

    This one change explains all drift of the column and of its children.
    """

    column: str
    factor: float
    shift: float


@dataclass(frozen=True, eq=False)
class Side:
    """The equations of a network as estimates: what they are, and how far they may be off."""

    dag: Dag
    means: FloatArray
    """Of the nodes, (nodes,)."""
    slopes: FloatArray
    """Coefficients in the order of ``dag.edges``, (edges,)."""
    spreads: tuple[FloatArray, ...]
    """Covariances of each node's slopes, over its noise variance; of those combinations that the
    rows determine."""
    constant: tuple[FloatArray, ...]
    """Combinations of each node's parents that do not vary, (combinations, parents)."""
    variances: FloatArray
    """Of the noise, unbiased, (nodes,)."""
    rows: FloatArray
    """That the estimates rest on, (nodes,); infinite for what is certain."""
    freedom: FloatArray
    """Degrees of freedom of the variances, (nodes,)."""
    shares: FloatArray
    """Of the rows in which a column of 0 and 1 without parents is 1, (nodes,); NaN of others."""
    counts: FloatArray
    """Rows in which each node has a value, (nodes,); infinite for what is certain."""

    @classmethod
    def of_fit(cls, fit: Fit) -> "Side":
        """Estimates of a fit with errors of their own, or by the number of its rows."""
        counts = fit.details.rows.astype(np.float64)
        try:
            _, errors = find_covariances(fit, None, 0.95)
        except EstimationError:  # a fit without its rows
            return cls.of_network(fit.network, counts, fit.intercept)
        network, used = fit.network, counts
        parameters = fit.details.ranks + fit.intercept
        variances, freedom = network.variance_array.copy(), counts - parameters
        if fit.maximizes_likelihood and fit.trimming is None and not fit.method.fills_holes:
            variances *= counts / np.maximum(freedom, 1.0)
        else:
            with np.errstate(all="ignore"):
                counts = freedom = 2.0 * (variances / errors.table[2][0]) ** 2
        covariances, constant = _by_node(errors, fit.dag), _no_constant(fit.dag)
        for node in np.flatnonzero(fit.details.ranks < fit.dag.in_degrees).tolist():
            covariances[node], constant[node] = _determined(fit, errors, node)
        with np.errstate(all="ignore"):
            spreads = tuple(own / s for own, s in zip(covariances, variances, strict=True))
        means, slopes, shares = network.mean(), network.coefficient_array, _shares(network)
        fixed = tuple(constant)
        return cls(fit.dag, means, slopes, spreads, fixed, variances, counts, freedom, shares, used)

    @classmethod
    def of_network(
        cls, network: GaussianNetwork, rows: FloatArray, intercept: bool = True
    ) -> "Side":
        """Estimates by least squares from so many rows, by the moments that the network implies."""
        dag, families = network.dag, network.dag.families
        freedom = rows - dag.in_degrees - intercept
        covariance, spreads, constant = network.covariance(), [], []
        for node, parents in enumerate(families.parent_lists):
            own = covariance[np.ix_(parents, parents)]
            inverse, fixed = _inverse(own, network.mean()[parents])
            spreads.append(inverse / rows[node])
            constant.append(fixed)
        with np.errstate(all="ignore"):
            growth = np.where(np.isinf(rows), 1.0, rows / np.maximum(freedom, 1.0))
        variances = network.variance_array * growth
        means, slopes, shares = network.mean(), network.coefficient_array, _shares(network)
        known = tuple(spreads), tuple(constant)
        return cls(dag, means, slopes, *known, variances, rows, freedom, shares, rows)

    def family(self, node: int) -> tuple[Any, Any]:
        """The parents of a node, and where its coefficients stand."""
        families = self.dag.families
        edges = slice(int(families.offsets[node]), int(families.offsets[node + 1]))
        return families.parents[edges], edges

    def size_of_mean(self, node: int) -> float:
        """The numbers that the mean of a node's residuals is the difference of, added up."""
        parents, edges = self.family(node)
        sizes = np.abs(self.slopes[edges]) @ np.abs(self.means[parents])
        return abs(float(self.means[node])) + float(sizes)

    def rescaled(self, node: int, factor: float, shift: float) -> "Side":
        """The estimates if all values x of a node had been (x - shift) / factor."""
        means, slopes, variances = self.means.copy(), self.slopes.copy(), self.variances.copy()
        spreads, constant = list(self.spreads), list(self.constant)
        means[node] = (means[node] - shift) / factor
        variances[node] /= factor * factor
        slopes[self.family(node)[1]] /= factor
        for child in self.children(node):
            parents, edges = self.family(child)
            scales = np.where(parents == node, factor, 1.0)
            slopes[edges] *= scales
            spreads[child] = spreads[child] * np.outer(scales, scales)
            constant[child] = constant[child] * scales
        return replace(
            self,
            means=means,
            slopes=slopes,
            variances=variances,
            spreads=tuple(spreads),
            constant=tuple(constant),
        )

    def level(self, node: int, point: FloatArray) -> float:
        """What the equation of a node expects with its parents at a point."""
        parents, edges = self.family(node)
        return float(self.means[node] + self.slopes[edges] @ (point - self.means[parents]))

    def reach(self, node: int, point: FloatArray) -> float:
        """The squared error of this, over the noise variance."""
        apart = point - self.means[self.family(node)[0]]
        if not apart.any():
            return float(1.0 / self.rows[node])
        return float(1.0 / self.rows[node] + apart @ self.spreads[node] @ apart)

    def children(self, node: int) -> list[int]:
        """The nodes that have this one as a parent."""
        families = self.dag.families
        return families.family_of_edge[families.parents == node].tolist()  # type: ignore[no-any-return]


def _shares(network: GaussianNetwork) -> FloatArray:
    """How often columns of 0 and 1 without parents are 1: indicators of categories, and those
    whose variance is m (1 - m) for the mean m, as of no other column; NaN of others."""
    means, variances = network.mean(), network.variance_array
    spread = means * (1.0 - means)
    binary = (network.dag.in_degrees == 0) & (np.abs(variances - spread) <= ROUNDING * spread)
    binary[[network.dag.positions[name] for name in network.dag.indicators]] = True
    has_no_mean = (means == 0.0) & (variances > 0.0)  # learnt without intercept
    return np.where(binary & ~has_no_mean, np.clip(means, 0.0, 1.0), np.nan)


def _inverse(matrix: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The inverse, for what varies, and combinations that do not."""
    fixed = constant_combinations(matrix, centres)
    try:
        if len(fixed):
            return np.asarray(np.linalg.pinv(matrix, NO_VARIANCE, hermitian=True)), fixed
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64), fixed
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan), fixed


def _no_constant(dag: Dag) -> list[FloatArray]:
    """Of nodes whose parents all vary."""
    return [np.empty((0, size)) for size in dag.in_degrees.tolist()]


def _determined(fit: Fit, errors: Any, node: int) -> tuple[FloatArray, FloatArray]:
    """Covariance of what the rows determine of a node's slopes, and what is constant; NaN, and all
    parents, where the errors do not tell."""
    size, own = int(fit.dag.in_degrees[node]), np.array([node])
    if isinstance(errors, Assembly):
        for nodes, covariances in errors.estimable:
            if node in nodes.tolist():
                table = errors.spreads.parent_covariances(own, size)[0]
                centres = errors.centres[fit.dag.families.edges_of(own, size)]
                rank = int(fit.details.ranks[node])
                found = covariances[nodes.tolist().index(node)]
                return found, constant_combinations(table, centres, rank)
    return np.full((size, size), np.nan), np.eye(size)


def _by_node(errors: Any, dag: Dag) -> list[FloatArray]:
    """Covariances of the coefficients of each node."""
    sizes = dag.in_degrees.tolist()
    found = [np.full((size, size), np.nan) for size in sizes]
    if errors.joint is not None:
        offsets = dag.families.offsets.tolist()
        for node, size in enumerate(sizes):
            own = slice(offsets[node], offsets[node] + size)
            found[node] = errors.joint[own, own]
        return found
    for nodes, covariances in errors.covariances:
        for node, own in zip(nodes.tolist(), covariances, strict=True):
            found[node] = own
    return found


class Difference(NamedTuple):
    """One comparison, before p-values are adjusted."""

    node: int
    quantity: str
    parent: int | None
    before: float
    after: float
    p_value: float

    def is_own(self, node: int) -> bool:
        """Whether it is of the mean or spread of this node, which a change of units changes."""
        return self.node == node and self.quantity != COEFFICIENT


def differences(
    before: Side, after: Side, nodes: Iterable[int], kurtosis: FloatArray
) -> list[Difference]:
    """The comparisons of these nodes; of none that one side does not determine."""
    found: list[Difference] = []
    binary = _are_binary(before, after)
    for node in nodes:
        if binary[node]:
            found += _of_share(before, after, node)
        elif before.freedom[node] >= 1.0 and after.freedom[node] >= 1.0:
            found += _of_node(before, after, node, float(kurtosis[node]))
    return found


def _of_node(before: Side, after: Side, node: int, kurtosis: float) -> list[Difference]:
    """Mean, spread and coefficients of one node."""
    parents, edges = before.family(node)
    freedom = float(before.freedom[node] + after.freedom[node])
    scale = math.sqrt(_pooled(before, after, node))
    old, new = before.slopes[edges], after.slopes[edges]
    point = shared_point(before, after, node)
    found = []
    if point is not None:
        moved = after.level(node, point) - before.level(node, point)
        reach = after.reach(node, point) + before.reach(node, point)
        size = before.size_of_mean(node) + after.size_of_mean(node)
        chance = _student((moved, size), scale, reach, freedom)
        found.append(Difference(node, MEAN, None, 0.0, moved, chance))
    spread = _spread_test(before, after, node, kurtosis)
    old_sd, new_sd = (math.sqrt(side.variances[node]) for side in (before, after))
    found.append(Difference(node, SPREAD, None, old_sd, new_sd, spread))
    reaches = np.diag(before.spreads[node]) + np.diag(after.spreads[node])
    for side in (before, after):
        reaches[open_coefficients(side.constant[node])] = np.nan
    for place, parent in enumerate(parents.tolist()):
        values = float(old[place]), float(new[place])
        apart_by = values[1] - values[0], max(map(abs, values))
        chance = _student(apart_by, scale, float(reaches[place]), freedom)
        found.append(Difference(node, COEFFICIENT, parent, *values, chance))
    return [one for one in found if not math.isnan(one.p_value)]


def shared_point(before: Side, after: Side, node: int) -> FloatArray | None:
    """Where both tell what the equation expects: the parents' means in the new rows, or nearby."""
    parents, _ = before.family(node)
    centres = [before.means[parents], after.means[parents]]
    constant = [before.constant[node], after.constant[node]]
    noise = np.nan_to_num(before.variances) + np.nan_to_num(after.variances)
    scales: FloatArray = np.sqrt(noise[parents] + (centres[1] - centres[0]) ** 2)
    return common_point(centres[1], scales, centres, constant)


def _are_binary(before: Side, after: Side) -> BoolArray:
    """Nodes that are columns of 0 and 1 without parents, before and after, (nodes,)."""
    varies = (before.shares > 0.0) & (before.shares < 1.0)
    return np.asarray(varies & ~np.isnan(after.shares))


def _of_share(before: Side, after: Side, node: int) -> list[Difference]:
    """The share of a column of 0 and 1: it has no other parameter, and no Gaussian noise."""
    shares = float(before.shares[node]), float(after.shares[node])
    counts = float(before.counts[node]), float(after.counts[node])
    if not counts[1] >= 1.0:
        return []
    return [Difference(node, SHARE, None, *shares, _share_test(shares, counts))]


def _share_test(shares: tuple[float, float], counts: tuple[float, float]) -> float:
    """Two-sided p-value that rows of the second set are 1 as often as those of the first.

    Exact given how often both are 1 together (Fisher, 1935), or binomial where the first share is
    certain: twice the smaller tail, so at a level of 1 % there is an alarm in 1 % of days or fewer.
    """
    from scipy.special import bdtr, bdtrc  # slow to import

    rows, hits = counts[1], float(np.rint(shares[1] * counts[1]))
    if math.isinf(counts[0]):
        below = float(bdtr(hits, int(rows), shares[0]))
        above = 1.0 if hits == 0.0 else float(bdtrc(hits - 1.0, int(rows), shares[0]))
    else:
        below, above = _tails(hits, rows, float(np.rint(shares[0] * counts[0])) + hits, sum(counts))
    return min(1.0, 2.0 * min(below, above))


def _tails(hits: float, rows: float, all_hits: float, all_rows: float) -> tuple[float, float]:
    """The chances of so many hits or fewer, and or more, among some of all rows."""
    from scipy.special import gammaln, ndtr  # slow to import

    first, last = max(0.0, rows + all_hits - all_rows), min(rows, all_hits)
    if last - first > MOST_COUNTS:
        share = all_hits / all_rows
        mean, left = rows * share, (all_rows - rows) / (all_rows - 1.0)
        sd = math.sqrt(mean * (1.0 - share) * left)
        return float(ndtr((hits + 0.5 - mean) / sd)), float(ndtr((mean - hits + 0.5) / sd))
    values = np.arange(first, last + 1.0)
    misses, other = rows - values, all_hits - values
    parts = (values, misses, other, all_rows - all_hits - misses)
    logs = -np.sum([gammaln(part + 1.0) for part in parts], axis=0)
    weights = np.exp(logs - logs.max())
    below, above = (weights[chosen].sum() for chosen in (values <= hits, values >= hits))
    return float(below / weights.sum()), float(above / weights.sum())


def _pooled(before: Side, after: Side, node: int) -> float:
    """The noise variance of both; that of the model if it is certain."""
    if math.isinf(before.freedom[node]):
        return float(before.variances[node])
    freedoms = before.freedom[node], after.freedom[node]
    variances = before.variances[node], after.variances[node]
    return float(np.average(variances, weights=freedoms))


def _student(moved: tuple[float, float], scale: float, reach: float, freedom: float) -> float:
    """Two-sided p-value of a difference with standard error scale * sqrt(reach); NaN if 0 / 0.

    `moved` is the difference and the size of the numbers that it is the difference of.
    """
    from scipy.special import stdtr  # slow to import

    difference, size = moved
    error = scale * math.sqrt(reach) if reach >= 0.0 else math.nan
    if error == 0.0:
        return math.nan if abs(difference) <= ROUNDING * size else 0.0
    return float(2.0 * stdtr(min(freedom, 1e15), -abs(difference / error)))


def _spread_test(before: Side, after: Side, node: int, kurtosis: float) -> float:
    r"""Two-sided p-value of the ratio of variances.

    Its degrees of freedom are divided by :math:`1 + \gamma / 2` for noise of excess kurtosis
    :math:`\gamma`, whose variances vary that much more (Shorack, 1969).
    """
    from scipy.special import chdtr, chdtrc, fdtr, fdtrc  # slow to import

    old, new = float(before.variances[node]), float(after.variances[node])
    if old == 0.0:
        return math.nan if new == 0.0 else 0.0
    ratio, share = new / old, 1.0 / (1.0 + 0.5 * kurtosis)
    freedom, other = after.freedom[node] * share, before.freedom[node] * share
    if math.isinf(other):
        tails = chdtr(freedom, freedom * ratio), chdtrc(freedom, freedom * ratio)
    else:
        tails = fdtr(freedom, other, ratio), fdtrc(freedom, other, ratio)
    return float(min(1.0, 2.0 * min(tails)))


def best_units(
    before: Side,
    after: Side,
    found: Sequence[Difference],
    smallest: float,
    kurtosis: FloatArray,
) -> tuple[UnitChange, Side] | None:
    """The change of units that explains most drift, and the new rows' side without it."""
    drift = [one for one in found if one.p_value <= smallest]
    best: tuple[int, UnitChange, Side] | None = None
    binary = _are_binary(before, after)
    for node in dict.fromkeys(place for one in drift for place in (one.node, one.parent)):
        if node is None or binary[node]:
            continue
        touched = [node, *before.children(node)]
        explained = sum(one.node in touched and not one.is_own(node) for one in drift)
        if not explained or (best is not None and explained <= best[0]):
            continue
        for factor, shift in _likely_units(before, after, node):
            undone = after.rescaled(node, factor, shift)
            left = differences(before, undone, touched, kurtosis)
            if all(one.p_value > smallest for one in left):
                best = explained, UnitChange(before.dag.nodes[node], factor, shift), undone
                break
    return None if best is None else best[1:]


def _likely_units(before: Side, after: Side, node: int) -> Iterator[tuple[float, float]]:
    """Factors and shifts that would explain the drift of a node and its children, simple first."""
    factor, error = _factor(before, after, node)
    if not math.isfinite(factor):
        return
    close = [one for one in ROUND_FACTORS if abs(math.log(abs(factor) / abs(one))) < 3.0 * error
             and one * factor > 0.0]  # fmt: skip
    close.sort(key=lambda one: abs(math.log(abs(factor / one))))
    for chosen in (*close[:1], factor):
        shift, unsure = _shift(before, after, node, chosen)
        if abs(shift) < 4.0 * unsure and chosen != 1.0:
            yield chosen, 0.0
        if math.isfinite(shift):
            yield chosen, shift


def _factor(before: Side, after: Side, node: int) -> tuple[float, float]:
    """By how much the values of a node seem multiplied, and the relative error of this."""
    freedoms = 0.5 / after.freedom[node] + 0.5 / before.freedom[node]
    with np.errstate(all="ignore"):
        ratios = [math.sqrt(after.variances[node] / before.variances[node])]
        errors, is_slope = [freedoms], [False]
        edges = [(node, place, 1) for place in range(before.dag.in_degrees[node])]
        for child in before.children(node):
            place = before.family(child)[0].tolist().index(node)
            edges.append((child, place, -1))
        for family, place, power in edges:
            own = before.family(family)[1].start + place
            old, new = before.slopes[own], after.slopes[own]
            error = sum(
                side.spreads[family][place, place] * side.variances[family] / side.slopes[own] ** 2
                for side in (before, after)
            )
            if old != 0.0 and new != 0.0 and error < 0.05:
                ratios.append((new / old) ** power)
                errors.append(error)
                is_slope.append(True)
    values, weights = np.array(ratios), 1.0 / np.maximum(errors, 1e-300)
    if not (np.isfinite(values).all() and values[0] > 0.0):
        return math.nan, math.nan
    sign = 1.0 if np.sum(np.sign(values) * weights * is_slope) >= 0.0 else -1.0
    size = float(np.exp(np.average(np.log(np.abs(values)), weights=weights)))
    return sign * size, float(1.0 / np.sqrt(weights.sum()))


def _shift(before: Side, after: Side, node: int, factor: float) -> tuple[float, float]:
    """What is added to the values of a node, beside the factor, and the error of this."""
    undone = after.rescaled(node, factor, 0.0)
    shifts, errors = [], []
    for family in (node, *before.children(node)):
        parents, edges = before.family(family)
        slopes = before.slopes[edges]
        apart = undone.means[parents] - before.means[parents]
        left = float(undone.means[family] - before.means[family] - slopes @ apart)
        weight = 1.0 if family == node else -float(slopes[parents == node][0])
        if weight != 0.0:
            rows = 1.0 / after.rows[family] + 1.0 / before.rows[family]
            shifts.append(factor * left / weight)
            errors.append((factor / weight) ** 2 * _pooled(before, undone, family) * rows)
    weights = 1.0 / np.maximum(errors, 1e-300)
    return float(np.average(shifts, weights=weights)), float(1.0 / np.sqrt(weights.sum()))


def rows_behind(fit: Fit) -> dict[str, int]:
    """From how many rows least squares would know each node as well as a fit does.

    That is the rows used, or fewer for methods with larger errors.

    Examples
    --------
    >>> import gaussnet as gn
    >>> rows_behind(gn.fit([[1.0, 0.0], [3.0, 1.0], [5.5, 2.0]], gn.Dag.parse("y ~ x", nodes="yx")))
    {'y': 3, 'x': 3}
    """
    counts = fit.details.rows.astype(np.float64)
    if not fit.maximizes_likelihood and fit.trimming is None:
        counts = np.fmin(counts, _equivalent_rows(fit))
    return dict(zip(fit.dag.nodes, np.maximum(counts, 1.0).astype(int).tolist(), strict=True))


def _equivalent_rows(fit: Fit) -> FloatArray:
    """Rows whose least squares has the errors of a fit; NaN where these are not known."""
    try:
        found = Side.of_fit(fit)
    except (EstimationError, SettingError):
        return np.full(len(fit.dag), np.nan)
    one_row = Side.of_network(fit.network, np.ones(len(fit.dag)))
    counts = found.rows.copy()
    for node, (usual, own) in enumerate(zip(one_row.spreads, found.spreads, strict=True)):
        if len(own):
            with np.errstate(all="ignore"):
                counts[node] = np.fmin(counts[node], (np.diag(usual) / np.diag(own)).min())
    return counts
