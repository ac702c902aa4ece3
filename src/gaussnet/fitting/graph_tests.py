"""Tests of the graph: where the data disagree with its missing edges."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import stdtr

from gaussnet import display
from gaussnet.errors import SettingError
from gaussnet.fitting.checks import check_level
from gaussnet.fitting.text import shown, text_table
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.standard_errors import Adjustment, adjusted
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

LONGEST_TABLE = 10
"""Lines of a printed table."""

NAMES = {"holm": "Holm", "benjamini-hochberg": "Benjamini-Hochberg"}

LITTLE = 1e-6
"""A sum of squares of which less than this share is left is found again from the residuals."""

NOTHING = 1e-10
"""Residuals below this share of the values are rounding: nothing is left to correlate."""


Noise = Literal["classical", "heteroscedastic"]
"""Whether all rows of a node have noise of one variance, or each row its own."""


class MissingEdge(NamedTuple):
    """A pair without an edge, and what the rows say about it."""

    node: str
    other: str
    """A node before it in topological order that is no parent."""
    given: tuple[str, ...]
    """The parents, given which the graph makes the two independent."""
    correlation: float
    """Their partial correlation."""
    p_value: float
    adjusted: float
    """P-value that allows for the number of tests."""


@dataclass(frozen=True, eq=False, repr=False)
class GraphCheck:
    """The tests of all missing edges, worst first, (tests,) each; iterating gives `MissingEdge`."""

    dag: Dag
    level: float
    adjustment: Adjustment
    nodes: IntArray
    """Positions of the nodes."""
    others: IntArray
    """Positions of the earlier nodes."""
    correlations: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    untested: int
    """Missing edges that the rows cannot test: a node without noise, or too few rows."""
    notes: tuple[str, ...] = ()

    @property
    def rejected(self) -> tuple[MissingEdge, ...]:
        """The missing edges that the data contradict at the level."""
        return tuple(self._edge(index) for index in range(self._alarms))

    @property
    def agrees(self) -> bool:
        """Whether the data contradict no missing edge."""
        return self._alarms == 0

    @property
    def verdict(self) -> str:
        """What the tests say, in one sentence."""
        how = f"at level {self.level:g} ({NAMES[self.adjustment]}, {counted(len(self), 'test')})"
        if not len(self):
            return "There is no missing edge to test."
        if self.agrees:
            return f"The data agree with the graph {how}."
        worst = self._edge(0)
        count = counted(self._alarms, "missing edge")
        return (
            f"The data contradict {count} {how}: look first at {shown(worst.other)} and "
            f"{shown(worst.node)}."
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """The tests as plain values, worst first, for a frame or JSON."""
        return [edge._asdict() for edge in self]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[MissingEdge]:
        return (self._edge(index) for index in range(len(self)))

    def __repr__(self) -> str:
        return f"GraphCheck({counted(len(self), 'missing edge')}, {self._alarms} contradicted)"

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        heads = ("node", "other", "given", "correlation", "p-value", "adjusted")
        lines = [_line(self._edge(index)) for index in range(len(self))[:LONGEST_TABLE]]
        table = text_table(heads, lines, left=(0, 1, 2)) if lines else []
        more = len(self) - len(lines)
        end = [f"... and {more} more"] if more else []
        return "\n".join([self.verdict, *table, *end, *self.notes])

    @property
    def _alarms(self) -> int:
        return int(np.count_nonzero(self.adjusted <= self.level))

    def _edge(self, index: int) -> MissingEdge:
        node, other = self.dag.nodes[self.nodes[index]], self.dag.nodes[self.others[index]]
        numbers = (self.correlations[index], self.p_values[index], self.adjusted[index])
        return MissingEdge(node, other, self.dag.conditioned_on(node), *map(float, numbers))


def check_graph(
    fit: "Fit", level: float, adjust: Adjustment, errors: Noise = "classical"
) -> GraphCheck:
    """Test every missing edge of a fit's graph on the rows that it was learnt from."""
    check_level(level, 0.05)
    if errors not in get_args(Noise):
        raise SettingError(f"got errors={errors!r}, expected 'classical' or 'heteroscedastic'")
    rows, notes = tested_rows(fit, "check the graph where the data are, or fit again")
    found = _tests(fit, rows, set_cells(fit), errors)
    nodes, others, correlations, freedom, statistics = found
    testable = ~np.isnan(correlations) & (freedom >= 1.0)
    kept = np.flatnonzero(testable)
    r, left = correlations[kept], freedom[kept]
    p_values = 2.0 * stdtr(left, -np.abs(statistics[kept]))
    corrected = adjusted(p_values, adjust)
    order = np.lexsort((-np.abs(r), p_values))
    kept = kept[order]
    untested = len(testable) - len(kept)
    if untested:
        notes.append(
            f"{counted(untested, 'missing edge')} cannot be tested: no noise, or too few rows"
        )
    arrays = (correlations[kept], p_values[order], corrected[order])
    return GraphCheck(
        fit.dag, float(level), adjust, nodes[kept], others[kept], *arrays, untested, tuple(notes)
    )


