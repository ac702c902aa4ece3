"""How sure a fit is: standard errors, confidence intervals, the bootstrap, and the certificate.

All of it is found when it is asked for. What a method knows of its own errors is in
`gaussnet.methods.standard_errors` and in the methods themselves.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gaussnet.data.passes import RegimeCounts
from gaussnet.data.table import ask
from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.notes import NodeReport, Note, rank_words
from gaussnet.fitting.repetitions import (
    FEWEST,
    BootstrapErrors,
    far_words,
    fewest_repetitions,
    percentiles,
    variance_ends,
)
from gaussnet.fitting.root_errors import joint_root_errors, log_ends, normal_ends
from gaussnet.graph.dag import Dag, Edge, shorten
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.groups import FitData, Fitted
from gaussnet.methods.standard_errors.regressions import SANDWICHES
from gaussnet.methods.sums import ONLY_SUMS
from gaussnet.model.checks import check_level
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.roots import correlated_nodes
from gaussnet.seeds import children
from gaussnet.types import FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.data.passes import Progress
    from gaussnet.fitting.result import Fit
    from gaussnet.planning import Certificate

PURPOSE = "ask for errors where the data are, or fit again"

EXPECTED = "expected"
"""Errors of maximum likelihood from the expected information, as lavaan's."""

REPETITIONS, FEW_REPETITIONS = 500, 200
"""Repetitions that nobody asked for, and those of robust methods, whose fits take longer."""
TOO_FEW = "the rows are too few, or too many are equal, to judge the errors by"
COUNTS_FLAGGED = (
    "scale='mean-square' counts the flagged values in the variances, and the errors are those of "
    "the other values, which contradict them: leave scale out unless the flagged values are right"
)
"""Why there are no errors, where the counts of a node do not say it."""
MOST_KEPT = 20_000_000
"""Numbers of repetitions up to which these are kept."""


@dataclass(frozen=True, slots=True)
class ErrorChoice:
    """Which standard errors and intervals are wanted."""

    kind: str | None = None
    level: float = 0.95
    repetitions: int | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors:
    """Standard errors of a learnt network; NaN where the rows do not determine one."""

    dag: Dag
    coefficient_array: FloatArray
    """In the order of ``dag.edges``, (edges,)."""
    intercept_array: FloatArray
    """In the order of ``dag.nodes``, (nodes,); 0 where no intercept was fitted."""
    variance_array: FloatArray
    """In the order of ``dag.nodes``, (nodes,)."""

    @property
    def coefficients(self) -> Mapping[Edge, float]:
        """Standard errors of the coefficients, by edge (parent, child)."""
        return _named(self.dag.arrows, self.coefficient_array[~self.dag.is_covariance])

    @property
    def intercepts(self) -> Mapping[str, float]:
        """Standard errors of the intercepts, by node."""
        return _named(self.dag.nodes, self.intercept_array)

    @property
    def variances(self) -> Mapping[str, float]:
        """Standard errors of the noise variances, by node."""
        return _named(self.dag.nodes, self.variance_array)

    def __repr__(self) -> str:
        return f"StandardErrors({self.dag.sizes})"


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceIntervals:
    """Confidence intervals (low, high) of a learnt network; NaN where there is none."""

    dag: Dag
    level: float
    coefficient_array: FloatArray
    """In the order of ``dag.edges``, (edges, 2)."""
    intercept_array: FloatArray
    """In the order of ``dag.nodes``, (nodes, 2); (0, 0) where no intercept was fitted."""
    variance_array: FloatArray
    """In the order of ``dag.nodes``, (nodes, 2)."""

    @property
    def coefficients(self) -> Mapping[Edge, tuple[float, float]]:
        """Intervals of the coefficients, by edge (parent, child)."""
        return _named(self.dag.arrows, self.coefficient_array[~self.dag.is_covariance])

    @property
    def intercepts(self) -> Mapping[str, tuple[float, float]]:
        """Intervals of the intercepts, by node."""
        return _named(self.dag.nodes, self.intercept_array)

    @property
    def variances(self) -> Mapping[str, tuple[float, float]]:
        """Intervals of the noise variances, by node."""
        return _named(self.dag.nodes, self.variance_array)

    def __repr__(self) -> str:
        return f"ConfidenceIntervals({self.dag.sizes}, level={self.level})"


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """How far a learnt network may be from the truth."""

    kind: str
    """Where the errors come from: "classical", "heteroscedastic", "observed-information",
    "between-batch", "order-statistic", "fitted-rows", "believed-cells", "expected" or
    "bootstrap"."""
    standard_errors: StandardErrors
    confidence_intervals: ConfidenceIntervals
    notes: tuple[Note, ...] = ()
    """The nodes whose errors the rows do not determine, and why; nodes that some repetitions of the
    bootstrap learn far from the others."""
    freedom: FloatArray | None = None
    """Degrees of freedom of Student's t behind the intervals of each node's coefficients, (nodes,),
    where they are not those of rows or batches."""
    p_values: FloatArray | None = None
    """Of the coefficients, (edges,), where the errors come with them, as those of the bootstrap."""

    def __repr__(self) -> str:
        level = self.confidence_intervals.level
        return f"Uncertainty(kind={self.kind!r}, level={level}, {len(self.notes)} notes)"


