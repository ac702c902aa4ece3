"""Summaries in files: a .npz of plain arrays with a JSON header, never pickled objects."""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from gaussnet.errors import FileError
from gaussnet.files import Path, file_name, read_bytes, whole_file
from gaussnet.fitting.medians import PageMedians
from gaussnet.fitting.states import States
from gaussnet.fitting.summaries import Summary
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import Partials
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import CauchyTree
from gaussnet.methods.least_squares import LeastSquares, Moments
from gaussnet.methods.medians.brackets import Brackets
from gaussnet.types import FloatArray

FORMAT, VERSION = "gaussnet summary", 2
METHODS = {kind.name: kind for kind in (LeastSquares, BatchAverage, BatchMedian, CauchyTree)}

Arrays = dict[str, Any]


def save(summary: Summary, path: Path) -> None:
    """Write a summary, whole or not at all."""
    states = summary.states
    header = {
        "format": FORMAT,
        "version": VERSION,
        "nodes": list(summary.dag.nodes),
        "edges": [list(edge) for edge in summary.dag.edges],
        "method": {"name": summary.method.name, "settings": asdict(summary.method)},
        "intercept": summary.intercept,
        "page_rows": summary.page_rows,
        "missing": summary.missing,
        "dropped": summary.dropped,
        "closed": len(summary.closed),
        "sizes": [size for size, _ in summary.partials.held],
    }
    arrays: Arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    runs = (*summary.closed, *(state for _, state in summary.partials.held))
    for place, state in enumerate(runs):
        arrays |= {f"{place}/{key}": value for key, value in _to_arrays(states, state).items()}
    if summary.tail is not None:
        arrays["tail"] = summary.tail
    with whole_file(path) as stream:
        np.savez(stream, **arrays)


def load_summary(path: Path) -> Summary:
    """Read a summary that `Summary.save` wrote.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gaussnet as gn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "monday.npz")
    >>> dag = gn.Dag.parse("wet ~ rain")
    >>> gn.summarize([[1.0, 0.0], [3.0, 1.0], [5.5, 2.0]], dag).save(path)
    >>> gn.load_summary(path)
    Summary(2 nodes, 3 rows, method='least-squares', 3 rows inside)
    """
    file = file_name(path)
    raw = read_bytes(file)
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return _summary(dict(arrays))
    except _OtherVersion as problem:
        raise FileError(
            f"{file!r} has version {problem} of the format of summaries, expected {VERSION}: "
            "read it with the gaussnet that wrote it, or summarize the rows again"
        ) from None
    except Exception as problem:  # a broken archive fails in any way
        raise FileError(
            f"{file!r} is not a whole summary: write it again with summary.save"
        ) from problem


class _OtherVersion(Exception):
    """A version that is not known."""


def _summary(arrays: Arrays) -> Summary:
    header = json.loads(arrays["header"].tobytes().decode())
    _require(header["format"] == FORMAT)
    if header["version"] != VERSION:
        raise _OtherVersion(header["version"])
    dag = Dag.from_edges([tuple(edge) for edge in header["edges"]], nodes=header["nodes"])
    method = METHODS[header["method"]["name"]](**header["method"]["settings"])
    states = States(dag, method, bool(header["intercept"]))
    closed, sizes = int(header["closed"]), [int(size) for size in header["sizes"]]
    found = [_from_arrays(states, _part(arrays, place)) for place in range(closed + len(sizes))]
    held = tuple(zip(sizes, found[closed:], strict=True))
    for size, state in held:
        _require(states.rows(state) == size * int(header["page_rows"]))
    _require(len(_keys(arrays)) == closed + len(sizes))
    tail = arrays.get("tail")
    if tail is not None:
        _require(tail.dtype == np.float64 and tail.ndim == 2 and tail.shape[1] == len(dag))
        _require(bool(np.isfinite(tail).all()) and len(tail) < int(header["page_rows"]))
    return Summary(
        states, int(header["page_rows"]), header["missing"], tuple(found[:closed]),
        Partials(held), tail, int(header["dropped"]),
    )  # fmt: skip


def _to_arrays(states: States, state: Any) -> Arrays:
    if isinstance(states.method, LeastSquares):
        return _of_moments(state)
    if isinstance(states.method, BatchAverage):
        return _of_moments(state[1]) | {"sums": state[0]}
    kept = {f"brackets/{key}": value for key, value in state.summary.to_arrays().items()}
    return _of_moments(state.moments) | kept


def _from_arrays(states: States, arrays: Arrays) -> Any:
    moments = _to_moments(states, arrays)
    edges = len(states.dag.families.parents)
    if isinstance(states.method, LeastSquares):
        return moments
    if isinstance(states.method, BatchAverage):
        sums: FloatArray = arrays["sums"]
        _require(sums.shape == (3, edges) and sums.dtype == np.float64)
        return sums, moments
    brackets = Brackets.from_arrays(_part(arrays, "brackets"))
    values, starts = brackets.kept.whole
    _require(len(brackets.used) == edges == len(starts) - 1)
    _require(starts[0] == 0 and bool((np.diff(starts) >= 0).all()) and starts[-1] == len(values))
    return PageMedians(brackets, moments)


def _of_moments(moments: Moments) -> Arrays:
    rows = np.array([moments.rows], dtype=np.int64)
    return {"rows": rows, "means": moments.means, "products": moments.products}


def _to_moments(states: States, arrays: Arrays) -> Moments:
    families = states.equations.families
    means, products = arrays["means"], arrays["products"]
    _require(means.shape == (len(families.columns),) and means.dtype == np.float64)
    _require(products.shape == (families.product_offsets[-1],) and products.dtype == np.float64)
    (rows,) = arrays["rows"].tolist()
    _require(rows >= 1)
    return Moments(families, rows, means, products)


def _part(arrays: Mapping[str, Any], place: int | str) -> Arrays:
    start = f"{place}/"
    return {
        key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)
    }


def _keys(arrays: Mapping[str, Any]) -> set[str]:
    """The places that arrays are kept for."""
    return {key.partition("/")[0] for key in arrays if "/" in key}


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
