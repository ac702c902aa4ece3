"""Random graphs, and networks with random numbers on them."""

import math
from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.kernels.families import Families
from gaussnet.model.checks import choice, real_number, whole_number
from gaussnet.model.network import GaussianNetwork
from gaussnet.seeds import generator
from gaussnet.types import FloatArray, IntArray, Seed

Interval = float | tuple[float, float]
"""One number for all, or the ends of a uniform law."""

ILL_CONDITIONED_SCALE = 1e-10
"""Standard deviation of the noise of an ill-conditioned node."""


def erdos_renyi(
    nodes: int,
    degree: float,
    *,
    seed: Seed,
    edge_probability: Literal["d/(n-1)", "d/n"] = "d/(n-1)",
) -> Dag:
    r"""A graph in which each pair of nodes is joined by chance, earlier node to later node.

    .. math:: P(X_i \to X_j) = \frac{d}{n - 1} \quad (i < j)

    `degree` d is the mean number of neighbours of a node, parents and children together,
    so a node has d/2 parents on average. With ``edge_probability="d/n"`` the mean is
    d (n - 1)/n. Time and memory grow with the number of edges, not of pairs.

    Examples
    --------
    >>> dag = erdos_renyi(1000, 5, seed=0)
    >>> dag.nodes[:2], 2400 < len(dag.edges) < 2600
    (('X1', 'X2'), True)
    """
    count = whole_number("nodes", nodes)
    choice("edge_probability", edge_probability, ("d/(n-1)", "d/n"))
    wanted = real_number("degree", degree, 0.0, max(count - 1, 0))
    others = count - 1 if edge_probability == "d/(n-1)" else count
    probability = min(wanted / others, 1.0) if wanted > 0.0 else 0.0
    ranks = _bernoulli_ranks(math.comb(count, 2), probability, generator(seed))
    return _dag(count, *_pairs(ranks))


def random_tree(nodes: int, *, seed: Seed) -> Dag:
    """A rooted tree drawn evenly from all labelled trees: X1 is the root, others have 1 parent.

    The tree is decoded from a random Pruefer sequence and its edges point away from X1, so
    the order of the nodes is in general not a topological one.

    Examples
    --------
    >>> dag = random_tree(50, seed=0)
    >>> dag.max_in_degree, dag.parents("X1"), len(dag.edges), dag.is_polytree
    (1, (), 49, True)
    """
    one, other = _labelled_tree(whole_number("nodes", nodes), generator(seed))
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
    parent = np.full(nodes, -1)
    waiting = [0] if nodes else []
    while waiting:
        node = waiting.pop()
        below = [other for other in neighbours[node] if other != parent[node]]
        parent[below] = node
        waiting.extend(below)
    return _dag(nodes, parent[1:], np.arange(1, max(nodes, 1)))


def random_polytree(nodes: int, *, seed: Seed) -> Dag:
    """A tree drawn evenly from all labelled trees, each edge from the earlier to the later node.

    A node can have several parents, but no two paths join the same two nodes.

    Examples
    --------
    >>> dag = random_polytree(50, seed=0)
    >>> dag.is_polytree, len(dag.edges), dag.max_in_degree > 1
    (True, 49, True)
    """
    one, other = _labelled_tree(whole_number("nodes", nodes), generator(seed))
    return _dag(nodes, np.minimum(one, other), np.maximum(one, other))


def scale_free(nodes: int, degree: float, *, seed: Seed) -> Dag:
    """A graph with hubs: each new node picks parents in proportion to their neighbours plus one.

    A node takes d/2 parents, where d is `degree`; if d/2 is not whole, the number is rounded
    up or down at random so that d/2 is its mean. The first nodes have fewer nodes before
    them and take all, so the mean number of neighbours is a little below d.

    Examples
    --------
    >>> dag = scale_free(1000, 4, seed=0)
    >>> dag.max_in_degree, len(dag.edges)
    (2, 1997)
    >>> max(len(dag.children(node)) for node in dag.nodes) > 20
    True
    """
    count = whole_number("nodes", nodes)
    half = real_number("degree", degree, 0.0, max(count - 1, 0)) / 2.0
    rng = generator(seed)
    wanted = np.floor(half + rng.random(count)).astype(np.int64)
    ballots: list[int] = []
    parents: list[int] = []
    children: list[int] = []
    for node in range(count):
        chosen = _draw_distinct(ballots, min(int(wanted[node]), node), node, rng)
        parents.extend(chosen)
        children.extend([node] * len(chosen))
        ballots.extend([node, *chosen, *([node] * len(chosen))])
    return _dag(count, np.array(parents, dtype=np.int64), np.array(children, dtype=np.int64))


