"""Running independent pieces of work on a few threads, and long work so that Ctrl-C is heard.

Python hears Ctrl-C only between two of its own instructions, and only in the main thread. So work
that compiled code does at length goes to a thread of its own, for which the main thread waits. When
the wait is interrupted the work is abandoned: its thread ends with the call that it is in, or with
the process, whichever comes first.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

WAIT_SECONDS = 0.5
"""How long a wait lasts at a time: Windows hears Ctrl-C between two waits only."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_threads() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Threads that do what is submitted, in order; leaving by an error abandons what is not done.

    Those of `concurrent.futures` would be waited for, even when the process ends.
    """

    def __init__(self, count: int) -> None:
        from queue import SimpleQueue  # not at the import of every command

        self._count = count
        self._is_open = True
        self._tasks: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        for _ in range(count):
            Thread(target=self._work, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._is_open = False
        for _ in range(self._count):
            self._tasks.put(None)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """What the function will have given."""
        from concurrent.futures import Future

        future: Future[Result] = Future()
        self._tasks.put((future, function, arguments))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and self._is_open:
            future, function, arguments = task
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
            del task, future, function, arguments


def _result(future: "Future[Result]") -> Result:
    """What the future gives, in waits that Ctrl-C can interrupt."""
    while True:
        try:
            return future.result(timeout=WAIT_SECONDS)
        except TimeoutError:
            if future.done():
                return future.result()


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function gives; the main thread leaves it alone when Ctrl-C is pressed.

    Examples
    --------
    >>> interruptible(max, 2, 3)
    3
    """
    if current_thread() is not main_thread():
        return function(*arguments)
    with Workers(1) as worker:
        return _result(worker.submit(function, *arguments))


def thread_map(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> Iterator[Result]:
    """Apply the function to every item, in order; one item or one thread starts no pool.

    Examples
    --------
    >>> list(thread_map(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    workers = min(threads, len(items))
    if workers <= 1:
        yield from map(function, items)
        return
    with Workers(workers) as pool:
        waiting = deque(pool.submit(function, item) for item in items)
        while waiting:
            yield _result(waiting.popleft())


def bounded_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Apply the function to items that are made one at a time, in order.

    At most one item more than there are threads is in hand; one thread starts no pool.

    Examples
    --------
    >>> list(bounded_map(abs, iter([-1, 2, -3]), threads=2))
    [1, 2, 3]
    """
    if threads <= 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with Workers(threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


@dataclass(frozen=True, slots=True)
class Partials(Generic[Item]):
    """Results of runs of items, longest first, each of a power of two of them.

    Items added one after the other, or in whole runs whose size is a power of two and whose
    first item stands at a multiple of it, end in the same tree of merges.
    """

    held: tuple[tuple[int, Item], ...] = ()

    @property
    def count(self) -> int:
        """Number of items."""
        return sum(size for size, _ in self.held)

    def add(
        self, item: Item, merge: Callable[[Item, Item], Item], size: int = 1
    ) -> "Partials[Item]":
        """With one more item, or with the result of `size` more."""
        held = list(self.held)
        while held and held[-1][0] == size:
            _, left = held.pop()
            item = merge(left, item)
            size *= 2
        return Partials((*held, (size, item)))

    def total(self, merge: Callable[[Item, Item], Item]) -> Item:
        """The result of all items."""
        *rest, (_, total) = self.held
        for _, left in reversed(rest):
            total = merge(left, total)
        return total


def merge_in_order(items: Iterable[Item], merge: Callable[[Item, Item], Item]) -> Item:
    """Merge neighbours pairwise until one is left: a tree whose shape only the count decides.

    The items are taken one at a time, and only about log2(count) partial results are held.

    Examples
    --------
    >>> merge_in_order("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    partials: Partials[Item] = Partials()
    for item in items:
        partials = partials.add(item, merge)
    return partials.total(merge)


def merge_known(merge: Callable[[Item, Item], Item]) -> Callable[[Any, Any], Any]:
    """The same merge, with None for what has nothing to say.

    Examples
    --------
    >>> merge_known(max)(None, 3), merge_known(max)(2, 3)
    (3, 3)
    """

    def merged(left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return merge(left, right)

    return merged
