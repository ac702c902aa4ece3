"""The expectation step of the mixture for wrong cells, in NumPy: one row at a time.

`methods.robust.mixture` has the model. For a row, let r be its deviations from the means and g =
Omega r. A pattern F of wrong cells has the errors e = V g_F, V = (Omega_FF)^-1. The search starts
from the pattern of the round before, puts in and takes out cells while the score rises, and then
weighs all combinations of the cells in doubt; cells that are only slightly in doubt count by
themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from gaussnet.kernels.families import Families
from gaussnet.kernels.numpy_likelihood import equation_matrix
from gaussnet.types import FloatArray, IntArray, Rows

MOST_WRONG, MOST_DOUBTED, MOST_JOINT = 96, 24, 6
"""Wrong cells of a row, beyond which it is wrong as a whole; cells in doubt, and those of them that
are combined because they hang together."""

SERIOUS, FARTHEST = 0.05, 18.0
"""Odds, or half a squared z score, from which on the cells of a row are looked at together."""

UNUSUAL, UNUSUAL_ERROR, FAR_CELL, UNJUDGED = 4.0, -10.0, 3.0, -1e200
"""The squares of believed cells are unusual so many standard deviations above their mean; a wrong
value is if its log density is below this, in units of the noise. Then the search starts again from
all cells that are so many standard deviations off, in columns with larger log odds than these."""

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
RISE = 1e-9
"""Scores that differ by less are equal."""


class MixtureTask(NamedTuple):
    """The parameters of a round."""

    families: Families
    equation: tuple[FloatArray, FloatArray, FloatArray]
    """Coefficients (edges,), variances and means (nodes,)."""
    precision: tuple[FloatArray, IntArray, IntArray, FloatArray]
    """Entries, starts of the rows, columns of the entries, and the diagonal."""
    laws: FloatArray
    """Log weight, shift and spread of each shared size of errors, (sizes, 3)."""
    by_column: FloatArray
    """Log odds and thresholds (nodes,), numbers of the laws (nodes, 10), one after another."""
    settings: FloatArray
    """Log odds from which on cells are combined, and from which on they count at all."""
    base: float
    """Log density of a row at the means, if no cell is wrong."""
    foreign_odds: float


class MixtureMoments(NamedTuple):
    """What the expectation of some rows adds up to."""

    densities: FloatArray
    """Log densities of the rows, (rows,)."""
    foreign: FloatArray
    """Chances that rows are foreign, (rows,)."""
    products: FloatArray
    sums: FloatArray
    laws: FloatArray
    columns: FloatArray


def log_wrong_values(
    laws: FloatArray,
    numbers: FloatArray,
    errors: FloatArray,
    variances: FloatArray,
    values: tuple[FloatArray, FloatArray],
    *,
    shares: bool = False,
) -> Any:
    """Log density of recorded values of wrong cells, or the shares of the laws in it.

    `numbers` are (columns, 10), `errors` (..., columns) with their variances; `values` are the
    deviations from the means and the values themselves.
    """
    unit, pooled, shifted, shift, shift_variance, redrawn, variance, own, centre, own_variance = (
        numbers.T
    )
    deviations, recorded = values
    sizes, parts = np.abs(errors), []
    for weight, mean, spread in laws.tolist():
        parts.append(
            pooled + weight + _log_folded(sizes, mean * unit, variances + (spread * unit) ** 2)
        )
    parts.append(shifted + _log_folded(sizes, shift, variances + shift_variance))
    parts.append(redrawn - 0.5 * np.log(variance) - 0.5 * deviations**2 / variance)
    parts.append(own - 0.5 * np.log(own_variance) - 0.5 * (recorded - centre) ** 2 / own_variance)
    logs = np.stack(np.broadcast_arrays(*parts))
    total = np.logaddexp.reduce(logs, axis=0)
    return np.exp(logs - total) if shares else total - HALF_LOG_2PI


def _log_folded(sizes: FloatArray, shift: FloatArray, wide: FloatArray) -> Any:
    """Log density, less its constant, of errors of either sign whose size is about `shift`."""
    fold = np.minimum(2.0 * sizes * shift / wide, 700.0)
    near = -0.5 * np.log(wide) - 0.5 * (sizes - shift) ** 2 / wide
    return near + np.log1p(np.exp(-fold)) - np.log(2.0)


def mixture_moments(
    x: Rows,
    task: MixtureTask,
    wrong: "np.typing.NDArray[np.uint8]",
    foreign: FloatArray | None = None,
    filled: FloatArray | None = None,
    chances: FloatArray | None = None,
    lost: FloatArray | None = None,
) -> MixtureMoments:
    """Expected cross-products and sums of rows, and what their wrong cells look like.

    `wrong` (rows, nodes) holds the pattern of the round before and is written over: 0 right, 1
    wrong, 2 missing. `foreign` are the rows' log densities under the foreign network. `filled`
    and `chances` (rows, nodes), if given, become the expected rows and the chances that cells are
    wrong. `lost` becomes the covariance of each family's scores over the combinations of cells in
    doubt, one square matrix after the other: coefficients, constant and variance, times the
    variance of the noise or its square.
    """
    rows = _Rows(np.array(x, dtype=np.float64), task)
    width = len(task.families)
    products, sums = np.zeros((width, width)), np.zeros(width)
    laws, columns = np.zeros((len(task.laws), 3)), np.zeros((width, 8))
    densities, chances_foreign = np.zeros((2, len(x)))
    for row in range(len(x)):
        expected = rows.expect(row, wrong[row])
        likely, out = expected.density, 0.0
        if expected.whole:
            likely, out = likely if foreign is None else foreign[row] + task.foreign_odds, 1.0
        elif foreign is not None:
            odds = task.foreign_odds + foreign[row] - likely
            out, likely = (
                float(np.exp(-np.logaddexp(0.0, -odds))),
                float(np.logaddexp(likely, likely + odds)),
            )
        densities[row], chances_foreign[row] = likely, out
        deviations = rows.deviations[row] - expected.errors
        weight = 1.0 - out
        products += weight * (np.outer(deviations, deviations) + expected.covariance)
        sums += weight * deviations
        for cell, error, variance, chance in expected.wrong:
            rows.count(cell, row, error, variance, weight * chance, laws, columns)
        if lost is not None:
            lost[:] = (0.0 if row == 0 else lost) + weight * expected.lost
        if filled is not None:
            filled[row] = deviations + task.equation[2]
        if chances is not None:
            chances[row] = expected.chances
    entries = products[rows.entry_rows, task.precision[2]]
    return MixtureMoments(densities, chances_foreign, entries, sums, laws, columns)


@dataclass
class _Expected:
    density: float
    errors: FloatArray
    chances: FloatArray
    covariance: FloatArray
    wrong: list[tuple[int, float, float, float]]
    """Cell, error, variance, chance."""
    whole: bool = False
    lost: FloatArray | float = 0.0
    """Covariance of the scores, all families one after the other."""


class _Rows:
    """Rows and the parameters that they are judged by."""

    def __init__(self, rows: FloatArray, task: MixtureTask) -> None:
        coefficients, self.variances, means = task.equation
        width = len(task.families)
        self.task, self.rows, self.means = task, rows, means
        self.missing = np.isnan(rows)
        self.deviations = np.where(self.missing, 0.0, rows - means)
        matrix = equation_matrix(task.families, coefficients)
        self.rest = self.deviations @ matrix.T
        self.omega = np.zeros((width, width))
        self.entry_rows = np.repeat(np.arange(width), np.diff(task.precision[1]))
        self.omega[self.entry_rows, task.precision[2]] = task.precision[0]
        self.linked = np.zeros((width, width), dtype=bool)
        self.linked[self.entry_rows, task.precision[2]] = True
        self.gradients = (self.rest / self.variances) @ matrix
        self.odds, self.thresholds = task.by_column[: 2 * width].reshape(2, width)
        self.numbers = task.by_column[2 * width :].reshape(width, 10)

    def law(self, cell: int, row: int, error: float, variance: float, shares: bool = False) -> Any:
        values = (self.deviations[row, cell], self.rows[row, cell])
        return log_wrong_values(
            self.task.laws, self.numbers[cell], np.asarray(error), np.asarray(variance),
            (np.asarray(values[0]), np.asarray(values[1])), shares=shares,
        )  # fmt: skip

    def gain(self, cell: int, row: int, gradient: float, precision: float) -> float:
        """What believing a cell to be wrong adds to the score."""
        found = 0.5 * gradient * gradient / precision - 0.5 * np.log(precision) + HALF_LOG_2PI
        if not self.missing[row, cell]:
            found += self.odds[cell] + self.law(cell, row, gradient / precision, 1.0 / precision)
        return float(found)

    def count(
        self, cell: int, row: int, error: float, variance: float, weight: float,
        laws: FloatArray, columns: FloatArray,
    ) -> None:  # fmt: skip
        """Count a wrong cell among the laws."""
        if self.missing[row, cell]:
            return
        shares = weight * self.law(cell, row, error, variance, shares=True)
        size, unit = abs(error), self.numbers[cell, 0]
        apart = self.rows[row, cell] - self.numbers[cell, 8]
        squares, count = size * size - variance, len(self.task.laws)
        laws += shares[:count, None] * np.array([1.0, size / unit, squares / (unit * unit)])
        own, redrawn, kind = shares[count:]
        columns[cell] += (
            weight, redrawn, kind, kind * apart, kind * apart * apart,
            own, own * size, own * squares,
        )  # fmt: skip

    def expect(self, row: int, wrong: Any) -> _Expected:
        """The expectation of one row; its pattern is written over."""
        width = len(self.means)
        missing = self.missing[row]
        wrong[missing] = 2
        base = self.task.base - 0.5 * float((self.rest[row] ** 2 / self.variances).sum())
        blank = _Expected(base, np.zeros(width), np.zeros(width), np.zeros((width, width)), [])
        far = self.gradients[row] ** 2 > self.thresholds * np.diag(self.omega)
        if not (far.any() or wrong.any()):
            return blank
        if np.count_nonzero(wrong) + 2 > MOST_WRONG:
            blank.whole = True
            return blank
        search = _Search(self, row, np.flatnonzero(wrong).tolist())
        if not wrong.any() and not search.is_serious():
            return search.expectation(blank)
        search.climb()
        if search.is_unusual():
            is_far = self.gradients[row] ** 2 > FAR_CELL**2 * np.diag(self.omega)
            far_cells = np.flatnonzero(is_far & ~missing & (self.odds > UNJUDGED))
            cells = np.concatenate((np.flatnonzero(missing), far_cells))
            other = _Search(self, row, cells[: MOST_WRONG - 2].tolist())
            other.climb()
            search = other if other.pattern.score > search.pattern.score else search
        wrong[:] = np.where(missing, 2, 0)
        wrong[[cell for cell in search.pattern.cells if not missing[cell]]] = 1
        return search.expectation(blank)


@dataclass(eq=False)
class _Pattern:
    """Wrong cells, their errors and variances."""

    judge: _Rows
    row: int
    cells: list[int]

    @cached_property
    def variance(self) -> FloatArray:
        found = self.judge.omega[np.ix_(self.cells, self.cells)]
        return np.asarray(np.linalg.inv(found)) if self.cells else found

    @cached_property
    def errors(self) -> FloatArray:
        return np.asarray(self.variance @ self.judge.gradients[self.row, self.cells])

    @cached_property
    def score(self) -> float:
        judge, row, cells = self.judge, self.row, self.cells
        if not cells:
            return 0.0
        found = 0.5 * float(self.errors @ judge.gradients[row, cells])
        found += 0.5 * float(np.linalg.slogdet(self.variance)[1]) + len(cells) * HALF_LOG_2PI
        for index, cell in enumerate(cells):
            if not judge.missing[row, cell]:
                law = judge.law(cell, row, self.errors[index], self.variance[index, index])
                found += float(judge.odds[cell] + law)
        return found

    def given(self, cells: list[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradient and precision of other cells given this pattern, and what carries over."""
        judge = self.judge
        across = judge.omega[np.ix_(self.cells, cells)]
        carried = self.variance @ across
        gradient = judge.gradients[self.row, cells] - across.T @ self.errors
        return gradient, judge.omega[np.ix_(cells, cells)] - across.T @ carried, carried


