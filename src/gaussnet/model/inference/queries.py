"""Questions to a network: what is known, set from outside, or predicted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.model import checks
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.inference import conditional, effects
from gaussnet.model.inference.conditional import (
    as_values,
    check_rows,
    given_columns,
    marked,
    open_rows,
    patterns,
)
from gaussnet.model.inference.posterior import Posterior
from gaussnet.types import FloatArray, Seed

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


def do(network: "GaussianNetwork", values: Mapping[str, float]) -> "GaussianNetwork":
    """The network with these nodes cut from their parents, each at its value without noise."""
    dag = network.dag
    places, numbers = as_values(dag, values, "intervention")
    cut = marked(dag, places)
    families = dag.families
    kept = ~cut[families.family_of_edge]
    parents: list[list[int]] = [[] for _ in dag.nodes]
    ends = (families.parents[kept].tolist(), families.family_of_edge[kept].tolist())
    for parent, child in zip(*ends, strict=True):
        parents[child].append(parent)
    intercepts = network.intercept_array.copy()
    intercepts[places] = numbers
    return type(network).from_arrays(
        Dag.from_parents(dag.nodes, parents),
        network.coefficient_array[kept],
        np.where(cut, 0.0, network.variance_array),
        intercepts,
    )


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


class Queries:
    """What evidence, interventions and rows with missing values say about the nodes."""

    def condition(
        self, evidence: Mapping[str, float], *, targets: Iterable[str] | None = None
    ) -> Gaussian:
        """The Gaussian of the other nodes, or of `targets` alone, given the evidence.

        The mean is found at once; variances and covariance when they are asked for, so that
        a network of 10,000 nodes costs no dense matrix. Nodes without noise are allowed, and
        so is redundant evidence; evidence that they rule out is an error.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.0], [1.0, 1.0])
        >>> rain = net.condition({"wet": 2.0})
        >>> rain.names, rain.mean.round(9).tolist(), rain.covariance.round(9).tolist()
        (('rain',), [1.0], [[0.5]])
        """
        return conditional.condition(self._network, evidence, targets)

    def do(self, values: Mapping[str, float]) -> "GaussianNetwork":
        """The network after an intervention that sets these nodes to these values.

        The edges into each are gone, its variance is 0 and its intercept the value.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 1.0])
        >>> net.do({"wet": 2.0}).mean().tolist(), net.do({"rain": 2.0}).mean().tolist()
        ([0.0, 2.0], [2.0, 3.0])
        """
        return do(self._network, values)

    def predict(
        self,
        data: object,
        node: str,
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
    ) -> Prediction:
        """One node in each row, from the other columns: mean, scale and an interval.

        `data` is an array (rows, nodes), its column of the node itself not looked at, or a
        data frame with any of the nodes as columns. NaN is not observed. `given` names the
        columns to predict from; by default all that are there.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 0.25])
        >>> wet = net.predict([[2.0, float("nan")]], "wet")
        >>> wet.mean.tolist(), wet.scale.round(9).tolist(), wet.low.round(2).tolist()
        ([3.0], [0.5], [2.02])
        """
        return predict(self._network, data, node, level, given)

    def impute(self, data: object, *, seed: Seed | None = None) -> FloatArray:
        """The rows (rows, nodes) with every NaN replaced by its mean given the rest of its row.

        With a `seed` it is replaced by a draw, jointly for the values that a row lacks.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 0.25])
        >>> net.impute([[2.0, float("nan")], [1.0, 5.0]]).round(9).tolist()
        [[2.0, 3.0], [1.0, 5.0]]
        """
        return conditional.impute(self._network, data, seed)

    def effect(self, cause: str, target: str, *, via: str | Iterable[str] | None = None) -> float:
        """What one unit more of `cause`, set from outside, adds to `target`.

        The sum over all directed paths of the product of their coefficients; `via` keeps the
        paths that pass through this node, or through all of these.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> dag = Dag.parse("[a][b|a][c|a:b]")
        >>> net = GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
        >>> net.effect("a", "c"), net.effect("a", "c", via="b"), net.effect("c", "a")
        (7.0, 6.0, 0.0)
        """
        return effects.effect(self._network, cause, target, via)

    def paths(
        self, cause: str, target: str, *, limit: int = 10_000
    ) -> tuple[effects.PathEffect, ...]:
        """The directed paths and their effects, the strongest first; they sum to `effect`.

        Examples
        --------
        >>> from gaussnet import Dag, GaussianNetwork
        >>> dag = Dag.parse("[a][b|a][c|a:b]")
        >>> net = GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
        >>> [str(path) for path in net.paths("a", "c")]
        ['a -> b -> c: 6', 'a -> c: 1']
        """
        return effects.paths(self._network, cause, target, limit)

    @property
    def _network(self) -> "GaussianNetwork":
        return cast("GaussianNetwork", self)
