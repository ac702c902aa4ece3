"""Settings and entry of the robust estimator, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from gaussnet.errors import SettingError
from gaussnet.kernels.families import Families
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.types import FloatArray, IntArray, Rows

RobustScale = Literal["core", "kl-optimal", "mean-square"]
SCALES: tuple[RobustScale, ...] = ("core", "kl-optimal", "mean-square")


class Unproven(Exception):
    """Sums of squares do not show that all values are finite: they must be looked at."""


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """The learnt equations, and what was found wrong with the data."""

    coefficients: FloatArray
    """(edges,)"""
    intercepts: FloatArray
    """(nodes,); 0 without intercepts."""
    variances: FloatArray
    """(nodes,)"""
    cutoffs: FloatArray
    """Residuals beyond so many standard deviations were rejected, (nodes,); infinite where
    nothing was."""
    rows: IntArray
    """Rows that the coefficients rest on, (nodes,)."""
    ranks: IntArray
    """Rank of the parents over those rows, (nodes,)."""
    cells: Mapping[int, SuspiciousCells]
    """Suspicious cells, for the nodes that have any."""
    left_out: Mapping[int, IntArray]
    """Rows that the coefficients do not rest on, ascending, for the nodes that leave out any."""
    recorded: Mapping[int, FloatArray]
    """The values that were recorded in the suspicious cells."""
    discrete: tuple[int, ...] = ()
    """Nodes of few recurring values: only what lies apart from these is flagged."""


@dataclass(frozen=True, slots=True)
class SequentialTrim:
    """Trimmed least squares, node after node in topological order.

    Each node is learnt on the rows whose parent cells are not suspicious, so that only the
    child can be wrong; rows too far from the equation are rejected and their cells flagged.
    On clean data nothing is rejected and the answer is least squares.

    Parameters
    ----------
    gate_level
        On clean data a node loses rows with about this chance.
    extent_level
        Share of false alarms among the rejected rows, once the gate has opened.
    wide_level
        The same for first rounds, where the core of the residuals is itself contaminated.
    spread_limit
        Least squares stands if its scale exceeds the median scale by no more than this many
        parts in the root of the rows.
    half_level
        Least squares stands unless the half of the rows with the smallest residuals
        contradicts it at this level.
    cleaned_cutoff
        A cell with suspicious parents is flagged beyond so many standard deviations from
        what the cleaned parents lead to expect, or beyond the node's cutoff if that is less.
    largest_vagueness
        A cell is unverified if its cleaned parents leave more than this many times the noise
        variance open.
    cap, evidence
        Rows with suspicious parents are taken back as real events if twice their log
        likelihood ratio, with squared deviations capped, falls below -evidence.

    Examples
    --------
    >>> SequentialTrim().name, SequentialTrim(gate_level=0.001).gate_level
    ('robust', 0.001)
    """

    gate_level: float = 0.01
    extent_level: float = 0.05
    wide_level: float = 0.2
    spread_limit: float = 3.5
    half_level: float = 0.005
    cleaned_cutoff: float = 3.0
    largest_vagueness: float = 25.0
    cap: float = 16.0
    evidence: float = 8.0
    name = "robust"

    def __post_init__(self) -> None:
        """Refuse levels that are no chances, and limits that are not positive."""
        for each in fields(self):
            if not isinstance(getattr(self, each.name), int | float):
                raise SettingError(
                    f"got {each.name}={getattr(self, each.name)!r}, expected a number"
                )
        for field in ("gate_level", "extent_level", "wide_level", "half_level"):
            if not 0.0 < getattr(self, field) < 1.0:
                raise SettingError(f"got {field}={getattr(self, field)!r}, expected 0 < level < 1")
        if not self.gate_level <= min(self.extent_level, self.wide_level):
            raise SettingError(
                f"got gate_level={self.gate_level!r}, expected at most extent_level="
                f"{self.extent_level!r} and wide_level={self.wide_level!r}: lower the gate"
            )
        limits = ("spread_limit", "cleaned_cutoff", "largest_vagueness", "cap", "evidence")
        for field in limits:
            if not getattr(self, field) > 0.0:
                raise SettingError(f"got {field}={getattr(self, field)!r}, expected more than 0")

    def learn(
        self,
        rows: Rows,
        families: Families,
        *,
        intercept: bool = True,
        scale: RobustScale = "core",
        threads: int = 1,
        complete: bool | None = False,
    ) -> RobustSolution:
        """Learn all equations from rows (rows, nodes); NaN marks a missing cell.

        `complete` says that no cell is missing, which then is not looked into; None that this
        is likely, and if sums of squares do not prove it, `Unproven` is raised.

        Family i is that of node i, in column i. The variance is that of the Gaussian core of
        the residuals ("core"), the same with the least expected KL divergence ("kl-optimal"), or
        the mean square of all residuals of rows with sound parents, outliers included
        ("mean-square").

        Examples
        --------
        >>> import numpy as np
        >>> from gaussnet.graph.dag import Dag
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=200)
        >>> y = 2.0 * x + rng.normal(size=200)
        >>> y[:60] = 1000.0
        >>> dag = Dag.parse("[x][y|x]")
        >>> rows = np.column_stack((x, y))
        >>> solution = SequentialTrim().learn(rows, dag.families)
        >>> bool(abs(solution.coefficients[0] - 2.0) < 0.2), int(solution.rows[1])
        (True, 139)
        """
        from gaussnet.methods.robust.walk import Walk

        if scale not in SCALES:
            known = ", ".join(repr(one) for one in SCALES)
            raise SettingError(f"got scale={scale!r}, expected {known}")
        return Walk(rows, families, intercept, self, complete).learn(scale, threads)


@dataclass(frozen=True, slots=True)
class Auto(SequentialTrim):
    """The robust method, and a test of whether the data look contaminated, and where.

    The network is that of `SequentialTrim` with the same settings. For each node, least
    squares with the rows that were rejected is compared to least squares without them; see
    `Fit.contamination`.

    Parameters
    ----------
    level
        The chance with which clean data may be called contaminated, at most.

    Examples
    --------
    >>> Auto().name, Auto(level=0.01).level
    ('auto', 0.01)
    """

    level: float = 0.05
    name = "auto"

    def __post_init__(self) -> None:
        """Refuse a level that is no chance."""
        SequentialTrim.__post_init__(self)
        if not 0.0 < self.level < 1.0:
            raise SettingError(f"got level={self.level!r}, expected 0 < level < 1")