def chain(nodes: int) -> Dag:
    """The path X1 -> X2 -> ... -> Xn.

    Examples
    --------
    >>> chain(3).edges
    (('X1', 'X2'), ('X2', 'X3'))
    """
    count = whole_number("nodes", nodes)
    return _dag(count, np.arange(max(count - 1, 0)), np.arange(1, max(count, 1)))


def bipartite(sources: int, sinks: int) -> Dag:
    """Every one of the first nodes is a parent of every one of the last nodes.

    Examples
    --------
    >>> bipartite(1, 2).edges
    (('X1', 'X2'), ('X1', 'X3'))
    """
    above, below = whole_number("sources", sources), whole_number("sinks", sinks)
    return _dag(
        above + below,
        np.tile(np.arange(above), below),
        np.repeat(np.arange(above, above + below), above),
    )


def random_network(
    dag: Dag,
    *,
    seed: Seed,
    weights: tuple[float, float] = (1.0, 2.0),
    variances: Interval = 1.0,
    intercepts: Interval = 0.0,
    ill_conditioned: int = 0,
) -> GaussianNetwork:
    r"""A network on this graph with coefficients away from zero.

    Coefficients are uniform on :math:`(-b, -a] \cup [a, b)` for ``weights=(a, b)``.
    `variances` and `intercepts` are one number for all nodes or the ends (low, high) of a
    uniform law. `ill_conditioned` nodes, drawn at random, get noise of standard deviation
    1e-10. The draws are made in this order, so the same seed gives the same coefficients
    whatever the other settings.

    Examples
    --------
    >>> network = random_network(Dag.from_edges([("a", "b")]), seed=0)
    >>> 1.0 <= abs(network.coefficients["a", "b"]) < 2.0, network.variances["b"]
    (True, 1.0)
    """
    low, high = _interval("weights", weights, 0.0)
    variance_ends = _interval("variances", variances, 0.0)
    intercept_ends = _interval("intercepts", intercepts)
    ill = whole_number("ill_conditioned", ill_conditioned, 0, len(dag))
    if variance_ends[0] == 0.0:
        real_number("variances", variance_ends[0], math.ulp(0.0))
    rng = generator(seed)
    edges = len(dag.families.parents)
    signs = rng.integers(2, size=edges) * 2.0 - 1.0
    coefficients = signs * _uniform((low, high), edges, rng)
    variance_array = _uniform(variance_ends, len(dag), rng)
    intercept_array = _uniform(intercept_ends, len(dag), rng)
    variance_array[rng.permutation(len(dag))[:ill]] = ILL_CONDITIONED_SCALE**2
    return GaussianNetwork.from_arrays(dag, coefficients, variance_array, intercept_array)


