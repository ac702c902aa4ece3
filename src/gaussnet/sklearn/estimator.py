"""The estimator of scikit-learn, and the score and the choice for its grid search."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from gaussnet import kernels
from gaussnet.data.study import Weights
from gaussnet.errors import DataError, GraphError, SettingError
from gaussnet.fitting.learn import fit
from gaussnet.fitting.validation import first_within_noise
from gaussnet.graph.dag import Dag, shorten
from gaussnet.graph.graph_like import GraphLike, as_dag
from gaussnet.methods.base import Method, Scale
from gaussnet.model.network import GaussianNetwork
from gaussnet.model.scores import robust_score as network_score
from gaussnet.named_rows import names_of
from gaussnet.types import FloatArray, Rows

GraphOverColumns: TypeAlias = GraphLike | np.ndarray | None
"""A graph in any form that `gaussnet.fit` takes, an adjacency matrix, or None."""

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
    columns
        The names of the columns of X, where X is an array or an earlier step of a Pipeline drops
        the names. Needed for a graph that speaks of names and does not state their order, as a
        model text; ``pipeline.set_output(transform="pandas")`` keeps the names instead.

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
        dag: GraphOverColumns = None,
        method: str | Method = "least-squares",
        *,
        scale: str | Scale | None = None,
        intercept: bool = True,
        target: Target = None,
        variance_floor: float = 1e-12,
        threads: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.dag = dag
        self.method = method
        self.scale = scale
        self.intercept = intercept
        self.target = target
        self.variance_floor = variance_floor
        self.threads = threads
        self.columns = columns

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the network from the rows of X; y is ignored.

        A row of sample weight w stands for w equal rows; for least squares with
        ``scale="mean-square"`` only. Weights that are all 1 say nothing, and suit every method.

        Columns with names find their nodes by name. Columns without are called x0, x1, ... or by
        `columns`; they stand in the order of the graph's nodes if the graph states one. Columns
        that the graph leaves out are ignored.
        """
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        given = self._given_names(X, rows.shape[1])
        names = tuple(f"x{i}" for i in range(rows.shape[1])) if given is None else given
        dag = graph_over(self.dag, names, given is not None)
        position = {name: column for column, name in enumerate(names)}
        columns = [position.get(node, column) for column, node in enumerate(dag.nodes)]
        more: dict[str, Any] = {} if self.scale is None else {"scale": self.scale}
        own = np.asarray(rows)[:, columns]
        weights = frequencies(sample_weight, own)
        if weights is not None:
            more["weights"] = Weights(weights, "frequency")
        self.fit_ = fit(
            own, dag, self.method, intercept=self.intercept, threads=self.threads, **more
        )
        self.network_ = with_floor(self.fit_.network, own, self.variance_floor, weights)
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
        all the others, (rows, nodes). Values are taken as given; ``fit_.predict`` of a robust
        method judges them first.
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

    def _given_names(self, X: Any, width: int) -> tuple[str, ...] | None:
        """The names of the columns of X, if it has them or `columns` tells."""
        own = getattr(self, "feature_names_in_", names_of(X))
        if self.columns is None:
            return None if own is None else tuple(map(str, own))
        names = tuple(map(str, self.columns))
        if len(names) != width or len(set(names)) < width:
            raise SettingError(
                f"columns has {len(names)} names, expected {width} different ones, one for each "
                "column of X"
            )
        if own is not None and tuple(map(str, own)) != names:
            raise SettingError(
                f"X has the columns {shorten(list(own))}, but columns says {shorten(names)}: leave "
                "columns out"
            )
        return names

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
                f"{shorten([str(number) for number in self._columns])}"
            )
        return self._columns.index(column)


