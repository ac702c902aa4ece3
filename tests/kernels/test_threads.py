"""Merging depends on the count alone; threads keep the order."""

import threading

import pytest

from gaussnet.kernels.threads import merge_in_order, thread_map


def merge_level_by_level(items):
    """Neighbours pairwise, level after level: the obvious form of the tree."""
    level = list(items)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [f"({pair[0]}{pair[1]})" if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


@pytest.mark.parametrize("count", range(1, 40))
def test_merge_tree_is_the_one_built_level_by_level(count):
    items = [f"<{i}>" for i in range(count)]
    assert merge_in_order(items, lambda a, b: f"({a}{b})") == merge_level_by_level(items)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_the_order_of_the_items(threads):
    assert list(thread_map(lambda item: item * item, range(50), threads)) == [
        item * item for item in range(50)
    ]


def test_one_item_runs_in_the_calling_thread():
    [name] = thread_map(lambda _: threading.current_thread().name, [0], threads=8)
    assert name == threading.current_thread().name


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(thread_map(lambda item: 1 // item, [1, 0, 1], threads=2))
