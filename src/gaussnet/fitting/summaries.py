"""Summaries: what rows say about a network, to be added to, merged, kept and solved."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gaussnet.data.codes import Codes, checked_codes
from gaussnet.data.column_order import by_node, check_mask_order, in_column_order
from gaussnet.data.design import Design
from gaussnet.data.factors import with_factors
from gaussnet.data.labels import Renumbered
from gaussnet.data.missing import (
    Missing,
    MissingCells,
    Survey,
    SurveyPass,
    check_missing,
    treat_missing,
)
from gaussnet.data.passes import NotFinite, Run
from gaussnet.data.sources import ArraySource, Chain, Source, watched
from gaussnet.data.study import Study, Weights
from gaussnet.data.table import (
    FileTable,
    Table,
    ask,
    check_page_rows,
    default_page_rows,
    open_table,
)
from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.files import Path
from gaussnet.fitting.checks import check_labels, thread_count
from gaussnet.fitting.learn import NetworkBuilder, check_set_roots, check_study, fit_with
from gaussnet.fitting.notes import general_notes
from gaussnet.fitting.result import Fit
from gaussnet.graph.dag import Dag, counted, shorten
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.kernels.threads import Partials, merge_in_order
from gaussnet.methods.base import Equations, Method, Scale, Solution, SummaryPass
from gaussnet.methods.groups import FitData, NodesPass, ReadOptions
from gaussnet.methods.moments import WithCrossMoments
from gaussnet.methods.names import check_together, method_named, scale_named
from gaussnet.methods.sums import KeptSums
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

SAID_BEFORE = "give missing='drop-rows' or 'drop-by-node' to the first fit or summary, or fill them"
"""What to do about missing values among rows that are added."""


class NotInSummary(EstimationError):
    """The rows say more than their summary does."""


class Summary(ABC):
    """What rows have said of a network, to which more can be added."""

    dag: Dag
    method: Method
    intercept: bool
    page_rows: int
    missing: Missing
    missing_values: Codes
    dropped: int
    """Rows left out because they lack a value."""
    rows: Any
    """Rows that it is of."""
    rows_inside: Any
    """Rows that are kept as they are."""

    @abstractmethod
    def add(self, data: Any, *, threads: int | None = None) -> "Summary":
        """The summary of these rows and then more."""

    @abstractmethod
    def solve(self, scale: str | Scale | None = None) -> Fit:
        """The fit that the summary gives."""

    @abstractmethod
    def share(self) -> "Summary":
        """The summary without any row inside; refused where it cannot do without."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Any]:
        """The summary as plain arrays by name, for a file."""

    def save(self, path: Path) -> None:
        """Write the summary as one file, whole or not at all; see `gaussnet.load_summary`."""
        from gaussnet.fitting.summary_files import save

        save(self, path)

    def __repr__(self) -> str:
        return (
            f"Summary({counted(len(self.dag), 'node')}, {counted(self.rows, 'row')}, "
            f"method={self.method.name!r}, "
            f"{counted(self.rows_inside, 'row')} inside)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PageSummary(Summary):
    """All that some rows say about the coefficients and variances over a graph.

    It does not grow with the rows. Rows are summarised page by page; those after the last
    full page are kept as they are, so that more rows go on exactly where these stopped.
    `share` summarises them too: then no row is left in it.
    """

    dag: Dag
    method: Method
    """How coefficients will be found."""
    intercept: bool
    page_rows: int
    missing: Missing = "raise"
    closed: tuple[Any, ...] = ()
    """Summaries of finished runs of rows, as of other sites."""
    partials: Partials[Any] = field(default_factory=Partials)
    """Summaries of the pages of the run that is still open."""
    tail: FloatArray | None = None
    """Rows of the open run after its last full page."""
    dropped: int = 0
    """Rows left out because they lack a value."""
    targets: BoolArray | None = None
    """Which nodes each regime of rows sets from outside, (regimes, nodes); None if none may be."""
    interventions: Any = None
    """Where data say what was set, if a column of them does."""
    weights: Weights | None = None
    """What the weights of rows mean, and the column that holds them, if one does."""
    for_checks: bool = False
    """Whether products of all pairs of nodes are kept beside, for tests of the graph."""
    missing_values: Codes = ()
    """Numbers that stand for a missing value, in rows that are added too."""

    def __post_init__(self) -> None:
        _ = self.question  # refuses a method that has none

    @property
    def question(self) -> SummaryPass:
        """The pass whose summaries these are."""
        families = self.dag.families
        if self.has_own_rows:
            return NodesPass(self.method, families, self.intercept, self.targets)
        equations = Equations(families.sorted_by_size[1], self.intercept)
        question = self.method.summary_pass(equations)
        if not self.for_checks:
            return question
        return WithCrossMoments(question, self.intercept, len(self.dag))

    @property
    def has_own_rows(self) -> bool:
        """Whether nodes may have rows of their own, so that each has its own summary."""
        own = (self.targets, self.weights)
        return any(one is not None for one in own) or self.missing == "drop-by-node"

    @property
    def weight_kind(self) -> str | None:
        """What the weights of rows mean; None if all count alike."""
        return None if self.weights is None else self.weights.kind

    @property
    def lacking(self) -> IntArray:
        """Rows in which a value of each node's family is missing, (nodes,)."""
        return self.total().lacking if self.has_own_rows else np.zeros(len(self.dag), np.int64)

    @property
    def rows(self) -> int:
        """Rows that are summarised, with those kept as they are."""
        pages = (summary for _, summary in self.partials.held)
        known = sum(self.question.rows(summary) for summary in (*self.closed, *pages))
        return known + self.rows_inside

    @property
    def node_rows(self) -> IntArray:
        """Rows that serve each node's equation, (nodes,)."""
        return self.question.node_rows(self.total(), len(self.dag))

    @property
    def rows_inside(self) -> int:
        """Rows that are kept as they are: fewer than a page, none after `share`."""
        return 0 if self.tail is None else len(self.tail)

    def add(
        self,
        data: Any,
        *,
        threads: int | None = None,
        interventions: Any = None,
        weights: Weights | None = None,
    ) -> "PageSummary":
        """The summary of these rows and then more: the same as of all rows at once.

        `interventions` say which cells of the new rows were set from outside, and `weights` how
        much each counts, as in `gaussnet.fit`; by default the columns do that said it of the
        first.
        """
        said = self.interventions if interventions is None else interventions
        weighed = self.weights if weights is None else weights
        self._check_said(said)
        self._check_weighed(weighed)
        run = Run(thread_count(threads))
        given, factors, study = (
            by_node(data, self.dag),
            self.dag.factors,
            Study(said, weights=weighed),
        )
        settings = (self.dag.nodes, self.page_rows, run)
        codes = self.missing_values
        opened = open_table(given, *settings, study=study, codes=codes, factors=factors)
        check_labels(self.dag, opened.ignored)
        check_set_roots(self.dag, opened.design)
        known, source = self._knowing(opened)
        table = FileTable(source, self.dag.nodes, self.page_rows, run, design=known.design)
        return known._added(table)

    @property
    def design(self) -> Design | None:
        """What is known of rows beside their values."""
        if self.targets is None and self.weights is None:
            return None
        return Design(self.targets, weights=None if self.weights is None else self.weights.kind)

    def _check_weighed(self, weighed: Weights | None) -> None:
        """Refuse rows of which nobody says how much they count, and the other way round."""
        if self.weights is not None and (weighed is None or weighed.by is None):
            raise SettingError(
                "the summary knows of weights, and nothing is said of the new rows: give weights "
                "too"
            )
        kinds = {None if one is None else one.kind for one in (self.weights, weighed)}
        if len(kinds) > 1:
            raise SettingError(
                "got weights of another kind than the summary has: give those of its first rows"
            )

    def _check_said(self, said: Any) -> None:
        """Refuse rows of which nobody says what was set, and the other way round."""
        if self.targets is not None and said is None:
            raise SettingError(
                "the summary knows of cells that were set from outside, and nothing is said of the "
                "new rows: give interventions too"
            )
        if self.targets is None and said is not None:
            raise SettingError(
                "got interventions for a summary without: give them to gaussnet.summarize"
            )

    def _knowing(self, opened: Table) -> "tuple[PageSummary, Source]":
        """This summary with the regimes of more rows, and those rows with its numbers of them."""
        source = opened.as_source()
        if self.targets is None or opened.design is None:
            return self, source
        design, numbers = Design(self.targets, weights=opened.design.weights).merged(opened.design)
        known = replace(self, targets=design.targets)
        return known, Renumbered(source, source.width - design.width, numbers)

    def _added(self, table: FileTable) -> "PageSummary":
        try:
            return self._with(table)
        except NotFinite:
            treated, survey = self._treated(table)
            found = self._with(treated)
            if self.missing == "drop-by-node":
                return found
            return replace(found, dropped=self.dropped + survey.rows - survey.complete)

    def _treated(self, table: FileTable) -> tuple[FileTable, Survey]:
        if self.missing == "drop-by-node":  # other rows may have what all of these lack
            survey: Survey = ask(table.surveyed(False), SurveyPass(self.dag.families))
            survey.refuse_infinite(table.names)
            return table.surveyed(False), survey
        try:
            return treat_missing(table, self.dag, self.missing)
        except MissingCells as problem:
            raise problem.advising(SAID_BEFORE) from None

    def solve(self, scale: str | Scale | None = None) -> Fit:
        """The fit that the summary gives; see `gaussnet.solve`."""
        return _solve(self, scale)

    def share(self) -> "PageSummary":
        """The summary with the open run finished: no row is left inside.

        Rows that are added later begin a page of their own.
        """
        return replace(self, closed=self._runs(), partials=Partials(), tail=None)

    def total(self) -> Any:
        """The summary of all rows, as the method solves it."""
        runs = self._runs()
        if not runs:
            raise DataError("the summary has no rows: add some")
        return merge_in_order(runs, self.question.merge)

    def solution(self) -> tuple[Solution, tuple[str, ...]]:
        """The solution with intercepts and mean squares, sorted by number of parents, and notes.

        Refuses what the summary alone does not determine.
        """
        question, total = self.question, self.total()
        solution = question.solve(total)
        assert solution.mean_squares is not None
        lost = np.isnan(solution.mean_squares)
        if lost.any():
            position = self.dag.families.sorted_by_size[0][np.flatnonzero(lost)[0]]
            raise NotInSummary(
                f"the summary has too few digits for the node {self.dag.nodes[position]!r}: its "
                "parents are nearly collinear, or determine it, or no batch of rows has an "
                "answer, so fit the rows themselves"
            )
        return solution, question.notes(total)

    def to_arrays(self) -> dict[str, Any]:
        """The summary as plain arrays by name."""
        from gaussnet.fitting.summary_files import sum_arrays

        return sum_arrays(self)

    def _runs(self) -> tuple[Any, ...]:
        """The summaries of all runs of rows, the open one among them."""
        question, partials = self.question, self.partials
        if self.tail is not None and len(self.tail):
            partials = partials.add(question.page(self.tail, self.design), question.merge)
        return (*self.closed, *((partials.total(question.merge),) if partials.held else ()))

    def _with(self, table: FileTable) -> "PageSummary":
        """With the rows of a table after these: full pages summarised, the rest kept."""
        if self.tail is not None and len(self.tail):
            table = replace(table, source=Chain((ArraySource(self.tail), table.source)))
        question, height, design = self.question, self.page_rows, self.design

        def look(page: Rows) -> tuple[Any, FloatArray | None]:
            if len(page) == height:
                return question.page(page, design), None
            return None, np.array(page, dtype=np.float64)

        partials, tail = self.partials, None
        for summary, rest in table.map_pages(look):
            if rest is None:
                partials = partials.add(summary, question.merge)
            else:
                tail = rest
        return replace(self, partials=partials, tail=tail)


def check_summary(summary: Any) -> None:
    """Refuse what is no summary."""
    if not isinstance(summary, Summary):
        raise SettingError(
            f"got a {type(summary).__name__}, expected what gaussnet.summarize gives: summarise "
            "the rows first"
        )


def summarize(  # noqa: PLR0913 (every setting of a summary is one keyword)
    data: Any,
    dag: GraphLike,
    method: str | Method = "least-squares",
    *,
    intercept: bool = True,
    missing: Missing = "raise",
    page_rows: int | None = None,
    threads: int | None = None,
    interventions: Any = None,
    weights: Weights | None = None,
    columns: Iterable[object] | None = None,
    for_checks: bool = False,
    missing_values: Iterable[float] | None = None,
) -> Summary:
    """Summarise rows for a fit later, here or elsewhere, alone or with others.

    The methods are "least-squares", "batch-average", "batch-median", "cauchy-tree" and "robust",
    whose summary holds a sample of the rows; data, `dag`, `columns` and `missing_values`, which
    also hold for rows that are added later, are as in `gaussnet.fit`. Missing values are refused,
    drop their rows, or with "drop-by-node" leave rows out where a node or a parent lacks a value;
    "robust" knows "likelihood" instead. `interventions` are those and `weights` (for least squares)
    those of `gaussnet.fit`; with any of these every node has a summary of its own. With
    `for_checks` the products of all pairs of nodes are kept too, so that the fit of the summary
    has `check_graph` and `fit_measures`.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    >>> monday = gn.summarize([[1.0, 0.0], [3.0, 1.0]], dag)
    >>> week = monday.add([[5.0, 2.0], [7.2, 3.0]])
    >>> week, round(gn.solve(week).network.coefficients["rain", "wet"], 2)
    (Summary(2 nodes, 4 rows, method='least-squares', 4 rows inside), 2.06)
    """
    check_missing(missing)
    chosen = method_named(method)
    if missing == "likelihood" and not chosen.keeps_sample:
        raise SettingError(
            f"got missing={missing!r}, expected 'raise', 'drop-rows' or 'drop-by-node': what "
            "missing cells are worth is known only when all rows are seen, so fit the rows "
            "themselves"
        )
    codes = checked_codes(missing_values)
    given, ordered = in_column_order(*with_factors(data, as_dag(dag), codes), columns)
    height = default_page_rows(len(ordered)) if page_rows is None else page_rows
    check_page_rows(height)
    settings = (ordered, chosen, bool(intercept), height, missing)
    study = {"interventions": interventions, "weights": weights}
    if chosen.keeps_sample:
        from gaussnet.fitting.robust_summaries import RobustSummary

        if for_checks:
            raise SettingError(
                f"got for_checks=True and method={chosen.name!r}, whose summaries have no products "
                "of all pairs: leave one of both out"
            )
        first = RobustSummary.empty(*settings, codes)
        return _not_empty(first.add(given, threads=threads, **study))
    empty = PageSummary(*settings, missing_values=codes)
    if for_checks:
        _check_shared_rows(interventions, weights, missing)
        empty = replace(empty, for_checks=True)
    if weights is not None:
        weighted = Study(weights=weights)
        options = ReadOptions(ordered, empty.intercept, None, missing, height, weighted)
        check_study(options, (empty.method, scale_named("mean-square", empty.method)))
        name = weights.by if isinstance(weights.by, str) else None
        empty = replace(empty, weights=Weights(name, weights.kind))
    check_mask_order(interventions, ordered)
    if interventions is not None:
        nothing = np.zeros((1, len(empty.dag)), dtype=bool)
        by_column = interventions if isinstance(interventions, str | Mapping) else None
        empty = replace(empty, targets=nothing, interventions=by_column)
    return _not_empty(empty.add(given, threads=threads, **study))


def _not_empty(summary: Summary) -> Summary:
    if summary.rows == 0:
        raise DataError("the data have no rows: give at least one")
    return summary


def _check_shared_rows(interventions: Any, weights: Any, missing: Missing) -> None:
    """Refuse products of all pairs where pairs do not have the same rows, that count alike."""
    if interventions is not None or missing == "drop-by-node":
        said = "interventions" if interventions is not None else "missing='drop-by-node'"
        raise SettingError(
            f"got for_checks=True and {said}: each pair of nodes then has rows of its own, so "
            "check the graph in a fit to the rows themselves"
        )
    if weights is not None:
        raise SettingError(
            "got for_checks=True and weights: tests of the graph are of independent rows that "
            "count alike, so leave one of both out"
        )


def merge(first: Summary, second: Summary) -> Summary:
    """One summary of the rows of two sites; no row is left inside.

    Pages never cross from one site to the next. Sites are kept in their order, so
    ``merge(merge(a, b), c)`` and ``merge(a, merge(b, c))`` are the same to the last bit.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    >>> here, there = ([[1.0, 0.0], [3.0, 1.0]], [[5.0, 2.0], [7.2, 3.0]])
    >>> gn.merge(gn.summarize(here, dag), gn.summarize(there, dag))
    Summary(2 nodes, 4 rows, method='least-squares', 0 rows inside)
    """
    left, right = _shared(first), _shared(second)
    for name, levels in left.dag.factors.items():
        other = right.dag.factors.get(name, levels)
        if other != levels:
            raise SettingError(
                f"the summaries have the levels {shorten(levels)} and {shorten(other)} of "
                f"{name!r}: tell both of all levels, the reference first, as "
                "dag.with_factors({...}), and summarise the rows again"
            )
    for name in ("dag", "method", "intercept", "page_rows", "missing", "for_checks", "weight_kind"):
        one, other = getattr(left, name), getattr(right, name)
        if one != other:
            raise SettingError(
                f"the summaries differ in {name} ({one!r:.80} and {other!r:.80}): summarise the "
                "rows of all sites in the same way"
            )
    codes = tuple(dict.fromkeys(left.missing_values + right.missing_values))
    left = replace(left, targets=_all_targets(left, right), missing_values=codes)
    return replace(left, closed=left.closed + right.closed, dropped=left.dropped + right.dropped)


def _shared(summary: Summary) -> PageSummary:
    """The summary without rows inside; refused if it cannot do without."""
    check_summary(summary)
    shared = summary.share()
    assert isinstance(shared, PageSummary)
    return shared


def _all_targets(first: PageSummary, second: PageSummary) -> BoolArray | None:
    """The regimes of both summaries."""
    if (first.targets is None) != (second.targets is None):
        raise SettingError(
            "one of the summaries knows of interventions and the other does not: summarise the "
            "rows of all sites in the same way"
        )
    if first.targets is None or first.design is None or second.design is None:
        return None
    return first.design.merged(second.design)[0].targets


def solve(summary: Summary, *, scale: str | Scale | None = None) -> Fit:
    """The fit that a summary gives, the same as `gaussnet.fit` gives for its rows.

    Variances are mean squares, or for least squares "kl-optimal": other scales need the
    rows themselves. Those of the robust method are "core" or "kl-optimal". The fit of least
    squares has standard errors, intervals, effects, log-likelihood, AIC, BIC and R2 from the sums
    of its equations; `check_graph` and `fit_measures` if the summary was made with
    ``for_checks=True``. The robust fit has standard errors, intervals and effects.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
    >>> gn.solve(gn.summarize(rows, dag)).network == gn.fit(rows, dag).network
    True
    """
    check_summary(summary)
    return summary.solve(scale)


def _solve(summary: PageSummary, scale: str | Scale | None) -> Fit:
    chosen = scale_named(scale, summary.method)
    check_together(summary.method, chosen)
    if not chosen.uses_mean_squares:
        raise SettingError(
            f"got scale={chosen.name!r}, expected 'mean-square': a summary has no residuals, so "
            "fit the rows themselves"
        )
    rows, dag = summary.rows, summary.dag
    nodes, _ = dag.families.sorted_by_size
    settings = (summary.missing, summary.page_rows, Study(weights=summary.weights))
    options = ReadOptions(dag, summary.intercept, None, *settings)
    check_study(options, (summary.method, chosen))
    builder = NetworkBuilder(options, summary.method, chosen)
    served = summary.node_rows
    shared = nodes[:, None] if summary.has_own_rows else [nodes]
    for some in shared:  # nodes with the same rows
        own = Equations(dag.families.subset(some), summary.intercept)
        builder.require_rows(some, own, int(served[some[0]]))
    solution, notes = summary.solution()
    builder.enter(nodes, solution, rows)
    builder.details.dropped[:] = summary.lacking
    builder.details.set_rows[:] = rows - served - summary.lacking
    for some in shared:
        builder.settle_variances(some, int(served[some[0]]))
    builder.check_digits()
    notes = general_notes((), rows + summary.dropped, rows) + notes
    found = builder.result(builder.network(), rows, notes, kept=summary)
    if not summary.for_checks:
        return found
    sums = KeptSums(()) if found.sums is None else found.sums
    return replace(found, sums=replace(sums, cross=summary.total().cross))


def update(fit: Fit, more_rows: Any) -> Fit:
    """The fit to the old rows and then these, the same as to all of them at once."""
    try:
        return _updated(fit, more_rows)
    except MissingCells as problem:
        raise problem.advising(SAID_BEFORE) from None


def _updated(fit: Fit, more_rows: Any) -> Fit:
    if fit.split is not None:
        raise SettingError(
            "the fit used some rows for coefficients and others for variances: fit all rows "
            "again, with a split of their new number"
        )
    if fit.data is None and fit.kept is not None:
        return solve(fit.kept.add(more_rows), scale=fit.scale)
    data = fit.required_data("update a summary of them instead, as summary.add(rows)")
    options, how = data.options, (fit.method, fit.scale)
    if not options.study.is_empty:
        raise SettingError(
            "the fit knows of interventions, weights, clusters or groups, and nothing is said of "
            "the new rows: fit all rows again"
        )
    old = watched(data.all_rows().as_source())
    names, height, beside = options.dag.nodes, options.page_rows, options.beside
    more = open_table(by_node(more_rows, options.dag), names, height, Run(), **beside)
    added = watched(more.as_source())
    both = FileTable(
        Chain((old, added)),
        options.dag.nodes,
        options.page_rows,
        Run(),
        tuple(dict.fromkeys((*data.ignored, *more.ignored))),
    )
    summary = _summary_of(fit, options, old)
    if summary is None:
        return fit_with(both.run, both, options, how)
    summary = summary.add(added)
    found = _exact_solution(summary, fit.scale)
    if found is None:
        return replace(fit_with(both.run, both, options, how), kept=summary)
    notes = general_notes(both.ignored, 0, 0) + found.general_notes
    table = both.complete(summary.rows) if summary.dropped else both
    joined = FitData(table, options, both.run, both.ignored)
    return replace(found, general_notes=notes, data=joined)


def _exact_solution(summary: PageSummary, scale: Scale) -> Fit | None:
    """The fit that a summary gives; None if a fit to the rows themselves would be another."""
    try:
        found = solve(summary, scale=scale)
    except NotInSummary:
        return None
    return None if summary.question.notes(summary.total()) else found


def _summary_of(fit: Fit, options: ReadOptions, old: Any) -> PageSummary | None:
    """The summary that rows can be added to, if one says all that the next fit needs."""
    if isinstance(fit.kept, PageSummary):
        return fit.kept
    if not fit.scale.uses_mean_squares or options.missing in ("drop-by-node", "likelihood"):
        return None
    settings = (fit.dag, fit.method, fit.intercept, options.page_rows, options.missing)
    try:
        empty = PageSummary(*settings)
    except SettingError:
        return None
    return empty.add(old)
