"""The linear Gaussian network: its numbers, its law, and what can be asked of it."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from gaussnet import display, kernels
from gaussnet.errors import DataError, FileError, GraphError, NetworkError
from gaussnet.graph.dag import Dag, Edge, shorten
from gaussnet.kernels.threads import interruptible
from gaussnet.model import checks, roots
from gaussnet.model.equations import blocks, propagate
from gaussnet.model.gaussian import Gaussian
from gaussnet.named_rows import named, names_of
from gaussnet.seeds import generator
from gaussnet.types import FloatArray, Rows, Seed

if TYPE_CHECKING:
    from gaussnet.model.formats.text import Values as LavaanValues
    from gaussnet.model.inference import effects
    from gaussnet.model.inference.counterfactual import Counterfactual
    from gaussnet.model.inference.levels import LevelNetwork
    from gaussnet.model.inference.precision import Precision
    from gaussnet.model.inference.predicted_rows import Prediction
    from gaussnet.model.seen import Seen

Name = TypeVar("Name", str, Edge)
Values = Mapping[str, float | str]
"""Numbers by node, and levels by category."""

LONG_PRODUCT = 1_000
"""Nodes from which a product of matrices takes a moment, so that it can be interrupted."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class GaussianNetwork:
    r"""A linear Gaussian network: each node is a linear function of its parents plus noise.

    .. math:: X_i = c_i + \sum_{j \in pa(i)} a_{ij} X_j + e_i, \qquad e_i \sim N(0, s_i^2)

    Parameters
    ----------
    dag
        The graph.
    coefficients
        The number on each edge (parent, child); 0.0 keeps the edge.
    variances
        The noise variance of each node, 0 or more.
    intercepts
        The constant of each node; without it all are 0.
    covariances
        Of the pairs of ``dag.covariances``. Variance and intercept of a node that covaries are
        those of the node itself, whatever the others are.

    Examples
    --------
    >>> dag = Dag.from_edges([("rain", "wet"), ("sprinkler", "wet")])
    >>> net = GaussianNetwork(
    ...     dag,
    ...     coefficients={("rain", "wet"): 1.5, ("sprinkler", "wet"): 0.5},
    ...     variances={"rain": 1.0, "sprinkler": 4.0, "wet": 0.25},
    ...     intercepts={"rain": 2.0, "sprinkler": 0.0, "wet": 1.0},
    ... )
    >>> dict(zip(dag.nodes, net.mean().tolist()))
    {'rain': 2.0, 'wet': 4.0, 'sprinkler': 0.0}
    """

    dag: Dag
    coefficient_array: FloatArray
    """The coefficients in the order of ``dag.edges``, (edges,), read-only."""
    variance_array: FloatArray
    """The noise variances in the order of ``dag.nodes``, (nodes,), read-only."""
    intercept_array: FloatArray
    """The intercepts in the order of ``dag.nodes``, (nodes,), read-only."""
    seen: "Seen | None" = None
    """What was seen in the rows that it was learnt from, if that is known; see `Fit.save_network`.
    It does not count when networks are compared."""

    def __init__(
        self,
        dag: Dag,
        coefficients: Mapping[Edge, float],
        variances: Mapping[str, float],
        intercepts: Mapping[str, float] | None = None,
        covariances: Mapping[Edge, float] | None = None,
    ) -> None:
        checks.check_dag(dag)
        slopes = np.zeros(len(dag.edges))
        slopes[~dag.is_covariance] = checks.values_by_name(coefficients, dag.arrows, "coefficient")
        squares = checks.values_by_name(variances, dag.nodes, "variance")
        constants = np.zeros(len(dag))
        if intercepts is not None:
            constants = checks.values_by_name(intercepts, dag.nodes, "intercept")
        if dag.covariances or covariances:
            checks.check_not_negative(squares, dag.nodes)
            pairs = dag.covariances
            found = checks.values_by_name(covariances or {}, pairs, "covariance").tolist()
            named_pairs = dict(zip(pairs, found, strict=True))
            roots.enter_equations(dag, (slopes, squares, constants), named_pairs)
        self._keep(dag, slopes, squares, constants)

    @classmethod
    def from_arrays(
        cls,
        dag: Dag,
        coefficients: ArrayLike,
        variances: ArrayLike,
        intercepts: ArrayLike | None = None,
    ) -> Self:
        """The network with these numbers, in the order of ``dag.edges`` and ``dag.nodes``.

        Of nodes that covary these are the numbers of their equations along ``dag.edges``; the
        class itself takes their variances and covariances.

        Examples
        --------
        >>> dag = Dag.from_edges([("a", "b")])
        >>> GaussianNetwork.from_arrays(dag, [2.0], [1.0, 0.5]).coefficients
        mappingproxy({('a', 'b'): 2.0})
        """
        checks.check_dag(dag)
        network = cls.__new__(cls)
        network._keep(dag, coefficients, variances, intercepts)
        return network

    def _keep(
        self, dag: Dag, coefficients: ArrayLike, variances: ArrayLike, intercepts: ArrayLike | None
    ) -> None:
        nodes = dag.nodes
        given = np.zeros(len(nodes)) if intercepts is None else intercepts
        constants = checks.frozen_array(given, nodes, "intercept")
        squares = checks.frozen_array(variances, nodes, "variance")
        checks.check_not_negative(squares, nodes)
        slopes = checks.frozen_array(coefficients, dag.edges, "coefficient")
        object.__setattr__(self, "dag", dag)
        object.__setattr__(self, "coefficient_array", slopes)
        object.__setattr__(self, "variance_array", squares)
        object.__setattr__(self, "intercept_array", constants)

    @cached_property
    def coefficients(self) -> Mapping[Edge, float]:
        """The coefficient of each (parent, child) edge, read-only."""
        return _by_name(self.dag.arrows, self.coefficient_array[~self.dag.is_covariance])

    @cached_property
    def variances(self) -> Mapping[str, float]:
        """The noise variance of each node, read-only; of one that covaries its whole variance."""
        return _by_name(self.dag.nodes, self.noise_variances)

    @cached_property
    def intercepts(self) -> Mapping[str, float]:
        """The intercept of each node, read-only; of one that covaries its mean."""
        return _by_name(self.dag.nodes, self.constants)

    @cached_property
    def covariances(self) -> Mapping[Edge, float]:
        """The covariance of each pair of ``dag.covariances``, read-only.

        Examples
        --------
        >>> net = GaussianNetwork(
        ...     Dag.parse("y ~ a + b; a ~~ b"),
        ...     coefficients={("a", "y"): 1.0, ("b", "y"): 1.0},
        ...     variances={"a": 4.0, "b": 2.0, "y": 1.0},
        ...     covariances={("a", "b"): 2.0},
        ... )
        >>> net.covariances, net.effect("a", "y"), net.do({"a": 3.0}).mean().tolist()
        (mappingproxy({('a', 'b'): 2.0}), 1.0, [3.0, 3.0, 0.0])
        """
        if not self.dag.covariances:
            return MappingProxyType({})
        moments = self.root_moments
        place = {self.dag.nodes[node]: rank for rank, node in enumerate(moments.nodes.tolist())}
        table = moments.covariance
        found = {(a, b): float(table[place[a], place[b]]) for a, b in self.dag.covariances}
        return MappingProxyType(found)

    @cached_property
    def noise_variances(self) -> FloatArray:
        """The values of `variances`, (nodes,), read-only."""
        return self._with_roots(self.variance_array, lambda own: own.covariance.diagonal())

    @cached_property
    def noise_scales(self) -> FloatArray:
        """Square roots of `variances`, (nodes,), read-only."""
        return checks.read_only(np.sqrt(self.noise_variances))

    @cached_property
    def constants(self) -> FloatArray:
        """The values of `intercepts`, (nodes,), read-only."""
        return self._with_roots(self.intercept_array, lambda own: own.means)

    @cached_property
    def causal_coefficients(self) -> FloatArray:
        """The coefficients in the order of ``dag.edges``, 0 for covariances, (edges,), read-only.

        These carry what is set from outside.
        """
        if not self.dag.covariances:
            return self.coefficient_array
        return checks.read_only(np.where(self.dag.is_covariance, 0.0, self.coefficient_array))

    @cached_property
    def root_moments(self) -> roots.RootMoments:
        """Means and covariance of the nodes that covary."""
        arrays = (self.coefficient_array, self.variance_array, self.intercept_array)
        return roots.root_moments(self.dag, *arrays)

    def _with_roots(
        self, array: FloatArray, values: Callable[[roots.RootMoments], FloatArray]
    ) -> FloatArray:
        """The array with these values at the nodes that covary."""
        if not self.dag.covariances:
            return array
        whole = array.copy()
        whole[self.root_moments.nodes] = values(self.root_moments)
        return checks.read_only(whole)

    @cached_property
    def scales(self) -> FloatArray:
        """The noise standard deviations in the order of ``dag.nodes``, (nodes,), read-only."""
        return checks.read_only(np.sqrt(self.variance_array))

    @cached_property
    def precision(self) -> "Precision":
        """The precision matrix as questions use it, found when first asked for."""
        from gaussnet.model.inference.precision import Precision  # much to import

        return Precision(self)

    @cached_property
    def given_levels(self) -> "LevelNetwork | None":
        """The law of its numbers given the levels of its categories; None if it has none."""
        from gaussnet.model.inference.levels import LevelNetwork  # much to import

        return LevelNetwork.of(self) if self.dag.factors else None

    def to_matrix(self) -> FloatArray:
        """The coefficients as a dense matrix (nodes, nodes): row i, column j holds i -> j.

        Examples
        --------
        >>> dag = Dag.from_edges([("a", "b")])
        >>> GaussianNetwork.from_arrays(dag, [2.0], [1.0, 1.0]).to_matrix().tolist()
        [[0.0, 2.0], [0.0, 0.0]]
        """
        families = self.dag.families
        matrix = np.zeros((len(self.dag), len(self.dag)))
        matrix[families.parents, families.family_of_edge] = self.coefficient_array
        return matrix

    @overload
    def mean(self, *, frame: None = None) -> FloatArray: ...
    @overload
    def mean(self, *, frame: str) -> Any: ...
    def mean(self, *, frame: str | None = None) -> Any:
        """The mean of each node in the order of ``dag.nodes``, (nodes,).

        With `frame`, "pandas" or "polars", a frame of one row with the nodes as columns.
        """
        row = self.intercept_array[None, :].copy()
        self._propagate(row)
        return row.ravel() if frame is None else self._frame(row, frame)

    @overload
    def covariance(self, *, frame: None = None) -> FloatArray: ...
    @overload
    def covariance(self, *, frame: str) -> Any: ...
    def covariance(self, *, frame: str | None = None) -> Any:
        r"""The covariance of all nodes, dense (nodes, nodes), in the order of ``dag.nodes``.

        With `frame`, "pandas" or "polars", a frame whose columns and rows are named.

        .. math:: F F', \quad F = (I - A')^{-1} \mathrm{diag}(s)

        Examples
        --------
        >>> dag = Dag.from_edges([("a", "b")])
        >>> GaussianNetwork.from_arrays(dag, [2.0], [1.0, 0.5]).covariance().tolist()
        [[1.0, 2.0], [2.0, 4.5]]
        """
        responses = self._responses()
        is_long = len(responses) > LONG_PRODUCT
        covariance = interruptible(_gram, responses) if is_long else _gram(responses)
        checks.check_overflow(covariance)
        if frame is not None:
            return display.named_frame(covariance, self.dag.nodes, frame, True)
        return covariance

    def to_gaussian(self) -> Gaussian:
        """The distribution of all nodes as one multivariate Gaussian, its factor dense."""
        joint = Gaussian(self.dag.nodes, self.mean(), self._responses().T)
        object.__setattr__(joint, "has_column_order", self.dag.has_column_order)
        return joint

    @overload
    def sample(
        self,
        rows: int,
        *,
        seed: Seed,
        given: Values | None = None,
        do: Values | None = None,
        frame: None = None,
    ) -> FloatArray: ...
    @overload
    def sample(
        self,
        rows: int,
        *,
        seed: Seed,
        given: Values | None = None,
        do: Values | None = None,
        frame: str,
    ) -> Any: ...
    def sample(
        self,
        rows: int,
        *,
        seed: Seed,
        given: Values | None = None,
        do: Values | None = None,
        frame: str | None = None,
    ) -> Any:
        """Independent rows (rows, nodes), columns in the order of ``dag.nodes`` and named by them.

        With `frame`, "pandas" or "polars", they are a frame with the nodes as columns.
        They obey the interventions `do`, then the evidence `given`. The first rows are the
        same however many are asked for.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.from_edges([("a", "b")]), [2.0], [1.0, 0.5])
        >>> bool((net.sample(5, seed=1)[:3] == net.sample(3, seed=1)).all())
        True
        """
        if do is not None:
            other = self.do(do)
            return other._frame(other.sample(rows, seed=seed, given=given), frame)
        if given is not None:
            from gaussnet.model.inference import queries  # much to import

            return self._frame(queries.draws_given(self, given, rows, seed), frame)
        self.require_levels("rows can be drawn")
        drawn = np.empty((checks.row_count(rows), len(self.dag)))
        noise = generator(seed)
        for block in blocks(*drawn.shape):
            part = drawn[block]
            noise.standard_normal(out=part)
            part *= self.scales
            part += self.intercept_array
            self._propagate(part)
        return self._frame(drawn, frame)

    def require_levels(self, what: str, fixed: Collection[str] = ()) -> None:
        """Refuse categories whose level is open: their indicators are not Gaussian."""
        for node, (name, level) in self.dag.indicators.items():
            if node not in fixed and self.variance_array[self.dag.position(node)] > 0.0:
                raise NetworkError(
                    f"{name!r} is a category, so that {what} for one level of it at a time: fix "
                    f"the level, as network.do({{{name!r}: {level!r}}})"
                )

    def _frame(self, rows: FloatArray, frame: str | None) -> Any:
        """The rows themselves, or a frame of this kind with the nodes as columns."""
        if frame is None:
            return named(rows, self.dag.nodes)
        return display.named_frame(rows, self.dag.nodes, frame, False)

    def log_density(self, data: object, *, columns: Iterable[object] | None = None) -> FloatArray:
        """The log density of each row, (rows,).

        `data` is a data frame whose columns are named by the nodes, rows that `sample` gave, or
        an array (rows, nodes). `columns` names the columns of an array from left to right; it may
        be left out if the graph states their order, which is then that of ``dag.nodes``.

        Examples
        --------
        >>> dag = Dag.from_edges([("a", "b")])
        >>> net = GaussianNetwork.from_arrays(dag, [2.0], [1.0, 1.0])
        >>> net.log_density([[0.0, 0.0]], columns=["a", "b"]).round(4).tolist()
        [-1.8379]
        """
        from gaussnet.model.seen import recoded

        rows = checks.node_rows(data, self.dag, columns)
        self._check_has_density()
        constant = 0.5 * float((np.log(2.0 * np.pi) + np.log(self.variance_array)).sum())
        result = np.empty(len(rows))
        for block in blocks(*rows.shape):
            known = recoded(self, rows[block])
            checks.check_finite(known, self.dag.nodes, block.start)
            errors = self._standardized_residuals(known)
            with np.errstate(over="ignore"):
                result[block] = -constant - 0.5 * np.einsum("ij,ij->j", errors, errors)
        checks.check_densities(result)
        return result

    def score(self, data: object, *, columns: Iterable[object] | None = None) -> float:
        """The mean log density of the rows; higher is better."""
        densities = self.log_density(data, columns=columns)
        if not len(densities):
            raise DataError("got 0 rows, expected at least 1 to score")
        return float(densities.mean())

    def condition(self, evidence: Values, *, targets: Iterable[str] | None = None) -> Gaussian:
        """The Gaussian of the other nodes, or of `targets` alone, given the evidence.

        The mean is found at once; variances and covariance when they are asked for, so that
        a network of 10,000 nodes costs no dense matrix. Nodes without noise are allowed, and
        so is redundant evidence; evidence that they rule out is an error.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.0], [1.0, 1.0])
        >>> rain = net.condition({"wet": 2.0})
        >>> rain.names, rain.mean.round(9).tolist(), rain.covariance.round(9).tolist()
        (('rain',), [1.0], [[0.5]])
        """
        from gaussnet.model.inference import queries  # much to import

        if self.seen is not None:
            self.seen.check_values(evidence)
        return queries.condition(self, evidence, targets)

    def do(self, values: Values) -> "GaussianNetwork":
        """The network after an intervention that sets these nodes to these values.

        The edges into each are gone, its variance is 0 and its intercept the value. Nodes that
        covaried with it stay as they were.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 1.0])
        >>> net.do({"wet": 2.0}).mean().tolist(), net.do({"rain": 2.0}).mean().tolist()
        ([0.0, 2.0], [2.0, 3.0])
        """
        from gaussnet.model.inference import queries  # much to import

        if self.seen is not None:
            self.seen.check_values(values)
        return queries.do(self, values)

    def counterfactual(self, row: object, *, do: Values) -> "Counterfactual":
        """What a case that was observed would have been, had nodes been set to other values.

        The row tells what the noise of each node was; the same noise goes through the equations
        after the intervention, in closed form. What a partly observed row leaves open remains as
        variance.

        Parameters
        ----------
        row
            Values by node, an array (nodes,), or a frame of one row; NaN is not observed.
        do
            Values to set, by node.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 1.0])
        >>> net.counterfactual({"rain": 2.0, "wet": 4.0}, do={"rain": 0.0}).after.mean.tolist()
        [0.0, 1.0]
        >>> partly = net.counterfactual({"wet": 4.0}, do={"rain": 0.0}).after
        >>> partly.mean.round(3).tolist(), partly.variances.round(3).tolist()
        ([0.0, 1.231], [0.0, 0.692])
        """
        from gaussnet.model.inference.counterfactual import counterfactual

        return counterfactual(self, row, do)

    def adjustment_sets(
        self,
        cause: str,
        target: str,
        *,
        measured: Iterable[str] | None = None,
        limit: int = 1_000,
    ) -> tuple[tuple[str, ...], ...]:
        """The minimal sets to adjust for when estimating an effect; see `Dag.adjustment_sets`."""
        return self.dag.adjustment_sets(cause, target, measured=measured, limit=limit)

    @overload
    def predict(
        self,
        data: object,
        node: str,
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
    ) -> "Prediction": ...
    @overload
    def predict(
        self,
        data: object,
        node: list[str] | tuple[str, ...],
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
    ) -> "dict[str, Prediction]": ...
    def predict(
        self,
        data: object,
        node: str | list[str] | tuple[str, ...],
        *,
        level: float = 0.95,
        given: Iterable[str] | None = None,
        columns: Iterable[object] | None = None,
    ) -> "Prediction | dict[str, Prediction]":
        """One node in each row, from the other columns: mean, scale and an interval.

        The network is taken as known; `Fit.predict` adds the error of what was learnt. A list of
        nodes gives their predictions by name, at once; none of them is looked at. Values far
        outside those that the network was learnt from, or that it can give, are in `outside`, with
        a warning above the printed table; they count.

        `data` is an array (rows, nodes), its column of the node itself not looked at, a data
        frame with any of the nodes as columns, or values by node such as ``{"rain": 2.0}``.
        NaN is not observed, nor is a code for a missing value that the model file knows. `given`
        names the columns to predict from; by default all that are there. `columns` names those of
        an array, as in `log_density`, and may leave out nodes.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 0.25])
        >>> wet = net.predict([[2.0]], "wet", columns=["rain"])
        >>> wet.mean.tolist(), wet.scale.round(9).tolist(), wet.low.round(2).tolist()
        ([3.0], [0.5], [2.02])
        """
        from gaussnet.model.inference import queries  # much to import

        targets = [node] if isinstance(node, str) else checks.as_names(node)
        found = queries.predict_and_look(self, data, targets, level, given, columns)
        return found[node] if isinstance(node, str) else found

    def impute(
        self,
        data: object,
        *,
        seed: Seed | None = None,
        columns: Iterable[object] | None = None,
    ) -> Any:
        """The rows (rows, nodes) with every NaN replaced by its mean given the rest of its row.

        A data frame gives a frame with the same index and the nodes as columns.
        With a `seed` it is replaced by a draw, jointly for the values that a row lacks. `columns`
        is as in `predict`.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 0.25])
        >>> rows = [[2.0, float("nan")], [1.0, 5.0]]
        >>> net.impute(rows, columns=["rain", "wet"]).round(9).tolist()
        [[2.0, 3.0], [1.0, 5.0]]
        """
        from gaussnet.model.inference import queries  # much to import

        rows = queries.impute(self, data, seed, columns)
        if names_of(data) is not None or checks.column_labels(data) is None:
            return rows
        return display.frame_like(data, self.dag.nodes, rows)

    def effect(self, cause: str, target: str, *, via: str | Iterable[str] | None = None) -> float:
        """What one unit more of `cause`, set from outside, adds to `target`.

        The sum over all directed paths of the product of their coefficients; `via` keeps the
        paths that pass through this node, or through all of these.

        Examples
        --------
        >>> dag = Dag.parse("[a][b|a][c|a:b]")
        >>> net = GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
        >>> net.effect("a", "c"), net.effect("a", "c", via="b"), net.effect("c", "a")
        (7.0, 6.0, 0.0)
        """
        from gaussnet.model.inference import effects  # much to import

        return effects.effect(self, cause, target, via)

    def paths(
        self, cause: str, target: str, *, limit: int = 10_000
    ) -> "tuple[effects.PathEffect, ...]":
        """The directed paths and their effects, the strongest first; they sum to `effect`.

        Examples
        --------
        >>> dag = Dag.parse("[a][b|a][c|a:b]")
        >>> net = GaussianNetwork.from_arrays(dag, [2.0, 1.0, 3.0], [1.0, 1.0, 1.0])
        >>> [str(path) for path in net.paths("a", "c")]
        ['a -> b -> c: 6', 'a -> c: 1']
        """
        from gaussnet.model.inference import effects  # much to import

        return effects.paths(self, cause, target, limit)

    def to_networkx(self) -> Any:
        """A networkx DiGraph: nodes with `intercept` and `variance`, edges with `coefficient`.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 0.5])
        >>> graph = net.to_networkx()
        >>> graph.nodes["b"], graph.edges["a", "b"]
        ({'intercept': 0.0, 'variance': 0.5}, {'coefficient': 2.0})
        """
        from gaussnet.model.formats.networkx import to_networkx

        return to_networkx(self)

    @classmethod
    def from_networkx(cls, graph: Any) -> "GaussianNetwork":
        """The network of a networkx DiGraph with the attributes that `to_networkx` gives.

        Labels become names by `str`. Intercepts may be missing and are then 0. Where edges have
        no `coefficient`, their `weight` is taken.
        """
        from gaussnet.model.formats.networkx import from_networkx

        return from_networkx(graph)

    def to_lavaan(self, values: "LavaanValues" = "free") -> str:
        """Model text for lavaan and semopy; parameters "free", "fixed" or with "start" values.

        It is the whole model: fit it with ``lavaan(text, data, fixed.x = FALSE)``, for `sem` adds
        covariances of its own, or with semopy's ``ModelMeans``.

        Parameters
        ----------
        values
            "free" leaves all parameters to be estimated and is read by lavaan and semopy alike;
            "fixed" fixes them at the network's numbers, for both; "start" makes these numbers
            the starting values of lavaan.

        Examples
        --------
        >>> net = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 0.5])
        >>> net.to_lavaan("start").splitlines()[2]
        'b ~ start(2.0)*a'
        """
        from gaussnet.model.formats.text import to_lavaan

        return to_lavaan(self, values)

    @cached_property
    def expected_range(self) -> "Seen":
        """Values that the law of the network can give; nodes without noise have no range."""
        from gaussnet.model.seen import IMPOSSIBLE, Seen

        mean, sds = self.mean(), np.sqrt(self.condition({}).variances)
        far = np.where(sds > 0.0, IMPOSSIBLE * sds, np.nan)
        far[[self.dag.position(node) for node in self.dag.indicators]] = np.nan
        return Seen(mean - far, mean + far)

    def with_seen(self, seen: "Seen | None") -> Self:
        """The same network, which knows what was seen in the rows that it was learnt from."""
        arrays = (self.coefficient_array, self.variance_array, self.intercept_array)
        network = type(self).from_arrays(self.dag, *arrays)
        object.__setattr__(network, "seen", seen)
        return network

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a JSON file, whole or not at all; every number keeps all digits.

        For other formats use `gaussnet.write_network`. Where there is a fit, `Fit.save_network`
        also keeps what was seen in its rows.
        """
        from gaussnet.model.files import save_json

        save_json(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a network that `save` wrote."""
        from gaussnet.model.files import read_json

        try:
            dag, coefficients, variances, intercepts, seen = read_json(path)
            network = cls.from_arrays(dag, coefficients, variances, intercepts)
            return network.with_seen(seen)
        except (GraphError, NetworkError) as problem:
            raise FileError(
                f"the network in {os.fspath(path)!r} does not hold: {problem}"
            ) from None

    def equals(self, other: object) -> bool:
        """Whether the other is a network with the same nodes, edges and numbers, exactly."""
        return isinstance(other, GaussianNetwork) and (
            self.dag == other.dag
            and np.array_equal(self.coefficient_array, other.coefficient_array)
            and np.array_equal(self.variance_array, other.variance_array)
            and np.array_equal(self.intercept_array, other.intercept_array)
        )

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, GaussianNetwork) else NotImplemented

    def __hash__(self) -> int:
        arrays = (self.coefficient_array, self.variance_array, self.intercept_array)
        # Adding 0.0 turns -0.0, which equals 0.0, into the same bytes.
        return hash((self.dag, *((array + 0.0).tobytes() for array in arrays)))

    def __repr__(self) -> str:
        return f"GaussianNetwork({self.dag.sizes}: {shorten(self.dag.nodes)})"

    def _repr_html_(self) -> str:
        """The network drawn, in a notebook."""
        return display.html("network", self)

    def __reduce__(self) -> tuple[object, ...]:
        arrays = (self.coefficient_array, self.variance_array, self.intercept_array)
        kept = {} if self.seen is None else {"seen": self.seen}
        return type(self).from_arrays, (self.dag, *arrays), kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    def _responses(self) -> FloatArray:
        """What one standard deviation of each node's noise does to all nodes, (noise, nodes)."""
        rows = np.diag(self.scales)
        self._propagate(rows)
        return rows

    def _propagate(self, rows: FloatArray) -> None:
        """Turn intercept plus noise into nodes, in place."""
        propagate(rows, self.dag.order, self.dag.families, self.coefficient_array)

    @np.errstate(over="ignore", invalid="ignore")
    def _standardized_residuals(self, rows: Rows) -> FloatArray:
        """Residuals in units of the noise scales, (nodes, rows)."""
        errors: FloatArray = kernels.residuals(rows, self.dag.families, self.coefficient_array)
        errors -= self.intercept_array[:, None]
        errors /= self.scales[:, None]
        return errors

    def _check_has_density(self) -> None:
        checks.check_has_density(self.variance_array, self.dag.nodes)


@np.errstate(over="ignore", invalid="ignore")
def _gram(rows: FloatArray) -> FloatArray:
    found: FloatArray = rows.T @ rows
    return found


def _by_name(names: tuple[Name, ...], values: FloatArray) -> Mapping[Name, float]:
    return MappingProxyType(dict(zip(names, values.tolist(), strict=True)))
