"""`gaussnet demo`: every method on clean and on contaminated rows of one random network."""

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

import gaussnet as gn
from gaussnet.cli.printing import progress
from gaussnet.graph.dag import counted
from gaussnet.planning.targets import information_limit
from gaussnet.seeds import children

CONTAMINATED_NODES = 5
METHODS = ("least-squares", "batch-average", "batch-median", "cauchy-tree", "cauchy", "robust")
"""Those that can differ: the network of "auto" is that of "robust"."""


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def demonstrate(nodes: int, rows: int, share: float, seed: int) -> Demonstration:
    """Simulate a network, contaminate some rows, and learn it with every method."""
    graph, weights, sample, contamination = children(seed, 4)
    dag = gn.simulate.erdos_renyi(nodes, degree=min(5, nodes - 1), seed=graph)
    truth = gn.simulate.random_network(dag, seed=weights)
    clean = truth.sample(rows, seed=sample)
    hit = min(CONTAMINATED_NODES, nodes)
    dirty = gn.simulate.contaminate(clean, share=share, nodes=hit, seed=contamination).data
    lines = []
    with progress(len(METHODS)) as tell:
        for method in METHODS:
            tell(method)
            from_clean = gn.fit(clean, dag, method, intercept=False)
            # a fit that trims rows finds its scale on the way
            scale = "mad" if from_clean.trimming is None else None
            from_dirty = gn.fit(dirty, dag, method, scale=scale, intercept=False)
            networks = (from_clean.network, from_dirty.network)
            lines.append(Line(method, *(gn.kl_divergence(truth, found) for found in networks)))
    limit = information_limit(dag, rows, intercept=False)
    return Demonstration(nodes, len(dag.edges), rows, share, hit, seed, limit, tuple(lines))


def print_demonstration(result: Demonstration) -> None:
    """Print the demonstration as a table."""
    table = Table(
        title=f"KL divergence from the truth: {counted(result.nodes, 'node')}, "
        f"{counted(result.edges, 'edge')}, "
        f"{counted(result.rows, 'row')}",
        caption=f"contaminated: {result.share:.0%} of the rows have {result.spoilt_nodes} values "
        "replaced by N(1000, 1); variances there by MAD, with robust by its own scale. "
        f"Limit for clean rows: {result.limit:.4f}",
    )
    table.add_column("method")
    table.add_column("clean rows", justify="right")
    table.add_column("contaminated rows", justify="right")
    for line in result.lines:
        table.add_row(line.method, f"{line.clean:.4f}", f"{line.spoilt:.4f}")
    Console().print(table)
