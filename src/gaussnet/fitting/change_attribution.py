"""Which equations changed a node's mean and variance between two networks: Shapley values."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gaussnet.errors import CycleError, EstimationError, GaussnetError, GraphError, NetworkError
from gaussnet.fitting.prediction import Derivatives, LearntErrors
from gaussnet.fitting.residuals import excess_kurtosis, listed
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import shown, text_table
from gaussnet.graph.algorithms import reachable
from gaussnet.graph.dag import Dag, shorten
from gaussnet.model import checks
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray

MOST_WORK = 4e5
"""Parameters times squared ancestors up to which standard errors are found, in half a minute."""


@dataclass(frozen=True, eq=False)
class ContributionErrors:
    """Standard errors of contributions, by the delta method, and the level of intervals."""

    level: float
    mean: Mapping[str, float]
    variance: Mapping[str, float]

    def interval(self, part: str, name: str, value: float) -> tuple[float, float]:
        """The ends of the interval of one contribution, "mean" or "variance"."""
        from scipy.special import ndtri  # slow to import

        reach = float(ndtri(0.5 + 0.5 * self.level)) * getattr(self, part)[name]
        return value - reach, value + reach

    def columns(self, part: str, values: Mapping[str, float], names: list[str]) -> list[Column]:
        """Standard error and ends of the intervals of one part."""
        level = f"{100 * self.level:.4g}%"
        ends = [self.interval(part, name, values[name]) for name in names]
        errors: Mapping[str, float] = getattr(self, part)
        return [
            Column(f"{part}_error", "std. error", [errors[name] for name in names]),
            Column(f"{part}_low", f"{level} low", [low for low, _ in ends]),
            Column(f"{part}_high", f"{level} high", [high for _, high in ends]),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class ChangeAttribution(Tabular):
    """What each equation has to do with the change of a node; printing it shows a table.

    Contributions add up to the change, of the mean and of the variance. Nodes that covary, such as
    the indicators of one category, have one law together: it is listed as one equation, by the
    name of the category or as ``x1 ~~ x2``.
    """

    target: str
    mean_before: float
    mean_after: float
    variance_before: float
    variance_after: float
    mean: Mapping[str, float]
    """What the equation of each node adds to the mean, for the target and its ancestors."""
    variance: Mapping[str, float]
    """What the equation of each node adds to the variance."""
    errors: ContributionErrors | None = None
    """How sure the contributions are, if two fits were compared."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ChangeAttribution({self.target!r}, {len(self.mean)} equations)"

    def table(self) -> ResultTable:
        """The contributions, largest first, for `to_frame`, `to_markdown` and `to_latex`."""
        names = self._largest_first
        columns = [Column("equation", "equation", names, "text")]
        for part in ("mean", "variance"):
            values = getattr(self, part)
            columns.append(Column(part, part, [values[name] for name in names]))
            if self.errors is not None:
                columns += self.errors.columns(part, values, names)
        return ResultTable(self._words, tuple(columns), self.notes)

    def __str__(self) -> str:
        if self.errors is not None:
            return str(self.table())
        numbers = ((self.mean[name], self.variance[name]) for name in self._largest_first)
        lines = (
            (shown(name), *(f"{part:+10.4g}" for part in parts))
            for name, parts in zip(self._largest_first, numbers, strict=True)
        )
        table = text_table(("equation", "mean", "variance"), lines)
        return "\n".join([self._words, *table, *(f"note: {note}" for note in self.notes)])

    @property
    def _words(self) -> str:
        return (
            f"mean of {shown(self.target)}: {self.mean_before:.4g} to {self.mean_after:.4g}; "
            f"variance: {self.variance_before:.4g} to {self.variance_after:.4g}"
        )

    @property
    def _largest_first(self) -> list[str]:
        """The equations by what they add to the mean, then to the variance."""
        sizes = {name: (-abs(self.mean[name]), -abs(self.variance[name])) for name in self.mean}
        return sorted(sizes, key=sizes.__getitem__)


