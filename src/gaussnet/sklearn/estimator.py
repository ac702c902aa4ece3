"""The estimator of scikit-learn."""

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gaussnet._types import FloatArray, Rows
from gaussnet.errors import DataError, SettingError
from gaussnet.estimate.scales import Scale
from gaussnet.estimate.solution import Estimator
from gaussnet.fitting.learn import fit
from gaussnet.graph.dag import shorten
from gaussnet.model.network import GaussianNetwork
from gaussnet.sklearn.graphs import GraphLike, graph_over
from gaussnet.sklearn.prediction import expected_from_rest

Target = str | int | None


class GaussianBayesianNetwork(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A Gaussian Bayesian network over a known graph, as a density estimator.

    Parameters
    ----------
    dag
        The graph: a `gaussnet.Dag`, a model text such as ``"wet ~ rain"``, a list of (parent,
        child) edges by column name or number, an adjacency matrix (``A[i, j] != 0`` means i -> j)
        or a networkx DiGraph. By default the complete graph in the order of the columns, which
        is one multivariate Gaussian without any constraint.
    method, scale, intercept, threads
        As in `gaussnet.fit`; ``scale=None`` is the method's own default.
    target
        The column that `predict` gives, by name or number. By default `predict` gives all
        columns, each from all the others.
    variance_floor
        The least noise that a node may have, as a share of its column's squared interquartile
        range, so that columns that others determine exactly have a density all the same. With 0
        they have none, and scoring is an error.

    Attributes
    ----------
    network_ : GaussianNetwork
        The learnt network, its nodes in the order of the columns, noise at or above the floor.
    fit_ : Fit
        All that is known about the fit: notes, standard errors, the network as it was learnt.
    dag_ : Dag
        The graph over the columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had them and all are strings.

    Examples
    --------
    >>> import gaussnet as gn
    >>> truth = gn.simulate.random_network(gn.Dag.parse("[rain][wet|rain]"), seed=0)
    >>> X = truth.sample(200, seed=1)
    >>> model = GaussianBayesianNetwork([(0, 1)], target=1).fit(X)
    >>> model.predict(X).shape, model.sample(3, random_state=0).shape
    ((200,), (3, 2))
    """

    def __init__(  # noqa: PLR0913 (the settings are the interface)
        self,
        dag: GraphLike = None,
        method: str | Estimator = "least-squares",
        *,
        scale: str | Scale | None = None,
        intercept: bool = True,
        target: Target = None,
        variance_floor: float = 1e-12,
        threads: int | None = None,
    ) -> None:
        self.dag = dag
        self.method = method
        self.scale = scale
        self.intercept = intercept
        self.target = target
        self.variance_floor = variance_floor
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the network from the rows of X; y is ignored.

        Columns with names find their nodes by name, columns without stand in the order of the
        graph's nodes. Columns that the graph leaves out are ignored.
        """
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        named = hasattr(self, "feature_names_in_")
        names = tuple(map(str, self.feature_names_in_)) if named else _unnamed(rows.shape[1])
        dag = graph_over(self.dag, names, named)
        place = {name: column for column, name in enumerate(names)}
        columns = [place.get(node, column) for column, node in enumerate(dag.nodes)]
        scale: dict[str, Any] = {} if self.scale is None else {"scale": self.scale}
        own = np.asarray(rows)[:, columns]
        self.fit_ = fit(
            own,
            dag,
            self.method,
            intercept=self.intercept,
            threads=self.threads,
            **scale,
        )
        self.network_ = with_floor(self.fit_.network, own, self.variance_floor)
        self.dag_, self._columns = dag, columns
        return self

    def score_samples(self, X: Any) -> FloatArray:
        """The log density of each row of X, (rows,)."""
        return self._checked().network_.log_density(self._rows(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows of X; y is ignored.

        Where X may hold wrong rows, score by `gaussnet.sklearn.robust_score` instead.
        """
        return float(self.score_samples(X).mean())

    def predict(self, X: Any, target: Target = None) -> FloatArray:
        """The conditional mean of the target given all other columns, (rows,).

        X has all columns, or all but the target; what it holds in the target's own column is not
        looked at. Without a target here or in the estimator, the prediction of every column from
        all the others, (rows, nodes).
        """
        network = self._checked().network_
        chosen = self.target if target is None else target
        if chosen is None:
            return expected_from_rest(network, self._rows(X))
        node = self._node(chosen)
        rows = self._rows(X, without=node).copy()
        rows[:, node] = network.mean()[node]
        return expected_from_rest(network, rows)[:, node]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> FloatArray:
        """Rows drawn from the learnt network, (n_samples, nodes), in the order of the columns."""
        network = self._checked().network_
        if isinstance(random_state, np.random.Generator):
            return network.sample(n_samples, seed=random_state)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        return network.sample(n_samples, seed=int(seed))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the columns that `sample` and `predict` give: the nodes, in order."""
        names = np.array(self._checked().dag_.nodes, dtype=object)
        if input_features is None:
            return names
        given = [str(name) for name in input_features]
        if len(given) != self.n_features_in_:
            raise SettingError(
                f"input_features has {len(given)} names, expected n_features_in_, "
                f"{self.n_features_in_}"
            )
        known = list(getattr(self, "feature_names_in_", given))
        if known != given:
            raise SettingError("input_features is not equal to feature_names_in_: leave it out")
        return np.array([given[column] for column in self._columns], dtype=object)

    def _checked(self) -> Self:
        check_is_fitted(self, "network_")
        return self

    def _rows(self, X: Any, without: int | None = None) -> FloatArray:
        """The nodes' columns of X, (rows, nodes); X may be without the column of this node."""
        self._checked()
        if without is not None and self._lacks(X, self._columns[without]):
            known = check_array(X, dtype=np.float64)
            table = np.insert(known, self._columns[without], 0.0, axis=1)
        else:
            table = validate_data(self, X, reset=False, dtype=np.float64)
        rows: FloatArray = np.asarray(table)[:, self._columns]
        return rows

    def _lacks(self, X: Any, column: int) -> bool:
        """Whether X has all columns but this."""
        named = hasattr(X, "columns") and hasattr(self, "feature_names_in_")
        if named:
            return list(X.columns) == list(np.delete(self.feature_names_in_, column))
        return bool(np.shape(X)[1:] == (self.n_features_in_ - 1,))

    def _node(self, target: Target) -> int:
        """The position of the target among the nodes."""
        if isinstance(target, str):
            return self.dag_.position(target)
        if isinstance(target, bool) or not isinstance(target, int | np.integer):
            raise SettingError(f"got target={target!r}, expected the name or number of a column")
        column = int(target) + self.n_features_in_ * (target < 0)
        if column not in self._columns:
            raise DataError(
                f"got target={target}, expected a column of the graph: these are "
                f"{shorten([str(place) for place in self._columns])}"
            )
        return self._columns.index(column)


def with_floor(network: GaussianNetwork, rows: Rows, share: float) -> GaussianNetwork:
    """The network with variances of at least this share of the squared interquartile ranges.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [0.0])
    >>> with_floor(network, np.array([[0.0], [2.0], [4.0]]), 0.5).variances["a"]
    2.0
    """
    if not (isinstance(share, int | float) and 0.0 <= share < math.inf):
        raise SettingError(f"got variance_floor={share!r}, expected a number of 0 or more")
    if share == 0.0:
        return network
    low, high = np.quantile(rows.astype(np.float64), [0.25, 0.75], axis=0)
    floor = share * (high - low) ** 2
    if (floor <= network.variance_array).all():
        return network
    return GaussianNetwork.from_arrays(
        network.dag,
        network.coefficient_array,
        np.maximum(network.variance_array, floor),
        network.intercept_array,
    )


def _unnamed(columns: int) -> tuple[str, ...]:
    """The names that scikit-learn gives to columns without one."""
    return tuple(f"x{place}" for place in range(columns))
