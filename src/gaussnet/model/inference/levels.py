"""Categories whose level is not known: numbers are a mixture over the levels, weighed by Bayes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from gaussnet import kernels
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag, indicator
from gaussnet.model.equations import blocks, marginal_variances
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork

EXACT, TINY = 1e-16, 1e-296
"""The least noise of a node among levels, in parts of its variance, and that of one without any."""

FITTED, ROUNDS = 1e-12, 1_000
"""Joint shares of three or more categories are fitted until their margins are as close as this, in
so many rounds at most."""

MOST_COMBINATIONS, MOST_VALUES = 10_000, 1 << 20
"""Combinations of levels that are averaged over, and values of rows at all of them at a time."""


LEAST_LOG = -1e300
"""Of a density: what is farther off than this tells no level from another."""


class Moments(NamedTuple):
    """Means and covariances of some nodes given known ones, in rows with the same known nodes."""

    means: FloatArray
    """(rows, nodes)."""
    shared: FloatArray
    """F with F F' the part of the covariance that all rows have in common, (nodes, k)."""
    own: FloatArray
    """What each row adds to this: (rows, nodes, combinations), likewise."""

    @property
    def scales(self) -> FloatArray:
        """Standard deviations, (rows, nodes)."""
        common = np.einsum("nk,nk->n", self.shared, self.shared)
        return np.asarray(np.sqrt(common + np.einsum("rnk,rnk->rn", self.own, self.own)))


