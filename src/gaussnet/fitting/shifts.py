r"""Soft interventions: conditions in which nodes have their own intercept and noise variance.

A node that a condition shifts keeps its coefficients. Its rows fall into strata: those in which it
is not shifted, and one for each condition that shifts it. The likelihood of

.. math:: y = a_s + x' b + e, \quad e \sim N(0, v_s) \quad \text{in stratum } s

is maximised in turn: given the variances, b is weighted least squares about the means of the
strata; given b, variances are mean squares. All of it follows from one summary of each condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gaussnet import display
from gaussnet.data.missing import MissingCells, SurveyPass, serving_rows
from gaussnet.data.passes import NotFinite, Run
from gaussnet.data.table import Table, ask, open_table
from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.fitting.group_fits import AGREED, MOST_ROUNDS, FamilySums, family_sums
from gaussnet.fitting.learn import EXTREME
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.graph.dag import Dag, counted, shorten
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.groups import ReadOptions, equation_groups
from gaussnet.methods.standard_errors import Adjustment, adjusted
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.roots import correlated_nodes
from gaussnet.tails import PValue
from gaussnet.types import BoolArray, FloatArray

COLLINEAR = 1e-10
"""Least share of a parent's squares, within the strata, that other parents may leave of it."""


@dataclass(frozen=True, eq=False)
class Strata:
    """One node: coefficients that its strata share, and what is each stratum's own."""

    coefficients: FloatArray
    """(parents,)."""
    intercepts: FloatArray
    """(strata,); the first is that of rows in which the node is not shifted."""
    variances: FloatArray
    """Mean squares, (strata,)."""
    rows: FloatArray
    """(strata,)."""
    means: FloatArray
    """Of the parents, (strata, parents)."""
    grams: FloatArray
    """Cross-products of the parents about their means, (strata, parents, parents)."""

    @property
    def log_likelihood(self) -> float:
        """Of the rows that serve the equation."""
        terms = np.log(2.0 * np.pi * self.variances) + 1.0
        return float(-0.5 * self.rows @ terms)

    @cached_property
    def errors(self) -> "StratumErrors":
        """What the rows leave open of all these."""
        leverage = _leverages(self.grams, self.variances)
        freedom = self.rows - 1.0 - leverage
        if not (freedom > 1e-9).all():  # a condition pays for all of its rows: nothing is left
            size = self.grams.shape[1]
            return StratumErrors(
                np.full((size, size), np.nan), np.full(len(freedom), np.nan), freedom
            )
        unbiased = self.variances * self.rows / freedom
        unit = unbiased.min()
        information = np.einsum("s,sij->ij", unit / unbiased, self.grams)
        return StratumErrors(unit * np.linalg.inv(information), unbiased, freedom)


class StratumErrors(NamedTuple):
    """Errors of one node's parameters."""

    covariance: FloatArray
    """Of the coefficients, (parents, parents)."""
    unbiased: FloatArray
    """Noise variances over the freedom that is left, (strata,)."""
    freedom: FloatArray
    """(strata,)."""


class Estimate(NamedTuple):
    """A number, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    freedom: float

    def p_value(self) -> float:
        """That the truth is 0, by Student's t."""
        from scipy.special import stdtr  # slow to import

        if not self.error > 0.0:
            return np.nan
        return float(2.0 * stdtr(self.freedom, -abs(self.value / self.error)))

    def interval(self, level: float) -> tuple[float, float]:
        """Where the truth lies, with this confidence."""
        from scipy.special import stdtrit  # slow to import

        reach = self.error * float(stdtrit(self.freedom, 0.5 + 0.5 * level))
        return self.value - reach, self.value + reach


class Shift(NamedTuple):
    """What a condition does to a node."""

    node: str
    condition: str
    rows: int
    intercept: Estimate
    """Of the condition, less that of rows in which the node is not shifted."""
    noise_ratio: float
    """Noise sd in the condition over that elsewhere, both by the freedom that is left."""
    noise_p_value: float
    """That the variances are equal, by the F test."""


