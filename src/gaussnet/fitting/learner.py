"""The learner: what the phases of a fit fill in, node by node."""

from dataclasses import replace

import numpy as np

from gaussnet.errors import EstimationError
from gaussnet.fitting.phases import (
    Work,
    find_coefficients,
    find_spread,
    kept_by_method,
    kept_by_scale,
)
from gaussnet.fitting.portions import Portion
from gaussnet.fitting.result import Details
from gaussnet.graph.dag import Dag
from gaussnet.methods.base import Estimator, Solution
from gaussnet.methods.cauchy import Cauchy
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.scales import KlOptimal, MeanSquare, Scale
from gaussnet.methods.with_moments import WithMoments
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import IntArray


class Learner:
    """The arrays that the phases fill, node by node."""

    def __init__(self, dag: Dag, estimator: Estimator, scale: Scale, work: Work) -> None:
        nodes = len(dag)
        self.dag, self.estimator, self.scale, self.work = dag, estimator, scale, work
        self.coefficients = np.empty(len(dag.families.parents))
        self.intercepts = np.zeros(nodes)
        self.variances = np.full(nodes, np.nan)
        self.passes = 1
        self.details = Details(*(np.zeros(nodes, dtype=np.int64) for _ in range(5)))

    def learn(
        self,
        portions: tuple[list[Portion], list[Portion]],
        split: tuple[int, int] | None,
        unchecked: bool = False,
    ) -> None:
        """Both phases: coefficients from the first portions, the spread from the second.

        Rows that are `unchecked` may hold NaN or infinite values: then least squares ends with
        `NotFinite`.
        """
        first, last = portions
        method = self.estimator
        if split is None and isinstance(self.scale, MeanSquare):
            method = method if isinstance(method, LeastSquares) else WithMoments(method)
        for portion in first:
            self.learn_coefficients(portion, method, unchecked)
        for portion in last:
            rest = portion if split is not None else self._unknown(portion)
            if rest is not None:
                self.learn_spread(rest, other_rows=split is not None)
        self.settle_spread(last, split is None)

    def count_dropped(self, rows: int) -> None:
        """Note how many of all rows, of both phases if they were split, a node did not use."""
        self.details.dropped[:] = rows - self.details.rows

    def _unknown(self, portion: Portion) -> Portion | None:
        """The nodes whose spread phase 1 did not find on its way."""
        if not isinstance(self.scale, MeanSquare):
            return portion
        chosen = np.flatnonzero(np.isnan(self.variances[portion.nodes]))
        return portion.only(chosen) if len(chosen) else None

    def learn_coefficients(
        self, portion: Portion, method: Estimator, unchecked: bool = False
    ) -> None:
        """Phase 1, in parts that keep within the budget."""
        known = portion.knows_rows
        if known:
            self.require_rows(portion)
        for part in portion.parts(kept_by_method(method, portion), self.work.budget):
            solution = find_coefficients(method, part, replace(self.work, unchecked=unchecked))
            if not known:
                self.require_rows(part)
            self.passes = max(self.passes, solution.passes - isinstance(self.estimator, Cauchy))
            self.enter(part.nodes, solution, part.rows)

    def enter(self, nodes: IntArray, solution: Solution, rows: int) -> None:
        """Enter what was found for some nodes from so many rows."""
        edges = self.dag.families.edges_of(nodes)
        self.coefficients[edges] = solution.coefficients
        if solution.intercepts is not None and solution.mean_squares is not None:
            self.intercepts[nodes] = solution.intercepts
            self.variances[nodes] = solution.mean_squares
        self.details.rows[nodes] = rows
        self.details.batches[nodes] = solution.batches
        self.details.singular[nodes] = solution.singular
        self.details.ranks[nodes] = solution.ranks
        if np.isnan(solution.coefficients).any():
            self._refuse_unanswered(nodes)

    def learn_spread(self, portion: Portion, other_rows: bool) -> None:
        """Phase 2, in parts that keep within the budget."""
        if portion.rows == 0:
            raise EstimationError(
                f"the node {self.dag.nodes[portion.nodes[0]]!r} has no complete row for its "
                "variance: split the rows differently or not at all"
            )
        if other_rows:
            self.details.rows[portion.nodes] += portion.rows
        for part in portion.parts(kept_by_scale(self.scale, portion), self.work.budget):
            coefficients = self.coefficients[self.dag.families.edges_of(part.nodes)]
            spread = find_spread(self.scale, part, coefficients, self.work)
            self.intercepts[part.nodes] = spread.locations
            self.variances[part.nodes] = spread.variances

    def settle_spread(self, portions: list[Portion], same_rows: bool) -> None:
        """Turn mean squares into the variances of a scale that knows the parents' number."""
        if not isinstance(self.scale, KlOptimal):
            return
        for portion in portions:
            nodes = portion.nodes
            ranks = self.details.ranks[nodes] * same_rows
            factors = self.scale.factors(portion.rows, ranks, portion.equations.intercept)
            if np.isnan(factors).any():
                node = self.dag.nodes[nodes[np.flatnonzero(np.isnan(factors))[0]]]
                raise EstimationError(
                    f"the node {node!r} has too few rows for scale='kl-optimal', {portion.rows}: "
                    "give at least 4 more than it has parents, or scale='mean-square'"
                )
            self.variances[nodes] *= factors

    def network(self, intercept: bool) -> GaussianNetwork:
        """The learnt network."""
        return GaussianNetwork.from_arrays(
            self.dag, self.coefficients, self.variances, self.intercepts if intercept else None
        )

    def require_rows(self, portion: Portion) -> None:
        """Refuse nodes with fewer rows than the method needs."""
        rows = portion.rows
        for size, chosen, _ in portion.equations.families.by_size:
            needed = self.estimator.rows_needed(size, portion.equations.intercept)
            if rows < needed:
                node = self.dag.nodes[portion.nodes[chosen[0]]]
                raise EstimationError(
                    f"the node {node!r} has {size} parents and {rows} rows, but "
                    f"{self.estimator.name!r} needs {needed}: give more rows or another method"
                )

    def _refuse_unanswered(self, nodes: IntArray) -> None:
        for node in nodes.tolist():
            own = self.dag.families.edges_of(np.array([node]))
            if np.isnan(self.coefficients[own]).any():
                singular = int(self.details.singular[node])
                reason = (
                    f"all {singular} batches of rows are singular: its parents are collinear or "
                    "constant, so drop one or use 'least-squares'"
                    if singular
                    else "no batch of rows fits into a page: give larger page_rows"
                )
                raise EstimationError(f"the node {self.dag.nodes[node]!r} has no answer, {reason}")