def robust_score(estimator: Any, X: Any, y: Any = None) -> float:
    """Score X by `gaussnet.robust_score`, for ``GridSearchCV(scoring=robust_score)``.

    `estimator` is a fitted `GaussianBayesianNetwork`, or a Pipeline that ends in one. Unlike the
    estimator's own `score`, the mean log density, it is not decided by a few wrong rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from gaussnet.sklearn import GaussianBayesianNetwork
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = GaussianBayesianNetwork().fit(X)
    >>> wild = np.vstack((X, [[1e6, 1e6]]))
    >>> model.score(wild) < -1e6, round(robust_score(model, wild) - robust_score(model, X), 2)
    (True, -0.06)
    """
    rows = X
    model = estimator
    if hasattr(estimator, "steps"):
        *steps, (_, model) = estimator.steps
        for _, step in steps:
            rows = rows if step in (None, "passthrough") else step.transform(rows)
    if not hasattr(model, "_rows"):
        raise SettingError(
            f"got a {type(model).__name__} to score, expected a GaussianBayesianNetwork or a "
            "Pipeline that ends in one"
        )
    return network_score(model.network_, model._rows(rows))


def simplest_within_noise(results: Mapping[str, Any]) -> int:
    """The first candidate that no other beats beyond noise, for ``GridSearchCV(refit=...)``.

    `results` are ``cv_results_``. Beyond noise means by more than two standard errors of the
    difference over the folds; so list candidates simplest first. A candidate that failed on a
    fold is out.

    Examples
    --------
    >>> simplest_within_noise({"split0_test_score": [1.0, 1.1], "split1_test_score": [2.0, 1.9]})
    0
    """
    folds = [key for key in results if key.startswith("split") and key.endswith("_test_score")]
    if len(folds) < 2:
        raise SettingError(
            "got results without test scores of at least two folds: give one scoring, and cv=2 or "
            "more"
        )
    return first_within_noise(np.array([results[key] for key in folds], dtype=np.float64).T)


def graph_over(given: GraphOverColumns, columns: tuple[str, ...], named: bool) -> Dag:
    """The graph with its nodes in the order of the columns.

    None is the complete graph: each column has all columns before it as parents, so that the
    network is one multivariate Gaussian without any constraint. Edges and matrices speak of
    all columns; a `Dag`, a model text or a networkx graph may leave out named columns.

    Examples
    --------
    >>> graph_over(None, ("a", "b", "c"), True).edges
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    >>> graph_over([(2, 0)], ("x0", "x1", "x2"), False).edges
    (('x2', 'x0'),)
    >>> graph_over("b ~ c", ("a", "b", "c"), True).nodes
    ('b', 'c')
    """
    if given is None:
        return Dag.from_parents(columns, [range(i) for i in range(len(columns))])
    if isinstance(given, np.ndarray) and given.dtype.kind in "biuf":
        return Dag.from_adjacency(given, columns)

    def from_edges(edges: Iterable[Any]) -> Dag:
        return Dag.from_edges([_edge(edge, columns) for edge in edges], nodes=columns)

    return _ordered(as_dag(given, from_edges), columns, named)


def _ordered(dag: Dag, columns: tuple[str, ...], named: bool) -> Dag:
    if named or set(dag.nodes) == set(columns):
        unknown = [node for node in dag.nodes if node not in set(columns)]
        if unknown:
            raise GraphError(
                f"X has no column for {shorten(unknown)}: its columns are {shorten(columns)}"
            )
        return dag.reordered(name for name in columns if name in dag)
    if len(dag) != len(columns):
        raise GraphError(
            f"the graph has {len(dag)} nodes and X has {len(columns)} columns without names: give "
            "one column for each node, in the order of dag.nodes, or a data frame"
        )
    numbers = [str(i) for i in range(len(columns))]
    try:
        return dag.reordered(numbers if set(dag.nodes) == set(numbers) else dag.column_order())
    except DataError:
        raise DataError(
            f"X has no column names, and the graph names its nodes, {shorten(dag.nodes)}, in no "
            "stated order: give a data frame, call set_output(transform='pandas') on a Pipeline "
            "whose steps drop names, or say which column is which with columns=[...]"
        ) from None


def _edge(edge: Any, columns: tuple[str, ...]) -> tuple[Any, Any]:
    """The edge with names in place of column numbers."""
    try:
        parent, child = edge
    except (TypeError, ValueError):
        raise GraphError(
            f"got the edge {edge!r}, expected a pair (parent, child) of column names or numbers"
        ) from None
    return _column(parent, columns), _column(child, columns)


