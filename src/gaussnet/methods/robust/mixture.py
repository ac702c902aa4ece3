r"""Wrong cells as a mixture: each is wrong with some chance, learnt by maximum likelihood.

A row x of the network is recorded as y. A cell is right, y_i = x_i, or wrong, and then what was
recorded says nothing of the truth. With :math:`\Omega` the precision of the network, r = y - mu and
:math:`g = \Omega r`, the other cells say that the cells F, if wrong, are off by :math:`e = V g_F`
with covariance :math:`V = \Omega_{FF}^{-1}`, and the log density of the row rises by

.. math:: \tfrac12 g_F' V g_F + \tfrac12 \log\det V
          + \sum_{i \in F} \Big( \tfrac12 \log 2\pi + \log\frac{\pi_i}{1 - \pi_i}
          + \log f_i(e_i) \Big).

A value that its children contradict is called wrong, and one that they carry on is not: that is in
the precision. The density f of wrong values is a mixture as well: errors of sizes that all columns
share, in units of the noise; errors of a size of the column's own; values drawn again from the
column; values of a kind of their own, such as a code for what is not known. Whole rows may come
from another network over the same graph (`foreign`).

Expectation and maximisation (Dempster, Laird and Rubin, 1977) learn all of it. The expectation of a
row is found by a search for the likeliest pattern of wrong cells; cells in doubt near it are looked
at in all combinations (`kernels.mixture_moments`). Rows without a doubtful cell cost what least
squares costs.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import thread_map
from gaussnet.methods.robust.control_variate import ControlVariate
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.model import equations
from gaussnet.types import BoolArray, FloatArray, Rows

RIGHT, WRONG, MISSING = 0, 1, 2
"""What the likeliest pattern says of a cell."""

ROWS_AT_A_TIME = 512
"""Rows of one call of the kernel: sums do not depend on the number of threads."""

LEAST_CHANCE, LARGEST_CHANCE = 1e-5, 0.49
"""Of a cell to be wrong, in a column that is judged."""

JOINT, SLIGHT, ROUGH = 0.05, 1e-4, 0.02
"""Odds from which on a cell in doubt is looked at with others, or at all; or at all in first
rounds, which need not be exact."""

FEWEST_CELLS = 4.0
"""So many wrong cells are taken off what speaks for a kind of error, so that it dies out where it
is not needed."""

REVIVED = 0.1
"""The weight that every law has again where more rows are looked at than those it died out on."""

FEWEST_FOREIGN = 10
"""A second network is not learnt from fewer rows."""

SHARED_STRENGTH = 0.2
"""What all columns say of the share of wrong cells counts as so many times the rows of one."""

Z_STEP = 0.25
Z_SCORES = np.arange(Z_STEP, 12.01, Z_STEP)
"""From which of these z scores on a cell can be in doubt is asked for every column."""

SCORE_PARTS = (14, 20)
"""Where the scores are cut into parts, looked at in turn: few columns need the later ones."""

LEAST_VARIANCE = 1e-300
"""Of noise that vanishes on the way: the precision stays finite."""

LEAST_UNIT = 1e-100
"""Of a parameter, where noise has vanished on the way and errors with it."""

CONVERGED = 0.03
"""Rounds end when no parameter moves by more standard errors than this."""

FIRST_LENGTH, SLACK = 4.0, 3.0
"""Rounds that the first long step is worth, at most, and how much lower the log-likelihood may be
after one: laws that die out take as much."""


@dataclass(frozen=True)
class Laws:
    """What wrong values look like."""

    weights: FloatArray
    """Of the sizes that all columns share, and of values drawn again: (sizes + 1,), sum 1."""
    shifts: FloatArray
    """Mean sizes of errors, in standard deviations of the noise, (sizes,)."""
    spreads: FloatArray
    """Standard deviations of these sizes, (sizes,)."""
    shares: FloatArray
    """Of a column's wrong values, those of the shared kinds, of its own size of errors, and of a
    kind of their own, (3, columns), sum 1."""
    sizes: FloatArray
    """Mean and variance of a column's own size of errors, (2, columns)."""
    kinds: FloatArray
    """Mean and variance of a column's values of a kind of their own, (2, columns)."""

    @classmethod
    def initial(cls, variances: FloatArray, marginal: FloatArray, centres: FloatArray) -> "Laws":
        """Errors of any size, from 3 standard deviations of the noise on."""
        shifts = np.array([3.0, 6.0, 15.0, 60.0])
        spreads = np.array([1.0, 2.0, 10.0, 60.0])
        columns = len(variances)
        shares = np.repeat(np.array([[0.6], [0.2], [0.2]]), columns, axis=1)
        sizes = np.stack((5.0 * np.sqrt(marginal), 6.25 * marginal))
        kinds = np.stack((centres, 1e4 * variances))
        return cls(np.full(5, 0.2), shifts, spreads, shares, sizes, kinds)

    def with_kinds(self, rows: Rows, wrong: BoolArray, variances: FloatArray) -> "Laws":
        """The kinds of values at cells that are taken for wrong at first."""
        kinds = self.kinds.copy()
        known = wrong & ~np.isnan(rows)
        for column in np.flatnonzero(known.sum(axis=0) > 3).tolist():
            own = rows[known[:, column], column]
            kinds[:, column] = np.median(own), max(float(own.var()), 0.05 * variances[column])
        return replace(self, kinds=kinds)

    def revived(self) -> "Laws":
        """The same laws, each with some weight."""
        weights = np.maximum(self.weights, REVIVED)
        shares = np.maximum(self.shares, REVIVED)
        return replace(self, weights=weights / weights.sum(), shares=shares / shares.sum(axis=0))

    def shared(self) -> FloatArray:
        """Log weight, shift and spread of each shared size, (sizes, 3)."""
        return np.column_stack((np.log(self.weights[:-1] + 1e-12), self.shifts, self.spreads))

    def by_column(self, variances: FloatArray, marginal: FloatArray) -> FloatArray:
        """The numbers of each column, as the kernel takes them, (columns, 10)."""
        shares = np.log(self.shares + 1e-12)
        redrawn = shares[0] + np.log(self.weights[-1] + 1e-12)
        numbers = (np.sqrt(variances), shares[0], shares[1], *self.sizes, redrawn, marginal)
        return np.ascontiguousarray(np.column_stack((*numbers, shares[2], *self.kinds)))

    def learnt(self, sums: "Sums", variances: FloatArray) -> "Laws":
        """The laws that the wrong cells of a round ask for."""
        count, first, second = sums.laws.T
        _, redrawn, kind, kind_sum, kind_squares, own, own_sum, own_squares = sums.columns.T
        means = first / np.maximum(count, 1e-9)
        spreads = np.sqrt(_at_least(second, count, means, 0.1))
        many = count > 20.0
        counts = np.append(count, redrawn.sum()) - FEWEST_CELLS
        parts = np.maximum(sums.needed(), 1e-3)
        sizes = own_sum / np.maximum(own, 1e-9)
        own_sizes = np.stack((sizes, _at_least(own_squares, own, sizes, 0.1)))
        moves = kind_sum / np.maximum(kind, 1e-9)
        within = kind_squares / np.maximum(kind, 1e-9) - moves**2
        kinds = np.stack((self.kinds[0] + moves, np.maximum(within, 0.05 * variances)))
        as_before = np.stack((self.kinds[0], np.maximum(self.kinds[1], 0.05 * variances)))
        weights = np.maximum(counts, 1e-3)
        return Laws(
            weights / weights.sum(),
            np.where(many, np.maximum(means, 1.0), self.shifts),
            np.where(many, spreads, self.spreads),
            parts / parts.sum(axis=0),
            np.where(own >= 5.0, own_sizes, self.sizes),
            np.where(kind >= 3.0, kinds, as_before),
        )


