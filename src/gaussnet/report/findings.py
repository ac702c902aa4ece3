"""What a page says of a fit or a network, and of the rows beside it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gaussnet.data.column_order import by_node
from gaussnet.data.passes import Run
from gaussnet.data.table import default_page_rows, open_table
from gaussnet.errors import GaussnetError, SettingError
from gaussnet.fitting.effects import Effect
from gaussnet.fitting.graph_tests import GraphCheck
from gaussnet.fitting.measures import find_r2, implied_r2
from gaussnet.fitting.outliers import Outliers
from gaussnet.fitting.residuals import ResidualShapes, believed_rows, find_shapes
from gaussnet.fitting.result import Fit
from gaussnet.fitting.standardized import shown_coefficients, standardized_coefficients
from gaussnet.fitting.uncertainty import Uncertainty
from gaussnet.fitting.verdicts import FitSummary, Verdict
from gaussnet.graph.dag import Dag, shorten as shorten_names
from gaussnet.model.network import GaussianNetwork
from gaussnet.planning import Certificate
from gaussnet.report.markup import many
from gaussnet.report.residuals import MOST_ROWS, Residuals, find_residuals, thinning
from gaussnet.types import FloatArray

Effects = Iterable[tuple[str, str]]
MOST_EFFECTS = 12
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
    fit: Fit | None = None
    uncertainty: Uncertainty | None = None
    certificate: Certificate | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    """Why something is not there: by "residuals", "uncertainty" or "certificate"."""
    outliers: Outliers | None = None
    """The cells that a robust fit flagged; None for other methods."""
    summary: FitSummary | None = None
    """The sentences at the top; None for a network that was not learnt here."""
    check: GraphCheck | None = None
    """Tests of the missing edges, where they were done."""
    shapes: ResidualShapes | None = None
    effects: tuple[Effect, ...] = ()
    """Total effects of interest."""
    r2: FloatArray | None = None
    """Of the data, (nodes,)."""

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
    """What there is to tell of a fit, and of these effects: by default those of roots on leaves."""
    reasons: dict[str, str] = {}

    def ask(what: str, question: Any) -> Any:
        try:
            return question()
        except GaussnetError as refusal:
            reasons[what] = str(refusal)
            return None

    purpose = "ask where the data are, or fit again"
    table = ask("residuals", lambda: fit.required_data(purpose).table())
    seen, was_set = (None, None) if table is None else believed_rows(fit, MOST_ROWS)
    uncertainty = ask("uncertainty", lambda: fit.uncertainty(level=level))
    verdict = Verdict(fit)
    named = _roots_on_leaves(fit.dag) if effects is None else tuple(effects)
    told = [ask("effects", lambda pair=pair: fit.effect(*pair, level=level)) for pair in named]
    if effects is not None and reasons.get("effects"):
        raise SettingError(reasons["effects"])
    notes = [str(note) for note in (*fit.notes, *(uncertainty.notes if uncertainty else ()))]
    return Findings(
        network=fit.network,
        rows=fit.rows,
        residuals=() if seen is None else tuple(find_residuals(fit.network, seen, was_set)),
        notes=tuple(notes),
        rows_hash="" if table is None else table.fingerprint(),
        fit=fit,
        uncertainty=uncertainty,
        certificate=ask("certificate", lambda: fit.certificate(1.0 - level)),
        reasons=reasons,
        outliers=None if fit.trimming is None else fit.outliers(),
        summary=verdict.summary(),
        check=verdict.check,
        shapes=_shapes(fit, seen),
        effects=tuple(one for one in told if one is not None),
        r2=ask("r2", lambda: find_r2(fit)),
    )


def _shapes(fit: Fit, seen: FloatArray | None) -> ResidualShapes | None:
    """The shapes of the residuals, also where rows are read from a file."""
    if fit.residual_shapes is not None or seen is None:
        return fit.residual_shapes
    return find_shapes(fit.network, seen)


def _roots_on_leaves(dag: Dag) -> tuple[tuple[str, str], ...]:
    """The first few pairs of a node without parents and one without children below it."""
    roots = [node for node in dag.nodes if not dag.parents(node) and dag.children(node)]
    leaves = {node for node in dag.nodes if not dag.children(node)}
    pairs = []
    for root in roots[:MOST_EFFECTS]:
        below = descendants(dag, root)
        pairs += [(root, node) for node in dag.nodes if node in leaves and node in below]
    return tuple(pairs[:MOST_EFFECTS])


def descendants(dag: Dag, node: str) -> set[str]:
    """The nodes that a node has directed paths to."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        new = set(dag.children(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def findings_of_network(
    network: GaussianNetwork, data: Any, columns: Iterable[object] | None = None
) -> Findings:
    """What rows tell of a network that is known already."""
    given, nodes = by_node(data, network.dag, columns), network.dag.nodes
    factors = network.dag.factors
    table = open_table(given, nodes, default_page_rows(len(nodes)), Run(), factors=factors)
    count = table.rows
    seen = table.every_row(thinning(count))
    notes = []
    if table.ignored:
        notes.append(
            f"{many(len(table.ignored), 'column')} not in the network ignored: "
            f"{shorten_names(table.ignored)}"
        )
    holes = int((~np.isfinite(seen)).any(axis=1).sum())
    if holes:
        notes.append(f"{holes} of {len(seen)} rows have missing or infinite values")
    reason = "the network was read from a file, which keeps the numbers and not their errors"
    return Findings(
        network=network,
        rows=count,
        residuals=tuple(find_residuals(network, seen)),
        notes=tuple(notes),
        rows_hash=table.fingerprint(),
        shapes=find_shapes(network, seen),
        reasons={"uncertainty": reason, "certificate": reason},
    )
