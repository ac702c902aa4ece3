"""`gaussnet sample` and `gaussnet simulate`: rows of saved and of random networks, to files."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import Steps, console, progress
from gaussnet.cli.saved_networks import parse_values
from gaussnet.data.table import default_page_rows
from gaussnet.data.write import write_csv, write_rows
from gaussnet.errors import SettingError
from gaussnet.graph.dag import counted
from gaussnet.model.checks import row_count, whole_number
from gaussnet.model.files import check_ending
from gaussnet.seeds import children, generator
from gaussnet.simulate import Contamination
from gaussnet.types import FloatArray

STANDARD_OUTPUT = "-"
MOST_NODES = 1_000_000
MOST_ROWS = 1_000_000_000
KINDS: dict[str, Callable[[int, float, np.random.SeedSequence], gn.Dag]] = {
    "erdos-renyi": lambda nodes, degree, seed: gn.simulate.erdos_renyi(nodes, degree, seed=seed),
    "scale-free": lambda nodes, degree, seed: gn.simulate.scale_free(nodes, degree, seed=seed),
    "tree": lambda nodes, degree, seed: gn.simulate.random_tree(nodes, seed=seed),
    "polytree": lambda nodes, degree, seed: gn.simulate.random_polytree(nodes, seed=seed),
    "chain": lambda nodes, degree, seed: gn.simulate.chain(nodes),
}


def write_sample(
    model: Path, rows: int, seed: int, out: str, do: list[str] | None = None
) -> dict[str, int | str]:
    """Draw rows from the network in a file and write them to another, or as CSV to stdout.

    Gives what was drawn and where it went. `do` are values set from outside, as in "wet=2".
    """
    network = gn.read_network(model)
    if do:
        dag = network.dag
        network = network.do(parse_values(do, "--do", dag.factors, dag.nodes))
    network.require_levels("rows can be drawn")
    pages = sample_pages(network, row_count(rows), seed)
    if out == STANDARD_OUTPUT:
        write_csv(sys.stdout.buffer, network.dag.nodes, pages)
        sys.stdout.flush()
    else:
        with progress(-(-rows // default_page_rows(len(network.dag)))) as tell:
            write_rows(out, network.dag.nodes, _told(pages, tell))
    return {"nodes": len(network.dag), "rows": rows, "seed": seed, "out": out}


def _told(pages: Iterator[FloatArray], tell: Steps) -> Iterator[FloatArray]:
    for page in pages:
        tell("writing rows")
        yield page


def sample_pages(network: gn.GaussianNetwork, rows: int, seed: int) -> Iterator[FloatArray]:
    """The rows of ``network.sample(rows, seed=seed)``, one page at a time.

    Examples
    --------
    >>> network = gn.networks.load("ecoli70")
    >>> [page.shape for page in sample_pages(network, 3, seed=0)]
    [(3, 46)]
    """
    stream = generator(seed)
    height = default_page_rows(len(network.dag))

    def pages() -> Iterator[FloatArray]:
        for start in range(0, rows, height):
            yield network.sample(min(height, rows - start), seed=stream)

    return pages()


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was drawn."""

    network: gn.GaussianNetwork
    data: FloatArray
    contaminated_rows: int

    def to_dict(self) -> dict[str, int]:
        """The counts, for JSON."""
        return {
            "nodes": len(self.network.dag),
            "edges": len(self.network.dag.arrows),
            "rows": len(self.data),
            "spoilt_rows": self.contaminated_rows,
        }


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Where graph, network and rows go; None for nowhere."""

    graph: Path | None
    network: Path | None
    rows: Path | None

    def __post_init__(self) -> None:
        if self.graph is self.network is self.rows is None:
            raise SettingError("got no file to write: give --graph, --network or --out")

    def write(self, found: Simulated) -> None:
        """Write what is asked for, each file whole or not at all."""
        if self.network is not None:
            check_ending(self.network)
        if self.rows is not None:
            write_rows(self.rows, found.network.dag.nodes, [found.data])
        if self.graph is not None:
            gn.write_dag(found.network.dag, self.graph)
        if self.network is not None:
            gn.write_network(found.network, self.network)


def simulate_rows(
    kind: str, nodes: int, degree: float, rows: int, contamination: Contamination | None, seed: int
) -> Simulated:
    """Draw graph, coefficients, rows and wrong values, each from a stream of its own."""
    if kind not in KINDS:
        raise SettingError(f"got the graph {kind!r}, expected one of {', '.join(KINDS)}")
    whole_number("nodes", nodes, 1, MOST_NODES)
    whole_number("rows", rows, 0, MOST_ROWS)
    graph_seed, weight_seed, row_seed, contamination_seed = children(seed, 4)
    dag = KINDS[kind](nodes, degree, graph_seed)
    network = gn.simulate.random_network(dag, seed=weight_seed)
    data = network.sample(rows, seed=row_seed)
    if contamination is None:
        return Simulated(network, data, 0)
    contaminated = gn.simulate.contaminate(
        data,
        seed=contamination_seed,
        share=contamination.share,
        nodes=contamination.nodes,
        pattern=contamination.pattern,
        value=contamination.value,
        size=contamination.size,
    )
    return Simulated(network, contaminated.data, int(contaminated.rows.sum()))


def print_simulated(found: Simulated, files: OutputFiles) -> None:
    """Print what went where."""
    page = console()
    counts = found.to_dict()
    page.print(
        f"{counted(counts['nodes'], 'node')}, {counted(counts['edges'], 'edge')}, "
        f"{counted(counts['rows'], 'row')}, "
        f"{counts['spoilt_rows']:,} of them contaminated"
    )
    for what, path in (
        ("graph", files.graph),
        ("network", files.network),
        ("rows", files.rows),
    ):
        if path is not None:
            page.print(f"{what} written to {path}")
