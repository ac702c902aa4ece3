"""Tests of all parameters whether groups of rows differ in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.fitting.graph_tests import NAMES
from gaussnet.fitting.incomparable import CommonPoints, Compared, Reasons, freedom_of_errors
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, Format, ResultTable
from gaussnet.fitting.uncertainty import find_root_covariances
from gaussnet.graph.dag import counted
from gaussnet.methods.standard_errors import Adjustment, adjusted
from gaussnet.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.group_fits import GroupFit

LEVELS = (
    "level: what an equation expects where the parents of its node are at their means over all "
    "groups"
)
"""What a test of a level is about."""

LEAST_FREEDOM = 2.0
"""Degrees of freedom of an error from which on two groups are compared by it."""
FORMATS: dict[str, Format] = {
    **dict.fromkeys(("parent", "child", "group", "kind", "name"), "text"),
    **dict.fromkeys(("p_value", "adjusted"), "p-value"),
    "rows": "count",
}
HEADINGS = {
    "std_error": "std. error",
    "p_value": "p-value",
    "adjusted": "adjusted p-value",
}


def table_of(
    title: str, lines: Sequence[dict[str, Any]], notes: tuple[str, ...] = ()
) -> ResultTable:
    """The lines as a table; columns of other names than the usual hold numbers."""
    heads = list(lines[0]) if lines else []
    columns = (
        Column(
            head,
            HEADINGS.get(head, head.replace("_", " ")),
            [line[head] for line in lines],
            FORMATS.get(head, "number"),
        )
        for head in heads
    )
    return ResultTable(title, tuple(columns), notes)


class EqualityTest(NamedTuple):
    """One parameter, and whether the groups differ in it."""

    kind: str
    """"coefficient", "covariance", "intercept", "level" or "variance"; the intercept of a node
    without parents is its mean, and the level of another node is what its equation expects where
    its parents are at their means over all groups."""
    name: str
    """The edge or node."""
    statistic: float
    freedom: float
    freedom_of_errors: float
    """Infinite where the statistic is chi-square over its freedom."""
    p_value: float
    adjusted: float
    estimates: tuple[float, ...]
    """In the order of the groups; NaN of those that say nothing of it."""

    @property
    def parameter(self) -> str:
        """The parameter in words."""
        where = " at the mean of its parents" if self.kind == "level" else ""
        return f"{self.kind} of {self.name}{where}"


@dataclass(frozen=True, eq=False, repr=False)
class EqualityTests:
    """Tests of all parameters, in the order of edges and nodes; printing them shows a table."""

    groups: tuple[str, ...]
    level: float
    adjustment: Adjustment
    tests: tuple[EqualityTest, ...]
    untested: int
    """Parameters that fewer than two groups say anything of, or that have nothing in common."""
    notes: tuple[str, ...] = ()
    """What was compared without some group, or not at all, and why."""
    left_out: tuple[str, ...] = ()
    """Groups of so few rows that they are part of no test."""

    @property
    def differing(self) -> tuple[EqualityTest, ...]:
        """The parameters in which the groups differ at the level, clearest first."""
        found = [one for one in self.tests if one.adjusted <= self.level]
        return tuple(sorted(found, key=lambda one: one.p_value))

    @property
    def verdict(self) -> str:
        """What the tests say, in one sentence."""
        count, total = len(self.differing), len(self.tests)
        if not total:
            return f"Nothing could be compared: {'; '.join(self.notes[:2])}."
        how = f"at level {self.level:g} ({NAMES[self.adjustment]}, {counted(total, 'test')})"
        if count:
            return (
                f"The groups differ in {count} of {counted(total, 'parameter')} {how}"
                f"{self._restriction}: look first at the {self.differing[0].parameter}."
            )
        what = "any parameter"
        if self.untested:
            what = f"the {counted(total, 'parameter')} that could be compared"
        return f"The groups do not differ in {what} {how}{self._restriction}."

    @property
    def _restriction(self) -> str:
        """What the tests say nothing of."""
        parts = []
        if self.left_out:
            parts.append(f"without {counted(len(self.left_out), 'group')} of too few rows")
        if self.untested:
            parts.append(f"{self.untested:,} more could not be compared")
        return f"; {', and '.join(parts)} (see the notes)" if parts else ""

    def table(self) -> ResultTable:
        """One row for each parameter, with the estimates of all groups."""
        lines = []
        for one in self.tests:
            line: dict[str, Any] = {"kind": one.kind, "name": one.name}
            own = zip(self.groups, one.estimates, strict=True)
            line |= {f"in {group}": estimate for group, estimate in own}
            more = {"statistic": one.statistic, "p_value": one.p_value, "adjusted": one.adjusted}
            lines.append(line | more)
        notes = (LEVELS,) if any(one.kind == "level" for one in self.tests) else ()
        return table_of("Do the groups differ?", lines, (self.verdict, *notes, *self.notes))

    def __iter__(self) -> Iterator[EqualityTest]:
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def __repr__(self) -> str:
        return f"EqualityTests({len(self)} parameters, {len(self.differing)} differ)"

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.table()._repr_html_()

    def __str__(self) -> str:
        return str(self.table())


NO_TEST = (np.nan, np.nan, np.nan, np.nan)


def _by_welch(
    what: tuple[str, str, int], estimates: FloatArray, errors: FloatArray, freedoms: FloatArray
) -> Compared:
    """A parameter compared by Welch's test among the groups that have an error of it."""
    known = np.isfinite(estimates) & np.isfinite(errors) & (errors > 0.0)
    known = with_freedom(known, freedoms)
    enough = np.count_nonzero(known) > 1
    found = welch(estimates[known], errors[known], freedoms[known]) if enough else NO_TEST
    return Compared(*what, np.where(known, estimates, np.nan), known, found)


