"""Conditioning in exact fractions, one piece of evidence after the other."""

from fractions import Fraction


class Impossible(Exception):
    """The evidence has probability 0 in a network without noise in that direction."""


def joint(network):
    """Exact mean and covariance as lists of fractions, in the order of the nodes."""
    dag = network.dag
    count = len(dag)
    mean = [Fraction(0)] * count
    loads = [[Fraction(0)] * count for _ in range(count)]
    variances = [Fraction(value) for value in network.variance_array.tolist()]
    for node in dag.order.tolist():
        name = dag.nodes[node]
        mean[node] = Fraction(network.intercepts[name])
        loads[node][node] = Fraction(1)
        for parent in dag.parents(name):
            weight = Fraction(network.coefficients[parent, name])
            place = dag.position(parent)
            mean[node] += weight * mean[place]
            loads[node] = [a + weight * b for a, b in zip(loads[node], loads[place], strict=True)]
    covariance = [
        [sum(a * b * v for a, b, v in zip(one, other, variances, strict=True)) for other in loads]
        for one in loads
    ]
    return mean, covariance


def conditioned(network, evidence):
    """Mean and covariance of all nodes given the evidence, as floats of exact fractions."""
    mean, covariance = joint(network)
    for name, number in evidence.items():
        place, value = network.dag.position(name), Fraction(number)
        spread = covariance[place][place]
        if spread == 0:
            if mean[place] != value:
                raise Impossible(name)
            continue
        column = [row[place] for row in covariance]
        step = (value - mean[place]) / spread
        mean = [old + step * slope for old, slope in zip(mean, column, strict=True)]
        covariance = [
            [old - one * other / spread for old, other in zip(row, column, strict=True)]
            for row, one in zip(covariance, column, strict=True)
        ]
    return [float(value) for value in mean], [[float(v) for v in row] for row in covariance]
