"""Medians as passes over rows: a sample says where they lie, one pass proves it, further ones find
what it missed.

Few values are all kept, which is the simplest case: the first pass has the answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.data.passes import Limits, Pass, Stripe
from gaussnet.kernels import Ends
from gaussnet.methods.base import MANY_ROWS
from gaussnet.methods.medians.brackets import (
    SAMPLE_DEVIATIONS,
    Brackets,
    Medians,
    Regions,
    default_capacity,
    mean_of_middle_values,
    sample_limit,
    unknown_ranks,
)
from gaussnet.methods.medians.samples import FIRST_STRIDE
from gaussnet.types import FloatArray, IntArray

KEPT_VALUES = 1 << 24
"""Values that brackets of a stream should keep, all rows of values together (128 MiB)."""

UNKNOWN_SAMPLE = 65_536
"""Rows of a sample where nobody knows how many there are."""

LARGEST_SAMPLE_SHARE = 8
"""A sample takes at most one row of a stream in so many."""

BELIEVED_PASSES = 2
"""After so many passes a sample is no longer asked where in its region a median lies."""


class Values(ABC):
    """Rows of values that are found stripe by stripe, and whose medians are wanted."""

    __slots__ = ()

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows of values."""

    @abstractmethod
    def blocks(self, stripe: Stripe) -> list[FloatArray]:
        """All values of a stripe: arrays (families, p, count), in order; NaN is set aside."""

    @abstractmethod
    def split(self, stripe: Stripe, ends: Ends, capacity: int | None) -> Brackets:
        """The values of a stripe, split at fixed ends."""

    @abstractmethod
    def only(self, chosen: IntArray) -> tuple["Values", IntArray]:
        """Values that have the chosen rows among theirs, and which of its rows these are."""

    def for_sample(self) -> "Values":
        """What to look at in a sample of the rows."""
        return self

    def transforms(self, block: int) -> FloatArray | None:
        """Triangles (families, p, p) that the values of a block are to be multiplied by."""
        return None


@dataclass(frozen=True, slots=True)
class KeptValues:
    """All values, run by run as they were found; NaN marks one that is set aside.

    Each run has the same blocks (families, p, count) but for their counts.
    """

    runs: tuple[tuple[FloatArray, ...], ...]

    def merge(self, other: "KeptValues") -> "KeptValues":
        """The runs of both."""
        return KeptValues(self.runs + other.runs)

    def block(self, index: int) -> FloatArray:
        """All values of one block, (families, p, count), a fresh array."""
        return np.concatenate([run[index] for run in self.runs], axis=2)

    def medians(self, values: Values) -> tuple[Medians, IntArray]:
        """The median of each row, and how many values it had with NaN."""
        found, (used, lengths) = np.empty(values.rows), np.empty((2, values.rows), dtype=np.int64)
        start = 0
        for index, parts in enumerate(zip(*self.runs, strict=True)):
            medians, counts = kernels.joined_medians(list(parts), values.transforms(index))
            own = slice(start, start + medians.size)
            found[own] = medians.reshape(-1)
            used[own].reshape(medians.shape)[:] = counts[:, None]
            lengths[own] = sum(part.shape[2] for part in parts)
            start = own.stop
        proven, errors = np.ones(len(used), dtype=bool), np.zeros_like(used)
        return Medians(found, used, proven, errors), lengths


@dataclass(frozen=True)
class KeepAllPass(Pass):
    """Asks for all values, for answers that need more of them than their medians."""

    purpose = "medians"

    values: Values

    def summarize(self, stripe: Stripe) -> KeptValues:
        """The values of a stripe."""
        return KeptValues((tuple(self.values.blocks(stripe)),))

    def merge(self, left: KeptValues, right: KeptValues) -> KeptValues:
        """The values of both."""
        return left.merge(right)


class Found(NamedTuple):
    """Exact medians, and what else the passes say."""

    medians: Medians
    lengths: IntArray
    """How many values each row had, NaN among them."""
    passes: int
    """Passes over all rows, where the first looked for a median in the wrong place; else 1."""


class Search(NamedTuple):
    """The middle values that passes have found so far, and where they say that others lie."""

    middle_values: FloatArray
    """Lower and upper, (2, rows); NaN where not known yet."""
    used: IntArray
    lengths: IntArray
    missed: IntArray
    """The rows that lack a middle value, which the next pass is for."""
    own: IntArray
    """Where these are among the rows of values of the next pass."""
    regions: Regions | None = None
    """Where their middle values lie; None before the first pass."""
    taken: int = 0
    """Passes over all rows."""
    drifts: bool = False
    """Whether the first pass had a median outside its bracket."""

    @classmethod
    def of(cls, summary: Brackets) -> "Search":
        """Before the first pass, whose summary tells how many values there are."""
        everything = np.arange(len(summary.counts))
        nothing = np.full((2, len(everything)), np.nan)
        return cls(nothing, summary.used, summary.lengths, everything, everything)

    def after(self, summary: Brackets) -> "Search":
        """With what one more pass has found."""
        middle_values = self.middle_values.copy()
        old, new = middle_values[:, self.missed], summary.middle_values()[:, self.own]
        middle_values[:, self.missed] = np.where(np.isnan(old), new, old)
        lacking = np.isnan(middle_values).any(axis=0) & (self.used > 0)
        left = np.flatnonzero(lacking[self.missed])
        missed, own, before = self.missed[left], self.own[left], self.regions
        ranks = unknown_ranks(self.used, middle_values[1])[missed]
        regions = summary.regions(own, ranks, None if before is None else before.only(left))
        drifts = self.drifts or (before is None and _is_outside(regions, summary.ends, own))
        parts = (middle_values, self.used, self.lengths, missed, own, regions)
        return Search(*parts, self.taken + 1, drifts)

    def found(self) -> Found:
        """The medians, when no row lacks a middle value."""
        medians = mean_of_middle_values(self.middle_values[0], self.middle_values[1], self.used)
        proven, errors = np.ones(len(medians), dtype=bool), np.zeros_like(self.used)
        passes = self.taken if self.drifts else 1
        return Found(Medians(medians, self.used, proven, errors), self.lengths, passes)