def _at_least(squares: FloatArray, count: FloatArray, means: FloatArray, part: float) -> FloatArray:
    """Variances about the means, but no less than this part of them, squared."""
    return np.maximum(squares / np.maximum(count, 1e-9) - means**2, (part * means) ** 2)


@dataclass(frozen=True)
class Equation:
    """Coefficients (edges,), means and noise variances (nodes,) of a network, node by node."""

    coefficients: FloatArray
    means: FloatArray
    variances: FloatArray

    def constants(self, families: Families) -> FloatArray:
        """The constants of the equations, (nodes,)."""
        terms = self.coefficients * self.means[families.parents]
        found: FloatArray = self.means - np.bincount(
            families.family_of_edge, terms, len(self.means)
        )
        return found


class Sums(NamedTuple):
    """What the expectation of some rows adds up to."""

    products: FloatArray
    """Expected cross-products about the means of the round before, as the precision has them."""
    sums: FloatArray
    """Expected deviations from these means, (nodes,)."""
    laws: FloatArray
    """Count, sizes and squared sizes of the errors of each shared size, (sizes, 3)."""
    columns: FloatArray
    """Wrong cells of each column by kind, with their sums, (nodes, 8)."""
    foreign: FloatArray
    """What the rows that may be foreign add up to, as `foreign_sums` has it; empty if none may."""
    weight: float
    """Rows that are not foreign."""
    rows: int
    log_likelihood: float

    def needed(self) -> FloatArray:
        """Wrong cells of each column, of shared, own and other kinds, (3, columns).

        `FEWEST_CELLS` are taken off each kind, as in Figueiredo and Jain (2002): what a few cells
        in slight doubt speak for dies out, and its share goes to values that are right.
        """
        wrong, _, kind, _, _, own, _, _ = self.columns.T
        shared: FloatArray = np.maximum(wrong - kind - own, 0.0)
        left = max(1.0 - FEWEST_CELLS / max(float(shared.sum()), 1e-9), 0.0)
        one = 0.5 * FEWEST_CELLS
        return np.stack((left * shared, np.maximum(own - one, 0.0), np.maximum(kind - one, 0.0)))

    def plus(self, other: "Sums") -> "Sums":
        """The sums over the rows of both."""
        parts: list[Any] = [a + b for a, b in zip(tuple[Any, ...](self), other, strict=True)]
        return Sums(*parts)


