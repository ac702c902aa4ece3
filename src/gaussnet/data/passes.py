"""Passes: questions that are asked of rows stripe by stripe, and how they are run."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gaussnet.data.design import Design, Part
from gaussnet.kernels.threads import available_threads
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

Progress = Callable[[int, int | None], None]
"""Told how many rows of a pass are read, and of how many if that is known. If it has a method
`begin`, that is told before each pass what it is for."""


@dataclass(frozen=True, slots=True)
class Run:
    """How passes run: threads, memory, thresholds, and who is told of the progress.

    Only the threads and the progress are settings of the public functions; tests force a way by
    the others. None of them changes an answer.
    """

    threads: int = field(default_factory=available_threads)
    progress: Progress | None = None
    budget: int | None = None
    """Values that summaries may keep at a time; by default what suits the table."""
    capacity: int | None = None
    """Values that a median of a stream keeps, at most; by default what suits their number."""
    sampled_rows: int = 4_000
    """With fewer rows medians keep all values: a sample would have to hold too many of them."""
    sampled_values: int = 1 << 21
    """So many values (16 MiB) are kept and searched faster than a sample says where to look."""
    largest_in_memory: int = 1 << 27
    """Values, 1 GiB, that are read whole where a method needs all rows at once."""
    largest_judged: int = 1 << 24
    """Values, 128 MiB, of files that the robust method reads whole."""
    sample_rows: int | None = None
    """Rows that the robust method learns from in memory where all are too many; by default what
    suits their number of columns."""
    largest_whole_bytes: int = 64 << 20
    """Files up to this size are read whole: the answer is the same, and they need not stay."""

    def begin(self, purpose: str) -> None:
        """Tell who watches the progress what the next pass is for."""
        begin = getattr(self.progress, "begin", None)
        if begin is not None:
            begin(purpose)


class Limits(NamedTuple):
    """What a method may know of a table before it asks: its size, and what summaries may keep."""

    rows: int | None
    """None if only reading them tells."""
    is_stream: bool
    """Whether rows are read anew by every pass, so that summaries must stay small."""
    run: Run


class Stripe(NamedTuple):
    """Rows start..stop of a page: the unit of work.

    Sums are over these rows; a batch or window belongs to the stripe that it begins in, and
    may run on beyond `stop` inside the page.
    """

    page: Rows
    start: int
    stop: int
    is_complete: bool | None = True
    """Whether no value is missing; False says that NaN marks missing cells, None that nobody has
    looked."""
    design: Design | None = None
    """What is known of the rows beside their values."""
    known: FloatArray | None = None
    """For each row of the page, as the design says."""

    @property
    def rows(self) -> Rows:
        """The stripe's own rows."""
        return self.page[self.start : self.stop]

    def column(self, part: Part) -> FloatArray | None:
        """What is known of each row under this title, (rows,); None if nothing is."""
        if self.design is None or self.known is None or not self.design.has(part):
            return None
        return self.design.column(self.known[self.start : self.stop], part)

    @property
    def weights(self) -> FloatArray | None:
        """The weight of each row, (rows,); None if all count alike."""
        return self.column("weight")

    @property
    def set_cells(self) -> BoolArray | None:
        """Whether each cell of the rows was set from outside, (rows, nodes); None if none was."""
        if self.design is None or self.known is None:
            return None
        return self.design.set_cells(self.known[self.start : self.stop])

    @property
    def regimes(self) -> IntArray | None:
        """The number of each row's set of targets, (rows,); None if no cell was set."""
        if self.design is None or self.known is None or not self.design.has("regime"):
            return None
        return self.design.regimes(self.known[self.start : self.stop])


class NotFinite(Exception):
    """The rows have missing or infinite values that nobody has looked at yet.

    Raised by a table while it is read, and caught where a fit decides what to do about them.
    """


class Pass(ABC):
    """One reading of all rows: a question, asked stripe by stripe.

    Passes are values: settings and what earlier passes have found.
    """

    __slots__ = ()
    needs_all_rows: ClassVar[bool] = False
    """Whether all rows must be one stripe, in memory."""
    purpose: str = ""
    """What the reading is for, in a word or two, for who watches the progress."""
    sample_rows: int | None = None
    """So many rows, instead of all, are enough."""
    shows_finite: bool = False
    """Whether `is_finite` says of the summary if all values were finite."""

    @abstractmethod
    def summarize(self, stripe: Stripe) -> Any:
        """All that these rows say of the answer."""

    @abstractmethod
    def merge(self, left: Any, right: Any) -> Any:
        """The summary of the rows of both, `left` before `right`."""

    def then(self, summary: Any) -> Any:
        """What to ask next, from the summary of all rows: another pass, or the answer.

        By default the summary is the answer.
        """
        return summary

    def is_finite(self, summary: Any) -> bool:
        """Whether the summary proves that no value was NaN or infinite."""
        return False


@dataclass(frozen=True)
class RegimeCounts(Pass):
    """Asks how many rows have each set of targets, (regimes,)."""

    count: int

    def summarize(self, stripe: Stripe) -> Any:
        """Rows of a stripe by regime."""
        assert stripe.regimes is not None
        return np.bincount(stripe.regimes, minlength=self.count)

    def merge(self, left: Any, right: Any) -> Any:
        """Rows of both."""
        return left + right


@dataclass(frozen=True)
class Together(Pass):
    """Several questions in one reading; the answers come as a tuple.

    A question that is answered before the others waits for them. Those that want a sample of the
    rows go first.
    """

    questions: tuple[Any, ...]
    """Passes, and answers where there already are some."""

    @property
    def purpose(self) -> str:  # type: ignore[override]
        """What the questions are for that are asked now."""
        return ", ".join(dict.fromkeys(one.purpose for one in self._asked() if one.purpose))

    @property
    def sample_rows(self) -> int | None:  # type: ignore[override]
        """As the first question that wants a sample."""
        wanted = (one.sample_rows for one in self._asked())
        return next((rows for rows in wanted if rows is not None), None)

    @property
    def shows_finite(self) -> bool:  # type: ignore[override]
        """Whether one of the questions shows it."""
        return any(one.shows_finite for one in self._asked())

    def is_finite(self, summary: tuple[Any, ...]) -> bool:
        """Whether a summary proves it."""
        pairs = zip(self._asked(), summary, strict=True)
        return any(one.shows_finite and one.is_finite(own) for one, own in pairs)

    def summarize(self, stripe: Stripe) -> tuple[Any, ...]:
        """The summaries of all questions that are asked now."""
        return tuple(one.summarize(stripe) for one in self._asked())

    def merge(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Merges each with its own."""
        triples = zip(self._asked(), left, right, strict=True)
        return tuple(one.merge(first, second) for one, first, second in triples)

    def then(self, summary: tuple[Any, ...]) -> Any:
        """The next questions, or all answers."""
        asked, found = self._asked(), iter(summary)
        steps = tuple(
            one.then(next(found)) if any(one is other for other in asked) else one
            for one in self.questions
        )
        return Together(steps) if any(isinstance(step, Pass) for step in steps) else steps

    def _asked(self) -> list[Pass]:
        passes = [one for one in self.questions if isinstance(one, Pass)]
        sampled = [one for one in passes if one.sample_rows is not None]
        return sampled[:1] or passes
