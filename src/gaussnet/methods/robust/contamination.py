r"""Test for contamination: do the rejected values of a node follow the equation of the others?

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
and approximate if they are wrong."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt

import numpy as np

from gaussnet import display
from gaussnet.graph.dag import Dag
from gaussnet.methods.groups import Fitted
from gaussnet.methods.robust.findings import Trimming
from gaussnet.methods.standard_errors import adjusted
from gaussnet.methods.standard_errors.regressions import Regressions, regress
from gaussnet.model.network import GaussianNetwork
from gaussnet.tails import PValue
from gaussnet.types import BoolArray, FloatArray, Rows

TINY = 1e-280
"""Smaller chances are summed up in logarithms."""

LONGEST_LIST = 6
"""Nodes that the sentence names."""


@dataclass(frozen=True, eq=False, repr=False)
class ContaminationTest:
    """Whether the data look contaminated, and where; arrays are (nodes,), as ``dag.nodes``.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> rows = gn.simulate.random_network(dag, seed=0).sample(200, seed=1)
    >>> print(gn.fit(rows, dag, "auto").contamination)
    the data show no sign of contamination (smallest adjusted p-value 1.000)
    >>> rows[:20, 0] = 50.0
    >>> print(gn.fit(rows, dag, "auto").contamination)
    the data look contaminated in 1 of 2 nodes (adjusted p-values below 0.05): wet (10.0%)
    """

    dag: Dag
    level: float
    statistics: FloatArray
    """F statistics of the rejected values; 0 where none is rejected."""
    p_values: FloatArray
    """Corrected for the choice of the rows; 1 where nothing is rejected."""
    adjusted: FloatArray
    """P-values by Holm's method, for all nodes at once."""
    shifts: FloatArray
    """How far least squares over all rows is from the answer: root mean square of the
    difference of the parameters, in standard errors; 0 where no row is left out."""
    shares: FloatArray
    """Of the rows in which a node and its parents have values, the part that does not fit."""

    @property
    def contaminated(self) -> tuple[str, ...]:
        """Nodes whose values do not follow one equation, largest share first."""
        found = np.flatnonzero(self.adjusted <= self.level)
        order = found[np.argsort(-self.shares[found], kind="stable")]
        return tuple(self.dag.nodes[node] for node in order.tolist())

    @property
    def sentence(self) -> str:
        """Whether the data look contaminated, and where."""
        names = self.contaminated
        if not names:
            smallest = self.adjusted.min(initial=1.0)
            told = f"smallest adjusted p-value {PValue(smallest)!s}"
            return f"the data show no sign of contamination ({told})"
        listed = ", ".join(
            f"{name} ({self.shares[self.dag.position(name)]:.1%})" for name in names[:LONGEST_LIST]
        )
        more = f" and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
        return (
            f"the data look contaminated in {len(names)} of {len(self.dag)} nodes (adjusted "
            f"p-values below {self.level:g}): {listed}{more}"
        )

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"ContaminationTest({len(self.contaminated)} of {len(self.dag)} nodes)"