def hard_instance(nodes: int, degree: int, eps: float, *, seed: Seed) -> GaussianNetwork:
    r"""A network from the family on which learning needs on the order of n d / eps^2 rows.

    The first d = `degree` nodes are sources, every one of them a parent of each of the
    other n - d nodes; all noise has variance 1. Each edge carries one fair random bit:

    .. math:: a_{ij} = \frac{1}{\sqrt{d (n - d)}} \quad\text{or}\quad
              a_{ij} = \frac{1 + \epsilon}{\sqrt{d (n - d)}}

    The lower bound takes the bits from a code whose words differ in a fixed share of their
    positions; random words do so with probability close to 1. Two such networks that differ in
    k bits are at KL divergence k eps^2 / (2 d (n - d)).

    Examples
    --------
    >>> network = hard_instance(12, 4, 0.5, seed=0)
    >>> sorted(set((network.coefficient_array * 32**0.5).round(9).tolist()))
    [1.0, 1.5]
    >>> len(network.dag.edges)
    32
    """
    count = whole_number("nodes", nodes, 2)
    sources = whole_number("degree", degree, 1, count // 2)
    step = real_number("eps", eps, math.ulp(0.0), 1.0)
    dag = bipartite(sources, count - sources)
    bits = generator(seed).integers(2, size=sources * (count - sources))
    coefficients = (1.0 + step * bits) / math.sqrt(sources * (count - sources))
    return GaussianNetwork.from_arrays(dag, coefficients, np.ones(count), None)


def _dag(count: int, parents: IntArray, children: IntArray) -> Dag:
    """The graph over X1 ... Xn with the edges parents[k] -> children[k]."""
    sizes = np.bincount(children, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    flat = parents[np.lexsort((parents, children))].astype(np.int64)
    names = tuple(f"X{number}" for number in range(1, count + 1))
    return Dag(names, Families(np.arange(count), offsets, flat))


def _bernoulli_ranks(total: int, probability: float, rng: np.random.Generator) -> IntArray:
    """The successes among `total` independent trials, found by jumping over the failures."""
    if probability <= 0.0 or total == 0:
        return np.empty(0, dtype=np.int64)
    mean = total * probability
    jumps = math.ceil(mean + 6.0 * math.sqrt(mean)) + 8
    last, found = -1, []
    while last < total:
        gaps = np.minimum(rng.geometric(probability, jumps), total + 1)
        found.append(last + np.cumsum(gaps))
        last = int(found[-1][-1])
    ranks = np.concatenate(found)
    return ranks[ranks < total]


def _pairs(ranks: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (earlier, later) by rank, in the order (0,1), (0,2), (1,2), (0,3), ..."""
    later = (1 + np.sqrt(1.0 + 8.0 * ranks).astype(np.int64)) // 2
    later += later * (later + 1) // 2 <= ranks
    later -= later * (later - 1) // 2 > ranks
    return ranks - later * (later - 1) // 2, later


def _labelled_tree(count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The ends of the edges of a uniform labelled tree, by decoding a Pruefer sequence."""
    if count < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    sequence = rng.integers(count, size=count - 2)
    missing = np.bincount(sequence, minlength=count)
    leaves = np.flatnonzero(missing == 0).tolist()
    heapify(leaves)
    one = []
    for node in sequence.tolist():
        one.append(heappop(leaves))
        missing[node] -= 1
        if missing[node] == 0:
            heappush(leaves, node)
    one.append(heappop(leaves))
    return np.array(one), np.append(sequence, leaves[0])


def _draw_distinct(
    ballots: list[int], wanted: int, available: int, rng: np.random.Generator
) -> list[int]:
    """`wanted` different nodes drawn from the ballots; all of them if no more are available."""
    if wanted == available:
        return list(range(available))
    chosen: set[int] = set()
    while len(chosen) < wanted:
        chosen.add(ballots[int(rng.integers(len(ballots)))])
    return sorted(chosen)


def _uniform(ends: tuple[float, float], count: int, rng: np.random.Generator) -> FloatArray:
    """Uniform on [low, high); nothing is drawn if the ends meet."""
    low, high = ends
    if low == high:
        return np.full(count, low)
    return np.asarray(low + (high - low) * rng.random(count))


def _interval(name: str, value: object, least: float = -math.inf) -> tuple[float, float]:
    """The ends (low, high) of a setting that is one number or a pair of numbers."""
    ends = value if isinstance(value, tuple | list) else (value, value)
    if len(ends) != 2:
        raise SettingError(f"got {name}={value!r}, expected one number or a pair (low, high)")
    low, high = (real_number(name, end, least) for end in ends)
    if low > high:
        raise SettingError(f"got {name}={value!r}, expected low <= high: swap the two ends")
    return low, high
