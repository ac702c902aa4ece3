"""Fits by group: one network for each, one for all rows, and what the groups have in common."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from gaussnet import display
from gaussnet.data.passes import Run
from gaussnet.data.table import ask, open_table
from gaussnet.errors import EstimationError, GaussnetError, SettingError
from gaussnet.fitting.graph_tests import NAMES
from gaussnet.fitting.learn import fit_with
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import Column, Format, ResultTable
from gaussnet.fitting.uncertainty import PURPOSE, find_root_covariances
from gaussnet.graph.dag import Dag, counted, shorten
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.groups import Groups, ReadOptions
from gaussnet.methods.moments import MomentsPass, unpacked
from gaussnet.methods.standard_errors import Adjustment, adjusted
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.roots import correlated_nodes
from gaussnet.tails import PValue
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.methods.moments import Moments

Poolable = Literal["coefficients", "intercepts", "variances"]
POOLABLE: tuple[Poolable, ...] = get_args(Poolable)

ALL = "all rows"

MOST_ROUNDS = 1_000
"""Rounds that common coefficients and the groups' variances may take to agree."""
AGREED = 1e-13
"""Relative change of the variances from which on they do."""


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


def _table(title: str, lines: Sequence[dict[str, Any]], notes: tuple[str, ...] = ()) -> ResultTable:
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


@dataclass(frozen=True, eq=False, repr=False)
class GroupFit:
    """A fit for each group of rows, and one for all rows; printing it shows a table.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"])
    >>> here, there = (gn.simulate.random_network(dag, seed=s).sample(200, seed=1) for s in (0, 1))
    >>> sites = ["Graz"] * 200 + ["Ulm"] * 200
    >>> found = gn.fit([*here, *there], dag, groups=sites)
    >>> list(found.fits), found.pooled.rows
    (['Graz', 'Ulm'], 400)
    >>> found.test_equal().differing[0].name
    'rain -> wet'
    """

    by: str
    """The column that tells the groups."""
    fits: Mapping[str, Fit]
    pooled: Fit
    """The fit to all rows, as if they were of one group."""

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.pooled.dag

    def table(self, *, level: float = 0.95) -> ResultTable:
        """Coefficients with standard errors and intervals, group by group and for all rows."""
        lines: list[dict[str, Any]] = []
        for position in np.flatnonzero(~self.dag.is_covariance).tolist():
            parent, child = self.dag.edges[position]
            for name, fit in (*self.fits.items(), (ALL, self.pooled)):
                sure = fit.uncertainty(level=level)
                ends = sure.confidence_intervals.coefficient_array[position].tolist()
                line = {"parent": parent, "child": child, "group": name, "rows": fit.rows}
                line["estimate"] = float(fit.network.coefficient_array[position])
                line["std_error"] = float(sure.standard_errors.coefficient_array[position])
                lines.append(line | {"low": ends[0], "high": ends[1]})
        return _table(f"Coefficients by {self.by}", lines)

    def test_equal(self, *, level: float = 0.05, adjust: Adjustment = "holm") -> "EqualityTests":
        r"""Test of every coefficient, intercept and variance whether the groups differ in it.

        Coefficients and intercepts are compared by Welch's test, which allows each group an
        error of its own; with two groups it is Welch's t test. Noise variances of least squares
        are compared by Bartlett's test, those of other methods by their standard errors.
        P-values are adjusted for their number.
        """
        check_level(level, 0.05)
        return equality_tests(self, level, adjust)

    def pool(self, what: Poolable | Sequence[Poolable] = "coefficients") -> "GroupPool":
        """Maximum likelihood with some parameters common to all groups; for least squares.

        "coefficients", "intercepts", "variances", or several of them. What is not pooled is
        each group's own, and so is all of the nodes that covary; the likelihood ratio says
        whether the groups may share the rest.

        Examples
        --------
        >>> import gaussnet as gn
        >>> dag = gn.Dag.parse("[rain][wet|rain]", nodes=["rain", "wet"])
        >>> rows = gn.simulate.random_network(dag, seed=0).sample(400, seed=2)
        >>> found = gn.fit(rows, dag, groups=["Graz"] * 200 + ["Ulm"] * 200)
        >>> pool = found.pool("coefficients")
        >>> pool.freedom, pool.p_value > 0.05, len(pool.networks)
        (1, True, 2)
        """
        chosen = (what,) if isinstance(what, str) else tuple(what)
        unknown = [one for one in chosen if one not in POOLABLE]
        if unknown or not chosen:
            raise SettingError(
                f"got pool({what!r}), expected 'coefficients', 'intercepts' or 'variances', or "
                "several of these"
            )
        return find_pool(self, tuple(one for one in POOLABLE if one in chosen))

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.fits)

    def __getitem__(self, name: Any) -> Fit:
        """The fit of one group."""
        if str(name) not in self.fits:
            raise SettingError(
                f"there is no group {name!r}: the groups are {shorten(list(self.fits))}"
            )
        return self.fits[str(name)]

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {counted(fit.rows, 'row')}" for name, fit in self.fits.items())
        return f"GroupFit(by {self.by!r}, {len(self)} groups; {shorten([rows])})"

    def _repr_html_(self) -> str:
        """The verdict and the table, in a notebook."""
        verdict = escape(self.test_equal().verdict)
        return f"<p style='margin:.2em 0'>{verdict}</p>{self.table()._repr_html_()}"

    def __str__(self) -> str:
        return f"{self.table()}\n{self.test_equal().verdict}"