def with_freedom(known: BoolArray, freedoms: FloatArray) -> BoolArray:
    """The groups whose errors are sure enough for Welch's test among them, (groups,).

    Its law is an approximation: groups of few degrees of freedom look different too often, and the
    more so the more groups there are. With at least :math:`1.5 \\sqrt k` of them, and 3, there are
    up to 8 % of alarms at level 5 % in simulations of 3 to 300 equal groups k.

    Examples
    --------
    >>> with_freedom(np.ones(3, dtype=bool), np.array([1.0, 30.0, 40.0])).tolist()
    [False, True, True]
    """
    while True:
        count = np.count_nonzero(known)
        fewest = LEAST_FREEDOM if count == 2 else max(LEAST_FREEDOM + 1.0, 1.5 * count**0.5)
        kept = known & (freedoms >= fewest)
        if np.array_equal(kept, known):
            return kept
        known = kept


def _covariance_tests(fits: Sequence[Fit]) -> list[Compared]:
    """Whether the covariances of nodes without parents differ."""
    dag = fits[0].dag
    if not dag.covariances:
        return []
    values = np.array([list(fit.network.covariances.values()) for fit in fits])
    errors = np.array([find_root_covariances(fit, (None, 0.95, 0, 0))[0] for fit in fits])
    freedom = np.array([fit.rows - 2.0 for fit in fits])
    return [
        _by_welch(("covariance", f"{one} ~~ {other}", dag.position(one)), own, error, freedom)
        for (one, other), own, error in zip(dag.covariances, values.T, errors.T, strict=True)
    ]


