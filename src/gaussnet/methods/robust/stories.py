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

import numpy as np

from gaussnet import kernels
from gaussnet.methods.likelihood import Parameters
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

    doubted: BoolArray
    """(rows, nodes)."""
    chosen: BoolArray
    """Which of the doubted cells of a row are wrong; first none, (stories, cells)."""
    wrong: BoolArray
    """The same, (stories, rows, nodes)."""
    residuals: FloatArray
    """In standard deviations of the noise, (stories, rows, nodes)."""
    errors: FloatArray
    """How far records are from what is filled in, in standard deviations, (wrong cells,)."""
    elsewhere: FloatArray
    """How far cells are from their means, in standard deviations of the column, (rows, nodes)."""
    tightness: float
    """Log of the ratio of noise to column standard deviations, added up over the nodes."""

    @classmethod
    def of(
        cls, model: Parameters, rows: FloatArray, doubted: BoolArray, scales: FloatArray
    ) -> "Stories":
        """Of rows with as many doubted cells each; `scales` are those of the columns, (nodes,)."""
        chosen = _combinations(int(doubted[0].sum()))
        wrong = np.zeros((len(chosen), *rows.shape), dtype=bool)
        residuals, errors = np.empty(wrong.shape), np.zeros(wrong.shape)
        for story, cells in enumerate(chosen):
            wrong[story][doubted] = np.tile(cells, len(rows))
            filled = model.expect(rows, wrong[story]).rows
            rest = kernels.residuals(filled - model.means, model.families, model.coefficients).T
            residuals[story] = rest / np.sqrt(model.variances)
            errors[story] = rows - filled
        errors *= np.sqrt(model.precisions())
        whole = np.where(np.isnan(rows), 0.0, (rows - model.means) / scales)
        tightness = float(0.5 * np.log(model.variances).sum() - np.log(scales).sum())
        return cls(doubted, chosen, wrong, residuals, errors[wrong], whole, tightness)

    def words(self, price: float, most: float) -> FloatArray:
        """What each doubted cell says for errors, (rows, nodes), if each costs the same price.

        The row as a whole says what errors explain better than events do, but no more than `most`.
        Its cells share that in the ratio of what each gains or loses by being wrong, if all others
        are what is likeliest then. Events are where residuals are unusual if all records are right.
        """
        squares = 0.5 * self.residuals**2
        unusual = np.abs(self.residuals[0]) > UNUSUAL
        prices = np.where(unusual, np.minimum(squares, price), squares).sum(axis=2)
        prices += price * self.chosen.sum(axis=1)[:, None]
        all_wrong = int(self.chosen.sum(axis=1).argmax())
        whole = np.clip(prices[0] - prices[all_wrong], -most, most)
        gains = [prices[~one].min(axis=0) - prices[one].min(axis=0) for one in self.chosen.T]
        parts = np.minimum(np.abs(np.stack(gains, axis=1)), most) + TINY
        own = parts * (whole / parts.sum(axis=1))[:, None]
        said = np.zeros(self.doubted.shape)
        said[self.doubted] = own.ravel()
        return said

    def weigh(self, rates: Rates) -> tuple[FloatArray, FloatArray, Counts]:
        """How likely stories (stories, rows) and foreign rows (rows,) are, and what that says."""
        shape, nodes = self.residuals.shape[:2], self.residuals.shape[2]
        usual = np.log1p(-rates.events.sum(axis=1))
        logs = usual - 0.5 * self.residuals**2
        far = np.nonzero(np.abs(self.residuals) > NEAR)
        tails = np.log(rates.events[far[2]] + TINY) + _log_widths(self.residuals[far])
        logs[far], of_noise = _shared(np.column_stack((logs[far], tails)))
        cells = np.nonzero(self.wrong)
        of_sizes = np.log(rates.sizes) + _log_widths(self.errors)
        density, of_sizes = _shared(of_sizes)
        odds = np.log(rates.errors / (1.0 - rates.errors))[cells[2]]
        place = np.ravel_multi_index(cells[:2], shape)
        total = logs.sum(axis=2) + np.bincount(place, odds + density, shape[0] * shape[1]).reshape(
            shape
        )
        _, shares = _shared(np.concatenate((total.T, self._whole_rows(rates)), axis=1))
        stories, whole = np.ascontiguousarray(shares.T[: len(total)]), shares[:, len(total) :]
        weights = stories[far[:2]][:, None] * of_noise[:, 1:]
        events = np.stack([np.bincount(far[2], one, nodes) for one in weights.T], axis=1)
        own = stories[cells[:2]]
        errors = np.bincount(cells[2], own, nodes)
        counts = Counts(
            np.asarray(events, np.float64),
            np.asarray(errors, np.float64),
            own @ of_sizes,
            whole.sum(axis=0),
        )
        return stories, whole[:, 0], counts

    def _whole_rows(self, rates: Rates) -> FloatArray:
        """Log likelihoods of rows from elsewhere, and with wide noise, (rows, 1 + widths)."""
        first = self.residuals[0]
        density, _ = _shared(np.log(rates.sizes) + _log_widths(self.elsewhere.ravel()))
        far = density.reshape(first.shape).sum(axis=1) + self.tightness
        squares = (first**2).sum(axis=1, keepdims=True)
        wide = -0.5 * squares / ROW_WIDTHS**2 - first.shape[1] * np.log(ROW_WIDTHS)
        logs = np.column_stack((far, wide)) + np.log(rates.rows / (1.0 - rates.rows.sum()))
        broken = (np.abs(first) > UNUSUAL).sum(axis=1)
        return np.where(broken[:, None] >= 2, logs, -np.inf)

    def chances(self, rates: Rates) -> FloatArray:
        """That doubted cells are wrong, (rows, nodes)."""
        stories, foreign, _ = self.weigh(rates)
        own = np.einsum("sr,srn->rn", stories, self.wrong)
        return np.asarray(own + foreign[:, None] * self.doubted)


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


def chances_of_errors(
    model: Parameters, rows: FloatArray, doubted: BoolArray, scales: FloatArray
) -> FloatArray:
    """That doubted cells are wrong, given that noise may have heavy tails, (rows, nodes).

    `scales` are the standard deviations of the columns, (nodes,).
    """
    chosen = np.flatnonzero(doubted.any(axis=1))
    most = _rows_at_a_time(rows.shape[1])
    some = chosen[np.unique(np.linspace(0, len(chosen) - 1, most).astype(np.int64))]
    parts = [Stories.of(model, rows[same], doubted[same], scales) for same in groups(doubted, some)]
    rates, count = Rates.initial(rows.shape[1]), len(rows) * len(some) / len(chosen)
    for _ in range(ROUNDS):
        total = parts[0].weigh(rates)[2]
        for part in parts[1:]:
            total = total.plus(part.weigh(rates)[2])
        rates = total.rates(count)
    found = np.zeros(doubted.shape)
    for same in groups(doubted, chosen):
        found[same] = Stories.of(model, rows[same], doubted[same], scales).chances(rates)
    return found
