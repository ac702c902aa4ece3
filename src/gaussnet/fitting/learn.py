"""`fit`: from rows and a graph to a network."""

import os
from typing import Any

from gaussnet.data.columns import Loaded
from gaussnet.data.pages import NotFinite, Progress, check_page_rows, default_page_rows
from gaussnet.data.sources import open_data, read_whole
from gaussnet.errors import DataError, SettingError
from gaussnet.fitting.checks import checked_dag, thread_count
from gaussnet.fitting.evidence import ClusterEvidence, Evidence, Reading, StreamedEvidence
from gaussnet.fitting.learner import Learner
from gaussnet.fitting.missing import Missing, check_missing
from gaussnet.fitting.phases import SMALLEST_BUDGET, Work
from gaussnet.fitting.result import Fit
from gaussnet.fitting.trimmed import fit_trimmed
from gaussnet.graph.dag import Dag, shorten
from gaussnet.methods.base import Estimator
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.names import Method, check_together, method_named, scale_named
from gaussnet.methods.robust.sequential_trim import SequentialTrim, Unproven
from gaussnet.methods.scales import Scale
from gaussnet.types import Rows

STREAMED_BUDGET = 1 << 24
"""Values that summaries of a stream may keep at a time (128 MiB)."""

DRIFT_NOTE = (
    "the rows drift, so that exact medians took {} passes over them instead of one: "
    "are they in random order?"
)


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
    progress: Progress | None = None,
    client: Any = None,
) -> Fit:
    """Learn the network over a known graph from rows of data.

    Parameters
    ----------
    data
        Array (rows, nodes) with columns in the order of ``dag.nodes``, float32 or float64 in
        any layout; or a pandas, polars or pyarrow frame, matched by column name; or the path
        of a CSV, TSV, Parquet, Arrow or .npy file, a folder of such files or a list of them.
        Files of more than 64 MiB are read page by page, as often as the method needs.
    method
        How coefficients are found: "least-squares", "batch-average", "batch-median",
        "cauchy-tree", "cauchy", "robust", "auto" (robust, and a test of whether the data look
        contaminated), or an estimator with settings, as ``gn.BatchMedian(50)``.
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
        `gaussnet.data.pages.default_page_rows`. Robust looks at all rows at once.
    progress
        Called with the rows read so far and their number (None if unknown) while files are
        read page by page.
    client
        A ``distributed.Client``: a Dask DataFrame or array, or files that all workers see, are
        learnt from on its cluster. Rows stay there, and the answer is that of one machine.

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
    nodes = checked_dag(dag).nodes
    height = default_page_rows(len(dag)) if page_rows is None else page_rows
    reading = Reading(dag, intercept, split, missing, height)
    count = thread_count(threads)
    if client is not None:
        return _fit_on_cluster(data, client, reading, (estimator, spread), progress)
    opened = open_data(data, nodes)
    if not isinstance(opened, Loaded) and not isinstance(estimator, SequentialTrim):
        work = Work(count, STREAMED_BUDGET)
        streamed = StreamedEvidence(opened, reading, work, opened.ignored, None, progress)
        return fit_streamed(streamed, estimator, spread)
    kept = isinstance(opened, Loaded) and not _read_once(data)
    if not isinstance(opened, Loaded):
        opened = Loaded(read_whole(opened, f"the method {estimator.name!r}"), opened.ignored)
    given = opened.rows
    work = Work(count, max(SMALLEST_BUDGET, given.size // 4))
    evidence = Evidence(data if kept else given, reading, work, opened.ignored)
    if isinstance(estimator, SequentialTrim):
        return _fit_robust(given, evidence, estimator, spread)
    learner = Learner(dag, estimator, spread, work)
    used = _learn(learner, reading, given)
    learner.count_dropped(used if split is None else sum(split))
    notes = general_notes(opened.ignored, len(given), used)
    found = (learner.network(intercept), used, estimator, spread, intercept, split)
    return Fit(*found, learner.details, notes, evidence)


def _learn(learner: Learner, reading: Reading, given: Rows) -> int:
    """Learn from rows in memory; gives how many of them serve.

    Finite sums of squares prove all values finite. So least squares looks at these alone, and
    at the values only if that fails.
    """
    if isinstance(learner.estimator, LeastSquares) and reading.split is None and len(given):
        check_missing(reading.missing)
        try:
            learner.learn(reading.portions(given, False), None, unchecked=True)
        except NotFinite:
            pass
        else:
            return len(given)
    rows, holed = reading.rows(given)
    learner.learn(reading.portions(rows, holed), reading.split)
    return len(rows)


def _fit_robust(given: Rows, evidence: Evidence, method: SequentialTrim, scale: Scale) -> Fit:
    """`fit` by the robust method; values are looked at only if sums do not prove them finite."""
    reading, ignored = evidence.reading, evidence.ignored
    if len(given):
        check_missing(reading.missing)
        try:
            notes = general_notes(ignored, len(given), len(given))
            return fit_trimmed(given, None, evidence, method, scale, notes)
        except Unproven:
            pass
    rows, holed = reading.rows(given)
    notes = general_notes(ignored, len(given), len(rows))
    return fit_trimmed(rows, holed, evidence, method, scale, notes)


def _fit_on_cluster(
    data: Any,
    client: Any,
    reading: Reading,
    how: tuple[Method, Scale],
    progress: Progress | None,
) -> Fit:
    from gaussnet.data.cluster import open_cluster

    estimator, spread = how
    if isinstance(estimator, SequentialTrim):
        raise SettingError(
            f"got method={estimator.name!r} with a client, which needs all rows in one place: give "
            "another method, or fit without a client"
        )
    if not len(reading.dag):
        raise SettingError("the graph has no nodes, so a cluster has nothing to do: add some")
    check_page_rows(reading.page_rows)
    cluster = open_cluster(data, reading.dag.nodes, client)
    work = Work(1, STREAMED_BUDGET)
    evidence = ClusterEvidence(cluster, reading, work, cluster.ignored, None, progress)
    return fit_streamed(evidence, estimator, spread)


def fit_streamed(evidence: StreamedEvidence, estimator: Estimator, spread: Scale) -> Fit:
    """`fit` page by page; a value that is not finite starts it again after a survey."""
    reading = evidence.reading
    check_missing(reading.missing)
    check_page_rows(reading.page_rows)
    if evidence.pages.known_rows == 0:
        raise DataError("the data have no rows: give at least one")
    learner = Learner(reading.dag, estimator, spread, evidence.work)
    try:
        learner.learn(evidence.portions(), reading.split)
    except NotFinite:
        evidence = evidence.surveyed()
        learner.learn(evidence.portions(), reading.split)
    rows = evidence.pages.rows
    learner.count_dropped(rows if reading.split is None else sum(reading.split))
    given = rows if evidence.survey is None else evidence.survey.rows
    notes = general_notes(evidence.ignored, given, rows)
    if learner.passes > 1:
        notes += (DRIFT_NOTE.format(learner.passes),)
    found = (learner.network(reading.intercept), rows, estimator, spread)
    return Fit(*found, reading.intercept, reading.split, learner.details, notes, evidence)


def general_notes(ignored: tuple[str, ...], given: int, used: int) -> tuple[str, ...]:
    """What is worth knowing of the data as a whole: columns ignored, rows dropped."""
    notes = []
    if ignored:
        many = "column is" if len(ignored) == 1 else "columns are"
        notes.append(f"{len(ignored)} {many} not in the graph and ignored: {shorten(ignored)}")
    if used < given:
        notes.append(f"{given - used} of {given} rows have missing values and were dropped")
    return tuple(notes)


def _read_once(data: Any) -> bool:
    """Whether data may not be there, or not the same, when they are asked for again."""
    if isinstance(data, list | tuple) and len(data):
        return isinstance(data[0], str | os.PathLike)
    return isinstance(data, str | os.PathLike) or not hasattr(data, "__len__")