def attribute_change(
    before: object, after: object, target: str, *, level: float = 0.95
) -> ChangeAttribution:
    r"""Which equations changed the mean and the variance of a node between two networks.

    The equation of a node is its intercept, coefficients and noise variance. Let v(S) be the mean
    (or variance) of the target when the equations of the nodes in S are those of `after` and all
    others those of `before`. The contribution of a node is its Shapley value: the mean, over all
    orders in which equations can be exchanged one by one, of what its own exchange adds. The
    values add up to the whole change, and an equation that is the same has none. The law of nodes
    that covary, such as the indicators of one category, is exchanged as one equation.

    There are :math:`2^k` sets S, but none is visited. If each equation is exchanged with
    probability t, independently, the expected moments follow node by node, because the moments of
    a node's parents depend on earlier equations alone; and the Shapley value is the integral of
    the derivative by a node's own probability (Owen, Management Science 18, 1972),

    .. math:: \phi_i = \int_0^1 \frac{\partial E[v]}{\partial p_i}(t, \ldots, t) \, dt

    of a polynomial in t, for which Gauss-Legendre quadrature is exact. For k ancestors with at
    most d parents each the cost is :math:`O(k^3 d)`.

    Parameters
    ----------
    before, after
        Networks or fits over the same nodes; edges may differ, as long as those of both
        together have no cycle.
    target
        The node whose change is to be explained, by its own equation and its ancestors'.
    level
        Of the intervals. Two fits have errors, which the delta method carries on to the
        contributions: `errors` holds them, and the table has columns for them. Those of variances
        allow for noise with heavier tails than the Gaussian, by the kurtosis of the residuals. The
        rows of the fits are taken as different and independent. Networks are taken as known.

    Examples
    --------
    >>> dag = Dag.parse("[rain][wet|rain]")
    >>> dry = GaussianNetwork.from_arrays(dag, [1.0], [1.0, 1.0], [0.0, 0.0])
    >>> rainy = GaussianNetwork.from_arrays(dag, [2.0], [1.0, 1.0], [3.0, 0.0])
    >>> print(attribute_change(dry, rainy, "wet"))
    mean of wet: 0 to 6; variance: 2 to 5
    equation        mean    variance
    rain            +4.5          +0
    wet             +1.5          +3
    """
    check_level(level)
    old, new = _network(before), _network(after)
    old.dag.position(target)
    units = _units(old, new)
    dag = _common_graph(units, old, new)
    place = dag.position(next(name for name, nodes in units.items() if target in nodes))
    kept = reachable(dag.families.parent_lists, {place})
    order = [dag.nodes[node] for node in dag.order.tolist() if node in kept]
    members = [units[name] for name in order]
    mixture = _Mixture.of(members, old, new, target)
    mean, variance, ends = mixture.shapley()
    rounding = mixture.rounding(max(_rows(before), _rows(after)))
    by_mean, by_variance = (
        _by_name(order, part, least) for part, least in zip((mean, variance), rounding, strict=True)
    )
    found = ChangeAttribution(target, *ends, by_mean, by_variance)
    if not (isinstance(before, Fit) and isinstance(after, Fit)):
        return found
    try:
        squares = _error_squares((before, after), members, target)
    except GaussnetError as problem:
        return replace(found, notes=(f"no standard errors: {problem}",))
    sizes = np.split(np.sqrt(squares), 2)
    own = (_by_name(order, part, 0.0) for part in sizes)
    notes = _tail_notes((before, after), [node for unit in members for node in unit])
    return replace(found, errors=ContributionErrors(float(level), *own), notes=notes)


def _by_name(names: list[str], values: FloatArray, rounding: float) -> Mapping[str, float]:
    """The values by name; 0 for what is no more than round-off."""
    told = np.where(np.abs(values) <= rounding, 0.0, values)
    return MappingProxyType(dict(zip(names, told.tolist(), strict=True)))


def _rows(given: object) -> int:
    """The rows that numbers were added up over; 0 for a network, which is taken as it is."""
    return given.rows if isinstance(given, Fit) else 0