def _named(names: tuple[Any, ...], values: FloatArray) -> Mapping[Any, Any]:
    found = values.tolist()
    if values.ndim == 2:
        found = [tuple(pair) for pair in found]
    return MappingProxyType(dict(zip(names, found, strict=True)))


def find_uncertainty(
    fit: "Fit",
    kind: str | None,
    level: float,
    repetitions: int | None,
    seed: int,
    progress: "Progress | None" = None,
) -> Uncertainty:
    """Standard errors and confidence intervals of a fit."""
    chosen, freedom = checked_kind(fit, kind, level), None
    drawn: tuple[BootstrapErrors, ...] = ()
    if chosen == "bootstrap":
        check_repetitions(fit, repetitions, level)
        data = fit.required_data(PURPOSE)
        if progress is not None:
            data = replace(data, run=replace(data.run, progress=progress))
        drawn = bootstrap(fit, data, level, repetitions, seed)
        table = (drawn[0].table, drawn[1].table, drawn[2].table)
    else:
        found = find_errors(fit, chosen, level)
        table, freedom = found.table, found.freedom
    far = _far_notes(fit, *drawn) if drawn else ()
    notes = (*find_notes(fit, table, level), *far)
    if fit.dag.covariances and chosen != "bootstrap":
        table, more = _with_root_errors(fit, chosen, level, table)
        notes += more
    first, second, third = table
    errors = StandardErrors(fit.dag, first[0], second[0], third[0])
    ends = (np.ascontiguousarray(part[1:].T) for part in table)
    intervals = ConfidenceIntervals(fit.dag, level, *ends)
    p_values = drawn[0].p_values if drawn else None
    return Uncertainty(chosen, errors, intervals, notes, freedom, p_values)


def _far_notes(
    fit: "Fit", coefficients: BootstrapErrors, intercepts: BootstrapErrors, noise: BootstrapErrors
) -> tuple[Note, ...]:
    """A note for each node that some repetitions learn far from the others."""
    far = np.maximum(intercepts.far, noise.far)
    np.maximum.at(far, fit.dag.families.family_of_edge, coefficients.far)
    said = ((node, far_words(int(far[node]), noise.repetitions)) for node in np.flatnonzero(far))
    return tuple(Note(fit.dag.nodes[node], text) for node, text in said if text is not None)


Table = tuple[FloatArray, FloatArray, FloatArray]


