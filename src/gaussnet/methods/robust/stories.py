r"""Which doubted cells of a row are wrong, where noise may have heavy tails: stories, compared.

In a column that is not Gaussian most unusual values are real, but some may be wrong. For a row with
the doubted cells D the stories are the subsets F of D: the cells F are wrong, all others are right,
and any equation may have unusual noise. With r the residuals in standard deviations once F is
blanked and filled in, and z how far the records F are from what is filled in, the log likelihood of
a story is

.. math:: \sum_i \log h_i(r_i)
          + \sum_{i \in F} \Big( \log\frac{\pi_i}{1 - \pi_i} + \log f(z_i) \Big).

Noise h and errors f are scale mixtures of Gaussian laws. The share of unusual noise of each node,
the share of wrong cells, and all widths are learnt by expectation and maximisation. Where
neighbours say nothing, as at a leaf, one more thing is known: noise has a finite variance, so wide
noise cannot add more to it than narrower noise does (`_with_finite_variance`). For rows that break
two equations or more there are two further stories: all noise of the row is wide, as in volatile
times, or the whole row comes from elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gaussnet.methods.robust.directions import Directions, RecordedRows
from gaussnet.types import BoolArray, FloatArray, IntArray

WIDTHS = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 10_000.0])
"""Of unusual noise and of errors, in standard deviations."""

FREE_WIDTHS = 3
"""So many of them may be as frequent as they like; groups lie farther apart than noise is wide."""

UNUSUAL, NEAR = 3.5, 2.5
"""Residuals beyond so many standard deviations are unusual, and usual below."""

ROUNDS, MOST_ROWS, MOST_CELLS, MOST_COMBINED = 20, 2_000, 200_000, 4
"""Rounds in which shares and widths are learnt, from no more rows and cells than this; and up to
how many doubted cells of a row are looked at in all combinations."""

FEWEST = 2.0
"""Cells that are taken off what speaks for errors, so that these die out where there are none."""

POOLED, WIDTHS_POOLED = 0.1, 2.0
"""What all columns say counts as so many times the rows of one, and as so many of its values."""

FIRST_SHARE, LEAST, LARGEST = 0.01, 1e-5, 0.49
"""Shares of errors and of unusual noise, at first and at any time."""

ROW_WIDTHS = np.array([1.6, 2.5, 4.0, 8.0])
"""Of noise that all equations of a row have in common."""

LEAST_ROWS, MOST_OF_ROWS = 0.1, 0.1
"""Rows of each kind that are taken for granted, so that their stories can be told at all; and the
largest share of each kind."""

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Rates:
    """Shares and widths of unusual noise and of errors."""

    events: FloatArray
    """Shares of unusual noise, by node and width, (nodes, widths)."""
    errors: FloatArray
    """Shares of wrong cells, (nodes,)."""
    sizes: FloatArray
    """Shares of the widths of errors, (widths,)."""
    rows: FloatArray
    """Shares of rows from elsewhere, and of rows with noise of each width, (1 + widths,)."""

    @classmethod
    def initial(cls, nodes: int) -> "Rates":
        """Errors and unusual noise are as frequent and as wide."""
        even = np.full(len(WIDTHS), 1.0 / len(WIDTHS))
        events = np.tile(FIRST_SHARE * even, (nodes, 1))
        whole = np.full(1 + len(ROW_WIDTHS), 0.1 * FIRST_SHARE)
        return cls(events, np.full(nodes, FIRST_SHARE), even, whole)


@dataclass(frozen=True)
class Counts:
    """What stories say for the rates."""

    events: FloatArray
    """Unusual residuals by node and width, (nodes, widths)."""
    errors: FloatArray
    """Wrong cells, (nodes,)."""
    sizes: FloatArray
    """Wrong cells by width, (widths,)."""
    rows: FloatArray
    """Rows from elsewhere, and rows with noise of each width, (1 + widths,)."""

    def plus(self, other: "Counts") -> "Counts":
        """Of the rows of both."""
        return Counts(
            self.events + other.events,
            self.errors + other.errors,
            self.sizes + other.sizes,
            self.rows + other.rows,
        )

    def rates(self, rows: float) -> Rates:
        """The shares among so many rows, drawn towards those of all columns."""
        nodes = len(self.errors)
        wrong = np.maximum(self.errors - FEWEST / nodes, 0.0)
        events = _with_finite_variance(self.events)
        usual = events.sum(axis=0) + 0.5
        by_width = events + WIDTHS_POOLED * usual / usual.sum()
        by_width /= by_width.sum(axis=1, keepdims=True)
        often = np.clip(_pooled(events.sum(axis=1), rows), LEAST, LARGEST)
        return Rates(
            _with_finite_variance(by_width * often[:, None]),
            np.clip(_pooled(wrong, rows), LEAST, LARGEST),
            (self.sizes + 0.2) / (self.sizes.sum() + 0.2 * len(WIDTHS)),
            np.clip((self.rows + LEAST_ROWS) / rows, LEAST, MOST_OF_ROWS),
        )


def _pooled(counts: FloatArray, rows: float) -> FloatArray:
    """Shares of each column, drawn towards that of all, (nodes,)."""
    return np.asarray((counts / rows + POOLED * counts.mean() / rows) / (1.0 + POOLED))


def _with_finite_variance(events: FloatArray) -> FloatArray:
    """Frequencies of widths such that wide noise adds no more to the variance than narrower does.

    Noise whose values of size w are as frequent as 1 / w^2 or more has no variance, and no least
    squares; up to the first `FREE_WIDTHS` anything goes.
    """
    found = events.copy()
    for width in range(FREE_WIDTHS, len(WIDTHS)):
        most = found[:, width - 1] * (WIDTHS[width - 1] / WIDTHS[width]) ** 2
        found[:, width] = np.minimum(found[:, width], most)
    return found


def _log_widths(values: FloatArray) -> FloatArray:
    """Log densities under each width, over that of a standard Gaussian at 0, (values, widths)."""
    return np.asarray(-0.5 * (values[:, None] / WIDTHS) ** 2 - np.log(WIDTHS))


def _shared(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of the sum, and the share of each part, along the last axis."""
    largest = logs.max(axis=-1, keepdims=True)
    parts = np.exp(logs - largest)
    total = parts.sum(axis=-1, keepdims=True)
    return (largest + np.log(total))[..., 0], parts / total


