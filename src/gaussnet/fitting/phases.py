"""The two phases, each a fold of summaries over stripes and pages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gaussnet._types import FloatArray, Rows
from gaussnet.estimate.equations import Stripe, cut_stripes
from gaussnet.estimate.scales import Scale, Spread
from gaussnet.estimate.solution import Estimator, Solution
from gaussnet.fitting.portions import Pages, Portion
from gaussnet.kernels.threads import merge_in_order, thread_map

SMALLEST_BUDGET = 1 << 23
"""Values that summaries may keep at a time, at least (64 MiB)."""


@dataclass(frozen=True, slots=True)
class Work:
    """How the folds run: on how many threads, and how many values they may keep."""

    threads: int
    budget: int


def find_coefficients(estimator: Estimator, portion: Portion, work: Work) -> Solution:
    """Phase 1 for a portion; families that lost digits are learnt again with care."""
    families = portion.equations.families
    summarize = partial(estimator.summarize, equations=portion.equations)
    summary = fold(portion.pages, summarize, estimator.merge, work.threads)
    solution = estimator.solve(summary, portion.equations)
    doubtful = solution.doubtful
    if doubtful is None or len(doubtful) == 0:
        return solution
    again = find_coefficients(estimator.careful(), portion.only(doubtful), work)
    return solution.patched(families, doubtful, again)


def find_spread(scale: Scale, portion: Portion, coefficients: FloatArray, work: Work) -> Spread:
    """Phase 2 for a portion: location and variance of the residuals, (families,) each."""
    families = portion.equations.families

    def summarize(stripe: Stripe) -> Any:
        return scale.summarize(stripe.rows, families, coefficients)

    summary = fold(portion.pages, summarize, scale.merge, work.threads)
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


def kept_by_scale(scale: Scale, portion: Portion) -> FloatArray:
    """Values that the scale's summary keeps per row, (families,)."""
    return np.full(len(portion.nodes), scale.kept_values)
