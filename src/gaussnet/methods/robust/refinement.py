"""From the walk over the nodes to the mixture: every cell judged by all believed cells of its row.

`refined` takes what the walk found, runs the mixture from several starts, keeps the likeliest, and
asks of every column whether what does not fit is wrong or only shows its shape (`shape`). Columns
of the second kind are believed, and the mixture is run again. Where nothing is left to doubt, the
answer is least squares.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_core import WELL_CONDITIONED
from gaussnet.kernels.numpy_robust import CONFIRMED, FLAGGED, MISSING as MISSING_CELL, UNVERIFIED
from gaussnet.methods.robust.cells import LARGEST_MODE, SuspiciousCells, is_continuous
from gaussnet.methods.robust.cellwise import NOISE_VANISHED, TOO_MANY
from gaussnet.methods.robust.judge import HUGE, SLIGHTLY_DOUBTED, Judge, precisions
from gaussnet.methods.robust.level_starts import level_start
from gaussnet.methods.robust.mixture import (
    FEWEST_FOREIGN,
    ROUGH,
    ROWS_AT_A_TIME,
    SLIGHT,
    Equation,
    Mixture,
    marginal_variances,
    network_equation,
)
from gaussnet.methods.robust.precision import SparsePrecision
from gaussnet.methods.robust.sequential_trim import RobustScale, RobustSolution
from gaussnet.methods.robust.shape import (
    FAR_ENOUGH,
    crowded_rows,
    find_shape,
    looks_contaminated,
    rows_are_foreign,
    stands_apart,
)
from gaussnet.methods.robust.starts import mixture_from, rank_start, row_start, with_foreign
from gaussnet.methods.scales import KlOptimal
from gaussnet.types import BoolArray, FloatArray, IntArray

FIRST_ROUNDS, MOST_ROUNDS = 10, 150
"""Of each start before the likelihood chooses, and of the chosen one."""

SAMPLE_ROWS = 1_000
"""Starts are tried on so many rows; if there are not half as many more, on all of them."""

MORE_ROWS = 8
"""What was learnt from a sample is learnt again from so many times as many rows, and so on to all
of them: most rounds are those of the smaller samples."""

CLEAR_SHARE = 0.002
"""The walk's start is good enough if no more of the cells are in doubt than this."""

FEW_TOUCHED, MOST_TOUCHED, SCATTERED = 0.02, 0.7, 1.2
"""Whole rows are looked at if the walk doubts cells in few rows, which may be those that hang
together least with a group of foreign ones; and up to most rows, unless doubted cells explain all
and a row has no more of them than this times what it has where cells are wrong by themselves."""

SHAPE_ROUNDS = 5
"""So often columns are asked whether they are wrong or have a shape of their own."""

VANISHED = 1e-250
"""A noise variance that no column in this range of values can have: the mixture rests on rows that
an equation explains without any."""

NO_ROWS = np.empty(0, dtype=np.int64)

NO_NOISE = 1e-10
"""Noise is never below this share of a node's variance: the precision must stay finite."""


@dataclass(frozen=True, eq=False)
class Walk:
    """What the walk over the nodes found."""

    rows: FloatArray
    """As recorded; NaN marks a missing cell."""
    families: Families
    intercept: bool
    solution: RobustSolution
    threads: int = 1


