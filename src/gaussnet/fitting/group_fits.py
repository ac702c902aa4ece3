"""Fits by group: one network for each, one for all rows, and what the groups have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from gaussnet import display
from gaussnet.data.passes import Run
from gaussnet.data.study import Study
from gaussnet.data.table import ask, open_table
from gaussnet.errors import EstimationError, GaussnetError, SettingError
from gaussnet.fitting.group_tests import EqualityTests, equality_tests, table_of
from gaussnet.fitting.learn import fit_with
from gaussnet.fitting.notes import grouped_notes
from gaussnet.fitting.result import Fit
from gaussnet.fitting.tables import ResultTable
from gaussnet.fitting.uncertainty import PURPOSE
from gaussnet.fitting.verdicts import FEW_ROWS
from gaussnet.graph.dag import Dag, counted, shorten
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.groups import Groups, ReadOptions
from gaussnet.methods.moments import MomentsPass, unpacked
from gaussnet.methods.standard_errors import Adjustment
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

MOST_WARNED, MOST_NOTES = 3, 4
"""Groups whose summaries warn, and notes, that are printed; the others are counted."""
MOST_NAMED = 12
"""Groups that are named in one line."""
MANY_GROUPS = 20
KEY_SHARE = 0.9
"""From so many groups on, a column with more values than this share of the rows is their key."""

MOST_ROUNDS = 1_000
"""Rounds that common coefficients and the groups' variances may take to agree."""
AGREED = 1e-13
"""Relative change of the variances from which on they do."""


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
        return table_of(f"Coefficients by {self.by}", lines)

    def test_equal(self, *, level: float = 0.05, adjust: Adjustment = "holm") -> EqualityTests:
        """Test of every coefficient, level and variance whether the groups differ in it.

        Coefficients are compared by Welch's test, which allows each group an error of its own;
        with two groups it is Welch's t test. So are means of nodes without parents, and the
        levels of the other nodes: what the equation of a group expects where the parents are at
        their means over all groups. (An intercept is the value where the parents are 0, often
        far from all rows, and says little there.) A group that does not determine a parameter, as
        of too few rows or where a parent is constant, is left out of its test, and levels are
        compared where all groups tell them; what was compared without some group, or could not be,
        is in `notes`. Noise variances of least squares are compared
        by Bartlett's test, those of other methods by their standard errors. P-values are adjusted
        for their number.
        """
        check_level(level, 0.05)
        return equality_tests(self, level, adjust)

    def pool(
        self, what: Poolable | Sequence[Poolable] = "coefficients", *more: Poolable
    ) -> "GroupPool":
        """Maximum likelihood with some parameters common to all groups; for least squares.

        "coefficients", "intercepts", "variances", or several of them, one after another or as a
        list. What is not pooled is
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
        chosen = ((what,) if isinstance(what, str) else tuple(what)) + more
        unknown = [one for one in chosen if one not in POOLABLE]
        if unknown or not chosen:
            asked = ", ".join(map(repr, chosen))
            raise SettingError(
                f"got pool({asked}), expected 'coefficients', 'intercepts' or 'variances', or "
                "several of these"
            )
        return find_pool(self, tuple(one for one in POOLABLE if one in chosen))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing: groups of few rows, and each note of a fit once, with its groups.

        A note without groups is one on all rows.
        """
        of_all = grouped_notes(self.pooled.notes)
        groups: dict[str, list[str]] = {}
        for name, fit in self.fits.items():
            for note in grouped_notes(fit.notes):
                groups.setdefault(note, []).append(name)
        own = [f"{note} ({_named(n)})" for note, n in groups.items() if note not in of_all]
        return (*self._small_words(), *of_all, *own)

    def _small_words(self) -> list[str]:
        """That groups have few rows for their equations."""
        needed = self.dag.max_in_degree + self.pooled.intercept
        sizes = {name: _fewest(fit) for name, fit in self.fits.items()}
        words = {
            f"no more rows than the {counted(needed, 'coefficient')} of the largest equation": [
                name for name, size in sizes.items() if size <= needed
            ],
            f"few rows for an equation with {counted(needed, 'coefficient')}": [
                name for name, size in sizes.items() if needed < size < FEW_ROWS * needed
            ],
        }
        return [f"{text} ({_named(own)})" for text, own in words.items() if own]

    def summary(self) -> str:
        """The sentences on each group whose summary warns, the largest first.

        `found[group].summary()` has all sentences on one group.
        """
        return "\n".join(self._summary_lines(len(self)))

    def _summary_lines(self, most: int) -> list[str]:
        said = {name: fit.summary() for name, fit in self.fits.items()}
        largest = sorted(said, key=lambda name: -self.fits[name].rows)  # small ones have a note
        warned = {name: said[name] for name in largest if said[name].warns}
        if not warned:
            return [f"No summary of the {counted(len(self), 'group')} warns."]
        lines = [f"The summaries of {len(warned)} of {counted(len(self), 'group')} warn."]
        lines += [f"{name}: {' '.join(one.sentences)}" for name, one in list(warned.items())[:most]]
        return _cut(lines, len(warned) + 1, "group")

    def _told(self) -> list[str]:
        """What is printed under the table."""
        tests = self.test_equal() if len(self) > 1 else None
        verdict = "There is one group only." if tests is None else tests.verdict
        lines = [verdict, *self._summary_lines(MOST_WARNED)]
        notes = [f"note: {note}" for note in (*(tests.notes if tests else ()), *self.notes)]
        return lines + _cut(notes[:MOST_NOTES], len(notes), "note", "; see .notes")

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
        sizes = [f"{name}: {counted(fit.rows, 'row')}" for name, fit in self.fits.items()]
        return f"GroupFit(by {self.by!r}, {counted(len(self), 'group')}; {_listed(sizes)})"

    def _repr_html_(self) -> str:
        """The verdict, warnings and the table, in a notebook."""
        lines = (f"<p style='margin:.2em 0'>{display.escaped(one)}</p>" for one in self._told())
        return f"{''.join(lines)}{self.table()._repr_html_()}"

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *self._told()])


