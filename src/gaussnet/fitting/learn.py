"""`fit`: from rows and a graph to a network."""

import os
from typing import Any

import numpy as np

from gaussnet._types import IntArray
from gaussnet.errors import EstimationError, SettingError
from gaussnet.estimate.names import Method, check_together, method_named, scale_named
from gaussnet.estimate.robust import SequentialTrim
from gaussnet.estimate.scales import KlOptimal, MeanSquare, Scale
from gaussnet.estimate.solution import Estimator
from gaussnet.fitting.evidence import Evidence, Reading
from gaussnet.fitting.missing import Missing
from gaussnet.fitting.phases import (
    SMALLEST_BUDGET,
    Work,
    find_coefficients,
    find_spread,
    kept_by_scale,
)
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.result import Details, Fit
from gaussnet.fitting.trimmed import fit_trimmed
from gaussnet.graph.dag import Dag, shorten
from gaussnet.kernels.threads import available_threads
from gaussnet.model.network import GaussianNetwork
from gaussnet.stream.loaded import Loaded
from gaussnet.stream.pages import default_page_rows
from gaussnet.stream.rows import open_rows


def fit(  # noqa: PLR0913 (every setting of a fit is one keyword)
    data: Any,
    dag: Dag,
    method: str | Method = "least-squares",
    *,
    scale: str | Scale | None = None,
    intercept: bool = True,
    split: tuple[int, int] | None = None,
    missing: Missing = "raise",
    threads: int | None = None,
    page_rows: int | None = None,
) -> Fit:
    """Learn the network over a known graph from rows of data.

    Parameters
    ----------
    data
        Array (rows, nodes) with columns in the order of ``dag.nodes``, float32 or float64 in
        any layout; or a pandas, polars or pyarrow frame, matched by column name; or the path
        of a CSV, TSV, Parquet, Arrow or .npy file.
    method
        How coefficients are found: "least-squares", "batch-average", "batch-median",
        "cauchy-tree", "cauchy", "robust", or an estimator with settings, as
        ``gn.BatchMedian(50)``.
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
        robust then predicts it from its own equation to judge the children by.
    threads
        At most so many threads; by default all processors. Never changes the answer.
    page_rows
        Rows of a page; batches and windows do not cross pages. See
        `gaussnet.stream.pages.default_page_rows`. Robust looks at all rows at once.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> fit = gn.fit([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]], dag)
    >>> {edge: round(value, 2) for edge, value in fit.network.coefficients.items()}
    {('rain', 'wet'): 2.06}
    """
    estimator = method_named(method)
    spread = scale_named(scale, estimator)
    check_together(estimator, spread)
    loaded = open_rows(data, _checked(dag).nodes)
    given = loaded.rows
    height = default_page_rows(len(dag)) if page_rows is None else page_rows
    reading = Reading(dag, intercept, split, missing, height)
    rows, holed = reading.rows(given)
    work = Work(_thread_count(threads), max(SMALLEST_BUDGET, rows.size // 4))
    evidence = Evidence(given if _read_once(data) else data, reading, work)
    notes = _general_notes(loaded, len(rows))
    if isinstance(estimator, SequentialTrim):
        return fit_trimmed(rows, holed, evidence, estimator, spread, notes)
    first, last = reading.portions(rows, holed)
    learner = _Learner(dag, estimator, spread, work)
    for portion in first:
        learner.learn_coefficients(portion, len(rows) if split is None else int(split[0]))
    if split is not None or not learner.knows_spread:
        for portion in last:
            learner.learn_spread(portion, 0 if split is None else int(split[1]))
    learner.settle_spread(last, split is None)
    found = (learner.network(intercept), len(rows), estimator, spread, intercept, split)
    return Fit(*found, learner.details, notes, evidence)


def _general_notes(loaded: Loaded, used: int) -> tuple[str, ...]:
    notes = []
    if loaded.ignored:
        many = "column is" if len(loaded.ignored) == 1 else "columns are"
        notes.append(
            f"{len(loaded.ignored)} {many} not in the graph and ignored: {shorten(loaded.ignored)}"
        )
    given = len(loaded.rows)
    if used < given:
        notes.append(f"{given - used} of {given} rows have missing values and were dropped")
    return tuple(notes)


def _read_once(data: Any) -> bool:
    """Whether data may not be there, or not the same, when they are asked for again."""
    return isinstance(data, str | os.PathLike) or not hasattr(data, "__len__")


class _Learner:
    """The arrays that the phases fill, node by node."""

    def __init__(self, dag: Dag, estimator: Estimator, scale: Scale, work: Work) -> None:
        nodes = len(dag)
        self.dag, self.estimator, self.scale, self.work = dag, estimator, scale, work
        self.coefficients = np.empty(len(dag.families.parents))
        self.intercepts = np.zeros(nodes)
        self.variances = np.full(nodes, np.nan)
        self.details = Details(*(np.zeros(nodes, dtype=np.int64) for _ in range(5)))

    @property
    def knows_spread(self) -> bool:
        """Whether phase 1 found the mean squares that are asked for on its way."""
        return isinstance(self.scale, MeanSquare) and not np.isnan(self.variances).any()

    def learn_coefficients(self, portion: Portion, rows: int) -> None:
        """Phase 1, in parts that keep within the budget."""
        self._require_rows(portion)
        kept = self.estimator.kept_values(portion.equations.families.sizes)
        for part in portion.parts(kept, self.work.budget):
            solution = find_coefficients(self.estimator, part, self.work)
            nodes = part.nodes
            self.coefficients[self.dag.families.edges_of(nodes)] = solution.coefficients
            if solution.intercepts is not None and solution.mean_squares is not None:
                self.intercepts[nodes] = solution.intercepts
                self.variances[nodes] = solution.mean_squares
            self.details.rows[nodes] = part.rows
            self.details.dropped[nodes] = rows - part.rows
            self.details.batches[nodes] = solution.batches
            self.details.singular[nodes] = solution.singular
            self.details.ranks[nodes] = solution.ranks
            self._require_answers(nodes)

    def learn_spread(self, portion: Portion, rows: int) -> None:
        """Phase 2, in parts that keep within the budget; `rows` are its own, if any."""
        if portion.rows == 0:
            raise EstimationError(
                f"the node {self.dag.nodes[portion.nodes[0]]!r} has no complete row for its "
                "variance: split the rows differently or not at all"
            )
        if rows:
            self.details.rows[portion.nodes] += portion.rows
            self.details.dropped[portion.nodes] += rows - portion.rows
        for part in portion.parts(kept_by_scale(self.scale, portion), self.work.budget):
            coefficients = self.coefficients[self.dag.families.edges_of(part.nodes)]
            spread = find_spread(self.scale, part, coefficients, self.work)
            self.intercepts[part.nodes] = spread.locations
            self.variances[part.nodes] = spread.variances

    def settle_spread(self, portions: list[Portion], same_rows: bool) -> None:
        """Turn mean squares into the variances of a scale that knows the parents' number."""
        if not isinstance(self.scale, KlOptimal):
            return
        for portion in portions:
            nodes = portion.nodes
            ranks = self.details.ranks[nodes] * same_rows
            factors = self.scale.factors(portion.rows, ranks, portion.equations.intercept)
            if np.isnan(factors).any():
                node = self.dag.nodes[nodes[np.flatnonzero(np.isnan(factors))[0]]]
                raise EstimationError(
                    f"the node {node!r} has too few rows for scale='kl-optimal', {portion.rows}: "
                    "give at least 4 more than it has parents, or scale='mean-square'"
                )
            self.variances[nodes] *= factors

    def network(self, intercept: bool) -> GaussianNetwork:
        """The learnt network."""
        return GaussianNetwork.from_arrays(
            self.dag, self.coefficients, self.variances, self.intercepts if intercept else None
        )

    def _require_rows(self, portion: Portion) -> None:
        sizes = portion.equations.families.sizes.tolist()
        for size in sorted(set(sizes)):
            needed = self.estimator.rows_needed(size, portion.equations.intercept)
            if portion.rows < needed:
                node = self.dag.nodes[portion.nodes[sizes.index(size)]]
                raise EstimationError(
                    f"the node {node!r} has {size} parents and {portion.rows} rows, but "
                    f"{self.estimator.name!r} needs {needed}: give more rows or another method"
                )

    def _require_answers(self, nodes: IntArray) -> None:
        edges = self.dag.families.edges_of(nodes)
        if not np.isnan(self.coefficients[edges]).any():
            return
        for node in nodes.tolist():
            own = self.dag.families.edges_of(np.array([node]))
            if np.isnan(self.coefficients[own]).any():
                singular = int(self.details.singular[node])
                reason = (
                    f"all {singular} batches of rows are singular: its parents are collinear or "
                    "constant, so drop one or use 'least-squares'"
                    if singular
                    else "no batch of rows fits into a page: give larger page_rows"
                )
                raise EstimationError(f"the node {self.dag.nodes[node]!r} has no answer, {reason}")


def _checked(dag: Dag) -> Dag:
    if not isinstance(dag, Dag):
        raise SettingError(
            f"got dag of type {type(dag).__name__}, expected a gaussnet.Dag: "
            "build one with Dag.from_edges, Dag.from_networkx or Dag.parse"
        )
    return dag


def _thread_count(threads: int | None) -> int:
    if threads is None:
        return available_threads()
    if not isinstance(threads, int) or threads < 1:
        raise SettingError(
            f"got threads={threads!r}, expected at least 1 or None for all processors"
        )
    return threads
