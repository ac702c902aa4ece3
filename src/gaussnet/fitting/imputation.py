"""Missing cells filled in: by what is expected there, or by draws that show how unsure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gaussnet.data.columns import is_frame
from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag, indicator
from gaussnet.methods.groups import FitData, Fitted
from gaussnet.methods.likelihood import Parameters
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import children
from gaussnet.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

EXACT, TINY = 1e-16, 1e-280
"""The least noise of a node among levels, in parts of its variance, and the least variance."""
PURPOSE = "impute where the data are, or give rows to network.impute"


def impute(fit: "Fit") -> Any:
    """The data of a fit with every missing cell at its conditional mean; see `Fit.impute`."""
    data = fit.required_data(PURPOSE)
    rows = given_rows(data)
    if not np.isnan(rows).any():
        return like_given(data, rows)
    found = filled_with_levels(fit, rows)
    return like_given(data, np.where(np.isnan(rows), found, rows))


def filled_with_levels(fit: "Fit", rows: FloatArray) -> FloatArray:
    """The rows with missing cells at what is expected, and missing levels the most probable."""
    believed = _believed(fit, rows)
    levels = [fit.dag.position(node) for node in fit.dag.indicators]
    if not np.isnan(believed[:, levels]).any():
        return filled(fit.network, believed)
    return LevelNetwork.of(fit.network).filled(believed)


def draw_imputations(fit: "Fit", count: int, seed: int) -> list[Any]:
    """Copies of the data with missing cells drawn; see `Fit.draw_imputations`."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SettingError(f"got count={count!r}, expected a whole number of at least 1")
    data = fit.required_data(PURPOSE)
    rows = given_rows(data)
    if not np.isnan(rows).any():
        return [like_given(data, rows.copy()) for _ in range(count)]
    law = fit.method.parameter_law(Fitted(fit.network, fit.scale, data, fit.trimming))
    drawn = []
    for child in children(seed, count):
        rng = np.random.default_rng(child)
        network, believed = law.draw(rng), _believed(fit, rows)
        if fit.dag.factors:
            found = LevelNetwork.of(network).filled(believed, rng)
        else:
            found = _drawn(network, believed, rng)
        drawn.append(like_given(data, np.where(np.isnan(rows), found, rows)))
    return drawn


def _believed(fit: "Fit", rows: FloatArray) -> FloatArray:
    """The rows with NaN for cells that the fit does not believe: they say nothing of the others."""
    if fit.trimming is None:
        return rows
    found = rows.copy()
    for node, own in fit.trimming.disbelieved_cells.items():
        found[fit.trimming.numbered(own), node] = np.nan
    return found


def given_rows(data: FitData) -> FloatArray:
    """All rows as they were given, with NaN for what is missing, (rows, nodes)."""
    rows = data.all_rows().in_memory("imputation").array
    return np.array(rows[:, : len(data.options.dag)], dtype=np.float64, order="C")


def filled(network: GaussianNetwork, rows: FloatArray) -> FloatArray:
    """The rows with missing cells at their conditional means; nodes may be without noise."""
    if network.variance_array.all():
        return Parameters.of(network).expect(rows).rows
    found: FloatArray = network.impute(rows)
    return found