def _column(label: Any, columns: tuple[str, ...]) -> Any:
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        if not 0 <= label < len(columns):
            raise GraphError(f"there is no column {label}: X has {len(columns)}, counted from 0")
        return columns[label]
    return label


def expected_from_rest(network: GaussianNetwork, rows: FloatArray) -> FloatArray:
    r"""The conditional mean of every node given all others, (rows, nodes).

    With residuals :math:`e` and precision :math:`K`,

    .. math:: x_i - \frac{e_i / s_i^2 - \sum_c a_{ci} e_c / s_c^2}{K_{ii}}, \qquad
              K_{ii} = \frac{1}{s_i^2} + \sum_c \frac{a_{ci}^2}{s_c^2},

    where c runs over the children of i: only parents, children and the children's other parents
    matter. A node's own value cancels.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    >>> expected_from_rest(network, np.array([[7.0, 5.0]])).tolist()
    [[2.0, 14.0]]
    """
    from scipy.sparse import csr_array

    network._check_has_density()
    families = network.dag.families
    indices = (families.parents, families.family_of_edge)
    slopes = csr_array((network.coefficient_array, indices), shape=2 * (len(network.dag),))
    weights = 1.0 / network.variance_array
    errors = kernels.residuals(rows, families, network.coefficient_array)
    errors = (errors - network.intercept_array[:, None]) * weights[:, None]
    precisions = weights + slopes.power(2) @ weights
    expected: FloatArray = rows - ((errors - slopes @ errors) / precisions[:, None]).T
    return expected


def frequencies(sample_weight: Any, rows: Rows) -> FloatArray | None:
    """The weights as numbers, (rows,), or None if each row counts once.

    Examples
    --------
    >>> frequencies([1, 2], np.zeros((2, 3))).tolist()
    [1.0, 2.0]
    >>> frequencies([1, 1], np.zeros((2, 3))) is None
    True
    """
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, rows, dtype=np.float64)
    return None if (weights == 1.0).all() else weights


def quartiles(rows: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The least values that a quarter and three quarters of the weight do not exceed, (2, nodes).

    A whole weight counts as so many equal rows; a common factor of all weights changes nothing.

    Examples
    --------
    >>> rows = np.array([[1.0], [5.0], [9.0]])
    >>> quartiles(rows, np.array([3.0, 1.0, 0.0])).ravel().tolist()
    [1.0, 1.0]
    >>> quartiles(np.array([[1.0], [1.0], [1.0], [5.0]])).ravel().tolist()
    [1.0, 1.0]
    """
    if weights is None:
        return np.quantile(rows, [0.25, 0.75], axis=0, method="inverted_cdf")
    order = np.argsort(rows, axis=0)
    reached = np.cumsum(weights[order], axis=0)
    places = np.array([(reached < share * reached[-1]).sum(axis=0) for share in (0.25, 0.75)])
    return np.take_along_axis(rows, np.take_along_axis(order, places, axis=0), axis=0)


def with_floor(
    network: GaussianNetwork, rows: Rows, share: float, weights: FloatArray | None = None
) -> GaussianNetwork:
    """The network with variances of at least this share of the squared interquartile ranges.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a]"), [], [0.0])
    >>> with_floor(network, np.array([[0.0], [2.0], [4.0]]), 0.5).variances["a"]
    8.0
    """
    if not (isinstance(share, int | float) and 0.0 <= share < math.inf):
        raise SettingError(f"got variance_floor={share!r}, expected a number of 0 or more")
    if share == 0.0:
        return network
    low, high = quartiles(rows.astype(np.float64), weights)
    floor = share * (high - low) ** 2
    if (floor <= network.variance_array).all():
        return network
    return GaussianNetwork.from_arrays(
        network.dag,
        network.coefficient_array,
        np.maximum(network.variance_array, floor),
        network.intercept_array,
    )