@dataclass(frozen=True, eq=False, repr=False)
class ShiftFit:
    """A network learnt from several conditions, some of which shift nodes; printing it shows both.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("[dose][enzyme|dose]", nodes=["dose", "enzyme"])
    >>> rows = gn.simulate.random_network(dag, seed=0).sample(400, seed=1)
    >>> rows[300:, 1] += 5.0
    >>> said = ["enzyme" if row >= 300 else "" for row in range(400)]
    >>> found = gn.fit(rows, dag, shifts=said)
    >>> list(found.networks), [round(one.intercept.value) for one in found.shifts]
    (['none', 'enzyme'], [5])
    """

    by: str
    """The column that tells the conditions."""
    networks: Mapping[str, GaussianNetwork]
    """By condition."""
    network: GaussianNetwork
    """Without any shift."""
    shifts: tuple[Shift, ...]
    strata: tuple[Strata, ...]
    """By node."""
    rows: int
    unshifted_log_likelihood: float
    """Of the best network without any shift."""

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.network.dag

    @property
    def log_likelihood(self) -> float:
        """Of all rows, each given its condition; cells that were set from outside say nothing."""
        return sum(one.log_likelihood for one in self.strata)

    @property
    def statistic(self) -> float:
        """Twice the log-likelihood that would be lost without any shift."""
        return max(2.0 * (self.log_likelihood - self.unshifted_log_likelihood), 0.0)

    @property
    def freedom(self) -> int:
        """Parameters that the shifts add: an intercept and a variance each."""
        return 2 * len(self.shifts)

    @property
    def p_value(self) -> float:
        """That no condition shifts anything, by the likelihood ratio."""
        from scipy.special import chdtrc  # slow to import

        return float(chdtrc(self.freedom, self.statistic))

    @property
    def verdict(self) -> str:
        """Whether the conditions shift these nodes, in one sentence."""
        says = "show" if self.p_value <= 0.05 else "do not show"
        return (
            f"The data {says} that the conditions shift these nodes (chi-square "
            f"{self.statistic:.4g} with {self.freedom} degrees of freedom, p-value "
            f"{PValue(self.p_value)!s})."
        )

    def coefficient(self, parent: str, child: str) -> Estimate:
        """The coefficient that all conditions share, with its error."""
        node = self.dag.position(child)
        parents = [self.dag.nodes[one] for one in self.dag.families.parent_lists[node]]
        if parent not in parents:
            raise SettingError(
                f"there is no edge {parent!r} -> {child!r}: the parents of {child!r} are "
                f"{shorten(parents)}"
            )
        place = parents.index(parent)
        own = self.strata[node]
        unit = np.zeros(len(parents))
        unit[place] = 1.0
        return _estimate(float(own.coefficients[place]), own, unit, np.zeros(len(own.rows)))

    def table(self, *, level: float = 0.95) -> ResultTable:
        """Coefficients that all conditions share, with errors and intervals."""
        check_level(level)
        lines = []
        for parent, child in self.dag.arrows:
            found = self.coefficient(parent, child)
            lines.append((parent, child, found, found.interval(level)))
        return ResultTable(
            f"Coefficients in all conditions of {self.by}",
            (
                Column("parent", "parent", [line[0] for line in lines], "text"),
                Column("child", "child", [line[1] for line in lines], "text"),
                Column("estimate", "estimate", [line[2].value for line in lines]),
                Column("std_error", "std. error", [line[2].error for line in lines]),
                Column("p_value", "p-value", [line[2].p_value() for line in lines], "p-value"),
                Column("low", "low", [line[3][0] for line in lines]),
                Column("high", "high", [line[3][1] for line in lines]),
            ),
        )

    def shift_table(self, *, level: float = 0.95, adjust: Adjustment = "holm") -> ResultTable:
        """What every condition does to the nodes that it shifts; p-values are adjusted."""
        check_level(level)
        ends = [one.intercept.interval(level) for one in self.shifts]
        tests = [one.intercept.p_value() for one in self.shifts]
        p_values = np.array(tests + [one.noise_p_value for one in self.shifts])
        known = np.isfinite(p_values)
        p_values[known] = adjusted(p_values[known], adjust)
        count = len(self.shifts)
        return ResultTable(
            f"Shifts by {self.by}",
            (
                Column("node", "node", [one.node for one in self.shifts], "text"),
                Column("condition", "condition", [one.condition for one in self.shifts], "text"),
                Column("rows", "rows", [one.rows for one in self.shifts], "count"),
                Column("shift", "shift", [one.intercept.value for one in self.shifts]),
                Column("std_error", "std. error", [one.intercept.error for one in self.shifts]),
                Column("low", "low", [low for low, _ in ends]),
                Column("high", "high", [high for _, high in ends]),
                Column("p_value", "adjusted p-value", p_values[:count].tolist(), "p-value"),
                Column("noise_ratio", "noise sd ratio", [one.noise_ratio for one in self.shifts]),
                Column("noise_p_value", "adjusted p-value", p_values[count:].tolist(), "p-value"),
            ),
        )

    def __repr__(self) -> str:
        return (
            f"ShiftFit(by {self.by!r}, {counted(len(self.networks), 'condition')}, "
            f"{counted(len(self.shifts), 'shift')}, {counted(self.rows, 'row')})"
        )

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        return f"{self.table()}\n{self.shift_table()}\n{self.verdict}"