def refined(walk: Walk, scale: RobustScale) -> RobustSolution:
    """The answer of the mixture; least squares where it finds nothing wrong.

    A node without noise, such as a sum of its parents, has no precision, and rows may have more
    missing or wrong cells than the mixture can hold: then the walk's answer stands.
    """
    if _has_node_without_noise(walk):
        return walk.solution
    outside = _cells_outside(walk)
    judged = _continuous(np.where(outside, np.nan, walk.rows))
    outside |= _cells_apart(walk, judged)
    rows = np.where(outside, np.nan, walk.rows)
    layout = SparsePrecision(walk.families)
    likeliest = _likeliest(walk, layout, rows, judged)
    if likeliest is None or likeliest.lacks_rows:
        return replace(walk.solution, notes=(TOO_MANY,))
    mixture = _with_levels(walk, likeliest)
    mixture = _with_foreign_rows(walk, mixture)
    apart, shaped = np.zeros(rows.shape, dtype=bool), set[int]()
    for _ in range(SHAPE_ROUNDS):
        expected = expectations(mixture)
        doubted = _doubted(mixture, expected)
        shape = find_shape(mixture, doubted)
        believed = doubted.any(axis=0) & ~shape.wrong
        if not believed.any():
            break
        apart |= shape.apart & believed
        shaped |= set(np.flatnonzero(believed).tolist())
        mixture = _believing(walk, mixture, layout, np.where(apart, np.nan, rows), believed)
    if (mixture.equation.variances <= VANISHED).any():
        return replace(walk.solution, notes=(NOISE_VANISHED,))
    found = Findings(walk, mixture, expected, outside | apart, tuple(shaped))
    if not (found.flagged | found.missing).any():  # then cells in doubt count as a whole
        blank = np.zeros(len(judged))
        least_squares = replace(mixture, chances=blank, foreign=None, wrong=0 * mixture.wrong)
        certain = Expectations(np.zeros(rows.shape), rows, np.zeros_like(expected.lost))
        found = replace(found, mixture=least_squares.round(), expected=certain)
    return found.solution(scale)


def _with_levels(walk: Walk, mixture: Mixture) -> Mixture:
    """The mixture without a level of a category that is doubted as a whole, if that is likelier."""
    if mixture.judged.all():
        return mixture
    start = level_start(mixture, _doubted(mixture, expectations(mixture)))
    if start is None:
        return mixture
    found = replace(start, threads=walk.threads, slight=mixture.slight).run_far(MOST_ROUNDS)
    is_better = _evidence(found) > _evidence(mixture) and not _has_collapsed(walk, found)
    return found if is_better else mixture


def _with_foreign_rows(walk: Walk, mixture: Mixture) -> Mixture:
    """The mixture with a second network for rows in which doubted cells crowd, if that is likelier.

    Samples that starts are tried on hold too few of them where they are rare.
    """
    if mixture.foreign is not None:
        return mixture
    crowded = crowded_rows(mixture, _doubted(mixture, expectations(mixture)))
    if np.count_nonzero(crowded) < FEWEST_FOREIGN:
        return mixture
    found = with_foreign(mixture, crowded).run_far(MOST_ROUNDS)
    is_sound = rows_are_foreign(found) and not _has_collapsed(walk, found)
    return found if is_sound and _evidence(found) > _evidence(mixture) else mixture


def _doubted(mixture: Mixture, expected: "Expectations") -> BoolArray:
    """Cells that are more likely wrong than not, in rows that are not foreign, (rows, nodes)."""
    found = (expected.chances > 0.5) & mixture.judged & ~np.isnan(mixture.rows)
    return np.asarray(found & ~mixture.foreign_rows[:, None])


class Expectations(NamedTuple):
    """What the mixture expects of every row."""

    chances: FloatArray
    """That cells are wrong, (rows, nodes)."""
    filled: FloatArray
    """The rows themselves, (rows, nodes)."""
    lost: FloatArray
    """Information that doubts take from each family, one square matrix after the other."""


def expectations(mixture: Mixture) -> Expectations:
    """Of all rows, with the parameters as they are."""
    task, rows = mixture.task(), mixture.rows
    chances, filled = np.zeros(rows.shape), np.empty(rows.shape)
    lost = np.zeros(int(np.sum((mixture.layout.families.sizes + 2) ** 2)))
    for first in range(0, len(rows), ROWS_AT_A_TIME):
        span = slice(first, first + ROWS_AT_A_TIME)
        foreign = None if mixture.foreign is None else mixture.foreign.densities[span]
        part, own = np.empty_like(lost), (filled[span], chances[span])
        kernels.mixture_moments(rows[span], task, mixture.wrong[span], foreign, *own, part)
        lost += part
    return Expectations(chances, filled, lost)