def _with_root_errors(
    fit: "Fit", kind: str, level: float, table: Table
) -> tuple[Table, tuple[Note, ...]]:
    """Errors of coefficients, and of means and variances of nodes that covary, not of their arcs.

    The mean of a node without parents is the same whether others covary with it or not, and so is
    its error, where all rows serve all nodes; its variance too, unless others must not covary.
    """
    nodes = correlated_nodes(fit.dag)
    intercepts, variances = table[1].copy(), table[2].copy()
    if find_errors(fit, kind, level).joint is not None:
        means, squares = joint_root_errors(fit, nodes, nodes)
        intercepts[:, nodes] = normal_ends(means, fit.network.constants[nodes], level)
        variances[:, nodes] = log_ends(squares, fit.network.noise_variances[nodes], level)
        return (table[0], intercepts, variances), ()
    if not fit.maximizes_likelihood or fit.method.fills_holes or fit.details.dropped.any():
        intercepts[:, nodes] = variances[:, nodes] = np.nan
        reason = "no standard errors of mean and variance here, because nodes covary: "
        more = [Note(fit.dag.nodes[node], f"{reason}give kind='bootstrap'") for node in nodes]
        return (table[0], intercepts, variances), tuple(more)
    network, plain = fit.network, fit.dag.without_covariances()
    alone = GaussianNetwork(plain, network.coefficients, network.variances, network.intercepts)
    data = None
    if fit.data is not None:
        data = replace(fit.data, options=replace(fit.data.options, dag=plain))
    one_by_one = replace(fit, network=alone, data=data)
    try:
        found = find_errors(one_by_one, kind, level).table
    except EstimationError:  # the sums have no factors of a node that is constant
        if data is None:
            raise
        found = find_errors(replace(one_by_one, sums=None), kind, level).table
    intercepts[:, nodes], variances[:, nodes] = found[1][:, nodes], found[2][:, nodes]
    causes = fit.dag.causal_families.parent_lists
    if any(len(causes[node]) > 1 for node in nodes.tolist()):  # some covariances must be 0
        errors = _covariance_errors(network, find_errors(fit, kind, level), nodes, nodes)
        variances[:, nodes] = normal_ends(errors, network.noise_variances[nodes], level)
    return (table[0], intercepts, variances), ()


def find_root_covariances(
    fit: "Fit", choice: "tuple[str | None, float, int | None, int]"
) -> "FloatArray | BootstrapErrors":
    """Standard error, low and high of the covariances of ``dag.covariances``, (3, pairs)."""
    kind, level, repetitions, seed = choice
    chosen = checked_kind(fit, kind, level)
    values = np.array(list(fit.network.covariances.values()))
    if chosen == "bootstrap":
        check_repetitions(fit, repetitions, level)
        drawn = bootstrap_networks(fit, fit.required_data(PURPOSE), repetitions, seed)
        found = np.array([list(network.covariances.values()) for network in drawn])
        return percentiles(found, values, level, fit.method.uses_row_order)
    place = fit.dag.positions
    ends = np.array([[place[node] for node in pair] for pair in fit.dag.covariances]).T
    known = find_errors(fit, chosen, level)
    if known.joint is not None:
        return normal_ends(joint_root_errors(fit, *ends)[1], values, level)
    return normal_ends(_covariance_errors(fit.network, known, *ends), values, level)


def _covariance_errors(
    network: GaussianNetwork, found: "Errors", firsts: IntArray, lasts: IntArray
) -> FloatArray:
    r"""Standard errors of covariances of nodes that covary, from those of the arcs' equations.

    .. math:: \partial \Sigma_{jk} / \partial b_{ip} = T_{ji} \Sigma_{pk} + T_{ki} \Sigma_{pj},
              \qquad \partial \Sigma_{jk} / \partial s_i^2 = T_{ji} T_{ki}

    with T the inverse of I - B. Where all rows serve all nodes, all nodes covary and noise is
    Gaussian this is :math:`(\Sigma_{jj} \Sigma_{kk} + \Sigma_{jk}^2) / n`, but for terms of the
    order of 1/n.
    """
    dag, families = network.dag, network.dag.families
    totals = np.linalg.inv(np.eye(len(dag)) - network.to_matrix()).T  # (node, noise)
    covariance = network.covariance()
    by_noise = totals[firsts] * totals[lasts]
    with np.errstate(invalid="ignore"):
        total = np.where(by_noise == 0.0, 0.0, (by_noise * found.table[2][0]) ** 2).sum(axis=1)
    for nodes, covariances in found.covariances:
        for node, own in zip(nodes.tolist(), covariances, strict=True):
            parents = families.parents[families.edges_of(np.array([node]))]
            if not len(parents) or dag.parent_lists[node]:
                continue
            slopes = totals[firsts, node][:, None] * covariance[np.ix_(lasts, parents)]
            slopes = slopes + totals[lasts, node][:, None] * covariance[np.ix_(firsts, parents)]
            total = total + np.einsum("ei,ij,ej->e", slopes, own, slopes)
    return np.asarray(np.sqrt(total))


