"""Edges to count values between, when a median is looked for in a known region."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gaussnet import kernels
from gaussnet.methods.medians.brackets import Brackets, Medians, Regions, mean_of_middle
from gaussnet.methods.medians.samples import Ragged, starts_of
from gaussnet.types import BoolArray, FloatArray, IntArray

EDGES = 64
"""Edges of a coefficient, at most."""

DEVIATIONS = 6.0
"""Edges reach so many standard deviations of a sample's rank to either side."""


def edges_near(guides: FloatArray, share: float, ends: FloatArray) -> FloatArray:
    """Edges at guides around the one at `share`, as far as sampling error may reach."""
    centre = share * len(guides)
    reach = DEVIATIONS * np.sqrt(len(guides) * share * (1.0 - share)) + 4.0
    places = np.linspace(centre - reach, centre + reach, EDGES - 2).astype(np.int64)
    near = guides[np.clip(places, 0, len(guides) - 1)]
    outer = ends[[places[0] < 0, places[-1] >= len(guides)]]
    return np.unique(np.concatenate((near, outer)))


def even_edges(ends: FloatArray) -> FloatArray:
    """Edges that divide the floating-point numbers between the ends evenly, both included."""
    low, high = (_number_of(float(end)) for end in ends)
    numbers = [low + (high - low) * step // (EDGES - 1) for step in range(EDGES)]
    return np.array(sorted({_number_at(number) for number in numbers}))


def _number_of(value: float) -> int:
    """The place of a float64 in the order of all of them; 0.0 has the place 0."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0.0 else bits


def _number_at(place: int) -> float:
    """The float64 at a place in the order of all of them."""
    size = float(np.int64(abs(place)).view(np.float64))
    return -size if place < 0 else size


def window_of(edges: FloatArray, guides: FloatArray, share: float, most: float) -> tuple[int, int]:
    """First and last of the edges around `share` that hold at most the share `most`."""
    if len(edges) < 2:
        return 0, 0
    reached = np.searchsorted(guides, edges) / len(guides)
    first = last = int(np.clip(np.searchsorted(reached, share), 1, len(edges) - 1))
    first -= 1
    if reached[last] - reached[first] > most:
        return 0, 0
    while True:
        left, right = max(first - 1, 0), min(last + 1, len(edges) - 1)
        goes_left = first > 0 and reached[last] - reached[left] <= most
        goes_right = last < len(edges) - 1 and reached[right] - reached[first] <= most
        if goes_left and (share - reached[left] <= reached[right] - share or not goes_right):
            first = left
        elif goes_right:
            last = right
        else:
            return first, last


# Further passes over a stream for the medians that the first pass missed.
#
# A pass knows edges, the same for all pages, so its counts of values between and at the edges are
# exact and merge by addition: afterwards the middle value is at an edge, among the kept values
# between two edges, or between two edges whose count is known, where the next pass looks. The
# first recount takes its edges from a sample of the stream and keeps the values where the middle
# most likely is. Later ones divide what is left evenly over the floating-point numbers in it, so
# each pass makes it at least 60 times smaller: two passes in practice, 13 whatever the values.

LARGEST_LIMIT = 220_000
SMALLEST_LIMIT = 8_192
KEPT_VALUES = 1 << 24
"""Values that a pass should keep for all its coefficients together (128 MiB)."""

PLANNED, MOST = 0.9, 1.1
"""Shares of the limit that a pass plans to keep, and gives up beyond."""


class Pass(Protocol):
    """What is folded over a stream of blocks (coefficients, count), or of ragged rows."""

    @property
    def chosen(self) -> IntArray | None:
        """The coefficients whose rows it wants, in order; None wants all."""
        ...

    def summarize(self, block: FloatArray | Ragged) -> "Brackets | Recounted":
        """The summary of the chosen rows of a block."""
        ...

    def after(self, summary: Any) -> "Pass":
        """The same pass for blocks that come after those of the summary."""
        ...


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Brackets of all coefficients."""

    room: int | None = None
    sieve: kernels.Sieve | None = None
    """The brackets of earlier blocks, if there were any."""
    chosen = None

    @property
    def is_bounded(self) -> bool:
        """Whether earlier blocks say of every coefficient where its median must lie."""
        return self.sieve is not None and self.sieve.is_bounded

    def summarize(self, block: FloatArray | Ragged) -> Brackets:
        """Brackets of a block."""
        ends = None if self.sieve is None else (self.sieve.lows, self.sieve.highs)
        return Brackets.of(block, self.room, ends)

    def after(self, summary: Brackets) -> "FirstPass":
        """With the brackets of the summary: the more it has seen, the fewer values they keep."""
        return replace(self, sieve=summary.sieve())


@dataclass(frozen=True, slots=True)
class Recount:
    """Counts between edges for coefficients that were missed."""

    regions: Regions
    edges: FloatArray
    """Rising edges, (coefficients, EDGES), filled up with NaN."""
    windows: IntArray
    """Values between edges first..last are kept, (coefficients, 2)."""
    limit: int

    @property
    def chosen(self) -> IntArray:
        """The coefficients whose rows it wants, in order."""
        return self.regions.chosen

    @classmethod
    def of(cls, regions: Regions) -> "Recount":
        """Edges at guides near the middle, or evenly over a region that has none."""
        rows = len(regions.chosen)
        limit = min(max(KEPT_VALUES // max(rows, 1), SMALLEST_LIMIT), LARGEST_LIMIT)
        edges = np.full((rows, EDGES), np.nan)
        windows = np.zeros((rows, 2), dtype=np.int64)
        for row in range(rows):
            count, share = int(regions.counts[row]), regions.ranks[row] / regions.counts[row]
            ends = np.array([regions.lows[row], regions.highs[row]])
            if count <= PLANNED * limit:
                own = ends
                windows[row] = 0, 1
            else:
                guides = regions.guides[row]
                own = edges_near(guides, share, ends) if len(guides) else even_edges(ends)
                guides = guides if len(guides) else own
                windows[row] = window_of(own, guides, share, PLANNED * limit / count)
            edges[row, : len(own)] = own
        return cls(regions, edges, windows, limit)

    def summarize(self, block: FloatArray | Ragged) -> "Recounted":
        """Counts of the chosen rows of a block, given in order."""
        rows = len(self.edges)
        last = np.count_nonzero(~np.isnan(self.edges), axis=1) - 1
        highs = self.edges[np.arange(rows), last]
        outer, largest, *found = kernels.split_rows(*Ragged.of(block), self.edges[:, 0], highs)
        inside = Ragged(*found)
        counts = np.zeros((rows, 2 * EDGES + 1), dtype=np.int64)
        maxima = np.full((rows, 2 * EDGES + 1), -np.inf)
        kept = []
        for row in range(rows):
            own = inside.row(row)
            codes = self._codes(row, own)
            counts[row] = np.bincount(codes, minlength=2 * EDGES + 1)
            np.maximum.at(maxima[row], codes, own)
            first, last_kept = 2 * self.windows[row]
            kept.append(own[(codes > first) & (codes <= last_kept) & (codes % 2 == 0)])
        place = np.arange(rows)
        counts[:, 0] = outer[:, 0]
        counts[:, 1] += outer[:, 1]
        counts[place, 2 * last + 1] += outer[:, 2]
        counts[place, 2 * last + 2] += outer[:, 3]
        maxima[:, 0] = largest
        lengths = np.array([len(own) for own in kept], dtype=np.int64)
        near = Ragged(np.concatenate([np.zeros(0), *kept]), starts_of(lengths))
        return Recounted(self, counts, maxima, near, np.zeros(rows, dtype=bool))._bounded()

    def after(self, _: "Recounted") -> "Recount":
        """Itself: its edges are the same for every block."""
        return self

    def _codes(self, row: int, values: FloatArray) -> IntArray:
        """2 j + 1 at edge j, 2 j below it and above the edge before."""
        own = self.edges[row]
        left = np.searchsorted(own, values, side="left")
        return np.asarray(left + np.searchsorted(own, values, side="right"), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Recounted:
    """How many values lie between and at the edges, the largest of each, and the kept."""

    plan: Recount
    counts: IntArray
    """(coefficients, 2 EDGES + 1): below the first edge, at it, between it and the next, ..."""
    maxima: FloatArray
    """The largest value below the first edge and between edges, -inf where there is none."""
    kept: Ragged
    dropped: BoolArray
    """Coefficients that had more to keep than they may, and keep nothing."""

    def merge(self, other: "Recounted") -> "Recounted":
        """Counts of both."""
        merged = Recounted(
            self.plan,
            self.counts + other.counts,
            np.maximum(self.maxima, other.maxima),
            Ragged.joined((self.kept, other.kept)),
            self.dropped | other.dropped,
        )
        return merged._bounded()

    def medians(self) -> Medians:
        """Medians of the chosen coefficients: exact where the middle is at an edge or kept."""
        used = self.counts.sum(axis=1)
        medians = np.full(len(used), np.nan)
        proven = np.ones(len(used), dtype=bool)
        errors = np.zeros_like(used)
        for row in range(len(used)):
            found = self._median(row, int(used[row]))
            proven[row] = found is not None
            medians[row] = np.nan if found is None else found
        missed = self._missed(proven)
        for place, row in enumerate(np.flatnonzero(~proven).tolist()):
            medians[row], errors[row] = missed.guess(place)
        return Medians(medians, used, proven, errors)

    def next_pass(self) -> Recount | None:
        """The pass for what is still missed; None if there is nothing."""
        missed = self._missed(self.medians().proven)
        return Recount.of(missed) if len(missed.chosen) else None

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        arrays = (self.counts, self.maxima, *self.kept, self.plan.edges)
        return sum(array.nbytes for array in arrays)

    def _middle(self, row: int) -> tuple[int, int]:
        """Which place the upper middle value is in, and its rank there."""
        reached = np.cumsum(self.counts[row])
        rank = int(reached[-1]) // 2
        code = int(np.searchsorted(reached, rank, side="right"))
        return code, rank - int(reached[code] - self.counts[row, code])

    def _median(self, row: int, used: int) -> float | None:
        """The median of one coefficient, None if it is not proven."""
        code, rank = self._middle(row)
        if code % 2:
            own = np.full(rank + 1, self.plan.edges[row, code // 2])
        else:
            first, last = 2 * self.plan.windows[row]
            if self.dropped[row] or not first < code <= last:
                return None
            own = self.kept.row(row)
            low, high = self.plan.edges[row, code // 2 - 1 : code // 2 + 1]
            own = np.sort(own[(own > low) & (own < high)])
        lower = own[rank - 1] if rank else self._largest_before(row, code)
        return mean_of_middle(float(lower), float(own[rank]), used)

    def _largest_before(self, row: int, code: int) -> float:
        """The largest value before a place."""
        reached = np.flatnonzero(self.counts[row, :code])
        if not len(reached):
            return -np.inf
        last = int(reached[-1])
        return float(self.plan.edges[row, last // 2] if last % 2 else self.maxima[row, last])

    def _missed(self, proven: BoolArray) -> Regions:
        """Between which edges the middles are that are still missed."""
        rows = np.flatnonzero(~proven)
        old, middles = self.plan.regions, [self._middle(row) for row in rows.tolist()]
        codes = np.array([code for code, _ in middles], dtype=np.int64)
        edges = np.column_stack((old.lows, self.plan.edges, old.highs))[rows]
        lows = edges[np.arange(len(rows)), codes // 2]
        highs = edges[np.arange(len(rows)), codes // 2 + 1]
        return Regions(
            old.chosen[rows],
            lows,
            np.where(np.isnan(highs), old.highs[rows], highs),
            self.counts[rows, codes],
            np.array([rank for _, rank in middles], dtype=np.int64),
            [np.zeros(0) for _ in rows],
        )

    def _bounded(self) -> "Recounted":
        """Itself, or without the values of coefficients that have too many."""
        lengths = self.kept.lengths
        dropped = self.dropped | (lengths > MOST * self.plan.limit)
        if not (dropped & (lengths > 0)).any():
            return self
        nowhere = np.where(dropped, np.nan, np.inf)
        _, _, *kept = kernels.split_rows(*self.kept, -nowhere, nowhere)
        return replace(self, kept=Ragged(*kept), dropped=dropped)


def find_medians(fold: Callable[[Pass], Any], room: int | None = None) -> tuple[Medians, int]:
    """Exact medians, and how many passes they took.

    `fold` runs a pass over the whole stream: it summarises the rows that the pass chooses in
    each block, and merges the summaries.

    Examples
    --------
    >>> blocks = np.arange(12.0).reshape(3, 1, 4)
    >>> def fold(step):
    ...     rows = slice(None) if step.chosen is None else step.chosen
    ...     left, middle, right = (step.summarize(block[rows]) for block in blocks)
    ...     return left.merge(middle).merge(right)
    >>> found, passes = find_medians(fold)
    >>> found.values.tolist(), passes
    ([5.5], 1)
    """
    summary = fold(FirstPass(room))
    medians, passes = summary.medians(), 1
    step = summary.next_pass()
    while step is not None:
        summary, passes = fold(step), passes + 1
        again = summary.medians()
        for old, new in zip(medians, again, strict=True):
            old[step.chosen] = new
        step = summary.next_pass()
    return medians, passes
