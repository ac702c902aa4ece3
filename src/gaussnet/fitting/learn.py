"""`fit`: from rows and a graph to a network."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np

from gaussnet.data.codes import checked_codes
from gaussnet.data.column_order import check_mask_order, column_names, in_column_order
from gaussnet.data.design import Design
from gaussnet.data.factors import column_positions, with_factors
from gaussnet.data.labelled_rows import LabelledRows
from gaussnet.data.missing import Missing, Survey, check_missing, treat_missing
from gaussnet.data.passes import NotFinite, Progress, Run, Together
from gaussnet.data.study import Study, Weights
from gaussnet.data.table import Table, ask, default_page_rows, open_table
from gaussnet.errors import DataError, EstimationError, SettingError
from gaussnet.files import Path
from gaussnet.fitting.checks import check_labels, thread_count
from gaussnet.fitting.notes import general_notes, missing_note
from gaussnet.fitting.result import Details, Fit
from gaussnet.graph.dag import Dag
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.methods.base import EquationGroup, Equations, Method, Scale, Solution
from gaussnet.methods.groups import FitData, Fitted, Groups, ReadOptions, equation_groups
from gaussnet.methods.moments import MomentsPass, with_mean_squares
from gaussnet.methods.names import check_together, method_named, scale_named
from gaussnet.methods.scales import RangePass, ResidualMomentsPass
from gaussnet.methods.sums import FamilySums, KeptSums
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.roots import correlated_nodes
from gaussnet.named_rows import unknown_words
from gaussnet.types import IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.group_fits import GroupFit
    from gaussnet.fitting.outlier_files import OutlierFile
    from gaussnet.fitting.shifts import ShiftFit

FEW_ROWS = 64
"""Rows that tell whether a node may have no noise."""

SMALLEST_VARIANCE = np.finfo(np.float64).tiny
"""Smaller squares have lost digits, or all of them."""
SMALLEST_RANGE = 6.0 * np.sqrt(SMALLEST_VARIANCE)
"""Of a column that varies: six standard deviations hold nearly all of its values."""

EXTREME = (
    "squares of its values or of its parents' are no numbers: rescale columns whose values lie "
    "beyond 1e154 or all below 1e-154, or remove these values"
)


OTHER_SETTINGS = {
    **dict.fromkeys(("model", "formula", "graph"), "dag"),
    **dict.fromkeys(("estimator",), "method"),
    **dict.fromkeys(("na_action", "na"), "missing"),
    **dict.fromkeys(("group", "group_by"), "groups"),
    **dict.fromkeys(("cluster",), "clusters"),
    **dict.fromkeys(("n_jobs", "workers"), "threads"),
}
"""What settings of `fit` are called elsewhere."""

Roots = Literal["independent", "correlated"]


@overload
def fit(
    data: Any,
    dag: GraphLike,
    method: str | Method = "least-squares",
    *,
    groups: None = ...,
    shifts: None = ...,
    **settings: Any,
) -> Fit: ...


@overload
def fit(
    data: Any,
    dag: GraphLike,
    method: str | Method = "least-squares",
    *,
    groups: Any,
    **settings: Any,
) -> "GroupFit": ...


@overload
def fit(
    data: Any,
    dag: GraphLike,
    method: str | Method = "least-squares",
    *,
    shifts: Any,
    **settings: Any,
) -> "ShiftFit": ...


def fit(  # noqa: PLR0913 (every setting is one keyword; overloads name few)
    data: Any,
    dag: GraphLike,
    method: str | Method = "least-squares",
    *,
    scale: str | Scale | None = None,
    intercept: bool = True,
    split: tuple[int, int] | None = None,
    missing: Missing = "raise",
    missing_values: Iterable[float] | None = None,
    threads: int | None = None,
    page_rows: int | None = None,
    progress: Progress | None = None,
    client: Any = None,
    interventions: Any = None,
    groups: Any = None,
    clusters: Any = None,
    weights: Weights | None = None,
    shifts: Any = None,
    columns: Iterable[object] | None = None,
    roots: Roots = "independent",
    outliers_to: Path | None = None,
    key: str | None = None,
    **unknown: Any,
) -> "Fit | GroupFit | ShiftFit":
    """Learn the network over a known graph from rows of data.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame or rows of ``network.sample``, matched by column name
        (columns of text or categories become indicators of their levels, see `Dag.factors`);
        or an array, float32 or float64 in any layout, with `columns`; or the path of a CSV,
        TSV, Parquet, Arrow or .npy file, a folder of such files or a list of them. Files of
        more than 64 MiB are read page by page, as often as the method needs.
    dag
        The graph: a `Dag`, a model text such as ``"wet ~ rain + sprinkler; rain ~ season"``, a
        list of (parent, child) edges, or a networkx DiGraph. Only a `Dag` can state the order of
        columns without names.
    method
        How coefficients are found: "least-squares", "batch-average", "batch-median",
        "cauchy-tree", "cauchy", "robust", "auto" (robust, and a test of whether the
        data look contaminated), or an estimator with settings, as ``gn.BatchMedian(50)``.
    scale
        How variances are found from the residuals: "mean-square", "mad", or for least squares
        and robust "kl-optimal". By default the method's own: "core" for robust, which is the
        variance of the rows that it keeps, and "mean-square" for the others.
    intercept
        Whether the equations have a constant; without it the data are taken as centred.
    split
        ``(m1, m2)``: coefficients from the first m1 rows, variances from the last m2. By
        default all rows serve both. Not for robust.
    missing
        What NaN means: "raise" an error, "drop-rows" drops every row that has one,
        "drop-by-node" drops it only for the nodes whose own or parents' value is missing;
        sequential-trim then predicts it from its own equation to judge the children by.
        "likelihood", for least squares and robust, is maximum likelihood over all cells that are
        there: right also where the others of a row decide which cells are missing. Robust does
        so with "drop-by-node" too.
    missing_values
        Numbers that stand for a missing value besides NaN, as ``[-999]``.
    threads
        At most so many threads; by default all processors. Never changes the answer.
    page_rows
        Rows of a page; batches and windows do not cross pages. See
        `gaussnet.data.table.default_page_rows`. Robust looks at all rows at once.
    progress
        Called with the rows read so far and their number (None if unknown) while files are
        read page by page. If it has a method `begin`, that is told what each reading is for.
    client
        A ``distributed.Client``: a Dask DataFrame or array, or files that all workers see, are
        learnt from on its cluster. Rows stay there, and the answer is that of one machine.
    interventions
        The cells that were set from outside, as in an experiment: such a cell leaves its own
        equation out and still serves those of its children. The name of a column whose texts
        name the targets of each row ("PKA", "PKA, PKC", nothing); or what the values of a
        column mean, ``{"condition": {"drug": ["PKA"]}}``; or a Boolean array (rows, nodes) or
        frame; or one text or list of names for each row.
    groups
        The name of a column, or one value for each row, that tells groups of rows apart: the
        answer is then a `GroupFit`, with a fit for each group and one for all rows.
    clusters
        The name of a column, or one value for each row: rows of the same cluster are not
        independent, and the standard errors of least squares allow for it.
    weights
        ``gn.Weights("column", "precision")``, or "frequency" or "sampling": how much a row
        counts, and what that means for errors. For least squares.
    shifts
        Soft interventions: conditions in which nodes have an intercept and a noise variance of
        their own, and the same coefficients. In the forms of `interventions`, but for Boolean
        ones; or ``{"condition": ["PKA"]}`` for a shift in every condition but the first. The
        answer is then a `ShiftFit`. For least squares.
    columns
        The names of the columns of an array from left to right; those that are no nodes are left
        out. The graph of the fit has its nodes in this order, so that later arrays need no
        names. Not needed if the graph states the order, as with ``Dag.parse(text, nodes=[...])``
        or a graph of an adjacency matrix.
    roots
        "correlated" lets all nodes without parents covary, as lavaan does; "independent" only
        those that the graph lets, as ``x1 ~~ x2`` in a model text.
    outliers_to
        A .csv, .tsv (both also with .gz) or .parquet file to write all flagged cells to, with
        file, row, value, expected value and probability. For robust and auto.
    key
        The column that says what rows are called, as ``"timestamp"``: written beside each flagged
        cell, as text.
    unknown
        Nothing else: any other keyword is refused with the one that it resembles.

    Examples
    --------
    >>> import gaussnet as gn
    >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
    >>> fit = gn.fit(rows, "wet ~ rain", columns=["wet", "rain"])
    >>> {edge: round(value, 2) for edge, value in fit.network.coefficients.items()}
    {('rain', 'wet'): 2.06}
    """
    if unknown:
        raise TypeError(unknown_words(fit, next(iter(unknown)), OTHER_SETTINGS))
    chosen = method_named(method)
    spread = scale_named(scale, chosen)
    check_together(chosen, spread, split)
    graph = as_dag(dag)
    codes = checked_codes(missing_values)
    names = None if columns is None else column_names(columns)
    outliers = _outlier_file(LabelledRows(data, codes, names, key), outliers_to, chosen, client)
    if outliers is not None and (shifts is not None or groups is not None):
        raise SettingError("got outliers_to with groups or shifts: fit each condition by itself")
    if client is None:
        data, graph = with_factors(data, graph, codes)
    given, ordered = in_column_order(data, with_roots(graph, roots), names)
    check_mask_order(interventions, ordered)
    height = default_page_rows(len(ordered)) if page_rows is None else page_rows
    study = Study(interventions, groups, clusters, weights, shifts)
    options = ReadOptions(ordered, intercept, split, missing, height, study, codes)
    run = Run(thread_count(threads), progress)
    how = (chosen, spread)
    if shifts is not None:
        from gaussnet.fitting.shifts import fit_shifts

        return fit_shifts(run, given, options, how, client)
    if groups is not None:
        from gaussnet.fitting.group_fits import fit_groups

        return fit_groups(run, given, options, how, client)
    found = fit_with(run, given, options, how, client)
    if outliers is not None:
        outliers.write(found, progress, client)
    return found


def _outlier_file(
    rows: LabelledRows, path: Path | None, method: Method, client: Any
) -> "OutlierFile | None":
    """Where flagged cells are to be written, if somebody wants that."""
    if path is None and rows.key is None:
        return None
    from gaussnet.fitting.outlier_files import OutlierFile  # much to import

    return OutlierFile.checked(rows, path, method, client)


def with_roots(dag: Dag, roots: Roots) -> Dag:
    """The graph whose nodes without parents covary or not."""
    if roots not in get_args(Roots):
        raise SettingError(f"got roots={roots!r}, expected 'independent' or 'correlated'")
    return dag.with_correlated_roots() if roots == "correlated" else dag


def fit_with(
    run: Run, data: Any, options: ReadOptions, how: tuple[Method, Scale], client: Any = None
) -> Fit:
    """`fit` with its settings checked, on a run of any kind."""
    method, _ = how
    check_study(options, how)
    if client is not None and method.needs_all_rows and not method.reads_pages:
        raise SettingError(
            f"got method={method.name!r} with a client, which needs all rows in one place: give "
            "another method, or fit without a client"
        )
    table = open_table(data, options.dag.nodes, options.page_rows, run, client, **options.beside)
    check_set_roots(options.dag, table.design)
    if table.design is None and not options.study.is_empty:
        raise SettingError("got a table and what is known of its rows apart: give the data")
    given = table if table.is_stream else data
    if method.needs_all_rows and not (method.reads_pages and _is_large(table)):
        table = table.in_memory(f"the method {method.name!r}")
    if table.design is not None:
        given = table
    elif not table.is_stream and (given is not data or _is_read_once(data)):
        given = table.in_memory("this").array
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            return learn(table, FitData(given, options, run, table.ignored), how)
    except np.linalg.LinAlgError:
        raise EstimationError(
            "the rows hold values beyond 1e154, or columns of values all below 1e-154, whose "
            "squares are no numbers: rescale the columns, or remove these values"
        ) from None


def _is_large(table: Table) -> bool:
    """Whether rows are to be read page by page, also where all of them are wanted at once."""
    if not table.is_stream or (table.design is not None and table.design.targets is not None):
        return False
    return table.is_remote or table.rows * len(table.names) > table.run.largest_judged


def check_set_roots(dag: Dag, design: Design | None) -> None:
    """Refuse nodes that covary and were set from outside in some rows, where they do not."""
    if not dag.covariances or design is None or design.targets is None:
        return
    covary = correlated_nodes(dag)
    was_set = covary[design.targets[:, covary].any(axis=0)]
    if len(was_set):
        node = dag.nodes[was_set[0]]
        raise SettingError(
            f"the node {node!r} was set from outside in some rows, where it covaries with no other "
            "node, and the graph lets it: leave out its covariances, and name those of other nodes "
            "as in 'x1 ~~ x2'"
        )


def check_study(options: ReadOptions, how: tuple[Method, Scale]) -> None:
    """Refuse a method that cannot use what is known of the rows beside their values."""
    study, (method, scale) = options.study, how
    said = {"regime": "interventions", "cluster": "clusters", "weight": "weights"}
    asked = [part for part, name in said.items() if getattr(study, name) is not None]
    for part in asked:
        if part not in method.uses or (part == "weight" and not scale.uses_weights):
            raise SettingError(
                f"got {said[part]} with method={method.name!r} and scale={scale.name!r}, which "
                "cannot use them: give method='least-squares' and scale='mean-square'"
            )
    if asked and options.missing == "likelihood":
        raise SettingError(
            f"got {said[asked[0]]} with missing='likelihood', which cannot use them: give "
            "missing='drop-by-node' or 'drop-rows'"
        )
    if scale.takes_medians and options.dag.factors:
        raise SettingError(
            f"got scale={scale.name!r} with the category {next(iter(options.dag.factors))!r}, "
            "whose levels are 0 or 1 and have medians that say nothing of their shares: give "
            "method='robust', or scale='mean-square'"
        )


def learn(table: Table, data: FitData, how: tuple[Method, Scale]) -> Fit:
    """Ask the method, ask the scale; values that are not finite are looked at first."""
    method, scale = how
    options, survey = data.options, data.survey
    check_labels(options.dag, data.ignored)
    check_missing(options.missing)
    if options.missing == "likelihood":
        from gaussnet.methods.likelihood import check_likelihood  # much to import

        check_likelihood(method, scale, options.split)
    if table.known_rows == 0:
        raise DataError("the data have no rows: give at least one")
    builder = NetworkBuilder(options, method, scale)
    whole, all_rows = method.needs_all_rows, table.watched()
    table = all_rows
    try:
        builder.learn(equation_groups(table, options, survey, whole=whole))
    except NotFinite:
        table, survey = treat_missing(table, options.dag, options.missing)
        if whole:
            _require_complete_rows(options.dag, survey)
        if options.missing == "likelihood" and table.is_complete is False:
            builder = NetworkBuilder(options, method.over_holes(), scale)
        given = table if table.is_stream else data.given
        data = replace(data, given=given, survey=survey)
        whole = whole or builder.method.fills_holes
        builder.learn(equation_groups(table, options, survey, whole=whole))
    builder.check_not_tiny(table)
    return builder.fit(table, replace(data, checksum=all_rows.checksum()))


class NetworkBuilder:
    """The parameters of a network, filled in node by node."""

    def __init__(self, options: ReadOptions, method: Method, scale: Scale) -> None:
        nodes = len(options.dag)
        self.options, self.dag, self.method, self.scale = options, options.dag, method, scale
        self.coefficients = np.empty(len(self.dag.families.parents))
        self.intercepts = np.zeros(nodes)
        self.variances = np.full(nodes, np.nan)
        self.is_final = np.zeros(nodes, dtype=bool)
        """Whether the variance is that of the scale already, not a mean square."""
        self.passes = 1
        self.findings: Any = None
        self.notes: tuple[str, ...] = ()
        self.used = np.zeros(nodes, dtype=np.int64)
        """Rows of the tables that the nodes were learnt from."""
        self.sums: list[FamilySums] = []
        """What least squares was solved from."""
        self.details = Details(*(np.zeros(nodes, dtype=np.int64) for _ in range(6)))

    @property
    def same_rows(self) -> bool:
        """Whether the same rows serve coefficients and variances."""
        return self.options.split is None

    def learn(self, groups: tuple[Groups, Groups]) -> None:
        """Both phases: coefficients from the first groups, variances from the second."""
        first, last = groups
        for group in first:
            self._learn_coefficients(group)
        for group in first if self.same_rows else [*first, *last]:
            self.details.set_rows[group.nodes] += group.set_rows
        for group in last:
            rest = self._without_variance(group) if self.same_rows else group
            if rest is not None:
                self._learn_variances(rest)
        for group in last:
            self.settle_variances(group.nodes, group.table.rows)

    def _learn_coefficients(self, group: EquationGroup) -> None:
        """Phase 1, in parts that keep within the budget."""
        table, method = group.table, self.method
        known = table.known_rows
        if known is not None:
            self.require_rows(group.nodes, group.equations, known)
        for part in group.parts(method.kept_values):
            solution = self._solution(part)
            if known is None:
                self.require_rows(part.nodes, part.equations, table.rows)
            self.enter(part.nodes, solution, table.rows)

    def _solution(self, group: EquationGroup) -> Solution:
        """The method's solution, with mean squares if the scale needs no more than these."""
        question = self.method.first(group.equations, self.scale)
        beside = self.scale.uses_mean_squares and not self.method.finds_mean_squares
        if not (beside and self.same_rows) or self.method.needs_all_rows:
            found: Solution = ask(group.table, question)
            return found
        both = Together((question, MomentsPass(group.equations)))
        return with_mean_squares(*ask(group.table, both))

    def enter(self, nodes: IntArray, solution: Solution, rows: int) -> None:
        """Enter what was found for some nodes from so many rows."""
        self.coefficients[self.dag.families.edges_of(nodes)] = solution.coefficients
        variances = solution.mean_squares if solution.variances is None else solution.variances
        if solution.intercepts is not None and variances is not None:
            self.intercepts[nodes], self.variances[nodes] = solution.intercepts, variances
            if solution.variances is not None:
                self.is_final[nodes] = True
        details = self.details
        self.used[nodes] = rows
        details.rows[nodes] = rows if solution.rows is None else solution.rows
        if solution.dropped is not None:
            details.dropped[nodes] = solution.dropped
        if solution.set_rows is not None:
            details.set_rows[nodes] = solution.set_rows
        details.batches[nodes], details.singular[nodes] = solution.batches, solution.singular
        details.ranks[nodes] = solution.ranks
        self.sums += [own._replace(nodes=nodes[own.nodes]) for own in solution.sums]
        self.passes = max(self.passes, solution.passes)
        self.findings = solution.findings
        self.notes += solution.notes
        if solution.unbounded is not None and solution.unbounded.any():
            node = self.dag.nodes[nodes[np.flatnonzero(solution.unbounded)[0]]]
            raise EstimationError(
                f"the likelihood has no maximum: cells of {node!r}, its parents or children are "
                "missing so often that its noise can be explained away, so give more rows, leave "
                "out an edge, or give missing='drop-by-node'"
            )
        if np.isnan(solution.coefficients).any():
            self._refuse_unanswered(nodes)

    def _without_variance(self, group: EquationGroup) -> EquationGroup | None:
        """The nodes whose variance phase 1 did not find on its way."""
        if not self.scale.uses_mean_squares:
            return group
        chosen = np.flatnonzero(np.isnan(self.variances[group.nodes]))
        return group.only(chosen) if len(chosen) else None

    def _learn_variances(self, group: EquationGroup) -> None:
        """Phase 2, in parts that keep within the budget."""
        rows = group.table.rows
        if rows == 0:
            raise EstimationError(
                f"the node {self.dag.nodes[group.nodes[0]]!r} has no complete row for its "
                "variance: split the rows differently or not at all"
            )
        if not self.same_rows:
            self.details.rows[group.nodes] += rows
            self.used[group.nodes] += rows
        for part in group.parts(self.scale.kept_values):
            coefficients = self.coefficients[self.dag.families.edges_of(part.nodes)]
            spread = ask(part.table, self.scale.first(part.equations, coefficients))
            self.intercepts[part.nodes] = spread.locations
            self.variances[part.nodes] = spread.variances
            if not self.scale.uses_mean_squares:
                self.variances[self._exact(part)] = 0.0
            self.passes = max(self.passes, spread.passes)

    def _exact(self, group: EquationGroup) -> IntArray:
        """The nodes whose residuals are all rounding; all rows are asked where a few say so."""
        for rows in (FEW_ROWS, None):
            coefficients = self.coefficients[self.dag.families.edges_of(group.nodes)]
            question = ResidualMomentsPass(group.equations, coefficients, rows)
            exact = np.flatnonzero(ask(group.table, question).variances == 0.0)
            group = group.only(exact)
            if not len(exact):
                break
        return group.nodes

    def settle_variances(self, nodes: IntArray, rows: int) -> None:
        """Turn mean squares into the variances of a scale that knows the parents' number."""
        if not self.scale.has_factors:
            return
        open_nodes = nodes[~self.is_final[nodes]]
        ranks = self.details.ranks[open_nodes] * self.same_rows
        factors = self.scale.factors(rows, ranks, self.options.intercept)
        if np.isnan(factors).any():
            node = self.dag.nodes[open_nodes[np.flatnonzero(np.isnan(factors))[0]]]
            raise EstimationError(
                f"the node {node!r} has too few rows for scale='kl-optimal', {rows}: "
                "give at least 4 more than it has parents, or scale='mean-square'"
            )
        self.variances[open_nodes] *= factors

    def require_rows(self, nodes: IntArray, equations: Equations, rows: int) -> None:
        """Refuse nodes with fewer rows than the method needs."""
        for size, chosen, _ in equations.families.by_size:
            needed = self.method.rows_needed(size, self.options.intercept)
            if rows < needed:
                node = self.dag.nodes[nodes[chosen[0]]]
                raise EstimationError(
                    f"the node {node!r} has {size} parents and {rows} rows, but "
                    f"{self.method.name!r} needs {needed}: give more rows or another method"
                )

    def _refuse_unanswered(self, nodes: IntArray) -> None:
        for node in nodes.tolist():
            own = self.dag.families.edges_of(np.array([node]))
            if np.isnan(self.coefficients[own]).any():
                raise EstimationError(
                    f"the node {self.dag.nodes[node]!r} has no answer, {self._no_answer(node)}"
                )

    def _no_answer(self, node: int) -> str:
        """Why a node has none."""
        singular = int(self.details.singular[node])
        if singular:
            return (
                f"all {singular} batches of rows are singular: its parents are collinear or "
                "constant, so drop one or use 'least-squares'"
            )
        size = int(self.dag.in_degrees[node])
        if self.method.rows_needed(size, self.options.intercept) > self.options.page_rows:
            return "no batch of rows fits into a page: give larger page_rows"
        return EXTREME

    def _check_finite(self) -> None:
        """Refuse what squares of huge or tiny values have made of the answer."""
        lost = ~(np.isfinite(self.intercepts) & np.isfinite(self.variances))
        lost[self.dag.families.family_of_edge[~np.isfinite(self.coefficients)]] = True
        self._refuse_extreme(np.flatnonzero(lost))

    def check_not_tiny(self, table: Table) -> None:
        """Refuse columns that vary, but so little that their squares are 0 or lose digits."""
        nodes = np.flatnonzero(self.variances < SMALLEST_VARIANCE)
        varies = np.zeros(len(nodes), dtype=bool)
        for rows in (FEW_ROWS, None):
            if len(nodes):  # a few rows tell of most columns that their range is usual
                low, high = ask(table, RangePass(nodes, rows))
                is_small = high - low <= SMALLEST_RANGE
                nodes, varies = nodes[is_small], (high > low)[is_small]
        self._refuse_extreme(nodes[varies])

    def check_digits(self) -> None:
        """Refuse variances of lost digits; whether all of a variance is lost only rows can tell."""
        is_lost = (self.variances > 0.0) & (self.variances < SMALLEST_VARIANCE)
        self._refuse_extreme(np.flatnonzero(is_lost))

    def _refuse_extreme(self, nodes: IntArray) -> None:
        if len(nodes):
            node = self.dag.nodes[nodes[0]]
            raise EstimationError(f"the node {node!r} has no finite answer, {EXTREME}")

    def network(self) -> GaussianNetwork:
        """The learnt network."""
        self._check_finite()
        intercepts = self.intercepts if self.options.intercept else None
        return GaussianNetwork.from_arrays(self.dag, self.coefficients, self.variances, intercepts)

    def fit(self, table: Table, data: FitData) -> Fit:
        """The fit to these rows."""
        rows = table.rows
        if self.findings is None:
            used = rows if self.same_rows else sum(self.options.split or ())
            self.details.dropped[:] = used - self.used - self.details.set_rows
        network = self.network()
        given = rows if data.survey is None else data.survey.rows
        notes = general_notes(data.ignored, given, rows) + table.notes_on_passes(self.passes)
        notes += self.notes
        if self.method.fills_holes and data.survey is not None:
            columns, holes = column_positions(self.dag), data.survey.holes
            levels = [self.dag.position(node) for node in self.dag.indicators]
            lacks_levels = bool(holes[levels].any())
            notes += (missing_note(int(holes[columns].sum()), rows * len(columns), lacks_levels),)
        findings = self.findings
        if findings is not None:
            fitted = Fitted(network, self.scale, data, findings)
            findings = replace(self.method.examined(fitted, table), row_numbers=table.row_numbers)
            notes += findings.notes(column_positions(self.dag))
        return self.result(network, rows, notes, data=data, trimming=findings)

    def result(
        self, network: GaussianNetwork, rows: int, notes: tuple[str, ...], **more: Any
    ) -> Fit:
        """The fit with this network; `more` is what it can be asked about."""
        return Fit(
            network=network,
            rows=rows,
            method=self.method,
            scale=self.scale,
            intercept=self.options.intercept,
            split=self.options.split,
            details=self.details,
            general_notes=notes,
            sums=self._kept_sums(),
            **more,
        )

    def _kept_sums(self) -> KeptSums | None:
        """The sums of all nodes, if there are sums of each and both phases have the same rows."""
        known = sum(len(own.nodes) for own in self.sums)
        if known != len(self.dag) or not self.same_rows or not self.scale.uses_mean_squares:
            return None
        study = self.options.study
        return KeptSums(tuple(self.sums), study.error_kind, study.has_dependent_rows)


def _require_complete_rows(dag: Dag, survey: Survey) -> None:
    """Refuse a node that has no row in which neither it nor a parent is missing."""
    empty = np.flatnonzero(survey.complete_by_family == 0)
    if len(empty):
        raise EstimationError(
            f"the node {dag.nodes[empty[0]]!r} has no row in which neither it nor a parent is "
            "missing: leave the node out of the graph or give more rows"
        )


def _is_read_once(data: Any) -> bool:
    """Whether data may not be there, or not the same, when they are asked for again."""
    if isinstance(data, list | tuple) and len(data):
        return isinstance(data[0], str | os.PathLike)
    return isinstance(data, str | os.PathLike) or not hasattr(data, "__len__")
