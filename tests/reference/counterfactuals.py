"""Counterfactuals and changes by brute force: dense algebra, and all orders of exchange."""

from itertools import permutations

import numpy as np

import gaussnet as gn


def twin(network, evidence, do):
    """Mean and covariance of (before, after, noise) given evidence, from their joint law.

    Both worlds have the same noise e: before = B (c + e), after = C (c' + K e), where K drops the
    noise of set nodes. Condition the joint Gaussian of all three on the evidence.
    """
    names, matrix = network.dag.nodes, network.to_matrix().T
    count = len(names)
    noise = np.diag(network.variance_array)
    world = np.linalg.inv(np.eye(count) - matrix)
    keep, constants = np.eye(count), network.intercept_array.copy()
    for name, value in do.items():
        place = network.dag.position(name)
        matrix[place] = keep[place] = 0.0
        constants[place] = value
    other = np.linalg.inv(np.eye(count) - matrix)
    mean = np.concatenate((world @ network.intercept_array, other @ constants, np.zeros(count)))
    loads = np.vstack((world, other @ keep, np.eye(count)))
    covariance = loads @ noise @ loads.T
    seen = [network.dag.position(name) for name in evidence]
    gain = covariance[:, seen] @ np.linalg.pinv(covariance[np.ix_(seen, seen)], hermitian=True)
    mean = mean + gain @ (np.array([*evidence.values()]) - mean[seen])
    return mean.reshape(3, count), covariance - gain @ covariance[seen]


def exchanged(before, after, nodes):
    """The network with the equations of these nodes from `after`, all others from `before`."""
    edges, variances, intercepts = {}, {}, {}
    for name in before.dag.nodes:
        source = after if name in nodes else before
        edges |= {edge: v for edge, v in source.coefficients.items() if edge[1] == name}
        variances[name], intercepts[name] = source.variances[name], source.intercepts[name]
    dag = gn.Dag.from_edges(edges, nodes=before.dag.nodes)
    return gn.GaussianNetwork(dag, edges, variances, intercepts)


def shapley(before, after, target, units=None):
    """Contributions of all equations to mean and variance of the target, over all orders.

    The equations of the nodes of a unit, by its name, are exchanged together.
    """
    units = {name: (name,) for name in before.dag.nodes} if units is None else units
    names, values = list(units), {}

    def value(nodes):
        if nodes not in values:
            network = exchanged(before, after, {node for unit in nodes for node in units[unit]})
            place = network.dag.position(target)
            values[nodes] = np.array([network.mean()[place], network.covariance()[place, place]])
        return values[nodes]

    total = {name: np.zeros(2) for name in names}
    orders = list(permutations(names))
    for order in orders:
        done = frozenset()
        for name in order:
            total[name] += value(done | {name}) - value(done)
            done |= {name}
    return {name: parts / len(orders) for name, parts in total.items()}