def equality_tests(found: "GroupFit", level: float, adjust: Adjustment) -> EqualityTests:
    """The tests of all parameters of a `GroupFit`."""
    fits = list(found.fits.values())
    if len(fits) < 2:
        raise SettingError("there is one group only: nothing can differ")
    freedoms = np.array([freedom_of_errors(fit) for fit in fits])
    tests = _coefficient_tests(fits, freedoms) + _covariance_tests(fits)
    freedoms += found.dag.in_degrees - found.dag.parent_counts  # of means and variances, not arcs
    points = CommonPoints(fits)
    means = _mean_tests(fits, freedoms, points) if fits[0].intercept else []
    variances = _variance_tests(fits, freedoms)
    by_node = zip(means, variances, strict=True) if means else zip(variances, strict=True)
    tests += [one for own in by_node for one in own]
    kept = [one for one in tests if one.is_tested]
    corrected = adjusted(np.array([one.verdict[3] for one in kept]), adjust)
    named = tuple(
        EqualityTest(one.kind, one.name, *one.verdict, float(other), tuple(one.estimates.tolist()))
        for one, other in zip(kept, corrected, strict=True)
    )
    reasons = Reasons(found.dag, found.fits, tests, freedoms, points)
    return EqualityTests(
        tuple(found.fits),
        float(level),
        adjust,
        named,
        len(tests) - len(kept),
        tuple(reasons.notes()),
        reasons.left_out,
    )


def _coefficient_tests(fits: Sequence[Fit], freedoms: FloatArray) -> list[Compared]:
    """Whether coefficients differ, by Welch's test."""
    dag = fits[0].dag
    slopes = np.array([fit.network.coefficient_array for fit in fits])
    errors = np.array([fit.standard_errors.coefficient_array for fit in fits])
    of_edge, tests = dag.families.family_of_edge, []
    for index in np.flatnonzero(~dag.is_covariance).tolist():
        parent, child = dag.edges[index]
        node = int(of_edge[index])
        own = (slopes[:, index], errors[:, index], freedoms[:, node])
        tests.append(_by_welch(("coefficient", f"{parent} -> {child}", node), *own))
    return tests


def _mean_tests(fits: Sequence[Fit], freedoms: FloatArray, common: CommonPoints) -> list[Compared]:
    r"""Whether the means of nodes without parents, and the levels of equations, differ.

    The level of a group's equation is :math:`\alpha_g + \beta_g' \bar x` with :math:`\bar x` the
    means of the parents over all groups. Its error is that of an estimate amid the rows, while the
    intercept, :math:`\bar x = 0`, is one far from the rows wherever the parents are far from 0.
    """
    dag, families, points = fits[0].dag, fits[0].dag.families, common.points
    means = np.array([fit.network.constants for fit in fits])
    errors = np.array([fit.standard_errors.intercept_array for fit in fits])
    is_level = np.array([bool(parents) for parents in dag.parent_lists])
    for index, (fit, own) in enumerate(zip(fits, common.known, strict=True)):
        moves = fit.network.coefficient_array * points
        levels = means[index] + np.bincount(families.family_of_edge, moves, len(dag))
        means[index] = np.where(is_level, levels, means[index])
        errors[index] = np.where(is_level, own.level_errors(points), errors[index])
    errors[:, list(common.none)] = np.nan
    kinds = np.where(is_level, "level", "intercept").tolist()
    return [
        _by_welch((kinds[node], dag.nodes[node], node), *own)
        for node, own in enumerate(zip(means.T, errors.T, freedoms.T, strict=True))
    ]


def _variance_tests(fits: Sequence[Fit], freedoms: FloatArray) -> list[Compared]:
    """Whether noise variances differ: Bartlett's test, or by the errors of their logarithms."""
    variances = np.array([fit.network.noise_variances for fit in fits])
    errors = np.array([fit.standard_errors.variance_array for fit in fits])
    squares = variances * np.array([fit.details.rows for fit in fits])
    by_bartlett, found = fits[0].method.maximizes_likelihood, []
    for node, name in enumerate(fits[0].dag.nodes):
        own, known = variances[:, node], (variances[:, node] > 0.0) & (freedoms[:, node] > 0.0)
        relative = errors[:, node] / np.where(known, own, np.nan)
        if not by_bartlett:
            known = with_freedom(known & (relative > 0.0), freedoms[:, node])
        verdict = NO_TEST
        if np.count_nonzero(known) > 1:
            many = np.full(np.count_nonzero(known), np.inf)
            verdict = (
                bartlett(squares[known, node], freedoms[known, node])
                if by_bartlett
                else welch(np.log(own[known]), relative[known], many)
            )
        estimates = np.where(known | (freedoms[:, node] > 0.0), own, np.nan)
        found.append(Compared("variance", name, node, estimates, known, verdict))
    return found


