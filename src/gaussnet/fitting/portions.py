"""Portions: equations that share their rows, and the pages of those rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaussnet._types import BoolArray, FloatArray, IntArray, Rows
from gaussnet.estimate.equations import Equations
from gaussnet.kernels.families import Families
from gaussnet.stream.pages import cut_pages


@dataclass(frozen=True)
class Portion:
    """Some nodes, their equations, and the pages of rows that these are learnt from."""

    nodes: IntArray
    """Positions of the nodes in the graph, sorted by number of parents."""
    equations: Equations
    """Their families; columns are numbered as in the pages."""
    pages: list[Rows]

    @property
    def rows(self) -> int:
        """Number of rows in all pages."""
        return sum(len(page) for page in self.pages)

    def parts(self, kept_values: FloatArray, budget: int) -> "Iterator[Portion]":
        """The portion in parts whose summaries keep at most `budget` values (or one node)."""
        totals = np.cumsum(kept_values * self.rows)
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


def _families_with_holes(rows: Rows, families: Families) -> BoolArray:
    holed = np.asarray(np.isnan(rows).any(axis=0))
    found = np.zeros(len(families), dtype=bool)
    np.logical_or.at(found, families.family_of_edge, holed[families.parents])
    return np.asarray(found | holed[families.children])


def _holed_portion(node: int, families: Families, intercept: bool, pages: list[Rows]) -> Portion:
    own = families.subset(np.array([node]))
    size = len(own.parents)
    complete = []
    for page in pages:
        columns = page[:, own.columns]
        complete.append(columns[~np.isnan(columns).any(axis=1)])
    alone = Families(np.array([size]), np.array([0, size]), np.arange(size))
    kept = [page for page in complete if len(page)]
    return Portion(np.array([node]), Equations(alone, intercept), kept)