def find_covariances(fit: "Fit", kind: str | None, level: float) -> "tuple[str, Errors]":
    """The kind of errors, and errors that have the covariances of the coefficients."""
    chosen = checked_kind(fit, kind, level)
    if chosen == "bootstrap":
        raise SettingError("got kind='bootstrap', which gives no covariances: leave kind out")
    return chosen, find_errors(fit, chosen, level)


class Errors(Protocol):
    """Standard errors of all parameters, and covariances of the coefficients by family."""

    @property
    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Standard error, low and high of coefficients (3, edges), intercepts and variances."""

    @property
    def covariances(self) -> list[tuple[IntArray, FloatArray]]:
        """Nodes of as many parents, and their coefficients' covariances, (nodes, p, p)."""

    @property
    def joint(self) -> FloatArray | None:
        """Covariance of all coefficients, (edges, edges), where families are correlated."""

    @property
    def freedom(self) -> FloatArray | None:
        """Degrees of freedom behind the intervals of coefficients, where they are special."""


def find_errors(fit: "Fit", kind: str, level: float) -> Errors:
    """The errors of a kind other than the bootstrap, which `checked_kind` gave."""
    if kind == EXPECTED:
        from gaussnet.fitting.information import expected_errors

        return expected_errors(fit, level)
    known = fit.known_errors
    if (kind, level) not in known:
        found = _found_errors(fit, kind, level)
        known.clear()
        known[kind, level] = found
    elif fit.data is not None:
        fit.data.all_rows()  # refuses rows that were changed since
    errors: Errors = known[kind, level]
    return errors


def _found_errors(fit: "Fit", kind: str, level: float) -> Errors:
    needs_rows = kind in SANDWICHES
    if needs_rows and fit.rests_on_sums:
        raise EstimationError(ONLY_SUMS)
    data = fit.required_data(PURPOSE) if needs_rows else fit.data_or_sums(PURPOSE)
    fitted = Fitted(fit.network, fit.scale, data, fit.trimming)
    return fit.method.find_errors(fitted, kind, level)


def checked_kind(fit: "Fit", kind: str | None, level: float) -> str:
    """The kind of errors that is asked for, or the method's own."""
    check_level(level)
    kinds, name = fit.method.error_kinds, fit.method.name
    own = fit.error_kind
    if own is not None and kind in (None, own):
        return own
    if kind == "bootstrap" and fit.has_dependent_rows:
        raise SettingError(
            "got kind='bootstrap', which draws rows as if they were independent and counted alike: "
            "leave kind out"
        )
    if kind == "bootstrap" or kind in kinds:
        return str(kind)
    if kind == EXPECTED and fit.maximizes_likelihood:
        return EXPECTED
    if kind is None:
        if kinds:
            return kinds[0]
        raise SettingError(
            f"the method {name!r} has no standard errors of its own: give kind='bootstrap'"
        )
    if kind not in ("classical", "heteroscedastic", EXPECTED):
        raise SettingError(
            f"got kind={kind!r}, expected 'classical', 'heteroscedastic', 'expected', "
            "'bootstrap' or None"
        )
    raise SettingError(
        f"got kind={kind!r}, which is for 'least-squares', but the network was learnt by "
        f"{name!r}: leave kind out or give kind='bootstrap'"
    )


def find_notes(
    fit: "Fit", table: tuple[FloatArray, FloatArray, FloatArray], level: float
) -> tuple[Note, ...]:
    """One note for each node that lacks a standard error or an interval."""
    coefficients, intercepts, variances = table
    families = fit.dag.families
    lacking = np.asarray(np.isnan(np.vstack((intercepts, variances))).any(axis=0))
    np.logical_or.at(lacking, families.family_of_edge, np.isnan(coefficients).any(axis=0))
    names = (fit.dag.nodes[position] for position in np.flatnonzero(lacking).tolist())
    needed = fit.method.fewest_batches(level)
    otherwise = COUNTS_FLAGGED if _has_mean_squares_of_flagged(fit) else TOO_FEW
    return tuple(
        Note(name, _reason(fit.node(name), fit.intercept, needed) or otherwise) for name in names
    )


def _has_mean_squares_of_flagged(fit: "Fit") -> bool:
    """Whether the variances count values that the method does not believe."""
    if fit.trimming is None or not fit.scale.counts_flagged:
        return False
    return any(fit.node(name).flagged for name in fit.dag.nodes)