def welch(
    estimates: FloatArray, errors: FloatArray, freedoms: FloatArray
) -> tuple[float, float, float, float]:
    r"""Welch's test that estimates with errors of their own are equal.

    .. math:: F = \frac{\sum_g w_g (t_g - \bar t)^2 / (k - 1)}{1 + 2 (k - 2) L / (k^2 - 1)}, \quad
              L = \sum_g \frac{(1 - w_g / W)^2}{f_g}, \quad w_g = se_g^{-2}

    with k - 1 and :math:`(k^2 - 1) / (3 L)` degrees of freedom. Statistic, both degrees of
    freedom and p-value; NaN where a group has no error.

    Examples
    --------
    >>> from scipy.stats import ttest_ind
    >>> x, y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 4.0, 5.0, 9.0])
    >>> means, errors = np.array([x.mean(), y.mean()]), [x.std(ddof=1), y.std(ddof=1)]
    >>> found = welch(means, np.array(errors) / np.sqrt([3, 4]), np.array([2.0, 3.0]))
    >>> bool(np.isclose(found[3], ttest_ind(x, y, equal_var=False).pvalue))
    True
    """
    from scipy.special import chdtrc, fdtrc  # slow to import

    count = len(estimates)
    if not (np.isfinite(estimates) & np.isfinite(errors) & (errors > 0.0)).all():
        return np.nan, np.nan, np.nan, np.nan
    weights = (errors.min() / errors) ** 2
    total = weights.sum()
    centre = weights @ estimates / total
    between = float((((estimates - centre) / errors) ** 2).sum()) / (count - 1)
    lost = float(((1.0 - weights / total) ** 2 / freedoms).sum())
    statistic = between / (1.0 + 2.0 * (count - 2) * lost / (count**2 - 1))
    first = float(count - 1)
    if lost == 0.0:
        return statistic, first, np.inf, float(chdtrc(first, statistic * first))
    second = (count**2 - 1) / (3.0 * lost)
    return statistic, first, second, float(fdtrc(first, second, statistic))


def bartlett(squares: FloatArray, freedoms: FloatArray) -> tuple[float, float, float, float]:
    r"""Bartlett's test that variances are equal, from sums of squares and their freedom.

    .. math:: \frac{f \log s^2 - \sum_g f_g \log s_g^2}
              {1 + \frac{1}{3 (k - 1)} (\sum_g 1 / f_g - 1 / f)} \sim \chi^2_{k - 1}

    Examples
    --------
    >>> from scipy.stats import bartlett as other
    >>> x, y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 4.0, 5.0, 9.0])
    >>> squares = np.array([2 * x.var(ddof=1), 3 * y.var(ddof=1)])
    >>> found = bartlett(squares, np.array([2.0, 3.0]))
    >>> bool(np.isclose(found[3], other(x, y).pvalue))
    True
    """
    from scipy.special import chdtrc  # slow to import

    count = len(squares)
    if not (np.isfinite(squares) & (squares > 0.0) & (freedoms > 0.0)).all():
        return np.nan, np.nan, np.nan, np.nan
    total = freedoms.sum()
    largest = squares.max()
    units = squares / largest
    gap = total * np.log(units.sum() / total) - freedoms @ np.log(units / freedoms)
    factor = 1.0 + ((1.0 / freedoms).sum() - 1.0 / total) / (3.0 * (count - 1))
    statistic, first = float(max(gap, 0.0) / factor), float(count - 1)
    return statistic / first, first, np.inf, float(chdtrc(first, statistic))
