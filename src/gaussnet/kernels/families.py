"""Families: each child with its parents, as flat arrays that a kernel can walk."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from gaussnet.types import IntArray


@dataclass(frozen=True, slots=True)
class Block:
    """The families of one size: their number of parents and which of all families they are."""

    size: int
    families: slice
    edges: slice

    @property
    def count(self) -> int:
        """Number of families of this size."""
        return int(self.families.stop - self.families.start)


@dataclass(frozen=True, eq=False)
class Families:
    """Children and their parents, by column number.

    Family f has the child ``children[f]`` and the parents
    ``parents[offsets[f]:offsets[f + 1]]``. Its *columns* are the parents, then the child.
    All arrays are contiguous int64. Anything kept per parent slot ("edge") is laid out like
    `parents`; anything kept per column like `columns`.

    Examples
    --------
    >>> family = Families(np.array([2]), np.array([0, 2]), np.array([0, 1]))
    >>> family.columns.tolist(), family.sizes.tolist()
    ([0, 1, 2], [2])
    """

    children: IntArray
    offsets: IntArray
    parents: IntArray

    def __len__(self) -> int:
        return len(self.children)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of parents of each family, (families,)."""
        return np.diff(self.offsets)

    @cached_property
    def family_of_edge(self) -> IntArray:
        """The family each edge belongs to, (edges,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def column_offsets(self) -> IntArray:
        """Where the columns of each family start, (families + 1,)."""
        return self.offsets + np.arange(len(self) + 1)

    @cached_property
    def columns(self) -> IntArray:
        """Parents then child, family after family, (edges + families,)."""
        columns = np.empty(len(self.parents) + len(self), dtype=np.int64)
        last = self.column_offsets[1:] - 1
        columns[last] = self.children
        columns[np.arange(len(self.parents)) + self.family_of_edge] = self.parents
        return columns

    @cached_property
    def product_offsets(self) -> IntArray:
        """Where the packed lower triangle of each family's columns starts, (families + 1,)."""
        sides = self.sizes + 1
        return np.concatenate(([0], np.cumsum(sides * (sides + 1) // 2)))

    @cached_property
    def product_count(self) -> int:
        """Number of packed products: what a kernel has to do for a row, more or less."""
        return int(self.product_offsets[-1])

    @cached_property
    def family_of_product(self) -> IntArray:
        """The family each packed product belongs to, (products,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.product_offsets))

    @cached_property
    def product_columns(self) -> tuple[IntArray, IntArray]:
        """For each packed product, the positions (row, column) of its factors in `columns`.

        Row-major lower triangle: (0,0), (1,0), (1,1), (2,0), ...
        """
        within = (
            np.arange(self.product_offsets[-1]) - self.product_offsets[:-1][self.family_of_product]
        )
        row = (np.sqrt(8.0 * within + 1.0).astype(np.int64) - 1) // 2
        column = within - row * (row + 1) // 2
        start = self.column_offsets[:-1][self.family_of_product]
        return start + row, start + column

    def subset(self, chosen: IntArray) -> "Families":
        """Only the chosen families, in the order given."""
        sizes = self.sizes[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return Families(self.children[chosen], offsets, self.parents[self.edges_of(chosen)])

    def over_own_columns(self) -> tuple[IntArray, "Families"]:
        """The columns that the families use, and the families numbered by these alone.

        Examples
        --------
        >>> family = Families(np.array([5]), np.array([0, 2]), np.array([7, 2]))
        >>> columns, own = family.over_own_columns()
        >>> columns.tolist(), own.parents.tolist(), own.children.tolist()
        ([2, 5, 7], [2, 0], [1])
        """
        columns = np.unique(self.columns)
        numbers = (np.searchsorted(columns, part) for part in (self.children, self.parents))
        children, parents = numbers
        return columns, Families(children, self.offsets, parents)

    def renumbered(self) -> "Families":
        """One family whose columns are the only ones: its parents are 0 .. p - 1, the child p."""
        size = len(self.parents)
        return Families(np.array([size]), np.array([0, size]), np.arange(size))

    def edges_of(self, chosen: IntArray, size: int | None = None) -> IntArray:
        """Positions in `parents` of all edges of the chosen families, in their order.

        `size` is their number of parents, if all have as many.
        """
        if size is not None:
            return np.add.outer(self.offsets[chosen], np.arange(size)).ravel()
        sorting = self.__dict__.get("sorted_by_size")
        if sorting is not None and chosen is sorting[0]:
            return self._edges_by_size
        sizes = self.sizes[chosen]
        ends = np.cumsum(sizes)
        start = self.offsets[:-1][chosen] - (ends - sizes)
        return np.asarray(np.arange(sizes.sum()) + np.repeat(start, sizes))

    @cached_property
    def by_size(self) -> list[tuple[int, IntArray, IntArray]]:
        """For each number of parents p: p, the families (f,), their columns (f, p + 1)."""
        groups = []
        for size in sorted(set(self.sizes.tolist())):
            chosen = np.flatnonzero(self.sizes == size)
            slots = self.column_offsets[:-1][chosen][:, None] + np.arange(size + 1)
            groups.append((size, chosen, self.columns[slots]))
        return groups

    @cached_property
    def size_counts(self) -> list[tuple[int, int]]:
        """Each number of parents p >= 1 and how many families have it, in order."""
        counts = np.bincount(self.sizes)
        return [(size, count) for size, count in enumerate(counts.tolist()) if size and count]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The families size by size, if they are sorted by size."""
        blocks = []
        for size, chosen, _ in self.by_size:
            first, last = int(chosen[0]), int(chosen[-1]) + 1
            edges = slice(int(self.offsets[first]), int(self.offsets[last]))
            blocks.append(Block(size, slice(first, last), edges))
        return tuple(blocks)

    @cached_property
    def sorted_by_size(self) -> tuple[IntArray, "Families"]:
        """The families in order of their number of parents, and that order, (families,)."""
        order = np.argsort(self.sizes, kind="stable")
        ordered = self.subset(order)
        ordered.__dict__["by_node"] = self
        return order, ordered

    @cached_property
    def by_node(self) -> "Families":
        """The families in the order of their children, where there is one for each column."""
        return self.subset(np.argsort(self.children))

    @cached_property
    def _edges_by_size(self) -> IntArray:
        """The edges in that order: every fit asks for them."""
        return self.edges_of(self.sorted_by_size[0].copy())

    @cached_property
    def parent_lists(self) -> list[list[int]]:
        """The parents of each family."""
        parents, offsets = self.parents.tolist(), self.offsets.tolist()
        return [parents[start:stop] for start, stop in pairwise(offsets)]

    @cached_property
    def levels(self) -> list[list[int]]:
        """Nodes of a graph by the longest path that leads to them; family i is that of node i.

        Examples
        --------
        >>> Families(np.arange(3), np.array([0, 0, 0, 2]), np.array([0, 1])).levels
        [[0, 1], [2]]
        """
        children: list[list[int]] = [[] for _ in self.parent_lists]
        for child, parents in enumerate(self.parent_lists):
            for parent in parents:
                children[parent].append(child)
        waiting = self.sizes.tolist()
        levels = [[node for node, count in enumerate(waiting) if count == 0]]
        while levels[-1]:
            ready = []
            for child in (child for node in levels[-1] for child in children[node]):
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
            levels.append(sorted(ready))
        return levels[:-1]

    @cached_property
    def order(self) -> IntArray:
        """The nodes level by level, so that parents come before their children, (nodes,)."""
        return np.array([node for level in self.levels for node in level], dtype=np.int64)
