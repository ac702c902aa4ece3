"""Objects of bnlearn in R's .rds files; the only place that knows the package rdata."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from gaussnet.errors import FileError
from gaussnet.files import Path, file_name, read_bytes, unpacked
from gaussnet.graph.formats import NodesAndEdges


def read_rds(path: Path) -> Any:
    """The R object in a file: named lists as mappings, vectors as arrays."""
    file, raw = file_name(path), read_bytes(path)
    try:
        from rdata import conversion, parser
    except ImportError:
        raise FileError(
            f"reading {file!r} needs the package rdata: install it, for instance with "
            "'pip install gaussnet[files]'"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of every class that it does not know
            return conversion.convert(parser.parse_data(_unpacked(raw, file)))
    except FileError:
        raise
    except Exception as problem:  # a foreign parser fails in any way on a broken file
        raise FileError(
            f"{file!r} is not a whole .rds file: write it again with saveRDS in R"
        ) from problem


def _unpacked(raw: bytes, file: str) -> bytes:
    """The bytes of an .rds file as R has them before it compresses."""
    for magic, module in ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "lzma")):
        if raw.startswith(magic):
            return unpacked(raw, import_module(module).open, file)
    return raw


def bn_parts(value: Any, file: str) -> NodesAndEdges:
    """The nodes and edges of a `bn` (nodes, arcs) or `bn.fit` (a list by node with parents).

    Examples
    --------
    >>> bn_parts({"nodes": {"a": {}, "b": {}}, "arcs": np.array(["a", "b"])}, "graph.rds")
    (('a', 'b'), [('a', 'b')])
    >>> bn_parts({"a": {"parents": []}, "b": {"parents": ["a"]}}, "fit.rds")
    (('a', 'b'), [('a', 'b')])
    """
    if isinstance(value, Mapping) and "arcs" in value and isinstance(value.get("nodes"), Mapping):
        ends = strings(value["arcs"])
        half = len(ends) // 2  # a matrix of two columns, column by column
        return tuple(value["nodes"]), list(zip(ends[:half], ends[half:], strict=True))
    fitted = fitted_nodes(value, file)
    edges = [(parent, name) for name in fitted for parent in strings(fitted[name]["parents"])]
    return tuple(fitted), edges


def fitted_nodes(value: Any, file: str) -> Mapping[str, Mapping[str, Any]]:
    """The list of a `bn.fit`, one entry with parents for each node."""
    is_fit = isinstance(value, Mapping) and all(
        isinstance(entry, Mapping) and "parents" in entry for entry in value.values()
    )
    if not is_fit or not value:
        raise FileError(
            f"{file!r} holds no network of bnlearn: expected an object of class 'bn' or 'bn.fit'"
        )
    return {str(name): entry for name, entry in value.items()}


def strings(value: Any) -> list[str]:
    """A character vector or matrix as strings, column by column; NULL is empty."""
    if value is None:
        return []
    return [str(one) for one in np.asarray(value).ravel(order="F")]
