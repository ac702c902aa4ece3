"""Rows on a Dask cluster: they stay on the workers, only summaries travel.

Rows are numbered across partitions, pages are cut by these numbers, and workers summarise runs of
2^k pages, each of which is a whole branch of the tree of merges. So the answer is that of one
machine, to the last bit, for any partitions, workers and lost workers.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from threading import Thread
from time import monotonic, sleep
from typing import Any, Protocol, Self

import numpy as np

from gaussnet import kernels
from gaussnet.data.codes import Codes, Recoded, recoded_rows
from gaussnet.data.columns import as_rows, column_indices, other_columns
from gaussnet.data.design import Design, Selection, uncounted
from gaussnet.data.labels import Beside, LabelList, open_labels
from gaussnet.data.passes import Pass, Run
from gaussnet.data.paths import files_of
from gaussnet.data.sources import (
    ArraySource,
    Chain,
    Complete,
    Source,
    is_source,
    open_source,
)
from gaussnet.data.study import Study
from gaussnet.data.table import FileTable, MemoryTable, Table, drift_notes, selected
from gaussnet.errors import DataError, SettingError
from gaussnet.kernels.threads import Partials, merge_known
from gaussnet.types import FloatArray

MOST_PAGES = 64
"""Pages that one task summarises, at most."""

CONNECT_SECONDS = 20

ALONE_SECONDS = 8
"""So long a cluster may be without a worker."""

ANSWER_SECONDS = 10
"""So long a scheduler may take to answer."""

TASKS_A_THREAD = 4
"""Tasks for each thread of the cluster, so that none waits long for the last."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Some successive rows on the cluster: a Dask object, or a file that workers open."""

    rows: int
    content: Any
    """A delayed array (rows, columns), or a delayed source."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Rows on a Dask cluster."""

    client: Any
    width: int
    partitions: tuple[Partition, ...]
    ignored: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(partition.rows for partition in self.partitions)

    def recoded(self, codes: Codes) -> "Cluster":
        """With NaN for the codes of missing values."""
        found = (
            replace(one, content=_task(recoded)(one.content, codes)) for one in self.partitions
        )
        return replace(self, partitions=tuple(found))

    def beside(self, known: FloatArray, used: tuple[str, ...]) -> "Cluster":
        """With what is known of each row, (rows, columns), after its values."""
        if len(known) != self.rows:
            raise DataError(
                f"there are {self.rows} rows, and {len(known)} values that say something of them: "
                "give one value for each row"
            )
        starts = [0, *accumulate(one.rows for one in self.partitions)]
        parts = tuple(
            replace(
                one, content=_task(beside)(one.content, _value(known[start : start + one.rows]))
            )
            for one, start in zip(self.partitions, starts, strict=False)
        )
        ignored = tuple(name for name in self.ignored if name not in used)
        width = self.width + known.shape[1]
        return replace(self, width=width, partitions=parts, ignored=ignored)

    def complete(self) -> "Cluster":
        """Without the rows that lack a value."""
        kept = [_task(complete)(one.content) for one in self.partitions]
        counts = _computed(self.client, [_task(rows_of)(one) for one in kept])
        found = (Partition(*one) for one in zip(counts, kept, strict=True))
        return replace(self, partitions=tuple(found))