def _error_squares(fits: tuple[Fit, Fit], units: list[tuple[str, ...]], target: str) -> FloatArray:
    """Variances of the contributions to the mean, then to the variance, (2 * units,)."""
    nodes = [name for unit in units for name in unit]
    parameters = sum(len(fit.dag.conditioned_on(node)) + 2 for fit in fits for node in nodes)
    if parameters * len(nodes) ** 2 > MOST_WORK:
        raise EstimationError(
            f"{len(nodes)} ancestors are too many for the delta method: attribute the change again "
            "between fits to rows drawn with replacement"
        )
    total = np.zeros(2 * len(units))
    for place, fit in enumerate(fits):
        learnt = fit.learnt_errors

        def contributions(network: GaussianNetwork, place: int = place) -> FloatArray:
            pair = (network, fits[1].network) if place == 0 else (fits[0].network, network)
            return np.concatenate(_Mixture.of(units, *pair, target).shapley()[:2])

        found = _derivatives(fit, learnt, nodes, contributions)
        excess = excess_kurtosis(fit)[learnt.model.families.children]
        covariance = learnt.covariance.with_noisier_variances(np.sqrt(1.0 + 0.5 * excess))
        for _, part in covariance.parts(found, len(total)):
            total += part
    return total


def _tail_notes(fits: tuple[Fit, Fit], nodes: Iterable[str]) -> tuple[str, ...]:
    """What heavy tails mean for intervals of variances; or that they were not looked for."""
    if any(fit.residual_shapes is None for fit in fits):
        return (
            "intervals of variances take the noise as Gaussian: its tails could not be looked at",
        )
    heavy: dict[str, None] = {}
    for fit in fits:
        shapes = fit.residual_shapes
        assert shapes is not None
        found = shapes.nodes("heavy tails", "wild values")
        heavy |= dict.fromkeys(fit.dag.nodes[node] for node in found)
    names = [shown(node) for node in heavy if node in set(nodes)]
    if not names:
        return ()
    return (
        f"heavy tails in {listed(names)}: intervals of variances are wider for it, and may still "
        "be too short",
    )


def _derivatives(
    fit: Fit,
    learnt: LearntErrors,
    nodes: list[str],
    contributions: Callable[[GaussianNetwork], FloatArray],
) -> Iterator[Derivatives]:
    """Derivatives of all contributions by the parameters of each family that matters.

    Contributions are polynomials of at most the second degree in each parameter by itself, for
    which central differences of any step are exact, but for rounding.
    """
    families, dag, network = learnt.model.families, fit.dag, fit.network
    wanted = {dag.position(name) for name in nodes}
    given = (network.coefficient_array, network.variance_array, network.intercept_array)

    def slope(array: int, index: int, step: float, *also: tuple[int, float]) -> FloatArray:
        ends = []
        for sign in (1.0, -1.0):
            moved = [part.copy() for part in given]
            moved[array][index] += sign * step
            for node, by in also:
                moved[2][node] += sign * step * by
            ends.append(contributions(GaussianNetwork.from_arrays(dag, *moved)))
        return np.asarray((ends[0] - ends[1]) / (2.0 * step))

    for family, node in enumerate(families.children.tolist()):
        if node not in wanted:
            continue
        edges = range(*families.offsets[family : family + 2].tolist())
        first = int(dag.families.offsets[node])
        sizes = _coefficient_sizes(network, node, first, len(edges))
        slopes = [
            slope(0, first + rank, 0.1 * float(sizes[rank]), (node, -float(learnt.centres[edge])))
            for rank, edge in enumerate(edges)
        ]
        variance = float(given[1][node])
        by_constant = slope(2, node, math.sqrt(variance) or 1.0)
        by_slopes = np.array(slopes).reshape(len(slopes), len(by_constant)).T
        by_noise = slope(1, node, 0.5 * variance) if variance > 0.0 else 0.0 * by_constant
        yield Derivatives(family, by_slopes, by_constant, by_noise)


def _coefficient_sizes(network: GaussianNetwork, node: int, first: int, count: int) -> FloatArray:
    """What is large for the coefficients of a node, in units of child and parent, (parents,)."""
    sizes = np.abs(network.coefficient_array[first : first + count])
    noise = np.sqrt(network.variance_array)
    parents = network.dag.families.parents[first : first + count]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = noise[node] / noise[parents]
    usable = np.isfinite(ratios) & (ratios > 0.0)
    return np.asarray(np.maximum(sizes, np.where(usable, ratios, np.where(sizes > 0.0, 0.0, 1.0))))