def find_contamination(fitted: Fitted, rows: Rows, level: float) -> ContaminationTest:
    """Test every node that left out rows; the others show nothing."""
    network, trimming = fitted.network, fitted.findings
    dag = network.dag
    statistics, shifts, shares = np.zeros((3, len(dag)))
    p_values = np.ones(len(dag))
    with np.errstate(all="ignore"):
        for node in sorted(trimming.left_out):
            misfit = Misfit.of(node, rows, fitted)
            shifts[node], shares[node] = misfit.shift(network), misfit.share
            statistics[node], p_values[node] = misfit.test()
    by_holm = adjusted(p_values, "holm")
    return ContaminationTest(dag, level, statistics, p_values, by_holm, shifts, shares)


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
    fitted: Fitted

    @classmethod
    def of(cls, node: int, rows: Rows, fitted: Fitted) -> "Misfit":
        """Sort the rows of a node by what was found of them."""
        trimming: Trimming = fitted.findings
        families = fitted.network.dag.families.subset(np.array([node]))
        values = np.asarray(rows[:, families.columns], dtype=np.float64)
        complete = np.logical_not(np.isnan(values).any(axis=1))
        complete[trimming.set_rows.get(node, [])] = False
        sound, left_out, flagged = complete.copy(), ~complete, np.zeros(len(rows), dtype=bool)
        for parent in families.parents.tolist():
            if parent in trimming.cells:
                sound[trimming.cells[parent].rows[trimming.distrusted(parent)]] = False
        left_out[trimming.left_out[node]] = True
        if node in trimming.cells:
            flagged[trimming.cells[node].rows[trimming.indices(node, "flagged")]] = True
        if np.count_nonzero(sound & ~left_out) <= values.shape[1]:
            sound = complete
        doubtful = complete & ~sound
        parts = (sound & ~left_out, sound & left_out, doubtful & flagged)
        count = int(np.count_nonzero(doubtful))
        return cls(node, values, *parts, count, complete, trimming, fitted)

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
        (found,) = regress(self.fitted.node_group(self.node, self.values[chosen]))
        return found

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
        """The statistic of doubted rows whose distrusted parents have their expected values."""
        rows = np.flatnonzero(self.doubted)
        parents = self.values[rows, :-1].copy()
        variances = np.zeros_like(parents)
        families = self.fitted.network.dag.families
        for index, parent in enumerate(families.parent_lists[self.node]):
            if parent in self.trimming.cells:
                cells, chosen = self.trimming.cells[parent], self.trimming.distrusted(parent)
                _, own, there = np.intersect1d(rows, cells.rows[chosen], return_indices=True)
                parents[own, index] = cells.expected[chosen[there]]
                variances[own, index] = cells.variances[chosen[there]]
        slopes, means = self.equation.coefficients[0], self.equation.means[0]
        rest = self.values[rows, -1] - means[-1] - (parents - means[:-1]) @ slopes
        return float(np.mean(rest**2 / (float(self.equation.noise[0]) + variances @ slopes**2)))

    def chance(self, statistic: float, extra: BoolArray, rows: int) -> float:
        """Log p-value of an F statistic of rows that were the best choice among so many."""
        count = int(np.count_nonzero(extra))
        ratio = 1.0 / (1.0 + statistic * count / self.freedom)
        chance = log_beta_chance(ratio, 0.5 * self.freedom, 0.5 * count)
        return min(chance + log_choices(rows, count), 0.0)

    def shift(self, network: GaussianNetwork) -> float:
        """How far least squares over all rows lies from the network's equation."""
        families = network.dag.families
        coefficients = network.coefficient_array[families.edges_of(np.array([self.node]))]
        every = self.regress(self.complete)
        means, slopes = every.means[0], every.coefficients[0]
        constant = means[-1] - means[:-1] @ slopes - network.intercept_array[self.node]
        moved = self.values[self.kept, :-1] @ (slopes - coefficients) + constant
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
    from scipy.special import betainc, betaln  # slow to import

    if value <= 0.0:
        return -inf
    chance = float(betainc(first, second, value))
    if chance > TINY:
        return log(chance)
    term = total = 1.0
    step = 0
    while term > 1e-16 * total and step < 100_000:
        term *= value * (first + second + step) / (first + 1.0 + step)
        total += term
        step += 1
    edge = first * log(value) + second * np.log1p(-value) - log(first) - betaln(first, second)
    return float(edge + log(total))


def log_choices(rows: int, chosen: int) -> float:
    """Log of what a chance costs if it is the best of all choices of rows of any number.

    Examples
    --------
    >>> round(exp(log_choices(10, 1))), round(exp(log_choices(10, 2)))
    (20, 270)
    """
    from scipy.special import gammaln  # slow to import

    ways = gammaln(rows + 1.0) - gammaln(chosen + 1.0) - gammaln(rows - chosen + 1.0)
    return float(ways + log(chosen) + log(chosen + 1.0))