def _fewest(fit: Fit) -> int:
    """Rows of the equation that has fewest."""
    return int(fit.details.rows.min(initial=fit.rows))


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMED
    first = ", ".join(names[:MOST_NAMED])
    return f"{first} and {counted(more, 'more group')}" if more > 0 else first


def _named(groups: Sequence[str]) -> str:
    """The groups of a note."""
    return f"group{'s' * (len(groups) > 1)} {_listed(groups)}"


def _cut(lines: list[str], count: int, what: str, where: str = "") -> list[str]:
    """Lines, and how many of so many were left out."""
    more = count - len(lines)
    return [*lines, f"and {counted(more, f'more {what}')}{where}"] if more > 0 else lines


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
    _check_recurs(by, len(names), table.known_rows or 0, study)
    fits = {}
    for number, name in enumerate(names):
        try:
            found = fit_with(run, table.group(number), options, how)
        except GaussnetError as problem:
            raise type(problem)(f"in the group {name!r} of {by!r}: {problem}") from None
        fits[name] = replace(found, general_notes=_own_notes(found))
    pooled = fit_with(run, table, options, how)
    return GroupFit(by, MappingProxyType(fits), pooled)


def _check_recurs(by: str, groups: int, rows: int, study: Study) -> None:
    """Refuse a key of the rows, which differs in nearly all of them, as groups."""
    if groups >= MANY_GROUPS and groups > KEY_SHARE * rows > 0 and study.weights is None:
        raise SettingError(
            f"got groups={by!r} with {groups:,} values in {rows:,} rows, expected a column "
            "whose values recur: it looks like a key of the rows, so give the column of the groups"
        )


def _own_notes(fit: Fit) -> tuple[str, ...]:
    """Notes on the rows of a group, without those on columns, which the pooled fit has."""
    return tuple(note for note in fit.general_notes if "not in the graph" not in note)


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
    _check_determined(found, what)
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


def _check_determined(found: GroupFit, what: tuple[Poolable, ...]) -> None:
    """Refuse groups that leave coefficients of some equation open, which the sums would need."""
    dag = found.dag
    groups: dict[str, list[str]] = {}
    for name, fit in found.fits.items():
        for place in np.flatnonzero(fit.details.ranks < dag.in_degrees).tolist():
            groups.setdefault(dag.nodes[place], []).append(name)
    if groups:
        node, own = next(iter(groups.items()))
        raise EstimationError(
            f"got pool({', '.join(map(repr, what))}), for which every group must determine all "
            f"coefficients, and the parents of {node!r} are constant or collinear, or the rows too "
            f"few, in {_named(own)}: leave out these rows or parents, or merge the groups"
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
