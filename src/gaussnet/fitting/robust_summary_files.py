"""Summaries for the robust method in files: their arrays by name, and back."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from gaussnet.data.codes import checked_codes
from gaussnet.fitting.robust_summaries import Judged, RobustSummary
from gaussnet.graph.dag import Dag
from gaussnet.methods.robust.cellwise import Cellwise
from gaussnet.methods.robust.judge import Judge, ListedCells
from gaussnet.methods.robust.mixture import Equation, Foreign, Laws, Mixture, Sums
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.robust.samples import Sample
from gaussnet.methods.robust.streams import RoundSummary

KIND = "robust"
Arrays = dict[str, Any]


def to_header(summary: RobustSummary) -> dict[str, Any]:
    """The plain values of a summary."""
    judged = summary.judged
    return {
        "kind": KIND,
        "method": {"name": summary.method.name, "settings": asdict(summary.method)},
        "intercept": summary.intercept,
        "page_rows": summary.page_rows,
        "missing": summary.missing,
        "missing_values": list(summary.missing_values),
        "size": summary.size,
        "rows": summary.rows,
        "judged": judged is not None,
        "day": "" if judged is None else judged.day,
        "shaped": [] if judged is None else list(judged.shaped),
        "discrete": [] if judged is None else list(judged.discrete),
        "tied": [] if judged is None else list(judged.judge.tied),
    }


def to_arrays(summary: RobustSummary) -> Arrays:
    """The arrays of a summary by name."""
    arrays: Arrays = {"sample": summary.sample.rows, "keys": summary.sample.keys}
    if summary.judged is None:
        return arrays
    judge, said = summary.judged.judge, summary.judged.summary
    mixture = judge.mixture
    arrays |= {"low": judge.low, "high": judge.high, "chances": mixture.chances}
    arrays |= {f"equation/{key}": value for key, value in vars(mixture.equation).items()}
    arrays |= {f"laws/{key}": value for key, value in vars(mixture.laws).items()}
    if mixture.foreign is not None:
        foreign = mixture.foreign
        arrays |= {f"foreign/{key}": value for key, value in vars(foreign.equation).items()}
        arrays |= {"foreign/floors": foreign.floors, "foreign/share": np.array(foreign.share)}
    arrays |= {f"sums/{key}": np.asarray(v) for key, v in said.sums._asdict().items()}
    arrays |= {f"worst/{key}": value for key, value in said.worst._asdict().items()}
    names = ("counts", "touched", "lost", "usual")
    return arrays | {name: getattr(said, name) for name in names}


def from_arrays(dag: Dag, header: Mapping[str, Any], arrays: Arrays) -> RobustSummary:
    """The summary that `to_header` and `to_arrays` gave; ValueError if it is none."""
    method = Cellwise(**header["method"]["settings"])
    settings = (dag, method, header["intercept"], header["page_rows"], header["missing"])
    sample = Sample(_floats(arrays["sample"], (None, len(dag))), arrays["keys"])
    rows, size = header["rows"], header["size"]
    _require(header["missing"] in ("raise", "likelihood") and isinstance(header["intercept"], bool))
    _require(all(_is_count(one) for one in (header["page_rows"], rows, size)))
    _require(header["page_rows"] > 0 and len(sample.rows) <= min(rows, size))
    _require(sample.keys.dtype == np.uint64 and sample.keys.shape == (len(sample.rows),))
    may_lack = header["missing"] == "likelihood"
    _require(not (np.isinf(sample.rows) if may_lack else ~np.isfinite(sample.rows)).any())
    codes = checked_codes(header["missing_values"])
    summary = RobustSummary(*settings, sample, size, rows, missing_values=codes)
    if not header["judged"]:
        _require(rows <= size)
        return summary
    return replace(summary, judged=_judged(summary, header, arrays))


def _judged(summary: RobustSummary, header: Mapping[str, Any], arrays: Arrays) -> Judged:
    read = _Reader(arrays, len(summary.dag), len(summary.dag.families.parents))
    layout = SparsePrecision(summary.dag.families.by_node)
    equation = read.equation("equation")
    laws = Laws(
        *(read.floats("laws/" + key, shape) for key, shape in _law_shapes(read.nodes).items())
    )
    foreign = None
    if "foreign/share" in arrays:
        share, floors = float(arrays["foreign/share"]), read.floats("foreign/floors", (read.nodes,))
        _require(0.0 < share < 1.0)
        foreign = Foreign(share, read.equation("foreign"), floors, np.empty(0))
    mixture = Mixture(
        np.empty((0, read.nodes)),
        layout,
        summary.intercept,
        equation,
        laws,
        read.floats("chances", (read.nodes,)),
        np.empty((0, read.nodes), np.uint8),
        foreign,
    )
    _require(bool(((mixture.chances >= 0.0) & (mixture.chances < 1.0)).all()))
    kinds = [tuple(_node(one, read.nodes) for one in header[key]) for key in ("shaped", "discrete")]
    common = ~mixture.judged
    common[list(kinds[0])] = False  # columns that are believed by their shape are not in common
    mixture = replace(mixture, common=common)
    tied = tuple(_node(one, read.nodes) for one in header.get("tied", ()))
    low, high = (read.floats(key, (read.nodes,)) for key in ("low", "high"))
    judge = Judge(mixture, low, high, tied)
    return Judged(judge, _said(read, layout, summary.rows), kinds[0], kinds[1], str(header["day"]))


def _said(read: "_Reader", layout: SparsePrecision, rows: int) -> RoundSummary:
    """What all rows said."""
    nodes, arrays = read.nodes, read.arrays
    pairs = 1 + nodes + len(layout.pairs[0])
    shapes: dict[str, tuple[int | None, ...]] = {
        "products": (len(layout.neighbours),),
        "sums": (nodes,),
        "laws": (4, 3),
        "columns": (nodes, 8),
        "foreign": (pairs if "foreign/share" in arrays else 0,),
        "weight": (),
    }
    parts = [read.floats("sums/" + key, shape) for key, shape in shapes.items()]
    likelihood = float(arrays["sums/log_likelihood"])
    _require(int(arrays["sums/rows"]) == rows)
    products, firsts, laws, columns, foreign, weight = parts
    sums = Sums(products, firsts, laws, columns, foreign, float(weight), rows, likelihood)
    cells = len(arrays["worst/rows"])
    worst = ListedCells.of(arrays["worst/" + key] for key in ListedCells._fields)
    _require(all(one.shape == (cells,) for one in worst))
    _require(bool(((worst.nodes >= 0) & (worst.nodes < nodes)).all()))
    counts, touched = arrays["counts"], arrays["touched"]
    _require(counts.ndim == 2 and counts.shape[1] == nodes and touched.shape == (nodes,))
    usual = arrays.get("usual", np.zeros(nodes))  # older files do not count them
    _require(usual.shape == (nodes,))
    sizes = layout.families.sizes + 2
    lost = read.floats("lost", (int(np.sum(sizes**2)),))
    counts, touched, usual = (one.astype(np.int64) for one in (counts, touched, usual))
    return RoundSummary(sums, counts, touched, worst, lost, usual)


def _law_shapes(nodes: int) -> dict[str, tuple[int | None, ...]]:
    return {
        "weights": (5,),
        "shifts": (4,),
        "spreads": (4,),
        "shares": (3, nodes),
        "sizes": (2, nodes),
        "kinds": (2, nodes),
    }


class _Reader(NamedTuple):
    """Arrays by name, of a network with so many nodes and edges."""

    arrays: Arrays
    nodes: int
    edges: int

    def floats(self, name: str, shape: tuple[int | None, ...]) -> Any:
        """Finite numbers of this shape."""
        found = _floats(self.arrays[name], shape)
        _require(bool(np.isfinite(found).all()))
        return found

    def equation(self, name: str) -> Equation:
        """Coefficients, means and positive variances."""
        shapes = {"coefficients": self.edges, "means": self.nodes, "variances": self.nodes}
        found = Equation(*(self.floats(f"{name}/{key}", (n,)) for key, n in shapes.items()))
        _require(bool((found.variances > 0.0).all()))
        return found


def _floats(values: Any, shape: tuple[int | None, ...]) -> Any:
    _require(values.dtype == np.float64 and values.ndim == len(shape))
    _require(all(n is None or n == m for n, m in zip(shape, values.shape, strict=True)))
    return values


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _node(value: Any, nodes: int) -> int:
    _require(_is_count(value) and value < nodes)
    return int(value)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError
