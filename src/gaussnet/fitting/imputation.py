"""Missing cells filled in: by what is expected there, or by draws that show how unsure that is."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gaussnet.data.columns import is_frame
from gaussnet.errors import SettingError
from gaussnet.methods.groups import FitData, Fitted
from gaussnet.methods.likelihood import Parameters
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
    found = filled(fit.network, _believed(fit, rows))
    return _like_given(data, np.where(np.isnan(rows), found, rows))


def draw_imputations(fit: "Fit", count: int, seed: int) -> list[Any]:
    """Copies of the data with missing cells drawn; see `Fit.draw_imputations`."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SettingError(f"got count={count!r}, expected a whole number of at least 1")
    data = fit.required_data(PURPOSE)
    rows = given_rows(data)
    if not np.isnan(rows).any():
        return [_like_given(data, rows.copy()) for _ in range(count)]
    law = fit.method.parameter_law(Fitted(fit.network, fit.scale, data, fit.trimming))
    drawn = []
    for child in children(seed, count):
        rng = np.random.default_rng(child)
        found = _drawn(law.draw(rng), _believed(fit, rows), rng)
        drawn.append(_like_given(data, np.where(np.isnan(rows), found, rows)))
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


def _like_given(data: FitData, rows: FloatArray) -> Any:
    """A frame if the data are one, with all its columns; else the array."""
    if not is_frame(data.given):
        return rows
    from gaussnet.data.frames import with_columns

    return with_columns(data.given, data.options.dag.nodes, rows)
