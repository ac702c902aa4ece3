"""Tests of the graph: where the data disagree with its missing edges."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from gaussnet.data.table import Table, ask, cut_pages
from gaussnet.display import escaped
from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.partial_correlations import (
    CompleteRows,
    Correlated,
    Correlating,
    HeteroscedasticRows,
    IncompleteRows,
    Points,
)
from gaussnet.fitting.residuals import listed
from gaussnet.fitting.screening import ScreenedRows
from gaussnet.fitting.tables import Column, ResultTable, Tabular
from gaussnet.fitting.text import shown, text_table
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.moments import CrossMoments, CrossMomentsPass
from gaussnet.methods.standard_errors import Adjustment, adjusted
from gaussnet.model.checks import as_names, check_level
from gaussnet.tails import PValue, student_quantile, student_tail
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit
    from gaussnet.methods.robust.judge import Judge, Lenient

HARDLY_LESS = 0.8
"""Partial correlations beyond this are nearly exact relations, which are hardly forgotten."""
LONGEST_TABLE = 10
"""Lines of a printed table."""

NAMES = {"holm": "Holm", "benjamini-hochberg": "Benjamini-Hochberg"}

SCREENED = 500
"""From so many nodes on, pairs are screened in single precision."""
MOST_LISTED = 20_000
"""Of more missing edges only those are listed that have small p-values."""


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
class GraphCheck(Tabular):
    """The tests of missing edges, worst first, (listed,) each; iterating gives `MissingEdge`.

    Printing it shows the verdict and the first ones; `to_frame`, `to_markdown` and `to_latex` have
    all.
    """

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
    tests: int = 0
    """Missing edges that were tested; of more than 20,000 only the smallest p-values are listed."""
    freedom: float = 0.0
    """Of the test with the most degrees of freedom; 0 without tests."""

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
        how = f"at level {self.level:g} ({NAMES[self.adjustment]}, {counted(self.tests, 'test')})"
        if not self.tests:
            if self.untested:
                return "No missing edge could be tested: rows are too few, or columns collinear."
            return "There is no missing edge to test."
        if self.agrees and self.hardly_tells:
            return (
                f"The rows are too few to contradict the graph {how}: only partial correlations "
                f"beyond {self.detectable:.2f} would be found."
            )
        if self.agrees:
            return f"The data agree with the graph {how}."
        worst = self._edge(0)
        count = counted(self._alarms, "missing edge")
        return (
            f"The data contradict {count} {how}: look first at {shown(worst.other)} and "
            f"{shown(worst.node)}."
        )

    @property
    def hardly_tells(self) -> bool:
        """Whether only nearly exact relations would be found, so that to agree says nothing."""
        if not self.freedom > 0.0:
            return False
        statistic = HARDLY_LESS * np.sqrt(self.freedom / (1.0 - HARDLY_LESS**2))
        p_value = 2.0 * student_tail(np.array([self.freedom]), np.array([statistic]))
        return bool(p_value[0] * self.tests > self.level)

    @property
    def detectable(self) -> float:
        r"""The smallest partial correlation that would be found, were it the only one.

        .. math:: r = t / \sqrt{t^2 + \nu}

        with t Student's quantile at the level over the number of tests, which both adjustments ask
        of the smallest p-value, and the most degrees of freedom of a test. NaN without tests.
        """
        if not self.freedom > 0.0:
            return float("nan")
        chance = 1.0 - 0.5 * self.level / self.tests
        point = float(student_quantile(np.array([self.freedom]), chance)[0])
        return point / float(np.hypot(point, np.sqrt(self.freedom)))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The tests as plain values, worst first, for a frame or JSON."""
        return [edge._asdict() for edge in self]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[MissingEdge]:
        return (self._edge(index) for index in range(len(self)))

    def __repr__(self) -> str:
        return f"GraphCheck({counted(self.tests, 'missing edge')}, {self._alarms} contradicted)"

    def table(self) -> ResultTable:
        """The tests as a table, worst first."""
        edges, corrected = list(self), f"p-value ({NAMES[self.adjustment]})"
        columns = (
            Column("node", "node", [edge.node for edge in edges], "text"),
            Column("other", "other", [edge.other for edge in edges], "text"),
            Column("given", "given", [", ".join(edge.given) or None for edge in edges], "text"),
            Column("correlation", "partial correlation", self.correlations.tolist(), "number"),
            Column("p_value", "p-value", self.p_values.tolist(), "p-value"),
            Column("adjusted", corrected, self.adjusted.tolist(), "p-value"),
        )
        return ResultTable("Missing edges", columns, (self.verdict, *self.notes))

    def _repr_html_(self) -> str:
        """The verdict and the first tests in a notebook."""
        table = replace(self.table(), notes=self.notes).to_html(LONGEST_TABLE)
        return f"<p>{escaped(self.verdict)}</p>{table if len(self) else ''}"

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
    fit: "Fit",
    level: float,
    adjust: Adjustment,
    errors: Noise = "classical",
    nodes: Iterable[str] | None = None,
) -> GraphCheck:
    """Test every missing edge of a fit's graph on the rows that it was learnt from."""
    check_level(level, 0.05)
    if errors not in get_args(Noise):
        raise SettingError(f"got errors={errors!r}, expected 'classical' or 'heteroscedastic'")
    touched = None if nodes is None else {fit.dag.position(node) for node in as_names(nodes)}
    missing = len(fit.dag) * (len(fit.dag) - 1) // 2 - len(fit.dag.edges)
    largest = _largest_listed(missing, level, adjust)
    points = None if largest is None else Points(largest)
    work, notes = _correlating(fit, errors, points if touched is None else None)
    parents = _ranked_parents(fit.dag)
    found = _tests(fit.dag, parents, work, points, touched)
    p_values = 2.0 * student_tail(found.freedom, found.statistics)
    corrected = adjusted(p_values, adjust, found.tests)
    order = np.lexsort((-np.abs(found.correlations), p_values))
    if found.untested:
        words = counted(found.untested, "missing edge")
        reasons = "no noise, or too few rows"
        if fit.data is None:
            reasons = (
                "no noise, too few rows, or nearly collinear nodes, for which sums lack digits"
            )
        notes.append(f"{words} cannot be tested: {reasons}")
    if largest is not None:
        notes.append(f"listed are those with p-values of at most {largest:.2g}")
    return GraphCheck(
        fit.dag,
        float(level),
        adjust,
        found.nodes[order],
        found.others[order],
        found.correlations[order],
        p_values[order],
        corrected[order],
        found.untested,
        tuple(notes),
        found.tests,
        float(found.freedom.max(initial=0.0)),
    )


