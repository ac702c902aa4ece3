r"""Do the rejected values of a node follow the equation that the others do?

Of the k rows with sound parents a node rejects g. If all k follow one equation with normal noise,
the residual sums of squares of least squares without and with the g rows have the ratio

.. math:: \Lambda = RSS_{k-g} / RSS_k \sim \mathrm{Beta}\left(\tfrac{k-g-q}{2}, \tfrac g2\right)

for any g rows chosen without looking at the noise (q coefficients; this is the F test of Chow and,
for g of at most q rows, the test of Hausman for the difference of the two sets of coefficients).
But the rows were chosen because their residuals are large. There are C(k, g) ways to choose g
rows, so the chance that any choice of any size reaches the level is at most that of one choice
times C(k, g) g (g + 1), since the sum of 1 / (g (g + 1)) is 1. That p-value is valid however the
rows were chosen. Which parents are sound was decided by other equations, so it holds at a node
whatever is wrong elsewhere.

Values flagged in rows with suspicious parents are tested the same way, among those rows, once with
the parents as recorded and once with the parents as they should be; the larger p-value counts, and
the smaller one of the two kinds of rows is doubled. This part is exact if the records are right
and approximate if they are wrong.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaln, gammaln

from gaussnet._types import BoolArray, FloatArray, Rows
from gaussnet.estimate.equations import Equations
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.trimming import Trimming
from gaussnet.fitting.uncertainty.regressions import Regressions, regress
from gaussnet.kernels.families import Families
from gaussnet.model.network import GaussianNetwork
from gaussnet.stream.pages import cut_pages

if TYPE_CHECKING:
    from gaussnet.fitting.evidence import Evidence

TINY = 1e-280
"""Smaller chances are summed up in logarithms."""


@dataclass(frozen=True, eq=False)
class Misfit:
    """The rows of one node: kept, rejected, and flagged beside suspicious parents."""

    node: int
    values: FloatArray
    """Parents and child, (rows, parents + 1)."""
    kept: BoolArray
    rejected: BoolArray
    doubted: BoolArray
    """Rows with suspicious parents in which the node's own value is flagged."""
    doubtful: int
    """Rows with suspicious parents, flagged or not."""
    complete: BoolArray
    trimming: Trimming
    evidence: "Evidence"

    @classmethod
    def of(cls, node: int, rows: Rows, trimming: Trimming, evidence: "Evidence") -> "Misfit":
        """Sort the rows of a node by what was found of them."""
        families = evidence.reading.dag.families.subset(np.array([node]))
        values = np.asarray(rows[:, families.columns], dtype=np.float64)
        complete = np.logical_not(np.isnan(values).any(axis=1))
        sound, left_out, flagged = complete.copy(), ~complete, np.zeros(len(rows), dtype=bool)
        for parent in families.parents.tolist():
            if parent in trimming.cells:
                sound[trimming.cells[parent].rows] = False
        left_out[trimming.left_out[node]] = True
        if node in trimming.cells:
            flagged[trimming.cells[node].rows[trimming.places(node, "flagged")]] = True
        if np.count_nonzero(sound & ~left_out) <= values.shape[1]:
            sound = complete
        doubtful = complete & ~sound
        parts = (sound & ~left_out, sound & left_out, doubtful & flagged)
        count = int(np.count_nonzero(doubtful))
        return cls(node, values, *parts, count, complete, trimming, evidence)

    @cached_property
    def equation(self) -> Regressions:
        """Least squares over the rows kept."""
        return self.regress(self.kept)

    @property
    def freedom(self) -> float:
        """Rows kept less coefficients."""
        return float(self.equation.freedom[0])

    @property
    def share(self) -> float:
        """Of the complete rows, the part whose own value does not fit."""
        wrong = np.count_nonzero(self.rejected | self.doubted)
        return float(wrong / np.count_nonzero(self.complete))

    def regress(self, chosen: BoolArray) -> Regressions:
        """Least squares over the chosen rows."""
        size = self.values.shape[1] - 1
        reading = self.evidence.reading
        alone = Families(np.array([size]), np.array([0, size]), np.arange(size))
        pages = cut_pages(self.values[chosen], reading.page_rows)
        nodes = np.zeros(1, dtype=np.int64)
        portion = Portion(nodes, Equations(alone, reading.intercept), pages)
        return regress(portion, self.evidence.work)[0]

    def test(self) -> tuple[float, float]:
        """F statistic of the rejected rows, and the p-value of all that does not fit."""
        statistic, chances = 0.0, [0.0]
        if not self.freedom > 0.0:
            return statistic, 1.0
        if self.rejected.any():
            statistic = self.statistic(self.rejected)
            rows = int(np.count_nonzero(self.kept | self.rejected))
            chances.append(self.chance(statistic, self.rejected, rows))
        if self.doubted.any():
            # Right or wrong records of the parents: the more lenient of the two counts.
            lenient = min(self.statistic(self.doubted), self.cleaned_statistic())
            chances.append(self.chance(lenient, self.doubted, self.doubtful))
        tests = 2.0 if self.doubtful else 1.0
        return statistic, min(tests * exp(min(chances)), 1.0)

    def statistic(self, extra: BoolArray) -> float:
        """Mean square that some rows add to the residuals, over that of the rows kept."""
        before = float(self.equation.squares[0])
        added = float(self.regress(self.kept | extra).squares[0]) - before
        if not added > 0.0:
            return 0.0
        return added / np.count_nonzero(extra) / (before / self.freedom) if before else inf

    def cleaned_statistic(self) -> float:
        """The same for doubted rows with suspicious parents as they should be."""
        rows = np.flatnonzero(self.doubted)
        parents = self.values[rows, :-1].copy()
        vague = np.zeros_like(parents)
        families = self.evidence.reading.dag.families.subset(np.array([self.node]))
        for place, parent in enumerate(families.parents.tolist()):
            if parent in self.trimming.cells:
                cells = self.trimming.cells[parent]
                _, own, there = np.intersect1d(rows, cells.rows, return_indices=True)
                parents[own, place] = cells.expected[there]
                vague[own, place] = cells.variances[there]
        slopes, means = self.equation.coefficients[0], self.equation.means[0]
        rest = self.values[rows, -1] - means[-1] - (parents - means[:-1]) @ slopes
        variances = float(self.equation.noise[0]) + vague @ slopes**2
        return float(np.mean(rest**2 / variances))

    def chance(self, statistic: float, extra: BoolArray, rows: int) -> float:
        """Log p-value of an F statistic of rows that were the best choice among so many."""
        count = int(np.count_nonzero(extra))
        ratio = 1.0 / (1.0 + statistic * count / self.freedom)
        chance = log_beta_chance(ratio, 0.5 * self.freedom, 0.5 * count)
        return min(chance + log_choices(rows, count), 0.0)

    def shift(self, network: GaussianNetwork) -> float:
        """How far least squares over all rows lies from the network's equation."""
        families = network.dag.families
        learnt = network.coefficient_array[families.edges_of(np.array([self.node]))]
        every = self.regress(self.complete)
        means, slopes = every.means[0], every.coefficients[0]
        constant = means[-1] - means[:-1] @ slopes - network.intercept_array[self.node]
        moved = self.values[self.kept, :-1] @ (slopes - learnt) + constant
        noise, parameters = float(self.equation.noise[0]), len(moved) - self.freedom
        if not noise > 0.0 or not parameters > 0.0:
            return 0.0
        return sqrt(float(moved @ moved) / parameters / noise)


