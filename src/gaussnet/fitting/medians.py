"""Medians over pages that are not kept: brackets in one pass, recounts of what they missed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray, IntArray, Rows
from gaussnet.estimate.batches import BatchMedian
from gaussnet.estimate.brackets import SAMPLE_ROOMS, SLACK, WIDTH, default_room
from gaussnet.estimate.cauchy import (
    CarefulCauchy,
    Cauchy,
    CauchyTree,
    unwhitened,
    whitened,
    whitening,
)
from gaussnet.estimate.equations import Equations, Stripe, cut_stripes
from gaussnet.estimate.factors import Factors
from gaussnet.estimate.middles import Medians
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.recounts import FirstPass, Pass
from gaussnet.estimate.scales import Spread, mad_spread
from gaussnet.estimate.solution import Solution
from gaussnet.estimate.solutions import Solutions, Tally
from gaussnet.kernels.families import Families
from gaussnet.kernels.threads import merge_in_order

MedianMethod = BatchMedian | CauchyTree | Cauchy | CarefulCauchy
Steps = tuple[Pass | None, ...]
"""What to fold for each block of coefficients; None where all is known."""


class PageMedians(NamedTuple):
    """Summaries of a pass, one a block, and the moments if they are wanted too."""

    blocks: tuple[Any, ...]
    moments: Moments | None

    def merge(self, other: "PageMedians") -> "PageMedians":
        """The summaries of both."""
        blocks = tuple(
            None if left is None else left.merge(right)
            for left, right in zip(self.blocks, other.blocks, strict=True)
        )
        if self.moments is None or other.moments is None:
            return PageMedians(blocks, None)
        return PageMedians(blocks, self.moments.merge(other.moments))


def steps_after(steps: Steps, summary: PageMedians) -> Steps:
    """The same steps for pages that come after those of the summary."""
    return tuple(
        None if step is None else step.after(own)
        for step, own in zip(steps, summary.blocks, strict=True)
    )


@dataclass(frozen=True)
class SolutionPass:
    """One pass over the solutions of a method's batches or windows, page by page."""

    method: MedianMethod
    equations: Equations
    steps: Steps
    uppers: tuple[FloatArray, ...] | None = None
    """What turns the solutions of each block into whitened coordinates."""
    moments: bool = False

    def __call__(self, page: Rows) -> PageMedians:
        """The summaries of a page."""
        found = self.method.solutions(Stripe(page, 0, len(page)), self.equations)
        arrays = found.runs[0] if isinstance(found, Solutions) else found
        blocks: list[Any] = []
        for index, (step, solutions) in enumerate(zip(self.steps, arrays, strict=True)):
            if step is None:
                blocks.append(None)
                continue
            own = solutions if self.uppers is None else whitened(self.uppers[index], solutions)
            flat = own.reshape(own.shape[0] * own.shape[1], own.shape[2])
            blocks.append(step.summarize(flat if step.chosen is None else flat[step.chosen]))
        return PageMedians(tuple(blocks), self._moments(page))

    def after(self, summary: PageMedians) -> "SolutionPass":
        """The same pass over pages that come after those of the summary."""
        return replace(self, steps=steps_after(self.steps, summary))

    def _moments(self, page: Rows) -> Moments | None:
        if not self.moments:
            return None
        stripes = (Moments.of(stripe, self.equations) for stripe in cut_stripes(page))
        return merge_in_order(stripes, Moments.merge)


class Found(NamedTuple):
    """Medians of each block, how many values each is of with the singular, and the passes."""

    medians: list[Medians]
    counts: list[IntArray]
    passes: int
    moments: Moments | None


def find_medians(fold: Callable[[Steps, bool], PageMedians], blocks: int, moments: bool) -> Found:
    """Passes until every median is proven; moments, if wanted, are taken in the first."""
    summary = fold(tuple(FirstPass() for _ in range(blocks)), moments)
    first = summary
    medians = [own.medians() for own in first.blocks]
    counts = [own.used + own.missing for own in first.blocks]
    passes = 1
    steps = tuple(own.next_pass() for own in first.blocks)
    while any(step is not None for step in steps):
        summary, passes = fold(steps, False), passes + 1
        later: list[Pass | None] = []
        for known, step, own in zip(medians, steps, summary.blocks, strict=True):
            if step is None:
                later.append(None)
                continue
            for old, new in zip(known, own.medians(), strict=True):
                old[step.chosen] = new
            later.append(own.next_pass())
        steps = tuple(later)
    return Found(medians, counts, passes, first.moments)


