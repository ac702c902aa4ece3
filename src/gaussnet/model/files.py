"""Networks in files: the format goes by the ending of the file's name.

The own format is one JSON file, exact to the last digit. Every file is written whole or not at
all.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gaussnet.errors import FileError, GaussnetError, GraphError, NetworkError
from gaussnet.files import (
    Path,
    file_name,
    not_utf8,
    read_bytes,
    read_text,
    suffix,
    write_bytes,
    write_text,
)
from gaussnet.graph.dag import Dag, edge_names, indicator, shorten
from gaussnet.graph.formats.rds import read_rds
from gaussnet.model.formats.bnlearn import from_bnlearn, to_bnlearn
from gaussnet.model.formats.text import from_csv, to_csv, to_dot
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.seen import SavedVerdict, Seen, is_finite_number
from gaussnet.types import FloatArray

FORMAT = "gaussnet-network"
VERSION, WITH_COVARIANCES = 1, 2
"""A network with covariances has a version of its own, which older programs must not read."""
OTHER_ENDINGS = (".csv", ".tsv", ".dot", ".gv", ".r", ".rds", ".gml", ".graphml", ".txt")
"""Endings which say that a file holds no JSON."""


def read_network(path: Path) -> GaussianNetwork:
    """Read a network from a file.

    ``.json`` as `GaussianNetwork.save` writes it, ``.csv`` with one number a line, ``.rds`` with
    a Gaussian `bn.fit` of bnlearn (needs rdata).

    Examples
    --------
    >>> import os, tempfile
    >>> from gaussnet.graph import Dag
    >>> path = os.path.join(tempfile.mkdtemp(), "garden.csv")
    >>> network = GaussianNetwork.from_arrays(Dag.parse("wet ~ rain"), [1.5], [0.5, 1.0])
    >>> write_network(network, path)
    >>> read_network(path) == network
    True
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _READERS:
        raise FileError(
            f"cannot tell the format of {file!r}: expected a network in a file whose name ends in "
            f"{', '.join(_READERS)}"
        )
    try:
        return _READERS[ending](file)
    except FileError:
        raise
    except GaussnetError as problem:
        raise FileError(f"the network in {file!r} does not hold: {problem}") from None


class LearntHow(NamedTuple):
    """What a file says of how its network was learnt."""

    method: str | None = None
    missing_values: tuple[float, ...] = ()
    """Numbers that stood for a missing value."""

    @property
    def fields(self) -> str:
        """The lines of a JSON file that say so."""
        codes = [code for code in self.missing_values if math.isfinite(code)]  # as JSON has them
        known = {"method": self.method, "missing_values": codes}
        return "".join(f'"{key}": {json.dumps(own)},\n' for key, own in known.items() if own)


def write_network(
    network: GaussianNetwork,
    path: Path,
    *,
    rows: Mapping[str, int] | None = None,
    method: str | None = None,
    missing_values: Iterable[float] = (),
) -> None:
    """Write a network to a file, whole or not at all.

    ``.json`` and ``.csv`` keep every digit and are read by `read_network`; ``.dot`` and ``.gv``
    are for Graphviz; ``.R`` is a script that makes a `bn.fit` of bnlearn. `rows` says from how many
    rows each node was learnt: a ``.json`` file keeps that, for `gaussnet check`. It also keeps the
    name of the `method`, and `missing_values`, numbers that stood for a missing value in the rows
    (by default those that the network knows of): commands that read rows beside the network then
    take them for missing too.
    """
    file = file_name(path)
    ending = suffix(file)
    if not isinstance(network, GaussianNetwork):
        raise NetworkError(
            f"got a {type(network).__name__}, expected a gaussnet.GaussianNetwork: of a fit give "
            "fit.network, or call fit.save_network(path)"
        )
    check_ending(file)
    if ending == ".json":
        save_json(network, file, rows, LearntHow(method, tuple(map(float, missing_values))))
        return
    if ending == ".csv" and network.dag.factors:
        raise FileError(
            f"cannot write {file!r}: CSV has no place for the levels of "
            f"{shorten(list(network.dag.factors))}, so give a name that ends in .json"
        )
    try:
        text = _WRITERS[ending](network)
    except GaussnetError as problem:
        raise FileError(f"cannot write {file!r}: {problem}") from None
    write_text(file, text)


def check_ending(path: Path) -> None:
    """Refuse a file name whose ending says no format that `write_network` knows."""
    file = file_name(path)
    if suffix(file) not in (".json", *_WRITERS):
        raise FileError(
            f"cannot write a network as {file!r}: expected a name that ends in .json, "
            f"{', '.join(_WRITERS)}"
        )


