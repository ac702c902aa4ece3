"""Summaries: what rows say about a network, to be added to, merged, kept and solved."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gaussnet.data.columns import Loaded
from gaussnet.data.pages import NotFinite, StreamedPages, check_page_rows, default_page_rows
from gaussnet.data.sources import ArraySource, Chain, Source, open_data
from gaussnet.errors import DataError, SettingError
from gaussnet.files import Path
from gaussnet.fitting.checks import checked_dag, thread_count
from gaussnet.fitting.missing import Missing, Survey, check_missing
from gaussnet.fitting.states import States, SummaryMethod
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import Partials, merge_in_order
from gaussnet.methods.base import Estimator
from gaussnet.methods.names import method_named
from gaussnet.types import FloatArray, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """All that some rows say about the coefficients and variances over a graph.

    It does not grow with the rows. Rows are summarised page by page; those after the last
    full page are kept as they are, so that more rows go on exactly where these stopped.
    `share` summarises them too: then no row is left in it.
    """

    states: States
    page_rows: int
    missing: Missing = "raise"
    closed: tuple[Any, ...] = ()
    """States of finished runs of rows, as of other sites."""
    partials: Partials[Any] = field(default_factory=Partials)
    """States of the pages of the run that is still open."""
    tail: FloatArray | None = None
    """Rows of the open run after its last full page."""
    dropped: int = 0
    """Rows left out because they lack a value."""

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.states.dag

    @property
    def method(self) -> SummaryMethod:
        """How coefficients will be found."""
        return self.states.method

    @property
    def intercept(self) -> bool:
        """Whether the equations have a constant."""
        return self.states.intercept

    @property
    def rows(self) -> int:
        """Rows that are summarised, with those kept as they are."""
        whole = sum(self.states.rows(state) for state in self.closed)
        open_rows = sum(self.states.rows(state) for _, state in self.partials.held)
        return whole + open_rows + (0 if self.tail is None else len(self.tail))

    @property
    def rows_inside(self) -> int:
        """Rows that are kept as they are: fewer than a page, none after `share`."""
        return 0 if self.tail is None else len(self.tail)

    def add(self, data: Any, *, threads: int | None = None) -> "Summary":
        """The summary of these rows and then more: the same as of all rows at once."""
        opened = open_data(data, self.dag.nodes)
        source = ArraySource(opened.rows) if isinstance(opened, Loaded) else opened
        pages = StreamedPages(source, self.page_rows, checked=True)
        count = thread_count(threads)
        try:
            return self._with(pages, count)
        except NotFinite:
            return self._with_holes(source, count)

    def share(self) -> "Summary":
        """The same with the open run finished: no row is left inside.

        Rows that are added later begin a page of their own.
        """
        total = self._open_total()
        closed = self.closed if total is None else (*self.closed, total)
        return replace(self, closed=closed, partials=Partials(), tail=None)

    def total(self) -> Any:
        """The state of all rows."""
        run = self._open_total()
        states = self.closed if run is None else (*self.closed, run)
        if not states:
            raise DataError("the summary has no rows: add some")
        return merge_in_order(states, self.states.merge)

    def save(self, path: Path) -> None:
        """Write the summary as one file, whole or not at all; see `gaussnet.load_summary`."""
        from gaussnet.fitting.summary_files import save

        save(self, path)

    def __repr__(self) -> str:
        return (
            f"Summary({len(self.dag)} nodes, {self.rows} rows, method={self.method.name!r}, "
            f"{self.rows_inside} rows inside)"
        )

    def _open_total(self) -> Any:
        merge, partials = self.states.merge, self.partials
        if self.tail is not None and len(self.tail):
            partials = partials.add(self.states.of_page(self.tail), merge)
        return partials.total(merge) if partials.held else None

    def _with(self, pages: StreamedPages, threads: int) -> "Summary":
        if self.tail is not None and len(self.tail):
            both = Chain((ArraySource(self.tail), pages.source))
            pages = replace(pages, source=both)
        of_page, merge = self.states.of_page, self.states.merge

        def state_or_rows(page: Rows) -> Any:
            return (
                of_page(page)
                if len(page) == self.page_rows
                else _Tail(np.array(page, dtype=np.float64))
            )

        partials, tail = self.partials, None
        for found in pages.summaries(state_or_rows, threads):
            if isinstance(found, _Tail):
                tail = found.rows
            else:
                partials = partials.add(found, merge)
        return replace(self, partials=partials, tail=tail)

    def _with_holes(self, source: Source, threads: int) -> "Summary":
        """As `missing` says, after a look at all that is missing."""
        survey: Survey = StreamedPages(source, self.page_rows).fold(
            partial(Survey.of, families=self.dag.families), Survey.merge, threads
        )
        survey.judge(self.dag.nodes, self.missing)
        found = self._with(StreamedPages(source, self.page_rows, complete=True), threads)
        return replace(found, dropped=self.dropped + survey.rows - survey.complete)


def check_summary(summary: Any) -> None:
    """Refuse what is no summary."""
    if not isinstance(summary, Summary):
        raise SettingError(
            f"got a {type(summary).__name__}, expected what gaussnet.summarize gives: summarise "
            "the rows first"
        )


@dataclass(frozen=True, eq=False)
class _Tail:
    rows: FloatArray


def summarize(  # noqa: PLR0913 (every setting of a summary is one keyword)
    data: Any,
    dag: Dag,
    method: str | Estimator = "least-squares",
    *,
    intercept: bool = True,
    missing: Missing = "raise",
    page_rows: int | None = None,
    threads: int | None = None,
) -> Summary:
    """Summarise rows for a fit later, here or elsewhere, alone or with others.

    The methods are "least-squares", "batch-average", "batch-median" and "cauchy-tree", and the
    data all that `gaussnet.fit` takes. Missing values are refused or drop their rows.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> monday = gn.summarize([[1.0, 0.0], [3.0, 1.0]], dag)
    >>> week = monday.add([[5.0, 2.0], [7.2, 3.0]])
    >>> week, round(gn.solve(week).network.coefficients["rain", "wet"], 2)
    (Summary(2 nodes, 4 rows, method='least-squares', 4 rows inside), 2.06)
    """
    check_missing(missing)
    if missing == "drop-by-node":
        raise SettingError(
            "got missing='drop-by-node', expected 'raise' or 'drop-rows': which rows serve a "
            "node is known only when all are seen, so fit the rows themselves"
        )
    height = default_page_rows(len(checked_dag(dag))) if page_rows is None else page_rows
    check_page_rows(height)
    states = States(checked_dag(dag), method_named(method), bool(intercept))  # type: ignore[arg-type]
    found = Summary(states, height, missing).add(data, threads=threads)
    if found.rows == 0:
        raise DataError("the data have no rows: give at least one")
    return found


def merge(first: Summary, second: Summary) -> Summary:
    """One summary of the rows of two sites; no row is left inside.

    Pages never cross from one site to the next. Sites are kept in their order, so
    ``merge(merge(a, b), c)`` and ``merge(a, merge(b, c))`` are the same to the last bit.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> here, there = ([[1.0, 0.0], [3.0, 1.0]], [[5.0, 2.0], [7.2, 3.0]])
    >>> gn.merge(gn.summarize(here, dag), gn.summarize(there, dag))
    Summary(2 nodes, 4 rows, method='least-squares', 0 rows inside)
    """
    check_summary(first)
    check_summary(second)
    for name in ("dag", "method", "intercept", "page_rows", "missing"):
        left, right = getattr(first, name), getattr(second, name)
        if left != right:
            raise SettingError(
                f"the summaries differ in {name} ({left!r:.80} and {right!r:.80}): summarise the "
                "rows of all sites in the same way"
            )
    left, right = first.share(), second.share()
    return replace(left, closed=left.closed + right.closed, dropped=left.dropped + right.dropped)
