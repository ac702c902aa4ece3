"""Networks as text: CSV, Graphviz DOT and the model text of lavaan."""

import math
import re
from collections.abc import Iterator
from typing import Literal, get_args

from gaussnet.errors import FileError, NetworkError, SettingError
from gaussnet.files import Line, join_line, split_lines
from gaussnet.graph.dag import Dag
from gaussnet.graph.formats.dot import COVARIANCE, dot_name
from gaussnet.model.network import GaussianNetwork

HEADER = ("node", "quantity", "parent", "value")
QUANTITIES = ("intercept", "variance", "coefficient", "covariance")

_Key = tuple[str, str, str]


def to_csv(network: GaussianNetwork) -> str:
    """The numbers of a network as CSV, all digits kept.

    A covariance stands at one of its nodes, the other in the column of parents.

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
    for (one, other), value in network.covariances.items():
        yield other, "covariance", one, repr(value)


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
    pairs = {
        quantity: {(a, b): number for (b, kind, a), number in values.items() if kind == quantity}
        for quantity in QUANTITIES[2:]
    }
    covariances = pairs["covariance"]
    dag = Dag.from_parts(nodes, pairs["coefficient"]).with_covariances(covariances)
    turned = covariances | {(b, a): value for (a, b), value in covariances.items()}
    return GaussianNetwork(
        dag,
        pairs["coefficient"],
        {node: values[node, "variance", ""] for node in nodes},
        {node: values[node, "intercept", ""] for node in nodes},
        {pair: turned[pair] for pair in dag.covariances},
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
        if bool(parent) != (quantity in QUANTITIES[2:]):
            raise FileError(
                f"{where} has the parent {parent!r}, expected one for a coefficient and none for "
                "other quantities"
            )
        turned = (parent, quantity, node) if quantity == "covariance" else None
        if (node, quantity, parent) in values or turned in values:
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


def to_dot(network: GaussianNetwork) -> str:
    """The network in DOT: edges are labelled with their coefficients.

    The exact numbers stand in the attributes `coefficient`, `intercept` and `variance`, which
    Graphviz passes over. `gaussnet.read_dag` reads the graph.

    Examples
    --------
    >>> from gaussnet.graph import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [1 / 3], [1.0, 0.5])
    >>> print(to_dot(network), end="")
    digraph {
      "a" [intercept="0.0", variance="1.0"];
      "b" [intercept="0.0", variance="0.5"];
      "a" -> "b" [label="0.333", coefficient="0.3333333333333333"];
    }
    """
    nodes = [
        f'  {dot_name(node)} [intercept="{network.intercepts[node]!r}", '
        f'variance="{network.variances[node]!r}"];\n'
        for node in network.dag.nodes
    ]
    edges = [
        f"  {dot_name(parent)} -> {dot_name(child)} "
        f'[label="{value:.3g}", coefficient="{value!r}"];\n'
        for (parent, child), value in network.coefficients.items()
    ]
    pairs = [
        f'  {dot_name(one)} -> {dot_name(other)} [{COVARIANCE}, label="{value:.3g}", '
        f'covariance="{value!r}"];\n'
        for (one, other), value in network.covariances.items()
    ]
    return "".join(("digraph {\n", *nodes, *edges, *pairs, "}\n"))


Values = Literal["free", "start", "fixed"]

# A letter, or a dot without a digit after it; then letters, digits, dots and underscores.
_NAME = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
_DOTS = re.compile(r"\.\.\.|\.\.\d+")
_RESERVED = re.compile(
    "if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|"
    "NA|NA_integer_|NA_real_|NA_complex_|NA_character_"
)


def to_lavaan(network: GaussianNetwork, values: Values = "free") -> str:
    """The lavaan model: regressions, intercepts ``~ 1`` and variances ``~~``, one a line."""
    if values not in get_args(Values):
        raise SettingError(f"got values={values!r}, expected 'free', 'start' or 'fixed'")
    dag = network.dag
    for node in dag.nodes:
        _check_name(node)
    lines = []
    for node in dag.nodes:
        terms = [
            _term(network.coefficients[parent, node], parent, values)
            for parent in dag.parents(node)
        ]
        lines += [f"{node} ~ {' + '.join(terms)}"] if terms else []
        lines.append(f"{node} ~ {_term(network.intercepts[node], '1', values)}")
        lines.append(f"{node} ~~ {_term(network.variances[node], node, values)}")
    pairs = network.covariances.items()
    lines += [f"{one} ~~ {_term(value, other, values)}" for (one, other), value in pairs]
    return "".join(f"{line}\n" for line in lines)


def _term(number: float, name: str, values: Values) -> str:
    if values == "free":
        return name
    return f"{number!r}*{name}" if values == "fixed" else f"start({number!r})*{name}"


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or _DOTS.fullmatch(name) or _RESERVED.fullmatch(name):
        raise NetworkError(
            f"lavaan cannot hold the node name {name!r}, and has no quotes for it: rename the node "
            "(letters, digits, '.' and '_', a letter first, no reserved word of R)"
        )
