"""The questions that a network answers, as methods."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from gaussnet._types import FloatArray, Seed
from gaussnet.model.gaussian import Gaussian
from gaussnet.model.inference import conditional, effects, intervention, prediction, rows

if TYPE_CHECKING:
    from gaussnet.model.network import GaussianNetwork


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
        return intervention.do(self._network, values)

    def predict(
        self,
        data: object,
        node: str,
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
    ) -> prediction.Prediction:
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
        return prediction.predict(self._network, data, node, level, given)

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
        return rows.impute(self._network, data, seed)

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
