"""What an estimator works on: equations to learn, and stripes of rows to learn them from."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gaussnet._types import Rows
from gaussnet.kernels.families import Block, Families

__all__ = ["Block", "Equations", "Stripe", "cut_stripes"]

STRIPE_BYTES = 8 * 1024 * 1024
SMALLEST_STRIPE_ROWS = 1_024
LARGEST_STRIPE_ROWS = 32_768
"""About a millisecond of work for 20 columns: less is not worth a thread, and each stripe costs a
call from Python and a merge."""


@dataclass(frozen=True)
class Equations:
    """One regression of a child on its parents for each family, with or without intercept.

    The families are sorted by their number of parents.
    """

    families: Families
    intercept: bool

    def blocks(self, *, with_roots: bool = False) -> list[Block]:
        """The families size by size; roots, which have no parents, only with `with_roots`."""
        return [block for block in self.families.blocks if block.size or with_roots]


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
