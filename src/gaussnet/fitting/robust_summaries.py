"""Summaries for the robust method: what all rows have said, and a sample of them.

What a row says depends on the parameters by which its cells are judged, which every day's rows move
a little. What earlier rows would say now follows from what they said then and from a sample of
them, as a control variate (`methods.robust.control_variate`). While all rows fit into the sample,
the answer is that of a fit to them, to the last bit.
"""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from gaussnet.data.codes import Codes
from gaussnet.data.column_order import by_node
from gaussnet.data.factors import column_positions
from gaussnet.data.missing import Missing, MissingCells, Survey, SurveyPass, serving_rows
from gaussnet.data.passes import Run
from gaussnet.data.table import Table, ask, open_table
from gaussnet.errors import DataError, SettingError
from gaussnet.fitting.checks import check_labels, thread_count
from gaussnet.fitting.learn import NetworkBuilder, fit_with
from gaussnet.fitting.notes import missing_note
from gaussnet.fitting.result import Fit
from gaussnet.fitting.summaries import Summary
from gaussnet.graph.dag import Dag
from gaussnet.methods.base import Equations, Scale
from gaussnet.methods.groups import ReadOptions
from gaussnet.methods.names import check_together, scale_named
from gaussnet.methods.robust.cellwise import Cellwise
from gaussnet.methods.robust.judge import Judge
from gaussnet.methods.robust.kept_sample import KeptSample
from gaussnet.methods.robust.samples import Sample, SamplePass
from gaussnet.methods.robust.streams import (
    Held,
    Learnt,
    Past,
    RoundPass,
    RoundSummary,
    check_scale,
    followed_up,
    judge_of_sample,
    round_summary,
    sample_size,
    solution_of,
    trimming_of,
)
from gaussnet.types import BoolArray

LIKELIHOOD = "give missing='likelihood' to the first summary, or fill them"
"""What to do about missing values among rows that are added."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What all rows said, and by whom they were judged."""

    judge: Judge
    summary: RoundSummary
    shaped: tuple[int, ...]
    discrete: tuple[int, ...]
    day: str
    """The date of the judge's parameters."""

    def is_like(self, judge: Judge, shaped: tuple[int, ...], discrete: tuple[int, ...]) -> bool:
        """Whether another judge sees the same kinds of nodes, and foreign rows as well or not."""
        own, other = self.judge.mixture.foreign, judge.mixture.foreign
        kinds = (set(self.shaped), set(self.discrete))
        return kinds == (set(shaped), set(discrete)) and (own is None) == (other is None)

    def past(self, sample: Sample) -> Past:
        """These rows, with a sample of them."""
        return Past(self.judge, self.summary, sample.rows)


