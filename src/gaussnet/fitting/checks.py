"""Checks of settings that several public functions share."""

from typing import Any

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import available_threads


def checked_dag(dag: Dag) -> Dag:
    """The graph, or one sentence on how to build one."""
    if not isinstance(dag, Dag):
        raise SettingError(
            f"got dag of type {type(dag).__name__}, expected a gaussnet.Dag: "
            "build one with Dag.from_edges, Dag.from_networkx or Dag.parse"
        )
    return dag


def thread_count(threads: int | None) -> int:
    """So many threads, or by default as many as there are processors."""
    if threads is None:
        return available_threads()
    if not isinstance(threads, int) or threads < 1:
        raise SettingError(
            f"got threads={threads!r}, expected at least 1 or None for all processors"
        )
    return threads


def check_level(level: Any, example: float = 0.95) -> None:
    """Refuse a level that is no chance."""
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise SettingError(
            f"got level={level!r}, expected a number between 0 and 1 such as {example}"
        )