def save_json(
    network: GaussianNetwork,
    path: Path,
    rows: Mapping[str, int] | None = None,
    how: LearntHow | None = None,
) -> None:
    """Write a network as JSON, one node a line, all digits kept.

    Edges that are covariances are listed, and stand among the parents as the others do.
    """
    if suffix(path) in OTHER_ENDINGS:
        raise FileError(
            f"cannot save JSON as {file_name(path)!r}: give a name that ends in .json, or use "
            "gaussnet.write_network for other formats"
        )
    nodes, seen = network.dag.nodes, network.seen
    how = how or LearntHow()
    if seen is not None and not how.missing_values:
        how = how._replace(missing_values=seen.missing_values)
    coefficients = iter(network.coefficient_array.tolist())
    lines = []
    constants, variances = network.intercept_array.tolist(), network.variance_array.tolist()
    families = zip(nodes, network.dag.families.parent_lists, constants, variances, strict=True)
    for node, parents, constant, variance in families:
        entry: dict[str, Any] = {
            "name": node,
            "intercept": constant,
            "variance": variance,
            "parents": {nodes[parent]: next(coefficients) for parent in parents},
        } | ({} if rows is None else {"rows": int(rows[node])})
        entry |= {} if seen is None else seen.fields(network.dag.position(node))
        lines.append(json.dumps(entry, ensure_ascii=False, allow_nan=False))
    more = how.fields
    more += '"column_order": true,\n' if network.dag.has_column_order else ""
    if seen is not None and seen.verdict is not None:
        more += f'"verdict": {json.dumps(seen.verdict.fields, ensure_ascii=False)},\n'
    pairs = network.dag.covariances
    if pairs:
        more += f'"covariances": {json.dumps(pairs, ensure_ascii=False)},\n'
    if network.dag.factors:
        more += f'"factors": {json.dumps(dict(network.dag.factors), ensure_ascii=False)},\n'
    version = WITH_COVARIANCES if pairs or network.dag.factors else VERSION
    head = f'{{\n"format": "{FORMAT}",\n"version": {version},\n{more}"nodes": [\n'
    text = head + ",\n".join(lines) + "\n]\n}\n"
    # A lone surrogate in a name passes through as json itself would write and read it.
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def read_json(path: Path) -> tuple[Dag, FloatArray, FloatArray, FloatArray, Seen | None]:
    """The graph, coefficients, variances and intercepts of a file that `save_json` wrote.

    And what was seen in the rows that they were learnt from, if the file says so.
    """
    file = file_name(path)
    content = _content(file)
    entries, has_column_order = content["nodes"], content.get("column_order") is True
    nodes = [_Node(file, index, entry) for index, entry in enumerate(entries)]
    positions = {node.name: index for index, node in enumerate(nodes)}
    parents = []
    coefficients: list[float] = []
    for node in nodes:
        own = sorted((node.parent_position(positions, name), value) for name, value in node.parents)
        parents.append([position for position, _ in own])
        coefficients.extend(value for _, value in own)
    try:
        dag = Dag.from_parents([node.name for node in nodes], parents)
        dag = _marked(dag, content.get("covariances", [])).with_column_order(has_column_order)
        dag = replace(dag, factors=_factors(content.get("factors", {}), dag))
    except GraphError as problem:
        raise FileError(f"the graph in {file!r} does not hold: {problem}") from None
    return (
        dag,
        np.array(coefficients, dtype=np.float64),
        np.array([node.variance for node in nodes], dtype=np.float64),
        np.array([node.intercept for node in nodes], dtype=np.float64),
        Seen.of(
            dag,
            {node.name: node.entry for node in nodes},
            _codes(file, content),
            SavedVerdict.of(content["verdict"]) if "verdict" in content else None,
        ),
    )


def learnt_rows(path: Path) -> dict[str, int] | None:
    """From how many rows each node of a saved network was learnt; None if the file does not say."""
    if suffix(path) != ".json":
        return None
    file = file_name(path)
    found = {}
    for entry in _content(file)["nodes"]:
        rows = entry.get("rows") if isinstance(entry, dict) else None
        if rows is None:
            return None
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise FileError(
                f"node {entry.get('name')!r} of {file!r} has the rows {rows!r:.40}, expected a "
                "whole number of 1 or more"
            )
        found[str(entry.get("name"))] = rows
    return found