@dataclass(frozen=True, eq=False, repr=False)
class RobustSummary(Summary):
    """What rows say about a network to the robust method; see `gaussnet.summarize`."""

    dag: Dag
    method: Cellwise
    intercept: bool
    page_rows: int
    missing: Missing
    sample: Sample
    """Rows drawn from all: all of them, while they are few."""
    size: int
    """Rows that the sample may have."""
    rows: int = 0
    judged: Judged | None = None
    """None while the sample is all rows."""
    missing_values: Codes = ()
    """Numbers that stand for a missing value, also in rows that are added."""
    dropped: int = field(default=0, init=False)

    @classmethod
    def empty(
        cls,
        dag: Dag,
        method: Any,
        intercept: bool,
        page_rows: int,
        missing: Missing,
        codes: Codes = (),
    ) -> "RobustSummary":
        """No rows yet."""
        if missing not in ("raise", "likelihood"):
            raise SettingError(
                f"got missing={missing!r}, expected 'raise' or 'likelihood' in a summary for "
                f"method={method.name!r}"
            )
        nothing, size = Sample.nothing(len(dag)), sample_size(len(dag))
        settings = (dag, method, intercept, page_rows, missing)
        return cls(*settings, nothing, size, missing_values=codes)

    @property
    def rows_inside(self) -> int:
        """Rows that are kept as they are."""
        return len(self.sample.keys)

    def add(
        self,
        data: Any,
        *,
        threads: int | None = None,
        interventions: Any = None,
        weights: Any = None,
    ) -> "RobustSummary":
        """The summary of these rows and then more, which alone are read."""
        if interventions is not None or weights is not None:
            raise SettingError(
                f"got interventions or weights for a summary for method={self.method.name!r}, "
                "which cannot use them: leave them out, or fit the rows themselves"
            )
        run = Run(thread_count(threads))
        given, factors = by_node(data, self.dag), self.dag.factors
        codes = self.missing_values
        settings = (self.dag.nodes, self.page_rows, run)
        opened = open_table(given, *settings, codes=codes, factors=factors)
        check_labels(self.dag, opened.ignored)
        if not self._has_rows(opened):
            return self
        table, survey = self._treated(opened)
        question = SamplePass(self.size, survey.rows, self.rows)
        more: Sample = ask(table, question)
        known = replace(
            self, sample=self.sample.plus(more).smallest(self.size), rows=self.rows + survey.rows
        )
        if self.judged is None and known.rows <= self.size:
            return known
        return replace(known, judged=self._judged(table, known.sample))

    @staticmethod
    def _has_rows(table: Table) -> bool:
        """Whether there is anything to add: a quiet day has no rows."""
        known = table.known_rows
        if known is not None:
            return known > 0
        return any(len(chunk[0]) for chunk in table.as_source().chunks())

    def _treated(self, table: Table) -> tuple[Table, Survey]:
        """The rows to learn from; a column may be empty for a day if older rows have values."""
        survey: Survey = ask(table.surveyed(False), SurveyPass(self.dag.families))
        try:
            survey.judge(self.dag, self.missing, self._known_nodes)
        except MissingCells as problem:
            raise problem.advising(LIKELIHOOD) from None
        return serving_rows(table, survey, self.missing), survey

    @property
    def _known_nodes(self) -> BoolArray:
        """Nodes of which there are values so far, (nodes,)."""
        return np.asarray(~np.isnan(self.sample.rows).all(axis=0)) & bool(self.rows)

    def _judged(self, table: Table, sample: Sample) -> Judged:
        """What the rows so far say together with those of a table, and a sample of both."""
        equations = replace(self._equations, limits=table.limits)
        judge, shaped, discrete = judge_of_sample(self.method, equations, sample.rows)
        old = self.judged
        if old is None:
            past = Past(judge, round_summary(judge, self.sample.rows), self.sample.rows)
        else:
            past = old.past(self.sample)
            if old.is_like(judge, shaped, discrete):  # what was learnt before holds on
                judge = old.judge
        kinds = (shaped, discrete)
        settings = (Held(sample.rows), *kinds, table.run.threads, past if self.rows else None)
        found: Learnt = ask(table, RoundPass(judge, *settings))
        return Judged(found.judge, found.summary, *kinds, date.today().isoformat())

    @property
    def _equations(self) -> Equations:
        return Equations(self.dag.families.sorted_by_size[1], self.intercept)

    def solve(self, scale: str | Scale | None = None) -> Fit:
        """The fit that the summary gives."""
        chosen = scale_named(scale, self.method)
        check_together(self.method, chosen)
        settings = (self.dag, self.intercept, None, self.missing, self.page_rows)
        options = ReadOptions(*settings, missing_values=self.missing_values)
        if self.rows == 0:
            raise DataError("the summary has no rows: add some")
        if self.judged is None:
            return fit_with(Run(), self.sample.rows, options, (self.method, chosen))
        check_scale(self.method, chosen)
        return self._solution(self.judged, NetworkBuilder(options, self.method, chosen))

    def _solution(self, judged: Judged, builder: NetworkBuilder) -> Fit:
        judge, summary = judged.judge, judged.summary
        mixture = followed_up(judge, summary.sums, self.sample.rows, Run().threads)
        learnt = Learnt(judge, summary, mixture, judged.shaped, judged.discrete)
        findings = trimming_of(learnt)
        solution = solution_of(self._equations, builder.scale, learnt, findings)
        nodes = self.dag.families.sorted_by_size[0]
        builder.enter(nodes, solution, self.rows)
        columns = column_positions(self.dag)
        notes = findings.notes(columns)
        missing = sum(findings.count(node, "missing") for node in columns)
        if missing:
            notes = (missing_note(missing, self.rows * len(columns)), *notes)
        kept = KeptSample((), sample=self.sample.rows, rows=self.rows)
        found = builder.result(builder.network(), self.rows, notes, trimming=findings, kept=self)
        return replace(found, sums=kept)

    def share(self) -> "RobustSummary":
        """Refused: it needs the sample of its rows."""
        raise SettingError(
            f"got a summary for method={self.method.name!r}, which holds a sample of its rows and "
            "cannot do without: add the rows of all sites to one summary, one site after the other"
        )

    def to_arrays(self) -> dict[str, Any]:
        """The summary as plain arrays by name."""
        from gaussnet.fitting.summary_files import robust_arrays

        return robust_arrays(self)