class _Pass(NamedTuple):
    """Expected moments of all nodes when equations are exchanged at random."""

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The equations of both networks over the ancestors of a target.

    Nodes are in topological order, those of one unit together: their equations are exchanged
    together. The first axis has the network before and the one after.
    """

    slopes: FloatArray
    """(2, nodes, nodes): row i holds the coefficients of node i on those of earlier units."""
    intercepts: FloatArray
    """(2, nodes)."""
    noise: FloatArray
    """Covariances of the noise, (2, nodes, nodes); 0 between units."""
    units: tuple[slice, ...]
    """The nodes of each unit."""
    target: int

    @classmethod
    def of(
        cls,
        units: list[tuple[str, ...]],
        old: GaussianNetwork,
        new: GaussianNetwork,
        target: str,
    ) -> "_Mixture":
        names = [name for unit in units for name in unit]
        ends = np.cumsum([0, *map(len, units)]).tolist()
        spans = tuple(slice(*pair) for pair in pairwise(ends))
        first, last = (_reduced(network, names, spans) for network in (old, new))
        slopes, constants, noise = (np.stack(pair) for pair in zip(first, last, strict=True))
        return cls(slopes, constants, noise, spans, names.index(target))

    def shapley(self) -> tuple[FloatArray, FloatArray, tuple[float, float, float, float]]:
        """Contributions to mean and variance of the target, (units,), and both at the ends."""
        changed = sum(self._is_changed(unit) for unit in self.units)
        mean, variance = np.zeros((2, len(self.units)))
        points, weights = np.polynomial.legendre.leggauss(max(1, (changed + 1) // 2))
        for point, weight in zip(0.5 + 0.5 * points, 0.5 * weights, strict=True):
            slope_mean, slope_variance = self._derivatives(float(point))
            mean += weight * slope_mean
            variance += weight * slope_variance
        first, last = self._forward(0.0), self._forward(1.0)
        place = self.target
        low, high = (float(one.mean[place]) for one in (first, last))
        narrow, wide = (float(one.covariance[place, place]) for one in (first, last))
        checks.check_overflow(np.array([*mean, *variance, low, high, narrow, wide]))
        return mean, variance, (low, high, narrow, wide)

    def rounding(self, rows: int) -> tuple[float, float]:
        """How far a contribution to the mean, and to the variance, may be off by round-off.

        Numbers are added up over k nodes, each a sum over up to k parents, and over the rows of a
        fit: n = max(k^2, rows) terms lose sqrt(n) eps of their size, since their errors go either
        way. The size is the moment of the target
        where no terms cancel: with the larger absolute value of both networks everywhere.
        """
        parts = (self.slopes, self.intercepts, self.noise)
        largest = [np.repeat(np.abs(part).max(axis=0)[None], 2, axis=0) for part in parts]
        slopes, intercepts, noise = largest
        sizes = replace(self, slopes=slopes, intercepts=intercepts, noise=noise)._forward(0.5)
        least = float(np.sqrt(max(len(intercepts[0]) ** 2, rows)) * np.finfo(np.float64).eps)
        own = sizes.mean[self.target], sizes.covariance[self.target, self.target]
        return least * float(own[0]), least * float(own[1])

    def _is_changed(self, unit: slice) -> bool:
        arrays = (self.slopes, self.intercepts, self.noise)
        return any(bool(np.any(both[0, unit] != both[1, unit])) for both in arrays)

    @np.errstate(over="ignore", invalid="ignore")
    def _forward(self, t: float) -> _Pass:
        """Expected means and covariances, each unit exchanged with probability t."""
        slopes, constants = _at(t, self.slopes), _at(t, self.intercepts)
        mean, covariance = np.zeros(len(constants)), np.zeros(slopes.shape)
        for unit in self.units:
            earlier = slice(0, unit.start)
            own = slopes[unit, earlier]
            mean[unit] = constants[unit] + own @ mean[earlier]
            across = own @ covariance[earlier, earlier]
            covariance[unit, earlier], covariance[earlier, unit] = across, across.T
            spread = self._spread(unit, covariance[earlier, earlier])
            covariance[unit, unit] = _at(t, spread)
        return _Pass(mean, covariance)

    def _spread(self, unit: slice, earlier: FloatArray) -> FloatArray:
        """Covariance of a unit in both networks, given that of all before it."""
        slopes = self.slopes[:, unit, : unit.start]
        return self.noise[:, unit, unit] + slopes @ earlier @ slopes.transpose(0, 2, 1)

    @np.errstate(over="ignore", invalid="ignore")
    def _derivatives(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the target's expected mean and variance by each probability, at t."""
        found, slopes = self._forward(t), _at(t, self.slopes)
        steps, jumps = (both[1] - both[0] for both in (self.slopes, self.intercepts))
        mean, variance = np.zeros((2, len(self.units)))
        # How much the target's mean, and variance, grow with each mean and covariance.
        weight, weights = np.zeros(len(jumps)), np.zeros(slopes.shape)
        weight[self.target] = weights[self.target, self.target] = 1.0
        for number, unit in reversed(list(enumerate(self.units))):
            before = slice(0, unit.start)
            earlier, step, own = (
                found.covariance[before, before],
                steps[unit, before],
                weights[unit],
            )
            mean[number] = weight[unit] @ (jumps[unit] + step @ found.mean[before])
            spread = self._spread(unit, earlier)
            variance[number] = np.sum(own[:, unit] * (spread[1] - spread[0]))
            variance[number] += 2.0 * np.sum(own[:, before] * (step @ earlier))
            weight[before] += weight[unit] @ slopes[unit, before]
            passed = slopes[unit, before].T @ own[:, before]
            both = self.slopes[:, unit, before]
            squared = both.transpose(0, 2, 1) @ own[:, unit] @ both
            weights[before, before] += passed + passed.T + _at(t, squared)
        return mean, variance