def _likeliest(
    walk: Walk, layout: SparsePrecision, rows: FloatArray, judged: BoolArray
) -> Mixture | None:
    """The mixture from the start that leads to the largest likelihood; None if none leads to one.

    Starts are the walk; rows that belong together; and ranks, unless the walk leaves no doubt. They
    are tried on a sample of the rows, evenly spread.
    """
    doubted = np.zeros(rows.shape, dtype=bool)
    for node, cells in walk.solution.cells.items():
        doubted[cells.rows, node] = True
    if len(rows) <= 1.5 * SAMPLE_ROWS:
        start = _likeliest_start(walk, layout, rows, judged, doubted)
        return start and start.run_far(MOST_ROUNDS)
    some = _spread(len(rows), SAMPLE_ROWS)
    sample = (np.ascontiguousarray(rows[some]), judged, doubted[some])
    start = _likeliest_start(walk, layout, *sample)
    if start is None:
        return None
    chosen = start.run_far(MOST_ROUNDS)
    count, is_first = SAMPLE_ROWS, True
    while count < len(rows):
        count = count * MORE_ROWS if count * MORE_ROWS**2 <= len(rows) else len(rows)
        some = _spread(len(rows), count)
        more = chosen.on(np.ascontiguousarray(rows[some]), doubted[some])
        chosen = (more.with_all_laws() if is_first else more).run_far(MOST_ROUNDS)
        is_first = False
    return chosen


def _spread(rows: int, count: int) -> IntArray:
    """The numbers of so many of the rows, evenly spread."""
    return np.linspace(0, rows - 1, count).astype(np.int64)


def _likeliest_start(
    walk: Walk, layout: SparsePrecision, rows: FloatArray, judged: BoolArray, doubted: BoolArray
) -> Mixture | None:
    """The mixture after a few rounds from the best of several starts; None if all lack rows."""
    found = []
    start = partial(_first_rounds, walk, layout, rows, judged)
    equation = _equation(walk, walk.solution)
    if (doubted.mean(axis=0) < 0.5).all() and _rests_on_most(walk).all():
        found.append(start(equation, doubted))
    found = [mixture for mixture in found if not _has_collapsed(walk, mixture)]
    is_clear = bool(found) and _is_clear(found[0])
    touched = doubted.any(axis=1)
    is_explained = is_clear and touched.mean() > FEW_TOUCHED and _are_scattered(doubted)
    if judged.sum() > 1 and touched.mean() < MOST_TOUCHED and not is_explained:
        concentrated, foreign = row_start(rows, layout, walk.intercept, judged)
        by_rows = start(concentrated, np.zeros(rows.shape, dtype=bool), foreign)
        is_sound = by_rows.foreign is None or rows_are_foreign(by_rows)
        found += [by_rows] if is_sound and not _has_collapsed(walk, by_rows) else []
    if not is_clear:
        found.append(start(*rank_start(rows, layout, walk.intercept)))
    found = [mixture for mixture in found if not mixture.lacks_rows]
    return replace(max(found, key=_evidence), slight=SLIGHT) if found else None


def _are_scattered(doubted: BoolArray) -> bool:
    """Whether cells are doubted here and there, not many in one row and none in others.

    Where each is doubted with probability p by itself, a row has one at least with probability
    1 - (1 - p)^nodes.
    """
    share = float(doubted.mean())
    expected = 1.0 - (1.0 - share) ** doubted.shape[1]
    return bool(doubted.any(axis=1).mean() * SCATTERED > expected)


def _has_collapsed(walk: Walk, mixture: Mixture) -> bool:
    """Whether noise has vanished at a node that has some: then the start rests on tied values."""
    spread = np.nanvar(walk.rows, axis=0)
    return bool((mixture.equation.variances <= WELL_CONDITIONED * spread).any())


def _first_rounds(  # noqa: PLR0913, PLR0917 (what starts share, and what they differ in)
    walk: Walk,
    layout: SparsePrecision,
    rows: FloatArray,
    judged: BoolArray,
    equation: Equation,
    doubted: BoolArray,
    foreign: BoolArray | None = None,
) -> Mixture:
    """The mixture after a few rounds from a start."""
    start = mixture_from(rows, layout, walk.intercept, equation, doubted, judged)
    start = start if foreign is None else with_foreign(start, foreign)
    return replace(start, threads=walk.threads, slight=ROUGH).run(FIRST_ROUNDS)


def _evidence(mixture: Mixture) -> float:
    """Log-likelihood less the price of a second network, as Schwarz's criterion has it."""
    price = 0.0 if mixture.foreign is None else mixture.price_of_foreign
    return mixture.log_likelihood - price


def _is_clear(mixture: Mixture) -> bool:
    """Whether hardly a cell is in doubt, and the believed ones look Gaussian."""
    chances, filled, _ = expectations(mixture)
    if (chances * (1.0 - chances)).mean() >= CLEAR_SHARE * 0.25:
        return False
    families, equation = mixture.layout.families, mixture.equation
    bad = (chances > 0.5) | np.isnan(mixture.rows) | mixture.foreign_rows[:, None]
    centred, zeros = filled - equation.means, np.zeros(len(equation.means))
    sound = ~_touched(bad, families)
    return not looks_contaminated(centred, families, equation.coefficients, zeros, sound)


def _believing(
    walk: Walk, old: Mixture, layout: SparsePrecision, rows: FloatArray, believed: BoolArray
) -> Mixture:
    """The mixture with some more columns that are not judged."""
    judged = old.judged & ~believed
    doubted = (old.wrong == 1) & judged
    start = mixture_from(rows, layout, walk.intercept, old.equation, doubted, judged)
    start = replace(start, laws=old.laws, threads=walk.threads)
    start = replace(start, foreign=old.foreign, common=old.common)
    return start.run_far(MOST_ROUNDS)


def _equation(walk: Walk, solution: RobustSolution) -> Equation:
    """The equations of a solution, with the means of the nodes."""
    families = walk.families
    own = (solution.coefficients, solution.intercepts, solution.variances)
    found = network_equation(families, *own)
    spread = np.maximum(marginal_variances(families, found), np.finfo(np.float64).tiny)
    return replace(found, variances=np.maximum(solution.variances, NO_NOISE * spread))


def _has_node_without_noise(walk: Walk) -> bool:
    """Whether the parents of a node explain all of it, as far as cross-products can tell.

    The rows kept must vary: a column that was learnt from its tied values has another fault.
    """
    variances, spread = walk.solution.variances, np.nanvar(walk.rows, axis=0)
    known = np.count_nonzero(~np.isnan(walk.rows), axis=0)
    left = np.maximum(known - _left_out_counts(walk), 1)
    # Squares about the mean only grow with more rows: so the rows kept vary by no more than this.
    suspect = variances < 2.0 * WELL_CONDITIONED * spread * known / left
    suspect |= ~np.isfinite(spread)
    for node in np.flatnonzero(suspect & _rests_on_most(walk) & (walk.families.sizes > 0)).tolist():
        kept = np.delete(walk.rows[:, node], walk.solution.left_out.get(node, NO_ROWS))
        if variances[node] < WELL_CONDITIONED * float(np.nanvar(kept)):
            return True
    return False


def _rests_on_most(walk: Walk) -> BoolArray:
    """Whether the walk's equations rest on half of the rows or more: else on a few tied values."""
    return np.asarray(_left_out_counts(walk) < 0.5 * len(walk.rows))


def _left_out_counts(walk: Walk) -> IntArray:
    """Rows that the walk's equation of each node does not rest on, (nodes,)."""
    found = [len(walk.solution.left_out.get(node, ())) for node in range(len(walk.families))]
    return np.array(found, dtype=np.int64)


def _cells_outside(walk: Walk) -> BoolArray:
    """Cells that the walk flagged in discrete columns, or so far off that squares lose digits."""
    outside, sound = np.zeros(walk.rows.shape, dtype=bool), _rests_on_most(walk)
    for node, cells in walk.solution.cells.items():
        if not sound[node]:
            continue
        with np.errstate(invalid="ignore"):
            huge = np.abs(cells.deviations) > HUGE
        chosen = (cells.statuses == FLAGGED) & (huge | (node in walk.solution.discrete))
        outside[cells.rows[chosen], node] = True
    return outside


def _cells_apart(walk: Walk, judged: BoolArray) -> BoolArray:
    """Cells of columns that are not judged which the walk flagged, and which stand apart.

    The mixture would believe them, and doubt their neighbours instead.
    """
    apart, sound = np.zeros(walk.rows.shape, dtype=bool), _rests_on_most(walk)
    for node, cells in walk.solution.cells.items():
        if judged[node] or not sound[node]:
            continue
        sizes = np.nan_to_num(np.abs(cells.deviations))
        # Cells that the walk does not list are nearer than this.
        is_apart = stands_apart(np.append(sizes, FAR_ENOUGH))[:-1]
        apart[cells.rows[is_apart & (cells.statuses == FLAGGED)], node] = True
    return apart