@dataclass(frozen=True)
class Foreign:
    """A second network over the same graph that some rows may come from."""

    share: float
    equation: Equation
    floors: FloatArray
    """What its noise variances are widened by, (nodes,)."""
    densities: FloatArray
    """Log densities of all rows under it, (rows,)."""

    def on(self, rows: FloatArray, families: Families) -> "Foreign":
        """The same network for other rows, which lack no value."""
        return replace(self, densities=log_densities(rows, families, self.equation))

    def sharing(self, first: Equation, common: BoolArray, families: Families) -> "Foreign":
        """With the equations of the first network in some columns.

        Nothing is asked of these, such as the levels of a category: they say nothing of which
        network a row comes from, and the other columns are compared given them.
        """
        if not common.any():
            return self
        found, child = self.equation, families.family_of_edge
        equation = network_equation(
            families,
            np.where(common[child], first.coefficients, found.coefficients),
            np.where(common, first.constants(families), found.constants(families)),
            np.where(common, first.variances, found.variances),
        )
        return replace(self, equation=equation)


@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture after some rounds; `wrong` is changed by every round."""

    rows: Rows
    layout: SparsePrecision
    intercept: bool
    equation: Equation
    laws: Laws
    chances: FloatArray
    """That a cell is wrong, (nodes,); 0 in columns that are not judged."""
    wrong: "np.typing.NDArray[np.uint8]"
    """The likeliest pattern so far, (rows, nodes)."""
    foreign: Foreign | None = None
    foreign_chances: FloatArray = field(default_factory=partial(np.zeros, 0))
    sums: Sums | None = None
    rounds: int = 0
    threads: int = 1
    slight: float = SLIGHT
    """Cells that are wrong with smaller odds are believed."""
    variate: ControlVariate | None = None
    """What other rows add up to, if the rows are a sample of all."""
    common: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Columns whose equations a second network shares, (nodes,)."""

    @property
    def log_likelihood(self) -> float:
        """Of the parameters before the last round."""
        return -np.inf if self.sums is None else self.sums.log_likelihood

    @cached_property
    def marginal(self) -> FloatArray:
        """Variance of each node under the network, (nodes,)."""
        return marginal_variances(self.layout.families, self.equation)

    @cached_property
    def precision(self) -> FloatArray:
        """The entries of the precision matrix, as the layout has them."""
        return self.layout.values(self.equation.coefficients, self.equation.variances)

    @property
    def price_of_foreign(self) -> float:
        """What the parameters of a second network cost by Schwarz's criterion."""
        own = ~self.common
        count = int(self.layout.families.sizes[own].sum()) + 2 * np.count_nonzero(own)
        return 0.5 * count * float(np.log(len(self.rows)))

    @property
    def lacks_rows(self) -> bool:
        """Whether most rows have more wrong or missing cells than a pattern can hold."""
        if self.foreign is not None or self.sums is None:
            return False
        return self.sums.weight < 0.5 * self.sums.rows

    @property
    def foreign_rows(self) -> BoolArray:
        """Rows that are wrong as a whole, (rows,)."""
        return np.asarray(self.foreign_chances > 0.5)

    def on(self, rows: Rows, doubted: BoolArray) -> "Mixture":
        """The same parameters for other rows, with some cells (rows, nodes) doubted at first."""
        wrong = np.where(np.isnan(rows), MISSING, np.where(doubted & self.judged, WRONG, RIGHT))
        foreign = self.foreign
        if foreign is not None:
            foreign = foreign.on(_without_gaps(rows, foreign.equation), self.layout.families)
        return replace(self, rows=rows, wrong=wrong.astype(np.uint8), foreign=foreign, variate=None)

    def without_rows(self) -> "Mixture":
        """The parameters alone."""
        return self.on(np.empty((0, len(self.chances))), np.empty((0, len(self.chances)), bool))

    def with_chance(self, chance: float) -> "Mixture":
        """The same with this chance of a wrong cell in every column that is judged."""
        return replace(self, chances=np.where(self.judged, chance, 0.0))

    def with_all_laws(self) -> "Mixture":
        """The same with some weight for every law: many rows may need one that few did not."""
        return replace(self, laws=self.laws.revived())

    @property
    def judged(self) -> BoolArray:
        """The columns whose cells may be called wrong, (nodes,)."""
        return np.asarray(self.chances > 0.0)

    def run(self, most: int) -> "Mixture":
        """Rounds until nothing moves, at most so many."""
        now = self
        for _ in range(most):
            before, now = now, now.round()
            if now.distance(before) < CONVERGED:
                break
        return now

    def run_far(self, most: int) -> "Mixture":
        """The same with longer steps: two rounds, what these lead to expect, and one round there.

        A step after which the likelihood is lower is not taken. Sums of other rows than these
        (`variate`) lead elsewhere than to the largest likelihood of these: then a step is not taken
        after which rounds move farther than before it.
        """
        now, longest = self.round(), FIRST_LENGTH
        while now.rounds < self.rounds + most:
            first = now.round()
            second = first.round()
            step = LongStep.of(now, first, second, longest)
            if second.distance(first) * step.length < CONVERGED:
                return second
            landed = step.taken(second)
            there = landed.round()
            if self.variate is None:
                is_better = there.log_likelihood >= second.log_likelihood - SLACK
            else:
                is_better = step.metric.between(landed, there) <= step.metric.between(first, second)
            is_longest = step.length == longest
            longest *= 4.0 if is_longest and is_better else 1.0 if is_better else 0.5
            longest, now = max(longest, 1.0), there if is_better else second
        return now

    def distance(self, other: "Mixture") -> float:
        """The largest move of a parameter, in standard errors or less."""
        families, count = self.layout.families, 0 if self.sums is None else self.sums.rows
        child, here, there = families.family_of_edge, self.equation, other.equation
        steps = np.abs(here.coefficients - there.coefficients)
        leverage = np.sqrt(self.marginal[families.parents] * count / here.variances[child])
        spread = np.abs(np.log(here.variances / there.variances)) * np.sqrt(0.5 * count)
        return float(max((steps * leverage).max(initial=0.0), spread.max(initial=0.0)))

    def round(self) -> "Mixture":
        """One expectation and one maximisation."""
        task = self.task()
        starts = range(0, len(self.rows), ROWS_AT_A_TIME)
        parts = list(thread_map(partial(self._expect, task), starts, self.threads))
        total = parts[0][0]
        for part, _ in parts[1:]:
            total = total.plus(part)
        found = self.maximized(total if self.variate is None else self.variate.total(self, total))
        if found.foreign is not None:
            whole = _without_gaps(self.rows, found.foreign.equation)
            found = replace(found, foreign=found.foreign.on(whole, self.layout.families))
        return replace(found, foreign_chances=np.concatenate([own for _, own in parts]))

    def task(self) -> "kernels.MixtureTask":
        """The parameters as the kernel takes them."""
        layout, equation, laws = self.layout, self.equation, self.laws
        entries = self.precision
        judged = self.chances > 0.0
        safe = np.where(judged, self.chances, 0.5)
        odds = np.where(judged, np.log(safe / (1.0 - safe)), -1e300)
        marginal = self.marginal
        numbers = laws.by_column(equation.variances, marginal)
        diagonal = entries[layout.diagonal]
        base = (
            -0.5 * np.log(2.0 * np.pi * equation.variances).sum()
            + np.log1p(-np.where(judged, self.chances, 0.0)).sum()
        )
        return kernels.MixtureTask(
            layout.families,
            (equation.coefficients, equation.variances, equation.means),
            (entries, layout.starts, layout.neighbours, diagonal),
            np.ascontiguousarray(laws.shared()),
            np.concatenate((odds, self._thresholds(odds, diagonal, numbers), numbers.ravel())),
            np.log(np.array([JOINT, self.slight])),
            float(base),
            _log_odds(self.foreign),
        )

    def _thresholds(
        self, odds: FloatArray, diagonal: FloatArray, numbers: FloatArray
    ) -> FloatArray:
        """Squared z scores below which a cell cannot be in doubt, (nodes,)."""
        reach = 4.0 * np.sqrt(numbers[:, 6])  # right values lie no farther from their mean
        centres, shared = self.laws.kinds[0], self.laws.shared()
        beyond = centres + np.maximum(np.abs(centres - self.equation.means) - reach, 0.0)
        limits = np.full(len(odds), Z_SCORES[-1])
        left = np.flatnonzero(odds > -1e200)  # columns whose limit lies beyond the scores so far
        for scores in np.split(Z_SCORES, SCORE_PARTS):
            own, precision = numbers[left], diagonal[left]
            errors = scores[:, None] / np.sqrt(precision)
            values = np.zeros(len(left)), beyond[left]
            laws = kernels.log_wrong_values(shared, own, errors, 1.0 / precision, values)
            gains = 0.5 * scores[:, None] ** 2 - 0.5 * np.log(precision) + odds[left] + laws
            doubtful = gains + HALF_LOG_2PI > np.log(self.slight)
            is_found = doubtful.any(axis=0)
            limits[left[is_found]] = scores[doubtful[:, is_found].argmax(axis=0)] - Z_STEP
            left = left[~is_found]
            if not len(left):
                break
        return np.where(odds > -1e200, limits**2, np.inf)

    def _expect(self, task: "kernels.MixtureTask", first: int) -> tuple[Sums, FloatArray]:
        """The expectation of some rows, and their chances to be foreign."""
        span = slice(first, first + ROWS_AT_A_TIME)
        foreign = None if self.foreign is None else self.foreign.densities[span]
        rows = self.rows[span]
        found = kernels.mixture_moments(rows, task, self.wrong[span], foreign)
        return self.summed(rows, found), found.foreign

    def summed(self, rows: Rows, found: "kernels.MixtureMoments") -> Sums:
        """What the kernel found of some rows, with what foreign ones add up to."""
        # Rows that have more wrong or missing cells than a pattern can hold count as foreign.
        of_foreign, weight = np.zeros(0), float(np.sum(1.0 - found.foreign))
        if self.foreign is not None:
            whole = _without_gaps(rows, self.foreign.equation)
            of_foreign = foreign_sums(whole, found.foreign, self.equation.means, self.layout)
        own = (found.products, found.sums, found.laws, found.columns, of_foreign)
        return Sums(*own, weight, len(rows), float(found.densities.sum()))

    def solved(self, sums: Sums) -> Equation:
        """The equations that the expectations of all rows ask for."""
        weight = sums.weight
        shifts = sums.sums / weight if self.intercept else np.zeros(len(sums.sums))
        solved = self.layout.solve(sums.products, shifts, weight)
        old, sound = self.equation, solved[2]
        edges = sound[self.layout.families.family_of_edge]
        return Equation(
            np.where(edges, solved[0], old.coefficients),
            old.means + shifts,
            np.where(sound, np.maximum(solved[1], LEAST_VARIANCE), old.variances),
        )

    def maximized(self, sums: Sums) -> "Mixture":
        """The parameters that the expectations of all rows ask for; unchanged if no row counts."""
        if sums.weight <= 0.0:
            return replace(self, sums=sums, rounds=self.rounds + 1)
        equation = self.solved(sums)
        foreign = self.foreign
        likelihood = sums.log_likelihood
        if foreign is not None:
            likelihood += sums.rows * float(np.log1p(-foreign.share))
            if self.variate is None:  # the noise of a few rows would vanish where sums are guessed
                foreign = self._foreign(foreign, sums)
            foreign = foreign.sharing(equation, self.common, self.layout.families)
        return replace(
            self,
            equation=equation,
            laws=self.laws.learnt(sums, equation.variances),
            chances=self._chances(sums),
            foreign=foreign,
            sums=sums._replace(log_likelihood=likelihood),
            rounds=self.rounds + 1,
        )

    def _chances(self, sums: Sums) -> FloatArray:
        """The share of wrong cells in each column, shrunk to that of all columns.

        Values of a kind of their own are a column's own affair and are not shared.
        """
        judged = self.chances > 0.0
        shared, own, kinds = sums.needed()
        wrong = shared + own + kinds
        usual = np.sum((wrong - kinds)[judged]) / max(sums.weight * np.count_nonzero(judged), 1.0)
        strength = SHARED_STRENGTH * sums.weight
        found = (wrong + strength * usual) / (sums.weight + strength)
        return np.where(judged, np.clip(found, LEAST_CHANCE, LARGEST_CHANCE), 0.0)

    def _foreign(self, old: Foreign, sums: Sums) -> Foreign:
        """The second network, learnt from the rows that may be its own."""
        count, rows = float(sums.foreign[0]), sums.rows
        share = min(max((count + 0.5) / (rows + 10.0), 1e-4), LARGEST_CHANCE)
        if count < FEWEST_FOREIGN:
            return replace(old, share=share)
        found = foreign_equation(sums.foreign, self.equation.means, old.floors, self.layout)
        return replace(old, share=share, equation=found)


