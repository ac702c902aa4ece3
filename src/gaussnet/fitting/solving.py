"""From a summary to a fit, and from a fit and more rows to the next."""

from dataclasses import replace
from typing import Any

import numpy as np

from gaussnet.data.columns import Loaded
from gaussnet.data.sources import ArraySource, Chain, Source, open_data
from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.evidence import ClusterEvidence, Evidence, Reading, StreamedEvidence
from gaussnet.fitting.learn import STREAMED_BUDGET, fit as learn, fit_streamed, general_notes
from gaussnet.fitting.learner import Learner
from gaussnet.fitting.phases import Work
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.result import Fit
from gaussnet.fitting.states import NotInSummary, States
from gaussnet.fitting.summaries import Summary, check_summary
from gaussnet.kernels.threads import available_threads
from gaussnet.methods.names import check_together, scale_named
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import KlOptimal, MeanSquare, Scale


def solve(summary: Summary, *, scale: str | Scale = "mean-square") -> Fit:
    """The fit that a summary gives, the same as `gaussnet.fit` gives for its rows.

    Variances are mean squares, or for least squares "kl-optimal": other scales need the
    rows themselves, as do standard errors.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
    >>> gn.solve(gn.summarize(rows, dag)).network == gn.fit(rows, dag).network
    True
    """
    check_summary(summary)
    spread = scale_named(scale, summary.method)
    check_together(summary.method, spread)
    if not isinstance(spread, MeanSquare):
        raise SettingError(
            f"got scale={spread.name!r}, expected 'mean-square': a summary has no residuals, so "
            "fit the rows themselves"
        )
    rows, nodes = summary.rows, summary.dag.families.sorted_by_size[0]
    learner = Learner(summary.dag, summary.method, spread, Work(1, 1))
    portion = Portion(nodes, summary.states.equations, [np.empty((rows, 0))])
    learner.require_rows(portion)
    solution, notes = summary.states.solve(summary.total())
    learner.enter(nodes, solution, rows)
    learner.settle_spread([portion], True)
    general = general_notes((), rows + summary.dropped, rows) + notes
    found = (learner.network(summary.intercept), rows, summary.method, spread)
    return Fit(*found, summary.intercept, None, learner.details, general, None, _summary=summary)


def update(fit: Fit, more_rows: Any) -> Fit:
    """The fit to the old rows and then these, the same as to all of them at once."""
    evidence = _joined(fit, more_rows)
    if fit.split is not None:
        raise SettingError(
            "the fit used some rows for coefficients and others for variances: fit all rows "
            "again, with a split of their new number"
        )
    if evidence is not None and not _has_summary(fit, evidence.reading):
        return _again(fit, evidence)
    summary = _summary_of(fit).add(more_rows)
    if evidence is None:
        return solve(summary, scale=fit.scale)
    try:
        if summary.states.is_proven(summary.total()):
            found = solve(summary, scale=fit.scale)
            notes = general_notes(evidence.ignored, 0, 0) + found.general_notes
            if summary.dropped:
                evidence = replace(evidence, complete_rows=summary.rows)
            return replace(found, general_notes=notes, _evidence=evidence)
    except NotInSummary:
        pass
    return replace(_again(fit, evidence), _summary=summary)


def _again(fit: Fit, evidence: StreamedEvidence) -> Fit:
    """The fit to all rows, which are read once more."""
    if not isinstance(fit.method, SequentialTrim):
        return fit_streamed(evidence, fit.method, fit.scale)
    reading = evidence.reading
    return learn(
        evidence.data,
        reading.dag,
        fit.method,
        scale=fit.scale,
        intercept=reading.intercept,
        missing=reading.missing,
        page_rows=reading.page_rows,
    )


def _has_summary(fit: Fit, reading: Reading) -> bool:
    """Whether a summary says all that the next fit needs."""
    if fit._summary is not None:
        return True
    try:
        States(fit.dag, fit.method, fit.intercept)  # type: ignore[arg-type]
    except SettingError:
        return False
    by_squares = isinstance(fit.scale, MeanSquare | KlOptimal)
    return by_squares and reading.missing != "drop-by-node"


def _summary_of(fit: Fit) -> Summary:
    if fit._summary is not None:
        return fit._summary
    evidence = _evidence(fit)
    reading = evidence.reading
    states = States(fit.dag, fit.method, fit.intercept)  # type: ignore[arg-type]
    return Summary(states, reading.page_rows, reading.missing).add(_source(evidence))


def _evidence(fit: Fit) -> Evidence:
    if fit._evidence is None:
        raise EstimationError(
            "this fit no longer has the rows that it was learnt from, because it was copied or "
            "loaded: update a summary of them instead, as summary.add(rows)"
        )
    return fit._evidence


def _source(evidence: Evidence) -> Source:
    if isinstance(evidence, StreamedEvidence):
        return evidence.data  # type: ignore[no-any-return]
    opened = open_data(evidence.data, evidence.reading.dag.nodes)
    return ArraySource(opened.rows) if isinstance(opened, Loaded) else opened


def _joined(fit: Fit, more_rows: Any) -> StreamedEvidence | None:
    """The rows of the fit and more, where they can be read again; else None."""
    if fit._evidence is None and fit._summary is not None:
        return None
    evidence = _evidence(fit)
    if isinstance(evidence, ClusterEvidence):
        raise SettingError(
            "the rows of this fit are on a cluster: fit the old and the new ones there together"
        )
    opened = open_data(more_rows, fit.dag.nodes)
    more = ArraySource(opened.rows, opened.ignored) if isinstance(opened, Loaded) else opened
    work = Work(available_threads(), STREAMED_BUDGET)
    both = Chain((_source(evidence), more))
    ignored = tuple(dict.fromkeys((*evidence.ignored, *more.ignored)))
    return StreamedEvidence(both, evidence.reading, work, ignored)
