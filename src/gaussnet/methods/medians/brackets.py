"""Exact medians of many values, without keeping them all.

A summary keeps for each row of values a bracket [low, high], how many values lie below, at either
end, inside and above, and the values strictly inside. The counts prove whether the middle values
are among the known; then the median is exact, and the same bits whatever the order of merges.

Brackets come in two kinds. *Fixed* ends are known before the values are seen, from a sample, and
are the same everywhere, so that summaries merge by adding up; a row with more values inside than it
may keep is only counted, and a further pass looks closer. *Free* ends are chosen by each summary
from its own values, for summaries of rows that nobody has seen together: everything is kept up to
the capacity, and from there on the 16 sqrt(n) values nearest the running median, +-16 standard
deviations of the rank of the median of n exchangeable values. Two such summaries merge to the
bracket that is known to both. Where rows drift, that may miss the median; the counts show it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gaussnet import kernels
from gaussnet.kernels import Ends, Split
from gaussnet.methods.medians.samples import (
    Growing,
    Ragged,
    Sample,
    draw,
    middle_part,
    quantiles,
    sorted_spread,
)
from gaussnet.types import BoolArray, FloatArray, IntArray

BELOW, AT_LOW, INSIDE, AT_HIGH, ABOVE = range(5)

UNLIKELY = 1e-9
"""Probability that a stated rank error is exceeded."""

SAMPLE_DEVIATIONS = 4.5
"""Ends from a sample lie so many standard deviations of its rank from the median: one median in a
hundred thousand is missed."""

GUIDE_DEVIATIONS = 6.0
"""Ends for a median that was missed lie so many standard deviations from where a sample has it."""

WIDTH = 16.0
"""A free bracket holds so many square roots of the number of values."""

SLACK = 2.0
"""A free bracket is narrowed when it holds so many times what it should."""

LARGEST_CAPACITY = 4_096
SMALLEST_CAPACITY = 256
SAMPLE_CAPACITIES = 16
"""The sample of a stream is at most so many times the capacity, or the largest default one."""

SUMMARY_VALUES = 1 << 23
"""Values that brackets and samples of all rows should take together (64 MiB)."""

NARROWING_SAMPLE = 1_024
"""Values that the ends of a narrower bracket are chosen by."""

SAMPLE_ERROR = 3.0 / np.sqrt(NARROWING_SAMPLE)
"""Three standard deviations of the share of a row that its sample puts on either side."""


class Medians(NamedTuple):
    """Medians of rows of values, (rows,) each; `used` counts values that are not NaN.

    Where `proven` holds the median is exact and its rank error 0. Elsewhere it is a guess, and
    the share of values below it is off by less than `rank_errors` / `used`: for any one stream,
    but for a probability of 1e-9 over the positions that the sample is drawn at.
    """

    values: FloatArray
    used: IntArray
    proven: BoolArray
    rank_errors: IntArray


class Regions(NamedTuple):
    """For each row whose median was missed: ends that one of its middle values lies between."""

    ranks: IntArray
    """Of the middle value, from 0, among all values of the row."""
    lows: FloatArray
    highs: FloatArray
    starts: IntArray
    """Values up to the low end, all of them before the middle value."""
    stops: IntArray
    """Values up to the high end, without those at it."""
    guides: list[FloatArray]
    """Some of the values between the ends, sorted."""

    @property
    def counts(self) -> IntArray:
        """How many values lie between the ends."""
        return self.stops - self.starts

    def only(self, chosen: IntArray) -> "Regions":
        """The chosen regions."""
        return Regions(
            self.ranks[chosen],
            self.lows[chosen],
            self.highs[chosen],
            self.starts[chosen],
            self.stops[chosen],
            [self.guides[row] for row in chosen.tolist()],
        )

    def within(self, before: "Regions") -> "Regions":
        """With the ends of earlier regions of the rows, where these are nearer."""
        after_low = (before.starts <= self.ranks) & (before.lows >= self.lows)
        before_high = (self.ranks < before.stops) & (before.highs <= self.highs)
        return self._replace(
            lows=np.where(after_low, before.lows, self.lows),
            starts=np.where(after_low, before.starts, self.starts),
            highs=np.where(before_high, before.highs, self.highs),
            stops=np.where(before_high, before.stops, self.stops),
        )

    def guess(self, index: int) -> tuple[float, int]:
        """A value near the middle of a missed row, and a bound on its rank error."""
        guides, count = self.guides[index], int(self.counts[index])
        if not len(guides):
            ends = np.array([self.lows[index], self.highs[index]])
            finite = ends[np.isfinite(ends)]
            return (float(finite[0]) if len(finite) else np.nan), count
        share = (int(self.ranks[index] - self.starts[index]) + 0.5) / count
        error = np.sqrt(np.log(2.0 / UNLIKELY) / (2.0 * len(guides))) + 1.0 / len(guides)
        value = guides[min(int(share * len(guides)), len(guides) - 1)]
        return float(value), min(int(np.ceil(error * count)), count)

    def ends(self, capacity: int | None, *, halves: bool) -> Ends:
        """Brackets for the next pass: a whole region if it has few values, else part of it.

        Guides say where in the region the middle is. Without any, or with `halves`, the region is
        cut in the middle of its guides or of the floating-point numbers in it, so that any values
        whatever come to an end.
        """
        lows, highs, counts = self.lows.copy(), self.highs.copy(), self.counts
        if capacity is None:
            return _ends(lows, highs)
        for index in np.flatnonzero(counts > min(capacity, LARGEST_CAPACITY)).tolist():
            ends, guides = (lows[index], highs[index]), self.guides[index]
            if len(guides) and not halves:
                share = (self.ranks[index] - self.starts[index]) / counts[index]
                part = capacity / counts[index]
                lows[index], highs[index] = _guided(ends, guides, share, part)
            elif counts[index] > capacity:
                lows[index], highs[index] = _halved(ends, guides)
        return _ends(lows, highs)


def default_capacity(rows: int) -> int:
    """Values of a row that are all kept: 4,096, fewer beyond a hundred rows.

    Examples
    --------
    >>> default_capacity(10), default_capacity(1_000), default_capacity(100_000)
    (4096, 466, 256)
    """
    fitting = int(SUMMARY_VALUES / ((SLACK + SAMPLE_CAPACITIES) * max(rows, 1)))
    return min(max(fitting, SMALLEST_CAPACITY), LARGEST_CAPACITY)


@dataclass(frozen=True, slots=True)
class Brackets:
    """A bracket for each row of values, how many values lie where, and those inside.

    A bracket of NaN is lost: those of two summaries had no value in common.
    """

    ends: Ends
    counts: IntArray
    """Values below, at the low end, inside, at the high end and above, (rows, 5); values equal to
    both ends count as at the low one."""
    missing: IntArray
    """Values that are NaN, (rows,)."""
    kept: Growing
    """The values strictly inside, row after row; none of a row that has too many."""
    capacity: int | None = None
    """Of a row with fixed ends so many values are kept at most; None keeps all. With free ends, so
    many and more are kept."""
    free: bool = False
    sample: Sample | None = None
    """Drawn from all values, where a further pass may need it."""

    @classmethod
    def of(
        cls, values: FloatArray | Ragged, ends: Ends | None = None, capacity: int | None = None
    ) -> "Brackets":
        """The summary of values (rows, count), or of ragged rows.

        With `ends` these are fixed. Without, they are free and chosen by a sample of the row where
        it is too long to keep.

        Examples
        --------
        >>> page = Brackets.of(np.array([[5.0, 1.0, 3.0]]))
        >>> page.merge(Brackets.of(np.array([[9.0, np.nan]]))).medians().values.tolist()
        [4.0]
        """
        rows = Ragged.of(values)
        lengths = rows.lengths
        if ends is not None:
            sample = None if capacity is None else draw_sample(rows, lengths, capacity)
            return cls.of_split(_split(rows, ends), ends, lengths, capacity, sample)
        capacity = default_capacity(len(lengths)) if capacity is None else capacity
        lows, highs = np.full(len(lengths), -np.inf), np.full(len(lengths), np.inf)
        long = np.flatnonzero(lengths > SLACK * _should_hold(capacity, lengths))
        if len(long):
            lows[long], highs[long] = _middle_ends(rows, long, capacity)
        sample = draw_sample(rows, lengths, capacity) if len(long) else None
        chosen = _ends(lows, highs)
        split = _split(rows, chosen)
        return replace(cls.of_split(split, chosen, lengths, capacity, sample), free=True)

    @classmethod
    def of_split(
        cls,
        split: Split,
        ends: Ends,
        lengths: IntArray,
        capacity: int | None,
        sample: Sample | None,
    ) -> "Brackets":
        """The summary of rows of these lengths from what a kernel counts and keeps."""
        kept = Ragged(split.kept, split.starts)
        counts = np.insert(split.counts, INSIDE, kept.lengths, axis=1)
        missing = lengths - counts.sum(axis=1)
        return cls(ends, counts, missing, Growing((kept,)), capacity, sample=sample)

    def merge(self, other: "Brackets") -> "Brackets":
        """The summary of both."""
        sample = self._merged_sample(other)
        missing, kept = self.missing + other.missing, self.kept.merge(other.kept)
        if not self.free:
            counts = self.counts + other.counts
            both = Brackets(self.ends, counts, missing, kept, self.capacity, sample=sample)
            return both._within_capacity()
        ends, alike = _common_ends(self.ends, other.ends)
        counts = self._counts_at(ends) + other._counts_at(ends)
        both = Brackets(ends, counts, missing, kept, self.capacity, True, sample)
        return both._settled(loose=not alike)

    @property
    def used(self) -> IntArray:
        """How many values each row has, without NaN."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def lengths(self) -> IntArray:
        """How many values each row had, NaN among them."""
        return np.asarray(self.used + self.missing)

    def middle_values(self) -> FloatArray:
        """The lower and the upper middle value of each row, (2, rows); NaN where not known."""
        reached = np.cumsum(self.counts, axis=1)
        whole = self.kept.lengths == self.counts[:, INSIDE]
        ranks = middle_ranks(self.used)
        known = [
            (rank >= reached[:, BELOW])
            & (rank < reached[:, AT_HIGH])
            & (whole | (rank < reached[:, AT_LOW]) | (rank >= reached[:, INSIDE]))
            for rank in ranks
        ]
        return np.where(known, self._at(*ranks), np.nan)

    def medians(self) -> Medians:
        """Medians: exact where the counts prove it, else a guess with a bound on its rank."""
        used, (lower, upper) = self.used, self.middle_values()
        values, errors = mean_of_middle_values(lower, upper, used), np.zeros_like(used)
        proven = ~(np.isnan(lower) | np.isnan(upper)) | (used == 0)
        missed = np.flatnonzero(~proven)
        regions = self.regions(missed, unknown_ranks(used, upper)[missed])
        for index, row in enumerate(missed.tolist()):
            values[row], errors[row] = regions.guess(index)
        return Medians(values, used, proven, errors)

    def sample_ends(self) -> Ends:
        """Ends for the medians of the rows that these values are a sample of."""
        used = self.used
        reach = 0.5 * SAMPLE_DEVIATIONS * np.sqrt(used) + 1.0
        low = np.floor(0.5 * used - reach).astype(np.int64)
        high = np.ceil(0.5 * used + reach).astype(np.int64)
        at_low, at_high = self._at(low, high)
        lows, highs = np.where(low < 0, -np.inf, at_low), np.where(high >= used, np.inf, at_high)
        return Ends(lows, highs, np.minimum(2.0 * reach / np.maximum(used, 1), 1.0))

    def regions(self, rows: IntArray, ranks: IntArray, before: Regions | None = None) -> Regions:
        """Where the values of these ranks lie in some rows that they are not known of.

        What earlier passes knew of these regions is remembered.
        """
        lows, highs = self.ends.lows[rows], self.ends.highs[rows]
        reached = np.cumsum(self.counts[rows], axis=1)
        lost = np.isnan(lows)
        above, below = ~lost & (ranks >= reached[:, AT_HIGH]), ~lost & (ranks < reached[:, BELOW])
        from_start, to_end = [above, lost | below], [below, lost | above]
        starts = np.select(from_start, [reached[:, AT_HIGH], 0], reached[:, AT_LOW])
        stops = np.select(to_end, [reached[:, BELOW], reached[:, ABOVE]], reached[:, INSIDE])
        region_lows = np.select(from_start, [highs, -np.inf], lows)
        region_highs = np.select(to_end, [lows, np.inf], highs)
        regions = Regions(ranks, region_lows, region_highs, starts, stops, [])
        regions = regions if before is None else regions.within(before)
        return regions._replace(guides=self._guides(rows, regions.lows, regions.highs))

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """The summary as plain arrays."""
        sample = self.sample or Sample((np.zeros((len(self.counts), 0)),), 0)
        kept = Ragged.joined(self.kept.parts)
        below, at_low, _, at_high, _ = self.counts.T
        return {
            "settings": np.array([self.capacity, sample.stride], dtype=np.int64),
            "ends": np.stack((self.ends.lows, self.ends.highs)),
            "counts": np.stack((self.used, self.missing, below, at_low, at_high)),
            "values": kept.values,
            "starts": kept.starts,
            "sample": sample.values,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray | IntArray]) -> "Brackets":
        """The summary, with free ends, that `to_arrays` gave."""
        capacity, stride = arrays["settings"].tolist()
        lows, highs = np.array(arrays["ends"], dtype=np.float64)
        used, missing, below, at_low, at_high = np.array(arrays["counts"], dtype=np.int64)
        values = np.asarray(arrays["values"], dtype=np.float64)
        kept = Ragged(values, np.asarray(arrays["starts"], dtype=np.int64))
        drawn = np.asarray(arrays["sample"], dtype=np.float64)
        known = below + at_low + kept.lengths + at_high
        counts = np.column_stack((below, at_low, kept.lengths, at_high, used - known))
        sample = Sample((drawn,), stride) if stride else None
        ends = _ends(lows, highs)
        return cls(ends, counts, missing, Growing((kept,)), capacity, True, sample)

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def _at(self, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
        """The values of two ranks of each row, as far as they are at an end or kept."""
        first = self.counts[:, BELOW] + self.counts[:, AT_LOW]
        parts = [(part.values, part.starts) for part in self.kept.parts]
        ranks = [rank - first for rank in (low, high)]
        found = kernels.kept_ranks(parts, *(np.maximum(rank, -1) for rank in ranks))
        sides = zip(ranks, found, strict=True)
        at = [
            np.where(rank < 0, self.ends.lows, np.where(np.isnan(own), self.ends.highs, own))
            for rank, own in sides
        ]
        return at[0], at[1]

    def _guides(self, rows: IntArray, lows: FloatArray, highs: FloatArray) -> list[FloatArray]:
        if self.sample is None and not self.free:
            return [np.zeros(0)] * len(rows)
        drawn = self._drawn().values[rows] if len(rows) else np.zeros((0, 0))
        triples = zip(drawn, lows, highs, strict=True)
        return [np.sort(own[(own > low) & (own < high)]) for own, low, high in triples]

    def _drawn(self) -> Sample:
        """The sample; drawn now if everything is kept."""
        if self.sample is not None:
            return self.sample
        assert self.capacity is not None
        return draw_sample(self.kept.whole, self.lengths, self.capacity)

    def _merged_sample(self, other: "Brackets") -> Sample | None:
        if self.sample is None and other.sample is None:
            return None
        assert self.capacity is not None
        return self._drawn().merge(other._drawn(), sample_limit(self.capacity))

    def _within_capacity(self) -> "Brackets":
        """Without the values of rows that keep more than they may."""
        if self.capacity is None or not (self.kept.lengths > self.capacity).any():
            return self
        nowhere = np.where(self.kept.lengths > self.capacity, np.nan, np.inf)
        split = _split(self.kept.whole, _ends(-nowhere, nowhere))
        return replace(self, kept=Growing((Ragged(split.kept, split.starts),)))

    def _counts_at(self, ends: Ends) -> IntArray:
        """The counts seen from brackets inside these; what is kept still counts as inside."""
        if ends is self.ends:
            return self.counts
        below, at_low, inside, at_high, above = self.counts.T
        is_low, is_high = self.ends.lows == ends.lows, self.ends.highs == ends.highs
        single = ends.lows == ends.highs
        above = above + np.where(is_high, 0, at_high)
        below = below + np.where(is_low, 0, at_low)
        at_high = np.where(is_high, at_high, 0)
        at_low = np.where(is_low, at_low, 0) + np.where(single, at_high, 0)
        return np.column_stack((below, at_low, inside, np.where(single, 0, at_high), above))

    def _settled(self, *, loose: bool) -> "Brackets":
        """With free brackets that hold no more than they should, and the values inside alone.

        `loose` says that some values may lie outside the present bracket.
        """
        ends = self._narrower()
        narrowed = ends is not self.ends
        if not (narrowed or loose):
            return self
        sample = self._drawn() if narrowed and self.sample is None else self.sample
        split = _split(self.kept.whole, ends)
        kept = Ragged(split.kept, split.starts)
        counts = self._counts_at(ends).copy()
        counts[:, INSIDE] = 0
        counts += np.insert(split.counts, INSIDE, kept.lengths, axis=1)
        used, lost = self.used, np.isnan(ends.lows)
        counts[lost] = 0
        counts[lost, ABOVE] = used[lost]  # of a lost bracket nothing is known but the number
        return replace(self, ends=ends, counts=counts, kept=Growing((kept,)), sample=sample)

    def _narrower(self) -> Ends:
        """Ends that leave the values nearest the middle; the present ones where that is all."""
        assert self.capacity is not None
        lengths, used = self.kept.lengths, self.used
        rows = np.flatnonzero(lengths > SLACK * _should_hold(self.capacity, used))
        if not len(rows):
            return self.ends
        lengths, allowed = lengths[rows], _should_hold(self.capacity, used[rows])
        lows, highs = self.ends.lows.copy(), self.ends.highs.copy()
        ordered = sorted_spread(self.kept.whole, rows, NARROWING_SAMPLE)
        begin = lengths * (ordered < lows[rows, None]).mean(axis=1)
        end = lengths * (ordered <= highs[rows, None]).mean(axis=1)
        middle = used[rows] / 2 - self.counts[rows, BELOW] - self.counts[rows, AT_LOW]
        first = np.maximum(np.minimum(middle - allowed / 2, end - allowed), begin)
        low = np.fmax(lows[rows], quantiles(ordered, first / lengths, lows[rows]))
        high = np.fmin(highs[rows], quantiles(ordered, (first + allowed) / lengths, highs[rows]))
        full = (end - begin > SLACK * allowed) & (low <= high)
        lows[rows] = np.where(full, low, lows[rows])
        highs[rows] = np.where(full, high, highs[rows])
        return _ends(lows, highs)


def middle_ranks(used: IntArray) -> tuple[IntArray, IntArray]:
    """Ranks, from 0, of the two values whose mean is the median; one and the same if odd."""
    return np.maximum(used - 1, 0) // 2, used // 2


def unknown_ranks(used: IntArray, upper: FloatArray) -> IntArray:
    """Ranks to look for: of the upper middle value, or of the lower one where that is known."""
    low_ranks, high_ranks = middle_ranks(used)
    return np.where(np.isnan(upper), high_ranks, low_ranks)


def mean_of_middle_values(lower: FloatArray, upper: FloatArray, used: IntArray) -> FloatArray:
    """Medians from their two middle values; `upper` alone if the number of values is odd.

    Examples
    --------
    >>> mean_of_middle_values(np.array([1.0, 1.0]), np.array([2.0, 1.0]), np.array([4, 3])).tolist()
    [1.5, 1.0]
    """
    with np.errstate(invalid="ignore"):
        middle = np.where(used % 2 == 1, upper, 0.5 * lower + 0.5 * upper)
    # A sum with 0.0 makes -0.0 positive, so that no order of equal zeros can show.
    return np.asarray(middle + 0.0)


def _ends(lows: FloatArray, highs: FloatArray) -> Ends:
    """Ends of which nobody knows how many values lie between them."""
    return Ends(lows, highs, np.ones(len(lows)))


def _split(rows: Ragged, ends: Ends) -> Split:
    counts, kept, starts, _ = kernels.split_rows(*rows, ends.lows, ends.highs)
    return Split(counts, kept, starts, None)


def sample_limit(capacity: int) -> int:
    """Values of a row that its sample has at most."""
    return SAMPLE_CAPACITIES * min(capacity, LARGEST_CAPACITY)


def draw_sample(rows: Ragged, lengths: IntArray, capacity: int) -> Sample:
    """A sample of rows of these lengths, which may have lost some of their values."""
    return draw(rows, int(lengths.max(initial=0)), sample_limit(capacity))


def _should_hold(capacity: int, used: IntArray) -> FloatArray:
    """Values that a free bracket should hold."""
    return np.maximum(float(capacity), WIDTH * np.sqrt(used))


def _middle_ends(rows: Ragged, chosen: IntArray, capacity: int) -> tuple[FloatArray, FloatArray]:
    """Ends between which the middle of each chosen row lies, by a sample of it."""
    lengths = rows.lengths[chosen]
    ordered = sorted_spread(rows, chosen, NARROWING_SAMPLE)
    return middle_part(ordered, _should_hold(capacity, lengths) / lengths + SAMPLE_ERROR)


def _common_ends(left: Ends, right: Ends) -> tuple[Ends, bool]:
    """What both brackets have in common, NaN if that is nothing; and whether they are alike."""
    pairs = (left.lows, right.lows), (left.highs, right.highs)
    if all(own is its or np.array_equal(own, its) for own, its in pairs):
        return left, True
    lows, highs = np.maximum(left.lows, right.lows), np.minimum(left.highs, right.highs)
    lost = ~(lows <= highs)
    lows[lost] = highs[lost] = np.nan
    return _ends(lows, highs), False


def _guided(
    ends: tuple[float, float], guides: FloatArray, share: float, part: float
) -> tuple[float, float]:
    """Ends around the guide at `share`, as far as sampling error may reach, or `part` lets it."""
    reach = GUIDE_DEVIATIONS * np.sqrt(len(guides) * share * (1.0 - share)) + 4.0
    reach = min(reach, 0.45 * part * len(guides))
    near = share * len(guides) + np.array([-reach, reach])
    first, last = np.clip(near.astype(np.int64), -1, len(guides)).tolist()
    low = guides[first] if first >= 0 else ends[0]
    return low, guides[last] if last < len(guides) else ends[1]


def _halved(ends: tuple[float, float], guides: FloatArray) -> tuple[float, float]:
    """The middle guide, or float64 in the order of all of them, as both ends."""
    if len(guides):
        return guides[len(guides) // 2], guides[len(guides) // 2]
    low, high = _order_of(ends[0]), _order_of(ends[1])
    if high - low < 2:  # no number lies between: all values are at the ends
        return ends
    middle = (low + high) // 2
    size = float(np.int64(abs(middle)).view(np.float64))
    return (-size, -size) if middle < 0 else (size, size)


def _order_of(value: float) -> int:
    """The position of a float64 in the order of all of them; 0.0 is at 0."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0.0 else bits