@dataclass(frozen=True, eq=False)
class Stories:
    """The stories of some rows that have as many doubted cells each."""

    recorded: RecordedRows
    cells: IntArray
    """The doubted ones of each row, (rows, cells)."""
    chosen: BoolArray
    """Which of the doubted cells of a row are wrong; first none, (stories, cells)."""
    touched: IntArray
    """Families whose residuals differ between the stories of a row, filled up with the number of
    nodes, (rows, families)."""
    residuals: FloatArray
    """Of these, in standard deviations of the noise, (rows, stories, families)."""
    errors: FloatArray
    """How far records are from what is filled in, in standard deviations, (rows, stories, cells).
    """

    @classmethod
    def of(cls, recorded: RecordedRows, doubted: BoolArray) -> "Stories":
        """Of rows with as many doubted cells each, (rows, nodes)."""
        cells = np.nonzero(doubted)[1].reshape(len(doubted), -1)
        chosen, directions = _combinations(cells.shape[1]), Directions.of(recorded, cells)
        first = _taken(recorded.residuals, directions.families)
        errors = directions.errors(first, chosen)
        residuals = first[:, None] - errors @ directions.slopes.transpose(0, 2, 1)
        return cls(recorded, cells, chosen, directions.families, residuals, errors)

    def words(self, price: float, most: float) -> FloatArray:
        """What each doubted cell says for errors, (rows, cells), if each costs the same price.

        The row as a whole says what errors explain better than events do, but no more than `most`.
        Its cells share that in the ratio of what each gains or loses by being wrong, if all others
        are what is likeliest then. Events are where residuals are unusual if all records are right.
        """
        squares = 0.5 * self.residuals**2
        unusual = np.abs(self.residuals[:, :1]) > UNUSUAL
        prices = np.where(unusual, np.minimum(squares, price), squares).sum(axis=2)
        prices = (prices + price * self.chosen.sum(axis=1)).T
        all_wrong = int(self.chosen.sum(axis=1).argmax())
        whole = np.clip(prices[0] - prices[all_wrong], -most, most)
        gains = [prices[~one].min(axis=0) - prices[one].min(axis=0) for one in self.chosen.T]
        parts = np.minimum(np.abs(np.stack(gains, axis=1)), most) + TINY
        return np.asarray(parts * (whole / parts.sum(axis=1))[:, None])

    def weigh(self, rates: Rates) -> tuple[FloatArray, FloatArray, Counts]:
        """How likely stories (rows, stories) and foreign rows (rows,) are, and what that says."""
        noise, of_noise = self._noise(rates)
        wrong, of_sizes = _shared(np.log(rates.sizes) + self._log_errors)
        owners, numbers = np.nonzero(self.chosen)
        nodes = self.cells[:, numbers]
        wrong = wrong.reshape(nodes.shape) + np.log(rates.errors / (1.0 - rates.errors))[nodes]
        total = noise + wrong @ (owners[:, None] == np.arange(len(self.chosen)))
        _, shares = _shared(np.concatenate((total, self._whole_rows(rates)), axis=1))
        stories, whole = shares[:, : len(self.chosen)], shares[:, len(self.chosen) :]
        own = stories[:, owners].ravel()
        counts = Counts(
            self._unusual(stories, of_noise),
            np.bincount(nodes.ravel(), own, self._nodes).astype(np.float64),
            own @ of_sizes,
            whole.sum(axis=0),
        )
        return stories, whole[:, 0], counts

    @property
    def _nodes(self) -> int:
        return int(self.recorded.rows.shape[1])

    @cached_property
    def _log_errors(self) -> FloatArray:
        """Of the wrong cells, row by row and story by story, under each width."""
        return _log_widths(self.errors[:, self.chosen].ravel())

    @cached_property
    def _far(self) -> "FarResiduals":
        return FarResiduals.of(self)

    @cached_property
    def _quiet(self) -> FloatArray:
        """Log densities of all usual residuals at 0, over those where they are, (rows, stories)."""
        first = self.recorded.residuals.copy()
        first[np.abs(first) > NEAR] = 0.0
        own = np.where(np.abs(self.residuals) > NEAR, 0.0, self.residuals)
        rows, columns = np.nonzero(self.touched < self._nodes)
        first[rows, self.touched[rows, columns]] = 0.0
        others = np.einsum("rn,rn->r", first, first)
        return np.asarray(-0.5 * (np.einsum("rsf,rsf->rs", own, own) + others[:, None]))

    def _noise(self, rates: Rates) -> tuple[FloatArray, FloatArray]:
        """Log densities of all residuals, (rows, stories), and how wide those far off are."""
        far, usual = self._far, np.log1p(-rates.events.sum(axis=1))
        own = usual[far.nodes]
        tails = np.log(rates.events[far.nodes] + TINY) + far.logs[:, 1:]
        density, of_noise = _shared(np.column_stack((own + far.logs[:, 0], tails)))
        shape = self.residuals.shape[:2]
        every = np.bincount(far.rows[: far.common], (density - own)[: far.common], shape[0])
        place = far.rows[far.common :] * shape[1] + far.stories
        each = np.bincount(place, (density - own)[far.common :], shape[0] * shape[1])
        return self._quiet + usual.sum() + every[:, None] + each.reshape(shape), of_noise

    def _unusual(self, stories: FloatArray, of_noise: FloatArray) -> FloatArray:
        """Unusual residuals by node and width, (nodes, widths)."""
        far = self._far
        weights = np.concatenate(
            (
                stories.sum(axis=1)[far.rows[: far.common]],
                stories[far.rows[far.common :], far.stories],
            )
        )
        parts = weights[:, None] * of_noise[:, 1:]
        found = [np.bincount(far.nodes, one, self._nodes) for one in parts.T]
        return np.stack(found, axis=1).astype(np.float64)

    @cached_property
    def _broken(self) -> IntArray:
        """The rows that break two equations or more."""
        return np.flatnonzero((np.abs(self.recorded.residuals) > UNUSUAL).sum(axis=1) >= 2)

    def _whole_rows(self, rates: Rates) -> FloatArray:
        """Log likelihoods of rows from elsewhere, and with wide noise, (rows, 1 + widths)."""
        found = np.full((len(self.cells), 1 + len(ROW_WIDTHS)), -np.inf)
        first, elsewhere = (
            self.recorded.residuals[self._broken],
            self.recorded.elsewhere(self._broken),
        )
        density, _ = _shared(np.log(rates.sizes) + _log_widths(elsewhere.ravel()))
        far = density.reshape(first.shape).sum(axis=1) + self.recorded.tightness
        squares = (first**2).sum(axis=1, keepdims=True)
        wide = -0.5 * squares / ROW_WIDTHS**2 - first.shape[1] * np.log(ROW_WIDTHS)
        odds = np.log(rates.rows / (1.0 - rates.rows.sum()))
        found[self._broken] = np.column_stack((far, wide)) + odds
        return found

    def chances(self, rates: Rates) -> FloatArray:
        """That doubted cells are wrong, (rows, cells)."""
        stories, foreign, _ = self.weigh(rates)
        return np.asarray(stories @ self.chosen + foreign[:, None])


