"""Prediction: one node from the others, row by row, with an interval."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaussnet._types import FloatArray
from gaussnet.errors import SettingError
from gaussnet.model import checks
from gaussnet.model.inference.evidence import marked
from gaussnet.model.inference.posterior import Posterior
from gaussnet.model.inference.rows import check_rows, given_columns, open_rows, patterns

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """What a node is expected to be in each row, and how far it may be off."""

    node: str
    level: float
    mean: FloatArray
    """Conditional means, (rows,)."""
    scale: FloatArray
    """Conditional standard deviations, (rows,)."""
    low: FloatArray
    """Lower ends of the intervals, (rows,)."""
    high: FloatArray
    """Upper ends, (rows,)."""

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.mean)

    def __repr__(self) -> str:
        return f"Prediction({self.node!r}, {len(self)} rows, level={self.level})"


def predict(
    network: "GaussianNetwork",
    data: object,
    target: str,
    level: float,
    given: Iterable[str] | None,
) -> Prediction:
    """The conditional law of one node in each row, given what is known there."""
    from scipy.special import ndtri

    if not isinstance(level, float | int) or not 0.0 < level < 1.0:
        raise SettingError(f"got level={level!r}, expected a number between 0 and 1 such as 0.95")
    dag = network.dag
    allowed = given_columns(network, target, given)
    rows = open_rows(data, dag.nodes)
    rows[:, ~allowed] = np.nan
    place = np.array([dag.position(target)])
    mean, scale = np.empty((2, len(rows)))
    for observed, chosen in patterns(~np.isnan(rows)):
        posterior = Posterior(network, observed, marked(dag, place))
        for block in checks.blocks(len(chosen), len(dag)):
            own = chosen[block]
            part = np.where(observed, rows[own], 0.0)
            check_rows(posterior, part, own)
            posterior.fill(part)
            mean[own] = part[:, place[0]]
        scale[chosen] = checks.lengths(posterior.factor(place))[0]
    reach = scale * float(ndtri(0.5 + 0.5 * level))
    return Prediction(target, float(level), mean, scale, mean - reach, mean + reach)
