"""`gaussnet simulate`: a random graph, a network on it, and rows, clean or spoilt, to files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console
from gaussnet.data.write import write_rows
from gaussnet.errors import SettingError
from gaussnet.model.files import check_ending
from gaussnet.seeds import children
from gaussnet.simulate import Contamination
from gaussnet.simulate.graphs import whole_number

MOST_NODES = 1_000_000
MOST_ROWS = 1_000_000_000
KINDS: dict[str, Callable[[int, float, np.random.SeedSequence], gn.Dag]] = {
    "erdos-renyi": lambda nodes, degree, seed: gn.simulate.erdos_renyi(nodes, degree, seed=seed),
    "scale-free": lambda nodes, degree, seed: gn.simulate.scale_free(nodes, degree, seed=seed),
    "tree": lambda nodes, degree, seed: gn.simulate.random_tree(nodes, seed=seed),
    "polytree": lambda nodes, degree, seed: gn.simulate.random_polytree(nodes, seed=seed),
    "chain": lambda nodes, degree, seed: gn.simulate.chain(nodes),
}


@dataclass(frozen=True, slots=True)
class Targets:
    """Where graph, network and rows go; None for nowhere."""

    graph: Path | None
    network: Path | None
    rows: Path | None

    def __post_init__(self) -> None:
        if self.graph is self.network is self.rows is None:
            raise SettingError("got no file to write: give --graph, --network or --out")


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was drawn."""

    network: gn.GaussianNetwork
    data: np.ndarray[Any, np.dtype[np.float64]]
    spoilt_rows: int

    def to_dict(self) -> dict[str, int]:
        """The counts, for JSON."""
        return {
            "nodes": len(self.network.dag),
            "edges": len(self.network.dag.edges),
            "rows": len(self.data),
            "spoilt_rows": self.spoilt_rows,
        }


def draw(
    kind: str, nodes: int, degree: float, rows: int, contamination: Contamination | None, seed: int
) -> Simulated:
    """Draw graph, coefficients, rows and wrong values, each from a stream of its own."""
    if kind not in KINDS:
        raise SettingError(f"got the graph {kind!r}, expected one of {', '.join(KINDS)}")
    whole_number("nodes", nodes, 1, MOST_NODES)
    whole_number("rows", rows, 0, MOST_ROWS)
    graph_seed, weight_seed, row_seed, spoil_seed = children(seed, 4)
    dag = KINDS[kind](nodes, degree, graph_seed)
    network = gn.simulate.random_network(dag, seed=weight_seed)
    data = network.sample(rows, seed=row_seed)
    if contamination is None:
        return Simulated(network, data, 0)
    spoilt = gn.simulate.contaminate(
        data,
        seed=spoil_seed,
        share=contamination.share,
        nodes=contamination.nodes,
        pattern=contamination.pattern,
        value=contamination.value,
        size=contamination.size,
    )
    return Simulated(network, spoilt.data, int(spoilt.rows.sum()))


def write(found: Simulated, targets: Targets) -> None:
    """Write what is asked for, each file whole or not at all."""
    if targets.network is not None:
        check_ending(targets.network)
    if targets.rows is not None:
        write_rows(targets.rows, found.network.dag.nodes, [found.data])
    if targets.graph is not None:
        gn.write_dag(found.network.dag, targets.graph)
    if targets.network is not None:
        gn.write_network(found.network, targets.network)


def show(found: Simulated, targets: Targets) -> None:
    """Print what went where."""
    page = console()
    counts = found.to_dict()
    page.print(
        f"{counts['nodes']} nodes, {counts['edges']} edges, {counts['rows']:,} rows, "
        f"{counts['spoilt_rows']:,} of them spoilt"
    )
    for what, path in (
        ("graph", targets.graph),
        ("network", targets.network),
        ("rows", targets.rows),
    ):
        if path is not None:
            page.print(f"{what} written to {path}")
