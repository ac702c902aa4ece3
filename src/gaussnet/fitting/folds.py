"""Folds of summaries over stripes and pages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gaussnet.fitting.portions import Pages
from gaussnet.kernels.threads import merge_in_order, thread_map
from gaussnet.methods.base import Stripe, cut_stripes
from gaussnet.types import Rows


@dataclass(frozen=True, slots=True)
class Work:
    """How the folds run: on how many threads, and how many values they may keep."""

    threads: int
    budget: int
    unchecked: bool = False
    """Whether values may be NaN or infinite: moments that are not finite then end the fold."""


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