class FarResiduals(NamedTuple):
    """Residuals that may be unusual noise: first those that all stories of a row share."""

    rows: IntArray
    nodes: IntArray
    stories: IntArray
    """Of the others."""
    logs: FloatArray
    """Log densities of usual noise and under each width, (residuals, 1 + widths)."""
    common: int
    """How many are shared."""

    @classmethod
    def of(cls, told: Stories) -> "FarResiduals":
        """Those beyond `NEAR` standard deviations."""
        first = told.recorded.residuals
        is_far = np.abs(first) > NEAR
        rows, columns = np.nonzero(told.touched < first.shape[1])
        is_far[rows, told.touched[rows, columns]] = False
        shared, own = np.nonzero(is_far), np.nonzero(np.abs(told.residuals) > NEAR)
        values = np.concatenate((first[shared], told.residuals[own]))
        nodes = np.concatenate((shared[1], told.touched[own[0], own[2]]))
        logs = np.column_stack((-0.5 * values**2, _log_widths(values)))
        return cls(np.concatenate((shared[0], own[0])), nodes, own[1], logs, len(shared[0]))


def _taken(residuals: FloatArray, families: IntArray) -> FloatArray:
    """The residuals of these families (rows, families); 0 where there is none."""
    padded = np.column_stack((residuals, np.zeros(len(residuals))))
    return np.take_along_axis(padded, families, axis=1)


