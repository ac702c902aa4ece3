"""Evidence: where a network was learnt from, so that its errors can be asked for later."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import index
from typing import Any, Self

from gaussnet.data.columns import as_rows
from gaussnet.data.pages import LazyPages, Progress, StreamedPages
from gaussnet.data.sources import read_whole
from gaussnet.errors import DataError, SettingError
from gaussnet.fitting.missing import Missing, Survey, without_missing
from gaussnet.fitting.phases import Work
from gaussnet.fitting.portions import Portion, make_portions, make_streamed_portions
from gaussnet.graph.dag import Dag
from gaussnet.types import Rows

Portions = tuple[list[Portion], list[Portion]]
"""The portions of phase 1 and those of phase 2, the same unless the rows are split."""


@dataclass(frozen=True)
class Reading:
    """How data are read: which rows serve which phase, and in what pages."""

    dag: Dag
    intercept: bool
    split: tuple[int, int] | None
    missing: Missing
    page_rows: int

    def rows(self, given: Rows) -> tuple[Rows, bool]:
        """The rows to learn from, and whether NaN is left in them to be dropped by node."""
        return without_missing(given, self.dag.nodes, self.missing)

    def portions(self, rows: Rows, holed: bool) -> Portions:
        """The portions of both phases, of rows in memory."""
        first, last = split_rows(rows, self.split)
        learnt = self._portions(first, holed)
        return learnt, learnt if self.split is None else self._portions(last, holed)

    def _portions(self, rows: Rows, holed: bool) -> list[Portion]:
        return make_portions(rows, self.dag.families, self.intercept, self.page_rows, holed)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data as they were given, never a copy, and how they were read."""

    data: Any
    reading: Reading
    work: Work
    ignored: tuple[str, ...] = ()

    def rows(self) -> tuple[Rows, bool]:
        """The rows that the network was learnt from, and whether NaN is left in them."""
        return self.reading.rows(as_rows(self.data, self.reading.dag.nodes))

    def portions(self) -> Portions:
        """The portions of both phases."""
        return self.reading.portions(*self.rows())

    def fold(self, summarize: Callable[[Rows], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """A summary of all rows learnt from, of which some may hold NaN."""
        return summarize(self.rows()[0])


@dataclass(frozen=True, eq=False)
class StreamedEvidence(Evidence):
    """A source of rows, and what a survey of it found if some values are not finite."""

    survey: Survey | None = None
    progress: Progress | None = None
    complete_rows: int | None = None
    """Rows that lack no value, where they are counted already and only they serve."""

    def rows(self) -> tuple[Rows, bool]:
        """All rows in memory, if they are not too many."""
        return self.reading.rows(read_whole(self.data, "this"))

    def fold(self, summarize: Callable[[Rows], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """The same, a page at a time."""
        return self.pages.fold(summarize, merge, self.work.threads)

    @cached_property
    def pages(self) -> LazyPages:
        """The pages of all rows that serve; checked as they are read unless counted."""
        known = self.complete_rows if self.survey is None else self._surveyed_rows
        complete = known is not None and self.reading.missing == "drop-rows"
        return self._all_pages(complete, known is None, [] if known is None else [known])

    def _all_pages(self, complete: bool, checked: bool, counted: list[int]) -> LazyPages:
        return StreamedPages(
            self.data,
            self.reading.page_rows,
            complete=complete,
            checked=checked,
            progress=self.progress,
            _counted=counted,
        )

    @property
    def _surveyed_rows(self) -> int:
        assert self.survey is not None
        dropped = self.reading.missing == "drop-rows"
        return self.survey.complete if dropped else self.survey.rows

    def surveyed(self) -> Self:
        """The same after a pass that looks for missing and infinite values, and judges them."""
        families = self.reading.dag.families
        pages = self._all_pages(False, False, [])
        survey = pages.fold(partial(Survey.of, families=families), Survey.merge, self.work.threads)
        survey.judge(self.reading.dag.nodes, self.reading.missing)
        return replace(self, survey=survey)

    def portions(self) -> Portions:
        """The portions of both phases; each is read when it is folded."""
        pages = self.pages
        if self.reading.split is None:
            learnt = self._portions(pages, self.survey)
            return learnt, learnt
        first, last = checked_split(self.reading.split, pages.rows)
        parts = (pages.part(0, first), pages.part(pages.rows - last, pages.rows))
        return self._portions(parts[0], None), self._portions(parts[1], None)

    def _portions(self, pages: LazyPages, survey: Survey | None) -> list[Portion]:
        reading = self.reading
        families = reading.dag.families
        if self.survey is None or reading.missing != "drop-by-node":
            survey = None
        elif survey is None:
            survey = pages.fold(
                partial(Survey.of, families=families), Survey.merge, self.work.threads
            )
        return make_streamed_portions(pages, families, reading.intercept, survey)


@dataclass(frozen=True, eq=False)
class ClusterEvidence(StreamedEvidence):
    """Rows on a Dask cluster, where they stay."""

    def rows(self) -> tuple[Rows, bool]:
        """Refused: rows are never brought to the client."""
        raise DataError(
            "this needs all rows in memory, and those of a cluster stay on its workers: ask for "
            "another kind of errors, or fit a sample of the rows"
        )

    def _all_pages(self, complete: bool, checked: bool, counted: list[int]) -> LazyPages:
        from gaussnet.data.cluster import ClusterPages

        cluster = self.data.complete() if complete else self.data
        height = self.reading.page_rows
        return ClusterPages(cluster, height, checked=checked, progress=self.progress)


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


def split_rows(rows: Rows, split: tuple[int, int] | None) -> tuple[Rows, Rows]:
    """The rows of phase 1 and those of phase 2."""
    if split is None:
        return rows, rows
    first, last = checked_split(split, len(rows))
    return rows[:first], rows[len(rows) - last :]
