"""Summaries in files: a .npz of plain arrays with a JSON header, never pickled objects."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gaussnet.data.codes import checked_codes
from gaussnet.data.study import Weights
from gaussnet.errors import FileError
from gaussnet.files import Path, file_name, read_bytes, too_large, whole_file
from gaussnet.fitting.summaries import PageSummary, Summary
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import Partials
from gaussnet.methods.names import METHODS, class_at

if TYPE_CHECKING:
    from gaussnet.fitting.robust_summaries import RobustSummary

FORMAT, VERSION, WITH_TARGETS, WITH_COVARIANCES = "gaussnet summary", 2, 3, 4
WITH_CHECKS, WITH_CODES, ROBUST = 5, 6, 7
NEWEST = ROBUST
"""Summaries that know of interventions, covariances, products of all pairs and rows by node, or
numbers that stand for a missing value, and those for the robust method, have versions of their own,
which older programs must not read."""

Arrays = dict[str, Any]


def save(summary: Summary, path: Path) -> None:
    """Write a summary, whole or not at all."""
    with whole_file(path) as stream:
        np.savez(stream, **summary.to_arrays())


def robust_arrays(summary: "RobustSummary") -> Arrays:
    """A summary for the robust method as plain arrays by name."""
    from gaussnet.fitting.robust_summary_files import to_arrays, to_header

    header = _graph_header(summary.dag, ROBUST) | to_header(summary)
    return {"header": _encoded(header)} | to_arrays(summary)


def _graph_header(dag: Dag, version: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": version,
        "nodes": list(dag.nodes),
        "column_order": dag.has_column_order,
        "edges": [list(edge) for edge in dag.arrows],
        "covariances": [list(pair) for pair in dag.covariances],
        "factors": {name: list(levels) for name, levels in dag.factors.items()},
    }


def _encoded(header: dict[str, Any]) -> Any:
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def sum_arrays(summary: PageSummary) -> Arrays:
    """A summary of sums as plain arrays by name."""
    question = summary.question
    header = _graph_header(summary.dag, _version(summary)) | {
        "method": {"name": summary.method.name, "settings": asdict(cast(Any, summary.method))},
        "intercept": summary.intercept,
        "page_rows": summary.page_rows,
        "missing": summary.missing,
        "dropped": summary.dropped,
        "closed": len(summary.closed),
        "sizes": [size for size, _ in summary.partials.held],
        "targets": None if summary.targets is None else summary.targets.tolist(),
        "interventions": summary.interventions,
        "for_checks": summary.for_checks,
        "weights": None if summary.weights is None else asdict(summary.weights),
        "missing_values": list(summary.missing_values),
    }
    arrays: Arrays = {"header": _encoded(header)}
    runs = (*summary.closed, *(own for _, own in summary.partials.held))
    for index, own in enumerate(runs):
        parts = question.to_arrays(own).items()
        arrays |= {f"{index}/{key}": value for key, value in parts}
    if summary.tail is not None:
        arrays["tail"] = summary.tail
    return arrays


def _version(summary: PageSummary) -> int:
    if summary.missing_values:
        return WITH_CODES
    if summary.for_checks or summary.weights or summary.missing == "drop-by-node":
        return WITH_CHECKS
    if summary.dag.covariances or summary.dag.factors:
        return WITH_COVARIANCES
    return VERSION if summary.targets is None else WITH_TARGETS


def load_summary(path: Path) -> Summary:
    """Read a summary that `Summary.save` wrote.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gaussnet as gn
    >>> path = pathlib.Path(tempfile.mkdtemp(), "monday.npz")
    >>> dag = gn.Dag.parse("wet ~ rain", nodes=["wet", "rain"])
    >>> gn.summarize([[1.0, 0.0], [3.0, 1.0], [5.5, 2.0]], dag).save(path)
    >>> gn.load_summary(path)
    Summary(2 nodes, 3 rows, method='least-squares', 3 rows inside)
    """
    file = file_name(path)
    raw = read_bytes(file)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > len(raw):
                raise too_large(file, len(raw))  # `save` compresses nothing
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            return _summary(dict(arrays))
    except FileError:
        raise
    except _OtherVersion as problem:
        raise FileError(
            f"{file!r} has version {problem} of the format of summaries, expected {VERSION} to "
            f"{NEWEST}: "
            "read it with the gaussnet that wrote it, or summarize the rows again"
        ) from None
    except _OtherMethod as problem:
        raise FileError(
            f"{file!r} is a summary for the method {str(problem)!r}, which gaussnet does not know: "
            "read it where that method is defined, or summarize the rows again"
        ) from None
    except Exception as problem:  # a broken archive fails in any way
        raise FileError(
            f"{file!r} is not a whole summary: write it again with summary.save"
        ) from problem


class _OtherVersion(Exception):
    """A version that is not known."""


class _OtherMethod(Exception):
    """A method that is not known."""


def _summary(arrays: Arrays) -> Summary:
    header = json.loads(arrays["header"].tobytes().decode())
    _require(header["format"] == FORMAT)
    if header["version"] not in range(VERSION, NEWEST + 1):
        raise _OtherVersion(header["version"])
    dag = Dag.from_parts(header["nodes"], [tuple(edge) for edge in header["edges"]])
    dag = dag.with_covariances(map(tuple, header.get("covariances", ())))
    factors = {name: tuple(levels) for name, levels in header.get("factors", {}).items()}
    dag = replace(dag, factors=factors)
    dag = dag.with_column_order(header.get("column_order") is True)
    if header["version"] == ROBUST:
        from gaussnet.fitting.robust_summary_files import from_arrays

        return from_arrays(dag, header, arrays)
    name = header["method"]["name"]
    if name not in METHODS:
        raise _OtherMethod(name)
    method = class_at(METHODS[name])(**header["method"]["settings"])
    height, missing = _count(header["page_rows"]), header["missing"]
    _require(height >= 1 and missing in ("raise", "drop-rows", "drop-by-node"))
    _require(isinstance(header["intercept"], bool))
    settings = (dag, method, header["intercept"], height, missing)
    targets = header.get("targets")
    said = None if targets is None else np.array(targets, dtype=bool).reshape(-1, len(dag))
    summary = PageSummary(*settings, targets=said, interventions=header.get("interventions"))
    weights = None if header.get("weights") is None else Weights(**header["weights"])
    codes = checked_codes(header.get("missing_values", ()))
    summary = replace(summary, for_checks=header.get("for_checks") is True, weights=weights)
    summary = replace(summary, missing_values=codes)
    _require(_version(summary) <= header["version"])  # it says no more than its version knows of
    question = summary.question
    closed, sizes = _count(header["closed"]), [_count(size) for size in header["sizes"]]
    _require(closed <= len(arrays))
    runs = range(closed + len(sizes))
    found = [question.from_arrays(_part(arrays, index)) for index in runs]
    held = tuple(zip(sizes, found[closed:], strict=True))
    for size, own in held:
        _require(question.rows(own) == size * height)
    _require(len(_keys(arrays)) == len(runs))
    return replace(
        summary,
        closed=tuple(found[:closed]),
        partials=Partials(held),
        tail=_checked_tail(arrays.get("tail"), summary),
        dropped=_count(header["dropped"]),
    )


def _count(value: Any) -> int:
    """A whole number from 0 on."""
    _require(isinstance(value, int) and not isinstance(value, bool) and value >= 0)
    return int(value)


def _checked_tail(tail: Any, summary: PageSummary) -> Any:
    """The rows after the last full page, if there are any."""
    if tail is not None:
        width = len(summary.dag) + (0 if summary.design is None else summary.design.width)
        _require(tail.dtype == np.float64 and tail.ndim == 2 and tail.shape[1] == width)
        may_lack = summary.missing == "drop-by-node"
        refused = np.isinf(tail) if may_lack else ~np.isfinite(tail)
        _require(not refused.any() and len(tail) < summary.page_rows)
    return tail


def _part(arrays: Mapping[str, Any], index: int) -> Arrays:
    start = f"{index}/"
    return {
        key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)
    }


def _keys(arrays: Mapping[str, Any]) -> set[str]:
    """The run numbers that the names of arrays begin with."""
    return {key.partition("/")[0] for key in arrays if "/" in key}


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
