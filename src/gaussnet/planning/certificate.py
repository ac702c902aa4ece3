"""`certify`: how far a learnt distribution can be from the truth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from gaussnet import display
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag, counted
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.planning.laws import Bound, Degrees, MethodLaw, Phases
from gaussnet.planning.settings import (
    CertificateLaw,
    check_resolution,
    check_scale,
    checked_delta,
    checked_law,
    checked_rows,
    law_for,
    phases_of_counts,
)
from gaussnet.planning.targets import information_limit, paper_kl, tv_bound
from gaussnet.types import IntArray

BY_PAPER = "the paper's constants, which its own proofs do not quite reach (see docs/theory.md)"

ASSUMPTIONS = (
    "the truth is a Gaussian network over exactly this graph: every node is a number with Gaussian "
    "noise, and none is a category",
    "the rows are independent draws from it, complete and clean, and were not used to choose "
    "the graph or the method",
    "variances are found as mean squares of the residuals",
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far the learnt distribution is from the truth, before any data are seen."""

    rows: int
    delta: float
    method: str
    law: str
    intercept: bool
    split: tuple[int, int] | None
    expected_kl: float
    """E KL(truth, learnt); inf where the rows are too few for a finite expectation."""
    kl: float
    """Exceeded with probability delta at most; inf where the rows are too few."""
    tv: float
    """Total variation that `kl` allows, by the better of Pinsker and Bretagnolle-Huber."""
    information_limit: float
    """(edges + nodes [+ nodes, with intercepts]) / (2 rows): expected KL as rows grow."""
    hardness_tv: float
    """sqrt(n d / rows): the shape of the paper's lower bound, whose constant it does not give."""
    argument: str
    """How `kl` was reached."""
    assumptions: tuple[str, ...] = ASSUMPTIONS
    node_rows: Mapping[str, int] | None = None
    """Rows that the errors of each node's coefficients are judged by, where these differ."""

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        phases = f", split {self.split[0]:,} + {self.split[1]:,}" if self.split else ""
        constant = "with" if self.intercept else "without"
        lines = [
            f"{self.method}, {counted(self.rows, 'row')}{phases}, {constant} intercepts",
            f"  expected KL          {self.expected_kl:.4g}",
            f"  KL with prob. {1 - self.delta:<7.4g}{self.kl:.4g} at most",
            f"  TV with prob. {1 - self.delta:<7.4g}{self.tv:.4g} at most",
            f"  information limit    {self.information_limit:.4g} (expected KL for many rows)",
            f"  lower bound on TV    {self.hardness_tv:.4g} = sqrt(n d / rows), times an unknown "
            "constant",
            f"reached by: {self.argument}",
            "if:",
            *(f"  - {assumption}" for assumption in self.assumptions),
        ]
        return "\n".join(lines)


def certify(  # noqa: PLR0913 (every setting of a fit is one keyword)
    dag: GraphLike,
    *,
    rows: int,
    delta: float = 0.05,
    method: object = "least-squares",
    law: CertificateLaw = "exact",
    intercept: bool = True,
    split: Sequence[int] | None = None,
    scale: object = "mean-square",
) -> Certificate:
    """How far the network learnt from so many rows can be from the truth.

    Parameters
    ----------
    dag
        The graph, in any form that `fit` takes.
    rows
        Rows of data.
    delta
        Probability with which the promise may fail.
    method
        "least-squares", "batch-average", "cauchy-tree" (polytrees), or an estimator.
    law
        "exact": the least bound that is proven for the method. "union": exact quantiles of
        the single nodes. "paper": the paper's constants.
    intercept, split, scale
        As in `fit`; laws are known for the scale "mean-square" alone.

    Examples
    --------
    >>> promise = certify("wet ~ rain + sprinkler", rows=1000)
    >>> round(promise.expected_kl, 5), round(promise.kl, 4), round(promise.tv, 3)
    (0.00403, 0.0083, 0.065)
    """
    count, delta = checked_rows(rows), checked_delta(delta)
    graph = as_dag(dag)
    if graph.factors:
        raise SettingError(
            f"the graph has the category {next(iter(graph.factors))!r}, and a certificate is one "
            "about Gaussian nodes: leave the category out"
        )
    degrees = Degrees.of(graph)
    phases = phases_of_counts(count, split, intercept)
    known = law_for(method, graph)
    check_scale(scale)
    check_resolution(known, delta, len(graph) if law == "union" else 1)
    bound = _bound(known, degrees, phases, delta, checked_law(law, CertificateLaw))
    return Certificate(
        rows=count,
        delta=delta,
        method=known.method,
        law=law,
        intercept=intercept,
        split=(phases.first, phases.second) if phases.split else None,
        expected_kl=known.expected_kl(degrees, phases),
        kl=bound.kl,
        tv=tv_bound(bound.kl),
        information_limit=information_limit(graph, count, intercept=intercept),
        hardness_tv=min(sqrt(len(graph) * graph.max_in_degree / count), 1.0),
        argument=bound.argument,
    )


def certify_by_node(
    dag: Dag,
    rows: int,
    counts: tuple[IntArray, IntArray],
    delta: float,
    how: tuple[object, object, bool],
    conditions: tuple[str, ...],
) -> Certificate:
    """`certify` for nodes with rows of their own; `how` is method, scale and intercept.

    `counts` are the rows whose parents follow the network, and all rows of each node, (nodes,)
    each; `conditions` are what must hold besides the usual.
    """
    method, scale, intercept = how
    known, delta = law_for(method, dag), checked_delta(delta)
    check_scale(scale)
    check_resolution(known, delta)
    design, served = counts
    keys = Counter(zip(dag.in_degrees.tolist(), design.tolist(), served.tolist(), strict=True))
    classes = [
        (parents, Phases(first, second, False, intercept), count)
        for (parents, first, second), count in sorted(keys.items())
    ]
    expected, bound = known.by_node(classes, delta)
    sizes = dag.in_degrees + 1 + intercept
    return Certificate(
        rows=rows,
        delta=delta,
        method=known.method,
        law="exact",
        intercept=intercept,
        split=None,
        expected_kl=expected,
        kl=bound.kl,
        tv=tv_bound(bound.kl),
        information_limit=float((sizes / (2.0 * np.maximum(design, 1))).sum()),
        hardness_tv=min(sqrt(len(dag) * dag.max_in_degree / rows), 1.0),
        argument=f"{bound.argument}; every node with its own rows, {design.min():,} to "
        f"{design.max():,}",
        assumptions=(*ASSUMPTIONS, *conditions),
        node_rows=dict(zip(dag.nodes, design.tolist(), strict=True)),
    )


def _bound(known: MethodLaw, degrees: Degrees, phases: Phases, delta: float, law: str) -> Bound:
    if law == "exact":
        return known.best_bound(degrees, phases, delta)
    if law == "union":
        return known.union_bound(degrees, phases, delta)
    rows = phases.first + phases.second if phases.split else phases.first
    return Bound(paper_kl(known, degrees, rows, delta), BY_PAPER)
