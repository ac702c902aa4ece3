"""Networks as CSV: one number a line.

==========  ===========  ======  =====
node        quantity     parent  value
==========  ===========  ======  =====
rain        intercept            2.0
rain        variance             1.0
wet         intercept            0.0
wet         variance             0.5
wet         coefficient  rain    1.5
==========  ===========  ======  =====

Nodes stand in their order; every one has an intercept and a variance.
"""

import math
from collections.abc import Iterator

from gaussnet.disk.cells import Line, join_line, split_lines
from gaussnet.errors import FileError
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork

HEADER = ("node", "quantity", "parent", "value")
QUANTITIES = ("intercept", "variance", "coefficient")

_Key = tuple[str, str, str]


def to_csv(network: GaussianNetwork) -> str:
    """The numbers of a network as CSV, all digits kept.

    Examples
    --------
    >>> dag = Dag.parse("wet ~ rain")
    >>> print(to_csv(GaussianNetwork.from_arrays(dag, [1.5], [0.5, 1.0])), end="")
    node,quantity,parent,value
    wet,intercept,,0.0
    wet,variance,,0.5
    wet,coefficient,rain,1.5
    rain,intercept,,0.0
    rain,variance,,1.0
    """
    return "".join(map(join_line, (HEADER, *_lines(network))))


def _lines(network: GaussianNetwork) -> Iterator[tuple[str, str, str, str]]:
    for node in network.dag.nodes:
        yield node, "intercept", "", repr(network.intercepts[node])
        yield node, "variance", "", repr(network.variances[node])
        for parent in network.dag.parents(node):
            yield node, "coefficient", parent, repr(network.coefficients[parent, node])


def from_csv(text: str, file: str) -> GaussianNetwork:
    """The network of a text that `to_csv` wrote; `file` is for messages."""
    lines = list(split_lines(text, file))
    if not lines or tuple(cell.lower() for cell in lines[0].cells) != HEADER:
        raise FileError(
            f"{file!r} is not a table of a network: expected the columns {', '.join(HEADER)} in "
            "this order"
        )
    values = _values(lines[1:], file)
    nodes = list(dict.fromkeys(node for node, _, _ in values))
    for node in nodes:
        for quantity in QUANTITIES[:2]:
            if (node, quantity, "") not in values:
                raise FileError(f"the node {node!r} of {file!r} has no {quantity}: add a line")
    edges = {(parent, node): values[node, kind, parent] for node, kind, parent in values if parent}
    return GaussianNetwork(
        Dag.from_edges(edges, nodes=nodes),
        edges,
        {node: values[node, "variance", ""] for node in nodes},
        {node: values[node, "intercept", ""] for node in nodes},
    )


def _values(lines: list[Line], file: str) -> dict[_Key, float]:
    values: dict[_Key, float] = {}
    for line in lines:
        where = f"line {line.number} of {file!r}"
        if len(line.cells) != len(HEADER):
            raise FileError(
                f"{where} has {len(line.cells)} cells, expected {len(HEADER)}: {', '.join(HEADER)}"
            )
        node, quantity, parent, value = line.cells
        if quantity not in QUANTITIES or not node:
            raise FileError(
                f"{where} has the node {node!r} and the quantity {quantity!r}, expected a name "
                f"and one of {', '.join(QUANTITIES)}"
            )
        if bool(parent) != (quantity == "coefficient"):
            raise FileError(
                f"{where} has the parent {parent!r}, expected one for a coefficient and none for "
                "other quantities"
            )
        if (node, quantity, parent) in values:
            raise FileError(f"{where} repeats the {quantity} of {node!r}: keep one line")
        values[node, quantity, parent] = _number(value, where)
    return values


def _number(cell: str, where: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FileError(f"{where} has the value {cell!r:.40}, expected a finite number")
    return number
