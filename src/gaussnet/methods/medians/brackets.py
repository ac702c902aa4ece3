"""Medians as passes over a stream give them, and where a median must be that a pass missed."""

from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gaussnet import kernels
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

if TYPE_CHECKING:
    from gaussnet.methods.medians.recounts import Recount

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""Low and high ends of brackets, (coefficients,) each."""

UNLIKELY = 1e-9
"""Probability that a stated rank error is exceeded."""


class Medians(NamedTuple):
    """Medians of each coefficient, (coefficients,) each; used counts values that are not NaN.

    Where `proven` holds the median is exact and its rank error 0. Elsewhere it is a guess, and
    the share of values below it is off by less than `rank_errors` / `used`: for any one stream,
    but for a probability of 1e-9 over the places that the sample is drawn at.
    """

    values: FloatArray
    used: IntArray
    proven: BoolArray
    rank_errors: IntArray


class Regions(NamedTuple):
    """For each missed coefficient: ends that its middle value lies between, both included.

    Its rank, from 0, is among the `counts` values there; `guides` are some of them, sorted.
    """

    chosen: IntArray
    lows: FloatArray
    highs: FloatArray
    counts: IntArray
    ranks: IntArray
    guides: list[FloatArray]

    def guess(self, place: int) -> tuple[float, int]:
        """A value near the middle of a missed coefficient, and a bound on its rank error."""
        guides, count = self.guides[place], int(self.counts[place])
        if not len(guides):
            ends = np.array([self.lows[place], self.highs[place]])
            finite = ends[np.isfinite(ends)]
            return (float(finite[0]) if len(finite) else np.nan), count
        share = (int(self.ranks[place]) + 0.5) / count
        error = np.sqrt(np.log(2.0 / UNLIKELY) / (2.0 * len(guides))) + 1.0 / len(guides)
        value = guides[min(int(share * len(guides)), len(guides) - 1)]
        return float(value), min(int(np.ceil(error * count)), count)


def middle_ranks(used: IntArray) -> tuple[IntArray, IntArray]:
    """Ranks, from 0, of the two values whose mean is the median; one and the same if odd."""
    return np.maximum(used - 1, 0) // 2, used // 2


def mean_of_middle(lower: float, upper: float, used: int) -> float:
    """The median from its two middle values; `upper` alone if the number of values is odd.

    Examples
    --------
    >>> mean_of_middle(1.0, 2.0, 4), mean_of_middle(1.0, 1.0, 3)
    (1.5, 1.0)
    """
    # A sum with 0.0 makes -0.0 positive, so that no order of equal zeros can show.
    return (upper if used % 2 else 0.5 * lower + 0.5 * upper) + 0.0


WIDTH = 16.0
"""A bracket holds so many square roots of the number of values."""

SLACK = 2.0
"""A bracket is narrowed when it holds so many times what it should."""

LARGEST_ROOM = 4_096
SMALLEST_ROOM = 256
SAMPLE_ROOMS = 16
"""The sample of the stream is at most so many times the room."""

SUMMARY_VALUES = 1 << 23
"""Values that rooms and samples of all coefficients should take together (64 MiB)."""

NARROWING_SAMPLE = 1_024
"""Values that the ends of a narrower bracket are chosen by."""

SAMPLE_ERROR = 3.0 / np.sqrt(NARROWING_SAMPLE)
"""Three standard deviations of the share of a row that its sample puts on either side."""


def default_room(coefficients: int) -> int:
    """Values of a coefficient that are all kept: 4,096, fewer beyond a hundred coefficients.

    Examples
    --------
    >>> default_room(10), default_room(1_000), default_room(100_000)
    (4096, 466, 256)
    """
    fitting = int(SUMMARY_VALUES / ((SLACK + SAMPLE_ROOMS) * max(coefficients, 1)))
    return min(max(fitting, SMALLEST_ROOM), LARGEST_ROOM)


def should_hold(room: int, used: IntArray) -> FloatArray:
    """Values that a bracket should hold."""
    return np.maximum(float(room), WIDTH * np.sqrt(used))


def middle_ends(rows: Ragged, chosen: IntArray, room: int) -> Ends:
    """Ends between which the middle of each chosen row lies, by a sample of it."""
    lengths = rows.lengths[chosen]
    ordered = sorted_spread(rows, chosen, NARROWING_SAMPLE)
    return middle_part(ordered, should_hold(room, lengths) / lengths + SAMPLE_ERROR)


def bracket_values(coefficients: int, rows: int) -> float:
    """Values that brackets keep for each of so many coefficients over so many rows."""
    room = default_room(coefficients)
    near = max(float(room), WIDTH * float(np.sqrt(rows)))
    return SLACK * near + SAMPLE_ROOMS * room


# Exact medians of streams of values, in memory that grows as the square root of their number.
#
# How to use it. Values come in blocks (coefficients, count), or in `Ragged` rows where coefficients
# have different counts, page by page; NaN is set aside.
#
#     summary = Brackets.of(block, room)       one page; room=None takes `default_room`
#     summary = left.merge(right)              any tree of merges
#     found = summary.medians()                Medians(values, used, proven, rank_errors)
#     again = summary.next_pass()              a pass over the same stream for the missed, or None
#     summary.to_arrays(), Brackets.from_arrays(arrays), summary.nbytes
#
#     found, passes = find_medians(fold)       in `estimate.recounts`: passes until all is proven
#
# A summary keeps for each coefficient a bracket [low, high], how many values lie below, at either
# end and above, and the values strictly between. These counts prove whether the middle values are
# among the known; then the median is exact, and the same bits whatever the pages and merges were.
# Everything is kept up to `room` values, and from there on the 16 sqrt(n) nearest the running
# median: +-16 standard deviations of the rank of the median of n exchangeable values. Where rows
# drift, the brackets of pages part; the counts show it, and one pass more with ends from a sample
# of the stream finds what was missed.
#
# The median absolute deviation takes two folds: of the residuals, then of |residual - median|.


@dataclass(frozen=True, slots=True)
class Brackets:
    """A bracket for each coefficient, how many values lie where, and the values inside.

    A bracket of NaN is lost: those of two pages had no value in common.
    """

    room: int
    lows: FloatArray
    highs: FloatArray
    used: IntArray
    missing: IntArray
    below: IntArray
    at_low: IntArray
    """Values equal to the low end; of both ends, if they are one value."""
    at_high: IntArray
    kept: Growing
    """The values strictly inside, coefficient after coefficient."""
    sample: Sample | None = None
    """Drawn when a bracket is first narrowed; until then everything is kept."""

    @classmethod
    def of(
        cls, block: FloatArray | Ragged, room: int | None = None, ends: Ends | None = None
    ) -> "Brackets":
        """The summary of a block (coefficients, count), or of ragged rows.

        Rows that are too long to keep get brackets with these ends, or if one is not finite or
        none are given, with ends that a sample of the row chooses.

        Examples
        --------
        >>> page = Brackets.of(np.array([[5.0, 1.0, 3.0]]))
        >>> page.merge(Brackets.of(np.array([[9.0, np.nan]]))).medians().values.tolist()
        [4.0]
        """
        rows = Ragged.of(block)
        lengths = rows.lengths
        room = default_room(len(lengths)) if room is None else room
        lows, highs = np.full(len(lengths), -np.inf), np.full(len(lengths), np.inf)
        long, sample = np.flatnonzero(lengths > SLACK * should_hold(room, lengths)), None
        if len(long):
            sample = draw(rows, int(lengths.max()), SAMPLE_ROOMS * room)
            if ends is not None:
                lows[long], highs[long] = ends[0][long], ends[1][long]
            open_rows = long[~(np.isfinite(lows[long]) & np.isfinite(highs[long]))]
            if len(open_rows):
                lows[open_rows], highs[open_rows] = middle_ends(rows, open_rows, room)
        counts, _, values, starts = kernels.split_rows(*rows, lows, highs)
        return cls.of_split((lows, highs), lengths, counts, Ragged(values, starts), sample, room)

    @classmethod
    def of_split(
        cls,
        ends: Ends,
        lengths: IntArray,
        counts: IntArray,
        kept: Ragged,
        sample: Sample | None,
        room: int,
    ) -> "Brackets":
        """The summary of rows of these lengths from what `kernels.split_rows` counts and keeps."""
        used = counts.sum(axis=1) + kept.lengths
        below, at_low, at_high = counts[:, :3].T
        inside = Growing((kept,))
        return cls(room, *ends, used, lengths - used, below, at_low, at_high, inside, sample)

    def merge(self, other: "Brackets") -> "Brackets":
        """The summary of both: what lies between ends that both can vouch for."""
        lows, highs = self.lows, self.highs
        pairs = (lows, other.lows), (highs, other.highs)
        alike = all(own is its or np.array_equal(own, its) for own, its in pairs)
        if not alike:
            lows, highs = np.maximum(lows, other.lows), np.minimum(highs, other.highs)
            lost = ~(lows <= highs)
            lows[lost] = highs[lost] = np.nan
        room, sample = min(self.room, other.room), None
        if self.sample is not None or other.sample is not None:
            sample = self._drawn().merge(other._drawn(), SAMPLE_ROOMS * room)
        used, missing = self.used + other.used, self.missing + other.missing
        below, at_low, at_high = map(add, self._outside(lows, highs), other._outside(lows, highs))
        kept = self.kept.merge(other.kept)
        both = Brackets(room, lows, highs, used, missing, below, at_low, at_high, kept, sample)
        return both._settled(loose=not alike)

    def sieve(self) -> kernels.Sieve:
        """The brackets, for values that come after these."""
        return kernels.Sieve(self.lows, self.highs, self._known() / np.maximum(self.used, 1))

    @property
    def lengths(self) -> IntArray:
        """How many values each coefficient had, the missing among them."""
        return np.asarray(self.used + self.missing)

    def medians(self) -> Medians:
        """Medians: exact where the counts prove it, else a guess with a bound on its rank."""
        proven = self._proven()
        medians, errors = np.full(len(self.used), np.nan), np.zeros_like(self.used)
        for row in np.flatnonzero(proven & (self.used > 0)).tolist():
            medians[row] = self._median(row)
        missed = self.missed()
        for place, row in enumerate(missed.chosen.tolist()):
            medians[row], errors[row] = missed.guess(place)
        return Medians(medians, self.used.copy(), proven, errors)

    def missed(self) -> Regions:
        """The coefficients whose median is not proven, and where it must lie."""
        chosen = np.flatnonzero(~self._proven())
        lost, used, below = np.isnan(self.lows[chosen]), self.used[chosen], self.below[chosen]
        reached = below + self._known()[chosen]
        above = ~lost & (used // 2 >= reached)
        lows = np.where(above, self.highs[chosen], -np.inf)
        highs = np.where(lost | above, np.inf, self.lows[chosen])
        counts = np.where(above, used - reached, np.where(lost, used, below))
        ranks = np.minimum(used // 2 - np.where(above, reached, 0), counts - 1)
        sample = self._drawn().values[chosen] if len(chosen) else np.zeros((0, 0))
        guides = [
            np.sort(drawn[(drawn >= low) & (drawn <= high)])
            for drawn, low, high in zip(sample, lows, highs, strict=True)
        ]
        return Regions(chosen, lows, highs, counts, ranks, guides)

    def next_pass(self) -> "Recount | None":
        """What to fold over the same stream for the missed coefficients; None if there are none."""
        from gaussnet.methods.medians.recounts import Recount

        missed = self.missed()
        return Recount.of(missed) if len(missed.chosen) else None

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """The summary as plain arrays."""
        sample = self.sample or Sample((np.zeros((len(self.used), 0)),), 0)
        kept = Ragged.joined(self.kept.parts)
        return {
            "settings": np.array([self.room, sample.stride], dtype=np.int64),
            "ends": np.stack((self.lows, self.highs)),
            "counts": np.stack((self.used, self.missing, self.below, self.at_low, self.at_high)),
            "values": kept.values,
            "starts": kept.starts,
            "sample": sample.values,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray | IntArray]) -> "Brackets":
        """The summary that `to_arrays` gave."""
        room, stride = arrays["settings"].tolist()
        lows, highs = np.array(arrays["ends"], dtype=np.float64)
        used, missing, below, *at = np.array(arrays["counts"], dtype=np.int64)
        values = np.asarray(arrays["values"], dtype=np.float64)
        starts = np.asarray(arrays["starts"], dtype=np.int64)
        drawn = np.asarray(arrays["sample"], dtype=np.float64)
        sample = Sample((drawn,), stride) if stride else None
        kept = Growing((Ragged(values, starts),))
        return cls(room, lows, highs, used, missing, below, at[0], at[1], kept, sample)

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def _known(self) -> IntArray:
        """How many values are known one by one, inside and at the ends."""
        return np.asarray(self.at_low + self.kept.lengths + self.at_high)

    def _proven(self) -> BoolArray:
        """Whether the middle values are among the known."""
        lower, upper = middle_ranks(self.used)
        known = (lower >= self.below) & (upper < self.below + self._known())
        return np.asarray((known & ~np.isnan(self.lows)) | (self.used == 0))

    def _drawn(self) -> Sample:
        """The sample; drawn now if everything is kept."""
        if self.sample is not None:
            return self.sample
        count = int(self.lengths.max(initial=0))
        return draw(self.kept.whole, count, SAMPLE_ROOMS * self.room)

    def _median(self, row: int) -> float:
        """The proven median of one coefficient."""
        own = self.kept.whole.row(row)
        used = int(self.used[row])
        ranks = np.array([(used - 1) // 2, used // 2]) - self.below[row] - self.at_low[row]
        inside = np.unique(ranks[(ranks >= 0) & (ranks < len(own))])
        ordered = np.partition(own, inside) if len(inside) else own
        ends = np.where(ranks < 0, self.lows[row], self.highs[row]).tolist()
        lower, upper = (
            float(ordered[rank]) if rank in inside else end
            for rank, end in zip(ranks.tolist(), ends, strict=True)
        )
        return mean_of_middle(lower, upper, used)

    def _outside(self, lows: FloatArray, highs: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """What is not kept, seen from brackets inside these: below, at the low and high end."""
        if lows is self.lows and highs is self.highs:
            return self.below, self.at_low, self.at_high
        is_low, is_high, single = self.lows == lows, self.highs == highs, lows == highs
        below = self.below + np.where(is_low, 0, self.at_low)
        at_high = np.where(is_high, self.at_high, 0)
        at_low = np.where(is_low, self.at_low, 0) + np.where(single, at_high, 0)
        return below, at_low, np.where(single, 0, at_high)

    def _settled(self, *, loose: bool) -> "Brackets":
        """With a bracket that holds no more than it should, and the values inside alone.

        `loose` says that some values may lie outside the present bracket.
        """
        lows, highs = self._narrower()
        narrowed = lows is not self.lows
        if not (narrowed or loose):
            return self
        sample = self._drawn() if narrowed and self.sample is None else self.sample
        counts, _, values, starts = kernels.split_rows(*self.kept.whole, lows, highs)
        below, at_low, at_high = np.stack(self._outside(lows, highs)) + counts[:, :3].T
        for count in (below, at_low, at_high):
            count[np.isnan(lows)] = 0
        used, missing, kept = self.used, self.missing, Growing((Ragged(values, starts),))
        return Brackets(self.room, lows, highs, used, missing, below, at_low, at_high, kept, sample)

    def _narrower(self) -> tuple[FloatArray, FloatArray]:
        """Ends that leave the values nearest the middle; the present ones where that is all."""
        lengths = self.kept.lengths
        rows = np.flatnonzero(lengths > SLACK * self.room)
        rows = rows[lengths[rows] > SLACK * should_hold(self.room, self.used[rows])]
        if not len(rows):
            return self.lows, self.highs
        lengths, allowed = lengths[rows], should_hold(self.room, self.used[rows])
        lows, highs = self.lows.copy(), self.highs.copy()
        ordered = sorted_spread(self.kept.whole, rows, NARROWING_SAMPLE)
        begin = lengths * (ordered < lows[rows, None]).mean(axis=1)
        end = lengths * (ordered <= highs[rows, None]).mean(axis=1)
        middle = self.used[rows] / 2 - self.below[rows] - self.at_low[rows]
        first = np.maximum(np.minimum(middle - allowed / 2, end - allowed), begin)
        low = np.fmax(lows[rows], quantiles(ordered, first / lengths, lows[rows]))
        high = np.fmin(highs[rows], quantiles(ordered, (first + allowed) / lengths, highs[rows]))
        full = (end - begin > SLACK * allowed) & (low <= high)
        lows[rows] = np.where(full, low, lows[rows])
        highs[rows] = np.where(full, high, highs[rows])
        return lows, highs