APPROXIMATE = ", so that p-values are approximate"
"""What follows from cells that count as missing, where p-values are shown."""


def tested_table(fit: "Fit", purpose: str, lenient: "Lenient | None") -> tuple[Table, list[str]]:
    """The rows learnt from, cells that a robust fit does not believe as missing, and notes.

    A lenient judge believes some of them.
    """
    data = fit.required_data(purpose)
    _refuse_dependent_rows(fit)
    table = data.table()
    if judge_of_pages(fit) is not None:
        raise EstimationError(
            "the rows were judged page by page, and this needs them in memory: fit a sample of the "
            "rows to ask"
        )
    left_out = {} if fit.trimming is None else fit.trimming.disbelieved_cells
    if fit.trimming is None or not left_out:
        return table, []
    held = table.in_memory("this")
    known = held.stripe().known
    rows = np.array(held.array if known is None else np.hstack((held.array, known)), dtype=float)
    usual = None if lenient is None else lenient.usual(rows[:, : len(fit.dag)])
    for node, own in left_out.items():
        rows[own if usual is None else own[~usual[own, node]], node] = np.nan
    pages = cut_pages(rows, held.page_rows)
    believed = replace(held, pages=pages, whole=rows, is_complete=False, sums=None)
    return believed, [_approximate(fit.trimming.disbelieved)]


def _approximate(statuses: tuple[str, ...] = ("flagged",)) -> str:
    """That cells of these statuses are left out."""
    which = " and ".join(statuses)
    return f"{which} cells count as missing{APPROXIMATE}"