def learnt_how(path: Path) -> LearntHow:
    """How a saved network was learnt, as far as its file says it.

    Examples
    --------
    >>> import os, tempfile
    >>> from gaussnet.graph import Dag
    >>> path = os.path.join(tempfile.mkdtemp(), "garden.json")
    >>> network = GaussianNetwork.from_arrays(Dag.parse("wet ~ rain"), [1.5], [0.5, 1.0])
    >>> write_network(network, path, method="robust", missing_values=[-999])
    >>> learnt_how(path)
    LearntHow(method='robust', missing_values=(-999.0,))
    """
    if suffix(path) != ".json":
        return LearntHow()
    file = file_name(path)
    content = _content(file)
    method = content.get("method")
    if not isinstance(method, str | None):
        raise FileError(
            f"{file!r} has the method {method!r:.40}, expected a name: save the network again"
        )
    return LearntHow(method, _codes(file, content))


def _codes(file: str, content: Mapping[str, Any]) -> tuple[float, ...]:
    """Numbers that stand for a missing value."""
    codes = content.get("missing_values", [])
    if not isinstance(codes, list) or not all(map(is_finite_number, codes)):
        raise FileError(
            f"{file!r} has the missing_values {codes!r:.40}, expected a list of numbers: save the "
            "network again"
        )
    return tuple(map(float, codes))


def _factors(factors: object, dag: Dag) -> dict[str, tuple[str, ...]]:
    """Categories by name, with levels whose indicators are nodes."""
    if not isinstance(factors, dict) or not all(isinstance(own, list) for own in factors.values()):
        raise GraphError("its factors are no lists of levels by name: save the network again")
    found = {name: tuple(map(str, levels)) for name, levels in factors.items()}
    missing = [
        indicator(name, level)
        for name, levels in found.items()
        for level in levels[1:]
        if indicator(name, level) not in dag
    ]
    if missing:
        raise GraphError(f"it has no nodes {missing[:3]} for its factors: save the network again")
    return found


def _marked(dag: Dag, covariances: object) -> Dag:
    """The graph with some of its edges known as covariances."""
    if not covariances:
        return dag
    if not isinstance(covariances, list):
        raise GraphError("its covariances are no list of pairs of nodes: save the network again")
    pairs = {edge_names(pair) for pair in covariances}
    arrows = [edge for edge in dag.edges if edge not in pairs]
    marked = Dag.from_edges(arrows, nodes=dag.nodes).with_covariances(pairs)
    if marked.edges != dag.edges:
        raise GraphError("its covariances are not among its edges: save the network again")
    return marked


class _Node:
    """One entry of the node list, checked."""

    def __init__(self, file: str, index: int, entry: object) -> None:
        self._where = f"node {index + 1} of {file!r}"
        self.entry = fields = self._fields(entry)
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

    def parent_position(self, positions: dict[str, int], parent: str) -> int:
        if parent not in positions:
            raise FileError(
                f"{self._where} has the parent {parent!r}, which is not among the nodes: add it"
            )
        return positions[parent]

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


def _content(file: str) -> dict[str, Any]:
    """What is in a file of this format and version, with a list of nodes."""
    content = _parsed(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"{file!r} is not a network: expected a JSON file with format {FORMAT!r}")
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(f"{file!r} has the version {version!r}, expected {VERSION}")
    if version > WITH_COVARIANCES:
        raise FileError(
            f"{file!r} has version {version}, newer than {WITH_COVARIANCES}: read it with a newer "
            "gaussnet"
        )
    if not isinstance(content.get("nodes"), list):
        raise FileError(f"{file!r} has no list of nodes: expected the key 'nodes'")
    return content


def _parsed(file: str) -> object:
    text = read_json_text(file)
    try:
        return json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{file!r} is not whole JSON ({problem}): save the network again") from None


def read_json_text(file: str) -> str:
    """The text of a UTF-8 file; half characters in names pass, as json itself would read them."""
    raw = read_bytes(file)
    try:
        return raw.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError as problem:
        raise not_utf8(raw, file, problem.start) from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r:.80} stands twice")
    return found


def _refuse_constant(text: str) -> float:
    raise ValueError(f"it holds {text}, which is not a number of JSON")


_READERS: dict[str, Callable[[str], GaussianNetwork]] = {
    ".json": GaussianNetwork.load,
    ".csv": lambda file: from_csv(read_text(file), file),
    ".rds": lambda file: from_bnlearn(read_rds(file), file),
}
_WRITERS: dict[str, Callable[[GaussianNetwork], str]] = {
    ".csv": to_csv,
    ".dot": to_dot,
    ".gv": to_dot,
    ".r": to_bnlearn,
}
