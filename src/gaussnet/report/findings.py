"""What a page says of a fit or a network, and of the rows beside it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from gaussnet.data.codes import Codes
from gaussnet.data.column_order import by_node
from gaussnet.data.passes import Run
from gaussnet.data.table import Table, ask, default_page_rows, open_table
from gaussnet.errors import GaussnetError, SettingError
from gaussnet.fitting.coefficient_tables import coefficient_p_values
from gaussnet.fitting.drift import DriftCheck, drift_between, learn_new_rows
from gaussnet.fitting.effects import Effect
from gaussnet.fitting.graph_tests import GraphCheck
from gaussnet.fitting.measures import ExplainedPass, FitMeasures, find_r2, implied_r2, r2_beside
from gaussnet.fitting.new_rows import NetworkOnRows, no_comparison
from gaussnet.fitting.notes import grouped_notes
from gaussnet.fitting.outliers import Outliers
from gaussnet.fitting.residuals import ResidualShapes, believed_rows, find_shapes
from gaussnet.fitting.result import Fit
from gaussnet.fitting.standardized import shown_coefficients, standardized_coefficients
from gaussnet.fitting.tables import ResultTable
from gaussnet.fitting.uncertainty import Uncertainty
from gaussnet.fitting.verdicts import FitSummary
from gaussnet.graph.dag import Dag, shorten as shorten_names
from gaussnet.model.network import GaussianNetwork
from gaussnet.planning import Certificate
from gaussnet.report.markup import many
from gaussnet.report.residuals import MOST_ROWS, Residuals, find_residuals, thinning
from gaussnet.types import FloatArray

Effects = Iterable[tuple[str, str]]
RowCounts: TypeAlias = int | Mapping[str, int] | None
DRIFT_LEVEL = 0.01
"""The chance that rows are said to differ from a network where they do not."""
MOST_EFFECTS = 20
"""Effects that are shown without being asked for."""


@dataclass(frozen=True, eq=False)
class Findings:
    """A network, the rows it is shown with, and what is known of its errors."""

    network: GaussianNetwork
    rows: int
    residuals: tuple[Residuals | None, ...]
    notes: tuple[str, ...]
    rows_hash: str
    """SHA-256 of the rows that were used; "" if they are not in memory."""
    summary: FitSummary
    """The sentences at the top."""
    fit: Fit | None = None
    uncertainty: Uncertainty | None = None
    p_values: FloatArray = field(default_factory=partial(np.empty, 0))
    """Of the coefficients, (edges,), where there are standard errors."""
    p_value_words: str = ""
    """By which test."""
    certificate: Certificate | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    """Why something is not there: by "residuals", "uncertainty" or "certificate"."""
    outliers: Outliers | None = None
    """The cells that a robust fit flagged; None for other methods."""
    check: GraphCheck | None = None
    """Tests of the missing edges, where they were done."""
    shapes: ResidualShapes | None = None
    effects: tuple[Effect, ...] = ()
    """Total effects of interest."""
    effects_listed: str = ""
    """Which these are, if nobody chose them."""
    r2: FloatArray | None = None
    """Of the data, (nodes,)."""
    drift: DriftCheck | None = None
    """Whether rows follow a network that was not learnt from them."""
    robust: Fit | None = None
    """The robust fit that says which values of contaminated rows do not count; None for others."""
    defined: ResultTable | None = None
    """Quantities that the text of the graph defines; None if there are none."""
    codes: Codes = ()
    """Numbers that stand for a missing value in rows beside a network."""
    measures: FitMeasures | None = None
    """Of fit; None where they do not exist or would take long."""

    @cached_property
    def explained(self) -> FloatArray:
        """Share of each node's variance that its parents explain, (nodes,)."""
        if self.r2 is not None:
            return self.r2
        return implied_r2(self.network)

    @cached_property
    def standardised(self) -> FloatArray:
        """Coefficients in standard deviations of child and parent, (edges,); NaN without any."""
        if self.fit is None:
            return standardized_coefficients(self.network)
        try:
            return shown_coefficients(self.fit, implied=False)
        except GaussnetError:  # rows that were changed since
            return standardized_coefficients(self.network)


def findings_of_fit(fit: Fit, level: float, effects: Effects | None = None) -> Findings:
    """What there is to tell of a fit, and of these effects: by default some on the leaves."""
    reasons: dict[str, str] = {}

    def attempt(what: str, question: Any) -> Any:
        try:
            return question()
        except GaussnetError as refusal:
            reasons[what] = str(refusal)
            return None

    purpose = "ask where the data are, or fit again"
    table = attempt("residuals", lambda: fit.required_data(purpose).table())
    seen, was_set = (None, None) if table is None else believed_rows(fit, MOST_ROWS)
    uncertainty = attempt("uncertainty", lambda: fit.uncertainty(level=level))
    tested = (np.empty(0), "") if uncertainty is None else coefficient_p_values(fit, uncertainty)
    verdict = fit._verdict
    named, listed = _named_effects(fit.dag, effects)
    told = [attempt("effects", lambda pair=pair: fit.effect(*pair, level=level)) for pair in named]
    if effects is not None and reasons.get("effects"):
        raise SettingError(reasons["effects"])
    defined = None
    if fit.dag.definitions:
        defined = attempt("defined", lambda: fit.defined(level=level))
    notes = grouped_notes((*fit.notes, *(uncertainty.notes if uncertainty else ())))
    return Findings(
        network=fit.network,
        rows=fit.rows,
        residuals=() if seen is None else tuple(find_residuals(fit.network, seen, was_set)),
        notes=tuple(notes),
        rows_hash="" if table is None else table.fingerprint(),
        fit=fit,
        robust=None if fit.trimming is None else fit,
        defined=defined,
        uncertainty=uncertainty,
        p_values=tested[0],
        p_value_words=tested[1],
        certificate=attempt("certificate", lambda: fit.certificate(1.0 - level)),
        reasons=reasons,
        outliers=None if fit.trimming is None else fit.outliers(),
        summary=verdict.summary,
        check=verdict.check,
        measures=verdict.measures,
        shapes=_shapes(fit, seen),
        effects=tuple(one for one in told if one is not None),
        effects_listed=listed,
        r2=attempt("r2", lambda: find_r2(fit)),
    )