def fit_shifts(
    run: Run, data: Any, options: ReadOptions, how: tuple[Method, Scale], client: Any = None
) -> ShiftFit:
    """Maximum likelihood with intercepts and variances of their own where nodes are shifted."""
    _check(options, how, client)
    table = open_table(data, options.dag.nodes, options.page_rows, run, **options.beside)
    assert table.design is not None
    conditions, shifted = table.design.groups, table.design.shifted
    assert conditions is not None
    assert shifted is not None
    _check_shifted(options.dag, shifted)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _sums(table, options, len(conditions))
    nodes = range(len(options.dag))
    found = tuple(_solved(sums, shifted[:, node], options.dag, node) for node in nodes)
    plain = (_solved(sums, np.zeros_like(shifted[:, node]), options.dag, node) for node in nodes)
    by = options.study.shifts
    name = by if isinstance(by, str) else next(iter(by)) if isinstance(by, Mapping) else "condition"
    return ShiftFit(
        str(name),
        MappingProxyType(
            {
                condition: _network(options.dag, found, shifted, number)
                for number, condition in enumerate(conditions)
            }
        ),
        _network(options.dag, found, shifted, None),
        _shifts(options.dag, conditions, shifted, found),
        found,
        int(sum(max((one.rows for one in own.values()), default=0.0) for own in sums)),
        sum(one.log_likelihood for one in plain),
    )


def _check(options: ReadOptions, how: tuple[Method, Scale], client: Any) -> None:
    method, scale = how
    study = options.study
    if not (method.maximizes_likelihood and scale.uses_mean_squares and not scale.has_factors):
        raise SettingError(
            f"got shifts with method={method.name!r} and scale={scale.name!r}, expected "
            "'least-squares' and 'mean-square': only these have a likelihood to share "
            "coefficients by"
        )
    for name, said in (
        ("groups", study.groups is not None),
        ("weights or clusters", study.has_dependent_rows),
        ("a client", client is not None),
        ("a split", options.split is not None),
        ("intercept=False", not options.intercept),
        ("missing='likelihood'", options.missing == "likelihood"),
    ):
        if said:
            raise SettingError(f"got shifts with {name}, which do not go together: leave out one")


def _check_shifted(dag: Dag, shifted: BoolArray) -> None:
    """Refuse nodes that are shifted everywhere, or that covary."""
    if not shifted.any():
        raise SettingError("the shifts name no node: name one, or leave shifts out")
    for node in np.flatnonzero(shifted.all(axis=0)).tolist():
        raise SettingError(
            f"the node {dag.nodes[node]!r} is shifted in every condition, so that there is nothing "
            "to compare with: leave one condition without a shift"
        )
    for node in correlated_nodes(dag).tolist():
        if shifted[:, node].any():
            raise SettingError(
                f"the node {dag.nodes[node]!r} is shifted in some rows and covaries with others: "
                "leave out its covariances"
            )


def _sums(table: Table, options: ReadOptions, conditions: int) -> list[dict[int, FamilySums]]:
    """The sums of every node's family, by condition."""
    parts = (table.group(number) for number in range(conditions))
    try:
        return [
            family_sums(equation_groups(part, options, None, may_lack=True)[0]) for part in parts
        ]
    except NotFinite:
        _judge(table, options)
    return [_sums_with_holes(table.group(number), options) for number in range(conditions)]


