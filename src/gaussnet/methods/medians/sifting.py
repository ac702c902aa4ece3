"""Medians of rows in memory by sifting: exact, without keeping the values.

A sample tells where each median lies, one pass over all rows keeps the values there and counts
the others, and the counts prove the median or say that it was missed."""

from dataclasses import dataclass

import numpy as np

from gaussnet import kernels
from gaussnet.methods.medians.brackets import Medians, middle_ranks
from gaussnet.types import BoolArray, FloatArray, IntArray, Rows

DEVIATIONS = 4.5
"""Brackets reach so many standard deviations of a sample's rank to either side: one median in a
hundred thousand is missed."""

RUN_ROWS = 64
"""Successive rows of a sample."""


@dataclass(frozen=True, slots=True)
class Siftings:
    """What was sifted of the same rows of values, part by part."""

    parts: tuple[kernels.Sifted, ...]

    def merge(self, other: "Siftings") -> "Siftings":
        """The parts of both."""
        return Siftings(self.parts + other.parts)

    def inside(self) -> IntArray:
        """How many values of each row were kept, (rows,)."""
        rows = len(self.parts[0].below)
        counts = np.zeros(rows, dtype=np.int64)
        for part in self.parts:
            counts += np.diff(part.starts).reshape(-1, rows).sum(axis=0)
        return counts

    def medians(self) -> Medians:
        """The median of each row; NaN and not proven where a middle value was not kept."""
        inside = self.inside()
        below = np.sum([part.below for part in self.parts], axis=0)
        used = below + inside + np.sum([part.above for part in self.parts], axis=0)
        lower, upper = (ranks - below for ranks in middle_ranks(used))
        proven = (lower >= 0) & (upper < inside)
        at_lower, at_upper = self._at(lower, upper, proven)
        middle = np.where(used % 2 == 1, at_upper, 0.5 * at_lower + 0.5 * at_upper)
        # A sum with 0.0 makes -0.0 positive, so that no order of equal zeros can show.
        found = proven | (used == 0)
        return Medians(middle + 0.0, used, found, np.where(found, 0, used))

    def sieve(self) -> kernels.Sieve:
        """Brackets for the medians of the rows that these values are a sample of."""
        inside = self.inside()
        reach = 0.5 * DEVIATIONS * np.sqrt(inside) + 1.0
        low = np.floor(0.5 * inside - reach).astype(np.int64)
        high = np.ceil(0.5 * inside + reach).astype(np.int64)
        at_low, at_high = self._at(low, high, np.ones(len(low), dtype=bool))
        lows = np.where(np.isnan(at_low), -np.inf, at_low)
        highs = np.where(np.isnan(at_high), np.inf, at_high)
        shares = np.minimum(2.0 * reach / np.maximum(inside, 1), 1.0)
        return kernels.Sieve(lows, highs, shares)

    def _at(
        self, low: IntArray, high: IntArray, wanted: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        ranks = (np.where(wanted, rank, -1) for rank in (low, high))
        found: tuple[FloatArray, FloatArray] = kernels.sifted_ranks(list(self.parts), *ranks)
        return found


def sample_rows(rows: int) -> int:
    """Rows of a sample: with more of them fewer values are kept of all rows, and vice versa."""
    return int(2.0 * rows ** (2.0 / 3.0))


def kept_share(rows: int, height: int) -> float:
    """The share of the values of windows of so many rows that a sieve keeps."""
    windows = max(sample_rows(rows) // max(height, 1), 1)
    return float(min(1.0, (DEVIATIONS * np.sqrt(windows) + 2.0) / windows))


def draw_rows(pages: list[Rows]) -> Rows:
    """A sample of all rows: runs of successive rows, evenly spread."""
    total = sum(len(page) for page in pages)
    wanted = sample_rows(total)
    drawn = []
    for page in pages:
        runs = max(1, round(wanted * len(page) / (total * RUN_ROWS)))
        height = min(RUN_ROWS, len(page))
        starts = np.arange(runs) * (len(page) - height) // max(runs - 1, 1)
        drawn.append(page[(starts[:, None] + np.arange(height)).ravel()])
    return np.concatenate(drawn)
