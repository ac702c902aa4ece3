"""Portions: equations that share their rows, and the pages of those rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gaussnet.data.pages import LazyPages, cut_pages
from gaussnet.fitting.missing import Survey
from gaussnet.kernels.families import Families
from gaussnet.methods.base import Equations
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

Pages: TypeAlias = list[Rows] | LazyPages
"""Pages in memory, or pages that are read when a fold asks for them."""

MANY_ROWS = 1 << 28
"""Rows to be ready for where their number is not known."""


@dataclass(frozen=True)
class Portion:
    """Some nodes, their equations, and the pages of rows that these are learnt from."""

    nodes: IntArray
    """Positions of the nodes in the graph, sorted by number of parents."""
    equations: Equations
    """Their families; columns are numbered as in the pages."""
    pages: Pages

    @property
    def rows(self) -> int:
        """Number of rows in all pages."""
        if isinstance(self.pages, list):
            return sum(len(page) for page in self.pages)
        return self.pages.rows

    @property
    def knows_rows(self) -> bool:
        """Whether the number of rows is known before they are read."""
        return isinstance(self.pages, list) or self.pages.known_rows is not None

    @property
    def likely_rows(self) -> int:
        """Number of rows if it is known, else as many as one should be ready for."""
        return self.rows if self.knows_rows else MANY_ROWS

    def parts(self, kept_values: FloatArray, budget: int) -> "Iterator[Portion]":
        """The portion in parts whose summaries keep at most `budget` values (or one node)."""
        if not kept_values.any():
            yield self
            return
        totals = np.cumsum(kept_values * self.likely_rows)
        number = (totals // max(budget, 1)).astype(np.int64)
        for part in np.unique(number):
            yield self.only(np.flatnonzero(number == part))

    def only(self, chosen: IntArray) -> "Portion":
        """The chosen equations alone."""
        if len(chosen) == len(self.nodes):
            return self
        families = self.equations.families.subset(chosen)
        return Portion(
            self.nodes[chosen], Equations(families, self.equations.intercept), self.pages
        )


def make_portions(
    rows: Rows, families: Families, intercept: bool, page_rows: int, missing_by_node: bool
) -> list[Portion]:
    """All equations over these rows.

    Families without a missing value share the rows as they are. With `missing_by_node` each
    other family is a portion of its own, without the rows in which one of its values is NaN;
    these are dropped page by page.
    """
    by_size, sorted_families = families.sorted_by_size
    pages = cut_pages(rows, page_rows)
    if not missing_by_node:
        return [Portion(by_size, Equations(sorted_families, intercept), pages)]
    holes = _families_with_holes(rows, families)
    whole = by_size[~holes[by_size]]
    portions = []
    if len(whole):
        portions.append(Portion(whole, Equations(families.subset(whole), intercept), pages))
    for node in np.flatnonzero(holes).tolist():
        portions.append(_holed_portion(node, families, intercept, pages))
    return portions


def make_streamed_portions(
    pages: LazyPages, families: Families, intercept: bool, survey: Survey | None
) -> list[Portion]:
    """The same over the pages of a source; a survey tells where values are missing."""
    by_size, sorted_families = families.sorted_by_size
    if survey is None:
        return [Portion(by_size, Equations(sorted_families, intercept), pages)]
    holes = survey.complete_by_family < survey.rows
    whole = by_size[~holes[by_size]]
    portions = []
    if len(whole):
        portions.append(Portion(whole, Equations(families.subset(whole), intercept), pages))
    for node in np.flatnonzero(holes).tolist():
        own = families.subset(np.array([node]))
        complete = pages.only(own.columns, int(survey.complete_by_family[node]))
        portions.append(Portion(np.array([node]), Equations(_alone(own), intercept), complete))
    return portions


def _alone(own: Families) -> Families:
    """One family whose columns are the only ones of its pages."""
    size = len(own.parents)
    return Families(np.array([size]), np.array([0, size]), np.arange(size))


def _families_with_holes(rows: Rows, families: Families) -> BoolArray:
    holed = np.asarray(np.isnan(rows).any(axis=0))
    found = np.zeros(len(families), dtype=bool)
    np.logical_or.at(found, families.family_of_edge, holed[families.parents])
    return np.asarray(found | holed[families.children])


def _holed_portion(node: int, families: Families, intercept: bool, pages: list[Rows]) -> Portion:
    own = families.subset(np.array([node]))
    complete = []
    for page in pages:
        columns = page[:, own.columns]
        complete.append(columns[~np.isnan(columns).any(axis=1)])
    kept = [page for page in complete if len(page)]
    return Portion(np.array([node]), Equations(_alone(own), intercept), kept)