def _combinations(size: int) -> BoolArray:
    """Which of some cells are wrong: all combinations, or if they are many none, all and single
    ones, (stories, cells).
    """
    if size <= MOST_COMBINED:
        return np.asarray(np.arange(2**size)[:, None] >> np.arange(size) & 1 == 1)
    one = np.eye(size, dtype=bool)
    return np.concatenate((np.zeros((1, size), dtype=bool), one, ~one, np.ones((1, size), bool)))


def _rows_at_a_time(nodes: int) -> int:
    return min(MOST_ROWS, max(MOST_CELLS // nodes, 50))


def groups(doubted: BoolArray, rows: IntArray) -> Iterator[IntArray]:
    """These rows by the number of their doubted cells, some at a time."""
    most = _rows_at_a_time(doubted.shape[1])
    sizes = doubted[rows].sum(axis=1)
    for size in np.unique(sizes[sizes > 0]).tolist():
        same = rows[sizes == size]
        yield from np.array_split(same, 1 + (len(same) - 1) // most)


def told(
    recorded: RecordedRows, doubted: BoolArray, rows: IntArray
) -> Iterator[tuple[IntArray, Stories]]:
    """The stories of these rows, some at a time."""
    for same in groups(doubted, rows):
        yield same, Stories.of(recorded.only(same), doubted[same])


def chances_of_errors(recorded: RecordedRows, doubted: BoolArray) -> FloatArray:
    """That doubted cells are wrong, given that noise may have heavy tails, (rows, nodes)."""
    chosen, (count, nodes) = np.flatnonzero(doubted.any(axis=1)), doubted.shape
    most = _rows_at_a_time(nodes)
    some = chosen[np.unique(np.linspace(0, len(chosen) - 1, most).astype(np.int64))]
    sample = list(told(recorded, doubted, some))
    rates = Rates.initial(nodes)
    for _ in range(ROUNDS):
        total = sample[0][1].weigh(rates)[2]
        for _, part in sample[1:]:
            total = total.plus(part.weigh(rates)[2])
        rates = total.rates(count * len(some) / len(chosen))
    found = np.zeros(doubted.shape)
    every = sample if len(some) == len(chosen) else told(recorded, doubted, chosen)
    for same, stories in every:
        found[same[:, None], stories.cells] = stories.chances(rates)
    return found
