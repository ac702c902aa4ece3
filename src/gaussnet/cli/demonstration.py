"""`gaussnet demo`: every method on clean and on spoilt rows of one random network."""

import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

import gaussnet as gn
from gaussnet.cli.printing import progress
from gaussnet.methods.names import METHODS
from gaussnet.methods.robust.sequential_trim import Auto, SequentialTrim
from gaussnet.seeds import children

SPOILT_NODES = 5
SHOWN = tuple(method for method in METHODS if method is not Auto)  # its network is that of robust


@dataclass(frozen=True, slots=True)
class Line:
    """The KL divergence of one method from the truth, by what it learnt from."""

    method: str
    clean: float
    spoilt: float


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What was simulated and how each method fared."""

    nodes: int
    edges: int
    rows: int
    share: float
    spoilt_nodes: int
    seed: int
    limit: float
    """The information limit (edges + nodes) / (2 rows): what clean rows can give at best."""
    lines: tuple[Line, ...]

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(asdict(self), indent=2)


def run(nodes: int, rows: int, share: float, seed: int) -> Demonstration:
    """Simulate a network, spoil some rows, and learn it with every method."""
    graph, weights, sample, spoil = children(seed, 4)
    dag = gn.simulate.erdos_renyi(nodes, degree=min(5, nodes - 1), seed=graph)
    truth = gn.simulate.random_network(dag, seed=weights)
    clean = truth.sample(rows, seed=sample)
    spoilt_nodes = min(SPOILT_NODES, nodes)
    spoilt = gn.simulate.contaminate(clean, share=share, nodes=spoilt_nodes, seed=spoil).data
    lines = []
    with progress(len(SHOWN)) as tell:
        for method in SHOWN:
            tell(method.name)
            scale = None if issubclass(method, SequentialTrim) else "mad"
            from_clean = gn.fit(clean, dag, method(), intercept=False)
            from_spoilt = gn.fit(spoilt, dag, method(), scale=scale, intercept=False)
            clean_kl = gn.kl_divergence(truth, from_clean.network)
            lines.append(Line(method.name, clean_kl, gn.kl_divergence(truth, from_spoilt.network)))
    limit = (len(dag.edges) + nodes) / (2 * rows)
    return Demonstration(
        nodes, len(dag.edges), rows, share, spoilt_nodes, seed, limit, tuple(lines)
    )


def show(result: Demonstration) -> None:
    """Print the demonstration as a table."""
    table = Table(
        title=f"KL divergence from the truth: {result.nodes} nodes, {result.edges} edges, "
        f"{result.rows:,} rows",
        caption=f"spoilt: {result.share:.0%} of the rows have {result.spoilt_nodes} values "
        "replaced by N(1000, 1); variances there by MAD, with robust by its own scale. "
        f"Limit for clean rows: {result.limit:.4f}",
    )
    table.add_column("method")
    table.add_column("clean rows", justify="right")
    table.add_column("spoilt rows", justify="right")
    for line in result.lines:
        table.add_row(line.method, f"{line.clean:.4f}", f"{line.spoilt:.4f}")
    Console().print(table)
