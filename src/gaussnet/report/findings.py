"""What a page says of a fit or a network, and of the rows beside it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaussnet.data.passes import Run
from gaussnet.data.table import default_page_rows, open_table
from gaussnet.errors import GaussnetError
from gaussnet.fitting.outliers import Outliers
from gaussnet.fitting.result import Fit
from gaussnet.fitting.uncertainty import Uncertainty
from gaussnet.graph.dag import shorten as shorten_names
from gaussnet.model.network import GaussianNetwork
from gaussnet.planning import Certificate
from gaussnet.report.markup import many
from gaussnet.report.residuals import Residuals, find_residuals, thinning
from gaussnet.types import FloatArray


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

    @property
    def explained(self) -> FloatArray:
        """Share of each node's variance that its parents explain, (nodes,)."""
        total = self.network.covariance().diagonal()
        with np.errstate(divide="ignore", invalid="ignore"):
            share = 1.0 - self.network.variance_array / total
        return np.where(self.network.dag.in_degrees > 0, share, np.nan)

    @property
    def standardised(self) -> FloatArray:
        """Coefficients in standard deviations of child and parent, (edges,); NaN without any."""
        spread = np.sqrt(self.network.covariance().diagonal())
        families = self.network.dag.families
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = spread[families.parents] / spread[families.family_of_edge]
            return np.asarray(self.network.coefficient_array * ratio)


def findings_of_fit(fit: Fit, level: float) -> Findings:
    """What there is to tell of a fit."""
    reasons: dict[str, str] = {}

    def ask(what: str, question: Any) -> Any:
        try:
            return question()
        except GaussnetError as refusal:
            reasons[what] = str(refusal)
            return None

    purpose = "ask where the data are, or fit again"
    table = ask("residuals", lambda: fit.required_data(purpose).table())
    seen = None if table is None else table.every_row(thinning(fit.rows))
    uncertainty = ask("uncertainty", lambda: fit.uncertainty(level=level))
    notes = [str(note) for note in (*fit.notes, *(uncertainty.notes if uncertainty else ()))]
    return Findings(
        network=fit.network,
        rows=fit.rows,
        residuals=() if seen is None else tuple(find_residuals(fit.network, seen)),
        notes=tuple(notes),
        rows_hash="" if table is None else table.fingerprint(),
        fit=fit,
        uncertainty=uncertainty,
        certificate=ask("certificate", lambda: fit.certificate(1.0 - level)),
        reasons=reasons,
        outliers=None if fit.trimming is None else fit.outliers(),
    )


def findings_of_network(network: GaussianNetwork, data: Any) -> Findings:
    """What rows tell of a network that is known already."""
    table = open_table(data, network.dag.nodes, default_page_rows(len(network.dag)), Run())
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
        reasons={"uncertainty": reason, "certificate": reason},
    )
