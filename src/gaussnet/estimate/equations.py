"""What an estimator works on: equations to learn, and stripes of rows to learn them from."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gaussnet._types import Rows
from gaussnet.kernels.families import Families

STRIPE_BYTES = 8 * 1024 * 1024
SMALLEST_STRIPE_ROWS = 512
LARGEST_STRIPE_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class Block:
    """The families of one size: their number of parents and their place among the families."""

    size: int
    families: slice
    edges: slice

    @property
    def count(self) -> int:
        """Number of families of this size."""
        return int(self.families.stop - self.families.start)


@dataclass(frozen=True)
class Equations:
    """One regression of a child on its parents for each family, with or without intercept.

    The families are sorted by their number of parents.
    """

    families: Families
    intercept: bool

    def blocks(self, *, with_roots: bool = False) -> list[Block]:
        """The families size by size; roots, which have no parents, only with `with_roots`."""
        offsets = self.families.offsets
        blocks = []
        for size, chosen, _ in self.families.by_size:
            if size or with_roots:
                first, last = int(chosen[0]), int(chosen[-1]) + 1
                edges = slice(int(offsets[first]), int(offsets[last]))
                blocks.append(Block(size, slice(first, last), edges))
        return blocks


class Stripe(NamedTuple):
    """Rows start..stop of a page: the unit of work.

    Sums are over these rows; a batch or window belongs to the stripe that it begins in, and
    may run on beyond `stop` inside the page.
    """

    page: Rows
    start: int
    stop: int

    @property
    def rows(self) -> Rows:
        """The stripe's own rows."""
        return self.page[self.start : self.stop]


def cut_stripes(page: Rows) -> list[Stripe]:
    """The page in stripes of nearly equal height, which its shape alone decides."""
    fitting = STRIPE_BYTES // (8 * max(page.shape[1], 1))
    height = min(max(fitting, SMALLEST_STRIPE_ROWS), LARGEST_STRIPE_ROWS)
    count = max(1, -(-len(page) // height))
    edges = [len(page) * index // count for index in range(count + 1)]
    return [Stripe(page, start, stop) for start, stop in pairwise(edges)]
