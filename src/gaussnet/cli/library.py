"""`gaussnet networks`: the networks that come with the package, and importing others."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gaussnet import networks
from gaussnet.cli.printing import print_json


def show(as_json: bool) -> None:
    """Print the names of the networks and their sizes."""
    sizes = [(name, networks.load(name).dag) for name in networks.names()]
    entries = [
        {"name": name, "nodes": len(dag), "edges": len(dag.edges), "parents": dag.max_in_degree}
        for name, dag in sizes
    ]
    if as_json:
        Console().print_json(json.dumps(entries))
        return
    table = Table(title="Networks of gaussnet.networks.load", caption="bnlearn, CC BY-SA 3.0")
    table.add_column("name")
    for head in ("nodes", "edges", "parents, at most"):
        table.add_column(head, justify="right")
    for entry in entries:
        table.add_row(*(str(value) for value in entry.values()))
    Console().print(table)


def import_rds(file: Path, out: Path, as_json: bool) -> None:
    """Read a Gaussian network of bnlearn and save it as a model file."""
    from gaussnet import read_network, write_network

    network = read_network(file)
    write_network(network, out)
    nodes, edges = len(network.dag), len(network.dag.edges)
    if as_json:
        print_json({"nodes": nodes, "edges": edges, "out": str(out)})
        return
    Console().print(f"{nodes} nodes and {edges} edges written to {out}", soft_wrap=True)