@dataclass(frozen=True)
class LongStep:
    r"""Where two rounds lead to, by squared extrapolation (Varadhan and Roland, 2008).

    From :math:`x_0 \to x_1 \to x_2` with :math:`r = x_1 - x_0` and :math:`v = x_2 - x_1 - r` to

    .. math:: x_0 + 2 a r + a^2 v, \quad a = |r| / |v| \ge 1.

    A law of errors that few cells speak for is learnt slowly: each round goes a small part of the
    way. Parameters are measured in standard errors, and shares by their square roots, whose errors
    do not depend on them.
    """

    point: FloatArray
    metric: "Metric"
    length: float
    """How many rounds the step is worth."""

    @classmethod
    def of(cls, start: Mixture, first: Mixture, second: Mixture, longest: float) -> "LongStep":
        """The step of three successive mixtures, no longer than this."""
        metric = Metric.of(start, first.sums)
        points = [metric.point(one) for one in (start, first, second)]
        move, change = points[1] - points[0], points[2] - 2.0 * points[1] + points[0]
        size = float(np.linalg.norm(move)) / max(float(np.linalg.norm(change)), 1e-300)
        length = min(max(size, 1.0), longest)
        point = points[0] + 2.0 * length * move + length**2 * change
        return cls(point, metric, length)

    def taken(self, mixture: Mixture) -> Mixture:
        """The mixture at the point, with all else as it is."""
        return self.metric.at(self.point, mixture)


