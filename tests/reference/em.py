"""Maximum likelihood with missing cells, slow and plain: every row by itself, dense, no tricks."""

import numpy as np

from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork
from gaussnet.types import FloatArray


def observed_log_likelihood(network: GaussianNetwork, rows: FloatArray) -> float:
    """Log density of the cells that are there, from the dense covariance."""
    mean, covariance = network.mean(), network.covariance()
    total = 0.0
    for row in rows:
        there = ~np.isnan(row)
        inner, rest = covariance[np.ix_(there, there)], (row - mean)[there]
        total -= 0.5 * (there.sum() * np.log(2 * np.pi) + np.linalg.slogdet(inner)[1])
        total -= 0.5 * rest @ np.linalg.solve(inner, rest)
    return float(total)


def em_step(network: GaussianNetwork, rows: FloatArray, intercept: bool) -> GaussianNetwork:
    """One round: expected mean and second moments of all columns, then every regression."""
    mean, covariance = network.mean(), network.covariance()
    nodes, count = len(mean), len(rows)
    first, second = np.zeros(nodes), np.zeros((nodes, nodes))
    for row in rows:
        gone, there = np.isnan(row), ~np.isnan(row)
        inner = covariance[np.ix_(there, there)]
        gain = np.linalg.solve(inner, covariance[np.ix_(there, gone)]).T
        filled, spread = row.copy(), np.zeros((nodes, nodes))
        filled[gone] = mean[gone] + gain @ (row - mean)[there]
        spread[np.ix_(gone, gone)] = (
            covariance[np.ix_(gone, gone)] - gain @ covariance[np.ix_(there, gone)]
        )
        first += filled / count
        second += (np.outer(filled, filled) + spread) / count
    centre = first if intercept else np.zeros(nodes)
    return regressions(network.dag, second - np.outer(centre, centre), centre)


def regressions(dag: Dag, covariance: FloatArray, mean: FloatArray) -> GaussianNetwork:
    """Every equation from means and covariances of the columns."""
    coefficients, variances, intercepts = [], [], []
    for node in dag.nodes:
        child = dag.position(node)
        parents = [dag.position(parent) for parent in dag.parents(node)]
        cross = covariance[parents, child]
        own = np.linalg.solve(covariance[np.ix_(parents, parents)], cross)
        coefficients += own.tolist()
        variances.append(covariance[child, child] - own @ cross)
        intercepts.append(mean[child] - own @ mean[parents])
    return GaussianNetwork.from_arrays(dag, coefficients, variances, intercepts)


def em(start: GaussianNetwork, rows: FloatArray, intercept: bool = True) -> GaussianNetwork:
    """Rounds until nothing moves by more than 1e-11."""
    network = start
    for _ in range(2_000):
        after = em_step(network, rows, intercept)
        moved = max(
            np.abs(after.coefficient_array - network.coefficient_array).max(initial=0.0),
            np.abs(after.variance_array - network.variance_array).max(),
            np.abs(after.intercept_array - network.intercept_array).max(),
        )
        network = after
        if moved < 1e-11:
            return network
    raise AssertionError("EM did not converge")