def _continuous(rows: FloatArray) -> BoolArray:
    """Columns in which no value is frequent, unless it lies far from all others, (nodes,)."""
    columns = np.ascontiguousarray(rows.T)
    frequent = int(LARGEST_MODE * len(rows))  # more are too many
    ordered = np.sort(columns, axis=1)
    found = ~(ordered[:, frequent:] == ordered[:, : len(rows) - frequent]).any(axis=1)
    asked = np.isnan(columns).any(axis=1) | ~found
    for node in np.flatnonzero(asked).tolist():
        found[node] = is_continuous(columns[node][~np.isnan(columns[node])])
    return np.asarray(found)


def _touched(bad: BoolArray, families: Families) -> BoolArray:
    """Rows of each family in which a cell is bad (rows, nodes), (nodes, rows)."""
    cells = np.ascontiguousarray(bad.T)
    found = cells.copy()
    for _, chosen, columns in families.by_size:
        for parents in columns[:, :-1].T:
            found[chosen] |= cells[parents]
    return found


@dataclass(frozen=True, eq=False)
class Findings:
    """What the mixture says of every cell, and the answer that follows."""

    walk: Walk
    mixture: Mixture
    expected: Expectations
    outside: BoolArray
    """Cells of columns that are not judged which are wrong all the same, (rows, nodes)."""
    shaped: tuple[int, ...]
    """Nodes that are believed although they do not look Gaussian."""

    @property
    def missing(self) -> BoolArray:
        """Cells without a value, (rows, nodes)."""
        return np.isnan(self.walk.rows)

    @property
    def flagged(self) -> BoolArray:
        """Cells that are more likely wrong than not, (rows, nodes)."""
        found = (self.expected.chances > 0.5) & self.mixture.judged
        return (found | self.outside | self.mixture.foreign_rows[:, None]) & ~self.missing

    def solution(self, scale: RobustScale) -> RobustSolution:
        """The answer in the terms of the walk."""
        walk, equation, families = self.walk, self.mixture.equation, self.walk.families
        left_out = self._left_out()
        rows = np.array([len(walk.rows) - len(left_out.get(n, ())) for n in range(len(families))])
        cells = self._cells()
        slopes = equation.coefficients
        constants = equation.means - np.bincount(
            families.family_of_edge, slopes * equation.means[families.parents], len(families)
        )
        constants = constants if walk.intercept else np.zeros(len(families))
        return RobustSolution(
            slopes,
            constants,
            self._variances(scale, rows),
            np.full(len(families), np.inf),
            rows,
            walk.solution.ranks,
            cells,
            left_out,
            {node: walk.rows[own.rows, node] for node, own in cells.items()},
            walk.solution.discrete,
            self.shaped,
            bridged=True,
            tied=walk.solution.tied,
            lost=self.expected.lost,
            judge=Judge.of(self.mixture, self._limits()),
        )

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Halfway from the last right value to the first that stands apart, (nodes,) each."""
        low = np.full(len(self.walk.families), -np.inf)
        high = -low
        for node in np.flatnonzero(self.outside.any(axis=0)).tolist():
            own, wrong = self.walk.rows[:, node], self.outside[:, node]
            right = own[~wrong & ~self.flagged[:, node] & ~self.missing[:, node]]
            if not len(right):
                continue
            least, most = float(right.min()), float(right.max())
            below, above = own[wrong & (own < least)], own[wrong & (own > most)]
            low[node] = 0.5 * (least + below.max()) if len(below) else -np.inf
            high[node] = 0.5 * (most + above.min()) if len(above) else np.inf
        return low, high

    def _left_out(self) -> dict[int, IntArray]:
        """Rows in which a cell of the family is flagged or missing."""
        touched = _touched(self.flagged | self.missing, self.walk.families)
        return {
            node: np.flatnonzero(touched[node])
            for node in np.flatnonzero(touched.any(axis=1)).tolist()
        }

    def _variances(self, scale: RobustScale, rows: IntArray) -> FloatArray:
        """Noise variances in the scale that was asked for."""
        families, variances = self.walk.families, self.mixture.equation.variances
        if scale == "kl-optimal":
            factors = KlOptimal().factors(rows, families.sizes, self.walk.intercept)
            return variances * np.where(np.isnan(factors), 1.0, factors)
        if scale == "mean-square":
            return self._mean_squares()
        return variances

    def _mean_squares(self) -> FloatArray:
        """Mean squared residuals of recorded values whose parents are not flagged, (nodes,)."""
        equation, families = self.mixture.equation, self.walk.families
        bad = self.flagged | self.missing
        rest = kernels.residuals(
            np.where(self.missing, self.expected.filled, self.walk.rows) - equation.means,
            families,
            equation.coefficients,
        ).T
        sound = ~self.missing
        for edge, parent in enumerate(families.parents.tolist()):
            sound[:, families.family_of_edge[edge]] &= ~bad[:, parent]
        return np.asarray(
            np.where(sound, rest**2, 0.0).sum(axis=0) / np.maximum(sound.sum(axis=0), 1)
        )

    def _cells(self) -> dict[int, SuspiciousCells]:
        """The cells in doubt, node by node."""
        walk, flagged, missing = self.walk, self.flagged, self.missing
        bad = flagged | missing
        doubted = ((self.expected.chances > SLIGHTLY_DOUBTED) & self.mixture.judged) | bad
        for node, cells in walk.solution.cells.items():
            doubted[cells.rows[cells.statuses != UNVERIFIED], node] = True
        nodes, rows = np.nonzero(doubted.T)
        at = rows, nodes
        own, is_missing, is_outside = walk.rows[at], missing[at], self.outside[at]
        chances = np.where(flagged[at] & is_outside, 1.0, self.expected.chances[at])
        foreign = self.mixture.foreign_rows[rows]
        chances = np.where(foreign, self.mixture.foreign_chances[rows], chances)
        statuses = np.where(chances > SLIGHTLY_DOUBTED, UNVERIFIED, CONFIRMED)
        statuses = np.where(flagged[at], FLAGGED, statuses)
        statuses = np.where(is_missing, MISSING_CELL, statuses).astype(np.uint8)
        filled = self.expected.filled[at]
        in_full = is_outside | is_missing
        share = np.where(in_full, 1.0, np.maximum(chances, SLIGHTLY_DOUBTED))
        expected = np.where(is_missing, filled, own - (own - filled) / share)
        expected = np.where(foreign, self.mixture.equation.means[nodes], expected)
        variances = self._spreads(doubted, bad)[at]
        self._as_suspected(nodes, rows, statuses, expected, variances)
        deviations = (own - expected) / np.sqrt(variances)
        columns = (rows, statuses, expected, variances, deviations, chances)
        different, firsts = np.unique(nodes, return_index=True)
        parts = zip(*(np.split(column, firsts[1:]) for column in columns), strict=True)
        return {
            node: SuspiciousCells(*part)
            for node, part in zip(different.tolist(), parts, strict=len(different) > 0)
        }

    def _as_suspected(
        self,
        nodes: IntArray,
        rows: IntArray,
        statuses: "np.typing.NDArray[np.uint8]",
        expected: FloatArray,
        variances: FloatArray,
    ) -> None:
        """Write into the last two what the equations said that suspected cells now confirmed."""
        confirmed = np.flatnonzero(statuses == CONFIRMED)
        for node in np.unique(nodes[confirmed]).tolist():
            known = self.walk.solution.cells.get(node)
            if known is None:
                continue
            was = confirmed[nodes[confirmed] == node]
            at = np.searchsorted(known.rows, rows[was])
            expected[was], variances[was] = known.expected[at], known.variances[at]

    def _spreads(self, doubted: BoolArray, bad: BoolArray) -> FloatArray:
        """Variances of doubted cells about what is expected there, (rows, nodes); else NaN."""
        variances = np.full(bad.shape, np.nan)
        cells = np.nonzero(doubted & ~self.missing)
        variances[cells] = 1.0 / precisions(self.mixture, bad, *cells)
        return variances