@dataclass(frozen=True)
class Metric:
    """Parameters of mixtures as vectors in standard errors; shares by their square roots."""

    units: FloatArray
    """Standard errors of coefficients, means and logs of variances."""
    count: float
    """Rows."""

    @classmethod
    def of(cls, mixture: Mixture, sums: Sums | None) -> "Metric":
        """The errors at some parameters, with the rows of a round."""
        families, old = mixture.layout.families, mixture.equation
        count = 1.0 if sums is None else float(sums.rows)
        marginal = mixture.marginal
        with np.errstate(over="ignore"):
            leverage = marginal[families.parents] / old.variances[families.family_of_edge]
        errors = (1.0 / np.sqrt(leverage), np.sqrt(marginal), np.full(len(marginal), np.sqrt(2.0)))
        return cls(np.maximum(np.concatenate(errors) / np.sqrt(count), LEAST_UNIT), count)

    def point(self, mixture: Mixture) -> FloatArray:
        """The parameters of a mixture."""
        equation, laws, chances = mixture.equation, mixture.laws, mixture.chances
        first = (equation.coefficients, equation.means, np.log(equation.variances))
        wrong = float(chances.sum())
        shares = (chances, wrong * laws.weights, (chances * laws.shares).ravel())
        roots = 2.0 * np.sqrt(self.count * np.concatenate(shares))
        return np.concatenate((np.concatenate(first) / self.units, roots))

    def between(self, one: Mixture, other: Mixture) -> float:
        """The distance of two mixtures; infinite if one is not a number."""
        found = float(np.linalg.norm(self.point(one) - self.point(other)))
        return found if np.isfinite(found) else np.inf

    def at(self, point: FloatArray, mixture: Mixture) -> Mixture:
        """The mixture with the parameters of a point, and with all else as it is."""
        edges, nodes = len(mixture.equation.coefficients), len(mixture.chances)
        first, roots = point[: len(self.units)] * self.units, point[len(self.units) :]
        coefficients, means, logs = np.split(first, (edges, edges + nodes))
        ends = (nodes, nodes + len(mixture.laws.weights))
        chances, weights, shares = np.split(np.maximum(roots, 0.0) ** 2, ends)
        wanted = np.clip(chances / (4.0 * self.count), LEAST_CHANCE, LARGEST_CHANCE)
        weights, parts = weights + 1e-12, shares.reshape(3, -1) + 1e-12
        laws = replace(
            mixture.laws, weights=weights / weights.sum(), shares=parts / parts.sum(axis=0)
        )
        return replace(
            mixture,
            equation=Equation(coefficients, means, np.maximum(np.exp(logs), LEAST_VARIANCE)),
            laws=laws,
            chances=np.where(mixture.judged, wanted, 0.0),
        )


HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


def _log_odds(foreign: Foreign | None) -> float:
    return 0.0 if foreign is None else float(np.log(foreign.share / (1.0 - foreign.share)))


def marginal_variances(families: Families, equation: Equation) -> FloatArray:
    """The variance of each node, (nodes,)."""
    arrays = equation.coefficients, equation.variances
    return equations.marginal_variances(families.order, families, *arrays)


def network_equation(
    families: Families, coefficients: FloatArray, intercepts: FloatArray, variances: FloatArray
) -> Equation:
    """The equations of a network with the means of its nodes, from their constants."""
    means = intercepts[None, :].copy()
    kernels.propagate(means, families.order, families, coefficients)
    return Equation(coefficients, means[0], variances)


def foreign_network(mixture: Mixture, weights: FloatArray, share: float) -> Foreign:
    """A second network, learnt from weighted rows."""
    rows, layout = _without_gaps(mixture.rows, mixture.equation), mixture.layout
    middle: FloatArray = np.median(rows, axis=0)
    floors = 0.01 * (1.4826 * np.median(np.abs(rows - middle), axis=0)) ** 2
    sums = foreign_sums(rows, weights, mixture.equation.means, layout)
    equation = foreign_equation(sums, mixture.equation.means, floors, layout)
    found = Foreign(share, equation, floors, np.zeros(0))
    return found.sharing(mixture.equation, mixture.common, layout.families).on(
        rows, layout.families
    )


