"""Missing cells filled in: by what is expected there, or by draws that show how unsure that is."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet.data.columns import is_frame
from gaussnet.errors import SettingError
from gaussnet.graph.dag import indicator
from gaussnet.methods.groups import FitData, Fitted
from gaussnet.methods.likelihood import Parameters
from gaussnet.model.inference.levels import LevelNetwork
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import children
from gaussnet.types import FloatArray

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit

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
    levels = fit.network.given_levels
    if levels is None or not np.isnan(believed[:, levels.fixed]).any():
        return filled(fit.network, believed)
    return levels.filled(believed)


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
