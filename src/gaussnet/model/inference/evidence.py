"""Evidence and interventions, checked at the door."""

from collections.abc import Iterable, Mapping

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray
from gaussnet.errors import NetworkError
from gaussnet.graph.dag import Dag, shorten
from gaussnet.model import checks


def as_values(dag: Dag, given: object, what: str) -> tuple[IntArray, FloatArray]:
    """Positions and values of a mapping from nodes to finite numbers.

    Examples
    --------
    >>> as_values(Dag.parse("wet ~ rain"), {"rain": 2}, "evidence")
    (array([1]), array([2.]))
    """
    if not isinstance(given, Mapping):
        raise NetworkError(
            f"got {type(given).__name__} for the {what}, expected values by node such as "
            '{"wet": 2.0}: give a dict'
        )
    places = np.array([dag.position(node) for node in given], dtype=np.int64)
    values = [checks.finite_number(value, node, what) for node, value in given.items()]
    return places, np.array(values, dtype=np.float64)


def as_positions(dag: Dag, nodes: Iterable[str], observed: BoolArray) -> IntArray:
    """Positions of target nodes, none of them observed, each once."""
    places = [dag.position(node) for node in checks.as_names(nodes)]
    known = [dag.nodes[place] for place in places if observed[place]]
    if known:
        raise NetworkError(
            f"{shorten(known)} has a given value, so it cannot be a target: leave it out of one"
        )
    return np.array(places, dtype=np.int64)


def marked(dag: Dag, places: IntArray) -> BoolArray:
    """Which nodes stand at these places, (nodes,)."""
    mask = np.zeros(len(dag), dtype=bool)
    mask[places] = True
    return mask
