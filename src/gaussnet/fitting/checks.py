"""Checks of settings that several public functions share."""

from collections.abc import Collection

from gaussnet.errors import GraphError, SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import available_threads


def thread_count(threads: int | None) -> int:
    """So many threads, or by default as many as there are processors."""
    if threads is None:
        return available_threads()
    if not isinstance(threads, int) or threads < 1:
        raise SettingError(
            f"got threads={threads!r}, expected at least 1 or None for all processors"
        )
    return threads


def check_labels(dag: Dag, columns: Collection[str]) -> None:
    """Refuse a label that is a column of the data: in R ``y ~ a*b`` asks for an interaction.

    Examples
    --------
    >>> check_labels(Dag.parse("y ~ slope*x"), ["time"])
    """
    for label, (parent, child) in dag.labels.items():
        if label in columns:
            raise GraphError(
                f"{label!r} is a column of the data and stands as a label before '*' at the edge "
                f"{parent} -> {child}: interactions are not part of a linear Gaussian network, so "
                f"write '{label} + {parent}' for both, or rename the label"
            )