class Plan(NamedTuple):
    """How medians are found: keep all values, or take a sample first."""

    keep_all: bool
    sample_rows: int | None
    capacity: int | None
    """Values that a row of a stream keeps at most; None keeps what lies in its bracket."""
    share: float
    """Of a row's values, the part that is kept."""

    @classmethod
    def of(
        cls, limits: Limits, values: float, rows: int, height: float = 1.0, overlap: float = 1.0
    ) -> "Plan":
        """For so many values per row of the table, in so many rows of values.

        `height` are the rows of the table that a value takes, on average, and `overlap` the
        values that a row of the table has a part in.
        """
        run, known = limits.run, limits.rows
        if known is not None and (known < run.sampled_rows or values * known < run.sampled_values):
            return cls(True, None, None, 1.0)
        if not limits.is_stream:
            assert known is not None
            sample = _sample_rows(known, height, overlap)
            return cls(False, sample, None, _kept_share(sample, height))
        capacity = max(KEPT_VALUES // max(rows, 1), default_capacity(rows))
        capacity = capacity if run.capacity is None else run.capacity
        many, sample = known or MANY_ROWS, UNKNOWN_SAMPLE
        if known is not None:
            exact = (2.0 * SAMPLE_DEVIATIONS * known / capacity) ** 2 * height
            wanted = max(_sample_rows(known, height, overlap), exact)
            sample = int(min(wanted, known / LARGEST_SAMPLE_SHARE) + height)
        kept = min(_kept_share(sample, height), capacity / many)
        drawn = min(1.0 / FIRST_STRIDE, sample_limit(capacity) / many)
        return cls(False, sample, capacity, min(kept + drawn, 1.0))


@dataclass(frozen=True)
class MedianPass(Pass):
    """One pass towards the medians of all rows of values."""

    purpose = "medians"

    values: Values
    finish: Callable[[Found], Any]
    """From the medians to what to ask next, or to the answer."""
    keep_all: bool
    finish_kept: Callable[[KeptValues], Any] | None = None
    """Used instead of `finish`, on all values, if these are kept and medians are not enough."""
    capacity: int | None = None
    sample_rows: int | None = None
    ends: Ends | None = None
    """Brackets, once they are known."""
    search: Search | None = None
    """What earlier passes over all rows have found."""

    @classmethod
    def first(
        cls,
        values: Values,
        plan: Plan,
        finish: Callable[[Found], Any],
        finish_kept: Callable[[KeptValues], Any] | None = None,
    ) -> "MedianPass":
        """The first pass: over all rows if all values are kept, else over a sample."""
        sample = plan.capacity, plan.sample_rows
        return cls(values, finish, plan.keep_all, finish_kept, *sample)

    def summarize(self, stripe: Stripe) -> KeptValues | Brackets:
        """The values of a stripe: all of them, or what lies in the brackets."""
        if self.keep_all:
            return KeptValues((tuple(self.values.blocks(stripe)),))
        if self.ends is None:
            return self.values.for_sample().split(stripe, Ends.open(self.values.rows), None)
        return self.values.split(stripe, self.ends, self.capacity)

    def merge(self, left: Any, right: Any) -> Any:
        """The values of both."""
        return left.merge(right)

    def then(self, summary: Any) -> Any:
        """Another pass for what is missed; else what `finish` says."""
        if self.keep_all:
            if self.finish_kept is not None:
                return self.finish_kept(summary)
            medians, lengths = summary.medians(self.values)
            return self.finish(Found(medians, lengths, 1))
        if self.ends is None:
            return replace(self, sample_rows=None, ends=summary.sample_ends())
        search = (Search.of(summary) if self.search is None else self.search).after(summary)
        return self._next(search) if len(search.missed) else self.finish(search.found())

    def _next(self, search: Search) -> "MedianPass":
        """The pass for rows that are still missed."""
        assert search.regions is not None
        values, own = self.values.only(search.own)
        ends = np.full((3, values.rows), np.nan)
        ends[:, own] = search.regions.ends(self.capacity, halves=search.taken > BELIEVED_PASSES)
        ends[2] = np.nan_to_num(ends[2])
        return replace(self, values=values, ends=Ends(*ends), search=search._replace(own=own))


def _is_outside(regions: Regions, ends: Ends, rows: IntArray) -> bool:
    """Whether one of the regions of some rows lies outside its bracket."""
    outside = (regions.highs <= ends.lows[rows]) | (regions.lows >= ends.highs[rows])
    return bool(outside.any())


def _sample_rows(rows: int, height: float, overlap: float) -> int:
    """Rows of a sample: with more of them fewer values are kept of all rows, and vice versa.

    A sample of w values leaves about 4.5 n / sqrt(w) of n. Measured, both together cost least
    where w is about n^(2/3).
    """
    values = rows * overlap / height
    return int(min(values ** (2.0 / 3.0) * height, 0.5 * rows)) + 1


def _kept_share(sample: int, height: float) -> float:
    """The share of the values of windows of so many rows that brackets from a sample keep."""
    windows = max(sample / max(height, 1.0), 1.0)
    return float(min(1.0, (SAMPLE_DEVIATIONS * np.sqrt(windows) + 2.0) / windows))
