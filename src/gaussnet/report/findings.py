"""What a page says of a fit or a network, and of the rows beside it."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaussnet.data.columns import Loaded
from gaussnet.data.pages import StreamedPages, default_page_rows
from gaussnet.data.sources import open_data
from gaussnet.errors import GaussnetError
from gaussnet.fitting.outliers import Outliers
from gaussnet.fitting.residuals import every, rows_of
from gaussnet.fitting.result import Fit
from gaussnet.fitting.uncertainty.values import Uncertainty
from gaussnet.graph.dag import shorten as shorten_names
from gaussnet.model.network import GaussianNetwork
from gaussnet.planning import Certificate
from gaussnet.report.markup import many
from gaussnet.report.residuals import (
    Residuals,
    find_residuals,
    thinning,
)
from gaussnet.types import FloatArray, Rows


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

    rows = ask("residuals", lambda: rows_of(fit))
    seen = None if rows is None else every(rows, thinning(fit.rows))
    uncertainty = ask("uncertainty", lambda: fit.uncertainty(level=level))
    notes = [str(note) for note in (*fit.notes, *(uncertainty.notes if uncertainty else ()))]
    return Findings(
        network=fit.network,
        rows=fit.rows,
        residuals=() if seen is None else tuple(find_residuals(fit.network, seen)),
        notes=tuple(notes),
        rows_hash=hash_rows(rows) if isinstance(rows, np.ndarray) else "",
        fit=fit,
        uncertainty=uncertainty,
        certificate=ask("certificate", lambda: fit.certificate(1.0 - level)),
        reasons=reasons,
        outliers=None if fit.trimming is None else fit.outliers(),
    )


def findings_of_network(network: GaussianNetwork, data: Any) -> Findings:
    """What rows tell of a network that is known already."""
    opened = open_data(data, network.dag.nodes)
    rows: Rows | StreamedPages = (
        opened.rows
        if isinstance(opened, Loaded)
        else StreamedPages(opened, default_page_rows(len(network.dag)))
    )
    count = rows.rows if isinstance(rows, StreamedPages) else len(rows)
    seen = every(rows, thinning(count))
    notes = []
    if opened.ignored:
        notes.append(
            f"{many(len(opened.ignored), 'column')} not in the network ignored: "
            f"{shorten_names(opened.ignored)}"
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
        rows_hash=hash_rows(rows) if isinstance(rows, np.ndarray) else "",
        reasons={"uncertainty": reason, "certificate": reason},
    )


def hash_rows(rows: Rows) -> str:
    """SHA-256 of the numbers as little-endian float64, row by row.

    Examples
    --------
    >>> import struct
    >>> hash_rows(np.array([[1.0, 2.0]])) == hashlib.sha256(struct.pack("<2d", 1, 2)).hexdigest()
    True
    """
    found = hashlib.sha256()
    step = max(1, (1 << 20) // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        page = np.ascontiguousarray(rows[start : start + step], dtype="<f8")
        found.update(page.tobytes())
    return found.hexdigest()