@dataclass(eq=False)
class ClusterTable(Table):
    """The rows first .. last on a cluster; see `FileTable`."""

    cluster: Cluster
    names: tuple[str, ...]
    page_rows: int
    run: Run = field(default_factory=Run)
    ignored: tuple[str, ...] = ()
    is_complete: bool | None = None
    first: int = 0
    last: int | None = None
    selection: Selection | None = None
    counted: int | None = None
    """Number of rows, where some were dropped."""
    design: Design | None = None
    is_stream = True
    is_remote = True

    @property
    def known_rows(self) -> int:
        """Number of rows."""
        return self._end - self.first if self.counted is None else self.counted

    @property
    def _end(self) -> int:
        return self.cluster.rows if self.last is None else self.last

    def _fold(self, question: Pass) -> Any:
        """Workers summarise and merge; the threads are theirs."""
        if question.needs_all_rows:
            return self.in_memory("this")._fold(question)
        own = _value(packed(self._work(question)))
        runs = [_task(summarised)(own, *parts) for parts in self._runs()]
        found = unpacked(self._merged_runs(own, runs))
        if self.run.progress is not None:
            self.run.progress(self.rows, self.rows)
        return found

    def _work(self, question: Pass) -> "Work":
        """What workers do with their rows, whatever these are."""
        table = FileTable(
            ArraySource(np.empty((0, 0))),
            self.names,
            self.page_rows,
            Run(threads=1),
            is_complete=self.is_complete,
            selection=self.selection,
            design=self.design,
        )
        return Work(question, table)

    def _merged_runs(self, own: Any, runs: Sequence[Any]) -> bytes:
        """The summary of all rows, merged on the cluster in the tree of one machine."""
        *whole, last = runs
        tree: Partials[Any] = Partials()
        for run in whole:
            tree = tree.add(run, lambda left, right: _task(merged)(own, left, right))
        branches = [branch for _, branch in tree.held]
        (found,) = _computed(self.cluster.client, [_task(total)(own, branches, last)])
        return bytes(found)

    def sample(self, rows: int) -> Self:
        """The first rows, which are on few of the workers."""
        return replace(self, last=min(self.first + rows, self._end), counted=None)

    def part(self, first: int, last: int) -> Self:
        """The rows first .. last alone."""
        return replace(self, first=first, last=last, design=uncounted(self.design))

    def only(self, selection: Selection, rows: int) -> Self:
        """Some columns alone, and the rows that serve their equations."""
        return replace(self, selection=selection, counted=rows, **selected(self, selection))

    def complete(self, rows: int) -> Self:
        """Without the rows that lack a value."""
        design = uncounted(self.design)
        return replace(self, cluster=self.cluster.complete(), is_complete=True, design=design)

    def in_memory(self, purpose: str) -> MemoryTable:
        """Refused: rows are never brought to the client."""
        raise DataError(
            f"{purpose} needs all rows in memory, and those of a cluster stay on its workers: ask "
            "for another kind of errors, or fit a sample of the rows"
        )

    def as_source(self) -> Source:
        """Refused: rows are never brought to the client."""
        raise SettingError(
            "the rows of this fit are on a cluster: fit the old and the new ones there together"
        )

    def surveyed(self, is_complete: bool) -> Self:
        """Known to be complete, or with NaN allowed."""
        return replace(self, is_complete=is_complete)

    def notes_on_passes(self, passes: int) -> tuple[str, ...]:
        """That rows drift, if medians took more passes than one."""
        return drift_notes(passes)

    def mapped(self, work: "RowWork", keys: Sequence[Any] | None) -> Iterator[tuple[int, int, Any]]:
        """What workers make of some successive rows of a partition after the other.

        Gives the number of the partition, that of the first of the rows in it, and the result;
        `keys` has a source of keys for each partition.
        """
        own, batch = _value(packed(work)), []
        height = self.page_rows * self._pages_a_run(self.cluster.rows)
        most = TASKS_A_THREAD * (sum(self.cluster.client.nthreads().values()) or 1)
        for number, part in enumerate(self.cluster.partitions):
            labels = None if keys is None else keys[number]
            for first in range(0, part.rows, height):
                last = min(first + height, part.rows)
                batch.append((number, first, _task(worked)(own, part.content, labels, first, last)))
                if len(batch) == most:
                    yield from self._results(batch)
                    batch = []
        yield from self._results(batch)

    def _results(self, batch: Sequence[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
        found = _computed(self.cluster.client, [task for *_, task in batch])
        for (number, first, _), raw in zip(batch, found, strict=True):
            yield number, first, unpacked(raw)

    def _runs(self) -> Iterator[list[Any]]:
        """For each run of 2^k pages the slices of partitions that it is made of."""
        height = self.page_rows * self._pages_a_run(self._end - self.first)
        for start in range(self.first, self._end, height):
            yield list(self._slices(start, min(start + height, self._end)))

    def _pages_a_run(self, rows: int) -> int:
        threads = sum(self.cluster.client.nthreads().values()) or 1
        wanted = rows / self.page_rows / (TASKS_A_THREAD * threads)
        pages = 1
        while pages * 2 <= min(wanted, MOST_PAGES):
            pages *= 2
        return pages

    def _slices(self, first: int, last: int) -> Iterator[Any]:
        start = 0
        for partition in self.cluster.partitions:
            begin, end = max(first - start, 0), min(last - start, partition.rows)
            if begin < end:
                yield _task(slice_of)(partition.content, begin, end)
            start += partition.rows


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address."""
    try:
        from distributed import Client
    except ImportError:
        raise SettingError(
            "a cluster needs the package dask: install it, for instance with "
            "'pip install gaussnet[dask]'"
        ) from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as problem:
        raise SettingError(
            f"cannot reach a Dask scheduler at {address!r} ({problem}): give its address, as "
            "tcp://10.0.0.1:8786"
        ) from None
    with client:
        yield client


def open_cluster(
    data: Any,
    settings: tuple[tuple[str, ...], int, Run],
    client: Any,
    study: Study | None = None,
    codes: Codes = (),
) -> ClusterTable:
    """A Dask DataFrame or array, a file, a folder or a list of files, on a Dask cluster."""
    names = settings[0]
    if not hasattr(client, "nthreads"):
        raise SettingError(
            f"got client of type {type(client).__name__}, expected a distributed.Client"
        )
    check_workers(client)
    if not names:
        raise SettingError("the graph has no nodes, so a cluster has nothing to do: add some")
    if hasattr(data, "dask") and hasattr(data, "to_delayed"):
        frame = hasattr(data, "columns")
        cluster = (_open_frame if frame else _open_array)(data, names, client)
    elif is_source(data):
        cluster = _open_sources([data], client)
    else:
        cluster = _open_sources([open_source(file, names) for file in files_of(data)], client)
    if codes:
        cluster = cluster.recoded(codes)
    if study is None or study.is_empty:
        return ClusterTable(cluster, *settings, cluster.ignored)
    design, columns = study.open(data, names)
    parts = [np.column_stack(chunk) for chunk in Beside(columns).chunks()]
    cluster = cluster.beside(np.concatenate(parts), study.used)
    return ClusterTable(cluster, *settings, cluster.ignored, design=design)


def _open_sources(sources: Sequence[Source], client: Any) -> Cluster:
    contents = [_value(source) for source in sources]
    counts = _computed(client, [_task(rows_of)(content) for content in contents])
    partitions = (Partition(*one) for one in zip(counts, contents, strict=True))
    chain = Chain(tuple(sources))
    return Cluster(client, chain.width, tuple(partitions), chain.ignored)


def _open_frame(frame: Any, names: Sequence[str], client: Any) -> Cluster:
    from gaussnet.data.frames import frame_rows

    labels = [str(column) for column in frame.columns]
    indices = column_indices(labels, names)
    chosen = frame[[frame.columns[index] for index in indices]]
    frame_rows(chosen._meta, names)  # refuses what is no number
    first = frame[[frame.columns[indices[0]]]].to_delayed()
    counts = _computed(client, [_task(len)(part) for part in first])
    contents = [_task(_frame_array)(part, list(names)) for part in chosen.to_delayed()]
    partitions = (Partition(*one) for one in zip(counts, contents, strict=True))
    return Cluster(client, len(names), tuple(partitions), other_columns(labels, indices))


def partition_keys(data: Any, column: str) -> list[Any]:
    """Sources of the keys of each partition, opened by the workers; a missing column is refused."""
    if hasattr(data, "dask") and hasattr(data, "columns"):
        labels = [str(name) for name in data.columns]
        (index,) = column_indices(labels, [column])
        chosen = data[[data.columns[index]]].to_delayed()
        return [_task(frame_keys)(part, column) for part in chosen]
    if hasattr(data, "dask"):
        raise SettingError(
            f"got key={column!r} with a Dask array, whose columns have no names: give a DataFrame"
        )
    return [_value(open_labels(file, column, "key")) for file in files_of(data)]


def _frame_array(part: Any, names: list[str]) -> FloatArray:
    from gaussnet.data.frames import frame_rows

    return np.asarray(frame_rows(part, names).rows, dtype=np.float64)


def _open_array(array: Any, names: Sequence[str], client: Any) -> Cluster:
    if array.ndim != 2 or array.shape[1] != len(names):
        as_rows(np.empty((0,) * array.ndim), names)  # says what was expected
    blocks = array.rechunk({1: -1}).to_delayed().ravel()
    contents = [_task(as_rows)(block, list(names)) for block in blocks]
    counts = [int(count) for count in array.chunks[0]] if not np.isnan(array.chunks[0]).any() else (
        _computed(client, [_task(len)(block) for block in blocks])
    )  # fmt: skip
    partitions = (Partition(*one) for one in zip(counts, contents, strict=True))
    return Cluster(client, len(names), tuple(partitions))


def _task(function: Callable[..., Any]) -> Any:
    """The function as one that runs on the cluster."""
    from dask.delayed import delayed

    return delayed(function, pure=False)


def _value(value: Any) -> Any:
    """A value that is sent to the cluster once, as it is."""
    from dask.delayed import delayed

    return delayed(value, pure=False, traverse=False)


def _computed(client: Any, work: Sequence[Any]) -> list[Any]:
    """The results of some delayed work, computed on the cluster while somebody works there."""
    from distributed import KilledWorker, wait

    futures = client.compute(list(work))
    waiting = True
    while waiting:
        try:
            wait(futures, timeout=ALONE_SECONDS / 2)  # type: ignore[no-untyped-call]
            waiting = False
        except TimeoutError:
            present_workers(client)
    try:
        return list(client.gather(futures))
    except KilledWorker:
        raise SettingError(
            "the workers of the cluster died again and again over the same rows: give them more "
            "memory, or smaller pages"
        ) from None


def check_workers(client: Any) -> None:
    """Refuse a cluster whose workers would not give the answer of this process.

    Every worker is asked, before any work is sent, for its gaussnet and its kernels.
    """
    present_workers(client)
    own, found = worker_state(), _within(client, _ask_state)
    for worker, state in sorted(found.items()):
        if isinstance(state, OSError):
            raise SettingError(
                f"the worker {worker} was lost when it was asked: is it still there?"
            )
        if not isinstance(state, dict):
            raise SettingError(
                f"the worker {worker} has no gaussnet that works ({state!r:.200}): install "
                f"gaussnet {own['version']} there"
            )
        for key, what in (("version", "gaussnet"), ("kernels", "kernels")):
            if state[key] != own[key]:
                raise SettingError(
                    f"the worker {worker} has {what} {state[key]}, this process {own[key]}, which "
                    "would change the answer: use the same on all machines (docs/trust.md)"
                )


def _ask_state(client: Any) -> dict[str, Any]:
    # An expression in words: a function of ours could not be read where gaussnet is missing.
    words = "__import__('gaussnet.data.cluster', fromlist=['cluster']).worker_state()"
    found: dict[str, Any] = client.run(eval, words, on_error="return")
    return found


def present_workers(client: Any) -> list[str]:
    """The workers of a cluster; one sentence if there are none for some time."""
    start = monotonic()
    while True:
        workers = list(_within(client, lambda one: one.nthreads()))
        if workers:
            return workers
        if monotonic() - start > ALONE_SECONDS:
            raise SettingError(
                f"the cluster has had no worker for {ALONE_SECONDS} seconds: start some, for "
                "instance with 'dask worker ADDRESS'"
            )
        sleep(0.2)


def _within(client: Any, question: Callable[[Any], Any]) -> Any:
    """What a client answers, if it does so soon."""
    answers: list[Any] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(question(client))

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if not answers:
        raise SettingError(
            "the scheduler of the cluster does not answer: is it still there? Connect again with a "
            "new client"
        )
    return answers[0]


# The rest runs on the workers.


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


def worker_state() -> dict[str, str]:
    """The gaussnet and the kernels of this process, on which the bits of an answer depend."""
    import gaussnet

    build = "numpy"
    if kernels.backend == "native":
        from gaussnet.kernels import _native

        build = f"native {_native.builds()[0]}"
    return {"version": gaussnet.__version__, "kernels": build}


def packed(value: Any) -> bytes:
    """The value as bytes: arrays that travel in pieces of their own may come back unaligned."""
    import cloudpickle

    raw: bytes = cloudpickle.dumps(value, protocol=4)
    return raw


def unpacked(raw: bytes) -> Any:
    """The value that `packed` was given, by this process or a worker of the cluster."""
    return pickle.loads(raw)


@dataclass(frozen=True, eq=False)
class Work:
    """What workers do with the pages of their rows."""

    question: Pass
    table: FileTable
    """How pages are cut and looked at; the rows are those of the task."""

    def merge(self, left: Any, right: Any) -> Any:
        """The summary of the pages of both; None for pages that have no row left."""
        return merge_known(self.question.merge)(left, right)

    def pages(self, parts: Sequence[Any]) -> Iterator[Any]:
        """The summaries of the pages of some slices of partitions."""
        sources = tuple(part if isinstance(part, Part) else ArraySource(part) for part in parts)
        table = replace(self.table, source=Chain(sources), counted=None)
        return table.page_summaries(self.question)


def summarised(how: bytes, *parts: Any) -> bytes:
    """The summaries of a run of pages, merged as far as their number allows."""
    own: Work = unpacked(how)
    partials: Partials[Any] = Partials()
    for summary in own.pages(parts):
        partials = partials.add(summary, own.merge)
    return packed(partials)


def merged(how: bytes, left: bytes, right: bytes) -> bytes:
    """Two whole runs as one."""
    own: Work = unpacked(how)
    ((size, summary),) = unpacked(right).held
    return packed(unpacked(left).add(summary, own.merge, size))


def total(how: bytes, branches: list[bytes], last: bytes) -> bytes:
    """The summary of all rows, from whole branches and the last run."""
    own: Work = unpacked(how)
    found: Partials[Any] = Partials()
    for branch in (*branches, last):
        for size, summary in unpacked(branch).held:
            found = found.add(summary, own.merge, size)
    return packed(found.total(own.merge))


class RowWork(Protocol):
    """What is done with some rows, and with their keys if they have any."""

    def __call__(self, pages: Iterator[tuple[FloatArray, Any]]) -> Any:
        """The result of pages of successive rows, (rows, columns), and their keys, (rows,)."""


def worked(how: bytes, content: Any, keys: Any, first: int, last: int) -> bytes:
    """What becomes of the rows first .. last of a partition."""
    source = ArraySource(content) if isinstance(content, np.ndarray) else content
    if keys is not None:
        source = Beside((source, keys))
    width = source.width - (keys is not None)

    def pages() -> Iterator[tuple[FloatArray, Any]]:
        for chunk in source.chunks(first, last):
            numbers = [np.asarray(column, dtype=np.float64) for column in chunk[:width]]
            yield np.column_stack(numbers), None if keys is None else chunk[width]

    return packed(unpacked(how)(pages()))


def frame_keys(part: Any, column: str) -> LabelList:
    """The keys of a partition of a frame."""
    from gaussnet.data.frames import frame_labels

    return LabelList.of(frame_labels(part, column))


def slice_of(content: Any, first: int, last: int) -> Any:
    """Some rows of an array, or of a source that is not opened yet."""
    if isinstance(content, np.ndarray):
        return content[first:last]
    return Part(content, first, last)


def beside(content: Any, known: FloatArray) -> Any:
    """An array or a source with more columns."""
    if isinstance(content, np.ndarray):
        return np.column_stack((content, known))
    return Beside((content, ArraySource(known)))


def complete(content: Any) -> Any:
    """The rows of an array or a source that lack no value."""
    if isinstance(content, np.ndarray):
        return content[~np.isnan(content).any(axis=1)]
    return Complete.counted(content)


def recoded(content: Any, codes: Codes) -> Any:
    """An array or a source with NaN for the codes of missing values."""
    if isinstance(content, np.ndarray):
        return recoded_rows(content, codes)
    return Recoded(content, codes)


def rows_of(content: Any) -> int:
    """Number of rows of an array or a source, read if need be."""
    if isinstance(content, np.ndarray):
        return len(content)
    known: int | None = content.count()
    return sum(len(chunk[0]) for chunk in content.chunks()) if known is None else known