class _Search:
    """The search for the likeliest pattern of a row, and the cells in doubt near it."""

    def __init__(self, judge: _Rows, row: int, cells: list[int]) -> None:
        self.judge, self.row = judge, row
        self.pattern = _Pattern(judge, row, cells)
        self.candidates: dict[int, tuple[float, float, float]] = {}

    def list_candidates(self) -> None:
        """Gradient, precision and gain of the cells that may be put in."""
        judge, row, cells = self.judge, self.row, self.pattern.cells
        diagonal = np.diag(judge.omega)
        near = judge.gradients[row] ** 2 > judge.thresholds * diagonal
        near |= (judge.omega[cells] != 0.0).any(axis=0)
        self.candidates = {}
        for cell in np.flatnonzero(near).tolist():
            if cell in cells:
                continue
            gradient, precision, _ = self.pattern.given([cell])
            own, width = float(gradient[0]), max(float(precision[0, 0]), 1e-12 * diagonal[cell])
            is_open = own * own > judge.thresholds[cell] * width
            gain = judge.gain(cell, row, own, width) if is_open else -np.inf
            self.candidates[cell] = own, width, gain

    def worth(self, index: int) -> float:
        """What a cell of the pattern is worth in it."""
        precision = 1.0 / self.pattern.variance[index, index]
        cell = self.pattern.cells[index]
        return self.judge.gain(cell, self.row, self.pattern.errors[index] * precision, precision)

    def swapped(self, cell: int, index: int) -> float:
        """The gain of a cell in place of one of the pattern."""
        rest = [other for k, other in enumerate(self.pattern.cells) if k != index]
        gradient, precision, _ = _Pattern(self.judge, self.row, rest).given([cell])
        return self.judge.gain(cell, self.row, float(gradient[0]), float(precision[0, 0]))

    def moves(self) -> Iterator[tuple[float, list[int]]]:
        """Patterns that are likelier: by one cell in or out, else by a swap, else by a pair."""
        cells, judge = self.pattern.cells, self.judge
        firm = [k for k, cell in enumerate(cells) if not judge.missing[self.row, cell]]
        single = [(gain, [*cells, cell]) for cell, (_, _, gain) in self.candidates.items()]
        single += [(-self.worth(k), cells[:k] + cells[k + 1 :]) for k in firm]
        yield max(single, key=lambda move: move[0], default=(-np.inf, cells))
        coupled = [(c, k) for c in self.candidates for k in firm if judge.omega[c, cells[k]] != 0.0]
        swaps = [
            (self.swapped(c, k) - self.worth(k), [*cells[:k], *cells[k + 1 :], c])
            for c, k in coupled
        ]
        yield max(swaps, key=lambda move: move[0], default=(-np.inf, cells))
        pairs = []
        for a, b in permutations(self.candidates, 2):
            if (
                judge.omega[a, b] != 0.0
                and min(self.candidates[a][2], self.candidates[b][2]) > -np.inf
            ):
                gradient, precision, _ = self.pattern.given([a, b])
                det = float(np.linalg.det(precision))
                if det > 1e-12 * precision[0, 0] * precision[1, 1]:
                    first = judge.gain(a, self.row, gradient[0], precision[0, 0])
                    left = gradient[1] - precision[0, 1] * gradient[0] / precision[0, 0]
                    second = judge.gain(b, self.row, left, det / precision[0, 0])
                    pairs.append((first + second, [*cells, a, b]))
        yield max(pairs, key=lambda move: move[0], default=(-np.inf, cells))

    def climb(self) -> None:
        """Change the pattern while its score rises."""
        while True:
            self.list_candidates()
            found = next((cells for gain, cells in self.moves() if gain > RISE), None)
            if found is None or len(found) + 1 > MOST_WRONG:
                return
            better = _Pattern(self.judge, self.row, found)
            if not better.score > self.pattern.score:
                return
            self.pattern = better

    def is_serious(self) -> bool:
        """Whether a cell is in more than slight doubt by itself."""
        self.list_candidates()
        found = self.candidates.values()
        return any(
            gain > np.log(SERIOUS) or 0.5 * own * own / width > FARTHEST
            for own, width, gain in found
        )

    def is_unusual(self) -> bool:
        """Whether believed cells, or the error of a wrong one, are far from what is usual."""
        judge, row, pattern = self.judge, self.row, self.pattern
        cells, left = pattern.cells, len(judge.odds) - len(pattern.cells)
        squares = judge.deviations[row] @ judge.gradients[row]
        squares -= pattern.errors @ judge.gradients[row, cells]
        laws = [
            judge.law(cell, row, pattern.errors[k], pattern.variance[k, k])
            + HALF_LOG_2PI
            + np.log(judge.numbers[cell, 0])
            for k, cell in enumerate(cells)
            if not judge.missing[row, cell]
        ]
        far = squares > left + UNUSUAL * np.sqrt(2.0 * left)
        return bool(far or min(laws, default=0.0) < UNUSUAL_ERROR)

    def doubted(self) -> list[list[int]]:
        """The cells in greatest doubt, in groups that hang together."""
        limit, cells = self.task_limit(0), self.pattern.cells
        found: dict[int, float] = {}

        def doubt(cell: int, gain: float) -> None:
            if gain > limit:
                found[cell] = max(gain, found.get(cell, -np.inf))

        for cell, (_, _, gain) in self.candidates.items():
            doubt(cell, gain)
        for index, own in enumerate(cells):
            if self.judge.missing[self.row, own]:
                continue
            worth = self.worth(index)
            doubt(own, -worth)
            for cell in self.candidates:
                if self.judge.omega[cell, own] != 0.0:
                    gain = self.swapped(cell, index) - worth
                    doubt(own, gain)
                    doubt(cell, gain)
        return self._groups(sorted(found, key=lambda cell: -found[cell])[:MOST_DOUBTED])

    def _groups(self, chosen: list[int]) -> list[list[int]]:
        """The chosen cells in groups that hang together, directly or by wrong cells between."""
        from scipy.sparse.csgraph import connected_components  # slow to import

        every = list({*chosen, *self.pattern.cells})
        linked = self.judge.linked[np.ix_(every, every)]
        _, labels = connected_components(linked, directed=False)
        group_of = dict(zip(every, labels.tolist(), strict=True))
        groups: dict[int, list[int]] = {}
        for cell in chosen:
            groups.setdefault(group_of[cell], []).append(cell)
        return [group[:MOST_JOINT] for group in groups.values()]

    def task_limit(self, index: int) -> float:
        return float(self.judge.task.settings[index])

    def expectation(self, to: _Expected) -> _Expected:
        """Errors, chances and covariances of the row."""
        judge, row = self.judge, self.row
        self.list_candidates()
        groups = self.doubted()
        doubted = [cell for group in groups for cell in group]
        slight = {
            cell: found for cell, found in self.candidates.items()
            if cell not in doubted and found[2] > self.task_limit(1)
        }  # fmt: skip
        firm = _Pattern(judge, row, [c for c in self.pattern.cells if c not in doubted])
        to.density += firm.score
        to.density += sum(float(np.logaddexp(0.0, gain)) for _, _, gain in slight.values())
        to.errors[firm.cells], to.chances[firm.cells] = firm.errors, 1.0
        to.covariance[np.ix_(firm.cells, firm.cells)] = firm.variance
        for group in groups:
            self._combine(group, firm, to)
        to.wrong += [
            (cell, to.errors[cell], firm.variance[k, k], 1.0) for k, cell in enumerate(firm.cells)
        ]
        for cell, (own, width, gain) in slight.items():
            chance = 1.0 / (1.0 + np.exp(-gain))
            error = own / width
            to.errors[cell], to.chances[cell] = chance * error, chance
            to.covariance[cell, cell] += chance * (1.0 / width + (1.0 - chance) * error * error)
            to.wrong.append((cell, error, 1.0 / width, chance))
        return to

    def _combine(self, doubted: list[int], firm: _Pattern, to: _Expected) -> None:
        """Weigh all combinations of a group of cells in doubt."""
        gradient, precision, carried = firm.given(doubted)
        subsets = [
            _Combination(self.judge, self.row, doubted, list(members), gradient, precision)
            for size in range(len(doubted) + 1)
            for members in combinations(range(len(doubted)), size)
        ]
        scores = np.array([one.score for one in subsets])
        to.density += float(np.logaddexp.reduce(scores))
        weights = np.exp(scores - scores.max())
        weights = np.where(weights > 1e-6, weights, 0.0)
        weights /= weights.sum()
        mean = sum(
            (w * one.full for w, one in zip(weights, subsets, strict=True)), np.zeros(len(doubted))
        )
        spread = np.zeros((len(doubted), len(doubted)))
        for weight, one in zip(weights.tolist(), subsets, strict=True):
            spread += weight * np.outer(one.full - mean, one.full - mean)
            spread[np.ix_(one.members, one.members)] += weight * one.variance
            for index, member in enumerate(one.members):
                cell = doubted[member]
                to.chances[cell] += weight
                if weight:
                    to.wrong.append((cell, one.errors[index], one.variance[index, index], weight))
        to.lost = to.lost + self._lost(weights, subsets, doubted, firm, carried)
        to.errors[doubted] = mean
        to.errors[firm.cells] -= carried @ mean
        to.covariance[np.ix_(doubted, doubted)] = spread
        to.covariance[np.ix_(firm.cells, doubted)] = -carried @ spread
        to.covariance[np.ix_(doubted, firm.cells)] = -spread @ carried.T
        to.covariance[np.ix_(firm.cells, firm.cells)] += carried @ spread @ carried.T

    def _lost(
        self, weights: FloatArray, subsets: list["_Combination"], doubted: list[int],
        firm: _Pattern, carried: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """The covariance of the scores of families with cells of the group, one after the other."""
        judge, found = self.judge, []
        families, slopes = judge.task.families, judge.task.equation[0]
        for family in range(len(families)):
            edges = slice(*families.offsets[family : family + 2].tolist())
            columns = np.append(families.parents[edges], family)
            own = np.append(-slopes[edges], 1.0)
            scores = np.zeros((len(subsets), len(columns) + 1))
            for row, one in zip(scores, subsets, strict=True):
                values, spread = judge.deviations[self.row].copy(), np.zeros(judge.omega.shape)
                values[doubted] -= one.full
                values[firm.cells] -= firm.errors - carried @ one.full
                members = [doubted[member] for member in one.members]
                spread[np.ix_(members, members)] = one.variance
                rest, across = own @ values[columns], spread[np.ix_(columns, columns)] @ own
                row[:-2] = rest * values[columns[:-1]] + across[:-1]
                row[-2:] = rest, 0.5 * (rest * rest + own @ across)
            scores -= weights @ scores
            is_touched = bool(np.isin(columns, doubted).any())
            found.append(is_touched * (scores * weights[:, None]).T @ scores)
        return np.concatenate([matrix.ravel() for matrix in found])


class _Combination:
    """Some of the cells in doubt, taken for wrong."""

    def __init__(
        self, judge: _Rows, row: int, doubted: list[int], members: list[int],
        gradient: FloatArray, precision: FloatArray,
    ) -> None:  # fmt: skip
        own = precision[np.ix_(members, members)]
        self.members, self.full = members, np.zeros(len(doubted))
        self.variance = np.linalg.inv(own) if members else own
        self.errors = self.variance @ gradient[members]
        self.full[members] = self.errors
        self.score = 0.5 * float(self.errors @ gradient[members]) + len(members) * HALF_LOG_2PI
        self.score += 0.5 * float(np.linalg.slogdet(self.variance)[1]) if members else 0.0
        for index, member in enumerate(members):
            cell = doubted[member]
            law = judge.law(cell, row, self.errors[index], self.variance[index, index])
            self.score += float(judge.odds[cell] + law)
