"""The cellwise method: every cell judged by all believed cells of its row."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gaussnet.data.passes import Pass
from gaussnet.data.table import Table
from gaussnet.errors import SettingError
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations, Method, Scale
from gaussnet.methods.groups import Fitted
from gaussnet.methods.robust.findings import Trimming
from gaussnet.methods.robust.sequential_trim import (
    NOTHING_SET,
    RobustScale,
    RobustSolution,
    SequentialTrim,
    SetRows,
)
from gaussnet.types import FloatArray, Rows

if TYPE_CHECKING:
    from gaussnet.methods.standard_errors import Assembly
    from gaussnet.methods.standard_errors.observed_information import ParameterLaw

FEWEST_ROWS = 50
"""With fewer rows the walk's answer stands: a mixture has too much to learn."""

MOST_MISSING = 90
"""If a row has more missing cells, the walk's answer stands: patterns have no room for them."""

WALK_ALONE = (
    "wrong values are looked for by sequential trimming alone, which misses more of those that are "
    "only a few standard deviations off"
)
SET_FROM_OUTSIDE = f"with interventions {WALK_ALONE}"
NOISE_VANISHED = f"noise vanishes at a node where all cells are judged jointly, so {WALK_ALONE}"
TOO_MANY = f"rows have more wrong or missing values than can be weighed jointly, so {WALK_ALONE}"


@dataclass(frozen=True, slots=True)
class Cellwise(SequentialTrim):
    """Wrong cells as a mixture, by maximum likelihood over the cells that are believed.

    Begins with the walk of `SequentialTrim`, whose settings it has. If that doubts nothing and the
    fourth moments of residuals are those of Gaussian noise, the answer is least squares. Else
    every cell is judged against all others of its row, parents, children and their other parents
    alike; what is wrong is treated as missing, and what is in doubt counts in part. A column whose
    doubted values its neighbours confirm, or which only has another shape than a Gaussian one, is
    believed. Whole rows may be foreign.

    Examples
    --------
    >>> import gaussnet as gn
    >>> dag = gn.Dag.parse("[a][b|a][c|b]")
    >>> truth = gn.GaussianNetwork.from_arrays(dag, [1.0, 1.0], [1.0, 1.0, 1.0])
    >>> rows = truth.sample(1_000, seed=1)
    >>> rows[:100, 1] += 4.0
    >>> fit = gn.fit(rows, dag, gn.Cellwise())
    >>> fit.outliers().shares["b"] > 0.05, abs(fit.network.coefficients["a", "b"] - 1.0) < 0.1
    (True, True)
    """

    name = "robust"
    other_robust = "sequential-trim"
    summarized_by = "robust"
    error_kinds = ("believed-cells",)
    reads_pages = True
    keeps_sample = True
    passes = "a sample is learnt from in memory, then all rows are read once or more"

    def first(self, equations: Equations, scale: Scale) -> Pass:
        """All rows at once, if they are in memory; else a sample, and then rounds over all."""
        if not equations.limits.is_stream:
            return SequentialTrim.first(self, equations, scale)
        from gaussnet.methods.robust.streams import first_pass

        return first_pass(self, equations, scale)

    def learn(  # noqa: PLR0913 (as `SequentialTrim.learn`)
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
        """Learn all equations from rows (rows, nodes), as `SequentialTrim.learn`."""
        from gaussnet.methods.robust.refinement import Walk, refined
        from gaussnet.methods.robust.shape import looks_contaminated

        walk = SequentialTrim.learn(
            self,
            rows,
            families,
            intercept=intercept,
            scale=scale,
            threads=threads,
            complete=complete,
            set_rows=set_rows,
        )
        if set_rows:
            return replace(walk, notes=(SET_FROM_OUTSIDE,))
        values = np.array(rows, dtype=np.float64, order="C")
        if len(values) < FEWEST_ROWS or not _all_vary(values):
            return walk
        if complete is not True and np.isnan(values).sum(axis=1).max() > MOST_MISSING:
            return replace(walk, notes=(TOO_MANY,))
        equation = (walk.coefficients, walk.intercepts)
        found = bool(walk.cells) or bool(walk.left_out)
        if not found and not looks_contaminated(values, families, *equation):
            return walk
        return refined(Walk(values, families, intercept, walk, threads), scale)

    def over_holes(self) -> Method:
        """Itself: cells that are missing are bridged as those that are wrong."""
        return self

    def parameter_law(self, fitted: Fitted) -> "ParameterLaw":
        """That of `prediction_law`."""
        return self.prediction_law(fitted)

    def prediction_law(self, fitted: Fitted) -> "ParameterLaw":
        """What the cells that are believed say of all parameters together."""
        from gaussnet.methods.robust.believed_cells import believed_law

        return believed_law(fitted)

    def find_errors(self, fitted: Fitted, kind: str, level: float) -> "Assembly":
        """Those of maximum likelihood over the cells that are believed.

        If the answer is that of the walk, which rejects rows beyond a cutoff, they are the walk's.
        """
        from gaussnet.methods.robust.believed_cells import believed_cells

        if np.isfinite(fitted.findings.cutoffs).any() or fitted.findings.set_rows:
            return SequentialTrim.find_errors(self, fitted, kind, level)
        return believed_cells(fitted, level)


@dataclass(frozen=True, slots=True)
class Auto(Cellwise):
    """The robust method, and a test of whether the data look contaminated, and where.

    The network is that of `Cellwise` with the same settings. For each node, least
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
    keeps_sample = False

    def __post_init__(self) -> None:
        """Refuse a level that is no chance."""
        Cellwise.__post_init__(self)
        if not 0.0 < self.level < 1.0:
            raise SettingError(f"got level={self.level!r}, expected 0 < level < 1")

    def examined(self, fitted: Fitted, table: Table) -> Trimming:
        """What was found, with the test for contamination."""
        from gaussnet.methods.robust.contamination import find_contamination
        from gaussnet.methods.robust.paged_contamination import find_paged_contamination

        findings: Trimming = fitted.findings
        if findings.counts is None:
            test = find_contamination(fitted, table.in_memory("this").array, self.level)
        else:
            test = find_paged_contamination(fitted, table, self.level)
        return replace(findings, contamination=test)


def _all_vary(rows: FloatArray) -> bool:
    """Whether no column is constant or out of the range of squares."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        sizes = np.maximum(np.abs(low), np.abs(high))
    return bool(((high > low) & (sizes < 1e100) & (high - low > 1e-100)).all())
