"""The tables of a fit: one row per edge, and one row per node."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import GaussnetError
from gaussnet.fitting.measures import find_r2, implied_r2, r2_note
from gaussnet.fitting.notes import Note
from gaussnet.fitting.repetitions import WORDS, BootstrapErrors, shown_p_values
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.standardized import (
    Standardized,
    allows_for_tails,
    find_standardized,
    shown_coefficients,
)
from gaussnet.fitting.tables import Column, ResultTable
from gaussnet.fitting.text import shown
from gaussnet.fitting.uncertainty import (
    ErrorChoice,
    Uncertainty,
    find_root_covariances,
    find_uncertainty,
    repetitions_of,
)
from gaussnet.methods.standard_errors import student
from gaussnet.tails import student_tail
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

ERRORS = {
    "classical": "least squares",
    "sampling": "sums over rows, as in surveys",
    "clustered": "sums over clusters of rows",
    "heteroscedastic": "HC3, which allows the noise another variance in every row",
    "expected": "expected information of maximum likelihood",
    "observed-information": "observed information of maximum likelihood",
    "fitted-rows": "least squares over the rows kept",
    "believed-cells": "maximum likelihood over the cells that are believed",
    "between-batch": "spread of the batches",
    "order-statistic": "order statistics of the medians",
    "bootstrap": "bootstrap",
}
"""Where standard errors come from, in words."""


STUDENT = ("classical", "heteroscedastic", "sampling", "fitted-rows", "believed-cells")
"""Errors whose law is Student's t with the rows that are left, unless they have freedom of their
own."""


def error_words(fit: "Fit", kind: str, choice: ErrorChoice) -> str:
    """Where standard errors of this kind come from, in words."""
    if kind == "bootstrap":
        return f"bootstrap, {repetitions_of(fit, choice.repetitions)} repetitions"
    return ERRORS.get(kind, kind)


def edge_table(
    fit: "Fit", standardized: bool, choice: ErrorChoice, implied: bool = False
) -> ResultTable:
    """Coefficients with standard errors, p-values and intervals, one row per edge."""
    asked = (choice.kind, choice.level, choice.repetitions, choice.seed)
    sure = find_uncertainty(fit, *asked)
    title = "Standardised coefficients" if standardized else "Coefficients"
    columns = [
        Column("parent", "parent", [parent for parent, _ in fit.dag.arrows], "text"),
        Column("child", "child", [child for _, child in fit.dag.arrows], "text"),
    ]
    if standardized:
        found = find_standardized(fit, asked, implied)
        estimates, errors, ends = found.values, found.errors, np.stack((found.low, found.high))
        tests, words = _standardized_p_values(found)
    else:
        estimates = fit.network.coefficient_array
        errors = sure.standard_errors.coefficient_array
        ends = sure.confidence_intervals.coefficient_array.T
        tests, words = coefficient_p_values(fit, sure)
    drawn = ~fit.dag.is_covariance
    estimates, errors, ends, tests = (part[..., drawn] for part in (estimates, errors, ends, tests))
    if fit.dag.labels:
        named = {edge: label for label, edge in fit.dag.labels.items()}
        labels = [named.get(edge, "") for edge in fit.dag.arrows]
        columns.append(Column("label", "label", labels, "text"))
    level = f"{100 * choice.level:.4g}%"
    drawn_again = sure.kind == "bootstrap"
    count = repetitions_of(fit, choice.repetitions) if drawn_again else None
    columns += [
        _numbers("estimate", "standardised" if standardized else "estimate", estimates),
        _numbers("std_error", "std. error", errors),
        Column("p_value", "p-value", shown_p_values(tests, count), "p-value"),
        _numbers("low", f"{level} low", ends[0]),
        _numbers("high", f"{level} high", ends[1]),
    ]
    if not standardized:
        columns.append(
            _numbers("standardized", "standardised", shown_coefficients(fit, implied)[drawn])
        )
    lacking = {fit.dag.arrows[edge][1] for edge in np.flatnonzero(np.isnan(errors)).tolist()}
    notes = [
        f"standard errors: {error_words(fit, sure.kind, choice)}; {words}",
        *reasons(sure.notes, set(fit.dag.nodes) if drawn_again else lacking),
    ]
    if not implied and fit.data is not None and fit.sample_scales is None:
        notes.append("standardised by the standard deviations that the network implies")
    if not fit.intercept:
        notes.append("standardised by root mean squares: without intercepts deviations are from 0")
    if standardized and allows_for_tails(sure.kind) and fit.residual_shapes is None:
        notes.append("no allowance for heavy tails, which need the rows themselves")
    return ResultTable(title, tuple(columns), tuple(notes))


def covariance_table(fit: "Fit", choice: ErrorChoice) -> ResultTable:
    """Covariances of the nodes that covary, with standard errors, one row per pair."""
    network, pairs = fit.network, fit.dag.covariances
    title, level = "Covariances", f"{100 * choice.level:.4g}%"
    asked = (choice.kind, choice.level, choice.repetitions, choice.seed)
    values = np.array(list(network.covariances.values()))
    known = find_root_covariances(fit, asked) if pairs else np.zeros((3, 0))
    drawn = known if isinstance(known, BootstrapErrors) else None
    errors, low, high = known[:3]
    tests = p_values(values, errors, np.inf) if drawn is None else drawn.p_values
    count = None if drawn is None else drawn.repetitions
    scales = dict(zip(fit.dag.nodes, network.noise_scales.tolist(), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = values / np.array([scales[a] * scales[b] for a, b in pairs])
    columns = (
        Column("first", "first", [one for one, _ in pairs], "text"),
        Column("second", "second", [other for _, other in pairs], "text"),
        _numbers("estimate", "estimate", values),
        _numbers("std_error", "std. error", errors),
        Column("p_value", "p-value", shown_p_values(tests, count), "p-value"),
        _numbers("low", f"{level} low", low),
        _numbers("high", f"{level} high", high),
        _numbers("correlation", "correlation", correlations),
    )
    notes = [] if drawn is None or drawn.note is None else [drawn.note]
    if np.isnan(errors).any():
        notes.append("no standard errors of covariances from these rows: give kind='bootstrap'")
    return ResultTable(title, columns, tuple(notes))


def node_table(fit: "Fit", choice: ErrorChoice, implied: bool = False) -> ResultTable:
    """Intercepts, noise, R2 and rows used, one row per node."""
    network, notes = fit.network, []
    asked = (choice.kind, choice.level, choice.repetitions, choice.seed)
    errors = np.full(len(fit.dag), np.nan)
    r2 = errors.copy()
    try:
        sure = find_uncertainty(fit, *asked)
        errors = sure.standard_errors.intercept_array
        lacking = {fit.dag.nodes[node] for node in np.flatnonzero(np.isnan(errors)).tolist()}
        notes += reasons(sure.notes, lacking)
    except GaussnetError as problem:
        notes.append(f"no standard errors: {problem}")
    try:
        r2 = implied_r2(network) if implied else find_r2(fit)
    except GaussnetError as problem:
        notes.append(f"no R2: {problem}")
    columns = [
        Column("node", "node", list(fit.dag.nodes), "text"),
        Column("parents", "parents", fit.dag.parent_columns.tolist(), "count"),
        _numbers("intercept", "intercept", network.constants),
        _numbers("std_error", "std. error", errors),
        _numbers("noise_sd", "noise sd", network.noise_scales),
        _numbers("r2", "R2", r2),
        Column("rows", "rows", fit.details.rows.tolist(), "count"),
    ]
    below = r2_note(fit.dag.nodes, r2)
    notes += [] if below is None else [below]
    if fit.trimming is not None:
        if fit.trimming.bridged and (fit.details.rows < fit.rows).any():
            notes.append(
                "rows: those in which the values of a node and of its parents are all there and "
                "believed; of the others each believed value counts"
            )
        flagged = [fit.node(node).flagged for node in fit.dag.nodes]
        columns.append(Column("flagged", "flagged", flagged, "count"))
    return ResultTable("Nodes", tuple(columns), tuple(notes))


def reasons(notes: Iterable[Note], lacking: Collection[object]) -> list[str]:
    """Why these nodes lack standard errors; nodes that lack them for one reason in one note."""
    found: dict[str, list[str]] = {}
    for note in notes:
        if note.node in lacking:
            found.setdefault(note.text, []).append(shown(str(note.node)))
    return [f"{listed(nodes)}: {text}" for text, nodes in found.items()]


def degrees_of_freedom(fit: "Fit", kind: str) -> FloatArray:
    """Of Student's t for each node's coefficients, (nodes,); infinite where the law is normal."""
    details = fit.details
    if kind == "clustered":
        design = fit.required_data("ask where the data are, or fit again").table().design
        clusters = 0 if design is None else design.clusters or 0
        return np.full(len(fit.dag), clusters - 1.0)
    if kind in STUDENT:
        left = details.rows - details.ranks - float(fit.intercept)
        return np.where(left > 0.0, left, np.nan)
    if kind == "between-batch":
        return np.where(details.batches > 1, details.batches - 1.0, np.nan)
    return np.full(len(fit.dag), np.inf)


def coefficient_p_values(fit: "Fit", sure: Uncertainty) -> tuple[FloatArray, str]:
    """P-values of the coefficients, (edges,), and by which test, in words.

    Where intervals are Student's t with degrees of freedom of their own, so are the tests: an
    interval excludes 0 if and only if the p-value is below 1 - level.
    """
    if sure.p_values is not None:
        return sure.p_values, WORDS
    family, estimates = fit.dag.families.family_of_edge, fit.network.coefficient_array
    intervals = sure.confidence_intervals
    found = sure.standard_errors.coefficient_array, *intervals.coefficient_array.T
    freedom = degrees_of_freedom(fit, sure.kind) if sure.freedom is None else sure.freedom
    errors = found[0] * interval_stretch(fit, sure.freedom, np.stack(found), intervals.level)
    return p_values(estimates, errors, freedom[family]), p_value_words(freedom[family])


def interval_stretch(
    fit: "Fit", freedom: FloatArray | None, table: FloatArray, level: float
) -> FloatArray:
    """By how much intervals are wider than standard errors times Student's t, (edges,).

    1 but for errors that have degrees of freedom of their own, (nodes,), as those of maximum
    likelihood, whose intervals allow for the parameters too. `table` has standard errors and the
    ends of the intervals, (3, edges).
    """
    ones = np.ones(table.shape[1])
    if freedom is None:
        return ones
    errors, low, high = table
    points = student(level, freedom[fit.dag.families.family_of_edge])
    return np.asarray(np.divide(0.5 * (high - low), errors * points, out=ones, where=errors > 0.0))


def _standardized_p_values(found: Standardized) -> tuple[FloatArray, str]:
    """P-values of standardised coefficients, (edges,), and by which test, in words."""
    if found.drawn is not None:
        return found.drawn.p_values, WORDS
    return p_values(found.values, found.errors, np.inf), p_value_words(np.inf)


def p_value_words(freedom: FloatArray | float) -> str:
    """By which test p-values of estimates with these degrees of freedom are found.

    Student's t where the degrees of freedom of the noise variance are known, as for least squares;
    the normal law, for many rows, elsewhere.

    Examples
    --------
    >>> p_value_words(np.array([27.0])), p_value_words(np.array([np.inf]))
    ('p-values: two-sided t tests', 'p-values: two-sided z tests, exact for many rows')
    """
    test = "z tests, exact for many rows" if np.isinf(freedom).all() else "t tests"
    return f"p-values: two-sided {test}"


def p_values(estimates: FloatArray, errors: FloatArray, freedom: FloatArray | float) -> FloatArray:
    """Two-sided p-values that the parameters are 0; NaN where there is no standard error.

    Examples
    --------
    >>> p_values(np.array([1.96]), np.array([1.0]), np.array([np.inf])).round(3).tolist()
    [0.05]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(estimates) / errors
    degrees = np.broadcast_to(np.asarray(freedom, dtype=np.float64), t.shape)
    return 2.0 * student_tail(degrees.ravel(), t.ravel()).reshape(t.shape)


def _numbers(name: str, heading: str, values: FloatArray) -> Column:
    return Column(name, heading, values.tolist())
