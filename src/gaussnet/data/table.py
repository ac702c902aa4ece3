"""Tables: the rows of a fit, wherever they lie, and passes over them.

A question is a `Pass`: it summarises a stripe of rows, merges two summaries, and says what to ask
next. `ask` puts it to a `Table` until there is an answer. Rows are cut into pages of fixed height
and pages into stripes; summaries merge in a tree whose shape the counts alone decide. So an answer
depends on the page height and on nothing else: not on how a file was chunked, on where rows lie,
nor on who summarised which page.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.data.codes import Codes, recoded
from gaussnet.data.columns import Loaded
from gaussnet.data.design import Design, Selection, split_page, uncounted
from gaussnet.data.labels import Beside, OneGroup
from gaussnet.data.passes import Limits, NotFinite, Pass, Run, Stripe
from gaussnet.data.sources import (
    ArraySource,
    Complete,
    Source,
    check_files,
    lies_in_memory,
    open_data,
    read_whole,
    watched,
)
from gaussnet.data.study import Study, rows_beside
from gaussnet.errors import DataError, SettingError
from gaussnet.kernels.threads import (
    Partials,
    bounded_map,
    merge_in_order,
    merge_known,
    thread_map,
)
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

LARGEST_PAGE_ROWS = 65_536
SMALLEST_PAGE_ROWS = 4_096
PAGE_BYTES = 64 * 1024 * 1024

STRIPE_BYTES = 8 * 1024 * 1024
SMALLEST_STRIPE_ROWS = 1_024
LARGEST_STRIPE_ROWS = 32_768
"""About a millisecond of work for 20 columns: less is not worth a thread, and each stripe costs a
call from Python and a merge."""

SAMPLE_RUN_ROWS = 64
"""Successive rows that a sample of rows in memory takes at a time."""


class Table(ABC):
    """The rows of a fit: (rows, names), in memory, in files or on a cluster."""

    names: tuple[str, ...]
    ignored: tuple[str, ...]
    """Columns of the data that nobody asked for."""
    page_rows: int
    run: Run
    is_complete: bool | None
    """Whether no value is missing or infinite; False says that NaN marks missing cells, None that
    nobody has looked: then a pass over such rows raises `NotFinite`."""
    is_stream: ClassVar[bool]
    is_remote: ClassVar[bool] = False
    """Whether rows lie on a cluster."""
    row_numbers: IntArray | None = None
    """Where the rows stand in the data, if not all of these are left."""
    design: Design | None
    """What is known of the rows beside their values, in columns after those of the names."""

    @property
    @abstractmethod
    def known_rows(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    @property
    def rows(self) -> int:
        """Number of rows; read to the end if nothing else tells."""
        known = self.known_rows
        if known is not None:
            return known
        # What is missing does not matter to who counts.
        counted = self.surveyed(False) if self.is_complete is None else self
        return int(counted.fold(_CountRows()))

    @property
    def is_in_memory(self) -> bool:
        """Whether the rows can be read again without opening a file or asking a cluster."""
        return not self.is_stream

    @property
    def budget(self) -> int:
        """Values that summaries may keep at a time."""
        return 1 << 24 if self.run.budget is None else self.run.budget

    @property
    def limits(self) -> Limits:
        """What a method may know before it asks."""
        return Limits(self.known_rows, self.is_stream, self.run)

    def fold(self, question: Pass) -> Any:
        """The summary of all rows, or of a sample of them if that is enough."""
        self.run.begin(question.purpose)
        wanted = question.sample_rows
        if wanted is not None and self.known_rows != 0:
            found = self.sample(wanted)._fold(question)
            if found is None:  # all of them lack a value
                return question.summarize(Stripe(np.empty((0, len(self.names))), 0, 0))
            return found
        found = None if self.known_rows == 0 else self._fold(question)
        if found is None:
            raise DataError("the data have no rows: give at least one")
        return found

    @abstractmethod
    def _fold(self, question: Pass) -> Any:
        """The summary of all rows; None if there is none."""

    @abstractmethod
    def sample(self, rows: int) -> Self:
        """About so many of the rows, to guess by; never to answer by."""

    @abstractmethod
    def part(self, first: int, last: int) -> Self:
        """The rows first .. last alone."""

    @abstractmethod
    def only(self, selection: Selection, rows: int) -> Self:
        """Some columns alone, and the rows that serve their equations: so many are left."""

    def group(self, number: int) -> Self:
        """The rows of one group alone, in new pages, as if they were all that was given."""
        raise SettingError("got groups of rows on a cluster: fit its rows without the cluster")

    @abstractmethod
    def complete(self, rows: int) -> Self:
        """Without the rows that lack a value, of which so many are left, in new pages."""

    @abstractmethod
    def in_memory(self, purpose: str) -> "MemoryTable":
        """All rows in memory, if they are not too many; `purpose` says what needs them."""

    @abstractmethod
    def as_source(self) -> Source:
        """All rows as they were given, to be read with others after them."""

    @abstractmethod
    def surveyed(self, is_complete: bool) -> Self:
        """These rows, known to be complete, or with NaN allowed and no longer looked for."""

    def notes_on_passes(self, passes: int) -> tuple[str, ...]:
        """What is worth knowing of medians that took so many passes."""
        return ()

    def watched(self) -> Self:
        """These rows, whose checksum will be asked for after a pass."""
        return self

    def every_row(self, step: int) -> FloatArray:
        """One row in so many, evenly spaced within each stripe; NaN stays."""
        rows: list[FloatArray] = ask(self.surveyed(False), _EveryRow(step))
        return np.concatenate(rows)

    def every_set_cell(self, step: int) -> BoolArray | None:
        """Which cells of `every_row` were set from outside; None if none was."""
        if self.design is None or self.design.targets is None:
            return None
        cells: list[BoolArray] = ask(self.surveyed(False), _EverySetCell(step))
        return np.concatenate(cells)

    def are_same_files(self) -> bool:
        """Whether the rows are those of files that have not changed; files that did are refused."""
        return False

    def checksum(self) -> int | None:
        """A number that changes if the rows in memory do; None for rows that are read anew, which
        are compared whenever they are read (`Watched`)."""
        return None

    def fingerprint(self) -> str:
        """SHA-256 of the numbers as little-endian float64, row by row; "" if not in memory."""
        return ""


def open_table(  # noqa: PLR0913 (what the data are, and how they are read)
    data: Any,
    names: Sequence[str],
    page_rows: int,
    run: Run,
    client: Any = None,
    *,
    study: Study | None = None,
    codes: Codes = (),
    factors: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Table:
    """Data in any form that `gaussnet.fit` takes as a table; a table passes through.

    A `study` tells what is known of the rows beside their values; `codes` are numbers that stand
    for a missing value; `factors` are the categories of the graph, with their levels.

    Examples
    --------
    >>> open_table([[1.0, 2.0]], ["a", "b"], 10, Run()).rows
    1
    """
    check_page_rows(page_rows)
    if isinstance(data, Table):
        return data
    if factors and not {0.0, 1.0}.isdisjoint(codes):
        raise DataError(
            f"missing_values={list(codes)} would empty the columns of 0 and 1 that stand for "
            f"{next(iter(factors))!r}: set these cells to NaN in the columns where they are codes"
        )
    if client is not None:
        from gaussnet.data.cluster import open_cluster

        settings = (tuple(names), page_rows, run)
        return open_cluster(data, settings, client, study, codes)
    opened = open_data(data, names, run.largest_whole_bytes, factors)
    if factors and isinstance(opened, Loaded):  # columns that became indicators were asked for
        ignored = tuple(name for name in opened.ignored if name not in factors)
        opened = replace(opened, ignored=ignored)
    opened = recoded(opened, codes)
    if study is not None and not study.is_empty:
        return _open_study(study, data, opened, (tuple(names), page_rows, run))
    if not isinstance(opened, Loaded):
        return FileTable(watched(opened), tuple(names), page_rows, run, opened.ignored)
    table = MemoryTable.of(opened.rows, names, page_rows, run)
    table.ignored = opened.ignored
    return table


def _open_study(
    study: Study,
    data: Any,
    opened: Loaded | Source,
    settings: tuple[tuple[str, ...], int, Run],
) -> Table:
    """Opened data with what a study says of their rows."""
    design, columns = study.open(data, settings[0])
    if not isinstance(opened, Loaded):
        both = Beside((watched(opened), *columns), study.used)
        return FileTable(both, *settings, both.ignored, design=design)
    table = MemoryTable.of(rows_beside(opened.rows, columns), *settings)
    table.ignored = tuple(name for name in opened.ignored if name not in study.used)
    table.design = design
    return table


def ask(table: Table, question: Pass) -> Any:
    """The answer to a question, after as many passes over the table as it takes."""
    step: Any = question
    while isinstance(step, Pass):
        step = step.then(table.fold(step))
    return step


class _CountRows(Pass):
    """How many rows there are."""

    def summarize(self, stripe: Stripe) -> int:
        return stripe.stop - stripe.start

    def merge(self, left: int, right: int) -> int:
        return left + right


@dataclass(frozen=True)
class _EveryRow(Pass):
    """Asks for one row in so many of each stripe, in pieces."""

    step: int

    def summarize(self, stripe: Stripe) -> list[Any]:
        return [np.array(stripe.rows[:: self.step], dtype=np.float64)]

    def merge(self, left: list[FloatArray], right: list[FloatArray]) -> list[FloatArray]:
        return left + right


@dataclass(frozen=True)
class _EverySetCell(_EveryRow):
    """Asks for the cells that were set from outside of the same rows."""

    def summarize(self, stripe: Stripe) -> list[Any]:
        cells = stripe.set_cells
        return [] if cells is None else [cells[:: self.step]]


@dataclass(frozen=True)
class _WithChecksum(Pass):
    """A question, and the checksum of the rows beside it."""

    question: Pass
    page: Rows
    """With all that is known of its rows beside them."""
    first: int
    """Number of its first row."""

    def summarize(self, stripe: Stripe) -> tuple[Any, int]:
        found, rows = self.question.summarize(stripe), slice(stripe.start, stripe.stop)
        return found, kernels.checksum(self.page[rows], self.first + stripe.start, 0)

    def merge(self, left: tuple[Any, int], right: tuple[Any, int]) -> tuple[Any, int]:
        return self.question.merge(left[0], right[0]), left[1] + right[1]


@dataclass(eq=False)
class MemoryTable(Table):
    """Rows in memory: views of one array, or what is left of its pages."""

    pages: list[Rows]
    names: tuple[str, ...]
    page_rows: int
    run: Run = field(default_factory=Run)
    ignored: tuple[str, ...] = ()
    is_complete: bool | None = None
    whole: Rows | None = None
    """The array that the pages are views of, if they are."""
    row_numbers: IntArray | None = None
    design: Design | None = None
    width: int | None = None
    """Columns of the pages that stripes are cut by, if not all of these are left."""
    sums: "dict[str, int] | None" = None
    """Where the next pass over these rows leaves their checksum, if somebody will ask for it."""
    is_stream = False

    @classmethod
    def of(
        cls, rows: Rows, names: Sequence[str], page_rows: int | None = None, run: Run | None = None
    ) -> "MemoryTable":
        """The rows of an array (rows, names), which is not copied."""
        height = default_page_rows(len(names)) if page_rows is None else page_rows
        settings = (tuple(names), height, Run() if run is None else run)
        return cls(cut_pages(rows, height), *settings, whole=rows)

    @property
    def array(self) -> Rows:
        """All rows, (rows, names)."""
        return split_page(self._all, self.design)[0]

    @property
    def set_cells(self) -> BoolArray | None:
        """Whether each cell was set from outside, (rows, names); None if none was."""
        known = split_page(self._all, self.design)[1]
        return None if self.design is None or known is None else self.design.set_cells(known)

    def stripe(self, values: Rows | None = None) -> Stripe:
        """All rows as one stripe, or other values with what is known of these rows."""
        own, known = split_page(self._all, self.design)
        rows = own if values is None else values
        return Stripe(rows, 0, len(rows), self.is_complete, self.design, known)

    @property
    def _all(self) -> Rows:
        """All rows and what is known of them."""
        if self.whole is not None:
            return self.whole
        joined: FloatArray = np.concatenate(self.pages)
        return joined

    @property
    def known_rows(self) -> int:
        """Number of rows."""
        return sum(len(page) for page in self.pages)

    @property
    def is_finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        return all(map(kernels.all_finite, self.pages))

    @property
    def budget(self) -> int:
        """A quarter of the rows' own size, and at least 64 MiB."""
        suits = max(1 << 23, self.known_rows * len(self.names) // 4)
        return suits if self.run.budget is None else self.run.budget

    def _fold(self, question: Pass) -> Any:
        """Threads take pages, or stripes where there is one page only."""
        if question.needs_all_rows:
            return question.summarize(self.stripe())
        unseen = self.is_complete is None
        if unseen and not question.shows_finite and not self.is_finite:
            raise NotFinite
        summary = self._summary(question)
        if unseen and question.shows_finite and not question.is_finite(summary):
            raise NotFinite
        self.is_complete = True if unseen else self.is_complete
        return summary

    def _summary(self, question: Pass) -> Any:
        """Takes the checksum on the way, while rows are in the cache, if nobody has it yet."""
        if self.sums is None or self.sums:
            return self._merged(lambda *_: question)
        summary, found = self._merged(partial(_WithChecksum, question))
        self.sums["rows"] = found
        return summary

    def _merged(self, question_of: Callable[[Rows, int], Pass]) -> Any:
        """The summary of a question that may know its page and the number of the first row."""
        layout, threads = Layout(self.design, self.width), self.run.threads
        starts = accumulate(map(len, self.pages), initial=0)
        asked = [question_of(page, first) for page, first in zip(self.pages, starts, strict=False)]
        if len(asked) == 1:
            return page_summary(asked[0], self.pages[0], threads, layout)
        pairs = list(zip(asked, self.pages, strict=True))
        found = thread_map(lambda pair: page_summary(*pair, layout=layout), pairs, threads)
        return merge_in_order(found, merge_known(asked[0].merge))

    def watched(self) -> Self:
        """These rows, whose checksum the next pass takes beside its question."""
        return replace(self, sums={})

    def checksum(self) -> int:
        """As the last pass over the rows found it, or found now."""
        if not self.sums:
            self.sums = {}
            self._summary(_CountRows()) if self.pages else self.sums.update(rows=0)
        return self.sums["rows"]

    def sample(self, rows: int) -> Self:
        """Runs of successive rows, evenly spread."""
        total, drawn = self.known_rows, []
        for page in self.pages:
            runs = max(1, round(rows * len(page) / (total * SAMPLE_RUN_ROWS)))
            height = min(SAMPLE_RUN_ROWS, len(page))
            starts = np.arange(runs) * (len(page) - height) // max(runs - 1, 1)
            drawn.append(page[(starts[:, None] + np.arange(height)).ravel()])
        return replace(self, pages=[np.concatenate(drawn)], whole=None, sums=None)

    def part(self, first: int, last: int) -> Self:
        """The rows first .. last alone."""
        return self._with_rows(self._all[first:last], self.is_complete)

    def only(self, selection: Selection, rows: int) -> Self:
        """Some columns alone, and the rows that serve their equations."""
        if self.is_complete is None:  # rows that lack a value would be left out without a word
            if not self.is_finite:
                raise NotFinite
            self.is_complete = True
        pages = [selection.rows_of(page, self.design) for page in self.pages]
        width = self._all.shape[1] if self.width is None else self.width
        changes = selected(self, selection)
        return replace(self, pages=pages, width=width, whole=None, sums=None, **changes)

    def complete(self, rows: int) -> Self:
        """Without the rows that lack a value."""
        numbers = np.flatnonzero(~np.isnan(self.array).any(axis=1))
        return replace(self._with_rows(self._all[numbers], True), row_numbers=numbers)

    def in_memory(self, purpose: str) -> "MemoryTable":
        """The table itself."""
        return self

    def as_source(self) -> Source:
        """All rows, as one chunk."""
        return ArraySource(self._all, self.ignored)

    def fingerprint(self) -> str:
        """SHA-256 of the numbers as little-endian float64, row by row.

        Examples
        --------
        >>> import hashlib, struct
        >>> expected = hashlib.sha256(struct.pack("<2d", 1, 2)).hexdigest()
        >>> MemoryTable.of(np.array([[1.0, 2.0]]), ["a", "b"]).fingerprint() == expected
        True
        """
        from hashlib import sha256

        found = sha256()
        for page in self.pages:
            for stripe in cut_stripes(page, Layout(self.design)):
                found.update(np.ascontiguousarray(stripe.rows, dtype="<f8").tobytes())
        return found.hexdigest()

    def surveyed(self, is_complete: bool) -> Self:
        """Known to be complete, or with NaN allowed."""
        return replace(self, is_complete=is_complete)

    def taken(self, numbers: IntArray) -> Self:
        """The rows of these numbers, in this order, as if they were all that was given."""
        return self._with_rows(self._all[numbers], None)

    def group(self, number: int) -> Self:
        """The rows of one group alone, in new pages."""
        assert self.design is not None
        known = np.asarray(split_page(self._all, self.design)[1])
        return self.taken(np.flatnonzero(self.design.column(known, "group") == number))

    def _with_rows(self, rows: Rows, is_complete: bool | None) -> Self:
        pages = cut_pages(rows, self.page_rows)
        design = uncounted(self.design)
        bare = replace(self, pages=pages, is_complete=is_complete, whole=rows, design=design)
        bare.sums = None
        return bare


class _Borrowed(NamedTuple):
    """A page and the buffer that it lies in."""

    page: FloatArray
    buffer: FloatArray


@dataclass(eq=False)
class FileTable(Table):
    """The rows first .. last of a source, read a page at a time by every pass.

    At most two more pages than threads are in memory. A fold gives the same as one over the same
    rows in memory.
    """

    source: Source
    names: tuple[str, ...]
    page_rows: int
    run: Run = field(default_factory=Run)
    ignored: tuple[str, ...] = ()
    is_complete: bool | None = None
    first: int = 0
    last: int | None = None
    drops_rows: bool = False
    """Whether rows with a missing value are dropped before rows are counted and pages cut."""
    selection: Selection | None = None
    """Columns to take alone, and rows, page by page."""
    counted: int | None = None
    """Number of rows, once it is known."""
    design: Design | None = None
    is_stream = True

    @property
    def is_in_memory(self) -> bool:
        """Whether no file is opened when the rows are read again."""
        return lies_in_memory(self.source)

    def are_same_files(self) -> bool:
        """Whether the rows are those of files that have not changed."""
        return check_files(self.source)

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if it is known without reading them."""
        if self.counted is None and not self.drops_rows and self.selection is None:
            known = self.source.count()
            if known is not None:
                last = known if self.last is None else min(self.last, known)
                self.counted = max(last - self.first, 0)
        return self.counted

    def _fold(self, question: Pass) -> Any:
        if question.needs_all_rows:
            return self.in_memory("this")._fold(question)
        partials: Partials[Any] = Partials()
        merge = merge_known(question.merge)
        for summary in self.page_summaries(question):
            partials = partials.add(summary, merge)
        return partials.total(merge) if partials.held else None

    def page_summaries(self, question: Pass) -> Iterator[Any]:
        """The summaries of the pages in order; None for those that have no row left."""
        layout = Layout(self.design, self.source.width)
        return self.map_pages(lambda page: page_summary(question, page, layout=layout))

    def map_pages(self, function: Callable[[Rows], Any]) -> Iterator[Any]:
        """What a function makes of each page, in order; None for pages that have no row left.

        Pages lie in buffers that are used again: what is to be kept of a page must be copied.
        """
        free: deque[FloatArray] = deque()
        seen = 0

        def work(borrowed: _Borrowed) -> tuple[int, Any]:
            page = self._view(borrowed.page)
            result = function(page) if len(page) else None
            free.append(borrowed.buffer)
            return len(page), result

        for rows, result in bounded_map(work, self._borrowed(free), self.run.threads):
            seen += rows
            yield result
        if self.counted is None:
            self.counted = seen

    def sample(self, rows: int) -> Self:
        """The first rows: others could only be had by reading all before them."""
        last = self.first + rows if self.last is None else min(self.first + rows, self.last)
        return replace(self, last=last, counted=None)

    def part(self, first: int, last: int) -> Self:
        """The rows first .. last alone."""
        design = uncounted(self.design)
        return replace(self, first=first, last=last, counted=last - first, design=design)

    def only(self, selection: Selection, rows: int) -> Self:
        """Some columns alone, and the rows that serve their equations."""
        changes = selected(self, selection)
        return replace(self, selection=selection, counted=rows, **changes)

    def complete(self, rows: int) -> Self:
        """Without the rows that lack a value."""
        design = uncounted(self.design)
        return replace(self, drops_rows=True, is_complete=True, counted=rows, design=design)

    def group(self, number: int) -> Self:
        """The rows of one group alone, in new pages."""
        assert self.design is not None
        column = self.source.width - self.design.width + self.design.parts.index("group")
        source = OneGroup(self.source, column, number)
        return replace(self, source=source, counted=None, design=uncounted(self.design))

    def in_memory(self, purpose: str) -> MemoryTable:
        """All rows in memory, if they are not too many."""
        rows = read_whole(self.source, purpose, self.run.largest_in_memory)
        table = MemoryTable.of(rows, self.names, self.page_rows, self.run)
        table.ignored, table.is_complete = self.ignored, self.is_complete
        table.design = self.design
        return table.complete(0) if self.drops_rows else table

    def as_source(self) -> Source:
        """The source, all of it."""
        return self.source

    def surveyed(self, is_complete: bool) -> Self:
        """Known to be complete, or with NaN allowed."""
        return replace(self, is_complete=is_complete)

    def notes_on_passes(self, passes: int) -> tuple[str, ...]:
        """That rows drift, if medians took more passes than one."""
        return drift_notes(passes)

    def _view(self, page: FloatArray) -> Rows:
        return page if self.selection is None else self.selection.rows_of(page, self.design)

    def _borrowed(self, free: deque[FloatArray]) -> Iterator[_Borrowed]:
        """Full pages and a last one that may be shorter, in buffers that are used again."""
        width, height = self.source.width, self.page_rows
        total = self.source.count()
        filled = seen = 0
        # Memory that is never written costs time too, where the system hands it out by large pages.
        buffer = np.empty((width, height if total is None else min(height, max(total, 1))))
        source = Complete(self.source) if self.drops_rows else self.source
        for chunk in source.chunks(self.first, self.last):
            rows, taken = len(chunk[0]) if width else 0, 0
            while taken < rows:
                if filled == buffer.shape[1]:  # more rows than were counted
                    buffer = np.concatenate((buffer, np.empty((width, height - filled))), axis=1)
                step = min(rows - taken, buffer.shape[1] - filled)
                target = slice(filled, filled + step)
                for column, values in enumerate(chunk):
                    self._copy(values[taken : taken + step], buffer[column, target])
                filled, taken, seen = filled + step, taken + step, seen + step
                if filled == height:
                    self._tell(seen, total)
                    yield _Borrowed(buffer.T, buffer)
                    buffer, filled = (free.popleft() if free else np.empty((width, height))), 0
            chunk.clear()
        if filled:
            self._tell(seen, total)
            yield _Borrowed(buffer[:, :filled].T, buffer)

    def _copy(self, values: NDArray[Any], target: FloatArray) -> None:
        """Copy a piece of a column, and look at it on the way unless somebody has."""
        if self.is_complete is not None:
            target[:] = values
        elif not kernels.copy_finite(values, target):
            raise NotFinite

    def _tell(self, seen: int, total: int | None) -> None:
        if self.run.progress is not None:
            self.run.progress(seen, total)


class Layout(NamedTuple):
    """What the columns of pages are."""

    design: Design | None = None
    """What is known of the rows, in the last columns."""
    width: int | None = None
    """Number of columns that stripes are cut by, if some were left out since."""


def page_summary(
    question: Pass,
    page: Rows,
    threads: int = 1,
    layout: Layout = Layout(),  # noqa: B008
) -> Any:
    """What a page says: its stripes summarised and merged; None if it has no row left."""
    if len(page) == 0:
        return None
    stripes = cut_stripes(page, layout)
    return merge_in_order(thread_map(question.summarize, stripes, threads), question.merge)


def selected(table: Table, selection: Selection) -> dict[str, Any]:
    """What a selection changes in what is said of a table."""
    names = tuple(table.names[column] for column in selection.columns.tolist())
    design = None if table.design is None else table.design.of_columns(selection.columns)
    is_complete = None if table.is_complete is None else True  # rows are looked at as they are read
    return {"names": names, "is_complete": is_complete, "design": design}


def drift_notes(passes: int) -> tuple[str, ...]:
    """That medians of a stream took more passes than one, and what that tells."""
    if passes <= 1:
        return ()
    return (
        f"the rows drift, so that exact medians took {passes} passes over them instead of one: "
        "are they in random order?",
    )


def default_page_rows(nodes: int) -> int:
    """Rows of a page: the largest power of two up to 65,536 that keeps it within 64 MiB.

    Never below 4,096; so up to 128 nodes a page has 65,536 rows.

    Examples
    --------
    >>> default_page_rows(100), default_page_rows(1_000), default_page_rows(10_000)
    (65536, 8192, 4096)
    """
    rows = LARGEST_PAGE_ROWS
    while rows > SMALLEST_PAGE_ROWS and rows * nodes * 8 > PAGE_BYTES:
        rows //= 2
    return rows


def check_page_rows(page_rows: int) -> None:
    """Refuse what is not a height."""
    if not isinstance(page_rows, int) or page_rows < 1:
        raise SettingError(f"a page holds at least 1 row, got page_rows={page_rows!r}")


def cut_pages(rows: Rows, page_rows: int) -> list[Rows]:
    """Views of the successive pages; the last one may be shorter.

    Examples
    --------
    >>> [len(page) for page in cut_pages(np.zeros((10, 2)), 4)]
    [4, 4, 2]
    """
    check_page_rows(page_rows)
    return [rows[first : first + page_rows] for first in range(0, len(rows), page_rows)]


def cut_stripes(page: Rows, layout: Layout = Layout()) -> list[Stripe]:  # noqa: B008
    """The page in stripes of nearly equal height, which its shape alone decides."""
    width = page.shape[1] if layout.width is None else layout.width
    fitting = STRIPE_BYTES // (8 * max(width, 1))
    height = min(max(fitting, SMALLEST_STRIPE_ROWS), LARGEST_STRIPE_ROWS)
    count = max(1, -(-len(page) // height))
    edges = [len(page) * index // count for index in range(count + 1)]
    values, known = split_page(page, layout.design)
    return [
        Stripe(values, start, stop, True, layout.design, known) for start, stop in pairwise(edges)
    ]
