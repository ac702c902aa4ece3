"""Sequential trimming: its settings, its pass over all rows, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gaussnet.data.design import Part
from gaussnet.data.passes import Pass, Stripe
from gaussnet.errors import SettingError
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations, Method, Scale, Solution
from gaussnet.methods.groups import Fitted
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.robust.findings import Trimming
from gaussnet.methods.scales import GaussianCore, KlOptimal, MeanSquare
from gaussnet.types import FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from gaussnet.methods.robust.judge import Judge
    from gaussnet.methods.standard_errors import Assembly

SetRows = Mapping[int, IntArray]
"""Rows in which cells were set from outside, ascending, by node."""

NOTHING_SET: SetRows = MappingProxyType({})

RobustScale = Literal["core", "kl-optimal", "mean-square"]
SCALES: tuple[RobustScale, ...] = ("core", "kl-optimal", "mean-square")


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
    shaped: tuple[int, ...] = ()
    """Nodes that are believed although they do not look Gaussian."""
    bridged: bool = False
    """Whether the other cells of a row count where one is wrong or missing."""
    tied: tuple[int, ...] = ()
    """Discrete nodes so many values of which are equal that wrong ones cannot be told."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of the answer as a whole."""
    lost: FloatArray | None = None
    """Information that doubts take from each family, one square matrix after the other."""
    judge: "Judge | None" = None
    """Who judges cells of further rows, where the mixture was learnt."""


@dataclass(frozen=True, slots=True)
class SequentialTrim(Method):
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
    ('sequential-trim', 0.001)
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
    name = "sequential-trim"
    default_scale = "core"
    needs_all_rows = True
    flags_cells = True
    uses: ClassVar[frozenset[Part]] = frozenset({"regime"})
    error_kinds = ("fitted-rows",)

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

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """All rows at once."""
        return TrimPass(self, equations, scale)

    def find_errors(self, fitted: Fitted, kind: str, level: float) -> "Assembly":
        """Those of least squares over the rows that are kept."""
        from gaussnet.methods.robust.fitted_rows import fitted_rows

        return fitted_rows(fitted, level)

    def certified_as(self, scale: Scale, findings: Any) -> tuple[Method, Scale]:
        """Least squares, if nothing was trimmed; rows with missing cells are told elsewhere."""
        if findings.trimmed:
            raise SettingError(
                "some values were flagged, so that nodes leave out rows that do not fit, and a "
                "certificate is one about clean rows: see fit.outliers() and fit.uncertainty()"
            )
        return LeastSquares(), MeanSquare() if isinstance(scale, GaussianCore) else scale

    def learn(  # noqa: PLR0913 (rows, equations, how, and what is known of the rows)
        self,
        rows: Rows,
        families: Families,
        *,
        intercept: bool = True,
        scale: RobustScale = "core",
        threads: int = 1,
        complete: bool | None = False,
        set_rows: SetRows = NOTHING_SET,
    ) -> RobustSolution:
        """Learn all equations from rows (rows, nodes); NaN marks a missing cell.

        `complete` says that no cell is missing, which then is not looked into; None that this
        is likely, and if sums of squares do not prove it, `NotFinite` is raised. `set_rows` are
        those in which a node was set from outside: they say nothing of its equation, which cannot
        judge its cells there, and its children take these as they are.

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
        from gaussnet.methods.robust.all_nodes import SequentialFit

        if scale not in SCALES:
            known = ", ".join(repr(one) for one in SCALES)
            raise SettingError(f"got scale={scale!r}, expected {known}")
        walk = SequentialFit(rows, families, intercept, self, complete, set_rows=set_rows)
        return walk.learn(scale, threads)


@dataclass(frozen=True)
class TrimPass(Pass):
    """Asks for all rows, and learns from them node by node."""

    method: SequentialTrim
    equations: Equations
    scale: Scale
    needs_all_rows = True

    def summarize(self, stripe: Stripe) -> Stripe:
        """All rows, which are one stripe."""
        return stripe

    def merge(self, left: Stripe, right: Stripe) -> Stripe:
        """Never called: all rows are one stripe."""
        raise AssertionError("all rows are one stripe")

    def then(self, summary: Stripe) -> Solution:
        """The solution, and what was found wrong with the rows."""
        from gaussnet.methods.robust.units import learn_in_units

        families, rows = self.equations.families.by_node, summary.page
        incomplete, set_rows = _incomplete_rows(summary, families), _set_rows(summary)
        learn = partial(
            self.method.learn,
            families=families,
            intercept=self.equations.intercept,
            scale=_scale_name(self.scale),
            threads=self.equations.limits.run.threads,
            complete=summary.is_complete,
            set_rows=set_rows,
        )
        found = learn_in_units(learn, rows, families)
        nodes = families.sorted_by_size[0]
        wrong = (found.cells, found.recorded, found.left_out)
        return Solution.of(
            self.equations,
            found.coefficients[families.edges_of(nodes)],
            ranks=found.ranks[nodes],
            intercepts=found.intercepts[nodes],
            variances=found.variances[nodes],
            rows=found.rows[nodes],
            dropped=incomplete[nodes],
            set_rows=np.array([len(set_rows.get(node, ())) for node in nodes.tolist()]),
            notes=found.notes,
            findings=Trimming(
                len(rows),
                found.cutoffs,
                *wrong,
                discrete=found.discrete,
                shaped=found.shaped,
                tied=found.tied,
                bridged=found.bridged,
                set_rows=set_rows,
                lost=found.lost,
                judge=found.judge,
            ),
        )


def _set_rows(stripe: Stripe) -> dict[int, IntArray]:
    """Rows in which nodes were set from outside, for those that were."""
    cells = stripe.set_cells
    if cells is None:
        return {}
    if stripe.is_complete is False and (np.isnan(stripe.page) & cells).any():
        raise SettingError(
            "some cells that were set from outside have no value, and nothing else tells what they "
            "were: leave these rows out, or give another method than robust ones"
        )
    touched = np.flatnonzero(cells.any(axis=0)).tolist()
    return {node: np.flatnonzero(cells[:, node]) for node in touched}


def _scale_name(scale: Scale) -> RobustScale:
    if isinstance(scale, GaussianCore):
        return "core"
    return "kl-optimal" if isinstance(scale, KlOptimal) else "mean-square"


def _incomplete_rows(stripe: Stripe, families: Families) -> IntArray:
    """Rows in which a value of the node or of a parent is missing, (nodes,).

    Those in which the node was set from outside serve it no more than others do.
    """
    found = np.zeros(len(families), dtype=np.int64)
    if stripe.is_complete is not False:
        return found
    holes = np.isnan(stripe.page)
    holed = np.asarray(holes.any(axis=0))
    touched = holed.copy()
    np.logical_or.at(touched, families.family_of_edge, holed[families.parents])
    for node in np.flatnonzero(touched).tolist():
        columns = families.subset(np.array([node])).columns
        lost = holes[:, columns].any(axis=1)
        if stripe.set_cells is not None:
            lost &= ~stripe.set_cells[:, node]
        found[node] = np.count_nonzero(lost)
    return found
