"""Medians over pages that are not kept: brackets in one pass, recounts of what they missed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.fitting.folds import PageSummary
from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_medians import turned
from gaussnet.methods.base import Equations, Solution, Stripe
from gaussnet.methods.batches import Solutions, tally_medians
from gaussnet.methods.cauchy import CarefulCauchy, Cauchy, SquareWindows, flat_triangles, whitening
from gaussnet.methods.least_squares import Factors, Moments
from gaussnet.methods.medians.brackets import SAMPLE_ROOMS, Brackets, default_room
from gaussnet.methods.medians.recounts import FirstPass, Pass, find_medians
from gaussnet.methods.medians.samples import Ragged, Sample, drawn_places
from gaussnet.methods.names import MedianMethod
from gaussnet.methods.scales import Spread, mad_spread
from gaussnet.types import FloatArray, IntArray, Rows


class PageMedians(NamedTuple):
    """The summary of a pass over all coefficients, and the moments if they are wanted too."""

    summary: Any
    """Brackets in the first pass, counts between edges in later ones."""
    moments: Moments | None

    def merge(self, other: "PageMedians") -> "PageMedians":
        """The summaries of both."""
        summary = self.summary.merge(other.summary)
        if self.moments is None or other.moments is None:
            return PageMedians(summary, None)
        return PageMedians(summary, self.moments.merge(other.moments))


@dataclass(frozen=True)
class SolutionPass:
    """One pass over the solutions of a method's batches or windows, page by page."""

    method: MedianMethod
    equations: Equations
    step: Pass
    uppers: tuple[FloatArray, ...] | None = None
    """What turns the solutions of each block into whitened coordinates."""
    moments: bool = False

    def __call__(self, page: Rows) -> PageMedians:
        """The summaries of a page."""
        return PageMedians(self._summary(page), self._moments(page))

    def after(self, earlier: PageMedians) -> "SolutionPass":
        """The same pass over pages that come after those of the earlier."""
        return replace(self, step=self.step.after(earlier.summary))

    def _summary(self, page: Rows) -> Any:
        step = self.step
        if (
            isinstance(self.method, SquareWindows)
            and isinstance(step, FirstPass)
            and step.is_bounded
        ):
            return self._split(page, self.method, step)
        found = self.method.solutions(Stripe(page, 0, len(page)), self.equations)
        blocks: Sequence[FloatArray] = found.runs[0] if isinstance(found, Solutions) else found
        if self.uppers is not None:
            blocks = [turned(*pair) for pair in zip(self.uppers, blocks, strict=True)]
        rows = Ragged.of_blocks(blocks)
        return step.summarize(rows if step.chosen is None else rows.only(step.chosen))

    def _split(self, page: Rows, method: SquareWindows, first: FirstPass) -> Brackets:
        """Brackets with known ends: solutions are split as they are found, not written down."""
        assert first.sieve is not None
        families, lengths = self.equations.families, method.window_counts(page, self.equations)
        room = default_room(len(lengths)) if first.room is None else first.room
        draw = drawn_places(int(lengths.max(initial=0)), SAMPLE_ROOMS * room)
        windows = method.windows == "sliding", self.equations.intercept
        turns = None if self.uppers is None else flat_triangles(self.uppers)
        found = kernels.split_solutions(page, families, windows, turns, first.sieve, draw)
        kept, sample = Ragged(found.kept, found.starts), Sample((found.drawn,), draw[1])
        ends = first.sieve.lows, first.sieve.highs
        return Brackets.of_split(ends, lengths, found.counts, kept, sample, room)

    def _moments(self, page: Rows) -> Moments | None:
        return _by_stripes(Moments, self.equations)(page) if self.moments else None


Fold = Callable[[Callable[[Rows], Any], Callable[[Any, Any], Any]], Any]
"""Summarises every page and merges the summaries."""


def solve_by_passes(
    method: MedianMethod, equations: Equations, fold: Fold, moments: bool
) -> tuple[Solution, Moments | None]:
    """The method's solution over pages that are not kept, and the moments if they are wanted."""
    uppers, doubtful, known = _whitening(method, equations, fold)
    wanted = moments and known is None
    lengths: IntArray | None = None

    def run(step: Pass) -> Any:
        nonlocal known, lengths
        is_first = lengths is None
        summarize = SolutionPass(method, equations, step, uppers, wanted and is_first)
        found: PageMedians = fold(summarize, PageMedians.merge)
        if is_first:
            lengths = found.summary.lengths
            known = found.moments if known is None else known
        return found.summary

    medians, passes = find_medians(run)
    assert lengths is not None
    tally = tally_medians(equations, medians, lengths, uppers)
    return tally.solution(doubtful, passes + (uppers is not None)), known


def _whitening(
    method: MedianMethod, equations: Equations, fold: Fold
) -> tuple[tuple[FloatArray, ...] | None, IntArray | None, Moments | None]:
    """What whitens each block, the doubtful families, and the moments: from a pass of its own."""
    if isinstance(method, Cauchy):
        moments: Moments = fold(_by_stripes(Moments, equations), Moments.merge)
        uppers, doubtful = whitening(moments, equations)
        return tuple(uppers), doubtful, moments
    if isinstance(method, CarefulCauchy):
        factors: Factors = fold(_by_stripes(Factors, equations), Factors.merge)
        members = (range(b.families.start, b.families.stop) for b in equations.blocks())
        stacks = (np.stack([factors.parent_factor(f) for f in own]) for own in members)
        return tuple(stacks), None, None
    return None, None, None


@dataclass(frozen=True)
class ResidualPass:
    """One pass over residuals, or over their distances from given centres."""

    families: Families
    coefficients: FloatArray
    step: Pass
    centres: FloatArray | None = None

    def __call__(self, page: Rows) -> PageMedians:
        """The summary of a page."""
        values = kernels.residuals(page, self.families, self.coefficients)
        if self.centres is not None:
            values -= self.centres[:, None]
            np.abs(values, out=values)
        chosen = values if self.step.chosen is None else values[self.step.chosen]
        return PageMedians(self.step.summarize(chosen), None)

    def after(self, earlier: PageMedians) -> "ResidualPass":
        """The same pass over pages that come after those of the earlier."""
        return replace(self, step=self.step.after(earlier.summary))


def scale_by_passes(
    families: Families, coefficients: FloatArray, fold: Fold, intercept: bool
) -> Spread:
    """Median and median absolute deviation of residuals that are not kept."""

    def medians(centres: FloatArray | None) -> FloatArray:
        def run(step: Pass) -> Any:
            own = ResidualPass(families, coefficients, step, centres)
            return fold(own, PageMedians.merge).summary

        return find_medians(run)[0].values

    locations = medians(None)
    return mad_spread(locations, medians(locations), intercept)


def _by_stripes(kind: type[Moments] | type[Factors], equations: Equations) -> PageSummary:
    """Summarises the stripes of a page and merges them."""
    return PageSummary(partial(kind.of, equations=equations), kind.merge)
