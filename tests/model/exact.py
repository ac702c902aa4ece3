"""Networks for tests, and distances in exact fractions with logarithms of 80 digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from gaussnet.graph import Dag
from gaussnet.model import GaussianNetwork

EPS = float(np.finfo(np.float64).eps)


def random_dag(rng, nodes, degree=2.5, names=None):
    """A DAG whose node order is unrelated to its edges."""
    order = rng.permutation(nodes).tolist()
    parents = [[] for _ in range(nodes)]
    for later in range(nodes):
        for earlier in range(later):
            if rng.random() < degree / nodes:
                parents[order[later]].append(order[earlier])
    return Dag.from_parents(names or [f"v{i}" for i in range(nodes)], parents)


def random_network(rng, dag, *, intercepts=True):
    return GaussianNetwork.from_arrays(
        dag,
        rng.uniform(-1.5, 1.5, len(dag.edges)),
        rng.uniform(0.2, 3.0, len(dag)),
        rng.normal(size=len(dag)) if intercepts else None,
    )


def without_cancellation(network):
    """The network of absolute numbers: sizes of the sums that the true network's values are."""
    return GaussianNetwork.from_arrays(
        network.dag,
        np.abs(network.coefficient_array),
        network.variance_array,
        np.abs(network.intercept_array),
    )


def log_density_rounding(network, data):
    """What rounding may change in log densities of these rows, in any order of sums, (rows,).

    A residual is a sum of at most nodes + 1 terms, so its error is that many roundings of their
    absolute sum; it is squared, and the squares and the logarithms are summed over the nodes.
    """
    rows = np.abs(np.asarray(data, dtype=np.float64))
    terms = rows + rows @ np.abs(network.to_matrix()) + np.abs(network.intercept_array)
    squares = np.square(terms / network.scales).sum(axis=1)
    logs = np.abs(np.log(2.0 * np.pi * network.variance_array)).sum()
    return (2 * len(network.dag) + 8) * EPS * (squares + logs)


def moments(distribution, names):
    """Mean and covariance of a network or a Gaussian in the order of `names`."""
    if isinstance(distribution, GaussianNetwork):
        distribution = distribution.to_gaussian()
    part = distribution.marginal(names)
    return part.mean, part.covariance


def exact_moments(network, names):
    """Mean and covariance in fractions, by the recursion over a topological order."""
    mean, covariance = {}, {}
    for index in network.dag.order.tolist():
        node = network.dag.nodes[index]
        slopes = {
            parent: Fraction(network.coefficients[parent, node])
            for parent in network.dag.parents(node)
        }
        mean[node] = Fraction(network.intercepts[node]) + sum(
            slope * mean[parent] for parent, slope in slopes.items()
        )
        for other in list(mean)[:-1]:
            value = sum((s * covariance[parent, other] for parent, s in slopes.items()), Fraction())
            covariance[node, other] = covariance[other, node] = value
        covariance[node, node] = Fraction(network.variances[node]) + sum(
            slope * covariance[node, parent] for parent, slope in slopes.items()
        )
    return [mean[name] for name in names], [[covariance[i, j] for j in names] for i in names]


def solve_and_determinant(matrix, columns):
    """The solution of matrix @ x = columns and the determinant, by elimination in fractions."""
    size = len(matrix)
    rows = [list(left) + list(right) for left, right in zip(matrix, columns, strict=True)]
    determinant = Fraction(1)
    for k in range(size):
        pivot = rows[k][k]  # a covariance has positive pivots
        determinant *= pivot
        rows[k] = [value / pivot for value in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows], determinant


def logarithm(value):
    """ln of a positive fraction to 80 digits."""
    with localcontext(prec=80):
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def exact_sum(*terms):
    with localcontext(prec=80):
        total = Decimal(0)
        for term in terms:
            exact = isinstance(term, Fraction)
            total += Decimal(term.numerator) / Decimal(term.denominator) if exact else term
        return float(total)


def exact_kl(p, q):
    """The textbook KL divergence of two networks, right to the last digit of a float."""
    names = p.dag.nodes
    p_mean, p_cov = exact_moments(p, names)
    q_mean, q_cov = exact_moments(q, names)
    gap = [a - b for a, b in zip(p_mean, q_mean, strict=True)]
    columns = [[*row, shift] for row, shift in zip(p_cov, gap, strict=True)]
    solved, q_det = solve_and_determinant(q_cov, columns)
    p_det = math.prod(Fraction(value) for value in p.variances.values())
    trace = sum(solved[i][i] for i in range(len(names)))
    square = sum(shift * row[-1] for shift, row in zip(gap, solved, strict=True))
    half = Decimal("0.5")
    rational = (trace + square - len(names)) / 2
    with localcontext(prec=80):
        return exact_sum(rational, half * logarithm(q_det), -half * logarithm(p_det))


def exact_bhattacharyya(p, q):
    """The textbook Bhattacharyya distance of two networks, right to the last digit of a float."""
    names = p.dag.nodes
    p_mean, p_cov = exact_moments(p, names)
    q_mean, q_cov = exact_moments(q, names)
    gap = [a - b for a, b in zip(p_mean, q_mean, strict=True)]
    middle = [
        [(a + b) / 2 for a, b in zip(left, right, strict=True)]
        for left, right in zip(p_cov, q_cov, strict=True)
    ]
    solved, determinant = solve_and_determinant(middle, [[shift] for shift in gap])
    square = sum(shift * row[0] for shift, row in zip(gap, solved, strict=True)) / 8
    both = math.prod(Fraction(v) for net in (p, q) for v in net.variances.values())
    with localcontext(prec=80):
        shape = logarithm(determinant) / 2 - logarithm(both) / 4
    return exact_sum(square, shape)


def textbook_kl(p, q, names):
    """The KL divergence of two distributions from their covariances."""
    p_mean, p_cov = moments(p, names)
    q_mean, q_cov = moments(q, names)
    gap = q_mean - p_mean
    logs = np.linalg.slogdet(q_cov)[1] - np.linalg.slogdet(p_cov)[1]
    trace = np.trace(np.linalg.solve(q_cov, p_cov))
    return 0.5 * (trace + gap @ np.linalg.solve(q_cov, gap) - len(names) + logs)