Fold = Callable[[Callable[[Rows], Any], Callable[[Any, Any], Any]], Any]
"""Summarises every page and merges the summaries."""


def solve_by_passes(
    method: MedianMethod, equations: Equations, fold: Fold, moments: bool
) -> tuple[Solution, Moments | None]:
    """The method's solution over pages that are not kept, and the moments if they are wanted."""
    uppers, doubtful, known = _whitening(method, equations, fold)

    def run(steps: Steps, with_moments: bool) -> PageMedians:
        own = SolutionPass(method, equations, steps, uppers, with_moments)
        summary: PageMedians = fold(own, PageMedians.merge)
        return summary

    found = find_medians(run, len(equations.blocks()), moments and known is None)
    tally = tally_medians(equations, found.medians, found.counts, uppers)
    passes = found.passes + (uppers is not None)
    return tally.solution(doubtful, passes), found.moments if known is None else known


def tally_medians(
    equations: Equations,
    medians: Sequence[Medians],
    counts: Sequence[IntArray],
    uppers: tuple[FloatArray, ...] | None = None,
) -> Tally:
    """The medians of each block as coefficients, with what was used of so many."""
    tally = Tally(equations)
    for index, block in enumerate(equations.blocks()):
        shape = (block.count, block.size)
        answer = medians[index].values.reshape(shape)
        if uppers is not None:
            answer = unwhitened(uppers[index], answer)
        used, count = medians[index].used.reshape(shape), counts[index].reshape(shape)
        tally.add(block, answer, used[:, 0], count[:, 0])
    return tally


def _whitening(
    method: MedianMethod, equations: Equations, fold: Fold
) -> tuple[tuple[FloatArray, ...] | None, IntArray | None, Moments | None]:
    """What whitens each block, the doubtful families, and the moments: from a pass of its own."""
    if isinstance(method, Cauchy):
        moments: Moments = fold(_Stripes(Moments.of, Moments.merge, equations), Moments.merge)
        uppers, doubtful = whitening(moments, equations)
        return tuple(uppers), doubtful, moments
    if isinstance(method, CarefulCauchy):
        factors: Factors = fold(_Stripes(Factors.of, Factors.merge, equations), Factors.merge)
        members = (range(b.families.start, b.families.stop) for b in equations.blocks())
        stacks = (np.stack([factors.parent_factor(f) for f in own]) for own in members)
        return tuple(stacks), None, None
    return None, None, None


@dataclass(frozen=True)
class ResidualPass:
    """One pass over residuals, or over their distances from given centres."""

    families: Families
    coefficients: FloatArray
    steps: Steps
    centres: FloatArray | None = None

    def __call__(self, page: Rows) -> PageMedians:
        """The summary of a page."""
        (step,) = self.steps
        assert step is not None
        values = kernels.residuals(page, self.families, self.coefficients)
        if self.centres is not None:
            values -= self.centres[:, None]
            np.abs(values, out=values)
        chosen = values if step.chosen is None else values[step.chosen]
        return PageMedians((step.summarize(chosen),), None)

    def after(self, summary: PageMedians) -> "ResidualPass":
        """The same pass over pages that come after those of the summary."""
        return replace(self, steps=steps_after(self.steps, summary))


def scale_by_passes(
    families: Families, coefficients: FloatArray, fold: Fold, intercept: bool
) -> Spread:
    """Median and median absolute deviation of residuals that are not kept."""

    def medians(centres: FloatArray | None) -> FloatArray:
        def run(steps: Steps, _: bool) -> PageMedians:
            own = ResidualPass(families, coefficients, steps, centres)
            summary: PageMedians = fold(own, PageMedians.merge)
            return summary

        return find_medians(run, 1, False).medians[0].values

    locations = medians(None)
    return mad_spread(locations, medians(locations), intercept)


@dataclass(frozen=True)
class _Stripes:
    """Summarises the stripes of a page and merges them."""

    of: Callable[[Stripe, Equations], Any]
    merge: Callable[[Any, Any], Any]
    equations: Equations

    def __call__(self, page: Rows) -> Any:
        return merge_in_order(
            (self.of(stripe, self.equations) for stripe in cut_stripes(page)), self.merge
        )


def bracket_values(coefficients: int, rows: int) -> float:
    """Values that brackets keep for each of so many coefficients over so many rows."""
    room = default_room(coefficients)
    near = max(float(room), WIDTH * float(np.sqrt(rows)))
    return SLACK * near + SAMPLE_ROOMS * room