def _lenient(fit: "Fit") -> tuple["Lenient | None", list[str]]:
    """Who believes values in nodes that are flagged too often, and a note.

    Where the graph lacks an edge between two neighbours of a node, half the values of this node may
    look wrong, and the tests would agree with the graph on what is left.
    """
    lenient = None if fit.trimming is None else fit.trimming.lenient
    if lenient is None:
        return None, []
    names = listed(shown(fit.dag.nodes[node]) for node in lenient.nodes)
    note = (
        f"more than a quarter of the values of {names} were flagged though they are usual for "
        "their column: they are wrong, or the graph lacks an edge nearby; they count in these tests"
    )
    return lenient, [note]


def judge_of_pages(fit: "Fit") -> "Judge | None":
    """Who tells the flagged cells of rows that were judged page by page; None if none is needed."""
    trimming = fit.trimming
    if trimming is None or trimming.counts is None or not trimming.trimmed:
        return None
    return trimming.judge


def _refuse_dependent_rows(fit: "Fit") -> None:
    if fit.has_dependent_rows:
        raise SettingError(
            "the rows have weights or clusters, and these tests are of independent rows that count "
            "alike: fit without them to ask"
        )


def required_cross_moments(fit: "Fit", purpose: str) -> CrossMoments:
    """The products of all pairs of nodes that a fit without rows has kept; refused if none."""
    _refuse_dependent_rows(fit)
    if fit.sums is None or fit.sums.cross is None:
        kept = "was copied or loaded" if fit.kept is None else "comes from a summary"
        raise EstimationError(
            f"this fit {kept}, which keeps the sums of each equation and not the rows, and "
            f"{purpose} need products of all pairs of nodes: ask where the data are, or summarise "
            "them with gaussnet.summarize(..., for_checks=True)"
        )
    return fit.sums.cross


def tested_rows(fit: "Fit", purpose: str) -> tuple[FloatArray, list[str]]:
    """The same rows in memory, (rows, nodes)."""
    table, notes = tested_table(fit, purpose, None)
    return np.asarray(table.in_memory("this").array, dtype=np.float64), notes


def set_cells(fit: "Fit") -> BoolArray | None:
    """Which cells of the rows learnt from were set from outside; None if none was."""
    return fit.required_data("fit again").table().in_memory("this").set_cells


def _ranked_parents(dag: Dag) -> list[IntArray]:
    """The parents of each node, all numbered in topological order."""
    ranks = np.empty(len(dag), dtype=np.int64)
    ranks[dag.order] = np.arange(len(dag))
    parents, offsets = ranks[dag.families.parents], dag.families.offsets
    return [parents[offsets[node] : offsets[node + 1]] for node in dag.order.tolist()]


def _correlating(fit: "Fit", errors: Noise, points: Points | None) -> tuple[Correlating, list[str]]:
    """What finds the correlations, with columns in topological order, and notes."""
    if fit.data is None and fit.sums is not None and errors == "classical":
        moments = required_cross_moments(fit, "tests of missing edges")
        return CompleteRows(moments, fit.dag.order, fit.intercept, None), []
    purpose, judge = "check the graph where the data are, or fit again", judge_of_pages(fit)
    lenient, said = _lenient(fit)
    if judge is not None and errors == "classical":
        _refuse_dependent_rows(fit)
        rows = fit.required_data(purpose).table().surveyed(False)
        work = IncompleteRows(rows, fit.dag.order, fit.intercept, lenient or judge)
        return work, [*said, _approximate()]
    table, notes = tested_table(fit, purpose, lenient)
    return _correlating_rows(fit, table, errors, points), [*said, *notes]


