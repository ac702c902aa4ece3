"""Networks on disk: one JSON file, exact to the last digit, written whole or not at all."""

import json
import math
import os
from contextlib import suppress
from typing import Any

import numpy as np

from gaussnet.errors import FileError, GraphError
from gaussnet.files import read_bytes, suffix, write_bytes
from gaussnet.graph.dag import Dag
from gaussnet.types import FloatArray

FORMAT = "gaussnet-network"
VERSION = 1
OTHER_ENDINGS = (".csv", ".tsv", ".dot", ".gv", ".r", ".rds", ".gml", ".graphml", ".txt")
"""What says that a file holds no JSON."""

Path = str | os.PathLike[str]


def check_json(path: Path) -> None:
    """Refuse a file name that promises another format than JSON."""
    if suffix(path) in OTHER_ENDINGS:
        raise FileError(
            f"cannot save JSON as {os.fspath(path)!r}: give a name that ends in .json, or use "
            "gaussnet.write_network for other formats"
        )


def write_network(
    path: Path,
    dag: Dag,
    coefficients: FloatArray,
    variances: FloatArray,
    intercepts: FloatArray,
) -> None:
    """Write the numbers of a network, in the order of ``dag.edges`` and ``dag.nodes``."""
    parents: list[dict[str, float]] = [{} for _ in dag.nodes]
    owners = dag.families.family_of_edge.tolist()
    for owner, (parent, _), value in zip(owners, dag.edges, coefficients.tolist(), strict=True):
        parents[owner][parent] = value
    lines = [
        json.dumps(
            {"name": name, "intercept": intercept, "variance": variance, "parents": own},
            ensure_ascii=False,
            allow_nan=False,
        )
        for name, intercept, variance, own in zip(
            dag.nodes, intercepts.tolist(), variances.tolist(), parents, strict=True
        )
    ]
    head = f'{{\n"format": "{FORMAT}",\n"version": {VERSION},\n"nodes": [\n'
    text = head + ",\n".join(lines) + "\n]\n}\n"
    # A lone surrogate in a name passes through as json itself would write and read it.
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def read_network(path: Path) -> tuple[Dag, FloatArray, FloatArray, FloatArray]:
    """The graph, coefficients, variances and intercepts of a file that `write_network` wrote."""
    file = os.fspath(path)
    nodes = [_Node(file, index, entry) for index, entry in enumerate(_entries(file))]
    place = {node.name: index for index, node in enumerate(nodes)}
    parents = []
    coefficients: list[float] = []
    for node in nodes:
        own = sorted((node.parent_position(place, name), value) for name, value in node.parents)
        parents.append([position for position, _ in own])
        coefficients.extend(value for _, value in own)
    try:
        dag = Dag.from_parents([node.name for node in nodes], parents)
    except GraphError as problem:
        raise FileError(f"the graph in {file!r} does not hold: {problem}") from None
    return (
        dag,
        np.array(coefficients, dtype=np.float64),
        np.array([node.variance for node in nodes], dtype=np.float64),
        np.array([node.intercept for node in nodes], dtype=np.float64),
    )


class _Node:
    """One entry of the node list, checked."""

    def __init__(self, file: str, index: int, entry: object) -> None:
        self._where = f"node {index + 1} of {file!r}"
        fields = self._fields(entry)
        name = fields["name"]
        if not isinstance(name, str) or not name:
            raise FileError(f"{self._where} has the name {name!r}, expected a non-empty string")
        self.name = name
        self._where = f"node {name!r} of {file!r}"
        self.intercept = self._number("intercept", fields["intercept"])
        self.variance = self._number("variance", fields["variance"])
        own = fields["parents"]
        if not isinstance(own, dict):
            raise FileError(f"{self._where} has no parents by name: give {{name: coefficient}}")
        self.parents = [(key, self._number(f"coefficient of {key!r}", own[key])) for key in own]

    def parent_position(self, place: dict[str, int], parent: str) -> int:
        if parent not in place:
            raise FileError(
                f"{self._where} has the parent {parent!r}, which is not among the nodes: add it"
            )
        return place[parent]

    def _fields(self, entry: object) -> dict[str, object]:
        if not isinstance(entry, dict):
            raise FileError(
                f"{self._where} is {entry!r:.40}, expected an object with name, intercept, "
                "variance and parents"
            )
        for key in ("name", "intercept", "variance", "parents"):
            if key not in entry:
                raise FileError(f"{self._where} has no {key!r}: add it")
        return entry

    def _number(self, what: str, value: object) -> float:
        number = math.nan
        if isinstance(value, int | float) and not isinstance(value, bool):
            with suppress(OverflowError):
                number = float(value)
        if not math.isfinite(number):
            raise FileError(f"{self._where} has the {what} {value!r:.40}, expected a finite number")
        return number


def _entries(file: str) -> list[object]:
    """The node list of a file of this format and version."""
    content = _parsed(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"{file!r} is not a network: expected a JSON file with format {FORMAT!r}")
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(f"{file!r} has the version {version!r}, expected {VERSION}")
    if version > VERSION:
        raise FileError(
            f"{file!r} has version {version}, newer than {VERSION}: read it with a newer gaussnet"
        )
    nodes = content.get("nodes")
    if not isinstance(nodes, list):
        raise FileError(f"{file!r} has no list of nodes: expected the key 'nodes'")
    return nodes


def _parsed(file: str) -> object:
    raw = read_bytes(file)
    try:
        return json.loads(raw, object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{file!r} is not whole JSON ({problem}): save the network again") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} stands twice")
    return found


def _refuse_constant(text: str) -> float:
    raise ValueError(f"it holds {text}, which is not a number of JSON")
