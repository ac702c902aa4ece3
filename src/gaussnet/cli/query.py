"""`gaussnet query`: what evidence and interventions say about the nodes of a network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gaussnet.errors import SettingError

Model = Annotated[Path, typer.Argument(help="A network: .json, .csv or .rds of bnlearn.")]
Several = list[str] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Means and standard deviations of nodes, given values and interventions."""

    given: dict[str, float]
    do: dict[str, float]
    level: float
    nodes: tuple[tuple[str, float, float, float, float], ...]
    """Name, mean, standard deviation, and the ends of the interval."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        heads = ("mean", "scale", "low", "high")
        nodes = {name: dict(zip(heads, rest, strict=True)) for name, *rest in self.nodes}
        return {"given": self.given, "do": self.do, "level": self.level, "nodes": nodes}


def query(
    model: Model,
    given: Annotated[
        Several, typer.Option(help="A known value, as wet=2; give it several times for more.")
    ] = None,
    do: Annotated[
        Several, typer.Option(help="A value set from outside, as rain=0; likewise.")
    ] = None,
    target: Annotated[
        Several, typer.Option(help="A node to answer for (all by default); likewise.")
    ] = None,
    level: Annotated[float, typer.Option(help="Chance that an interval holds the node.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = False,
) -> None:
    """Say what known values and interventions mean for the other nodes.

    Example: gaussnet query model.json --given wet=2 --do season=0 --target rain
    """
    from gaussnet.cli.printing import print_json

    answer = run(model, pairs(given, "--given"), pairs(do, "--do"), target, level)
    if as_json:
        print_json(answer.to_dict())
    else:
        show(answer)


def pairs(texts: Several, option: str) -> dict[str, float]:
    """Values by node from texts such as "wet=2"; a name may hold "=".

    Examples
    --------
    >>> pairs(["wet=2", "a=b=-1e3"], "--given")
    {'wet': 2.0, 'a=b': -1000.0}
    """
    found: dict[str, float] = {}
    for text in texts or ():
        name, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise SettingError(f"got {option} {text!r}, expected a node and a number as in wet=2")
        if name in found:
            raise SettingError(f"got {option} twice for the node {name!r}: give it once")
        found[name] = value
    return found


def run(
    model: Path, given: dict[str, float], do: dict[str, float], targets: Several, level: float
) -> Answer:
    """Read a network, intervene, condition."""
    import numpy as np
    from scipy.special import ndtri

    import gaussnet as gn

    if not 0.0 < level < 1.0:
        raise SettingError(f"got --level {level}, expected a number between 0 and 1 such as 0.95")
    network = gn.read_network(model)
    law = (network.do(do) if do else network).condition(given, targets=targets)
    scales = np.sqrt(law.variances)
    reach = scales * float(ndtri(0.5 + 0.5 * level))
    columns = (law.mean, scales, law.mean - reach, law.mean + reach)
    numbers = (column.tolist() for column in columns)
    return Answer(given, do, level, tuple(zip(law.names, *numbers, strict=True)))


def show(answer: Answer) -> None:
    """Print the answer as a table."""
    from gaussnet.cli.printing import number, print_table, shown

    parts = [f"{shown(name)} = {number(value)}" for name, value in answer.given.items()]
    parts += [f"do({shown(name)} = {number(value)})" for name, value in answer.do.items()]
    title = f"Given {', '.join(parts)}" if parts else "Without evidence"
    heads = ("node", "mean", "standard deviation", f"low ({answer.level:.4g})", "high")
    print_table(title, heads, answer.nodes)