def _reduced(
    network: GaussianNetwork, names: list[str], units: tuple[slice, ...]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The equations of each unit in terms of those before it: slopes, constants, noise."""
    places = [network.dag.position(name) for name in names]
    slopes = network.to_matrix()[np.ix_(places, places)].T
    constants, noise = network.intercept_array[places], np.diag(network.variance_array[places])
    for unit in units:
        if unit.stop - unit.start > 1:
            size = unit.stop - unit.start
            solved = np.linalg.inv(np.eye(size) - slopes[unit, unit])
            slopes[unit] = solved @ slopes[unit]
            slopes[unit, unit] = 0.0
            constants[unit] = solved @ constants[unit]
            noise[unit, unit] = solved @ noise[unit, unit] @ solved.T
    return slopes, constants, noise


def _at(t: float, both: FloatArray) -> FloatArray:
    """The mean of two values, the second taken with probability t."""
    return np.asarray((1.0 - t) * both[0] + t * both[1])


def _network(given: object) -> GaussianNetwork:
    """A network, or that of a fit."""
    network = getattr(given, "network", given)
    if not isinstance(network, GaussianNetwork):
        raise NetworkError(
            f"got {type(given).__name__}, expected a gaussnet.GaussianNetwork or a gaussnet.Fit"
        )
    return network


def _units(old: GaussianNetwork, new: GaussianNetwork) -> dict[str, tuple[str, ...]]:
    """The nodes whose laws are exchanged together, by the name of the exchange."""
    names = old.dag.nodes
    different: Iterable[str] = set(names) ^ set(new.dag.nodes)
    if different:
        raise NetworkError(
            f"the networks have different nodes: {shorten(sorted(different))} is in one of them "
            "only; give two networks over the same nodes"
        )
    owner = {node: name for dag in (old.dag, new.dag) for node, (name, _) in dag.indicators.items()}
    groups = {name: {name} for name in names}
    of_one = ((one, other) for one in owner for other in owner if owner[one] == owner[other])
    for one, other in (*old.dag.covariances, *new.dag.covariances, *of_one):
        joined = groups[one] | groups[other]
        groups |= dict.fromkeys(joined, joined)
    units = {}
    for name in names:
        nodes = tuple(node for node in names if node in groups[name])
        units[" ~~ ".join(dict.fromkeys(owner.get(node, node) for node in nodes))] = nodes
    return units


def _common_graph(
    units: Mapping[str, tuple[str, ...]], old: GaussianNetwork, new: GaussianNetwork
) -> Dag:
    """The graph of the units with the edges of both, in which any mixture of equations fits."""
    name_of = {node: name for name, nodes in units.items() for node in nodes}
    edges = ((name_of[one], name_of[child]) for one, child in (*old.dag.edges, *new.dag.edges))
    try:
        return Dag.from_parts(units, dict.fromkeys(edge for edge in edges if len(set(edge)) > 1))
    except CycleError as problem:
        path = " -> ".join(repr(name) for name in problem.cycle)
        raise GraphError(
            f"the edges of both networks together have the cycle {path}, so that their equations "
            "cannot be exchanged one by one: turn the edges of one network"
        ) from None