def _reason(report: NodeReport, intercept: bool, needed: int) -> str:
    """Why a node lacks errors, if its own rows say it."""
    if report.rank < report.regressors:
        return (
            f"{rank_words(report)}: the rows do not determine "
            "all of the coefficients, and those have no errors"
        )
    if report.batches and report.batches < needed:
        return (
            f"there are too few batches for an interval, {report.batches} where {needed} are "
            "needed: give more rows, or kind='bootstrap'"
        )
    if report.rows <= report.regressors + intercept:
        return f"{report.rows} rows leave nothing over to judge the errors by: give more rows"
    return ""


def bootstrap(
    fit: "Fit", data: FitData, level: float, repetitions: int | None, seed: int
) -> tuple[BootstrapErrors, BootstrapErrors, BootstrapErrors]:
    """What repetitions say of coefficients, intercepts and variances.

    Each repetition draws as many rows with replacement, within each phase's rows if they are
    split, and learns by the same method. Intervals are percentiles, corrected for the median
    bias of the repetitions. A method that depends on the order of the rows has no such bias:
    its repetitions lie about the estimate from all orders, so they are moved to the fit's own.
    Intervals of variances are found on the scale of the logarithm; see `variance_ends`.
    """
    found: tuple[list[FloatArray], ...] = ([], [], [])
    for network in bootstrap_networks(fit, data, repetitions, seed):
        for kept, values in zip(found, _arrays(network), strict=True):
            kept.append(values)
    by_order = fit.method.uses_row_order
    first, second, third = (
        percentiles(np.array(kept), values, level, by_order)
        for kept, values in zip(found, _arrays(fit.network), strict=True)
    )
    low, high = variance_ends(np.array(found[2]), fit.network.noise_variances, level, by_order)
    return first, second, third._replace(low=low, high=high)


def bootstrap_networks(
    fit: "Fit", data: FitData, repetitions: int | None, seed: int
) -> Iterable[GaussianNetwork]:
    """The networks that are learnt from rows drawn with replacement.

    They are kept, so that another table of the same fit need not learn them again.
    """
    count = repetitions_of(fit, repetitions)
    if count * (len(fit.dag) + len(fit.dag.edges)) > MOST_KEPT:
        return (one.network for one in bootstrap_fits(fit, data, count, seed))
    data.table()  # refuses rows that were changed since
    kept = fit.bootstraps
    if (count, seed) not in kept:
        found = tuple(one.network for one in bootstrap_fits(fit, data, count, seed))
        kept.clear()
        kept[count, seed] = found
    return kept[count, seed]


def repetitions_of(fit: "Fit", repetitions: int | None) -> int:
    """The repetitions that are asked for, or as many as the method has time for."""
    if repetitions is None:
        return FEW_REPETITIONS if fit.method.needs_all_rows else REPETITIONS
    if not isinstance(repetitions, int) or repetitions < FEWEST:
        raise SettingError(f"got repetitions={repetitions!r}, expected at least {FEWEST}")
    return repetitions


def check_repetitions(fit: "Fit", repetitions: int | None, level: float) -> None:
    """Refuse repetitions among which the ends of an interval of this level do not lie."""
    count, needed = repetitions_of(fit, repetitions), fewest_repetitions(level)
    if count < needed:
        raise SettingError(
            f"got repetitions={count}, expected at least {needed} for intervals of level "
            f"{level:g}: give repetitions={needed} or more, or a lower level"
        )


def bootstrap_fits(
    fit: "Fit", data: FitData, repetitions: int | None, seed: int
) -> "Iterator[Fit]":
    """The fits to rows drawn with replacement."""
    from gaussnet.fitting.learn import fit_with

    repetitions = repetitions_of(fit, repetitions)
    table = data.table().in_memory("this")
    options = data.options
    if table.is_complete is not False:
        options = replace(options, missing="raise")
    elif options.missing != "likelihood":
        options = replace(options, missing="drop-by-node")
    run = replace(data.run, progress=None)
    table = replace(table, run=run)  # the repetitions are told of, not their passes
    data.run.begin("bootstrap")
    for done, child in enumerate(children(seed, repetitions), start=1):
        drawn = table.taken(_drawn(table.rows, fit.split, np.random.default_rng(child)))
        yield fit_with(run, drawn, options, (fit.method, fit.scale))
        if data.run.progress is not None:
            data.run.progress(done * table.rows, repetitions * table.rows)


