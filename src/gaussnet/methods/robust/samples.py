"""A random sample of rows of any number, drawn while they are read.

Every row has a key, a number that looks random and follows from its values and its place in the
page. The sample is the rows of the smallest keys: the same for any files, threads and workers, and
rows that come later need no others to be drawn again.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussnet.data.passes import Pass, Stripe
from gaussnet.types import FloatArray, Rows

Keys = NDArray[np.uint64]

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Odd numbers whose products spread bits, as in SplitMix64 (Steele, Lea and Flood, 2014)."""

SPARE = 6.0
"""Standard deviations by which more rows are kept than are wanted, until all are read."""


class Sample(NamedTuple):
    """Rows and their keys."""

    rows: FloatArray
    """(rows, nodes)."""
    keys: Keys
    """(rows,)."""

    @classmethod
    def nothing(cls, width: int) -> "Sample":
        """No rows, of so many columns."""
        return cls(np.empty((0, width)), np.empty(0, dtype=np.uint64))

    def plus(self, other: "Sample") -> "Sample":
        """The rows of both."""
        return Sample(np.concatenate((self.rows, other.rows)), np.append(self.keys, other.keys))

    def smallest(self, size: int) -> "Sample":
        """At most so many of the rows, those of the smallest keys, in their order."""
        if len(self.keys) <= size:
            return self
        chosen = np.sort(np.argsort(self.keys, kind="stable")[:size])
        return Sample(self.rows[chosen], self.keys[chosen])


def row_keys(rows: Rows, start: int, salt: int) -> Keys:
    """Keys of rows from this place of a page on, (rows,).

    Examples
    --------
    >>> keys = row_keys(np.zeros((3, 2)), 0, 0)
    >>> len(set(keys.tolist())), bool((keys[1:] == row_keys(np.zeros((2, 2)), 1, 0)).all())
    (3, True)
    """
    values = np.array(rows, dtype=np.float64, order="C")
    values[np.isnan(values)] = 0.0  # there are many kinds of NaN
    first, second, third = (np.uint64(one) for one in MULTIPLIERS)
    odd = np.arange(1, 2 * values.shape[1], 2, dtype=np.uint64) * first | np.uint64(1)
    places = np.arange(start, start + len(values), dtype=np.uint64) + np.uint64(salt)
    keys = (values.view(np.uint64) * odd).sum(axis=1, dtype=np.uint64) + places * third
    for shift, factor in ((30, second), (27, third)):
        keys = (keys ^ (keys >> np.uint64(shift))) * factor
    return np.asarray(keys ^ (keys >> np.uint64(31)))


@dataclass(frozen=True)
class SamplePass(Pass):
    """Asks for so many rows, drawn from all."""

    purpose = "a sample"

    size: int
    expected: int | None = None
    """Rows that there are, if that is known."""
    salt: int = 0
    """Rows of other tables with the same values and places get other keys by another number."""

    def summarize(self, stripe: Stripe) -> Sample:
        """Rows of a stripe that may be among those of all."""
        keys = row_keys(stripe.rows, stripe.start, self.salt)
        chosen = np.flatnonzero(keys <= self._largest_key())
        return Sample(np.array(stripe.rows[chosen], dtype=np.float64), keys[chosen])

    def merge(self, left: Sample, right: Sample) -> Sample:
        """Rows of both."""
        both = left.plus(right)
        return both if len(both.keys) < 4 * self.size else both.smallest(self.size)

    def then(self, summary: Sample) -> Sample:
        """No more rows than wanted."""
        return summary.smallest(self.size)

    def _largest_key(self) -> np.uint64:
        """Of the keys that all rows together can need."""
        largest = np.iinfo(np.uint64).max
        if self.expected is None:
            return np.uint64(largest)
        wanted = self.size + SPARE * np.sqrt(self.size) + SPARE**2
        share = wanted / max(self.expected, 1)
        return np.uint64(largest if share >= 1.0 else int(share * float(largest)))
