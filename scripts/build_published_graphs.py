"""Rebuild the graphs that the paper's program draws, from the seeds it names.

    python scripts/build_published_graphs.py

The program (github.com/YohannaWANG/CauchyEst, data.py) asks networkx for a random tree and for
Erdos-Renyi graphs with seed 5, whatever the repetition and the number of rows, and directs each
edge from the later to the earlier node. networkx 2 drew a tree from the Pruefer sequence of
Python's own generator; later versions do not, so the sequence is drawn here.
"""

import json
import random
from pathlib import Path

import networkx as nx

NODES = 100
SEED = 5
FILE = Path(__file__).parents[1] / "src/gaussnet/experiments/data/graphs.json"


def tree() -> nx.Graph:
    """The random tree of networkx 2 with this seed."""
    generator = random.Random(SEED)
    return nx.from_prufer_sequence([generator.choice(range(NODES)) for _ in range(NODES - 2)])


def erdos_renyi(degree: int) -> nx.Graph:
    """The Erdos-Renyi graph with edge probability d / (n - 1)."""
    return nx.erdos_renyi_graph(NODES, degree / (NODES - 1), seed=SEED)


def main() -> None:
    """Write the file: edges (parent, child), nodes counted from 0."""
    graphs = {"tree": tree(), "er2": erdos_renyi(2), "er5": erdos_renyi(5)}
    lines = [
        f" {json.dumps(name)}: {json.dumps(sorted([max(edge), min(edge)] for edge in graph.edges))}"
        for name, graph in graphs.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