def _arrays(network: GaussianNetwork) -> tuple[FloatArray, FloatArray, FloatArray]:
    return network.coefficient_array, network.constants, network.noise_variances


def _drawn(rows: int, split: tuple[int, int] | None, rng: "np.random.Generator") -> IntArray:
    if split is None:
        return rng.integers(0, rows, rows)
    first, last = (int(part) for part in split)
    drawn = rng.integers(0, first, first)
    return np.concatenate((drawn, rng.integers(rows - last, rows, last)))


def certificate_of(fit: "Fit", delta: float) -> "Certificate":
    """How far the learnt network can be from the truth; see `Fit.certificate`."""
    from gaussnet.planning import certify  # much to import

    method, scale = fit.method.certified_as(fit.scale, fit.trimming)
    if fit.data is not None and fit.data.options.study.has_dependent_rows:
        raise SettingError(
            "the rows have weights or clusters, and a certificate is one about independent rows "
            "that count alike: see fit.uncertainty()"
        )
    if fit.dag.factors:
        raise SettingError(
            f"{shorten(list(fit.dag.factors))} is a category, and a certificate is one about "
            "Gaussian causes: see fit.uncertainty()"
        )
    deficient = (fit.details.ranks < fit.dag.in_degrees).any()
    if deficient or not fit.network.variance_array.all():
        raise SettingError(
            "some nodes are exact functions of others, which no law allows for: "
            "leave them out of the graph for a certificate"
        )
    if fit.details.set_rows.any() or fit.details.dropped.any():
        return _certificate_by_node(fit, delta, (method, scale, fit.intercept))
    return certify(
        fit.dag,
        rows=_rows(fit, method),
        delta=delta,
        method=method,
        scale=scale,
        intercept=fit.intercept,
        split=fit.split,
    )


def _certificate_by_node(
    fit: "Fit", delta: float, how: tuple[Method, Scale, bool]
) -> "Certificate":
    """A certificate where nodes were set from outside, or lack values, in some rows."""
    from gaussnet.planning.certificate import certify_by_node  # much to import

    was_set, dropped = fit.details.set_rows.any(), fit.details.dropped.any()
    bridged = fit.method.fills_holes or (fit.trimming is not None and fit.trimming.bridged)
    if (was_set and dropped) or fit.split is not None or bridged:
        raise SettingError(
            "some nodes were learnt from fewer rows than others, and a law is known where cells "
            "are left out or were set from outside, not both, and without a split: see "
            "fit.uncertainty(), or fit with missing='drop-rows' for a certificate"
        )
    design = served = fit.details.rows
    if was_set:
        design = _untouched_rows(fit)
    conditions = (TARGETS_CHOSEN,) if was_set else (MISSING_AT_RANDOM,)
    return certify_by_node(fit.dag, fit.rows, (design, served), delta, how, conditions)


TARGETS_CHOSEN = (
    "which cells were set from outside, and to what, was not chosen by the noise of the nodes; the "
    "errors of a node's coefficients are judged by the rows in which neither it nor an ancestor "
    "was set, though more rows served it"
)
MISSING_AT_RANDOM = (
    "cells are missing completely at random: which ones does not depend on any value"
)


def _untouched_rows(fit: "Fit") -> IntArray:
    """Rows in which neither a node nor an ancestor of it was set from outside, (nodes,)."""
    table = fit.required_data("ask for a certificate where the data are, or fit again").table()
    design = table.design
    assert design is not None
    assert design.targets is not None
    counts = ask(table.surveyed(False), RegimeCounts(len(design.targets)))
    touched = design.targets.copy()
    for node in fit.dag.order.tolist():
        for parent in fit.dag.families.parent_lists[node]:
            touched[:, node] |= touched[:, parent]
    return np.asarray(counts @ ~touched)


def _rows(fit: "Fit", method: Method) -> int:
    """The rows, or as many as the batches used take: pages and singular ones cost some."""
    sizes = fit.dag.in_degrees
    heights = [method.rows_needed(size, fit.intercept) for size in sizes.tolist()]
    batched = (fit.details.batches > 0) & (sizes > 0)
    most = (fit.details.batches + 1) * np.array(heights, dtype=np.int64) - 1
    return int(most[batched].min(initial=fit.rows)) if fit.split is None else fit.rows
