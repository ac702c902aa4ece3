"""Pages: runs of successive rows of a fixed height.

Batches and windows never cross the edge of a page, and summaries of pages merge in a tree
that only their number decides. So the answer depends on the page height and on nothing else:
not on how a source was chunked, nor on who summarised which page."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gaussnet import kernels
from gaussnet.data.sources import Chunk, Complete, Source
from gaussnet.errors import DataError, SettingError
from gaussnet.kernels.threads import Partials, bounded_map
from gaussnet.types import FloatArray, IntArray, Rows

LARGEST_PAGE_ROWS = 65_536
SMALLEST_PAGE_ROWS = 4_096
PAGE_BYTES = 64 * 1024 * 1024


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
    >>> import numpy as np
    >>> [len(page) for page in cut_pages(np.zeros((10, 2)), 4)]
    [4, 4, 2]
    """
    check_page_rows(page_rows)
    return [rows[first : first + page_rows] for first in range(0, len(rows), page_rows)]


Progress = Callable[[int, int | None], None]
"""Told how many rows of a pass are read, and of how many if that is known."""


class NotFinite(Exception):
    """A page has missing or infinite values: not an error yet, but a reason to look closer."""


def _add(left: int, right: int) -> int:
    return left + right


class _Borrowed(NamedTuple):
    """A page and the buffer that it lies in."""

    page: FloatArray
    buffer: FloatArray


LEARNING_RUNS = (1, 3, 12, 48)
"""Pages that are summarised before what they say is told to a `Learner`."""


@runtime_checkable
class Learner(Protocol):
    """Summarises pages, and does it with less work if it knows what earlier ones say."""

    def __call__(self, page: Rows) -> Any:
        """The summary of a page."""
        ...

    def after(self, summary: Any) -> "Learner":
        """What summarises the pages after those of this summary."""
        ...


class LazyPages(Protocol):
    """Pages that are read when a fold asks for them."""

    @property
    def known_rows(self) -> int | None:
        """Number of rows in all pages, if it is known without reading them."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows in all pages; read to the end if nothing else tells."""
        ...

    def part(self, first: int, last: int) -> Self:
        """Pages of the rows first .. last alone."""
        ...

    def only(self, columns: IntArray, rows: int) -> Self:
        """The same pages with these columns alone, without the rows that lack one of them."""
        ...

    def fold(
        self, summarize: Callable[[Rows], Any], merge: Callable[[Any, Any], Any], threads: int
    ) -> Any:
        """The summary of all pages."""
        ...


@dataclass(frozen=True, eq=False)
class StreamedPages:
    """Pages of the rows first .. last of a source.

    At most two more pages than threads are in memory. A fold over these pages gives the
    same as one over the same rows in memory.
    """

    source: Source
    page_rows: int
    first: int = 0
    last: int | None = None
    complete: bool = False
    """Whether rows with a missing value are dropped before rows are counted and pages cut."""
    columns: IntArray | None = None
    """Columns to take alone, dropping rows that lack one of them page by page."""
    checked: bool = False
    """Whether a page with a value that is not finite ends the fold with `NotFinite`."""
    progress: Progress | None = None
    _counted: list[int] = field(default_factory=list)

    @property
    def known_rows(self) -> int | None:
        """Number of rows in all pages, if it is known without reading them."""
        if not self._counted and not self.complete and self.columns is None:
            known = self.source.count()
            if known is not None:
                last = known if self.last is None else min(self.last, known)
                self._counted.append(max(last - self.first, 0))
        return self._counted[0] if self._counted else None

    @property
    def rows(self) -> int:
        """Number of rows in all pages; read to the end if nothing else tells."""
        if self.known_rows is None:
            self.fold(len, _add, 1)
        return self._counted[0]

    def part(self, first: int, last: int) -> "StreamedPages":
        """Pages of the rows first .. last alone."""
        return replace(self, first=first, last=last, _counted=[last - first])

    def only(self, columns: IntArray, rows: int) -> "StreamedPages":
        """The same pages with these columns alone, without the rows that lack one of them."""
        return replace(self, columns=columns, checked=False, _counted=[rows])

    def fold(
        self, summarize: Callable[[Rows], Any], merge: Callable[[Any, Any], Any], threads: int
    ) -> Any:
        """The summary of all pages.

        A `Learner` hears after the first 1, 4, 16 and 64 pages what they say, while no other
        is at work: the same for any number of threads.
        """
        partials: Partials[Any] = Partials()
        reading = _Reading(self)
        for most in (*LEARNING_RUNS, None) if isinstance(summarize, Learner) else (None,):
            if partials.held and isinstance(summarize, Learner):
                summarize = summarize.after(partials.total(merge))
            for summary in reading.summaries(summarize, threads, most):
                partials = partials.add(summary, merge)
        if not partials.held:
            raise DataError("the data have no rows: give at least one")
        return partials.total(merge)

    def summaries(self, summarize: Callable[[Rows], Any], threads: int) -> Iterator[Any]:
        """The summaries of the pages in order, without those that have no row left."""
        yield from _Reading(self).summaries(summarize, threads)

    def _view(self, page: FloatArray) -> FloatArray:
        if self.columns is None:
            return page
        chosen = page[:, self.columns]
        return np.asarray(chosen[~np.isnan(chosen).any(axis=1)])

    def _borrowed(self, free: deque[FloatArray]) -> Iterator[_Borrowed]:
        """Full pages and a last one that may be shorter, in buffers that are used again."""
        width, height = self.source.width, self.page_rows
        total = self.source.count()
        filled = seen = 0
        buffer = np.empty((width, height))
        for chunk in self._chunks():
            rows, taken = len(chunk[0]) if width else 0, 0
            while taken < rows:
                step = min(rows - taken, height - filled)
                place = slice(filled, filled + step)
                for column, values in enumerate(chunk):
                    self._copy(values[taken : taken + step], buffer[column, place])
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
        """Copy a piece of a column, and look at it on the way."""
        if not self.checked:
            target[:] = values
        elif not kernels.copy_finite(values, target):
            raise NotFinite

    def _tell(self, seen: int, total: int | None) -> None:
        if self.progress is not None:
            self.progress(seen, total)

    def _chunks(self) -> Iterator[Chunk]:
        rows = Complete(self.source, -1) if self.complete else self.source
        yield from rows.chunks(self.first, self.last)


class _Reading:
    """One pass over pages, some at a time, which ends by telling them how many rows there were."""

    def __init__(self, pages: StreamedPages) -> None:
        self.pages, self.rows = pages, 0
        self.free: deque[FloatArray] = deque()
        self.borrowed = pages._borrowed(self.free)

    def summaries(
        self, summarize: Callable[[Rows], Any], threads: int, most: int | None = None
    ) -> Iterator[Any]:
        """The summaries of the next pages, of all if there is no `most`, in order."""

        def work(borrowed: _Borrowed) -> tuple[int, Any]:
            page = self.pages._view(borrowed.page)
            summary = summarize(page) if len(page) else None
            self.free.append(borrowed.buffer)
            return len(page), summary

        for rows, summary in bounded_map(work, islice(self.borrowed, most), threads):
            self.rows += rows
            if rows:
                yield summary
        if most is None and not self.pages._counted:
            self.pages._counted.append(self.rows)