def _correlating_rows(
    fit: "Fit", table: Table, errors: Noise, points: Points | None
) -> Correlating:
    """What finds the correlations of these rows.

    Rows in which a node was set from outside say nothing of what it depends on.
    """
    order, intercept = fit.dag.order, fit.intercept
    was_set = table.design is not None and table.design.targets is not None
    if errors == "heteroscedastic":
        held = table.in_memory("this")
        rows, cells = np.asarray(held.array, dtype=np.float64)[:, order], held.set_cells
        return HeteroscedasticRows(rows, intercept, None if cells is None else cells[:, order])
    if was_set or table.is_complete is False:
        return IncompleteRows(table, order, intercept)
    many = len(order) >= SCREENED and not table.is_stream
    if points is not None and many and table.is_complete:
        screened = ScreenedRows.of(table, order, intercept, points)
        if screened is not None:
            return screened
    found: CrossMoments = ask(table, CrossMomentsPass(intercept, order))
    return CompleteRows(found, order, intercept, table, is_ordered=True)


class _Listed(NamedTuple):
    """The missing edges to list, (listed,) each, and how many there are."""

    nodes: IntArray
    others: IntArray
    correlations: FloatArray
    freedom: FloatArray
    statistics: FloatArray
    tests: int
    untested: int


def _tests(
    dag: Dag,
    parents: Sequence[IntArray],
    work: Correlating,
    points: Points | None,
    touched: set[int] | None,
) -> _Listed:
    """The tests of all missing edges, or of those that touch some nodes.

    With `points` only p-values up to theirs are listed: a graph of 5,000 nodes has 12 million.
    """
    order = dag.order
    chosen = None if touched is None else np.isin(order, list(touched))
    every = list(enumerate(parents))
    asked = [(node, own) for node, own in every if node > len(own)]
    if chosen is not None:
        asked = [(node, own) for node, own in asked if _wanted(node, own, chosen).any()]
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), *np.empty((3, 0)))]
    tests = untested = 0
    for node, found in work.correlations(asked):
        kept, count, left = _kept(node, found, parents, chosen, points)
        tests, untested = tests + left, untested + count - left
        if len(kept):
            nodes = np.broadcast_to(node, len(kept)) if isinstance(node, int) else node[kept]
            others = kept if found.places is None else found.places[kept]
            parts.append((nodes, others, *found.listed(kept)))
    nodes, others, *numbers = map(np.concatenate, zip(*parts, strict=True))
    ordered = np.lexsort((others, nodes))
    r, freedom, statistics = (values[ordered] for values in numbers)
    nodes, others = order[nodes[ordered]], order[others[ordered]]
    return _Listed(nodes, others, r, freedom, statistics, tests, untested)


def _kept(
    node: int | IntArray,
    found: Correlated,
    parents: Sequence[IntArray],
    chosen: BoolArray | None,
    points: Points | None,
) -> tuple[IntArray, int, int]:
    """Which of the correlations are listed, how many edges are missing, and how many tested."""
    if not isinstance(node, int) or found.places is not None:
        able = np.ones(len(found.products), np.bool_) if points is None else found.passes(points)
        return np.flatnonzero(able), found.tested, found.tested
    own = parents[node]
    able = _wanted(node, own, chosen)
    count = node - len(own) if chosen is None else int(np.count_nonzero(able))
    left = count
    if len(found.untested):
        able[found.untested] = False
        left = int(np.count_nonzero(able))
    if points is not None:
        able &= found.passes(points)
    return np.flatnonzero(able), count, left


def _wanted(node: int, parents: IntArray, chosen: BoolArray | None) -> BoolArray:
    """Whether a node is tested with each earlier one, (earlier,): with those that are no parents.

    Where some nodes are `chosen`, one of both must be.
    """
    wanted = np.ones(node, dtype=np.bool_)
    wanted[parents] = False
    if chosen is not None and not chosen[node]:
        wanted &= chosen[:node]
    return wanted


def _largest_listed(missing: int, level: float, adjust: Adjustment) -> float | None:
    """The largest p-value to list; None for all.

    Holm's method rejects nothing above level / (tests - rejected), which is less than
    MOST_LISTED / tests unless all but a few are rejected; the other one nothing above the level.
    """
    if missing <= MOST_LISTED:
        return None
    return min(level, MOST_LISTED / missing) if adjust == "holm" else level


def _line(edge: MissingEdge) -> tuple[str, ...]:
    names = (shown(edge.node), shown(edge.other), ", ".join(map(shown, edge.given)) or "-")
    return (*names, f"{edge.correlation:.3f}", *map(str, map(PValue, edge[-2:])))
