"""`plan`: how many rows a target needs."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, isfinite, log, sqrt

from gaussnet import display
from gaussnet.errors import SettingError
from gaussnet.graph.dag import counted
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.planning.laws import Degrees, MethodLaw
from gaussnet.planning.settings import (
    PlanLaw,
    check_resolution,
    checked_delta,
    checked_law,
    checked_share,
    law_for,
    phases_of_share,
)
from gaussnet.planning.targets import (
    PaperSizes,
    information_limit,
    paper_sizes,
    target_kl,
    tv_bound,
)

MOST_ROWS = 10**12
"""Plans stop here."""
SIMULATED = 1e-3
"""Share of rows to which plans by simulated laws are found, which are good to 1 %."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows that a target needs, and what went into the answer."""

    rows: int
    kl: float
    """The KL divergence asked for, or the one that the total variation asked for."""
    tv: float
    """The total variation that `kl` guarantees."""
    delta: float
    """Probability with which the promise may fail; not used by law="expected"."""
    law: str
    method: str
    intercept: bool
    split: tuple[int, int] | None
    information_rows: int
    """Rows at which the information limit (edges + nodes [+ nodes]) / (2 rows) meets `kl`."""
    hardness_rows: float
    """n d / tv^2: the shape of the paper's lower bound, whose constant it does not give."""
    paper: PaperSizes | None = None
    """The paper's two phases, printed and corrected, for law="paper"."""

    _repr_html_ = display.as_printed

    def __str__(self) -> str:
        lines = [
            f"{counted(self.rows, 'row')} for {self._promise()}",
            f"  method             {self.method}",
            f"  law                {self.law}",
            f"  information limit  {counted(self.information_rows, 'row')}",
            f"  lower bound        {self.hardness_rows:,.0f} = n d / TV^2, times an unknown "
            "constant",
        ]
        if self.split:
            lines.append(f"  split              {self.split[0]:,} + {self.split[1]:,}")
        if self.paper:
            lines.append(
                f"  with the paper's constants put right: {self.paper.rows_corrected:,} rows"
            )
        return "\n".join(lines)

    def _promise(self) -> str:
        if self.law == "expected":
            return f"an expected KL of {self.kl:.4g}"
        return f"KL <= {self.kl:.4g}, TV <= {self.tv:.4g}, with probability {1 - self.delta:.6g}"


def plan(  # noqa: PLR0913 (every setting is one keyword)
    dag: GraphLike,
    *,
    tv: float | None = None,
    kl: float | None = None,
    delta: float = 0.05,
    method: object = "least-squares",
    law: PlanLaw = "expected",
    intercept: bool = True,
    split: float | None = None,
) -> Plan:
    """How many rows it takes to learn a network over this graph well enough.

    Parameters
    ----------
    dag
        The graph, in any form that `fit` takes.
    tv, kl
        The target, one of them: total variation or KL divergence from the truth.
    delta
        Probability with which the promise may fail.
    method
        "least-squares", "batch-average", "cauchy-tree" (polytrees), or an estimator.
    law
        "expected": the expected KL is at most the target. "exact": KL is at most the target
        with probability 1 - delta, by the least bound proven for the method. "union": the
        same by exact quantiles of the single nodes. "paper": by the paper's constants, which
        know no intercepts.
    intercept
        Whether the equations have a constant.
    split
        None, or the part of the rows that finds coefficients while the rest finds variances.

    Examples
    --------
    >>> dag = "wet ~ rain + sprinkler"
    >>> plan(dag, tv=0.05).rows, plan(dag, tv=0.05, law="exact").rows
    (808, 1638)
    """
    graph, goal = as_dag(dag), target_kl(tv, kl)
    degrees = Degrees.of(graph)
    delta, share = checked_delta(delta), checked_share(split)
    known, sizes = law_for(method, graph), None
    check_resolution(known, delta, len(graph) if law == "union" else 1)
    # rows and KL stand for each other in the limit, parameters / (2 rows)
    limit = ceil(information_limit(graph, goal, intercept=intercept))
    if checked_law(law, PlanLaw) == "paper":
        sizes = paper_sizes(known, degrees, goal, delta)
        rows, parts = sizes.rows, (sizes.m1, sizes.m2)
    else:
        divergence = _divergence(known, degrees, delta, law, (intercept, share))
        room = SIMULATED if known.resolution else 0.0
        rows = fewest_rows(divergence, goal, start=max(limit, 1), room=room)
        phases = phases_of_share(rows, share, intercept)
        parts = (phases.first, phases.second)
    return Plan(
        rows=rows,
        kl=goal,
        tv=tv_bound(goal),
        delta=delta,
        law=law,
        method=known.method,
        intercept=intercept,
        split=parts if sizes or share else None,
        information_rows=limit,
        hardness_rows=len(graph) * graph.max_in_degree / tv_bound(goal) ** 2,
        paper=sizes,
    )


