"""The data behind a fit: how they are read, and which equations share their rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gaussnet.data.codes import Codes
from gaussnet.data.design import Design, Selection
from gaussnet.data.missing import Missing, Survey, SurveyPass, treat_missing
from gaussnet.data.passes import Run, Stripe
from gaussnet.data.sources import CHANGED
from gaussnet.data.study import Study
from gaussnet.data.table import Layout, MemoryTable, Table, ask, open_table, page_summary
from gaussnet.errors import EstimationError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import merge_known
from gaussnet.methods.base import (
    EquationGroup,
    Equations,
    Method,
    Scale,
    Solution,
    SummaryPass,
)
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import BoolArray, IntArray, Rows

Groups = list[EquationGroup]


@dataclass(frozen=True)
class ReadOptions:
    """How data are read: which rows serve which phase, in what pages, and what NaN means."""

    dag: Dag
    intercept: bool
    split: tuple[int, int] | None
    missing: Missing
    page_rows: int
    study: Study = field(default_factory=Study)
    missing_values: Codes = ()
    """Numbers that stand for a missing value."""

    @property
    def beside(self) -> dict[str, Any]:
        """What `open_table` is told of the values."""
        factors = self.dag.factors
        return {"study": self.study, "codes": self.missing_values, "factors": factors}


@dataclass(frozen=True, eq=False)
class FitData:
    """The data as they were given, and how they are read; rows in memory are never copied."""

    has_all_rows: ClassVar[bool] = True

    given: Any
    """Data that can be opened again, or a table that is read anew by every pass."""
    options: ReadOptions
    run: Run
    ignored: tuple[str, ...] = ()
    survey: Survey | None = None
    """Of all values, where some of them are not finite."""
    checksum: int | None = None
    """Of the rows that the network was learnt from, if they lie in memory."""

    def table(self) -> Table:
        """The rows that the network was learnt from."""
        return self._opened()[0]

    def informing_rows(self) -> tuple[Table, float]:
        """The rows that say how precise parameters are, and how many rows each stands for."""
        return self.table(), 1.0

    def groups(self) -> tuple[Groups, Groups]:
        """The equations of both phases with their rows; the same unless the rows are split."""
        table, survey = self._opened()
        return equation_groups(table, self.options, survey)

    def _opened(self) -> tuple[Table, Survey | None]:
        """The rows, and a survey if some lack a value."""
        table, options = self.all_rows(), self.options
        if table.is_stream:
            return table, self.survey
        if self.survey is None:
            return table.surveyed(True), None
        return treat_missing(table, options.dag, options.missing)

    def all_rows(self) -> Table:
        """The rows as they were given, which must be what they were."""
        options, beside = self.options, self.options.beside
        table = open_table(self.given, options.dag.nodes, options.page_rows, self.run, **beside)
        if table.checksum() != self.checksum:
            raise EstimationError(CHANGED)
        return table


def equation_groups(
    table: Table,
    options: ReadOptions,
    survey: Survey | None,
    *,
    whole: bool = False,
    may_lack: bool = False,
) -> tuple[Groups, Groups]:
    """The equations of both phases with their rows.

    Families that lack values, or whose node was set from outside in some rows, have rows of
    their own, unless the rows are wanted as a `whole`. Those without any row are refused, or left
    out if they `may_lack` them.
    """
    families, intercept = options.dag.families, options.intercept
    if options.split is None:
        serving = ServingRows.of(table, survey, families)
        if serving is not None and not may_lack:
            _refuse_always_set(table.names, serving)
        both = _groups(table, families, intercept, None if whole else serving, may_lack)
        return both, both
    first, last = checked_split(options.split, table.rows)
    found = []
    for part in (table.part(0, first), table.part(table.rows - last, table.rows)):
        own = None
        if ServingRows.of(table, survey, families) is not None:
            seen = ask(part.surveyed(False), SurveyPass(families))
            own = ServingRows.of(part, seen, families)
        if own is not None:
            _refuse_always_set(part.names, own)
        found.append(_groups(part, families, intercept, own))
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class ServingRows:
    """Which rows serve which equations, where these are not all."""

    counts: IntArray
    """Number of rows of each family."""
    set_rows: IntArray
    """Rows that a family lacks for no other reason than that its node was set from outside."""
    lacks: BoolArray
    """Whether a value of the family is missing in some row."""
    targets: BoolArray | None
    """Which nodes each regime of rows sets from outside, (regimes, families)."""

    @classmethod
    def of(cls, table: Table, survey: Survey | None, families: Families) -> "ServingRows | None":
        """What is known of a table; None if all rows serve all equations."""
        targets = None if table.design is None else table.design.targets
        if table.is_complete is False and survey is not None:
            counts, holes = survey.complete_by_family, survey.holes_by_family
            return cls(counts, survey.rows - holes - counts, holes > 0, targets)
        if targets is None or table.design is None:
            return None
        known = table.design.counts
        if survey is None and known is not None:
            rows, counts = int(known.sum()), known @ ~targets
        else:
            if survey is None:  # some of the rows that were given
                survey = ask(table, SurveyPass(families))
            rows, counts = survey.complete, survey.complete_and_unset
        return cls(counts, rows - counts, np.zeros(len(families), dtype=bool), targets)

    def same_rows(self, nodes: IntArray) -> list[IntArray]:
        """The nodes in groups that share their rows; their order within each stays."""
        keys: dict[Any, list[int]] = {}
        for node in nodes.tolist():
            own = b"" if self.targets is None else self.targets[:, node].tobytes()
            keys.setdefault((own, node if self.lacks[node] else -1), []).append(node)
        return [np.array(chosen) for chosen in keys.values()]

    def regimes(self, node: int) -> BoolArray | None:
        """The regimes whose rows serve a node; None if all do."""
        if self.targets is None or not self.targets[:, node].any():
            return None
        return np.asarray(~self.targets[:, node])


def _groups(
    table: Table,
    families: Families,
    intercept: bool,
    serving: ServingRows | None,
    may_lack: bool = False,
) -> Groups:
    """One group for the families that all rows serve, and one for those that share others.

    These leave out rows page by page.
    """
    by_size, sorted_families = families.sorted_by_size
    if serving is None:
        return [EquationGroup(by_size, Equations(sorted_families, intercept, table.limits), table)]
    groups = []
    for nodes in serving.same_rows(by_size):
        if may_lack and serving.counts[nodes[0]] == 0:
            continue
        regimes, lacks = serving.regimes(nodes[0]), bool(serving.lacks[nodes[0]])
        own, rows = families.subset(nodes), table
        if regimes is not None or lacks:
            columns, own = own.over_own_columns()
            rows = table.only(Selection(columns, regimes), int(serving.counts[nodes[0]]))
        equations = Equations(own, intercept, rows.limits)
        groups.append(EquationGroup(nodes, equations, rows, int(serving.set_rows[nodes[0]])))
    return groups


def _refuse_always_set(names: Sequence[str], serving: ServingRows) -> None:
    """Refuse a node that was set from outside in every row that could serve its equation."""
    never = np.flatnonzero((serving.counts == 0) & (serving.set_rows > 0))
    if len(never):
        raise EstimationError(
            f"the node {names[never[0]]!r} was set from outside in every row that could serve its "
            "equation: give rows in which it was not"
        )


class NodeSummaries(NamedTuple):
    """Number of rows, and what those say of each node that serve its equation."""

    rows: int
    nodes: tuple[Any, ...]
    """None for a node that none of them serves."""
    lacking: IntArray
    """Rows in which a value of a node's family is missing, (nodes,)."""
    serving: IntArray
    """Rows that serve each node's equation, those of weight 0 among them, (nodes,)."""


