r"""Counterfactuals of a fit: what the row leaves open, and what the data leave open of the network.

A case would have been x* = x + T (v - x_do), where x is the row as it was, unknown cells at their
conditional means, v what is set, and T are the total effects of the set nodes once they are cut
from their parents. It moves with the learnt parameters in two ways: with the unknown cells, as
predictions do (`gaussnet.fitting.prediction`), and with T,

    dT_td / dw_ij = T_ti T_jd      of the coefficient from j to a node i that is not set,

so that node t moves by T_ti times the change of j. The delta method carries the covariance of the
parameters on to the case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gaussnet import kernels
from gaussnet.errors import DataError
from gaussnet.fitting.prediction import (
    Derivatives,
    LearntErrors,
    doubtful_values,
    known_codes,
    outside_values,
    same_column as same,
)
from gaussnet.model import checks
from gaussnet.model.inference.counterfactual import (
    CaseErrors,
    Counterfactual,
    as_evidence,
    counterfactual,
)
from gaussnet.model.inference.queries import as_values
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


def counterfactual_of_fit(
    fit: "Fit", row: object, do: Mapping[str, float | str], believe: bool
) -> Counterfactual:
    """What the case of a row would have been; codes of the fit are not observed."""
    if isinstance(row, str):
        raise DataError(
            f"got the text {row!r} as the row, expected its values: give frame.loc[{row!r}] if it "
            "is the label of a row"
        )
    codes = known_codes(fit)
    given = {name: value for name, value in as_evidence(fit.dag, row).items() if value not in codes}
    seen = checks.level_values(fit.dag, given, "evidence")
    row_given = _as_row(fit, seen)
    doubtful = doubtful_values(fit, row_given)
    if doubtful and not believe:
        nodes = fit.dag.nodes
        wrong = {nodes[i] for value in doubtful for i in same(fit.dag, value.node)}
        seen = {name: value for name, value in seen.items() if name not in wrong}
    case = counterfactual(fit.network, seen, do)
    outside = outside_values(fit, row_given, doubtful) + outside_values(fit, _as_row(fit, case.do))
    return replace(
        case,
        doubtful=doubtful,
        outside=tuple(dict.fromkeys(outside)),
        learnt=partial(find_case_errors, fit),
    )


def _as_row(fit: "Fit", seen: Mapping[str, float]) -> FloatArray:
    """The observed values as a row (1, nodes), NaN elsewhere."""
    row = np.full((1, len(fit.dag)), np.nan)
    positions, values = as_values(fit.dag, seen, "evidence")
    row[0, positions] = values
    return row


def find_case_errors(fit: "Fit", case: Counterfactual, changes: bool) -> CaseErrors:
    """How far each node of a case may be off in all, or how far its change may be.

    Variances add up over the families of the network, each with its degrees of freedom, as
    Satterthwaite has it: what the row leaves open, and the errors of the parameters.
    """
    learnt = fit.learnt_errors
    model, row = learnt.model, _as_row(fit, case.evidence)
    totals = case.total_effects
    weights = np.zeros_like(totals) if changes else np.eye(len(totals))
    weights[:, case.set_nodes] -= totals[case.set_nodes].T
    gone = np.flatnonzero(np.isnan(row[0]))
    matrix = learnt.equation_columns(gone, row.shape[1])
    precision = matrix.T @ (matrix / model.variances[:, None])
    columns = np.zeros_like(totals)
    columns[gone] = np.linalg.solve(precision, weights[:, gone].T)
    joint = matrix @ columns[gone]
    found = _derivatives(learnt, case, row, columns, joint)
    parts = joint**2 / model.variances[:, None]
    certain = np.zeros(len(totals))
    for family, squares in learnt.covariance.parts(found, len(totals)):
        if family is None:
            certain += squares
        else:
            parts[family] += squares
    variances = parts.sum(axis=0) + certain
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variances**2 / (parts**2 / learnt.freedom[:, None]).sum(axis=0)
    return CaseErrors(np.sqrt(variances), np.where(np.isfinite(freedom), freedom, np.inf))


def _derivatives(
    learnt: LearntErrors,
    case: Counterfactual,
    row: FloatArray,
    columns: FloatArray,
    joint: FloatArray,
) -> Iterator[Derivatives]:
    """The derivatives of all nodes by the parameters of each family.

    `columns` (nodes, nodes) and `joint` (families, nodes) are the covariances of each node with
    all cells and with all residuals.
    """
    model, dag, totals = learnt.model, case.network.dag, case.total_effects
    families, filled = model.families, model.expect(row).rows
    change = (list(case.do.values()) - filled[0, case.set_nodes]) @ totals[case.set_nodes]
    residuals = kernels.residuals(filled - model.means, families, model.coefficients)[:, 0]
    is_set = np.zeros(len(dag), dtype=bool)
    is_set[case.set_nodes] = True
    for family, (child, rest) in enumerate(zip(families.children, residuals, strict=True)):
        edges = slice(*families.offsets[family : family + 2].tolist())
        parents, own, variance = families.parents[edges], joint[family], model.variances[family]
        moved = own[:, None] * (filled[0, parents] - learnt.centres[edges])
        slopes = (moved + columns[parents].T * rest) / variance
        if not is_set[child]:
            causal = ~dag.is_covariance[dag.families.edges_of(np.array([child]))]
            slopes = slopes + totals[child][:, None] * change[parents] * causal
        yield Derivatives(family, slopes, own / variance, -own * rest / variance**2)
