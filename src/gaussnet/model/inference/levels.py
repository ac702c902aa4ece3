"""Categories whose level is not known: numbers are a mixture over the levels, weighed by Bayes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from gaussnet import kernels
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag, indicator
from gaussnet.model.equations import blocks
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork

EXACT, TINY = 1e-16, 1e-280
"""The least noise of a node among levels, in parts of its variance, and the least variance."""

MOST_COMBINATIONS, MOST_VALUES = 10_000, 1 << 20
"""Combinations of levels that are averaged over, and values of rows at all of them at a time."""


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

    with the shares of the levels as P(z), categories being independent of each other.
    """

    categories: list[IntArray]
    """Positions of each category's indicators."""
    shares: list[FloatArray]
    """Of the levels of each category, the reference first."""
    numbers: IntArray
    """Positions of the other nodes."""
    rest: "GaussianNetwork"
    """That of the other nodes about their means."""
    base: FloatArray
    """Their means at the references, (numbers,)."""
    shifts: FloatArray
    """What an indicator adds to these, (numbers, nodes); 0 for the other nodes."""

    @classmethod
    def of(cls, network: "GaussianNetwork") -> Self:
        """The law of a network that has categories."""
        source = _categories_first(network)
        place = np.array([network.dag.position(node) for node in source.dag.nodes])
        dag, means = source.dag, source.mean()
        categories = positions(dag)
        shares = [np.concatenate(([1.0 - means[own].sum()], means[own])) for own in categories]
        shares = [np.clip(own, 0.0, None) for own in shares]
        fixed = np.concatenate(categories)
        numbers = np.setdiff1d(np.arange(len(dag)), fixed)
        starts = np.zeros((len(dag), 1 + len(dag)))
        starts[numbers, 0] = source.intercept_array[numbers]
        starts[fixed, 1 + fixed] = 1.0
        moves = source.to_matrix().T
        moves[fixed] = 0.0
        found = np.asarray(np.linalg.solve(np.eye(len(dag)) - moves, starts)[numbers], np.float64)
        rest = _without(source, set(dag.indicators))
        shifts = np.empty_like(found[:, 1:])
        shifts[:, place] = found[:, 1:]
        own = [place[one] for one in categories]
        return cls(own, shares, place[numbers], rest, found[:, 0], shifts)

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
        for levels, share in zip(*self._table(lacking), strict=True):
            own = rows.copy()
            own[:, nodes] = levels[nodes]
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

    def _table(self, lacking: IntArray) -> tuple[FloatArray, FloatArray]:
        """All combinations of levels of these categories: rows of indicators, and log shares.

        (combinations, nodes), 0 elsewhere, and (combinations,).
        """
        sizes = [len(self.shares[one]) for one in lacking.tolist()]
        if prod(sizes) > MOST_COMBINATIONS:
            raise SettingError(
                f"the levels of {len(sizes)} categories that are not known have {prod(sizes):,} "
                f"combinations, expected {MOST_COMBINATIONS:,} at most: give the levels of some"
            )
        codes = np.indices(sizes).reshape(len(sizes), prod(sizes))
        found, logs = np.zeros((prod(sizes), self.shifts.shape[1])), np.zeros(prod(sizes))
        for one, own in zip(lacking.tolist(), codes, strict=True):
            found[:, self.categories[one]] = own[:, None] == np.arange(1, len(self.shares[one]))
            with np.errstate(divide="ignore"):
                logs += np.log(self.shares[one])[own]
        return found, logs

    def _expected(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-densities of the known numbers given all levels, and numbers with means filled in.

        The density of a row filled in with its conditional means is that of its known numbers times
        a number that depends only on which these are; so it stands for it.
        """
        levels = np.zeros_like(rows)
        for own in self.categories:
            levels[:, own] = rows[:, own]
        means = self.base + levels @ self.shifts.T
        whole = self._completed(np.ascontiguousarray(rows[:, self.numbers] - means))
        return np.asarray(self.rest.log_density(whole)), whole + means

    def _noise(self, holes: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Draws of the noise of missing cells given the known ones.

        The difference of a row of the network and its conditional means has the covariance of the
        missing cells given the others.
        """
        other = np.asarray(self.rest.sample(len(holes), seed=rng))
        return np.asarray(other - self.rest.impute(np.where(holes, np.nan, other)))

    def informed(self, known: BoolArray) -> list[int]:
        """The categories that known numbers (nodes,) tell of, and that are not known themselves."""
        shifts = self.shifts[known[self.numbers]]
        return [
            place
            for place, own in enumerate(self.categories)
            if not known[own].all() and (self.shares[place] < 1.0).all() and shifts[:, own].any()
        ]

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
        spread = [self._rest_factor(known), *map(self._level_factor, others)]
        shared = np.concatenate(spread, axis=1)[targets]
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
        levels, shares = self._table(told)
        start = rows.copy()
        for place, nodes in enumerate(self.categories):
            usual = 0.0 if place in told else self.shares[place][1:]
            start[:, nodes] = np.where(np.isnan(rows[:, nodes]), usual, rows[:, nodes])
        centres = self.base + np.nan_to_num(start) @ self.shifts.T
        moves = levels @ self.shifts.T
        own = self._completed(rows[:, self.numbers] - centres)
        other = self._completed(np.where(known[self.numbers], moves, np.nan))
        far = self._noise_of(own)[:, None] - self._noise_of(other)
        logs = shares - 0.5 * np.einsum("rcn,rcn->rc", far, far)
        found = start + levels[:, None]
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

    def _rest_factor(self, known: BoolArray) -> FloatArray:
        """F with F F' the covariance of all nodes given the known ones and all levels."""
        names = self.rest.dag.nodes
        seen = {name: 0.0 for name, own in zip(names, known[self.numbers], strict=True) if own}
        law = self.rest.condition(seen)
        places = [self.numbers[self.rest.dag.position(name)] for name in law.names]
        found = np.zeros((len(known), law.factor.shape[1]))
        found[places] = law.factor
        return found

    def _level_factor(self, category: int) -> FloatArray:
        """F with F F' what the levels of a category add to the covariance of all nodes."""
        own, shares = self.categories[category], self.shares[category]
        levels = np.eye(len(shares))[1:] - shares[1:, None]
        found = np.zeros((len(self.numbers) + sum(map(len, self.categories)), len(shares)))
        found[own] = levels * np.sqrt(shares)
        found[self.numbers] = self.shifts[:, own] @ found[own]
        return found


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
    widths = np.maximum(
        network.variance_array, EXACT * np.maximum(np.diag(network.covariance()), TINY)
    )
    variances = dict(zip(dag.nodes, widths.tolist(), strict=True))
    rest = Dag.from_edges(list(slopes), nodes=names)
    return type(network)(rest, slopes, {name: variances[name] for name in names})