@dataclass(frozen=True)
class NodesPass(SummaryPass):
    """A summary for each node by itself, of the rows that serve its equation.

    Those have all values of its family, and in them it was not set from outside.
    """

    purpose = "moments"

    method: Method
    families: Families
    intercept: bool
    targets: BoolArray | None
    """Which nodes each regime of rows sets, (regimes, nodes); None if none was."""

    def own(self, node: int) -> tuple[IntArray, SummaryPass]:
        """The columns of a node's family, and the pass over them."""
        columns, family = self.families.subset(np.array([node])).over_own_columns()
        return columns, self.method.summary_pass(Equations(family, self.intercept))

    def page(self, page: Rows, design: Design | None = None) -> NodeSummaries:
        """Rows are left out as a fit leaves them out, so that both are the same."""
        design, found = Design(self.targets) if design is None else design, []
        lacking, serving_rows = np.zeros((2, len(self.families)), dtype=np.int64)
        holes = np.isnan(page)
        for node in range(len(self.families)):
            columns, question = self.own(node)
            lacking[node] = np.count_nonzero(holes[:, columns].any(axis=1))
            serving = None if self.targets is None else ~self.targets[:, node]
            rows = Selection(columns, serving).rows_of(page, design)
            layout = Layout(design.of_columns(columns), page.shape[1])
            serving_rows[node] = len(rows)
            found.append(page_summary(question, rows, layout=layout))
        return NodeSummaries(len(page), tuple(found), lacking, serving_rows)

    def summarize(self, stripe: Stripe) -> Any:
        """Never called: rows are left out page by page."""
        raise AssertionError("rows are left out page by page")

    def merge(self, left: NodeSummaries, right: NodeSummaries) -> NodeSummaries:
        """The summaries of both, node by node."""
        merged = (
            merge_known(self.own(node)[1].merge)(*pair)
            for node, pair in enumerate(zip(left.nodes, right.nodes, strict=True))
        )
        lacking, serving = left.lacking + right.lacking, left.serving + right.serving
        return NodeSummaries(left.rows + right.rows, tuple(merged), lacking, serving)

    def rows(self, summary: NodeSummaries) -> int:
        """Rows of the summary."""
        return summary.rows

    def node_rows(self, summary: NodeSummaries, nodes: int) -> IntArray:
        """Rows that serve each node's equation, (nodes,)."""
        return summary.serving

    def solve(self, summary: NodeSummaries) -> Solution:
        """The solutions of all nodes, in the order of their number of parents."""
        order = self.families.sorted_by_size[0]
        parts = [self.own(node)[1].solve(summary.nodes[node]) for node in order.tolist()]
        names = ("coefficients", "ranks", "batches", "singular", "intercepts", "mean_squares")
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in names
        }
        sums = tuple(
            own._replace(nodes=np.array([place]))
            for place, part in enumerate(parts)
            for own in part.sums
        )
        counted = [part.rows for part in parts if part.rows is not None]  # by their weights
        rows = np.concatenate(counted) if counted else summary.serving[order]
        return Solution(**arrays, rows=rows, sums=sums)

    def notes(self, summary: NodeSummaries) -> tuple[str, ...]:
        """What is worth knowing of any node's solution."""
        found = (
            self.own(node)[1].notes(own)
            for node, own in enumerate(summary.nodes)
            if own is not None
        )
        return tuple(dict.fromkeys(note for notes in found for note in notes))

    def to_arrays(self, summary: NodeSummaries) -> dict[str, Any]:
        """The summaries of all nodes as plain arrays."""
        arrays: dict[str, Any] = {"rows": np.array([summary.rows])}
        arrays |= {"lacking": summary.lacking, "serving": summary.serving}
        for node, own in enumerate(summary.nodes):
            if own is not None:
                parts = self.own(node)[1].to_arrays(own)
                arrays |= {f"{node}.{key}": value for key, value in parts.items()}
        return arrays

    def from_arrays(self, arrays: dict[str, Any]) -> NodeSummaries:
        """The summaries that `to_arrays` gave."""
        (rows,) = arrays["rows"].tolist()
        found = []
        for node in range(len(self.families)):
            start = f"{node}."
            own = {
                key.removeprefix(start): value
                for key, value in arrays.items()
                if key.startswith(start)
            }
            found.append(self.own(node)[1].from_arrays(own) if own else None)
        pairs = enumerate(found)  # earlier versions had neither missing values nor weights
        served = [0 if own is None else self.own(node)[1].rows(own) for node, own in pairs]
        lacking = arrays.get("lacking", np.zeros(len(found), dtype=np.int64))
        serving = arrays.get("serving", np.array(served, dtype=np.int64))
        for counts in (lacking, serving):
            if counts.shape != (len(found),) or counts.dtype != np.int64 or (counts < 0).any():
                raise ValueError
        return NodeSummaries(int(rows), tuple(found), lacking, serving)


def checked_split(split: tuple[int, int], rows: int) -> tuple[int, int]:
    """The row counts of the two phases."""
    try:
        first, last = (index(part) for part in split)
    except (TypeError, ValueError):
        raise SettingError(f"got split={split!r}, expected a pair (m1, m2) of row counts") from None
    if first < 1 or last < 1 or first + last > rows:
        raise SettingError(
            f"got split={split!r}, expected two positive counts that add up to at most the "
            f"{rows} rows"
        )
    return first, last


@dataclass(frozen=True)
class Fitted:
    """A learnt network, the scale of its variances, the data behind it, and the findings."""

    network: GaussianNetwork
    scale: Scale
    data: FitData
    findings: Any = None

    def node_group(self, node: int, values: Rows) -> EquationGroup:
        """The equation of one node over some rows of its family, (rows, parents + 1)."""
        options, own = self.data.options, self.network.dag.families.subset(np.array([node]))
        names = [options.dag.nodes[column] for column in own.columns.tolist()]
        table = MemoryTable.of(values, names, options.page_rows, self.data.run)
        equations = Equations(own.renumbered(), options.intercept, table.limits)
        return EquationGroup(np.array([node]), equations, table.surveyed(True))
