"""Fits by the robust method, which walks over whole rows instead of folding pages of them."""

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from gaussnet.data.columns import as_rows
from gaussnet.errors import EstimationError, SettingError
from gaussnet.fitting.evidence import Evidence
from gaussnet.fitting.outliers import Trimming
from gaussnet.fitting.result import Details, Fit
from gaussnet.fitting.units import learn_in_units
from gaussnet.graph.dag import Dag
from gaussnet.methods.robust.sequential_trim import Auto, RobustSolution, SequentialTrim
from gaussnet.methods.scales import GaussianCore, KlOptimal, Scale
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import IntArray, Rows


def fit_trimmed(
    rows: Rows,
    holed: bool | None,
    evidence: Evidence,
    method: SequentialTrim,
    scale: Scale,
    notes: tuple[str, ...],
) -> Fit:
    """Learn by the robust method; `holed` says that NaN marks missing cells in the rows.

    None says that this is not known: then `Unproven` is raised unless sums show it.
    """
    reading = evidence.reading
    dag, intercept = reading.dag, reading.intercept
    if reading.split is not None:
        raise SettingError(
            f"got split={reading.split!r} with method={method.name!r}, which finds coefficients "
            "and variances together: leave split out"
        )
    nothing = np.zeros(len(dag), dtype=np.int64)
    incomplete = _incomplete_rows(rows, dag) if holed else nothing
    learn = partial(
        method.learn,
        families=dag.families,
        intercept=intercept,
        scale=_scale_name(scale),
        threads=evidence.work.threads,
        complete=None if holed is None else not holed,
    )
    solution = learn_in_units(learn, rows, dag.families)
    network = GaussianNetwork.from_arrays(
        dag, solution.coefficients, solution.variances, solution.intercepts if intercept else None
    )
    details = Details(solution.rows, incomplete, nothing, nothing, solution.ranks)
    trimming = _trimming(rows, evidence, solution)
    if isinstance(method, Auto):
        from gaussnet.fitting.contamination import find_contamination

        test = find_contamination(network, rows, trimming, evidence, method.level)
        trimming = replace(trimming, contamination=test)
        notes = (*notes, test.sentence)
    found = (network, len(rows), method, scale, intercept, None, details)
    return Fit(*found, (*notes, *_summary(trimming, len(dag))), evidence, trimming)


def _scale_name(scale: Scale) -> Literal["core", "kl-optimal", "mean-square"]:
    if isinstance(scale, GaussianCore):
        return "core"
    return "kl-optimal" if isinstance(scale, KlOptimal) else "mean-square"


def _incomplete_rows(rows: Rows, dag: Dag) -> IntArray:
    """Rows in which a value of the node or of a parent is missing, (nodes,)."""
    found = np.zeros(len(dag), dtype=np.int64)
    holes = np.isnan(rows)
    holed = np.asarray(holes.any(axis=0))
    families = dag.families
    touched = holed.copy()
    np.logical_or.at(touched, families.family_of_edge, holed[families.parents])
    for node in np.flatnonzero(touched).tolist():
        columns = families.subset(np.array([node])).columns
        found[node] = np.count_nonzero(holes[:, columns].any(axis=1))
        if found[node] == len(rows):
            raise EstimationError(
                f"the node {dag.nodes[node]!r} has no row in which neither it nor a parent is "
                "missing: leave the node out of the graph or give more rows"
            )
    return found


def _trimming(rows: Rows, evidence: Evidence, solution: RobustSolution) -> Trimming:
    numbers = None
    if evidence.reading.missing == "drop-rows":
        given = as_rows(evidence.data, evidence.reading.dag.nodes)
        if len(given) > len(rows):
            numbers = np.flatnonzero(~np.isnan(given).any(axis=1))
    found = (solution.cells, solution.recorded, solution.left_out)
    return Trimming(len(rows), solution.cutoffs, *found, numbers, solution.discrete)


def _summary(trimming: Trimming, nodes: int) -> list[str]:
    flagged = [trimming.count(node, "flagged") for node in trimming.cells]
    if not any(flagged):
        return []
    share = sum(flagged) / (trimming.rows * nodes)
    touched = sum(count > 0 for count in flagged)
    return [
        f"{sum(flagged)} of {trimming.rows * nodes} values ({share:.2%}) do not fit and were "
        f"flagged, in {touched} of {nodes} nodes: see fit.outliers()"
    ]