def fewest_rows(
    divergence: Callable[[int], float], goal: float, start: int = 1, room: float = 0.0
) -> int:
    """The fewest rows whose divergence is at most the goal, for a divergence that falls.

    With `room` they may be more by this share, for a divergence that is not known better.

    Rows times divergence is nearly constant, so guesses follow straight lines between
    logarithms; the bracket (too few, enough] shrinks to one row.

    Examples
    --------
    >>> fewest_rows(lambda rows: 100 / rows, goal=0.3)
    334
    """
    if start > MOST_ROWS:
        raise _too_many_rows(goal)
    tries = [_Try(start, _miss(divergence(start), goal))]
    few = _Try(0, inf)
    while tries[-1].miss > 0.0:
        few = tries[-1]
        growth = 2.0 if few.miss == inf else min(max(1.02 * exp(few.miss), 1.02), 100.0)
        rows = ceil(growth * few.rows) + 1
        if rows > MOST_ROWS:
            raise _too_many_rows(goal)
        tries.append(_Try(rows, _miss(divergence(rows), goal)))
    enough = tries[-1]
    while enough.rows - few.rows > max(1, room * few.rows):
        rows = _between(few, enough, tries)
        tries.append(_Try(rows, _miss(divergence(rows), goal)))
        if tries[-1].miss > 0.0:
            few = tries[-1]
        else:
            enough = tries[-1]
    return enough.rows


def _too_many_rows(goal: float) -> SettingError:
    return SettingError(
        f"the target kl={goal:g} needs more than {MOST_ROWS:.0e} rows: ask for less"
    )


@dataclass(frozen=True, slots=True)
class _Try:
    """A number of rows and ln(divergence / goal) there."""

    rows: int
    miss: float


def _miss(divergence: float, goal: float) -> float:
    return log(divergence / goal) if divergence > 0.0 else -1.0


def _between(few: _Try, enough: _Try, tries: list[_Try]) -> int:
    """Where the line through the last two tries crosses 0; every fourth time halfway."""
    last, before = tries[-1], tries[-2] if len(tries) > 1 else _Try(0, inf)
    slope = before.miss - last.miss
    if len(tries) % 4 == 0 or not isfinite(slope) or slope == 0.0:
        rows = sqrt(max(few.rows, 1) * enough.rows) if few.rows else enough.rows / 2
    else:
        steps = min(max(last.miss / slope, -50.0), 50.0)
        rows = last.rows * exp(steps * log(last.rows / before.rows))
    return min(max(round(rows), few.rows + 1), enough.rows - 1)


def _divergence(
    known: MethodLaw, degrees: Degrees, delta: float, law: str, design: tuple[bool, float | None]
) -> Callable[[int], float]:
    """KL as a function of the rows, by the law."""
    intercept, share = design

    def divergence(rows: int) -> float:
        phases = phases_of_share(rows, share, intercept)
        if law == "expected":
            return known.expected_kl(degrees, phases)
        if law == "union":
            return known.union_bound(degrees, phases, delta).kl
        return known.best_bound(degrees, phases, delta).kl

    return divergence
