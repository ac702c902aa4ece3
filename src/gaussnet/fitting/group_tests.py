"""Tests of all parameters whether groups of rows differ in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.fitting.graph_tests import NAMES
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, Format, ResultTable
from gaussnet.fitting.uncertainty import checked_kind, find_errors, find_root_covariances
from gaussnet.methods.standard_errors import Adjustment, Assembly, adjusted
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.group_fits import GroupFit

LEVELS = (
    "level: what an equation expects where the parents of its node are at their means over all "
    "groups"
)
"""What a test of a level is about."""

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
    """In the order of the groups."""

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
    """Parameters that some group says nothing of."""

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
            return "There is nothing to compare."
        how = f"at level {self.level:g} ({NAMES[self.adjustment]}, {total} tests)"
        if not count:
            return f"The groups do not differ in any parameter {how}."
        return (
            f"The groups differ in {count} of {total} parameters {how}: look first at the "
            f"{self.differing[0].parameter}."
        )

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
        return table_of("Do the groups differ?", lines, (self.verdict, *notes))

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


_Test = tuple[str, str, FloatArray, tuple[float, float, float, float]]
"""Kind, name, estimates of the groups, and the test."""


def _covariance_tests(fits: Sequence[Fit]) -> list[_Test]:
    """Whether the covariances of nodes without parents differ."""
    pairs = fits[0].dag.covariances
    if not pairs:
        return []
    values = np.array([list(fit.network.covariances.values()) for fit in fits])
    errors = np.array([find_root_covariances(fit, (None, 0.95, 0, 0))[0] for fit in fits])
    freedom = np.array([fit.rows - 2.0 for fit in fits])
    return [
        ("covariance", f"{one} ~~ {other}", own, welch(own, error, freedom))
        for (one, other), own, error in zip(pairs, values.T, errors.T, strict=True)
    ]


def equality_tests(found: "GroupFit", level: float, adjust: Adjustment) -> EqualityTests:
    """The tests of all parameters of a `GroupFit`."""
    fits = list(found.fits.values())
    if len(fits) < 2:
        raise SettingError("there is one group only: nothing can differ")
    freedoms = np.array([_freedom(fit) for fit in fits])
    tests = _coefficient_tests(fits, freedoms) + _covariance_tests(fits)
    freedoms += found.dag.in_degrees - found.dag.parent_counts  # of means and variances, not arcs
    means = _mean_tests(fits, freedoms) if fits[0].intercept else []
    variances = _variance_tests(fits, freedoms)
    by_node = zip(means, variances, strict=True) if means else zip(variances, strict=True)
    tests += [one for own in by_node for one in own]
    kept = [one for one in tests if not np.isnan(one[3][3])]
    corrected = adjusted(np.array([one[3][3] for one in kept]), adjust)
    named = tuple(
        EqualityTest(kind, name, *verdict, float(other), tuple(values.tolist()))
        for (kind, name, values, verdict), other in zip(kept, corrected, strict=True)
    )
    groups = tuple(found.fits)
    return EqualityTests(groups, float(level), adjust, named, len(tests) - len(kept))


def _coefficient_tests(fits: Sequence[Fit], freedoms: FloatArray) -> list[_Test]:
    """Whether coefficients differ, by Welch's test."""
    dag = fits[0].dag
    slopes = np.array([fit.network.coefficient_array for fit in fits])
    errors = np.array([fit.standard_errors.coefficient_array for fit in fits])
    of_edge, tests = dag.families.family_of_edge, []
    for index in np.flatnonzero(~dag.is_covariance).tolist():
        parent, child = dag.edges[index]
        own = (slopes[:, index], errors[:, index], freedoms[:, of_edge[index]])
        tests.append(("coefficient", f"{parent} -> {child}", own[0], welch(*own)))
    return tests


def _mean_tests(fits: Sequence[Fit], freedoms: FloatArray) -> list[_Test]:
    r"""Whether the means of nodes without parents, and the levels of equations, differ.

    The level of a group's equation is :math:`\alpha_g + \beta_g' \bar x` with :math:`\bar x` the
    means of the parents over all groups. Its error is that of an estimate amid the rows, while the
    intercept, :math:`\bar x = 0`, is one far from the rows wherever the parents are far from 0.
    """
    dag, families = fits[0].dag, fits[0].dag.families
    means = np.array([fit.network.constants for fit in fits])
    errors = np.array([fit.standard_errors.intercept_array for fit in fits])
    known = [_assembly(fit) for fit in fits]
    points = _common_means(fits, known)
    is_level = np.array([bool(parents) for parents in dag.parent_lists])
    for index, (fit, own) in enumerate(zip(fits, known, strict=True)):
        moves = fit.network.coefficient_array * points
        levels = means[index] + np.bincount(families.family_of_edge, moves, len(dag))
        means[index] = np.where(is_level, levels, means[index])
        errors[index] = np.where(is_level, own.level_errors(points), errors[index])
    kinds = np.where(is_level, "level", "intercept").tolist()
    tested = [welch(*own) for own in zip(means.T, errors.T, freedoms.T, strict=True)]
    return list(zip(kinds, dag.nodes, means.T, tested, strict=True))


def _assembly(fit: Fit) -> Assembly:
    """The errors of a fit, of its method's own kind."""
    level = fit.uncertainty().confidence_intervals.level
    found = find_errors(fit, checked_kind(fit, None, level), level)
    assert isinstance(found, Assembly)
    return found


def _common_means(fits: Sequence[Fit], known: Sequence[Assembly]) -> FloatArray:
    """Means of the parents over all groups, (edges,), by the rows that each equation rests on."""
    of_edge = fits[0].dag.families.family_of_edge
    rows = np.array([fit.details.rows[of_edge] for fit in fits], dtype=np.float64)
    centres = np.array([own.centres for own in known])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((rows * centres).sum(axis=0) / rows.sum(axis=0))


def _variance_tests(fits: Sequence[Fit], freedoms: FloatArray) -> list[_Test]:
    """Whether noise variances differ: Bartlett's test, or by the errors of their logarithms."""
    dag = fits[0].dag
    variances = np.array([fit.network.noise_variances for fit in fits])
    if fits[0].method.maximizes_likelihood:
        squares = variances * np.array([fit.details.rows for fit in fits])
        tested = [bartlett(*own) for own in zip(squares.T, freedoms.T, strict=True)]
    else:
        errors = np.array([fit.standard_errors.variance_array for fit in fits])
        many = np.full(len(fits), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = zip(np.log(variances).T, (errors / variances).T, strict=True)
            tested = [welch(logs, relative, many) for logs, relative in pairs]
    kinds = ["variance"] * len(dag)
    return list(zip(kinds, dag.nodes, variances.T, tested, strict=True))


def _freedom(fit: Fit) -> FloatArray:
    """Degrees of freedom of each node's errors, (nodes,)."""
    left = (fit.details.rows - fit.details.ranks - int(fit.intercept)).astype(np.float64)
    return np.where(left > 0.0, left, np.nan)


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