def _shapes(fit: Fit, seen: FloatArray | None) -> ResidualShapes | None:
    """The shapes of the residuals, also where rows are read from a file."""
    if fit.residual_shapes is not None or seen is None:
        return fit.residual_shapes
    return find_shapes(fit.network, seen)


def _named_effects(dag: Dag, effects: Effects | None) -> tuple[tuple[tuple[str, str], ...], str]:
    """The effects that are told of, and which they are if nobody asked for any."""
    if effects is not None:
        return tuple(effects), ""
    pairs = tuple(islice(_effects_on_leaves(dag), MOST_EFFECTS + 1))
    first = f"the first {MOST_EFFECTS}" if len(pairs) > MOST_EFFECTS else "those"
    words = (
        f"Listed are {first} on nodes without children, of nodes without parents and of their own "
        "parents. For others: fit.effect(cause, target), or gaussnet effect model.json CAUSE "
        "TARGET."
    )
    return pairs[:MOST_EFFECTS], words


def _effects_on_leaves(dag: Dag) -> Iterator[tuple[str, str]]:
    """Causes of nodes without children: those without parents, then the parents of the node.

    Examples
    --------
    >>> list(_effects_on_leaves(Dag.parse("[season][rain|season][wet|rain:season]")))
    [('season', 'wet'), ('rain', 'wet')]
    """
    for leaf in dag.nodes:
        if not dag.children(leaf) and dag.parents(leaf):
            above = dag.ancestors(leaf)
            roots = [node for node in dag.nodes if node in above and not dag.parents(node)]
            for cause in dict.fromkeys((*roots, *dag.parents(leaf))):
                yield cause, leaf


def findings_of_network(
    network: GaussianNetwork,
    data: Any,
    columns: Iterable[object] | None = None,
    codes: Codes = (),
    learnt_rows: RowCounts = None,
) -> Findings:
    """What rows tell of a network that is known already, learnt from so many rows.

    Values that a robust fit of these rows flags count neither in residuals nor in R2.
    """
    given, nodes = by_node(data, network.dag, columns), network.dag.nodes
    pages, factors = default_page_rows(len(nodes)), network.dag.factors
    table = open_table(given, nodes, pages, Run(), codes=codes, factors=factors)
    count = table.rows
    seen = table.every_row(thinning(count))
    reason = "the network was read from a file, which keeps the numbers and not their errors"
    reasons = {"uncertainty": reason, "certificate": reason}
    beside = _beside(network, table, learnt_rows, reasons)
    notes = [*_holes(table, seen), *(beside.drift.notes if beside else ())]
    robust = None if beside is None or beside.new.fit.trimming is None else beside.new.fit
    if robust is None:
        r2 = ask(table.surveyed(False), ExplainedPass(network, True))
    else:
        r2, (seen, _) = r2_beside(network, robust), believed_rows(robust, MOST_ROWS)
    return Findings(
        network=network,
        rows=count,
        residuals=tuple(find_residuals(network, seen)),
        notes=tuple(notes),
        rows_hash=table.fingerprint(),
        shapes=find_shapes(network, seen),
        reasons=reasons,
        summary=no_comparison(reasons["summary"]) if beside is None else beside.summary(),
        check=None if beside is None else beside.check,
        drift=None if beside is None else beside.drift,
        robust=robust,
        outliers=None if robust is None else robust.outliers(),
        r2=r2,
        codes=codes,
    )


def _beside(
    network: GaussianNetwork, table: Table, learnt_rows: RowCounts, reasons: dict[str, str]
) -> NetworkOnRows | None:
    """The network compared with rows; None if these are refused, for a reason that is kept."""
    try:
        new = learn_new_rows(table, network.dag, DRIFT_LEVEL, missing="drop-by-node")
        return NetworkOnRows(new, drift_between(network, learnt_rows, new, DRIFT_LEVEL))
    except GaussnetError as refusal:
        reasons["summary"] = str(refusal)
        return None


def _holes(table: Table, seen: FloatArray) -> Iterator[str]:
    """Notes on columns and rows that do not count."""
    if table.ignored:
        columns = many(len(table.ignored), "column")
        yield f"{columns} not in the network ignored: {shorten_names(table.ignored)}"
    for kind, found in (("missing", np.isnan(seen)), ("infinite", np.isinf(seen))):
        holes = int(found.any(axis=1).sum())
        if holes:
            yield f"{holes} of {len(seen)} rows have {kind} values"