def tested_rows(fit: "Fit", purpose: str) -> tuple[FloatArray, list[str]]:
    """The rows learnt from, suspicious cells of a robust fit as missing, and notes."""
    data = fit.required_data(purpose)
    if data.options.study.has_dependent_rows:
        raise SettingError(
            "the rows have weights or clusters, and these tests are of independent rows that count "
            "alike: fit without them to ask"
        )
    rows = np.array(data.table().in_memory("this").array, dtype=np.float64)
    notes = []
    if fit.trimming is not None and fit.trimming.cells:
        for node, cells in fit.trimming.cells.items():
            rows[cells.rows, node] = np.nan
        notes.append("suspicious cells count as missing, so that p-values are approximate")
    return rows, notes


def set_cells(fit: "Fit") -> BoolArray | None:
    """Which cells of the rows learnt from were set from outside; None if none was."""
    return fit.required_data("fit again").table().in_memory("this").set_cells


def _tests(
    fit: "Fit", rows: FloatArray, set_from_outside: BoolArray | None, errors: Noise
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Node, earlier node, partial correlation, freedom and t of each missing edge.

    Rows in which a node was set from outside say nothing of what it depends on.
    """
    families, order = fit.dag.families, fit.dag.order
    complete = not np.isnan(rows).any()
    kind: type[CompleteRows | IncompleteRows | HeteroscedasticRows] = (
        CompleteRows if complete else IncompleteRows
    )
    if errors == "heteroscedastic":
        kind = HeteroscedasticRows
    all_rows = kind(rows, fit.intercept)
    none = np.empty(0, dtype=np.int64)
    parts = [(none, none, *np.empty((3, 0)))]
    for index, node in enumerate(order.tolist()):
        parents = families.parents[families.offsets[node] : families.offsets[node + 1]]
        earlier = np.setdiff1d(order[:index], parents)
        if len(earlier):
            work = all_rows
            if set_from_outside is not None and set_from_outside[:, node].any():
                work = kind(rows[~set_from_outside[:, node]], fit.intercept)
            found = work.correlate(node, parents, earlier)
            parts.append((np.full(len(earlier), node), earlier, *found))
    nodes, others, correlations, freedom, statistics = map(np.concatenate, zip(*parts, strict=True))
    return nodes, others, correlations, freedom, statistics


def _line(edge: MissingEdge) -> tuple[str, ...]:
    names = (shown(edge.node), shown(edge.other), ", ".join(map(shown, edge.given)) or "-")
    return (*names, f"{edge.correlation:.3f}", f"{edge.p_value:.2g}", f"{edge.adjusted:.2g}")


class Correlated(NamedTuple):
    """Partial correlations with the candidates, NaN where there is none, and their freedom."""

    correlations: FloatArray
    """(candidates,)."""
    freedom: FloatArray
    """Rows less parents, less 2, or less 1 without an intercept, (candidates,)."""
    statistics: FloatArray
    """What Student's t is compared with, (candidates,)."""

    @classmethod
    def of(cls, correlations: FloatArray, freedom: FloatArray) -> "Correlated":
        """With the t of noise of one variance."""
        r = correlations
        with np.errstate(divide="ignore", invalid="ignore"):
            found = r * np.sqrt(freedom / np.maximum((1.0 - r) * (1.0 + r), 0.0))
        return cls(correlations, freedom, found)


class CompleteRows:
    """Rows without missing values, (rows, nodes): orthogonal factors of each node's parents."""

    def __init__(self, rows: FloatArray, intercept: bool) -> None:
        # Columns are picked again and again, so each lies in one piece.
        self.values = np.asfortranarray(standardised(rows, intercept))
        self.intercept = intercept
        self.squares = np.einsum("ij,ij->j", self.values, self.values)

    def correlate(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        r"""Correlations of residuals on the parents.

        .. math:: r_j = \frac{e' x_j}{|e| |x_j - Q Q' x_j|}, \quad e = x_i - Q Q' x_i

        Q is an orthonormal basis of the parents; e is orthogonal to it, so that the products
        with all candidates are one matrix product.
        """
        values = self.values
        basis = _basis(values[:, parents])
        rest = _without(values[:, [node]], basis)
        length = float(np.linalg.norm(rest))
        chosen = values[:, others]
        products = (rest.T @ chosen)[0]
        loads = basis.T @ chosen
        left = self.squares[others] - np.einsum("ij,ij->j", loads, loads)
        for index in np.flatnonzero(left < LITTLE * self.squares[others]).tolist():
            own = _without(chosen[:, [index]], basis)
            left[index], products[index] = (own.T @ own).item(), (own.T @ rest).item()
        nothing = left <= NOTHING**2 * self.squares[others]
        if length <= NOTHING * np.sqrt(self.squares[node]):
            nothing[:] = True
        sizes = length * np.sqrt(np.where(nothing, 1.0, left))
        found = np.where(nothing, np.nan, products / np.where(nothing, 1.0, sizes))
        freedom = len(values) - basis.shape[1] - 1.0 - self.intercept
        return Correlated.of(found, np.full(len(others), freedom))


class IncompleteRows:
    """Rows with missing values as NaN: each pair uses the rows that it and the parents have.

    Works from sums of products over those rows, of values brought to mean 0 and size 1.
    """

    def __init__(self, rows: FloatArray, intercept: bool) -> None:
        self.known: BoolArray = ~np.isnan(rows)
        self.values = np.where(self.known, standardised(rows, intercept), 0.0)
        self.intercept = intercept

    def correlate(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        """Correlations from the cross-products of (1, parents, node, candidate)."""
        family = np.append(parents, node)
        whole = self.known[:, family].all(axis=1)
        design = self.values[np.ix_(whole, family)]
        if self.intercept:
            design = np.column_stack((np.ones(len(design)), design))
        mask = self.known[np.ix_(whole, others)].astype(np.float64)
        chosen = self.values[np.ix_(whole, others)]
        size = design.shape[1]
        pairs = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        table = np.empty((len(others), size + 1, size + 1))
        table[:, :size, :size] = (mask.T @ pairs).reshape(-1, size, size)
        table[:, size, :size] = table[:, :size, size] = chosen.T @ design
        table[:, size, size] = np.einsum("ij,ij->j", chosen, chosen)
        found, ranks = _partial(table)
        return Correlated.of(found, mask.sum(axis=0) - ranks - 1.0)


class HeteroscedasticRows:
    """Rows, NaN where missing, for tests that allow each row a variance of its own.

    Each candidate is tested on the rows that have it, the node and the parents.
    """

    def __init__(self, rows: FloatArray, intercept: bool) -> None:
        self.known: BoolArray = ~np.isnan(rows)
        self.rows, self.intercept = rows, intercept

    def correlate(self, node: int, parents: IntArray, others: IntArray) -> Correlated:
        """Correlations as usual, and t by HC3."""
        family = self.known[:, np.append(parents, node)].all(axis=1)
        alike = self.known[np.ix_(family, others)].all(axis=0)
        found = np.full((3, len(others)), np.nan)
        runs = [np.flatnonzero(alike), *(np.array([k]) for k in np.flatnonzero(~alike).tolist())]
        for chosen in runs:
            if len(chosen):
                there = self.known[:, others[chosen]].all(axis=1)
                own: BoolArray = np.asarray(np.logical_and(family, there))
                found[:, chosen] = self._tested(own, node, parents, others[chosen])
        return Correlated(*found)

    def _tested(
        self, chosen: BoolArray, node: int, parents: IntArray, others: IntArray
    ) -> FloatArray:
        r"""Correlation, freedom and t of each candidate, (3, candidates), by HC3.

        .. math:: t = \frac{\tilde x' e}{\sqrt{\sum_k \tilde x_k^2 u_k^2 / (1 - h_k)^2}}

        with e and :math:`\tilde x` the residuals of the node and the candidate on the parents, u
        those of the node on both, and h the leverages of these.
        """
        columns = np.concatenate((parents, [node], others))
        values = standardised(self.rows[np.ix_(chosen, columns)], self.intercept)
        size = len(parents)
        basis = _basis(values[:, :size])
        rest, moved = _without(values[:, [size]], basis), _without(values[:, size + 1 :], basis)
        products, squares = moved.T @ rest[:, 0], np.einsum("ij,ij->j", moved, moved)
        length = float(np.linalg.norm(rest))
        nothing = (squares <= NOTHING**2) | (length <= NOTHING)
        safe = np.where(nothing, 1.0, squares)
        own = rest - moved * (products / safe)
        base = np.einsum("ij,ij->i", basis, basis) + self.intercept / max(len(values), 1)
        left = 1.0 - base[:, None] - moved**2 / safe
        terms = moved * own / np.where(left > NOTHING, left, np.nan)
        errors = np.sqrt(np.einsum("ij,ij->j", terms, terms))
        freedom = len(values) - basis.shape[1] - 1.0 - self.intercept
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = products / errors
        correlations = products / (np.sqrt(safe) * (length if length > 0.0 else 1.0))
        found = np.stack((correlations, np.full(len(others), freedom), statistics))
        found[:, nothing | np.isnan(statistics)] = np.nan
        return found


def standardised(rows: FloatArray, intercept: bool) -> FloatArray:
    """Columns at size 1, and with an intercept at mean 0; NaN stays."""
    known = ~np.isnan(rows)
    values = rows / np.maximum(np.nanmax(np.abs(rows), axis=0, initial=0.0), np.finfo(float).tiny)
    if intercept:
        counts = np.maximum(known.sum(axis=0), 1)
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
        # Once more, for the rounding of a mean that is large beside the spread.
        values -= np.where(known, values, 0.0).sum(axis=0) / counts
    sizes = np.sqrt(np.where(known, values**2, 0.0).sum(axis=0))
    return np.asarray(values / np.where(sizes > NOTHING, sizes, np.inf))


def _basis(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns, as many as their rank."""
    if not columns.shape[1]:
        return columns
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > NOTHING * max(float(values[0]), NOTHING)])


def _without(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """The columns less their part in the basis, twice for rounding."""
    once = columns - basis @ (basis.T @ columns)
    return np.asarray(once - basis @ (basis.T @ once))


def _partial(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Partial correlations of the last two of each (k, k) table given the rest, and ranks."""
    lengths = np.sqrt(np.diagonal(table, axis1=1, axis2=2))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    unit = table / lengths[:, :, None] / lengths[:, None, :]
    given, cross = unit[:, :-2, :-2], unit[:, :-2, -2:]
    values, vectors = np.linalg.eigh(given)
    kept = values > LITTLE**2 * values.shape[1]
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    projected = vectors.transpose(0, 2, 1) @ cross
    left = unit[:, -2:, -2:] - projected.transpose(0, 2, 1) @ (inverse[:, :, None] * projected)
    first, last = left[:, 0, 0], left[:, 1, 1]
    nothing = (first <= LITTLE**2) | (last <= LITTLE**2)
    sizes = np.sqrt(np.where(nothing, 1.0, first * last))
    return np.where(nothing, np.nan, left[:, 0, 1] / sizes), kept.sum(axis=1).astype(np.float64)
