"""The two phases, each a fold of summaries over stripes and pages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gaussnet._types import FloatArray, Rows
from gaussnet.estimate.equations import Stripe, cut_stripes
from gaussnet.estimate.moments import Moments
from gaussnet.estimate.scales import Mad, Scale, Spread
from gaussnet.estimate.solution import Estimator, Solution
from gaussnet.estimate.with_moments import WithMoments, with_mean_squares
from gaussnet.fitting.medians import (
    MedianMethod,
    bracket_values,
    scale_by_passes,
    solve_by_passes,
)
from gaussnet.fitting.portions import Pages, Portion
from gaussnet.kernels.threads import merge_in_order, thread_map
from gaussnet.stream.streamed import NotFinite

SMALLEST_BUDGET = 1 << 23
"""Values that summaries may keep at a time, at least (64 MiB)."""


@dataclass(frozen=True, slots=True)
class Work:
    """How the folds run: on how many threads, and how many values they may keep."""

    threads: int
    budget: int
    unchecked: bool = False
    """Whether values may be NaN or infinite: moments that are not finite then end the fold."""


def find_coefficients(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    """Phase 1 for a portion; families that lost digits are learnt again with care."""
    solution = _solved(estimator, portion, work)
    doubtful = solution.doubtful
    if doubtful is None or len(doubtful) == 0:
        return solution
    again = find_coefficients(estimator.careful(), portion.only(doubtful), work)
    return solution.patched(portion.equations.families, doubtful, again)


def _solved(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    equations, pages = portion.equations, portion.pages
    method = estimator.inner if isinstance(estimator, WithMoments) else estimator
    if isinstance(pages, list) or not isinstance(method, MedianMethod):
        summarize = partial(estimator.summarize, equations=equations)
        summary = fold(pages, summarize, estimator.merge, work.threads)
        if work.unchecked and isinstance(summary, Moments) and not summary.is_finite:
            raise NotFinite
        return estimator.solve(summary, equations)
    over_pages = partial(pages.fold, threads=work.threads)
    wanted = isinstance(estimator, WithMoments)
    solution, moments = solve_by_passes(method, equations, over_pages, wanted)
    return solution if moments is None else with_mean_squares(solution, moments)


def find_spread(scale: Scale, portion: Portion, coefficients: FloatArray, work: Work) -> Spread:
    """Phase 2 for a portion: location and variance of the residuals, (families,) each."""
    families = portion.equations.families
    pages = portion.pages
    if isinstance(scale, Mad) and not isinstance(pages, list):
        over_pages = partial(pages.fold, threads=work.threads)
        return scale_by_passes(families, coefficients, over_pages, portion.equations.intercept)

    def summarize(stripe: Stripe) -> Any:
        return scale.summarize(stripe.rows, families, coefficients)

    summary = fold(pages, summarize, scale.merge, work.threads)
    return scale.solve(summary, portion.equations.intercept)


def fold(
    pages: Pages,
    summarize: Callable[[Stripe], Any],
    merge: Callable[[Any, Any], Any],
    threads: int,
) -> Any:
    """The summary of all pages: stripes merge to pages, pages merge to the whole.

    Threads take pages, or stripes where there is one page only; the tree of merges is the
    same for any number of threads, and for pages in memory, in a stream or on a cluster.
    """
    page_summary = PageSummary(summarize, merge)
    if not isinstance(pages, list):
        return pages.fold(page_summary, merge, threads)
    if len(pages) == 1:
        return page_summary(pages[0], threads)
    return merge_in_order(thread_map(page_summary, pages, threads), merge)


@dataclass(frozen=True)
class PageSummary:
    """What a page says: its stripes summarised and merged."""

    summarize: Callable[[Stripe], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, page: Rows, threads: int = 1) -> Any:
        """The summary of a page."""
        return merge_in_order(thread_map(self.summarize, cut_stripes(page), threads), self.merge)


def kept_by_method(method: Estimator, portion: Portion) -> FloatArray:
    """Values that the method's summary keeps per row, (families,)."""
    sizes = portion.equations.families.sizes
    kept = method.kept_values(sizes)
    if isinstance(portion.pages, list) or not kept.any():
        return kept
    return np.asarray(sizes * _streamed_share(portion, int(sizes.sum())), dtype=np.float64)


def kept_by_scale(scale: Scale, portion: Portion) -> FloatArray:
    """Values that the scale's summary keeps per row, (families,)."""
    nodes = len(portion.nodes)
    if isinstance(portion.pages, list) or not scale.kept_values:
        return np.full(nodes, scale.kept_values)
    return np.full(nodes, _streamed_share(portion, nodes))


def _streamed_share(portion: Portion, medians: int) -> float:
    """Values that brackets keep for a median, per row."""
    rows = max(portion.likely_rows, 1)
    return bracket_values(medians, rows) / rows