def log_beta_chance(value: float, first: float, second: float) -> float:
    """Log of the chance that a Beta(first, second) variable is at most `value`.

    Examples
    --------
    >>> round(log_beta_chance(0.5, 2.0, 3.0), 6) == round(log(11 / 16), 6)
    True
    >>> round(log_beta_chance(1e-300, 2.0, 3.0), 3) == round(log(6.0) - 600 * log(10.0), 3)
    True
    """
    if value <= 0.0:
        return -inf
    chance = float(betainc(first, second, value))
    if chance > TINY:
        return log(chance)
    term = total = 1.0
    place = 0
    while term > 1e-16 * total and place < 100_000:
        term *= value * (first + second + place) / (first + 1.0 + place)
        total += term
        place += 1
    edge = first * log(value) + second * np.log1p(-value) - log(first) - betaln(first, second)
    return float(edge + log(total))


def log_choices(rows: int, chosen: int) -> float:
    """Log of what a chance costs if it is the best of all choices of rows of any number.

    Examples
    --------
    >>> round(exp(log_choices(10, 1))), round(exp(log_choices(10, 2)))
    (20, 270)
    """
    ways = gammaln(rows + 1.0) - gammaln(chosen + 1.0) - gammaln(rows - chosen + 1.0)
    return float(ways + log(chosen) + log(chosen + 1.0))