@dataclass(frozen=True, eq=False)
class LevelNetwork:
    """A network given the levels of its categories, and the chances of these.

    Given the levels all other nodes are Gaussian, with the same covariance at all levels; these
    move their means alone. So the chance of a level given the known cells of a row is by Bayes,

    .. math:: P(z \\mid x) \\propto P(z)\\, N(x - \\mu(z); 0, \\Sigma),

    with the shares of the levels as P(z). Categories are independent unless they covary.
    """

    categories: list[IntArray]
    """Positions of each category's indicators."""
    groups: list["JointShares"]
    """The shares of the levels; categories that covary are in one group."""
    numbers: IntArray
    """Positions of the other nodes."""
    rest: "GaussianNetwork"
    """That of the other nodes about their means."""
    base: FloatArray
    """Their means at the references, (numbers,)."""
    shifts: FloatArray
    """What an indicator adds to these, (numbers, indicators), in the order of `fixed`."""

    @cached_property
    def fixed(self) -> IntArray:
        """The positions of all indicators, category by category."""
        return np.concatenate(self.categories)

    @cached_property
    def shares(self) -> list[FloatArray]:
        """Of the levels of each category, the reference first."""
        found = {one: own for group in self.groups for one, own in group.margins.items()}
        return [found[place] for place in range(len(self.categories))]

    @cached_property
    def columns(self) -> list[slice]:
        """Where each category's indicators stand in `fixed`."""
        ends = np.cumsum([0, *map(len, self.categories)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    @classmethod
    def of(cls, network: "GaussianNetwork") -> Self:
        """The law of a network that has categories."""
        source = _categories_first(network)
        place = np.array([network.dag.position(node) for node in source.dag.nodes])
        categories = positions(source.dag)
        fixed = np.concatenate(categories)
        numbers = np.setdiff1d(np.arange(len(source.dag)), fixed)
        starts = np.zeros((1 + len(fixed), len(source.dag)))
        starts[0, numbers] = source.intercept_array[numbers]
        starts[np.arange(1, len(starts)), fixed] = 1.0
        order = source.dag.order[np.isin(source.dag.order, numbers)]
        kernels.propagate(starts, order, source.dag.families, source.coefficient_array)
        base, shifts = starts[0, numbers], np.ascontiguousarray(starts[1:, numbers].T)
        rest = _without(source, set(source.dag.indicators))
        own = [place[one] for one in categories]
        return cls(own, joint_shares(network), place[numbers], rest, base, shifts)

    def filled(self, rows: FloatArray, rng: np.random.Generator | None = None) -> FloatArray:
        """The rows with levels that are most probable and means, or both drawn."""
        found = rows.copy()
        lacking = self._lacking(rows)
        for pattern in np.unique(lacking, axis=0):
            chosen = np.flatnonzero((lacking == pattern).all(axis=1))
            found[chosen] = self._filled(rows[chosen], np.flatnonzero(pattern), rng)
        return found

    def _lacking(self, rows: FloatArray) -> BoolArray:
        """Which categories rows lack, (rows, categories)."""
        return np.column_stack([np.isnan(rows[:, own]).any(axis=1) for own in self.categories])

    def _filled(
        self, rows: FloatArray, lacking: IntArray, rng: np.random.Generator | None
    ) -> FloatArray:
        """The same of rows that lack these categories and no others.

        A level is drawn by the largest log-chance plus Gumbel noise, combination by combination.
        """
        found, best = rows.copy(), np.full(len(rows), -np.inf)
        total, means = np.full(len(rows), -np.inf), np.zeros((len(rows), len(self.numbers)))
        nodes = np.concatenate([np.empty(0, np.int64), *(self.categories[k] for k in lacking)])
        levels, codes = self._table(lacking)
        shares = self._log_shares(lacking, codes, rows)
        for at_levels, share in zip(levels, shares.T, strict=True):
            own = rows.copy()
            own[:, nodes] = at_levels[np.isin(self.fixed, nodes)]
            logs, filled_numbers = self._expected(own)
            logs = logs + share
            score = logs if rng is None else logs + rng.gumbel(size=len(rows))
            taken = (score > best) | (best == -np.inf)
            best, found[taken] = np.where(taken, score, best), own[taken]
            total = np.logaddexp(total, logs)
            with np.errstate(invalid="ignore"):
                weight = np.where(np.isfinite(total), np.exp(logs - total), 0.0)
            means += weight[:, None] * (filled_numbers - means)
        holes = np.isnan(rows[:, self.numbers])
        if rng is not None:
            means = self._expected(found)[1] + self._noise(holes, rng)
        found[:, self.numbers] = np.where(holes, means, rows[:, self.numbers])
        return found

    def _table(self, lacking: IntArray) -> tuple[FloatArray, IntArray]:
        """All combinations of levels of these categories, as indicators and as numbers of levels.

        (combinations, indicators), 0 for other categories, and (categories, combinations).
        """
        sizes = [len(self.shares[one]) for one in lacking.tolist()]
        if prod(sizes) > MOST_COMBINATIONS:
            raise SettingError(
                f"the levels of {len(sizes)} categories that are not known have {prod(sizes):,} "
                f"combinations, expected {MOST_COMBINATIONS:,} at most: give the levels of some"
            )
        codes = np.indices(sizes).reshape(len(sizes), prod(sizes))
        found = np.zeros((prod(sizes), len(self.fixed)))
        for one, own in zip(lacking.tolist(), codes, strict=True):
            found[:, self.columns[one]] = own[:, None] == np.arange(1, len(self.shares[one]))
        return found, codes

    def _log_shares(self, lacking: IntArray, codes: IntArray, rows: FloatArray) -> FloatArray:
        """Log shares of combinations of levels given the other levels of each row.

        (rows, combinations), from the numbers of the levels (lacking, combinations).
        """
        open_codes = dict(zip(lacking.tolist(), codes, strict=True))
        found = np.zeros((len(rows), codes.shape[1]))
        for group in self.groups:
            if not open_codes.keys().isdisjoint(group.members):
                known = {
                    one: _codes(rows[:, self.categories[one]])
                    for one in group.members
                    if one not in open_codes
                }
                found += group.log_shares(open_codes, known)
        return found

    def _expected(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-densities of the known numbers given all levels, and numbers with means filled in.

        The density of a row filled in with its conditional means is that of its known numbers times
        a number that depends only on which these are; so it stands for it.
        """
        means = self.base + rows[:, self.fixed] @ self.shifts.T
        whole = self._completed(np.ascontiguousarray(rows[:, self.numbers] - means))
        with np.errstate(over="ignore"):
            logs = np.maximum(self.rest.log_density(whole), LEAST_LOG)
        return np.asarray(logs), whole + means

    def _noise(self, holes: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Draws of the noise of missing cells given the known ones.

        The difference of a row of the network and its conditional means has the covariance of the
        missing cells given the others.
        """
        other = np.asarray(self.rest.sample(len(holes), seed=rng))
        return np.asarray(other - self.rest.impute(np.where(holes, np.nan, other)))

    def informed(self, known: BoolArray) -> list[int]:
        """The categories, not known themselves, that known nodes (nodes,) tell of.

        Numbers do if the category moves them, and known or told categories that covary with it.
        """
        shifts = self.shifts[known[self.numbers]]
        given = [bool(known[own].all()) for own in self.categories]
        moves = [bool(shifts[:, own].any()) for own in self.columns]
        told = [
            place
            for group in self.groups
            if any(given[one] or moves[one] for one in group.members)
            for place in group.members
        ]
        return [one for one in sorted(told) if not given[one] and (self.shares[one] < 1.0).all()]

    def blocks(self, known: BoolArray, rows: int) -> Iterator[slice]:
        """Rows with these known nodes, as many at a time as all levels that they tell of allow."""
        levels = prod(len(self.shares[one]) for one in self.informed(known))
        return blocks(rows, len(known) * levels, MOST_VALUES)

    def moments(self, rows: FloatArray, targets: IntArray) -> Moments:
        """Means and covariances of nodes given the cells that rows have; all have the same.

        Levels that the known numbers tell of are averaged over, with their chances in each row;
        others are as frequent as in all rows, and add the covariance of their indicators.
        """
        known = ~np.isnan(rows[0])
        lacking = np.flatnonzero(self._lacking(rows[:1])[0])
        others = np.setdiff1d(lacking, self.informed(known)).tolist()
        whole, logs = self._combined(rows)
        weights = _shares(logs)
        means = whole[:, :, targets]
        centre = np.einsum("rc,crn->rn", weights, means)
        gaps = np.moveaxis(means, 0, 2) - centre[:, :, None]
        spread = [self._level_factor(one)[targets] for one in others]
        shared = np.concatenate([self._rest_factor(known, targets), *spread], axis=1)
        return Moments(centre, shared, gaps * np.sqrt(weights)[:, None, :])

    def likeliest(self, rows: FloatArray) -> FloatArray:
        """The rows, which have the same cells, with the likeliest of the levels they tell of."""
        told = self.informed(~np.isnan(rows[0]))
        if not told:
            return rows
        own = np.concatenate([self.categories[one] for one in told])
        whole, logs = self._combined(rows)
        found = rows.copy()
        found[:, own] = whole[logs.argmax(axis=1), np.arange(len(rows))][:, own]
        return found

    def _combined(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows with the same cells at all levels that these tell of, and how likely they are.

        (combinations, rows, nodes), with means in place of missing cells and shares in place of
        other levels; and logarithms (rows, combinations) of numbers in the ratio of the chances.
        Means given known cells are linear, so that rows and levels are filled in apart.
        """
        known = ~np.isnan(rows[0])
        told = np.array(self.informed(known), dtype=np.int64)
        levels, codes = self._table(told)
        start = rows.copy()
        for place, nodes in enumerate(self.categories):
            usual = 0.0 if place in told else self.shares[place][1:]
            start[:, nodes] = np.where(np.isnan(rows[:, nodes]), usual, rows[:, nodes])
        centres = self.base + start[:, self.fixed] @ self.shifts.T
        moves = levels @ self.shifts.T
        own = self._completed(rows[:, self.numbers] - centres)
        other = self._completed(np.where(known[self.numbers], moves, np.nan))
        # Of |a - b|^2 only the terms that differ between levels: |a|^2 may overflow.
        noise, shift = self._noise_of(own), self._noise_of(other)
        logs = noise @ shift.T - 0.5 * np.einsum("cn,cn->c", shift, shift)
        logs += self._log_shares(told, codes, rows)
        found = np.repeat(start[None], len(levels), axis=0)
        found[:, :, self.fixed] += levels[:, None]
        found[:, :, self.numbers] = own + centres + (moves - other)[:, None]
        return found, logs

    def _completed(self, rows: FloatArray) -> FloatArray:
        """Rows of numbers about their means with missing cells filled in."""
        return np.asarray(self.rest.impute(rows)) if np.isnan(rows).any() else rows

    def _noise_of(self, rows: FloatArray) -> FloatArray:
        """The residuals of rows of numbers about their means, in standard deviations."""
        rest = kernels.residuals(
            np.ascontiguousarray(rows), self.rest.dag.families, self.rest.coefficient_array
        )
        return np.asarray(rest.T / self.rest.scales)

    def _rest_factor(self, known: BoolArray, targets: IntArray) -> FloatArray:
        """F with F F' the covariance of targets given the known nodes and all levels."""
        names = dict(zip(self.numbers.tolist(), self.rest.dag.nodes, strict=True))
        is_open = np.isin(targets, self.numbers) & ~known[targets]
        if not is_open.any():
            return np.zeros((len(targets), 0))
        seen = {name: 0.0 for place, name in names.items() if known[place]}
        law = self.rest.condition(seen, targets=[names[one] for one in targets[is_open].tolist()])
        found = np.zeros((len(targets), law.factor.shape[1]))
        found[is_open] = law.factor
        return found

    def _level_factor(self, category: int) -> FloatArray:
        """F with F F' what the levels of a category add to the covariance of all nodes."""
        shares = self.shares[category]
        levels = (np.eye(len(shares))[1:] - shares[1:, None]) * np.sqrt(shares)
        found = np.zeros((len(self.numbers) + len(self.fixed), len(shares)))
        found[self.categories[category]] = levels
        found[self.numbers] = self.shifts[:, self.columns[category]] @ levels
        return found


@dataclass(frozen=True, eq=False)
class JointShares:
    """How often combinations of levels are, of categories that covary."""

    members: tuple[int, ...]
    """The numbers of the categories."""
    margins: dict[int, FloatArray]
    """The shares of each member's levels, the reference first."""
    shares: FloatArray | None
    """Of combinations of levels, one axis for each member; None if these are too many."""

    def log_shares(
        self, lacking: "dict[int, IntArray]", known: "dict[int, IntArray]"
    ) -> FloatArray:
        """Logarithms of numbers in the ratio of the chances of combinations, given known levels.

        Levels of lacking members are (combinations,), of known ones (rows,). Where the data never
        had the known levels together, or with any other, the members are taken as independent.
        """
        if self.shares is None:
            count = prod(map(len, self.margins.values()))
            raise SettingError(
                f"{len(self.members)} categories covary, and their levels have {count:,} "
                f"combinations, expected {MOST_COMBINATIONS:,} at most: let fewer of them covary"
            )
        own = [one for one in self.members if one in lacking]
        places = [
            lacking[one][None, :] if one in lacking else known[one][:, None] for one in self.members
        ]
        with np.errstate(divide="ignore"):
            found = np.asarray(np.log(self.shares[tuple(places)]))
            alone = [np.log(self.margins[one])[lacking[one]] for one in own]
        impossible = np.isneginf(found).all(axis=1, keepdims=True)
        return np.where(impossible, np.sum(alone, axis=0), found)


def joint_shares(network: "GaussianNetwork") -> list[JointShares]:
    r"""The shares of all levels, for each group of categories that covary.

    Those of a pair follow from means and covariances of its indicators, which are 0 or 1:

    .. math:: P(a = i, b = j) = \bar a_i \bar b_j + \operatorname{cov}(a_i, b_j).

    Of three categories or more these are the margins of all pairs, and the joint shares are those
    nearest to independence with such margins (iterative proportional fitting).
    """
    means, dag = network.mean(), network.dag
    margins = []
    for own in positions(dag):
        shares = np.clip(np.append(1.0 - means[own].sum(), means[own]), 0.0, None)
        margins.append(shares / shares.sum())
    found = []
    for members in _groups(dag):
        theirs = {one: margins[one] for one in members}
        found.append(JointShares(tuple(members), theirs, _joint_table(network, theirs)))
    return found


def _joint_table(network: "GaussianNetwork", margins: dict[int, FloatArray]) -> FloatArray | None:
    """The shares of combinations of levels of categories with these margins."""
    sizes = [len(own) for own in margins.values()]
    if prod(sizes) > MOST_COMBINATIONS:
        return None
    table = np.ones(sizes)
    for axis, own in enumerate(margins.values()):
        table = table * _along(own, (axis,), len(sizes))
    return _fitted(table, _pair_margins(network, margins))


def _groups(dag: Dag) -> list[list[int]]:
    """The categories that covary, directly or by way of others, together; most are alone."""
    names = list(dag.factors)
    group = {name: [name] for name in names}
    for pair in dag.covariances:
        one, other = (dag.indicators[node][0] if node in dag.indicators else None for node in pair)
        if one is not None and other is not None and group[one] is not group[other]:
            group[one] += group[other]
            group |= dict.fromkeys(group[other], group[one])
    return [[names.index(one) for one in group[name]] for name in names if group[name][0] == name]


def _pair_margins(
    network: "GaussianNetwork", margins: dict[int, FloatArray]
) -> dict[tuple[int, int], FloatArray]:
    """The joint shares of each two of the categories with these margins, by their axes."""
    own, known = positions(network.dag), network.covariances
    nodes, found = network.dag.nodes, {}
    for (first, one), (second, other) in combinations(enumerate(margins), 2):
        table = np.outer(margins[one], margins[other])
        for i, a in enumerate(own[one].tolist()):
            for j, b in enumerate(own[other].tolist()):
                value = known.get((nodes[a], nodes[b]), known.get((nodes[b], nodes[a]), 0.0))
                table[i + 1, j + 1] += value
                table[0, j + 1] -= value
                table[i + 1, 0] -= value
                table[0, 0] += value
        table = np.clip(table, 0.0, None)
        found[first, second] = table / table.sum()
    return found


def _fitted(table: FloatArray, pairs: dict[tuple[int, int], FloatArray]) -> FloatArray:
    """The table with these margins of pairs of axes that is nearest to the given one."""
    for _ in range(ROUNDS):
        furthest = 0.0
        for axes, wanted in pairs.items():
            rest = tuple(axis for axis in range(table.ndim) if axis not in axes)
            margin = table.sum(axis=rest)
            furthest = max(furthest, float(np.abs(margin - wanted).max()))
            ratio = np.divide(wanted, margin, out=np.zeros_like(wanted), where=margin > 0.0)
            table = table * _along(ratio, axes, table.ndim)
        if furthest < FITTED:
            break
    return table


def _along(values: FloatArray, axes: tuple[int, ...], count: int) -> FloatArray:
    """Values over some of `count` axes, in rising order, with axes of length 1 for the others."""
    shape = [1] * count
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def _codes(indicators: FloatArray) -> IntArray:
    """The number of the level of each row, 0 for the reference, from its indicators."""
    found = indicators.argmax(axis=1) + 1
    return np.asarray(np.where(indicators.max(axis=1) > 0.5, found, 0), dtype=np.int64)


def positions(dag: Dag) -> list[IntArray]:
    """Positions of the indicators of each category."""
    return [
        np.array([dag.position(indicator(name, level)) for level in levels[1:]])
        for name, levels in dag.factors.items()
    ]


def _shares(logs: FloatArray) -> FloatArray:
    """Chances of the combinations in each row, (rows, combinations), from their logarithms."""
    largest = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
    total = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0.0, parts / np.where(total > 0.0, total, 1.0), 0.0))


def _categories_first(network: "GaussianNetwork") -> "GaussianNetwork":
    """The same law with categories before the numbers that they covary with.

    Then the equations of these numbers hold the indicators, as if the categories were causes.
    """
    dag = network.dag
    if not dag.covariances:
        return network
    numbers = [node for node in dag.nodes if node not in dag.indicators]
    dag = dag.reordered([*dag.indicators, *numbers])
    pairs = network.covariances
    either = {**pairs, **{(other, one): value for (one, other), value in pairs.items()}}
    covariances = {pair: either[pair] for pair in dag.covariances}
    parameters = network.coefficients, network.variances, network.intercepts, covariances
    return type(network)(dag, *parameters)


def _without(network: "GaussianNetwork", fixed: set[str]) -> "GaussianNetwork":
    """The network of the other nodes, whose means are 0, given these."""
    dag = network.dag
    names = [node for node in dag.nodes if node not in fixed]
    slopes = {
        edge: value
        for edge, value in zip(dag.edges, network.coefficient_array.tolist(), strict=True)
        if fixed.isdisjoint(edge)
    }
    # A node without noise tells the levels exactly; its density needs some width.
    variances = network.variance_array
    parameters = dag.families, network.coefficient_array, variances
    spread = marginal_variances(dag.order, *parameters)
    widths = np.maximum(variances, np.where(spread > 0.0, EXACT * spread, TINY))
    noise = dict(zip(dag.nodes, widths.tolist(), strict=True))
    rest = Dag.from_edges(list(slopes), nodes=names)
    return type(network)(rest, slopes, {name: noise[name] for name in names})