def foreign_sums(
    rows: FloatArray, weights: FloatArray, means: FloatArray, layout: SparsePrecision
) -> FloatArray:
    """Weight, sums and products of weighted rows about some means, (1 + nodes + products,)."""
    one, other = layout.pairs
    chosen = np.flatnonzero(weights > 0.0)
    centred, own = rows[chosen] - means, weights[chosen]
    weighted = centred * own[:, None]
    products = np.einsum("ij,ij->j", weighted[:, one], centred[:, other])
    return np.concatenate((own.sum(keepdims=True), weighted.sum(axis=0), products))


def foreign_equation(
    sums: FloatArray, centres: FloatArray, floors: FloatArray, layout: SparsePrecision
) -> Equation:
    """The network of weighted rows, from what they add up to about some centres.

    Its correlations are shrunk towards 0, for the rows may be few: by d / (rows + 2 d).
    """
    width, total = len(centres), float(sums[0])
    shifts, values = sums[1 : 1 + width] / total, sums[1 + width :]
    one, other = layout.pairs
    values = values - total * shifts[one] * shifts[other]
    shrink = total / (total + 2.0 * width)
    values = np.where(one == other, values + total * floors[one], values * shrink)
    products = np.zeros(len(layout.neighbours))
    products[layout.of_product[0]] = values
    coefficients, variances, _ = layout.solve(products, np.zeros(width), total)
    variances = np.maximum(variances, 1e-12 * np.maximum(floors, 1e-300))
    return Equation(coefficients, centres + shifts, variances)


def log_densities(rows: FloatArray, families: Families, equation: Equation) -> FloatArray:
    """Log densities of complete rows under a network, (rows,)."""
    rest = kernels.residuals(rows - equation.means, families, equation.coefficients)
    variances = equation.variances[:, None]
    return np.asarray(-0.5 * (rest**2 / variances + np.log(2.0 * np.pi * variances)).sum(axis=0))


def _without_gaps(rows: Rows, equation: Equation) -> FloatArray:
    """The rows with means in place of missing cells."""
    return np.where(np.isnan(rows), equation.means, rows)
