"""`check_graph`: where the data disagree with the graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from gaussnet._types import FloatArray, IntArray
from gaussnet.errors import EstimationError
from gaussnet.fitting.checks import check_level
from gaussnet.fitting.claims.adjust import Adjustment, adjusted
from gaussnet.fitting.claims.partial import Complete, Holed
from gaussnet.fitting.tables import shown, text_table
from gaussnet.graph.dag import Dag

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

LONGEST_TABLE = 10
"""Lines of a printed table."""

NAMES = {"holm": "Holm", "benjamini-hochberg": "Benjamini-Hochberg"}


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
        return tuple(self._edge(place) for place in range(self._alarms))

    @property
    def agrees(self) -> bool:
        """Whether the data contradict no missing edge."""
        return self._alarms == 0

    @property
    def verdict(self) -> str:
        """What the tests say, in one sentence."""
        how = f"at level {self.level:g} ({NAMES[self.adjustment]}, {len(self)} tests)"
        if not len(self):
            return "There is no missing edge to test."
        if self.agrees:
            return f"The data agree with the graph {how}."
        worst = self._edge(0)
        count = f"{self._alarms} missing edge" + ("s" if self._alarms > 1 else "")
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
        return (self._edge(place) for place in range(len(self)))

    def __repr__(self) -> str:
        return f"GraphCheck({len(self)} missing edges, {self._alarms} contradicted)"

    def __str__(self) -> str:
        heads = ("node", "other", "given", "correlation", "p-value", "adjusted")
        lines = [_line(self._edge(place)) for place in range(len(self))[:LONGEST_TABLE]]
        table = text_table(heads, lines, left=(0, 1, 2)) if lines else []
        more = len(self) - len(lines)
        end = [f"... and {more} more"] if more else []
        return "\n".join([self.verdict, *table, *end, *self.notes])

    @property
    def _alarms(self) -> int:
        return int(np.count_nonzero(self.adjusted <= self.level))

    def _edge(self, place: int) -> MissingEdge:
        node, other = self.dag.nodes[self.nodes[place]], self.dag.nodes[self.others[place]]
        numbers = (self.correlations[place], self.p_values[place], self.adjusted[place])
        return MissingEdge(node, other, self.dag.parents(node), *map(float, numbers))


def check_graph(fit: "Fit", level: float, adjust: Adjustment) -> GraphCheck:
    """Test every missing edge of a fit's graph on the rows that it was learnt from."""
    check_level(level, 0.05)
    rows, notes = _rows(fit)
    nodes, others, correlations, freedom = _tests(fit, rows)
    testable = ~np.isnan(correlations) & (freedom >= 1.0)
    kept = np.flatnonzero(testable)
    r, left = correlations[kept], freedom[kept]
    with np.errstate(divide="ignore"):
        t = np.abs(r) * np.sqrt(left / np.maximum((1.0 - r) * (1.0 + r), 0.0))
    p_values = 2.0 * stdtr(left, -t)
    fair = adjusted(p_values, adjust)
    order = np.lexsort((-np.abs(r), p_values))
    kept = kept[order]
    untested = len(testable) - len(kept)
    if untested:
        notes.append(f"{untested} missing edges cannot be tested: no noise, or too few rows")
    arrays = (correlations[kept], p_values[order], fair[order])
    return GraphCheck(
        fit.dag, float(level), adjust, nodes[kept], others[kept], *arrays, untested, tuple(notes)
    )


def _rows(fit: "Fit") -> tuple[FloatArray, list[str]]:
    """The rows learnt from, suspicious cells of a robust fit as missing, and notes."""
    evidence = fit._evidence
    if evidence is None:
        raise EstimationError(
            "this fit no longer has the rows that it was learnt from, because it was copied or "
            "loaded: check the graph where the data are, or fit again"
        )
    rows = np.array(evidence.rows()[0], dtype=np.float64)
    notes = []
    if fit.trimming is not None and fit.trimming.cells:
        for node, cells in fit.trimming.cells.items():
            rows[cells.rows, node] = np.nan
        notes.append("suspicious cells count as missing, so that p-values are approximate")
    return rows, notes


def _tests(fit: "Fit", rows: FloatArray) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Node, earlier node, partial correlation and freedom of each missing edge."""
    families, order = fit.dag.families, fit.dag.order
    complete = not np.isnan(rows).any()
    work = (Complete if complete else Holed)(rows, fit.intercept)
    nodes, others, correlations, freedom = [], [], [], []
    for index, node in enumerate(order.tolist()):
        parents = families.parents[families.offsets[node] : families.offsets[node + 1]]
        earlier = np.setdiff1d(order[:index], parents)
        if not len(earlier):
            continue
        found = work.correlate(node, parents, earlier)
        nodes.append(np.full(len(earlier), node))
        others.append(earlier)
        correlations.append(found.correlations)
        freedom.append(found.freedom)
    if not nodes:
        none = np.empty(0, dtype=np.int64)
        return none, none, np.empty(0), np.empty(0)
    return (
        np.concatenate(nodes),
        np.concatenate(others),
        np.concatenate(correlations),
        np.concatenate(freedom),
    )


def _line(edge: MissingEdge) -> tuple[str, ...]:
    names = (shown(edge.node), shown(edge.other), ", ".join(map(shown, edge.given)) or "-")
    return (*names, f"{edge.correlation:.3f}", f"{edge.p_value:.2g}", f"{edge.adjusted:.2g}")