def _drawn(network: GaussianNetwork, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    r"""The rows with missing cells drawn from their law given the others.

    .. math:: E(x_M \mid x_O) + \tilde x_M - E(\tilde x_M \mid \tilde x_O)

    with a row :math:`\tilde x` of the network: the difference has the covariance of the missing
    cells given the others, and does not depend on these.
    """
    missing = np.isnan(rows)
    other = network.sample(len(rows), seed=rng)
    noise = other - filled(network, np.where(missing, np.nan, other))
    return np.where(missing, filled(network, rows) + noise, rows)


def like_given(data: FitData, rows: FloatArray) -> Any:
    """A frame if the data are one, with all its columns and no others; else the array.

    Categories are columns of their levels, as they came.
    """
    if not is_frame(data.given):
        return rows
    from gaussnet.data.frames import has_column, with_columns, with_filled

    dag, frame = data.options.dag, data.given
    made = {node for node, (name, _) in dag.indicators.items() if has_column(frame, name)}
    own = [place for place, node in enumerate(dag.nodes) if node not in made]
    names = [dag.nodes[place] for place in own]
    found = with_columns(frame, names, rows[:, own], without=[n for n in dag.nodes if n in made])
    for name, levels in dag.factors.items():
        if has_column(frame, name):
            places = [dag.position(indicator(name, level)) for level in levels[1:]]
            found = with_filled(found, name, [levels[code] for code in _codes(rows[:, places])])
    return found


def _codes(indicators: FloatArray) -> list[int]:
    """The number of the level that indicators (rows, levels - 1) name, the reference first."""
    codes = np.where(indicators.any(axis=1), indicators.argmax(axis=1) + 1, 0)
    return [int(code) for code in codes]


@dataclass(frozen=True, eq=False)
class LevelNetwork:
    """A network given the levels of its categories, and the chances of these.

    Given the levels all other nodes are Gaussian, with the same covariance at all levels; these
    move their means alone. So the chance of a level given the known cells of a row is by Bayes,

    .. math:: P(z \\mid x) \\propto P(z)\\, N(x - \\mu(z); 0, \\Sigma),

    with the shares of the levels as P(z), categories being independent of each other.
    """

    categories: list[IntArray]
    """Positions of each category's indicators."""
    shares: list[FloatArray]
    """Of the levels of each category, the reference first."""
    numbers: IntArray
    """Positions of the other nodes."""
    rest: GaussianNetwork
    """That of the other nodes about their means."""
    base: FloatArray
    """Their means at the references, (numbers,)."""
    shifts: FloatArray
    """What an indicator adds to these, (numbers, nodes); 0 for the other nodes."""

    @classmethod
    def of(cls, network: GaussianNetwork) -> Self:
        """The law of a network that has categories."""
        dag, means = network.dag, network.mean()
        _require_causes(dag)
        categories = [
            np.array([dag.position(indicator(name, level)) for level in levels[1:]])
            for name, levels in dag.factors.items()
        ]
        shares = [np.concatenate(([1.0 - means[own].sum()], means[own])) for own in categories]
        shares = [np.clip(own, 0.0, None) for own in shares]
        fixed = np.concatenate(categories)
        numbers = np.setdiff1d(np.arange(len(dag)), fixed)
        starts = np.zeros((len(dag), 1 + len(dag)))
        starts[numbers, 0] = network.intercept_array[numbers]
        starts[fixed, 1 + fixed] = 1.0
        moves = network.to_matrix().T
        moves[fixed] = 0.0
        found = np.linalg.solve(np.eye(len(dag)) - moves, starts)[numbers]
        rest = _without(network, {dag.nodes[place] for place in fixed.tolist()})
        return cls(categories, shares, numbers, rest, found[:, 0], found[:, 1:])

    def filled(self, rows: FloatArray, rng: np.random.Generator | None = None) -> FloatArray:
        """The rows with levels that are most probable and means, or both drawn."""
        found = rows.copy()
        lacking = np.column_stack([np.isnan(rows[:, own]).any(axis=1) for own in self.categories])
        for pattern in np.unique(lacking, axis=0):
            chosen = np.flatnonzero((lacking == pattern).all(axis=1))
            found[chosen] = self._filled(rows[chosen], np.flatnonzero(pattern), rng)
        return found

    def _filled(
        self, rows: FloatArray, lacking: IntArray, rng: np.random.Generator | None
    ) -> FloatArray:
        """The same of rows that lack these categories and no others.

        A level is drawn by the largest log-chance plus Gumbel noise, combination by combination.
        """
        found, best = rows.copy(), np.full(len(rows), -np.inf)
        total, means = np.full(len(rows), -np.inf), np.zeros((len(rows), len(self.numbers)))
        for codes in product(*(range(len(self.shares[one])) for one in lacking.tolist())):
            own = self._at_levels(rows, lacking, codes)
            logs, filled_numbers = self._expected(own)
            with np.errstate(divide="ignore"):
                shares = [self.shares[one][c] for one, c in zip(lacking, codes, strict=True)]
                logs = logs + np.log(shares).sum()
            score = logs if rng is None else logs + rng.gumbel(size=len(rows))
            taken = (score > best) | (best == -np.inf)
            best, found[taken] = np.where(taken, score, best), own[taken]
            total = np.logaddexp(total, logs)
            with np.errstate(invalid="ignore"):
                weight = np.where(np.isfinite(total), np.exp(logs - total), 0.0)
            means += weight[:, None] * (filled_numbers - means)
        holes = np.isnan(rows[:, self.numbers])
        if rng is not None:
            means = self._expected(found)[1] + self._noise(holes, rng)
        found[:, self.numbers] = np.where(holes, means, rows[:, self.numbers])
        return found

    def _at_levels(self, rows: FloatArray, lacking: IntArray, codes: Sequence[int]) -> FloatArray:
        """The rows with these levels of the categories that they lack."""
        found = rows.copy()
        for one, code in zip(lacking.tolist(), codes, strict=True):
            found[:, self.categories[one]] = np.arange(1, len(self.shares[one])) == code
        return found

    def _expected(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-densities of the known numbers given all levels, and numbers with means filled in."""
        levels = np.zeros_like(rows)
        for own in self.categories:
            levels[:, own] = rows[:, own]
        means = self.base + levels @ self.shifts.T
        expected = Parameters.of(self.rest).expect(
            np.ascontiguousarray(rows[:, self.numbers] - means)
        )
        return expected.log_likelihoods, expected.rows + means

    def _noise(self, holes: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Draws of the noise of missing cells given the known ones; see `_drawn`."""
        other = self.rest.sample(len(holes), seed=rng)
        return np.asarray(other - filled(self.rest, np.where(holes, np.nan, other)))


def _require_causes(dag: Dag) -> None:
    """Refuse categories that covary with numbers, whose levels have no law of their own."""
    for node, (name, _) in dag.indicators.items():
        other = [p for p, child in dag.edges if child == node and p not in dag.indicators]
        if other:
            raise SettingError(
                f"the category {name!r} covaries with {other[0]!r}, so that its missing levels "
                "cannot be filled: draw an edge between the two in place of ~~, or leave out "
                "roots='correlated'"
            )


def _without(network: GaussianNetwork, fixed: set[str]) -> GaussianNetwork:
    """The network of the other nodes, whose means are 0, given these."""
    dag = network.dag
    names = [node for node in dag.nodes if node not in fixed]
    slopes = {
        edge: value
        for edge, value in zip(dag.edges, network.coefficient_array.tolist(), strict=True)
        if fixed.isdisjoint(edge)
    }
    # A node without noise tells the levels exactly; its density needs some width.
    widths = np.maximum(
        network.variance_array, EXACT * np.maximum(np.diag(network.covariance()), TINY)
    )
    variances = dict(zip(dag.nodes, widths.tolist(), strict=True))
    rest = Dag.from_edges(list(slopes), nodes=names)
    return GaussianNetwork(rest, slopes, {name: variances[name] for name in names})