def _judge(table: Table, options: ReadOptions) -> None:
    """Refuse infinite and missing values of all conditions, with their rows in the data."""
    missing = options.missing
    survey = ask(table.surveyed(False), SurveyPass(options.dag.families))
    try:
        survey.judge(options.dag, "drop-by-node" if missing == "drop-rows" else missing)
    except MissingCells as problem:
        advice = "give missing='drop-by-node' or 'drop-rows', or fill them"
        raise problem.advising(advice) from None
    if missing == "drop-rows" and survey.complete == 0:
        raise DataError(
            f"each of the {survey.rows} rows has a missing value: give missing='drop-by-node'"
        )


def _sums_with_holes(table: Table, options: ReadOptions) -> dict[int, FamilySums]:
    """The sums of every node's family in the rows of one condition that serve it."""
    survey = ask(table.surveyed(False), SurveyPass(options.dag.families))
    if options.missing == "drop-rows" and survey.complete == 0:
        return {}
    rows = serving_rows(table, survey, options.missing)
    return family_sums(equation_groups(rows, options, survey, may_lack=True)[0])


def _solved(
    sums: Sequence[dict[int, FamilySums]], shifted: BoolArray, dag: Dag, node: int
) -> Strata:
    """One node, from its sums in all conditions."""
    own = [one.get(node) for one in sums]
    rest = [one for one, apart in zip(own, shifted, strict=True) if not apart and one is not None]
    apart = [one for one, is_apart in zip(own, shifted, strict=True) if is_apart]
    name = dag.nodes[node]
    if not rest or None in apart:
        raise EstimationError(
            f"the node {name!r} has no row that serves its equation with or without a shift: give "
            "more rows, or leave out the shift"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        strata = [_merged(rest), *(one for one in apart if one is not None)]
    if not all(np.isfinite(one.products).all() and np.isfinite(one.rows) for one in strata):
        raise EstimationError(f"the node {name!r} has no finite answer, {EXTREME}")
    rows = np.array([one.rows for one in strata])
    grams = np.array([one.products[:-1, :-1] for one in strata])
    crosses = np.array([one.products[:-1, -1] for one in strata])
    squares = np.array([one.products[-1, -1] for one in strata])
    means = np.array([one.means for one in strata])
    _check_determined(grams, name)
    if rows.sum() - len(rows) <= grams.shape[1] or (rows < 2).any():
        raise EstimationError(
            f"the node {name!r} has {int(rows.min())} rows in one of its conditions, and "
            f"{int(rows.sum())} in all: give at least 2, and more than it has parents and "
            "conditions"
        )
    starts = _residual_squares(
        _weighted(grams, crosses, np.ones(len(rows))), grams, crosses, squares
    )
    answers = [
        _in_turn(grams, crosses, squares, rows, variances)
        for variances in (starts / rows, np.full(len(rows), starts.sum() / rows.sum()))
    ]
    if not all((variances > 0.0).all() for _, variances in answers):
        raise EstimationError(
            f"the node {name!r} is left without noise in one of its conditions, so that its "
            "likelihood has no maximum: give more rows, or leave out the shift"
        )
    # Where the conditions hardly agree, the likelihood may have several peaks.
    slopes, variances = min(answers, key=lambda one: float(rows @ np.log(one[1])))
    places = means[:, -1] - means[:, :-1] @ slopes
    return Strata(slopes, places, variances, rows, means[:, :-1], grams)


def _merged(parts: Sequence[FamilySums]) -> FamilySums:
    """The sums of the rows of all."""
    rows = sum(one.rows for one in parts)
    means = sum((one.rows / rows) * one.means for one in parts)
    shifts = (one.means - means for one in parts)
    products = sum(
        one.products + one.rows * np.outer(shift, shift)
        for one, shift in zip(parts, shifts, strict=True)
    )
    return FamilySums(rows, np.asarray(means), np.asarray(products))


def _check_determined(grams: FloatArray, node: str) -> None:
    """Refuse parents that do not vary within the strata, or determine each other there."""
    total = grams.sum(axis=0)
    scales = np.sqrt(np.diag(total))
    if len(scales) and not (
        (scales > 0.0).all()
        and np.linalg.eigvalsh(total / np.outer(scales, scales))[0] > COLLINEAR * len(scales)
    ):
        raise EstimationError(
            f"the parents of {node!r} are collinear, or do not vary within the conditions, so that "
            "their coefficients cannot be told from shifts: leave one out"
        )


def _in_turn(
    grams: FloatArray, crosses: FloatArray, squares: FloatArray, rows: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and variances that agree with each other."""
    variances, slopes = start, _weighted(grams, crosses, np.ones(len(rows)))
    for _ in range(MOST_ROUNDS):
        if not (variances > 0.0).all():
            break
        slopes = _weighted(grams, crosses, variances.min() / variances)
        new = _residual_squares(slopes, grams, crosses, squares) / rows
        change = np.abs(new / variances - 1.0).max()
        variances = new
        if change < AGREED:
            break
    return slopes, variances


def _weighted(grams: FloatArray, crosses: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least squares about the means of the strata, (parents,)."""
    information = np.einsum("s,sij->ij", weights, grams)
    return np.asarray(np.linalg.solve(information, weights @ crosses))


def _residual_squares(
    slopes: FloatArray, grams: FloatArray, crosses: FloatArray, squares: FloatArray
) -> FloatArray:
    """Residual sums of squares, (strata,)."""
    found = squares - 2.0 * crosses @ slopes + np.einsum("i,sij,j->s", slopes, grams, slopes)
    return np.where(found > 64.0 * np.finfo(float).eps * squares, found, 0.0)


def _leverages(grams: FloatArray, variances: FloatArray) -> FloatArray:
    """Coefficients that each stratum pays for, (strata,); they add up to the parents."""
    parts = grams * (variances.min() / variances)[:, None, None]
    inverse = np.linalg.inv(parts.sum(axis=0))
    return np.asarray(np.einsum("sij,ji->s", parts, inverse))


def _estimate(value: float, own: Strata, direction: FloatArray, constants: FloatArray) -> Estimate:
    r"""A sum of coefficients and intercepts' means, with Satterthwaite's degrees of freedom.

    Its variance is :math:`\sum_s k_s v_s / n_s + d' C d`; `direction` is d, `constants` the k.
    """
    errors = own.errors
    moved = errors.covariance @ direction
    variance = float(direction @ moved + constants @ (errors.unbiased / own.rows))
    parts = np.einsum("i,sij,j->s", moved, own.grams, moved) / errors.unbiased
    parts = parts + constants * errors.unbiased / own.rows
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(parts > 0.0, parts / variance, 0.0)
        lost = float(np.nansum(shares**2 / errors.freedom))
    freedom = 1.0 / lost if lost > 0.0 else np.nan
    return Estimate(value, float(np.sqrt(variance)), freedom)


def _shifts(
    dag: Dag, conditions: Sequence[str], shifted: BoolArray, found: Sequence[Strata]
) -> tuple[Shift, ...]:
    from scipy.special import fdtr, fdtrc  # slow to import

    listed = []
    for node, own in enumerate(found):
        for rank, number in enumerate(np.flatnonzero(shifted[:, node]).tolist(), start=1):
            constants = np.zeros(len(own.rows))
            constants[[0, rank]] = 1.0
            moved = own.means[0] - own.means[rank]
            value = float(own.intercepts[rank] - own.intercepts[0])
            estimate = _estimate(value, own, moved, constants)
            ratio = own.errors.unbiased[rank] / own.errors.unbiased[0]
            freedom = own.errors.freedom[rank], own.errors.freedom[0]
            tail = np.minimum(fdtr(*freedom, ratio), fdtrc(*freedom, ratio))
            rows = int(own.rows[rank])
            p_value = float(np.minimum(1.0, 2.0 * tail))
            shift = (dag.nodes[node], conditions[number], rows, estimate)
            listed.append(Shift(*shift, float(np.sqrt(ratio)), p_value))
    return tuple(listed)


def _network(
    dag: Dag, found: Sequence[Strata], shifted: BoolArray, condition: int | None
) -> GaussianNetwork:
    """The network of one condition; None for that without any shift."""
    ranks = np.zeros(len(dag), dtype=np.int64)
    if condition is not None:
        ranks = np.where(shifted[condition], shifted[: condition + 1].sum(axis=0), 0)
    pairs = list(zip(found, ranks.tolist(), strict=True))
    slopes = np.concatenate([np.empty(0), *(own.coefficients for own in found)])
    variances = np.array([own.variances[rank] for own, rank in pairs])
    places = np.array([own.intercepts[rank] for own, rank in pairs])
    return GaussianNetwork.from_arrays(dag, slopes, variances, places)
