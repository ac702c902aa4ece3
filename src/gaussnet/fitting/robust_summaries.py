"""Summaries for the robust method: what all rows have said, and a sample of them.

What a row says depends on the parameters by which its cells are judged, which every day's rows move
a little. What earlier rows would say now follows from what they said then and from a sample of
them, as a control variate (`methods.robust.control_variate`). While all rows fit into the sample,
the answer is that of a fit to them, to the last bit.
"""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from gaussnet.data.codes import Codes
from gaussnet.data.column_order import by_node
from gaussnet.data.factors import column_positions
from gaussnet.data.missing import Missing, MissingCells, Survey, treat_missing
from gaussnet.data.passes import Run
from gaussnet.data.table import Table, ask, open_table
from gaussnet.errors import DataError, SettingError
from gaussnet.fitting.checks import thread_count
from gaussnet.fitting.learn import NetworkBuilder, fit_with
from gaussnet.fitting.notes import missing_note
from gaussnet.fitting.result import Fit
from gaussnet.fitting.summaries import Summary
from gaussnet.graph.dag import Dag, counted
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
        """The summary of these rows and then more, which are read a few times; old ones are not."""
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
        table, survey = self._treated(opened)
        question = SamplePass(self.size, survey.rows, self.rows)
        more: Sample = ask(table, question)
        known = replace(
            self, sample=self.sample.plus(more).smallest(self.size), rows=self.rows + survey.rows
        )
        if self.judged is None and known.rows <= self.size:
            return known
        return replace(known, judged=self._judged(table, known.sample))

    def _treated(self, table: Table) -> tuple[Table, Survey]:
        try:
            return treat_missing(table, self.dag, self.missing)
        except MissingCells as problem:
            raise problem.advising(LIKELIHOOD) from None

    def _judged(self, table: Table, sample: Sample) -> Judged:
        """What the rows so far say together with those of a table, and a sample of both."""
        threads = table.run.threads
        judged = self.judged
        if judged is None:
            judged = self._first(replace(self._equations, limits=table.limits), sample)
        past = judged.past(self.sample) if self.rows else None
        kinds = (judged.shaped, judged.discrete)
        question = RoundPass(judged.judge, Held(sample.rows), *kinds, threads, past)
        found: Learnt = ask(table, question)
        day = date.today().isoformat()
        return Judged(found.judge, found.summary, *kinds, day)

    def _first(self, equations: Equations, sample: Sample) -> Judged:
        """What a sample teaches, and what the rows before said, all of which are at hand."""
        judge, shaped, discrete = judge_of_sample(self.method, equations, sample.rows)
        return Judged(judge, round_summary(judge, self.sample.rows), shaped, discrete, "")

    @property
    def _equations(self) -> Equations:
        return Equations(self.dag.families.sorted_by_size[1], self.intercept)

    def solve(self, scale: str | Scale | None = None) -> Fit:
        """The fit that the summary gives."""
        chosen = scale_named(scale, self.method)
        check_together(self.method, chosen)
        options = ReadOptions(self.dag, self.intercept, None, self.missing, self.page_rows)
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

    def __repr__(self) -> str:
        return (
            f"Summary({counted(len(self.dag), 'node')}, {counted(self.rows, 'row')}, "
            f"method={self.method.name!r}, {counted(self.rows_inside, 'row')} inside)"
        )
