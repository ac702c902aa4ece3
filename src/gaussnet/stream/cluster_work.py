"""What the workers of a cluster do: summarise runs of pages and merge what they found."""

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gaussnet._types import IntArray, Rows
from gaussnet.kernels.threads import Partials
from gaussnet.stream.source import ArraySource, Chain, Complete, Source
from gaussnet.stream.streamed import StreamedPages


class Fold:
    """What workers do with pages."""

    def __init__(
        self,
        summarize: Callable[[Rows], Any],
        merge: Callable[[Any, Any], Any],
        page_rows: int,
        columns: IntArray | None,
        checked: bool,
    ) -> None:
        self.summarize, self.merge = summarize, merge
        self.page_rows, self.columns, self.checked = page_rows, columns, checked


class Part:
    """Rows first .. last of a source that a worker opens itself."""

    def __init__(self, source: Source, first: int, last: int) -> None:
        self.source, self.first, self.last = source, first, last
        self.width, self.ignored = source.width, source.ignored

    def count(self) -> int:
        """Number of rows."""
        return self.last - self.first

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Any]:
        """The rows first .. last of these."""
        end = self.last if last is None else self.first + last
        yield from self.source.chunks(self.first + first, end)


def packed(value: Any) -> bytes:
    """The value as bytes: arrays that travel in pieces of their own may come back unaligned."""
    import cloudpickle

    raw: bytes = cloudpickle.dumps(value, protocol=4)
    return raw


def unpacked(raw: bytes) -> Any:
    """The value that `packed` was given, by this process or a worker of the cluster."""
    return pickle.loads(raw)


def summarised(how: bytes, *parts: Any) -> bytes:
    """The states of a run of pages: partial results, or a list where pages may be empty."""
    own: Fold = unpacked(how)
    sources = tuple(part if isinstance(part, Part) else ArraySource(part) for part in parts)
    pages = StreamedPages(Chain(sources), own.page_rows, columns=own.columns, checked=own.checked)
    states = pages.summaries(own.summarize, 1)
    if own.columns is not None:
        return packed(list(states))
    partials: Partials[Any] = Partials()
    for state in states:
        partials = partials.add(state, own.merge)
    return packed(partials)


def merged(how: bytes, left: bytes, right: bytes) -> bytes:
    """Two whole runs as one."""
    own: Fold = unpacked(how)
    ((size, state),) = unpacked(right).held
    return packed(unpacked(left).add(state, own.merge, size))


def total(how: bytes, branches: list[bytes], last: bytes) -> bytes:
    """The state of all rows, from whole branches and the last run."""
    own: Fold = unpacked(how)
    found: Partials[Any] = Partials()
    for branch in (*branches, last):
        for size, state in unpacked(branch).held:
            found = found.add(state, own.merge, size)
    return packed(found.total(own.merge))


def slice_of(content: Any, first: int, last: int) -> Any:
    """Some rows of an array, or of a source that is not opened yet."""
    if isinstance(content, np.ndarray):
        return content[first:last]
    return Part(content, first, last)


def complete(content: Any) -> Any:
    """The rows of an array or a source that lack no value."""
    if isinstance(content, np.ndarray):
        return content[~np.isnan(content).any(axis=1)]
    return Complete.of(content)


def rows_of(content: Any) -> int:
    """Number of rows of an array or a source, read if need be."""
    if isinstance(content, np.ndarray):
        return len(content)
    known: int | None = content.count()
    return sum(len(chunk[0]) for chunk in content.chunks()) if known is None else known