def fit_groups(
    run: Run, data: Any, options: ReadOptions, how: tuple[Method, Scale], client: Any = None
) -> GroupFit:
    """A fit for each group, and one for all rows."""
    study = options.study
    if client is not None:
        raise SettingError("got groups with a client: fit without the cluster")
    table = open_table(data, options.dag.nodes, options.page_rows, run, **options.beside)
    design = table.design
    names = () if design is None else design.groups or ()
    by = study.groups if isinstance(study.groups, str) else "group"
    fits = {}
    for number, name in enumerate(names):
        try:
            found = fit_with(run, table.group(number), options, how)
        except GaussnetError as problem:
            raise type(problem)(f"in the group {name!r} of {by!r}: {problem}") from None
        fits[name] = replace(found, general_notes=_own_notes(found))
    pooled = fit_with(run, table, options, how)
    return GroupFit(by, MappingProxyType(fits), pooled)


def _own_notes(fit: Fit) -> tuple[str, ...]:
    """Notes on the rows of a group, without those on columns, which the pooled fit has."""
    return tuple(note for note in fit.general_notes if "not in the graph" not in note)


class EqualityTest(NamedTuple):
    """One parameter, and whether the groups differ in it."""

    kind: str
    """"coefficient", "intercept" or "variance"."""
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
        first = self.differing[0]
        return (
            f"The groups differ in {count} of {total} parameters {how}: look first at the "
            f"{first.kind} of {first.name}."
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
        return _table("Do the groups differ?", lines, (self.verdict,))

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


def equality_tests(found: GroupFit, level: float, adjust: Adjustment) -> EqualityTests:
    """The tests of all parameters of a `GroupFit`."""
    fits = list(found.fits.values())
    if len(fits) < 2:
        raise SettingError("there is one group only: nothing can differ")
    errors = [fit.standard_errors for fit in fits]
    freedoms = np.array([_freedom(fit) for fit in fits])
    dag = found.dag
    of_edge = dag.families.family_of_edge
    tests: list[_Test] = []
    slopes = np.array([fit.network.coefficient_array for fit in fits])
    slope_errors = np.array([one.coefficient_array for one in errors])
    for index in np.flatnonzero(~dag.is_covariance).tolist():
        parent, child = dag.edges[index]
        own = (slopes[:, index], slope_errors[:, index], freedoms[:, of_edge[index]])
        tests.append(("coefficient", f"{parent} -> {child}", own[0], welch(*own)))
    tests += _covariance_tests(fits)
    freedoms += dag.in_degrees - dag.parent_counts  # of means and variances, not of arcs
    places = np.array([fit.network.constants for fit in fits])
    place_errors = np.array([one.intercept_array for one in errors])
    variances = np.array([fit.network.noise_variances for fit in fits])
    variance_errors = np.array([one.variance_array for one in errors])
    for index, node in enumerate(dag.nodes):
        if fits[0].intercept:
            own = (places[:, index], place_errors[:, index], freedoms[:, index])
            tests.append(("intercept", node, own[0], welch(*own)))
        values = variances[:, index]
        if fits[0].method.maximizes_likelihood:
            rows = np.array([fit.details.rows[index] for fit in fits])
            verdict = bartlett(values * rows, freedoms[:, index])
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = variance_errors[:, index] / values
                verdict = welch(np.log(values), relative, np.full(len(fits), np.inf))
        tests.append(("variance", node, values, verdict))
    kept = [one for one in tests if not np.isnan(one[3][3])]
    corrected = adjusted(np.array([one[3][3] for one in kept]), adjust)
    named = tuple(
        EqualityTest(kind, name, *verdict, float(other), tuple(values.tolist()))
        for (kind, name, values, verdict), other in zip(kept, corrected, strict=True)
    )
    groups = tuple(found.fits)
    return EqualityTests(groups, float(level), adjust, named, len(tests) - len(kept))


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


@dataclass(frozen=True, eq=False, repr=False)
class GroupPool:
    """Maximum likelihood with some parameters common to all groups, and a test of that."""

    what: tuple[Poolable, ...]
    networks: Mapping[str, GaussianNetwork]
    """By group; what is pooled is the same in all of them."""
    standard_errors: Mapping[tuple[str, str], float]
    """Of common coefficients, by edge; empty if they are each group's own."""
    statistic: float
    """Twice the log-likelihood that is lost by having these in common."""
    freedom: int
    p_value: float

    @cached_property
    def verdict(self) -> str:
        """Whether the groups may share these parameters, in one sentence."""
        named = " and ".join(self.what)
        found = f"chi-square {self.statistic:.4g} with {self.freedom} degrees of freedom"
        says = "contradict" if self.p_value <= 0.05 else "do not contradict"
        return f"The data {says} common {named} ({found}, p-value {PValue(self.p_value)!s})."

    def __repr__(self) -> str:
        return f"GroupPool({', '.join(self.what)} common to {len(self.networks)} groups)"

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        return self.verdict


def find_pool(found: GroupFit, what: tuple[Poolable, ...]) -> GroupPool:
    """Maximum likelihood with these parameters in common."""
    from scipy.special import chdtrc  # slow to import

    fits, dag = list(found.fits.values()), found.dag
    if not all(fit.method.maximizes_likelihood and fit.scale.uses_mean_squares for fit in fits):
        raise SettingError(
            f"got method={fits[0].method.name!r}, expected 'least-squares' with mean squares: "
            "only these have a likelihood to share parameters by"
        )
    sums = [family_sums(fit.required_data(PURPOSE).groups()[0]) for fit in fits]
    shape = (len(fits), len(dag))
    slopes, places = np.empty((len(fits), len(dag.edges))), np.zeros(shape)
    variances, statistic, freedom = np.empty(shape), 0.0, 0
    errors: dict[tuple[str, str], float] = {}
    covary = set(correlated_nodes(dag).tolist())
    for node in range(len(dag)):
        own = [one[node] for one in sums]
        shared = () if node in covary else what
        answer = _constrained(own, shared, fits[0].intercept, dag.nodes[node])
        edges = slice(*dag.families.offsets[node : node + 2].tolist())
        slopes[:, edges], places[:, node] = answer.slopes, answer.intercepts
        variances[:, node] = answer.variances
        statistic += answer.statistic
        parents = edges.stop - edges.start
        per_group = {"coefficients": parents, "intercepts": int(fits[0].intercept), "variances": 1}
        freedom += (len(fits) - 1) * sum(per_group[one] for one in shared)
        errors.update(zip(dag.edges[edges], answer.errors.tolist(), strict=False))
    networks = {
        name: GaussianNetwork.from_arrays(dag, *arrays)
        for name, *arrays in zip(found.fits, slopes, variances, places, strict=True)
    }
    p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
    return GroupPool(
        what,
        MappingProxyType(networks),
        MappingProxyType(errors),
        statistic,
        freedom,
        p_value,
    )


class FamilySums(NamedTuple):
    """Row count, means of (parents, child) and cross-products about them."""

    rows: float
    means: FloatArray
    products: FloatArray


class Constrained(NamedTuple):
    """One node with some parameters common to all groups."""

    slopes: FloatArray
    """(groups, p)."""
    intercepts: FloatArray
    variances: FloatArray
    errors: FloatArray
    """Of common coefficients, (p,); empty if they are not."""
    statistic: float


def family_sums(groups: Groups) -> dict[int, FamilySums]:
    """The sums of every node's family, by node."""
    found: dict[int, FamilySums] = {}
    for group in groups:
        moments: Moments = ask(group.table, MomentsPass(group.equations))
        families = moments.families
        for index, node in enumerate(group.nodes.tolist()):
            span = slice(*families.column_offsets[index : index + 2].tolist())
            packed = slice(*families.product_offsets[index : index + 2].tolist())
            square = unpacked(moments.products[packed])
            found[node] = FamilySums(float(moments.rows), moments.means[span], square)
    return found


def _constrained(
    groups: Sequence[FamilySums], what: tuple[Poolable, ...], intercept: bool, node: str
) -> Constrained:
    """Maximum likelihood of one node with some parameters in common.

    Given the variances the coefficients are weighted least squares; given these the variances
    are mean squares: in turn until nothing changes.
    """
    with_ones = intercept and "intercepts" in what
    systems = [_system(one, groups, with_ones) for one in groups]
    size = len(groups[0].means) - 1 + with_ones
    common = np.zeros(size, dtype=bool)
    common[size - len(groups[0].means) + 1 :] = "coefficients" in what
    if with_ones:
        common[0] = True
    rows = np.array([one.rows for one in groups])
    alone = [np.asarray(np.linalg.solve(one.gram, one.cross), dtype=np.float64) for one in systems]
    free = np.array([_squares(*one) for one in zip(systems, alone, strict=True)]) / rows
    if not (free > 0.0).all():
        raise EstimationError(
            f"the node {node!r} is left without noise in some group, so that nothing can be "
            "pooled: leave it out of the graph"
        )
    answers = [
        _in_turn(systems, start, rows, common, "variances" in what)
        for start in (free, np.full(len(rows), (free @ rows) / rows.sum()))
    ]
    # Where the groups hardly agree, the likelihood may have several peaks.
    solution, information, variances = min(answers, key=lambda one: float(rows @ np.log(one[2])))
    slopes = solution[:, int(with_ones) :]
    places = np.zeros(len(groups))
    if intercept:
        centres = [_centre(groups) if with_ones else one.means for one in groups]
        places = np.array(
            [c[-1] - own @ c[:-1] for own, c in zip(slopes, centres, strict=True)]
        ) + (solution[:, 0] if with_ones else 0.0)
    errors = np.empty(0)
    if "coefficients" in what:
        errors = np.sqrt(np.diag(np.linalg.inv(information)))[int(with_ones) :]
    statistic = float(rows @ np.log(variances / free))
    return Constrained(slopes, places, variances, errors, max(statistic, 0.0))


def _in_turn(
    systems: "Sequence[System]", free: FloatArray, rows: FloatArray, common: Any, one_variance: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients, information on the common ones, and variances that agree with each other."""
    variances = free
    for _ in range(MOST_ROUNDS):
        solution, information = _weighted(systems, variances, common)
        squares = np.array([_squares(one, own) for one, own in zip(systems, solution, strict=True)])
        new = squares / rows
        if one_variance:
            new = np.full(len(rows), squares.sum() / rows.sum())
        change = np.abs(new / variances - 1.0).max()
        variances = new
        if change < AGREED:
            break
    return solution, information, variances


class System(NamedTuple):
    """The normal equations of one group."""

    gram: FloatArray
    """Cross-products of the regressors."""
    cross: FloatArray
    """Their cross-products with the child."""
    squares: float
    """Sum of squares of the child."""


def _centre(groups: Sequence[FamilySums]) -> FloatArray:
    """The mean of all groups' rows."""
    rows = np.array([one.rows for one in groups])
    return np.asarray(rows @ np.array([one.means for one in groups]) / rows.sum())


def _system(own: FamilySums, groups: Sequence[FamilySums], with_ones: bool) -> System:
    """The normal equations; with a constant among the regressors, about the mean of all rows."""
    products = own.products
    if not with_ones:
        return System(products[:-1, :-1], products[:-1, -1], float(products[-1, -1]))
    shift = own.means - _centre(groups)
    products = products + own.rows * np.outer(shift, shift)
    size = len(shift)
    gram = np.empty((size, size))
    gram[0, 0] = own.rows
    gram[0, 1:] = gram[1:, 0] = own.rows * shift[:-1]
    gram[1:, 1:] = products[:-1, :-1]
    cross = np.concatenate(([own.rows * shift[-1]], products[:-1, -1]))
    return System(gram, cross, float(products[-1, -1]))


def _squares(system: System, solution: FloatArray) -> float:
    """The residual sum of squares of some coefficients."""
    found = system.squares - 2.0 * solution @ system.cross + solution @ system.gram @ solution
    return float(found)


def _weighted(
    systems: Sequence[System], variances: FloatArray, common: Any
) -> tuple[FloatArray, FloatArray]:
    """Weighted least squares, (groups, size), and the information on what is common.

    What is a group's own is eliminated from its equations.
    """
    size = int(np.count_nonzero(common))
    information, score, kept = np.zeros((size, size)), np.zeros(size), []
    for system, variance in zip(systems, variances.tolist(), strict=True):
        free = system.gram[np.ix_(~common, ~common)]
        both = system.gram[np.ix_(~common, common)]
        solved = np.linalg.solve(free, np.column_stack((both, system.cross[~common])))
        gram = system.gram[np.ix_(common, common)] - both.T @ solved[:, :-1]
        information += gram / variance
        score += (system.cross[common] - both.T @ solved[:, -1]) / variance
        kept.append(solved)
    shared = np.linalg.solve(information, score)
    solution = np.empty((len(systems), len(common)))
    solution[:, common] = shared
    for own, solved in zip(solution, kept, strict=True):
        own[~common] = solved[:, -1] - solved[:, :-1] @ shared
    return solution, information
