"""Running independent pieces of work on a few threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_threads() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


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
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


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
