"""Running independent pieces of work on a few threads, results in order."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


def merge_in_order(items: Iterable[Item], merge: Callable[[Item, Item], Item]) -> Item:
    """Merge neighbours pairwise until one is left: a tree whose shape only the count decides.

    The items are taken one at a time, and only about log2(count) partial results are held.

    Examples
    --------
    >>> merge_in_order("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, Item]] = []
    for item in items:
        size, merged = 1, item
        while held and held[-1][0] == size:
            _, left = held.pop()
            merged = merge(left, merged)
            size *= 2
        held.append((size, merged))
    _, total = held.pop()
    while held:
        _, left = held.pop()
        total = merge(left, total)
    return total
